"""Stopping early: never a different decision, the same for any number of workers, and an honest count."""

from itertools import product

import numpy as np
import pytest
from gate_parts import accepts, fold_outcomes, procedure, table
from hypothesis import given, settings
from hypothesis import strategies as st
from test_gate_verdict import outcomes

from crda_spec.counterfactual.partition import Partition
from crda_spec.data.folds import folds
from crda_spec.gate.cost import FitCounts
from crda_spec.gate.cross_validate import CrossValidation, FoldOutcome
from crda_spec.gate.tests import Sign, Wilcoxon, wilcoxon
from crda_spec.gate.tests.wilcoxon import wilcoxon_p_value
from crda_spec.gate.verdict import judge
from crda_spec.report.words.gate import verdict_sentence
from crda_spec.seeds import stream

PAIRS = st.lists(st.tuples(st.integers(1, 9), st.integers(1, 9)), min_size=8, max_size=8)


def least_p_value(past, ahead):
    return Wilcoxon().least_p_value(past, ahead, enough=0.0)


def stopping(test=Wilcoxon, **changes):
    return test(folds=8, stop="certain", **changes)


def certain(gate, results):
    outcomes = [FoldOutcome(result=one, held=np.empty(0), plain=np.empty(0), augmented=np.empty(0)) for one in results]
    return CrossValidation(outcomes).is_certain(gate)


def stopped_at(gate, results):
    for count in range(1, len(results)):
        if certain(gate, results[:count]):
            return count
    return None


@settings(max_examples=150)
@given(
    pairs=PAIRS,
    test=st.sampled_from([Wilcoxon, Sign]),
    alternative=st.sampled_from(["less", "two-sided"]),
    min_effect=st.sampled_from([0.0, 10.0]),
)
def test_what_is_stopped_would_never_have_been_accepted(pairs, test, alternative, min_effect):
    gate = stopping(test=test, alternative=alternative, min_effect=min_effect)
    found = outcomes([(float(plain), float(augmented)) for plain, augmented in pairs])
    if stopped_at(gate, [one.result for one in found]) is not None:
        assert not accepts(gate, found, table(np.zeros((80, 1)), np.zeros(80)))


def test_ties_ahead_are_reckoned_with():
    """Distinct wins ahead reach 14 patterns of 256, tied ones fewer."""
    lost, tied = np.ones(3), -2.0 * np.ones(5)
    assert wilcoxon_p_value(np.concatenate([lost, -2.0 * np.arange(1, 6)]), "less") == 14 / 256
    assert wilcoxon_p_value(np.concatenate([lost, tied]), "less") == 13 / 256
    assert least_p_value(lost, 5) == 10 / 256
    assert not certain(stopping(), [one.result for one in outcomes([(1.0, 2.0)] * 3)])


@pytest.mark.slow
@settings(max_examples=60)
@given(
    past=st.lists(st.integers(-4, 4), max_size=4).map(lambda values: np.array(values, dtype=float)),
    ahead=st.integers(1, 3),
)
def test_the_least_p_value_is_that_of_the_best_of_all_futures(past, ahead):
    """Every future on a grid fine enough for any order and any tie."""
    grid = np.arange(-6.0, 6.25, 0.25)
    if ahead == 3:
        grid = np.concatenate([-np.unique(np.concatenate([np.abs(past), [0.25, 0.5, 0.75]])), [1.5, -1.5, -2.5, -3.5]])
        grid = np.concatenate([grid, [-4.5, -4.75, -5.0, 0.0]])
    best = min(wilcoxon_p_value(np.array([*past, *future]), "less") for future in product(grid, repeat=ahead))
    found = least_p_value(past, ahead)
    assert found <= best
    if ahead < 3:
        assert found == best


@given(past=st.lists(st.integers(-4, 4), max_size=6).map(np.array), ahead=st.integers(1, 4))
def test_the_bound_for_many_folds_lies_below_the_least_p_value(past, ahead):
    exact = least_p_value(past.astype(float), ahead)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(wilcoxon, "_MOST_ARRANGEMENTS", 0)
        bound = least_p_value(past.astype(float), ahead)
    assert 0 < bound <= exact


@pytest.mark.parametrize(("levels", "ahead"), [(0, 1), (0, 5), (1, 3), (3, 2), (4, 4)])
def test_arrangements_are_counted(levels, ahead):
    futures = list(wilcoxon._futures(tuple((1, label) for label in range(1, levels + 1)), ahead))
    assert len(futures) == len(set(futures)) == wilcoxon.arrangements(levels, ahead)


def test_it_does_stop():
    losing = [one.result for one in outcomes([(1.0, 2.0 + k) for k in range(8)])]
    assert stopped_at(stopping(), losing) == 4  # ranks 1 to 4 are too much, whatever follows
    assert stopped_at(Wilcoxon(folds=8, stop="never"), losing) is None
    winning = [one.result for one in outcomes([(2.0 + k, 1.0) for k in range(8)])]
    assert stopped_at(stopping(), winning) is None  # one disaster could still undo it


def test_any_number_of_workers_tells_the_same():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(60, 3))
    train = table(x, x[:, 0] + 0.1 * rng.normal(size=60))
    held = folds(60, 8, rng=stream(0, "gate-folds"))
    chosen = procedure(train, retention=-3.0, choice=Partition(basis="support"))  # a harmful label
    every = fold_outcomes(chosen, train, held)
    runs = [fold_outcomes(chosen, train, held, gate=stopping(), workers=workers) for workers in (1, 2)]
    told = [[(one.result, one.cost.fits, one.plain.tobytes()) for one in run] for run in runs]
    assert told[0] == told[1]
    assert len(told[0]) < 8
    assert [one.result for one in runs[0]] == [one.result for one in every[: len(runs[0])]]
    stopped = FitCounts(procedure=chosen, gate=stopping()).stopped(len(runs[0]), 0)
    verdict = judge(stopping(), runs[0], train, seed=0, stopped_fits=stopped)
    assert (verdict.decision, verdict.reason, verdict.planned_folds) == ("rejected", "no_gain_worth_having", 8)
    assert verdict.stopped_fits == 2 * (8 - len(runs[0]))
    ahead = 8 - len(runs[0])
    assert verdict_sentence(verdict).endswith(
        f"Stopped there: {ahead} more folds could not have made it pass ({2 * ahead} fits saved)."
    )


@pytest.mark.parametrize("test", [Wilcoxon, Sign])
def test_most_useless_augmentations_are_stopped_early(test):
    """With no effect at all, more than a quarter of ten folds is spared on average."""
    rng = np.random.default_rng(1)
    gate = test(folds=10, stop="certain")
    used = []
    for _ in range(100):
        found = outcomes([(10.0, 10.0 + float(change)) for change in rng.normal(size=10)])
        used.append(stopped_at(gate, [one.result for one in found]) or 10)
    assert np.mean(used) < 7.4
