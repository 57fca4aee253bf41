"""`gate`: the test that an augmentation has to pass."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from crda_spec.spec.base import Fraction, Strict


class WilcoxonGate(Strict):
    """The paper's gate, without its leaks: Wilcoxon's signed-rank test on paired fold losses."""

    kind: Literal["wilcoxon"] = Field(description="Wilcoxon's signed-rank test on the paired losses of the folds.")
    folds: int = Field(10, ge=2, le=100, description="How many folds; the whole procedure is refitted in each.")
    alpha: Fraction = Field(0.05, description="Accept only when the p-value is below this.")
    alternative: Literal["less", "two-sided"] = Field(
        "less",
        description="less: is the augmented loss smaller? two-sided: do they differ (and only better is accepted)?",
    )
    metric: Literal["mse", "mae"] = Field("mse", description="The loss of a fold.")


Gate = WilcoxonGate


def smallest_p_value(folds: int, alternative: str) -> float:
    """The p-value when augmentation wins every fold: one sign pattern of 2^folds, two of them when two-sided."""
    return (2.0 if alternative == "two-sided" else 1.0) / 2.0**folds


def folds_needed(alpha: float, alternative: str) -> int:
    """The fewest folds with which the gate can accept at all."""
    folds = 2
    while smallest_p_value(folds, alternative) >= alpha:
        folds += 1
    return folds
