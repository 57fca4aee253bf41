"""What the gate decided, what the test rows say, and everything that a run found out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from crda_spec.records.causal import Certificate, Falsification, Sensitivity
from crda_spec.records.diagnostics import Diagnostics
from crda_spec.records.ensemble import Ensemble
from crda_spec.records.rows import Abduction, Array, IntArray, Predictor, Split, Teacher
from crda_spec.records.synthetic import Counterfactuals, Movement
from crda_spec.records.time import TimeOrder
from crda_spec.records.tuning import Study


@dataclass(frozen=True, slots=True, kw_only=True)
class FoldResult:
    """One gate fold: both arms, scored on the same real rows that neither has seen."""

    fold: int
    train_rows: int
    held_out_rows: int
    plain: float
    augmented: float
    perturbed: tuple[str, ...]
    synthetic_rows: int


Decision = Literal["accepted", "rejected", "inconclusive", "abstained", "ungated"]
VerdictReason = Literal[
    "improved",
    "not_significant",
    "no_gain_worth_having",
    "worse",
    "cannot_pass",
    "gate_disabled",
    "unstable_partition",
    "no_perturbable_features",
    "graph_falsified",
    "off_support",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What the gate decided, and the numbers it decided on."""

    decision: Decision
    reason: VerdictReason
    sentence: str
    test: str
    metric: str
    alpha: float
    p_value: float | None  # None when there was nothing to test
    effect_percent: float | None  # change of the mean fold loss, negative is better
    folds: tuple[FoldResult, ...]
    fits: int
    spared_fits: int = 0  # how many more it would have been, had every fold fitted all its models itself
    interval_percent: tuple[float, float] | None = None  # of the effect; None when too few rows were held out
    level: float | None = None  # of the interval: as much is left out on either side as the test may err
    min_effect: float = 0.0  # the gain, in percent, that had to be shown
    rows_to_decide: int | None = None  # about how many training rows would decide an inconclusive case
    planned_folds: int = 0  # over all repeats; fewer were run when the verdict was certain before
    repeats: int = 1
    starts: int = 1  # how often both models of a fold were trained; its losses are the means
    stopped_fits: int = 0  # fits that stopping early made unnecessary

    @property
    def accepted(self) -> bool:
        """Whether the gate let the augmentation pass."""
        return self.decision == "accepted"

    @property
    def uses_augmented(self) -> bool:
        """Whether the augmented model is the one to use: it passed, or nobody asked whether it would."""
        return self.decision in ("accepted", "ungated")


@dataclass(frozen=True, slots=True, kw_only=True)
class TestScore:
    """One plain model against one augmented model of the same kind, on the same test rows.

    `augmented` is scored also when the gate refused it, so that the gate itself can be judged; it is None when
    there was no synthetic row to train on.
    """

    __test__ = False  # not a test case, whatever pytest thinks of the name

    metric: str
    rows: int
    plain: float
    augmented: float | None
    change_percent: float | None
    interval_percent: tuple[float, float] | None
    level: float
    resamples: int


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RowLosses:
    """What each row cost both arms, so that whoever doubts a mean or a test can compute it again."""

    plain: Array  # (n,) NaN where the row was not scored
    augmented: Array


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FoldRows:
    """What each held-out row of one gate fold cost both arms."""

    held: IntArray  # (m,) positions among the training rows
    plain: Array  # (m,) their losses, whatever they weigh
    augmented: Array  # (m,)


@dataclass(frozen=True, slots=True, kw_only=True)
class DataReport:
    """What was read, and what was done to it before anything was fitted."""

    source: str
    sha256: str
    rows_read: int
    rows_used: int
    dropped_missing: int
    dropped_duplicates: int
    missing_cells: int
    missing: Mapping[str, int] = field(default_factory=dict)  # missing cells of each column in use that has some
    notes: tuple[str, ...] = ()
    test_source: str | None = None  # the second source, when the test rows come from one
    test_sha256: str | None = None
    weights: str | None = None  # the column that says how much each row counts; null: all count the same


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RunResult:
    """Everything a run found out. The audit record and the report are written from this alone."""

    data: DataReport
    split: Split
    certificate: Certificate
    falsification: Falsification | None = None  # None without a declared graph
    sensitivity: Sensitivity | None = None  # None when there is no gain to lose, or no certified feature moved
    teacher: Teacher
    abduction: Abduction
    counterfactuals: Counterfactuals | None
    movements: tuple[Movement, ...]  # of every feature, in the table's order: whether it moves, and on which licence
    watched: IntArray  # positions of the training rows that early stopping sets aside in the final fits
    gate_fold: IntArray  # (n,) the gate fold that holds each training row out, counted from 1; 0 without a gate
    verdict: Verdict
    score: TestScore
    model: Predictor  # the final one: augmented if accepted, else plain
    settings: Mapping[str, object]  # the regressor's settings, tuned or declared
    timings: Mapping[str, float]  # seconds, by stage
    fit_seconds: float  # the sum over all regressor fits, on every worker
    fits: int
    gate_losses: RowLosses | None = None  # of the training rows, means over the repeats; None without a gate
    gate_rows: tuple[FoldRows, ...] = ()  # the same fold by fold, where repeats make more of them than one a row
    test_losses: RowLosses | None = None  # of the test rows; None in a result that was read back for its pages
    spared_fits: int = 0  # how many more it would have been, had no model served both teacher and gate
    studies: tuple[Study, ...] = ()  # every search: on all training rows (or a tuning split), then fold by fold
    diagnostics: Diagnostics | None = None  # None when there are no new rows, or the spec does without
    watch: Literal["real", "synthetic"] = (
        "real"  # what stopped the augmented model early: `watched`, or rows made of it
    )

    ensemble: Ensemble | None = None  # None when one model is handed over
    members: tuple[Predictor, ...] = ()  # of the ensemble that is handed over, `model` first; none without one
    time: TimeOrder | None = None  # None when rows have no order

    @property
    def cost(self) -> str:
        """`67 fits instead of 122`."""
        return f"{self.fits} fits" + (f" instead of {self.fits + self.spared_fits}" if self.spared_fits else "")
