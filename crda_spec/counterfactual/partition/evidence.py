"""What the screen sees of each feature: its tie to the residual, and to the target for the ranking."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from crda_spec.independence import Screen, adjust, grouped, numbers
from crda_spec.records import Array, Table
from crda_spec.seeds import stream

_BY_CONSTRUCTION = 1e-9  # correlations below this are rounding, not evidence


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """What the screen saw of one feature."""

    screen: Screen
    statistic: float
    p_value: float
    adjusted: float
    rows: int
    rank: float  # tie to the target minus tie to the residual: the paper's ranking
    failure: str  # why the screen keeps the feature fixed, in words; empty when it does not

    @property
    def fails(self) -> bool:
        """Whether the screen keeps the feature fixed."""
        return bool(self.failure)

    @property
    def numbers(self) -> dict[str, float]:
        """For the record."""
        found = {"residual_statistic": self.statistic, "residual_p_value": self.p_value, "rank_score": self.rank}
        return found if self.adjusted == self.p_value else found | {"residual_p_value_adjusted": self.adjusted}

    @property
    def words(self) -> str:
        """The numbers as they are read."""
        sign = "+" if self.screen.signed else ""
        return f"{self.screen.symbol} = {self.statistic:{sign}.2f}, p = {self.adjusted:.2g}"


def screened(train: Table, residuals: Array, screen: Screen, *, seed: int, index: tuple[int, ...]) -> list[Evidence]:
    """One line of evidence a feature; a category counts by its strongest label, corrected for their number."""
    columns, owner = numbers(train)
    count = len(train.features)
    residual = grouped(screen(columns, residuals, rng=stream(seed, "screen-residual", *index)), owner, count)
    target = grouped(screen(columns, train.y, rng=stream(seed, "screen-target", *index)), owner, count)
    adjusted = adjust(residual.p_value, screen.adjust)
    return [
        Evidence(
            screen=screen,
            statistic=float(residual.statistic[at]),
            p_value=float(residual.p_value[at]),
            adjusted=float(adjusted[at]),
            rows=int(residual.rows[at]),
            rank=abs(float(target.statistic[at])) - abs(float(residual.statistic[at])),
            failure=screen.failure(float(residual.statistic[at]), float(adjusted[at])),
        )
        for at in range(count)
    ]


def blind(evidence: Sequence[Evidence]) -> str:
    """Why the residual's correlations say nothing, if they do not.

    Least squares leaves in-sample residuals without any correlation with any feature, whatever the truth. A screen that
    must pass has not screened.
    """
    if all(found.screen.kind == "pearson" and abs(found.statistic) < _BY_CONSTRUCTION for found in evidence):
        return (
            "a linear fit leaves residuals uncorrelated with every feature by construction: there is nothing to screen"
        )
    return ""


def disagreement(found: Evidence) -> str:
    """Where the graph lets a feature move and the residual is tied to it all the same."""
    if not found.fails:
        return ""
    return (
        f"graph and data disagree ({found.words}): the paper's misspecified regime, in which the regressor has not "
        "caught all of this feature's effect and its error would travel with the noise"
    )
