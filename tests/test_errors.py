"""Complaints: where, what, and what to try next; all of them at once."""

import pickle

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crda_spec.errors import (
    Complaint,
    CrdaError,
    DataError,
    GraphError,
    MissingExtraError,
    OutputError,
    Place,
    SpecError,
    did_you_mean,
    show,
)

settings.register_profile("house", deadline=None)  # a busy machine is no failure
settings.load_profile("house")

FOLDS = Complaint(
    code="too-many-folds",
    path="gate.folds",
    what="90 folds cannot be made",
    hint="use at most 8 folds",
    place=Place("spec.yaml", 12, 10, "  folds: 90\n"),
)


def test_a_complaint_shows_its_place_its_path_its_hint_and_the_line_with_a_caret():
    assert FOLDS.headline() == "spec.yaml:12:10: gate.folds: 90 folds cannot be made; use at most 8 folds"
    assert FOLDS.render() == (
        "spec.yaml:12:10: gate.folds: 90 folds cannot be made; use at most 8 folds\n"
        "    12 |   folds: 90\n"
        "       |          ^"
    )


@pytest.mark.parametrize(
    ("complaint", "expected"),
    [
        (Complaint(code="c", what="it is wrong"), "it is wrong"),
        (Complaint(code="c", what="it is wrong", path="a.b"), "a.b: it is wrong"),
        (Complaint(code="c", what="it is wrong", place=Place("rows.csv")), "rows.csv: it is wrong"),
        (Complaint(code="c", what="it is wrong", hint="try", place=Place("s", 3, 1)), "s:3:1: it is wrong; try"),
    ],
)
def test_what_is_not_known_is_not_shown(complaint, expected):
    assert complaint.render() == expected


def test_a_complaint_keeps_the_first_place_it_is_given():
    here, there = Place("a", 1, 1), Place("b", 2, 2)
    complaint = Complaint(code="c", what="w")
    assert complaint.at(here).place == here
    assert complaint.at(here).at(there).place == here
    assert complaint.at(None) == complaint


@given(before=st.integers(0, 400), after=st.integers(0, 400))
def test_the_caret_of_a_long_line_stays_on_screen_and_under_its_character(before, after):
    text = "a" * before + "X" + "b" * after
    _, shown, caret = Complaint(code="c", what="w", place=Place("s", 7, before + 1, text)).render().split("\n")
    assert len(shown) <= len("    7 | ") + 100
    assert shown[caret.index("^")] == "X"


def test_tabs_do_not_push_the_caret_aside():
    *_, shown, caret = Complaint(code="c", what="w", place=Place("s", 1, 3, "\t\tX")).render().split("\n")
    assert shown[caret.index("^")] == "X"


def test_an_error_shows_all_its_complaints_in_the_order_of_their_places():
    late = Complaint(code="c", what="late", place=Place("spec.yaml", 20, 1))
    nowhere = Complaint(code="c", what="nowhere")
    error = SpecError([late, FOLDS, nowhere])
    assert error.complaints == (nowhere, FOLDS, late)
    assert str(error) == f"nowhere\n{FOLDS.render()}\nspec.yaml:20:1: late\n3 problems"
    assert str(SpecError(late)) == "spec.yaml:20:1: late"


@pytest.mark.parametrize("kind", [CrdaError, SpecError, DataError, GraphError, MissingExtraError, OutputError])
def test_an_error_crosses_a_process_boundary_whole(kind):
    error = kind([FOLDS, Complaint(code="c", what="w")])
    again = pickle.loads(pickle.dumps(error))  # noqa: S301 - what joblib does between its workers
    assert type(again) is kind
    assert again.complaints == error.complaints
    assert str(again) == str(error)
    assert again.exit_code == 2
    assert issubclass(kind, CrdaError)


def test_did_you_mean():
    known = ("learning_rate", "max_depth", "Age")
    assert did_you_mean("lerning_rate", known) == "did you mean 'learning_rate'?"
    assert did_you_mean("AGE", known) == "did you mean 'Age'?"
    assert did_you_mean("zzz", known, otherwise="settings") == "settings: learning_rate, max_depth, Age"
    assert did_you_mean("zzz", ()) == ""
    many = tuple(f"column{number}" for number in range(15))
    assert did_you_mean("zzz", many) == f"known: {', '.join(many[:12])} and 3 more"


def test_of_two_names_that_differ_in_case_only_the_first_is_meant():
    assert did_you_mean("age", ("Age", "AGE")) == "did you mean 'Age'?"


@given(value=st.text() | st.integers() | st.lists(st.integers()))
def test_a_value_in_a_message_is_never_a_page(value):
    shown = show(value)
    assert len(shown) <= 60
    assert shown == repr(value) or (shown.endswith("…") and repr(value).startswith(shown[:-1]))
