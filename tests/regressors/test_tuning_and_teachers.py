"""Random search inside the training rows, and the two teachers."""

from typing import Any, ClassVar, Literal

import numpy as np
import pytest
from pydantic import Field
from regressor_parts import Mean, Spy, line, numbered, row_numbers, table

from crda_spec.errors import DataError, SpecError
from crda_spec.records import Column
from crda_spec.regressors import BaseRegressor, Fitter, Ridge
from crda_spec.regressors._protocol import Choice, LogUniform, Space
from crda_spec.regressors.fit import fit_encoder
from crda_spec.regressors.teachers import CrossfitTeacher, FoldContext, SingleTeacher
from crda_spec.regressors.tune import RandomSearch, tune
from crda_spec.spec.build import build_plan
from crda_spec.spec.check import load_spec


class Tunable(BaseRegressor):
    """A regressor with a setting, whose copies share one notebook: (setting, seed, rows trained on)."""

    kind: Literal["tunable"] = "tunable"
    level: float = 0.0
    notes: list[Any] = Field(default_factory=list)

    def train(self, design, *, seed):
        self.notes.append((self.level, seed, len(design.y)))
        return Mean(self.level)


def searching(member, given):
    """A member of the same kind with another search space."""

    class Searched(member):
        space: ClassVar[Space] = given

    return Searched


SEARCH = RandomSearch(trials=6, folds=3)


def test_the_better_of_two_obviously_different_settings_wins():
    member = searching(Ridge, {"alpha": Choice((1e-6, 1e6))})
    for seed in range(3):
        found = tune(member(), SEARCH, line(60), fill="median", seed=seed, index=(0,))
        assert found.regressor == member(alpha=1e-6)
        assert found.study.chosen.values == {"alpha": 1e-6}
        assert found.cost.fits == 18
        assert found.study.mean_loss(found.study.chosen.losses) < 0.1 * line(60).y.var()


def test_the_search_is_deterministic_and_each_set_of_rows_has_its_own():
    def levels(seed, index):
        member = searching(Tunable, {"level": LogUniform(1e-3, 1e3)})()
        tune(member, SEARCH, line(30), fill="median", seed=seed, index=index)
        return member.notes

    assert levels(1, (0,)) == levels(1, (0,))
    assert {level for level, *_ in levels(1, (0,))}.isdisjoint(level for level, *_ in levels(1, (2,)))
    assert {level for level, *_ in levels(1, (0,))}.isdisjoint(level for level, *_ in levels(2, (0,)))


def test_every_trial_is_scored_on_the_same_folds_with_the_same_seeds():
    member = searching(Tunable, {"level": LogUniform(1e-3, 1.0)})()
    tune(member, SEARCH, line(31), fill="median", seed=4, index=(3,))
    trials = [member.notes[start : start + 3] for start in range(0, 18, 3)]
    assert len({level for ((level, *_), *_) in trials}) == 6
    assert all([note[1:] for note in trial] == [note[1:] for note in trials[0]] for trial in trials)
    assert sorted(rows for _, _, rows in trials[0]) == [20, 21, 21]
    assert len({seed for _, seed, _ in trials[0]}) == 3


@pytest.mark.parametrize("runaway", [float("nan"), float("inf"), 1e200])
def test_a_setting_that_runs_away_never_wins(runaway):
    first = set()
    for seed in range(6):
        member = searching(Tunable, {"level": Choice((runaway, 0.5))})()
        found = tune(member, SEARCH, line(30), fill="median", seed=seed, index=(0,))
        assert found.study.chosen.values == {"level": 0.5}
        assert np.isfinite(found.study.mean_loss(found.study.chosen.losses))
        first.add(member.notes[0][0] == 0.5)
    assert first == {True, False}  # also when it is tried first, and nothing is there to compare with


def test_a_search_in_which_everything_runs_away_is_an_error():
    member = searching(Tunable, {"level": Choice((float("nan"), 1e200))})()
    with pytest.raises(DataError) as caught:
        tune(member, SEARCH, line(30), fill="median", seed=0, index=(0,))
    assert str(caught.value) == (
        "tune: all 6 trials of the search ended with numbers that are not finite; look for extreme values in the data"
    )


def test_groups_stay_whole_in_the_search():
    """The patient is also a category, so that every design shows whose rows it was trained on."""
    patient = np.random.default_rng(0).permutation(np.repeat(np.arange(10), 3))
    column = Column(name="patient", type="category", labels=tuple("abcdefghij"))
    train = table(patient[:, None], np.arange(30), columns=(column,), groups=patient)
    spy = Spy()
    tune(spy, RandomSearch(trials=1, folds=5), train, fill="median", seed=0, index=())
    assert len(spy.designs) == 5
    for design in spy.designs:
        assert design.x.sum(axis=0).tolist() == [3.0] * 8  # eight patients, whole; the other two get no column


SPEC = """
version: 1
recipe: paper
name: tuned
dataset: {source: {kind: synthetic, world: paper_synthetic, rows: 60}, target: y}
regressor: {kind: xgboost, max_depth: 4}
tune: {kind: randomized, trials: 7, folds: 4}
"""


def test_a_setting_that_the_user_wrote_is_not_searched(tmp_path):
    file = tmp_path / "spec.yaml"
    file.write_text(SPEC)
    plan = build_plan(*load_spec(file))
    searched = plan.procedure.search
    assert (searched.trials, searched.folds) == (7, 4)
    assert set(plan.procedure.regressor.open_space()) == {
        "learning_rate",
        "min_child_weight",
        "subsample",
        "colsample_bytree",
        "reg_lambda",
    }
    assert plan.procedure.regressor.max_depth == 4


def test_a_weight_for_nearest_neighbours_is_refused_before_anything_runs(tmp_path):
    file = tmp_path / "spec.yaml"
    file.write_text(SPEC.replace("{kind: xgboost, max_depth: 4}", "{kind: knn}") + "counterfactual: {weight: 0.5}\n")
    with pytest.raises(SpecError) as caught:
        load_spec(file)
    assert str(caught.value) == (
        "spec.yaml:8:26: counterfactual.weight: the regressor 'knn' takes no row weights, got 0.5; use weight: 1\n"
        "    8 | counterfactual: {weight: 0.5}\n"
        "      |                          ^"
    )


def test_the_single_teacher_is_the_plain_model_and_costs_no_fit():
    train = line(40)
    fitter = Fitter(Ridge())
    plain = fitter.fit(train, seed=1)
    teacher = SingleTeacher().teach(train, fitter, plain, FoldContext(seed=1))
    assert fitter.fits == 1
    assert teacher.members == (plain,)
    assert teacher.in_sample.tobytes() == plain.predict(train.x).tobytes()
    assert teacher.out_of_fold is None


@pytest.mark.parametrize("groups", [None, np.arange(30) // 3])
def test_out_of_fold_predictions_come_from_members_that_have_not_seen_the_row(groups):
    """A member of `Spy` predicts the mean of its own rows, which tells it from every other."""
    train = numbered(30, groups=groups)
    spy = Spy()
    fitter = Fitter(spy)
    plain = fitter.fit(train, seed=0)
    teacher = CrossfitTeacher(folds=4).teach(train, fitter, plain, FoldContext(seed=0, index=(2,)))
    assert fitter.fits == 5
    assert len(set(spy.seeds)) == 5
    seen = []
    for member, design in zip(teacher.members, spy.designs[1:], strict=True):
        rows = row_numbers(member.encoder, design.x)
        held = np.setdiff1d(np.arange(30), rows)
        np.testing.assert_allclose(teacher.out_of_fold[held], train.y[rows].mean(), atol=1e-12)
        if groups is not None:
            assert not set(groups[held]) & set(groups[rows])
        own = fit_encoder(train.take(rows), fill="median")
        assert member.encoder.center.tobytes() == own.center.tobytes()
        seen += held.tolist()
    assert sorted(seen) == list(range(30))


def test_the_crossfit_teacher_says_the_mean_of_its_members():
    train = line(50)
    fitter = Fitter(Ridge())
    teacher = CrossfitTeacher(folds=5).teach(train, fitter, fitter.fit(train, seed=0), FoldContext(seed=0, index=()))
    x = line(7, seed=8).x
    words = np.array([member.predict(x) for member in teacher.members])
    assert len(np.unique(words[:, 0])) == 5
    np.testing.assert_allclose(teacher.predict(x), words.mean(axis=0), rtol=1e-14)
    np.testing.assert_allclose(teacher.in_sample, teacher.predict(train.x), rtol=1e-14)
