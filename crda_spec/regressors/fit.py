"""Fitting: from a table to numbers learnt from its training rows only, and from these to a fitted model."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Self, cast

import numpy as np

from crda_spec.data.folds import draw_groups, group_numbers, latest, pieces
from crda_spec.records import (
    Array,
    Cost,
    Counterfactuals,
    IntArray,
    Predictor,
    Signs,
    Table,
    mean_prediction,
    relative,
)
from crda_spec.regressors._protocol import BaseRegressor, Design, EarlyStopping, Estimator, Refits, Regressor, refits
from crda_spec.scm.mechanisms import Inputs, scales_of
from crda_spec.seeds import integer_seed, stream

Fill = Literal["median", "mean"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Encoder:
    """Fills missing cells, gives each label a column of its own, standardises the rest, and scales the target."""

    fill: Array  # (d,) what replaces a missing value: median or mean of a number, the most frequent code otherwise
    center: Array  # (d,)
    scale: Array  # (d,) never 0
    labels: tuple[tuple[int, ...], ...]  # the codes of each category that the rows show; empty for a number or boolean
    target_center: float
    target_scale: float

    def encode(self, x: Array) -> Array:
        """x: (m, d) as in a Table. Returns (m, p), C-contiguous."""
        filled = np.where(np.isnan(x), self.fill, x)
        scaled = (filled - self.center) / self.scale
        if not any(self.labels):
            return scaled
        parts = [
            (filled[:, [position]] == np.array(codes)).astype(np.float64) if codes else scaled[:, [position]]
            for position, codes in enumerate(self.labels)
        ]
        return np.ascontiguousarray(np.concatenate(parts, axis=1))

    def encode_signs(self, signs: Signs, names: Sequence[str]) -> tuple[int, ...] | None:
        """By encoded column, as in `Design.signs`. names: of the d features; a sign of another feature is left out."""
        ways = {name: 1 if sign == "increasing" else -1 for name, sign in signs if name in names}
        if not ways:
            return None
        each = zip(names, self.labels, strict=True)
        return tuple(way for name, codes in each for way in ([0] * len(codes) or [ways.get(name, 0)]))

    def encode_target(self, y: Array) -> Array:
        """Y in its own unit -> standardised."""
        return (y - self.target_center) / self.target_scale

    def decode_target(self, y: Array) -> Array:
        """Standardised -> y in its own unit."""
        return y * self.target_scale + self.target_center


def fit_encoder(train: Table, *, fill: Fill) -> Encoder:
    """Learns the encoding from the real training rows, the same in both arms of a comparison.

    Rows count alike here, weighted or not: a centre and a scale are only units in which a model is told its numbers.
    """
    learnt = Inputs.learn(train.x, train.features, median=fill == "median")
    return Encoder(
        fill=learnt.fill,
        center=learnt.center,
        scale=learnt.scale,
        # Only labels that these rows show: one that only held-out rows have must not even widen the model's input.
        labels=tuple(tuple(codes.astype(np.int64).tolist()) for codes in learnt.codes),
        target_center=float(train.y.mean()),
        target_scale=float(scales_of(train.y[:, None])[0]),
    )


# What the augmented arm's early stopping looks at: the real rows that the plain arm watches too, or the synthetic rows
# made from them, so that every real row can be trained on.
Watch = Literal["real", "synthetic"]

_LEAST_UNITS = 4  # rows or groups; with fewer, watching one would cost more than it tells


@dataclass(frozen=True, slots=True, eq=False)
class FittedModel:
    """A trained member with the encoding it was trained on: rows of a table in, the target's unit out."""

    kind: str
    encoder: Encoder
    estimator: Estimator
    columns: tuple[int, ...] | None = None  # of the table, that it looks at; None: all

    def predict(self, x: Array) -> Array:
        """x: (m, d) as in a Table. Returns (m,)."""
        if not len(x):
            return np.empty(0)  # most libraries refuse a table without rows
        x = x if self.columns is None else x.take(self.columns, axis=1)
        predicted = self.estimator.predict(self.encoder.encode(x))
        return self.encoder.decode_target(np.asarray(predicted, dtype=np.float64).reshape(-1))


@dataclass(slots=True)
class Fitter:
    """Fits models of one kind and counts what it cost."""

    regressor: Regressor
    fill: Fill = "median"
    fits: int = 0
    refits: int = 0  # of these models, those that were trained a second time, on all rows
    seconds: float = 0.0
    reused: int = 0  # models that were needed and had been fitted elsewhere
    # Models of real rows alone, kept for whoever asks again: a fit is a function of rows, regressor and seed.
    memo: dict[tuple[bytes, int, int, tuple[int, ...] | None, Signs], FittedModel] | None = (
        None  # None: nothing is kept
    )

    @property
    def cost(self) -> Cost:
        """What it fitted so far."""
        return Cost(fits=self.fits, refits=self.refits, reused=self.reused, seconds=self.seconds)

    def spent(self, cost: Cost) -> Self:
        """Counts on from there."""
        self.fits, self.refits, self.seconds = cost.fits, cost.refits, cost.seconds
        return self

    def fit(
        self,
        train: Table,
        extra: Counterfactuals | None = None,
        *,
        seed: int,
        watch: Watch = "real",
        regressor: Regressor | None = None,
        columns: tuple[int, ...] | None = None,
        signs: Signs = (),
    ) -> FittedModel:
        """One model on the training rows, plus synthetic rows made from them where there are any.

        Equal seeds give both arms of a comparison the same early-stopping rows and the same initial state.

        watch: what early stopping looks at when there are synthetic rows.
        regressor: a model of another kind, for a teacher of several; its fit counts like any other.
        columns: the features that it may look at, for a model of real rows; None: all.
        signs: what its predictions must obey; none: what the regressor itself holds.
        """
        chosen = regressor or self.regressor
        key = (train.row_ids.tobytes(), id(chosen), seed, columns, signs)  # a plugin's regressor need not be hashable
        if self.memo is not None and extra is None and key in self.memo:
            self.reused += 1
            return self.memo[key]
        train = train if columns is None else train.select(columns)
        encoder = fit_encoder(train, fill=self.fill)
        signs = signs or (chosen.signs if isinstance(chosen, BaseRegressor) else ())
        ways = encoder.encode_signs(signs, train.names)
        held = watched_rows(train, chosen.stopping, seed=seed)
        synthetic = extra is not None and watches_synthetic(extra, held, watch)
        started = time.perf_counter()
        design = _design(train, extra, encoder, held, synthetic=synthetic, signs=ways)
        estimator = chosen.train(design, seed=seed)
        self.fits += 1
        if len(held) and not synthetic and refits(chosen):
            whole = _design(train, extra, encoder, held[:0], synthetic=False, signs=ways)
            estimator = cast("Refits", chosen).refit(estimator, whole, seed=seed)
            self.refits += 1
        self.seconds += time.perf_counter() - started
        model = FittedModel(chosen.kind, encoder, estimator, columns)
        if self.memo is not None and extra is None:
            self.memo[key] = model
        return model


def student_seed(seed: int, index: tuple[int, ...]) -> int:
    """Both arms start from the same seed: same initial state, same early-stopping rows."""
    return integer_seed(seed, "student", *index)


def _design(
    train: Table,
    extra: Counterfactuals | None,
    encoder: Encoder,
    held: IntArray,
    *,
    synthetic: bool,
    signs: tuple[int, ...] | None,
) -> Design:
    """No row is trained on that stems from one that is watched, or (watching synthetic rows) the other way round.

    A real row weighs what its table says, relative to the mean of all real rows of this fit, so that only proportions
    count and penalties mean the same in both arms. A synthetic row weighs as much as its source, times its own weight.

    held: positions of the real rows to set aside.  synthetic: the rows made from them are watched instead.
    """
    aside = np.isin(np.arange(len(train)), held)
    seen, real_weight = ~aside, relative(train.weights)
    watched_x, watched_y, watched_from, looks = train.x[held], train.y[held], held, 1
    if extra is not None and synthetic:
        stems = extra.stems_from(aside)
        # Without noise: a label with the noise of its source, which is trained on, would praise a model that has learnt
        # this noise by heart.
        watched_x, watched_y, watched_from = extra.action.x[stems], extra.prediction[stems], extra.action.source[stems]
        seen = np.ones(len(train), dtype=bool)
        # As often, counted in steps of training, as the plain arm looks, whose passes are that much shorter.
        looks = max(1, round((len(train) + len(extra) - int(stems.sum())) / (len(train) - len(held))))
    x, y, weight = train.x[seen], train.y[seen], None if real_weight is None else real_weight[seen]
    if extra is not None:
        usable = ~extra.stems_from(aside)
        x = np.concatenate([x, extra.action.x[usable]])
        y = np.concatenate([y, extra.y[usable]])
        if real_weight is not None or extra.weight != 1.0:
            real = np.ones(len(train)) if real_weight is None else real_weight
            weight = np.concatenate([real[seen], real[extra.action.source[usable]] * extra.weight])
    return Design(
        x=encoder.encode(x),
        y=encoder.encode_target(y),
        weight=weight,
        validation_x=encoder.encode(watched_x) if len(watched_y) else None,
        validation_y=encoder.encode_target(watched_y) if len(watched_y) else None,
        validation_weight=real_weight[watched_from] if real_weight is not None and len(watched_y) else None,
        signs=signs,
        looks=looks,
    )


def watches_synthetic(extra: Counterfactuals, held: IntArray, watch: Watch) -> bool:
    """Whether the augmented arm is stopped by synthetic rows: asked for, and some were made from the rows held out.

    held: positions of the real rows that the plain arm watches.
    """
    return watch == "synthetic" and bool(np.isin(extra.action.source, held).any())


def watched_rows(train: Table, stopping: EarlyStopping | None, *, seed: int) -> IntArray:
    """A seeded part of the rows, whole groups only; none when the model does not stop early or rows are too few.

    Where rows have an order it is their latest part: a model is stopped where it predicts best, not where it best
    fills gaps between neighbours in time.
    """
    unit = group_numbers(train) if train.times is None else pieces(train.times, train.groups)
    if stopping is None or unit.max(initial=-1) + 1 < _LEAST_UNITS:
        return np.empty(0, dtype=np.int64)
    wanted = stopping.validation * len(train)
    if train.times is not None:
        return latest(train.times, wanted, train.groups)
    return draw_groups(train, wanted, rng=stream(seed, "validation"))


@dataclass(frozen=True, slots=True, eq=False)
class MeanModel:
    """The mean of the members' predictions."""

    members: tuple[Predictor, ...]

    def predict(self, x: Array) -> Array:
        """x: (m, d). Returns (m,)."""
        return mean_prediction(self.members, x)
