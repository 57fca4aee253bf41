"""Every row of augmented.parquet, computed again: what stayed fixed, what the teacher says, the label."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from crda_spec.audit.open_run import read_column
from crda_spec.audit.tables import LEDGER, ledger_table
from crda_spec.audit.verify.checks import EXACT, Check, Finding, Tolerance, checked, named
from crda_spec.counterfactual.predict import label
from crda_spec.data.cells import BlockPlace, block_numbers
from crda_spec.errors import show
from crda_spec.records import NOBODY, Action, Array, IntArray, NoiseScale, Table, Teacher

FILE = "augmented.parquet"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Ledger:
    """augmented.parquet as numbers: real rows first, then the synthetic ones. Rows are counted from 1 in messages."""

    train: Table  # the real rows
    x: Array  # (m, d) the synthetic rows
    y: Array  # (m,)
    real: Mapping[str, Array]  # the ledger's numbers of the real rows, by name without `_crda_`
    made: Mapping[str, Array]  # those of the synthetic rows
    licences: tuple[str | None, ...]  # of the synthetic rows
    source: IntArray  # (m,) position of the real row each was made from, NOBODY when there is no such row
    partner: IntArray
    noise_row: IntArray

    def place(self, position: int, column: str = "") -> str:
        """Where a synthetic row stands."""
        return f"{FILE}, row {len(self.train) + position + 1}" + (f", {show(column)}" if column else "")


def read_ledger(folder: Path, record: Mapping[str, Any]) -> Ledger:
    """The rows; DataError or ValueError when they are not such rows at all."""
    data = record["data"]
    features = tuple(read_column(told) for told in data["features"])
    # A counterfactual outcome need not be whole, nor within the bounds of what was observed.
    target = replace(read_column(data["target"]), type="continuous", minimum=None, maximum=None, allowed=None)
    rows = pq.read_table(folder / FILE)
    expected = [*(column.name for column in features), target.name, *LEDGER]
    if rows.column_names != expected:
        message = f"the columns are not {', '.join(expected)}"
        raise ValueError(message)
    numbers = block_numbers(rows, (*features, target), BlockPlace(file=FILE, first=0))
    told = {name.removeprefix("_crda_"): _numbers(rows[name]) for name in LEDGER if name != "_crda_licence"}
    synthetic = told.pop("synthetic") == 1.0
    count = int(np.count_nonzero(~synthetic))
    if synthetic[:count].any():
        message = "a synthetic row stands before a real one"
        raise ValueError(message)
    real = {name: values[:count] for name, values in told.items()}
    made = {name: values[count:] for name, values in told.items()}
    ids = real["source_row"].astype(np.int64)
    train = Table(
        features=features,
        target=read_column(data["target"]),
        row_ids=ids - 1,
        x=np.ascontiguousarray(numbers[:count, :-1]),
        y=np.ascontiguousarray(numbers[:count, -1]),
        weights=None if data.get("weights") is None else real["weight"].copy(),
    )
    return Ledger(
        train=train,
        x=np.ascontiguousarray(numbers[count:, :-1]),
        y=np.ascontiguousarray(numbers[count:, -1]),
        real=real,
        made=made,
        licences=tuple(rows["_crda_licence"].to_pylist()[count:]),
        source=_positions(made["source_row"], ids),
        partner=_positions(made["partner_row"], ids),
        noise_row=_positions(made["noise_row"], ids),
    )


def _numbers(cells: pa.ChunkedArray) -> Array:
    values = cells.combine_chunks().cast(pa.float64() if not pa.types.is_boolean(cells.type) else pa.int8())
    return np.asarray(values.to_numpy(zero_copy_only=False), dtype=np.float64)


def _positions(numbers: Array, ids: IntArray) -> IntArray:
    """Where the rows of these numbers stand among the real ones; NOBODY for no row, and for one that is not there."""
    where = {number: position for position, number in enumerate(ids.tolist())}
    return np.array([NOBODY if np.isnan(one) else where.get(int(one), NOBODY) for one in numbers], dtype=np.int64)


def check_real_rows(ledger: Ledger, record: Mapping[str, Any], teacher: Teacher | None, tolerance: Tolerance) -> Check:
    """The real rows: each once, its noise is what the teacher leaves, and the teacher says what it is said to say."""
    train, real = ledger.train, ledger.real

    def look() -> Iterator[Finding]:
        numbers, counts = np.unique(train.row_ids + 1, return_counts=True)
        for number in numbers[counts > 1].tolist():
            yield Finding(where=FILE, what=f"real row {number} stands there twice")
        if len(train) != record["data"]["train_rows"]:
            what = f"has {len(train)} real rows, the record says {record['data']['train_rows']}"
            yield Finding(where=FILE, what=what)
        noise = (train.y - real["prediction"]) / real["scale"]
        yield from _differing(ledger, "_crda_noise", real["noise"], noise, EXACT, first=0)
        if train.weights is None:
            yield from _differing(ledger, "_crda_weight", real["weight"], np.ones(len(train)), EXACT, first=0)
        if teacher is not None and record["abduction"]["residuals"] == "in_sample":
            said = teacher.predict(train.x)
            yield from _differing(ledger, "_crda_prediction", real["prediction"], said, tolerance, first=0)

    return checked("real rows", f"the noise of {len(train)} real rows", look)


def check_made_rows(ledger: Ledger, record: Mapping[str, Any]) -> Check:
    """The synthetic rows: their sources exist, what was held fixed is the source's, and their number is right."""
    told, train = record["counterfactuals"], ledger.train

    def look() -> Iterator[Finding]:
        expected = 0 if told is None else told["rows"]
        if len(ledger.y) != expected:
            yield Finding(where=FILE, what=f"has {len(ledger.y)} synthetic rows, the record says {expected}")
        if told is None or not len(ledger.y):
            return
        lost = ledger.source == NOBODY
        yield from named(
            Finding(where=ledger.place(at, "_crda_source_row"), what="names no real row")
            for at in np.flatnonzero(lost).tolist()
        )
        free = (*told["moved"], *told["propagated"])
        source = train.x[np.where(lost, 0, ledger.source)]
        same = _same_bits(ledger.x, source) | lost[:, None]
        for position, name in enumerate(train.names):
            if name not in free:
                yield from named(
                    Finding(
                        where=ledger.place(at, name),
                        what=f"must be its source's {source[at, position]:.17g}, but is {ledger.x[at, position]:.17g}",
                    )
                    for at in np.flatnonzero(~same[:, position]).tolist()
                )
        unmoved = int(same.all(axis=1).sum())
        if unmoved != told["unmoved"]:
            what = f"{unmoved} synthetic rows equal their source, the record says {told['unmoved']}"
            yield Finding(where=FILE, what=what)

    return checked("synthetic rows", f"the fixed features of {len(ledger.y)} synthetic rows, bit for bit", look)


def _same_bits(one: Array, other: Array) -> npt.NDArray[np.bool_]:
    return ~Tolerance().differ(one, other)


def check_labels(
    ledger: Ledger, record: Mapping[str, Any], teacher: Teacher, scale: NoiseScale | None, tolerance: Tolerance
) -> Check:
    """Every y', from the saved teacher and the noise of the real row that lent it."""
    told, made = record["counterfactuals"], ledger.made

    def look() -> Iterator[Finding]:
        told_everywhere = np.full(len(ledger.y), float(told["retention"]))
        yield from _differing(ledger, "_crda_retention", made["retention"], told_everywhere, EXACT)
        weight = ledger.real["weight"][np.maximum(ledger.source, 0)] * float(told["weight"])
        yield from _differing(ledger, "_crda_weight", made["weight"], weight, EXACT)
        yield from named(
            Finding(where=ledger.place(at, "_crda_licence"), what=f"says {show(one)}, not {show(told['licence'])}")
            for at, one in enumerate(ledger.licences)
            if one != told["licence"]
        )
        lends = ledger.noise_row != NOBODY
        lent = np.where(lends, ledger.real["noise"][ledger.noise_row], 0.0)
        yield from _differing(ledger, "_crda_noise", made["noise"], lent, EXACT)
        if told["residual_draw"] == "own":
            yield from _differing(ledger, "_crda_noise_row", made["noise_row"], made["source_row"], EXACT)
        yield from _differing(ledger, "_crda_prediction", made["prediction"], teacher.predict(ledger.x), tolerance)
        carries = scale is not None and told["retention"] > 0
        size = scale.at(ledger.x)[0] if scale is not None and carries else np.ones(len(ledger.y))
        yield from _differing(ledger, "_crda_scale", made["scale"], size, tolerance)
        y = label(made["prediction"], told["retention"], made["scale"] if carries else None, made["noise"])
        yield from _differing(ledger, ledger.train.target.name, ledger.y, y, EXACT)

    return checked("labels", f"{len(ledger.y)} labels from the saved teacher, {tolerance}", look)


def _differing(
    ledger: Ledger, column: str, found: Array, expected: Array, tolerance: Tolerance, *, first: int | None = None
) -> Sequence[Finding]:
    start = len(ledger.train) if first is None else first
    return named(
        Finding(
            where=f"{FILE}, row {start + at + 1}, {show(column)}",
            what=f"is {found[at]:.17g}, but is computed to be {expected[at]:.17g}",
        )
        for at in np.flatnonzero(tolerance.differ(found, expected)).tolist()
    )


def check_cells(folder: Path, ledger: Ledger, record: Mapping[str, Any]) -> Check:
    """ledger.parquet against the rows: every changed cell is listed, and nothing else is."""

    def look() -> Iterator[Finding]:
        found = pq.read_table(folder / "ledger.parquet")
        expected = ledger_table(ledger.train, _action(ledger, record["counterfactuals"]))
        if found.equals(expected):
            return
        if found.schema != expected.schema or found.num_rows != expected.num_rows:
            what = f"lists {found.num_rows} changed cells, but the rows show {expected.num_rows}"
            yield Finding(where="ledger.parquet", what=what)
            return
        for at, (one, other) in enumerate(zip(found.to_pylist(), expected.to_pylist(), strict=True)):
            wrong = [name for name in other if one[name] != other[name]]
            for name in wrong:
                what = f"says {show(one[name])}, but the rows show {show(other[name])}"
                yield Finding(where=f"ledger.parquet, row {at + 1}, {show(name)}", what=what)

    return checked("ledger", "the list of changed cells against the rows", lambda: named(look()))


def _action(ledger: Ledger, told: Mapping[str, Any] | None) -> Action | None:
    if told is None:
        return None
    return Action(
        x=ledger.x,
        source=np.maximum(ledger.source, 0),
        moved=tuple(told["moved"]),
        policies=told["policies"],
        clipped=told["clipped"],
        propagated=told["propagated"],
        partner=ledger.partner,
    )
