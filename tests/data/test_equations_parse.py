"""The equation language: what it accepts, and what it says about everything else."""

from __future__ import annotations

import subprocess
import sys
import time

import pytest

from crda_spec.data.equations.parse import check_hidden, parse_equations, read_equations
from crda_spec.data.equations.tree import Chain, Number, noise_names
from crda_spec.errors import Complaint, SpecError

PATH = "dataset.source.equations"
AROUND = {"x": "normal(0, 1)", "area": "uniform(1, 2)", "soil": "choice('clay', 'loam')"}
TOO_DEEP = (
    "equation-too-deep",
    "the equation is nested more than 50 levels deep; split it over several variables, and hide the helpers",
)
FUNCTIONS = "known: exp, log, sqrt, abs, sin, cos, tanh, minimum, maximum, clip, where, round and 8 more"


def complaints_about(text: str) -> list[tuple[str, str]]:
    """(code, headline without the path) of each complaint about v's equation."""
    _, complaints = read_equations({**AROUND, "v": text, "later": "1"})
    start = f"{PATH}.v: "
    assert all(complaint.headline().startswith(start) for complaint in complaints)
    return [(complaint.code, complaint.headline().removeprefix(start)) for complaint in complaints]


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("(" * 999 + "1" + ")" * 999, id="parentheses"),
        pytest.param("-" * 1999 + "x", id="signs"),
        pytest.param("x**" * 600 + "x", id="powers"),
        pytest.param("not " * 400 + "x", id="nots"),
        pytest.param("exp(" * 51 + "x" + ")" * 51, id="calls"),
    ],
)
def test_nesting_has_a_limit(text: str) -> None:
    assert complaints_about(text) == [TOO_DEEP]


@pytest.mark.parametrize(
    "text",
    [
        "__import__('os').system('true')",
        "().__class__.__bases__[0].__subclasses__()",
        "(lambda: 1)()",
        "9**9**9",
        "9**9**9**9**9**9",
        "x ** (10 ** 10)",
        "(" * 10_000 + ")" * 10_000,
        "9" * 1999,
        "lambda:" * 280 + "1",
        "[" * 500,
        "exec('import os')",
        "open('/etc/passwd')",
        "'{0.__class__}'.format(x)",
        "x.__class__.__mro__",
        "(yield)",
        "await x",
        "{**x}",
        "print(x)",
        "eval('1')",
    ],
    ids=lambda text: text[:20],
)
def test_hostile_text_is_refused_at_once(text: str) -> None:
    started = time.process_time()
    assert complaints_about(text)
    assert time.process_time() - started < 0.5


def test_all_problems_of_all_equations_are_reported_in_one_error() -> None:
    with pytest.raises(SpecError) as caught:
        parse_equations({"a": "  foo(q) + b", "b": "normal(0)", "c": "b + 1", "2d": "1", "exp": "1", "é": "ø * 2"})
    assert str(caught.value).splitlines() == [
        f"{PATH}.a: 'foo' (column 3) is no function of the equation language; {FUNCTIONS}",
        f"{PATH}.a: 'q' (column 7) is no variable of the equations; no variable stands above",
        (
            f"{PATH}.a: 'b' (column 12) is defined further down, and equations are read in causal order; "
            "move 'b' above 'a', or do without it"
        ),
        f"{PATH}.b: normal(...) (column 1) takes 2 arguments, but got 1; call it as normal(mean, sd)",
        (
            f"{PATH}.2d: '2d' cannot name a variable; use one word of letters, digits and underscores that starts with "
            "a letter and is no Python keyword"
        ),
        f"{PATH}.exp: 'exp' is the name of a function; choose another name",
        f"{PATH}.é: 'ø' (column 1) is no variable of the equations; variables above: a, b, c, 2d, exp",
        "7 problems",
    ]


@pytest.mark.parametrize("name", ["yield", "a b", "", "ﬁeld", "a.b"])
def test_a_name_that_no_equation_could_use_is_refused(name: str) -> None:
    _, complaints = read_equations({name: "1"})
    assert [complaint.what for complaint in complaints] == [f"{name!r} cannot name a variable"]


def test_columns_count_characters_not_bytes() -> None:
    _, complaints = read_equations({"größe": "normal(0, 1)", "v": "größe + größer"})
    assert complaints[0].what == "'größer' (column 9) is no variable of the equations"


def test_no_equations_at_all() -> None:
    with pytest.raises(SpecError) as caught:
        parse_equations({})
    assert str(caught.value) == f"{PATH}: there are no equations; write one for each variable, such as x: normal(0, 1)"


def test_an_equation_knows_its_parents_draws_and_values() -> None:
    parsed = parse_equations(
        {
            "soil": "choice('clay', 'loam', 'clay')",
            "wet": "bernoulli(0.3)",
            "rooms": "2 + poisson(3) * wet",
            "both": "(rooms > 2) * wet",
            "tag": "where(both, soil, 'none')",
            "price": "rooms / 2 + 3 * (soil == 'clay') + normal(rooms, 1) - where(wet, 1, exponential(2))",
            "coarse": "round(price, -1)",
            "fine": "round(price, 1)",
        }
    )
    assert [(each.name, each.parents, each.draws, each.type, each.labels) for each in parsed] == [
        ("soil", (), 1, "category", ("clay", "loam")),
        ("wet", (), 1, "boolean", ()),
        ("rooms", ("wet",), 1, "integer", ()),
        ("both", ("rooms", "wet"), 0, "boolean", ()),
        ("tag", ("both", "soil"), 0, "category", ("clay", "loam", "none")),
        ("price", ("rooms", "soil", "wet"), 2, "continuous", ()),
        ("coarse", ("price",), 0, "integer", ()),
        ("fine", ("price",), 0, "continuous", ()),
    ]


def test_a_sum_of_a_thousand_terms_is_one_level_deep() -> None:
    (equation,) = parse_equations({"v": "1+" * 999 + "1"})
    assert equation.tree == Chain(Number(1.0, True), tuple(("+", Number(1.0, True)) for _ in range(999)))


def test_a_text_of_several_lines_is_one_equation() -> None:
    one, many = parse_equations({"x": "1 + 2\n  - 3\n"}), parse_equations({"x": "1 + 2 - 3"})
    assert one[0].tree == many[0].tree


@pytest.mark.parametrize(
    ("text", "noisy"),
    [
        ("a + b + normal(0, 1)", ()),
        ("a + normal(b, 1)", ()),
        ("a - normal(0, 1 + b)", ("b",)),
        ("a * normal(0, 1) + b", ("a",)),
        ("-(a + b * uniform(0, 1))", ("b",)),
        ("exp(a + normal(0, 1)) + b", ("a",)),
        ("normal(a * normal(0, 1), b)", ("a", "b")),
        ("a + b", ()),
    ],
)
def test_what_the_noise_depends_on_is_read_off_the_equation(text: str, noisy: tuple[str, ...]) -> None:
    *_, equation = parse_equations({"a": "1", "b": "1", "y": text})
    assert noise_names(equation.tree) == noisy


def test_hidden_variables_are_checked() -> None:
    variables = ("severity", "dose", "recovery")
    assert check_hidden(variables, ("severity",), target="recovery") == ()
    assert check_hidden(variables, ("severty", "recovery"), target="recovery") == (
        Complaint(
            code="unknown-variable",
            path="dataset.source.hidden.0",
            what="'severty' is no variable of the equations",
            hint="did you mean 'severity'?",
        ),
        Complaint(
            code="hidden-target",
            path="dataset.source.hidden.1",
            what="'recovery' is the target and cannot be hidden",
            hint="take it out of hidden",
        ),
    )
    assert check_hidden(variables, ("dose", "severity"), target="recovery") == (
        Complaint(
            code="all-hidden",
            path="dataset.source.hidden",
            what="every variable but the target is hidden",
            hint="leave at least one in the table to predict from",
        ),
    )


def test_reading_needs_neither_numpy_nor_pydantic() -> None:
    code = (
        "import sys; import crda_spec.data.equations.parse, crda_spec.data.worlds; "
        "print(sorted({'numpy', 'scipy', 'pandas', 'pydantic', 'sklearn'} & set(sys.modules)))"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout == "[]\n"
