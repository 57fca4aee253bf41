"""Tables as people have them, given to `crda-spec init`: each with all that is printed, in `wrong_tables/`.

Most are refused with the place, the value and the next thing to try; what `init` can read by a rule, it names.
`CRDA_UPDATE_GOLDEN=1 pytest tests/cli/test_wrong_tables.py` rewrites the texts; read every one that changed.
"""

import gzip
import io
import os
import zipfile
from pathlib import Path

import openpyxl
import pytest

GOLDEN = Path(__file__).parent / "wrong_tables"
UPDATE = os.environ.get("CRDA_UPDATE_GOLDEN") == "1"
ROWS = 40
HEADER = ("area", "rooms", "garage", "price")
CELLS = [
    (f"{40 + 3.5 * at}", f"{1 + at % 5}", ("none", "one", "two")[at % 3], f"{100 + 7 * at + at * at % 11}")
    for at in range(ROWS)
]


def text(cells=CELLS, header=HEADER, sep=",", end="\n"):
    return end.join(sep.join(row) for row in (header, *cells)) + end


def column(name, change, *, header=HEADER):
    """The table with one column written in another way."""
    at = header.index(name)
    return text([(*row[:at], change(number, row[at]), *row[at + 1 :]) for number, row in enumerate(CELLS)])


def sometimes(value, *, every=10):
    """Every tenth cell holds this instead."""
    return lambda number, cell: value if number % every == 3 else cell


def added(name, cell):
    """The table with one column more, before the others."""
    rows = [(cell(number), *row) for number, row in enumerate(CELLS)]
    return text(rows, (name, *HEADER))


def german(value):
    return value.replace(".", ",")


def workbook(*, header=HEADER, merged=False, title=""):
    book = openpyxl.Workbook()
    sheet = book.active
    if title:
        sheet.append([title])
    sheet.append(header)
    for row in CELLS:
        sheet.append([float(row[0]), int(row[1]), row[2], float(row[3])])
    if merged:
        sheet.insert_rows(1)
        sheet["A1"] = "Building"
        sheet.merge_cells("A1:B1")
    file = io.BytesIO()
    book.save(file)
    return file.getvalue()


def archive(content):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as packed:
        packed.writestr("houses.csv", content)
    return file.getvalue()


DAYS = [f"2024-{1 + at // 28:02d}-{1 + at % 28:02d}" for at in range(ROWS)]
TARGET = ("--target", "price")

# Of each: the file's name, what is in it, and the arguments behind it.
TABLES = {
    # the file
    "empty_file": ("houses.csv", "", TARGET),
    "only_spaces": ("houses.csv", "  \n \n", TARGET),
    "only_a_header": ("houses.csv", "area,rooms,garage,price\n", TARGET),
    "one_row": ("houses.csv", text(CELLS[:1]), TARGET),
    "one_column": ("houses.csv", text([row[3:] for row in CELLS], ("price",)), TARGET),
    "wrong_ending": ("houses.doc", text(), TARGET),
    "no_such_file": ("houses.csv", text(), TARGET),
    "gzip_named_csv": ("houses.csv", gzip.compress(text().encode(), mtime=0), TARGET),
    "zip_named_csv": ("houses.csv", archive(text()), TARGET),
    "excel_named_csv": ("houses.csv", workbook(), TARGET),
    "csv_named_excel": ("houses.xlsx", text(), TARGET),
    "csv_named_parquet": ("houses.parquet", text(), TARGET),
    "web_page_named_csv": ("houses.csv", "<!DOCTYPE html>\n<html><body>Please log in</body></html>\n", TARGET),
    "json_named_csv": ("houses.csv", '[{"area": 40, "price": 100},\n {"area": 43, "price": 107}]\n', TARGET),
    "zero_bytes": ("houses.csv", text().replace("none", "no\0ne", 1), TARGET),
    # how it is written
    "utf16": ("houses.csv", text().encode("utf-16"), TARGET),
    "latin1": ("houses.csv", column("garage", sometimes("für zwei")).encode("latin-1"), TARGET),
    "byte_order_mark": ("houses.csv", "\ufeff" + text(), TARGET),
    "colons_between_cells": ("houses.csv", text(sep=":"), TARGET),
    "spaces_between_cells": ("houses.csv", text(sep="  "), TARGET),
    "unclosed_quote": ("houses.csv", text().replace("none", '"none', 1), TARGET),
    "one_cell_more": ("houses.csv", text().replace("one", "one, heated", 1), TARGET),
    "lines_end_as_on_old_macs": ("houses.csv", text(end="\r"), TARGET),
    # the header
    "no_header": ("houses.csv", text(CELLS[1:], CELLS[0]), TARGET),
    "repeated_names": ("houses.csv", text(header=("area", "area", "garage", "price")), TARGET),
    "nameless_column": ("houses.csv", added("", str), TARGET),
    "title_above_the_header": ("houses.csv", "Houses of 2024,,,\n" + text(), TARGET),
    "merged_header_rows": ("houses.csv", "Building,,Extras,Sale\n" + text(), TARGET),
    "merged_header_rows_in_excel": ("houses.xlsx", workbook(merged=True), TARGET),
    "second_header_row_of_units": ("houses.csv", text([("m2", "", "", "kEUR"), *CELLS]), TARGET),
    "header_once_more": ("houses.csv", text([*CELLS[:20], HEADER, *CELLS[20:]]), TARGET),
    "spaces_around_names": ("houses.csv", text(header=(" area", "rooms ", " garage ", " price")), TARGET),
    # the target
    "no_target_named": ("houses.csv", text(), ()),
    "two_targets": ("houses.csv", text(), ("--target", "price,area")),
    "target_misspelt": ("houses.csv", text(), ("--target", "Prize")),
    "target_constant": ("houses.csv", column("price", lambda _number, _cell: "200"), TARGET),
    "target_text": ("houses.csv", text(), ("--target", "garage")),
    "target_of_two_words": (
        "houses.csv",
        column("price", lambda number, _cell: "high" if number % 2 else "low"),
        TARGET,
    ),
    "target_in_currency": ("houses.csv", column("price", lambda _, cell: f"€ {cell}"), TARGET),
    "target_in_dollars": ("houses.csv", column("price", lambda _, cell: f"${cell}"), TARGET),
    "target_a_date": ("houses.csv", added("day", lambda number: DAYS[number]), ("--target", "day")),
    "target_mostly_missing": ("houses.csv", column("price", lambda number, cell: cell if number < 3 else ""), TARGET),
    "target_infinite": ("houses.csv", column("price", sometimes("inf")), TARGET),
    # the cells
    "decimal_commas": ("houses.csv", text([tuple(map(german, row)) for row in CELLS], sep=";"), TARGET),
    "decimal_commas_in_quotes": ("houses.csv", column("area", lambda _, cell: f'"{german(cell)}"'), TARGET),
    "thousands": ("houses.csv", column("price", lambda _, cell: f'"1,{cell}"'), TARGET),
    "thousands_with_points": ("houses.csv", column("area", lambda number, _cell: f"1.{100 + number}.000"), TARGET),
    "thousands_with_spaces": ("houses.csv", column("area", lambda number, _cell: f"1 {100 + number}"), TARGET),
    "percent_signs": ("houses.csv", column("area", lambda _, cell: f"{cell}%"), TARGET),
    "units_in_cells": ("houses.csv", column("area", lambda _, cell: f"{cell} m2"), TARGET),
    "two_units_in_cells": (
        "houses.csv",
        column("area", lambda number, cell: f"{cell} {'m2' if number % 2 else 'sqft'}"),
        TARGET,
    ),
    "negative_in_brackets": ("houses.csv", column("area", sometimes("(120)")), TARGET),
    "words_for_missing": ("houses.csv", column("area", sometimes("n/a")), TARGET),
    "nines_for_missing": ("houses.csv", column("rooms", sometimes("-999")), TARGET),
    "limits": ("houses.csv", column("area", sometimes("<50")), TARGET),
    "ranges": ("houses.csv", column("area", lambda number, _cell: f"{number}-{number + 9}"), TARGET),
    "infinite_values": ("houses.csv", column("area", sometimes("-inf")), TARGET),
    "errors_of_a_spreadsheet": ("houses.csv", column("area", sometimes("#REF!")), TARGET),
    "mixed_date_formats": (
        "houses.csv",
        added("sold", lambda at: f"{DAYS[at][8:]}.{DAYS[at][5:7]}.2024" if at % 4 else DAYS[at]),
        TARGET,
    ),
    "dates_that_read_two_ways": (
        "houses.csv",
        added("sold", lambda at: f"{1 + at % 12:02d}/{1 + at % 9:02d}/2024"),
        TARGET,
    ),
    "labels_nearly_equal": ("houses.csv", column("garage", sometimes("None ")), TARGET),
    "total_row": ("houses.csv", text([*CELLS, ("Total", "", "", "9999")]), TARGET),
    "note_below_the_table": ("houses.csv", text() + "Source: the land registry of 2024,,,\n", TARGET),
    "empty_rows_between": ("houses.csv", text().replace("\n40", "\n,,,\n40").replace("\n75", "\n,,,\n75"), TARGET),
    "every_row_twice": ("houses.csv", text([*CELLS, *CELLS]), TARGET),
    "all_features_constant": ("houses.csv", text([("50", "3", "none", row[3]) for row in CELLS]), TARGET),
    "all_features_missing": ("houses.csv", text([("", "", "", row[3]) for row in CELLS]), TARGET),
    "row_numbers": ("houses.csv", added("number", lambda at: str(at + 1)), TARGET),
}


def expected(name: str, printed: str) -> str:
    file = GOLDEN / f"{name}.txt"
    if UPDATE:
        file.parent.mkdir(exist_ok=True)
        file.write_text(printed, encoding="utf-8")
    return file.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", TABLES)
def test_a_wrong_table_is_answered_with_a_whole_message(name, command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    file, content, arguments = TABLES[name]
    Path(file).write_bytes(content.encode() if isinstance(content, str) else content)
    asked = "hauses.csv" if name == "no_such_file" else file
    outcome = command("crda-spec", "init", asked, *arguments)
    assert outcome.code in (0, 2)
    printed = f"exit {outcome.code}\n{outcome.out}{outcome.err}"
    assert printed == expected(name, printed)
    assert (outcome.code == 0) == Path("spec.yaml").exists()
    assert outcome.code == 2 or command("crda-spec", "validate", "spec.yaml").code == 0
    assert {one.name for one in tmp_path.iterdir()} <= {file, "spec.yaml", "crda-spec.v1.schema.json"}


def test_every_golden_is_of_a_table():
    assert sorted(file.stem for file in GOLDEN.iterdir()) == sorted(TABLES)
