"""The family's contract.

A member only knows numbers: features encoded and standardised, target standardised. What surrounds it (encoding,
imputation, scaling, early-stopping rows, threads, timing) is the same for all and lives in `fit.py`.

A member that takes no weights is listed in `crda_spec.spaces.TAKES_NO_WEIGHTS`: a spec with weights is then refused.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Protocol

from crda_spec.records import Array


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Design:
    """What a member trains on, encoded and scaled."""

    x: Array  # (n, p)
    y: Array  # (n,) mean 0, standard deviation 1 on the real training rows
    weight: Array | None  # (n,) mean 1 over the real training rows, or None when all rows weigh 1
    validation_x: Array | None  # real rows set aside for early stopping; None when it is not used
    validation_y: Array | None
    validation_weight: Array | None = None  # of the rows set aside, or None when they all weigh the same
    looks: int = 1  # how often in one pass over the rows a model that learns in passes looks at those set aside


@dataclass(frozen=True, slots=True)
class Stopping:
    """Early stopping: after how many rounds without improvement, on which part of the real rows."""

    rounds: int = 20
    validation: float = 0.1


class Estimator(Protocol):
    """A trained member: encoded rows in, standardised predictions out."""

    def predict(self, x: Array) -> Array:
        """x: (m, p). Returns (m,)."""
        ...


class Regressor(Protocol):
    """A kind of model with its settings: a frozen dataclass whose fields are the settings."""

    kind: ClassVar[str]

    @property
    def stopping(self) -> Stopping | None:
        """The early-stopping rule, or None."""
        ...

    def train(self, design: Design, *, seed: int) -> Estimator:
        """Trains on the design. The same design and seed give the same model, bit for bit, on one thread."""
        ...
