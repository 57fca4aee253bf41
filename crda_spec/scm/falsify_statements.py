"""The statements of a graph against the rows: one test for each, and a second opinion before one counts as violated."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from crda_spec.records import TestedStatement
from crda_spec.scm.implied import Statement
from crda_spec.scm.independence.gcm import Gcm, GcmResult, Query
from crda_spec.scm.independence.multiplicity import adjust
from crda_spec.scm.independence.second_opinion import second_opinion

TEST = (
    "generalised covariance measure on spline ridge residuals (normal scores and their sizes, one column a label), "
    "Bonferroni within a statement, Holm over statements; what it calls violated is confirmed by pairs of rows that "
    "are alike in the given columns, on spline and kernel residuals, Holm over the statements asked"
)

_MOST_BATCHES = 4  # of second opinions, when all before were in the statements' favour


@dataclass(slots=True)
class Answers:
    """The tests' answers, each asked for once: permuted and corrected graphs often repeat a statement."""

    gcm: Gcm
    _known: dict[Statement, GcmResult] = field(default_factory=dict)
    _second: dict[Statement, float] = field(default_factory=dict)
    _index: dict[str, int] = field(init=False)

    def __post_init__(self) -> None:
        self._index = {name: position for position, name in enumerate(self.gcm.names)}

    def __len__(self) -> int:
        """How many statements have been tested."""
        return len(self._known)

    @property
    def second_opinions(self) -> int:
        """For how many of them a second opinion was asked."""
        return len(self._second)

    def to(self, statements: Sequence[Statement]) -> list[GcmResult]:
        """The answers, in the order of the statements."""
        new = list(dict.fromkeys(each for each in statements if each not in self._known))
        self._known.update(zip(new, self.gcm.tests([self._query(each) for each in new]), strict=True))
        return [self._known[each] for each in statements]

    def p_values(self, statements: Sequence[Statement]) -> list[float]:
        """Only the p-values."""
        return [result.p_value for result in self.to(statements)]

    def second(self, statement: Statement) -> float:
        """The p-value of the second opinion."""
        if statement not in self._second:
            self._second[statement] = second_opinion(self.gcm, self._query(statement))
        return self._second[statement]

    def _query(self, statement: Statement) -> Query:
        given = tuple(self._index[name] for name in statement.given)
        return self._index[statement.first], self._index[statement.second], given


@dataclass(frozen=True, slots=True)
class Judgement:
    """What the rows say of each statement."""

    tested: tuple[TestedStatement, ...]  # the violated first, the worst of them first
    suspects: int  # statements that the first test calls violated
    asked: int  # those of them for which a second opinion was asked, the worst

    @property
    def violated(self) -> list[Statement]:
        """The worst first."""
        return [Statement(each.first, each.second, each.given) for each in self.tested if each.violated]

    @property
    def overruled(self) -> bool:
        """Whether the second opinion has freed a statement."""
        return self.asked > len(self.violated)

    @property
    def unasked(self) -> int:
        """Suspects that were left out, since enough others had been asked."""
        return self.suspects - self.asked


def judged(statements: Sequence[Statement], answers: Answers, *, alpha: float, most_asked: int) -> Judgement:
    """Each statement with its evidence.

    A statement is violated when the first test says so after Holm's correction over all statements, and the second
    opinion after Holm's over those for which it was asked. Whichever of the two is to be trusted keeps the chance of
    a false alarm at alpha, so no correction for all statements is needed twice. The larger p-values are reported. The
    `most_asked` worst are asked about, and more only while none of them is confirmed; the others are not called
    violated.
    """
    results = answers.to(statements)
    p = np.array([result.p_value for result in results], dtype=np.float64)
    adjusted = adjust(p, "holm")
    suspects = sorted(
        np.flatnonzero(adjusted <= alpha).tolist(), key=lambda k: (p[k], -results[k].statistic, statements[k])
    )
    second = _second_opinions([statements[k] for k in suspects], answers, alpha, most_asked)
    asked = suspects[: len(second)]
    p[asked] = np.maximum(p[asked], [each.p_value for each in second])
    adjusted[asked] = np.maximum(adjusted[asked], [each.adjusted for each in second])
    confirmed = {k for k in asked if adjusted[k] <= alpha}
    tested = [
        TestedStatement(
            first=statement.first,
            second=statement.second,
            given=statement.given,
            statistic=result.statistic,
            p_value=float(p[k]),
            adjusted=float(adjusted[k]),
            violated=k in confirmed,
        )
        for k, (statement, result) in enumerate(zip(statements, results, strict=True))
    ]
    tested.sort(key=lambda each: (not each.violated, each.p_value, -each.statistic, each.first, each.second))
    return Judgement(tuple(tested), len(suspects), len(asked))


@dataclass(frozen=True, slots=True)
class _Opinion:
    p_value: float
    adjusted: float


def _second_opinions(suspects: Sequence[Statement], answers: Answers, alpha: float, batch: int) -> list[_Opinion]:
    """The opinions on the worst suspects: a batch of them, and further ones as long as none is confirmed.

    Holm's correction is for all that might have been asked, so that stopping early costs nothing of its promise.
    """
    p = np.ones(min(len(suspects), _MOST_BATCHES * batch))
    done = 0
    while done < len(p):
        for k in range(done, min(done + batch, len(p))):
            p[k] = answers.second(suspects[k])
            done = k + 1
        if (adjust(p, "holm") <= alpha).any():
            break
    adjusted = adjust(p, "holm")
    return [_Opinion(float(p[k]), float(adjusted[k])) for k in range(done)]


__all__ = ["TEST", "Answers", "Judgement", "judged"]
