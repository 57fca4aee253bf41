"""Equations compute what numpy computes, and draws are monotone functions of one uniform number."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from crda_spec.data.equations import DRAWS, evaluate, read_equations, uniforms
from crda_spec.errors import DataError

X = np.array([-1.5, -0.25, 0.0, 0.75, 2.0, 3.5])
A = np.array([0.5, 1.0, 1.5, 2.0, 2.5, 3.0])
K = np.array([3, 1, 4, 1, 5, 9])
B = np.array([True, False, True, True, False, False])
SOIL = np.array(["clay", "loam", "loam", "sand", "clay", "sand"], dtype=object)
VALUES = {"x": X, "a": A, "k": K, "b": B, "soil": SOIL}
ABOVE = {
    "x": "normal(0, 1)",
    "a": "uniform(0, 1)",
    "k": "integers(0, 9)",
    "b": "bernoulli(0.5)",
    "soil": "choice('clay', 'loam', 'sand')",
}


def compute(text: str) -> Any:
    (*_, equation), complaints = read_equations({**ABOVE, "v": text})
    assert complaints == ()
    return evaluate(equation, VALUES, [np.full(6, 0.5)] * equation.draws, rows=6)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1 + 2 * 3", np.full(6, 7)),
        ("1 + 2\n  - 3\n", np.full(6, 0)),
        ("1+" * 999 + "1", np.full(6, 1000)),
        ("7 - 2 - 1", np.full(6, 4)),
        ("8 / 4 / 2", np.full(6, 1.0)),
        ("2 ** 3", np.full(6, 8.0)),
        ("-x ** 2", -(X**2)),
        ("(-x) ** 2", X**2),
        ("+x", X),
        ("a ** -0.5", A**-0.5),
        ("2 ** x", 2**X),
        ("x * a - x / a + k", X * A - X / A + K),
        ("exp(x) + log(a) + sqrt(a)", np.exp(X) + np.log(A) + np.sqrt(A)),
        ("sin(x) * cos(x) - tanh(x)", np.sin(X) * np.cos(X) - np.tanh(X)),
        ("abs(x)", np.abs(X)),
        ("minimum(x, a) + maximum(x, 1)", np.minimum(X, A) + np.maximum(X, 1)),
        ("clip(x, -1, a)", np.minimum(np.maximum(X, -1), A)),
        ("round(x)", np.round(X).astype(np.int64)),
        ("round(10 * x, -1)", np.round(10 * X, -1).astype(np.int64)),
        ("round(x, 1)", np.round(X, 1)),
        ("x > 0", X > 0),
        ("(x >= 0) * (a <= 2)", (X >= 0) & (A <= 2)),
        ("x != 0", X != 0),
        ("3 < k", K > 3),
        ("k + b", K + B),
        ("-b", -B.astype(np.int64)),
        ("2.5 * b", 2.5 * B),
        ("where(b, x, a)", np.where(B, X, A)),
        ("where(x > 0, log(x), 0)", np.array([0, 0, 0, np.log(0.75), np.log(2.0), np.log(3.5)])),
        ("soil == 'loam'", SOIL == "loam"),
        ("'loam' != soil", SOIL != "loam"),
        ("2 * (soil == 'clay') + 3 * (soil == 'sand')", 2 * (SOIL == "clay") + 3 * (SOIL == "sand")),
        ("where(soil == 'loam', 'good soil', soil)", np.where(SOIL == "loam", "good soil", SOIL)),
        ("where(x > 0, 'up', 'down')", np.where(X > 0, "up", "down").astype(object)),
        ("'one'", np.full(6, "one", dtype=object)),
        ("1_000 + 0x10", np.full(6, 1016)),
        ("normal(x, a)", X),
        ("lognormal(x, a)", np.exp(X)),
        ("uniform(x, x + 2)", X + 1.0),
        ("exponential(a)", A * np.log(2)),
        ("bernoulli(0.5) * 1", np.ones(6, dtype=np.int64)),
        ("integers(k, k + 2)", K + 1),
        ("normal(normal(x, 1), exponential(1))", X),
    ],
)
def test_an_equation_computes_what_numpy_computes(text: str, expected: Any) -> None:
    found = compute(text)
    assert found.dtype == expected.dtype
    if found.dtype == np.float64:
        np.testing.assert_allclose(found, expected, rtol=1e-15, atol=1e-15)
    else:
        assert found.tolist() == expected.tolist()


Pair = tuple[str, Callable[[], Any]]


def _binary(pair: tuple[Pair, str, Pair]) -> Pair:
    (left, f), operator, (right, g) = pair
    functions: dict[str, Callable[[Any, Any], Any]] = {
        "+": np.add,
        "-": np.subtract,
        "*": np.multiply,
        "/": np.divide,
        "<": lambda p, q: np.less(p, q).astype(float),
    }
    return f"({left} {operator} {right})", lambda: functions[operator](f(), g())


def _unary(pair: tuple[str, Pair]) -> Pair:
    name, (inner, f) = pair
    functions: dict[str, Callable[[Any], Any]] = {"tanh": np.tanh, "-": np.negative, "abs": np.abs, "cos": np.cos}
    return f"{name}({inner})", lambda: functions[name](f())


def _leaf(value: float) -> Pair:
    negative = np.signbit(value)  # of -0.0 too: 1 / -0.0 is not 1 / 0.0
    return (f"(-{abs(value)!r})" if negative else repr(value)), lambda: np.float64(value)


leaves = st.one_of(
    st.floats(-9, 9, allow_nan=False, allow_subnormal=False).map(_leaf),
    st.sampled_from([("x", lambda: X), ("a", lambda: A), ("k", lambda: K.astype(float))]),
)
expressions = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from("+-*/<"), inner).map(_binary),
        st.tuples(st.sampled_from(["tanh", "-", "abs", "cos"]), inner).map(_unary),
    ),
    max_leaves=12,
)


@given(expressions)
@settings(deadline=None)
def test_any_expression_computes_what_numpy_computes(pair: Pair) -> None:
    text, direct = pair
    with np.errstate(all="ignore"):
        expected = np.broadcast_to(direct(), 6)
    if np.isfinite(expected).all():
        np.testing.assert_array_equal(compute(text + " + 0.0").astype(float), expected)
    else:
        with pytest.raises(DataError, match="the value must be a finite number, but got "):
            compute(text + " + 0.0")


IN_RANGE = "keep it in range with clip, minimum, maximum or abs"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("log(x)", f"the value must be a finite number, but got nan in 3 of 6 rows, first row 1; {IN_RANGE}"),
        ("1 / (k - 4)", f"the value must be a finite number, but got inf in row 3; {IN_RANGE}"),
        (
            "round(k * 1e16)",
            f"the value must be a whole number up to 2**53, but got 3e+16 in 6 of 6 rows, first row 1; {IN_RANGE}",
        ),
        (
            "normal(0, x)",
            "normal(0, x) (column 1): sd must be a finite number in [0, inf], "
            "but got -1.5 in 2 of 6 rows, first row 1; " + IN_RANGE,
        ),
        (
            "1 + bernoulli(a)",
            "bernoulli(a) (column 5): p must be a finite number in [0, 1], "
            "but got 1.5 in 4 of 6 rows, first row 3; " + IN_RANGE,
        ),
        (
            "exponential(1 / x)",
            "exponential(1 / x) (column 1): scale must be a finite number in [0, inf], "
            "but got -0.666667 in 3 of 6 rows, first row 1; " + IN_RANGE,
        ),
        (
            "normal(1 / x, 1)",
            "normal(1 / x, 1) (column 1): mean must be a finite number, but got inf in row 3; " + IN_RANGE,
        ),
        (
            "uniform(x, a)",
            "uniform(x, a) (column 1): low <= high must hold, but got 3.5 and 3 in row 6; " + IN_RANGE,
        ),
        (
            "integers(0, a)",
            "integers(0, a) (column 1): high must be a whole number in [-4.5036e+15, 4.5036e+15], "
            "but got 0.5 in 3 of 6 rows, first row 1; " + IN_RANGE,
        ),
    ],
)
def test_rows_without_a_value_are_named(text: str, said: str) -> None:
    with pytest.raises(DataError) as caught:
        compute(text)
    assert str(caught.value) == f"dataset.source.equations.v: {said}"


def test_a_computation_that_goes_wrong_warns_nobody() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert compute("where(x > 0, log(x), 1 / exp(x))").shape == (6,)


ROWS = 4000


def drawn(text: str, *, rows: int = ROWS, seed: int = 5) -> Any:
    (equation,), _ = read_equations({"v": text})
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
    (count,) = DRAWS["poisson"].compute(np.array([u]), np.array([rate]))
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


@pytest.mark.parametrize("name", ARGUMENTS)
@given(pair=st.tuples(st.floats(2.0**-54, 1 - 2.0**-53), st.floats(2.0**-54, 1 - 2.0**-53)))
@settings(deadline=None)
def test_a_draw_never_falls_when_its_uniform_grows(name: str, pair: tuple[float, float]) -> None:
    u = np.array(sorted(pair))
    low, high = DRAWS[name].compute(u, *(np.full(2, value) for value in ARGUMENTS[name]))
    assert np.isfinite([low, high]).all()
    assert low <= high


@pytest.mark.parametrize("u", [2.0**-54, 1 - 2.0**-53])
def test_the_ends_of_the_unit_interval_stay_in_range(u: float) -> None:
    ends = np.array([u])
    assert DRAWS["choice"].compute(ends, "a", "b", "c")[0] == ("a" if u < 0.5 else "c")
    assert DRAWS["integers"].compute(ends, np.array([1.0]), np.array([6.0]))[0] == (1 if u < 0.5 else 6)
    assert DRAWS["bernoulli"].compute(ends, np.array([0.0]))[0] == 0
    assert DRAWS["bernoulli"].compute(ends, np.array([1.0]))[0] == 1


@given(small=st.integers(0, 40), more=st.integers(0, 40), seed=st.integers(0, 2**32 - 1))
@settings(deadline=None)
def test_the_first_rows_of_a_larger_draw_are_the_smaller_draw(small: int, more: int, seed: int) -> None:
    for less, full in zip(
        uniforms("v", 2, rows=small, seed=seed), uniforms("v", 2, rows=small + more, seed=seed), strict=True
    ):
        np.testing.assert_array_equal(less, full[:small])
