"""The map of a hidden cause: the curve is where the gain is used up, and the points stand where their numbers say."""

from __future__ import annotations

import math
import re
import xml.etree.ElementTree as ET
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crda_spec.records import FeatureSensitivity
from crda_spec.report.figures import sensitivity_figure
from crda_spec.scm.sensitivity import robustness_at, used_up_at, uses_up_the_gain

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


def axes_of(feature):
    (axes,) = sensitivity_figure(feature, "y").figure.axes
    return axes


def line_of(axes, label):
    """The points of a line of the map, as shares."""
    (line,) = (line for line in axes.lines if line.get_label().startswith(label))
    return line.get_xydata() / 100


@pytest.mark.parametrize("limit", [1e-4, 0.06, 0.5, 3.0])
def test_the_curve_is_where_the_gain_is_used_up(limit):
    found = line_of(axes_of(replace(DOSE, limit=limit, robustness=robustness_at(limit))), "gain used up")
    assert len(found) > 20
    for x, y in found:
        assert y == pytest.approx(used_up_at(limit, x))


def test_the_dot_is_on_the_curve_and_the_diamond_where_it_was_measured():
    axes = axes_of(DOSE)
    ((x, y),) = line_of(axes, "equal ties")
    assert x == y == pytest.approx(DOSE.robustness)
    assert y == pytest.approx(used_up_at(DOSE.limit, x))
    assert line_of(axes, "age (measured)").tolist() == [pytest.approx([0.1, 0.3])]


@pytest.mark.slow
@settings(deadline=None)
@given(st.floats(1e-9, 1e9), st.floats(0, 1), st.floats(0, 1))
def test_any_finite_limit_can_be_drawn_inside_its_frame(limit, with_feature, with_target):
    feature = replace(
        DOSE,
        limit=limit,
        robustness=robustness_at(limit),
        observed_with_feature=with_feature,
        observed_with_target=with_target,
    )
    axes = axes_of(feature)
    end = axes.get_xlim()[1]
    assert axes.get_xlim() == axes.get_ylim() == (0.0, end)
    for drawn in [line.get_xydata() for line in axes.lines] + [patch.get_xy() for patch in axes.patches]:
        assert (drawn >= 0).all()
        assert (drawn <= end * (1 + 1e-9)).all()
    assert not re.search(
        r'"[^"]*(nan|inf)[^"]*"', re.sub("<style>.*</style>", "", sensitivity_figure(feature, "y").svg)
    )


def test_the_picture_in_words():
    picture = sensitivity_figure(DOSE, "recovery")
    desc = ET.fromstring(picture.svg).find("{http://www.w3.org/2000/svg}desc").text  # noqa: S314 - our own output
    assert desc == picture.description
    assert desc == (
        "The gain is used up when a hidden cause explains 22 % of each; age explains 10 % of dose and 30 % of recovery"
    )
    alone = replace(DOSE, observed="", observed_with_feature=0.0, observed_with_target=0.0)
    picture = sensitivity_figure(alone, "recovery")
    assert picture.description == "The gain is used up when a hidden cause explains 22 % of each"
    assert [line.get_label() for line in picture.figure.axes[0].lines if line.get_marker() == "D"] == []
    assert not uses_up_the_gain(alone)


@pytest.mark.parametrize("limit", [0.0, math.inf])
def test_a_limit_without_an_edge_is_refused(limit):
    with pytest.raises(
        ValueError, match=r"^sensitivity_figure draws where the gain is used up; this limit has no such place$"
    ):
        sensitivity_figure(replace(DOSE, limit=limit), "y")
