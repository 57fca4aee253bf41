"""The generalised covariance measure: are two columns independent once others are known, whatever the curves' shapes?

Regress both ends on the given columns; if the ends are independent given those, products of the two residuals have
mean 0, and the studentised mean of the products is about standard normal (Shah and Peters 2020, "The hardness of
conditional independence testing and the generalised covariance measure"). It suffices that the product of the two
regressions' errors vanishes faster than 1 / sqrt(n), so one good regression makes up for a poor one.

What is ours. The regressions are ridge regressions on a fixed basis of the given columns (`_gcm_basis`), their strength
chosen by generalised cross-validation. A number's residual enters by its normal score and by the size of that score,
each made free of the given columns once more: light tails whatever the noise, and a curve (x^2) or a change of spread
shows in the size where the score itself is blind. A category enters by one column per label. The largest studentised
product of all combinations counts, and Bonferroni's factor pays for the choice. Rows of one group (repeated
measurements) count as one observation.

Limits. The basis is additive but for products of each two columns' first terms: dependence of both ends on the same
threshold, wave or further interaction of given columns would be mistaken for dependence between them. Where a sure
answer matters, ask for a `second_opinion`. And dependence that turns several times (a wave), with an end that the given
columns drive as well, goes unseen.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from scipy import special

from crda_spec.records import Array, Column, IntArray, Table
from crda_spec.scm.independence._gcm_basis import Terms, design, terms_of
from crda_spec.scm.independence._gcm_ridge import Mask, Ridge, Scores, scores_of, studentised

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

    def ends(self, query: Query) -> Ends:
        """What the test of a query compares, on the rows in which none of its columns has a missing cell."""
        i, j, given = query
        gaps = sorted(column for column in {i, j, *given} if self.present[column] is not None)
        return Ends(self, tuple(sorted(given)), self._complete(tuple(gaps)))

    def _complete(self, gaps: tuple[int, ...]) -> IntArray | None:
        """The rows in which all these columns have a value; None stands for all rows.

        Rows are left out, not filled: a given column that is filled up no longer holds fixed what it should.
        """
        if not gaps:
            return None
        masks = [mask for mask in (self.present[column] for column in gaps) if mask is not None]
        return np.flatnonzero(np.logical_and.reduce(masks))


@dataclass(slots=True)
class Ends:
    """The ends of tests that hold the same columns fixed, on the same rows."""

    gcm: Gcm
    given: tuple[int, ...]
    rows: IntArray | None
    _ridge: Ridge | None = None
    _scores: dict[int, Scores | None] = field(default_factory=dict)

    @property
    def count(self) -> int:
        """The number of rows."""
        return self.gcm.rows if self.rows is None else len(self.rows)

    @property
    def groups(self) -> IntArray | None:
        """The rows' groups, if they have any."""
        return self.gcm.groups if self.rows is None or self.gcm.groups is None else self.gcm.groups[self.rows]

    @property
    def ridge(self) -> Ridge:
        """The regression on splines of the given columns."""
        if self._ridge is None:
            self._ridge = Ridge.of(design([self.gcm.terms[held] for held in self.given], self.rows, self.count))
        return self._ridge

    def compare(self, i: int, j: int) -> GcmResult:
        """The test of columns i and j."""
        if self.count < _FEWEST_ROWS:
            return GcmResult(0.0, 1.0, self.count)
        a, b = self.score(i), self.score(j)
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
            self._scores[column] = scores_of(self.gcm.terms[column], self.rows, self.ridge)
        return self._scores[column]


__all__ = ["Ends", "Gcm", "GcmResult", "Query"]
