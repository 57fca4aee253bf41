"""The frozen records that pass from stage to stage, in the order in which the method makes them.

`Table -> Split -> Teacher -> Abduction -> Certificate -> Action -> Counterfactuals -> Verdict -> RunResult`.

Features travel as one float64 matrix: a category is the index of its label in `Column.labels`, a boolean is 0 or 1,
an integer is a whole number, a missing value is NaN. Arrays inside a record are read-only.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias

if TYPE_CHECKING:  # `crda-spec validate` needs these records, and must not wait for numpy
    import numpy as np
    import numpy.typing as npt

Array: TypeAlias = "npt.NDArray[np.float64]"
IntArray: TypeAlias = "npt.NDArray[np.int64]"

ColumnType = Literal["continuous", "integer", "category", "boolean"]


def read_only(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The same array, closed for writing."""
    array.setflags(write=False)
    return array


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """The contract of one column: what its values are and may be."""

    name: str
    type: ColumnType
    unit: str | None = None
    minimum: float | None = None  # declared bounds; None where nothing was declared
    maximum: float | None = None
    labels: tuple[str, ...] | None = None  # of a category, in the order of its codes
    allowed: tuple[float, ...] | None = None  # of a number, when only some values are
    inferred: bool = True  # the type came from the data, not from the spec

    @property
    def is_numeric(self) -> bool:
        """Whether sums and differences of its values mean something."""
        return self.type in ("continuous", "integer")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Table:
    """Rows of features and the target. Knows nothing of train or test."""

    features: tuple[Column, ...]
    target: Column
    row_ids: IntArray  # (n,) position of each row in its source, counted from 0
    x: Array  # (n, d)
    y: Array  # (n,)
    groups: IntArray | None = None  # (n,) rows of equal number belong together

    def __post_init__(self) -> None:
        for array in (self.row_ids, self.x, self.y, self.groups):
            if array is not None:
                read_only(array)

    def __len__(self) -> int:
        return len(self.y)

    @property
    def names(self) -> tuple[str, ...]:
        """The features' names, in the order of x's columns."""
        return tuple(column.name for column in self.features)

    def take(self, index: IntArray) -> Table:
        """The rows at these positions, in this order."""
        return Table(
            features=self.features,
            target=self.target,
            row_ids=self.row_ids[index],
            x=self.x[index],
            y=self.y[index],
            groups=None if self.groups is None else self.groups[index],
        )

    def positions(self, names: Sequence[str]) -> tuple[int, ...]:
        """The columns of x that hold these features."""
        where = {name: position for position, name in enumerate(self.names)}
        return tuple(where[name] for name in names)


class Predictor(Protocol):
    """A fitted model: rows in, predictions out, in the target's own unit."""

    def predict(self, x: Array) -> Array:
        """x: (m, d). Returns (m,)."""
        ...


class HeldOut:
    """The test rows. No stage can read them: the only way in is to be scored on them.

    It is deliberately not a `Table`, so that handing test rows to a stage is a type error.
    """

    __slots__ = ("_rows",)

    def __init__(self, rows: Table) -> None:
        """Closes the door behind the rows."""
        self._rows = rows

    def __len__(self) -> int:
        return len(self._rows)

    @property
    def row_ids(self) -> IntArray:
        """Which rows of the source are held out."""
        return self._rows.row_ids

    @property
    def groups(self) -> IntArray | None:
        """The groups of the held-out rows, for an interval that respects them."""
        return self._rows.groups

    def errors(self, model: Predictor) -> Array:
        """The model's prediction errors, row by row: y - prediction."""
        return self._rows.y - model.predict(self._rows.x)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Split:
    """Training rows, which the method sees, and test rows, which only the final scoring sees."""

    train: Table
    test: HeldOut


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Teacher:
    """What labels a counterfactual row: the mean of one or several fitted models."""

    kind: str
    members: tuple[Predictor, ...]
    in_sample: Array  # (n,) its predictions for its own training rows
    out_of_fold: Array | None  # (n,) the same by members that have not seen the row, where there are any

    def predict(self, x: Array) -> Array:
        """x: (m, d). Returns (m,)."""
        total = self.members[0].predict(x)
        for member in self.members[1:]:
            total = total + member.predict(x)
        return total / len(self.members)


Residuals = Literal["in_sample", "out_of_fold"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Abduction:
    """The noise of each training row."""

    noise: Array  # (n,)
    residuals: Residuals
    model: Literal["additive"] = "additive"


FeatureStatus = Literal["direct_cause", "irrelevant", "screened", "blocked", "kept"]


@dataclass(frozen=True, slots=True, kw_only=True)
class FeatureVerdict:
    """Why one feature may, or may not, be perturbed.

    direct_cause, irrelevant: certified by a declared graph. screened: no dependence on the residual was found.
    blocked: tied to the noise. kept: could have been perturbed, but the spec or the ranking left it alone.
    """

    name: str
    status: FeatureStatus
    reason: str
    witness: tuple[str, ...] = ()  # an open path from the noise, written as it is read
    evidence: Mapping[str, float] = field(default_factory=dict)
    warning: str = ""  # where graph and data disagree

    @property
    def perturbable(self) -> bool:
        """Whether the feature is in X_P."""
        return self.status in ("direct_cause", "irrelevant", "screened")


@dataclass(frozen=True, slots=True, kw_only=True)
class Certificate:
    """Which features may be perturbed while the noise is carried over, and on what ground."""

    basis: Literal["declared", "discovered"]
    graph: DrawnGraph
    features: tuple[FeatureVerdict, ...]  # in the table's order
    assumes: tuple[str, ...]  # what must hold for the certificate to mean anything

    @property
    def perturbed(self) -> tuple[str, ...]:
        """X_P."""
        return tuple(verdict.name for verdict in self.features if verdict.perturbable)

    @property
    def kept(self) -> tuple[str, ...]:
        """X_R."""
        return tuple(verdict.name for verdict in self.features if not verdict.perturbable)


@dataclass(frozen=True, slots=True, kw_only=True)
class DrawnGraph:
    """A graph as it is shown: names and marks only. The mathematics is in `scm.graph`."""

    nodes: tuple[tuple[str, Literal["feature", "target", "latent", "noise", "unused"]], ...]
    edges: tuple[tuple[str, str, Literal["->", "<->", "--"]], ...]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Action:
    """New rows in which only X_P moved."""

    x: Array  # (m, d)
    source: IntArray  # (m,) position of the training row each came from
    moved: tuple[str, ...]
    policies: Mapping[str, str]  # what was done to each moved feature, in words
    clipped: Mapping[str, int]  # how many proposals had to be brought back inside the column's contract
    unmoved: int = 0  # rows that came out as their source: missing cells stay missing, and some draws change nothing


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Counterfactuals:
    """The synthetic rows and, for each, all that is needed to recompute it."""

    action: Action
    prediction: Array  # (m,) the teacher's word at the new x
    noise: Array  # (m,) the abducted noise of the source row
    retention: float
    y: Array  # (m,) prediction + retention * noise
    weight: float

    def __len__(self) -> int:
        return len(self.y)


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


VerdictReason = Literal["improved", "not_significant", "worse", "unstable_partition", "no_perturbable_features"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What the gate decided, and the numbers it decided on."""

    decision: Literal["accepted", "rejected", "abstained"]
    reason: VerdictReason
    sentence: str
    test: str
    metric: str
    alpha: float
    p_value: float | None  # None when there was nothing to test
    effect_percent: float | None  # change of the mean fold loss, negative is better
    folds: tuple[FoldResult, ...]
    fits: int

    @property
    def accepted(self) -> bool:
        """Whether the augmented model is the one to use."""
        return self.decision == "accepted"


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
    notes: tuple[str, ...] = ()
    test_source: str | None = None  # the second source, when the test rows come from one
    test_sha256: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RunResult:
    """Everything a run found out. The audit record and the report are written from this alone."""

    data: DataReport
    split: Split
    certificate: Certificate
    teacher: Teacher
    abduction: Abduction
    counterfactuals: Counterfactuals | None
    watched: IntArray  # positions of the training rows that early stopping sets aside in the final fits
    gate_fold: IntArray  # (n,) the gate fold that holds each training row out, counted from 1; 0 without a gate
    verdict: Verdict
    score: TestScore
    model: Predictor  # the final one: augmented if accepted, else plain
    settings: Mapping[str, object]  # the regressor's settings, tuned or declared
    timings: Mapping[str, float]  # seconds, by stage
    fit_seconds: float  # the sum over all regressor fits, on every worker
    fits: int
