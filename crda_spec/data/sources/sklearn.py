"""A table that comes with scikit-learn."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from pydantic import Field

from crda_spec.data.raw import BaseSource, RawTable, canonical_bytes, read_catalogue, sha256_of

if TYPE_CHECKING:
    import pandas as pd

SklearnName = Literal["breast_cancer", "diabetes", "iris", "linnerud", "wine"]

COLUMNS: Mapping[str, tuple[str, ...]] = {
    name: tuple(columns) for name, columns in read_catalogue(Path(__file__).with_suffix(".yaml")).items()
}

_CLASSES = frozenset({"breast_cancer", "iris", "wine"})


class Sklearn(BaseSource):
    """A table bundled with scikit-learn, by name; classes appear as their names, not as numbers."""

    kind: Literal["sklearn"] = Field(
        "sklearn", description="A table bundled with scikit-learn; needs no file and no network."
    )
    name: SklearnName = Field(description="Which of scikit-learn's bundled tables.")

    def describe(self) -> str:
        """`sklearn` and the table's name."""
        return f"sklearn {self.name}"

    def header(self, base: Path = Path()) -> tuple[str, ...]:
        """The column names."""
        return COLUMNS[self.name]

    def read(self, base: Path = Path()) -> RawTable:
        """The table, its target column under a name that says what it is."""
        import pandas as pd
        from sklearn import datasets

        # diabetes unscaled: the columns in their own units, not standardised over rows that may be test rows.
        settings = {"scaled": False} if self.name == "diabetes" else {}
        bunch = getattr(datasets, f"load_{self.name}")(as_frame=True, **settings)
        frame: pd.DataFrame = bunch.frame.copy()
        frame.columns = pd.Index(COLUMNS[self.name])
        if self.name in _CLASSES:
            last = frame.columns[-1]
            names = [str(name) for name in bunch.target_names]
            frame[last] = pd.Series([names[code] for code in frame[last]], dtype=object)
        return RawTable(frame=frame, sha256=sha256_of(canonical_bytes(frame)), description=self.describe())
