"""Small tables, and settings under which a fit is quick."""

import numpy as np
import pandas as pd
import pytest
from houses import ROWS


@pytest.fixture(scope="session")
def houses():
    """Every kind of column, an index of its own, and the target by name."""
    rng = np.random.default_rng(1)
    frame = pd.DataFrame(
        {
            "area": rng.uniform(50, 200, ROWS).round(1),
            "age": rng.integers(0, 80, ROWS),
            "quarter": pd.Categorical(rng.choice(["north", "south", "hill"], ROWS)),
            "new": rng.random(ROWS) < 0.5,
        },
        index=[f"house {number}" for number in range(ROWS)],
    )
    price = 3 * frame.area - frame.age + 20.0 * (frame.quarter == "hill") + rng.normal(0, 5, ROWS)
    return frame, price.rename("price")


@pytest.fixture(scope="session")
def numbers(houses):
    frame, price = houses
    return frame[["area", "age"]].to_numpy(), price.to_numpy()
