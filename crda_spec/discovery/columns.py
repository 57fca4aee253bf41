"""From rows to a search: the test that suits the columns' types, and searches that can be sent to another process."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from crda_spec.discovery._protocol import ConditionalTest
from crda_spec.discovery.fci import fci
from crda_spec.discovery.found import DiscoveredGraph
from crda_spec.discovery.ges import ges
from crda_spec.discovery.knowledge import Knowledge
from crda_spec.discovery.nonlinear import GcmTest
from crda_spec.discovery.partial import PartialCorrelation
from crda_spec.discovery.pc import DEFAULT_SETTINGS, NOTHING_KNOWN, SearchSettings, pc
from crda_spec.independence.gcm import Gcm
from crda_spec.independence.mixed import MixedTest
from crda_spec.independence.pearson import correlation_matrix
from crda_spec.records import Array, Column, ColumnType

Shape = Literal["linear", "nonlinear"]


def conditional_test(x: Array, types: Sequence[ColumnType], *, shape: Shape = "linear") -> ConditionalTest:
    """Partial correlations (Fisher's z) for numbers; of blocks of columns where there is a category or a boolean.

    x: (n, d), categories as codes. Rows with a missing value are left out.  shape: `nonlinear` takes the generalised
    covariance measure instead, whatever the types: a fraction of a millisecond a test, so for a few columns only.
    """
    if shape == "nonlinear":
        columns = [Column(name=str(place), type=kind) for place, kind in enumerate(types)]
        return GcmTest(Gcm.of(x, columns))
    if "category" in types or "boolean" in types:
        return MixedTest.of(x, types)
    return PartialCorrelation.of(*correlation_matrix(x))


@dataclass(frozen=True, slots=True, kw_only=True)
class Search:
    """One method with all its settings: rows in, graph out. The order of names is that of the columns."""

    method: Literal["pc", "fci", "ges"]
    names: tuple[str, ...]
    types: tuple[ColumnType, ...]
    shape: Shape = "linear"  # of the dependence that tests look for; GES has its own score
    settings: SearchSettings = DEFAULT_SETTINGS
    knowledge: Knowledge = NOTHING_KNOWN  # GES takes none

    def __call__(self, x: Array) -> DiscoveredGraph:
        """The graph of these rows, (n, d)."""
        if self.method == "ges":
            return ges(x, self.names, self.types)
        find = pc if self.method == "pc" else fci
        test = conditional_test(x, self.types, shape=self.shape)
        return find(test, self.names, settings=self.settings, knowledge=self.knowledge)
