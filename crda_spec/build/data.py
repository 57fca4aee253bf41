"""The `dataset` section -> source, rows and split; and what can only be checked once the rows are there."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from crda_spec.build.perturbation import policy_complaints
from crda_spec.build.settings import settings_of
from crda_spec.build.time_folds import time_complaints, with_time_notes
from crda_spec.data.assemble import Assembled, assemble
from crda_spec.data.contract import Assembly, ColumnRule
from crda_spec.data.rows import counted
from crda_spec.data.sources import Benchmark, Csv, Excel, Parquet, Sklearn, Source, Sql, Synthetic
from crda_spec.data.split import set_aside, split_by_tables, split_by_values, split_fraction
from crda_spec.data.worlds.world import WORLDS, declare
from crda_spec.errors import Complaint, DataError, SpecError
from crda_spec.records import DataReport, Split, Table
from crda_spec.seeds import integer_seed
from crda_spec.spec.dataset import ColumnSplit, Dataset, FractionSplit, SourceSplit
from crda_spec.spec.gate import fewest_folds
from crda_spec.spec.run import RunSpec


def build_source(source: Any, folder: Path, *, target: str, seed: int) -> Source:  # noqa: ANN401 - the spec's union
    """The source of a spec; relative paths start at `folder`."""
    match source.kind:
        case "csv":
            settings = settings_of(source, "path")
            return Csv(path=folder / source.path, written=source.path, **settings)
        case "parquet":
            return Parquet(path=folder / source.path, written=source.path)
        case "excel":
            return Excel(path=folder / source.path, sheet=source.sheet, written=source.path)
        case "sql":
            return Sql(url=source.url, query=source.query, folder=folder)
        case "sklearn":
            return Sklearn(name=source.name)
        case "benchmark":
            return Benchmark(name=source.name)
        case _:
            if source.world is not None:
                return Synthetic(world=WORLDS[source.world], rows=source.rows, seed=seed)
            world = declare(name="equations", equations=source.equations, target=target, hidden=source.hidden)
            return Synthetic(world=world, rows=source.rows, seed=seed)


def build_loader(spec: RunSpec, source: Source, folder: Path) -> Callable[[], tuple[Split, DataReport]]:
    """Reads, checks and splits the rows, when it is called and not before."""

    def load() -> tuple[Split, DataReport]:
        assembly = _assembly(spec.dataset)
        assembled = assemble(source.read(), assembly, seed=spec.seed)
        split, report = _split(spec, assembled, assembly, folder)
        split, report = replace(split, clock=assembled.clock), with_time_notes(split, report)
        if spec.tune.on.kind == "split":
            split = replace(set_aside(split, spec.tune.on.fraction, seed=spec.seed), clock=split.clock)
        complaints = [
            *policy_complaints(spec, split.train),
            *(_fold_complaints if split.clock is None else time_complaints)(spec, split.train, split.tuning),
            *_factor_complaints(spec, split.train),
        ]
        if complaints:
            raise SpecError(complaints)
        return split, report

    return load


def _assembly(dataset: Dataset) -> Assembly:
    return Assembly(
        target=dataset.target,
        features=dataset.features,
        columns={
            name: ColumnRule(
                type=contract.type,
                unit=contract.unit,
                minimum=contract.min,
                maximum=contract.max,
                values=contract.values,
            )
            for name, contract in dataset.columns.items()
        },
        missing=dataset.missing.kind,
        duplicates=dataset.duplicates.kind,
        groups=dataset.groups,
        weights=dataset.weights,
        time=dataset.time,
        sample=dataset.sample,
        exclude=(dataset.split.column,) if isinstance(dataset.split, ColumnSplit) else (),
    )


def _split(spec: RunSpec, assembled: Assembled, assembly: Assembly, folder: Path) -> tuple[Split, DataReport]:
    rule, table = spec.dataset.split, assembled.table
    if isinstance(rule, FractionSplit):
        return split_fraction(table, rule.test, seed=spec.seed), assembled.report
    if isinstance(rule, ColumnSplit):
        marks = assembled.extra[rule.column]
        return split_by_values(table, marks, rule.test, group_names=assembled.group_names), assembled.report
    assert isinstance(rule, SourceSplit)  # noqa: S101 - the union has three members
    seed = integer_seed(spec.seed, "dataset-test")
    second = build_source(rule.source, folder, target=spec.dataset.target, seed=seed)
    try:
        raw = second.read()
    except DataError as error:
        raise DataError(one.moved("dataset.source", "dataset.split.source") for one in error.complaints) from error
    # Nothing is ordered by the test rows' time, so a second source need not tell it.
    test = assemble(raw, replace(assembly, time=None), seed=spec.seed, like=assembled)
    report = replace(
        assembled.report,
        test_source=test.report.source,
        test_sha256=test.report.sha256,
        notes=(*assembled.report.notes, *(f"test rows: {note}" for note in test.report.notes)),
    )
    return split_by_tables(table, test.table, group_names=test.group_names), report


def _units(rows: Table) -> int:
    """What folds are made of: groups where there are any, else rows."""
    return len(rows) if rows.groups is None else len(np.unique(rows.groups))


def _tuning_folds(spec: RunSpec, units: int) -> list[tuple[str, int, int]]:
    """The inner folds of the searches: place, number, and of how many units they are made.

    The regressor's search is repeated inside the folds of the other.
    """
    tune, found = spec.tune, []
    if tune.augmentation is not None:
        found.append(("tune.augmentation.folds", tune.augmentation.folds, units))
        units -= -(-units // tune.augmentation.folds)
    return [*found, ("tune.folds", tune.folds, units)] if tune.kind != "none" else found


def _fold_complaints(spec: RunSpec, train: Table, tuning: Table | None) -> list[Complaint]:
    """Folds that the rows (or groups) cannot fill, counted before anything is fitted."""
    noun = "row" if train.groups is None else "group"
    units = _units(train)
    gate = spec.gate.folds
    least = units - -(-units // gate)  # units that the smallest fold-training set is sure to have
    wanted = [("gate.folds", gate, units, "the training set has")]
    if gate <= units:
        teacher = spec.counterfactual.teacher
        inner = "a gate fold trains on only"
        if teacher.kind in ("crossfit", "committee") and not isinstance(teacher.folds, str):
            wanted.append(("counterfactual.teacher.folds", teacher.folds, least, inner))
        if tuning is not None:
            least, inner = _units(tuning), "the rows set aside for tuning have only"
            inner = inner if tuning.groups is None else "the rows set aside for tuning form only"
        wanted += [(path, count, units, inner) for path, count, units in _tuning_folds(spec, least)]
    needed = fewest_folds(spec.gate)
    fewest = {"gate.folds": (needed, f": this gate cannot accept with fewer than {needed} folds")}
    return [
        Complaint(
            code="too-many-folds",
            path=path,
            what=f"{folds} folds cannot be made: {where} {counted(available, noun)}",
            hint=_fold_hint(available, noun, *fewest.get(path, (2, ""))),
        )
        for path, folds, available, where in wanted
        if folds > available
    ]


def _fold_hint(available: int, noun: str, fewest: int, why: str) -> str:
    """What to try: fewer folds, unless so few would be of no use."""
    return f"use at most {available} folds" if available >= fewest else f"more {noun}s are needed{why}"


def _factor_complaints(spec: RunSpec, train: Table) -> list[Complaint]:
    """A factor so small that it makes no row."""
    factor, rows = spec.counterfactual.factor, len(train)
    if round(factor * rows) >= 1:
        return []
    what = f"{factor:g} new rows for each of {counted(rows, 'training row')} make none"
    hint = f"use a factor of at least {1 / rows:.2g}"
    return [Complaint(code="no-new-rows", path="counterfactual.factor", what=what, hint=hint)]
