"""Models that teacher and gate share: the same numbers with fewer fits, and no leak."""

from dataclasses import dataclass, field
from itertools import combinations
from typing import ClassVar

import numpy as np
import pytest
from gate_parts import (
    Squares,
    Watching,
    committee,
    context_of,
    fold_outcomes,
    one_fold,
    poisoned,
    procedure,
    table,
    verdict_of,
)
from hypothesis import given, settings
from hypothesis import strategies as st

from crda_spec.data.folds import Division, folds
from crda_spec.execution import workers_for
from crda_spec.gate.cost import FitCounts
from crda_spec.gate.cross_validate import CrossValidation, divisions, fold_models
from crda_spec.gate.tests import Wilcoxon
from crda_spec.regressors import Fitter, RandomForest, Ridge
from crda_spec.regressors.metrics import MSE
from crda_spec.regressors.teachers import BaggedTeacher, CrossfitTeacher, SingleTeacher
from crda_spec.regressors.teachers.fold_models import STUDENT, FoldLayout, ModelKey
from crda_spec.regressors.tune import RandomSearch
from crda_spec.seeds import stream

FOREST = RandomForest(n_estimators=3)  # depends on its seed
TEACHERS = {
    "crossfit": {"teacher": CrossfitTeacher(), "residuals": "out_of_fold"},
    "repeated": {"teacher": CrossfitTeacher(repeats=2), "residuals": "in_sample"},
    "committee": {"teacher": committee(None, Ridge(), Squares()), "residuals": "out_of_fold"},
    "committee-in-blocks": {"teacher": committee(None, Ridge(), folds="blocks"), "residuals": "out_of_fold"},
    "committee-without-student": {"teacher": committee(Ridge(), Squares()), "residuals": "out_of_fold"},
    "single-screened-out-of-fold": {"teacher": SingleTeacher(), "screened": "out_of_fold"},
}
SEARCH = RandomSearch(trials=2, folds=3)


def draw(n, seed=0, *, groups=None):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 3))
    return table(x, x[:, 0] + x[:, 1] ** 2 + 0.5 * rng.normal(size=n), groups)


def shared_of(chosen, train, held, *, seed=5):
    return fold_models(chosen, train, Division(number=0, held=held, seed=seed))


def layout(train, k=4, seed=0):
    return folds(len(train), k, rng=stream(seed, "gate-folds"), groups=train.groups)


def shared_run(chosen, train, held, *, workers=1):
    models = shared_of(chosen, train, held, seed=5)
    models.fit(models.first)
    return models, fold_outcomes(chosen, train, held, models=models, workers=workers)


def results(outcomes):
    return [outcome.result for outcome in outcomes]


@pytest.mark.slow
@pytest.mark.parametrize("choice", TEACHERS.values(), ids=TEACHERS)
@pytest.mark.parametrize(("grouped", "folds_"), [(False, 4), (True, 4), (True, 8)])
def test_shared_models_give_the_same_folds_as_every_fold_fitting_its_own(choice, grouped, folds_):
    train = draw(48, groups=np.arange(48) // 3 if grouped else None)
    held = layout(train, folds_)
    chosen = procedure(train, regressor=FOREST, **choice)
    _, outcomes = shared_run(chosen, train, held)
    blocks = chosen.in_blocks
    alone = [
        one_fold(chosen, train, rows, k, context=context_of(held, 48, k, in_blocks=blocks))
        for k, rows in enumerate(held, 1)
    ]
    needed = FitCounts(procedure=chosen, gate=Wilcoxon(folds=folds_)).in_folds
    assert results(outcomes) == results(alone)
    assert all(result.augmented != result.plain for result in results(outcomes))
    assert [(one.cost.fits, one.cost.reused) for one in alone] == [(fits, 0) for fits in needed]
    assert [(one.cost.fits, one.cost.reused) for one in outcomes] == [(1, fits - 1) for fits in needed]


@pytest.mark.slow
def test_the_number_of_workers_changes_no_number():
    train = draw(48)
    held = layout(train)
    chosen = procedure(train, regressor=FOREST, **TEACHERS["committee-without-student"])
    one, outcomes = shared_run(chosen, train, held)
    two, outcomes_of_two = shared_run(chosen, train, held, workers=2)
    assert results(outcomes) == results(outcomes_of_two)
    assert one.cost.fits == two.cost.fits


@pytest.mark.parametrize("choice", TEACHERS.values(), ids=TEACHERS)
def test_every_model_is_fitted_once_and_as_many_as_foreseen(choice):
    train = draw(60)
    held = layout(train, 5)
    chosen = procedure(train, regressor=FOREST, **choice)
    models, outcomes = shared_run(chosen, train, held)
    singles, pairs = len(models.layout.singles()), len(models.layout.pairs(models.numbers))
    assert models.cost.fits == 1 + singles + pairs
    assert pairs == len(chosen.shared_learners) * 10  # five folds are too few for blocks
    verdict = verdict_of(Wilcoxon(folds=5), outcomes, shared=5 + pairs)
    assert verdict.fits == 5 + pairs + 5
    assert verdict.fits + verdict.reused_fits == 5 * chosen.fits(4)


@pytest.mark.parametrize(
    ("choice", "most"),
    [
        pytest.param({"teacher": SingleTeacher()}, 2.5, id="paper"),
        pytest.param({"teacher": CrossfitTeacher(), "residuals": "out_of_fold"}, 7.0, id="crossfit"),
    ],
)
def test_the_gate_costs_no_more_than_promised(choice, most):
    """Against plain 10-fold cross-validation, which is 10 fits: at most 2.5 and 7 times as many."""
    train = draw(60)
    held = layout(train, 10)
    watching = Watching()
    chosen = procedure(train, regressor=watching, **choice)
    models = shared_of(chosen, train, held, seed=5)
    models.fit(models.first)
    first = models.cost.fits
    outcomes = fold_outcomes(chosen, train, held, models=models)
    verdict = verdict_of(Wilcoxon(), outcomes, shared=models.cost.fits - first + models.plain_models.fits)
    assert verdict.fits == {2.5: 20, 7.0: 65}[most]
    assert verdict.fits <= most * 10
    assert len(watching.designs) == verdict.fits + models.shares  # the plain model on all rows
    assert verdict.fits + verdict.reused_fits == {2.5: 20, 7.0: 110}[most]


def test_the_distilled_recipes_committee_costs_no_more_than_promised():
    """Three kinds in blocks: 10 plain and 10 augmented models, and 10 blocks of each kind. A second start costs 20."""
    train = draw(60)
    held = layout(train, 10)
    teacher = committee(None, Ridge(), Squares(), folds="blocks")
    chosen = procedure(train, regressor=FOREST, teacher=teacher, residuals="out_of_fold")
    models, outcomes = shared_run(chosen, train, held)
    singles, blocks = len(models.layout.singles()), len(models.layout.pairs(models.numbers))
    verdict = verdict_of(Wilcoxon(), outcomes, shared=models.cost.fits - 1 - singles + models.plain_models.fits)
    assert (singles, blocks) == (30, 30)
    assert verdict.fits == 10 + 30 + 10 <= 70 - 20
    assert verdict.fits + verdict.reused_fits == sum(FitCounts(procedure=chosen, gate=Wilcoxon(folds=10)).in_folds)


@dataclass(frozen=True, slots=True, eq=False)
class Labels:
    """Whatever is predicted inside a fold, kept: least squares that writes down every word it says."""

    kind: ClassVar[str] = "labels"
    stopping: ClassVar[None] = None
    said: list = field(default_factory=list)

    def train(self, design, *, seed):
        return Written(Squares().train(design, seed=seed), self.said)


@dataclass(frozen=True, slots=True, eq=False)
class Written:
    plane: object
    said: list

    def predict(self, x):
        words = self.plane.predict(x)
        self.said.append(words.tobytes())
        return words


@settings(max_examples=12)
@given(
    seed=st.integers(0, 1000),
    outer=st.integers(1, 4),
    folds_=st.sampled_from([4, 8]),
    name=st.sampled_from(sorted(TEACHERS)),
    declared=st.booleans(),
    grouped=st.booleans(),
)
def test_no_value_of_a_fold_changes_a_word_said_inside_it(seed, outer, folds_, name, declared, grouped):
    """Poison fold j: every prediction made inside outer fold j, but for the scored rows themselves, stays as it was."""
    train = draw(40, seed, groups=np.arange(40) // 2 if grouped else None)
    held = layout(train, folds_, seed=seed)
    inside, elsewhere = [], []
    for rows in (train, poisoned(train, held[outer - 1])):
        labels = Labels()
        chosen = procedure(rows, regressor=labels, declared=declared, **TEACHERS[name])
        models = shared_of(chosen, rows, held, seed=5)
        models.fit(models.first)
        models.fit(models.missing(models.numbers))
        labels.said.clear()
        outcome = one_fold(chosen, rows, held[outer - 1], outer, metric=MSE, seed=5, context=models.inside(outer))
        scored = 2 if outcome.result.perturbed else 1  # the last words are about the fold's own rows
        inside.append((labels.said[:-scored], outcome.result.perturbed, outcome.result.synthetic_rows))
        elsewhere.append([models.models[ModelKey(models.layout.student, (k,))].predict(rows.x) for k in models.numbers])
    assert inside[0] == inside[1]
    clean, dirty = elsewhere
    for number in range(1, folds_ + 1):  # the poison is real: every other plain model has swallowed it
        rest = np.setdiff1d(np.arange(40), held[outer - 1])
        assert (clean[number - 1][rest].tobytes() == dirty[number - 1][rest].tobytes()) is (number == outer)


@pytest.mark.parametrize("folds_", [4, 10])
@pytest.mark.parametrize("choice", TEACHERS.values(), ids=TEACHERS)
def test_what_a_fold_is_handed_has_not_seen_it(choice, folds_):
    """By the keys alone: inside outer fold j every model leaves out j, and the member for fold k leaves out k too."""
    train = draw(40)
    models = shared_of(procedure(train, regressor=FOREST, **choice), train, layout(train, folds_), seed=5)
    keys = [*models.first, *models.layout.pairs(models.numbers)]
    models.models = {key: key for key in keys}
    learners = range(len(models.layout.learners))
    for outer in models.numbers:
        context = models.inside(outer)
        assert context.plain.left_out == (outer,)
        others = [k for k in models.numbers if k != outer]
        assert sorted({k for part in context.parts for k in part}) == others
        assert set(context.ready) == {(learner, part) for learner in learners for part in context.parts}
        assert all(key.left_out == tuple(sorted((outer, *part))) for (_, part), key in context.ready.items())
    whole = models.on_all_rows()
    assert whole.plain.left_out == ()
    assert {(learner, part): key.left_out for (learner, part), key in whole.ready.items()} == {
        (learner, (k,)): (k,) for learner in learners for k in models.numbers
    }


@pytest.mark.parametrize("folds_", [6, 7, 10])
@pytest.mark.parametrize(
    ("teacher", "share"),
    [(committee(None, Ridge(), folds="blocks"), 1.0), (CrossfitTeacher(folds="blocks"), 0.75)],
    ids=["committee", "crossfit"],
)
def test_in_blocks_most_of_the_say_is_that_of_models_of_all_rows_of_the_fold(folds_, teacher, share):
    """Not with pairs, whose members see nearly all rows; not on all rows, where there are no blocks."""
    train = draw(80)
    held = layout(train, folds_)
    models = shared_of(procedure(train, regressor=FOREST, teacher=teacher, residuals="out_of_fold"), train, held)
    models.fit(models.first)
    models.fit(models.missing(models.numbers))
    for outer in (None, 2):
        context = models.inside(outer)
        rows = train if outer is None else train.take(np.setdiff1d(np.arange(80), held[outer - 1]))
        fitter = Fitter(FOREST)
        taught = teacher.teach(rows, fitter, context.plain, context)
        assert fitter.fits == 0
        whole = [weight for name, weight in zip(taught.names, taught.weights, strict=True) if "of all rows" in name]
        expected = share if outer == 2 and folds_ > 6 else 0.0
        assert sum(whole) == pytest.approx(expected)
        assert sum(taught.weights) == pytest.approx(1.0)
        if expected:
            at = taught.names.index("random_forest of all rows")
            assert taught.members[at] is context.plain  # the gate's own plain model of this fold


def test_later_repeats_fit_their_own_models_of_all_rows_of_a_fold():
    train = draw(60)
    chosen = procedure(
        train, regressor=FOREST, teacher=committee(None, Ridge(), folds="blocks"), residuals="out_of_fold"
    )
    gate, done = Wilcoxon(folds=7, repeats=2), CrossValidation()
    fits = 1  # the augmented model on all rows
    for repeat in divisions(gate, train, seed=5):
        models = fold_models(chosen, train, repeat)
        if repeat.number == 0:
            models.fit(models.first)
        done.run(chosen, train, models, gate)
        fits += models.cost.fits
    assert fits + sum(outcome.cost.fits for outcome in done.outcomes) == FitCounts(procedure=chosen, gate=gate).shared


def test_a_shared_model_leaves_out_the_rows_of_its_folds_and_has_its_own_seed():
    train = draw(40)
    held = layout(train)
    seen = []

    @dataclass(frozen=True)
    class Notebook:
        kind: ClassVar[str] = "notebook"
        stopping: ClassVar[None] = None

        def train(self, design, *, seed):
            seen.append((len(design.y), seed))
            return Squares().train(design, seed=seed)

    models = shared_of(procedure(train, regressor=Notebook(), **TEACHERS["repeated"]), train, held, seed=5)
    keys = [*models.first, *models.layout.pairs(models.numbers)]
    assert len(keys) == len(set(keys)) == 1 + 8 + 12
    for key in keys:
        models.fitting.fit(key)
    assert [rows for rows, _ in seen] == [40 - 10 * len(key.left_out) for key in keys]
    assert len({seed for _, seed in seen}) == len(keys)


def test_the_folds_inside_an_outer_fold_are_the_gates_other_folds():
    train = draw(41)
    held = layout(train, 5)
    for outer in (None, 1, 3, 5):
        context = context_of(held, 41, outer)
        seen = np.arange(41) if outer is None else np.setdiff1d(np.arange(41), held[outer - 1])
        assert context.numbers == tuple(k for k in range(1, 6) if k != outer)
        for number, positions in zip(context.numbers, context.held, strict=True):
            assert seen[positions].tolist() == held[number - 1].tolist()


def test_models_are_kept_only_as_long_as_a_fold_ahead_needs_them():
    """One worker, 8 folds: never more than the pairs across the line between done and ahead, and the plain models."""
    train = draw(48)
    held = layout(train, 8)
    chosen = procedure(train, regressor=FOREST, **TEACHERS["crossfit"])
    models = shared_of(chosen, train, held, seed=5)
    models.fit(models.first)
    kept = []
    fold_outcomes(
        chosen,
        train,
        held,
        models=models,
        advance=lambda: kept.append(sum(len(key.left_out) == 2 for key in models.models)),
    )
    assert len(kept) == 28 + 8
    assert max(kept) < 20  # of 28 pairs
    assert models.models == {}


@pytest.mark.parametrize(
    "choice",
    [
        pytest.param({"teacher": SingleTeacher()}, id="single"),
        pytest.param({"teacher": BaggedTeacher(members=3)}, id="bagged"),
        pytest.param({"teacher": CrossfitTeacher(folds=3)}, id="own-folds"),
        pytest.param({"teacher": CrossfitTeacher(), "search": SEARCH}, id="tuned"),
    ],
)
def test_nothing_is_shared_where_nothing_can_be(choice):
    train = draw(40)
    held = layout(train)
    watching = Watching()
    chosen = procedure(train, regressor=watching, **choice)
    assert not shared_of(chosen, train, held, seed=5).shares
    outcomes = fold_outcomes(chosen, train, held)
    assert {(one.cost.fits, one.cost.reused) for one in outcomes} == {(chosen.fits(3), 0)}
    assert len(watching.designs) == 4 * chosen.fits(3)


def test_tuned_settings_are_tuned_inside_each_fold_and_the_teacher_follows_the_gates_folds():
    train = draw(40)
    held = layout(train)
    tuned = Watching()
    chosen = procedure(train, regressor=tuned, teacher=CrossfitTeacher(), residuals="out_of_fold", search=SEARCH)
    one_fold(chosen, train, held[0], 1, metric=MSE, seed=5, context=context_of(held, 40, 1))
    sizes = [len(design.y) for design in tuned.designs]
    assert sizes == [20] * 6 + [30] + [20] * 3 + [60]  # tuning, plain, a member for each other fold, augmented


@pytest.mark.parametrize(("jobs", "expected", "workers"), [(3, 0.0, 3), (9, 0.0, 5), (None, 0.1, 1)])
def test_workers_are_started_when_asked_for_or_worth_it(jobs, expected, workers):
    assert workers_for(jobs, 5, expected) == workers


@given(folds_=st.integers(3, 12), repeats=st.integers(1, 3), others=st.integers(0, 3))
def test_the_models_to_share_are_all_subsets_of_one_or_two_folds(folds_, repeats, others):
    """For each learner; without a learner of the student, its plain models besides."""
    learners = (*CrossfitTeacher(repeats=repeats).learners, *committee(*[Ridge()] * others).learners)
    layout = FoldLayout(learners=learners, folds=folds_)
    every = range(1, folds_ + 1)
    assert len(layout.singles()) == folds_ * len(learners)
    assert len(layout.pairs(every)) == len(learners) * folds_ * (folds_ - 1) // 2
    assert {key.left_out for key in layout.pairs(every)} == set(combinations(every, 2))
    without = FoldLayout(learners=learners[repeats:], folds=folds_)
    assert len(without.singles()) == (folds_ * (1 + others) if others else 0)
    assert without.student == STUDENT
