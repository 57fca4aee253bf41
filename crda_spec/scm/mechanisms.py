"""Fitted structural equations: the value of a feature once its causes have changed, its own noise abducted and kept.

A number follows by additive noise: f' = f + m(inputs') - m(inputs). The noise f - m(inputs) never has to be out of
fold: where the inputs have not changed the value is reproduced to the last bit, whatever m is. Of an integer the noise
is known only up to rounding, so a uniform number between -1/2 and 1/2 stands for what rounding hid; without it an
effect below one half would never be seen, with it the mean follows m.

A label follows through an abducted uniform. Given its inputs, a label is the inverse distribution function (labels in
the order of their codes) at u ~ U(0, 1). The label seen says that u lies between two values of that function; u is
drawn there, and the new label is the inverse at u under the new inputs. With two labels this is the only rule under
which no row moves against the others (Tian and Pearl 2000 call it monotonicity); with more, the order is an assumption.
One row's u stays unknown, so single labels agree with the truth only as often as the draw allows, while the share of
each label among rows alike comes out right.

Missing cells: a missing follower stays missing, as there is no noise to abduct. A missing input is read as the mean (or
the most frequent label) before and after, so that a follower does not react to it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from crda_spec.records import Array, Column, Table
from crda_spec.scm.propagation import FollowerInputs
from crda_spec.scm.reasons import listed
from crda_spec.scm.smooth import Inputs, LabelShares, SmoothMean, fit_label_shares, fit_mean

Settle = Callable[[Array, Column], tuple[Array, int]]
Draws = Callable[[str], np.random.Generator]


class Equation(Protocol):
    """One follower's fitted equation."""

    @property
    def words(self) -> str:
        """How the noise enters, and what was fitted."""
        ...

    def follow(self, value: Array, before: Array, after: Array, uniform: Array) -> Array:
        """The new values (m,), not yet inside the column's contract.

        value: (m,) none missing. before, after: (m, k) the inputs. uniform: (m,) numbers in [0, 1), one for each row.
        """
        ...


@dataclass(frozen=True, slots=True, eq=False)
class AdditiveNoise:
    """f' = f + m(after) - m(before)."""

    mean: SmoothMean
    whole: bool  # an integer: the part of the noise that rounding hid is drawn

    @property
    def words(self) -> str:
        """In a few words."""
        return f"additive noise{', rounded' if self.whole else ''}, kernel ridge"

    def follow(self, value: Array, before: Array, after: Array, uniform: Array) -> Array:
        """See `Equation.follow`."""
        hidden = uniform - 0.5 if self.whole else 0.0
        moved: Array = value + hidden + (self.mean.predict(after) - self.mean.predict(before))
        return moved


@dataclass(frozen=True, slots=True, eq=False)
class AbductedUniform:
    """The label at the same place of the distribution function, the inputs changed."""

    shares: LabelShares

    @property
    def words(self) -> str:
        """In a few words."""
        return "abducted uniform, kernel logistic regression"

    def follow(self, value: Array, before: Array, after: Array, uniform: Array) -> Array:
        """See `Equation.follow`."""
        codes, rows = self.shares.codes, np.arange(len(value))
        seen = np.searchsorted(codes, value)
        ends = np.column_stack([np.zeros(len(value)), np.cumsum(self.shares.predict(before), axis=1)])
        low, high = ends[rows, seen], ends[rows, seen + 1]
        # Rounding must not carry a place over the end of its own label.
        place = np.maximum(np.minimum(low + (high - low) * uniform, np.nextafter(high, 0.0)), low)
        # The last end is one up to rounding, so the last label takes whatever lies beyond the one before it.
        beyond = np.cumsum(self.shares.predict(after), axis=1)[:, :-1]
        labels: Array = codes[(place[:, None] >= beyond).sum(axis=1)]
        return labels


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Mechanism:
    """One follower: where it stands in the table, what it reads, and its equation."""

    column: Column
    position: int
    reads: tuple[int, ...]
    rule: FollowerInputs
    equation: Equation | None  # None when the training rows show no value of it

    @property
    def words(self) -> str:
        """`follows dose and age: additive noise, kernel ridge`."""
        causes = listed(self.rule.parents)
        held = f", with {listed(self.rule.adjusted)} held fixed" if self.rule.adjusted else ""
        how = "no value to learn from, stays missing" if self.equation is None else self.equation.words
        return f"follows {causes}{held}: {how}"

    def follow(self, x: Array, before: Array, *, draws: Draws, settle: Settle) -> tuple[Array, int]:
        """The follower's new values (m,) and how many had to be brought back inside its contract.

        x: (m, d) rows whose inputs are final. before: (m, d) the same rows as they were.
        """
        value = before[:, self.position].copy()
        new, old = x[:, self.reads], before[:, self.reads]
        moved = ~((new == old) | (np.isnan(new) & np.isnan(old))).all(axis=1) & ~np.isnan(value)
        if self.equation is None or not moved.any():
            return value, 0
        # One number a row, moved or not, so that what happens to one row shifts no draw of another.
        uniform = draws(self.column.name).random(len(value))[moved]
        followed = self.equation.follow(value[moved], old[moved], new[moved], uniform)
        value[moved], clipped = settle(followed, self.column)
        return value, clipped


@dataclass(frozen=True, slots=True, eq=False)
class Mechanisms:
    """The equations of all followers, causes before effects."""

    each: tuple[Mechanism, ...]

    @property
    def words(self) -> dict[str, str]:
        """By follower, what it follows and how."""
        return {one.column.name: one.words for one in self.each}

    def follow(self, x: Array, before: Array, *, draws: Draws, settle: Settle) -> tuple[Array, dict[str, int]]:
        """Rows in which all followers have followed, and how many values of each left their contract.

        x: (m, d) rows in which features were moved. before: (m, d) the same rows as they were. draws: the generator of
        a follower, by its name. settle: brings proposals back inside a column's contract, and counts them.
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


def _mechanism(train: Table, rule: FollowerInputs) -> Mechanism:
    (position,) = train.positions([rule.name])
    reads, column = train.positions(rule.inputs), train.features[position]
    known: npt.NDArray[np.bool_] = ~np.isnan(train.x[:, position])
    equation: Equation | None = None
    if known.any():
        rows, values = train.x[known][:, reads], train.x[known, position]
        inputs = Inputs.learn(rows, [train.features[one] for one in reads])
        if column.is_numeric:
            equation = AdditiveNoise(fit_mean(inputs, rows, values), whole=column.type == "integer")
        else:
            equation = AbductedUniform(fit_label_shares(inputs, rows, values))
    return Mechanism(column=column, position=position, reads=reads, rule=rule, equation=equation)
