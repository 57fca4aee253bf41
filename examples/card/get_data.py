"""Takes Card's table out of the package `causaldata` and writes `card.csv` next to this file.

python examples/card/get_data.py        (needs: pip install "crda-spec[examples]")

The table is not ours and is not committed.
"""

from __future__ import annotations

from pathlib import Path

import pandas as pd
from causaldata import close_college

WORDS = {0: "no", 1: "yes"}
MARITAL_STATUS = {1: "code 1", 2: "code 2", 3: "code 3", 4: "code 4", 5: "code 5", 6: "code 6"}
NAMES = {
    "nearc4": "near_college",
    "educ": "schooling",
    "exper": "experience",
    "black": "black",
    "south": "south",
    "smsa": "city",
    "married": "marital_status",
    "lwage": "log_wage",
}


def table() -> pd.DataFrame:
    """The 3010 young men of the survey with a wage in 1976."""
    raw: pd.DataFrame = close_college.load_pandas().data
    for column in ("nearc4", "black", "south", "smsa"):
        raw[column] = raw[column].map(WORDS)
    raw["married"] = raw["married"].map(MARITAL_STATUS)
    return raw[list(NAMES)].rename(columns=NAMES).round({"log_wage": 4})


def write(folder: Path) -> Path:
    """Writes the table into a folder and says where."""
    file = folder / "card.csv"
    table().to_csv(file, index=False)
    return file


if __name__ == "__main__":
    print(write(Path(__file__).resolve().parent))
