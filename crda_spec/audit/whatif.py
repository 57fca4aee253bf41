"""A finished run, asked what would have been: which rows, whether the certificate lets it answer, and the answers."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits

from crda_spec.audit.canonical import read_as
from crda_spec.audit.new_rows import refuse_missing
from crda_spec.audit.open_run import SavedRun
from crda_spec.counterfactual.changes import Change, cells_of, read_changes, settings_of
from crda_spec.counterfactual.diagnostics import certified_effects
from crda_spec.counterfactual.effects import average_effects
from crda_spec.counterfactual.whatif import Answers, AskedRows, OutcomeModel, Spread, beyond_column, interval, off_data
from crda_spec.data.blocks import RowFile, missing_columns, open_rows
from crda_spec.data.cells import BlockPlace, block_numbers
from crda_spec.errors import Complaint, CrdaError, DataError, GraphError, Place, SpecError, did_you_mean, show
from crda_spec.execution import Progress, in_order
from crda_spec.records import (
    Answer,
    AnswerBasis,
    Array,
    AverageEffect,
    Caution,
    CellChange,
    Certificate,
    Column,
    FeatureClass,
    IntArray,
    Table,
    WhatIf,
)
from crda_spec.regressors.teachers.refits import Refits
from crda_spec.report.words.causal import obstacle_sentence, reason_sentence, remedy_sentence
from crda_spec.report.words.whatif import CONTRADICTED, NO_GRAPH
from crda_spec.scm.certificate import drawn
from crda_spec.scm.formats.edges import from_edges
from crda_spec.scm.graph import CausalGraph
from crda_spec.scm.implied import with_edges
from crda_spec.scm.mechanisms import Mechanisms, fit_mechanisms
from crda_spec.scm.propagation import follower_inputs, followers, propagable
from crda_spec.scm.sensitivity import sign_robustness, yardstick
from crda_spec.spec.build import with_student
from crda_spec.spec.check import declared_graph
from crda_spec.spec.run import RunSpec

ROW = "row"  # the column of a file of questions that names rows of the run
_BLOCK = 16384


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What is asked of a run."""

    changes: tuple[str, ...] = ()  # as written: therapy_hours=+2
    sweep: str | None = None  # as written: therapy_hours=0:20
    rows: tuple[int, ...] | None = ()  # numbers of training rows in the run's source, counted from 1; None: all
    file: Path | RowFile | None = None  # rows from elsewhere with outcomes, or numbers of rows with a change each
    follow: bool = False
    refits: int = 20
    level: float = 0.9
    jobs: int = 1

    def complaints(self, prefix: str = "") -> list[Complaint]:
        """Numbers that make no sense. prefix: `--` where they are options."""
        wrong = []
        if self.refits != 0 and not 5 <= self.refits <= 1000:
            what, hint = f"must be 0, or from 5 to 1000, got {self.refits}", "use 20, or 0 for no interval"
            wrong.append(Complaint(code="out-of-range", path=f"{prefix}refits", what=what, hint=hint))
        if not 0.5 <= self.level < 1:
            what = f"must be at least 0.5 and below 1, got {self.level:g}"
            wrong.append(Complaint(code="out-of-range", path=f"{prefix}level", what=what, hint="use 0.9"))
        if self.jobs < 1:
            what = f"must be at least 1, got {self.jobs}"
            wrong.append(Complaint(code="out-of-range", path=f"{prefix}jobs", what=what))
        return wrong


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Asked:
    """The rows of a question."""

    numbers: IntArray  # (m,) what they are called
    x: Array  # (m, d)
    y: Array  # (m,)
    position: IntArray | None  # (m,) among the training rows; None: they are from elsewhere
    changes: Mapping[int, Sequence[tuple[int, Change]]]  # of the file itself, by column: row and change
    settings: Mapping[int, Array] = field(default_factory=dict)  # by column: (m,) its new values


def answer(saved: SavedRun, spec: RunSpec, question: Question, *, folder: Path | None, progress: Progress) -> WhatIf:
    """All answers, or an error with all that stands in their way.

    folder: where the files are that the spec names; only a graph in a file of its own is read.
    """
    train, certificate = saved.train, read_as(Certificate, saved.record["certificate"])
    _refuse_falsified(saved)
    graph = _graph(saved, spec, certificate, folder) if question.follow else None
    asked, sweep = _asked(saved, spec, question, _blocked(certificate))
    names = tuple(train.names[position] for position in sorted(asked.settings))
    if graph is not None:
        _refuse_followers(graph, train.names, names)
        _refuse_unseen_labels(train, asked, followers(graph, train.names, names))
    irrelevant, own = train.positions(certificate.irrelevant), saved.teacher.in_sample
    model = OutcomeModel(
        teacher=saved.teacher,
        scale=saved.scale,
        mechanisms=None if graph is None else fit_mechanisms(train, follower_inputs(graph, train.names, names)),
        irrelevant=irrelevant,
        seed=saved.record["seed"],
    )
    rows = AskedRows(
        x=asked.x,
        y=asked.y,
        settings=asked.settings,
        predicted=own[asked.position] if asked.position is not None and len(own) else None,
        luck=asked.numbers - 1 if asked.position is None else asked.position,  # the same all along a curve
    )
    with threadpool_limits(limits=1):  # the same bits on any machine
        found = model.what_if(rows)
        wanted = question.refits > 0 and not found.same.all()
        spread = _spread(saved, spec, model, certificate) if wanted else None
        ends = None if spread is None else _ends(spread, rows, found.difference, question, progress)
    moved = dict.fromkeys((*names, *(() if model.mechanisms is None else model.mechanisms.facts)))
    classes = {name: _class(certificate, name) for name in moved}
    unchanged = all(one == "irrelevant" for one in classes.values())
    cautions = [*_cautions(saved, certificate, classes, model.mechanisms)]
    basis: AnswerBasis = "certificate" if certificate.basis == "declared" else "search"
    return WhatIf(
        run=saved.record["name"],
        seal=saved.record["sha256"],
        target=train.target,
        asked=tuple((name, classes[name]) for name in names),
        follow=question.follow,
        refits=0 if spread is None else question.refits,
        level=question.level,
        new_rows=asked.position is None,
        cautions=(*cautions, "searched_teacher") if wanted and spread is None else tuple(cautions),
        contradicted=tuple((saved.record["teacher"]["trust"] or {}).get("contradicted", ())),
        benchmark=yardstick(train, names[0]) if len(moved) == 1 and not unchanged else None,
        sweep=sweep,
        answers=tuple(_answers(train, asked, found, ends, model, "irrelevant" if unchanged else basis)),
    )


def _asked(
    saved: SavedRun, spec: RunSpec, question: Question, blocked: Mapping[str, Complaint]
) -> tuple[_Asked, Column | None]:
    """The rows with what their columns are set to, and the column that is swept, if one is."""
    complaints: list[Complaint] = []
    asked, changes, swept = None, tuple[Change, ...](), None
    try:
        asked = _asked_rows(saved, spec, question, blocked)
    except CrdaError as error:
        complaints += error.complaints
    told = question.file is not None if asked is None else bool(asked.changes)  # whether the file says what changes
    if question.changes or question.sweep is not None or not told:
        try:
            changes, swept = read_changes(question.changes, question.sweep, saved.train, blocked)
        except CrdaError as error:
            complaints += error.complaints
    if complaints or asked is None:
        raise SpecError(complaints)
    everywhere = {one.position: [(row, one) for row in range(len(asked.x))] for one in changes}
    for position in [*everywhere, *(() if swept is None else (swept.position,))]:
        if position in asked.changes:
            name = saved.train.names[position]
            what, hint = f"the file and the command both change {show(name)}", "say it once"
            complaints.append(Complaint(code="changed-twice", path=name, what=what, hint=hint))
    if complaints:
        raise SpecError(complaints)
    every = {**asked.changes, **everywhere}
    settings = settings_of(every, asked.x, saved.train, asked.numbers, still=swept is not None) if every else {}
    if swept is None:
        return replace(asked, settings=settings), None
    points = len(swept.grid)
    settings = {position: np.repeat(values, points) for position, values in settings.items()}
    settings[swept.position] = np.tile(np.array(swept.grid), len(asked.x))
    repeated = replace(
        asked,
        numbers=np.repeat(asked.numbers, points),
        x=np.repeat(asked.x, points, axis=0),
        y=np.repeat(asked.y, points),
        position=None if asked.position is None else np.repeat(asked.position, points),
        settings=settings,
    )
    return repeated, saved.train.features[swept.position]


def _answers(
    train: Table,
    asked: _Asked,
    found: Answers,
    ends: tuple[Array, Array] | None,
    model: OutcomeModel,
    basis: AnswerBasis,
) -> Iterator[Answer]:
    """Row by row."""
    ignored = np.isin(np.arange(len(train.features)), model.irrelevant)
    meant = np.where(ignored, asked.x, found.x)
    robustness = sign_robustness(train, asked.x, meant, found.difference)
    far = off_data(train, asked.x, meant, model.irrelevant, asked.position, seed=model.seed)
    beyond = [(train.names[at], mask.tolist()) for at, mask in beyond_column(train, asked.x, meant)]
    different = (asked.x != found.x) & ~(np.isnan(asked.x) & np.isnan(found.x))
    columns = sorted(np.flatnonzero(different.any(axis=0)).tolist(), key=lambda one: one not in asked.settings)
    # Whole columns become lists at once: ten thousand answers must not take longer than their predictions.
    cells = [
        (
            different[:, at].tolist(),
            partial(CellChange, name=train.names[at], follows=at not in asked.settings),
            *(cells_of(x[:, at], train.features[at]) for x in (asked.x, found.x)),
        )
        for at in columns
    ]
    low, high = (one.tolist() for one in ((found.difference, found.difference) if ends is None else ends))
    numbers = zip(
        *(one.tolist() for one in (asked.numbers, asked.y, found.y, found.difference, found.same, robustness, far)),
        strict=True,
    )
    for at, (number, observed, outcome, difference, same, strength, off) in enumerate(numbers):
        yield Answer(
            row=number,
            changes=tuple([make(before=old[at], after=new[at]) for moved, make, old, new in cells if moved[at]]),
            observed=observed,
            outcome=outcome,
            difference=difference,
            interval=None if ends is None and not same else (low[at], high[at]),
            basis=basis,
            robustness=None if same or math.isnan(strength) else strength,
            beyond=tuple([name for name, mask in beyond if mask[at]]),
            off_data=off,
        )


def _ends(
    spread: Spread, rows: AskedRows, difference: Array, question: Question, progress: Progress
) -> tuple[Array, Array]:
    """Both ends of the interval, from as many teachers as asked for."""
    refitted = []
    tasks = (partial(spread.difference, rows, number) for number in range(question.refits))
    with progress.stage("fit the teacher again", question.refits) as step:
        for one in in_order(tasks, workers=min(question.jobs, question.refits)):
            refitted.append(one)
            step.advance()
    return interval(difference, np.array(refitted), question.level)


def _spread(saved: SavedRun, spec: RunSpec, model: OutcomeModel, certificate: Certificate) -> Spread | None:
    """How to fit again what answers; None where nobody knows which teacher a search chose."""
    refits, train, teacher = _refits(saved, spec, certificate), saved.train, saved.teacher
    if refits is None:
        return None
    seed = saved.record["seed"]
    unseen = refits.unseen(train, seed=seed) if teacher.out_of_fold is None else teacher.out_of_fold
    own = teacher.in_sample if len(teacher.in_sample) else teacher.predict(train.x)
    return Spread(train=train, predicted=own, residual=train.y - unseen, refits=refits, model=model, seed=seed)


def _refits(saved: SavedRun, spec: RunSpec, certificate: Certificate) -> Refits | None:
    if spec.tune.augmentation is not None:
        return None
    settings = {
        name: tuple(value) if isinstance(value, list) else value
        for name, value in saved.record["regressor"].items()
        if name in type(spec.regressor).model_fields and name not in ("kind", "early_stopping")
    }
    student = spec.regressor if spec.tune.kind == "none" else spec.regressor.model_copy(update=settings)
    names, missing = saved.train.names, spec.dataset.missing
    boundary = saved.train.positions([name for name in names if name not in certificate.irrelevant])
    rule = with_student(spec.counterfactual.teacher, spec)
    rule = rule.with_boundary(boundary if 0 < len(boundary) < len(names) else None)
    families = {one["name"]: one["weight"] for one in saved.record["teacher"]["families"]}
    return Refits.of(rule, families, student.with_signs(spec.causal.signs).load(), missing.numbers)


def _cautions(
    saved: SavedRun,
    certificate: Certificate,
    classes: Mapping[str, FeatureClass],
    mechanisms: Mechanisms | None,
) -> Iterator[Caution]:
    falsification, trust = saved.record["falsification"], saved.record["teacher"]["trust"]
    if certificate.basis != "declared":
        yield "no_graph"
    elif falsification is not None and falsification["outcome"] == "falsified":
        yield "graph_contradicted"
    if trust is not None and not trust["passed"] and "irrelevant" in classes.values():
        yield "trust_failed"
    if mechanisms is not None and any(one.kind in ("rounded", "uniform") for one in mechanisms.facts.values()):
        yield "one_draw"


def _class(certificate: Certificate, name: str) -> FeatureClass:
    """By the graph alone, where there is one: what a run kept, or could not let effects of follow, may be asked."""
    if name in certificate.irrelevant:
        return "irrelevant"
    if certificate.basis == "declared":
        return "cause" if name in certificate.largest else "blocked"
    return next(one.status for one in certificate.features if one.name == name)


def _refuse_falsified(saved: SavedRun) -> None:
    """Where the run abstains because rows contradict the graph, nothing is answered by it either."""
    found = saved.record["falsification"]
    if found is not None and (found["outcome"], found["on_falsified"]) == ("falsified", "abstain"):
        hint = "correct the graph and run again, or set falsify.on_falsified to recertify"
        raise GraphError(Complaint(code="graph-falsified", what=found["sentence"], hint=hint))


def _blocked(certificate: Certificate) -> dict[str, Complaint]:
    """By feature that the certificate does not cover: the open path, and what would close it."""
    found = {}
    for one in certificate.features:
        if _class(certificate, one.name) == "blocked":
            what = f"blocked, so no what-if can be answered: {reason_sentence(one.reason)}"
            found[one.name] = Complaint(code="blocked", path=one.name, what=what, hint=_remedy(certificate, one.name))
    return found


def _refuse_followers(graph: CausalGraph, features: Sequence[str], names: Sequence[str]) -> None:
    hint = "ask without --follow: the other columns are then held fixed"
    complaints = [
        Complaint(code="cannot-follow", path=name, what=obstacle_sentence(obstacle), hint=hint)
        for name, obstacle in propagable(graph, features, names).obstacles.items()
    ]
    if complaints:
        raise GraphError(complaints)


def _refuse_unseen_labels(train: Table, asked: _Asked, names: Sequence[str]) -> None:
    """A label of a row from elsewhere that no training row has: no equation knows by what luck it came about."""
    complaints = []
    for column, position in zip(names, train.positions(names), strict=True):
        if train.features[position].is_numeric:
            continue
        values = asked.x[:, position]
        unseen = ~np.isnan(values) & ~np.isin(values, train.x[:, position])
        if unseen.any():
            at = int(unseen.argmax())
            label = show(cells_of(values[at : at + 1], train.features[position])[0])
            what = f"no training row has {label}, as row {asked.numbers[at]} does: nobody knows what would follow"
            hint = "leave the row out, or ask without --follow: the other columns are then held fixed"
            complaints.append(Complaint(code="cannot-follow", path=column, what=what, hint=hint))
    if complaints:
        raise DataError(complaints)


def _remedy(certificate: Certificate, name: str) -> str:
    """What would let the question be answered; the smallest remedy that frees the feature."""
    if certificate.basis != "declared":
        return "declare a graph under causal.graph that says what drives it, and run again"
    found = next((one for one in certificate.remedies if name in one.frees), None)
    if found is None:
        return f"no column would change that: only an experiment that sets {name} can tell"
    return remedy_sentence(found)


def _graph(saved: SavedRun, spec: RunSpec, certificate: Certificate, folder: Path | None) -> CausalGraph:
    """The graph on which the certificate stands."""
    if certificate.basis != "declared":
        what, hint = "no graph was declared, so nobody knows what follows", "ask without --follow, or declare a graph"
        raise GraphError(Complaint(code="no-graph", path="--follow", what=what, hint=hint))
    path = getattr(spec.causal.graph, "path", None)
    if path is not None and folder is None:
        what, hint = f"the graph's file {show(path)} is not at hand", "say where with --base"
        raise GraphError(Complaint(code="no-graph", path="--follow", what=what, hint=hint))
    columns = tuple(name for name, role in certificate.graph.nodes if role in ("feature", "target", "unused"))
    dataset = spec.dataset.model_copy(update={"features": saved.train.names})
    graph = declared_graph(spec.causal, dataset, columns, folder or Path())
    if graph is not None and certificate.repair is not None:
        ends = dict.fromkeys((*columns, *graph.latents))
        added = from_edges(certificate.repair.edges, columns=tuple(ends), target=graph.target)
        graph = with_edges(graph, added.edges)
    if graph is None or drawn(graph, saved.train.names) != certificate.graph:
        what = (
            f"the graph in {show(path)} is not the one of this run" if path else "the record's graph is not its spec's"
        )
        hint = "give the folder of the file as it was, with --base"
        raise GraphError(Complaint(code="other-graph", path="--follow", what=what, hint=hint))
    return graph


def _asked_rows(saved: SavedRun, spec: RunSpec, question: Question, blocked: Mapping[str, Complaint]) -> _Asked:
    train = saved.train
    if question.file is None:
        at = np.arange(len(train)) if question.rows is None else _positions(saved, question.rows)
        return _of_run(train, at, {})
    source = spec.dataset.source
    file = question.file
    if not isinstance(file, RowFile):
        file = open_rows(file, like=source if source.kind == "csv" else None)
    if ROW in file.names and ROW not in train.names:
        return _listed(saved, file, blocked)
    columns, file = (*train.features, train.target), file.read_by(spec.dataset.reading)
    complaints = missing_columns(file, [column.name for column in columns])
    if complaints:
        what, hint = f"rows of the run are named in a column {show(ROW)}", "or give every feature and the outcome"
        raise DataError(
            [*complaints, Complaint(code="unknown-column", place=Place(file=file.path.name), what=what, hint=hint)]
        )
    parts: list[Array] = []
    for block in file.blocks(_BLOCK, [column.name for column in columns]):
        place = BlockPlace(file=file.path.name, first=sum(map(len, parts)), decimal=file.decimal)
        cells = block_numbers(block, columns, place)
        filled = [spec.dataset.missing_rule(one.name) == "impute" for one in columns]
        refuse_missing(np.isnan(cells), columns, place, allowed=filled)
        parts.append(cells)
    cells = np.concatenate(parts)
    x, y = np.ascontiguousarray(cells[:, :-1]), np.ascontiguousarray(cells[:, -1])
    return _Asked(numbers=np.arange(1, len(x) + 1), x=x, y=y, position=None, changes={})


def _of_run(train: Table, at: IntArray, changes: Mapping[int, Sequence[tuple[int, Change]]]) -> _Asked:
    return _Asked(numbers=train.row_ids[at] + 1, x=train.x[at], y=train.y[at], position=at, changes=changes)


def _positions(saved: SavedRun, numbers: Sequence[int], where: str = "") -> IntArray:
    """Where the rows of these numbers stand among the training rows; a DataError names those that do not."""
    train, data = saved.train, saved.record["data"]
    if not numbers:
        what, hint = "no row is named", f"name one with --row, e.g. --row {int(train.row_ids[0]) + 1}"
        raise SpecError(Complaint(code="no-rows", what=what, hint=hint))
    known = {number: at for at, number in enumerate((train.row_ids + 1).tolist())}
    complaints = []
    for number in dict.fromkeys(numbers):
        if number in known:
            continue
        trained = f"{len(train)} of the rows 1 to {data['rows_read']} of {data['source']} were trained on"
        what = f"row {number} is not among the run's training rows"
        hint = f"{trained}, see rows.csv; a row that was not can be asked with --rows FILE"
        place = Place(file=where) if where else None
        complaints.append(
            Complaint(code="unknown-row", place=place, path="" if where else "--row", what=what, hint=hint)
        )
    if complaints:
        raise DataError(complaints)
    return np.array([known[number] for number in numbers], dtype=np.int64)


def _listed(saved: SavedRun, file: RowFile, blocked: Mapping[str, Complaint]) -> _Asked:
    """A file that names rows of the run; its other columns, if any, hold each row's changes as they are written."""
    train = saved.train
    others = [name for name in file.names if name != ROW]
    complaints = []
    for name in others:
        if name not in train.names:
            hint = did_you_mean(name, train.names, otherwise="the run's features are")
            what = (
                f"{show(name)} is the outcome itself"
                if name == train.target.name
                else f"the run has no feature {show(name)}"
            )
            complaints.append(Complaint(code="unknown-column", place=Place(file=file.path.name), what=what, hint=hint))
    if complaints:
        raise DataError(complaints)
    numbers: list[int] = []
    changes: dict[int, list[tuple[int, Change]]] = {}
    for block in file.blocks(_BLOCK, file.names):
        for line in block.to_pylist():
            text = str(line[ROW]).strip()
            if not text.isdecimal():
                what = f"{show(line[ROW])} in line {len(numbers) + 2} is no number of a row"
                complaints.append(Complaint(code="unknown-row", place=Place(file=file.path.name), what=what))
                text = "0"
            for name in others:
                if line[name] is not None and str(line[name]).strip():
                    try:
                        ((change,), _) = read_changes([f"{name}={line[name]}"], None, train, blocked)
                    except SpecError as error:
                        place = Place(file=file.path.name, line=len(numbers) + 2, col=1)
                        complaints += [one.at(place) for one in error.complaints]
                    else:
                        changes.setdefault(change.position, []).append((len(numbers), change))
            numbers.append(int(text))
    if complaints:
        raise DataError(complaints)
    return _of_run(train, _positions(saved, numbers, file.path.name), changes)


def effects(saved: SavedRun, spec: RunSpec, *, follow: bool, folder: Path | None) -> Effects:
    """Of each certified cause, the other columns held fixed, or following it where they can."""
    train, certificate = saved.train, read_as(Certificate, saved.record["certificate"])
    _refuse_falsified(saved)
    left = {
        one.name: reason_sentence(one.reason) if certificate.basis == "declared" else NO_GRAPH
        for one in certificate.features
        if one.name not in certificate.largest
    }
    trust = saved.record["teacher"]["trust"]
    doubted = trust is not None and not trust["passed"]
    left |= dict.fromkeys(certificate.irrelevant, CONTRADICTED if doubted else "")
    with threadpool_limits(limits=1):
        if not follow:
            found = certified_effects(train, saved.teacher, certificate)
            return Effects(found=found, left=left, columns=train.features, target=train.target)
        graph, irrelevant = _graph(saved, spec, certificate, folder), train.positions(certificate.irrelevant)
        each: list[AverageEffect] = []
        for name in (one for one in train.names if one in certificate.largest):
            if obstacle := propagable(graph, train.names, [name]).obstacles.get(name):
                left[name] = obstacle_sentence(obstacle)
                continue
            mechanisms = fit_mechanisms(train, follower_inputs(graph, train.names, [name]))
            if {name, *mechanisms.facts}.issubset(certificate.irrelevant):
                continue
            left.pop(name, None)
            model = OutcomeModel(
                teacher=saved.teacher, mechanisms=mechanisms, irrelevant=irrelevant, seed=saved.record["seed"]
            )
            each += average_effects(train, model, [name])
    return Effects(found=tuple(each), left=left, columns=train.features, target=train.target)


@dataclass(frozen=True, slots=True, kw_only=True)
class Effects:
    """Average effects, and why the other features have none."""

    found: tuple[AverageEffect, ...]
    left: Mapping[str, str]  # by name: why nothing can be told; empty for an irrelevant one, whose effect is 0
    columns: tuple[Column, ...]
    target: Column
