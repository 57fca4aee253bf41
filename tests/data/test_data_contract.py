"""Types that are inferred, contracts that are declared, and the whole message of every breach."""

import datetime as dt
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
from data_parts import dataset_of

from crda_spec.data.assemble import Assembled, assemble
from crda_spec.data.contract import ColumnContract
from crda_spec.data.raw import RawTable
from crda_spec.errors import DataError

REPAIR = "; repair the cells, or change the column's contract"


def raw_of(cells, *, lines: bool = False, **others) -> RawTable:
    """A table with the column `a` and a target `y` that counts up."""
    series = cells if isinstance(cells, pd.Series) else pd.Series(cells, dtype=object)
    columns = {"a": series, **others, "y": np.arange(len(series)) + 0.5}
    return RawTable(frame=pd.DataFrame(columns), sha256="0" * 64, description="t", first_line=2 if lines else None)


def run(cells, rule: ColumnContract | None = None, *, lines: bool = False, **settings) -> Assembled:
    columns = {} if rule is None else {"a": rule}
    dataset = dataset_of(target="y", **{"columns": columns, "missing": "impute", "duplicates": "keep", **settings})
    return assemble(raw_of(cells, lines=lines), dataset, seed=0)


def complaint(cells, rule: ColumnContract | None = None, *, lines: bool = False, **settings) -> str:
    with pytest.raises(DataError) as caught:
        run(cells, rule, lines=lines, **settings)
    return str(caught.value)


@pytest.mark.parametrize(
    ("cells", "kind", "values"),
    [
        pytest.param(["1", "2", None], "integer", [1, 2, np.nan], id="integer-text"),
        pytest.param(["1", "2.0", "3"], "continuous", [1, 2, 3], id="a-decimal-point-in-text"),
        pytest.param(["1e3", "2"], "continuous", [1000, 2], id="exponent"),
        pytest.param([" +1 ", "-2"], "integer", [1, -2], id="signs-and-spaces"),
        pytest.param(pd.Series([1, 2]), "integer", [1, 2], id="int64"),
        pytest.param(pd.Series([1, None], dtype="Int64"), "integer", [1, np.nan], id="Int64-with-a-gap"),
        pytest.param(pd.Series([1.0, 2.0]), "continuous", [1, 2], id="whole-floats-stay-continuous"),
        pytest.param(pd.Series([1.5, np.nan], dtype="float32"), "continuous", [1.5, np.nan], id="float32"),
        pytest.param([1, 2.5, None], "continuous", [1, 2.5, np.nan], id="mixed-numbers"),
        pytest.param([Decimal("0.1"), Decimal(2)], "continuous", [0.1, 2], id="decimals"),
        pytest.param(pd.Series([True, False]), "boolean", [1, 0], id="bool"),
        pytest.param(pd.Series([True, None], dtype="boolean"), "boolean", [1, np.nan], id="boolean-with-a-gap"),
        pytest.param([True, None, False], "boolean", [1, np.nan, 0], id="bool-objects"),
        pytest.param(["True", "false", "TRUE"], "boolean", [1, 0, 1], id="true-false-text"),
        pytest.param(["yes", "no"], "boolean", [1, 0], id="yes-no-text"),
        pytest.param(["yes", "yes"], "category", [0, 0], id="one-of-a-pair-is-a-label"),
        pytest.param(["b", "a", None, "b"], "category", [1, 0, np.nan, 1], id="text"),
        pytest.param(pd.Series(["b", "a"], dtype="category"), "category", [1, 0], id="categorical"),
        pytest.param(pd.Series(["b", "a"], dtype="str"), "category", [1, 0], id="str"),
        pytest.param(["007", "010"], "category", [0, 1], id="leading-zeros-are-codes"),
        pytest.param(["1_000", "b", "c"], "category", [0, 1, 2], id="underscores-make-no-number"),
    ],
)
def test_types_are_inferred(cells, kind, values):
    table = run(cells).table
    assert (table.features[0].type, table.features[0].inferred) == (kind, True)
    np.testing.assert_array_equal(table.x[:, 0], np.array(values, dtype=float))


@pytest.mark.parametrize(
    ("cells", "rule", "labels", "codes"),
    [
        pytest.param(["1", "2"], ColumnContract(type="category"), ("1", "2"), [0, 1], id="integer-text"),
        pytest.param(["3.0", "2.5"], ColumnContract(type="category"), ("2.5", "3"), [1, 0], id="one-spelling-a-number"),
        pytest.param(pd.Series([3.0, 2.5]), ColumnContract(type="category"), ("2.5", "3"), [1, 0], id="floats"),
        pytest.param(pd.Series([True, False]), ColumnContract(type="category"), ("false", "true"), [1, 0], id="bools"),
        pytest.param(["True", "FALSE"], ColumnContract(type="category"), ("false", "true"), [1, 0], id="bool-text"),
        pytest.param(["x", 1], ColumnContract(type="category"), ("1", "x"), [1, 0], id="mixed"),
        pytest.param(
            ["lo", "hi"], ColumnContract(values=("lo", "mid", "hi")), ("lo", "mid", "hi"), [0, 2], id="declared"
        ),
        pytest.param(
            ["2", "1"], ColumnContract(type="category", values=(2, 1)), ("2", "1"), [0, 1], id="declared-numbers"
        ),
        pytest.param(
            ["90071992547409931", "90071992547409932"],
            ColumnContract(type="category"),
            ("90071992547409931", "90071992547409932"),
            [0, 1],
            id="long-identifiers-keep-their-digits",
        ),
    ],
)
def test_labels_of_categories(cells, rule, labels, codes):
    table = run(cells, rule).table
    assert (table.features[0].type, table.features[0].labels) == ("category", labels)
    assert table.features[0].inferred is False
    assert table.x[:, 0].tolist() == codes


@pytest.mark.parametrize("cells", [["-0", "1"], pd.Series([-0.0, 1.0])], ids=["text", "floats"])
def test_a_whole_number_has_no_negative_zero(cells):
    """Files of whole numbers keep none, and a run's cells are compared with its files bit for bit."""
    assert not np.signbit(run(cells, ColumnContract(type="integer")).table.x[0, 0])


def test_a_contract_is_recorded():
    rule = ColumnContract(type="continuous", unit="m2", min=0, max=9, values=(1, 2.5))
    column = run(["1", "2.5"], rule).table.features[0]
    assert (column.type, column.unit, column.minimum, column.maximum) == ("continuous", "m2", 0, 9)
    assert (column.allowed, column.inferred) == ((1.0, 2.5), False)


NUMBERS = [str(number) for number in range(20)]


@pytest.mark.parametrize(
    ("cells", "rule", "expected"),
    [
        pytest.param(
            [*NUMBERS, "n/k", "?"],
            None,
            "2 values of 'a' are text in a number column (20 of its 22 values are numbers): "
            "row 21 (line 22): 'n/k', row 22: '?'; "
            "repair the cells, say what they mean, e.g. cells: {'n/k': missing}, or declare type: category",
            id="text-in-numbers",
        ),
        pytest.param(
            ["1,5", "2,5", "x"],
            None,
            "2 values of 'a' are written with a decimal comma: row 1 (line 2): '1,5', row 2: '2,5'; "
            "set the source's decimal: ',' or declare the column's type",
            id="decimal-comma",
        ),
        pytest.param(
            ["1", "x", "y"],
            ColumnContract(type="continuous"),
            f"2 values of 'a' are not numbers: row 2 (line 3): 'x', row 3: 'y'{REPAIR}",
            id="declared-number",
        ),
        pytest.param(
            ["1", "x"],
            ColumnContract(type="integer"),
            f"1 value of 'a' is not a whole number: row 2 (line 3): 'x'{REPAIR}",
            id="declared-integer",
        ),
        pytest.param(
            ["1", "inf", "-inf"],
            None,
            "2 values of 'a' are infinite: row 2 (line 3): inf, row 3: -inf; "
            "write a number, or leave the cell empty and set dataset.missing",
            id="infinite",
        ),
        pytest.param(
            ["1", "2.5"],
            ColumnContract(type="integer"),
            "1 value of 'a' is not whole: row 2 (line 3): 2.5; round them, or declare the column's type: continuous",
            id="not-whole",
        ),
        pytest.param(
            ["9007199254740992", "9007199254740993"],
            None,
            "1 value of 'a' is beyond 2**53, where integers lose digits: row 2 (line 3): 9007199254740993; "
            "an identifier is no feature: name it as dataset.id instead, or declare it a category",
            id="too-large",
        ),
        pytest.param(
            pd.Series([1.0, 1e16]),
            ColumnContract(type="integer"),
            "1 value of 'a' is beyond 2**53, where integers lose digits: row 2 (line 3): 1e+16; "
            "an identifier is no feature: name it as dataset.id instead, or declare it a category",
            id="too-large-float",
        ),
        pytest.param(
            [str(-number) for number in range(8)],
            ColumnContract(min=0),
            "7 values of 'a' are below the minimum 0: row 2 (line 3): -1, row 3: -2, row 4: -3, row 5: -4, row 6: -5 "
            f"and 2 more{REPAIR}",
            id="below",
        ),
        pytest.param(
            pd.Series([1.0, 2.5]),
            ColumnContract(max=2),
            f"1 value of 'a' is above the maximum 2: row 2 (line 3): 2.5{REPAIR}",
            id="above",
        ),
        pytest.param(
            ["1", "3", "4"],
            ColumnContract(values=(1, 2)),
            f"2 values of 'a' are not among the allowed values 1, 2: row 2 (line 3): 3, row 3: 4{REPAIR}",
            id="allowed-numbers",
        ),
        pytest.param(
            ["low", "hihg"],
            ColumnContract(values=("low", "high")),
            "1 value of 'a' is not among the allowed values: row 2 (line 3): 'hihg'; did you mean 'high'?",
            id="unknown-label",
        ),
        pytest.param(
            ["yes", "maybe"],
            ColumnContract(type="boolean"),
            f"1 value of 'a' is neither true/yes/1 nor false/no/0: row 2 (line 3): 'maybe'{REPAIR}",
            id="not-boolean",
        ),
        pytest.param(
            pd.Series([0, 2]),
            ColumnContract(type="boolean"),
            f"1 value of 'a' is neither true/yes/1 nor false/no/0: row 2 (line 3): 2{REPAIR}",
            id="two-is-no-boolean",
        ),
        pytest.param(
            pd.Series([True, False]),
            ColumnContract(type="continuous"),
            "column 'a' holds booleans, not numbers; declare type: boolean",
            id="booleans-for-numbers",
        ),
        pytest.param(
            ["u", "v"],
            ColumnContract(min=0),
            "min and max are for numbers, but column 'a' is a category; remove them, or list the allowed values",
            id="bounds-on-a-category",
        ),
        pytest.param(
            pd.Series([True, False]),
            ColumnContract(max=1),
            "min and max are for numbers, but column 'a' is a boolean; remove them, or list the allowed values",
            id="bounds-on-a-boolean",
        ),
        pytest.param(
            [f"id{number}" for number in range(102)],
            None,
            "column 'a' looks like an identifier: 102 labels in 102 rows, more than 51; "
            "name it as dataset.id, not as a feature, or declare its type: category",
            id="identifier",
        ),
        pytest.param(
            pd.Series(pd.date_range("2020-01-01", periods=3)),
            None,
            "column 'a' holds dates; "
            "declare its type: date, which makes numbers of it, or leave it out of dataset.features",
            id="timestamps",
        ),
        pytest.param(
            [dt.date(2020, 1, 1), None],
            None,
            "column 'a' holds dates; "
            "declare its type: date, which makes numbers of it, or leave it out of dataset.features",
            id="dates",
        ),
        pytest.param(
            ["2020-01-01", "2020-01-02 10:30"],
            None,
            "column 'a' holds dates; "
            "declare its type: date, which makes numbers of it, or leave it out of dataset.features",
            id="dates-as-text",
        ),
        pytest.param(
            [b"x", b"y"],
            None,
            "column 'a' holds values of type bytes; "
            "use numbers, booleans or text, or leave the column out of dataset.features",
            id="bytes",
        ),
        pytest.param(
            [None, None],
            None,
            "column 'a' has no value at all; leave the column out of dataset.features",
            id="no-value",
        ),
    ],
)
def test_breaches_of_a_contract(cells, rule, expected):
    assert complaint(cells, rule, lines=True) == f"t: dataset.columns.a: {expected}"


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        pytest.param(
            ColumnContract(min=3, max=2),
            "t: dataset.columns.a.min: `min <= max` must hold, but got (min=3, max=2); swap them",
            id="empty-range",
        ),
        pytest.param(
            ColumnContract(type="integer", values=(1, "2")),
            "t: dataset.columns.a.values: '2' is not a number; the column is declared integer",
            id="allowed-text",
        ),
    ],
)
def test_a_contract_that_contradicts_itself_is_refused_as_in_a_spec(rule, expected):
    assert complaint(["1", "2"], rule) == expected


def test_without_lines_rows_are_named_by_number():
    expected = f"t: dataset.columns.a: 1 value of 'a' is above the maximum 2: row 2: 3{REPAIR}"
    assert complaint(["1", "3"], ColumnContract(max=2)) == expected


@pytest.mark.parametrize(
    ("cells", "rule"),
    [
        pytest.param([*NUMBERS, "?"], ColumnContract(type="category"), id="text-among-numbers"),
        pytest.param([f"id{number}" for number in range(102)], ColumnContract(type="category"), id="identifier"),
        pytest.param(["2020-01-01", "2020-01-02"], ColumnContract(type="category"), id="dates"),
        pytest.param(["1,5", "2,5"], ColumnContract(type="category"), id="decimal-comma"),
    ],
)
def test_a_declared_category_takes_any_text(cells, rule):
    assert run(cells, rule).table.features[0].labels == tuple(sorted(cells))


def test_fifty_labels_are_no_identifier():
    assert len(run([f"id{number}" for number in range(50)]).table.features[0].labels) == 50


def test_half_of_the_cells_make_a_number_column():
    assert complaint(["1", "2", "x", "y"]) == (
        "t: dataset.columns.a: 2 values of 'a' are text in a number column (2 of its 4 values are numbers): "
        "row 3: 'x', row 4: 'y'; "
        "repair the cells, say what they mean, e.g. cells: {'x': missing}, or declare type: category"
    )


def test_more_text_than_numbers_is_a_category():
    assert run(["1", "x", "y"]).table.features[0].labels == ("1", "x", "y")


def test_every_column_complains_at_once():
    raw = raw_of(["1", "-2"], b=pd.Series(["u", "v"], dtype=object), c=[np.inf, 1.0])
    columns = {"a": ColumnContract(min=0), "b": ColumnContract(values=("u",)), "y": ColumnContract(max=1)}
    with pytest.raises(DataError) as caught:
        assemble(raw, dataset_of(target="y", columns=columns), seed=0)
    assert str(caught.value) == (
        f"t: dataset.columns.a: 1 value of 'a' is below the minimum 0: row 2: -2{REPAIR}\n"
        "t: dataset.columns.b: 1 value of 'b' is not among the allowed values: row 2: 'v'; known: u\n"
        "t: dataset.columns.c: 1 value of 'c' is infinite: row 1: inf; "
        "write a number, or leave the cell empty and set dataset.missing\n"
        f"t: dataset.columns.y: 1 value of 'y' is above the maximum 1: row 2: 1.5{REPAIR}\n"
        "4 problems"
    )
    assert [one.code for one in caught.value.complaints] == [
        "below-minimum",
        "unknown-label",
        "not-finite",
        "above-maximum",
    ]


def test_a_contract_holds_for_a_column_that_is_not_used():
    raw = raw_of(["1", "2"], b=[1.0, -1.0])
    dataset = dataset_of(target="y", features=("a",), columns={"b": ColumnContract(min=0)})
    with pytest.raises(DataError) as caught:
        assemble(raw, dataset, seed=0)
    assert str(caught.value) == f"t: dataset.columns.b: 1 value of 'b' is below the minimum 0: row 2: -1.0{REPAIR}"
