"""What the new rows look like beside the real ones, what the teacher says there, and where a gain comes from.

Everything here is for a reader: no stage decides on it. Numbers only, so that a page can be drawn from the file alone.
"""

from __future__ import annotations

from dataclasses import dataclass

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
