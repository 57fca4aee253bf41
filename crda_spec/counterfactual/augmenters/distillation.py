"""Augmented distillation: a strong teacher labels rows that never occurred, and one student learns them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Literal

import numpy as np
from pydantic import Field

from crda_spec.counterfactual.augmenters._protocol import BaseAugmenter, Given, NewRows, sources_of
from crda_spec.counterfactual.augmenters.mixing import nearest_others
from crda_spec.strict import Positive


class AugmentedDistillation(BaseAugmenter):
    """MUNGE rows whose outcome is what the teacher predicts: y' = teacher(x').

    Bucila, Caruana and Niculescu-Mizil 2006, "Model compression" (MUNGE: with a probability a number comes from a
    normal around the nearest row's, as wide as the two differ, and a label is the nearest row's); Fakoor et al. 2020,
    "Fast, accurate, and simple models for tabular data via augmented distillation" (FAST-DAD): an ensemble teaches.
    """

    kind: Literal["augmented_distillation"] = Field(
        "augmented_distillation", description="MUNGE rows labelled by the teacher alone, as FAST-DAD does."
    )
    probability: float = Field(0.5, gt=0, le=1, description="How likely a cell changes.")
    narrowing: Positive = Field(1.0, le=1000, description="What divides the normal's standard deviation (MUNGE's s).")

    preset: ClassVar[Mapping[str, object]] = {
        "factor": 10.0,
        "max_rows": 8000,  # as many as our own students get
        "teacher": {"kind": "committee", "folds": "blocks"},
        "residuals": "out_of_fold",
    }
    search: ClassVar[Mapping[str, tuple[object, ...]]] = {"probability": (0.25, 0.5, 0.75), "narrowing": (1.0, 5.0)}
    asks_teacher: ClassVar[bool] = True
    streams: ClassVar[bool] = False  # it looks for each row's nearest

    def describe(self) -> str:
        """See `BaseAugmenter.describe`."""
        return f"with probability {self.probability:g} drawn around the nearest row's value (MUNGE)"

    def make(self, given: Given, count: int, *, rng: np.random.Generator) -> NewRows:
        """See `BaseAugmenter.make`."""
        train = given.train
        source = sources_of(len(train), count, rng=rng)
        partner = source if len(train) < 2 else nearest_others(given.points(), 1)[source, 0]
        own, near = train.x[source], train.x[partner]
        gap = np.where(np.isnan(own), 0.0, np.abs(own - near))
        numeric = np.isin(np.arange(own.shape[1]), given.numbers)
        drawn = near + np.where(numeric, gap / self.narrowing * rng.standard_normal(own.shape), 0.0)
        x = np.where(rng.random(own.shape) < self.probability, drawn, own)
        return NewRows(x=x, label=None, source=source, partner=partner)
