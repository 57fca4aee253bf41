"""What a test of the gate is given, what it answers, and what a user may ask of any of them."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np
from pydantic import Field

from crda_spec.errors import Complaint
from crda_spec.records import Array, IntArray
from crda_spec.regressors.metrics import Metric, MetricKind
from crda_spec.strict import Fraction, Strict

Alternative = Literal["less", "two-sided"]


class Arms(NamedTuple):
    """What both arms lost, in arrays of one shape."""

    plain: Array
    augmented: Array

    @property
    def difference(self) -> Array:
        """Augmented - plain: negative where augmentation helped."""
        return self.augmented - self.plain

    def against(self, share: float) -> Arms:
        """The same against a plain arm that loses only this share."""
        return Arms(share * self.plain, self.augmented)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Paired:
    """What both arms lost on the same held-out rows: a number a fold, and a number a row.

    Where rows are weighted, a fold has its weighted mean, and a row its loss times its weight (mean 1 over all rows):
    the mean of the rows' numbers then is the weighted mean, and rows are as exchangeable as without weights.
    """

    folds: Arms  # (k,) one loss a fold, repeats one after the other
    train_rows: IntArray  # (k,) how many rows each fold was fitted on
    held_rows: IntArray  # (k,) how many it was scored on
    rows: Arms  # (n,) one loss a row, averaged over repeats
    units: IntArray  # (n,) rows of equal number belong together
    each: Arms  # (repeats, n) one loss a row and repeat
    fold_of: IntArray  # (repeats, n) the fold that held the row out
    # (repeats, folds) the losses of each repeat's folds when every row costs what it did on average over all repeats;
    # with one repeat, the losses above
    blocks: Arms

    def swapped(self) -> Paired:
        """The same with the arms' names exchanged: is the plain one better?"""
        folds, rows, each, blocks = (Arms(*arms[::-1]) for arms in (self.folds, self.rows, self.each, self.blocks))
        return replace(self, folds=folds, rows=rows, each=each, blocks=blocks)

    def against(self, gain: float, *, row_power: int = 1) -> Paired:
        """The same against a plain arm that is already better by `gain` percent.

        row_power: a fold's loss is the mean loss of its rows to the power 1 / row_power (rmse: 2).
        """
        left = 1.0 - gain / 100.0
        folds, blocks = self.folds.against(left), self.blocks.against(left)
        rows, each = self.rows.against(left**row_power), self.each.against(left**row_power)
        return replace(self, folds=folds, rows=rows, each=each, blocks=blocks)


class Gate(Strict):
    """A one-sided test of: is the augmented loss smaller? With the folds it is asked about, and its level."""

    enabled: bool = Field(
        True,  # noqa: FBT003
        description="false: no test at all; the augmented model is used, and every output says UNGATED.",
    )
    folds: int = Field(10, ge=2, le=100, description="How many folds; the whole procedure is refitted in each.")
    restarts: int = Field(
        1,
        ge=1,
        le=20,
        description=(
            "How often both models of a fold are trained, each time from another random state and with other new rows; "
            "a row counts with its mean loss. The luck of one training then decides less."
        ),
    )
    alpha: Fraction = Field(0.05, description="Accept only when the p-value is below this.")
    alternative: Alternative = Field(
        "less",
        description="less: is the augmented loss smaller? two-sided: do they differ (and only better is accepted)?",
    )
    metric: MetricKind = Field(
        "mse",
        description=(
            "The loss of a fold. r2 is compared as 1 - R2, pinball needs `quantile`; interval_score (of 90 % "
            "intervals) and crps judge how sure a prediction is, by the errors of the other folds' rows."
        ),
    )
    quantile: Fraction | None = Field(None, description="The quantile that the pinball loss is for.")
    min_effect: float = Field(
        0.0, ge=0, lt=100, description="Accept only when the test shows a gain of more than this many percent."
    )
    if TYPE_CHECKING:
        kind: str  # a field of every member, not of this class: members put it where readers of a spec expect it

    @abstractmethod
    def p_value(self, paired: Paired, *, rng: np.random.Generator) -> float:
        """The chance of so much gain or more when there is none. Pure: draws only from `rng`."""

    @property
    def divisions(self) -> int:
        """How often the rows are divided into folds."""
        return int(getattr(self, "repeats", 1))

    @property
    def all_folds(self) -> int:
        """Over all divisions."""
        return self.folds * self.divisions

    @property
    def fewest_folds(self) -> int:
        """With fewer it could never accept."""
        return 2

    @property
    def loss(self) -> Metric:
        """What an error costs."""
        return Metric(kind=self.metric, quantile=0.5 if self.quantile is None else self.quantile)

    @property
    def inner_loss(self) -> Metric:
        """By what inner folds choose: rmse and r2 put the choices in the same order as the squared error."""
        return self.loss if self.metric in ("mae", "pinball") else Metric(kind="mse")

    @property
    def name(self) -> str:
        """The test and its side, as records say it."""
        return f"{self.kind}, {self.alternative}"

    def is_certain(self, difference: Array, ahead: int) -> bool:
        """Whether no losses of the folds ahead could make it accept. difference: (k,) of those that were run."""
        return False

    def complaints(self) -> Iterator[Complaint]:
        """What can never accept, and a quantile where none is asked for or none where one is."""
        if self.metric == "pinball" and self.quantile is None:
            what = "the pinball loss is for one quantile, and none is given"
            yield Complaint(code="inconsistent", path="gate.metric", what=what, hint="add for example quantile: 0.9")
        if self.metric != "pinball" and self.quantile is not None:
            what = f"only the pinball loss has a quantile, and the metric is {self.metric}"
            hint = "remove it, or use metric: pinball"
            yield Complaint(code="inconsistent", path="gate.quantile", what=what, hint=hint)
        if self.loss.needs_errors:
            yield from self._no_errors()
        if self.enabled:
            yield from self._cannot_accept()

    def _no_errors(self) -> Iterator[Complaint]:
        """A metric that needs the errors of all folds, where there are none, or not all."""
        if not self.enabled:
            what = f"{self.metric} is computed from rows that the gate holds out, and gate.enabled is false"
            hint = "enable the gate, or use metric: mse"
            yield Complaint(code="inconsistent", path="gate.metric", what=what, hint=hint)
        elif getattr(self, "stop", "never") == "certain":
            what = f"{self.metric} needs the errors of all folds, so no fold's loss is known before the last has run"
            yield Complaint(code="inconsistent", path="gate.stop", what=what, hint="use stop: never, or metric: mse")

    def _cannot_accept(self) -> Iterator[Complaint]:
        return iter(())


class Curtailed(Gate):
    """A test on folds, of which one can tell early that it will not pass."""

    stop: Literal["certain", "never"] = Field(
        "never",
        description=(
            "certain: run no more folds once no result of theirs could make the gate accept; it saves fits, and what "
            "is refused is less well measured. never: run all of them."
        ),
    )

    @abstractmethod
    def least_p_value(self, difference: Array, ahead: int, *, enough: float) -> float:
        """The smallest p-value that `ahead` more folds can lead to, or a bound below it, or one below `enough`."""

    @property
    def fewest_folds(self) -> int:
        """With fewer, winning every fold would not be enough."""
        return folds_needed(self.alpha, self.alternative, repeated=self.divisions > 1) if self.enabled else 2

    def is_certain(self, difference: Array, ahead: int) -> bool:
        """Only refusals are certain early. An acceptance never is, since one disastrous fold can still undo it."""
        if self.stop == "never" or ahead <= 0:
            return False
        level = self.alpha / 2.0 if self.alternative == "two-sided" else self.alpha
        return self.least_p_value(difference, ahead, enough=level) >= level

    def _cannot_accept(self) -> Iterator[Complaint]:
        if self.divisions > 1 and self.stop == "certain":
            repeats = f"with {self.divisions} repeats"
            what = f"{repeats} nothing is certain before the last one: it changes every row's mean loss"
            yield Complaint(code="inconsistent", path="gate.stop", what=what, hint="use stop: never, or repeats: 1")
        repeated = self.divisions > 1
        least = smallest_p_value(self.folds, self.alternative, repeated=repeated)
        if least < self.alpha:
            return
        sides = "two-sided" if self.alternative == "two-sided" else "one-sided"
        with_repeats = f" and {self.divisions} repeats" if repeated else ""
        what = (
            f"this gate can never accept: with {self.folds} folds{with_repeats} the smallest {sides} p-value is "
            f"{least * 2**self.folds:.0f}/2^{self.folds} = {least:g}, which is not below alpha = {self.alpha:g}"
        )
        hint = f"use at least {self.fewest_folds} folds"
        if self.alternative == "two-sided" and smallest_p_value(self.folds, "less", repeated=repeated) < self.alpha:
            hint += " or alternative: less"
        yield Complaint(code="gate-cannot-accept", path="gate.folds", what=what, hint=hint)


def smallest_p_value(folds: int, alternative: Alternative, *, repeated: bool = False) -> float:
    """When augmentation wins every fold: one sign pattern of 2^folds; twice that if two-sided, and if repeated."""
    return (2.0 if alternative == "two-sided" else 1.0) * (2.0 if repeated else 1.0) / 2.0**folds


def folds_needed(alpha: float, alternative: Alternative, *, repeated: bool = False) -> int:
    """The fewest folds with which a test on folds can accept at all."""
    folds = 2
    while smallest_p_value(folds, alternative, repeated=repeated) >= alpha:
        folds += 1
    return folds


def p_value(test: Gate, paired: Paired, *, rng: np.random.Generator) -> float:
    """One-sided as the test gives it; two-sided, twice the smaller of both directions."""
    if not all(np.isfinite(losses).all() for losses in (*paired.folds, *paired.rows)):
        message = "a fold loss is not finite"  # whoever gets this far with one has made a mistake
        raise ValueError(message)
    first, second = rng.spawn(2)  # so that asking for the other side too does not change this one
    less = test.p_value(paired, rng=first)
    if test.alternative == "less":
        return less
    return min(1.0, 2.0 * min(less, test.p_value(paired.swapped(), rng=second)))
