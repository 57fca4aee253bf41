"""The family's contract: a policy proposes new values for one feature."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Protocol

import numpy as np

from crda_spec.records import Array, ColumnType


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Feature:
    """What a policy may know of the feature it moves, learnt from training rows only; missing cells left out."""

    values: Array  # (n,) the known values among the training rows
    mean: float
    sd: float


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RowDraws:
    """What the moved features of one row may share."""

    scale: Array  # (m,) uniform on [-1, 1): the paper's one delta for all features of a row


class Policy(Protocol):
    """Pure: draws only from `rng`, never writes to `x`."""

    kind: ClassVar[str]
    moves: ClassVar[frozenset[ColumnType]]  # the column types it makes sense for

    def describe(self) -> str:
        """What it does, in words for the report."""
        ...

    def propose(self, x: Array, feature: Feature, shared: RowDraws, *, rng: np.random.Generator) -> Array:
        """x: (m,) values of the source rows. Returns (m,) proposals, before the column's contract is applied."""
        ...
