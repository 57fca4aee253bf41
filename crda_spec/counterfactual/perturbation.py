"""`perturbation`: what is done to a feature that may move, from which rows, and how far it may lead."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal

import numpy as np
from pydantic import Field

from crda_spec.counterfactual.neighbours import Space
from crda_spec.counterfactual.policies import POLICIES, BasePolicy, DefaultPolicy, Grid, Policy, Resample, Scale
from crda_spec.counterfactual.rules import Rules
from crda_spec.counterfactual.support import NoSupport, Support
from crda_spec.data.raw import counted
from crda_spec.errors import Complaint, inconsistent, show
from crda_spec.records import Array, Basis, Column, IntArray, Reason, Stated, Table
from crda_spec.strict import ColumnName, Strict

_EVEN = 0.5  # the part of a weighted draw in which all rows are alike
_FEWEST_ROWS = 20  # with fewer, a label of its own for most rows may well be chance
_FLAT = 1e-10  # a direction of so little variance, against the largest, is rounding


class Sources(Strict):
    """How source rows are drawn."""

    kind: Literal["every", "uniform", "leverage", "residual"] = Field(
        description=(
            "every: each row as often as the factor says, the remainder at random. uniform: drawn with repetition. "
            "leverage, residual: half of the draws even, half by how far the row stands out among the features, or by "
            "the size of its residual."
        )
    )

    def draw(self, train: Table, count: int, *, noise: Array | None, rng: np.random.Generator) -> IntArray:
        """(count,) positions of training rows. noise: (n,) the abducted noise, which `residual` goes by."""
        if self.kind == "every":  # the remainder is a random sample of rows without repetition, not the first ones
            times, rest = divmod(count, len(train))
            chosen = np.sort(rng.choice(len(train), size=rest, replace=False))
            return np.concatenate([np.tile(np.arange(len(train)), times), chosen]).astype(np.int64)
        if self.kind == "uniform":
            return rng.integers(0, len(train), size=count, dtype=np.int64)
        if self.kind == "leverage":
            return systematic(_mixed(leverage(train)), count, rng=rng)
        if noise is None:
            raise ValueError("sources by residual need the noise of the training rows")
        return systematic(_mixed(np.abs(noise)), count, rng=rng)


def _mixed(weights: Array) -> Array:
    """Half even, half by weight; even when nothing has weight."""
    even, total = 1.0 / len(weights), float(weights.sum())
    return np.full(len(weights), even) if total <= 0.0 else _EVEN * even + (1.0 - _EVEN) * weights / total


def systematic(probability: Array, count: int, *, rng: np.random.Generator) -> IntArray:
    """Row i is drawn count * probability[i] times on average, and never a whole draw more or less than that.

    One random start and equal steps through the summed probabilities (systematic sampling, Madow 1949).
    """
    ends = np.cumsum(probability)
    places = (np.arange(count) + rng.random()) * (ends[-1] / max(1, count))
    return np.asarray(np.minimum(np.searchsorted(ends, places, side="right"), len(ends) - 1), dtype=np.int64)


def leverage(train: Table) -> Array:
    """(n,) how much each row's features alone decide its own fitted value in a linear model with all features."""
    points = Space.learn(train).encode(train.x)
    points = points - points.mean(axis=0)
    strength, directions = np.linalg.eigh(points.T @ points)
    kept = strength > max(float(strength.max(initial=0.0)) * _FLAT, 1e-300)
    along = points @ (directions[:, kept] / np.sqrt(strength[kept]))
    pulls: Array = 1.0 / len(points) + (along**2).sum(axis=1)
    return pulls


class Perturbation(Strict):
    """The action: a policy for every feature, and others for some."""

    default: DefaultPolicy = Field(
        Scale(),
        description=(
            "What is done to a feature that `features` does not name. What it cannot move (mostly categories and "
            "booleans) is resampled."
        ),
    )
    blocked: DefaultPolicy | None = Field(
        None,
        description=(
            "What is done to features when no cause may move and no noise is carried: all of them move by this policy, "
            "and the teacher alone labels the rows (basis support). null: blocked features stay."
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
    copy_fraction: float = Field(
        0.0,
        ge=0,
        lt=1,
        description=(
            "The share of new rows, chosen at random, that copy every value of their source: the student then learns "
            "what the teacher predicts there, too."
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
    rules: Rules = Field(
        Rules(),
        description=(
            "Relations between columns that every new row keeps. A row that breaks one is drawn again (up to 10 times, "
            "then left out)."
        ),
    )
    propagate: bool = Field(
        default=False,
        description=(
            "Let the features that a moved one causes follow it, through equations fitted to the declared graph; "
            "false holds them fixed."
        ),
    )

    def on(self, basis: Basis) -> Perturbation:
        """The same for rows on this basis."""
        fallback = basis == "support" and self.blocked is not None
        return self.model_copy(update={"default": self.blocked}) if fallback else self

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

    def free(self, irrelevant: Sequence[str]) -> tuple[str, ...]:
        """Of these features, those that every new row resamples: all without a policy, a set, or a rule, of their own.

        Where effects follow, a change of one may reach the features that matter, so none is free.
        """
        own = {*self.features, *(name for together in self.together for name in together), *self.rules.names}
        return () if self.propagate else tuple(name for name in irrelevant if name not in own)

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
                suited = sorted(kind for kind, member in POLICIES.items() if column.type in member.moves)
                article = "an" if column.type[0] in "aeiou" else "a"
                what = f"{show(name)} is {article} {column.type}, which cannot be moved by {show(policy.label)}"
                hint = f"use kind: resample, or one of {', '.join(kind for kind in suited if kind != 'resample')}"
                yield Complaint(code="wrong-policy", path=f"{path}.kind", what=what, hint=hint)
                continue
            yield from policy.misfits(path, column)
            (position,) = train.positions([name])
            if policy.needs_spread and is_constant(train.x[:, position]):
                what = f"{show(column.name)} never moves: all training rows have the same value"
                other = " or shift with measure: unit" if column.is_numeric else ""
                hint = f"remove the policy, or use kind: grid{other}"
                yield Complaint(code="idle-policy", path=path, what=what, hint=hint)
        for path, written in self._policies():
            wanted = getattr(written, "neighbours", None)
            if wanted is not None and wanted >= len(train):
                what = f"{wanted} neighbours cannot be found among {counted(len(train), 'training row')}"
                hint = f"use at most {len(train) - 1}"
                # The default of `conditional` was not written, so its section is the place.
                yield Complaint(code="too-many-neighbours", path=f"{path}.neighbours", what=what, hint=hint)
        yield from self._set_misfits(columns)
        yield from self.rules.misfits(train)

    def _policies(self) -> Iterator[tuple[str, BasePolicy]]:
        """Every policy with its place."""
        yield "perturbation.default", self.default
        if self.blocked is not None:
            yield "perturbation.blocked", self.blocked
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


def row_labels(train: Table) -> tuple[str, ...]:
    """The categories that tell rows apart (a name, a number of a file) or are free text: labels for over half the rows.

    Another row's name or remark makes no plausible row, so they stay unless a policy of their own says what to do.
    """
    found = []
    for column, values in zip(train.features, train.x.T, strict=True):
        known = values[~np.isnan(values)] if column.type == "category" else values[:0]
        if len(known) >= _FEWEST_ROWS and 2 * len(np.unique(known)) > len(known):
            found.append(column.name)
    return tuple(found)
