"""The figures as files: bytes that do not change, names that are drawn and not obeyed, units on the axes."""

from __future__ import annotations

import re
import struct
from dataclasses import replace

import matplotlib as mpl
import numpy as np
import pytest

from crda_spec.records import Column
from crda_spec.report.figures import feature_figure, figure_files, gate_figure, run_figures, score_figure
from crda_spec.report.words.gate import loss_unit


def files_of(run):
    return figure_files(run_figures(run))


@pytest.mark.parametrize("kind", ["accepted", "hostile"])
def test_equal_results_give_equal_bytes(build, kind):
    first = files_of(build(kind))
    with mpl.rc_context({"font.size": 30.0, "lines.linewidth": 9.0, "svg.hashsalt": None}):
        assert files_of(build(kind)) == first


@pytest.mark.parametrize(
    ("kind", "names"),
    [("accepted", {"feature_1", "feature_2", "feature_3", "gate", "test"}), ("abstained", set())],
)
def test_each_figure_can_be_had_as_svg_and_png(build, kind, names):
    run = build(kind)
    figures = run_figures(run)
    assert set(figures) == names
    assert set(files_of(run)) == {f"figures/{name}.svg" for name in names}
    for picture in figures.values():
        assert not re.search(r"<dc:date>|<script|href=\"http", picture.svg)
        png = picture.png
        assert png.startswith(b"\x89PNG")
        assert min(struct.unpack(">II", png[16:24])) > 150
        assert b"Software" not in png
        assert max(len(png), len(picture.svg)) < 400_000


def test_axes_carry_units(build):
    run = build("accepted")
    (axes,) = gate_figure(run.verdict.folds, run.verdict.metric, run.split.train.target).figure.axes
    assert axes.get_ylabel() == "held-out MSE (days squared)"
    assert [label.get_text() for label in axes.get_xticklabels()] == ["plain", "augmented"]
    (axes,) = score_figure(run.score).figure.axes
    assert axes.get_xlabel() == "change of the test MSE, %"
    target = run.split.train.target
    assert loss_unit("mae", target) == "MAE (days)"
    assert loss_unit("mse", replace(target, unit=None)) == "MSE"


def test_a_fold_that_ran_away_is_left_out(build):
    run = build("accepted")
    folds = (replace(run.verdict.folds[0], augmented=float("inf")), *run.verdict.folds[1:])
    (axes,) = gate_figure(folds, "mse", run.split.train.target).figure.axes
    assert len(axes.lines) == len(folds)  # one fold fewer, and the mean


@pytest.mark.parametrize(
    ("name", "drawn"),
    [
        ("$x^2$", "$x^2$"),
        (r"$\frac{", r"$\frac{"),
        ("数量", "数量"),
        ("a\nb", "a\\nb"),
        ("\u202eevil", "\\u202eevil"),
        ("<b>&", "&lt;b&gt;&amp;"),
        ("long_" * 60, "long_long_long_long_long_long_…long_long_long_"),
    ],
)
def test_names_are_drawn_as_they_are(name, drawn):
    """As words of the SVG; and the PNG is drawn without a complaint about the font."""
    picture = feature_figure(np.array([0.0, 1.0]), np.array([1.0]), Column(name=name, type="continuous"))
    assert drawn in re.findall(r"<text[^>]*>([^<]*)</text>", picture.svg)
    assert picture.png.startswith(b"\x89PNG")
    labels = Column(name="c", type="category", labels=(name, "b"))
    picture = feature_figure(np.array([0.0, 1.0]), np.array([1.0]), labels)
    assert any(text[:5] == drawn[:5] for text in re.findall(r"<text[^>]*>([^<]*)</text>", picture.svg))
    assert picture.png.startswith(b"\x89PNG")
