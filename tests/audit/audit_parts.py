"""A small run with every type of column, and small models of every kind."""

import numpy as np

from crda_spec.records import Column, Table
from crda_spec.regressors import REGRESSORS, Fitter

SPEC = """
version: 1
recipe: paper
name: audited
seed: 2
dataset:
  source: {kind: synthetic, world: bidding_war, rows: 120}
  target: price
causal:
  graph:
    kind: edges
    edges:
      - neighbourhood -> {area age buyer_urgency}
      - area -> rooms
      - "{neighbourhood area rooms age garage station_distance buyer_urgency} -> price"
    latent: [buyer_urgency]
partition: {max_features: null}
regressor: {kind: kernel_ridge}
counterfactual: {retention: 0.6, factor: 2.5, weight: 0.5}
gate: {kind: wilcoxon, folds: 5}
execution: {jobs: 1}
"""

_QUICK = {
    "catboost": {"iterations": 12},
    "hist_gradient_boosting": {"max_iter": 12},
    "mlp": {"max_iter": 4, "hidden_layer_sizes": (8, 4)},
    "random_forest": {"n_estimators": 5},
    "xgboost": {"n_estimators": 12},
}
KINDS = tuple(sorted(REGRESSORS))


def training_rows(d=3, n=60):
    """The same rows in every process: numbers, a category of three labels, and a few gaps."""
    rng = np.random.default_rng(0)
    x = np.column_stack([rng.normal(size=(n, d)), rng.integers(0, 3, n)])
    x[::17, 0] = np.nan
    columns = [Column(name=f"x{position}", type="continuous") for position in range(d)]
    return Table(
        features=(*columns, Column(name="ward", type="category", labels=("north", "south", "west"))),
        target=Column(name="y", type="continuous"),
        row_ids=np.arange(n),
        x=x,
        y=np.where(np.isnan(x[:, 0]), 0.0, x[:, 0]) + x[:, -1] + 0.1 * rng.normal(size=n),
    )


def fitted(kind, *, settings=None, **rows):
    return Fitter(REGRESSORS[kind](**_QUICK.get(kind, {}), **(settings or {}))).fit(training_rows(**rows), seed=3)
