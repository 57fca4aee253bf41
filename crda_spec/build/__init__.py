"""Spec models -> the objects that compute. Nothing else knows both sides."""

from __future__ import annotations

from dataclasses import replace

from crda_spec.build.causal import build_choice, build_falsifier, build_finder, build_partitioner
from crda_spec.build.data import build_loader, build_source
from crda_spec.build.gate import build_gate, inner_metric
from crda_spec.build.perturbation import build_acting
from crda_spec.build.regressor import build_member
from crda_spec.build.settings import settings_of
from crda_spec.build.teacher import build_teacher
from crda_spec.check import declared_graph, header_of, searched_space
from crda_spec.counterfactual.noise import NOISE_MODELS
from crda_spec.counterfactual.procedure import Procedure, Tuner
from crda_spec.counterfactual.propagate import Propagation
from crda_spec.errors import SpecError
from crda_spec.pipeline import Plan
from crda_spec.regressors import Regressor
from crda_spec.regressors.tune import RandomSearch
from crda_spec.scm.graph import CausalGraph
from crda_spec.seeds import integer_seed
from crda_spec.spec.candidates import candidate_specs
from crda_spec.spec.dataset import MissingImpute
from crda_spec.spec.load import Draft
from crda_spec.spec.run import RunSpec

__all__ = ["build_finder", "build_gate", "build_loader", "build_plan", "build_regressor", "build_source"]


def build_plan(spec: RunSpec, draft: Draft) -> Plan:
    """Everything a run needs. The rows are read when the plan is run, not before."""
    dataset, folder = spec.dataset, draft.file.parent
    header = header_of(dataset.source, folder, target=dataset.target)
    graph = declared_graph(spec.causal, dataset, header, folder)
    source = build_source(dataset.source, folder, target=dataset.target, seed=integer_seed(spec.seed, "dataset"))
    jobs = spec.execution.jobs
    return Plan(
        load=build_loader(spec, source, folder),
        procedure=build_candidates(spec, draft, graph),
        gate=build_gate(spec),
        seed=spec.seed,
        falsify=None if graph is None else build_falsifier(spec, graph),
        jobs=None if jobs == "auto" else jobs,
        inspect=spec.output.diagnostics,
        models=spec.output.ensemble,
    )


def build_candidates(spec: RunSpec, draft: Draft, graph: CausalGraph | None) -> Procedure:
    """The procedure; with candidates, one that chooses among them on whatever rows it is given."""
    declared = build_procedure(spec, draft, graph)
    if not spec.gate.candidates:
        return declared
    from crda_spec.counterfactual.tuning.candidates import (  # noqa: PLC0415 - Optuna is slow to import
        DECLARED,
        Candidates,
    )

    named = {DECLARED: declared}
    for name, found in candidate_specs(spec):
        if not isinstance(found, RunSpec):
            raise SpecError(found)
        named[name] = build_procedure(found, draft, graph)
    metric, quantile = inner_metric(spec)
    tuner = Candidates(named=named, folds=spec.gate.candidate_folds, metric=metric, quantile=quantile)
    return replace(declared, tuner=tuner)


def build_procedure(spec: RunSpec, draft: Draft, graph: CausalGraph | None) -> Procedure:
    """Every choice that the augmentation depends on."""
    dataset, propagation = spec.dataset, None
    if graph is not None and spec.perturbation.propagate:
        propagation = Propagation(graph=graph, keep=spec.partition.keep)
    return Procedure(
        regressor=build_regressor(spec),
        fill=dataset.missing.numbers if isinstance(dataset.missing, MissingImpute) else "median",
        search=_search(spec, draft),
        teacher=build_teacher(spec),
        residuals=spec.counterfactual.residuals,
        partitioner=build_partitioner(spec, graph, propagation),
        screened=spec.partition.residuals,
        propagation=propagation,
        acting=build_acting(spec),
        retention=spec.counterfactual.retention,
        weight=spec.counterfactual.weight,
        watch=spec.counterfactual.watch,
        choice=build_choice(spec),
        noise=NOISE_MODELS[spec.counterfactual.noise.kind](**settings_of(spec.counterfactual.noise)),
        draw=spec.counterfactual.residual_draw,
        tuner=_tuner(spec, draft),
    )


def build_regressor(spec: RunSpec) -> Regressor:
    """The run's own regressor: the member of the family with the spec's settings."""
    return build_member(spec.regressor)


def _tuner(spec: RunSpec, draft: Draft) -> Tuner | None:
    if spec.tune.augmentation is None:
        return None
    from crda_spec.build.tuning import build_knob_search  # noqa: PLC0415 - a second of Optuna, for tuned runs only

    return build_knob_search(spec, draft)


def _search(spec: RunSpec, draft: Draft) -> RandomSearch | None:
    """The paper's search; a setting that the user wrote is the user's, and is not searched."""
    if spec.tune.kind == "none":
        return None
    space = searched_space(spec.regressor.kind, draft)
    return RandomSearch(space=space, trials=spec.tune.trials, folds=spec.tune.folds)
