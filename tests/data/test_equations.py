"""The equation language: what it accepts, and the whole of what it says about everything else."""

from __future__ import annotations

import subprocess
import sys
import time

import pytest

from crda_spec.data.equations import read_equations

PATH = "dataset.source.equations"
ABOVE = {"x": "normal(0, 1)", "area": "uniform(1, 2)", "soil": "choice('clay', 'loam')"}
FUNCTIONS = "known: exp, log, sqrt, sin, cos, tanh, abs, minimum, maximum, clip, where, round and 8 more"
LANGUAGE = "use + - * / **, one of == != < <= > >=, the functions and the draws"
CONSTANT = "write a finite number (1 or 0 for true or false), or a label of up to 100 characters"
FOREIGN = "is not part of the equation language"
TOO_LARGE = (
    "the equation has more than 2000 characters, or is nested more than 50 levels deep; "
    "split it over several variables, and hide the helpers"
)


def complaints_about(text: str) -> list[tuple[str, str]]:
    """(code, headline without the path) of each complaint about v's equation."""
    _, complaints = read_equations({**ABOVE, "v": text, "later": "1"})
    start = f"{PATH}.v: "
    assert all(complaint.headline().startswith(start) for complaint in complaints)
    return [(complaint.code, complaint.headline().removeprefix(start)) for complaint in complaints]


WRONG = [
    pytest.param(
        "x + ara",
        "unknown-variable",
        "ara (column 5) is no variable of the equations; did you mean 'area'?",
        id="unknown variable, near one",
    ),
    pytest.param(
        "qqq",
        "unknown-variable",
        "qqq (column 1) is no variable of the equations; variables above: x, area, soil",
        id="unknown variable, near none",
    ),
    pytest.param(
        "2 * later",
        "later-variable",
        (
            "later (column 5) is defined further down, and equations are read in causal order; "
            "use only variables above 'v'"
        ),
        id="later variable",
    ),
    pytest.param(
        "v + 1", "later-variable", "v (column 1) is defined by itself; use only variables above 'v'", id="self"
    ),
    pytest.param(
        "x + exp",
        "unknown-variable",
        "exp (column 5) is no variable of the equations; call the function: exp(x)",
        id="function not called",
    ),
    pytest.param(
        "sqr(x)",
        "unknown-function",
        "sqr (column 1) is no function of the equation language; did you mean 'sqrt'?",
        id="unknown function, near one",
    ),
    pytest.param(
        "__import__('os')",
        "unknown-function",
        f"__import__ (column 1) is no function of the equation language; {FUNCTIONS}",
        id="unknown function, near none",
    ),
    pytest.param(
        "ln(x)",
        "unknown-function",
        "ln (column 1) is no function of the equation language; did you mean 'log'?",
        id="function of other languages",
    ),
    pytest.param(
        "x(2)",
        "unknown-function",
        "x (column 1) is no function of the equation language; for a product write x * (...)",
        id="variable called",
    ),
    pytest.param(
        "1 + np.exp(x)", "equation-foreign", f"np.exp(x) (column 5) {FOREIGN}; write exp(...)", id="attribute"
    ),
    pytest.param("().__class__", "equation-foreign", f"().__class__ (column 1) {FOREIGN}; {LANGUAGE}", id="dunder"),
    pytest.param(
        "().__class__.__bases__[0]",
        "equation-foreign",
        f"().__class__.__bases__[0] (column 1) {FOREIGN}; {LANGUAGE}",
        id="dunder chain",
    ),
    pytest.param("exp(x)(x)", "equation-foreign", f"exp(x)(x) (column 1) {FOREIGN}; {LANGUAGE}", id="call of a call"),
    pytest.param("lambda: 1", "equation-foreign", f"lambda: 1 (column 1) {FOREIGN}; {LANGUAGE}", id="lambda"),
    pytest.param(
        "[i for i in (1, 2)]",
        "equation-foreign",
        f"[i for i in (1, 2)] (column 1) {FOREIGN}; {LANGUAGE}",
        id="comprehension",
    ),
    pytest.param(
        "1 if x else 2",
        "equation-foreign",
        f"1 if x else 2 (column 1) {FOREIGN}; write where(condition, a, b)",
        id="if else",
    ),
    pytest.param(
        "x and area",
        "equation-foreign",
        f"x and area (column 1) {FOREIGN}; multiply comparisons for 'and': (x > 0) * (x < 1)",
        id="and",
    ),
    pytest.param(
        "(w := 1)",
        "equation-foreign",
        f"w := 1 (column 2) {FOREIGN}; give the value an equation of its own",
        id="assignment",
    ),
    pytest.param(
        "f'{x}'", "equation-foreign", f"f'{{x}}' (column 1) {FOREIGN}; write a plain label in quotes", id="f-string"
    ),
    pytest.param(
        "1,5", "equation-foreign", f"1,5 (column 1) {FOREIGN}; a decimal mark is a point: 0.5", id="decimal comma"
    ),
    pytest.param(
        "normal(*x)",
        "equation-arguments",
        "normal(*x) (column 1) has other arguments than normal takes; call it as normal(mean, sd)",
        id="starred",
    ),
    pytest.param(
        "not x", "equation-foreign", f"not x (column 1) {FOREIGN}; write 1 - x, or turn the comparison round", id="not"
    ),
    pytest.param("x ^ 2", "equation-foreign", f"x ^ 2 (column 1) {FOREIGN}; for a power write **", id="caret"),
    pytest.param("x in area", "equation-foreign", f"x in area (column 1) {FOREIGN}; {LANGUAGE}", id="in"),
    pytest.param(
        "0 < x < 1",
        "equation-foreign",
        f"0 < x < 1 (column 1) {FOREIGN}; multiply two comparisons: (0 < x) * (x < 1)",
        id="chained comparison",
    ),
    pytest.param(
        "True",
        "equation-foreign",
        f"True (column 1) {FOREIGN}; {CONSTANT}",
        id="truth",
    ),
    pytest.param(
        "1j",
        "equation-foreign",
        f"1j (column 1) {FOREIGN}; {CONSTANT}",
        id="complex number",
    ),
    pytest.param(
        "1e999",
        "equation-foreign",
        f"1e999 (column 1) {FOREIGN}; {CONSTANT}",
        id="huge number",
    ),
    pytest.param(
        "' '",
        "equation-foreign",
        f"' ' (column 1) {FOREIGN}; {CONSTANT}",
        id="blank label",
    ),
    pytest.param(
        "normal(0, sd=1)",
        "equation-arguments",
        "normal(0, sd=1) (column 1) has other arguments than normal takes; call it as normal(mean, sd)",
        id="keyword",
    ),
    pytest.param(
        "normal(0)",
        "equation-arguments",
        "normal(0) (column 1) has other arguments than normal takes; call it as normal(mean, sd)",
        id="too few arguments",
    ),
    pytest.param(
        "x + exp(1, 2)",
        "equation-arguments",
        "exp(1, 2) (column 5) has other arguments than exp takes; call it as exp(x)",
        id="too many arguments",
    ),
    pytest.param(
        "round()",
        "equation-arguments",
        "round() (column 1) has other arguments than round takes; call it as round(x[, digits])",
        id="optional arguments",
    ),
    pytest.param(
        "choice('a')",
        "equation-arguments",
        "choice('a') (column 1) has other arguments than choice takes; call it as choice('a', 'b', ...)",
        id="one choice",
    ),
    pytest.param(
        "x ** 101",
        "equation-power",
        "101 (column 6) is an exponent beyond 100; rescale the variable, or use exp",
        id="large exponent",
    ),
    pytest.param(
        "x ** -101",
        "equation-power",
        "-101 (column 6) is an exponent beyond 100; rescale the variable, or use exp",
        id="large negative exponent",
    ),
    pytest.param(
        "9**9**9",
        "equation-power",
        "9**9 (column 4) is an exponent beyond 100; rescale the variable, or use exp",
        id="power tower",
    ),
    pytest.param(
        "2 * * x",
        "equation-syntax",
        "'2 * * x' cannot be read at column 5; write it like 2 * x + normal(0, 1)",
        id="syntax",
    ),
    pytest.param(
        "   x = 1",
        "equation-syntax",
        "'x = 1' cannot be read at column 6; write it like 2 * x + normal(0, 1)",
        id="syntax after blanks",
    ),
    pytest.param(
        "x; x",
        "equation-syntax",
        "'x; x' cannot be read at column 2; write it like 2 * x + normal(0, 1)",
        id="two statements",
    ),
    pytest.param("  ", "equation-syntax", "'' cannot be read; write it like 2 * x + normal(0, 1)", id="empty"),
    pytest.param("x" * 2001, "equation-too-large", f"{TOO_LARGE}", id="too long"),
    pytest.param(
        "x # note",
        "equation-character",
        "'#' (column 3) cannot stand in an equation; put comments on YAML lines of their own",
        id="comment",
    ),
    pytest.param(
        "'\\x41'", "equation-character", "'\\\\' (column 2) cannot stand in an equation; take it out", id="escape"
    ),
    pytest.param(
        "x\x00", "equation-character", "'\\x00' (column 2) cannot stand in an equation; take it out", id="null byte"
    ),
    pytest.param(
        "\ud800",
        "equation-character",
        "'\\ud800' (column 1) cannot stand in an equation; take it out",
        id="lone surrogate",
    ),
    pytest.param(
        "1 + soil",
        "label-as-number",
        "soil (column 5) is a category, and + needs a number; compare it with a label: (x == 'a')",
        id="label in a sum",
    ),
    pytest.param(
        "exp('a')",
        "label-as-number",
        "'a' (column 5) is a category, and exp(...) needs a number; compare it with a label: (x == 'a')",
        id="label in a function",
    ),
    pytest.param(
        "-choice('a', 'b')",
        "label-as-number",
        "choice('a', 'b') (column 2) is a category, and - needs a number; compare it with a label: (x == 'a')",
        id="negative label",
    ),
    pytest.param(
        "soil == 1",
        "label-as-number",
        "soil == 1 (column 1) compares a label with a number; compare a category with a quoted label",
        id="label against number",
    ),
    pytest.param(
        "soil < 'loam'",
        "label-order",
        "soil < 'loam' (column 1) asks for an order, and labels have none; use == or !=",
        id="order of labels",
    ),
    pytest.param(
        "soil == 'lome'",
        "unknown-label",
        "soil == 'lome' (column 1) compares labels that are never equal; did you mean 'loam'?",
        id="label that never occurs",
    ),
    pytest.param(
        "choice(1, 2)",
        "choice-labels",
        "choice(1, 2) (column 1) takes quoted labels only; for whole numbers use integers(low, high)",
        id="number as a choice",
    ),
    pytest.param(
        "where(x, 1, 2)",
        "where-condition",
        "x (column 7) is no condition; write a comparison, such as x > 0",
        id="condition that is none",
    ),
    pytest.param(
        "where(x > 0, 'a', 2)",
        "label-as-number",
        (
            "where(x > 0, 'a', 2) (column 1) chooses between a label and a number; "
            "make both of them labels, or both numbers"
        ),
        id="label or number",
    ),
    pytest.param(
        "round(x, area)",
        "round-digits",
        "area (column 10) is no whole number of digits from -12 to 12; write it out: round(x, 2)",
        id="digits that vary",
    ),
    pytest.param(
        "normal(0, -1)",
        "draw-argument",
        "normal(0, -1) (column 1): sd must be a finite number in [0, inf], but got -1; call it as normal(mean, sd)",
        id="negative sd",
    ),
    pytest.param(
        "bernoulli(1.5)",
        "draw-argument",
        "bernoulli(1.5) (column 1): p must be a finite number in [0, 1], but got 1.5; call it as bernoulli(p)",
        id="probability",
    ),
    pytest.param(
        "integers(0.5, 3)",
        "draw-argument",
        (
            "integers(0.5, 3) (column 1): low must be a whole number in [-4.5036e+15, 4.5036e+15], but got 0.5; "
            "call it as integers(low, high)"
        ),
        id="half integers",
    ),
    pytest.param(
        "uniform(2, -1)",
        "draw-argument",
        "uniform(2, -1) (column 1): low <= high must hold, but got 2 and -1; call it as uniform(low, high)",
        id="low above high",
    ),
]


@pytest.mark.parametrize(("text", "code", "said"), WRONG)
def test_what_is_wrong_is_said_in_full(text: str, code: str, said: str) -> None:
    assert complaints_about(text) == [(code, said)]


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("(" * 999 + "1" + ")" * 999, id="parentheses"),
        pytest.param("-" * 1999 + "x", id="signs"),
        pytest.param("x**" * 600 + "x", id="powers"),
        pytest.param("exp(" * 51 + "x" + ")" * 51, id="calls"),
    ],
)
def test_nesting_has_a_limit(text: str) -> None:
    assert complaints_about(text) == [("equation-too-large", TOO_LARGE)]


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
        "not " * 400 + "x",
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


def test_all_problems_of_all_equations_are_found() -> None:
    _, complaints = read_equations(
        {"a": "  foo(q) + b", "b": "normal(0)", "c": "b + 1", "2d": "1", "exp": "1", "é": "ø * 2 + 'a'"}
    )
    naming = "use one word of letters, digits and underscores that is no function and no Python keyword"
    order = "is defined further down, and equations are read in causal order; use only variables above 'a'"
    assert [complaint.headline() for complaint in complaints] == [
        f"{PATH}.a: q (column 7) is no variable of the equations; no variable stands above",
        f"{PATH}.a: foo (column 3) is no function of the equation language; {FUNCTIONS}",
        f"{PATH}.a: b (column 12) {order}",
        f"{PATH}.b: normal(0) (column 1) has other arguments than normal takes; call it as normal(mean, sd)",
        f"{PATH}.2d: '2d' cannot name a variable; {naming}",
        f"{PATH}.exp: 'exp' cannot name a variable; {naming}",
        f"{PATH}.é: ø (column 1) is no variable of the equations; variables above: a, b, c, 2d, exp",
        f"{PATH}.é: 'a' (column 9) is a category, and + needs a number; compare it with a label: (x == 'a')",
    ]


@pytest.mark.parametrize("name", ["yield", "a b", "", "ﬁeld", "a.b"])
def test_a_name_that_no_equation_could_use_is_refused(name: str) -> None:
    _, complaints = read_equations({name: "1"})
    assert [complaint.what for complaint in complaints] == [f"{name!r} cannot name a variable"]


def test_columns_count_characters_not_bytes() -> None:
    _, complaints = read_equations({"größe": "normal(0, 1)", "v": "größe + größer"})
    assert complaints[0].what == "größer (column 9) is no variable of the equations"


def test_no_equations_at_all() -> None:
    parsed, (complaint,) = read_equations({})
    assert parsed == ()
    assert complaint.headline() == (
        f"{PATH}: there are no equations; write one for each variable, such as x: normal(0, 1)"
    )


def test_an_equation_knows_its_parents_draws_and_values() -> None:
    parsed, complaints = read_equations(
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
    assert complaints == ()
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


def test_a_broken_variable_is_reported_once_and_what_follows_is_still_checked() -> None:
    parsed, complaints = read_equations({"a": "nope", "b": "exp(a)", "c": "b + 'x'"})
    assert [each.name for each in parsed] == ["b"]
    assert [complaint.path for complaint in complaints] == [f"{PATH}.a", f"{PATH}.c"]


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
    (*_, equation), _ = read_equations({"a": "1", "b": "1", "y": text})
    assert equation.noise_parents == noisy


def test_reading_needs_no_library_heavier_than_numpy() -> None:
    code = (
        "import sys; from crda_spec.data.worlds import WORLDS; "
        "print(sorted({'scipy', 'pandas', 'sklearn', 'networkx', 'pyarrow'} & set(sys.modules)))"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout == "[]\n"
