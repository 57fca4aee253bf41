"""Draws follow their distributions, and are monotone functions of one uniform number."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from crda_spec.data.equations.draws import INVERSES, choose, uniforms
from crda_spec.data.equations.evaluate import evaluate
from crda_spec.data.equations.parse import parse_equations

ROWS = 4000


def drawn(text: str, *, rows: int = ROWS, seed: int = 5) -> Any:
    (equation,) = parse_equations({"v": text})
    return evaluate(equation, {}, uniforms("v", equation.draws, rows=rows, seed=seed), rows=rows)


@pytest.mark.parametrize(
    ("text", "law"),
    [
        ("normal(2, 3)", stats.norm(2, 3)),
        ("uniform(-1, 4)", stats.uniform(-1, 5)),
        ("exponential(2.5)", stats.expon(scale=2.5)),
        ("lognormal(0.5, 0.8)", stats.lognorm(0.8, scale=np.exp(0.5))),
        ("normal(0, 1) + normal(0, 1)", stats.norm(0, np.sqrt(2))),
    ],
)
def test_a_continuous_draw_follows_its_distribution(text: str, law: Any) -> None:
    assert stats.kstest(drawn(text), law.cdf).pvalue > 0.01


@pytest.mark.parametrize(
    ("text", "law", "dtype"),
    [
        ("poisson(0.7)", stats.poisson(0.7), np.int64),
        ("poisson(6)", stats.poisson(6), np.int64),
        ("integers(-2, 3)", stats.randint(-2, 4), np.int64),
        ("bernoulli(0.3)", stats.bernoulli(0.3), np.bool_),
    ],
)
def test_a_discrete_draw_follows_its_distribution(text: str, law: Any, dtype: type) -> None:
    found = drawn(text)
    assert found.dtype == dtype
    low, high = int(law.ppf(0.005)), int(law.ppf(0.995))
    inner = np.arange(low, high)
    expected = np.array([*law.pmf(inner), 1 - law.pmf(inner).sum()]) * ROWS
    counts = np.array([(found == value).sum() for value in inner])
    assert stats.chisquare([*counts, ROWS - counts.sum()], expected).pvalue > 0.01


def test_a_choice_is_as_likely_as_it_is_often_listed() -> None:
    found = drawn("choice('a', 'b', 'b')")
    counts = [(found == "a").sum(), (found == "b").sum()]
    assert stats.chisquare(counts, [ROWS / 3, 2 * ROWS / 3]).pvalue > 0.01


def test_draws_of_one_equation_are_independent() -> None:
    first, second = uniforms("v", 2, rows=ROWS, seed=0)
    assert stats.pearsonr(first, second).pvalue > 0.01


@given(u=st.floats(2.0**-54, 1 - 2.0**-53), rate=st.floats(0, 1e6, allow_subnormal=False))
@settings(deadline=None)
def test_poisson_is_the_smallest_count_that_reaches_u(u: float, rate: float) -> None:
    (count,) = INVERSES["poisson"](np.array([u]), np.array([rate]))
    law = stats.poisson(rate)
    assert law.cdf(count) >= u
    assert count == 0 or law.cdf(count - 1) < u


ARGUMENTS = {
    "normal": (0.3, 2.0),
    "uniform": (-1.0, 4.0),
    "exponential": (2.0,),
    "lognormal": (0.1, 0.4),
    "bernoulli": (0.3,),
    "poisson": (3.0,),
    "integers": (-2.0, 5.0),
}


@pytest.mark.parametrize("name", INVERSES)
@given(pair=st.tuples(st.floats(2.0**-54, 1 - 2.0**-53), st.floats(2.0**-54, 1 - 2.0**-53)))
@settings(deadline=None)
def test_a_draw_never_falls_when_its_uniform_grows(name: str, pair: tuple[float, float]) -> None:
    u = np.array(sorted(pair))
    low, high = INVERSES[name](u, *(np.full(2, value) for value in ARGUMENTS[name]))
    assert np.isfinite([low, high]).all()
    assert low <= high


@pytest.mark.parametrize("u", [2.0**-54, 1 - 2.0**-53])
def test_the_ends_of_the_unit_interval_stay_in_range(u: float) -> None:
    ends = np.array([u])
    assert choose(ends, ("a", "b", "c"))[0] == ("a" if u < 0.5 else "c")
    assert INVERSES["integers"](ends, np.array([1.0]), np.array([6.0]))[0] == (1 if u < 0.5 else 6)
    assert INVERSES["bernoulli"](ends, np.array([0.0]))[0] == 0
    assert INVERSES["bernoulli"](ends, np.array([1.0]))[0] == 1


@given(small=st.integers(0, 40), more=st.integers(0, 40), seed=st.integers(0, 2**32 - 1))
@settings(deadline=None)
def test_the_first_rows_of_a_larger_draw_are_the_smaller_draw(small: int, more: int, seed: int) -> None:
    for less, full in zip(
        uniforms("v", 2, rows=small, seed=seed), uniforms("v", 2, rows=small + more, seed=seed), strict=True
    ):
        np.testing.assert_array_equal(less, full[:small])
