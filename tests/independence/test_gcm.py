from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from threadpoolctl import threadpool_limits

from crda_spec.independence import Gcm
from crda_spec.independence.gcm import design, normal_scores, terms_of
from crda_spec.records import Column, ColumnType, Table

RUNS = 80
# At a level of 0.05, 80 runs reject more than 10 times with probability 0.002.
MOST_REJECTED = 10


@pytest.fixture(autouse=True)
def one_thread():
    """As in a run: several threads on small matrices only stand in each other's way."""
    with threadpool_limits(limits=1):
        yield


def gcm_of(*values, types: tuple[ColumnType, ...] = (), groups=None) -> Gcm:
    x = np.column_stack(values).astype(np.float64)
    kinds = types or ("continuous",) * x.shape[1]
    columns = [Column(name=f"c{k}", type=kind) for k, kind in enumerate(kinds)]
    return Gcm.of(x, columns, groups)


def curve(s, rng):
    """A random sum of straight, bent, humped and waving curves of the columns of s."""
    shapes = (lambda v: v, lambda v: 1.5 * np.tanh(2 * v), lambda v: 0.7 * v**2, lambda v: np.sin(2 * v))
    return sum(rng.choice([-1, 1]) * shapes[rng.integers(4)](s[:, k]) for k in range(s.shape[1])) + np.zeros(len(s))


def additive(n, held, rng):
    s = rng.normal(size=(n, held))
    return curve(s, rng) + rng.normal(size=n), curve(s, rng) + rng.normal(size=n), s, ()


def heteroscedastic(n, held, rng):
    s = rng.normal(size=(n, held))
    spread = np.exp(0.5 * s[:, 0])
    return (*(curve(s, rng) + spread * rng.normal(size=n) for _ in range(2)), s, ())


def multiplicative(n, held, rng):
    s = rng.normal(size=(n, held))
    return (*(np.exp(0.5 * s.sum(axis=1) + 0.5 * rng.normal(size=n)) for _ in range(2)), s, ())


def mixed(n, held, rng):
    """A number and a count, given numbers, a category, a truth value and a count."""
    kinds = (["category", "continuous", "boolean", "integer"] * 2)[:held]
    s = rng.normal(size=(n, held))
    for k, kind in enumerate(kinds):
        if kind == "category":
            s[:, k] = np.digitize(s[:, k], [-0.5, 0.5])
        elif kind == "boolean":
            s[:, k] = s[:, k] > 0
        elif kind == "integer":
            s[:, k] = rng.poisson(2.0, size=n)
    pull = curve(s - s.mean(axis=0), rng)
    count = rng.poisson(np.exp(np.clip(0.4 * pull, -2, 2)))
    return pull + rng.normal(size=n), count, s, ("continuous", "integer", *kinds)


def labels(n, held, rng):
    s = rng.normal(size=(n, held))
    a, b = (np.argmax(np.stack([curve(s, rng) for _ in range(3)]) + rng.gumbel(size=(3, n)), axis=0) for _ in range(2))
    return a, b, s, ("category", "category", *("continuous",) * held)


@pytest.mark.parametrize("world", [additive, heteroscedastic, multiplicative, mixed, labels])
@pytest.mark.parametrize(("rows", "held"), [(100, 1), (100, 4), (400, 2), (800, 6)])
def test_the_level_holds(world, rows, held):
    rng = np.random.default_rng([rows, held])
    rejected = 0
    for _ in range(RUNS):
        a, b, s, types = world(rows, held, rng)
        _, p = gcm_of(a, b, s, types=types).test(0, 1, range(2, 2 + held))
        rejected += p <= 0.05
    assert rejected <= MOST_REJECTED


@pytest.mark.parametrize(
    "effect",
    [
        pytest.param(lambda a, _: 0.5 * a, id="straight"),
        pytest.param(lambda a, _: 0.5 * a**2, id="squared"),
        pytest.param(lambda a, _: np.tanh(3 * a), id="saturating"),
        pytest.param(lambda a, _: np.where(np.abs(a) > 1, 1.0, 0.0), id="step"),
        pytest.param(lambda a, rng: a * rng.normal(size=len(a)), id="spread"),
    ],
)
@pytest.mark.parametrize("held", [0, 3])
def test_dependence_beyond_the_given_columns_is_found(effect, held):
    rng = np.random.default_rng(7)
    found = 0
    for _ in range(20):
        s = rng.normal(size=(500, held))
        a = curve(s, rng) * 0.5 + rng.normal(size=500)
        b = curve(s, rng) * 0.5 + effect(a, rng) + 0.7 * rng.normal(size=500)
        found += gcm_of(a, b, s).test(0, 1, range(2, 2 + held))[1] <= 0.01
    assert found >= 18


def test_a_wave_is_found_where_nothing_is_held_fixed():
    rng = np.random.default_rng(0)
    a = rng.normal(size=500)
    assert gcm_of(a, np.sin(2 * a) + rng.normal(size=500)).test(0, 1)[1] < 1e-4


@pytest.mark.parametrize("types", [("category", "continuous"), ("boolean", "category"), ("category", "category")])
def test_dependence_between_labels_is_found(types):
    rng = np.random.default_rng(3)
    s = rng.normal(size=600)
    a = np.digitize(s + rng.normal(size=600), [-0.7, 0.7] if types[0] == "category" else [0.0])
    b = a + s + rng.normal(size=600)
    if types[1] == "category":
        b = np.digitize(b, [0.0, 1.5])
    assert gcm_of(a, b, s, types=(*types, "continuous")).test(0, 1, [2])[1] < 1e-4


def test_without_given_columns_and_with_normal_ends_it_is_nearly_the_correlation_test():
    rng = np.random.default_rng(0)
    a = rng.normal(size=4000)
    b = 0.05 * a + rng.normal(size=4000)
    statistic, p = gcm_of(a, b).test(0, 1)
    oracle = stats.pearsonr(a, b)
    assert statistic == pytest.approx(abs(oracle.statistic) * np.sqrt(4000), rel=0.05)
    assert p == pytest.approx(4 * oracle.pvalue, rel=0.5)  # four combinations of guises


@settings(max_examples=25)
@given(seed=st.integers(0, 2**32 - 1))
def test_an_answer_depends_neither_on_order_nor_on_company(seed):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(60, 5)) @ rng.normal(size=(5, 5))
    x[rng.random(x.shape) < 0.02] = np.nan
    gcm = gcm_of(x)
    alone = gcm.test(0, 1, (2, 4))
    assert gcm.test(1, 0, (4, 2)) == alone
    results = gcm.tests([(3, 1, (2, 4)), (0, 2, ()), (1, 0, (4, 2)), (0, 3, (2, 4))])
    assert (results[2].statistic, results[2].p_value) == alone
    assert 0.0 <= min(result.p_value for result in results) <= max(result.p_value for result in results) <= 1.0


def test_rows_with_a_missing_cell_are_left_out_where_they_matter():
    rng = np.random.default_rng(1)
    x = rng.normal(size=(200, 4))
    holes = x.copy()
    holes[:50, 2] = np.nan
    whole, cut = gcm_of(x).tests([(0, 1, (3,))])[0], gcm_of(holes).tests([(0, 1, (3,)), (0, 1, (2,))])
    assert (cut[0].rows, cut[1].rows) == (200, 150)
    assert cut[0] == whole


@pytest.mark.parametrize(
    "end",
    [
        pytest.param(np.full(100, 3.0), id="constant"),
        pytest.param(np.full(100, np.nan), id="missing"),
        pytest.param(np.arange(100.0), id="determined-by-the-given"),
    ],
)
def test_where_nothing_is_left_nothing_is_seen(end):
    other = np.random.default_rng(0).normal(size=100)
    assert gcm_of(end, other, np.arange(100.0)).test(0, 1, [2]) == (0.0, 1.0)


def test_few_rows_say_nothing():
    x = np.arange(19.0)
    assert gcm_of(x, x).tests([(0, 1, ())])[0].p_value == 1.0
    # Even equal columns: no mean of squares is farther from 0 than sqrt(n / kurtosis) of its own standard errors, here
    # 2.9, and Bonferroni's factor is 4. That is the measure's nature, not a loss on the way.
    assert 0.01 < gcm_of(np.arange(20.0), np.arange(20.0)).test(0, 1)[1] < 0.06
    assert gcm_of(np.arange(40.0), np.arange(40.0)).test(0, 1)[1] < 0.002


def test_duplicate_constant_and_huge_given_columns_do_no_harm():
    rng = np.random.default_rng(5)
    s = rng.normal(size=300)
    a, b = s + rng.normal(size=300), s + rng.normal(size=300)
    clean = gcm_of(a, b, s).test(0, 1, [2])
    odd = gcm_of(a * 1e200, b * 1e-200, s * 1e150, s, np.zeros(300)).test(0, 1, [2, 3, 4])
    assert clean[1] > 0.05
    assert odd[1] > 0.05
    assert gcm_of(a, b, s).test(0, 1)[1] < 1e-6


def test_rows_of_a_group_count_once():
    rng = np.random.default_rng(2)
    groups = np.repeat(np.arange(40), 25)
    rejected = {"rows": 0, "groups": 0}
    for _ in range(60):
        a, b = (np.repeat(rng.normal(size=40), 25) + 0.3 * rng.normal(size=1000) for _ in range(2))
        rejected["rows"] += gcm_of(a, b).test(0, 1)[1] <= 0.05
        rejected["groups"] += gcm_of(a, b, groups=groups).test(0, 1)[1] <= 0.05
    assert rejected["rows"] >= 40
    assert rejected["groups"] <= 9


def test_a_table_is_read_in_the_order_of_names():
    table = Table(
        features=(Column(name="b", type="continuous"), Column(name="d", type="category")),
        target=Column(name="c", type="continuous"),
        row_ids=np.arange(3),
        x=np.array([[1.0, 0.0], [2.0, 1.0], [4.0, 0.0]]),
        y=np.array([7.0, 8.0, 10.0]),
    )
    gcm = Gcm.of_table(table)
    assert gcm.names == ("b", "c", "d")
    assert [terms.is_numeric for terms in gcm.terms] == [True, True, False]


def test_equal_values_share_their_score():
    scores = normal_scores(np.array([5.0, 1.0, 5.0, 9.0]))
    assert scores == pytest.approx(stats.norm.ppf([0.5, 0.125, 0.5, 0.875]))


@pytest.mark.parametrize(
    ("rows", "held", "columns"),
    [
        pytest.param(1000, 2, 5 + 5 + 4, id="rich"),
        pytest.param(60, 3, 3 * 5 + 3, id="plainer-products"),
        pytest.param(50, 3, 3 * 3 + 3, id="plainer-splines-make-room-for-products"),
        pytest.param(30, 4, 4 + 6, id="straight-lines-and-products"),
        pytest.param(30, 10, 10, id="straight-lines"),
        pytest.param(30, 40, 40, id="more-columns-than-rows"),
    ],
)
def test_the_basis_grows_with_the_rows(rows, held, columns):
    x = np.random.default_rng(0).normal(size=(rows, held))
    terms = [terms_of(x[:, k], is_numeric=True) for k in range(held)]
    assert design(terms, None, rows).shape == (rows, columns)


def test_more_given_columns_than_rows_can_bear_still_give_an_answer():
    x = np.random.default_rng(0).normal(size=(30, 42))
    statistic, p = gcm_of(x).test(0, 1, range(2, 42))
    assert np.isfinite(statistic)
    assert 0.0 <= p <= 1.0


def test_rare_labels_are_taken_together():
    codes = np.array([0.0] * 50 + [1.0] * 30 + [2.0] * 3 + [3.0] * 2)
    assert terms_of(codes, is_numeric=False).ends.sum(axis=0).tolist() == [30.0, 5.0]
