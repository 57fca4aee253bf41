"""What a run without test rows says: the gate's estimate first, and that nothing confirms it."""

from dataclasses import replace

import pytest
from test_compare import compared
from test_html import Page
from test_html import page as page_of

from crda_spec.records import IntervalReport, IntervalWidth
from crda_spec.report.compare import render_comparison
from crda_spec.report.figures import run_figures
from crda_spec.report.page import _tiles, run_glance
from crda_spec.report.terminal import sections
from crda_spec.report.words.gate import ensemble_sentences, handed_over
from crda_spec.report.words.run import data_sentence, interval_sentences, score_sentences

ONLY_THE_GATE = "No test rows were held back, so only the gate's estimate stands."
MOVED = "mean fold MSE 9.084 -> 8.473, -6.7 %"


def texts(result, title):
    return [line.text for section in sections(result) if section.title == title for line in section.blocks]


def test_an_accepted_run_gives_the_gates_estimate_first(build_untested):
    run = build_untested("accepted")
    said = (f"The gate's estimate, one model vs one model: {MOVED}.", ONLY_THE_GATE)
    assert score_sentences(run) == said
    assert tuple(texts(run, "Test")) == said
    assert next(_tiles(run)) == ("-6.7 %", "mean fold MSE in the gate")


def test_the_interval_of_the_gate_is_told(build_untested):
    run = build_untested("accepted")
    run = replace(run, verdict=replace(run.verdict, interval_percent=(-12.0, -4.0), level=0.9))
    assert (
        score_sentences(run)[0]
        == f"The gate's estimate, one model vs one model: {MOVED} (90 % interval -12.0 to -4.0)."
    )


def test_a_refused_augmentation_is_named_as_not_used(build_untested):
    first, second, last = score_sentences(build_untested("rejected"))
    assert first == "The gate's estimate of the plain model: mean fold MSE 9.084 (used)."
    assert second.startswith("Not used: with the refused augmentation, mean fold MSE 9.084 -> 9.")
    assert last == ONLY_THE_GATE


def test_where_nothing_was_gated_nothing_judged_the_model(build_untested):
    run = build_untested("abstained")
    why = "there was no augmented model to gate"
    assert score_sentences(run) == (f"No test rows were held back, and {why}: nothing judged the model.",)
    ungated = replace(run, verdict=replace(run.verdict, decision="ungated", reason="gate_disabled", sentence=""))
    judged = "No test rows were held back, and the gate is off: nothing judged the model."
    assert score_sentences(ungated) == (judged,)
    text = " ".join(Page(page_of(ungated)).text.split())
    assert "UNGATED" in text
    assert judged in text


def test_the_page_says_so_at_the_top_and_in_its_place(build_untested):
    run = build_untested("accepted")
    text = " ".join(Page(page_of(run)).text.split())
    assert text.count(ONLY_THE_GATE) == 2
    assert text.index(ONLY_THE_GATE) < text.index("What moved, and why") < text.rindex(ONLY_THE_GATE)
    assert "No test rows: what the gate estimates" in text
    assert "test rows: one model against one model" not in text
    assert ("320", "training rows, none held back for a test") in _tiles(run)
    assert ONLY_THE_GATE in run_glance(run).replace("&#39;", "'")
    assert {"test", "gain"}.isdisjoint(run_figures(run))


def test_the_data_have_no_rows_to_test(build_untested):
    dropped = "9 rows dropped for missing values, 3 repeated rows dropped"
    said = f"412 rows read, 400 used: 320 to train, none to test; {dropped}."
    assert data_sentence(build_untested("accepted")) == said


def test_intervals_are_told_without_a_score(build_untested):
    widths = tuple(IntervalWidth(arm=arm, parents=0.0, features=0.0, prediction=0.0) for arm in ("plain", "augmented"))
    given = {
        "form": "residuals",
        "rows": 60,
        "units": 60,
        "parents": (),
        "features": (),
        "widths": widths,
        "scores": (),
    }
    run = replace(build_untested("accepted"), intervals=IntervalReport(levels=(0.9, 0.99), **given))
    first, second, last = interval_sentences(run)
    assert first == "90 % intervals: no test rows were held back to count how many they hold."
    assert second == "99 % intervals are infinite: they need at least 99 held-out rows, and there are 60."
    assert last.startswith("They lie around the final model, by its errors on 60 held-out rows in the gate;")
    page = page_of(run)
    assert 'id="intervals"' in page
    assert "interval score is the width" not in page
    assert "intervals" not in run_figures(run)


def test_an_ensemble_is_handed_over_without_a_comparison(build_untested):
    run = build_untested("ensemble")
    said = "No test rows were held back, so nobody compared the mean of 5 models with one model."
    assert (list(ensemble_sentences(run)), texts(run, "Ensemble")) == ([said], [said])
    assert handed_over(run) == "Handed over: the mean of 5 augmented models."
    text = Page(page_of(run)).text
    assert said in text
    assert "against 1 plain" not in text


@pytest.mark.parametrize("kind", ["accepted", "ensemble"])
def test_beside_a_run_that_was_tested(build, build_untested, kind):
    runs = [compared(build(kind), "tested"), compared(build_untested(kind), "all")]
    text = " ".join(Page(render_comparison(runs)).text.split())
    for said in (
        "Run B held no rows back for a test, and trained on all: compare the gate's estimates, not the test errors.",
        "training + test rows 320 + 80 320 + 0",
        "test error, plain MSE 9.876 no test rows",
        "test error, augmented MSE 8.829 no test rows",
        "change on the test rows -10.6 % (95 % interval -18.1 to -2.9) -",
    ):
        assert said in text, said
    assert "tested on different rows" not in text


def test_without_any_tested_run_there_is_no_picture_of_the_test(build_untested):
    page = render_comparison([compared(build_untested("accepted"))] * 2)
    assert "Runs A and B held no rows back" in page
    assert "What each changed on its test rows" not in page
