"""What if? Abduction, action, prediction for single rows: the outcome that a row would have had.

The difference is g(x') - g(x): the row's noise cancels, so an interval of it is about g alone. Nobody ever observes a
difference, so no interval can be calibrated on some; here the teacher is fitted again on rows with other luck, and what
is reported is the spread of the answers. Of the ways to draw such rows the wild bootstrap covers best: x stays, and the
residual of each row (or group), predicted unseen, keeps or changes its sign (docs/explanation/what-ifs.md).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from crda_spec.counterfactual.act import nearest_allowed
from crda_spec.counterfactual.predict import label_of
from crda_spec.counterfactual.support import NeighbourSupport
from crda_spec.data.folds import group_numbers
from crda_spec.records import Array, FeatureClass, IntArray, NoiseScale, Predictor, Table
from crda_spec.regressors.teachers.refits import Refits
from crda_spec.scm.mechanisms import Mechanisms, refit_mechanisms
from crda_spec.seeds import integer_seed, stream

_EXAMPLES = 200  # rows that are looked at for an example
Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class AskedRows:
    """Rows with known outcomes, and what some of their columns are set to."""

    x: Array  # (m, d) as observed
    y: Array  # (m,)
    settings: Mapping[int, Array]  # by position of the column: (m,) its new values
    predicted: Array | None = None  # (m,) what the run's teacher says of them, where that is known
    luck: IntArray | None = None  # (m,) which draw of a follower's stream is each row's own; None: the next one

    @property
    def acted(self) -> Array:
        """(m, d) the rows with the new values, before anything follows."""
        acted = self.x.copy()
        for position, values in self.settings.items():
            acted[:, position] = values
        return acted


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Answers:
    """What the outcomes would have been."""

    x: Array  # (m, d) the rows in which all is set and has followed
    y: Array  # (m,)
    difference: Array  # (m,) from what was observed
    same: Mask  # (m,) rows in which nothing changed that the outcome depends on: exactly 0 there


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class OutcomeModel:
    """y = g(x) + s(x) u, and the equations of what follows a change."""

    teacher: Predictor
    scale: NoiseScale | None = None  # None: the noise has one size
    mechanisms: Mechanisms | None = None  # None: what a changed column causes is held fixed
    irrelevant: tuple[int, ...] = ()  # columns on which no outcome depends
    seed: int = 0

    def what_if(self, rows: AskedRows) -> Answers:
        """The three steps."""
        # Action: the new values, and what they cause.
        x_new = self._followed(rows)
        asked = x_new.copy()
        asked[:, list(self.irrelevant)] = rows.x[:, list(self.irrelevant)]
        same: Mask = ((asked == rows.x) | (np.isnan(asked) & np.isnan(rows.x))).all(axis=1)
        moved = ~same
        y_new = rows.y.copy()
        if moved.any():
            # Abduction: the noise of each row.
            x, y = rows.x[moved], rows.y[moved]
            predicted = self.teacher.predict(x) if rows.predicted is None else rows.predicted[moved]
            size, size_new = (
                (None, None) if self.scale is None else (self.scale.at(x)[0], self.scale.at(asked[moved])[0])
            )
            noise = y - predicted if size is None else (y - predicted) / size
            # Prediction: the outcome with that noise.
            y_new[moved] = label_of(self.teacher.predict(asked[moved]), 1.0, size_new, noise)
        return Answers(x=x_new, y=y_new, difference=y_new - rows.y, same=same)

    def _followed(self, rows: AskedRows) -> Array:
        if self.mechanisms is None:
            return rows.acted
        luck = np.arange(len(rows.x)) if rows.luck is None else rows.luck

        def draws(name: str) -> _OwnDraws:
            return _OwnDraws(stream(self.seed, f"whatif-follow:{name}"), luck)

        # A follower whose cause is set keeps to its equation, unless it is set itself.
        return self.mechanisms.follow(rows.acted, rows.x, draws=draws, settle=nearest_allowed)[0]


class _OwnDraws:
    """A stream from which each row takes the number of its own, whoever else is asked about."""

    def __init__(self, rng: np.random.Generator, luck: IntArray) -> None:
        self._rng, self._luck = rng, luck

    def random(self, size: int) -> Array:
        """(size,) one number a row."""
        return self._rng.random(int(self._luck.max(initial=-1)) + 1)[self._luck[:size]]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Spread:
    """How to fit again all that answers."""

    train: Table
    predicted: Array  # (n,) the teacher on its own rows
    residual: Array  # (n,) of rows unseen, in the target's unit
    refits: Refits
    model: OutcomeModel
    seed: int

    def difference(self, rows: AskedRows, number: int) -> Array:
        """(m,) what the teacher of the rows with the luck of this number answers."""
        train, rng = self.train, stream(self.seed, "whatif-rows", number)
        unit = group_numbers(train)
        signs = rng.choice(np.array([-1.0, 1.0]), size=int(unit.max()) + 1)[unit]
        drawn = rng.integers(0, len(train), size=len(train))
        luck = replace(train, y=self.predicted + signs * self.residual)
        teacher = self.refits.fit(luck, seed=integer_seed(self.seed, "whatif-fit", number))
        mechanisms = self.model.mechanisms
        again = None if mechanisms is None else refit_mechanisms(train, mechanisms, signs, drawn)
        model = replace(self.model, teacher=teacher, mechanisms=again)
        return model.what_if(replace(rows, predicted=None)).difference


def interval(difference: Array, refitted: Array, level: float) -> tuple[Array, Array]:
    """(m,) and (m,): both ends.  refitted: (b, m) the answers of b >= 2 other teachers."""
    from scipy.stats import t

    half = t.ppf(0.5 + level / 2, len(refitted) - 1) * refitted.std(axis=0, ddof=1)
    return difference - half, difference + half


def beyond_column(train: Table, x: Array, x_new: Array) -> Iterator[tuple[int, Mask]]:
    """By column: (m,) which rows have a new value there that lies beyond all training rows'; only where there are."""
    for position, column in enumerate(train.features):
        new, values = x_new[:, position], train.x[:, position]
        known = values[~np.isnan(values)]
        far = ~np.isin(new, known)
        if column.is_numeric:
            far = (new < known.min(initial=np.inf)) | (new > known.max(initial=-np.inf))
        far = far & (new != x[:, position]) & ~np.isnan(new)
        if far.any():
            yield position, far


def example_change(train: Table, classes: Mapping[str, FeatureClass], *, seed: int) -> tuple[int, int, float] | None:
    """A question worth asking: the positions of a training row and of a number of it, and how much more of it.

    classes: of each feature.  The new value is one that the column has room for, and the new row is where the data are;
    a cause comes first, then the first rows. None where no such question is found.
    """
    irrelevant = tuple(at for at, name in enumerate(train.names) if classes[name] == "irrelevant")
    asked = [at for at, one in enumerate(train.features) if one.is_numeric and classes[one.name] != "blocked"]
    for at in sorted(asked, key=irrelevant.__contains__):
        whole, values = train.features[at].type == "integer", train.x[:, at]
        spread = float(np.nanstd(values))
        for share in (1.0, 0.5, 0.25) if spread > 0.0 else ():
            step = float(max(1, round(share * spread))) if whole else float(f"{share * spread:.0e}")
            rows = np.flatnonzero(values + step <= np.nanmax(values))[:_EXAMPLES]
            changed = train.x[rows].copy()
            changed[:, at] += step
            near = rows[~off_data(train, train.x[rows], changed, irrelevant, rows, seed=seed)]
            if len(near):
                return int(near[0]), at, step
    return None


def off_data(
    train: Table, x: Array, x_new: Array, irrelevant: tuple[int, ...], source: IntArray | None, *, seed: int
) -> Mask:
    """(m,) which changed rows lie where no training rows are, though the rows they were made of do not.

    source: (m,) the training rows that these are; None: they are from elsewhere.
    """
    kept = [position for position in range(len(train.features)) if position not in irrelevant]
    if not kept:
        return np.zeros(len(x), dtype=np.bool_)
    table = train.select(kept)
    region = NeighbourSupport().learn(table, rows=len(x), seed=seed, index=(0,))
    if source is not None:
        return region.outside(x_new[:, kept], source)
    return region.strangers(x[:, kept], table).outside(x_new[:, kept], np.arange(len(x)))
