"""What is to be changed, as people write it, under the columns' contracts."""

import numpy as np
import pytest
from counterfactual_parts import table

from crda_spec.counterfactual.changes import Change, Sweep, cells_of, read_changes, settings_of
from crda_spec.errors import Complaint, DataError, SpecError
from crda_spec.records import Column

COLUMNS = (
    Column(name="hours", type="continuous", unit="hours/week", minimum=0.0, maximum=20.0),
    Column(name="visits", type="integer", minimum=0.0),
    Column(name="size", type="integer", allowed=(1.0, 2.0, 5.0)),
    Column(name="ward", type="category", labels=("north", "south", "+2")),
    Column(name="smoker", type="boolean"),
    Column(name="a=b", type="continuous"),
)
X = [[4.0, 2.0, 1.0, 0.0, 1.0, 0.5], [19.0, np.nan, 5.0, 1.0, 0.0, 0.5]]
TRAIN = table(X, [1.0, 2.0], COLUMNS)
ROWS = np.array([17, 18])


def read(*texts, sweep=None, blocked=None):
    return read_changes(texts, sweep, TRAIN, blocked or {})


def everywhere(*changes):
    return {one.position: [(row, one) for row in range(2)] for one in changes}


@pytest.mark.parametrize(
    ("text", "change"),
    [
        ("hours=10", Change(0, 10.0)),
        ("hours=+2", Change(0, 2.0, adds=True)),
        ("hours=-.5", Change(0, -0.5, adds=True)),
        ("hours==-2", Change(0, -2.0)),
        ("hours=1e1", Change(0, 10.0)),
        ("hours=10hours/week", Change(0, 10.0)),
        ("hours=+2 hours/week", Change(0, 2.0, adds=True)),
        ("ward=south", Change(3, 1.0)),
        ("ward=+2", Change(3, 2.0)),
        ("smoker=no", Change(4, 0.0)),
        ("smoker=True", Change(4, 1.0)),
        ("a=b=3", Change(5, 3.0)),
    ],
)
def test_a_change_is_read(text, change):
    assert read(text) == ((change,), None)


WRONG = [
    ("hours", "'hours' is no change; write COLUMN=VALUE, e.g. hours=+1"),
    ("hour=3", "hour: the run has no feature 'hour'; did you mean 'hours'?"),
    ("y=3", "y: 'y' is the outcome itself; change what causes it"),
    (
        "hours=many",
        (
            "hours: 'many' is no number; write a number: hours=40 sets, hours=+2 and hours=-2 add, hours==-2 sets a "
            "negative one"
        ),
    ),
    ("hours=3 days", "hours: '3 days' is in 'days', but 'hours' is in 'hours/week'; write it in hours/week"),
    ("visits=3 times", "visits: '3 times' has a unit, but the run knows none for 'visits'; leave the unit out"),
    ("ward=nort", "ward: 'nort' is no label of 'ward'; did you mean 'north'?"),
    ("smoker=maybe", "smoker: 'maybe' is no label of 'smoker'; its labels are: true, false"),
    ("hours=+0", "hours: +0 changes nothing; add a number"),
]


@pytest.mark.parametrize(("text", "message"), WRONG)
def test_what_is_wrong_is_told(text, message):
    with pytest.raises(SpecError) as error:
        read(text)
    assert str(error.value) == message


def test_all_that_is_wrong_is_told_at_once():
    blocked = {"visits": Complaint(code="blocked", path="visits", what="blocked: a <- u -> y", hint="measure u")}
    with pytest.raises(SpecError) as error:
        read("hour=3", "hours=2", "hours=+1", "visits=3", sweep="size=1:2:3:4", blocked=blocked)
    assert [one.code for one in error.value.complaints] == ["unknown-column", "blocked", "bad-sweep", "changed-twice"]
    with pytest.raises(SpecError, match="no change is asked for"):
        read()
    with pytest.raises(SpecError, match="'hours' is changed 2 times; say it once"):
        read("hours=3", sweep="hours=0:20")


def test_a_sweep_keeps_to_the_contract():
    assert read(sweep="hours=0:20:5")[1] == Sweep(0, (0.0, 5.0, 10.0, 15.0, 20.0))
    assert len(read(sweep="hours=0:20")[1].grid) == 21
    assert read(sweep="visits=0:3")[1] == Sweep(1, (0.0, 1.0, 2.0, 3.0))
    assert read(sweep="size=0:9")[1] == Sweep(2, (1.0, 2.0, 5.0))
    for text, code in (("hours=-1:20", "broken-contract"), ("hours=3:1", "bad-sweep"), ("ward=0:1", "bad-sweep")):
        with pytest.raises(SpecError) as error:
            read(sweep=text)
        assert [one.code for one in error.value.complaints] == [code]


def test_values_are_set_row_by_row():
    (hours, ward), _ = read("hours=+1", "ward=south")
    found = settings_of(everywhere(hours, ward), TRAIN.x, TRAIN, ROWS)
    assert {position: values.tolist() for position, values in found.items()} == {0: [5.0, 20.0], 3: [1.0, 1.0]}
    only = settings_of({0: [(1, Change(0, 3.0))]}, TRAIN.x, TRAIN, ROWS)
    assert only[0].tolist() == [4.0, 3.0]


def test_a_value_outside_the_contract_names_its_row():
    changes = [Change(0, 2.0, adds=True), Change(1, 1.0, adds=True), Change(2, 3.0)]
    with pytest.raises(DataError) as error:
        settings_of(everywhere(*changes), TRAIN.x, TRAIN, ROWS)
    assert str(error.value).splitlines() == [
        (
            "hours: 'hours' would be 21 in row 18, which is above the maximum 20 hours/week; stay inside the column's "
            "contract"
        ),
        "visits: 'visits' is missing in row 18, so nothing can be added to it; set it: visits=...",
        "size: 'size' would be 3 in row 17 (and 1 more), which is not among the allowed values; allowed: 1, 2, 5",
        "3 problems",
    ]
    with pytest.raises(DataError, match=r"would be 2\.5 in row 17, which is not whole"):
        settings_of({1: [(0, Change(1, 0.5, adds=True))]}, TRAIN.x, TRAIN, ROWS)


def test_moving_nothing_is_an_error():
    with pytest.raises(DataError, match="nothing changes: all of these rows have these values"):
        settings_of(everywhere(Change(5, 0.5)), TRAIN.x, TRAIN, ROWS)
    with pytest.raises(DataError, match="nothing changes: row 17 has these values"):
        settings_of({5: [(0, Change(5, 0.5))]}, TRAIN.x[:1], TRAIN, ROWS[:1])
    assert settings_of(everywhere(Change(0, 4.0)), TRAIN.x, TRAIN, ROWS)[0].tolist() == [4.0, 4.0]  # one row moves


def test_cells_are_shown_as_the_data_have_them():
    shown = [cells_of(TRAIN.x[:, at], column) for at, column in enumerate(COLUMNS)]
    assert shown == [[4.0, 19.0], [2, None], [1, 5], ["north", "south"], [True, False], [0.5, 0.5]]
