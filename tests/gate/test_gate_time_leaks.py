"""Folds that run forward in time: nothing that is fitted inside a fold has seen a row as late as those that score it.

Every fit goes through one door, `Fitter.fit`, and every scaling through another, `fit_encoder`. Both are watched:
whatever a teacher, a search, a candidate or early stopping is given, its rows are known. Poison is the second look.
"""

from dataclasses import replace

import numpy as np
import pytest
from gate_parts import MAE, LeakyTeacher, Squares, Watching, committee, poisoned, procedure, table
from hypothesis import given, settings
from hypothesis import strategies as st

from crda_spec.counterfactual.tuning import Candidates, KnobSearch, KnobSpace, NumberRange, inner_folds
from crda_spec.data.folds import forward_folds
from crda_spec.errors import DataError
from crda_spec.gate.cost import FitCounts
from crda_spec.gate.cross_validate import cross_validate, divisions, fold_models, run_fold
from crda_spec.gate.tests import Bootstrap, Clustered, CorrectedT, Sign, Wilcoxon
from crda_spec.gate.verdict import judge, mean_losses, paired_losses
from crda_spec.regressors import EarlyStopping, fit
from crda_spec.regressors.metrics import MSE
from crda_spec.regressors.teachers import BaggedTeacher, CrossfitTeacher, FoldContext
from crda_spec.regressors.tune import RandomSearch, tune

FOLDS = 4
SEARCH = RandomSearch(trials=2, folds=2)
OUT = {"residuals": "out_of_fold"}


def rows(seed=0, n=90, timestamps=45, *, groups=False):
    """Rows in no order of their own, as many a moment; groups, where asked for, of rows near each other in time."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 3))
    times = rng.permutation(np.arange(n) % timestamps)
    return replace(
        table(x, x[:, 0] + rng.normal(size=n), times // 3 if groups else None),
        times=times,
    )


def searching(train, regressor):
    space = KnobSpace(priors={"retention": NumberRange(low=0.0, high=1.0)}, teachers={}, policies={})
    tuner = KnobSearch(space=space, trials=2, folds=2)
    return procedure(train, regressor=regressor, tuner=tuner, search=SEARCH, teacher=CrossfitTeacher(), **OUT)


def choosing(train, regressor):
    named = {
        "declared": procedure(train, regressor=regressor),
        "crossfit": procedure(train, regressor=regressor, teacher=CrossfitTeacher(), **OUT),
        "blocks": procedure(train, regressor=regressor, teacher=CrossfitTeacher(folds="blocks"), **OUT),
    }
    return replace(named["declared"], tuner=Candidates(named=named, folds=2))


WAYS = {
    "paper": lambda train, spy: procedure(train, regressor=spy),
    "discovered": lambda train, spy: procedure(train, regressor=spy, declared=False),
    "screened": lambda train, spy: procedure(train, regressor=spy, screened="out_of_fold"),
    "crossfit": lambda train, spy: procedure(train, regressor=spy, teacher=CrossfitTeacher(folds=3), **OUT),
    "crossfit-gate": lambda train, spy: procedure(train, regressor=spy, teacher=CrossfitTeacher(repeats=2), **OUT),
    "committee-blocks": lambda train, spy: procedure(
        train, regressor=spy, teacher=committee(None, Squares(), folds="blocks"), **OUT
    ),
    "bagged": lambda train, spy: procedure(train, regressor=spy, teacher=BaggedTeacher(members=4), **OUT),
    "tuned": lambda train, spy: procedure(train, regressor=spy, search=SEARCH),
    "searched": searching,
    "candidates": choosing,
}
every_way = pytest.mark.parametrize("way", WAYS)


@pytest.fixture
def fitted(monkeypatch):
    """The rows of everything that was fitted or scaled, in order."""
    seen = []
    real_fit, real_encoder = fit.Fitter.fit, fit.fit_encoder

    def watched_fit(self, train, extra=None, **settings):
        seen.append(train)
        return real_fit(self, train, extra, **settings)

    def watched_encoder(train, **settings):
        seen.append(train)
        return real_encoder(train, **settings)

    monkeypatch.setattr(fit.Fitter, "fit", watched_fit)
    monkeypatch.setattr(fit, "fit_encoder", watched_encoder)
    return seen


def one_fold(chosen, train, number, *, metric=MSE):
    """One fold as the gate runs it, and the rows that it holds out."""
    (division,) = divisions(Wilcoxon(folds=FOLDS), train, seed=5)
    return run_fold(chosen, train, division, number, metric=metric), division.held[number - 1]


@every_way
@pytest.mark.parametrize("stops", [False, True])
@pytest.mark.parametrize("groups", [False, True])
def test_no_fit_inside_a_fold_is_given_a_row_from_its_block_or_a_later_one(way, stops, groups, fitted):
    train = rows(n=360, timestamps=180, groups=groups)
    chosen = WAYS[way](train, Watching(early_stopping=EarlyStopping(validation=0.2) if stops else None))
    at_most = FitCounts(procedure=chosen, gate=Wilcoxon(folds=FOLDS), in_time=True).in_folds
    for number in range(1, FOLDS + 1):
        fitted.clear()
        outcome, held = one_fold(chosen, train, number)
        assert fitted
        assert max(given.times.max() for given in fitted) < train.times[held].min()
        assert not groups or not any(np.isin(one.groups, train.groups[held]).any() for one in fitted)
        assert outcome.cost.fits <= at_most[number - 1]
        assert outcome.result.perturbed or way == "discovered"  # something was made and fitted


@every_way
@settings(max_examples=4)
@given(seed=st.integers(0, 1000), number=st.integers(1, FOLDS), stops=st.booleans())
def test_poison_in_rows_as_late_as_the_held_out_ones_reaches_nothing_that_is_fitted(way, seed, number, stops):
    train = rows(seed, n=120, timestamps=60)
    (division,) = divisions(Wilcoxon(folds=FOLDS), train, seed=5)
    late = np.flatnonzero(train.times >= train.times[division.held[number - 1]].min())
    told = []
    for given_rows in (train, replace(poisoned(train, late), times=train.times)):
        spy = Watching(early_stopping=EarlyStopping(validation=0.2) if stops else None)
        outcome, _ = one_fold(WAYS[way](given_rows, spy), given_rows, number, metric=MAE)
        result = outcome.result
        told.append((spy.fingerprint(), result.perturbed, result.synthetic_rows, outcome.cost.fits, outcome.studies))
        told[-1] += (result.plain,)
    (*clean, loss), (*dirty, other_loss) = told
    assert clean == dirty
    assert loss != other_loss  # the poison is real


def test_a_planted_leak_is_found():
    """The mutation: labels by a model that saw all rows. The very check of the test above must catch it."""
    train = rows()
    late = np.flatnonzero(train.times >= 20)
    told = []
    for given_rows in (train, replace(poisoned(train, late), times=train.times)):
        spy = Watching()
        one_fold(procedure(given_rows, regressor=spy, teacher=LeakyTeacher(given_rows)), given_rows, 1)
        told.append(spy.fingerprint())
    assert told[0] != told[1]


@every_way
def test_the_gate_runs_these_folds_and_shares_no_model(way):
    train, gate = rows(), Wilcoxon(folds=FOLDS)
    chosen = WAYS[way](train, Watching())
    (division,) = divisions(gate, train, seed=5)
    assert not fold_models(chosen, train, division).shares  # a shared model would have seen the future
    done = cross_validate(chosen, train, (division,), fold_models(chosen, train, division), gate)
    for number, outcome in enumerate(done.outcomes, start=1):
        assert outcome.result == one_fold(chosen, train, number)[0].result
        assert outcome.result.train_rows == len(division.seen[number - 1])
    assert done.shared.fits == 0


@pytest.mark.parametrize(
    ("teacher", "in_fold", "on_all"),
    [
        pytest.param(CrossfitTeacher(), 2 + 9, 2 + 10, id="gate"),
        pytest.param(CrossfitTeacher(folds="blocks"), 2 + 4, 2 + 10, id="blocks"),
        pytest.param(CrossfitTeacher(folds=5), 2 + 5, 2 + 5, id="number"),
        pytest.param(committee(None, Squares(), folds="blocks"), 2 + 8, 2 + 20, id="committee"),
    ],
)
def test_models_that_nobody_shares_are_counted_one_by_one(teacher, in_fold, on_all):
    train, gate = rows(n=240, timestamps=120), Wilcoxon(folds=10)
    chosen = procedure(train, teacher=teacher, **OUT)
    counts = FitCounts(procedure=chosen, gate=gate, in_time=True)
    (division,) = divisions(gate, train, seed=5)
    done = cross_validate(chosen, train, (division,), fold_models(chosen, train, division), gate)
    fits = tuple(outcome.cost.fits for outcome in done.outcomes)
    assert fits == counts.in_folds
    assert max(fits) == in_fold
    assert {outcome.cost.reused for outcome in done.outcomes} == {0}
    assert counts.shared == sum(fits) + on_all
    assert counts.stopped(7, 0) == sum(fits[7:])


def test_few_moments_make_fewer_blocks_and_one_moment_none():
    train = rows(n=60, timestamps=10)
    chosen = procedure(train, teacher=CrossfitTeacher(), **OUT)
    outcome, _ = one_fold(chosen, train, 1)
    assert outcome.cost.fits == 2 + 2  # the first block has two timestamps, where three parts were wanted
    crowded = replace(train, times=train.times // 2)
    with pytest.raises(DataError) as caught:
        one_fold(procedure(crowded, teacher=CrossfitTeacher(), **OUT), crowded, 1)
    assert str(caught.value) == (
        "dataset.time: 2 blocks of time need at least 2 different times, but the 12 rows at hand have 1; "
        "use fewer folds, or more data"
    )


def test_inner_folds_run_forward_too():
    train = rows()
    inside = inner_folds(procedure(train), train, 3, FoldContext(seed=5, index=(1,)), metric=MSE)
    assert len(inside) == 3
    assert all(fold.train.times.max() < fold.held.times.min() for fold in inside)
    tuned = tune(Watching(), SEARCH, train, fill="median", seed=5, index=(1,))
    assert tuned.study.held_rows == tuple(len(held) for _, held in forward_folds(train.times, 2))


@pytest.mark.parametrize("kind", [Wilcoxon, Clustered, CorrectedT, Sign, Bootstrap])
def test_rows_that_are_never_held_out_say_nothing_in_any_test(kind):
    train, gate = rows(n=150, timestamps=70), kind(folds=5, **({} if kind is Sign else {"repeats": 1}))
    (division,) = divisions(gate, train, seed=5)
    chosen = procedure(train)
    done = cross_validate(chosen, train, (division,), fold_models(chosen, train, division), gate)
    losses = mean_losses(done.outcomes, len(train))
    assert np.flatnonzero(np.isnan(losses.plain)).tolist() == division.seen[0].tolist()
    paired = paired_losses(done.outcomes, train)
    assert len(paired.rows.plain) == len(train) - len(division.seen[0])
    assert paired.fold_of.shape == (1, len(paired.rows.plain))
    assert np.bincount(paired.fold_of[0]).tolist() == [len(held) for held in division.held]
    verdict = judge(gate, done.outcomes, train, seed=5)
    assert 0.0 <= verdict.p_value <= 1.0
    assert verdict.interval_percent is not None
    assert verdict.planned_folds == 5


def test_the_seed_divides_nothing():
    train = rows()
    one, two = (divisions(Wilcoxon(folds=FOLDS, repeats=1), train, seed=seed)[0] for seed in (1, 2))
    assert [held.tolist() for held in one.held] == [held.tolist() for held in two.held]
