from __future__ import annotations

import math
import unicodedata
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crda_spec.records import VerdictReason
from crda_spec.report.words.numbers import (
    REASON_WORDS,
    change,
    count,
    in_unit,
    listed,
    number,
    p_value,
    percent,
    setting,
    share,
    shorten,
    shown,
)


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (0.0, "0"),
        (1.1, "1.100"),
        (9.99996, "10.00"),
        (12345.678, "12346"),
        (999999.4, "999999"),
        (1234567.0, "1.235e+06"),
        (-0.000123456, "-0.0001235"),
        (1e-9, "1.000e-09"),
        (math.inf, "inf"),
        (-math.inf, "-inf"),
        (math.nan, "n/a"),
    ],
)
def test_number_has_four_significant_digits(value, written):
    assert number(value) == written


@given(st.floats(min_value=-1e6, max_value=1e6, allow_nan=False))
def test_number_is_within_half_a_unit_of_the_fourth_digit(value):
    assert math.isclose(float(number(value)), value, rel_tol=5.01e-4, abs_tol=0.0)


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (-10.5993, "-10.6"),
        (3.0, "+3.0"),
        (0.81, "+0.8"),
        (0.0412, "+0.04"),
        (-0.001, "0.0"),
        (0.0, "0.0"),
        (123456.0, "+1.235e+05"),
        (math.nan, "n/a"),
    ],
)
def test_percent_is_signed(value, written):
    assert percent(value) == written


@pytest.mark.parametrize(("value", "written"), [(0.03125, "p = 0.03125"), (1.0, "p = 1.000"), (3e-7, "p < 0.0001")])
def test_p_value(value, written):
    assert p_value(value) == written


def test_change_of_nothing_is_unknown():
    assert change(2.0, 1.5) == -25.0
    assert change(0.0, 1.5) is None


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("plain", "plain"),
        ("größe 数量", "größe 数量"),
        ("a\nb\tc\r", "a\\nb\\tc\\r"),
        ("\x1b[31m", "\\u001b[31m"),
        ("x\u202ey\u2066", "x\\u202ey\\u2066"),
        ("\ud800", "\\ud800"),
        ("\U000e0001", "\\U000e0001"),
        ("می\u200cشود", "می\u200cشود"),
    ],
)
def test_unseen_characters_become_visible(text, written):
    assert shown(text) == written


@given(st.text())
def test_what_is_shown_can_be_encoded_and_holds_no_control_character(text):
    cleaned = shown(text)
    cleaned.encode("utf-8")
    assert not [letter for letter in cleaned if unicodedata.category(letter) in ("Cc", "Cs", "Zl", "Zp")]
    assert shown(cleaned) == cleaned


def test_shown_keeps_what_it_is_told_to():
    assert shown("a\n\tb\x00", keep="\n\t") == "a\n\tb\\u0000"


@given(st.text(), st.integers(min_value=8, max_value=40))
def test_shorten_never_exceeds_the_width_and_leaves_short_text_alone(text, width):
    cut = shorten(text, width)
    assert len(cut) <= width
    assert cut == text if len(text) <= width else (len(cut) == width and cut[0] == text[0] and cut[-1] == text[-1])


def test_small_words():
    assert (count(1, "row"), count(0, "row"), count(2, "row")) == ("1 row", "0 rows", "2 rows")
    assert [listed(tuple("abcdefgh"[:n])) for n in (1, 2, 3, 8)] == [
        "a",
        "a and b",
        "a, b and c",
        "a, b, c, d, e, f and 2 more",
    ]
    assert (in_unit("dose", "mg"), in_unit("dose", None)) == ("dose (mg)", "dose")
    assert [setting(value) for value in (1.0, 0.25, 1e-5)] == ["1", "0.25", "1e-05"]


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (0.0, "0 %"),
        (0.00001, "less than 0.01 %"),
        (0.0431, "4.3 %"),
        (0.0996, "10 %"),
        (0.2209, "22 %"),
        (1.0, "100 %"),
        (math.nan, "n/a"),
    ],
)
def test_a_share_has_two_digits_that_count(value, written):
    assert share(value) == written


def test_every_reason_of_a_verdict_has_its_words():
    assert set(REASON_WORDS) == set(get_args(VerdictReason))
