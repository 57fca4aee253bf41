"""New rows, their labels, the licence that each of them stands on, and what they are like."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any, Literal

from crda_spec.records.causal import UNPUBLISHED
from crda_spec.records.reasons import Followed, Obstacle, Quoted, Reason
from crda_spec.records.rows import Array, IntArray

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt


# certificate: the row carries noise of a real row, so only features that are separated from the noise may have moved.
# support: it carries none and claims no invariance; any feature may have moved, within the support of the data.
Licence = Literal["certificate", "support"]

# Whose noise a new row carries: its own source row's, nobody's, or that of a training row with similar X_R.
ResidualDraw = Literal["own", "none", "matched"]

NOBODY = -1  # stands for a row where a synthetic row has none: no noise carried, no partner


@dataclass(frozen=True, slots=True, kw_only=True)
class Licensed:
    """What moves, and on which licence. The certificate says what may carry noise; this says what is done."""

    licence: Licence
    names: tuple[str, ...]  # in the table's order
    uncertified: tuple[str, ...] = ()  # of these, the ones that the certificate holds fixed: under `support` only
    stuck: Mapping[str, Obstacle] = field(default_factory=dict)  # wanted, but its effects cannot follow: name -> why
    left: Mapping[str, Reason] = field(default_factory=dict)  # this licence would let it move, but: name -> why not


@dataclass(frozen=True, slots=True, kw_only=True)
class Movement:
    """What becomes of one feature in a run, beside what the certificate says of it."""

    name: str
    certified: bool  # in X_P, or it could have been: no tie to the noise is known
    moves: Literal["moves", "follows", "stays"]
    licence: Licence | None  # None when it stays
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
    unmoved: int = 0  # rows that came out as their source: missing cells stay missing, and some draws change nothing
    dropped: int = 0  # rows that were left out because they lay off the data's support
    redrawn: int = 0  # rows that were drawn again, because of that or because they broke a column's contract
    astray: int = 0  # source rows from elsewhere that lie off the training rows themselves
    partner: IntArray | None = None  # (m,) the second row each was made from, NOBODY where there was none


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Counterfactuals:
    """The synthetic rows and, for each, all that is needed to recompute it.

    y = prediction + retention * (scale * noise), computed in this order, to the last bit.
    """

    action: Action
    prediction: Array  # (m,) the teacher's word at the new x
    noise: Array  # (m,) the noise the row carries, 0 under the licence `support`
    retention: float
    y: Array  # (m,)
    weight: float
    licence: Licence = "certificate"
    draw: ResidualDraw = "own"
    scale: Array | None = None  # (m,) the noise's scale at the new x; None means 1 in every row
    noise_source: IntArray | None = None  # (m,) whose noise it is, NOBODY for none; None means the source row's
    scale_clipped: int = 0  # rows at whose x the fitted scale had to be brought back into its range

    def __len__(self) -> int:
        return len(self.y)

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
class Control:
    """The same student, label rule, row count and weights, but no feature moved: the real rows, labelled anew.

    What it gains is the teacher's; what the augmented model gains beyond it is that of the new places.
    """

    metric: str
    plain: float
    relabelled: float
    augmented: float
    teacher_percent: float  # from plain to relabelled, in percent of plain; negative is better
    places_percent: float  # from relabelled to augmented, in percent of plain


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnostics:
    """What a reader may want to know of the new rows."""

    moved: tuple[MovedFeature, ...]  # those that moved, then those that followed; the table's order
    places: Places
    disagreement: Disagreement | None  # None when the teacher is one model
    noise: Comparison | None  # residuals of the real rows, and what new rows carry of them; None when nothing
    errors: Comparison | None = None  # on the test rows: the plain model's, and the augmented one's
    control: Control | None = None  # None when the spec does without
