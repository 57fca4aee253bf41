"""The run's rows and folds as files other tools read."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from crda_spec.records import Array, Column, FoldResult, RunResult

LEDGER = (
    "_crda_synthetic",
    "_crda_source_row",
    "_crda_prediction",
    "_crda_noise",
    "_crda_retention",
    "_crda_weight",
    "_crda_trained",
)


def augmented_parquet(result: RunResult) -> bytes:
    """The real training rows, then the synthetic ones, each with its ledger.

    `_crda_source_row` is the row's number in the source, counted from 1 as in messages: its own for a real row, that of
    the row it was made from for a synthetic one, whose y is prediction + retention * noise. `_crda_trained` says
    whether the augmented model was trained on the row: early stopping sets real rows aside, and with them all rows made
    from them.
    """
    train, made = result.split.train, result.counterfactuals
    x, y, extra = train.x, train.y, 0
    source = train.row_ids
    if made is not None:
        x = np.concatenate([x, made.action.x])
        y = np.concatenate([y, made.y])
        source = np.concatenate([source, train.row_ids[made.action.source]])
        extra = len(made)
    nothing = np.full(len(train), np.nan)
    synthetic = np.arange(len(y)) >= len(train)
    columns = [_decoded(values, column) for values, column in zip(x.T, train.features, strict=True)]
    columns.append(_decoded(y, train.target, counterfactual=True))
    columns += [
        pa.array(synthetic),
        pa.array(source + 1),
        _optional(np.concatenate([nothing, made.prediction]) if made is not None else nothing),
        _optional(np.concatenate([nothing, made.noise]) if made is not None else nothing),
        _optional(np.concatenate([nothing, np.full(extra, made.retention)]) if made is not None else nothing),
        pa.array(np.where(synthetic, made.weight if made is not None else 1.0, 1.0)),
        pa.array(~np.isin(source, train.row_ids[result.watched])),
    ]
    table = pa.table(columns, names=[*train.names, train.target.name, *LEDGER])
    sink = io.BytesIO()
    pq.write_table(table, sink)
    return sink.getvalue()


def _decoded(values: Array, column: Column, *, counterfactual: bool = False) -> pa.Array:
    """Codes back to labels, whole numbers back to integers; a counterfactual outcome need not be whole."""
    missing = np.isnan(values)
    if column.type == "category":
        labels = np.array([*(column.labels or ()), None], dtype=object)
        return pa.array(labels[np.where(missing, -1, values).astype(np.int64)], type=pa.string())
    if column.type == "boolean":
        return pa.array(values == 1.0, mask=missing)
    if column.type == "integer" and not counterfactual:
        return pa.array(np.where(missing, 0, values).astype(np.int64), mask=missing)
    return _optional(values)


def _optional(values: Array) -> pa.Array:
    return pa.array(values, mask=np.isnan(values))


def rows_csv(result: RunResult) -> str:
    """Which rows were trained on, in which gate fold each was held out, and which rows were the test set."""
    sink = io.StringIO()
    writer = csv.writer(sink, lineterminator="\n")
    writer.writerow(["source", "row", "part", "gate_fold"])
    train, data = result.split.train, result.data
    for row, fold in zip((train.row_ids + 1).tolist(), result.gate_fold.tolist(), strict=True):
        writer.writerow([data.source, row, "train", fold or ""])
    for row in (result.split.test.row_ids + 1).tolist():
        writer.writerow([data.test_source or data.source, row, "test", ""])
    return sink.getvalue()


def folds_csv(folds: Sequence[FoldResult]) -> str:
    """The paired losses of the gate, one line a fold."""
    sink = io.StringIO()
    writer = csv.writer(sink, lineterminator="\n")
    writer.writerow(["fold", "train_rows", "held_out_rows", "synthetic_rows", "plain", "augmented", "perturbed"])
    for fold in folds:
        perturbed = "; ".join(fold.perturbed)
        counts = (fold.fold, fold.train_rows, fold.held_out_rows, fold.synthetic_rows)
        writer.writerow([*counts, repr(fold.plain), repr(fold.augmented), perturbed])
    return sink.getvalue()
