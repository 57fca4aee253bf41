"""What a teacher that follows the gate's folds is told of them, where no fitted model is at hand."""

from __future__ import annotations

import numpy as np

from crda_spec.data.folds import folds
from crda_spec.gate.gate import Gate, Repeat
from crda_spec.records import Table
from crda_spec.regressors.teachers import GateFolds
from crda_spec.regressors.teachers.sharing import gate_folds, time_folds
from crda_spec.seeds import stream


def around_fold(repeat: Repeat, rows: int, number: int, *, in_blocks: bool) -> GateFolds:
    """Inside one fold of the gate, counted from 1. rows: all training rows."""
    if repeat.seen is not None:
        return time_folds(len(repeat.held), number, in_blocks=in_blocks)
    return gate_folds(repeat.held, rows, number, in_blocks=in_blocks)


def around_all(repeat: Repeat, rows: int) -> GateFolds:
    """On all training rows."""
    if repeat.seen is not None:
        return time_folds(len(repeat.held), None)
    return gate_folds(repeat.held, rows, None)


def around_tuning(gate: Gate, rows: Table, *, seed: int) -> GateFolds:
    """On rows that are spent on searches: folds as the gate's, drawn among these rows."""
    if rows.times is not None:
        return time_folds(gate.folds, None)
    units = len(rows) if rows.groups is None else len(np.unique(rows.groups))
    held = folds(len(rows), min(gate.folds, units), rng=stream(seed, "tuning-gate-folds"), groups=rows.groups)
    return gate_folds(held, len(rows), None)
