"""What the searches ask of a test: are columns i and j independent, given others?

Any object with `p_value` will do (a nonlinear test for a few columns, an oracle in a test). One that can also answer
many questions at once, `p_values`, is asked in batches.
"""

from __future__ import annotations

from typing import Protocol, runtime_checkable

import numpy as np

from crda_spec.records import Array, IntArray


class ConditionalTest(Protocol):
    """A test of conditional independence between columns, which it knows by their position."""

    def p_value(self, i: int, j: int, given: tuple[int, ...]) -> tuple[float, float]:
        """The statistic, 0 when no dependence was seen, and the p-value, 0 when no test was possible.

        The second rule keeps a link in place where nothing can be said about it.
        """
        ...


@runtime_checkable
class BatchedTest(Protocol):
    """A test that answers many questions of one size at once, faster than one by one."""

    def p_values(self, i: IntArray, j: IntArray, given: IntArray) -> tuple[Array, Array]:
        """i, j: (t,) columns.  given: (t, k) the columns held fixed.  Returns t statistics and t p-values."""
        ...


def ask_all(test: ConditionalTest, i: IntArray, j: IntArray, given: IntArray) -> tuple[Array, Array]:
    """The answers of any test to t questions: statistics (t,) and p-values (t,)."""
    if isinstance(test, BatchedTest):
        return test.p_values(i, j, given)
    answers = [
        test.p_value(int(a), int(b), tuple(held))
        for a, b, held in zip(i.tolist(), j.tolist(), given.tolist(), strict=True)
    ]
    found = np.array(answers, dtype=np.float64).reshape(len(answers), 2)
    return found[:, 0], found[:, 1]
