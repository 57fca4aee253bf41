"""Several runs on one page: what is said, what is warned of, and that nothing of the data is taken for markup."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from test_html import ALLOWED, Page

from crda_spec.report.compare import ComparedRun, _letter, render_comparison


def compared(result, name="clinic", **changes):
    record = {
        "seed": 1,
        "versions": {"numpy": "2"},
        "data": {"sha256": "a" * 64, "test_row_ids_sha256": "t"},
        "spec": {"resolved": {"counterfactual": {"factor": 2, "retention": 1.0}, "meta": {}}},
        "certificate": {"graph": None},
    }
    return ComparedRun(name=name, folder=f"runs/{name}", result=result, record=record | changes)


def test_the_page_says_what_each_run_found(build):
    other = compared(
        build("abstained"), "second", spec={"resolved": {"counterfactual": {"factor": 3, "retention": 1.0}}}
    )
    text = Page(render_comparison([compared(build("accepted"), "first"), other])).text
    text = re.sub(r" +", " ", text)
    assert "2 runs side by side" in text
    for said in (
        "A: first runs/first",
        "verdict accepted abstained",
        "change on the test rows -10.6 % (95 % interval -18.1 to -2.9) -",
        "counterfactual.factor 2 3",
        "ward cause moves blocked stays",
    ):
        assert said in text, said
    assert "counterfactual.retention" not in text, "what is the same is not listed"
    assert "meta" not in text, "an empty value and an absent one are the same"


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"data": {"sha256": "b" * 64, "test_row_ids_sha256": "t"}}, "The runs did not read the same data"),
        ({"data": {"sha256": "a" * 64, "test_row_ids_sha256": "u"}}, "The runs were tested on different rows"),
        ({"versions": {"numpy": "3"}}, "The runs used different package versions"),
    ],
)
def test_unfair_comparisons_are_called_so(build, changes, said):
    run = build("accepted")
    assert said in render_comparison([compared(run), compared(run, **changes)])
    assert said not in render_comparison([compared(run), compared(run)])


def test_other_targets_and_measures_are_called_so(build):
    run = build("accepted")
    other = replace(run, score=replace(run.score, metric="mae"))
    assert "scored by different measures" in render_comparison([compared(run), compared(other)])
    assert "cannot be compared" in render_comparison([compared(run), compared(build("hostile"))])
    assert "The best of several runs looks better than it is." in render_comparison([compared(run)] * 3)


def test_hostile_names_are_shown_not_obeyed(build):
    text = render_comparison([compared(build("hostile"), "<script>alert(1)</script>\u202e")] * 2)
    found = Page(text)
    assert set(found.tags) <= ALLOWED - {"script"}
    assert "\u202e" not in text
    assert "<script>alert(1)</script>\\u202e" in found.text


def test_letters_go_on_after_z():
    assert [_letter(index) for index in (0, 25, 26, 27, 51, 52, 702)] == ["A", "Z", "AA", "AB", "AZ", "BA", "AAA"]
