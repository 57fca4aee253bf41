"""The ablations of the paper: Algorithm 1 without its partition, and without its labels."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Literal

import numpy as np
from pydantic import Field

from crda_spec.counterfactual.augmenters._protocol import BaseAugmenter, Given, NewRows, sources_of
from crda_spec.records import Array, IntArray


class _Perturbed(BaseAugmenter):
    """x' = mean + (x - mean) (1 + u), u uniform on [-reach, reach), one u a row: the paper's scaling.

    A category, which cannot be scaled, is resampled from its column.
    """

    reach: float = Field(0.7, gt=0, le=1, description="How far a value moves, as a share of its distance to the mean.")

    preset: ClassVar[Mapping[str, object]] = {"factor": 1.25}
    search: ClassVar[Mapping[str, tuple[object, ...]]] = {"reach": (0.1, 0.3, 0.5, 0.7, 1.0)}

    def describe(self) -> str:
        """See `BaseAugmenter.describe`."""
        return f"scaled around its mean by up to {self.reach:g}; a label is resampled"

    def moved(self, given: Given, count: int, *, rng: np.random.Generator) -> tuple[Array, IntArray]:
        """(m, d) training rows with every feature that may move moved, and (m,) which rows they were."""
        source = sources_of(len(given.train), count, rng=rng)
        x, train = given.train.x[source], given.reference
        stretch = 1.0 + rng.uniform(-self.reach, self.reach, size=len(x))
        for at in given.movable:
            known = train.x[~np.isnan(train.x[:, at]), at]
            if not len(known):
                continue
            if train.features[at].is_numeric:
                x[:, at] = known.mean() + (x[:, at] - known.mean()) * stretch
            else:
                x[:, at] = np.where(np.isnan(x[:, at]), np.nan, rng.choice(known, size=len(x)))
        return x, source


class GlobalPerturbation(_Perturbed):
    """Algorithm 1 with every feature in X_P: all move, y' = g(x') + z. No graph, no search, no screen is asked."""

    kind: Literal["global_perturbation"] = Field(
        "global_perturbation", description="All features scaled, y' = g(x') + z: the paper's ablation of its partition."
    )

    asks_teacher: ClassVar[bool] = True

    def make(self, given: Given, count: int, *, rng: np.random.Generator) -> NewRows:
        """See `BaseAugmenter.make`."""
        x, source = self.moved(given, count, rng=rng)
        return NewRows(x=x, label=None, source=source, noise_source=source)


class LabelInvariance(_Perturbed):
    """Algorithm 1 with its source's outcome on every new row: the features that the partition frees move, y' = y."""

    kind: Literal["label_invariance"] = Field(
        "label_invariance", description="X_P scaled, y' = y: the paper's ablation of its labels."
    )

    asks_partition: ClassVar[bool] = True

    def make(self, given: Given, count: int, *, rng: np.random.Generator) -> NewRows:
        """See `BaseAugmenter.make`."""
        x, source = self.moved(given, count, rng=rng)
        return NewRows(x=x, label=given.train.y[source], source=source)
