"""Weighted rows through the gate, the final score and the inner folds."""

from dataclasses import replace
from typing import ClassVar

import numpy as np
import pytest
from gate_parts import MAE, fold_outcomes, procedure, table
from scipy.stats import binom
from test_gate_score import AUGMENTED, PLAIN, drawn, held_out

from crda_spec.counterfactual.tuning import inner_folds
from crda_spec.gate.cross_validate import divisions
from crda_spec.gate.score import change_interval, score
from crda_spec.gate.tests import Arms, Bootstrap, Clustered, CorrectedT, FiveByTwo, Sign, Wilcoxon
from crda_spec.gate.verdict import judge, paired_losses, paired_rows
from crda_spec.records import FoldResult, HeldOut, RowLosses
from crda_spec.regressors import Ridge
from crda_spec.regressors._protocol import Choice, Space
from crda_spec.regressors.metrics import MSE, Metric, charged
from crda_spec.regressors.teachers import FoldContext
from crda_spec.regressors.tune import RandomSearch, tune

TESTS = [Wilcoxon(), Sign(), CorrectedT(), Clustered(), Bootstrap(), FiveByTwo()]
METRICS = [Metric(kind=kind, quantile=0.9) for kind in ("mse", "rmse", "mae", "r2", "pinball")]


def asked_for(metric):
    return {"metric": metric.kind, "quantile": metric.quantile if metric.kind == "pinball" else None}


def rows(n=60, *, weights=None, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 2))
    return replace(table(x, x @ [2.0, -1.0] + rng.normal(size=n)), weights=weights)


def uneven(n, seed=1):
    return np.random.default_rng(seed).gamma(0.8, size=n) + 0.05


def gate_outcomes(train, gate):
    found = []
    for repeat in divisions(gate, train, seed=5):
        found += fold_outcomes(procedure(train), train, repeat.held, gate=gate, repeat=repeat.number)
    return found


@pytest.mark.parametrize("metric", METRICS, ids=lambda one: one.kind)
def test_a_folds_loss_is_the_weighted_mean_of_its_rows(metric):
    train = rows(weights=uneven(60))
    for outcome in gate_outcomes(train, Wilcoxon(folds=5, **asked_for(metric))):
        y, weights = train.y[outcome.held], train.weights[outcome.held]
        mean = np.average(outcome.augmented, weights=weights)
        spread = np.average((y - np.average(y, weights=weights)) ** 2, weights=weights)
        expected = {"rmse": np.sqrt(mean), "r2": mean / spread}.get(metric.kind, mean)
        assert outcome.result.augmented == pytest.approx(expected)


def fits_of(test):
    folds = 2 if isinstance(test, FiveByTwo) else 5
    repeats = 5 if folds == 2 else 2 if isinstance(test, Clustered | Wilcoxon) else 1
    changes = {"folds": folds} if isinstance(test, Sign) else {"folds": folds, "repeats": repeats}
    return test.model_copy(update=changes)


@pytest.mark.parametrize("metric", METRICS, ids=lambda one: one.kind)
@pytest.mark.parametrize("test", TESTS, ids=lambda one: one.kind)
def test_equal_weights_change_nothing_in_a_verdict(test, metric):
    gate = fits_of(test).model_copy(update=asked_for(metric))
    plain, weighted = rows(), rows(weights=np.full(60, 2.7))
    one, two = (judge(gate, gate_outcomes(train, gate), train, seed=0) for train in (plain, weighted))
    assert one == two


@pytest.mark.parametrize("test", TESTS, ids=lambda one: one.kind)
def test_the_unit_of_weights_changes_nothing_in_a_verdict(test):
    gate = fits_of(test)
    light, heavy = rows(weights=uneven(60)), rows(weights=1000.0 * uneven(60))
    one, two = (judge(gate, gate_outcomes(train, gate), train, seed=0) for train in (light, heavy))
    assert one.p_value == pytest.approx(two.p_value, rel=1e-9)
    assert one.effect_percent == pytest.approx(two.effect_percent)
    assert one.interval_percent == pytest.approx(two.interval_percent)


def test_rows_enter_with_what_they_add_to_the_weighted_mean():
    train = rows(weights=uneven(60))
    gate = Clustered(folds=3, repeats=2)
    outcomes = gate_outcomes(train, gate)
    paired = paired_losses(outcomes, train)
    by_hand = np.zeros(60)
    for outcome in outcomes:
        by_hand[outcome.held] += outcome.plain / 2
    assert paired.rows.plain.mean() == pytest.approx(np.average(by_hand, weights=train.weights))
    assert paired.each.plain.mean(axis=0) == pytest.approx(paired.rows.plain)
    held = outcomes[1].held
    assert paired.blocks.plain[0, 1] == pytest.approx(np.average(by_hand[held], weights=train.weights[held]))


def test_rows_that_no_fold_reached_have_no_say():
    losses = RowLosses(plain=np.array([1.0, 2.0, np.nan]), augmented=np.array([2.0, 2.0, np.nan]))
    paired = paired_rows((), losses, None, np.array([1.0, 3.0, 1000.0]))
    assert paired.rows.plain.tolist() == [0.5, 3.0]
    assert paired.rows.augmented.tolist() == [1.0, 3.0]


def null_pairs(rng, n=120, folds=6):
    """The weighted difference is 0 and the unweighted is not: heavy rows gain what light ones lose."""
    heavy = rng.random(n) < 0.25
    weights = np.where(heavy, 3.0, 1.0)
    difference = np.where(heavy, 0.5, -0.5) + rng.normal(size=n)
    plain = 5.0 + rng.normal(size=n) ** 2
    fold = np.arange(n) % folds
    result = [
        FoldResult(
            fold=k + 1,
            train_rows=n - n // folds,
            held_out_rows=n // folds,
            plain=float(np.average(plain[fold == k], weights=weights[fold == k])),
            augmented=float(np.average((plain + difference)[fold == k], weights=weights[fold == k])),
            perturbed=("x0",),
            synthetic_rows=1,
        )
        for k in range(folds)
    ]
    paired = paired_rows(result, RowLosses(plain=plain, augmented=plain + difference), None, weights)
    return replace(paired, fold_of=fold[None], each=Arms(*(arm[None] for arm in paired.rows)))


@pytest.mark.parametrize(
    "test", [Bootstrap(resamples=399), Clustered(), Wilcoxon(), CorrectedT()], ids=lambda t: t.kind
)
def test_the_level_holds_where_the_weighted_loss_does_not_change(test):
    """Unweighted, a test on rows would find the gain of the light majority and accept most of the time.

    6 %, not 5: the weighted mean of a small fold is a ratio of two sums, and a little biased.
    """
    rng, runs = np.random.default_rng(11), 400
    accepted = sum(test.p_value(null_pairs(rng), rng=rng) < 0.05 for _ in range(runs))
    assert accepted <= binom.ppf(0.999, runs, 0.06)


@pytest.mark.slow
def test_the_interval_covers_the_weighted_change():
    rng, covered = np.random.default_rng(2), 0
    truth = 100.0 * (3.0 * 0.25 * 4.0 + 0.75 * 1.0) / (3.0 * 0.25 * 2.0 + 0.75 * 2.0) - 100.0
    for _ in range(300):
        heavy = rng.random(150) < 0.25
        plain = 2.0 * rng.exponential(size=150)
        augmented = np.where(heavy, 2.0, 0.5) * plain
        both = (charged(losses, np.where(heavy, 3.0, 1.0)) for losses in (plain, augmented))
        low, high = change_interval(*both, np.arange(150), MSE, level=0.9, rng=rng)
        covered += low <= truth <= high
    assert 0.85 <= covered / 300 <= 0.95


def weighted_test(n=40, *, weights):
    rng = np.random.default_rng(4)
    held = held_out(*drawn(rng, n))
    return HeldOut(replace(held._rows, weights=weights))


@pytest.mark.parametrize("metric", [MSE, MAE, Metric(kind="rmse"), Metric(kind="pinball", quantile=0.9)])
def test_the_score_is_the_weighted_mean(metric):
    weights = uneven(40)
    test = weighted_test(weights=weights)
    found = score(test, PLAIN, AUGMENTED, metric=metric, seed=0, usual=0.0)
    mean = np.average(metric.row_losses(test.errors(PLAIN)), weights=weights)
    assert found.plain == pytest.approx(np.sqrt(mean) if metric.kind == "rmse" else mean)
    even = score(weighted_test(weights=None), PLAIN, AUGMENTED, metric=metric, seed=0, usual=0.0)
    assert found.interval_percent != even.interval_percent
    assert score(weighted_test(weights=np.full(40, 0.3)), PLAIN, AUGMENTED, metric=metric, seed=0, usual=0.0) == even


def test_whole_weights_score_as_copies_that_are_drawn_together():
    times = np.random.default_rng(0).integers(1, 4, size=40)
    weighted = score(weighted_test(weights=times.astype(float)), PLAIN, AUGMENTED, metric=MSE, seed=0, usual=0.0)
    plain, augmented = drawn(np.random.default_rng(4), 40)
    copies = held_out(plain.repeat(times), augmented.repeat(times), np.arange(40).repeat(times))
    repeated = score(copies, PLAIN, AUGMENTED, metric=MSE, seed=0, usual=0.0)
    assert weighted.plain == pytest.approx(repeated.plain)
    assert weighted.interval_percent == pytest.approx(repeated.interval_percent)


def test_the_spread_of_held_out_rows_is_weighted():
    test = HeldOut(replace(table(np.zeros((3, 1)), [0.0, 0.0, 4.0]), weights=np.array([1.0, 2.0, 1.0])))
    assert test.spread == pytest.approx(3.0)


@pytest.mark.parametrize("metric", ["mse", "mae", "pinball"])
def test_inner_folds_are_weighted(metric):
    train = rows(weights=uneven(60))
    for fold in inner_folds(procedure(train), train, 3, FoldContext(seed=1), metric=Metric(kind=metric, quantile=0.9)):
        plain, _ = fold.losses(procedure(train))
        errors = fold.held.y - fold.fitter.fit(fold.train, seed=0).predict(fold.held.x)
        losses = Metric(kind=metric, quantile=0.9).row_losses(errors)
        assert plain == pytest.approx(np.average(losses, weights=fold.held.weights))


def test_a_search_of_settings_is_weighted():
    class Fixed(Ridge):
        space: ClassVar[Space] = {"alpha": Choice((1.0,))}

    def loss(train):
        study = tune(Fixed(), RandomSearch(trials=1, folds=3), train, fill="median", seed=0, index=(0,)).study
        return study.mean_loss(study.chosen.losses)

    even, weighted = (loss(rows(weights=weights)) for weights in (np.ones(60), uneven(60)))
    assert even == loss(rows())
    assert weighted != pytest.approx(even)
