"""The column of row weights: read, kept with its rows, and refused in whole sentences."""

import numpy as np
import pytest
from data_parts import dataset_of
from test_data_assemble import houses, message, raw_of

from crda_spec.data.assemble import assemble
from crda_spec.data.split import set_aside, split_fraction

PRICE = {"target": "price", "weights": "w"}


def assembled(raw, **settings):
    return assemble(raw, dataset_of(**{**PRICE, **settings}), seed=0)


def test_weights_are_no_feature_and_stay_with_their_rows():
    found = assembled(houses(w=[1, 2.5, 3, 4], area=[1.0, None, 3.0, 4.0]), missing="drop")
    assert found.table.names == ("area", "rooms")
    assert found.table.weights.tolist() == [1.0, 3.0, 4.0]
    assert found.report.weights == "w"
    plain = assemble(houses(), dataset_of(target="price"), seed=0)
    assert (plain.table.weights, plain.report.weights) == (None, None)


def test_text_that_is_numbers_will_do():
    assert assembled(houses(w=["1", "2.5", "3e2", "4"])).table.weights.tolist() == [1.0, 2.5, 300.0, 4.0]


def test_sampled_and_split_rows_keep_their_weights():
    rng = np.random.default_rng(0)
    n = 50
    raw = raw_of(area=rng.normal(size=n), price=rng.normal(size=n), w=np.arange(1.0, n + 1))
    table = assembled(raw, sample=40).table
    assert table.weights.tolist() == (table.row_ids + 1.0).tolist()
    split = set_aside(split_fraction(table, 0.25, seed=1), 0.3, seed=1)
    for part in (split.train, split.test, split.tuning):
        assert part.weights.tolist() == (part.row_ids + 1.0).tolist()


def test_of_copies_the_first_stays_with_its_own_weight():
    copies = raw_of(area=[1.0, 1.0, 2.0], price=[1.0, 1.0, 3.0], w=[5.0, 7.0, 1.0])
    assert assembled(copies, duplicates="drop").table.weights.tolist() == [5.0, 1.0]


def test_the_test_table_needs_its_own_weights():
    train = assembled(houses(w=[1, 2, 3, 4]))
    second = houses(area=[9.0, 8.0, 7.0, 6.0], w=[1, -1, 3, 4])
    assert message(second, like=train, **PRICE) == (
        "t: dataset.weights: 1 weight of 'w' is negative: row 2: -1; a weight is a positive number"
    )
    assert message(houses(area=[9.0, 8.0, 7.0, 6.0]), like=train, **PRICE) == (
        "t: dataset.weights: there is no column 'w'; columns: area, rooms, price"
    )


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        pytest.param(
            [1.0, None, 2.0, None],
            "2 weights of 'w' are missing: row 2 (line 3), row 4; "
            "every row needs a weight: fill it in, or leave the row out of the data",
            id="missing",
        ),
        pytest.param(
            [1.0, -2.0, 2.0, 3.0], "1 weight of 'w' is negative: row 2 (line 3): -2.0; a weight is a positive number"
        ),
        pytest.param(
            [0, 1, 0, 3],
            "2 weights of 'w' are zero: row 1 (line 2): 0, row 3: 0; "
            "a weight is a positive number; a row that should not count is left out of the data",
            id="zero",
        ),
        pytest.param(
            [1.0, 1.0, float("inf"), 3.0],
            "1 weight of 'w' is infinite: row 3 (line 4): inf; write a finite number",
            id="infinite",
        ),
        pytest.param(
            ["1", "2", "much", "4"],
            "1 weight of 'w' is not numeric: row 3 (line 4): 'much'; name a column of numbers, or repair the cells",
            id="text",
        ),
        pytest.param(
            [True, False, True, True],
            "4 weights of 'w' are not numeric: row 1 (line 2): True, row 2: False, row 3: True, row 4: True; "
            "name a column of numbers, or repair the cells",
            id="boolean",
        ),
        pytest.param(
            [1.0, 1e-200, 1e200, 3.0],
            "2 weights of 'w' are not between 1e-100 and 1e+100: row 2 (line 3): 1e-200, row 3: 1e+200; "
            "only the proportions of weights count: write them in another unit",
            id="out-of-range",
        ),
    ],
)
@pytest.mark.parametrize("missing", ["error", "drop", "impute"])
def test_bad_weights_are_named_with_their_rows(cells, expected, missing):
    assert message(houses(first_line=2, w=cells), **PRICE, missing=missing) == f"t: dataset.weights: {expected}"


def test_dates_are_no_weights():
    dates = np.array(["2020-01-01"] * 4, dtype="datetime64[ns]")
    assert message(houses(w=dates), **PRICE) == (
        "t: dataset.weights: column 'w' holds dates, but weights are numbers; name a column of numbers"
    )


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        pytest.param({"weights": "v"}, "there is no column 'v'; columns: area, rooms, price, w", id="unknown"),
        pytest.param({"weights": "price"}, "'price' is the target; name another column"),
        pytest.param({"groups": "w"}, "'w' is also dataset.groups; name another column"),
        pytest.param({"split_column": "w"}, "'w' is also dataset.split.column; name another column"),
        pytest.param(
            {"features": ("area", "w")},
            "'w' is among the features; remove it from dataset.features",
            id="feature",
        ),
    ],
)
def test_a_column_of_weights_has_no_other_part(settings, expected):
    assert message(houses(w=[1, 2, 3, 4]), **{**PRICE, **settings}) == f"t: dataset.weights: {expected}"
