"""Sensitivity: how strong must a hidden cause be before its error in the labels is as large as the gate's gain?

After Cinelli and Hazlett (2020, "Making sense of sensitivity: extending omitted variable bias"). A hidden cause U of
the target y and a moved feature x uses up the gain G when R2_y * R2_x / (1 - R2_x) reaches

    k^2 = G * sd(x | rest)^2 / (retention^2 * E[delta^2] * sd(y | x, rest)^2),

where R2_y is the partial R^2 of U with y given all features and R2_x that of U with x given the other features; with
both equal to r, at r^2 / (1 - r) = k^2. The derivation and its limits: docs/design/sensitivity.md.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from crda_spec import records
from crda_spec.records import Array, Certificate, Counterfactuals, FeatureSensitivity, IntArray, Sensitivity, Table
from crda_spec.scm.mechanisms import scales_of

# Added to the diagonal of a correlation matrix: far below any tie that rows can show, it makes the inverse exist and
# shares a tie among features that repeat each other, so that leaving one of two equal columns out costs nothing.
_RIDGE = 1e-11
_DETERMINED = 1e-9  # the share of a column's variance below which the other columns are said to determine it


def sensitivity(
    train: Table, counterfactuals: Counterfactuals, certificate: Certificate, *, gain: float
) -> Sensitivity | None:
    """For each certified feature that moved: how strong a hidden cause would have to be to use up the gain.

    gain: the fall of the mean held-out squared error that the gate measured. None when there is no gain to lose, or no
    feature moved on a declared graph's word. Categories have no distance to move by and are left out.
    """
    action = counterfactuals.action
    allowed = {*certificate.perturbed, *certificate.propagated}
    # What moved, or followed what moved, because a declared graph allows it.
    moved = [name for name in dict.fromkeys((*action.moved, *action.propagated)) if name in allowed]
    if not (gain > 0 and math.isfinite(gain)) or not moved or certificate.basis != "declared":
        return None
    whole = _ties(train, np.ones(len(train), dtype=np.bool_))
    measured_features: list[FeatureSensitivity] = []
    left_out: dict[str, records.NotMeasured] = {}
    for name in moved:
        position = train.names.index(name)
        known = ~np.isnan(train.x[:, position])
        ties = whole if known.all() else _ties(train, known)
        if train.features[position].type == "category":
            left_out[name] = "category"
        elif ties is None:
            left_out[name] = "too_few_rows"
        else:
            measured_features.append(_of_feature(train, counterfactuals, position, ties, gain))
    return Sensitivity(
        gain=gain,
        retention=counterfactuals.retention,
        features=tuple(measured_features),
        target=train.target.name,
        left_out=left_out,
    )


def sign_robustness(train: Table, before: Array, after: Array, difference: Array) -> Array:
    """(m,) the partial R^2 with both at which a hidden cause turns the sign of each difference; NaN: too few rows.

    The difference over its standard error in a linear regression is its t-value, and k^2 = t^2 / (degrees of freedom):
    for one feature, what bias * delta = difference gives in the derivation above.  before, after: (m, d) the rows, of
    which only changed cells matter.  A difference of 0 has no sign, and a robustness of 0.
    """
    ties = _ties(train, np.ones(len(train), dtype=np.bool_))
    if ties is None:
        return np.full(len(before), np.nan)
    parts = [
        _encoded(column, after[:, at], values) - _encoded(column, before[:, at], values)
        for at, (column, values) in enumerate(zip(train.features, train.x.T, strict=True))
    ]
    change = np.column_stack(parts) / ties.spread[:-1]
    leverage = np.maximum(np.einsum("mi,ij,mj->m", change, ties.features_inverse, change), 0.0) / ties.inflation[1]
    noise = ties.remaining_sd(-1)
    with np.errstate(divide="ignore", invalid="ignore"):
        limit = (difference / noise) ** 2 / leverage
    return np.array([0.0 if d == 0 else robustness_at(k) for d, k in zip(difference.tolist(), limit, strict=True)])


def yardstick(train: Table, name: str) -> records.Benchmark | None:
    """What a hidden cause of the target and this feature can be compared with; None when there is nothing."""
    ties = _ties(train, np.ones(len(train), dtype=np.bool_))
    if ties is None or train.features[train.names.index(name)].type == "category":
        return None
    found = max(ties.yardsticks(name), key=lambda other: min(other[1:]), default=None)
    return None if found is None else records.Benchmark(name=found[0], with_feature=found[1], with_target=found[2])


def used_up_at(limit: float, with_feature: float) -> float:
    """The partial R^2 with the target that uses up the gain, for one with the feature; may exceed 1. limit: k^2."""
    return math.inf if with_feature <= 0 else limit * (1.0 - with_feature) / with_feature


def robustness_at(limit: float) -> float:
    """The r at which r^2 / (1 - r) = limit, from 0 to 1: written so that no digits cancel for a large limit."""
    return 0.0 if limit <= 0 else 2.0 / (1.0 + math.sqrt(1.0 + 4.0 / limit))


def uses_up_the_gain(feature: FeatureSensitivity) -> bool:
    """Whether a hidden cause tied to both as strongly as the yardstick would use up the gain."""
    return bool(feature.observed) and feature.observed_with_target >= used_up_at(
        feature.limit, feature.observed_with_feature
    )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Ties:
    """Linear ties among all encoded columns of some rows, as two inverse correlation matrices."""

    blocks: Mapping[str, IntArray]  # the columns of each feature: positions in the matrices
    features_inverse: Array  # (p, p) of the features alone
    all_inverse: Array  # (p + 1, p + 1) of the features and, last, the target
    spread: Array  # (p + 1,) standard deviations; 1 for a constant
    inflation: tuple[float, float]  # what degrees of freedom add to the variance of a feature, and of the target

    def remaining_sd(self, column: int) -> float:
        """What the features leave of the target, the last column, or the other features of a feature."""
        target = column == -1
        inverse = self.all_inverse if target else self.features_inverse
        share = float(self.inflation[target] / inverse[column, column])
        return float(self.spread[column] * math.sqrt(share if share > _DETERMINED else 0.0))

    def yardsticks(self, name: str) -> Iterator[tuple[str, float, float]]:
        """Each other feature with its partial R^2 with this feature and with the target, all else held fixed."""
        column = int(self.blocks[name][0])
        for other, block in self.blocks.items():
            if other != name:
                of_feature = _partial_r2(self.features_inverse, column, block)
                yield other, of_feature, _partial_r2(self.all_inverse, -1, block)


def _partial_r2(inverse: Array, one: int, block: IntArray) -> float:
    """Partial R^2 of a column with a block given all other columns, from the inverse of their correlation matrix."""
    # Leaving the block out takes Q_1B Q_BB^-1 Q_B1 from Q_11, which is one over the column's remaining variance.
    cross = inverse[one, block]
    if len(block) == 1:  # the usual case, without the cost of a solver
        explained = float(cross[0] ** 2 / inverse[block[0], block[0]])
    else:
        explained = float(cross @ np.linalg.solve(inverse[np.ix_(block, block)], cross))
    return min(1.0, max(0.0, explained / float(inverse[one, one])))


def _ties(train: Table, rows: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> _Ties | None:
    """The ties among these rows; None when they are no more than the columns, and nothing is left to be explained."""
    blocks: dict[str, IntArray] = {}
    parts: list[Array] = []
    for column, values in zip(train.features, train.x[rows].T, strict=True):
        encoded = _encoded(column, values, values)
        start = sum(part.shape[1] for part in parts)
        blocks[column.name] = np.arange(start, start + encoded.shape[1])
        parts.append(encoded)
    columns = np.column_stack([*parts, train.y[rows]])
    spread = scales_of(columns) if len(columns) else np.ones(1)
    scaled = (columns - columns.mean(axis=0)) / spread if len(columns) else columns
    correlation = scaled.T @ scaled / max(1, len(scaled))
    features_inverse, rank = _inverse(correlation[:-1, :-1])
    free = len(scaled) - 1 - rank  # of the target; a feature has its own column fewer to spend one on
    if free < 1:
        return None
    return _Ties(
        blocks=blocks,
        features_inverse=features_inverse,
        all_inverse=_inverse(correlation)[0],
        spread=spread,
        inflation=(len(scaled) / (free + 1), len(scaled) / free),
    )


def _inverse(correlation: Array) -> tuple[Array, int]:
    """The inverse with a ridge too small to be seen, and the rank."""
    values, vectors = np.linalg.eigh(correlation)
    rank = int(np.count_nonzero(values > _DETERMINED))
    return (vectors / (np.maximum(values, 0.0) + _RIDGE)) @ vectors.T, rank


def _encoded(column: records.Column, values: Array, known: Array) -> Array:
    """One feature's columns: numbers, missing cells at their mean and marked in one more; a column a label but one.

    known: the training rows' values, which say what the columns are.
    """
    if column.type == "category":
        codes = np.unique(known[~np.isnan(known)])[1:]
        parts = [(values[:, None] == codes).astype(np.float64)]
    else:
        present = known[~np.isnan(known)]
        parts = [np.where(np.isnan(values), present.mean() if len(present) else 0.0, values)[:, None]]
    if np.isnan(known).any():
        parts.append(np.isnan(values)[:, None].astype(np.float64))
    encoded = np.column_stack(parts)
    return encoded if encoded.shape[1] else np.zeros((len(values), 1))


def _of_feature(
    train: Table, counterfactuals: Counterfactuals, position: int, ties: _Ties, gain: float
) -> FeatureSensitivity:
    name = train.names[position]
    action = counterfactuals.action
    change = action.x[:, position] - train.x[action.source, position]
    moved_sd = math.sqrt(float(np.nan_to_num(change) @ np.nan_to_num(change)) / max(1, len(change)))  # missing: unmoved
    remaining_sd = ties.remaining_sd(int(ties.blocks[name][0]))
    limit = _limit(gain, counterfactuals.retention, moved_sd, remaining_sd, ties.remaining_sd(-1))
    others = ties.yardsticks(name)
    observed, with_feature, with_target = max(others, key=lambda other: min(other[1:]), default=("", 0.0, 0.0))
    return FeatureSensitivity(
        name=name,
        robustness=robustness_at(limit),
        limit=limit,
        moved_sd=moved_sd,
        remaining_sd=remaining_sd,
        observed=observed,
        observed_with_feature=with_feature,
        observed_with_target=with_target,
    )


def _limit(gain: float, retention: float, moved_sd: float, remaining_sd: float, target_sd: float) -> float:
    """k^2, by ratios of numbers in one unit: a table's largest numbers overflow when they are squared twice.

    Nothing carried, nothing moved or nothing left to explain in the target: no hidden cause can do harm. A feature
    that the others determine has no part of its own, and then the weakest cause is enough.
    """
    if retention == 0 or moved_sd == 0 or target_sd == 0:
        return math.inf
    root = (math.sqrt(gain) / target_sd) * (remaining_sd / moved_sd) / retention
    return root * root
