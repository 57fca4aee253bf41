"""Convex combinations of two rows, labels included: mixup and those who choose the partner with more care."""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np
from pydantic import Field

from crda_spec.counterfactual.augmenters._protocol import (
    BaseAugmenter,
    Given,
    NewRows,
    mixed,
    others_than,
    sources_of,
)
from crda_spec.records import IntArray
from crda_spec.strict import Positive


class Mixup(BaseAugmenter):
    """x' = s x + (1 - s) x_j, y' = s y + (1 - s) y_j, s ~ Beta(alpha, alpha), j any other row (Zhang et al. 2018).

    Drawn once, before training, not anew in every batch. A category is one of the two rows', with probability s.
    """

    kind: Literal["mixup"] = Field("mixup", description="Convex combinations of two random rows and their outcomes.")
    alpha: Positive = Field(1.0, le=100, description="Of the Beta distribution of the mixing share.")

    search: ClassVar[dict[str, tuple[float, ...]]] = {"alpha": (0.2, 0.5, 1.0, 2.0)}

    def describe(self) -> str:
        """See `BaseAugmenter.describe`."""
        return f"mixed with its partner row, share from Beta({self.alpha:g}, {self.alpha:g})"

    def partners(self, given: Given, source: IntArray, *, rng: np.random.Generator) -> IntArray:
        """(m,) whom each source row is mixed with."""
        return others_than(source, len(given.train), rng=rng)

    def make(self, given: Given, count: int, *, rng: np.random.Generator) -> NewRows:
        """See `BaseAugmenter.make`."""
        y, source = given.train.y, sources_of(len(given.train), count, rng=rng)
        partner = self.partners(given, source, rng=rng)
        share = rng.beta(self.alpha, self.alpha, size=count)
        x = mixed(given, source, partner, share, rng=rng)
        return NewRows(x=x, label=share * y[source] + (1.0 - share) * y[partner], source=source, partner=partner)
