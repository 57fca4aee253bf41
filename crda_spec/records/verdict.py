"""What was searched, what the gate decided, how the models scored, and the result of a run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Literal, Protocol

from crda_spec.records.causal import UNPUBLISHED, Certificate, Falsification, Sensitivity
from crda_spec.records.rows import (
    Abduction,
    Array,
    Counterfactuals,
    DeclaredSign,
    Diagnostics,
    IntArray,
    Movement,
    Predictor,
    Split,
    Teacher,
    TimeOrder,
)

TrialState = Literal["complete", "pruned", "failed"]
StoppedBy = Literal["trials", "time"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """One setting, and its loss on each inner fold as far as it went."""

    number: int  # from 1
    values: Mapping[str, object]  # numbers, or words where a teacher or policy was chosen
    losses: tuple[float, ...]  # one an inner fold; fewer when it was pruned or failed
    state: TrialState
    origin: Literal["declared", "drawn"] = "drawn"  # declared: the spec's own values, tried first
    repeats: int | None = None  # the earlier trial with the same values, whose losses these are: nothing was fitted


@dataclass(frozen=True, slots=True, kw_only=True)
class Study:
    """One search. `fold` is the gate fold whose training rows it saw, 0 for all training rows (or a tuning split)."""

    what: Literal["regressor", "augmentation"]
    fold: int
    rows: int  # that the search saw
    held_rows: tuple[int, ...]  # of each inner fold
    budget: int  # trials that were allowed
    seconds: float | None  # that were allowed; None: no limit
    stopped: StoppedBy
    metric: str
    plain: tuple[float, ...]  # the plain model's loss on each inner fold; empty when the regressor itself is searched
    trials: tuple[Trial, ...]
    best: int  # the number of the trial that was chosen
    fits: int
    set_aside: bool = False  # whether it saw rows that are spent on tuning and serve nothing else

    @property
    def chosen(self) -> Trial:
        """The whole trial with the least loss, the first of equals."""
        return self.trials[self.best - 1]

    def mean_loss(self, losses: tuple[float, ...]) -> float:
        """The mean loss of a row over the inner folds that were reached."""
        held = self.held_rows[: len(losses)]
        return sum(loss * rows for loss, rows in zip(losses, held, strict=True)) / sum(held) if held else float("nan")


Arm = Literal["plain", "augmented"]


@dataclass(frozen=True, slots=True, kw_only=True)
class EnsembleScore:
    """So many models of one arm, scored on the test rows by the mean of their predictions."""

    arm: Arm
    models: int
    loss: float
    singles: tuple[float, ...]  # the loss of each of the models alone
    change_percent: float | None  # against one plain model; null for that model itself
    interval_percent: tuple[float, float] | None  # of that change; null when there are too few test rows
    augmentation_percent: float | None  # against as many plain models; null for plain models
    augmentation_interval: tuple[float, float] | None  # of that change; null when there are too few test rows


@dataclass(frozen=True, slots=True, kw_only=True)
class Ensemble:
    """What several models give instead of one, and what the augmentation gives beside that, on the same test rows.

    Its scores have the metric, the rows and the level of the test score, and there are none without test rows.
    """

    models: int
    arm: Arm  # whose models are handed over: augmented if the gate accepted, else plain
    fits: int  # beside those of one model
    scores: tuple[EnsembleScore, ...]  # one model of each arm, then as many as asked for; a refused arm is left out

    def score(self, arm: Arm, models: int) -> EnsembleScore | None:
        """So many models of this arm; None when they were not fitted."""
        return next((one for one in self.scores if (one.arm, one.models) == (arm, models)), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """Models that were fitted, and how many more would have been, had none of them served twice."""

    fits: int = 0
    reused: int = 0
    seconds: float = 0.0
    refits: int = 0  # of the models fitted, those trained a second time: on all rows, once early stopping had ended

    def __add__(self, other: Cost) -> Cost:
        return Cost(
            fits=self.fits + other.fits,
            reused=self.reused + other.reused,
            seconds=self.seconds + other.seconds,
            refits=self.refits + other.refits,
        )

    @property
    def seconds_a_fit(self) -> float:
        """On average."""
        return self.seconds / max(1, self.fits)

    @classmethod
    def of_shared(cls, fits: int, seconds: float = 0.0, refits: int = 0) -> Cost:
        """Models that others will reuse: their first use saves nothing."""
        return cls(fits=fits, reused=-fits, seconds=seconds, refits=refits)


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
    "no_new_rows",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What the gate decided, and the numbers it decided on."""

    decision: Decision
    reason: VerdictReason
    test: str
    metric: str
    alpha: float
    p_value: float | None  # None when there was nothing to test
    effect_percent: float | None  # change of the mean fold loss, negative is better
    folds: tuple[FoldResult, ...]
    fits: int
    reused_fits: int = 0  # how many more it would have been, had every fold fitted all its models itself
    interval_percent: tuple[float, float] | None = None  # of the effect; None when too few rows were held out
    level: float | None = None  # of the interval: as much is left out on either side as the test may err
    min_effect: float = 0.0  # the gain, in percent, that had to be shown
    rows_to_decide: int | None = None  # training rows that would decide an inconclusive case, if the effect is as seen
    rows_interval: tuple[int, int | None] | None = None  # of that number, at `level`; null at its end: no bound
    planned_folds: int = 0  # over all repeats; fewer were run when the verdict was certain before
    repeats: int = 1
    restarts: int = 1  # how often both models of a fold were trained; its losses are the means
    stopped_fits: int = 0  # fits that stopping early made unnecessary
    sentence: str = ""  # what was seen, what it means and what to do; `report.words` makes it
    train_rows: Annotated[int, UNPUBLISHED] = 0  # of which `rows_to_decide` would be a multiple

    @property
    def accepted(self) -> bool:
        """Whether the gate let the augmentation pass."""
        return self.decision == "accepted"

    @property
    def uses_augmented(self) -> bool:
        """Whether the augmented model is the one to use: it passed, or nobody asked whether it would."""
        return self.decision in ("accepted", "ungated")


# mean: the mean of the training rows' outcomes, predicted for every row.
Forecaster = Literal["plain", "augmented", "mean"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Accuracy:
    """How far off predictions of the test rows are, whatever the gate's metric; rows are weighted as they are there."""

    forecaster: Forecaster
    rmse: float  # in the target's unit
    mae: float  # in the target's unit
    r2: float | None  # share of the outcomes' variance that is explained; null where they do not vary


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
    accuracy: tuple[Accuracy, ...]  # plain, augmented where there is such a model, mean


# boundary: the plain model on the columns that the graph does not call irrelevant.
# relabelled: the student on the training rows, labelled anew by the teacher, with no row added.
# without_graph: the augmented model of the same recipe, had it not known the graph.
ControlKind = Literal["boundary", "relabelled", "without_graph"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Control:
    """One model that was given less than the augmented one, on the same test rows."""

    kind: ControlKind
    loss: float
    change_percent: float  # against the plain model; negative is better


@dataclass(frozen=True, slots=True, kw_only=True)
class ShiftScore:
    """Both models on the test rows with each irrelevant feature shuffled by itself."""

    features: tuple[str, ...]  # in the table's order
    plain: float
    augmented: float
    change_percent: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Controls:
    """What the change on the test rows is made of."""

    models: tuple[Control, ...]  # a model that ran away is left out
    graph_points: float | None  # the augmented model's change minus that without the graph; null without this control
    shift: ShiftScore | None  # null where the graph calls no feature irrelevant
    fits: int  # of the report, beside those of the run

    def change_of(self, kind: ControlKind) -> float | None:
        """In percent of the plain model's loss; None without this control."""
        return next((one.change_percent for one in self.models if one.kind == kind), None)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RowLosses:
    """What each row cost both arms, so that whoever doubts a mean or a test can compute it again."""

    plain: Array  # (n,) NaN where the row was not scored
    augmented: Array


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RowErrors:
    """What each row is more than either arm predicts, by a model that has not seen the row."""

    plain: Array  # (n,) y - prediction; NaN where nobody predicted the row
    augmented: Array

    def of(self, arm: Arm) -> Array:
        """One arm's."""
        return self.plain if arm == "plain" else self.augmented


IntervalForm = Literal["residuals", "cv_plus"]
SizeSource = Literal["parents", "features", "prediction"]  # what may tell the size of the noise


@dataclass(frozen=True, slots=True, kw_only=True)
class IntervalScore:
    """The intervals of one model at one level, on the test rows."""

    arm: Arm
    level: float
    coverage: float  # share of the rows that lie inside
    width: float  # on average; inf where too few rows were held out for this level
    score: float  # mean interval score: the width, and 2 / (1 - level) times how far a row lies outside


@dataclass(frozen=True, slots=True, kw_only=True)
class IntervalWidth:
    """How the width of one arm's intervals follows the fitted size of the noise, chosen on rows held out."""

    arm: Arm
    parents: float  # power of the size that the noise's declared parents tell; 0: they take no part
    features: float  # the same, of the features
    prediction: float  # the same, of the prediction; all 0: all intervals are equally wide


@dataclass(frozen=True, slots=True, kw_only=True)
class IntervalReport:
    """Prediction intervals from the rows that the gate held out, and what they are worth on the test rows, if any."""

    form: IntervalForm  # residuals: around the final model; cv_plus: around the models of the gate's folds
    levels: tuple[float, ...]
    rows: int  # held-out rows that they were calibrated on
    units: int  # these rows, or their groups where rows belong together
    parents: tuple[str, ...]  # that the graph declares to drive the size of the noise, to which a size was fitted
    features: tuple[str, ...]  # to which another was fitted; none: they are the parents, or no size was fitted
    widths: tuple[IntervalWidth, ...]  # of each arm
    scores: tuple[IntervalScore, ...]  # of one model of each arm, at each level; none without test rows

    def score(self, arm: Arm, level: float) -> IntervalScore | None:
        """One of the scores; None where there is no such arm."""
        return next((one for one in self.scores if (one.arm, one.level) == (arm, level)), None)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class IntervalRows:
    """Where the test rows lie in one arm's intervals at one level."""

    arm: Arm
    level: float
    below: Array  # (m,) y - lower bound
    above: Array  # (m,) upper bound - y


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FoldRows:
    """What each held-out row of one gate fold cost both arms."""

    held: IntArray  # (m,) positions among the training rows
    plain: Array  # (m,) their losses, whatever they weigh
    augmented: Array  # (m,)


class Band(Protocol):
    """The calibrated intervals of one arm; the gate makes it, the audit keeps it."""

    def bounds(self, x: Array, prediction: Array, level: float, by_fold: Array | None = None) -> tuple[Array, Array]:
        """(m,) low and (m,) high. x: (m, d).  prediction: (m,).  by_fold: (k, m) of the fold models, for cv_plus."""


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
    signs: tuple[DeclaredSign, ...] = ()  # as the spec declares them, each against the training rows
    teacher: Teacher
    abduction: Abduction
    counterfactuals: Counterfactuals | None
    movements: tuple[Movement, ...]  # of every feature, in the table's order: whether it moves, and on which basis
    watched: IntArray  # positions of the rows that the final model has not trained on: early stopping set them aside
    gate_fold: IntArray  # (n,) the gate fold that holds each training row out, counted from 1; 0 without a gate
    verdict: Verdict
    score: TestScore | None  # None when no row was held back for a test
    model: Predictor  # the final one: augmented if accepted, else plain
    settings: Mapping[str, object]  # the regressor's settings, tuned or declared
    timings: Mapping[str, float]  # seconds, by stage
    cost: Cost  # of all regressor fits, on every worker
    plain: Predictor | None = None  # trained on real rows alone; None in a result that was read back for its pages
    gate_losses: RowLosses | None = None  # of the training rows, means over the repeats; None without a gate
    gate_rows: tuple[FoldRows, ...] = ()  # the same fold by fold, where repeats make more of them than one a row
    test_losses: RowLosses | None = None  # of the test rows; None without any, and in a result read back for its pages
    gate_errors: RowErrors | None = None  # of the training rows, in the first repeat and start; None without a gate
    test_errors: RowErrors | None = None  # of the test rows, likewise
    intervals: IntervalReport | None = None  # None without held-out rows, or when the spec does without
    interval_rows: tuple[IntervalRows, ...] = ()  # of the test rows, one for each score; none without test rows
    band: Band | None = None  # the final model's intervals, for any level and row
    fold_models: tuple[Predictor, ...] = ()  # of the final model's arm, where the intervals need them
    studies: tuple[Study, ...] = ()  # every search: on all training rows (or a tuning split), then fold by fold
    diagnostics: Diagnostics | None = None  # None when there are no new rows, or the spec does without
    controls: Controls | None = None  # None without an augmented model or test rows, or when the spec does without
    watch: Literal["real", "synthetic"] = "real"  # what stopped the augmented model: `watched`, or rows made of it
    ensemble: Ensemble | None = None  # None when one model is handed over
    members: tuple[Predictor, ...] = ()  # of the ensemble that is handed over, `model` first; none without one
    time: TimeOrder | None = None  # None when rows have no order
