from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from crda_spec.independence import Pearson, correlation_matrix, fisher_z


@pytest.mark.parametrize("n", [3, 4, 10, 300])
@pytest.mark.parametrize("scale", [1.0, 1e-200, 1e200])
def test_pearson_agrees_with_scipy(n, scale):
    rng = np.random.default_rng(n)
    z = rng.normal(size=n)
    x = np.column_stack([rng.normal(size=n), z + rng.normal(size=n), -z, z + 1e-5 * rng.normal(size=n), np.exp(z)])
    result = Pearson()(x * scale, z)
    for j in range(x.shape[1]):
        expected = stats.pearsonr(x[:, j], z)
        assert result.statistic[j] == pytest.approx(expected.statistic, abs=1e-10)
        assert result.p_value[j] == pytest.approx(expected.pvalue, abs=1e-10)


def test_small_p_values_keep_their_relative_precision():
    rng = np.random.default_rng(1)
    z = rng.normal(size=200)
    x = z[:, None] + rng.normal(size=(200, 3)) * [0.3, 0.6, 1.0]
    expected = [stats.pearsonr(x[:, j], z).pvalue for j in range(3)]
    assert max(expected) < 1e-10
    assert Pearson()(x, z).p_value == pytest.approx(expected, rel=1e-6, abs=0.0)


def test_a_large_offset_costs_no_more_than_it_must():
    rng = np.random.default_rng(2)
    z = rng.normal(size=50)
    x = (z + rng.normal(size=50))[:, None]
    assert Pearson()(x + 1e6, z).statistic == pytest.approx(Pearson()(x, z).statistic, abs=1e-9)


def test_constants_and_few_rows_show_nothing():
    z = np.array([0.3, -1.0, 2.0, 0.1])
    x = np.column_stack([np.full(4, 0.1), np.zeros(4), np.full(4, 1e308)])
    result = Pearson()(x, z)
    assert result.statistic.tolist() == [0.0, 0.0, 0.0]
    assert result.p_value.tolist() == [1.0, 1.0, 1.0]
    many = np.full((1001, 3), [0.1, -0.7, 1e-310])
    many[::3, 1] = np.nan
    assert Pearson()(many, np.arange(1001.0)).statistic.tolist() == [0.0, 0.0, 0.0]
    result = Pearson()(z[:, None], np.full(4, 0.7))
    assert (result.statistic.tolist(), result.p_value.tolist()) == ([0.0], [1.0])
    for n in (0, 1, 2):
        result = Pearson()(np.column_stack([z, -z])[:n], z[:n])
        assert result.statistic.tolist() == [0.0, 0.0]
        assert result.p_value.tolist() == [1.0, 1.0]


def test_no_feature_gives_an_empty_result():
    result = Pearson()(np.zeros((5, 0)), np.arange(5.0))
    assert result.statistic.shape == result.p_value.shape == (0,)


def test_missing_values_leave_out_their_rows_for_that_feature_only():
    rng = np.random.default_rng(4)
    z = rng.normal(size=40)
    x = z[:, None] + rng.normal(size=(40, 3))
    x[:10, 0] = np.nan
    x[:, 2] = np.nan
    x[5, 2], z[39] = 1.0, np.nan
    result = Pearson()(x, z)
    assert result.statistic[0] == pytest.approx(stats.pearsonr(x[10:39, 0], z[10:39]).statistic, abs=1e-12)
    assert result.p_value[1] == pytest.approx(stats.pearsonr(x[:39, 1], z[:39]).pvalue, abs=1e-12)
    assert (result.statistic[2], result.p_value[2]) == (0.0, 1.0)


@settings(max_examples=150, deadline=None)
@given(
    st.lists(
        st.tuples(st.floats(), st.floats(allow_nan=False, allow_infinity=False), st.floats()), min_size=0, max_size=8
    )
)
def test_no_input_gives_nan_or_an_impossible_value(rows):
    data = np.array(rows, dtype=np.float64).reshape(-1, 3)
    result = Pearson()(data[:, :2], data[:, 2])
    assert (np.abs(result.statistic) <= 1.0).all()
    assert ((result.p_value >= 0.0) & (result.p_value <= 1.0)).all()
    matrix, n = correlation_matrix(data)
    assert (np.abs(matrix) <= 1.0).all()
    assert (matrix == matrix.T).all()
    assert (np.diag(matrix) == 1.0).all()
    assert n == np.isfinite(data).all(axis=1).sum()


def test_results_are_closed_for_writing():
    result = Pearson()(np.eye(4), np.arange(4.0))
    with pytest.raises(ValueError, match="read-only"):
        result.statistic[0] = 1.0


def test_the_level_of_the_screen_holds():
    rng = np.random.default_rng(5)
    p = Pearson()(rng.normal(size=(25, 4000)), rng.normal(size=25)).p_value
    assert stats.kstest(p, "uniform").pvalue > 0.01


def test_the_correlation_matrix_agrees_with_numpy_and_knows_its_rows():
    rng = np.random.default_rng(6)
    x = rng.normal(size=(60, 5)) @ rng.normal(size=(5, 5))
    matrix, n = correlation_matrix(x)
    assert n == 60
    assert matrix == pytest.approx(np.corrcoef(x.T), abs=1e-12)
    x[3, 2] = np.nan
    matrix, n = correlation_matrix(x)
    assert n == 59
    assert matrix == pytest.approx(np.corrcoef(np.delete(x, 3, axis=0).T), abs=1e-12)


def test_a_constant_correlates_with_nothing():
    x = np.column_stack([np.arange(9.0), np.full(9, 0.1)])
    assert correlation_matrix(x)[0].tolist() == [[1.0, 0.0], [0.0, 1.0]]


def test_fisher_z_is_the_normal_test_of_the_transformed_correlation():
    r = np.array([-0.3, 0.0, 0.1, 0.9])
    expected = 2 * stats.norm.sf(np.abs(np.arctanh(r)) * np.sqrt(50 - 2 - 3))
    assert fisher_z(r, 50, 2) == pytest.approx(expected, rel=1e-10)


def test_fisher_z_keeps_a_link_that_cannot_be_tested():
    assert fisher_z(np.array([0.0, 0.5]), 5, 2).tolist() == [0.0, 0.0]
    p = fisher_z(np.array([np.nan, 1.0, -1.0, 1.5]), 100, 0)
    assert p[0] == 0.0
    assert (p < 1e-100).all()
