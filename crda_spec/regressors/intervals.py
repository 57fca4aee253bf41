"""How sure a prediction is: conformal quantiles of errors on rows unseen, and what an interval or distribution costs.

Arrays in, arrays out. n calibration rows have an error each, made by a model that has not seen the row; m new rows get
an interval at any level.

- `residual_half_widths`: prediction +- quantile of the errors. The promise is approximate: the errors are those of
  models that were fitted on fewer rows than the one that predicts.
- `cv_plus_bounds` (Barber, Candes, Ramdas and Tibshirani 2021): each error goes with the model that made it. For rows
  that are exchangeable, sizes all one and k equal folds, a new row lies inside with probability at least
  1 - 2 alpha - min(2 (1 - 1/k) / (n/k + 1), (1 - k/n) / (k + 1)), alpha = 1 - level.

The quantile counts the new row too, as if its error were infinite; at a high level few rows leave no finite quantile,
and the interval is infinite.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Literal

import numpy as np
from pydantic import Field

from crda_spec.errors import Complaint, show
from crda_spec.records import Array, IntArray, IntervalForm, weighted_mean
from crda_spec.strict import Fraction, Strict

USUAL_LEVELS = (0.9,)

_ROUNDING = 1e-9  # 0.9 * 10 is a little more than 9, and asks for the ninth value all the same
_AT_ONCE = 2_000_000  # numbers of a table of bounds that are held at a time


class Intervals(Strict):
    """Prediction intervals, from the errors on the rows that the gate holds out."""

    levels: tuple[Fraction, ...] | None = Field(
        None,
        min_length=1,
        max_length=10,
        description=(
            "The levels at which intervals are scored, each between 0 and 1; null: 0.9 where there is a gate, else "
            "none. `predict --interval` answers at any level."
        ),
    )
    form: IntervalForm = Field(
        "residuals",
        description=(
            "residuals: around the final model, by the errors of the gate's models on rows they have not seen. "
            "cv_plus: around these models, which are kept in the run's folder (CV+, Barber et al. 2021)."
        ),
    )
    width: Literal["fitted", "constant"] = Field(
        "fitted",
        description=(
            "fitted: wider where the noise is larger, by causal.graph.noise if that is declared, else by all features "
            "and the prediction, as far as rows held out bear it out. constant: all intervals are equally wide."
        ),
    )

    @property
    def wanted(self) -> tuple[float, ...]:
        """The levels."""
        return USUAL_LEVELS if self.levels is None else self.levels

    def complaints(self, *, gated: bool, in_time: bool) -> Iterator[Complaint]:
        """Levels that are named twice, and intervals for which no row is held out."""
        path, levels = "output.intervals", self.levels or ()
        for at, level in enumerate(levels):
            if level in levels[:at]:
                what = f"the level {level:g} is listed twice"
                yield Complaint(code="inconsistent", path=f"{path}.levels.{at}", what=what, hint="remove one")
        if not gated and self != Intervals():
            what = "intervals come from the rows that the gate holds out, and gate.enabled is false"
            yield Complaint(code="inconsistent", path=path, what=what, hint="enable the gate, or write intervals: null")
        if in_time and self.form == "cv_plus":
            what = "cv_plus asks the model of every fold, but in time (dataset.time) the first ones have seen few rows"
            hint = "use form: residuals"
            yield Complaint(code="inconsistent", path=f"{path}.form", what=what, hint=hint)


def unknown_level(level: float) -> Complaint | None:
    """What is wrong with a level; None: nothing."""
    if 0.0 < level < 1.0:
        return None
    what = f"--interval {show(level)} is not between 0 and 1"
    return Complaint(code="out-of-range", what=what, hint="use for example --interval 0.9")


def upper_quantile(values: Array, level: float, *, weights: Array | None = None, units: int | None = None) -> Array:
    """The least value below or at which `level` of the weight lies, one more row of average weight counted as infinite.

    values: (n,) or (n, m), along the first axis.  weights: (n,) how much each row counts; None: all the same.
    units: how many independent things the rows are (groups, where rows belong together); None: n. The one row more is
    one unit more.  Returns () or (m,), inf where the weight does not suffice.
    """
    rows = len(values)
    if not rows:
        return np.full(values.shape[1:], np.inf)
    units = rows if units is None else units
    order = np.argsort(values, axis=0, kind="stable")
    shares = np.full(rows, 1.0 / rows) if weights is None else weights / weights.sum()
    enough = np.cumsum(shares[order], axis=0) >= level * (units + 1) / units * (1.0 - _ROUNDING)
    first = np.argmax(enough, axis=0)[None]
    found = np.take_along_axis(values, np.take_along_axis(order, first, axis=0), axis=0)[0]
    return np.where(enough.any(axis=0), found, np.inf)


def fewest_units(level: float) -> int:
    """With fewer calibration rows (or groups) an interval at this level is infinite."""
    return math.ceil(level / (1.0 - level) * (1.0 - _ROUNDING))


def residual_half_widths(
    scores: Array, sizes: Array, level: float, *, weights: Array | None = None, units: int | None = None
) -> Array:
    """(m,) half of each interval's width. scores: (n,) |error| / size of the row.  sizes: (m,) of the new rows."""
    return np.asarray(sizes * upper_quantile(scores, level, weights=weights, units=units))


def cv_plus_bounds(
    predictions: Array,
    fold: IntArray,
    scores: Array,
    sizes: Array,
    level: float,
    *,
    weights: Array | None = None,
    units: int | None = None,
) -> tuple[Array, Array]:
    """(m,) lower and (m,) upper bounds.

    predictions: (k, m) of the new rows, by the model that left out each fold.  fold: (n,) from 0, which of them has not
    seen a calibration row.  scores: (n,) |error| / size of the row.  sizes: (m,) of the new rows.
    """
    parts = []
    step = max(1, _AT_ONCE // max(1, len(scores)))
    for start in range(0, predictions.shape[1], step):
        some = slice(start, start + step)
        center, reach = predictions[fold, some], scores[:, None] * sizes[None, some]
        low = -upper_quantile(reach - center, level, weights=weights, units=units)
        parts.append((low, upper_quantile(center + reach, level, weights=weights, units=units)))
    low, high = (np.concatenate([part[side] for part in parts]) if parts else np.empty(0) for side in (0, 1))
    return low, high


def interval_losses(below: Array, above: Array, level: float) -> Array:
    """(m,) the interval score (Winkler 1972; Gneiting and Raftery 2007): width, and 2 / alpha times how far y is out.

    below: (m,) y - lower bound.  above: (m,) upper bound - y.
    """
    miss = np.maximum(-below, 0.0) + np.maximum(-above, 0.0)
    return np.asarray(below + above + 2.0 / (1.0 - level) * miss)


def mean_interval_loss(below: Array, above: Array, level: float, weights: Array | None) -> tuple[float, float, float]:
    """Coverage, mean width and mean interval score of some rows, weighted where rows are."""
    inside = ((below >= 0.0) & (above >= 0.0)).astype(np.float64)
    losses = interval_losses(below, above, level)
    return weighted_mean(inside, weights), weighted_mean(below + above, weights), weighted_mean(losses, weights)


def crps(errors: Array, reference: Array, weights: Array | None = None) -> Array:
    """(m,) the continuous ranked probability score of prediction + an error drawn from `reference`.

    E|R - e| - E|R - R'| / 2, R and R' drawn independently (Gneiting and Raftery 2007).
    errors: (m,) y - prediction.  reference: (n,) errors of other rows, weighted by `weights`.
    """
    order = np.argsort(reference, kind="stable")
    values = reference[order]
    shares = (np.ones(len(values)) if weights is None else weights[order]).astype(np.float64)
    shares = shares / shares.sum()
    mass, moment = (np.concatenate([[0.0], np.cumsum(one)]) for one in (shares, shares * values))
    at = np.searchsorted(values, errors, side="right")
    to_error = errors * (2.0 * mass[at] - mass[-1]) + moment[-1] - 2.0 * moment[at]
    # sum over pairs of w w' |r - r'| = 2 sum_i w_i (r_i W_before - M_before), ties add nothing
    between = 2.0 * float((shares * (values * mass[:-1] - moment[:-1])).sum())
    return np.asarray(to_error - between / 2.0)


def largest_half_width(reference: Array, level: float, weights: Array | None = None) -> float:
    """The quantile of |error| that a score uses: the largest one where the conformal one is infinite."""
    sizes = np.abs(reference)
    found = float(upper_quantile(sizes, level, weights=weights))
    return found if math.isfinite(found) else float(sizes.max())


def cross_conformal_losses(
    errors: Array, sizes: Array, fold: IntArray, level: float, *, weights: Array | None = None
) -> Array:
    """(n,) what each row's interval costs, its width taken from the errors of the other folds alone.

    errors: (n,) y - prediction by a model that has not seen the row.  sizes: (n,) of the rows.  fold: (n,).
    """
    losses = np.empty(len(errors))
    for rows, others in _other_folds(fold):
        own = None if weights is None else weights[others]
        half = sizes[rows] * largest_half_width(errors[others] / sizes[others], level, own)
        losses[rows] = interval_losses(errors[rows] + half, half - errors[rows], level)
    return losses


def cross_crps(errors: Array, fold: IntArray, *, weights: Array | None = None) -> Array:
    """(n,) the CRPS of each row, its distribution made of the errors of the other folds alone. See the above."""
    losses = np.empty(len(errors))
    for rows, others in _other_folds(fold):
        losses[rows] = crps(errors[rows], errors[others], None if weights is None else weights[others])
    return losses


def _other_folds(fold: IntArray) -> list[tuple[IntArray, IntArray]]:
    """For each fold the rows that it holds out, and those that others do."""
    return [(np.flatnonzero(fold == one), np.flatnonzero(fold != one)) for one in np.unique(fold)]
