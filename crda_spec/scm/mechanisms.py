"""Fitted structural equations: the value of a feature once its causes have changed, its own noise kept."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Literal, Protocol

import numpy as np
import numpy.typing as npt

from crda_spec.records import Array, Column, Followed, Table
from crda_spec.scm.propagation import FollowerInputs

_TREND = 20.0  # how much more freely the linear trend moves than the bumps
_CAUTION = 1.4  # Kim and Gu's factor
_WIDTHS = (0.5, 1.0, 2.0)  # of the bumps, in standard deviations, times the root of the number of inputs
_PENALTIES = np.logspace(5, -4, 19)
_LABEL_PENALTIES = (100.0, 10.0, 1.0, 0.1, 0.01)
_STEPS = 30  # of Newton's method, which needs about six
_SMALL = 1e-10


@dataclass(frozen=True, slots=True, eq=False)
class Inputs:
    """From a table's columns to standardised numbers; a category gives a column to each of its labels."""

    fill: Array  # (k,) what a missing cell is read as
    center: Array  # (k,)
    scale: Array  # (k,) never 0
    codes: tuple[Array, ...]  # the labels of a category; empty for anything else

    @classmethod
    def learn(cls, rows: Array, columns: Sequence[Column], *, median: bool = False) -> Inputs:
        """rows: (n, k), one column for each contract.  median: what a missing number is read as, not the mean."""
        pairs = zip(rows.T, columns, strict=True)
        fill = np.array([_typical(values, column, median=median) for values, column in pairs])
        filled = np.where(np.isnan(rows), fill, rows)
        return cls(
            fill=fill,
            center=filled.mean(axis=0),
            scale=scales_of(filled),
            codes=tuple(
                np.unique(values) if column.type == "category" else np.empty(0)
                for values, column in zip(filled.T, columns, strict=True)
            ),
        )

    def encode(self, rows: Array) -> Array:
        """rows: (m, k). Returns (m, p)."""
        filled = np.where(np.isnan(rows), self.fill, rows)
        scaled = (filled - self.center) / self.scale
        parts = [
            (filled[:, [place]] == codes).astype(np.float64) if len(codes) else scaled[:, [place]]
            for place, codes in enumerate(self.codes)
        ]
        return np.concatenate(parts, axis=1)


def scales_of(columns: Array) -> Array:
    """Standard deviations, 1 for a constant. Its values tell a constant: rounding may leave it a tiny deviation,
    which would send a value that differs a little to the end of the world.
    """
    deviation = columns.std(axis=0)
    return np.where((np.ptp(columns, axis=0) > 0) & (deviation > 0), deviation, 1.0)


def _typical(values: Array, column: Column, *, median: bool) -> float:
    known = values[~np.isnan(values)]
    if not len(known):
        return 0.0
    if column.is_numeric:
        return float(np.median(known) if median else known.mean())
    codes, counts = np.unique(known, return_counts=True)
    return float(codes[counts.argmax()])


@dataclass(frozen=True, slots=True, eq=False)
class Basis:
    """A linear trend and Gaussian bumps, scaled so that one ridge penalty suits all."""

    inputs: Inputs
    centers: Array  # (c, p)
    width: float
    whiten: Array  # (c, r) makes the bumps a priori independent, each of variance one

    @classmethod
    def place(cls, inputs: Inputs, centers: Array, width: float) -> Basis:
        """Bumps of this width at these centres."""
        values, vectors = np.linalg.eigh(_bumps(centers, centers, width))
        kept = values > values[-1] * 1e-7  # what lies below is rounding
        return cls(inputs=inputs, centers=centers, width=width, whiten=vectors[:, kept] / np.sqrt(values[kept]))

    def columns(self, rows: Array) -> Array:
        """rows: (m, k) as in a table. Returns (m, p + r)."""
        encoded = self.inputs.encode(rows)
        return np.column_stack([_TREND * encoded, _bumps(encoded, self.centers, self.width) @ self.whiten])


def _bumps(rows: Array, centers: Array, width: float) -> Array:
    from scipy.spatial.distance import cdist

    return np.asarray(np.exp(-0.5 * cdist(rows, centers, "sqeuclidean") / width**2))


def _bases(inputs: Inputs, rows: Array, most: int) -> list[Basis]:
    """One for each width. The bumps stand evenly among the distinct rows, sorted: one input gets its quantiles."""
    encoded = np.unique(inputs.encode(rows), axis=0)
    chosen = np.linspace(0, len(encoded) - 1, min(most, len(encoded))).round().astype(np.int64)
    root = float(np.sqrt(encoded.shape[1]))
    return [Basis.place(inputs, encoded[chosen], width * root) for width in _WIDTHS]


@dataclass(frozen=True, slots=True, eq=False)
class SmoothMean:
    """E[f | inputs]."""

    basis: Basis
    constant: float
    slopes: Array

    def predict(self, rows: Array) -> Array:
        """rows: (m, k). Returns (m,)."""
        return np.asarray(self.constant + self.basis.columns(rows) @ self.slopes)


def fit_mean(inputs: Inputs, rows: Array, values: Array) -> SmoothMean:
    """rows: (n, k); values: (n,), none missing."""
    return MeanDesign(inputs, rows).fit(values)


class MeanDesign:
    """The part of a smooth mean's fit that does not depend on the values, for several fits on the same rows."""

    def __init__(self, inputs: Inputs, rows: Array) -> None:
        """rows: (n, k)."""
        self._parts = [_Rotated.of(basis, rows) for basis in _bases(inputs, rows, 20 + int(1.5 * np.sqrt(len(rows))))]

    def fit(self, values: Array) -> SmoothMean:
        """values: (n,), none missing."""
        return min((part.ridge(values) for part in self._parts), key=lambda fit: fit[0])[1]


@dataclass(frozen=True, slots=True, eq=False)
class _Rotated:
    """A basis at some rows, in the directions in which a ridge penalty acts on each number by itself."""

    basis: Basis
    columns: Array  # (n, p) centred
    middle: Array  # (p,)
    strength: Array  # (p,)
    vectors: Array  # (p, p)

    @classmethod
    def of(cls, basis: Basis, rows: Array) -> _Rotated:
        """rows: (n, k)."""
        columns = basis.columns(rows)
        middle = columns.mean(axis=0)
        columns = columns - middle
        strength, vectors = np.linalg.eigh(columns.T @ columns)
        return cls(basis, columns, middle, np.maximum(strength, 0.0), vectors)

    def ridge(self, values: Array) -> tuple[float, SmoothMean]:
        """The least score over all penalties, and its fit."""
        mean, n = float(values.mean()), len(values)
        strength, y = self.strength, values - mean
        along, total = self.vectors.T @ (self.columns.T @ y), float(y @ y)
        best, chosen = np.inf, _PENALTIES[0]
        for penalty in _PENALTIES:
            left = n - _CAUTION * (1.0 + (strength / (strength + penalty)).sum())
            if left <= 0.0:
                break  # smaller penalties only leave less
            loss = total - (along**2 * (strength + 2.0 * penalty) / (strength + penalty) ** 2).sum()
            score = max(loss, _SMALL * total) / left**2
            if score < best:
                best, chosen = score, penalty
        slopes = self.vectors @ (along / (strength + chosen))
        return best, SmoothMean(self.basis, mean - float(self.middle @ slopes), slopes)


@dataclass(frozen=True, slots=True, eq=False)
class LabelShares:
    """P(label | inputs), as a chain of yes-or-no questions: is it the first label? if not, is it the second? ..."""

    codes: Array  # (q,) the labels that were seen, ascending
    basis: Basis
    constants: Array  # (q - 1,)
    slopes: Array  # (q - 1, p + r)

    def predict(self, rows: Array) -> Array:
        """rows: (m, k). Returns (m, q); each row adds up to one."""
        from scipy.special import expit

        yes = expit(self.basis.columns(rows) @ self.slopes.T + self.constants)
        one = np.ones(len(rows))
        still: Array = np.cumprod(np.column_stack([one, 1.0 - yes]), axis=1, dtype=np.float64)
        return np.asarray(still * np.column_stack([yes, one]))


def fit_label_shares(inputs: Inputs, rows: Array, values: Array) -> LabelShares:
    """rows: (n, k); values: (n,) codes, none missing."""
    codes = np.unique(values)
    most = 15 + int(np.sqrt(len(values)))
    fits: list[tuple[float, LabelShares]] = []
    for basis in _bases(inputs, rows, most):
        columns = basis.columns(rows)
        answers = [_logit(columns[values >= code], values[values >= code] == code) for code in codes[:-1]]
        shares = LabelShares(
            codes,
            basis,
            np.array([constant for _, constant, _ in answers]),
            np.array([slopes for _, _, slopes in answers]).reshape(len(answers), columns.shape[1]),
        )
        fits.append((sum(score for score, _, _ in answers), shares))
    return min(fits, key=lambda fit: fit[0])[1]


def _logit(columns: Array, yes: Array) -> tuple[float, float, Array]:
    """Ridge-penalised logistic regression: the least criterion over the penalties, the constant and the slopes."""
    middle = columns.mean(axis=0)
    design = np.column_stack([np.ones(len(yes)), columns - middle])
    share = (yes.sum() + 0.5) / (len(yes) + 1.0)
    weights = np.zeros(design.shape[1])
    weights[0] = np.log(share / (1.0 - share))
    best, chosen = np.inf, weights
    for penalty in _LABEL_PENALTIES:  # from stiff to free, each from the last one's answer
        ridge = np.full(design.shape[1], penalty)
        ridge[0] = _SMALL  # the constant is free, but a lone label must not send it to infinity
        weights, freedom = _newton(design, yes.astype(np.float64), ridge, weights)
        score = _deviance(design @ weights, yes) + 2.0 * _CAUTION * freedom
        if score < best:
            best, chosen = score, weights
    return best, float(chosen[0] - middle @ chosen[1:]), chosen[1:]


def _newton(design: Array, yes: Array, ridge: Array, weights: Array) -> tuple[Array, float]:
    """The penalised maximum of the likelihood, and how many free parameters it is worth."""
    from scipy.special import expit

    loss = _deviance(design @ weights, yes) + float(ridge @ weights**2)
    freedom = 0.0
    for _ in range(_STEPS):
        share = expit(design @ weights)
        curve = (design * (share * (1.0 - share))[:, None]).T @ design
        bent = curve + np.diag(ridge)
        step = np.linalg.solve(bent, design.T @ (yes - share) - ridge * weights)
        freedom = float(np.trace(np.linalg.solve(bent, curve)))
        for _ in range(_STEPS):  # halve a step that overshoots
            tried = _deviance(design @ (weights + step), yes) + float(ridge @ (weights + step) ** 2)
            if tried <= loss:
                break
            step = step / 2.0
        else:
            break
        weights, gain, loss = weights + step, loss - tried, tried
        if gain < 1e-6 * (1.0 + loss):
            break
    return weights, freedom


def _deviance(logits: Array, yes: Array) -> float:
    """Minus twice the log-likelihood."""
    return float(2.0 * np.logaddexp(0.0, np.where(yes, -logits, logits)).sum())


Settle = Callable[[Array, Column], tuple[Array, npt.NDArray[np.bool_]]]  # the values allowed, and which changed


class Uniforms(Protocol):
    """Where a follower's draws come from: a generator, or one that gives each row its own number."""

    def random(self, size: int) -> Array:
        """(size,) numbers in [0, 1)."""


Draws = Callable[[str], Uniforms]


@dataclass(frozen=True, slots=True, eq=False)
class AdditiveNoise:
    """f' = f + m(after) - m(before)."""

    mean: SmoothMean  # by kernel ridge
    kind: Literal["additive", "rounded"]  # rounded, an integer: the part of the noise that rounding hid is drawn

    def follow(self, value: Array, before: Array, after: Array, uniform: Array) -> Array:
        """The new values (m,), not yet inside the contract. before, after: (m, k) inputs. uniform: (m,) in [0, 1)."""
        hidden = uniform - 0.5 if self.kind == "rounded" else 0.0
        return np.asarray(value + hidden + (self.mean.predict(after) - self.mean.predict(before)))


@dataclass(frozen=True, slots=True, eq=False)
class AbductedUniform:
    """The label at the same place of the distribution function, the inputs changed."""

    kind: ClassVar[Literal["uniform"]] = "uniform"  # by kernel logistic regression

    shares: LabelShares

    def follow(self, value: Array, before: Array, after: Array, uniform: Array) -> Array:
        """See `AdditiveNoise.follow`."""
        codes, rows = self.shares.codes, np.arange(len(value))
        # Rows drawn again may lack a rare label: its place is unknown there, and whoever has it keeps it.
        known = np.isin(value, codes)
        seen = np.where(known, np.searchsorted(codes, value), 0)
        ends = np.column_stack([np.zeros(len(value)), np.cumsum(self.shares.predict(before), axis=1)])
        low, high = ends[rows, seen], ends[rows, seen + 1]
        # Rounding must not carry a place over the end of its own label.
        place = np.maximum(np.minimum(low + (high - low) * uniform, np.nextafter(high, 0.0)), low)
        # The last end is one up to rounding, so the last label takes whatever lies beyond the one before it.
        beyond = np.cumsum(self.shares.predict(after), axis=1)[:, :-1]
        return np.where(known, codes[(place[:, None] >= beyond).sum(axis=1)], value)


Equation = AdditiveNoise | AbductedUniform  # of one follower, fitted


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Mechanism:
    """One follower: where it stands in the table, what it reads, and its equation."""

    column: Column
    position: int
    reads: tuple[int, ...]
    rule: FollowerInputs
    equation: Equation | None  # None when the training rows show no value of it

    def follow(self, x: Array, before: Array, *, draws: Draws, settle: Settle) -> tuple[Array, int]:
        """The follower's new values (m,), from rows x whose inputs are final, and how many left its contract."""
        value = before[:, self.position].copy()
        new, old = x[:, self.reads], before[:, self.reads]
        moved = ~((new == old) | (np.isnan(new) & np.isnan(old))).all(axis=1) & ~np.isnan(value)
        if self.equation is None or not moved.any():
            return value, 0
        # One number a row, moved or not, so that what happens to one row shifts no draw of another.
        uniform = draws(self.column.name).random(len(value))[moved]
        followed = self.equation.follow(value[moved], old[moved], new[moved], uniform)
        value[moved], changed = settle(followed, self.column)
        return value, int(changed.sum())


@dataclass(frozen=True, slots=True, eq=False)
class Mechanisms:
    """The equations of all followers, causes before effects."""

    each: tuple[Mechanism, ...]

    @property
    def facts(self) -> dict[str, Followed]:
        """By follower, what it follows and how."""
        return {
            one.column.name: Followed(
                kind="unlearned" if one.equation is None else one.equation.kind,
                parents=one.rule.parents,
                adjusted=one.rule.adjusted,
            )
            for one in self.each
        }

    def follow(self, x: Array, before: Array, *, draws: Draws, settle: Settle) -> tuple[Array, dict[str, int]]:
        """Rows in which all followers have followed, and how many values of each left their contract.

        x: (m, d) rows in which features were moved. before: the same rows as they were. draws: the generator of a
        follower, by its name. settle: brings proposals back inside a column's contract, and counts them.
        """
        followed, clipped = x.copy(), dict[str, int]()
        for one in self.each:
            followed[:, one.position], clipped[one.column.name] = one.follow(
                followed, before, draws=draws, settle=settle
            )
        return followed, clipped


def fit_mechanisms(train: Table, rules: Sequence[FollowerInputs]) -> Mechanisms:
    """The equations of these followers, learnt from the training rows that show the follower's value."""
    return Mechanisms(tuple(_mechanism(train, rule) for rule in rules))


def refit_mechanisms(train: Table, fitted: Mechanisms, signs: Array, rows: npt.NDArray[np.int64]) -> Mechanisms:
    """The same equations from other luck: how far they would differ had the rows been drawn again.

    A number's residuals change sign (the wild bootstrap: its inputs stay where they are); labels have none, and are
    taken from rows drawn again.  signs: (n,) of 1 and -1.  rows: (n,) positions drawn with repetition.
    """
    again = []
    for one in fitted.each:
        table = train
        if isinstance(one.equation, AdditiveNoise):
            mean, x = one.equation.mean.predict(train.x[:, one.reads]), train.x.copy()
            x[:, one.position] = mean + signs * (x[:, one.position] - mean)
            table = replace(train, x=x)
        elif one.equation is not None:
            table = train.take(rows)
        again.append(_mechanism(table, one.rule))
    return Mechanisms(tuple(again))


def _mechanism(train: Table, rule: FollowerInputs) -> Mechanism:
    (position,) = train.positions([rule.name])
    reads, column = train.positions(rule.inputs), train.features[position]
    known: npt.NDArray[np.bool_] = ~np.isnan(train.x[:, position])
    equation: Equation | None = None
    if known.any():
        rows, values = train.x[known][:, reads], train.x[known, position]
        inputs = Inputs.learn(rows, [train.features[one] for one in reads])
        if column.is_numeric:
            kind: Literal["additive", "rounded"] = "rounded" if column.type == "integer" else "additive"
            equation = AdditiveNoise(fit_mean(inputs, rows, values), kind)
        else:
            equation = AbductedUniform(fit_label_shares(inputs, rows, values))
    return Mechanism(column=column, position=position, reads=reads, rule=rule, equation=equation)
