"""Takes the NHEFS table out of the package `causaldata` and writes `nhefs.csv` next to this file.

python examples/nhefs/get_data.py        (needs: pip install "crda-spec[examples]")

The table is not ours and is not committed. Codes are turned into words, so that a reader of the spec need not look
them up, and so that no model takes `education = 3` for a measurement.
"""

from __future__ import annotations

from pathlib import Path

import pandas as pd
from causaldata import nhefs_complete

WORDS = {
    "qsmk": {0: "no", 1: "yes"},
    "sex": {0: "male", 1: "female"},
    "race": {0: "white", 1: "black or other"},
    "education": {1: "8th grade or less", 2: "some high school", 3: "high school", 4: "some college", 5: "college"},
    "exercise": {0: "much", 1: "moderate", 2: "little or none"},
    "active": {0: "very active", 1: "moderately active", 2: "inactive"},
}
NAMES = {
    "qsmk": "quit_smoking",
    "sex": "sex",
    "race": "race",
    "age": "age",
    "education": "education",
    "smokeintensity": "cigarettes_a_day",
    "smokeyrs": "years_of_smoking",
    "exercise": "exercise",
    "active": "daily_activity",
    "wt71": "weight_1971",
    "wt82_71": "weight_gain",
}


def table() -> pd.DataFrame:
    """The quitting, the nine confounders and the weight gain of the 1566 people who were weighed again in 1982."""
    raw: pd.DataFrame = nhefs_complete.load_pandas().data
    for column, words in WORDS.items():
        raw[column] = raw[column].astype(int).map(words)
    found = raw[list(NAMES)].rename(columns=NAMES)
    return found.round({"weight_1971": 2, "weight_gain": 2}).convert_dtypes()


def write(folder: Path) -> Path:
    """Writes the table into a folder and says where."""
    file = folder / "nhefs.csv"
    table().to_csv(file, index=False)
    return file


if __name__ == "__main__":
    print(write(Path(__file__).resolve().parent))
