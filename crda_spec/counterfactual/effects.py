"""What a certified cause does on average: the teacher's finite differences over the training rows, no fit needed.

Not what the feature predicts: each row is asked twice, with the feature alone set to two values near its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from crda_spec.counterfactual.act import nearest_allowed
from crda_spec.counterfactual.whatif import AskedRows, OutcomeModel
from crda_spec.records import Array, AverageEffect, Table, weighted_mean

_ROWS = 500  # that are asked: enough for a mean to a twentieth of its spread
_STEP = 0.25  # standard deviations to either side


def average_effects(train: Table, model: OutcomeModel, names: Sequence[str]) -> tuple[AverageEffect, ...]:
    """One for each number, and for each label of a category but the most frequent.

    A number moves a quarter of a standard deviation to either side, inside the range of the training rows. Without
    mechanisms the other columns are held fixed; a model with some lets those of this feature follow.
    """
    asked = train.take(np.unique(np.linspace(0, len(train) - 1, min(len(train), _ROWS)).round().astype(np.int64)))
    asked = replace(asked, y=model.teacher.predict(asked.x))  # an average needs no noise
    return tuple(effect for name in names for effect in _effects(train, asked, model, name))


def _effects(train: Table, asked: Table, model: OutcomeModel, name: str) -> Iterator[AverageEffect]:
    (position,) = train.positions([name])
    column, known = train.features[position], train.x[~np.isnan(train.x[:, position]), position]
    rows = asked.take(np.flatnonzero(~np.isnan(asked.x[:, position])))
    codes, times = np.unique(known, return_counts=True)
    if len(codes) < 2 or not len(rows):
        return
    if column.is_numeric:
        step = _STEP * float(known.std())
        step = max(1.0, float(np.rint(step))) if column.type == "integer" else step
        low, high = (
            nearest_allowed(np.clip(rows.x[:, position] + side * step, codes[0], codes[-1]), column)[0]
            for side in (-1.0, 1.0)
        )
        apart = np.flatnonzero(high > low)
        if len(apart):
            rows, low, high = rows.take(apart), low[apart], high[apart]
            change = (_outcome(model, rows, position, high) - _outcome(model, rows, position, low)) / (high - low)
            yield replace(_summary(name, "", "", change, rows, model), sd=float(known.std()))
        return
    labels = column.labels or ("false", "true")
    usual = codes[times.argmax()] if column.type == "category" else 0.0
    base = _outcome(model, rows, position, np.full(len(rows), usual))
    for code in codes[codes != usual].tolist():
        change = _outcome(model, rows, position, np.full(len(rows), code)) - base
        yield _summary(name, labels[int(code)], labels[int(usual)], change, rows, model)


def _outcome(model: OutcomeModel, rows: Table, position: int, values: Array) -> Array:
    """(m,) what the outcome would be. rows: whose outcomes have no noise."""
    return model.what_if(AskedRows(x=rows.x, y=rows.y, settings={position: values}, predicted=rows.y)).y


def _summary(name: str, label: str, against: str, change: Array, rows: Table, model: OutcomeModel) -> AverageEffect:
    mean = weighted_mean(change, rows.weights)
    low, high = np.quantile(change, [0.1, 0.9])
    return AverageEffect(
        name=name,
        label=label,
        against=against,
        mean=mean,
        spread=float(np.sqrt(weighted_mean((change - mean) ** 2, rows.weights))),
        low=float(low),
        high=float(high),
        follows=() if model.mechanisms is None else tuple(model.mechanisms.facts),
    )
