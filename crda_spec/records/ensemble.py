"""Several models instead of one, compared as many against as many."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Arm = Literal["plain", "augmented"]


@dataclass(frozen=True, slots=True, kw_only=True)
class EnsembleScore:
    """So many models of one arm, scored on the test rows by the mean of their predictions."""

    arm: Arm
    models: int
    loss: float
    singles: tuple[float, ...]  # the loss of each of the models alone
    change_percent: float | None  # against one plain model; null for that model itself
    interval_percent: tuple[float, float] | None  # of that change; null when there are too few test rows
    augmentation_percent: float | None  # against as many plain models; null for plain models
    augmentation_interval: tuple[float, float] | None  # of that change; null when there are too few test rows


@dataclass(frozen=True, slots=True, kw_only=True)
class Ensemble:
    """What several models give instead of one, and what the augmentation gives beside that, on the same test rows."""

    models: int
    arm: Arm  # whose models are handed over: augmented if the gate accepted, else plain
    fits: int  # beside those of one model
    metric: str
    rows: int
    level: float
    resamples: int
    scores: tuple[EnsembleScore, ...]  # one model of each arm, then as many as asked for; a refused arm is left out

    def score(self, arm: Arm, models: int) -> EnsembleScore | None:
        """So many models of this arm; None when they were not fitted."""
        return next((one for one in self.scores if (one.arm, one.models) == (arm, models)), None)
