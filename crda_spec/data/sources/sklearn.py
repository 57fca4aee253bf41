"""A table that comes with scikit-learn."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType
from typing import Any

import pandas as pd
from sklearn import datasets

from crda_spec.data.catalogue import SKLEARN_COLUMNS
from crda_spec.data.raw import RawTable, canonical_bytes, sha256_of

# diabetes unscaled: the columns in their own units, not standardised over rows that may be test rows.
_LOADERS: Mapping[str, Callable[..., Any]] = MappingProxyType(
    {
        "breast_cancer": datasets.load_breast_cancer,
        "diabetes": partial(datasets.load_diabetes, scaled=False),
        "iris": datasets.load_iris,
        "linnerud": datasets.load_linnerud,
        "wine": datasets.load_wine,
    }
)
_CLASSES = frozenset({"breast_cancer", "iris", "wine"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Sklearn:
    """A table bundled with scikit-learn, by name; classes appear as their names, not as numbers."""

    name: str

    def describe(self) -> str:
        """`sklearn` and the table's name."""
        return f"sklearn {self.name}"

    def read(self) -> RawTable:
        """The table, its target column under a name that says what it is (see the catalogue)."""
        bunch = _LOADERS[self.name](as_frame=True)
        frame: pd.DataFrame = bunch.frame.copy()
        frame.columns = pd.Index(SKLEARN_COLUMNS[self.name])
        if self.name in _CLASSES:
            last = frame.columns[-1]
            names = [str(name) for name in bunch.target_names]
            frame[last] = pd.Series([names[code] for code in frame[last]], dtype=object)
        return RawTable(frame=frame, sha256=sha256_of(canonical_bytes(frame)), description=self.describe())
