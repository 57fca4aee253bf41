"""Worlds and augmentations of which it is known whether they help: by construction, or calibrated on fresh rows.

The world: y = sin(2a) + b^2 / 2 + c d + 0.7 e, standard normal features and noise of standard deviation 1. The learner
is one small regression tree, which is cheap and has variance that good labels can lower.

- `halves` (null, exactly): a tree of a random half of the distinct rows. Duplicates only make it draw another half, so
  the two arms are exchangeable.
- `permuted` (null: cannot help): new rows labelled by the fitted tree, with the noise of other rows.
- `break_even` (nearly null): new rows with the true outcome plus label noise of about the size at which the good and
  the harm cancel on fresh rows; what it really came to is measured and told.
- `noisy_labels`, `wrong_labels` (harmful): the same with too much noise; labels that are systematically wrong.
- `ten_percent` (helps): true outcomes with little noise, so that the error falls by a tenth.
- `algorithm_1`: the paper's augmentation with this tree, whatever it does; its truth is measured, not constructed.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from sklearn.tree import DecisionTreeRegressor

from crda_spec.counterfactual.act import Acting
from crda_spec.counterfactual.partition import Choice, DeclaredPartitioner, Screening
from crda_spec.counterfactual.policies import Jitter
from crda_spec.counterfactual.procedure import Procedure
from crda_spec.records import Array, Column, Table, Teacher
from crda_spec.regressors import Design, Fitter
from crda_spec.regressors.fit import FittedModel
from crda_spec.regressors.teachers import SingleTeacher
from crda_spec.scm.formats.edges import from_edges
from crda_spec.scm.independence import Pearson
from crda_spec.seeds import stream

NAMES = ("a", "b", "c", "d", "e")
COLUMNS = tuple(Column(name=name, type="continuous") for name in NAMES)
GRAPH = from_edges([f"{{{' '.join(NAMES)}}} -> y"], columns=(*NAMES, "y"), target="y", features=NAMES)


def truth(x: Array) -> Array:
    return np.sin(2.0 * x[:, 0]) + 0.5 * x[:, 1] ** 2 + x[:, 2] * x[:, 3] + 0.7 * x[:, 4]


def world(rows: int, rng: np.random.Generator) -> Table:
    x = rng.normal(size=(rows, len(NAMES)))
    y = truth(x) + rng.normal(size=rows)
    return Table(features=COLUMNS, target=Column(name="y", type="continuous"), row_ids=np.arange(rows), x=x, y=y)


@dataclass(frozen=True, slots=True)
class Tree:
    """One regression tree."""

    kind: ClassVar[str] = "tree"
    stopping: ClassVar[None] = None
    leaf: int = 5

    def train(self, design: Design, *, seed: int) -> DecisionTreeRegressor:
        tree = DecisionTreeRegressor(min_samples_leaf=self.leaf, random_state=seed % 2**31)
        return tree.fit(design.x, design.y, sample_weight=design.weight)


@dataclass(frozen=True, slots=True)
class HalfTree:
    """A tree of a random half of the distinct rows; which half depends on the seed and the number of rows."""

    kind: ClassVar[str] = "half_tree"
    stopping: ClassVar[None] = None

    def train(self, design: Design, *, seed: int) -> DecisionTreeRegressor:
        _, first = np.unique(design.x, axis=0, return_index=True)
        rows = stream(seed, "half", len(design.y)).permutation(np.sort(first))[: len(first) // 2]
        return DecisionTreeRegressor(min_samples_leaf=5, random_state=0).fit(design.x[rows], design.y[rows])


@dataclass(frozen=True, slots=True)
class _Says:
    """The truth, label noise that depends on the row alone, and a systematic mistake."""

    noise: float
    wrong: float
    seed: int

    def predict(self, x: Array) -> Array:
        rng = stream(self.seed, "label-noise")
        turns = (1000.0 * rng.normal(size=(x.shape[1], 4)), rng.uniform(0.0, 2 * np.pi, size=4))
        rough = np.sin(x @ turns[0] + turns[1]).sum(axis=1) / np.sqrt(2.0)  # variance 1, and new at every row
        return truth(x) + self.noise * rough + self.wrong * np.cos(3.0 * x[:, 4])


@dataclass(frozen=True, slots=True)
class KnownTeacher:
    """Labels that are as good as we want them."""

    noise: float
    wrong: float = 0.0
    kind: ClassVar[str] = "known"
    seats: ClassVar[tuple[Any, ...]] = ()
    predicts_unseen: ClassVar[bool] = False

    def fits(self, gate_folds: int) -> int:
        del gate_folds
        return 0

    def teach(self, train: Table, fitter: Fitter, plain: FittedModel, *, seed: int, **_: object) -> Teacher:
        del fitter, plain
        says = _Says(self.noise, self.wrong, seed)
        return Teacher(kind=self.kind, members=(says,), in_sample=says.predict(train.x), out_of_fold=None)


@dataclass(frozen=True, slots=True)
class PermutedTeacher:
    """The fitted model, with every row's noise taken from another row."""

    kind: ClassVar[str] = "permuted"
    seats: ClassVar[tuple[Any, ...]] = ()
    predicts_unseen: ClassVar[bool] = False

    def fits(self, gate_folds: int) -> int:
        del gate_folds
        return 0

    def teach(
        self, train: Table, fitter: Fitter, plain: FittedModel, *, seed: int, index: tuple[int, ...], **_: object
    ) -> Teacher:
        del fitter
        noise = stream(seed, "permuted", *index).permutation(train.y - plain.predict(train.x))
        return Teacher(kind=self.kind, members=(plain,), in_sample=train.y - noise, out_of_fold=None)


BASE = Procedure(
    regressor=Tree(),
    fill="median",
    search=None,
    teacher=SingleTeacher(),
    residuals="in_sample",
    partitioner=DeclaredPartitioner(
        graph=GRAPH, screening=Screening(screen=Pearson(), threshold=0.1, alpha=0.05), choice=Choice()
    ),
    acting=Acting(default=Jitter(sd=0.3), factor=1.0),
    retention=1.0,
    weight=1.0,
)


def known(noise: float, *, wrong: float = 0.0, weight: float = 1.0, factor: float = 1.0) -> Procedure:
    """New rows with labels of a known quality, and no noise of their source."""
    acting = Acting(default=Jitter(sd=0.3), factor=factor)
    return replace(BASE, teacher=KnownTeacher(noise, wrong), retention=0.0, weight=weight, acting=acting)


def _same(procedure: Procedure) -> dict[int, Procedure]:
    return {1000: procedure, 300: procedure}


# What it does to the error, and the augmentation by the number of rows: how much label noise breaks even depends on it.
SCENARIOS: dict[str, tuple[str, dict[int, Procedure]]] = {
    "halves": ("null", _same(replace(BASE, regressor=HalfTree(), acting=Acting(default=Jitter(sd=0.0), factor=1.0)))),
    "permuted": ("null", _same(replace(BASE, teacher=PermutedTeacher()))),
    "break_even": ("null", {1000: known(1.15), 300: known(1.27)}),
    "noisy_labels": ("harm", _same(known(1.5))),
    "wrong_labels": ("harm", {1000: known(1.0, wrong=1.5), 300: known(1.0, wrong=1.8)}),
    "ten_percent": ("gain", {1000: known(0.3), 300: known(0.5)}),
    "algorithm_1": ("open", _same(BASE)),
}
