"""What a caller may ask of a world, and what is said when the question makes no sense."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from crda_spec.data.worlds import WORLDS, declare
from crda_spec.errors import DataError

HOUSES = WORLDS["bidding_war"].draw(6, seed=0)
FLAGS = declare(name="flags", equations={"wet": "bernoulli(0.5)", "y": "2 * wet + normal(0, 1)"}, target="y").draw(
    4, seed=0
)


@pytest.mark.parametrize(
    ("action", "said"),
    [
        ({"aera": 1.0}, "aera: 'aera' is no variable of this world; did you mean 'area'?"),
        ({"price": 1.0}, "price: 'price' is the outcome itself and cannot be set; set what causes it"),
        (
            {"area": np.ones(5)},
            "area: 6 rows need 6 values, but got an array of shape (5,); give one value a row, or a single one",
        ),
        (
            {"area": np.ones((6, 1))},
            "area: 6 rows need 6 values, but got an array of shape (6, 1); give one value a row, or a single one",
        ),
        (
            {"area": [90, 90, np.nan, 90, 90, 90]},
            "area: the values must be finite numbers, but got nan for row 3 of the action; 'area' is continuous",
        ),
        ({"rooms": "four"}, "rooms: the values must be numbers, but got 'four'; 'rooms' is integer"),
        ({"garage": "finishd"}, "garage: 'finishd' is no label of 'garage'; did you mean 'finished'?"),
        ({"garage": 2}, "garage: 2 is no label of 'garage'; its labels: none, unfinished, finished"),
    ],
)
def test_an_action_that_makes_no_sense_is_refused(action: dict[str, Any], said: str) -> None:
    with pytest.raises(DataError) as caught:
        HOUSES.outcome(action)
    assert str(caught.value) == said


def test_all_that_is_wrong_with_an_action_is_said_at_once() -> None:
    with pytest.raises(DataError) as caught:
        HOUSES.outcome({"aera": 1.0, "garage": "no"})
    assert str(caught.value).splitlines() == [
        "aera: 'aera' is no variable of this world; did you mean 'area'?",
        "garage: 'no' is no label of 'garage'; did you mean 'none'?",
        "2 problems",
    ]


@pytest.mark.parametrize("row", [6, -1])
def test_rows_that_do_not_exist_are_refused(row: int) -> None:
    with pytest.raises(DataError) as caught:
        HOUSES.outcome({}, [0, row])
    assert str(caught.value) == f"row {row} does not exist; rows are counted from 0 to 5"


@pytest.mark.parametrize(
    ("rows", "got"),
    [([0.5], "float64 of shape (1,)"), ([True, False], "bool of shape (2,)"), (3, "int64 of shape ()")],
)
def test_rows_that_are_no_positions_are_refused(rows: Any, got: str) -> None:
    with pytest.raises(DataError) as caught:
        HOUSES.outcome({}, rows)
    assert str(caught.value) == (
        f"rows must be a list of whole numbers, but got {got}; pass positions, e.g. np.flatnonzero(mask)"
    )


def test_an_action_may_be_one_value_for_all_rows() -> None:
    np.testing.assert_array_equal(HOUSES.outcome({"area": 90}), HOUSES.outcome({"area": np.full(6, 90.0)}))
    np.testing.assert_array_equal(
        HOUSES.outcome({"garage": "none"}), HOUSES.outcome({"garage": np.array(["none"] * 6)})
    )


def test_no_rows_have_no_outcomes() -> None:
    assert HOUSES.outcome({"area": np.empty(0)}, []).shape == (0,)


def test_a_boolean_is_set_to_true_or_false() -> None:
    by_bool, by_number = FLAGS.outcome({"wet": np.array([True] * 4)}), FLAGS.outcome({"wet": 1.0})
    np.testing.assert_array_equal(by_bool, by_number)
    np.testing.assert_allclose(by_bool - FLAGS.outcome({"wet": False}), 2.0)
    with pytest.raises(DataError) as caught:
        FLAGS.outcome({"wet": 0.5})
    assert str(caught.value) == (
        "wet: the values must be 0 or 1, but got 0.5 for row 1 of the action; 'wet' is boolean"
    )


def test_an_action_that_leaves_a_draw_without_meaning_is_refused() -> None:
    world = declare(name="own", equations={"x": "uniform(0, 1)", "y": "exponential(x)"}, target="y")
    with pytest.raises(DataError) as caught:
        world.draw(3, seed=0).outcome({"x": -1})
    assert str(caught.value) == (
        "dataset.source.equations.y: exponential(x) (column 1): scale must be a finite number in [0, inf], "
        "but got -1 in 3 of 3 rows, first row 1; keep it in range with clip, minimum, maximum or abs"
    )
