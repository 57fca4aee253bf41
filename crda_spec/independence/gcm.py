"""The generalised covariance measure: are two columns independent once others are known, whatever the curves' shapes?

Regress both ends on the given columns; if the ends are independent given those, products of the two residuals have
mean 0, and the studentised mean of the products is about standard normal (Shah and Peters 2020, "The hardness of
conditional independence testing and the generalised covariance measure"). It suffices that the product of the two
regressions' errors vanishes faster than 1 / sqrt(n), so one good regression makes up for a poor one.

What is ours. A number's residual enters by its normal score and by the size of that score, each made free of the given
columns once more: light tails whatever the noise, and a curve (x^2) or a change of spread shows in the size where the
score itself is blind. A category enters by one column per label. The largest studentised product of all combinations
counts, and Bonferroni's factor pays for the choice. Rows of one group count as one observation.

Limits. The basis is additive but for products of each two columns' first terms: dependence of both ends on the same
threshold, wave or further interaction of given columns would be mistaken for dependence between them. Where a sure
answer matters, ask for a `second_opinion`. And dependence that turns several times (a wave), with an end that the given
columns drive as well, goes unseen.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations, product

import numpy as np
import numpy.typing as npt

from crda_spec.records import Array, Column, IntArray, Table

_KNOTS = (6, 4)  # of the richer and of the plainer spline: 5 and 3 columns
_MOST_LABELS = 8
_RAREST_LABEL = 10  # rows
_ROWS_A_TERM = 3  # the basis of a test has at most one column for so many rows
_MOST_PRODUCTS = 40
_FEW_VALUES = 12


@dataclass(frozen=True, slots=True, eq=False)
class Terms:
    """One column, prepared."""

    is_numeric: bool
    values: Array  # (n,) as they are
    ends: Array  # (n, m): a number itself, in units of its spread, and its normal score; a category's labels but one
    bases: tuple[Array, ...]  # what it becomes when it is held fixed, the richest first; the last is linear
    pairings: tuple[Array, ...]  # what is multiplied with another column's, the richest first; the last is linear


def terms_of(values: Array, *, is_numeric: bool) -> Terms:
    """values: (n,), NaN where there is none."""
    if not is_numeric:
        labels = _labels(values)
        return Terms(is_numeric=False, values=values, ends=labels, bases=(labels,), pairings=(labels,))
    linear = _standardized(values)[:, None]
    known = np.isfinite(values)
    scores = np.full(len(values), np.nan)
    scores[known] = normal_scores(values[known])
    ends = np.column_stack([linear, scores])
    splines = [_spline(linear[:, 0], knots) for knots in _KNOTS]
    if len(np.unique(values[known])) <= _FEW_VALUES:  # a count: each common value may have its own mean
        splines[0] = np.column_stack([linear, _labels(values)])
    pairing = np.column_stack([linear, (np.square(ends[:, 1]) - 1.0) / np.sqrt(2.0)])
    return Terms(is_numeric=True, values=values, ends=ends, bases=(*splines, linear), pairings=(pairing, linear))


def design(given: Sequence[Terms], rows: IntArray | None, count: int) -> Array:
    """The basis (count, p) of the columns that are held fixed: the richest that the number of rows can bear.

    Products of each two columns' terms come with it. Plainer products, then plainer splines are taken to make room;
    only where even straight lines leave none are products given up, and the splines are as rich as they can be.
    """
    if not given:
        return np.empty((count, 0))
    room = count / _ROWS_A_TERM
    levels = [[_at(terms.bases, level) for terms in given] for level in range(len(_KNOTS) + 1)]
    pairings = [list(combinations([_at(terms.pairings, level) for terms in given], 2)) for level in range(2)]
    widths = [sum(block.shape[1] for block in blocks) for blocks in levels]
    blocks = next((blocks for blocks, width in zip(levels, widths, strict=True) if width <= room), levels[-1])
    for (simple, width), pairs in product(zip(levels, widths, strict=True), pairings):
        products = sum(a.shape[1] * b.shape[1] for a, b in pairs)
        if products <= _MOST_PRODUCTS and width + products <= room:
            blocks = [*simple, *((a[:, :, None] * b[:, None, :]).reshape(len(a), -1) for a, b in pairs)]
            break
    basis = np.concatenate(blocks, axis=1)
    return basis if rows is None else basis[rows]


def _at(choices: tuple[Array, ...], level: int) -> Array:
    return choices[min(level, len(choices) - 1)]


def _standardized(values: Array) -> Array:
    """Mean 0 and standard deviation 1 over the present values; zeros for a constant."""
    known = values[np.isfinite(values)]
    if not len(known):
        return np.zeros(len(values))
    size = float(np.abs(known).max()) or 1.0  # so that no square overflows or vanishes
    scaled = values / size
    centred = scaled - float((known / size).mean())
    spread = float(np.nanstd(scaled))
    return np.asarray(centred / spread if spread > 1e-13 else np.zeros(len(values)), dtype=np.float64)


def _spline(x: Array, knots: int) -> Array:
    """The natural cubic spline basis (n, at most knots - 1) without its constant; fewer columns when values repeat."""
    known = x[np.isfinite(x)]
    places = np.unique(np.quantile(known, np.linspace(0.05, 0.95, knots))) if len(known) else np.empty(0)
    if len(places) < 3:
        return x[:, None]
    beyond = np.maximum(x - places[-1], 0.0) ** 3
    *bends, last = ((np.maximum(x - knot, 0.0) ** 3 - beyond) / (places[-1] - knot) for knot in places[:-1])
    return np.column_stack([x, *(_standardized(bend - last) for bend in bends)])


def _labels(values: Array) -> Array:
    """One 0/1 column (n, m) for each common label but the commonest; the rare ones share a column."""
    known = values[np.isfinite(values)]
    codes, counts = np.unique(known, return_counts=True)
    order = np.argsort(-counts, kind="stable")
    common = [float(codes[k]) for k in order[:_MOST_LABELS] if counts[k] >= _RAREST_LABEL]
    shown = [np.where(np.isfinite(values), values == code, np.nan) for code in common[1:]]
    if len(common) < len(codes):
        rare = ~np.isin(values, common)
        shown.append(np.where(np.isfinite(values), rare, np.nan))
    return np.column_stack(shown).astype(np.float64) if shown else np.zeros((len(values), 1))


def normal_scores(values: Array) -> Array:
    """Each value's rank, as the quantile of a standard normal; equal values share the mean of their ranks."""
    from scipy import special

    order = np.argsort(values)  # need not be stable: equal values get equal scores
    ranked = values[order]
    first = np.flatnonzero(np.concatenate([[True], ranked[1:] != ranked[:-1]]))
    last = np.append(first[1:], len(values))
    mean_rank = np.repeat((first + last - 1) / 2.0, last - first)
    scores = np.empty(len(values))
    scores[order] = special.ndtri((mean_rank + 0.5) / len(values))
    return scores


Mask = npt.NDArray[np.bool_]

_NOTHING_LEFT = 1e-9  # a residual with less of the column's variance is rounding error: the given columns determine it
_STRENGTHS = np.logspace(-6, 1, 15)  # ridge strengths that are tried, in units of the basis's mean eigenvalue


@dataclass(frozen=True, slots=True)
class Ridge:
    """Ridge regressions of anything on one centred basis (n, p), from a single eigendecomposition."""

    basis: Array  # (n, p), rotated to its principal axes
    size: Array  # (p,) squared lengths of those

    @classmethod
    def of(cls, basis: Array) -> Ridge:
        """Of one basis, taken apart once for every column that is regressed on it."""
        if not basis.shape[1]:
            return cls(basis, np.empty(0))
        centred = basis - basis.mean(axis=0)
        size, axes = np.linalg.eigh(centred.T @ centred)
        return cls(centred @ axes, np.maximum(size, 0.0))

    def residuals(self, targets: Array) -> Residuals:
        """The centred targets (n, m) less their ridge fits; generalised cross-validation finds each one's strength."""
        centred = targets - targets.mean(axis=0)
        total = _squares(centred)
        if not len(self.size):
            return Residuals(centred, np.ones((targets.shape[1], 0)), np.ones(len(total)), total > 0)
        n = len(targets)
        along = self.basis.T @ centred  # (p, m)
        strengths = _STRENGTHS * max(float(self.size.mean()), np.finfo(np.float64).tiny)
        left = strengths[:, None] / (self.size + strengths[:, None])  # (s, p): what a fit leaves along each axis
        freedom = (1.0 - left).sum(axis=1)  # (s,)
        safe = np.where(self.size > 0, self.size, 1.0)
        explained = (1.0 - left**2) @ (along**2 / safe[:, None])  # (s, m)
        loss = np.maximum(total - explained, 0.0) / np.square(1.0 - (1.0 + freedom) / n)[:, None]
        best = np.argmin(loss, axis=0)
        coefficients = along * ((1.0 - left[best].T) / safe[:, None])
        values = centred - self.basis @ coefficients
        share = loss[best, np.arange(len(best))] / np.where(total > 0, total, 1.0)
        return Residuals(values, left[best], share, _squares(values) > _NOTHING_LEFT * total)


@dataclass(frozen=True, slots=True)
class Residuals:
    """What the fits leave of the columns, and of the basis."""

    values: Array  # (n, m)
    left: Array  # (m, p): what each fit leaves of each axis of the basis
    unexplained: Array  # (m,) the share of variance that a fit is expected to leave in new rows
    alive: Mask  # (m,) whether more is left than rounding errors


Regression = Callable[[Array], Residuals]  # takes out of columns (n, m), each by itself, what the given ones explain


@dataclass(frozen=True, slots=True)
class Scores:
    """One end of a test: what is left of a column, in several guises, each of mean about 0."""

    values: Array  # (n, m)
    left: Array  # (m, p): what the last regression left of each axis of the basis
    guises: tuple[int, ...]  # (m,) which guise each is: a number's score 0, its size 1; a category's label

    @property
    def freedom(self) -> float:
        """The degrees of freedom that the most flexible regression used."""
        return float((1.0 - self.left).sum(axis=1).max())

    def guise(self, which: int) -> Array:
        """One of its guises, (n,)."""
        return np.asarray(self.values[:, self.guises.index(which)], dtype=np.float64)


def scores_of(terms: Terms, rows: IntArray | None, regression: Regression) -> Scores | None:
    """The guises of a column, or None when the given columns leave nothing of it.

    Of a number itself and its normal score the one is taken that the given columns explain better, as products of
    causes become sums on the right scale. The choice looks at one end of the test only.
    """
    residuals = regression(terms.ends if rows is None else terms.ends[rows])
    if terms.is_numeric:
        if not residuals.alive.all():
            return None
        score = normal_scores(residuals.values[:, int(np.argmin(residuals.unexplained))])
        residuals = regression(np.column_stack([score, np.abs(score)]))
    kept = np.flatnonzero(residuals.alive)
    return Scores(residuals.values[:, kept], residuals.left[kept], tuple(kept.tolist())) if len(kept) else None


def _squares(values: Array) -> Array:
    """(n, m) -> (m,): sums of squares."""
    return np.asarray(np.einsum("ij,ij->j", values, values), dtype=np.float64)


def studentised(a: Scores, b: Scores, groups: IntArray | None) -> tuple[Array, int]:
    """sqrt(n) * mean / sd of the products of all guises of both ends, and the number of independent observations.

    Fitted residuals are shorter than the noise they stand for, and the sum of their products varies less than the
    products suggest row by row. For noise of equal variance the ratio is known from the two smoothers: the variance
    of sum_i (M_a e)_i (M_b f)_i is tr(M_a^2 M_b^2), where its row-wise estimate expects tr(M_a^2) tr(M_b^2) / n.
    """
    units, axes = len(a.values), a.left.shape[1]
    left_a, left_b = a.left**2, b.left**2
    rest = units - 1.0 - axes
    true = rest + left_a @ left_b.T
    expected = (rest + left_a.sum(axis=1))[:, None] * (rest + left_b.sum(axis=1)) / units
    if groups is None:
        squares = np.square(a.values).T @ np.square(b.values)
    else:
        order = np.argsort(groups, kind="stable")
        starts = np.flatnonzero(np.diff(groups[order], prepend=groups[order][:1] - 1))
        products = a.values[order][:, :, None] * b.values[order][:, None, :]
        sums = np.add.reduceat(products, starts, axis=0)
        units, squares = len(sums), np.square(sums).sum(axis=0)
    spread = np.sqrt(squares * np.maximum(true / expected, 1.0))
    return (a.values.T @ b.values) / np.where(spread > 0, spread, 1.0), units


Query = tuple[int, int, tuple[int, ...]]  # columns i and j, and the columns that are given

_FEWEST_ROWS = 20  # below this no normal approximation is worth its name


@dataclass(frozen=True, slots=True)
class GcmResult:
    """What one test saw. A test that is impossible (too few rows, nothing left to test) gives 0 and 1."""

    statistic: float  # the largest studentised mean of products, in absolute value
    p_value: float
    rows: int  # those without a missing cell in the columns of the test


@dataclass(frozen=True, slots=True, eq=False)
class Gcm:
    """The test on one table, its columns prepared once. Pure: no randomness, and nothing is kept between tests."""

    terms: tuple[Terms, ...]
    present: tuple[Mask | None, ...]  # (n,) a column: where it has a value; None when it has one everywhere
    groups: IntArray | None
    rows: int
    names: tuple[str, ...] = field(default=())

    @classmethod
    def of(cls, x: Array, columns: Sequence[Column], groups: IntArray | None = None) -> Gcm:
        """x: (n, d).  columns: the d contracts, whose types decide on basis and ends.  groups: (n,) or None."""
        terms, present = [], []
        for position, column in enumerate(columns):
            known = np.isfinite(x[:, position])
            terms.append(terms_of(np.where(known, x[:, position], np.nan), is_numeric=column.is_numeric))
            present.append(None if bool(known.all()) else known)
        return cls(tuple(terms), tuple(present), groups, len(x), tuple(column.name for column in columns))

    @classmethod
    def of_table(cls, table: Table) -> Gcm:
        """The features and the target, in the order of their names."""
        columns = [*table.features, table.target]
        x = np.column_stack([table.x, table.y])
        order = sorted(range(len(columns)), key=lambda position: columns[position].name)
        return cls.of(x[:, order], [columns[position] for position in order], table.groups)

    def test(self, i: int, j: int, given: Sequence[int] = ()) -> tuple[float, float]:
        """Statistic and p-value of the claim that columns i and j are independent once `given` are known."""
        result = self.tests([(i, j, tuple(given))])[0]
        return result.statistic, result.p_value

    def tests(self, queries: Sequence[Query]) -> list[GcmResult]:
        """Many tests, in the order asked. Those that hold the same columns fixed share their regressions.

        An answer does not depend on what else is asked, nor on the order of i and j or of the given columns.
        """
        shared: dict[tuple[tuple[int, ...], tuple[int, ...]], list[int]] = {}
        for position, (i, j, given) in enumerate(queries):
            held = tuple(sorted(given))
            gaps = tuple(sorted(c for c in {i, j, *held} if self.present[c] is not None))
            shared.setdefault((held, gaps), []).append(position)
        answers: dict[int, GcmResult] = {}
        for (held, _), positions in shared.items():
            first, second, _ = queries[positions[0]]
            ends = self.ends((first, second, held))
            for position in positions:
                i, j, _ = queries[position]
                answers[position] = ends.compare(min(i, j), max(i, j))
        return [answers[position] for position in range(len(queries))]

    def slope(self, i: int, j: int, given: Sequence[int], *, sign: int) -> tuple[float, float]:
        """Whether column j goes up (statistic above 0) or down with column i, once `given` are known.

        Both in their own units: where the mean of j never falls as i grows, the slope's true value is not below 0.
        Returns the statistic and the p-value of one so far against `sign`; 0 and 1 where there is nothing to test.
        """
        from scipy import special

        ends = self.ends((i, j, tuple(given)))
        values = np.column_stack([self.terms[column].values for column in (i, j)])
        values = values if ends.rows is None else values[ends.rows]
        if ends.count < _FEWEST_ROWS:
            return 0.0, 1.0
        residuals = ends.ridge.residuals(values)
        if not residuals.alive.all():
            return 0.0, 1.0
        a, b = (Scores(residuals.values[:, [end]], residuals.left[[end]], (0,)) for end in (0, 1))
        t, units = studentised(a, b, ends.groups)
        freedom = max(units - 1 - max(a.freedom, b.freedom), 1.0)
        return float(t[0, 0]), float(special.stdtr(freedom, sign * t[0, 0]))

    def ends(self, query: Query) -> Ends:
        """What the test of a query compares, on the rows in which none of its columns has a missing cell."""
        i, j, given = query
        # Rows are left out, not filled: a given column that is filled up no longer holds fixed what it should.
        masks = [mask for mask in (self.present[column] for column in sorted({i, j, *given})) if mask is not None]
        rows = np.flatnonzero(np.logical_and.reduce(masks)) if masks else None  # None stands for all rows
        return Ends(self, tuple(sorted(given)), rows)


@dataclass  # without slots, which cached_property cannot have
class Ends:
    """The ends of tests that hold the same columns fixed, on the same rows."""

    gcm: Gcm
    given: tuple[int, ...]
    rows: IntArray | None
    _scores: dict[int, Scores | None] = field(default_factory=dict)

    @property
    def count(self) -> int:
        """The number of rows."""
        return self.gcm.rows if self.rows is None else len(self.rows)

    @property
    def groups(self) -> IntArray | None:
        """The rows' groups, if they have any."""
        return self.gcm.groups if self.rows is None or self.gcm.groups is None else self.gcm.groups[self.rows]

    @cached_property
    def ridge(self) -> Ridge:
        """The regression on splines of the given columns."""
        return Ridge.of(design([self.gcm.terms[held] for held in self.given], self.rows, self.count))

    def compare(self, i: int, j: int) -> GcmResult:
        """The test of columns i and j."""
        from scipy import special

        a, b = (self.score(i), self.score(j)) if self.count >= _FEWEST_ROWS else (None, None)
        if a is None or b is None:
            return GcmResult(0.0, 1.0, self.count)
        t, units = studentised(a, b, self.groups)
        freedom = max(units - 1 - max(a.freedom, b.freedom), 1.0)
        largest = float(np.abs(t).max())
        p = 2.0 * float(special.stdtr(freedom, -largest)) * t.size
        return GcmResult(largest, min(p, 1.0), self.count)

    def score(self, column: int) -> Scores | None:
        """What the given columns leave of a column; None when that is nothing."""
        if column not in self._scores:
            self._scores[column] = scores_of(self.gcm.terms[column], self.rows, self.ridge.residuals)
        return self._scores[column]
