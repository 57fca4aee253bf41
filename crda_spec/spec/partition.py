"""`partition`: which of the features that may be perturbed are perturbed."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from crda_spec.spec.base import ColumnName, Fraction, Strict


class PearsonScreen(Strict):
    """The paper's screen: linear correlation with the residual."""

    kind: Literal["pearson"] = Field(description="Linear correlation of each feature with the residual.")
    threshold: float = Field(0.1, gt=0, le=1, description="A correlation at least this large keeps the feature fixed.")
    alpha: Fraction = Field(0.05, description="A p-value at most this small keeps the feature fixed.")


class Partition(Strict):
    """How X_P is chosen among the features that the graph, or the search, allows."""

    screen: PearsonScreen = Field(
        PearsonScreen(kind="pearson"),
        description="The empirical check on the residual. It decides when no graph is declared, else it only warns.",
    )
    max_features: int | None = Field(
        None,
        ge=1,
        description="At most this many features move: those most tied to the target and least to the residual.",
    )
    perturb: tuple[ColumnName, ...] | None = Field(
        None, min_length=1, description="Only these features may move; each must be allowed by the graph."
    )
    keep: tuple[ColumnName, ...] = Field((), description="These features never move.")
