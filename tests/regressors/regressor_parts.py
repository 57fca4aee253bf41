"""Tables with known rows, and regressors that remember what they were given."""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from pydantic import Field

from crda_spec.records import Action, Column, Counterfactuals, Table
from crda_spec.regressors import REGRESSORS, BaseRegressor, EarlyStopping, SklearnEstimator
from crda_spec.regressors.teachers import CommitteeTeacher, Student

KINDS = (*sorted(REGRESSORS), "plugin")
_RIDGE = {"class": "sklearn.linear_model.Ridge"}
_SCALED = [["scale", {"class": "sklearn.preprocessing.StandardScaler"}], ["ridge", _RIDGE]]
ESTIMATORS = {
    "sklearn of ridge": _RIDGE,
    "sklearn of a pipeline": {"class": "sklearn.pipeline.Pipeline", "params": {"steps": _SCALED}},
    "sklearn of histograms": {"class": "sklearn.ensemble.HistGradientBoostingRegressor", "params": {"max_iter": 80}},
    "sklearn of lightgbm": {
        "class": "lightgbm.LGBMRegressor",
        "params": {"n_estimators": 80, "subsample": 0.7, "subsample_freq": 1},
    },
}
MEDIANS = tuple(f"{kind} of the median" for kind in sorted(REGRESSORS) if REGRESSORS[kind].learns_quantiles)

_QUICK = {
    "catboost": {"iterations": 150, "learning_rate": 0.1},
    "hist_gradient_boosting": {"max_iter": 80, "learning_rate": 0.1},
    "mlp": {"max_iter": 80},
    "random_forest": {"n_estimators": 40},
    "xgboost": {"n_estimators": 300},
}

PLUGIN = """
from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal
import numpy as np
from pydantic import Field
from crda_spec.regressors import BaseRegressor, EarlyStopping

@dataclass(frozen=True)
class Line:
    slope: np.ndarray
    level: float
    def predict(self, x):
        return x @ self.slope + self.level

@dataclass(frozen=True, kw_only=True)
class NormalEquations:
    kind: ClassVar[str] = "normal_equations"
    stopping: ClassVar[None] = None
    penalty: float = 1.0
    def __post_init__(self):
        if self.penalty <= 0:
            raise ValueError(f"penalty must be positive, got {self.penalty}")
    def train(self, design, *, seed):
        weight = np.ones(len(design.y)) if design.weight is None else design.weight
        centre, level = np.average(design.x, axis=0, weights=weight), np.average(design.y, weights=weight)
        x, y = design.x - centre, design.y - level
        slope = np.linalg.solve((x.T * weight) @ x + self.penalty * np.eye(x.shape[1]), (x.T * weight) @ y)
        return Line(slope, level - centre @ slope)

class Plain:
    kind = "plain"
    stopping = None
    def train(self, design, *, seed):
        return None

@dataclass(frozen=True)
class Useless:
    kind: ClassVar[str] = "useless"

class Layered(BaseRegressor):
    kind: Literal["layered"] = "layered"
    layers: tuple[Annotated[int, Field(ge=1)], ...] = (4,)
    early_stopping: EarlyStopping | None = EarlyStopping(rounds=7)
    def train(self, design, *, seed):
        return Line(np.zeros(design.x.shape[1]), float(sum(self.layers)))
"""

POINTS = """[crda_spec.regressors]
normal_equations = house_of_lines:NormalEquations
plain = house_of_lines:Plain
useless = house_of_lines:Useless
absent = house_of_lines:Gone
layered = house_of_lines:Layered
"""


def install_plugin(folder, source):
    """What `pip install house-of-lines` would leave in site-packages."""
    (folder / "house_of_lines.py").write_text(source)
    info = folder / "house_of_lines-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: house-of-lines\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(POINTS)


def quick(kind, **settings):
    if kind in ESTIMATORS:
        return SklearnEstimator.model_validate(ESTIMATORS[kind])
    kind, _, median = kind.partition(" ")
    settings = {"objective": "quantile", "quantile": 0.5, **settings} if median else settings
    return REGRESSORS[kind](**_QUICK.get(kind, {}), **settings)


def table(x, y, *, columns=None, groups=None):
    x, y = np.array(x, dtype=float), np.array(y, dtype=float)
    plain = tuple(Column(name=f"x{position}", type="continuous") for position in range(x.shape[1]))
    return Table(
        features=columns or plain,
        target=Column(name="y", type="continuous"),
        row_ids=np.arange(len(y)),
        x=x,
        y=y,
        groups=None if groups is None else np.array(groups, dtype=np.int64),
    )


def line(n, *, seed=0, noise=0.1):
    """Y = 3 + 2 x0 - x1 + noise: what even the simplest member can learn."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 3))
    return table(x, 3.0 + 2.0 * x[:, 0] - x[:, 1] + noise * rng.normal(size=n))


def numbered(n, *, groups=None):
    """Rows that can be told apart in any design: x0 is the row's number, y a value of its own."""
    rng = np.random.default_rng(1)
    return table(np.column_stack([np.arange(n), rng.normal(size=n)]), rng.normal(size=n), groups=groups)


def synthetic(train, source, *, weight=1.0, y=None):
    """Counterfactual rows that keep the number of their source and move everything else."""
    source = np.array(source, dtype=np.int64)
    x = train.x[source] + np.array([0.0, 100.0])
    outcome = np.full(len(source), 1000.0) if y is None else np.array(y, dtype=float)
    action = Action(x=x, source=source, moved=("x1",), policies={}, clipped={})
    return Counterfactuals(
        action=action, prediction=outcome, noise=np.zeros(len(source)), retention=1.0, y=outcome, weight=weight
    )


@dataclass(frozen=True, slots=True)
class Mean:
    """Predicts the mean of what its member was trained on."""

    level: float

    def predict(self, x):
        return np.full(len(x), self.level)


class Spy(BaseRegressor):
    """A true regressor, the simplest one, that keeps every design it was trained on."""

    kind: Literal["spy"] = "spy"
    early_stopping: EarlyStopping | None = None
    designs: list[Any] = Field(default_factory=list)
    seeds: list[int] = Field(default_factory=list)

    def train(self, design, *, seed):
        self.designs.append(design)
        self.seeds.append(seed)
        return Mean(float(np.average(design.y, weights=design.weight)))


def committee(*members, folds="gate"):
    """A committee of any regressors, also such as no spec names; None stands for the student."""
    learners = tuple(Student() if member is None else member for member in members)
    return CommitteeTeacher(folds=folds).model_copy(update={"members": learners})


def row_numbers(encoder, x):
    """The numbers of `numbered` rows, read back from a design."""
    return np.rint(x[:, 0] * encoder.scale[0] + encoder.center[0]).astype(int)
