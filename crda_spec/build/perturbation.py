"""The `perturbation` section -> `Acting`; and what can only be checked once the columns' types are known."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from crda_spec.build.settings import settings_of
from crda_spec.counterfactual.acting import Acting, is_constant
from crda_spec.counterfactual.policies import POLICIES, Policy, cell
from crda_spec.counterfactual.support import Guard
from crda_spec.data.rows import counted
from crda_spec.errors import Complaint, did_you_mean, show
from crda_spec.records import Column, Table
from crda_spec.spec.base import Strict
from crda_spec.spec.run import RunSpec


def build_acting(spec: RunSpec) -> Acting:
    """How many new rows, from which rows, and what is done to each feature."""
    said = spec.perturbation
    support = said.support
    return Acting(
        default=build_policy(said.default),
        features={name: build_policy(policy) for name, policy in said.features.items()},
        factor=spec.counterfactual.factor,
        together=said.together,
        per_row=None if said.features_per_row == "all" else said.features_per_row,
        unmoved=said.unmoved,
        on_violation=said.on_violation,
        sources=said.sources.kind,
        support=None
        if support.kind == "none"
        else Guard(kind=support.kind, quantile=support.quantile, on_outside=support.on_outside),
    )


def build_policy(policy: Strict) -> Policy:
    """The member of the family with these settings."""
    member: Policy = POLICIES[policy.kind](**settings_of(policy))  # type: ignore[attr-defined]
    return member


def policy_complaints(spec: RunSpec, train: Table) -> list[Complaint]:
    """Policies that do not suit their columns, now that types, labels and values are known."""
    columns = {column.name: column for column in train.features}
    found: list[Complaint] = []
    for name, policy in spec.perturbation.features.items():
        path, column = f"perturbation.features.{name}", columns[name]
        found += _wrong_type(path, policy, column) or [
            *_wrong_values(path, policy, column),
            *_nothing_to_move(path, policy, column, train),
        ]
    for path, policy in _written(spec):
        found += _too_many_neighbours(path, policy, train)
    return [*found, *_not_as_one(spec, columns)]


def _written(spec: RunSpec) -> Iterator[tuple[str, Any]]:
    """Every policy with its place."""
    yield "perturbation.default", spec.perturbation.default
    for name, policy in spec.perturbation.features.items():
        yield f"perturbation.features.{name}", policy


def _wrong_type(path: str, policy: Any, column: Column) -> list[Complaint]:  # noqa: ANN401 - the spec's union
    if column.type in POLICIES[policy.kind].moves:
        return []
    suited = sorted(kind for kind, member in POLICIES.items() if column.type in member.moves)
    what = f"{show(column.name)} is {_a(column.type)}, which cannot be moved by {show(policy.kind)}"
    hint = f"use kind: resample, or one of {', '.join(kind for kind in suited if kind != 'resample')}"
    return [Complaint(code="wrong-policy", path=f"{path}.kind", what=what, hint=hint)]


def _a(word: str) -> str:
    return f"an {word}" if word[0] in "aeiou" else f"a {word}"


def _wrong_values(path: str, policy: Any, column: Column) -> Iterator[Complaint]:  # noqa: ANN401 - the spec's union
    """Values of a grid that the column cannot hold."""
    for position, value in enumerate(policy.values if policy.kind == "grid" else ()):
        try:
            cell(value, column)
        except ValueError as error:
            hint = "write a value that its contract allows, or change dataset.columns"
            if column.type == "category":
                hint = did_you_mean(str(value), list(column.labels or ()), otherwise="labels")
            elif column.type == "boolean":
                hint = "write true or false, without quotes"
            yield Complaint(code="wrong-value", path=f"{path}.values.{position}", what=str(error), hint=hint)


def _nothing_to_move(path: str, policy: Any, column: Column, train: Table) -> Iterator[Complaint]:  # noqa: ANN401
    """A policy that moves by the column's spread, of a column that has none."""
    own_measure = getattr(policy, "around", "") == "zero" or getattr(policy, "measure", "") == "unit"
    (position,) = train.positions([column.name])
    if policy.kind in ("grid", "flip") or own_measure or not is_constant(train.x[:, position]):
        return
    what = f"{show(column.name)} never moves: all training rows have the same value"
    hint = "remove the policy, or use kind: grid" + (" or shift with measure: unit" if column.is_numeric else "")
    yield Complaint(code="idle-policy", path=path, what=what, hint=hint)


def _too_many_neighbours(path: str, policy: Any, train: Table) -> Iterator[Complaint]:  # noqa: ANN401
    wanted = getattr(policy, "neighbours", None)
    if wanted is not None and wanted >= len(train):
        what = f"{wanted} neighbours cannot be found among {counted(len(train), 'training row')}"
        hint = f"use at most {len(train) - 1}"
        # The default of `conditional` was not written, so its section is the place.
        yield Complaint(code="too-many-neighbours", path=f"{path}.neighbours", what=what, hint=hint)


def _not_as_one(spec: RunSpec, columns: dict[str, Column]) -> Iterator[Complaint]:
    """Features that are to move as one, but by different kinds of policy, or by lists of different lengths."""
    acting = build_acting(spec)
    for number, names in enumerate(spec.perturbation.together):
        path = f"perturbation.together.{number}"
        policies = {name: acting.policy(columns[name]) for name in names}
        if len({policy.kind for policy in policies.values()}) > 1:
            kinds = " and ".join(f"{show(name)} by {policy.kind}" for name, policy in policies.items())
            what = f"these cannot move as one: {kinds}"
            hint = "give all of them the same kind under perturbation.features; resample suits every type"
            yield Complaint(code="not-as-one", path=path, what=what, hint=hint)
        elif len({len(getattr(policy, "values", ())) for policy in policies.values()}) > 1:
            what = "these cannot move as one: their grids have different numbers of values"
            hint = "the first value of each list is taken together, then the second; make the lists equally long"
            yield Complaint(code="not-as-one", path=path, what=what, hint=hint)
