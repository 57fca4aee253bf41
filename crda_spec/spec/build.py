"""Spec models -> the objects that compute."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from crda_spec.counterfactual import tuning
from crda_spec.counterfactual.act import Propagation
from crda_spec.counterfactual.partition import DeclaredPartitioner, DiscoveredPartitioner, Partitioner
from crda_spec.counterfactual.procedure import Procedure, Tuner
from crda_spec.data.assemble import load
from crda_spec.data.folds import count_pieces, time_blocks
from crda_spec.data.raw import RawTable, counted
from crda_spec.data.sources import header_of
from crda_spec.data.split import set_aside
from crda_spec.discovery import Pc
from crda_spec.errors import Complaint, SpecError
from crda_spec.pipeline import Plan
from crda_spec.records import DataReport, Split, Table
from crda_spec.regressors.teachers import TeacherRule
from crda_spec.scm.graph import CausalGraph
from crda_spec.seeds import stream
from crda_spec.spec.check import declared_graph, partition_of
from crda_spec.spec.check_models import candidate_specs, searched_knobs
from crda_spec.spec.load import Draft
from crda_spec.spec.recipes import whole_preset_of
from crda_spec.spec.run import RunSpec
from crda_spec.spec.tune import CandidateTuning, TpeTuning
from crda_spec.strict import Strict


def with_student(teacher: TeacherRule, spec: RunSpec) -> TeacherRule:
    """The teacher with its student: a committee's member that is written as the student is written is the student.

    Unless tuning changes the student's settings.
    """
    student = spec.regressor
    teacher = teacher.with_signs(
        spec.causal.signs, student_holds=student.holds_signs and not getattr(student, "monotone", False)
    )
    return teacher.with_student(student if spec.tune.kind == "none" else None)


@dataclass(frozen=True, slots=True)
class _Part:
    """Some rows, and what they are called."""

    rows: Table
    name: str

    @property
    def times(self) -> int:
        """Into how many parts they could be cut."""
        return 0 if self.rows.times is None else count_pieces(self.rows.times, self.rows.groups)

    def first(self, folds: int, name: str) -> _Part:
        """The earliest rows of forward folds: what the first fold trains on, and so has the fewest times."""
        blocks = () if self.rows.times is None else time_blocks(self.rows.times, folds + 1, self.rows.groups)
        return _Part(self.rows.take(blocks[0]), name)


def time_complaints(spec: RunSpec, train: Table, tuning: Table | None) -> list[Complaint]:
    """Folds and blocks for which there are too few different times, at whatever depth."""
    whole, gate = _Part(train, "the training rows have"), spec.gate.folds
    if whole.times <= gate:
        most, fewest = whole.times - 1, spec.gate.fewest_folds
        hint = f"more times are needed: this gate cannot do with fewer than {fewest} folds"
        hint = f"use at most {most} folds" if most >= fewest else hint
        return [_too_few(f"{gate} folds that run forward in time", gate + 1, whole, "gate.folds", hint)]
    first = whole.first(gate, "the first gate fold trains on")
    searched = first if tuning is None else _Part(tuning, "the rows set aside for tuning have")
    return [*_teacher(spec, first), *_searches(spec, searched)]


def _teacher(spec: RunSpec, first: _Part) -> Iterator[Complaint]:
    """A teacher, or a screen, that leaves out blocks of the rows it is given."""
    teacher = spec.counterfactual.teacher
    if teacher.kind in ("crossfit", "committee"):
        needed, path = 2 if isinstance(teacher.folds, str) else teacher.folds, "counterfactual.teacher.folds"
        who = f"a {teacher.kind} teacher"
    elif teacher.kind == "single" and spec.partition.residuals == "out_of_fold":
        needed, path, who = 2, "partition.residuals", "a screen of out_of_fold residuals"
    else:
        return
    if first.times < needed:
        hint, more = "use fewer gate folds", " or more" if needed == 2 else ""
        hint += f", or at most {first.times} teacher folds" if 2 <= first.times < needed else ""
        yield _too_few(f"{who}, which leaves out {needed} blocks of time{more} in turn,", needed, first, path, hint)


def _searches(spec: RunSpec, part: _Part) -> Iterator[Complaint]:
    """The inner folds of the searches, which run forward too."""
    for path, folds in _inner_folds(spec):
        if part.times <= folds:
            most = part.times - 1
            hint = f"use at most {most} of them, or fewer gate folds" if most >= 2 else "use fewer gate folds"
            yield _too_few(f"{folds} inner folds that run forward in time", folds + 1, part, path, hint)
            return
        part = part.first(folds, f"the first fold of {path} trains on")


def _too_few(who: str, needed: int, part: _Part, path: str, hint: str) -> Complaint:
    verb = "needs" if who.startswith("a ") else "need"
    whole = "" if part.rows.groups is None else " at which no group is torn"
    what = f"{who} {verb} {needed} different times, but {part.name} {counted(part.times, 'time')}{whole}"
    return Complaint(code="too-few-times", path=path, what=what, hint=hint)


def load_rows(spec: RunSpec, folder: Path, frame: RawTable | None = None) -> tuple[Split, DataReport]:
    """Reads, checks and splits the rows."""
    split, report = load(spec.dataset, folder, seed=spec.seed, frame=frame)
    if spec.tune.on.kind == "split":
        split = replace(set_aside(split, spec.tune.on.fraction, seed=spec.seed), clock=split.clock)
    complaints = [
        *spec.perturbation.misfits(split.train),
        *spec.causal.misfits(split.train),
        *(_fold_complaints if split.clock is None else time_complaints)(spec, split.train, split.tuning),
    ]
    factor, rows = spec.counterfactual.factor, len(split.train)
    if round(factor * rows) < 1:
        what = f"{factor:g} new rows for each of {counted(rows, 'training row')} make none"
        hint = f"use a factor of at least {1 / rows:.2g}"
        complaints.append(Complaint(code="no-new-rows", path="counterfactual.factor", what=what, hint=hint))
    if complaints:
        raise SpecError(complaints)
    return split, report


def _units(rows: Table) -> int:
    """What folds are made of: groups where there are any, else rows."""
    return len(rows) if rows.groups is None else len(np.unique(rows.groups))


def _inner_folds(spec: RunSpec) -> Iterator[tuple[str, int]]:
    """The folds of the searches: place and number. The regressor's search is repeated inside the folds of the other."""
    if spec.tune.augmentation is not None:
        yield "tune.augmentation.folds", spec.tune.augmentation.folds
    if spec.tune.kind != "none":
        yield "tune.folds", spec.tune.folds


def _fold_complaints(spec: RunSpec, train: Table, tuning: Table | None) -> list[Complaint]:
    """Folds that the rows (or groups) cannot fill, counted before anything is fitted."""
    noun, units, gate = "row" if train.groups is None else "group", _units(train), spec.gate.folds
    gate = gate if spec.gate.enabled else min(gate, units)  # only a gate that is on needs them all
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
        for path, folds in _inner_folds(spec):
            wanted.append((path, folds, least, inner))
            least -= -(-least // folds)
    needed = spec.gate.fewest_folds
    fewest = {"gate.folds": (needed, f": this gate cannot accept with fewer than {needed} folds")}
    return [
        Complaint(
            code="too-many-folds",
            path=path,
            what=f"{folds} folds cannot be made: {where} {counted(available, noun)}",
            # Fewer folds, unless so few would be of no use.
            hint=f"use at most {available} folds" if available >= least else f"more {noun}s are needed{why}",
        )
        for path, folds, available, where in wanted
        for least, why in (fewest.get(path, (2, "")),)
        if folds > available
    ]


def build_plan(spec: RunSpec, draft: Draft) -> Plan:
    """Everything a run needs. The rows are read when the plan is run, not before."""
    dataset, folder = spec.dataset, draft.file.parent
    header = header_of(dataset.source, folder, target=dataset.target, frame=draft.frame)
    graph = declared_graph(spec.causal, dataset, header, folder)
    jobs, asks_graph = spec.execution.jobs, spec.augmenter is None or spec.augmenter.asks_graph
    return Plan(
        load=partial(load_rows, spec, folder, draft.frame),
        procedure=build_candidates(spec, draft, graph),
        gate=spec.gate,
        seed=spec.seed,
        # With a stream of its own at every call.
        falsify=None
        if graph is None or not asks_graph
        else lambda train: spec.falsify.test(graph, train, rng=stream(spec.seed, "falsify")),
        jobs=None if jobs == "auto" else jobs,
        inspect=spec.output.diagnostics,
        without_graph=build_without_graph(spec, draft, graph),
        models=spec.output.ensemble,
        intervals=spec.output.intervals if spec.gate.enabled else None,
        noise_parents=() if graph is None else graph.noise_parents,
    )


def build_candidates(spec: RunSpec, draft: Draft, graph: CausalGraph | None) -> Procedure:
    """The procedure; with candidates, one that chooses among them on whatever rows it is given."""
    declared = build_procedure(spec, draft, graph)
    choice = spec.tune.augmentation
    if not isinstance(choice, CandidateTuning):
        return declared
    named = {tuning.DECLARED: declared}
    for name, found in candidate_specs(spec):
        if not isinstance(found, RunSpec):
            raise SpecError(found)
        named[name] = build_procedure(found, draft, graph)
    return replace(declared, tuner=tuning.Candidates(named=named, folds=choice.folds, metric=spec.gate.inner_loss))


def build_without_graph(spec: RunSpec, draft: Draft, graph: CausalGraph | None) -> Procedure | None:
    """The same recipe for somebody who has no graph: any feature moves, on the data's support, and labels may depend
    on all of them. None where the graph changes nothing in it, or where a search would have to be made anew.

    `certified` becomes `distilled`; a value that is not the recipe's own is the user's and stays. By value, not by who
    wrote it: a run's own spec.yaml writes every value out, and must give the same numbers.
    """
    counterfactual, teacher = spec.counterfactual, spec.counterfactual.teacher
    knows = (
        getattr(teacher, "hedge", False) or counterfactual.invariance != "off" or spec.partition.basis == "certificate"
    )
    carries = counterfactual.retention > 0 and counterfactual.residual_draw != "none"
    if graph is None or spec.augmenter is not None or not knows or carries or spec.tune.augmentation is not None:
        return None
    perturbation = spec.perturbation
    if spec.recipe == "certified":
        perturbation = _of_distilled(spec, "perturbation", perturbation)
        counterfactual = _of_distilled(spec, "counterfactual", counterfactual)
    sections = {
        "partition": spec.partition.model_copy(update={"basis": "support"}),
        "perturbation": perturbation.model_copy(update={"blocked": None, "propagate": False}),
        "counterfactual": counterfactual.model_copy(update={"invariance": "off"}),
    }
    return build_procedure(spec.model_copy(update=sections), draft, graph)


_Section = TypeVar("_Section", bound=Strict)


def _of_distilled(spec: RunSpec, name: str, section: _Section) -> _Section:
    """The section with the knobs of `distilled` wherever it has those of the spec's own recipe."""
    kind, trees = spec.regressor.kind, spec.regressor.grows_trees
    presets = [whole_preset_of(recipe, kind, spec.goal, trees=trees)[name] for recipe in (spec.recipe, "distilled")]
    own, other = (type(section).model_validate_json(json.dumps(preset)) for preset in presets)
    same = [key for key in presets[1] if getattr(section, key) == getattr(own, key)]
    return section.model_copy(update={key: getattr(other, key) for key in same})


def build_procedure(spec: RunSpec, draft: Draft, graph: CausalGraph | None) -> Procedure:
    """Every choice that the augmentation depends on."""
    dataset, propagation, choice = spec.dataset, None, partition_of(spec, graph)
    if graph is not None and spec.perturbation.propagate:
        propagation = Propagation(graph=graph, keep=choice.held)
    partitioner: Partitioner = DiscoveredPartitioner(discovery=spec.causal.discovery or Pc(), choice=choice)
    if graph is not None:
        partitioner = DeclaredPartitioner(
            graph=graph,
            choice=choice,
            propagation=propagation,
            falsify=spec.falsify if spec.falsify.on_falsified == "recertify" else None,
            seed=spec.seed,
        )
    return Procedure(
        regressor=spec.regressor.placed("regressor").with_signs(spec.causal.signs).load(),
        fill=dataset.missing.numbers,
        search=None if spec.tune.kind == "none" else spec.tune,
        teacher=with_student(spec.counterfactual.teacher, spec),
        residuals=spec.counterfactual.residuals,
        partitioner=partitioner,
        screened=spec.partition.residuals,
        propagation=propagation,
        perturbation=spec.perturbation,
        factor=spec.counterfactual.factor,
        max_rows=spec.counterfactual.max_rows,
        retention=spec.counterfactual.retention,
        weight=spec.counterfactual.weight,
        watch=spec.counterfactual.watch,
        choice=choice,
        invariance=spec.counterfactual.invariance,
        noise=spec.counterfactual.noise,
        draw=spec.counterfactual.residual_draw,
        tuner=build_knob_search(spec, draft),
        signs=spec.causal.signs,
        augmenter=spec.augmenter,
        graph=graph,
    )


def build_knob_search(spec: RunSpec, draft: Draft) -> Tuner | None:
    """The search of the knobs, or None when the spec asks for none."""
    search = spec.tune.augmentation
    if not isinstance(search, TpeTuning):
        return None
    chosen = searched_knobs(draft)
    teachers = {_words(one): with_student(one, spec) for one in chosen.get("teacher", ())}
    policies = {_words(one): one for one in chosen.get("policy", ())}
    space = tuning.KnobSpace(
        priors={name: _prior(value) for name, value in chosen.items()}, teachers=teachers, policies=policies
    )
    return tuning.KnobSearch(
        space=space,
        trials=search.trials,
        folds=search.folds,
        prune=search.prune == "median",
        seconds=search.seconds,
        warm_start=search.warm_start,
        metric=spec.gate.inner_loss,
    )


def _prior(value: Any) -> tuning.Prior:  # noqa: ANN401 - the spec's union
    if isinstance(value, tuning.NumberRange | tuning.CountRange):
        return value
    numbers = all(isinstance(one, int | float) for one in value)
    return tuning.Options(tuple(sorted(value))) if numbers else tuning.Options(tuple(_words(one) for one in value))


def _words(choice: Any) -> str:  # noqa: ANN401 - the spec's union
    """A teacher or policy in words: its kind, and the settings that are not the default."""
    plain = choice.model_dump(exclude_defaults=True, exclude={"kind"}, mode="json")
    settings = ", ".join(f"{name} {value}" for name, value in plain.items() if not isinstance(value, list))
    members = plain.get("members")
    if isinstance(members, list):
        settings = " and ".join(str(member["kind"]) for member in members)
    return f"{choice.kind} ({settings})" if settings else str(choice.kind)
