"""Takes the cells of Sachs et al. out of the package `cdt`; writes `cells.csv` and `more_cells.csv` beside this file.

python examples/sachs/get_data.py        (needs: pip install --no-deps cdt)

The table is not ours and is not committed. Only the package's data file is read, so its dependencies are not needed.
200 cells, drawn at random, are the small table; 2000 others say what a model that has learnt from it is worth.
"""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pandas as pd

NAMES = {
    "praf": "raf",
    "pmek": "mek",
    "plcg": "plcg",
    "PIP2": "pip2",
    "PIP3": "pip3",
    "p44/42": "erk",
    "pakts473": "akt",
    "PKA": "pka",
    "PKC": "pkc",
    "P38": "p38",
    "pjnk": "jnk",
}
ROWS, MORE = 200, 2000
PACKAGE = "cdt"


def table() -> pd.DataFrame:
    """Fluorescence of eleven proteins in 7466 cells, as logarithms: the raw numbers are skewed by a factor of 1000."""
    package = find_spec(PACKAGE)
    if package is None or package.origin is None:
        raise SystemExit("the package cdt is not installed: pip install --no-deps cdt")
    raw = pd.read_csv(Path(package.origin).parent / "data" / "resources" / "cyto_full_data.csv")
    return np.log(raw[list(NAMES)].rename(columns=NAMES)).round(4)


def write(folder: Path) -> tuple[Path, Path]:
    """Writes both tables into a folder and says where."""
    cells = table()
    order = np.random.default_rng(2005).permutation(len(cells))
    files = folder / "cells.csv", folder / "more_cells.csv"
    for file, rows in zip(files, (order[:ROWS], order[ROWS : ROWS + MORE]), strict=True):
        cells.iloc[rows].to_csv(file, index=False)
    return files


if __name__ == "__main__":
    print(*write(Path(__file__).resolve().parent), sep="\n")
