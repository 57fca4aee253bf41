"""Everything that can be wrong with an equation, and the whole of what is said about it."""

from __future__ import annotations

import pytest

from crda_spec.data.equations.parse import read_equations

FUNCTIONS = "known: exp, log, sqrt, abs, sin, cos, tanh, minimum, maximum, clip, where, round and 8 more"
AROUND = {"x": "normal(0, 1)", "area": "uniform(1, 2)", "soil": "choice('clay', 'loam')"}

WRONG = [
    pytest.param(
        "x + ara",
        "unknown-variable",
        "'ara' (column 5) is no variable of the equations; did you mean 'area'?",
        id="unknown variable, near one",
    ),
    pytest.param(
        "qqq",
        "unknown-variable",
        "'qqq' (column 1) is no variable of the equations; variables above: x, area, soil",
        id="unknown variable, near none",
    ),
    pytest.param(
        "2 * later",
        "later-variable",
        (
            "'later' (column 5) is defined further down, and equations are read in causal order; "
            "move 'later' above 'v', or do without it"
        ),
        id="later variable",
    ),
    pytest.param(
        "v + 1",
        "self-reference",
        "'v' (column 1) is defined by itself; a variable may use only the variables above it",
        id="self",
    ),
    pytest.param(
        "x + exp", "function-without-call", "'exp' (column 5) is a function; call it: exp(x)", id="function not called"
    ),
    pytest.param(
        "sqr(x)",
        "unknown-function",
        "'sqr' (column 1) is no function of the equation language; did you mean 'sqrt'?",
        id="unknown function, near one",
    ),
    pytest.param(
        "__import__('os')",
        "unknown-function",
        f"'__import__' (column 1) is no function of the equation language; {FUNCTIONS}",
        id="unknown function, near none",
    ),
    pytest.param(
        "ln(x)",
        "unknown-function",
        "'ln' (column 1) is no function of the equation language; did you mean 'log'?",
        id="function of other languages",
    ),
    pytest.param(
        "x(2)",
        "unknown-function",
        "'x' (column 1) is a variable, not a function; for a product write x * (...)",
        id="variable called",
    ),
    pytest.param(
        "1 + np.exp(x)",
        "equation-attribute",
        "np.exp (column 5): the dot of an attribute is not part of the equation language; write exp(...)",
        id="attribute",
    ),
    pytest.param(
        "().__class__",
        "equation-attribute",
        "().__class__ (column 1): the dot of an attribute is not part of the equation language",
        id="dunder",
    ),
    pytest.param(
        "().__class__.__bases__[0]",
        "equation-foreign",
        "().__class__.__bases__[0] (column 1): an index in brackets is not part of the equation language",
        id="dunder chain",
    ),
    pytest.param(
        "exp(x)(x)",
        "equation-foreign",
        "exp(x)(x) (column 1): this call is not part of the equation language",
        id="call of a call",
    ),
    pytest.param(
        "lambda: 1",
        "equation-foreign",
        "lambda: 1 (column 1): a lambda is not part of the equation language",
        id="lambda",
    ),
    pytest.param(
        "[i for i in (1, 2)]",
        "equation-foreign",
        "[i for i in (1, 2)] (column 1): a comprehension is not part of the equation language",
        id="comprehension",
    ),
    pytest.param(
        "1 if x else 2",
        "equation-foreign",
        ("1 if x else 2 (column 1): 'if ... else' is not part of the equation language; write where(condition, a, b)"),
        id="if else",
    ),
    pytest.param(
        "x and area",
        "equation-foreign",
        (
            "x and area (column 1): 'and' and 'or' are not part of the equation language; "
            "multiply comparisons for 'and': (x > 0) * (x < 1)"
        ),
        id="and",
    ),
    pytest.param(
        "(w := 1)",
        "equation-foreign",
        (
            "w := 1 (column 2): an assignment is not part of the equation language; "
            "give the value an equation of its own"
        ),
        id="assignment",
    ),
    pytest.param(
        "f'{x}'",
        "equation-foreign",
        "f'{x}' (column 1): an f-string is not part of the equation language; write a plain label in quotes",
        id="f-string",
    ),
    pytest.param(
        "1,5",
        "equation-foreign",
        ("1,5 (column 1): a list of values is not part of the equation language; a decimal mark is a point: 0.5"),
        id="decimal comma",
    ),
    pytest.param(
        "normal(*x)",
        "equation-foreign",
        ("*x (column 8): a starred argument is not part of the equation language; write the arguments one by one"),
        id="starred",
    ),
    pytest.param(
        "not x",
        "equation-operator",
        (
            "not x (column 1): this operator is not part of the equation language; "
            "write 1 - x, or turn the comparison round"
        ),
        id="not",
    ),
    pytest.param(
        "x ^ 2",
        "equation-operator",
        "x ^ 2 (column 1): this operator is not part of the equation language; for a power write **",
        id="caret",
    ),
    pytest.param(
        "x in area",
        "equation-operator",
        ("x in area (column 1): this operator is not part of the equation language; comparisons: == != < <= > >="),
        id="in",
    ),
    pytest.param(
        "0 < x < 1",
        "equation-operator",
        "0 < x < 1 (column 1) compares more than two values; multiply two comparisons: (0 < x) * (x < 1)",
        id="chained comparison",
    ),
    pytest.param(
        "True",
        "equation-constant",
        "True (column 1): True and False are not part of the equation language; write 1 or 0",
        id="truth",
    ),
    pytest.param(
        "1j",
        "equation-constant",
        ("1j (column 1): this constant is not part of the equation language; write a number or a quoted label"),
        id="complex number",
    ),
    pytest.param("1e999", "equation-number", "1e999 (column 1) is too large for a number", id="huge number"),
    pytest.param(
        "' '",
        "equation-label",
        "' ' (column 1): a label has 1 to 100 characters, and not only blanks",
        id="blank label",
    ),
    pytest.param(
        "normal(0, sd=1)",
        "equation-keyword",
        "normal(...) (column 1) takes no named arguments, but got sd=; call it as normal(mean, sd)",
        id="keyword",
    ),
    pytest.param(
        "normal(0)",
        "equation-arguments",
        "normal(...) (column 1) takes 2 arguments, but got 1; call it as normal(mean, sd)",
        id="too few arguments",
    ),
    pytest.param(
        "x + exp(1, 2)",
        "equation-arguments",
        "exp(...) (column 5) takes 1 argument, but got 2; call it as exp(x)",
        id="too many arguments",
    ),
    pytest.param(
        "round()",
        "equation-arguments",
        "round(...) (column 1) takes 1 or 2 arguments, but got 0; call it as round(x[, digits])",
        id="optional arguments",
    ),
    pytest.param(
        "choice('a')",
        "equation-arguments",
        "choice(...) (column 1) takes 2 or more arguments, but got 1; call it as choice('a', 'b', ...)",
        id="one choice",
    ),
    pytest.param(
        "x ** 101",
        "equation-power",
        "the exponent 101 (column 6) is beyond 100; rescale the variable, or use exp",
        id="large exponent",
    ),
    pytest.param(
        "x ** -101",
        "equation-power",
        "the exponent -101 (column 6) is beyond 100; rescale the variable, or use exp",
        id="large negative exponent",
    ),
    pytest.param(
        "9**9**9",
        "equation-power",
        "the exponent 9**9 (column 4) is a computation without variables; write its value",
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
    pytest.param(
        "  ",
        "equation-empty",
        "the equation is empty; write a draw such as normal(0, 1), or an expression of the variables above",
        id="empty",
    ),
    pytest.param(
        "x" * 2001,
        "equation-too-long",
        (
            "the equation has 2001 characters, and 2000 are allowed; "
            "split it over several variables, and hide the helpers"
        ),
        id="too long",
    ),
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
]


@pytest.mark.parametrize(("text", "code", "said"), WRONG)
def test_what_is_wrong_is_said_in_full(text: str, code: str, said: str) -> None:
    _, complaints = read_equations({**AROUND, "v": text, "later": "1"})
    path = "dataset.source.equations.v"
    assert [(complaint.code, complaint.headline()) for complaint in complaints] == [(code, f"{path}: {said}")]
