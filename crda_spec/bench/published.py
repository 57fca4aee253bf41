"""The published code's way to measure, leaks included, so that one table shows where its gain comes from.

What it does otherwise than `matched` (and what we keep, so that the two see the same rows: the split and its seed):

1. Features are standardised, and the target is brought to [0, 1], with the test rows among the rows (leak).
2. The screen for features looks at the test rows' residuals too (leak).
3. Ten models are trained, each on nine tenths of original and augmented rows together, all from one initialisation;
   their mean is compared with *one* plain model.
4. The gate cross-validates these ten on the mixed rows: synthetic rows are scored, and perturbed copies of held-out
   rows are trained on (leak).
5. XGBoost's plain model stops early on a tenth of the rows; the augmented ones run all rounds.
6. The weight of synthetic rows is searched for, and never used in training the ten.
7. One draw moves all features of a row; it scales standardised values. Where the screen leaves no feature, the first
   one moves all the same.

Beside the published figure stand: ten plain models against one, ten against ten, and one augmented model against one.
Our own words and code; the estimators are scikit-learn's and XGBoost's, as in the published code.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from crda_spec.data.assemble import load
from crda_spec.data.split import NoSplit
from crda_spec.discovery.skeleton import neighbours
from crda_spec.gate.tests import wilcoxon_p_value
from crda_spec.independence import Pearson, correlation_matrix
from crda_spec.records import Array, IntArray
from crda_spec.seeds import integer_seed, stream
from crda_spec.spec.load import Draft
from crda_spec.spec.run import RunSpec

if TYPE_CHECKING:
    from crda_spec.bench.cells import Cell

_FOLDS, _ALPHA, _CORRELATED = 10, 0.05, 0.1
_KINDS = ("mlp", "xgboost", "catboost", "linear")
_STOPPING = 20  # rounds
_FEATURES, _FACTORS = range(1, 6), (0.5, 0.75, 1.0, 1.25, 1.5)
_WEIGHTS, _REACHES = (0.25, 0.5, 0.75, 1.0), tuple(round(0.1 * step, 1) for step in range(1, 11))
STEPS = {  # what its rows of the results are called
    "published": "as published: 10 augmented models against 1 plain",
    "ten_plain": "10 plain models against 1",
    "ten_ten": "10 augmented models against 10 plain",
    "one_one": "1 augmented model against 1 plain",
}


def refused(cell: Cell) -> Iterator[tuple[str, str, str]]:
    """What the published code cannot be asked: which part of the cell, what, and the next thing to try."""
    if cell.spec["regressor"].get("kind") not in _KINDS:
        what = f"protocol published has no regressor {cell.regressor}"
        yield "regressor", what, f"choose from {', '.join(_KINDS)}"
    if "split" in cell.spec["dataset"]:
        what = f"protocol published splits one table by chance, and {cell.table} brings its test rows"
        yield "dataset", what, "leave dataset.split out, or use protocol matched"
    if cell.measure != "loss":
        yield "measure", "protocol published measures loss alone", "use protocol matched"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Rows:
    x: Array
    y: Array

    def take(self, rows: IntArray) -> _Rows:
        return _Rows(x=self.x[rows], y=self.y[rows])


@dataclass(frozen=True, slots=True, kw_only=True)
class _Knobs:
    features: int
    factor: float
    reach: float
    weight: float


def published(spec: RunSpec, draft: Draft) -> Mapping[str, float | int | bool | str | None]:
    """The figures of one table and seed."""
    split, _ = load(spec.dataset, draft.file.parent, seed=spec.seed)
    whole, _ = load(spec.dataset.model_copy(update={"split": NoSplit()}), draft.file.parent, seed=spec.seed)
    if split.test is None:
        raise ValueError("a cell needs test rows")
    count, rows = len(split.train), np.concatenate([split.train.row_ids, split.test.row_ids])
    place = {row: at for at, row in enumerate(whole.train.row_ids.tolist())}
    order = [place[row] for row in rows.tolist()]
    x, y = _scaled(whole.train.x[order], whole.train.y[order])
    train, held = _Rows(x=x[:count], y=y[:count]), _Rows(x=x[count:], y=y[count:])
    seed = integer_seed(spec.seed, "published")
    models = _Models(spec, seed)
    plain = models.plain(train)
    noise = train.y - plain.predict(train.x)
    ranked = _screened(x, y, y - plain.predict(x))
    knobs = models.tuned(train, noise, plain.predict, ranked) if _searches(spec) else _declared(spec)
    made = _augmented(train, noise, plain.predict, ranked, knobs, rng=stream(spec.seed, "published"))
    both = _Rows(x=np.concatenate([train.x, made.x]), y=np.concatenate([train.y, made.y]))
    ten, losses = models.fold_models(both)
    ten_plain, plain_losses = models.fold_models(train)
    weight = np.concatenate([np.ones(count), np.full(len(made.y), knobs.weight)])
    one = models.fresh().fit(both.x, both.y, sample_weight=weight)
    p_value = wilcoxon_p_value(losses - plain_losses, "less")

    def cost(*fitted: Any) -> float:  # noqa: ANN401 - estimators of any library
        mean = np.mean([model.predict(held.x) for model in fitted], axis=0)
        return float(np.mean((held.y - mean) ** 2))

    return {
        "metric": "mse",
        "train_rows": count,
        "test_rows": len(held.y),
        "plain": cost(plain),
        "augmented": cost(*ten),
        "ten_plain": cost(*ten_plain),
        "one_augmented": cost(one),
        "made": True,
        "synthetic_rows": len(made.y),
        "accepted": bool(p_value < _ALPHA),
        "p_value": p_value,
        "fits": models.fits,
    }


def _scaled(x: Array, y: Array) -> tuple[Array, Array]:
    """By all rows, test rows included."""
    spread = x.std(axis=0)
    span = float(np.ptp(y)) or 1.0
    return (x - x.mean(axis=0)) / np.where(spread > 0, spread, 1.0), (y - y.min()) / span


def _screened(x: Array, y: Array, noise: Array) -> tuple[int, ...]:
    """The features that neither PC nor Pearson ties to the residual, the most telling of the target first."""
    matrix, rows = correlation_matrix(np.column_stack([x, y, noise]))
    last, features = x.shape[1] + 1, range(x.shape[1])
    found = Pearson()(x, noise)
    linked = neighbours(matrix, rows, last, alpha=_ALPHA).linked
    tied = (np.abs(found.statistic) >= _CORRELATED) | (found.p_value <= _ALPHA)
    free = [at for at in features if not tied[at] and at not in linked and np.ptp(x[:, at]) > 0]
    return tuple(sorted(free, key=lambda at: abs(matrix[at, last]) - abs(matrix[at, last - 1]))) or (0,)


def _augmented(
    train: _Rows,
    noise: Array,
    predict: Callable[[Array], Array],
    ranked: tuple[int, ...],
    knobs: _Knobs,
    *,
    rng: np.random.Generator,
) -> _Rows:
    """The first factor * n rows of whole copies; one draw a row."""
    copies, count = math.ceil(knobs.factor), int(knobs.factor * len(train.y))
    x = np.tile(train.x, (copies, 1))
    moved = list(ranked[: knobs.features])
    x[:, moved] *= 1.0 + rng.uniform(-knobs.reach, knobs.reach, len(x))[:, None]
    return _Rows(x=x[:count], y=predict(x[:count]) + np.tile(noise, copies)[:count])


def _searches(spec: RunSpec) -> bool:
    return spec.tune.augmentation is not None and spec.tune.augmentation.kind == "tpe"


def _declared(spec: RunSpec) -> _Knobs:
    default = spec.perturbation.default
    return _Knobs(
        features=spec.partition.max_features or len(spec.dataset.features or ()) or 10_000,
        factor=spec.counterfactual.factor,
        reach=float(getattr(default, "reach", 0.7)),
        weight=spec.counterfactual.weight,
    )


class _Models:
    """Scikit-learn's and XGBoost's estimators with the settings of the spec, all from one seed; counts the fits."""

    def __init__(self, spec: RunSpec, seed: int) -> None:
        self.spec, self.seed, self.fits = spec, seed, 0
        self.settings: dict[str, Any] = spec.regressor.model_dump(
            exclude={"kind", "early_stopping", "averaging", "monotone", "objective", "quantile"}, exclude_none=True
        )

    def fresh(self, **changes: Any) -> Any:  # noqa: ANN401
        """An estimator that is not fitted."""
        self.fits += 1
        settings, kind = {**self.settings, **changes}, self.spec.regressor.kind
        seed = settings.pop("random_state", self.seed)
        if kind == "mlp":
            from sklearn.neural_network import MLPRegressor

            stops = {"early_stopping": True, "n_iter_no_change": _STOPPING}
            return _Quiet(MLPRegressor(**settings, **stops, random_state=seed))
        if kind == "xgboost":
            from xgboost import XGBRegressor

            return XGBRegressor(**settings, tree_method="hist", n_jobs=1, random_state=seed)
        if kind == "catboost":
            from catboost import CatBoostRegressor

            quiet = {"verbose": False, "allow_writing_files": False, "thread_count": 1}
            return CatBoostRegressor(**settings, **quiet, random_seed=seed)
        from sklearn.linear_model import LinearRegression

        return LinearRegression()

    def plain(self, train: _Rows) -> Any:  # noqa: ANN401
        """The one plain model, tuned if the spec tunes; XGBoost's alone watches rows of its own."""
        if self.spec.regressor.kind != "xgboost":
            self._search(train, {})
            return self.fresh().fit(train.x, train.y)
        order = stream(self.spec.seed, "published", 1).permutation(len(train.y))
        part = max(1, round(0.1 * len(order)))
        seen, watched = train.take(order[part:]), train.take(order[:part])
        watch = {"eval_set": [(watched.x, watched.y)], "verbose": False}
        self._search(seen, watch)
        return self.fresh(early_stopping_rounds=_STOPPING).fit(seen.x, seen.y, **watch)

    def _search(self, rows: _Rows, watch: Mapping[str, Any]) -> None:
        """Random trials, each the mean of three folds; what is found is kept for every later model."""
        from sklearn.model_selection import KFold

        tune = self.spec.tune
        if tune.kind == "none":
            return
        space, best = self.spec.regressor.open_space(), (math.inf, dict[str, Any]())
        rng = stream(self.spec.seed, "published", 2)
        parts = list(KFold(tune.folds).split(rows.x))
        stops = {"early_stopping_rounds": _STOPPING} if watch else {}
        for _ in range(tune.trials):
            chosen = {name: prior.at(float(rng.random())) for name, prior in space.items()}
            losses = []
            for seen, held in parts:
                model = self.fresh(**chosen, **stops).fit(rows.x[seen], rows.y[seen], **watch)
                losses.append(np.mean((rows.y[held] - model.predict(rows.x[held])) ** 2))
            best = min(best, (float(np.mean(losses)), chosen), key=lambda one: one[0])
        self.settings |= best[1]

    def tuned(self, train: _Rows, noise: Array, predict: Callable[[Array], Array], ranked: tuple[int, ...]) -> _Knobs:
        """Optuna's trials, each on a new split of the training rows; the labels come from a model of all of them."""
        import optuna

        optuna.logging.set_verbosity(optuna.logging.WARNING)

        def loss(trial: optuna.Trial) -> float:
            knobs = _Knobs(
                features=trial.suggest_int("features", _FEATURES[0], _FEATURES[-1]),
                factor=trial.suggest_float("factor", _FACTORS[0], _FACTORS[-1], step=0.25),
                reach=trial.suggest_float("reach", _REACHES[0], _REACHES[-1], step=0.1),
                weight=trial.suggest_float("weight", _WEIGHTS[0], _WEIGHTS[-1], step=0.25),
            )
            rng = stream(self.spec.seed, "published", 3, trial.number)
            order = rng.permutation(len(train.y))
            held, seen = train.take(order[: len(order) // 5]), train.take(order[len(order) // 5 :])
            made = _augmented(seen, noise[order[len(order) // 5 :]], predict, ranked, knobs, rng=rng)
            weight = np.concatenate([np.ones(len(seen.y)), np.full(len(made.y), knobs.weight)])
            model = self.fresh(random_state=trial.number)
            model.fit(np.concatenate([seen.x, made.x]), np.concatenate([seen.y, made.y]), sample_weight=weight)
            return float(np.mean((held.y - model.predict(held.x)) ** 2))

        study = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=self.seed))
        search = self.spec.tune.augmentation
        study.optimize(loss, n_trials=search.trials if search is not None and search.kind == "tpe" else 30)
        return _Knobs(**study.best_params)

    def fold_models(self, rows: _Rows) -> tuple[list[Any], Array]:
        """Ten models, each without a tenth of the rows, and what each loses on that tenth."""
        from sklearn.model_selection import KFold

        models, losses = [], []
        for seen, held in KFold(_FOLDS, shuffle=True, random_state=self.seed).split(rows.x):
            models.append(self.fresh().fit(rows.x[seen], rows.y[seen]))
            losses.append(np.mean((rows.y[held] - models[-1].predict(rows.x[held])) ** 2))
        return models, np.array(losses)


class _Quiet:
    """A network that says nothing when it has not converged, as the published code's did not either."""

    def __init__(self, model: Any) -> None:  # noqa: ANN401
        self.model = model

    def fit(self, x: Array, y: Array, **more: Any) -> _Quiet:  # noqa: ANN401
        import warnings

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self.model.fit(x, y, **more)
        return self

    def predict(self, x: Array) -> Array:
        return np.asarray(self.model.predict(x), dtype=np.float64)
