"""The map of a hidden cause: the curve is where the gain is used up, and the points stand where their numbers say."""

from __future__ import annotations

import math
import re
import xml.etree.ElementTree as ET
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crda_spec.records import FeatureSensitivity
from crda_spec.report.figure_sensitivity import sensitivity_map
from crda_spec.scm.sensitivity import robustness_at, used_up_at, uses_up_the_gain

SVG = "{http://www.w3.org/2000/svg}"
DOSE = FeatureSensitivity(
    name="dose",
    robustness=robustness_at(0.06),
    limit=0.06,
    moved_sd=1.0,
    remaining_sd=1.0,
    observed="age",
    observed_with_feature=0.1,
    observed_with_target=0.3,
)


def parsed(text):
    root = ET.fromstring(text)  # noqa: S314 - our own output
    geometry = [value for node in root.iter() for key, value in node.items() if key in ("x", "y", "cx", "cy", "d")]
    assert not re.search(r"nan|inf", " ".join(geometry))
    return root


def frame(root):
    rect = next(node for node in root.iter(f"{SVG}rect") if node.get("class") == "axis frame")
    return tuple(float(rect.get(key)) for key in ("x", "y", "width", "height"))


def points(path):
    return [tuple(map(float, pair.split())) for pair in re.findall(r"[-\d.]+ [-\d.]+", path.get("d"))]


def end_of(root):
    """The largest tick: where both axes end."""
    return max(float(node.text) for node in root.iter(f"{SVG}text") if re.fullmatch(r"[\d.]+", node.text)) / 100


def curve(root, look="used"):
    """The curve in partial R^2, not in pixels."""
    left, top, width, height = frame(root)
    path = next(node for node in root.iter(f"{SVG}path") if node.get("class") == look and "L" in node.get("d"))
    end = end_of(root)
    return [(end * (x - left) / width, end * (top + height - y) / height) for x, y in points(path)]


@pytest.mark.parametrize("limit", [1e-4, 0.06, 0.5, 3.0])
def test_the_curve_is_where_the_gain_is_used_up(limit):
    root = parsed(sensitivity_map(replace(DOSE, limit=limit, robustness=robustness_at(limit)), "y"))
    found = curve(root)
    assert len(found) > 20
    for x, y in found:
        # Pixels are rounded to a tenth, which a steep curve multiplies in one direction but not in the other.
        aside, above = x - limit / (limit + y), y - used_up_at(limit, x) if x > 0 else 1.0
        assert min(abs(aside), abs(above)) <= 0.001 * end_of(root)


def test_the_dot_is_on_the_curve_and_the_diamond_where_it_was_measured():
    root = parsed(sensitivity_map(DOSE, "y"))
    left, top, width, height = frame(root)
    end = end_of(root)
    dot = next(node for node in root.iter(f"{SVG}circle") if node.get("class") == "mean")
    r = DOSE.robustness
    assert float(dot.get("cx")) == pytest.approx(left + r / end * width, abs=0.1)
    assert float(dot.get("cy")) == pytest.approx(top + height - r / end * height, abs=0.1)
    diamond = next(node for node in root.iter(f"{SVG}path") if node.get("class") == "better")
    x, y = points(diamond)[0]
    assert (x, y + 7) == pytest.approx((left + 0.1 / end * width, top + height - 0.3 / end * height), abs=0.1)


@given(st.floats(1e-9, 1e9), st.floats(0, 1), st.floats(0, 1))
def test_any_finite_limit_can_be_drawn_inside_its_frame(limit, with_feature, with_target):
    feature = replace(
        DOSE,
        limit=limit,
        robustness=robustness_at(limit),
        observed_with_feature=with_feature,
        observed_with_target=with_target,
    )
    root = parsed(sensitivity_map(feature, "y"))
    left, top, width, height = frame(root)
    for path in (
        node for node in root.iter(f"{SVG}path") if node.get("class") in ("used", "over") and "L" in node.get("d")
    ):
        for x, y in points(path):
            assert left - 0.1 <= x <= left + width + 0.1
            assert top - 0.1 <= y <= top + height + 0.1


def test_the_picture_in_words():
    desc = parsed(sensitivity_map(DOSE, "recovery")).find(f"{SVG}desc").text
    assert desc == (
        "The gain is used up when a hidden cause explains 22 % of each; age explains 10 % of dose and 30 % of recovery"
    )
    alone = replace(DOSE, observed="", observed_with_feature=0.0, observed_with_target=0.0)
    root = parsed(sensitivity_map(alone, "recovery"))
    assert root.find(f"{SVG}desc").text == "The gain is used up when a hidden cause explains 22 % of each"
    assert [node for node in root.iter(f"{SVG}path") if node.get("class") == "better"] == []
    assert not uses_up_the_gain(alone)


@pytest.mark.parametrize("limit", [0.0, math.inf])
def test_a_limit_without_an_edge_is_refused(limit):
    with pytest.raises(
        ValueError, match=r"^sensitivity_map draws where the gain is used up; this limit has no such place$"
    ):
        sensitivity_map(replace(DOSE, limit=limit), "y")
