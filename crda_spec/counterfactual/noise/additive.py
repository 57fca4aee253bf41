"""The paper's noise: it is added, and has the same size everywhere unless X_R changes it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from crda_spec.records import Array, NoiseKind, Table


@dataclass(frozen=True, slots=True)
class Additive:
    """y = g(x) + noise."""

    kind: ClassVar[NoiseKind] = "additive"
    needs_unseen: ClassVar[bool] = False

    def fit(self, train: Table, residual: Array) -> None:
        """Nothing to fit."""
        del train, residual
