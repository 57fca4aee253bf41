"""The clustered t-test: what its two errors are, and that it keeps its level where a test of rows alone does not."""

from dataclasses import replace

import numpy as np
import pytest
from gate_parts import accepts
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import t, ttest_1samp
from test_gate_repeats import drawn

from crda_spec.gate.tests import Bootstrap, Clustered
from crda_spec.gate.tests.student import error_of_mean
from crda_spec.gate.verdict import paired_losses

RNG = np.random.default_rng(0)


@given(values=st.lists(st.floats(-100, 100), min_size=2, max_size=30))
def test_the_error_of_single_rows_is_the_textbooks(values):
    found = error_of_mean(np.array(values), np.arange(len(values)))
    assert found == pytest.approx(np.var(values, ddof=1) / len(values), rel=1e-9, abs=1e-12)


@given(values=st.lists(st.floats(-100, 100), min_size=2, max_size=20), copies=st.integers(2, 4))
def test_copies_of_a_row_in_one_group_are_one_row(values, copies):
    values, units = np.array(values), np.arange(len(values))
    found = error_of_mean(np.repeat(values, copies), np.repeat(units, copies))
    assert found == pytest.approx(error_of_mean(values, units), rel=1e-9, abs=1e-12)


def test_the_p_value_by_hand():
    train, outcomes = drawn(60, 6, 2, 3, gain=0.05, model=1.0)
    paired = paired_losses(outcomes, train)
    difference = np.zeros((2, 60))
    for number, one in enumerate(outcomes):
        difference[number // 6, one.held] = one.augmented - one.plain
    beyond = []
    for repeat in range(2):
        folds = [difference[repeat, one.held] for one in outcomes[6 * repeat : 6 * repeat + 6]]
        means = [fold.mean() for fold in folds]
        beyond.append(np.var(means, ddof=1) - np.mean([fold.var(ddof=1) / len(fold) for fold in folds]))
    mean = difference.mean(axis=0)
    assert np.mean(beyond) > 0.0  # these models do differ
    variance = mean.var(ddof=1) / 60 + np.mean(beyond) / 12
    assert Clustered().p_value(paired, rng=RNG) == pytest.approx(t.cdf(mean.mean() / np.sqrt(variance), df=11))


def test_where_the_models_do_not_differ_only_the_rows_count():
    train, outcomes = drawn(80, 5, 1, 0, gain=0.1)
    same = [replace(one, augmented=one.plain - np.linspace(-1.0, 1.2, len(one.held))) for one in outcomes]
    paired = paired_losses(same, train)
    ratio = ttest_1samp(paired.rows.difference, 0.0).statistic
    assert Clustered().p_value(paired, rng=RNG) == pytest.approx(t.cdf(ratio, df=4))


def test_models_that_differ_do_not_raise_the_level_as_they_do_that_of_the_bootstrap():
    runs, accepted = 150, {}
    for gate in (Clustered(folds=6, repeats=2), Bootstrap(resamples=199, folds=6, repeats=2)):
        accepted[gate.kind] = sum(accepts(gate, *drawn(60, 6, 2, seed, model=0.5)[::-1]) for seed in range(runs))
    most = runs * 0.05 + 2.5 * (runs * 0.05 * 0.95) ** 0.5
    assert accepted["clustered"] <= most < accepted["bootstrap"]
