"""The search of the knobs: seeded, counted, pruned, leak-free, and able to find an optimum that was planted."""

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import pytest
from gate_parts import Squares, Watching, context_of, fold_outcomes, one_fold, poisoned, procedure, table

from crda_spec.counterfactual.partition import Partition
from crda_spec.counterfactual.perturbation import Perturbation
from crda_spec.counterfactual.policies import Jitter, Resample, Scale
from crda_spec.counterfactual.procedure import augment, tune
from crda_spec.counterfactual.tuning import (
    CountRange,
    KnobSearch,
    KnobSpace,
    NumberRange,
    Options,
    _Trials,
    inner_folds,
)
from crda_spec.data.folds import folds
from crda_spec.errors import DataError
from crda_spec.gate.cost import FitCounts
from crda_spec.gate.tests import Wilcoxon
from crda_spec.records import Teacher
from crda_spec.regressors import Fitter
from crda_spec.regressors.metrics import MSE, Metric
from crda_spec.regressors.teachers import BaggedTeacher, CrossfitTeacher, FoldContext, SingleTeacher
from crda_spec.regressors.tune import RandomSearch
from crda_spec.seeds import stream

RETENTION = Options((0.0, 0.25, 0.5, 0.75, 1.0))
REGRESSOR_SEARCH = RandomSearch(trials=2, folds=3)


def draw(n, seed=0, *, noise=1.0, groups=None, features=3):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, features))
    return table(x, x[:, :3] @ np.array([1.0, -2.0, 0.5]) + noise * rng.normal(size=n), groups)


@dataclass(frozen=True, slots=True)
class Line:
    slope: float

    def predict(self, x):
        return self.slope * (x[:, :3] @ np.array([1.0, -2.0, 0.5]))


@dataclass(frozen=True, slots=True)
class Oracle:
    """A teacher who knows the truth (slope 1), or the contrary."""

    slope: float = 1.0
    kind: ClassVar[str] = "oracle"
    learners: ClassVar[tuple] = ()
    predicts_unseen: ClassVar[bool] = False
    in_blocks: ClassVar[bool] = False

    def with_boundary(self, columns):
        return self

    def fits(self, parts):
        del parts
        return 0

    def teach(self, train, fitter, plain, context):
        del fitter, plain, context
        line = Line(self.slope)
        return Teacher(kind=self.kind, members=(line,), in_sample=line.predict(train.x), out_of_fold=None)


def searching(priors, *, teachers=None, policies=None, **settings):
    space = KnobSpace(priors=priors, teachers=teachers or {}, policies=policies or {})
    return KnobSearch(space=space, **settings)


def found(tuner, train, *, seed=0, context=None, **changes):
    chosen = procedure(train, tuner=tuner, **changes)
    return tune(chosen, train, context or FoldContext(seed=seed))


def test_a_planted_optimum_is_found():
    """The teacher knows the truth, so the less noise a new row carries and the more it weighs, the better: the good
    corner of the space is planted, and a grid over all of it is the oracle."""
    train = draw(80, noise=3.0, features=20)
    search = searching(
        {"retention": NumberRange(low=0.0, high=1.0), "weight": NumberRange(low=0.01, high=10.0, log=True)}, trials=30
    )
    start = procedure(train, teacher=Oracle())
    inside = inner_folds(start, train, 3, FoldContext(seed=0), metric=MSE)

    def loss(retention, weight):
        candidate = replace(start, retention=retention, weight=weight)
        return np.mean([one.losses(candidate)[1] for one in inside])

    grid = {(r, w): loss(r, w) for r in (0.0, 0.25, 0.5, 0.75, 1.0) for w in (0.01, 0.1, 1.0, 10.0)}
    least, most = min(grid.values()), max(grid.values())
    assert grid[0.0, 10.0] < least + 0.1 * (most - least)
    study = found(search, train, teacher=Oracle()).studies[-1]
    best = study.mean_loss(study.chosen.losses)
    assert best < least + 0.1 * (most - least)
    assert study.chosen.values["retention"] < 0.5
    assert study.chosen.values["weight"] > 1
    assert best < study.mean_loss(study.plain)


def test_the_better_teacher_and_the_better_policy_are_found():
    train = draw(60, noise=3.0)
    teachers = {"right": Oracle(1.0), "wrong": Oracle(-1.0), "itself": SingleTeacher()}
    policies = {"a hair": Jitter(sd=1e-6), "far": Jitter(sd=1.0)}
    priors = {"teacher": Options(tuple(teachers)), "policy": Options(tuple(policies))}
    search = searching(priors, teachers=teachers, policies=policies, trials=12)
    settled = found(search, train, retention=0.0)
    assert settled.procedure.teacher == Oracle(1.0)
    assert settled.studies[0].chosen.values["teacher"] == "right"
    assert settled.procedure.perturbation.default == policies[settled.studies[0].chosen.values["policy"]]


def test_the_same_seed_gives_the_same_study_and_another_seed_another():
    train = draw(40)
    priors = {
        "retention": NumberRange(low=0.0, high=1.0),
        "factor": Options((0.5, 1.0, 2.0)),
        "max_features": CountRange(low=1, high=3),
    }
    search = searching(priors, trials=14)
    first, again, other = (found(search, train, seed=seed).studies for seed in (3, 3, 4))
    assert first == again
    assert [trial.values for trial in first[0].trials] != [trial.values for trial in other[0].trials]


def test_bad_trials_are_pruned_and_recorded_with_the_folds_they_reached():
    train = draw(60, noise=0.5)
    teachers = {"right": Oracle(1.0), "wrong": Oracle(-5.0)}
    priors = {"teacher": Options(tuple(teachers)), "weight": NumberRange(low=0.5, high=2.0)}
    whole = found(searching(priors, teachers=teachers, trials=20, prune=False), train, retention=0.0)
    cut = found(searching(priors, teachers=teachers, trials=20), train, retention=0.0)
    states = [trial.state for trial in cut.studies[0].trials]
    assert {trial.state for trial in whole.studies[0].trials} == {"complete"}
    assert "pruned" in states
    assert states[:5] == ["complete"] * 5  # the first ones are needed to know a median
    for trial in cut.studies[0].trials:
        assert len(trial.losses) == 3 if trial.state == "complete" else len(trial.losses) in (1, 2)
        if trial.state == "pruned":
            assert trial.values["teacher"] == "wrong" or trial.number > 5
    assert cut.studies[0].chosen.state == "complete"
    assert cut.cost.fits < whole.cost.fits


def test_the_declared_values_come_first_when_they_are_among_those_searched():
    train = draw(40)
    inside = found(searching({"retention": RETENTION}, trials=3), train).studies[0]
    outside = found(searching({"retention": Options((0.0, 0.5))}, trials=3), train).studies[0]
    unasked = found(searching({"retention": RETENTION}, trials=3, warm_start=False), train).studies[0]
    assert (inside.trials[0].values, inside.trials[0].origin) == ({"retention": 1.0}, "declared")
    assert {trial.origin for trial in (*inside.trials[1:], *outside.trials, *unasked.trials)} == {"drawn"}


def test_every_knob_is_set_where_it_belongs():
    train = draw(30)
    space = KnobSpace(
        priors={
            name: NumberRange(low=0.0, high=1.0) for name in ("retention", "weight", "factor", "reach", "max_features")
        },
        teachers={"bagged": BaggedTeacher(members=4)},
        policies={"resample": Resample()},
    )
    start = procedure(
        train, perturbation=Perturbation(default=Scale(reach=0.7)), factor=1.0, choice=Partition(keep=("x2",))
    )
    values = {"retention": 0.25, "weight": 0.5, "factor": 3, "reach": 0.2, "max_features": 2, "teacher": "bagged"}
    changed = space.applied(start, values)
    assert (changed.retention, changed.weight, changed.factor) == (0.25, 0.5, 3.0)
    assert changed.perturbation.default == Scale(reach=0.2)
    assert changed.teacher == BaggedTeacher(members=4)
    assert changed.choice == Partition(keep=("x2",), max_features=2)
    assert changed.partitioner.choice.max_features == 2
    assert space.applied(start, {"policy": "resample"}).perturbation.default == Resample()
    assert space.applied(start, {}) == start


def test_a_setting_that_was_tried_before_costs_nothing():
    train = draw(40)
    settled = found(searching({"retention": Options((0.0, 1.0))}, trials=12, prune=False), train)
    study = settled.studies[0]
    assert settled.cost.fits == 3 * (1 + 2)  # in each inner fold the plain model, and each of the two values once
    firsts = {trial.values["retention"]: trial for trial in study.trials if trial.repeats is None}
    assert len(firsts) == 2
    for trial in study.trials:
        if trial.repeats is not None:
            assert trial.repeats == firsts[trial.values["retention"]].number
            assert trial.losses == firsts[trial.values["retention"]].losses


@pytest.mark.parametrize(
    "teacher", [SingleTeacher(), CrossfitTeacher(), CrossfitTeacher(folds=3), BaggedTeacher(members=4)]
)
@pytest.mark.parametrize("search", [None, REGRESSOR_SEARCH])
def test_the_fits_are_those_foretold(teacher, search):
    """Without pruning or repeats the upper bound is reached, to the fit."""
    train = draw(48)
    held = folds(48, 4, rng=stream(0, "gate-folds"))
    tuner = searching({"retention": NumberRange(low=0.0, high=1.0)}, trials=5, prune=False)
    watching = Watching()
    changes = {"teacher": teacher, "search": search, "regressor": watching}
    settled = found(tuner, train, context=context_of(held, 48, None), **changes)
    started = procedure(train, tuner=tuner, **changes)
    own = 0 if search is None else search.trials * search.folds
    assert settled.cost.fits == len(watching.designs) == own + tuner.fits(started, 4)
    assert started.fits(4) == settled.cost.fits + replace(started, search=None, tuner=None).fits(4)


def test_both_arms_get_the_same_regressor_search_and_only_the_augmented_one_has_knobs():
    """Equal budgets: one search of the regressor serves both arms, and the knobs' search changes nothing about it."""
    train = draw(48)
    tuner = searching({"retention": NumberRange(low=0.0, high=1.0)}, trials=4, prune=False)

    def studied(**changes):
        watching = Watching()
        made = augment(
            procedure(train, regressor=watching, search=REGRESSOR_SEARCH, **changes), train, FoldContext(seed=1)
        )
        return made, watching

    untuned, few = studied()
    tuned, many = studied(tuner=tuner)
    regressor = REGRESSOR_SEARCH.trials * REGRESSOR_SEARCH.folds
    assert len(few.designs) == regressor + 1
    # The knobs' own: in each of 3 inner folds the same search of the regressor, a plain model, one fit a trial.
    assert len(many.designs) == len(few.designs) + 3 * (regressor + 1 + 4)
    assert tuned.studies[0] == untuned.studies[0]
    assert tuned.fitter.regressor.penalty == untuned.fitter.regressor.penalty
    assert tuned.plain.predict(train.x).tobytes() == untuned.plain.predict(train.x).tobytes()
    assert [study.what for study in tuned.studies] == ["regressor", "augmentation"]


def test_nothing_in_an_inner_fold_has_seen_the_rows_that_score_it():
    """Poison in the rows that an inner fold holds out changes nothing that is fitted there, the regressor's settings
    included; the loss does change."""
    train = draw(48, groups=np.arange(48) // 2)
    (first, *_) = folds(48, 3, rng=stream(5, "knob-folds", 2), groups=train.groups)

    def fitted(rows):
        watching = Watching()
        chosen = procedure(rows, regressor=watching, search=REGRESSOR_SEARCH, declared=False)
        inside = inner_folds(chosen, rows, 3, FoldContext(seed=5, index=(2,)), metric=MSE)[0]
        return inside.losses(chosen), watching.fingerprint(), inside

    losses, seen, inside = fitted(train)
    others, seen_again, _ = fitted(poisoned(train, first))
    assert sorted(inside.held.row_ids) == sorted(first)
    assert seen == seen_again
    assert losses != others


@pytest.mark.parametrize("crossfit", [False, True])
def test_nothing_tuned_inside_a_gate_fold_has_seen_a_held_out_row(crossfit):
    train = draw(48)
    held = folds(48, 4, rng=stream(0, "gate-folds"))
    tuner = searching({"retention": RETENTION, "factor": Options((0.5, 1.0))}, trials=6)
    changes = {"teacher": CrossfitTeacher(), "residuals": "out_of_fold"} if crossfit else {}

    def ran(rows):
        watching = Watching()
        chosen = procedure(rows, regressor=watching, search=REGRESSOR_SEARCH, tuner=tuner, **changes)
        context = context_of(held, 48, 2)
        outcome = one_fold(chosen, rows, held[1], 2, metric=MSE, seed=5, context=context)
        return watching, outcome

    clean, outcome = ran(train)
    dirty, again = ran(poisoned(train, held[1]))
    assert outcome.result.plain != again.result.plain
    assert clean.fingerprint() == dirty.fingerprint()
    assert outcome.studies == again.studies
    assert len(outcome.studies) == 2


@pytest.mark.parametrize("declared", [False, True])
def test_a_teacher_that_is_chosen_leaves_out_folds_its_own_way(declared):
    """Declared in blocks or one by one: what counts inside the fold is the teacher that was chosen."""
    train = draw(60)
    held = folds(60, 10, rng=stream(0, "gate-folds"))
    teachers = {"one by one": CrossfitTeacher(), "in blocks": CrossfitTeacher(folds="blocks")}
    for words, teacher in teachers.items():
        tuner = searching({"teacher": Options((words,))}, teachers={words: teacher}, trials=1)
        chosen = procedure(train, tuner=tuner, teacher=CrossfitTeacher(folds="blocks" if declared else "gate"))
        context = context_of(held, 60, 3, in_blocks=declared)
        seen = train.take(np.setdiff1d(np.arange(60), held[2]))
        made = augment(chosen, seen, context)
        alone = augment(
            procedure(train, teacher=teacher),
            seen,
            context_of(held, 60, 3, in_blocks=teacher.in_blocks),
        )
        assert made.teacher.names == alone.teacher.names
        assert made.teacher.in_sample.tobytes() == alone.teacher.in_sample.tobytes()
        assert made.fitter.fits <= FitCounts(procedure=chosen, gate=Wilcoxon(folds=10)).in_folds[2] - 1


def test_a_leak_into_the_search_would_be_found():
    """The mutation of the test above: a search that sees all rows."""
    train = draw(48)
    held = folds(48, 4, rng=stream(0, "gate-folds"))[1]
    tuner = searching({"retention": RETENTION}, trials=3)

    @dataclass(frozen=True)
    class Leaky:
        rows: object

        def tune(self, procedure, train, context):
            del train
            return tuner.tune(procedure, self.rows, context)

    def fingerprint(rows):
        watching = Watching()
        one_fold(procedure(rows, regressor=watching, tuner=Leaky(rows)), rows, held, 2, metric=MSE, seed=5)
        return watching.fingerprint()

    assert fingerprint(train) != fingerprint(poisoned(train, held))


@pytest.mark.slow
def test_the_folds_and_their_studies_are_the_same_at_any_number_of_workers():
    train = draw(40)
    held = folds(40, 4, rng=stream(0, "gate-folds"))
    tuner = searching({"retention": RETENTION, "factor": NumberRange(low=0.5, high=2.0)}, trials=5)
    chosen = procedure(train, tuner=tuner)

    def outcomes(workers):
        done = fold_outcomes(chosen, train, held, workers=workers)
        return [(outcome.result, outcome.studies, outcome.cost.fits) for outcome in done]

    assert outcomes(1) == outcomes(2)
    assert [studies[0].fold for _, studies, _ in outcomes(1)] == [1, 2, 3, 4]


def test_the_searches_of_a_later_repeat_are_numbered_as_its_folds():
    train = draw(40)
    held = folds(40, 4, rng=stream(0, "gate-folds"))
    done = fold_outcomes(procedure(train, tuner=searching({"retention": RETENTION}, trials=2)), train, held, repeat=1)
    assert [(outcome.result.fold, outcome.studies[0].fold) for outcome in done] == [(5, 5), (6, 6), (7, 7), (8, 8)]


def test_a_clock_ends_the_search_and_the_record_says_so():
    train = draw(40)
    search = searching({"retention": NumberRange(low=0.0, high=1.0)}, trials=9, seconds=2.5)
    inside = inner_folds(procedure(train), train, 3, FoldContext(seed=0), metric=MSE)
    ticks = iter(range(100))
    trials, _, stopped = _Trials(search, procedure(train), inside, clock=lambda: next(ticks)).run(0)
    assert (len(trials), stopped) == (3, "time")  # started at 0; asked at 1, 2 and 3
    study = found(replace(search, seconds=1e-9), train).studies[0]
    assert (study.stopped, len(study.trials), study.budget, study.seconds) == ("time", 1, 9, 1e-9)
    assert found(replace(search, seconds=1e9), train).studies[0].stopped == "trials"


@dataclass(frozen=True, slots=True)
class Explosive:
    """Runs away as soon as it is given more rows than it was made for."""

    most: int
    kind: ClassVar[str] = "explosive"
    stopping: ClassVar[None] = None

    def train(self, design, *, seed):
        fitted = Squares().train(design, seed=seed)
        return fitted if len(design.x) <= self.most else replace(fitted, coefficients=fitted.coefficients * np.inf)


def test_a_trial_that_runs_away_is_recorded_as_failed_and_never_chosen():
    train = draw(30)
    search = searching({"factor": Options((0.5, 4.0))}, trials=6)
    with np.errstate(invalid="ignore"):
        study = found(search, train, regressor=Explosive(60)).studies[0]
        states = {trial.values["factor"]: trial.state for trial in study.trials}
        assert states == {0.5: "complete", 4.0: "failed"}
        assert study.chosen.values == {"factor": 0.5}
        with pytest.raises(DataError, match="all 6 trials of the search ended with numbers that are not finite"):
            found(search, train, regressor=Explosive(25))


def test_a_fitter_remembers_models_of_real_rows_and_nothing_else():
    train = draw(20)
    watching = Watching()
    fitter = Fitter(watching, memo={})
    first = fitter.fit(train, seed=1)
    assert fitter.fit(train.take(np.arange(20)), seed=1) is first
    assert fitter.fit(train, seed=2) is not first
    assert fitter.fit(train.take(np.arange(19)), seed=1) is not first
    assert fitter.fit(train, seed=1, regressor=Squares()) is not first
    made = augment(procedure(train), train, FoldContext(seed=0, index=(0,))).counterfactuals
    assert fitter.fit(train, made, seed=1) is not fitter.fit(train, made, seed=1)
    assert (fitter.fits, fitter.reused, len(watching.designs)) == (6, 1, 5)


def test_what_trials_share_is_kept_and_changes_no_number():
    """The losses of a fold that remembers are those of one that is asked for the first time."""
    train = draw(48)
    start = procedure(train, declared=False, teacher=CrossfitTeacher(folds=3), residuals="out_of_fold")
    space = KnobSpace(priors={"max_features": CountRange(low=1, high=3), "retention": NumberRange(low=0.0, high=1.0)})
    points = [{"max_features": m, "retention": r} for m in (1, 2, 3) for r in (0.0, 1.0)]

    def fold():
        return inner_folds(start, train, 3, FoldContext(seed=2, index=(1,)), metric=MSE)[1]

    remembers = fold()
    candidates = [space.applied(start, point) for point in points]
    assert [remembers.losses(one) for one in candidates] == [fold().losses(one) for one in candidates]
    assert len(remembers._certificates) == 3
    assert remembers.fitter.fits <= 1 + 3 + len(points)


def test_a_trial_is_scored_by_the_metric_that_judges():
    train = draw(30)
    start = procedure(train)
    folds_by_metric = {
        name: inner_folds(start, train, 2, FoldContext(seed=0), metric=Metric(kind=name, quantile=0.9))[0]
        for name in ("mse", "mae", "pinball")
    }
    errors = np.array([-1.0, 2.0, 3.0])
    assert {name: one._loss(errors) for name, one in folds_by_metric.items()} == {
        "mse": pytest.approx(14 / 3),
        "mae": pytest.approx(2.0),
        "pinball": pytest.approx((0.1 + 1.8 + 2.7) / 3),
    }
