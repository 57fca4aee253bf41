"""What a run with several models says: whose gain is whose, and who tested what."""

from dataclasses import replace

import pytest
from test_compare import compared
from test_html import Page
from test_html import page as page_of

from crda_spec.report.compare import render_comparison
from crda_spec.report.terminal import _ensemble
from crda_spec.report.words.gate import ensemble_rows, ensemble_sentences, handed_over

BOTH = (
    "5 augmented models against one plain model: -12.8 %. Of this the ensemble alone gives -8.8 % (5 plain models "
    "against one), and the augmentation changes that by -4.4 % (5 augmented models against 5 plain)."
)

HURTS = "So on these rows the augmentation hurts an ensemble (95 % interval +1.3 to +9.9): 5 plain models err less."


def changed(run, **changes):
    """The run with other figures of the five augmented models."""
    scores = run.ensemble.scores
    return replace(run, ensemble=replace(run.ensemble, scores=(*scores[:3], replace(scores[3], **changes))))


def plain_only(run, decision):
    scores = tuple(one for one in run.ensemble.scores if one.arm == "plain")
    verdict = replace(run.verdict, decision=decision)
    return replace(run, verdict=verdict, ensemble=replace(run.ensemble, arm="plain", fits=4, scores=scores))


def test_the_gain_is_shared_out(build):
    first, second, third = ensemble_sentences(build("ensemble"))
    assert first == BOTH
    assert second == "These rows cannot tell whether the augmentation helps an ensemble (95 % interval -9.9 to +1.3)."
    assert third.startswith("The gate judged one model against one: ")


@pytest.mark.parametrize(
    ("interval", "said"),
    [
        ((-9.9, -1.3), "So the augmentation helps an ensemble, too (95 % interval -9.9 to -1.3)."),
        ((1.3, 9.9), HURTS),
        (None, "80 test rows are too few to say how sure that is."),
    ],
)
def test_what_the_interval_says(build, interval, said):
    assert list(ensemble_sentences(changed(build("ensemble"), augmentation_interval=interval)))[1] == said


def test_an_ungated_ensemble_claims_no_gate(build):
    run = build("ensemble")
    ungated = replace(run, verdict=replace(run.verdict, decision="ungated"))
    assert list(ensemble_sentences(ungated))[2].startswith("Nobody tested the augmentation: ")


@pytest.mark.parametrize(
    ("decision", "why"),
    [("rejected", "the gate chose the plain model"), ("abstained", "nothing was augmented")],
)
def test_plain_models_alone_owe_nothing_to_the_augmentation(build, decision, why):
    run = plain_only(build("ensemble"), decision)
    said = f"5 plain models against one: MSE -8.8 %. The augmentation has no part in it: {why}."
    assert tuple(ensemble_sentences(run)) == (said,)
    assert handed_over(run) == "Handed over: the mean of 5 plain models."


def test_models_that_are_all_the_same_are_called_so(build):
    run = plain_only(build("ensemble"), "rejected")
    one, many = run.ensemble.scores
    same = replace(many, singles=(one.loss,) * 5, loss=one.loss, change_percent=0.0)
    *_, said = ensemble_sentences(replace(run, ensemble=replace(run.ensemble, scores=(one, same))))
    assert said == "All 5 models are the same: this regressor draws nothing, so one of them would do."


def test_the_table(build):
    assert ensemble_rows(build("ensemble").ensemble) == (
        ("1 plain", "9.876", "", "", ""),
        ("1 augmented", "8.829", "", "-10.6 (-18.1 to -2.9)", "-10.6 (-18.1 to -2.9)"),
        ("5 plain", "9.011", "9.600 to 11.20", "-8.8 (-12.2 to -5.1)", ""),
        ("5 augmented", "8.611", "8.829 to 9.300", "-12.8 (-20.1 to -5.2)", "-4.4 (-9.9 to +1.3)"),
    )


def test_one_model_says_nothing_of_ensembles(build):
    run = build("accepted")
    assert (list(_ensemble(run)), list(ensemble_sentences(run)), handed_over(run)) == ([], [], "")
    assert 'id="ensemble"' not in page_of(run)


def test_the_page_has_its_section(build):
    text = Page(page_of(build("ensemble"))).text
    for said in (BOTH, "8.611", "-4.4 (-9.9 to +1.3)", "5 augmented : 5 plain", "the mean of 5 augmented models."):
        assert said in text, said


def test_several_runs_side_by_side_tell_what_each_hands_over(build):
    text = " ".join(Page(render_comparison([compared(build("accepted")), compared(build("ensemble"))])).text.split())
    assert "handed over 1 augmented model the mean of 5 augmented models, MSE 8.611" in text
    assert "handed over" not in Page(render_comparison([compared(build("accepted"))] * 2)).text
