"""Rows drawn from structural equations whose truth is known."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import pandas as pd

from crda_spec.data.raw import RawTable, canonical_bytes, sha256_of


class Drawable(Protocol):
    """A world, or declared equations: something that draws columns of equal length."""

    @property
    def name(self) -> str:
        """What messages and records call it."""
        ...

    def draw_columns(self, rows: int, *, seed: int) -> dict[str, npt.NDArray[Any]]:
        """The visible columns: numbers, or object arrays of text for categories."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Synthetic:
    """`rows` rows of a drawable world; the same seed draws the same rows."""

    world: Drawable
    rows: int
    seed: int

    def describe(self) -> str:
        """`synthetic` and the world's name."""
        return f"synthetic {self.world.name}"

    def read(self) -> RawTable:
        """Draws the rows."""
        drawn = self.world.draw_columns(self.rows, seed=self.seed)
        columns = {
            name: pd.Series(values.astype(object) if values.dtype.kind in "OU" else np.asarray(values))
            for name, values in drawn.items()
        }
        frame = pd.DataFrame(columns)
        return RawTable(frame=frame, sha256=sha256_of(canonical_bytes(frame)), description=self.describe())
