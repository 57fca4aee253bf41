"""The mean of the nearest rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from sklearn.neighbors import KNeighborsRegressor

from crda_spec.regressors._protocol import Design


@dataclass(frozen=True, slots=True, kw_only=True)
class Knn:
    """Nearest neighbours in standardised features. Takes no row weights (see `crda_spec.spaces.TAKES_NO_WEIGHTS`)."""

    kind: ClassVar[str] = "knn"
    stopping: ClassVar[None] = None

    n_neighbors: int = 5
    weights: Literal["uniform", "distance"] = "distance"

    def train(self, design: Design, *, seed: int) -> KNeighborsRegressor:
        """Stores the rows; with fewer rows than neighbours, all of them are neighbours."""
        del seed
        neighbours = min(self.n_neighbors, len(design.y))
        return KNeighborsRegressor(n_neighbors=neighbours, weights=self.weights).fit(design.x, design.y)
