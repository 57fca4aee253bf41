"""The controls: no rows, copies, and copies with noise in their numbers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Literal

import numpy as np
from pydantic import Field

from crda_spec.counterfactual.augmenters._protocol import BaseAugmenter, Given, NewRows, sources_of
from crda_spec.strict import NonNegative, Positive


class NoAugmenter(BaseAugmenter):
    """No new rows: the run compares nothing and hands over the plain model."""

    kind: Literal["none"] = Field("none", description="No new rows.")

    def describe(self) -> str:
        """See `BaseAugmenter.describe`."""
        return "nothing"

    def make(self, given: Given, count: int, *, rng: np.random.Generator) -> NewRows:
        """See `BaseAugmenter.make`."""
        nobody = np.empty(0, dtype=np.int64)
        return NewRows(x=given.train.x[nobody], label=np.empty(0), source=nobody)


class Duplicate(BaseAugmenter):
    """Copies of the training rows: what more steps of training alone are worth."""

    kind: Literal["duplicate"] = Field("duplicate", description="Copies of the training rows.")

    def describe(self) -> str:
        """See `BaseAugmenter.describe`."""
        return "copied"

    def make(self, given: Given, count: int, *, rng: np.random.Generator) -> NewRows:
        """See `BaseAugmenter.make`."""
        source = sources_of(len(given.train), count, rng=rng)
        return NewRows(x=given.train.x[source], label=given.train.y[source], source=source)


class GaussianNoise(BaseAugmenter):
    """Copies with noise added to their numbers, and to the target if asked (Bishop 1995, "Training with noise").

    Labels stay: noise on a code means nothing.
    """

    kind: Literal["gaussian_noise"] = Field("gaussian_noise", description="Copies with noise in their numbers.")
    sd: Positive = Field(0.1, le=100, description="The noise's size, in standard deviations of each feature.")
    target_sd: NonNegative = Field(0.0, le=100, description="The same for the target.")

    search: ClassVar[Mapping[str, tuple[object, ...]]] = {"sd": (0.01, 0.05, 0.1, 0.3)}

    def describe(self) -> str:
        """See `BaseAugmenter.describe`."""
        return f"Gaussian noise of {self.sd:g} standard deviations added"

    def make(self, given: Given, count: int, *, rng: np.random.Generator) -> NewRows:
        """See `BaseAugmenter.make`."""
        train = given.train
        source = sources_of(len(train), count, rng=rng)
        x, numbers = train.x[source], list(given.numbers)
        x[:, numbers] += self.sd * given.spreads() * rng.standard_normal((count, len(numbers)))
        y = train.y[source] + self.target_sd * float(given.reference.y.std()) * rng.standard_normal(count)
        return NewRows(x=x, label=y, source=source)
