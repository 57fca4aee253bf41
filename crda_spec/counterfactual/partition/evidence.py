"""What the screen sees of each feature: its tie to the residual, and to the target for the ranking."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from crda_spec.independence import Screen, adjust, grouped, numbers
from crda_spec.records import Array, Screened, Table
from crda_spec.seeds import stream

_BY_CONSTRUCTION = 1e-9  # correlations below this are rounding, not evidence


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """What the screen saw of one feature."""

    seen: Screened
    raw: float  # the p-value before it was adjusted
    rows: int
    rank: float  # tie to the target minus tie to the residual: the paper's ranking

    @property
    def fails(self) -> bool:
        """Whether the screen keeps the feature fixed."""
        return self.seen.failure is not None

    @property
    def numbers(self) -> dict[str, float]:
        """For the record."""
        statistic, adjusted = self.seen.statistic, self.seen.p_value
        found = {"residual_statistic": statistic, "residual_p_value": self.raw, "rank_score": self.rank}
        return found if adjusted == self.raw else found | {"residual_p_value_adjusted": adjusted}


def screened(train: Table, residuals: Array, screen: Screen, *, seed: int, index: tuple[int, ...]) -> list[Evidence]:
    """One line of evidence a feature; a category counts by its strongest label, corrected for their number."""
    columns, owner = numbers(train)
    count = len(train.features)
    residual = grouped(screen(columns, residuals, rng=stream(seed, "screen-residual", *index)), owner, count)
    target = grouped(screen(columns, train.y, rng=stream(seed, "screen-target", *index)), owner, count)
    adjusted = adjust(residual.p_value, screen.adjust)
    return [
        Evidence(
            seen=_seen(screen, float(residual.statistic[at]), float(adjusted[at])),
            raw=float(residual.p_value[at]),
            rows=int(residual.rows[at]),
            rank=abs(float(target.statistic[at])) - abs(float(residual.statistic[at])),
        )
        for at in range(count)
    ]


def _seen(screen: Screen, statistic: float, p_value: float) -> Screened:
    return Screened(
        screen=screen.kind,
        statistic=statistic,
        p_value=p_value,
        failure=screen.failure(statistic, p_value),
        threshold=screen.limit,
    )


def blind(evidence: Sequence[Evidence]) -> bool:
    """Whether the residual's correlations say nothing.

    Least squares leaves in-sample residuals without any correlation with any feature, whatever the truth. A screen that
    must pass has not screened.
    """
    return all(one.seen.screen == "pearson" and abs(one.seen.statistic) < _BY_CONSTRUCTION for one in evidence)
