"""Gradient-boosted oblivious trees (CatBoost), behind the extra `crda-spec[catboost]`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from crda_spec.errors import Complaint, MissingExtraError
from crda_spec.regressors._protocol import Design, Stopping
from crda_spec.regressors.mlp import Network


@dataclass(frozen=True, slots=True, kw_only=True)
class Catboost:
    """CatBoost. The paper prints no settings for it; these are CatBoost's own with the paper's early stopping."""

    kind: ClassVar[str] = "catboost"

    iterations: int = 1000
    learning_rate: float = 0.05
    depth: int = 6
    l2_leaf_reg: float = 3.0
    stopping: Stopping | None = Stopping()

    def train(self, design: Design, *, seed: int) -> Any:  # noqa: ANN401 - CatBoost has no types
        """Boosts until the early-stopping rows stop improving; writes nothing to disk."""
        regressor = load_catboost()
        if np.all(design.x == design.x[0]):
            return _constant(design)  # CatBoost refuses features that tell no row from another
        model = regressor(
            iterations=self.iterations,
            learning_rate=self.learning_rate,
            depth=self.depth,
            l2_leaf_reg=self.l2_leaf_reg,
            random_seed=seed,
            thread_count=1,
            allow_const_label=True,
            allow_writing_files=False,
        )
        watch = None if design.validation_x is None else _watched(design)
        rounds = self.stopping.rounds if self.stopping is not None and watch is not None else None
        return model.fit(
            design.x, design.y, sample_weight=design.weight, eval_set=watch, early_stopping_rounds=rounds, verbose=False
        )


def _watched(design: Design) -> Any:  # noqa: ANN401 - CatBoost has no types
    """The rows set aside, as CatBoost takes them; a pair of arrays has no place for weights."""
    if design.validation_weight is None:
        return design.validation_x, design.validation_y
    from catboost import Pool

    return Pool(design.validation_x, design.validation_y, weight=design.validation_weight)


def _constant(design: Design) -> Network:
    """The weighted mean of y for every row, written as a network without slopes so that it can be saved."""
    return Network((np.zeros((design.x.shape[1], 1)),), (np.array([np.average(design.y, weights=design.weight)]),))


def load_catboost() -> Any:  # noqa: ANN401 - CatBoost has no types
    """The optional package, or an error that says how to get it."""
    try:
        from catboost import CatBoostRegressor
    except ImportError as error:
        what = "the regressor 'catboost' needs the package catboost"
        hint = 'install it with: pip install "crda-spec[catboost]"'
        raise MissingExtraError(Complaint(code="missing-extra", path="regressor.kind", what=what, hint=hint)) from error
    return CatBoostRegressor
