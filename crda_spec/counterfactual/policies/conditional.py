"""Draw from the feature's distribution given the features that stay fixed."""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np
from pydantic import Field

from crda_spec.counterfactual.neighbours import Nearness
from crda_spec.counterfactual.policies._protocol import (
    AMONG,
    ANYTHING,
    NEIGHBOURS,
    BasePolicy,
    Feature,
    Proposal,
    Rows,
    Share,
)
from crda_spec.records import Array, Column, ColumnType, IntArray
from crda_spec.seeds import stream

_FITTED_ROWS = 2_000  # more rows hardly better a smooth mean, and its cost grows faster than they do
_BLOCK = 50_000  # rows predicted at once


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
