"""The time column: whatever a source delivers becomes an order, and what cannot be ordered is named with its rows."""

import datetime as dt
import sqlite3
from zoneinfo import ZoneInfo

import numpy as np
import openpyxl
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from data_parts import dataset_of
from hypothesis import given
from hypothesis import strategies as st

from crda_spec.data.assemble import assemble
from crda_spec.data.contract import ColumnContract
from crda_spec.data.raw import RawTable
from crda_spec.data.sources import Csv, Excel, Parquet, Sql
from crda_spec.data.timestamps import Timestamps, read_timestamps, time_codes
from crda_spec.errors import DataError


def raw_of(cells, **settings) -> RawTable:
    frame = pd.DataFrame({"t": pd.Series(cells, **(settings or {"dtype": object}))})
    return RawTable(frame=frame, sha256="", description="rows")


BERLIN = ZoneInfo("Europe/Berlin")


@pytest.mark.parametrize(
    ("cells", "codes", "labels"),
    [
        pytest.param(["10", "9", " 9 "], [1, 0, 0], ("9", "10"), id="whole-numbers-as-text"),
        pytest.param(["2.5", "-1e3", "2.50"], [1, 0, 1], ("-1000", "2.5"), id="numbers-as-text"),
        pytest.param(["007", "010"], [0, 1], ("7", "10"), id="numbers-with-zeros"),
        pytest.param([3, 1, None], [1, 0, -1], ("1", "3"), id="integers"),
        pytest.param([10**18 + 1, 10**18], [1, 0], (str(10**18), str(10**18 + 1)), id="beyond-what-floats-tell-apart"),
        pytest.param(["2024-03-01", None, "2023-12-31"], [1, -1, 0], ("2023-12-31", "2024-03-01"), id="days"),
        pytest.param(["2024-03", "2024-01"], [1, 0], ("2024-01-01", "2024-03-01"), id="months"),
        pytest.param(
            ["2024-03-01 08:30", "2024-03-01T08:30:00.25", "2024-03-01"],
            [1, 2, 0],
            ("2024-03-01T00:00:00", "2024-03-01T08:30:00", "2024-03-01T08:30:00.25"),
            id="timestamps-and-days",
        ),
        pytest.param(
            ["2024-03-01T08:30+01:00", "2024-03-01T08:00Z", "2024-03-01T09:00+0100"],
            [0, 1, 1],
            ("2024-03-01T07:30:00Z", "2024-03-01T08:00:00Z"),
            id="zones",
        ),
        pytest.param(
            ["2024-03-01T00:00:00.000000002", "2024-03-01T00:00:00.000000001"],
            [1, 0],
            ("2024-03-01T00:00:00.000000001", "2024-03-01T00:00:00.000000002"),
            id="nanoseconds",
        ),
        pytest.param(["9999-12-31", "0001-01-01"], [1, 0], ("0001-01-01", "9999-12-31"), id="ends-of-the-calendar"),
        pytest.param([dt.date(2024, 3, 1), dt.date(2024, 2, 29)], [1, 0], ("2024-02-29", "2024-03-01"), id="dates"),
        pytest.param(
            [dt.datetime(2024, 3, 1, 5), dt.date(2024, 3, 1)],
            [1, 0],
            ("2024-03-01T00:00:00", "2024-03-01T05:00:00"),
            id="datetimes",
        ),
        pytest.param(
            [dt.datetime(2024, 7, 1, 2, tzinfo=BERLIN), dt.datetime(2024, 7, 1, tzinfo=dt.UTC)],
            [0, 0],
            ("2024-07-01T00:00:00Z",),
            id="datetimes-with-zones",
        ),
    ],
)
def test_cells_become_an_order_and_one_spelling(cells, codes, labels):
    found = read_timestamps(raw_of(cells), "t")
    assert isinstance(found, Timestamps)
    assert (found.codes.tolist(), found.labels) == (codes, labels)
    assert time_codes(found.labels).tolist() == list(range(len(labels)))  # the spelling tells the same order again


@given(st.lists(st.datetimes() | st.dates(), min_size=1, max_size=20))
def test_the_order_is_that_of_the_calendar(cells):
    found = read_timestamps(raw_of(cells), "t")
    moments = [
        cell if isinstance(cell, dt.datetime) else dt.datetime(cell.year, cell.month, cell.day) for cell in cells
    ]
    expected = {moment: position for position, moment in enumerate(sorted(set(moments)))}
    assert found.codes.tolist() == [expected[moment] for moment in moments]
    assert time_codes([found.labels[code] for code in found.codes]).tolist() == found.codes.tolist()


@given(st.lists(st.integers() | st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=20))
def test_the_order_is_that_of_the_numbers(cells):
    found = read_timestamps(raw_of(cells), "t")
    values = [float(cell) for cell in cells] if any(isinstance(cell, float) for cell in cells) else cells
    expected = {value: position for position, value in enumerate(sorted(set(values)))}
    assert found.codes.tolist() == [expected[value] for value in values]


HINT = "write numbers, or dates and times as ISO 8601 has them, such as 2024-03-01 or 2024-03-01T08:30:00"


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        pytest.param(
            ["noon", "dusk"],
            f"2 times of 't' are neither a number nor an ISO date: row 1: 'noon', row 2: 'dusk'; {HINT}",
        ),
        pytest.param(["1", "x", "3"], f"1 time of 't' is no finite number: row 2: 'x'; {HINT}"),
        pytest.param(["1", "inf"], f"1 time of 't' is no finite number: row 2: inf; {HINT}"),
        pytest.param(
            ["2024-02-30", "2024-02-28", "2024-02-29"],
            f"1 time of 't' is no date or timestamp as ISO 8601 writes them: row 1: '2024-02-30'; {HINT}",
        ),
        pytest.param(
            ["01.02.2024", "2024-02-28", "2024-02-29"],
            f"1 time of 't' is no date or timestamp as ISO 8601 writes them: row 1: '01.02.2024'; {HINT}",
        ),
        pytest.param(["2024-02-03", "3", "4", "5"], f"1 time of 't' is no number: row 1: '2024-02-03'; {HINT}"),
        pytest.param(
            ["2024-02-03", "x", "y", "z"],
            "3 times of 't' are neither a number nor an ISO date: row 2: 'x', row 3: 'y', row 4: 'z'; " + HINT,
        ),
        pytest.param([True, False], f"the time column 't' holds booleans, which have no order in time; {HINT}"),
        pytest.param([None, None], "the time column 't' has no value at all; name another column"),
        pytest.param(
            ["2024-03-01T10:00Z", "2024-03-01T10:00", "2024-03-02T10:00"],
            "1 time of 't' is written with a time zone, the others are not: row 1: '2024-03-01T10:00Z'; "
            "write a zone in all, or none",
        ),
        pytest.param(
            ["2024-03-01T10:00Z", "2024-03-01", "2024-03-02T10:00Z"],
            "1 time of 't' is written without a time zone, the others have one: row 2: '2024-03-01'; "
            "write a zone in all, or none",
        ),
        pytest.param(
            [dt.time(3, 4), dt.date(2024, 1, 1)],
            "1 time of 't' is no date or timestamp as ISO 8601 writes them: row 1: datetime.time(3, 4); " + HINT,
        ),
        pytest.param(
            ["0001-01-01T00:00+02:00", "0001-01-01T00:00Z"],
            "1 time of 't' is no date or timestamp as ISO 8601 writes them: row 1: '0001-01-01T00:00+02:00'; " + HINT,
        ),
    ],
)
def test_what_has_no_place_in_time_is_named(cells, expected):
    found = read_timestamps(raw_of(cells), "t")
    assert found.headline() == f"rows: dataset.time: {expected}"


def test_moments_that_nobody_could_have_written_are_refused():
    with pytest.raises(ValueError, match="neither a number nor an ISO date"):
        time_codes(["noon"])


DAYS = [dt.date(2024, 3, 1), dt.date(2024, 1, 31), dt.date(2024, 2, 29)]


def written(kind, folder):
    x, y = [1.0, 2.0, 3.0], [0.5, 0.1, 0.9]
    if kind == "csv":
        lines = [f"{day},{a},{b}" for day, a, b in zip(DAYS, x, y, strict=True)]
        (folder / "rows.csv").write_text("\n".join(["t,x,y", *lines]) + "\n")
        return Csv(path="rows.csv")
    if kind == "excel":
        book = openpyxl.Workbook()
        for row in (["t", "x", "y"], *map(list, zip(DAYS, x, y, strict=True))):
            book.active.append(row)
        book.save(folder / "rows.xlsx")
        return Excel(path="rows.xlsx")
    if kind == "sql":
        with sqlite3.connect(folder / "rows.db") as base:
            base.execute("CREATE TABLE r (t TEXT, x REAL, y REAL)")
            base.executemany(
                "INSERT INTO r VALUES (?, ?, ?)", [(str(d), a, b) for d, a, b in zip(DAYS, x, y, strict=True)]
            )
        base.close()
        return Sql(url="sqlite:///rows.db", query="SELECT * FROM r ORDER BY x")
    types = {"date32": pa.date32(), "seconds": pa.timestamp("s"), "nanoseconds": pa.timestamp("ns")}
    days = pa.array(DAYS, pa.date32()).cast(types[kind])
    pq.write_table(pa.table({"t": days, "x": x, "y": y}), folder / "rows.parquet")
    return Parquet(path="rows.parquet")


@pytest.mark.parametrize("kind", ["csv", "excel", "sql", "date32", "seconds", "nanoseconds"])
def test_every_source_delivers_its_dates(kind, tmp_path):
    found = assemble(written(kind, tmp_path).read(tmp_path), dataset_of(target="y", time="t"), seed=0)
    assert found.clock.timestamps == ("2024-01-31", "2024-02-29", "2024-03-01")
    assert found.clock.column == "t"
    assert found.table.times.tolist() == [2, 0, 1]
    assert found.table.names == ("x",)  # a time is no feature


def assembled(frame, **rules):
    raw = RawTable(frame=pd.DataFrame(frame), sha256="", description="rows")
    return assemble(raw, dataset_of(target="y", time="t", **rules), seed=0)


FRAME = {"t": [3.0, 1.0, 2.0, 2.0], "x": [0.0, 0.0, 1.0, 2.0], "y": [1.0, 1.0, 3.0, 4.0]}


def test_the_same_values_at_another_time_are_no_copy():
    assert assembled(FRAME).table.times.tolist() == [2, 0, 1, 1]
    same = {**FRAME, "t": [1.0, 1.0, 2.0, 2.0]}
    with pytest.raises(DataError) as caught:
        assembled(same)
    assert str(caught.value) == (
        "rows: dataset.duplicates: 1 row copies an earlier row in every feature, the target and the time: "
        "row 2 copies row 1; set dataset.duplicates to kind: keep or kind: drop"
    )
    assert len(assembled(same, duplicates="drop").table) == 3


def test_a_time_may_be_a_feature_when_it_is_listed_and_numeric():
    found = assembled(FRAME, features=("x", "t"))
    assert found.table.names == ("x", "t")
    assert found.table.x[:, 1].tolist() == [3.0, 1.0, 2.0, 2.0]
    words = {**FRAME, "t": ["2024-03-01", "2024-01-01", "2024-02-01", "2024-02-01"]}
    with pytest.raises(DataError) as caught:
        assembled(words, features=("x", "t"), columns={"t": ColumnContract(type="category")})
    assert str(caught.value) == (
        "rows: dataset.features: the time column 't' is listed among the features, but is a category; "
        "remove it from the list, or write numbers"
    )


@pytest.mark.parametrize("missing", ["error", "impute"])
def test_a_missing_time_is_named(missing):
    with pytest.raises(DataError) as caught:
        assembled({**FRAME, "t": [3.0, np.nan, 2.0, np.nan]}, missing=missing)
    assert str(caught.value) == (
        "rows: dataset.missing: 2 values of 't' are missing: row 2, row 4; "
        "a time is never imputed: repair the cells, or set dataset.missing to kind: drop"
    )


def test_a_row_without_a_time_can_be_dropped():
    found = assembled({**FRAME, "t": [3.0, np.nan, 2.0, 2.0]}, missing="drop")
    assert found.table.row_ids.tolist() == [0, 2, 3]
    assert found.report.dropped_missing == 1


def test_a_time_that_plays_a_second_part_is_refused():
    raw = RawTable(frame=pd.DataFrame(FRAME), sha256="", description="rows")
    with pytest.raises(DataError) as caught:
        assemble(raw, dataset_of(target="y", time="y"), seed=0)
    assert str(caught.value) == ("rows: dataset.time: 'y' is the target; name another column")
    with pytest.raises(DataError) as caught:
        assemble(raw, dataset_of(target="y", time="tt"), seed=0)
    assert str(caught.value) == "rows: dataset.time: there is no column 'tt'; did you mean 't'?"
