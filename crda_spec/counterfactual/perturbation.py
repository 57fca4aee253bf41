"""`perturbation`: what is done to a feature that may move, from which rows, and how far it may lead."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal

import numpy as np
from pydantic import Field

from crda_spec.counterfactual.policies import POLICIES, BasePolicy, DefaultPolicy, Grid, Policy, Resample, Scale
from crda_spec.counterfactual.policies._protocol import inconsistent
from crda_spec.counterfactual.sources import Sources
from crda_spec.counterfactual.support import NoSupport, Support
from crda_spec.errors import Complaint, show
from crda_spec.records import Array, Column, Reason, Stated, Table
from crda_spec.strict import ColumnName, Strict


class Perturbation(Strict):
    """The action: a policy for every feature, and others for some."""

    default: DefaultPolicy = Field(
        Scale(),
        description=(
            "What is done to a feature that `features` does not name. What it cannot move (mostly categories and "
            "booleans) is resampled."
        ),
    )
    features: dict[str, Policy] = Field(default_factory=dict, description="Policies of single features, by name.")
    together: tuple[tuple[ColumnName, ...], ...] = Field(
        (),
        description=(
            "Sets of features that move as one, by the same draw of the same kind of policy; when one of a set may not "
            "move, none of it does."
        ),
    )
    features_per_row: int | Literal["all"] = Field(
        "all",
        description=(
            "How many of the features that may move each new row moves, chosen at random; a set that moves together "
            "counts as one."
        ),
    )
    unmoved: float = Field(
        0.0,
        ge=0,
        lt=1,
        description=(
            "The share of new rows that keep every value of their source, so that the teacher's word there is learnt "
            "too; chosen at random."
        ),
    )
    on_violation: Literal["clip", "redraw", "error"] = Field(
        "clip",
        description=(
            "When a value would break its column's contract: take the nearest allowed one, draw the row again (up to "
            "10 times, then clip), or stop."
        ),
    )
    sources: Sources = Field(Sources(kind="every"), description="Which training rows new ones are made from.")
    support: Support = Field(NoSupport(), description="What becomes of new rows that lie off the data.")
    propagate: bool = Field(
        default=False,
        description=(
            "Let the features that a moved one causes follow it, through equations fitted to the declared graph; "
            "false holds them fixed."
        ),
    )

    def policy(self, column: Column) -> BasePolicy:
        """The feature's own policy, or the default; what the default cannot move is resampled."""
        chosen: BasePolicy = self.features.get(column.name, self.default)
        return chosen if chosen.suits(column) else Resample()

    def movable(self, moved: Sequence[str]) -> tuple[str, ...]:
        """Of these features, those that can move: features that move together all do, or none does."""
        held = self.held(moved)
        return tuple(name for name in moved if name not in held)

    def held(self, moved: Sequence[str]) -> dict[str, Reason]:
        """Why a feature that may move does not: something that it moves together with stays."""
        allowed = set(moved)
        reasons: dict[str, Reason] = {}
        for together in self.together:
            stay = tuple(name for name in together if name not in allowed)
            if stay:
                why = Stated(code="moves_together", names=stay)
                reasons |= {name: why for name in together if name in allowed}
        return reasons

    def set_of(self, name: str) -> tuple[str, ...]:
        """The features that move as one with this one, itself among them."""
        return next((together for together in self.together if name in together), (name,))

    def complaints(self) -> Iterator[Complaint]:
        """What no single field can know, without looking at any data."""
        count = self.features_per_row
        for path, policy in self._policies():
            mine = list(policy.complaints(path))
            yield from mine
            if isinstance(count, int) and count > 1 and not mine and policy.needs_fixed:
                what = (
                    f"a {policy.label} draw has to know what stays fixed, which changes with any {count} features of a "
                    "row"
                )
                yield inconsistent("perturbation.features_per_row", what, "use all or 1, or another policy")
        if count != "all" and count < 1:
            yield inconsistent("perturbation.features_per_row", f"must be at least 1, got {count}", "or write all")
        yield from self._set_complaints()

    def misfits(self, train: Table) -> Iterator[Complaint]:
        """Policies that do not suit their columns, now that types, labels and values are known."""
        columns = {column.name: column for column in train.features}
        for name, policy in self.features.items():
            path, column = f"perturbation.features.{name}", columns[name]
            if not policy.suits(column):
                yield _wrong_policy(path, policy, column)
                continue
            yield from policy.misfits(path, column)
            (position,) = train.positions([name])
            if policy.needs_spread and is_constant(train.x[:, position]):
                yield _idle_policy(path, column)
        for path, written in self._policies():
            yield from _too_many_neighbours(path, written, len(train))
        yield from self._set_misfits(columns)

    def _policies(self) -> Iterator[tuple[str, BasePolicy]]:
        """Every policy with its place."""
        yield "perturbation.default", self.default
        for name, policy in self.features.items():
            yield f"perturbation.features.{name}", policy

    def _set_complaints(self) -> Iterator[Complaint]:
        """Sets of one feature, and features in two sets."""
        seen: dict[str, str] = {}
        for number, names in enumerate(self.together):
            path = f"perturbation.together.{number}"
            if len(names) < 2:
                yield inconsistent(
                    path, f"a set that moves together has at least 2 features, got {len(names)}", "name another"
                )
            for position, name in enumerate(names):
                if name in seen:
                    what = f"{show(name)} already moves together with others ({seen[name]})"
                    yield inconsistent(f"{path}.{position}", what, "name it once")
                seen.setdefault(name, path)

    def _set_misfits(self, columns: dict[str, Column]) -> Iterator[Complaint]:
        """Features that are to move as one, but by different kinds of policy, or by lists of different lengths."""
        for number, names in enumerate(self.together):
            path = f"perturbation.together.{number}"
            policies = {name: self.policy(columns[name]) for name in names}
            if len({policy.label for policy in policies.values()}) > 1:
                kinds = " and ".join(f"{show(name)} by {policy.label}" for name, policy in policies.items())
                what = f"these cannot move as one: {kinds}"
                hint = "give all of them the same kind under perturbation.features; resample suits every type"
                yield Complaint(code="not-as-one", path=path, what=what, hint=hint)
            elif len({len(policy.values) for policy in policies.values() if isinstance(policy, Grid)}) > 1:
                what = "these cannot move as one: their grids have different numbers of values"
                hint = "the first value of each list is taken together, then the second; make the lists equally long"
                yield Complaint(code="not-as-one", path=path, what=what, hint=hint)


def is_constant(values: Array) -> bool:
    """Whether the known values are all the same; true of none at all."""
    known = values[~np.isnan(values)]
    return not len(known) or bool(np.ptp(known) == 0.0)


def _wrong_policy(path: str, policy: BasePolicy, column: Column) -> Complaint:
    suited = sorted(kind for kind, member in POLICIES.items() if column.type in member.moves)
    article = "an" if column.type[0] in "aeiou" else "a"
    what = f"{show(column.name)} is {article} {column.type}, which cannot be moved by {show(policy.label)}"
    hint = f"use kind: resample, or one of {', '.join(kind for kind in suited if kind != 'resample')}"
    return Complaint(code="wrong-policy", path=f"{path}.kind", what=what, hint=hint)


def _idle_policy(path: str, column: Column) -> Complaint:
    """A policy that moves by the column's spread, of a column that has none."""
    what = f"{show(column.name)} never moves: all training rows have the same value"
    hint = "remove the policy, or use kind: grid" + (" or shift with measure: unit" if column.is_numeric else "")
    return Complaint(code="idle-policy", path=path, what=what, hint=hint)


def _too_many_neighbours(path: str, policy: BasePolicy, rows: int) -> Iterator[Complaint]:
    wanted = getattr(policy, "neighbours", None)
    if wanted is not None and wanted >= rows:
        from crda_spec.data.raw import counted  # imports pandas

        what = f"{wanted} neighbours cannot be found among {counted(rows, 'training row')}"
        # The default of `conditional` was not written, so its section is the place.
        yield Complaint(
            code="too-many-neighbours", path=f"{path}.neighbours", what=what, hint=f"use at most {rows - 1}"
        )
