"""Spec models -> the objects that compute. Nothing else knows both sides."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from crda_spec.check import declared_graph, header_of, searched_space
from crda_spec.counterfactual.act import Acting
from crda_spec.counterfactual.partition import (
    Choice,
    DeclaredPartitioner,
    DiscoveredPartitioner,
    Partitioner,
    Screening,
)
from crda_spec.counterfactual.policies import POLICIES, Policy
from crda_spec.counterfactual.procedure import Procedure
from crda_spec.data.assemble import Assembled, assemble
from crda_spec.data.contract import Assembly, ColumnRule
from crda_spec.data.rows import counted
from crda_spec.data.sources import Benchmark, Csv, Excel, Parquet, Sklearn, Source, Sql, Synthetic
from crda_spec.data.split import split_by_tables, split_by_values, split_fraction
from crda_spec.data.worlds.world import WORLDS, declare
from crda_spec.errors import Complaint, DataError, SpecError, show
from crda_spec.gate.gate import WilcoxonGate
from crda_spec.pipeline import Plan
from crda_spec.records import DataReport, Split, Table
from crda_spec.regressors import REGRESSORS, Regressor, Stopping, load_plugin
from crda_spec.regressors.teachers import CrossfitTeacher, SingleTeacher, TeacherRule
from crda_spec.regressors.tune import RandomSearch
from crda_spec.scm.independence import Pearson
from crda_spec.seeds import integer_seed
from crda_spec.spec.base import Strict
from crda_spec.spec.causal import PcDiscovery
from crda_spec.spec.dataset import ColumnSplit, Dataset, FractionSplit, MissingImpute, SourceSplit
from crda_spec.spec.gate import folds_needed
from crda_spec.spec.load import Draft
from crda_spec.spec.run import RunSpec


def build_plan(spec: RunSpec, draft: Draft) -> Plan:
    """Everything a run needs. The rows are read when the plan is run, not before."""
    dataset, folder = spec.dataset, draft.file.parent
    source = build_source(dataset.source, folder, target=dataset.target, seed=integer_seed(spec.seed, "dataset"))
    jobs = spec.execution.jobs
    return Plan(
        load=_loader(spec, source, folder),
        procedure=Procedure(
            regressor=build_regressor(spec),
            fill=dataset.missing.numbers if isinstance(dataset.missing, MissingImpute) else "median",
            search=_search(spec, draft),
            teacher=_teacher(spec),
            residuals=spec.counterfactual.residuals,
            partitioner=_partitioner(spec, draft),
            acting=Acting(
                default=_policy(spec.perturbation.default),
                features={name: _policy(policy) for name, policy in spec.perturbation.features.items()},
                factor=spec.counterfactual.factor,
            ),
            retention=spec.counterfactual.retention,
            weight=spec.counterfactual.weight,
        ),
        gate=WilcoxonGate(**_settings(spec.gate)),
        seed=spec.seed,
        jobs=None if jobs == "auto" else jobs,
    )


def build_source(source: Any, folder: Path, *, target: str, seed: int) -> Source:  # noqa: ANN401 - the spec's union
    """The source of a spec; relative paths start at `folder`."""
    match source.kind:
        case "csv":
            settings = _settings(source, "path")
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


def build_regressor(spec: RunSpec) -> Regressor:
    """The member of the family with the spec's settings."""
    regressor = spec.regressor
    if regressor.kind == "plugin":
        return load_plugin(regressor.name, regressor.settings)
    settings = _settings(regressor)
    if "early_stopping" in settings:
        rule = settings.pop("early_stopping")
        settings["stopping"] = None if rule is None else Stopping(rounds=rule.rounds, validation=rule.validation)
    return REGRESSORS[regressor.kind](**settings)


def _settings(model: Strict, *without: str) -> dict[str, Any]:
    """A model's fields, but for its kind."""
    return {name: getattr(model, name) for name in type(model).model_fields if name not in ("kind", *without)}


def _policy(policy: Strict) -> Policy:
    member: Policy = POLICIES[policy.kind](**_settings(policy))  # type: ignore[attr-defined]
    return member


def _teacher(spec: RunSpec) -> TeacherRule:
    teacher = spec.counterfactual.teacher
    return SingleTeacher() if teacher.kind == "single" else CrossfitTeacher(folds=teacher.folds)


def _search(spec: RunSpec, draft: Draft) -> RandomSearch | None:
    """The paper's search; a setting that the user wrote is the user's, and is not searched."""
    if spec.tune.kind == "none":
        return None
    space = searched_space(spec.regressor.kind, draft)
    return RandomSearch(space=space, trials=spec.tune.trials, folds=spec.tune.folds)


def _partitioner(spec: RunSpec, draft: Draft) -> Partitioner:
    screen = spec.partition.screen
    screening = Screening(screen=Pearson(), threshold=screen.threshold, alpha=screen.alpha)
    choice = Choice(max_features=spec.partition.max_features, perturb=spec.partition.perturb, keep=spec.partition.keep)
    header = header_of(spec.dataset.source, draft.file.parent, target=spec.dataset.target)
    graph = declared_graph(spec.causal, spec.dataset, header, draft.file.parent)
    if graph is not None:
        return DeclaredPartitioner(graph=graph, screening=screening, choice=choice)
    discovery = spec.causal.discovery or PcDiscovery(kind="pc")
    return DiscoveredPartitioner(
        alpha=discovery.alpha, max_depth=discovery.max_depth, screening=screening, choice=choice
    )


def _loader(spec: RunSpec, source: Source, folder: Path) -> Callable[[], tuple[Split, DataReport]]:
    def load() -> tuple[Split, DataReport]:
        assembly = _assembly(spec.dataset)
        assembled = assemble(source.read(), assembly, seed=spec.seed)
        split, report = _split(spec, assembled, assembly, folder)
        complaints = [
            *_policy_complaints(spec, split.train),
            *_fold_complaints(spec, split.train),
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
    test = assemble(raw, assembly, seed=spec.seed, like=assembled)
    report = replace(
        assembled.report,
        test_source=test.report.source,
        test_sha256=test.report.sha256,
        notes=(*assembled.report.notes, *(f"test rows: {note}" for note in test.report.notes)),
    )
    return split_by_tables(table, test.table, group_names=test.group_names), report


def _policy_complaints(spec: RunSpec, train: Table) -> list[Complaint]:
    """A policy that the user gave to a column of the wrong type, now that the types are known."""
    types = {column.name: column.type for column in train.features}
    found = []
    for name, policy in spec.perturbation.features.items():
        if types[name] not in POLICIES[policy.kind].moves:
            what = f"{show(name)} is a {types[name]}, which cannot be moved by {show(policy.kind)}"
            path = f"perturbation.features.{name}.kind"
            found.append(Complaint(code="wrong-policy", path=path, what=what, hint="use kind: resample"))
    return found


def _fold_complaints(spec: RunSpec, train: Table) -> list[Complaint]:
    """Folds that the rows (or groups) cannot fill, counted before anything is fitted."""
    noun = "row" if train.groups is None else "group"
    units = len(train) if train.groups is None else len(np.unique(train.groups))
    gate = spec.gate.folds
    least = units - -(-units // gate)  # units that the smallest fold-training set is sure to have
    wanted = [("gate.folds", gate, units, "the training set has")]
    if gate <= units:
        teacher = spec.counterfactual.teacher
        inner = "a gate fold trains on only"
        if teacher.kind == "crossfit":
            wanted.append(("counterfactual.teacher.folds", teacher.folds, least, inner))
        if spec.tune.kind != "none":
            wanted.append(("tune.folds", spec.tune.folds, least, inner))
    needed = folds_needed(spec.gate.alpha, spec.gate.alternative)
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
