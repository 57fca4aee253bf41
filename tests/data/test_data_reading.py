"""How cells are read: rules for single cells, parts of dates, marks of gaps, alike for tables and blocks of files."""

import json
from datetime import datetime, timedelta
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from data_parts import dataset_of

from crda_spec.data.assemble import assemble
from crda_spec.data.blocks import open_rows
from crda_spec.data.cells import BlockPlace, block_numbers
from crda_spec.data.contract import ColumnContract
from crda_spec.data.dataset import Missing
from crda_spec.data.raw import RawTable
from crda_spec.data.reading import moment_of, part_of
from crda_spec.data.split import FractionSplit
from crda_spec.errors import DataError
from crda_spec.spec.check import load_spec


def raw_of(**columns) -> RawTable:
    frame = pd.DataFrame({name: pd.Series(cells) for name, cells in columns.items()})
    return RawTable(frame=frame, sha256="0" * 64, description="t", first_line=2)


def table_of(raw, **settings):
    return assemble(raw, dataset_of(target="y", **settings), seed=0).table


def message(raw, **settings) -> str:
    with pytest.raises(DataError) as caught:
        assemble(raw, dataset_of(target="y", **settings), seed=0)
    return str(caught.value)


Y = [1.0, 2.0, 3.0, 4.0]
DAYS = ["2023-12-31", "2024-03-01T18:30:00", None, "1969-12-31"]


def test_a_date_becomes_its_parts_in_its_own_place():
    contract = ColumnContract(type="date", as_=("year", "month", "day_of_year", "weekday", "hour", "elapsed_days"))
    table = table_of(
        raw_of(a=[1.5, 2.5, 3.5, 4.0], day=DAYS, y=Y), columns={"day": contract}, missing=Missing(kind="impute")
    )
    parts = ("year", "month", "day_of_year", "weekday", "hour", "elapsed_days")
    assert table.names == ("a", *(f"day.{part}" for part in parts))
    assert table.x[:, 1:].tolist()[0] == [2023, 12, 365, 7, 0, 19722]
    assert table.x[:, 1:].tolist()[1] == [2024, 3, 61, 5, 18, 19783 + 18.5 / 24]
    assert np.isnan(table.x[2, 1:]).all()
    assert table.x[:, 1:].tolist()[3] == [1969, 12, 365, 3, 0, -1]
    assert [column.type for column in table.features[1:]] == ["integer"] * 5 + ["continuous"]
    assert table.features[-1].unit == "days since 1970-01-01"
    assert not any(column.inferred for column in table.features[1:])


@pytest.mark.parametrize("year", [1700, 1899, 1970, 2000, 2100])
def test_parts_agree_with_the_calendar(year):
    days = [datetime(year, 1, 1) + timedelta(hours=37 * at) for at in range(400)]
    moments = [moment_of(day, None) for day in days]
    expected = {
        "year": [day.year for day in days],
        "month": [day.month for day in days],
        "day_of_year": [day.timetuple().tm_yday for day in days],
        "weekday": [day.isoweekday() for day in days],
        "hour": [day.hour for day in days],
        "elapsed_days": [(day - datetime(1970, 1, 1)) / timedelta(days=1) for day in days],
    }
    for part, values in expected.items():
        assert part_of(moments, part).tolist() == values


def test_dates_in_a_declared_form_and_as_cells_of_their_own_type():
    written = raw_of(day=["01.03.2024", "31.12.2023", "05.01.2024", "05.02.2024"], y=Y)
    typed = raw_of(day=pd.to_datetime(["2024-03-01", "2023-12-31", "2024-01-05", "2024-02-05"]), y=Y)
    year_and_day = {"type": "date", "as_": ("year", "day_of_year")}
    form = ColumnContract(**year_and_day, format="%d.%m.%Y")
    first = table_of(written, columns={"day": form})
    second = table_of(typed, columns={"day": ColumnContract(**year_and_day)})
    assert first.x.tolist() == second.x.tolist() == [[2024, 61], [2023, 365], [2024, 5], [2024, 36]]


def test_a_date_in_a_declared_form_orders_the_rows():
    raw = raw_of(a=[1.5, 2.5, 3.5, 4.0], day=["01.03.2024", "31.12.2023", "05.01.2024", "05.02.2024"], y=Y)
    contract = ColumnContract(type="date", as_=("day_of_year",), format="%d.%m.%Y")
    done = assemble(raw, dataset_of(target="y", time="day", columns={"day": contract}), seed=0)
    assert done.table.times.tolist() == [3, 0, 1, 2]
    assert done.clock.timestamps == ("2023-12-31", "2024-01-05", "2024-02-05", "2024-03-01")
    assert done.table.names == ("a", "day.day_of_year")  # declared parts of the time are features


@pytest.mark.parametrize(
    ("cells", "form", "expected"),
    [
        pytest.param(
            ["2024-03-01", "03/25/2024", "2024-05-01", "04/30/2024"],
            None,
            "t: dataset.columns.day: 2 dates of 'day' are not written as ISO 8601 has dates (2024-03-01): "
            "row 2 (line 3): '03/25/2024', row 4: '04/30/2024'; "
            "a column has one form of dates, and these look like %m/%d/%Y: write all in one form",
            id="mixed",
        ),
        pytest.param(
            ["01.02.2024", "13.02.2024", "02.02.2024", "01.04.2024"],
            None,
            "t: dataset.columns.day: 4 dates of 'day' are not written as ISO 8601 has dates (2024-03-01): "
            "row 1 (line 2): '01.02.2024', row 2: '13.02.2024', row 3: '02.02.2024', row 4: '01.04.2024'; "
            "say how they are written: format: '%d.%m.%Y'",
            id="another-form",
        ),
        pytest.param(
            ["01/02/2024", "03/02/2024", "02/02/2024", "01/04/2024"],
            None,
            "t: dataset.columns.day: 4 dates of 'day' are not written as ISO 8601 has dates (2024-03-01): "
            "row 1 (line 2): '01/02/2024', row 2: '03/02/2024', row 3: '02/02/2024', row 4: '01/04/2024'; "
            "say how they are written: format: '%d/%m/%Y' or '%m/%d/%Y'",
            id="two-forms-fit",
        ),
        pytest.param(
            ["01.02.2024", "2024-02-03", "02.02.2024", "31.02.2024"],
            "%d.%m.%Y",
            "t: dataset.columns.day: 2 dates of 'day' are not written as '%d.%m.%Y' says: "
            "row 2 (line 3): '2024-02-03', row 4: '31.02.2024'; repair the cells",
            id="not-as-declared",
        ),
        pytest.param(
            ["2024-02-03", "soon", "2024-02-04", "2024-02-05"],
            None,
            "t: dataset.columns.day: 1 date of 'day' is not written as ISO 8601 has dates (2024-03-01): "
            "row 2 (line 3): 'soon'; "
            "write dates as 2024-03-01, or say how they are written, e.g. format: '%d.%m.%Y'",
            id="no-date",
        ),
    ],
)
def test_cells_that_are_no_such_dates_are_named(cells, form, expected):
    contract = ColumnContract(type="date", as_=("elapsed_days",), format=form)
    assert message(raw_of(day=cells, y=Y), columns={"day": contract}) == expected


def test_a_date_is_asked_for_by_its_own_name_or_that_of_a_part():
    raw = raw_of(a=[1.5, 2.5, 3.5, 4.0], day=["2024-03-01", "2023-12-31", "2024-01-05", "2024-02-05"], y=Y)
    columns = {"day": ColumnContract(type="date", as_=("year", "month"))}
    assert table_of(raw, columns=columns, features=("day",)).names == ("day.year", "day.month")
    assert table_of(raw, columns=columns, features=("day.month", "a")).names == ("day.month", "a")


def test_a_part_whose_name_is_taken():
    raw = raw_of(**{"day": DAYS, "day.year": [1, 2, 3, 4], "y": Y})
    assert message(raw, columns={"day": ColumnContract(type="date", as_=("year",))}, missing="impute") == (
        "t: dataset.columns.day.as: 'day.year' would be made of 'day', but is a column already; rename the column"
    )


@pytest.mark.parametrize(
    ("cell", "expected"),
    [
        ("<120", "120"),
        ("n/a", None),
        (" n/a ", None),
        ("-99", None),
        ("1,234", "1234"),
        ("1,234.5 mg", "1234.5"),
        ("12,34", "12,34"),  # no thousands: left as it is, and complained about
        ("5mg", "5"),
        ("mg", "mg"),
        ("7", "7"),
        (7, 7),
        (-99, None),
        (None, None),
    ],
)
def test_what_a_cell_means(cell, expected):
    cells = {"<120": 120, "n/a": "missing", "-99": "missing"}
    contract = ColumnContract(type="continuous", unit="mg", thousands=",", cells=cells)
    assert contract.read(cell) == expected


def test_a_numeric_column_with_a_few_other_cells_keeps_its_numbers():
    raw = raw_of(dose=["5 mg", "<120", "1,234", "n/a"], sex=["Male ", "male", "female", "M"], y=Y)
    columns = {
        "dose": ColumnContract(
            type="continuous", unit="mg", thousands=",", cells={"<120": 0.5, "n/a": "missing"}, min=0
        ),
        "sex": ColumnContract(cells={"Male ": "male", "M": "male"}),
    }
    done = assemble(raw, dataset_of(target="y", columns=columns, missing="impute"), seed=0)
    assert done.table.x[:3, 0].tolist() == [5.0, 0.5, 1234.0]
    assert np.isnan(done.table.x[3, 0])
    assert done.table.features[1].labels == ("female", "male")
    assert done.report.missing == {"dose": 1}


def test_rules_may_differ_by_column_and_for_the_target():
    raw = raw_of(a=[None, 2.0, 3.0, 4.0], dose=[1.0, None, 3.0, 4.0], y=[1.0, 2.0, 3.0, None])
    done = assemble(
        raw,
        dataset_of(target="y", missing=Missing(kind="impute", target="drop", columns={"dose": "drop"})),
        seed=0,
    )
    assert done.table.row_ids.tolist() == [0, 2]
    assert (done.report.dropped_missing, done.report.missing) == (2, {"a": 1, "dose": 1, "y": 1})


def test_a_gap_that_tells_something_is_a_feature():
    raw = raw_of(a=[None, 2.0, 3.0, 4.0], b=["x", None, "x", "z"], y=Y)
    table = table_of(raw, missing=Missing(kind="impute", indicator=("a", "b")))
    assert table.names == ("a", "a.missing", "b", "b.missing")
    assert table.x[:, 1].tolist() == [1, 0, 0, 0]
    assert table.x[:, 3].tolist() == [0, 1, 0, 0]
    assert table.features[1].type == "boolean"


def written(tmp_path: Path, **changes) -> Path:
    section = {"source": {"kind": "csv", "path": "t.csv"}, "target": "y", **changes}
    spec = tmp_path / "spec.yaml"
    spec.write_text(json.dumps({"version": 1, "name": "t", "dataset": section}))
    days = [f"2024-0{1 + at % 9}-1{at % 7}" for at in range(20)]
    frame = pd.DataFrame({"day": days, "dose": [f"{at * 100:,} mg" for at in range(20)], "a": np.arange(20) ** 2.0})
    frame.loc[3, "dose"], frame.loc[4, "a"] = "<120", None
    frame["y"] = np.arange(20) % 7 + 0.5
    frame.to_csv(tmp_path / "t.csv", index=False)
    return spec


RULES = {
    "columns": {
        "day": {"type": "date", "as": ["month", "elapsed_days"]},
        "dose": {"type": "continuous", "unit": "mg", "thousands": ",", "cells": {"<120": 120}},
    },
    "missing": {"kind": "impute", "indicator": ["a"]},
}


@pytest.mark.parametrize("ending", ["csv", "parquet", "xlsx"])
def test_a_block_of_new_rows_is_read_as_the_table_is(tmp_path, ending):
    spec, _ = load_spec(written(tmp_path, **RULES))
    raw = spec.dataset.source.read(tmp_path)
    table = assemble(raw, spec.dataset, seed=0).table
    frame = pd.read_csv(tmp_path / "t.csv")
    if ending == "xlsx":
        frame.to_excel(tmp_path / "t.xlsx", index=False)
    if ending == "parquet":
        frame.assign(day=pd.to_datetime(frame["day"])).to_parquet(tmp_path / "t.parquet")
    file = open_rows(tmp_path / f"t.{ending}").read_by(spec.dataset.reading)
    blocks = list(file.blocks(7, list(table.names)))
    assert [len(block) for block in blocks] == [7, 7, 6]
    assert all(block.column_names == list(table.names) for block in blocks)
    read = np.concatenate([block_numbers(one, table.features, BlockPlace(file="t", first=0)) for one in blocks])
    np.testing.assert_array_equal(read, table.x)


def test_a_block_names_the_row_of_a_cell_that_is_no_date(tmp_path):
    spec, _ = load_spec(written(tmp_path, **RULES))
    block = pa.table({"day": ["2024-01-01", "1.5.2024", "x"]})
    with pytest.raises(DataError) as caught:
        spec.dataset.reading.of_block(block, ["day.month"], file="new.csv", first=100)
    assert str(caught.value) == (
        "new.csv: 2 dates of 'day' are not written as ISO 8601 has dates (2024-03-01): row 102: '1.5.2024' "
        "and 1 more among the rows read with it; repair the cells: the run's contract holds for the new rows too"
    )


def test_a_file_that_has_the_parts_already_needs_no_date(tmp_path):
    spec, _ = load_spec(written(tmp_path, **RULES))
    block = spec.dataset.reading.of_block(pa.table({"day.month": [3, 4]}), ["day.month"], file="new.csv", first=0)
    assert block["day.month"].to_pylist() == [3, 4]


def test_a_split_holds_derived_columns_of_both_parts(tmp_path):
    from crda_spec.data.assemble import load

    spec, _ = load_spec(written(tmp_path, **RULES))
    split, report = load(spec.dataset.model_copy(update={"split": FractionSplit(test=0.25)}), tmp_path, seed=0)
    assert split.train.names == ("day.month", "day.elapsed_days", "dose", "a", "a.missing")
    assert (len(split.train), len(split.test), report.missing_cells) == (15, 5, 1)
