"""`partition`: which of the features that may be perturbed are perturbed."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from crda_spec.strict import ColumnName, Fraction, Strict


class _AnyScreen(Strict):
    """What every screen shares."""

    alpha: Fraction = Field(0.05, description="A p-value at most this small keeps the feature fixed.")
    adjust: Literal["none", "bonferroni", "holm", "fdr_bh"] = Field(
        "none",
        description=(
            "Correction of the p-values for the number of features. none is the strictest screen: more features "
            "stay fixed."
        ),
    )


class PearsonScreen(_AnyScreen):
    """The paper's screen: linear correlation with the residual."""

    kind: Literal["pearson"] = Field(description="Linear correlation of each feature with the residual.")
    threshold: float | None = Field(
        0.1, gt=0, le=1, description="A correlation at least this large keeps the feature fixed; null: p-values only."
    )


class SpearmanScreen(_AnyScreen):
    """Rank correlation."""

    kind: Literal["spearman"] = Field(
        description="Rank correlation of each feature with the residual: any monotone tie."
    )
    threshold: float | None = Field(
        0.1, gt=0, le=1, description="A correlation at least this large keeps the feature fixed; null: p-values only."
    )


class DistanceScreen(_AnyScreen):
    """Distance correlation."""

    kind: Literal["distance"] = Field(
        description="Distance correlation of each feature with the residual: any dependence, its spread included."
    )
    threshold: float | None = Field(
        None, gt=0, le=1, description="A distance correlation this large keeps the feature fixed; null: p-values only."
    )
    permutations: int = Field(199, ge=0, le=100_000, description="Shuffles where the fast p-value is near alpha.")


class HsicScreen(_AnyScreen):
    """The Hilbert-Schmidt independence criterion."""

    kind: Literal["hsic"] = Field(description="Kernel dependence (HSIC) of each feature with the residual.")
    permutations: int = Field(499, ge=0, le=100_000, description="Shuffles where the fast p-value is near alpha.")


class MutualInformationScreen(_AnyScreen):
    """Mutual information by nearest neighbours."""

    kind: Literal["mutual_information"] = Field(
        description="Mutual information of each feature with the residual (nearest neighbours, shuffled null); slow."
    )
    neighbours: int = Field(10, ge=1, le=100, description="Neighbours of the estimate.")
    permutations: int = Field(199, ge=19, le=100_000, description="Shuffles for the p-value.")


Screen = Annotated[
    PearsonScreen | SpearmanScreen | DistanceScreen | HsicScreen | MutualInformationScreen,
    Field(discriminator="kind"),
]


class JointCheck(Strict):
    """Can the features that would move, together, predict the residual of rows that were not fitted?"""

    alpha: Fraction = Field(0.05, description="A p-value at most this small means that they can.")
    folds: int = Field(5, ge=2, le=50, description="Folds of its own cross-fitting.")
    on_failure: Literal["prune", "warn"] = Field(
        "prune",
        description=(
            "prune: the feature most tied to the residual is held fixed, until the rest passes. warn: only say so. "
            "With a declared graph it always only warns."
        ),
    )


class Partition(Strict):
    """How X_P is chosen among the features that the graph, or the search, allows."""

    screen: Screen = Field(
        PearsonScreen(kind="pearson"),
        description="The empirical check on the residual. It decides when no graph is declared, else it only warns.",
    )
    joint: JointCheck | None = Field(
        JointCheck(), description="The check of all features that would move, together; null: none."
    )
    residuals: Literal["in_sample", "out_of_fold"] = Field(
        "out_of_fold",
        description=(
            "Which residual is screened: of rows that the model has not seen, or of its own training rows, where a "
            "flexible model hides dependence (the paper)."
        ),
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
