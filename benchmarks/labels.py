"""What is each label rule right for? Known worlds, the same new rows, labelled in five ways.

    python benchmarks/labels.py [--quick]

The world: y = sin(2a) + b^2 + exp(0.5 b) e, e Gaussian; 300 rows; a is certified and moves (three new rows each, drawn
from its own column), b is kept. The teacher is cross-fitted boosting; its residuals are out of fold. Students learn
from real and new rows and are measured against the truth at 4000 fresh points. Means over seeds:

- `mean`: mean squared error of a least-squares student against E[y | x].
- `quantile`: mean squared error of a student for the 0.9-quantile against the true one.
- `coverage`: how much of the true distribution lies in the students' 0.1 to 0.9 interval; 0.8 would be right.
- `simulation`: how well the new rows alone show the noise where b is large and where it is small: the Kolmogorov-
  Smirnov distance to the true distribution of y - E[y | x], averaged over the two. `plain`: of the real rows.
- `moved_simulation`: the same in a second world, where the noise's size is exp(0.5 a), so that it changes with the
  feature that moves; strata of a.

`..._se` is the standard error of the difference from `plain` over the seeds (each seed gives all rules the same rows).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from _harness import arguments, publish, say
from scipy.stats import kstest, norm
from sklearn.ensemble import HistGradientBoostingRegressor
from threadpoolctl import threadpool_limits

from crda_spec.counterfactual.abduct import Additive, LocationScale, NoiseModel, abduct
from crda_spec.counterfactual.act import act
from crda_spec.counterfactual.perturbation import Perturbation
from crda_spec.counterfactual.policies import Resample
from crda_spec.counterfactual.predict import LabelRule, predict_outcome
from crda_spec.records import Array, Column, ResidualDraw, Table
from crda_spec.regressors import Fitter, HistGradientBoosting
from crda_spec.regressors.teachers import CrossfitTeacher, FoldContext
from crda_spec.seeds import stream

RULES: dict[str, tuple[float, ResidualDraw, NoiseModel]] = {
    "none": (0.0, "none", Additive()),
    "half": (0.5, "own", Additive()),
    "own": (1.0, "own", Additive()),
    "matched": (1.0, "matched", Additive()),
    "own_scaled": (1.0, "own", LocationScale()),
}
COLUMNS = (Column(name="a", type="continuous"), Column(name="b", type="continuous"))


def truth(x: Array) -> Array:
    return np.sin(2 * x[:, 0]) + x[:, 1] ** 2


def size(x: Array, by: int = 1) -> Array:
    """by: the feature that the noise grows with; 0 moves, 1 is kept."""
    return np.exp(0.5 * x[:, by])


def world(rows: int, rng: np.random.Generator, by: int = 1) -> Table:
    x = rng.normal(size=(rows, 2))
    y = truth(x) + size(x, by) * rng.normal(size=rows)
    return Table(features=COLUMNS, target=Column(name="y", type="continuous"), row_ids=np.arange(rows), x=x, y=y)


def student(x: Array, y: Array, quantile: float | None = None) -> HistGradientBoostingRegressor:
    loss = {"loss": "squared_error"} if quantile is None else {"loss": "quantile", "quantile": quantile}
    model = HistGradientBoostingRegressor(max_iter=100, learning_rate=0.06, max_leaf_nodes=15, random_state=0, **loss)
    return model.fit(x, y)


def strata_distance(x: Array, y: Array, by: int = 1) -> float:
    """KS distance of the standardised noise to the true one, averaged over where it is small and where large."""
    standard = (y - truth(x)) / size(x, by)
    large = x[:, by] > 0.0
    return float(np.mean([kstest(standard[here], "norm").statistic for here in (large, ~large)]))


def labelled(train: Table, seed: int) -> dict[str, tuple[Array, Array]]:
    """By rule, the new rows; of `plain`, the real ones. All rules label the same new x."""
    fitter = Fitter(HistGradientBoosting(max_iter=80))
    teacher = CrossfitTeacher(folds=5).teach(train, fitter, fitter.fit(train, seed=seed), FoldContext(seed=seed))
    action = act(train, ["a"], Perturbation(default=Resample()), factor=3.0, seed=seed, index=(0,))
    found = {"plain": (train.x, train.y)}
    for name, (retention, draw, noise) in RULES.items():
        abduction = abduct(train, teacher, residuals="out_of_fold", noise=noise)
        made = predict_outcome(
            teacher,
            action,
            abduction,
            train,
            LabelRule(retention=retention, weight=1.0, draw=draw),
            rng=stream(seed, "matched"),
        )
        found[name] = (action.x, made.y)
    return found


def students(train: Table, new: tuple[Array, Array], fresh: Array) -> dict[str, float]:
    """What students learn of mean, quantile and interval from real and new rows."""
    x, y = np.concatenate([train.x, new[0]]), np.concatenate([train.y, new[1]])
    if new[0] is train.x:
        x, y = train.x, train.y
    mean, upper, lower = (student(x, y, level).predict(fresh) for level in (None, 0.9, 0.1))
    center, spread = truth(fresh), size(fresh)
    inside = norm.cdf((upper - center) / spread) - norm.cdf((lower - center) / spread)
    return {
        "mean": float(np.mean((mean - center) ** 2)),
        "quantile": float(np.mean((upper - center - norm.ppf(0.9) * spread) ** 2)),
        "coverage": float(inside.mean()),
    }


def measure(seed: int) -> dict[str, dict[str, float]]:
    """By rule and measure."""
    rng = stream(seed, "worlds")
    train, fresh, other = world(300, rng), world(4000, rng).x, world(300, rng, by=0)
    second = labelled(other, seed)
    return {
        rule: {
            **students(train, new, fresh),
            "simulation": strata_distance(*new),
            "moved_simulation": strata_distance(*second[rule], by=0),
        }
        for rule, new in labelled(train, seed).items()
    }


def main() -> None:
    """Measures, prints and keeps."""
    quick = arguments(__doc__ or "").quick
    seeds = 2 if quick else 12
    with threadpool_limits(limits=1):
        runs = []
        for seed in range(seeds):
            runs.append(measure(seed))
            say(f"seed {seed + 1} of {seeds}")
    figures: dict[str, Any] = {"seeds": seeds}
    measures = tuple(runs[0]["plain"])
    say(f"{'':12}" + "".join(f"{name:>18}" for name in measures))
    for rule in ("plain", *RULES):
        line = f"{rule:12}"
        for key in measures:
            here, plain = (np.array([run[name][key] for run in runs]) for name in (rule, "plain"))
            figures[f"{rule}_{key}"] = round(float(here.mean()), 3)
            line += f"{here.mean():18.3f}"
            if rule != "plain":
                figures[f"{rule}_{key}_se"] = round(float((here - plain).std(ddof=1) / np.sqrt(seeds)), 3)
        say(line)
    publish("labels", figures, quick=quick)


if __name__ == "__main__":
    main()
