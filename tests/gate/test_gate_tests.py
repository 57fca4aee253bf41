"""Every test of the gate passes the same suite; each has an oracle of its own besides."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from crda_spec.errors import DataError
from crda_spec.gate.tests import TESTS, AnyGate, Arms, Bootstrap, CorrectedT, FiveByTwo, Paired, Sign, Wilcoxon, p_value

K, ROWS = 10, 20


def paired(difference, *, level=10.0, spread=0.3, seed=0, units=None):
    """Ten folds of twenty rows: `difference` a fold, rows scattered around it."""
    difference = np.asarray(difference, dtype=float)
    noise = np.random.default_rng(seed).normal(size=(len(difference), ROWS))
    rows = difference[:, None] + spread * (noise - noise.mean(axis=1, keepdims=True))
    n = difference.size * ROWS
    return Paired(
        folds=Arms(np.full(len(difference), level), level + difference),
        train_rows=np.full(len(difference), n - ROWS),
        held_rows=np.full(len(difference), ROWS),
        rows=Arms(np.full(n, level), level + rows.ravel()),
        units=np.arange(n) if units is None else units,
        each=Arms(np.full((1, n), level), level + rows.reshape(1, n)),
        fold_of=np.repeat(np.arange(len(difference)), ROWS)[None, :],
        blocks=Arms(np.full((1, len(difference)), level), level + difference[None, :]),
    )


def asked(test, given_, alternative="less", seed=0):
    asked = test.model_copy(update={"alternative": alternative})
    return p_value(asked, given_, rng=np.random.default_rng(seed))


GAIN = -np.linspace(0.5, 1.5, K)
SCATTERED = np.array([-1.0, 0.4, -0.6, 0.9, -0.2, 0.1, -0.8, 0.7, 0.3, -0.5])


@pytest.fixture(params=sorted(TESTS), ids=str)
def test_(request):
    return TESTS[request.param]()


def test_the_spec_knows_the_same_family():
    members = AnyGate.__args__[0].__args__
    assert {member.model_fields["kind"].default: member for member in members} == TESTS


class TestConformance:
    def test_a_clear_gain_passes_and_a_clear_loss_does_not(self, test_):
        assert asked(test_, paired(GAIN)) < 0.05
        assert asked(test_, paired(-GAIN)) > 0.9

    def test_the_answer_is_a_chance_and_the_same_for_the_same_seed(self, test_):
        for difference in (GAIN, -GAIN, SCATTERED, np.zeros(K)):
            found = asked(test_, paired(difference))
            assert 0.0 <= found <= 1.0
            assert found == asked(test_, paired(difference))

    def test_two_arms_alike_do_not_pass(self, test_):
        assert asked(test_, paired(np.zeros(K), spread=0.0)) > 0.4
        assert asked(test_, paired(np.zeros(K), spread=0.0), "two-sided") == 1.0

    def test_the_unit_of_the_loss_does_not_matter(self, test_):
        one, two = paired(SCATTERED, spread=0.0), paired(1024.0 * SCATTERED, level=10240.0, spread=0.0)
        assert asked(test_, one) == pytest.approx(asked(test_, two), abs=1e-12)

    def test_two_sided_is_twice_the_smaller_side(self, test_):
        if isinstance(test_, Bootstrap):
            pytest.skip("its two sides have resamples of their own")
        both = paired(SCATTERED)
        sides = (asked(test_, both), asked(test_, both.swapped()))
        assert asked(test_, both, "two-sided") == min(1.0, 2 * min(sides))

    def test_against_a_gain_that_is_not_there_it_does_not_pass(self, test_):
        seen = paired(GAIN)  # ten percent
        assert asked(test_, seen.against(0.0)) < 0.05
        assert asked(test_, seen.against(30.0)) > 0.5
        found = [asked(test_, seen.against(gain)) for gain in (0.0, 5.0, 10.0, 15.0)]
        assert found == sorted(found)

    def test_a_loss_that_is_no_number_is_refused(self, test_):
        with pytest.raises(ValueError, match=r"^a fold loss is not finite$"):
            asked(test_, paired([*GAIN[1:], np.nan]))

    def test_its_level_holds_for_independent_folds(self, test_):
        """Rows drawn around zero, folds their means: at most 5 % of 400 may pass, give or take chance."""
        rng = np.random.default_rng(3)
        test = Bootstrap(resamples=199) if isinstance(test_, Bootstrap) else test_
        passed = 0
        for _ in range(400):
            rows = rng.standard_t(5, size=(K, ROWS))
            base = paired(rows.mean(axis=1))
            seen = replace(base, rows=Arms(base.rows.plain, base.rows.plain + rows.ravel()))
            passed += p_value(test, seen, rng=rng) < 0.05
        assert stats.binomtest(passed, 400, 0.05, alternative="greater").pvalue > 0.01


@given(signs=st.lists(st.sampled_from([-1.0, 0.0, 1.0]), min_size=1, max_size=12))
def test_the_sign_test_counts(signs):
    moved = [sign for sign in signs if sign]
    if moved:
        expected = stats.binomtest(sum(sign > 0 for sign in moved), len(moved), 0.5, alternative="less").pvalue
    else:
        expected = 1.0
    assert asked(Sign(), paired(signs)) == pytest.approx(expected)


def test_the_corrected_t_is_the_t_test_with_a_wider_error():
    seen = paired(SCATTERED)
    t = stats.ttest_1samp(SCATTERED, 0.0).statistic
    narrowed = t * np.sqrt((1 / K) / (1 / K + ROWS / (K * ROWS - ROWS)))
    assert asked(CorrectedT(), seen) == pytest.approx(stats.t.cdf(narrowed, K - 1))
    assert asked(CorrectedT(), paired(np.full(K, -1.0))) == 0.0


def test_five_by_two_by_hand():
    """Dietterich's statistic: the first difference over the root of the mean of the five variances."""
    halves = SCATTERED.reshape(5, 2)
    mean = halves.mean(axis=1)
    variances = (halves[:, 0] - mean) ** 2 + (halves[:, 1] - mean) ** 2
    expected = stats.t.cdf(halves[0, 0] / np.sqrt(variances.mean()), 5)
    assert asked(FiveByTwo(), paired(SCATTERED)) == pytest.approx(expected)


def test_the_bootstrap_agrees_with_the_t_test_where_both_are_right():
    rng = np.random.default_rng(5)
    seen = paired(np.zeros(K))
    rows = rng.normal(-0.08, 1.0, size=K * ROWS)
    seen = replace(seen, rows=Arms(seen.rows.plain, seen.rows.plain + rows))
    expected = stats.ttest_1samp(rows, 0.0, alternative="less").pvalue
    assert asked(Bootstrap(resamples=9999), seen) == pytest.approx(expected, abs=0.02)


def test_the_bootstrap_draws_groups_whole():
    """Four copies of each row say no more than the row once."""
    once = paired([-0.1, -0.2], spread=1.0)
    rows = Arms(*(np.repeat(arm, 4) for arm in once.rows))
    grouped = replace(once, rows=rows, units=np.repeat(once.units, 4))
    loose = replace(grouped, units=np.arange(160))
    assert asked(Bootstrap(), grouped) == pytest.approx(asked(Bootstrap(), once), abs=1e-12)
    assert asked(Bootstrap(), loose) < asked(Bootstrap(), once)


def test_the_bootstraps_smallest_p_value_and_its_fewest_rows():
    assert asked(Bootstrap(resamples=99), paired(GAIN - 50.0)) == 0.01
    with pytest.raises(DataError, match="at least 20 held-out rows or groups, but there are 10"):
        asked(Bootstrap(), paired(GAIN, units=np.repeat(np.arange(10), ROWS)))


LOSSES = st.lists(st.integers(-4, 4), min_size=0, max_size=5)


@settings(max_examples=60)
@given(seen=LOSSES, ahead=st.lists(st.integers(-9, 9), min_size=1, max_size=4))
@pytest.mark.parametrize("test", [Wilcoxon(), Sign()], ids=["wilcoxon", "sign"])
def test_no_future_beats_the_least_p_value(test, seen, ahead):
    """Whatever the folds ahead bring, zeros and ties among them, the p-value is no smaller than foretold."""
    bound = test.least_p_value(np.array(seen, dtype=float), len(ahead), enough=0.0)
    assert asked(test, paired([*map(float, seen), *map(float, ahead)])) >= bound - 1e-15


@given(seen=LOSSES, ahead=st.integers(1, 5))
def test_the_sign_tests_least_p_value_can_be_reached(seen, ahead):
    """Wilcoxon's is compared with all futures in `test_gate_stops.py`."""
    future = [-100.0 - step for step in range(ahead)]
    bound = Sign().least_p_value(np.array(seen, dtype=float), ahead, enough=0.0)
    assert asked(Sign(), paired([*map(float, seen), *future])) == pytest.approx(bound, abs=1e-15)
