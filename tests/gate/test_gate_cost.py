"""What the default gate costs, recipe by recipe: every fit of a whole run is counted where it happens."""

from collections import Counter
from dataclasses import dataclass, field, replace
from typing import ClassVar

import pytest
from gate_parts import Squares, committee

from crda_spec.gate.cost import FitCounts
from crda_spec.pipeline import run
from crda_spec.regressors import Xgboost
from crda_spec.regressors.teachers import Student
from crda_spec.report.progress import Silent
from crda_spec.spec.build import build_plan
from crda_spec.spec.check import load_spec

SPEC = """
version: 1
name: cost
recipe: {recipe}
dataset: {{source: {{kind: synthetic, world: home_energy, rows: 80}}, target: energy}}
causal:
  graph:
    kind: edges
    edges: ["outside_temperature -> energy", "floor_area -> energy", "setpoint -> energy"]
    unrelated: [occupants]
regressor: {{kind: {regressor}}}
"""


@dataclass(frozen=True, slots=True, eq=False)
class Counted:
    """Least squares in the place of a dearer model; it writes down how many rows each fit was given."""

    kind: ClassVar[str] = "counted"
    stopping: ClassVar[None] = None
    rows: list = field(default_factory=list)

    def train(self, design, *, seed):
        self.rows.append(len(design.y))
        return Squares().train(design, seed=seed)


def counted(procedure):
    """The recipe's procedure with every model replaced by one that counts; who shares with whom stays as it is."""
    student = Counted()
    members = getattr(procedure.teacher, "members", None)
    if members is None:
        return replace(procedure, regressor=student), [student]
    learners = tuple(None if isinstance(member, Student) else Counted() for member in members)
    teacher = committee(*learners, folds=procedure.teacher.folds, hedge=procedure.teacher.hedge)
    return replace(procedure, regressor=student, teacher=teacher), [student, *(one for one in learners if one)]


@pytest.mark.parametrize(
    ("recipe", "regressor", "folds", "fits", "most"),
    [
        ("paper", "mlp", (10, 1), 20, 2.5),
        ("paper", "xgboost", (10, 1), 20, 2.5),
        ("distilled", "mlp", (10, 1), 70, 7.0),
        ("distilled", "xgboost", (10, 1), 50, 5.0),  # trees differ little by luck: one start
        ("certified", "mlp", (10, 1), 100, 10.0),
        ("certified", "xgboost", (10, 1), 80, 8.0),  # 1.6 times those of distilled
    ],
)
def test_the_default_gate_costs_no_more_than_promised(tmp_path, recipe, regressor, folds, fits, most):
    """Plain 10-fold cross-validation is 10 fits. What a run fits beside its gate is counted in a run without one."""
    file = tmp_path / "spec.yaml"
    file.write_text(SPEC.format(recipe=recipe, regressor=regressor))
    plan = replace(build_plan(*load_spec(file)), jobs=1, inspect=False)
    done, verdicts = {}, {}
    for enabled in (True, False):
        procedure, models = counted(plan.procedure)
        result = run(
            replace(plan, procedure=procedure, gate=plan.gate.model_copy(update={"enabled": enabled})),
            progress=Silent(),
        )
        done[enabled], verdicts[enabled] = sum(len(model.rows) for model in models), result.verdict
        assert result.cost.fits == done[enabled]  # what the record tells is what was fitted
    assert verdicts[False].decision == "ungated"
    assert len(verdicts[True].folds) == folds[0] * folds[1]
    # Where fold models are shared, the plain ones are fitted with the teacher's; they are the gate's all the same.
    shared = folds[0] if plan.procedure.shared_learners else 0
    assert verdicts[True].fits == done[True] - done[False] + shared == fits
    assert fits <= most * 10


class Stopping(Xgboost):
    """Trees that count how often they are trained, and how often again."""

    counts: ClassVar[Counter] = Counter()

    def train(self, design, *, seed):
        self.counts["all"] += 1
        return super().train(design, seed=seed)

    def refit(self, stopped, design, *, seed):
        self.counts["again"] += 1
        return super().refit(stopped, design, seed=seed)


@pytest.mark.parametrize(("recipe", "fits", "again"), [("paper", 22, 0), ("distilled", 52, 21)])
def test_models_trained_twice_are_counted_and_the_plan_knew(tmp_path, recipe, fits, again):
    """A model trained again is one model; how many there are is told beside it."""
    file = tmp_path / "spec.yaml"
    file.write_text(SPEC.format(recipe=recipe, regressor="xgboost"))
    plan = replace(build_plan(*load_spec(file)), jobs=1, inspect=False)
    Stopping.counts.clear()
    rule = plan.procedure.regressor.early_stopping
    student = Stopping(n_estimators=5, early_stopping=rule)
    teacher = plan.procedure.teacher if recipe == "paper" else committee(None, Squares(), folds="blocks")
    procedure = replace(plan.procedure, regressor=student, teacher=teacher)
    result = run(replace(plan, procedure=procedure), progress=Silent())
    assert (result.cost.fits, result.cost.refits) == (fits, again)
    assert Stopping.counts["again"] == again
    assert FitCounts(procedure=procedure, gate=plan.gate).refits == again
