"""What a column of a table looks like before any rule is made: the rules that it asks for, and what a reader must know.

`crda-spec init` writes what is proposed here. Nothing is lost without a sentence that says so, with the rows it costs.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from crda_spec.data.cells import UnsupportedCellsError, grouped, label_of, number_of, quoted, read_cells, unit_of
from crda_spec.data.contract import MISSING_CELL, ColumnContract, DatePart
from crda_spec.data.raw import RawTable, counted, listed
from crda_spec.data.reading import FORMATS, moment_of, part_of
from crda_spec.records import Array, IntArray

if TYPE_CHECKING:
    import pandas as pd

_MOST_RULES = 20  # different texts of a column that get a rule each
_ASKED = 200  # different cells that tell how a column is written
THOUSANDS_MARKS = (",", " ", "'")
_WORDS = 4  # on average, from which labels are free text
_LIMIT = re.compile(r"\s*[<>≤≥]=?\s*(?P<number>[+-]?(?:\d+\.?\d*|\.\d+))\s*")
_MISSING_WORDS = frozenset(
    {
        *(
            "n/a",
            "na",
            "n.a.",
            "nan",
            "none",
            "null",
            "nil",
            "?",
            "-",
            "--",
            "---",
            ".",
            "..",
            "*",
            "missing",
            "unknown",
        ),
        *(
            "not available",
            "not measured",
            "not known",
            "nd",
            "n.d.",
            "tbd",
            "#n/a",
            "#na",
            "#div/0!",
            "#value!",
            "#ref!",
        ),
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnProfile:
    """What a first spec should say of one column."""

    rules: dict[str, Any] = field(default_factory=dict)  # of its contract: about how its cells are read
    said: tuple[str, ...] = ()  # what these rules do to how many cells, and what looks odd and is left as it is
    left_out: str = ""  # why it is no feature, if it should be none
    is_date: bool = False


def profile(raw: RawTable, name: str) -> ColumnProfile:
    """The rules that the column's cells ask for."""
    series = raw.frame[name]
    present = np.flatnonzero(series.notna().to_numpy(dtype=bool))
    if not len(present):
        return ColumnProfile(left_out="it has no value at all")
    found = _read_as(raw, name, series, present)
    rows, empty = len(series), len(series) - len(present)
    if found.left_out:
        return found
    if 2 * empty > rows:
        why = f"it is empty in {empty} of {rows} rows: to drop them costs {empty} rows, to fill them invents most cells"
        return ColumnProfile(left_out=why)
    contract = ColumnContract(**found.rules)
    meant = {label_of(cell) for cell in map(contract.read, series.iloc[present]) if cell is not None}
    if len(meant) == 1:
        some = "every row" if not empty else f"{len(present)} rows, and empty in the other {empty}"
        return ColumnProfile(left_out=f"it is constant: {quoted(next(iter(meant)))} in {some}")
    return found


def _read_as(raw: RawTable, name: str, series: pd.Series[Any], present: IntArray) -> ColumnProfile:
    """As a date, as numbers with other cells among them, or as labels."""
    try:
        cells = read_cells(series, raw.numbers.get(name))
    except UnsupportedCellsError as error:
        if "dates" in str(error):
            return _date(series.iloc[present].tolist(), None)
        return ColumnProfile(left_out=f"it holds {error}")
    if cells.kind == "boolean" or cells.is_truth_pair():
        return ColumnProfile()
    if cells.kind != "text":
        return _infinite(series, cells.numbers) or ColumnProfile(said=_outliers(raw, cells.numbers))
    texts = Counter(str(cell) for cell in cells.shown[present].tolist())
    return _dates(raw, texts, cells.shown, present) or _numbers(raw, texts, cells.shown) or _labels(texts, len(present))


def _infinite(series: pd.Series[Any], numbers: Array) -> ColumnProfile | None:
    """A column of numbers with some infinite ones, which no model can take; None where all are finite, or few are."""
    texts = Counter(label_of(cell) for cell in series[np.isinf(numbers)])
    if not texts or 10 * texts.total() > len(series):
        return None
    finite = numbers[np.isfinite(numbers)]
    said = tuple(
        f"{quoted(text)} in {counted(count, 'row')} is read as a missing value" for text, count in texts.items()
    )
    kind = "integer" if np.all(finite == np.round(finite)) else "continuous"
    return ColumnProfile(rules={"cells": dict.fromkeys(texts, MISSING_CELL), "type": kind}, said=said)


def _dates(raw: RawTable, texts: Counter[str], shown: Any, present: IntArray) -> ColumnProfile | None:  # noqa: ANN401
    """A column of dates, in a form that can be told; None where it holds none."""
    asked = [text for text in list(texts)[:_ASKED] if any(sign.isdigit() for sign in text) and number_of(text) is None]
    if 2 * len(asked) < min(len(texts), _ASKED):
        return None
    share = {form: sum(moment_of(text, form) is not None for text in asked) for form in (None, *FORMATS)}
    most = max(share.values())
    if 2 * most < len(asked):
        return None
    fits = [form for form, count in share.items() if count == most]
    whole = [form for form in fits if all(moment_of(text, form) is not None for text in texts)]
    if not whole:
        bad = np.array([at for at in present.tolist() if moment_of(shown[at], fits[0]) is None], dtype=np.int64)
        where = listed(raw, bad, [quoted(shown[at]) for at in bad[:5].tolist()])
        form = "2024-03-01" if fits[0] is None else fits[0]
        why = f"it holds dates, most written as {form}, but {counted(len(bad), 'cell')} in another way ({where})"
        return ColumnProfile(left_out=f"{why}: write all in one form, and declare the column as type: date")
    different = list({tuple(moment_of(text, form) for text in texts): form for form in reversed(whole)}.values())
    if len(different) > 1:
        forms = " or ".join(f"format: '{form}'" for form in sorted(map(str, different)))
        example = next(iter(texts))
        why = f"its dates can be read in two ways ({quoted(example)}): declare type: date with {forms}"
        return ColumnProfile(left_out=why)
    return _date(list(texts), whole[0])


def _date(cells: Sequence[object], form: str | None) -> ColumnProfile:
    moments = [moment_of(cell, form) for cell in cells]
    rules: dict[str, Any] = {"type": "date", "as_": _parts(moments)} | ({} if form is None else {"format": form})
    if not rules["as_"]:
        return ColumnProfile(left_out="it is constant: one date")
    return ColumnProfile(rules=rules, is_date=True)


def _parts(moments: Sequence[int | None]) -> tuple[DatePart, ...]:
    """The parts that vary: of days of a year alone the years, else the elapsed days and the place in year and week."""
    differs = {part: len(np.unique(part_of(moments, part))) > 1 for part in ("year", "day_of_year", "weekday", "hour")}
    if not differs["day_of_year"]:
        return ("year",) if differs["year"] else (("hour",) if differs["hour"] else ())
    first_days = bool(np.all(np.isin(part_of(moments, "day_of_year"), _MONTH_STARTS)))
    parts: list[DatePart] = ["year"] if differs["year"] else []
    parts += ["month"] if first_days else ["day_of_year"]
    parts += ["weekday"] if differs["weekday"] and not first_days else []
    return (*parts, *(("hour",) if differs["hour"] else ()), "elapsed_days")


_MONTH_STARTS = tuple(
    sorted({1 + before + leap for leap in (0, 1) for before in (0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334)})
)


def _numbers(raw: RawTable, texts: Counter[str], shown: Any) -> ColumnProfile | None:  # noqa: ANN401
    """Numbers with other cells among them; None where most cells are no numbers, however they are read."""
    carried = _units(texts)
    if sum(len(one) > 1 for one in carried.values()) > 1 and 2 * sum(map(len, carried.values())) >= len(texts):
        two = " and ".join(sorted(carried, key=lambda unit: -len(carried[unit]))[:2])
        return ColumnProfile(left_out=f"its numbers carry different units, {two}: write all in one")
    unit = max(carried, key=lambda one: len(carried[one]), default=None)
    comma = [text for text in texts if "," in text]
    mark = next((one for one in THOUSANDS_MARKS if _are_grouped(texts, one, unit)), None)
    thousands = [text for text in texts if mark is not None and mark in text]
    unclear = 2 * len(comma) > len(texts) and not any("." in text or text.count(",") > 1 for text in comma)
    if unclear and not (mark == "," and _has_points(raw)):
        if unit is None:  # 1,5 or 1,000 in every row: the contract's own check knows which
            return None
        why = f"its numbers may have a decimal comma ({quoted(comma[0])}): write them with a point, without {unit}"
        return ColumnProfile(left_out=why)
    rules: dict[str, Any] = ({"unit": unit} if unit else {}) | ({"thousands": mark} if thousands else {})
    read = ColumnContract(**rules)
    meant = {text: number_of(read.read(text)) for text in texts}
    rest = [text for text in texts if meant[text] is None]
    numeric = sum(texts[text] for text in texts if meant[text] is not None)
    limits = {text: float(found["number"]) for text in rest for found in [_LIMIT.fullmatch(text)] if found}
    words = [text for text in rest if text not in limits]
    known = [text for text in words if text.strip().casefold() in _MISSING_WORDS]
    odd = [text for text in words if text not in known]
    total = sum(texts.values())
    few = 10 * sum(texts[text] for text in odd) <= total
    if 2 * numeric < total or not few or len(rest) > _MOST_RULES:
        return None
    said = []
    if unit:
        count = sum(texts[text] for text in carried[unit])
        said.append(f"{counted(count, 'cell')} written with the unit {unit}, which is read off")
    if thousands:
        example = thousands[0].strip()
        count = sum(texts[text] for text in thousands)
        said.append(
            f"{counted(count, 'cell')} with a mark between thousands: {example} is read as {read.read(example)}"
        )
    where = {text: f"{quoted(text)} in {counted(texts[text], 'row')}" for text in rest}
    said += [f"{where[text]} is read as {value:g}, its limit" for text, value in limits.items()]
    said += [f"{where[text]} is read as a missing value" for text in (*known, *odd)]
    cells = {text: _whole(value) for text, value in limits.items()} | dict.fromkeys((*known, *odd), MISSING_CELL)
    if cells:
        rules["cells"] = cells
    contract = ColumnContract(**rules)
    written = [contract.read(cell) for cell in shown.tolist()]
    values = [number_of(cell) for cell in written]
    numbers = np.array([np.nan if one is None else one for one in values], dtype=np.float64)
    whole = all(value is None or value.is_integer() for value in values) and not any("." in str(one) for one in written)
    rules["type"] = "integer" if whole else "continuous"
    return ColumnProfile(rules=rules, said=(*said, *_outliers(raw, numbers)))


def _units(texts: Counter[str]) -> dict[str, list[str]]:
    """The texts in which a number is followed by a unit, by unit."""
    units: dict[str, list[str]] = {}
    for text in texts:
        unit = unit_of(text)
        if unit is not None and number_of(text) is None:
            units.setdefault(unit, []).append(text)
    return units


def _are_grouped(texts: Collection[str], mark: str, unit: str | None) -> bool:
    """Whether this mark stands between thousands wherever it stands. A unit stands behind the number or before it."""
    marked = [text.strip().removesuffix(unit or "").removeprefix(unit or "").strip() for text in texts]
    marked = [text for text in marked if mark in text]
    return bool(marked) and all(grouped(mark).fullmatch(text) for text in marked)


def _has_points(raw: RawTable) -> bool:
    """Whether some column has decimal points: then a comma is none."""
    return any("." in str(cell) for name in raw.numbers for cell in raw.frame[name].head(_ASKED))


def _whole(value: float) -> int | float:
    return int(value) if value.is_integer() else value


def _labels(texts: Counter[str], present: int) -> ColumnProfile:
    """Labels: near-equal ones are read as the most frequent of them; sentences and odd numbers are no labels."""
    digits = [text for text in texts if text.strip()[:1].isdigit()]
    if len(texts) > _MOST_RULES and 2 * len(texts) > present and 2 * len(digits) > len(texts):
        examples = ", ".join(map(quoted, digits[:2]))
        why = f"its cells look like numbers, and cannot be read as such ({examples})"
        return ColumnProfile(left_out=f"{why}: write one plain number in each, such as 1234.5")
    hidden = [text for text in texts if not text.isprintable()]
    said = [f"{quoted(text)} in {counted(texts[text], 'row')} has a sign that nobody sees" for text in hidden]
    if len(texts) > _MOST_RULES and 10 * len(texts) > present:
        words = float(np.mean([len(text.split()) for text in texts]))
        if words >= _WORDS:
            return ColumnProfile(
                left_out=f"it is free text: {len(texts)} different texts of {words:.0f} words on average"
            )
    alike: dict[str, list[str]] = {}
    for text in texts:
        alike.setdefault(" ".join(text.split()).casefold(), []).append(text)
    cells = {}
    for group in alike.values():
        usual = max(group, key=lambda text: (text == text.strip(), texts[text]))
        for text in group:
            if text != usual:
                cells[text] = usual
                said.append(f"{quoted(text)} in {counted(texts[text], 'row')} is read as {quoted(usual)}")
    if not cells:
        return ColumnProfile(said=tuple(said))
    if len(cells) > _MOST_RULES:
        why = f"{len(cells)} labels differ from others only in case or spaces: make them equal in the table"
        return ColumnProfile(said=(*said[: len(hidden)], why))
    return ColumnProfile(rules={"type": "category", "cells": cells}, said=tuple(said))


def _outliers(raw: RawTable, values: Array) -> tuple[str, ...]:
    """Numbers so far from all others that they may be errors, an age of 430 or a -99 for `not asked`."""
    known = np.sort(values[np.isfinite(values)])
    if len(known) < 20:
        return ()
    low, middle, high = np.quantile(known, (0.25, 0.5, 0.75))
    reach = 3 * max(high - low, 1e-12 * max(abs(middle), 1.0))
    said = []
    for far in (known[known > high + reach], known[known < low - reach]):
        if not len(far):
            continue
        rest = known[~np.isin(known, far)]
        gap = min(abs(far - middle)) - max(abs(rest - middle))
        # Beyond every other value by more than the others span: a long tail has no such gap.
        if len(np.unique(rest)) < 5 or len(np.unique(far)) > 3 or 10 * len(far) > len(known) or gap < np.ptp(rest):
            continue
        at = np.flatnonzero(np.isin(values, far))
        where = listed(raw, at, [f"{value:g}" for value in values[at[:5]].tolist()])
        noun = "value lies" if len(at) == 1 else "values lie"
        verb = "is" if len(at) == 1 else "are"
        said.append(
            f"{len(at)} {noun} far from the rest, which go from {rest[0]:g} to {rest[-1]:g} ({where}), and "
            f"{verb} kept; if that is an error, cells: {{'{far[0]:g}': missing}} leaves it out"
        )
    return tuple(said)
