"""Policies that take a value from another training row, or move towards it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar, Literal

import numpy as np
from pydantic import Field

from crda_spec.counterfactual.neighbours import Nearness
from crda_spec.counterfactual.policies._protocol import ANYTHING, BasePolicy, Feature, Proposal, Rows, Share
from crda_spec.errors import Complaint, inconsistent
from crda_spec.records import Array, Column, ColumnType, IntArray
from crda_spec.seeds import stream
from crda_spec.strict import Positive

NEIGHBOURS = 10  # where a policy looks for near rows and the spec does not say among how many
AMONG = "Among how many of the nearest rows"
_FITTED_ROWS = 2_000  # more rows hardly better a smooth mean, and its cost grows faster than they do
_BLOCK = 50_000  # rows predicted at once


class Resample(BasePolicy):
    """x' is a value that a training row has: as often as it occurs, every one alike, or that of a similar row.

    A similar row is one of the nearest in all other features; where its cell is missing, the value stays.
    Together: the values of one and the same row (for `uniform`, every combination that occurs is as likely).
    """

    moves: ClassVar[frozenset[ColumnType]] = ANYTHING

    kind: Literal["resample"] = Field(
        "resample", description="Draw another value of the feature's own column, for any type."
    )
    weights: Literal["empirical", "uniform", "neighbour"] = Field(
        "empirical",
        description=(
            "As often as it occurs among the training rows, every distinct value alike, or the value of a row that is "
            "similar in all other features."
        ),
    )
    neighbours: int | None = Field(
        None,
        ge=1,
        le=1000,
        description=f"{AMONG} in all other features; only with weights: neighbour, where null means 10.",
    )

    @property
    def needs_neighbours(self) -> bool:
        """Only to take a neighbour's value."""
        return self.weights == "neighbour"

    def complaints(self, path: str) -> Iterator[Complaint]:
        """Neighbours that are not looked for."""
        return _unread_neighbours(path, self.neighbours, setting="weights", value=self.weights, needed="neighbour")

    def describe(self, column: Column) -> str:
        """What it does, in words for the report."""
        if self.weights == "neighbour":
            return f"replaced by the value of one of the {self._near} rows most alike in all other features"
        return "redrawn from its own column, " + (
            "each value as often as it occurs" if self.weights == "empirical" else "every value alike"
        )

    @property
    def _near(self) -> int:
        return self.neighbours or NEIGHBOURS

    def propose(self, x: Array, feature: Feature, rows: Rows, *, rng: np.random.Generator) -> Proposal:
        """See `BasePolicy.propose`."""
        if self.weights == "neighbour":
            partner = rows.nearness.partner(rows.source, rng.random(len(x)), positions=feature.others, count=self._near)
            drawn = feature.values[partner]
            return Proposal(np.where(np.isnan(x) | np.isnan(drawn), x, drawn))
        pool = feature.pool if self.weights == "empirical" else _one_of_each(feature)
        return Proposal(_redrawn(x, feature, pool, rng=rng))


def _redrawn(x: Array, feature: Feature, pool: IntArray, *, rng: np.random.Generator) -> Array:
    """A value of the feature's own column for each row, taken from these training rows."""
    if not len(pool):
        return x
    drawn = feature.values[pool[rng.integers(0, len(pool), size=len(x))]]
    return np.where(np.isnan(x), x, drawn)


def _one_of_each(feature: Feature) -> IntArray:
    """For each distinct value (or combination of values that move together), ascending, a row that holds it."""
    if not len(feature.pool):
        return feature.pool
    cells = feature.joint[feature.pool]
    if cells.shape[1] == 1:
        return feature.pool[np.unique(cells[:, 0], return_index=True)[1]]
    return feature.pool[np.unique(cells, axis=0, return_index=True)[1]]


class Interpolate(BasePolicy):
    """x' = x + mix (x_partner - x), mix uniform on [0, reach).

    All interpolated features of a row have one partner and one mix, so every linear tie among them stays (rounding an
    integer aside): x' lies on the segment between two training rows. A label is the partner's with probability `mix`,
    each cell by its own coin. Where the partner's cell is missing, the value stays. A near partner is one of the
    nearest rows in all features, so that the segment follows a curved cloud too. Together: the same coin.

    Apart: in this share of the rows every feature is redrawn from its own column instead, whatever the others do. Such
    rows fill the space between features that are independent; the others keep to the data where they are not.
    """

    moves: ClassVar[frozenset[ColumnType]] = ANYTHING
    size: ClassVar[str | None] = "reach"

    kind: Literal["interpolate"] = Field(
        "interpolate",
        description="Move towards another row, the same one for all features of a row: linear ties among them stay.",
    )
    partner: Literal["any", "near"] = Field("any", description="Any other row, or one of the nearest.")
    neighbours: int | None = Field(
        None,
        ge=1,
        le=1000,
        description=f"{AMONG} in all features; only with partner: near, where null means 10.",
    )
    reach: Positive = Field(0.5, le=1, description="The largest share of the way; a label changes as often as that.")
    apart: float = Field(
        0.0, ge=0, le=1, description="Share of the rows in which each feature is redrawn from its own column instead."
    )

    @property
    def needs_neighbours(self) -> bool:
        """Only towards a near partner."""
        return self.partner == "near"

    def complaints(self, path: str) -> Iterator[Complaint]:
        """Neighbours that are not looked for."""
        return _unread_neighbours(path, self.neighbours, setting="partner", value=self.partner, needed="near")

    def describe(self, column: Column) -> str:
        """What it does, in words for the report."""
        near = f"one of the {self.neighbours or NEIGHBOURS} rows most alike"
        other = "any other row" if self.partner == "any" else near
        apart = f"; in {100 * self.apart:g} % of the rows redrawn from its own column" if self.apart else ""
        if column.is_numeric:
            return f"moved up to {100 * self.reach:g} % of the way to {other}{apart}"
        return f"taken from {other} with a probability of up to {100 * self.reach:g} %{apart}"

    def propose(self, x: Array, feature: Feature, rows: Rows, *, rng: np.random.Generator) -> Proposal:
        """See `BasePolicy.propose`."""
        partner = rows.nearness.partner(
            rows.source,
            rows.shared.random(len(x)),
            positions=tuple(range(len(rows.nearness.train.features))),
            count=None if self.partner == "any" else self.neighbours or NEIGHBOURS,
        )
        mix = self.reach * rows.shared.random(len(x))
        end = feature.values[partner]
        end = np.where(np.isnan(end), x, end)
        if feature.column.is_numeric:
            values = x + mix * (end - x)
        else:
            values = np.where((rng.random(len(x)) < mix) & ~np.isnan(x), end, x)
        if not self.apart:
            return Proposal(values, partner)
        apart = rows.shared.random(len(x)) < self.apart
        values = np.where(apart, _redrawn(x, feature, feature.pool, rng=rng), values)
        return Proposal(values, np.where(apart, rows.source, partner))


def _unread_neighbours(
    path: str, neighbours: int | None, *, setting: str, value: str, needed: str
) -> Iterator[Complaint]:
    """A number of neighbours where none are looked for: a key that would be read and ignored."""
    if neighbours is not None and value != needed:
        what = f"neighbours is read only with {setting}: {needed}"
        yield inconsistent(f"{path}.neighbours", what, f"remove the key, or use {setting}: {needed}")


class Conditional(BasePolicy):
    """x' = x_d + m(r) - m(r_d): d one of the nearest rows in the fixed features r, m the fitted mean of x given r.

    Why both: near rows alone give the right spread and shape, but with many or with collinear features even the nearest
    row is too far (x2 = x1 + tiny noise: the nearest x2 is farther than the noise is wide). The fitted mean carries the
    donor's value over that distance, as in the local regression adjustment of Beaumont, Zhang and Balding (2002); what
    is drawn is then the donor's deviation from the mean. A feature that the fixed ones determine stays where it is.
    A label is the donor's own. Where the donor's cell is missing, the value stays. With nothing fixed, any row is a
    donor. share: row gives all features of a row one donor, so that the ties among them stay too.
    Together: the same donor.
    """

    moves: ClassVar[frozenset[ColumnType]] = ANYTHING

    kind: Literal["conditional"] = Field(
        "conditional",
        description=(
            "Draw from the feature's distribution given the features that stay fixed: collinear ones stay tied."
        ),
    )
    neighbours: int = Field(NEIGHBOURS, ge=1, le=1000, description=f"{AMONG} in the fixed features the donor is drawn.")
    share: Share = Field("row", description="One donor row for all such features of a row, or each.")

    @property
    def needs_neighbours(self) -> bool:
        """A donor is a row that is alike in the fixed features."""
        return True

    @property
    def needs_fixed(self) -> bool:
        """The fixed features are what it is given."""
        return True

    def describe(self, column: Column) -> str:
        """What it does, in words for the report."""
        each = ", one for all such features" if self.share == "row" else ""
        donor = f"one of the {self.neighbours} rows most alike in the fixed features{each}"
        if not column.is_numeric:
            return f"taken from {donor}"
        return f"drawn given the fixed features: their fitted mean plus the deviation of {donor}"

    def propose(self, x: Array, feature: Feature, rows: Rows, *, rng: np.random.Generator) -> Proposal:
        """See `BasePolicy.propose`."""
        source = rows.shared if self.share == "row" else rng
        donor = rows.nearness.partner(
            rows.source, source.random(len(x)), positions=feature.given, count=self.neighbours
        )
        drawn = feature.values[donor]
        if feature.column.is_numeric and feature.given and len(feature.pool):
            drawn = drawn + _carried(feature, rows, donor)
        values = np.where(np.isnan(x) | np.isnan(drawn), x, drawn)
        return Proposal(values, donor if self.share == "row" else None)


def _carried(feature: Feature, rows: Rows, donor: IntArray) -> Array:
    """m(r) - m(r_d) for each new row: both ends are training rows, so m is needed only there."""
    if "conditional-mean" not in feature.learnt:
        feature.learnt["conditional-mean"] = _conditional_mean(feature, rows.nearness)
    mean = feature.learnt["conditional-mean"]
    carried: Array = mean[rows.source] - mean[donor]
    return carried


def _conditional_mean(feature: Feature, nearness: Nearness) -> Array:
    """(n,) the mean of the feature given what stays fixed, at each training row."""
    from crda_spec.scm.mechanisms import Inputs, fit_mean  # imports scipy

    train, given, fitted = nearness.train, list(feature.given), feature.pool
    if len(fitted) > _FITTED_ROWS:
        rng = stream(nearness.seed, "conditional-rows", *nearness.index)
        fitted = np.sort(rng.choice(fitted, size=_FITTED_ROWS, replace=False))
    r = train.x[:, given]
    inputs = Inputs.learn(r[fitted], [train.features[position] for position in given])
    mean = fit_mean(inputs, r[fitted], feature.values[fitted])
    return np.concatenate([mean.predict(r[block : block + _BLOCK]) for block in range(0, len(r), _BLOCK)])
