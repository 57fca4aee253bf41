"""The losses of both arms, put side by side as the tests ask for them: by fold, by row, by row and repeat."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Protocol

import numpy as np

from crda_spec.gate.gate import FoldOutcome
from crda_spec.gate.interval import units_of
from crda_spec.gate.metrics import MSE, Metric, charged
from crda_spec.gate.tests import Paired
from crda_spec.records import Array, FoldResult, FoldRows, IntArray, RowLosses, spread_of


class ScoredTable(Protocol):
    """What is known of the rows that were held out: a table has it, and so has the folder of a run."""

    @property
    def y(self) -> Array:
        """(n,) their outcomes; only a metric that is relative to their variance looks."""
        ...

    @property
    def groups(self) -> IntArray | None:
        """(n,) rows of equal number belong together."""
        ...

    @property
    def weights(self) -> Array | None:
        """(n,) how much each row counts."""
        ...


def paired_folds(results: Sequence[FoldResult]) -> Paired:
    """What the folds alone say, for tests that look at nothing else."""
    plain = np.array([result.plain for result in results])
    augmented = np.array([result.augmented for result in results])
    return Paired(
        plain=plain,
        augmented=augmented,
        train_rows=np.array([result.train_rows for result in results]),
        held_rows=np.array([result.held_out_rows for result in results]),
        row_plain=plain,
        row_augmented=augmented,
        units=np.arange(len(results)),
        each_plain=plain[None, :],
        each_augmented=augmented[None, :],
        fold_of=np.arange(len(results))[None, :],
        block_plain=plain[None, :],
        block_augmented=augmented[None, :],
    )


def paired_losses(folds: Sequence[FoldOutcome], train: ScoredTable, metric: Metric = MSE) -> Paired:
    """The folds' losses, every scored row's in each repeat and on average, and the folds' losses by these averages."""
    rows = len(train.y)
    losses, held = mean_losses(folds, rows), [fold.held for fold in folds]
    paired = paired_rows([fold.result for fold in folds], losses, train.groups, train.weights)
    scored = np.flatnonzero(~np.isnan(losses.plain))
    repeats = sum(map(len, held)) // len(scored)
    each, fold_of = np.zeros((2, repeats, rows)), np.zeros((repeats, rows), dtype=np.int64)
    for number, fold in enumerate(folds):
        repeat = number * repeats // len(folds)
        each[0, repeat, fold.held], each[1, repeat, fold.held] = fold.plain, fold.augmented
        fold_of[repeat, fold.held] = number
    weights = None if train.weights is None else train.weights[scored]
    paired = replace(
        paired,
        each_plain=charged(each[0][:, scored], weights),
        each_augmented=charged(each[1][:, scored], weights),
        fold_of=fold_of[:, scored],
    )
    if repeats == 1:
        return paired
    return replace(
        paired,
        block_plain=_blocks(held, losses.plain, train, metric).reshape(repeats, -1),
        block_augmented=_blocks(held, losses.augmented, train, metric).reshape(repeats, -1),
    )


def _blocks(held: Sequence[IntArray], losses: Array, train: ScoredTable, metric: Metric) -> Array:
    def loss(rows: IntArray) -> float:
        weights = None if train.weights is None else train.weights[rows]
        return metric.mean(losses[rows], spread=spread_of(train.y[rows], weights), weights=weights)

    return np.array([loss(rows) for rows in held])


def mean_losses(folds: Sequence[FoldRows | FoldOutcome], rows: int) -> RowLosses:
    """Every training row's mean loss over the repeats, NaN where the gate ended before its fold."""
    times, plain, augmented = (np.zeros(rows) for _ in range(3))
    for fold in folds:
        times[fold.held] += 1.0
        plain[fold.held] += fold.plain
        augmented[fold.held] += fold.augmented
    times[times == 0.0] = np.nan
    return RowLosses(plain=plain / times, augmented=augmented / times)


def paired_rows(
    results: Sequence[FoldResult], losses: RowLosses, groups: IntArray | None, weights: Array | None = None
) -> Paired:
    """The folds' losses and those of the scored rows. groups, weights: (n,) of all training rows.

    A weighted row enters with what it adds to the weighted mean (`metrics.charged`), so that every test on rows asks
    about that mean; a test on folds asks about folds, each counted once whatever its rows weigh together.
    """
    scored = np.flatnonzero(~np.isnan(losses.plain))
    own = None if weights is None else weights[scored]
    return replace(
        paired_folds(results),
        row_plain=charged(losses.plain[scored], own),
        row_augmented=charged(losses.augmented[scored], own),
        units=units_of(len(scored), None if groups is None else groups[scored]),
    )
