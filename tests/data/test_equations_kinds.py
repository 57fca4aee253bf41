"""Numbers, labels and draws that are mixed up, and the whole of what is said about it."""

from __future__ import annotations

import pytest

from crda_spec.data.equations.parse import read_equations

AROUND = {"x": "normal(0, 1)", "area": "uniform(1, 2)", "soil": "choice('clay', 'loam')"}

WRONG = [
    pytest.param(
        "1 + soil",
        "label-as-number",
        "'soil' (column 5) is a category, and + needs a number; compare it with a label: (x == 'a')",
        id="label in a sum",
    ),
    pytest.param(
        "exp('a')",
        "label-as-number",
        ("the label 'a' (column 5) is a category, and exp(...) needs a number; compare it with a label: (x == 'a')"),
        id="label in a function",
    ),
    pytest.param(
        "-choice('a', 'b')",
        "label-as-number",
        "choice(...) (column 2) is a category, and - needs a number; compare it with a label: (x == 'a')",
        id="negative label",
    ),
    pytest.param(
        "soil == 1",
        "label-as-number",
        (
            "'soil' (column 1) == the number 1 (column 9) compares a label with a number; "
            "compare a category with a quoted label"
        ),
        id="label against number",
    ),
    pytest.param(
        "soil < 'loam'",
        "label-order",
        ("'soil' (column 1) < the label 'loam' (column 8) asks for an order, and labels have none; use == or !="),
        id="order of labels",
    ),
    pytest.param(
        "soil == 'lome'",
        "unknown-label",
        "the label 'lome' (column 9) is never equal to 'soil' (column 1); did you mean 'loam'?",
        id="label that never occurs",
    ),
    pytest.param(
        "choice(1, 2)",
        "choice-labels",
        "choice(...) (column 1) takes quoted labels only; for whole numbers use integers(low, high)",
        id="number as a choice",
    ),
    pytest.param(
        "where(x, 1, 2)",
        "where-condition",
        "the condition of where(...) (column 1) is no comparison; write one, such as x > 0",
        id="condition that is none",
    ),
    pytest.param(
        "where(x > 0, 'a', 2)",
        "label-as-number",
        ("where(...) (column 1) chooses between a label and a number; make both of them labels, or both numbers"),
        id="label or number",
    ),
    pytest.param(
        "round(x, area)",
        "round-digits",
        ("the digits of round(...) (column 1) must be a whole number from -12 to 12; write it out: round(x, 2)"),
        id="digits that vary",
    ),
    pytest.param(
        "normal(0, -1)",
        "draw-argument",
        "normal(...) (column 1): sd must be at least 0, but got -1; call it as normal(mean, sd)",
        id="negative sd",
    ),
    pytest.param(
        "bernoulli(1.5)",
        "draw-argument",
        "bernoulli(...) (column 1): p must be in [0, 1], but got 1.5; call it as bernoulli(p)",
        id="probability",
    ),
    pytest.param(
        "integers(0.5, 3)",
        "draw-argument",
        "integers(...) (column 1): low must be a whole number, but got 0.5; call it as integers(low, high)",
        id="half integers",
    ),
    pytest.param(
        "uniform(2, -1)",
        "draw-argument",
        "uniform(...) (column 1): low <= high must hold, but got low=2, high=-1; swap them",
        id="low above high",
    ),
]


@pytest.mark.parametrize(("text", "code", "said"), WRONG)
def test_what_is_mixed_up_is_said_in_full(text: str, code: str, said: str) -> None:
    _, complaints = read_equations({**AROUND, "v": text, "later": "1"})
    path = "dataset.source.equations.v"
    assert [(complaint.code, complaint.headline()) for complaint in complaints] == [(code, f"{path}: {said}")]
