"""The run's rows and folds as files other tools read."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from crda_spec import records
from crda_spec.audit.export import LEDGER
from crda_spec.audit.predicted import csv_lines
from crda_spec.records import NOBODY, Array, Column, IntArray, RunResult, Table
from crda_spec.report.words.causal import followed_words
from crda_spec.report.words.whatif import change_words

_COSTS = ("plain_loss", "augmented_loss", "plain_error", "augmented_error")
ROWS_HEAD = ("source", "row", "part", "gate_fold", "group", *_COSTS)
INTERVALS_HEAD = ("row", "level", "plain_below", "plain_above", "augmented_below", "augmented_above")
REPEATS_HEAD = ("gate_fold", "row", "plain_loss", "augmented_loss")
TIME = "time"  # one column more, where rows have an order
FOLDS_HEAD = ("fold", "train_rows", "held_out_rows", "synthetic_rows", "plain", "augmented", "perturbed")
SPANS = ("trained_from", "trained_to", "held_out_from", "held_out_to")

_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "'")  # the last, so that a quote of ours can be told from theirs
CSV_FILE = "augmented.csv"
MOST_CSV = 50_000_000  # bytes of a file that people can still open
ONE_VALUE = ("_crda_retention", "_crda_weight")  # the same in every synthetic row, unless rows are weighted


def augmented_parquet(result: RunResult) -> bytes:
    """The real training rows, then the synthetic ones, each with its ledger.

    `_crda_source_row` is the row's number in the source, counted from 1 as in messages: its own for a real row, that of
    the row it was made from for a synthetic one, whose y is prediction + retention * (scale * noise), to the last bit.
    Of a real row, prediction, scale and noise are what abduction found. `_crda_trained` says whether the augmented
    model was trained on the row: early stopping sets real rows aside, and with them all rows made from them; when it
    watches synthetic rows, it sets only the latter aside. `_crda_weight` of a real row is what the data say it weighs,
    1 without weights; a synthetic row weighs as much as its source, times counterfactual.weight.
    """
    train, made = result.split.train, result.counterfactuals
    watched = np.zeros(len(train), dtype=bool)
    watched[result.watched] = True
    parts = [_real_rows(result, trained=~watched | (result.watch == "synthetic"))]
    if made is not None:
        numbers = train.row_ids + 1
        rows = synthetic_table(made, train, source_numbers=numbers, noise_numbers=numbers, source_weights=train.weights)
        parts.append(rows.append_column("_crda_trained", pa.array(~made.stems_from(watched))))
    return _written(pa.concat_tables(parts))


def csv_files(parquet: bytes, *, always: bool | None) -> dict[str, bytes]:
    """`augmented.csv`, the same rows for a spreadsheet; nothing where it is not wanted, or is too large for one.

    Numbers are in the shortest form that reads back as the same number. What a spreadsheet would take for a formula
    begins with a quote.

    always: None: if it has at most 50 MB.
    """
    if always is False:
        return {}
    table = pq.read_table(pa.BufferReader(parquet))
    for position, field in enumerate(table.schema):
        if field.type == pa.string():
            cells = [None if cell is None else harmless(cell) for cell in table[position].to_pylist()]
            table = table.set_column(position, field, pa.array(cells, pa.string()))
    lines, size = [], 0
    for text in csv_lines(table.rename_columns([harmless(name) for name in table.column_names])):
        lines.append(text.encode())
        size += len(lines[-1])
        if always is None and size > MOST_CSV:
            return {}
    return {CSV_FILE: b"".join(lines)}


def _real_rows(result: RunResult, *, trained: npt.NDArray[np.bool_]) -> pa.Table:
    train, abduction = result.split.train, result.abduction
    predicted = result.teacher.in_sample if abduction.residuals == "in_sample" else result.teacher.out_of_fold
    numbers = pa.array(train.row_ids + 1)
    nothing = np.full(len(train), np.nan)
    ledger = [
        pa.repeat(pa.scalar(value=False), len(train)),
        numbers,
        pa.nulls(len(train), pa.int64()),
        _optional(nothing if predicted is None else predicted),
        _optional(np.ones(len(train)) if abduction.scale is None else abduction.scale),
        _optional(abduction.noise),
        numbers,
        _optional(nothing),
        pa.nulls(len(train), pa.string()),
        pa.array(np.ones(len(train)) if train.weights is None else train.weights),
        pa.array(trained),
    ]
    return _with_ledger(train.x, train.y, train, ledger)


def synthetic_table(
    made: records.Counterfactuals,
    like: Table,
    *,
    source_numbers: IntArray,
    noise_numbers: IntArray,
    partner_numbers: IntArray | None = None,
    source_weights: Array | None = None,
) -> pa.Table:
    """The synthetic rows with their ledger, but for `_crda_trained`: whoever trains on them says that.

    like: any table with the same columns.  source_numbers, noise_numbers, partner_numbers: the number, counted from 1,
    of each row that `source`, `noise_rows` and `partner` count; they differ when noise is lent, or partners are found,
    among rows of another table. None: partners are counted as sources are.
    source_weights: how much each row that `source` counts weighs; a row made from it weighs that, times its own weight.
    """
    count, action = len(made), made.action
    partner = np.full(count, NOBODY) if action.partner is None else action.partner
    ledger = [
        pa.repeat(pa.scalar(value=True), count),
        pa.array(source_numbers[action.source]),
        _numbered(partner, source_numbers if partner_numbers is None else partner_numbers),
        pa.array(made.prediction),
        pa.repeat(1.0, count) if made.scale is None else pa.array(made.scale),
        pa.array(made.noise),
        _numbered(made.noise_rows, noise_numbers),
        pa.repeat(made.retention, count),
        pa.array(made.row_basis, type=pa.string()),
        pa.repeat(made.weight, count)
        if source_weights is None
        else pa.array(source_weights[action.source] * made.weight),
    ]
    return _with_ledger(action.x, made.y, like, ledger)


def _with_ledger(x: Array, y: Array, like: Table, ledger: list[pa.Array]) -> pa.Table:
    features = [decoded(values, column) for values, column in zip(x.T, like.features, strict=True)]
    names = [*like.names, like.target.name, *LEDGER[: len(ledger)]]
    return pa.table([*features, decoded(y, like.target, counterfactual=True), *ledger], names=names)


def ledger_parquet(result: RunResult) -> bytes:
    """Every changed cell: the row's number in augmented.parquet (from 1), column, policy, and the value old and new.

    Numbers and booleans (0 or 1) are in `old` and `new`, labels in `old_label` and `new_label`.
    """
    made = result.counterfactuals
    return _written(ledger_table(result.split.train, None if made is None else made.action))


def changed_cells(action: records.Action, real: Array) -> tuple[IntArray, IntArray, Array]:
    """Every cell in which a synthetic row differs from its source: (k,) its row, (k,) its column, (2, k) old and new.

    Source row plus changed cells is the synthetic row, to the last bit. real: (n, d) the rows `action.source` counts.
    """
    source = real[action.source]
    # Bits, not values: -0.0 equals 0.0 and yet is another number; of missing cells there is only one kind.
    differs = np.ascontiguousarray(source).view(np.int64) != np.ascontiguousarray(action.x).view(np.int64)
    row, column = np.nonzero(differs & ~(np.isnan(source) & np.isnan(action.x)))
    return row, column, np.stack([source[row, column], action.x[row, column]])


def ledger_table(train: Table, action: records.Action | None) -> pa.Table:
    """The cells that an action changed, as `ledger.parquet` has them."""
    row, column = np.empty(0, np.int64), np.empty(0, np.int64)
    values, policies = np.empty((2, 0)), [""] * len(train.names)  # values: (2, k) old and new
    if action is not None:
        row, column, values = changed_cells(action, train.x)
        row = row + len(train) + 1
        words = {**action.policies, **{name: followed_words(how) for name, how in action.propagated.items()}}
        policies = [words.get(name, "") for name in train.names]
    label_at = np.cumsum([0, *(len(one.labels or ()) for one in train.features)])
    labels = [label for one in train.features for label in one.labels or ()]
    is_label = np.array([one.type == "category" for one in train.features], dtype=bool)[column]
    missing = np.isnan(values)
    code = np.where(missing | ~is_label, 0, values).astype(np.int64) + np.where(is_label, label_at[column], 0)
    names = ("old", "new")
    return pa.table(
        {
            "row": pa.array(row),
            "column": _words(column, train.names),
            "policy": _words(column, policies),
            **{name: pa.array(values[at], mask=missing[at] | is_label) for at, name in enumerate(names)},
            **{
                f"{name}_label": _words(code[at], labels, missing=missing[at] | ~is_label)
                for at, name in enumerate(names)
            },
        }
    )


def _words(code: IntArray, words: Sequence[str], *, missing: npt.NDArray[np.bool_] | None = None) -> pa.Array:
    """Positions in a list of words -> the words."""
    indices = pa.array(np.asarray(code, dtype=np.int32), mask=missing)
    return pa.DictionaryArray.from_arrays(indices, pa.array(list(words), pa.string())).cast(pa.string())


def decoded(values: Array, column: Column, *, counterfactual: bool = False) -> pa.Array:
    """Codes back to labels, whole numbers back to integers; a counterfactual outcome need not be whole."""
    missing = np.isnan(values)
    if column.type == "category":
        return _words(np.where(missing, 0, values).astype(np.int64), column.labels or (), missing=missing)
    if column.type == "boolean":
        return pa.array(values == 1.0, mask=missing)
    if column.type == "integer" and not counterfactual:
        return pa.array(np.where(missing, 0, values).astype(np.int64), mask=missing)
    return _optional(values)


def _optional(values: Array) -> pa.Array:
    return pa.array(values, mask=np.isnan(values))


def _numbered(positions: IntArray, numbers: IntArray) -> pa.Array:
    """Positions as row numbers, null for nobody."""
    return pa.array(numbers[positions], mask=positions == NOBODY)


def _written(table: pa.Table) -> bytes:
    sink = io.BytesIO()
    pq.write_table(table, sink)
    return sink.getvalue()


def harmless(cell: str) -> str:
    """Text as a spreadsheet may be shown it: what it would take for a formula begins with a quote instead.

    Only in CSV files that are made for people. Rows and their labels go to Parquet, which knows no formulas, unchanged.
    """
    return f"'{cell}" if cell.startswith(_FORMULA) else cell


def _csv_text(head: Iterable[object], lines: Iterable[Iterable[object]]) -> str:
    sink = io.StringIO()
    writer = csv.writer(sink, lineterminator="\n")
    writer.writerow(head)
    writer.writerows(lines)
    return sink.getvalue()


def rows_csv(result: RunResult) -> str:
    """Which rows were trained on, in which gate fold each was held out, and which were spent on tuning or tests.

    Rows of equal group stay together. A held-out row's losses are what it cost either model, the mean over the gate's
    repeats: fold losses, intervals and test losses can be computed from them. Its errors are its outcome minus what
    either model predicts, those of a training row in the gate's first repeat and start. Where rows are weighted, a
    column tells by how much. Where rows have an order, the last column says when each was; the earliest are in no
    gate fold.
    """
    data, split = result.data, result.split
    head = ROWS_HEAD if data.weights is None else (*ROWS_HEAD, "weight")
    source, tested = harmless(data.source), harmless(data.test_source or data.source)
    folds = [fold or "" for fold in result.gate_fold.tolist()]
    lines = [
        *_part(source, "train", split.train, split.clock, folds, result.gate_losses, result.gate_errors),
        *(() if split.tuning is None else _part(source, "tuning", split.tuning, split.clock)),
    ]
    if split.test is not None:
        given = (tested, "test", split.test, split.clock)
        lines += _part(*given, losses=result.test_losses, errors=result.test_errors)
    return _csv_text(head if split.clock is None else (*head, TIME), lines)


def _part(
    source: str,
    part: str,
    rows: Table | records.HeldOut,
    clock: records.Clock | None,
    folds: Sequence[object] | None = None,
    losses: records.RowLosses | None = None,
    errors: records.RowErrors | None = None,
) -> Iterator[Sequence[object]]:
    nothing = [""] * len(rows)
    groups: Sequence[object] = nothing if rows.groups is None else (rows.groups + 1).tolist()
    both = (losses, errors)
    told = [nothing if one is None else _texts(arm) for one in both for arm in _arms(one)]
    last = [] if rows.weights is None else [_texts(rows.weights)]
    last += [] if clock is None else [moments_of(rows, clock)]
    columns = ((rows.row_ids + 1).tolist(), folds or nothing, groups, *told, *last)
    for row, *cells in zip(*columns, strict=True):
        yield source, row, part, *cells


def _arms(one: records.RowLosses | records.RowErrors | None) -> tuple[Array, Array]:
    return (np.empty(0), np.empty(0)) if one is None else (one.plain, one.augmented)


def intervals_csv(result: RunResult, test: records.HeldOut) -> str:
    """Where each test row lies in its interval: how far above the lower end, and below the upper one.

    One line a level and row; a row is inside where neither number is negative. Rows are numbered as in rows.csv.
    """
    numbers = (test.row_ids + 1).tolist()
    lines: list[Sequence[object]] = []
    for level in () if result.intervals is None else result.intervals.levels:
        mine = {one.arm: one for one in result.interval_rows if one.level == level}
        arms = [mine.get(arm) for arm in ("plain", "augmented")]
        nothing = [""] * len(numbers)
        cells = [
            nothing if one is None else _texts(side)
            for one in arms
            for side in ((one.below, one.above) if one is not None else (np.empty(0), np.empty(0)))
        ]
        lines += [(row, repr(level), *rest) for row, *rest in zip(numbers, *cells, strict=True)]
    return _csv_text(INTERVALS_HEAD, lines)


def moments_of(rows: Table | records.HeldOut, clock: records.Clock) -> list[str]:
    """When each row was; empty where that is not known."""
    return [""] * len(rows) if rows.times is None else [clock.timestamps[at] for at in rows.times.tolist()]


def _texts(numbers: Array) -> list[str]:
    return ["" if math.isnan(number) else repr(number) for number in numbers.tolist()]


def repeats_csv(result: RunResult) -> str:
    """What each training row cost in each repeat of the gate: one line a gate fold and row that it held out.

    Folds are numbered as in folds.csv, rows as in rows.csv, which has their means over the repeats.
    """
    numbers = result.split.train.row_ids + 1
    return _csv_text(
        REPEATS_HEAD,
        (
            (fold.fold, *cells)
            for fold, rows in zip(result.verdict.folds, result.gate_rows, strict=True)
            for cells in zip(numbers[rows.held].tolist(), _texts(rows.plain), _texts(rows.augmented), strict=True)
        ),
    )


def folds_csv(folds: Sequence[records.FoldResult], order: records.TimeOrder | None = None) -> str:
    """The paired losses of the gate, one line a fold, with the time it was fitted and scored on where there is one."""
    spans = {} if order is None else {one.fold: one for one in order.folds}
    lines = []
    for fold in folds:
        counts = (fold.fold, fold.train_rows, fold.held_out_rows, fold.synthetic_rows)
        at = spans.get(fold.fold)
        span = () if at is None else (at.trained.first, at.trained.last, at.held_out.first, at.held_out.last)
        lines.append([*counts, repr(fold.plain), repr(fold.augmented), harmless("; ".join(fold.perturbed)), *span])
    return _csv_text(FOLDS_HEAD if order is None else (*FOLDS_HEAD, *SPANS), lines)


def trials_csv(studies: Sequence[records.Study]) -> str:
    """One line a trial: which search, how it ended, its loss on each inner fold, and the values tried.

    gate_fold is 0 for the search on all training rows, or on the rows set aside for tuning.
    """
    names = sorted({name for study in studies for trial in study.trials for name in trial.values})
    inner = max(len(study.held_rows) for study in studies)
    head = ["search", "gate_fold", "trial", "state", "origin", "repeats", "chosen", "loss"]
    lines = []
    for study in studies:
        for trial in study.trials:
            losses = [repr(loss) for loss in trial.losses]
            mean = repr(study.mean_loss(trial.losses)) if trial.state == "complete" else ""
            lines.append(
                [
                    *(study.what, study.fold, trial.number, trial.state, trial.origin),
                    *(trial.repeats or "", "yes" if trial.number == study.best else "no", mean),
                    *losses,
                    *([""] * (inner - len(losses))),
                    *(_cell(trial.values[name]) if name in trial.values else "" for name in names),
                ]
            )
    return _csv_text([*head, *(f"inner_fold_{number}" for number in range(1, inner + 1)), *names], lines)


def _cell(value: object) -> str:
    if isinstance(value, tuple | list):
        return " ".join(map(str, value))
    return repr(value) if isinstance(value, float) else str(value)


def answers_csv(found: records.WhatIf) -> str:
    """One line an answer, with the run's seal in each; what changed is one text."""
    head = ("run_sha256", "row", "observed", "outcome", "difference", "low", "high", "basis", "robustness")
    lines = []
    for one in found.answers:
        low, high = one.interval or ("", "")
        robustness = "" if one.robustness is None else one.robustness
        numbers = (one.observed, one.outcome, one.difference, low, high)
        changes, followed = (harmless(change_words(one, follows=follows)) for follows in (False, True))
        place = "yes" if one.beyond or one.off_data else "no"
        lines.append((found.seal, one.row, *numbers, one.basis, robustness, changes, followed, place))
    return _csv_text((*head, "changed", "followed", "extrapolates"), lines)
