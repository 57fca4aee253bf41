"""The support guard: is a new row where the data are?

`neighbours` measures two things of a row. First its distance to the nearest training row other than its own source.
Second, how far it breaks the linear ties among the numbers: its Mahalanobis length in the thin directions, those in
which standardised numbers vary less than a quarter as much as one number alone. The first notices gaps, curved clouds
and combinations of labels that nobody has; the second notices a broken tie that is still near in plain distance
(x2 = x1 + tiny noise with x1 moved alone). `mahalanobis` measures the length in all directions instead, labels
included, and needs no search; it knows one ellipse only.

What is far is said by the training rows themselves, each measured as if it had not been among the rows (leave one out).
The stated quantile of their measures is the limit. A row may always be as far as its own source is, so an isolated
training row does not condemn what is made of it, and a row that did not move is never outside.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

import numpy as np
import numpy.typing as npt
from pydantic import Field

from crda_spec.counterfactual.neighbours import Space, nearest, reference_rows
from crda_spec.records import NOBODY, Array, IntArray, Table
from crda_spec.seeds import stream
from crda_spec.strict import Strict

OnOutside = Literal["drop", "redraw"]

_THIN = 0.25  # of the variance of one standardised number
_FLOOR = 1e-8  # of the same: an exact tie may be broken by rounding, and by this much
_ROWS_PER_NUMBER = 2
_SLACK = 1e-9  # of rounding, in a comparison
_ANYWHERE = 1e100  # a squared length beyond all others: two rows cannot say how far a third may be


class NoSupport(Strict):
    """No guard."""

    on_outside: ClassVar[OnOutside] = "drop"

    kind: Literal["none"] = Field("none", description="Every new row is kept, wherever it lies.")

    def learn(self, train: Table, *, rows: int, seed: int, index: tuple[int, ...]) -> None:
        """Nothing: no row is judged."""


class _Guard(Strict):
    """How support is judged, and what becomes of a row outside it."""

    kind: str
    quantile: float = Field(
        0.95,
        ge=0.5,
        lt=1,
        description="The limit: this share of the training rows, each measured against the others, is inside it.",
    )
    on_outside: OnOutside = Field(
        "drop", description="Leave a row outside out, or draw it again (up to 10 times, then leave it out)."
    )

    @abstractmethod
    def _measures(self, train: Table, space: Space, *, rows: int, rng: np.random.Generator) -> _Measures:
        """What is measured of a row, learnt from the training rows."""

    def learn(self, train: Table, *, rows: int, seed: int, index: tuple[int, ...]) -> Region:
        """From the training rows. rows: how many new ones will be asked about, which bounds the cost of the search."""
        measures = self._measures(train, Space.learn(train), rows=rows, rng=stream(seed, "support", *index))
        own = measures.of(train.x, np.arange(len(train)), left_out=True)
        unit = np.quantile(own, self.quantile, axis=0, method="higher")
        with np.errstate(divide="ignore", invalid="ignore"):
            # In units of the limit; where that is 0, nothing is 0 times it and all else is infinitely far.
            ratio = np.nan_to_num(own / unit, nan=0.0, posinf=np.inf)
            # One limit for both measures, so that together they refuse no more training rows than the quantile says.
            worst = np.quantile(ratio.max(axis=1, initial=0.0), self.quantile, method="higher")
            limits = np.nan_to_num(unit * worst, nan=0.0, posinf=np.inf)  # 0 * inf: nothing varies, and nothing may
        return Region(measures=measures, own=own, limits=limits)


class NeighbourSupport(_Guard):
    """By the nearest training row and the linear ties among the numbers."""

    kind: Literal["neighbours"] = Field(
        "neighbours",
        description=(
            "A row is off the data when the nearest training row (but its source) is too far, or a linear tie among "
            "the numbers is broken too much."
        ),
    )

    def _measures(self, train: Table, space: Space, *, rows: int, rng: np.random.Generator) -> _Measures:
        # With few rows, a direction may be thin only because rows are few.
        positions = space.numbers if len(train) >= _ROWS_PER_NUMBER * len(space.numbers) else ()
        chosen = reference_rows(len(train), max(rows, len(train)), rng=rng)
        ellipse = _ellipse(train, space, positions, below=_THIN)
        return _Measures(space=space, ellipse=ellipse, reference=(chosen, space.encode(train.x[chosen])))


class MahalanobisSupport(_Guard):
    """By the distance from the centre, in the data's own ellipse."""

    kind: Literal["mahalanobis"] = Field(
        "mahalanobis",
        description="A row is off the data when its Mahalanobis distance from the centre is too large; no search.",
    )

    def _measures(self, train: Table, space: Space, *, rows: int, rng: np.random.Generator) -> _Measures:
        everything = tuple(range(len(train.features)))
        return _Measures(space=space, ellipse=_ellipse(train, space, everything, below=np.inf), reference=None)


Support = Annotated[NoSupport | NeighbourSupport | MahalanobisSupport, Field(discriminator="kind")]


@dataclass(frozen=True, slots=True, eq=False)
class _Ellipse:
    """Directions, each scaled to the variance 1 that the training rows have along it."""

    positions: tuple[int, ...]  # of the features it looks at
    center: Array
    whiten: Array  # (p, q)
    rows: int  # it was learnt from

    def squared(self, points: Array) -> Array:
        """(m,) the squared Mahalanobis length of encoded rows."""
        lengths: Array = (((points - self.center) @ self.whiten) ** 2).sum(axis=1)
        return lengths


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Measures:
    """How far a row is from the training rows: its length in the ellipse, and to the nearest of the reference rows."""

    space: Space
    ellipse: _Ellipse
    # Positions and points of the training rows to compare with, all or a sample of them; None: the length alone.
    reference: tuple[IntArray, Array] | None

    def of(self, x: Array, source: IntArray, *, left_out: bool = False) -> Array:
        """(m, c) the measures. left_out: the rows are the sources themselves, to be judged by all other rows."""
        squared = self.ellipse.squared(self.space.encode(x, self.ellipse.positions))
        if left_out:
            squared = _leave_one_out(squared, self.ellipse.rows)
        tie = np.sqrt(squared)
        if self.reference is None:
            return tie[:, None]
        (rows, points), away = self.reference, np.zeros(len(x))
        if len(rows) > 1:  # to the nearest that is not the source; 0 where there is none
            distance, found = nearest(points, self.space.encode(x), 2)
            away = np.where(rows[found[:, 0]] == source, distance[:, 1], distance[:, 0])
        return np.column_stack([away, tie])


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Region:
    """Where the data are, as the training rows say."""

    measures: _Measures
    own: Array  # (n, c) the training rows' measures, each left out of the others
    limits: Array  # (c,)

    def outside(self, x: Array, source: IntArray) -> npt.NDArray[np.bool_]:
        """(m,) which of these rows lie off the data. source: (m,) the training row each was made from."""
        return self.beyond(x, source, self.own[source])

    def beyond(self, x: Array, source: IntArray, own: Array) -> npt.NDArray[np.bool_]:
        """(m,) which rows are farther than the limits and than their sources. own: (m, c) the sources' measures."""
        limit = np.maximum(self.limits, own)
        far: npt.NDArray[np.bool_] = np.any(self.measures.of(x, source) > limit * (1.0 + _SLACK) + _SLACK, axis=1)
        return far

    def strangers(self, x: Array, train: Table) -> Strangers:
        """Rows to make new ones from that need not be training rows: x (b, d). One that equals a training row is it."""
        places = {row.tobytes(): at for at, row in enumerate(_canonical(train.x))}
        twin = np.array([places.get(row.tobytes(), NOBODY) for row in _canonical(x)], dtype=np.int64)
        own, known = self.measures.of(x, twin), twin != NOBODY
        own[known] = self.own[twin[known]]
        return Strangers(self, twin, own)


@dataclass(frozen=True, slots=True, eq=False)
class Strangers:
    """Rows from elsewhere as sources: how far each is from the training rows itself."""

    region: Region
    twin: IntArray  # (b,) the training row at the same place, or NOBODY
    own: Array  # (b, c) their measures

    @property
    def astray(self) -> int:
        """How many of them lie off the data themselves: what is made of such a row may be as far off as it is."""
        beyond = np.any(self.own > self.region.limits * (1.0 + _SLACK) + _SLACK, axis=1)
        return int(np.count_nonzero(beyond & (self.twin == NOBODY)))

    def outside(self, x: Array, source: IntArray) -> npt.NDArray[np.bool_]:
        """(m,) which of these rows lie off the data. source: (m,) positions among the strangers."""
        return self.region.beyond(x, self.twin[source], self.own[source])


def _canonical(x: Array) -> Array:
    """The same rows with one zero and one NaN, so that equal rows have equal bytes."""
    rows = np.ascontiguousarray(x + 0.0)
    rows[np.isnan(rows)] = np.nan
    return rows


def _ellipse(train: Table, space: Space, positions: tuple[int, ...], *, below: float) -> _Ellipse:
    points = space.encode(train.x, positions)
    center = points.mean(axis=0)
    spread = (points - center).T @ (points - center) / max(1, len(points) - 1)
    variance, directions = np.linalg.eigh(spread)
    kept = variance < below
    return _Ellipse(
        positions=positions,
        center=center,
        whiten=directions[:, kept] / np.sqrt(np.maximum(variance[kept], _FLOOR)),
        rows=len(points),
    )


def _leave_one_out(squared: Array, n: int) -> Array:
    """Squared Mahalanobis lengths by mean and covariance of the other rows, from those by all (Sherman, Morrison)."""
    if n < 3:
        return np.full_like(squared, _ANYWHERE)
    share = np.minimum(squared / (n - 1), (n - 1) / n * (1.0 - 1e-12))
    return (n / (n - 1)) ** 2 * (n - 2) * share / (1.0 - n / (n - 1) * share)
