"""What the screen sees of each feature: its tie to the residual, and to the target for the ranking."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from crda_spec.independence import Adjustment, Screen, adjust, grouped
from crda_spec.records import Array, IntArray, Residuals, Table
from crda_spec.seeds import stream

_BY_CONSTRUCTION = 1e-9  # correlations below this are rounding, not evidence


@dataclass(frozen=True, slots=True, kw_only=True)
class Screening:
    """When a screen's evidence keeps a feature fixed: a statistic this large, or a p-value this small."""

    screen: Screen
    threshold: float | None
    alpha: float
    adjustment: Adjustment = "none"
    residuals: Residuals = "in_sample"  # whose residuals it is handed; for the record only

    @property
    def words(self) -> str:
        """The screen and its settings: `a screen by correlation (alpha 0.05, size below 0.1)`."""
        below = "" if self.threshold is None else f", size below {self.threshold:g}"
        adjusted = "" if self.adjustment == "none" else f", adjusted: {self.adjustment}"
        return f"a screen by {tie_name(self)} (alpha {self.alpha:g}{below}{adjusted})"

    @property
    def whose(self) -> str:
        """The residuals that it looks at, in words."""
        unseen = self.residuals == "out_of_fold"
        return "residuals of rows that the model had not seen" if unseen else "the model's own training residuals"


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """What the screen saw of one feature."""

    screen: str
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
        name, sign = _STATISTICS[self.screen]
        return f"{name} = {self.statistic:{sign}.2f}, p = {self.adjusted:.2g}"


# By screen: what its statistic is called, and whether its sign means something.
_STATISTICS = {
    "pearson": ("r", "+"),
    "spearman": ("rank r", "+"),
    "distance": ("distance correlation", ""),
    "hsic": ("HSIC", ""),
    "mutual_information": ("mutual information", ""),
}
_TIES = {
    "pearson": "correlation",
    "spearman": "rank correlation",
    "distance": "distance correlation",
    "hsic": "kernel dependence",
    "mutual_information": "mutual information",
}


def tie_name(screening: Screening) -> str:
    """What the screen measures, in words."""
    return _TIES[screening.screen.name]


def screened(
    train: Table, residuals: Array, screening: Screening, *, seed: int, index: tuple[int, ...]
) -> list[Evidence]:
    """One line of evidence a feature; a category counts by its strongest label, corrected for their number."""
    columns, owner = numbers(train)
    count, screen = len(train.features), screening.screen
    residual = grouped(screen(columns, residuals, rng=stream(seed, "screen-residual", *index)), owner, count)
    target = grouped(screen(columns, train.y, rng=stream(seed, "screen-target", *index)), owner, count)
    adjusted = adjust(residual.p_value, screening.adjustment)
    return [
        Evidence(
            screen=screen.name,
            statistic=float(residual.statistic[at]),
            p_value=float(residual.p_value[at]),
            adjusted=float(adjusted[at]),
            rows=int(residual.rows[at]),
            rank=abs(float(target.statistic[at])) - abs(float(residual.statistic[at])),
            failure=_failure(float(residual.statistic[at]), float(adjusted[at]), screening),
        )
        for at in range(count)
    ]


def _failure(statistic: float, p_value: float, screening: Screening) -> str:
    if p_value <= screening.alpha:
        return "significant"
    large = screening.threshold is not None and abs(statistic) >= screening.threshold
    return f"at least {screening.threshold:g}" if large else ""


def blind(evidence: Sequence[Evidence]) -> str:
    """Why the residual's correlations say nothing, if they do not.

    Least squares leaves in-sample residuals without any correlation with any feature, whatever the truth. A screen that
    must pass has not screened.
    """
    if all(found.screen == "pearson" and abs(found.statistic) < _BY_CONSTRUCTION for found in evidence):
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


def numbers(train: Table) -> tuple[Array, IntArray]:
    """Columns that correlations make sense for, and the feature each belongs to: a category gives one a label."""
    parts, owner = [], []
    for position, column in enumerate(train.features):
        values = train.x[:, position]
        codes = np.unique(values[~np.isnan(values)]) if column.type == "category" else np.empty(0)
        if len(codes) > 2:
            known = np.where(np.isnan(values)[:, None], np.nan, values[:, None] == codes)
            parts.append(known.astype(np.float64))
        elif len(codes):  # of two labels one tells the other; as a column of codes it would depend on unused labels
            parts.append(np.where(np.isnan(values), np.nan, values == codes[-1])[:, None])
        else:
            parts.append(values[:, None])
        owner += [position] * parts[-1].shape[1]
    return np.concatenate(parts, axis=1), np.array(owner, dtype=np.int64)
