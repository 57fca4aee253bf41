"""What the page says and draws of the new rows, from numbers made by hand."""

import io
from dataclasses import replace
from xml.etree import ElementTree as ET

import pytest
from rich.console import Console

from crda_spec.records import (
    Cloud,
    Comparison,
    Control,
    Controls,
    Diagnostics,
    Disagreement,
    MovedFeature,
    Places,
    ShiftScore,
)
from crda_spec.report.figures import effects_figure, figure_files, gain_figure, run_figures
from crda_spec.report.page import _moved_rows, render_html
from crda_spec.report.svg import text_width
from crda_spec.report.terminal import print_summary, sections
from crda_spec.report.words.run import (
    control_changes,
    diagnostics_sentences,
    graph_points,
    graph_sentence,
    shift_sentence,
)

FOUND = Diagnostics(
    moved=(
        MovedFeature(
            name="exercise",
            changed=1.0,
            median=1.25,
            far=4.5,
            in_sd=0.42,
            effect=0.62,
            grid=(4.0, 8.0, 15.0),
            curve=(18.0, 20.0, 23.0),
        ),
        MovedFeature(
            name="smoker",
            changed=0.4,
            median=None,
            far=None,
            in_sd=None,
            effect=0.004,
            grid=(0.0, 1.0),
            curve=(20.0, 20.1),
        ),
    ),
    places=Places(
        plane=Cloud(first="first principal direction", second="2nd", real=((0.0, 1.0), (2.0, 1.5)), new=((3.0, 1.0),)),
        shares=(0.41, 0.22),
        pairs=(Cloud(first="exercise", second="dose", real=((5.0, 20.0),), new=((9.0, 20.0), (2.0, 31.0))),),
        outside=0.087,
        rows=1200,
    ),
    disagreement=Disagreement(members=10, real_median=2.0, real_far=3.0, new_median=3.0, new_far=6.0),
    noise=Comparison(before=(-2.0, 0.0, 2.0), after=(-1.0, 0.0, 1.0), distance=0.2),
    errors=Comparison(before=(-4.0, 0.1, 4.0), after=(-3.0, 0.0, 3.5), distance=0.05),
)


PARTS = Controls(
    models=(
        Control(kind="boundary", loss=9.7, change_percent=-3.0),
        Control(kind="relabelled", loss=9.4, change_percent=-6.0),
        Control(kind="without_graph", loss=9.2, change_percent=-8.0),
    ),
    graph_points=-3.0,
    shift=ShiftScore(features=("smoker", "ward"), plain=12.0, augmented=9.0, change_percent=-25.0),
    fits=3,
)


def rows_figures(run):
    """Those that describe the new rows as a whole."""
    return {
        name: one for name, one in run_figures(run).items() if not name.startswith(("feature_", "gate", "test", "gain"))
    }


def files_of(run):
    return figure_files(run_figures(run))


def looked_at(build, kind="accepted", **changes):
    return replace(build(kind), diagnostics=replace(FOUND, **changes))


def test_the_sentences_say_the_numbers(build):
    run = looked_at(build)
    assert "\n".join(diagnostics_sentences(run)) == (
        "8.7 % of 1200 new rows that were asked about lie farther from the data than 95 % of real rows lie from each "
        "other, or break a tie among the numbers.\n"
        "The teacher's 10 members differ by 3.000 days at a typical new row, and by 2.000 at a real one (standard "
        "deviation; 1.5 times as much).\n"
        "The graph calls smoker irrelevant, and the teacher is flat there, as it should be."
    )
    assert [(row[0], row[1], row[2], row[5]) for row in _moved_rows(run)] == [
        ("exercise (h/week)", "100 %", "1.25", "62 %"),
        ("smoker", "40 %", "", "0.4 %"),
    ]


def test_an_irrelevant_feature_that_moves_the_teacher_is_named(build):
    loud = replace(FOUND.moved[1], effect=0.31)
    run = looked_at(build, moved=(FOUND.moved[0], loud))
    assert (
        "The graph calls irrelevant what moves the teacher: smoker (31 % of the target's standard deviation). Doubt "
        "the model there, or the graph." in list(diagnostics_sentences(run))
    )


def test_every_figure_is_a_picture_with_words_and_a_sentence(build):
    figures = rows_figures(looked_at(build))
    assert list(figures) == [
        "rows_plane",
        "rows_pair_1",
        "teacher_effects",
        "noise_quantiles",
        "error_quantiles",
    ]
    for picture in figures.values():
        root = ET.fromstring(picture.svg)  # noqa: S314 - our own drawing
        assert root.get("role") == "img"
        assert len(root.get("aria-label")) > 40
        width, height = float(root.get("width")), float(root.get("height"))
        for node in root.iter("{http://www.w3.org/2000/svg}text"):
            assert 0 <= float(node.get("x")) <= width
            assert 0 <= float(node.get("y")) <= height
    assert "exercise (h/week)" in figures["rows_pair_1"].svg
    page = render_html(
        looked_at(build), name="clinic", description="", record_json="{}", spec_yaml="version: 1\nrecipe: paper\n"
    )
    places = [page.index(picture.svg) for picture in figures.values()]
    assert places == sorted(places)


@pytest.mark.parametrize("value", [0.0, 5.0, -1e9])
def test_clouds_and_quantiles_of_one_value_can_be_drawn(build, value):
    one = ((value, value),)
    places = replace(FOUND.places, plane=replace(FOUND.places.plane, real=one, new=one), pairs=())
    same = Comparison(before=(value, value), after=(value, value), distance=0.0)
    flat = replace(FOUND.moved[0], grid=(value,), curve=(value,))
    figures = rows_figures(looked_at(build, places=places, noise=same, errors=None, moved=(flat,)))
    assert list(figures) == ["rows_plane", "teacher_effects", "noise_quantiles"]
    assert "nan" not in "".join(picture.svg for picture in figures.values())


def test_the_page_has_the_section_only_when_somebody_looked(build):
    told = {"name": "clinic", "description": "", "record_json": "{}", "spec_yaml": "version: 1\nrecipe: paper\n"}
    page = render_html(looked_at(build), **told)
    assert "What the new rows are like" in page
    assert page.count("What to see: ") >= 6
    assert "What the new rows are like" not in render_html(build("accepted"), **told)


def parted(build, change=-11.0, blind=-8.0):
    """A run whose recipe changes the loss by so much, and without the graph by so much."""
    run = build("accepted")
    models = (*PARTS.models[:2], replace(PARTS.models[2], change_percent=blind))
    controls = replace(PARTS, models=models, graph_points=change - blind)
    return replace(run, score=replace(run.score, metric="mse", change_percent=change), controls=controls)


def test_the_terminal_says_where_the_gain_comes_from(build):
    stream = io.StringIO()
    print_summary(parted(build), name="clinic", files=None, console=Console(file=stream, width=100), verbose=True)
    _, screen, rest = stream.getvalue().split("\nWHERE THE GAIN COMES FROM")
    assert screen.partition("\n\n")[0] == (
        """                           change of test MSE
  plain model, columns that matter only                -3.0 %
  original rows relabelled, none added                 -6.0 %
  this recipe without the graph                        -8.0 %
  this recipe                                         -11.0 %   3.0 points from the graph"""
    )
    assert rest.partition("\n\n")[0].endswith(
        "  Test rows with the irrelevant features (smoker and ward) shuffled, each by itself: MSE 12.00 ->\n"
        "  9.000, -25.0 %."
    )
    assert not any(section.title.startswith("WHERE") for section in sections(build("accepted")))


@pytest.mark.parametrize(
    ("change", "blind", "sentence", "beside"),
    [
        (-21.0, -13.0, "Of the change of -21.0 %, 8.0 points come from the graph.", "8.0 points from the graph"),
        (-9.0, -8.0, "Of the change of -9.0 %, 1.0 point comes from the graph.", "1.0 point from the graph"),
        (
            -8.0,
            -9.2,
            "The graph cost 1.2 points here: without it the change is -9.2 %.",
            "the graph cost 1.2 points",
        ),
        (
            -8.0,
            -8.04,
            "The graph changed nothing here: without it the change is -8.0 %, too.",
            "nothing from the graph",
        ),
        (
            -2.0,
            3.0,
            "The graph gave 5.0 points here: without it the change is +3.0 %.",
            "5.0 points from the graph",
        ),
    ],
)
def test_one_sentence_says_what_the_graph_gave_or_cost(build, change, blind, sentence, beside):
    run = parted(build, change, blind)
    assert graph_sentence(run) == sentence
    assert graph_points(run.controls.graph_points) == beside
    page = render_html(run, name="clinic", description="", record_json="{}", spec_yaml="")
    assert sentence in page
    assert shift_sentence(run).replace(">", "&gt;") in page


def test_a_refused_augmentation_has_its_parts_too(build):
    run = replace(build("rejected"), controls=PARTS)
    assert graph_sentence(run).startswith("The graph cost" if run.score.change_percent > -8 else "Of the change")
    assert any(section.title.startswith("WHERE") for section in sections(run))


def test_without_a_graph_nothing_is_said_of_it(build):
    bare = Controls(models=PARTS.models[1:2], graph_points=None, shift=None, fits=1)
    run = replace(parted(build), controls=bare)
    assert (graph_sentence(run), shift_sentence(run)) == ("", "")
    assert control_changes(run) == (("original rows relabelled, none added", -6.0), ("this recipe", -11.0))


def test_hostile_names_stay_words(build):
    run = build("hostile")
    names = run.split.train.names
    moved = tuple(replace(one, name=name) for one, name in zip(FOUND.moved, names[1:], strict=False))
    pair = replace(FOUND.places.pairs[0], first=names[1], second=names[5])
    hostile = replace(run, diagnostics=replace(FOUND, moved=moved, places=replace(FOUND.places, pairs=(pair,))))
    for picture in rows_figures(hostile).values():
        ET.fromstring(picture.svg)  # noqa: S314 - our own drawing
        assert "<script>alert" not in picture.svg
        assert "\u202e" not in picture.svg


def test_every_picture_of_the_page_is_written_as_svg_and_can_be_png(build):
    run = looked_at(build)
    files = files_of(run)
    drawn = rows_figures(run)
    assert len(drawn) == 5
    assert set(files) - set(files_of(build("accepted"))) == {f"figures/{name}.svg" for name in drawn}
    page = render_html(run, name="clinic", description="", record_json="{}", spec_yaml="version: 1\nrecipe: paper\n")
    for name in drawn:
        assert drawn[name].png.startswith(b"\x89PNG")
        assert files[f"figures/{name}.svg"].decode() in page
    assert files_of(run) == files
    few = looked_at(build, moved=(), noise=None, errors=None, places=replace(FOUND.places, pairs=()))
    assert {name for name in files_of(few) if "rows_" in name} == {"figures/rows_plane.svg"}


def test_effects_and_gains_carry_their_numbers_and_units(build):
    run = looked_at(build)
    columns = {column.name: column for column in run.split.train.features}
    figure = effects_figure(FOUND.moved, [columns[one.name] for one in FOUND.moved], run.split.train.target).figure
    first, second = figure.axes
    assert (first.get_xlabel(), first.get_title(loc="left")) == ("exercise (h/week)", "62 % of the outcome's sd")
    assert list(first.lines[0].get_ydata()) == [18.0, 20.0, 23.0]
    assert [tick.get_text() for tick in second.get_xticklabels()] == ["false", "true"]
    assert first.get_ylim() == second.get_ylim()
    (bars,) = gain_figure(control_changes(parted(build)), "mse").figure.axes
    assert bars.get_xlabel() == "change of the test MSE, %"
    assert [bar.get_width() for bar in bars.patches] == [-3.0, -6.0, -8.0, -11.0]


@pytest.mark.parametrize("values", [(-3.0, -40.0), (2.0, -4.0), (12.0, 4.0), (0.0, 0.0), (0.0, 900.0)])
def test_gains_of_any_sign_keep_their_numbers_inside(values):
    picture = gain_figure([("original rows relabelled, none added", values[0]), ("this recipe", values[1])], "mse")
    root = ET.fromstring(picture.svg)  # noqa: S314 - our own drawing
    width = float(root.get("width"))
    for node in root.iter("{http://www.w3.org/2000/svg}text"):
        reach = text_width("".join(node.itertext()), 12.0) * {"end": -1.0, "middle": 0.5}.get(
            node.get("text-anchor"), 1.0
        )
        assert 0 <= float(node.get("x")) + reach <= width
