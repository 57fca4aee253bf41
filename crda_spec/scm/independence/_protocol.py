"""What a screen is: one question, asked of each feature by itself. Does it depend on the residual?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from crda_spec.records import Array, read_only


@dataclass(frozen=True, slots=True, eq=False)
class ScreenResult:
    """The evidence for each feature, in the order of x's columns. Never NaN."""

    statistic: Array  # (d,) its size says how strong the dependence is; 0 means none was seen
    p_value: Array  # (d,) under independence; 1 where nothing could be tested

    def __post_init__(self) -> None:
        read_only(self.statistic)
        read_only(self.p_value)


class Screen(Protocol):
    """A marginal test of independence. Pure: reads x and z, keeps nothing."""

    @property
    def name(self) -> str:
        """The screen's `kind` in a spec."""
        ...

    def __call__(self, x: Array, z: Array) -> ScreenResult:
        """x: (n, d) features.  z: (n,) residuals.  Returns d statistics and d p-values."""
        ...
