from __future__ import annotations

import io
import math
import os
from dataclasses import replace
from pathlib import Path

import pytest
from rich.cells import cell_len
from rich.console import Console

from crda_spec import __version__
from crda_spec.records import FoldResult
from crda_spec.report.summary import MOST_LINES
from crda_spec.report.terminal import print_summary
from crda_spec.report.words.causal import assumption_sentence, badge, is_contradicted
from crda_spec.report.words.numbers import CLASS_WORDS, wrapped

GOLDEN = Path(__file__).parent / "golden"
RELEASE = "crda-spec 0.0.0"  # in goldens, whatever the version is
FILES = "runs/clinic/1f2e3d4c"


def printed(run, *, files=FILES, width=100, verbose=False):
    stream = io.StringIO()
    console = Console(file=stream, width=width)
    print_summary(run, name="clinic", files=files, console=console, recipe="paper", seed=3, verbose=verbose)
    release = f"crda-spec {__version__}"
    return stream.getvalue().replace(f"{'':{len(release) - len(RELEASE)}}{release}", RELEASE)


def summary(run, **how):
    """Every section of it."""
    return printed(run, verbose=True, **how)


def compare_golden(name, text):
    """After a wanted change, run with CRDA_UPDATE_GOLDEN=1 and read the difference."""
    golden = GOLDEN / name
    if os.environ.get("CRDA_UPDATE_GOLDEN") == "1":
        golden.write_text(text, encoding="utf-8")
    assert text == golden.read_text(encoding="utf-8")


def test_the_summary_is_the_golden_one_and_fits_one_screen(screen_kind, real, build):
    text = printed(build("hostile") if screen_kind == "hostile" else real(screen_kind))
    compare_golden(f"{screen_kind}.txt", text)
    lines = text.splitlines()
    assert len(lines) <= MOST_LINES
    assert [line for line in lines if cell_len(line) > 100] == []


def test_verbose_tells_the_rest(run_kind, any_run):
    screen, text = printed(any_run), summary(any_run)
    assert text.startswith(screen)
    compare_golden(f"verbose/{run_kind}.txt", text[len(screen) :])


def test_what_is_assumed_is_said_once(any_run):
    text = summary(any_run)
    assert text.count("\n  Assumed:\n") == 1
    assumed = ["\n".join(wrapped(assumption_sentence(one), 100, 4)) for one in any_run.certificate.assumes]
    assert [text.count(f"\n{one}\n") for one in assumed] == [1] * len(assumed)


def test_a_pipe_gets_the_same_text_at_any_width(any_run):
    assert summary(any_run, width=40) == summary(any_run, width=250)


@pytest.mark.parametrize("kind", ["accepted", "rejected", "abstained", "discovered"])
def test_our_words_are_ascii_and_fit(build, kind):
    text = summary(build(kind)).replace(" · ", " | ")
    assert text.isascii()
    assert max(map(len, text.splitlines())) <= 100


def test_hostile_names_reach_the_terminal_as_text(build):
    text = summary(build("hostile"))
    assert "\x1b" not in text
    assert "\u202e" not in text
    assert "[bold]markup[/bold] :smile:" in text
    assert max(map(cell_len, text.splitlines())) <= 100


def test_a_console_that_cannot_write_a_name_gets_escapes(build):
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, encoding="ascii")
    print_summary(build("hostile"), name="clinic", files=None, console=Console(file=stream), verbose=True)
    stream.flush()
    assert b"\\xfcn\\xefc\\xf6d\\xe9 \\u6570\\u91cf" in raw.getvalue()


def test_a_terminal_gets_colours_and_the_same_facts(any_run):
    stream = io.StringIO()
    console = Console(file=stream, force_terminal=True, width=120, color_system="standard", record=True)
    print_summary(any_run, name="clinic", files=FILES, console=console, verbose=True)
    assert "\x1b[" in stream.getvalue()
    text = console.export_text()
    assert FILES in text
    assert any_run.verdict.decision.capitalize() + ":" in text
    doubt = is_contradicted(any_run)
    words = {CLASS_WORDS[badge(verdict.status, contradicted=doubt)] for verdict in any_run.certificate.features}
    assert [word for word in words if word not in text] == []


def test_without_files_none_are_named(build):
    run = build("accepted")
    assert summary(run, files=None).endswith("\nAccepted: the augmented model is the one to use. (23 fits, 8.1 s)\n")
    assert "report.html" not in printed(run, files=None)


def test_a_long_path_is_not_broken(build):
    path = "runs/" + "deep-folder/" * 20
    assert f"\nCheck    crda-spec verify {path}\n" in printed(build("accepted"), files=path)
    assert f"\nFiles: {path}\n" in summary(build("accepted"), files=path)


def test_many_folds_are_cut_but_their_mean_stays(build):
    run = build("accepted")
    folds = tuple(
        FoldResult(fold=index, train_rows=9, held_out_rows=1, plain=2.0, augmented=1.0, perturbed=(), synthetic_rows=10)
        for index in range(25)
    )
    text = summary(replace(run, verdict=replace(run.verdict, folds=folds)))
    assert "  mean      2.000          1.000     -50.0\n  and 5 more, see folds.csv\n" in text
    assert "    19      2.000" in text
    assert "    20      2.000" not in text


def test_many_features_are_cut(build):
    assert "\n  and 6 more, see certificate.json\n" in summary(build("discovered"))


def test_a_score_without_interval_or_change_is_still_said(build):
    run = build("accepted")
    bare = replace(run.score, plain=0.0, augmented=0.5, change_percent=None, interval_percent=None)
    assert "  One model vs one model on 80 test rows: MSE 0 -> 0.5000.\n" in summary(replace(run, score=bare))
    no_interval = replace(run.score, interval_percent=None)
    assert "MSE 9.876 -> 8.829, -10.6 % (too few test rows for an interval)." in " ".join(
        summary(replace(run, score=no_interval)).split()
    )


def test_rows_that_did_not_move_and_a_second_source_are_said(build):
    run = build("accepted")
    still = replace(run.counterfactuals, action=replace(run.counterfactuals.action, copied=7))
    text = " ".join(summary(replace(run, counterfactuals=still)).split())
    assert (
        "400 synthetic rows from 320 training rows; each carries all of its source's noise and weighs 1. "
        "7 of them equal their source row." in text
    )
    assert "equal their source" not in summary(run)
    data = replace(run.data, rows_used=320, test_source="later.csv", test_sha256="1a" * 32)
    text = " ".join(summary(replace(run, data=data)).split())
    assert (
        "412 rows read, 320 used to train, 9 rows dropped for missing values, 3 repeated rows dropped; "
        "80 to test, from later.csv." in text
    )


def test_partial_retention_and_missing_cells_are_said(build):
    run = build("accepted")
    changed = replace(
        run,
        counterfactuals=replace(run.counterfactuals, retention=0.5, weight=0.25),
        data=replace(run.data, dropped_missing=0, dropped_duplicates=0, missing_cells=1),
    )
    text = summary(changed)
    assert "each carries 0.5 of its source's noise and weighs 0.25.\n" in text
    assert "412 rows read, 400 used: 320 to train, 80 to test; 1 missing cell.\n" in text


def test_the_columns_with_most_missing_cells_are_named(build):
    run = build("accepted")
    missing = {"age": 4, "dose": 37, "smoker": 4, "ward": 1}
    data = replace(run.data, dropped_missing=0, dropped_duplicates=0, missing_cells=46, missing=missing)
    text = " ".join(summary(replace(run, data=data)).split())
    assert "80 to test; 46 missing cells (dose 37, age 4, smoker 4, 1 more column)." in text
    two = replace(data, missing_cells=41, missing={"age": 4, "dose": 37})
    assert "; 41 missing cells (dose 37, age 4)." in " ".join(summary(replace(run, data=two)).split())


def test_where_no_noise_is_carried_no_strength_is_asked_for(build):
    """At retention 0 no hidden cause can do harm, however strong: `100 % of each` would say the contrary."""
    run = build("accepted")
    features = tuple(replace(one, limit=math.inf, robustness=1.0) for one in run.sensitivity.features)
    text = summary(replace(run, sensitivity=replace(run.sensitivity, retention=0.0, features=features)))
    grid = text[text.index("a hidden cause must explain") :].splitlines()
    assert [line.split()[1] for line in grid if line.split()[:1] == [features[0].name]][:1] == ["-"]
    assert "100 % of each" not in text
