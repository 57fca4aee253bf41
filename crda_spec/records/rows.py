"""Rows: columns, tables, splits and their order in time, what a teacher says of them, and the new rows it labels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from operator import add
from typing import TYPE_CHECKING, Annotated, Any, Literal, Protocol, TypeAlias

from crda_spec.records.causal import UNPUBLISHED, Followed, Obstacle, Quoted, Reason

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt


@dataclass(frozen=True, slots=True, kw_only=True)
class Clock:
    """The column that orders the rows, and every moment in it, earliest first."""

    column: str
    timestamps: tuple[str, ...]  # each in one spelling: 2024-03-01, 2024-03-01T08:30:00, 17


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """A stretch of time, both ends included."""

    first: str
    last: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FoldSpan:
    """Which time a gate fold was fitted on, and which later time it was scored on."""

    fold: int
    trained: Span
    held_out: Span


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeOrder:
    """The gate's folds follow time: each is scored on rows that are later than all that it was fitted on."""

    column: str  # that orders the rows
    train: Span  # of all training rows
    test: Span | None  # of the test rows; null without any, or when a second source has them: its times are not read
    tuning: Span | None  # of the rows that were spent on searches; null when there are none
    folds: tuple[FoldSpan, ...]  # of the gate, as planned; none when nothing was gated


Array: TypeAlias = "npt.NDArray[np.float64]"
IntArray: TypeAlias = "npt.NDArray[np.int64]"

ColumnType = Literal["continuous", "integer", "category", "boolean"]


def read_only(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The same array, closed for writing."""
    array.setflags(write=False)
    return array


def relative(weights: Array | None) -> Array | None:
    """The weights with mean 1: only their proportions count. None when all are equal, which is to say nothing.

    weights: (n,) positive. Returns (n,).
    """
    return None if weights is None or weights.min() == weights.max() else weights / weights.mean()


def weighted_mean(values: Array, weights: Array | None) -> float:
    """The mean of the values, each counted by its weight: sum(w v) / sum(w).

    values, weights: (n,).
    """
    share = relative(weights)
    return float((values if share is None else share * values).mean())


def spread_of(y: Array, weights: Array | None) -> float:
    """The variance of y, each value counted by its weight."""
    if relative(weights) is None:
        return float(y.var())
    return weighted_mean((y - weighted_mean(y, weights)) ** 2, weights)


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
    weights: Array | None = None  # (n,) positive: how much each row counts; None: all the same
    times: IntArray | None = None  # (n,) which of the `Clock`'s moments each row belongs to, where rows have an order

    def __post_init__(self) -> None:
        for array in (self.row_ids, self.x, self.y, self.groups, self.weights, self.times):
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
            weights=None if self.weights is None else self.weights[index],
            times=None if self.times is None else self.times[index],
        )

    def select(self, positions: Sequence[int]) -> Table:
        """The same rows with only these features, in this order."""
        features = tuple(self.features[position] for position in positions)
        return replace(self, features=features, x=self.x[:, list(positions)].copy())

    def positions(self, names: Sequence[str]) -> tuple[int, ...]:
        """The columns of x that hold these features."""
        where = {name: position for position, name in enumerate(self.names)}
        return tuple(where[name] for name in names)


class Predictor(Protocol):
    """A fitted model: rows in, predictions out, in the target's own unit."""

    def predict(self, x: Array) -> Array:
        """x: (m, d). Returns (m,)."""


def mean_prediction(models: Sequence[Predictor], x: Array) -> Array:
    """(m,) the mean of what the models say, added up in their order, so that it is the same bits everywhere."""
    return reduce(add, (model.predict(x) for model in models)) / len(models)


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

    @property
    def weights(self) -> Array | None:
        """How much each held-out row counts in a score; None: all the same."""
        return self._rows.weights

    @property
    def times(self) -> IntArray | None:
        """When the held-out rows were, for whoever tells it."""
        return self._rows.times

    @property
    def spread(self) -> float:
        """The (weighted) variance of the held-out targets, one number, for a score that is relative to it."""
        return spread_of(self._rows.y, self._rows.weights)

    def errors(self, model: Predictor) -> Array:
        """The model's prediction errors, row by row: y - prediction."""
        return self._rows.y - model.predict(self._rows.x)

    def shuffled(self, names: Sequence[str], *, rng: np.random.Generator) -> HeldOut:
        """The same rows, as closed, with each of these features shuffled by itself: its ties to all others are cut."""
        x = self._rows.x.copy()
        for position in self._rows.positions(names):
            x[:, position] = rng.permutation(x[:, position])
        return HeldOut(replace(self._rows, x=x))


def rows_of(part: Table | HeldOut | None) -> int:
    """How many rows a part of a split has; none where there is no such part."""
    return 0 if part is None else len(part)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Split:
    """Training rows, which the method sees, and test rows, which only the final scoring sees."""

    train: Table
    test: HeldOut | None  # None: no row is held back, and no test score follows
    tuning: Table | None = None  # rows that are spent on searches and are no longer among the training rows
    clock: Clock | None = None  # what `times` count in; None when rows have no order


@dataclass(frozen=True, slots=True, kw_only=True)
class TeacherFamily:
    """What one kind of model contributes to a teacher."""

    name: str
    fitted: int  # models of this kind
    weight: float  # of all of them together; a family without weight is not asked
    error: float | None  # mean squared error on rows that the members had not seen; None where there are none


@dataclass(frozen=True, slots=True, kw_only=True)
class Trust:
    """Whether the training rows bear out what the graph calls irrelevant, by mean squared errors on rows unseen."""

    everything: float  # loss of the members that see every feature
    boundary: float  # loss of the members that see the boundary
    standard_error: float  # of the difference, paired over rows, or over groups
    margin: float  # so many standard errors may the boundary's loss be larger
    weight: float  # of the boundary's members in the teacher; 0 to 1
    passed: bool
    contradicted: tuple[str, ...] = ()  # where it did not pass: features that the rows tie to the target, worst first


Sign = Literal["increasing", "decreasing"]
Signs = tuple[tuple[str, Sign], ...]  # features, and which way the target goes when one of them grows


@dataclass(frozen=True, slots=True, kw_only=True)
class SignedMembers:
    """What declared signs did to the kinds that can hold them, by mean squared errors on rows unseen."""

    free: float  # loss of these kinds without signs
    signed: float  # loss of the same kinds with them
    standard_error: float  # of the difference, paired over rows, or over groups
    margin: float  # so many standard errors may the loss with signs be larger
    weight: float  # of the members with signs in the teacher; 0 to 1
    passed: bool  # if not, none of them has any weight


@dataclass(frozen=True, slots=True, kw_only=True)
class DeclaredSign:
    """A declared sign against the training rows."""

    name: str
    sign: Sign
    statistic: float  # of the target's slope along the feature, the other features known; 0: nothing to test
    p_value: float  # of a slope so much against the sign
    adjusted: float  # the same, for all signs together
    contradicted: bool


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Teacher:
    """What labels a counterfactual row: the weighted mean of one or several fitted models."""

    kind: str
    members: tuple[Predictor, ...]  # those that have weight
    in_sample: Array  # (n,) its predictions for its own training rows
    out_of_fold: Array | None  # (n,) the same by members that have not seen the row, where there are any
    weights: tuple[float, ...] = ()  # one a member, together 1; empty when all weigh the same
    names: tuple[str, ...] = ()  # one a member: its kind, and what it has not seen
    families: tuple[TeacherFamily, ...] = ()
    trust: Trust | None = None  # None: it has no members of the boundary alone
    signs: SignedMembers | None = None  # None: none of its members holds declared signs beside one that does not
    without_graph: Teacher | None = None  # its members of all features, weighed among themselves; None: all are such

    def predict(self, x: Array) -> Array:
        """x: (m, d). Returns (m,)."""
        if len(set(self.weights)) > 1:
            pairs = zip(self.weights, self.members, strict=True)
            return reduce(add, (weight * member.predict(x) for weight, member in pairs))
        return mean_prediction(self.members, x)


Residuals = Literal["in_sample", "out_of_fold"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Abduction:
    """The noise of each training row.

    additive: y = g(x) + noise. location_scale: y = g(x) + s(x) * noise, s positive, so that the noise has one size.
    """

    noise: Array  # (n,)
    residuals: Residuals
    model: Literal["additive", "location_scale"] = "additive"
    scale: Array | None = None  # (n,) s(x) of each training row; None when additive
    scale_model: NoiseScale | None = None  # s at any x; None when additive
    scale_clipped: int = 0  # training rows at whose x the fitted scale had to be brought back into its range


class NoiseScale(Protocol):
    """The fitted size of the noise: rows in, positive numbers out."""

    def at(self, x: Array) -> tuple[Array, int]:
        """x: (m, d). Returns (m,), and how many of them had to be brought back into the range that was fitted."""


# certificate: only features that are separated from the noise may have moved; the row may carry noise of a real one.
# support: it carries none; any feature may have moved, within the support of the data.
# augmenter: another method made the row and its label; nothing is claimed of either.
Basis = Literal["certificate", "support", "augmenter"]
# Of one row. invariance: only features changed that the graph separates from the target; its outcome is its source's.
RowBasis = Literal["invariance", "certificate", "support", "augmenter"]

# Whose noise a new row carries: its own source row's, nobody's, or that of a training row with similar X_R; any: of any
# training row, as an augmenter draws it.
ResidualDraw = Literal["own", "none", "matched", "any"]

NOBODY = -1  # stands for a row where a synthetic row has none: no noise carried, no partner


@dataclass(frozen=True, slots=True, kw_only=True)
class MovableFeatures:
    """What moves, and on which basis. The certificate says what may carry noise; this says what is done."""

    basis: Basis
    names: tuple[str, ...]  # in the table's order
    irrelevant: tuple[str, ...] = ()  # on which no label depends, moving or not
    uncertified: tuple[str, ...] = ()  # of these, the ones that the certificate holds fixed: under `support` only
    stuck: Mapping[str, Obstacle] = field(default_factory=dict)  # wanted, but its effects cannot follow: name -> why
    left: Mapping[str, Reason] = field(default_factory=dict)  # this basis would let it move, but: name -> why not


@dataclass(frozen=True, slots=True, kw_only=True)
class Movement:
    """What becomes of one feature in a run, beside what the certificate says of it."""

    name: str
    certified: bool  # in X_P, or it could have been: no tie to the noise is known
    moves: Literal["moves", "follows", "stays"]
    basis: RowBasis | None  # None when it stays
    sentence: str = ""  # why it moves, or why it stays
    why: Annotated[Reason | None, UNPUBLISHED] = None  # of one that stays


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Action:
    """New rows in which only X_P moved."""

    x: Array  # (m, d)
    source: IntArray  # (m,) position of the training row each came from
    moved: tuple[str, ...]
    policies: Mapping[str, str]  # what was done to each moved feature, in words
    clipped: Mapping[str, int]  # how many proposals had to be brought back inside the column's contract
    propagated: Mapping[str, Followed | Quoted] = field(default_factory=dict)  # what followed, and by which equation
    copied: int = 0  # rows that equal their source: missing cells stay missing, and some draws change nothing
    dropped: int = 0  # rows that were left out because they lay off the data's support
    redrawn: int = 0  # rows that were drawn again, because of that or because they broke a column's contract
    rule_dropped: int = 0  # rows that were left out because they broke a rule in every draw
    rule_redrawn: int = 0  # rows that were drawn again because they broke a rule
    astray: int = 0  # source rows from elsewhere that lie off the training rows themselves
    partner: IntArray | None = None  # (m,) the second row each was made from, NOBODY where there was none

    @property
    def changed(self) -> tuple[str, ...]:
        """The features that moved, then those that followed them."""
        return tuple(dict.fromkeys((*self.moved, *self.propagated)))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Counterfactuals:
    """The synthetic rows and, for each, all that is needed to recompute it.

    y = prediction + retention * (scale * noise), computed in this order, to the last bit.
    """

    action: Action
    prediction: Array  # (m,) what the teacher predicts at the new x, irrelevant features as in the source
    noise: Array  # (m,) the noise the row carries, 0 under the basis `support`
    retention: float
    y: Array  # (m,)
    weight: float
    basis: Basis = "certificate"
    draw: ResidualDraw = "own"
    scale: Array | None = None  # (m,) the noise's scale at the new x; None means 1 in every row
    noise_source: IntArray | None = None  # (m,) whose noise it is, NOBODY for none; None means the source row's
    scale_clipped: int = 0  # rows at whose x the fitted scale had to be brought back into its range
    irrelevant: tuple[str, ...] = ()  # features on which no label depends
    invariant: npt.NDArray[np.bool_] | None = None  # (m,) rows in which only these changed; None: nobody asked

    def __len__(self) -> int:
        return len(self.y)

    @property
    def row_basis(self) -> tuple[RowBasis, ...]:
        """What each row's label rests on."""
        invariant = [False] * len(self) if self.invariant is None else self.invariant.tolist()
        return tuple("invariance" if one else self.basis for one in invariant)

    @property
    def noise_rows(self) -> IntArray:
        """(m,) position of the training row whose noise each row carries, NOBODY where it carries none."""
        return self.action.source if self.noise_source is None else self.noise_source

    def stems_from(self, rows: npt.NDArray[np.bool_]) -> npt.NDArray[Any]:
        """Which synthetic rows contain something of these training rows: their features, or the noise of their outcome.

        rows: (n,) a mask. Returns (m,), a mask. Early stopping asks: no model may be trained on a row that was made
        from one it is watched on.
        """
        made = rows[self.action.source] | ((self.noise_rows >= 0) & rows[self.noise_rows])
        partner = self.action.partner
        return made if partner is None else made | ((partner >= 0) & rows[partner])


Points = tuple[tuple[float, float], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class MovedFeature:
    """How far one feature moved, or followed."""

    name: str
    changed: float  # share of new rows in which it differs from the source row
    median: float | None  # of the distance, in the column's unit, where it changed; None for labels and no change
    far: float | None  # its 0.95 quantile
    in_sd: float | None  # root mean square over all new rows, in standard deviations of the training rows
    effect: float  # how much the teacher changes along it, rows held fixed otherwise, in standard deviations of y
    grid: tuple[float, ...]  # values of the feature: quantiles of the training rows, or codes of labels
    curve: tuple[float, ...]  # the teacher's mean word there (partial dependence), in the target's unit


@dataclass(frozen=True, slots=True, kw_only=True)
class AverageEffect:
    """What a certified cause does to the target when it alone is set, by the teacher, in the target's unit."""

    name: str
    label: str  # of a category: the label that is compared; empty for a number
    against: str  # with this one
    mean: float  # for one unit more, or for the one label instead of the other
    spread: float  # its standard deviation over rows
    low: float  # a tenth of the rows lie below
    high: float  # and a tenth above
    sd: float | None = None  # of the column, over training rows; None for labels
    follows: tuple[str, ...] = ()  # what follows it; none where the other columns are held fixed


@dataclass(frozen=True, slots=True, kw_only=True)
class Cloud:
    """Real and new rows on one plane; a sample of each."""

    first: str  # what the axes are
    second: str
    real: Points
    new: Points


@dataclass(frozen=True, slots=True, kw_only=True)
class Places:
    """Where the new rows lie."""

    plane: Cloud  # the two directions in which the standardised training rows vary most
    shares: tuple[float, float]  # of their variance, along each
    pairs: tuple[Cloud, ...]  # the features that moved most, in their own units
    outside: float  # share of new rows farther from the data than 95 % of real rows are from each other
    rows: int  # new rows that were asked about


@dataclass(frozen=True, slots=True, kw_only=True)
class Disagreement:
    """The standard deviation among the teacher's members, in the target's unit."""

    members: int
    real_median: float
    real_far: float  # its 0.9 quantile
    new_median: float
    new_far: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Equal quantiles of two samples, in the target's unit."""

    before: tuple[float, ...]
    after: tuple[float, ...]
    distance: float  # of Kolmogorov and Smirnov: the largest gap between the two distributions


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnostics:
    """What a reader may want to know of the new rows."""

    moved: tuple[MovedFeature, ...]  # those that moved, then those that followed; the table's order
    places: Places
    disagreement: Disagreement | None  # None when the teacher is one model
    noise: Comparison | None  # residuals of the real rows, and what new rows carry of them; None when nothing
    errors: Comparison | None = None  # on the test rows: the plain model's, and the augmented one's; None without any
    effects: tuple[AverageEffect, ...] = ()  # of each certified cause alone, the other columns held fixed
