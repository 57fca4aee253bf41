"""What a partitioner is: from training rows and their residuals to a certificate."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from crda_spec.records import Array, Certificate, FeatureVerdict, Table


class Partitioner(Protocol):
    """Says for each feature whether it moves."""

    def partition(self, train: Table, residuals: Array, *, seed: int, index: tuple[int, ...]) -> Certificate:
        """The certificate; an empty X_P is an answer, not an error.

        residuals: (n,) what is screened, which need not be the noise that rows carry.  index: names the set of rows,
        (0,) for all training rows and (k,) for those of gate fold k, so that its random streams are its own.
        """
        ...

    def foreseen(self, features: Sequence[str]) -> tuple[FeatureVerdict, ...]:
        """What is known of each feature before anything is fitted; empty when only residuals can tell."""
        ...
