"""What a screen is: one question, asked of each feature by itself. Does it depend on the residual?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from crda_spec.records import Array, IntArray, read_only

if TYPE_CHECKING:
    import numpy as np


@dataclass(frozen=True, slots=True, eq=False)
class ScreenResult:
    """The evidence for each feature, in the order of x's columns. Never NaN.

    What a screen cost is told by `rows` and `permutations`, which repeat from run to run; seconds do not, and stand
    in the benchmark (`benchmarks/screens.py`).
    """

    statistic: Array  # (d,) its size says how strong the dependence is; 0 means none was seen
    p_value: Array  # (d,) under independence; 1 where nothing could be tested
    rows: IntArray  # (d,) rows in which neither the feature nor the residual was missing
    permutations: IntArray  # (d,) shuffles of the residual that the p-value rests on; 0 where a formula gave it

    def __post_init__(self) -> None:
        for array in (self.statistic, self.p_value, self.rows, self.permutations):
            read_only(array)


class Screen(Protocol):
    """A marginal test of independence. Pure: reads x, z and rng, keeps nothing.

    A screen that shuffles draws one seed from `rng` for the whole table, and shuffles every feature alike. So neither
    the order of the features nor the presence of another one changes what is said of a feature.
    """

    @property
    def name(self) -> str:
        """The screen's `kind` in a spec."""
        ...

    def __call__(self, x: Array, z: Array, *, rng: np.random.Generator) -> ScreenResult:
        """x: (n, d) features.  z: (n,) residuals.  rng: for the screens that shuffle.  Returns d lines of evidence."""
        ...
