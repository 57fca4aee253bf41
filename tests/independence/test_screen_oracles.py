"""Each screen's numbers against the definition, or against another package."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats
from sklearn.feature_selection import mutual_info_regression

from crda_spec.independence import Distance, Hsic, MutualInformation, Pearson, ScreenResult, Spearman, grouped
from crda_spec.independence._protocol import shuffled_p_value
from crda_spec.independence.dependence import kernel_functions, nearest_neighbour_information
from crda_spec.seeds import stream


def pair(n: int, *, ties: bool, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = stream(seed, "pair", n)
    x = rng.normal(size=n)
    z = 0.5 * x**2 + rng.normal(size=n)
    return (x.round(), z.round(1)) if ties else (x, z)


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("n", [6, 40, 333])
def test_spearman_agrees_with_scipy(n, ties):
    x, z = pair(n, ties=ties)
    result, expected = Spearman()(x[:, None], z), stats.spearmanr(x, z)
    assert result.statistic[0] == pytest.approx(expected.statistic, abs=1e-12)
    assert result.p_value[0] == pytest.approx(expected.pvalue, rel=1e-9)


def u_centred(values: np.ndarray) -> np.ndarray:
    """Székely and Rizzo's definition, cell by cell."""
    n = len(values)
    a = np.abs(values[:, None] - values)
    rows = a.sum(axis=1)
    centred = a - rows[:, None] / (n - 2) - rows / (n - 2) + a.sum() / ((n - 1) * (n - 2))
    np.fill_diagonal(centred, 0.0)
    return centred


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("n", [6, 15, 16, 17, 32, 33, 100, 333])
def test_distance_correlation_is_the_one_of_the_definition(n, ties):
    x, z = pair(n, ties=ties)
    a, b = u_centred(x), u_centred(z)
    square = (a * b).sum() / np.sqrt((a * a).sum() * (b * b).sum())
    result = Distance(permutations=0)(x[:, None], z, rng=stream(0, "distance"))
    assert result.statistic[0] == pytest.approx(np.sqrt(max(square, 0.0)), abs=1e-6)
    assert result.p_value[0] == pytest.approx(stats.chi2.sf(max(n * square + 1.0, 0.0), 1), rel=1e-8)


def test_a_single_odd_row_has_no_distance_variance():
    x = np.zeros((30, 1))
    x[7] = 1.0
    result = Distance()(x, np.arange(30.0), rng=stream(0, "distance"))
    assert (result.statistic.tolist(), result.p_value.tolist()) == ([0.0], [1.0])


@pytest.mark.parametrize("screen", [Distance(permutations=99), Hsic(permutations=99)], ids=lambda screen: screen.kind)
def test_shuffles_decide_near_the_threshold_and_only_there(screen):
    rng = stream(3, "near")
    z = rng.normal(size=60)
    x = rng.normal(size=(60, 200))
    formula = type(screen)(permutations=0)(x, z, rng=rng).p_value
    result = screen(x, z, rng=rng)
    close = (formula >= 0.025) & (formula <= 0.1)
    assert close.sum() >= 5
    assert ((result.permutations > 0) == close).all()
    assert (result.p_value[~close] == formula[~close]).all()
    assert np.abs(result.p_value[close] - formula[close]).max() < 0.12
    assert result.permutations.max() <= 99


@pytest.mark.parametrize("ties", [False, True])
def test_hsic_is_that_of_the_full_kernels(ties):
    x, z = pair(150, ties=ties)
    n = len(x)

    def centred_kernel(values: np.ndarray) -> np.ndarray:
        distances = np.abs(values[:, None] - values)
        width = np.median(distances[np.tril_indices(n, -1)])
        kernel = np.exp(-0.5 * (distances / width) ** 2)
        return kernel - kernel.mean(axis=0) - kernel.mean(axis=1)[:, None] + kernel.mean()

    k, m = centred_kernel(x), centred_kernel(z)
    functions = kernel_functions(x)
    assert np.abs(functions @ functions.T - k).max() < 1e-4
    expected = (k * m).sum() / np.sqrt((k * k).sum() * (m * m).sum())
    assert Hsic()(x[:, None], z, rng=stream(0, "hsic")).statistic[0] == pytest.approx(expected, rel=1e-4)


@pytest.mark.parametrize("k", [3, 10])
@pytest.mark.parametrize("discrete", [False, True])
def test_mutual_information_agrees_with_scikit_learn(k, discrete):
    """scikit-learn uses the same estimator for numbers, and Ross's (2014) for a feature with few values."""
    rng = stream(5, "information")
    x = rng.normal(size=300)
    z = np.abs(x) + 0.3 * rng.normal(size=300)
    x = (x > 0.5).astype(float) if discrete else x
    [expected] = mutual_info_regression(x[:, None], z, discrete_features=discrete, n_neighbors=k, random_state=0)
    assert nearest_neighbour_information(x, z, k) == pytest.approx(expected, abs=1e-6)


def test_mutual_information_of_two_discrete_columns_is_that_of_their_table():
    rng = stream(6, "information")
    x = rng.integers(0, 3, size=3000).astype(float)
    z = np.where(rng.uniform(size=3000) < 0.5, x, rng.integers(0, 3, size=3000)).astype(float)
    joint = np.histogram2d(x, z, bins=3)[0] / 3000
    expected = (joint * np.log(joint / joint.sum(axis=0) / joint.sum(axis=1)[:, None])).sum()
    assert nearest_neighbour_information(x, z, 10) == pytest.approx(expected, abs=0.005)


def test_a_plainly_independent_feature_needs_few_shuffles():
    rng = stream(8, "information")
    z = rng.normal(size=60)
    x = np.column_stack([z, rng.normal(size=(60, 9))])
    result = MutualInformation(permutations=99)(x, z, rng=rng)
    assert (result.permutations[0], result.p_value[0]) == (99, 0.01)
    early = result.permutations < 99
    assert early.sum() >= 6
    assert result.p_value[early] == pytest.approx(9 / result.permutations[early])


def test_p_values_from_shuffles_keep_their_level_although_they_stop_early():
    """Draws stand in for shuffled statistics: under the null they and the observed one come from one distribution."""
    rng = stream(9, "sequential")
    observed = rng.normal(size=20_000)
    p, used = shuffled_p_value(
        observed, lambda orders, which: rng.normal(size=(len(orders), len(which))), seed=1, n=2, most=99, enough=10
    )
    for alpha in (0.01, 0.05, 0.2, 0.5):
        assert np.mean(p <= alpha) <= alpha + 3.5 * np.sqrt(alpha * (1 - alpha) / 20_000)
    assert np.mean(p <= 0.05) >= 0.045
    assert used.mean() < 50
    assert used.max() == 99


def test_statistics_that_equal_the_observed_one_count_as_reaching_it():
    def barely_less(orders: np.ndarray, which: np.ndarray) -> np.ndarray:
        return np.full((len(orders), len(which)), 0.3 * (1 - 1e-15))

    p, used = shuffled_p_value(np.array([0.3]), barely_less, seed=1, n=5, most=19, enough=50)
    assert (p.tolist(), used.tolist()) == ([1.0], [19])


def test_a_category_is_judged_by_its_strongest_label_and_their_number():
    columns = ScreenResult(
        np.array([0.1, -0.4, 0.2, 0.05]),
        np.array([0.5, 0.02, 0.3, 0.6]),
        np.array([9, 8, 7, 6]),
        np.array([1, 2, 3, 4]),
    )
    result = grouped(columns, np.array([0, 0, 0, 2]), 3)
    assert result.statistic.tolist() == [-0.4, 0.0, 0.05]
    assert result.p_value.tolist() == [pytest.approx(0.06), 1.0, 0.6]
    assert result.rows.tolist() == [8, 0, 6]
    assert result.permutations.tolist() == [6, 0, 4]


def test_grouping_single_columns_changes_nothing():
    x, z = pair(50, ties=False)
    plain = Pearson()(x[:, None], z)
    same = grouped(plain, np.array([0]), 1)
    assert (same.statistic[0], same.p_value[0], same.rows[0]) == (plain.statistic[0], plain.p_value[0], 50)
