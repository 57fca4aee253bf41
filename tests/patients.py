"""A small table and a quick spec of it, for the tests of the functions and of the commands."""

import numpy as np
import pandas as pd


def rows(count=80):
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({"age": rng.normal(50, 9, count).round(1), "dose": rng.normal(20, 4, count).round(2)})
    frame["clinic"] = np.array(["north", "south"])[rng.integers(0, 2, count)]
    frame["recovery"] = (0.5 * frame.dose - 0.2 * frame.age + rng.normal(size=count)).round(3)
    return frame


def spec_of(**more):
    return {
        "version": 1,
        "name": "clinic",
        "recipe": "paper",
        "dataset": {"target": "recovery"},
        "causal": {"graph": "{age dose clinic} -> recovery"},
        "falsify": {"on_falsified": "warn"},
        "regressor": {"kind": "ridge"},
        "gate": {"kind": "wilcoxon", "folds": 5},
        **more,
    }
