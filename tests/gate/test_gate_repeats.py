"""Repeats of the gate: each row counts once, with its mean loss, whatever the number of divisions."""

from dataclasses import replace

import numpy as np
import pytest
from gate_parts import accepts, table
from hypothesis import given
from hypothesis import strategies as st

from crda_spec.gate.cross_validate import FoldOutcome, divisions
from crda_spec.gate.tests import Arms, Wilcoxon, wilcoxon_p_value
from crda_spec.gate.verdict import paired_losses
from crda_spec.records import FoldResult
from crda_spec.regressors.metrics import Metric

KINDS = ("mse", "rmse", "mae", "r2", "pinball")


def drawn(rows, folds, repeats, seed, *, gain=0.0, model=0.0, metric=None):
    """A gate's outcomes from errors that are drawn: what rows share over repeats, what models share over rows."""
    rng, metric = np.random.default_rng(seed), metric or Metric()
    train = table(rng.normal(size=(rows, 1)), rng.normal(size=rows))
    noise, outcomes = rng.normal(size=rows), []
    for repeat in divisions(Wilcoxon(folds=folds, repeats=repeats), train, seed=seed):
        for held in repeat.held:
            arms = [noise[held] + model * rng.normal() + 0.3 * rng.normal(size=len(held)) for _ in range(2)]
            arms[1] = arms[1] * (1.0 - gain)
            losses = [metric.loss(errors, spread=float(np.var(train.y[held]))) for errors in arms]
            result = FoldResult(
                fold=len(outcomes) + 1,
                train_rows=rows - len(held),
                held_out_rows=len(held),
                plain=losses[0],
                augmented=losses[1],
                perturbed=("x0",),
                synthetic_rows=1,
            )
            plain, augmented = (metric.row_losses(errors) for errors in arms)
            one = FoldOutcome(result=result, held=held, plain=plain, augmented=augmented)
            outcomes.append(one)
    return train, outcomes


@pytest.mark.parametrize("kind", KINDS)
@given(rows=st.integers(20, 60), folds=st.integers(5, 8), seed=st.integers(0, 10**6))
def test_one_repeat_is_the_test_on_the_folds_themselves(kind, rows, folds, seed):
    metric = Metric(kind=kind, quantile=0.8)
    train, outcomes = drawn(rows, folds, 1, seed, gain=0.2, metric=metric)
    paired = paired_losses(outcomes, train, metric)
    difference = np.array([one.result.augmented - one.result.plain for one in outcomes])
    expected = wilcoxon_p_value(difference, "less")
    assert Wilcoxon().p_value(paired, rng=np.random.default_rng(0)) == expected


@pytest.mark.parametrize("kind", KINDS)
def test_a_blocks_loss_is_the_metric_of_its_rows_means_over_the_repeats(kind):
    metric = Metric(kind=kind, quantile=0.8)
    train, outcomes = drawn(30, 5, 3, 1, gain=0.2, metric=metric)
    paired = paired_losses(outcomes, train, metric)
    means = np.zeros((2, 30))
    for one in outcomes:
        means[0, one.held] += one.plain / 3
        means[1, one.held] += one.augmented / 3
    for number, one in enumerate(outcomes):
        at = divmod(number, 5)
        wanted = means[:, one.held].mean(axis=1)
        if kind == "rmse":
            wanted = np.sqrt(wanted)
        if kind == "r2":
            wanted = wanted / np.var(train.y[one.held])
        assert (paired.blocks.plain[at], paired.blocks.augmented[at]) == pytest.approx(tuple(wanted), rel=1e-12)


def test_repeating_the_very_same_folds_proves_nothing_new():
    """Twenty differences, ten of them copies, would halve the p-value again and again; rows that count once do not."""
    train, once = drawn(100, 10, 1, 4, gain=0.05)
    copies = [replace(one, result=replace(one.result, fold=one.result.fold + 10)) for one in once]
    alone, twice = (paired_losses(outcomes, train) for outcomes in (once, [*once, *copies]))
    rng = np.random.default_rng(0)
    assert Wilcoxon().p_value(twice, rng=rng) == min(1.0, 2.0 * Wilcoxon().p_value(alone, rng=rng))
    assert wilcoxon_p_value(twice.folds.difference, "less") < 0.6 * wilcoxon_p_value(alone.folds.difference, "less")


def test_every_division_has_its_say():
    train, outcomes = drawn(200, 10, 3, 7, gain=0.03, model=0.2)
    paired = paired_losses(outcomes, train)
    each = [wilcoxon_p_value(one, "less") for one in paired.blocks.difference]
    assert len(set(each)) > 1
    found = Wilcoxon().p_value(paired, rng=np.random.default_rng(0))
    assert found == pytest.approx(min(1.0, 2.0 * np.mean(each)))


def test_divisions_that_agree_are_no_evidence_that_the_mean_of_p_values_is_one():
    """The worst case of Vovk and Wang: below 2 alpha all p-values mirror each other, and their mean never moves.

    Whatever the dependence, twice the mean keeps the level, and the mean alone accepts twice as often as it may.
    """
    alpha, grid = 0.05, (np.arange(20_000) + 0.5) / 20_000  # p-values of a true null are uniform
    mirrored = np.where(grid < 2 * alpha, 2 * alpha - grid, grid)
    mean = (grid + mirrored) / 2
    assert np.mean(mean <= alpha) == pytest.approx(2 * alpha)
    assert np.mean(2 * mean <= alpha) <= alpha
    difference = np.array([[-9.0, -8, -7, -6, -5, 4, 3, 2], [-1.0, -2, -3, -4, -5, -6, 7, 8]])
    each = [wilcoxon_p_value(one, "less") for one in difference]
    paired = replace(paired_losses(*drawn(80, 8, 1, 4)[::-1]), blocks=Arms(np.zeros((2, 8)), difference))
    assert Wilcoxon().p_value(paired, rng=np.random.default_rng(0)) == pytest.approx(min(1.0, sum(each)))


def test_a_gate_whose_doubled_mean_can_never_fall_below_its_level_is_refused():
    (complaint,) = Wilcoxon(folds=5, repeats=2).complaints()
    assert complaint.headline() == (
        "gate.folds: this gate can never accept: with 5 folds and 2 repeats the smallest one-sided p-value is "
        "2/2^5 = 0.0625, which is not below alpha = 0.05; use at least 6 folds"
    )
    assert list(Wilcoxon(folds=5).complaints()) == list(Wilcoxon(folds=6, repeats=2).complaints()) == []


@pytest.mark.parametrize("model", [0.0, 0.2])
def test_repeats_keep_the_level_when_nothing_helps(model):
    gate, runs = Wilcoxon(folds=6, repeats=3), 150
    accepted = sum(accepts(gate, *drawn(60, 6, 3, seed, model=model)[::-1]) for seed in range(runs))
    assert accepted / runs <= 0.05 + 2.5 * (0.05 * 0.95 / runs) ** 0.5


def test_repeats_see_a_gain_that_one_division_may_miss():
    seen = {}
    for repeats in (1, 3):
        gate = Wilcoxon(folds=8, repeats=repeats)
        seen[repeats] = sum(accepts(gate, *drawn(80, 8, repeats, seed, gain=0.05)[::-1]) for seed in range(60))
    assert seen[3] > seen[1]
