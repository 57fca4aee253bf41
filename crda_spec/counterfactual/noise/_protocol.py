"""The family's contract: a noise model says how large the noise is at each x."""

from __future__ import annotations

from typing import ClassVar, Protocol

from crda_spec.records import Array, NoiseKind, NoiseScale, Table


class NoiseModel(Protocol):
    """y = g(x) + s(x) * noise; members differ in what they let s be."""

    kind: ClassVar[NoiseKind]
    needs_unseen: ClassVar[bool]  # whether `fit` must be given residuals of rows that the model has not seen

    def fit(self, train: Table, residual: Array) -> NoiseScale | None:
        """The size of the noise at any x, or None where it is 1 everywhere.

        residual: (n,) y - g(x) of each training row; NaN where it is not known.
        """
        ...
