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
from crda_spec.report.figures import (
    Change,
    bin_edges,
    changes_figure,
    feature_figure,
    gate_figure,
    round_numbers,
    score_figure,
)
from crda_spec.report.svg import LIGHT

SVG = "{http://www.w3.org/2000/svg}"
DOSE = Column(name="dose", type="continuous", unit="mg")
DAYS = Column(name="recovery", type="continuous", unit="days")


def parsed(picture):
    root = ET.fromstring(picture.svg)  # noqa: S314 - our own output
    geometry = [
        value for node in root.iter() for key, value in node.items() if key in ("x", "y", "width", "height", "d")
    ]
    assert not re.search(r"nan|inf", " ".join(geometry))
    return root


def describe(picture):
    return parsed(picture).find(f"{SVG}desc").text


def test_a_histogram_says_what_it_shows():
    picture = feature_figure(np.array([1.0, 2.0, 3.0, np.nan]), np.array([2.0, 4.0, np.inf]), DOSE)
    assert (
        describe(picture)
        == "Training rows: from 1.000 to 3.000, median 2.000; synthetic rows: from 2.000 to 4.000, median 3.000"
    )
    assert parsed(picture).find(f"{SVG}title").text == "dose (mg) before and after"


numbers = arrays(np.float64, st.integers(0, 30), elements=st.floats(allow_nan=True, allow_infinity=True))


@settings(deadline=None)
@given(numbers, numbers, st.sampled_from(["continuous", "integer"]))
def test_any_numbers_can_be_drawn(before, after, kind):
    """Empty, constant, missing, infinite and huge: a picture, no warning, and only finite geometry."""
    parsed(feature_figure(before, after, Column(name="x", type=kind)))


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
    picture = feature_figure(np.array([0.0, 0.0, 0.0, 1.0, np.nan]), np.array([1.0, 1.0]), ward)
    assert describe(picture) == "north: 75.0 % to 0.0 %; south: 25.0 % to 100.0 %"


def test_booleans_are_named():
    picture = feature_figure(np.array([0.0, 1.0]), np.array([1.0]), Column(name="smoker", type="boolean"))
    assert describe(picture) == "false: 50.0 % to 0.0 %; true: 50.0 % to 100.0 %"


def test_rare_categories_are_counted_not_drawn():
    column = Column(name="c", type="category", labels=tuple(f"l{index}" for index in range(40)))
    picture = feature_figure(np.arange(40.0), np.arange(40.0), column)
    assert "c, % of rows; 28 rarer values not drawn" in [node.text for node in parsed(picture).iter(f"{SVG}text")]


def test_slopes_tell_better_from_worse(build):
    verdict = build("rejected").verdict
    picture = gate_figure(verdict.folds, verdict.metric, DAYS)
    assert describe(picture) == "The augmented model erred less in 5 of 10 folds"
    (axes,) = picture.figure.axes
    looks = [(line.get_color(), line.get_linestyle()) for line in axes.lines]
    assert looks.count((LIGHT["sky"], "-")) == looks.count((LIGHT["orange"], "--")) == 5
    assert looks[-1] == (LIGHT["ink"], "-")
    assert {text.get_text() for text in picture.figure.legends[0].texts} == {"helped", "did not help", "mean"}


def test_a_falling_line_is_an_improvement(build):
    fold = build("accepted").verdict.folds[0]
    root = parsed(gate_figure([replace(fold, plain=2.0, augmented=1.0)], "mse", DAYS))
    (group,) = (one for one in root.iter(f"{SVG}g") if one.find(f"{SVG}title").text.startswith("fold"))
    assert group.find(f"{SVG}title").text == f"fold {fold.fold}: 2.000 to 1.000"
    line = group.find(f"{SVG}path")
    (_, left), (_, right) = (map(float, pair.split()) for pair in re.findall(r"[\d.]+ [\d.]+", line.get("d")))
    assert left < right
    assert line.get("stroke") == LIGHT["sky"]


@pytest.mark.parametrize(
    "losses", [(1.0, 1.0), (0.0, 0.0), (float("nan"), 1.0), (float("inf"), 2.0)], ids=["equal", "zero", "nan", "inf"]
)
def test_odd_losses_can_be_drawn(build, losses):
    fold = build("accepted").verdict.folds[0]
    parsed(gate_figure([replace(fold, plain=losses[0], augmented=losses[1])], "mse", DAYS))


@pytest.mark.parametrize(("interval", "look"), [((-18.0, -2.0), "sky"), ((-3.0, 4.0), "ink"), ((1.0, 9.0), "orange")])
def test_the_interval_is_coloured_by_what_it_proves(build, interval, look):
    score = replace(build("accepted").score, change_percent=sum(interval) / 2, interval_percent=interval)
    (axes,) = score_figure(score).figure.axes
    _, bar, dot = axes.lines
    assert bar.get_color() == dot.get_color() == LIGHT[look]
    assert list(bar.get_xdata()) == list(interval)


def test_the_interval_in_words(build):
    assert describe(score_figure(build("accepted").score)) == "-10.6 %, 95 % interval from -18.1 to -2.9"


def test_a_change_of_nothing_is_refused(build):
    with pytest.raises(ValueError, match=r"^a run without an augmented model has no such figure$"):
        score_figure(build("abstained").score)


def test_a_run_without_a_change_keeps_its_line():
    changes = [Change("first", -3.0, (-5.0, -1.0)), Change("second", None, None), Change("third", 2.0, None)]
    picture = changes_figure(changes, title="Changes", metric="mse")
    assert describe(picture) == "first: -3.0 % (-5.0 to -1.0); second: nothing to compare; third: +2.0 %"
    (axes,) = picture.figure.axes
    assert [tick.get_text() for tick in axes.get_yticklabels()] == ["first", "second", "third"]
    assert "nothing to compare" in [text.get_text() for text in axes.texts]
    assert axes.get_xlabel() == "change of the test MSE, %"


def test_colours_follow_the_page(build):
    """Each colour of the palette is an attribute, for viewers that know no more, and a rule that the page steers."""
    verdict = build("rejected").verdict
    text = gate_figure(verdict.folds, verdict.metric, DAYS).svg
    for name, colour in LIGHT.items():
        for kind in ("fill", "stroke"):
            used = f'{kind}="{colour}"' in re.sub(r"<style>.*</style>", "", text)
            assert (f'.crda-figure [{kind}="{colour}"]{{{kind}:var(--{name})}}' in text) == used
    drawn = set(re.findall(r'(?:fill|stroke)="(#\w+)"', text))
    assert drawn <= set(LIGHT.values())
    assert len(set(LIGHT.values())) == len(LIGHT), "a colour tells its name"
