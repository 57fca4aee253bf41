from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from crda_spec.records import Column
from crda_spec.report.figures import bin_edges, category_bars, fold_slopes, histograms, round_numbers, score_interval

SVG = "{http://www.w3.org/2000/svg}"
DOSE = Column(name="dose", type="continuous", unit="mg")


def parsed(text):
    root = ET.fromstring(text)  # noqa: S314 - our own output
    geometry = [
        value for node in root.iter() for key, value in node.items() if key in ("x", "y", "width", "height", "d")
    ]
    assert not re.search(r"nan|inf", " ".join(geometry))
    return root


def describe(text):
    return parsed(text).find(f"{SVG}desc").text


def test_a_histogram_says_what_it_shows():
    text = histograms(np.array([1.0, 2.0, 3.0, np.nan]), np.array([2.0, 4.0, np.inf]), DOSE)
    assert (
        describe(text)
        == "Training rows: from 1.000 to 3.000, median 2.000; synthetic rows: from 2.000 to 4.000, median 3.000"
    )
    assert parsed(text).find(f"{SVG}title").text == "dose (mg) before and after"


numbers = arrays(np.float64, st.integers(0, 30), elements=st.floats(allow_nan=True, allow_infinity=True))


@settings(deadline=None)
@given(numbers, numbers, st.sampled_from(["continuous", "integer"]))
def test_any_numbers_can_be_drawn(before, after, kind):
    """Empty, constant, missing, infinite and huge: a picture, no warning, and only finite geometry."""
    parsed(histograms(before, after, Column(name="x", type=kind)))


finite = arrays(np.float64, st.integers(1, 40), elements=st.floats(-1e9, 1e9))


@given(finite, finite, st.booleans())
def test_every_value_falls_in_a_bin(before, after, whole):
    edges = bin_edges(before, after, whole=whole)
    assert np.all(np.diff(edges) > 0)
    assert 1 <= len(edges) - 1 <= 30
    assert np.histogram(np.concatenate([before, after]), bins=edges)[0].sum() == len(before) + len(after)


def test_whole_numbers_get_a_bin_each():
    assert bin_edges(np.array([1.0, 3.0]), np.array([4.0]), whole=True).tolist() == [0.5, 1.5, 2.5, 3.5, 4.5]


@given(st.floats(-1e12, 1e12), st.floats(1e-6, 1e12))
def test_ticks_are_few_and_inside(low, span):
    ticks = round_numbers(low, low + span)
    slack = 1e-6 * max(span, abs(low))
    assert 1 <= len(ticks) <= 6
    assert all(low - slack <= tick <= low + span + slack for tick in ticks)


def test_ticks_are_round():
    assert round_numbers(0.0, 43.0) == (0.0, 10.0, 20.0, 30.0, 40.0)
    assert round_numbers(-0.3, 0.3) == pytest.approx((-0.2, 0.0, 0.2))


def test_category_bars_show_shares_of_each():
    ward = Column(name="ward", type="category", labels=("north", "south"))
    text = category_bars(np.array([0.0, 0.0, 0.0, 1.0, np.nan]), np.array([1.0, 1.0]), ward)
    assert describe(text) == "north: 75.0 % to 0.0 %; south: 25.0 % to 100.0 %"


def test_booleans_are_named():
    text = category_bars(np.array([0.0, 1.0]), np.array([1.0]), Column(name="smoker", type="boolean"))
    assert describe(text) == "false: 50.0 % to 0.0 %; true: 50.0 % to 100.0 %"


def test_rare_categories_are_counted_not_drawn():
    column = Column(name="c", type="category", labels=tuple(f"l{index}" for index in range(40)))
    text = category_bars(np.arange(40.0), np.arange(40.0), column)
    assert "c; 28 rarer values not drawn" in [node.text for node in parsed(text).iter(f"{SVG}text")]


def test_slopes_tell_better_from_worse(build):
    verdict = build("rejected").verdict
    text = fold_slopes(verdict.folds, verdict.metric)
    assert describe(text) == "The augmented model erred less in 5 of 10 folds"
    looks = [line.get("class") for line in parsed(text).iter(f"{SVG}line")]
    assert (looks.count("better"), looks.count("worse"), looks.count("mean")) == (5, 5, 1)


def test_a_falling_line_is_an_improvement(build):
    fold = build("accepted").verdict.folds[0]
    text = fold_slopes([replace(fold, plain=2.0, augmented=1.0)], "mse")
    line = next(line for line in parsed(text).iter(f"{SVG}line") if line.get("class") == "better")
    assert float(line.get("y1")) < float(line.get("y2"))


@pytest.mark.parametrize(
    "losses", [(1.0, 1.0), (0.0, 0.0), (float("nan"), 1.0), (float("inf"), 2.0)], ids=["equal", "zero", "nan", "inf"]
)
def test_odd_losses_can_be_drawn(build, losses):
    fold = build("accepted").verdict.folds[0]
    parsed(fold_slopes([replace(fold, plain=losses[0], augmented=losses[1])], "mse"))


@pytest.mark.parametrize(
    ("interval", "look"), [((-18.0, -2.0), "better"), ((-3.0, 4.0), "mean"), ((1.0, 9.0), "worse")]
)
def test_the_interval_is_coloured_by_what_it_proves(build, interval, look):
    score = replace(build("accepted").score, change_percent=sum(interval) / 2, interval_percent=interval)
    root = parsed(score_interval(score))
    assert [node.get("class") for node in root.iter(f"{SVG}circle")] == [look]


def test_the_interval_in_words(build):
    assert describe(score_interval(build("accepted").score)) == "-10.6 %, 95 % interval from -18.1 to -2.9"


def test_an_interval_of_nothing_is_refused(build):
    with pytest.raises(ValueError, match=r"^score_interval draws an interval; this score has none$"):
        score_interval(build("abstained").score)
