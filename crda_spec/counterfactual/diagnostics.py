"""Where the new rows lie, how far they moved, and what the teacher does there: for the reader, never for a decision."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.stats import ks_2samp

from crda_spec import records
from crda_spec.counterfactual.effects import average_effects
from crda_spec.counterfactual.neighbours import Space
from crda_spec.counterfactual.support import NeighbourSupport
from crda_spec.counterfactual.whatif import OutcomeModel
from crda_spec.records import Abduction, Array, Comparison, Counterfactuals, IntArray, MovedFeature, Predictor, Table
from crda_spec.seeds import stream

_ROWS = 1500  # real rows, and new ones, that are asked about: enough for shares to a percent
_POINTS = 250  # of each that are drawn
_ASKED = 100  # real rows at which the teacher's effects are measured
_LEVELS = np.linspace(0.0125, 0.9875, 40)  # of a quantile plot
_GRID = np.linspace(0.05, 0.95, 9)  # quantiles of a feature at which the teacher is asked
_MOST_LABELS = 12
_MOST_PAIRS = 3


def diagnose(
    train: Table,
    teacher: records.Teacher,
    abduction: Abduction,
    made: Counterfactuals,
    *,
    seed: int,
    certificate: records.Certificate | None = None,
) -> records.Diagnostics:
    """From what was trained on alone; no test row is needed. certificate: whose causes' effects are averaged."""
    rng = stream(seed, "diagnostics")
    rows = _sample(np.arange(len(train)), _ROWS, rng)
    new = _sample(np.flatnonzero(np.isin(made.action.source, rows)), _ROWS, rng)
    asked = _sample(rows, _ASKED, rng)
    changed = made.action.changed
    moved = tuple(
        _moved(train, teacher, made, position, train.x[asked])
        for position, name in enumerate(train.names)
        if name in changed
    )
    return records.Diagnostics(
        moved=moved,
        places=_places(train, made, moved, rows, new, seed=seed, rng=rng),
        disagreement=_disagreement(teacher, train.x[rows], made.action.x[new]),
        noise=_carried(abduction, made),
        effects=() if certificate is None else certified_effects(train, teacher, certificate),
    )


def certified_effects(
    train: Table, teacher: Predictor, certificate: records.Certificate
) -> tuple[records.AverageEffect, ...]:
    """Of what a declared graph certifies and does not call irrelevant, each alone; a search certifies nothing."""
    causes = [name for name in train.names if name in certificate.largest and name not in certificate.irrelevant]
    irrelevant = train.positions(certificate.irrelevant)
    return average_effects(train, OutcomeModel(teacher=teacher, irrelevant=irrelevant), causes)


def comparison(before: Array, after: Array) -> Comparison:
    """Quantile against quantile."""
    quantiles = [tuple(float(value) for value in np.quantile(sample, _LEVELS)) for sample in (before, after)]
    gap = float(ks_2samp(before, after, method="asymp").statistic)
    return Comparison(before=quantiles[0], after=quantiles[1], distance=gap)


def _sample(rows: IntArray, most: int, rng: np.random.Generator) -> IntArray:
    return rows if len(rows) <= most else np.sort(rng.choice(rows, size=most, replace=False))


def _carried(abduction: Abduction, made: Counterfactuals) -> Comparison | None:
    if made.retention == 0:
        return None
    real = abduction.noise if abduction.scale is None else abduction.scale * abduction.noise
    return comparison(real, made.retention * (made.noise if made.scale is None else made.scale * made.noise))


def _moved(train: Table, teacher: Predictor, made: Counterfactuals, position: int, x: Array) -> MovedFeature:
    column, values = train.features[position], train.x[:, position]
    old, new = values[made.action.source], made.action.x[:, position]
    different = (old != new) & ~(np.isnan(old) & np.isnan(new))
    median = far = in_sd = None
    distance = np.abs(new - old)[different & ~np.isnan(new - old)]
    if column.is_numeric and len(distance):
        median, far = (float(value) for value in np.quantile(distance, [0.5, 0.95]))
        spread = float(np.nanstd(values))
        in_sd = float(np.sqrt((distance**2).sum() / len(old))) / spread if spread > 0 else None
    grid = _grid(values, numeric=column.is_numeric, whole=column.type == "integer")
    effect, curve = _effect(teacher, x, position, grid, float(train.y.std()))
    return MovedFeature(
        name=column.name,
        changed=float(different.mean()),
        median=median,
        far=far,
        in_sd=in_sd,
        effect=effect,
        grid=tuple(float(value) for value in grid),
        curve=curve,
    )


def _grid(values: Array, *, numeric: bool, whole: bool) -> Array:
    """The values at which the teacher is asked, each once: quantiles of a number, or the most frequent labels."""
    known = values[~np.isnan(values)]
    if numeric:
        quantiles = np.quantile(known, _GRID) if len(known) else np.zeros(1)
        return np.unique(np.rint(quantiles) if whole else quantiles)
    codes, times = np.unique(known, return_counts=True)
    return np.sort(codes[np.argsort(-times, kind="stable")[:_MOST_LABELS]])


def _effect(teacher: Predictor, x: Array, position: int, grid: Array, spread: float) -> tuple[float, tuple[float, ...]]:
    """How much each row's own prediction varies along the grid, and the mean curve.

    Not the mean curve's variation: a feature whose effect has another sign in every other row has a flat mean.
    """
    asked = np.tile(x, (len(grid), 1))
    asked[:, position] = np.repeat(grid, len(x))
    predicted = teacher.predict(asked).reshape(len(grid), len(x))
    size = float(np.sqrt(((predicted - predicted.mean(axis=0)) ** 2).mean()))
    return size / spread if spread > 0 else 0.0, tuple(float(value) for value in predicted.mean(axis=1))


def _places(
    train: Table,
    made: Counterfactuals,
    moved: Sequence[MovedFeature],
    rows: IntArray,
    new: IntArray,
    *,
    seed: int,
    rng: np.random.Generator,
) -> records.Places:
    part = train.take(rows)
    space = Space.learn(part)
    real, points = space.encode(part.x), space.encode(made.action.x[new])
    center = real.mean(axis=0)
    _, strength, directions = np.linalg.svd(real - center, full_matrices=False)
    axes = _upright(directions[:2])
    power = strength**2 / max(float((strength**2).sum()), 1e-300)
    shares = (float(power[0]), float(power[1]) if len(power) > 1 else 0.0)
    source = np.searchsorted(rows, made.action.source[new])
    region = NeighbourSupport().learn(part, rows=len(new), seed=seed, index=(0,))
    drawn, drawn_new = _sample(np.arange(len(rows)), _POINTS, rng), _sample(np.arange(len(new)), _POINTS, rng)
    plane = records.Cloud(
        first="first principal direction",
        second="second principal direction",
        real=_points((real[drawn] - center) @ axes.T),
        new=_points((points[drawn_new] - center) @ axes.T),
    )
    pairs = tuple(
        records.Cloud(
            first=train.names[pair[0]],
            second=train.names[pair[1]],
            real=_points(part.x[drawn][:, pair]),
            new=_points(made.action.x[new[drawn_new]][:, pair]),
        )
        for pair in _pairs(train, moved)
    )
    outside = float(region.outside(made.action.x[new], source).mean()) if len(new) else 0.0
    return records.Places(plane=plane, shares=shares, pairs=pairs, outside=outside, rows=len(new))


def _upright(directions: Array) -> Array:
    """(2, p) The same directions, each with its largest part positive, so that no library's choice of sign shows."""
    largest = np.abs(directions).argmax(axis=1)
    signs = np.where(directions[np.arange(len(directions)), largest] < 0, -1.0, 1.0)
    turned = directions * signs[:, None]
    return turned if len(turned) == 2 else np.vstack([turned, np.zeros((2 - len(turned), turned.shape[1]))])


def _pairs(train: Table, moved: Sequence[MovedFeature]) -> list[list[int]]:
    """Positions of the numbers that moved most, two and two; one alone goes with the number it is most tied to."""
    order = sorted((one for one in moved if one.in_sd), key=lambda one: -(one.in_sd or 0.0))[:3]
    first = list(train.positions([one.name for one in order]))
    if len(first) == 1:
        ties = {}
        for other, column in enumerate(train.features):
            both = ~np.isnan(train.x[:, [first[0], other]]).any(axis=1)
            x, y = train.x[both, first[0]], train.x[both, other]
            if other != first[0] and column.is_numeric and len(x) > 2 and np.ptp(x) > 0 and np.ptp(y) > 0:
                ties[other] = abs(float(np.corrcoef(x, y)[0, 1]))
        first += [max(ties, key=lambda other: (ties[other], -other))] if ties else []
    return [[a, b] for at, a in enumerate(first) for b in first[at + 1 :]][:_MOST_PAIRS]


def _points(values: Array) -> records.Points:
    """Rounded to what the eye can see; rows with a missing cell are left out."""
    known = values[np.isfinite(values).all(axis=1)]
    return tuple((float(f"{a:.5g}"), float(f"{b:.5g}")) for a, b in known)


def _disagreement(teacher: records.Teacher, real: Array, new: Array) -> records.Disagreement | None:
    if len(teacher.members) < 2 or not len(new):
        return None
    weights = np.array(teacher.weights or (1.0,) * len(teacher.members))
    sizes = []
    for x in (real, new):
        predicted = np.stack([member.predict(x) for member in teacher.members])
        mean = np.average(predicted, axis=0, weights=weights)
        spread = np.sqrt(np.average((predicted - mean) ** 2, axis=0, weights=weights))
        sizes += [float(value) for value in np.quantile(spread, [0.5, 0.9])]
    return records.Disagreement(
        members=len(teacher.members), real_median=sizes[0], real_far=sizes[1], new_median=sizes[2], new_far=sizes[3]
    )
