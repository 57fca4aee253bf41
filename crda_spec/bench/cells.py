"""Suites -> cells: each is one spec that `crda-run` could run, with what the results call its parts."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

from crda_spec.audit.canonical import plain, sha256_of
from crda_spec.audit.record import special_packages, versions
from crda_spec.bench.published import refused
from crda_spec.bench.suite import (
    MOST_CELLS,
    MOST_CELLS_EVER,
    AugmenterEntry,
    Measure,
    Protocol,
    ReadSuite,
    ReadSuites,
    Suite,
    TableEntry,
)
from crda_spec.bench.tables import NAMES, NINE, BenchTable, GraphKind, named_tables, readable
from crda_spec.errors import Complaint, CrdaError, SpecError, did_you_mean, repeated, show
from crda_spec.regressors import REGRESSORS
from crda_spec.spec.build import load_rows
from crda_spec.spec.check import load_spec
from crda_spec.spec.load import Draft, read_draft
from crda_spec.spec.recipes import STOPS, preset_of
from crda_spec.spec.render import resolved
from crda_spec.spec.run import RunSpec

FORMAT = 1  # of a kept cell: another one is computed anew
RECIPES = ("certified", "distilled", "paper")
_REFERENCE = "distilled"  # whose settings of the regressor all arms share where a suite writes none
_NO_NUMBER = ("name", "description", "meta", "execution", "output")  # of a spec: they change no figure of a cell
_MEASURED_ALONE: dict[str, Any] = {"diagnostics": False, "intervals": None, "plots": False, "model": False}


def as_json(facts: Mapping[str, Any]) -> str:
    """In the order in which they are: that of a world's equations has a meaning."""
    return json.dumps(plain(facts), indent=1, ensure_ascii=False, allow_nan=False) + "\n"


_versions = cache(versions)  # which asks the disk, and there are thousands of cells


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Cell:
    """One line of the results, before it is computed."""

    suite: str
    table: str
    rows: int  # of the table; of a world, to train on
    seed: int
    regressor: str
    augmenter: str
    graph: GraphKind
    protocol: Protocol
    measure: Measure
    knob: str  # the key that is swept, "" if none is
    value: str
    spec: Mapping[str, Any]
    base: Path
    data: str  # the hash of its table

    @property
    def label(self) -> str:
        """What --only looks at: `rivals/wind_power/1000/1/mlp/mixup/matched`."""
        parts = [self.suite, self.table, self.rows, self.seed, self.regressor, self.augmenter, self.protocol]
        parts += [] if self.graph in ("none", "right") else [self.graph]
        parts += [f"{self.knob}={self.value}"] if self.knob else []
        return "/".join(map(str, parts))

    def loaded(self) -> tuple[RunSpec, Draft]:
        """The spec as it would be run."""
        return load_spec(self.spec, environ={}, base=self.base)

    def key(self, spec: RunSpec) -> str:
        """The hash of all that its figures depend on."""
        facts = self.facts(spec)
        facts["spec"] = {name: value for name, value in facts["spec"].items() if name not in _NO_NUMBER}
        return sha256_of(as_json(facts))[:32]

    def facts(self, spec: RunSpec) -> dict[str, Any]:
        """All that says what is computed."""
        search, rival = spec.tune.augmentation, spec.augmenter
        packages = special_packages(
            spec.regressor.model_dump(),
            searched=search is not None and search.kind == "tpe",
            augmenter=None if rival is None else rival.kind,
        )
        return {
            "format": FORMAT,
            "spec": resolved(spec),
            "protocol": self.protocol,
            "measure": self.measure,
            "data": self.data,
            "versions": _versions(*packages),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class _Part:
    """A suite with its lists laid out."""

    read: ReadSuite
    tables: tuple[BenchTable, ...]
    regressors: tuple[tuple[str, Mapping[str, Any]], ...]
    augmenters: tuple[tuple[str, Mapping[str, Any], tuple[GraphKind, ...]], ...]
    knobs: tuple[tuple[str, Any], ...]  # one at a time; ("", None) for none

    @property
    def suite(self) -> Suite:
        return self.read.suite

    def count(self) -> int:
        """At most so many cells."""
        lists = (self.tables, self.suite.sizes, self.suite.all_seeds, self.regressors, self.augmenters)
        total = len(self.suite.protocols) * len(self.suite.graphs) * len(self.knobs)
        for one in lists:
            total *= len(one)
        return total

    def cells(self, seed: int) -> Iterator[Cell]:
        """Those of one seed: all tables and rivals of a size, then the next size."""
        suite = self.suite
        for size, (knob, value) in product(suite.sizes, self.knobs):
            for table, graph, protocol in product(self.tables, suite.graphs, suite.protocols):
                bare = table.graphs == ("none",)  # it is run once, whatever graphs the suite asks for
                if graph not in table.graphs and not (bare and graph == suite.graphs[0]):
                    continue
                if bare and "none" in suite.graphs and graph != "none":
                    continue
                graph_of: GraphKind = "none" if bare else graph
                for (regressor, section), (name, changes, graphs) in product(self.regressors, self.augmenters):
                    if protocol == "published" and changes.get("recipe") != "paper":
                        continue  # it is the published code's way to run Algorithm 1, and of nothing else
                    if graph_of in graphs or bare:
                        cell = self.cell(table, size, seed, graph_of, protocol, (regressor, section), (name, changes))
                        yield cell if not knob else _turned(cell, knob, value)

    def cell(
        self,
        table: BenchTable,
        size: float,
        seed: int,
        graph: GraphKind,
        protocol: Protocol,
        regressor: tuple[str, Mapping[str, Any]],
        augmenter: tuple[str, Mapping[str, Any]],
    ) -> Cell:
        """One of them, no knob turned."""
        suite, rows = self.suite, table.rows_of(size)
        spec = {
            "version": 1,
            "name": table.name,
            "seed": seed,
            **table.sections(rows, graph, seed),
            **suite.spec,
            "gate": _with(suite.spec.get("gate"), {"enabled": False}),
            "regressor": _matched(regressor[1]) if protocol == "matched" else dict(regressor[1]),
            "execution": {"jobs": 1},
            "output": _with(suite.spec.get("output"), _MEASURED_ALONE),
        }
        for name, value in augmenter[1].items():
            spec[name] = _with(value, spec.get(name))
        return Cell(
            suite=suite.name,
            table=table.name,
            rows=rows,
            seed=seed,
            regressor=regressor[0],
            augmenter=augmenter[0],
            graph=graph,
            protocol=protocol,
            measure=suite.measure,
            knob="",
            value="",
            spec=spec,
            base=table.base,
            data=table.facts[1],
        )


def _with(written: Any, default: Any) -> Any:  # noqa: ANN401 - a section, if the user wrote one
    """The section with what it leaves out; what is no section stays, to be complained about."""
    if isinstance(written, Mapping) and isinstance(default, Mapping):
        return {**default, **written}
    return default if written is None else written


def _matched(section: Mapping[str, Any]) -> dict[str, Any]:
    """The regressor with the settings that recipes would fill in differently: all arms train the same one."""
    kind = str(section.get("kind"))
    preset = (preset_of(_REFERENCE, kind) or {}).get("regressor", {}) if kind in STOPS else {}
    return {**preset, **section}


def _turned(cell: Cell, knob: str, value: Any) -> Cell:  # noqa: ANN401 - a setting may be anything
    """The cell with one key of its spec set."""
    *above, last = knob.split(".")

    def set_in(section: Mapping[str, Any], path: Sequence[str]) -> dict[str, Any]:
        inner = section.get(path[0], {}) if path else section
        return {**section, path[0]: set_in(inner, path[1:])} if path else {**section, last: value}

    return replace(cell, knob=knob, value=str(value), spec=set_in(cell.spec, above))


def in_order(suites: ReadSuites, *, budget: float | None = None) -> tuple[int, Iterator[Cell]]:
    """How many cells there are at most, and all of them, breadth before depth: the first seed of every suite, table
    and rival before any second one. SpecError with all that is wrong, before anything is computed.

    budget: seconds; without, a suite may not have more cells than anybody waits for.
    """
    parts: list[_Part] = []
    complaints: list[Complaint] = list(suites.complaints)
    for read in suites.parts:
        try:
            parts.append(_laid_out(read))
        except SpecError as error:
            complaints += error.complaints
    count = sum(part.count() for part in parts)
    _check_count(count, suites, budget)
    for part in parts:
        _check_cells(part)
        complaints += part.read.draft.complaints
    if complaints:
        raise SpecError(complaints)
    most = max(len(part.suite.all_seeds) for part in parts)

    def every() -> Iterator[Cell]:
        for at in range(most):
            for part in parts:
                if at < len(part.suite.all_seeds):
                    yield from part.cells(part.suite.all_seeds[at])

    return count, every()


def _check_count(count: int, suites: ReadSuites, budget: float | None) -> None:
    most = MOST_CELLS if budget is None else MOST_CELLS_EVER
    if count > most:
        how = "without" if budget is None else "with"
        what = f"{show(suites.name)} has {count:,} cells; {how} a budget it may have {most:,}"
        hint = "shorten its lists"
        if count <= MOST_CELLS_EVER:
            hint = f"give it a time, e.g. --budget 2h: cells are run breadth before depth; or {hint}"
        raise SpecError(suites.draft.placed(Complaint(code="too-many-cells", what=what, hint=hint)))


def has(cell: Cell, pattern: str | None) -> bool:
    """Whether its label has the pattern in it; * and ? stand for any letters."""
    return pattern is None or fnmatchcase(cell.label, f"*{pattern}*")


def nothing_left(pattern: str | None, cells: Sequence[Cell], suites: ReadSuites) -> SpecError:
    """No cell to run."""
    words = sorted({part for cell in cells for part in cell.label.split("/")})
    what = "the suite has no cell" if pattern is None else f"no cell has {show(pattern)} in its label"
    hint = "let its lists meet: a wrong graph needs a world, an undrawn cause a hidden one"
    hint = hint if pattern is None else did_you_mean(pattern, words, otherwise="parts of labels")
    complaint = Complaint(code="empty-product", path="--only" if pattern else "", what=what, hint=hint)
    return SpecError(complaint if pattern else suites.draft.placed(complaint))


@cache
def rivals() -> tuple[str, ...]:
    """The kinds under `augmenter` in a spec."""
    from crda_spec.counterfactual.augmenters import AUGMENTERS

    return tuple(AUGMENTERS)


def _laid_out(read: ReadSuite) -> _Part:
    """The suite's names looked up."""
    suite, draft = read.suite, read.draft
    tables = [found for position, one in enumerate(suite.tables) for found in _tables(one, f"tables.{position}", draft)]
    regressors = [_regressor(one, f"regressors.{position}", draft) for position, one in enumerate(suite.regressors)]
    augmenters = [_augmenter(one, f"augmenters.{position}", draft) for position, one in enumerate(suite.augmenters)]
    for one in repeated("tables", [table.name for table in tables]):
        draft.complain(one)
    for one in repeated("regressors", [name for name, _ in regressors]):
        draft.complain(replace(one, hint="give each a name: {name: shallow, kind: xgboost, max_depth: 3}"))
    if draft.complaints:
        raise SpecError(draft.complaints)
    knobs = tuple((name, value) for name, values in suite.knobs.items() for value in values)
    return _Part(
        read=read,
        tables=tuple(tables),
        regressors=tuple(regressors),
        augmenters=tuple((name, sections, graphs or suite.graphs) for name, sections, graphs in augmenters),
        knobs=knobs or (("", None),),
    )


def _tables(entry: str | TableEntry, path: str, draft: Draft) -> Iterator[BenchTable]:
    if isinstance(entry, TableEntry):
        yield from _own_table(entry, path, draft)
        return
    found = named_tables(entry)
    if not found:
        hint = did_you_mean(entry, NAMES, otherwise="tables")
        draft.complain(Complaint(code="unknown-table", path=path, what=f"there is no table {show(entry)}", hint=hint))
    for table in found:
        try:
            table.facts  # noqa: B018 - reads the rows
        except CrdaError as error:
            for one in error.complaints:
                draft.complain(replace(one, path=path, place=None))
            return
        yield table


def _own_table(entry: TableEntry, path: str, draft: Draft) -> Iterator[BenchTable]:
    dataset, causal, base = dict(entry.dataset or {}), entry.causal, draft.file.parent
    if entry.spec is not None:
        file = draft.file.parent / entry.spec
        found = read_draft(file, environ=os.environ)
        value = found.written if isinstance(found.written, dict) else {}
        if found.complaints:
            draft.complaints += found.complaints
            return
        dataset, base = dict(value.get("dataset", {})), file.parent
        causal = causal or value.get("causal")
    table = BenchTable(name=entry.name, dataset=dataset, causal=causal, base=base)
    if readable(dataset):
        try:
            table.facts  # noqa: B018 - reads the rows
        except CrdaError as error:
            for one in error.complaints:
                draft.complain(one.moved("dataset", f"{path}.dataset" if entry.dataset is not None else path))
            return
    else:
        spec = {"version": 1, "name": "table", "dataset": dataset}
        for one in read_draft(spec, environ={}).complaints:
            draft.complain(replace(one.moved("dataset", f"{path}.dataset"), place=None))
        return
    yield table


def _regressor(entry: str | Mapping[str, Any], path: str, draft: Draft) -> tuple[str, Mapping[str, Any]]:
    section = {"kind": entry} if isinstance(entry, str) else dict(entry)
    name = str(section.pop("name", section.get("kind")))
    kind = section.get("kind")
    if not isinstance(kind, str) or kind not in REGRESSORS:
        hint = did_you_mean(str(kind), tuple(REGRESSORS), otherwise="kinds")
        where = path if isinstance(entry, str) else f"{path}.kind"
        draft.complain(Complaint(code="unknown-kind", path=where, what=f"unknown regressor {show(kind)}", hint=hint))
    return name, section


def _augmenter(
    entry: str | AugmenterEntry, path: str, draft: Draft
) -> tuple[str, Mapping[str, Any], tuple[GraphKind, ...] | None]:
    if isinstance(entry, AugmenterEntry):
        return entry.name, entry.sections(), entry.graphs
    if entry in RECIPES:
        return entry, {"recipe": entry}, None
    if entry not in rivals():
        hint = did_you_mean(entry, (*RECIPES, *rivals()), otherwise="recipes and rivals")
        what = f"there is no recipe or rival {show(entry)}"
        draft.complain(Complaint(code="unknown-augmenter", path=path, what=what, hint=hint))
    return entry, {"augmenter": {"kind": entry}}, None


def _check_cells(part: _Part) -> None:
    """Checks the cells of the first seed as specs, without fitting, and the rows of every table and size."""
    suite, draft = part.suite, part.read.draft
    told: set[tuple[str, str]] = set()
    looked: set[tuple[str, int]] = set()

    def tell(complaint: Complaint) -> None:
        if (complaint.path, complaint.what) not in told:
            told.add((complaint.path, complaint.what))
            draft.complain(complaint)

    if "published" in suite.protocols and all(one[1].get("recipe") != "paper" for one in part.augmenters):
        what, hint = "protocol published runs the recipe paper, and no augmenter is that", "add paper to augmenters"
        tell(Complaint(code="not-published", path="protocols", what=what, hint=hint))
    for cell in part.cells(suite.all_seeds[0]):
        try:
            spec, own = cell.loaded()
            if (cell.table, cell.rows) not in looked:
                looked.add((cell.table, cell.rows))
                load_rows(spec, own.file.parent)
        except CrdaError as error:
            for one in error.complaints:
                where, written = _place(one.path, cell, part)
                what = one.what if written else f"{cell.label}: {one.path}: {one.what}"
                tell(replace(one, path=where, place=None, what=what))
        if cell.protocol == "published":
            for path, what, hint in refused(cell):
                where = path if path == "measure" else _place(path, cell, part)[0]
                tell(Complaint(code="not-published", path=where, what=what, hint=hint))


def _place(path: str, cell: Cell, part: _Part) -> tuple[str, bool]:
    """Where in the suite a key of a cell's spec comes from, and whether that very key is written there."""
    suite, section = part.suite, path.split(".", maxsplit=1)[0]
    entries = {one if isinstance(one, str) else one.name: one for one in suite.augmenters}
    augmenter = f"augmenters.{list(entries).index(cell.augmenter)}"
    own = next(one[1] for one in part.augmenters if one[0] == cell.augmenter)
    if cell.knob and path.startswith(cell.knob):
        return f"knobs.{cell.knob}", True
    if section in own and isinstance(entries[cell.augmenter], AugmenterEntry):
        return f"{augmenter}.{path}", True
    if section in suite.spec:
        return f"spec.{path}", True
    if section == "regressor":
        position = [name for name, _ in part.regressors].index(cell.regressor)
        short = isinstance(suite.regressors[position], str)
        return f"regressors.{position}{'' if short else path[len('regressor') :]}", True
    if section in ("dataset", "causal"):
        tables = [one if isinstance(one, str) else one.name for one in suite.tables]
        position = tables.index(cell.table if cell.table in tables else NINE)
        return f"tables.{position}", False
    return augmenter, path == "augmenter.kind"
