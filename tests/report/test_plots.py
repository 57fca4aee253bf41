"""The figures as files: bytes that do not change, names that are drawn and not obeyed, units on the axes."""

from __future__ import annotations

import re
import struct
from dataclasses import replace

import matplotlib as mpl
import pytest

from crda_spec.report.plots import gate_figure, plot_files, readable, score_figure
from crda_spec.report.words.gate import loss_unit


@pytest.mark.parametrize("kind", ["accepted", "hostile"])
def test_equal_results_give_equal_bytes(build, kind):
    first = plot_files(build(kind))
    with mpl.rc_context({"font.size": 30.0, "lines.linewidth": 9.0, "svg.hashsalt": None}):
        assert plot_files(build(kind)) == first


@pytest.mark.parametrize(
    ("kind", "names"),
    [("accepted", {"features", "gate", "test"}), ("abstained", set())],
)
def test_each_figure_is_there_twice(build, kind, names):
    files = plot_files(build(kind))
    assert set(files) == {f"figures/{name}.{ending}" for name in names for ending in ("png", "svg")}
    for name, data in files.items():
        if name.endswith("png"):
            assert data.startswith(b"\x89PNG")
            assert min(struct.unpack(">II", data[16:24])) > 150
            assert b"Software" not in data
        else:
            text = data.decode()
            assert not re.search(r"<dc:date>|<script|href=\"http", text)
        assert len(data) < 400_000


def test_axes_carry_units(build):
    run = build("accepted")
    (axes,) = gate_figure(run.verdict.folds, run.verdict.metric, run.split.train.target).axes
    assert axes.get_ylabel() == "held-out MSE (days squared)"
    assert [label.get_text() for label in axes.get_xticklabels()] == ["plain", "augmented"]
    (axes,) = score_figure(run.score).axes
    assert axes.get_xlabel() == "change of the test MSE (%), below 0 is better"
    target = run.split.train.target
    assert loss_unit("mae", target) == "MAE (days)"
    assert loss_unit("mse", replace(target, unit=None)) == "MSE"


def test_a_fold_that_ran_away_is_left_out(build):
    run = build("accepted")
    folds = (replace(run.verdict.folds[0], augmented=float("inf")), *run.verdict.folds[1:])
    (axes,) = gate_figure(folds, "mse", run.split.train.target).axes
    assert len(axes.lines) == len(folds)  # one fold fewer, and the mean


@pytest.mark.parametrize(
    ("name", "drawn"),
    [("$x^2$", "$x^2$"), ("数量", "\N{WHITE SQUARE}" * 2), ("a\nb", "a\\nb"), ("\u202eevil", "\\u202eevil")],
)
def test_names_are_drawn_as_they_are(name, drawn):
    assert readable(name) == drawn
    assert len(readable("long_" * 60)) == 48
