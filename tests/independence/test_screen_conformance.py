"""What every screen promises."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from screen_parts import NAMES, NULLS, SCREENS, SEES_ANYTHING, dependent, null

from crda_spec.independence import Pearson, ScreenResult, Spearman
from crda_spec.seeds import stream

every_screen = pytest.mark.parametrize("screen", SCREENS, ids=NAMES)


def lines(result: ScreenResult) -> list[tuple[float, float, int, int]]:
    columns = (result.statistic, result.p_value, result.rows, result.permutations)
    return list(zip(*(column.tolist() for column in columns), strict=True))


def table(seed: int = 0, n: int = 80) -> tuple[np.ndarray, np.ndarray]:
    """Columns of every sort, some tied to the residual."""
    rng = stream(seed, "conformance")
    x, z = dependent("linear", n, 6, rng=rng)
    x[:, 1] = np.exp(x[:, 1])
    x[:, 2] = x[:, 2].round()
    x[:, 3] = x[:, 3] > 0
    x[:, 4] = 0.2 * z + x[:, 4]
    x[: n // 4, 5] = np.nan
    return x, z


@every_screen
def test_a_screen_is_a_pure_function_of_its_arguments(screen):
    x, z = table()
    before = (x.copy(), z.copy())
    first, again = (lines(screen(x, z, rng=stream(7, "screen"))) for _ in range(2))
    assert first == again
    np.testing.assert_array_equal(x, before[0])
    np.testing.assert_array_equal(z, before[1])


@every_screen
def test_neither_order_nor_company_changes_what_is_said_of_a_feature(screen):
    x, z = table()
    whole = screen(x, z, rng=stream(7, "screen"))
    turned = screen(x[:, ::-1], z, rng=stream(7, "screen"))
    alone = [screen(x[:, [j]], z, rng=stream(7, "screen")) for j in range(x.shape[1])]
    for field in ("statistic", "p_value", "rows", "permutations"):
        expected = pytest.approx(getattr(whole, field), rel=1e-6, abs=1e-12)
        assert getattr(turned, field)[::-1] == expected
        assert np.concatenate([getattr(one, field) for one in alone]) == expected


@every_screen
@pytest.mark.parametrize(("of_x", "of_z"), [(1e3, 1.0), (1e-120, 1e120), (2.0**-3, 7.0)])
def test_units_and_origins_do_not_matter(screen, of_x, of_z):
    x, z = table()
    plain = screen(x, z, rng=stream(7, "screen"))
    other = screen(x * of_x + 5.0 * of_x, z * of_z - of_z, rng=stream(7, "screen"))
    assert np.abs(other.statistic) == pytest.approx(np.abs(plain.statistic), rel=1e-6, abs=1e-9)
    assert other.p_value == pytest.approx(plain.p_value, rel=1e-5, abs=1e-12)


@every_screen
def test_missing_cells_cost_their_rows_and_no_more(screen):
    x, z = table()
    z[3] = np.nan
    x[10, 0] = np.inf
    result = screen(x, z, rng=stream(7, "screen"))
    assert result.rows.tolist() == [78, 79, 79, 79, 79, 60]
    kept = np.isfinite(x[:, 5]) & np.isfinite(z)
    alone = screen(x[kept][:, [5]], z[kept], rng=stream(7, "screen"))
    assert (alone.statistic[0], alone.p_value[0]) == pytest.approx((result.statistic[5], result.p_value[5]), rel=1e-6)


@every_screen
def test_what_cannot_be_tested_has_shown_nothing(screen):
    z = np.arange(30.0) % 7
    x = np.column_stack([np.full(30, 0.1), np.full(30, np.nan), np.full(30, 1e308), np.r_[z[:2], np.full(28, np.nan)]])
    assert lines(screen(x, z, rng=stream(1, "screen"))) == [(0, 1, 30, 0), (0, 1, 0, 0), (0, 1, 30, 0), (0, 1, 2, 0)]
    assert lines(screen(z[:, None], np.full(30, 0.7), rng=stream(1, "screen"))) == [(0, 1, 30, 0)]
    assert lines(screen(np.empty((30, 0)), z, rng=stream(1, "screen"))) == []
    assert lines(screen(np.empty((0, 1)), np.empty(0), rng=stream(1, "screen"))) == [(0, 1, 0, 0)]


@every_screen
def test_evidence_is_closed_for_writing(screen):
    result = screen(*table(), rng=stream(1, "screen"))
    for array in (result.statistic, result.p_value, result.rows, result.permutations):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1


@every_screen
@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_no_table_gives_nan_or_an_impossible_value(screen, data):
    n = data.draw(st.integers(0, 12))
    cells = st.floats() | st.sampled_from([0.0, 1.0, -1.0, 1e-320, 1e308])
    rows = data.draw(st.lists(st.tuples(cells, cells, cells), min_size=n, max_size=n))
    values = np.array(rows, dtype=np.float64).reshape(-1, 3)
    result = screen(values[:, :2], values[:, 2], rng=stream(1, "screen"))
    assert np.isfinite(result.statistic).all()
    assert ((result.p_value >= 0.0) & (result.p_value <= 1.0)).all()
    assert (result.rows == (np.isfinite(values[:, :2]) & np.isfinite(values[:, 2:])).sum(axis=0)).all()
    assert (result.permutations >= 0).all()


@every_screen
@pytest.mark.parametrize("n", [50, 200, 1000])
def test_the_level_holds(screen, n):
    """At 0.05, over normal, heavy-tailed, discrete and skewed nulls together.

    0.07 is allowed, or what a screen with a true level of 0.05 stays below in 999 of 1000 such tests, since the costly
    screens leave us few draws; `benchmarks/screens.py` measures more finely.
    """
    cost = {"pearson": 1, "spearman": 1, "hsic": 2, "distance": 4, "mutual_information": 8}[screen.kind]
    features = (100 if n < 1000 else 30) // cost
    rejected = []
    for kind in NULLS:
        for draw in range(5):
            rng = stream(11, f"level-{kind}", n, draw)
            rejected.append(screen(*null(kind, n, features, rng=rng), rng=rng).p_value <= 0.05)
    draws = np.size(rejected)
    assert np.sum(rejected) <= max(0.07 * draws, stats.binom.ppf(0.999, draws, 0.05))


@every_screen
def test_a_linear_tie_is_seen(screen):
    assert _power(screen, "linear", n=120) >= 0.9


@pytest.mark.parametrize("screen", SEES_ANYTHING, ids=lambda screen: screen.kind)
@pytest.mark.parametrize("kind", ["square", "spread"])
def test_ties_that_no_correlation_shows_are_seen(screen, kind):
    assert _power(screen, kind, n=200) >= 0.9


@pytest.mark.parametrize("screen", [Pearson(), Spearman()], ids=lambda screen: screen.kind)
def test_correlations_are_blind_to_a_changing_spread(screen):
    """Why the other screens exist."""
    assert _power(screen, "spread", n=200) <= 0.4


def _power(screen, kind: str, *, n: int) -> float:
    found = []
    for draw in range(20):
        rng = stream(13, f"power-{kind}", draw)
        x, z = dependent(kind, n, 1, rng=rng)
        found.append(screen(x, z, rng=rng).p_value[0] <= 0.05)
    return float(np.mean(found))
