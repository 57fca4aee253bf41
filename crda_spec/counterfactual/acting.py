"""What is done to which feature: the spec's choices meet the training rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from crda_spec.counterfactual.policies import Feature, Policy, Resample, Scale
from crda_spec.counterfactual.sources import SourceKind
from crda_spec.counterfactual.support import Guard
from crda_spec.errors import show
from crda_spec.records import Array, Column, IntArray, Table


@dataclass(frozen=True, slots=True, kw_only=True)
class Acting:
    """How many new rows, from which rows, and what is done to each feature that may move."""

    default: Policy = Scale()
    features: Mapping[str, Policy] = field(default_factory=dict)
    factor: float = 1.25
    together: tuple[tuple[str, ...], ...] = ()  # sets of features that move as one
    per_row: int | None = None  # how many features (a set counts as one) each new row moves; None: all
    unmoved: float = 0.0  # the share of new rows that stay where their source is
    on_violation: Literal["clip", "redraw", "error"] = "clip"
    sources: SourceKind = "every"
    support: Guard | None = None

    def policy(self, column: Column) -> Policy:
        """The feature's own policy, or the default; what the default cannot move is resampled."""
        chosen = self.features.get(column.name, self.default)
        return chosen if column.type in chosen.moves else Resample()

    def movable(self, moved: Sequence[str]) -> tuple[str, ...]:
        """Of these features, those that can move: features that move together all do, or none does."""
        held = self.held(moved)
        return tuple(name for name in moved if name not in held)

    def held(self, moved: Sequence[str]) -> dict[str, str]:
        """Why a feature that may move does not: something that it moves together with stays."""
        allowed = set(moved)
        found: dict[str, str] = {}
        for together in self.together:
            stay = [show(name) for name in together if name not in allowed]
            if stay:
                why = f"it moves together with {' and '.join(stay)}, which may not move"
                found |= {name: why for name in together if name in allowed}
        return found

    def set_of(self, name: str) -> tuple[str, ...]:
        """The features that move as one with this one, itself among them."""
        return next((together for together in self.together if name in together), (name,))


def resting_rows(rows: int, share: float, *, rng: np.random.Generator) -> IntArray:
    """Which of so many new rows stay where their source is: a random part, its size right on average.

    A share that makes no whole number is rounded up or down by chance, so that many small sets have it too.
    """
    return rng.permutation(rows)[: int(share * rows + rng.random())]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Move:
    """One feature, its policy, and whom it moves with."""

    feature: Feature
    policy: Policy
    unit: int  # features of the same number move as one
    stream: str  # the name of the numbers they draw

    @property
    def words(self) -> str:
        """What is done, and whether that can come to nothing."""
        said = self.policy.describe(self.feature.column)
        return f"{said}; all training rows have the same value" if is_constant(self.feature.values) else said


def is_constant(values: Array) -> bool:
    """Whether the known values are all the same; true of none at all."""
    known = values[~np.isnan(values)]
    return not len(known) or bool(np.ptp(known) == 0.0)


def plan_moves(train: Table, moved: Sequence[str], acting: Acting, *, following: Sequence[str]) -> tuple[Move, ...]:
    """The moves, in the table's order. following: the features that follow moved ones, and so do not stay fixed."""
    names = [name for name in train.names if name in set(moved)]
    sets = list(dict.fromkeys(_sorted(acting.set_of(name), train) for name in names))
    free, every = train.positions([*names, *following]), np.arange(len(train))
    moves = []
    for name in names:
        together = _sorted(acting.set_of(name), train)
        positions = train.positions(together)
        # One feature (or set) at a time leaves the other movable ones where they are.
        fixed = set(range(len(train.features))) - set(train.positions(following))
        given = fixed - set(positions) if acting.per_row == 1 else fixed - set(free)
        (position,) = train.positions([name])
        feature = _feature(train, position, positions, every, given=tuple(sorted(given)))
        draws = f"act:{name}" if len(together) == 1 else "act together:" + "\0".join(together)
        policy = acting.policy(feature.column)
        moves.append(Move(feature=feature, policy=policy, unit=sets.index(together), stream=draws))
    return tuple(moves)


def _sorted(names: Sequence[str], train: Table) -> tuple[str, ...]:
    """In the table's order, whatever order the spec has."""
    return tuple(name for name in train.names if name in set(names))


def _feature(
    train: Table, position: int, together: Sequence[int], every: IntArray, *, given: tuple[int, ...]
) -> Feature:
    values = np.ascontiguousarray(train.x[:, position])
    joint = values[:, None] if len(together) == 1 else train.x[:, list(together)]
    known, pool = values, every
    if np.isnan(joint).any():
        known = values[~np.isnan(values)]
        pool = np.flatnonzero(~np.isnan(joint).any(axis=1))
        if not len(pool):  # no row knows them all, so each goes by the rows that know it
            pool, joint = np.flatnonzero(~np.isnan(values)), values[:, None]
    return Feature(
        column=train.features[position],
        values=values,
        pool=pool,
        joint=joint,
        mean=float(known.mean()) if len(known) else 0.0,
        sd=float(known.std()) if len(known) else 0.0,
        position=position,
        others=tuple(other for other in range(len(train.features)) if other not in set(together)),
        given=given,
    )
