"""The mean of the nearest rows."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field

from crda_spec.regressors._protocol import BaseRegressor, Choice, Design, Estimator, Space


class Knn(BaseRegressor):
    """Nearest neighbours in standardised features; scikit-learn's take no row weights."""

    space: ClassVar[Space] = {"n_neighbors": Choice((2, 3, 5, 8, 13, 21)), "weights": Choice(("uniform", "distance"))}
    seedless: ClassVar[bool] = True
    takes_weights: ClassVar[bool] = False
    saved_types: ClassVar[tuple[str, ...]] = (
        "sklearn.neighbors._kd_tree.KDTree",
        "sklearn.neighbors._ball_tree.BallTree",
        "sklearn.metrics._dist_metrics.EuclideanDistance64",
    )

    kind: Literal["knn"] = Field("knn", description="The mean of the nearest training rows.")
    n_neighbors: int = Field(5, ge=1, description="How many neighbours.")
    weights: Literal["uniform", "distance"] = Field("distance", description="Whether nearer neighbours count more.")

    def train(self, design: Design, *, seed: int) -> Estimator:
        """Stores the rows; with fewer rows than neighbours, all of them are neighbours."""
        from sklearn.neighbors import KNeighborsRegressor

        del seed
        neighbours = min(self.n_neighbors, len(design.y))
        fitted: Estimator = KNeighborsRegressor(n_neighbors=neighbours, weights=self.weights).fit(design.x, design.y)
        return fitted
