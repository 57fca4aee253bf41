"""Action: new rows in which X_P moves and X_R stays, bit for bit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from crda_spec.counterfactual.policies import Feature, Policy, Resample, RowDraws, Scale
from crda_spec.records import Action, Array, Column, IntArray, Table
from crda_spec.seeds import stream


@dataclass(frozen=True, slots=True, kw_only=True)
class Acting:
    """How many new rows, and what is done to each feature that may move."""

    default: Policy = Scale()
    features: Mapping[str, Policy] = field(default_factory=dict)
    factor: float = 1.25

    def policy(self, column: Column) -> Policy:
        """The feature's own policy, or the default; what cannot be scaled or jittered is resampled."""
        chosen = self.features.get(column.name, self.default)
        return chosen if column.type in chosen.moves else Resample()


def act(train: Table, moved: Sequence[str], acting: Acting, *, seed: int, index: tuple[int, ...]) -> Action:
    """Factor * n new rows; each moves every feature of X_P and keeps all others."""
    source = _sources(len(train), acting.factor, rng=stream(seed, "sources", *index))
    x = train.x[source]
    shared = RowDraws(scale=stream(seed, "row-scale", *index).uniform(-1.0, 1.0, size=len(source)))
    clipped: dict[str, int] = {}
    policies: dict[str, str] = {}
    for position in train.positions(moved):
        column = train.features[position]
        policy = acting.policy(column)
        rng = stream(seed, f"act:{column.name}", *index)
        proposal = policy.propose(x[:, position], _feature(train.x[:, position]), shared, rng=rng)
        x[:, position], clipped[column.name] = fit_contract(proposal, column)
        policies[column.name] = policy.describe()
    same = (x == train.x[source]) | (np.isnan(x) & np.isnan(train.x[source]))
    return Action(
        x=x,
        source=source,
        moved=tuple(moved),
        policies=policies,
        clipped=clipped,
        unmoved=int(same.all(axis=1).sum()),
    )


def _sources(n: int, factor: float, *, rng: np.random.Generator) -> IntArray:
    """Each training row floor(factor) times; the remainder is a random sample of rows without repetition."""
    times, rest = divmod(round(factor * n), n)
    chosen = np.sort(rng.choice(n, size=rest, replace=False))
    return np.concatenate([np.tile(np.arange(n), times), chosen]).astype(np.int64)


def _feature(values: Array) -> Feature:
    known = values[~np.isnan(values)]
    if not len(known):
        return Feature(values=known, mean=0.0, sd=0.0)
    return Feature(values=known, mean=float(known.mean()), sd=float(known.std()))


def fit_contract(proposal: Array, column: Column) -> tuple[Array, int]:
    """The nearest values that the column's contract allows, and how many proposals that changed.

    Rounding an integer is no violation, so it is not counted.
    """
    rounded = np.rint(proposal) if column.type == "integer" else proposal
    # Whole numbers only between the bounds of an integer, which may themselves be fractions.
    ceil, floor = (np.ceil, np.floor) if column.type == "integer" else (float, float)
    low_bound = -np.inf if column.minimum is None else ceil(column.minimum)
    high_bound = np.inf if column.maximum is None else floor(column.maximum)
    allowed = np.unique([value for value in column.allowed or () if low_bound <= value <= high_bound])
    if len(allowed):
        above = np.clip(np.searchsorted(allowed, rounded), 1, max(1, len(allowed) - 1))
        low, high = allowed[above - 1], allowed[np.minimum(above, len(allowed) - 1)]
        nearest = np.where(np.abs(rounded - low) <= np.abs(high - rounded), low, high)
        kept = np.where(np.isnan(rounded), rounded, nearest)
    else:
        kept = np.clip(rounded, low_bound, high_bound)
    return kept, int(np.count_nonzero((kept != rounded) & ~np.isnan(rounded)))
