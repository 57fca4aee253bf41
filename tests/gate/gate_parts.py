"""Procedures whose every fitted number can be looked at, and one that leaks on purpose."""

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from crda_spec.counterfactual.partition import (
    DeclaredPartitioner,
    DiscoveredPartitioner,
    Partition,
)
from crda_spec.counterfactual.perturbation import Perturbation
from crda_spec.counterfactual.policies import Jitter
from crda_spec.counterfactual.procedure import Procedure
from crda_spec.data.folds import Division
from crda_spec.discovery import Pc
from crda_spec.gate.cross_validate import CrossValidation, fold_models, run_fold
from crda_spec.gate.tests import Wilcoxon
from crda_spec.gate.verdict import judge, paired_losses, passes, tested_p_value
from crda_spec.records import Column, Cost, Table, Teacher
from crda_spec.regressors import BaseRegressor, EarlyStopping, Fitter
from crda_spec.regressors._protocol import LogUniform, Space
from crda_spec.regressors.metrics import MSE, Metric
from crda_spec.regressors.teachers import (
    CommitteeTeacher,
    CrossfitTeacher,
    FoldContext,
    FoldModelCache,
    SingleTeacher,
    Student,
)
from crda_spec.regressors.teachers.fold_models import fold_context
from crda_spec.scm.formats.edges import from_edges

SCREENED = {"joint": None, "residuals": "in_sample"}


def table(x, y, groups=None):
    columns = tuple(Column(name=f"x{position}", type="continuous") for position in range(x.shape[1]))
    return Table(
        features=columns,
        target=Column(name="y", type="continuous"),
        row_ids=np.arange(len(y)),
        x=np.array(x, dtype=float),
        y=np.array(y, dtype=float),
        groups=groups,
    )


def poisoned(train, held):
    """The same rows but for the held-out ones, whose every value is wild."""
    x, y = train.x.copy(), train.y.copy()
    x[held] = 1e6 * (1.0 + x[held] ** 2)
    y[held] = -1e7 * (1.0 + y[held] ** 2)
    return table(x, y, train.groups)


@dataclass(frozen=True, slots=True)
class Plane:
    """Fitted coefficients, the last one the level."""

    coefficients: np.ndarray

    def predict(self, x):
        return x @ self.coefficients[:-1] + self.coefficients[-1]


@dataclass(frozen=True, slots=True)
class Squares:
    """Least squares in three lines: hundreds of gates in seconds."""

    kind: ClassVar[str] = "squares"
    stopping: ClassVar[None] = None

    def train(self, design, *, seed):
        del seed
        columns = np.column_stack([design.x, np.ones(len(design.x))])
        sample_weight = np.sqrt(np.ones(len(design.x)) if design.weight is None else design.weight)
        return Plane(np.linalg.lstsq(columns * sample_weight[:, None], design.y * sample_weight, rcond=None)[0])


class Watching(BaseRegressor):
    """Least squares that keeps every design it was trained on; `penalty` is there to be tuned."""

    space: ClassVar[Space] = {"penalty": LogUniform(0.1, 1.0)}

    kind: Literal["watching"] = "watching"
    early_stopping: EarlyStopping | None = None
    penalty: float = 0.0
    designs: list[Any] = Field(default_factory=list)

    def train(self, design, *, seed):
        self.designs.append(design)
        return Squares().train(design, seed=seed)

    def fingerprint(self):
        """Everything that anything was fitted to, in order, as bytes."""
        parts = (
            (design.x, design.y, design.weight, design.validation_x, design.validation_y) for design in self.designs
        )
        return [None if part is None else part.tobytes() for design in parts for part in design]


@dataclass(frozen=True, slots=True)
class LeakyTeacher:
    """The mistake of the published package: labels by a model that has seen all rows, held-out ones included."""

    all_rows: Table
    kind: ClassVar[str] = "leaky"
    learners: ClassVar[tuple] = ()
    predicts_unseen: ClassVar[bool] = False
    in_blocks: ClassVar[bool] = False

    def with_boundary(self, columns):
        return self

    def teach(self, train, fitter, plain, context):
        del fitter, plain, context
        model = Fitter(Squares()).fit(self.all_rows, seed=0)
        return Teacher(kind=self.kind, members=(model,), in_sample=model.predict(train.x), out_of_fold=None)


def committee(*members, folds="gate", hedge=False):
    """A committee of any regressors, also such as no spec names; None stands for the student."""
    learners = tuple(Student() if member is None else member for member in members)
    return CommitteeTeacher(folds=folds, hedge=hedge).model_copy(update={"members": learners})


def procedure(train, *, regressor=None, declared=True, keep=(), **changes):
    """Algorithm 1 with least squares; every feature of a declared graph causes y."""
    names = train.names
    graph = from_edges([f"{{{' '.join(names)}}} -> y"], columns=(*names, "y"), target="y", features=names)
    known = DeclaredPartitioner(graph=graph, choice=Partition(keep=keep, **SCREENED))
    found = DiscoveredPartitioner(discovery=Pc(max_depth=2), choice=Partition(max_features=2, **SCREENED))
    plain = Procedure(
        regressor=regressor or Squares(),
        fill="median",
        search=None,
        teacher=SingleTeacher(),
        residuals="in_sample",
        partitioner=known if declared else found,
        perturbation=Perturbation(default=Jitter(sd=0.5)),
        factor=1.0,
        retention=1.0,
        weight=1.0,
    )
    return replace(plain, **changes)


CROSSFIT = {"teacher": CrossfitTeacher(folds=3), "residuals": "out_of_fold"}

MAE = Metric(kind="mae")


def fold_outcomes(chosen, train, held, *, models=None, workers=1, gate=None, advance=lambda: None, repeat=0):
    """What the gate's folds give, in order; without models, each fits its own."""
    done, division = CrossValidation(), Division(number=repeat, held=held, seed=5)
    if models is None:
        models = fold_models(chosen, train, division)
        models = FoldModelCache(replace(models.fitting, layout=replace(models.layout, learners=())))
    done.run(chosen, train, models, gate or Wilcoxon(folds=len(held)), workers=workers, advance=advance)
    return done.outcomes


def one_fold(chosen, train, held, number, *, seed=5, metric=MSE, restarts=1, context=None):
    """One fold on its own: no other fold is known, unless the context says so."""
    division = Division(held=(np.empty(0, dtype=np.int64),) * (number - 1) + (held,), seed=seed)
    context = context or FoldContext(seed=seed, index=(number,))
    return run_fold(chosen, train, division, number, metric=metric, restarts=restarts, context=context)


def context_of(held, rows, outer, *, in_blocks=False, seed=5):
    """The gate's folds as they lie in the rows without the outer one."""
    return fold_context(Division(held=held, seed=seed), rows, outer, in_blocks=in_blocks)


def accepts(gate, outcomes, train):
    """Whether the gate lets it pass; without the interval, which takes longest."""
    paired = paired_losses(outcomes, train)
    found = tested_p_value(gate, paired, seed=0)
    return passes(gate, paired, [one.result for one in outcomes], found)


def verdict_of(gate, outcomes, shared=0, **counts):
    """The verdict on outcomes whose training rows do not matter."""
    rows = 1 + max(int(one.held.max()) for one in outcomes)
    return judge(
        gate,
        outcomes,
        table(np.zeros((rows, 1)), np.zeros(rows)),
        seed=0,
        cost=sum((one.cost for one in outcomes), Cost.of_shared(shared)),
        **counts,
    )
