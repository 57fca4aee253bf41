"""A table that comes with scikit-learn."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from pydantic import Field

from crda_spec.data.raw import BaseSource, RawTable, canonical_bytes, sha256_of

if TYPE_CHECKING:
    import pandas as pd

SklearnName = Literal["breast_cancer", "diabetes", "iris", "linnerud", "wine"]

_CELL_MEASURES = (
    *("radius", "texture", "perimeter", "area", "smoothness"),
    *("compactness", "concavity", "concave points", "symmetry", "fractal dimension"),
)

# The last column of each is the one scikit-learn calls its target; it gets a name that says what it is.
# linnerud has three targets (Weight, Waist, Pulse), which keep their names.
COLUMNS: Mapping[str, tuple[str, ...]] = {
    "breast_cancer": (
        *(f"mean {measure}" for measure in _CELL_MEASURES),
        *(f"{measure} error" for measure in _CELL_MEASURES),
        *(f"worst {measure}" for measure in _CELL_MEASURES),
        "diagnosis",
    ),
    "diabetes": ("age", "sex", "bmi", "bp", "s1", "s2", "s3", "s4", "s5", "s6", "progression"),
    "iris": ("sepal length (cm)", "sepal width (cm)", "petal length (cm)", "petal width (cm)", "species"),
    "linnerud": ("Chins", "Situps", "Jumps", "Weight", "Waist", "Pulse"),
    "wine": (
        *("alcohol", "malic_acid", "ash", "alcalinity_of_ash", "magnesium", "total_phenols", "flavanoids"),
        *("nonflavanoid_phenols", "proanthocyanins", "color_intensity", "hue"),
        *("od280/od315_of_diluted_wines", "proline", "cultivar"),
    ),
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
