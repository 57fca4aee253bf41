"""A suite: tables x sizes x seeds x regressors x augmenters x protocols, written and checked like a spec."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

from pydantic import Discriminator, Field, Tag, ValidationError

from crda_spec.bench.tables import GraphKind
from crda_spec.errors import Complaint, SpecError, inconsistent, repeated, show
from crda_spec.spec.explain import explain
from crda_spec.spec.load import Draft, read_text, without
from crda_spec.spec.run import RunName
from crda_spec.spec.yaml_tree import SpecPath, Tree, read_tree
from crda_spec.strict import MAPPING, TEXT, FilePath, Strict

Protocol = Literal["matched", "published"]
Measure = Literal["loss", "information"]
PaperTable = Literal["table2", "table8", "table9", "table10", "table11", "table12"]
MOST_CELLS = 20_000  # that a suite may have without a budget
MOST_CELLS_EVER = 200_000
_SMALLEST = 20  # rows
_BUDGET = re.compile(r"(?:(\d+)h)?(?:(\d+)m)?(?:(\d+)s)?\Z")
_TAKEN = frozenset({"version", "name", "seed", "dataset", "causal", "regressor", "recipe", "augmenter", "execution"})
_QUICK = {"seeds": 1, "sizes": [120]}  # what --quick changes where the suite does not say


def _written_as(value: object) -> str:
    return TEXT if isinstance(value, str) else MAPPING


class TableEntry(Strict):
    """A table that has no name of ours."""

    name: RunName = Field(description="What the results call it.")
    spec: FilePath | None = Field(None, description="A spec whose dataset and graph are taken; or write dataset.")
    dataset: dict[str, Any] | None = Field(None, description="The section `dataset` of a spec: source, target, ...")
    causal: dict[str, Any] | None = Field(None, description="The section `causal` of a spec: the declared graph.")


class AugmenterEntry(Strict):
    """A recipe or a rival, and what it changes in the spec of a cell."""

    name: RunName = Field(description="What the results call it.")
    recipe: str | None = Field(None, description="One of our recipes: certified, distilled, paper.")
    augmenter: dict[str, Any] | None = Field(None, description="A rival, as under `augmenter` in a spec.")
    goal: str | None = Field(None, description="As in a spec.")
    partition: dict[str, Any] | None = Field(None, description="As in a spec.")
    counterfactual: dict[str, Any] | None = Field(None, description="As in a spec.")
    perturbation: dict[str, Any] | None = Field(None, description="As in a spec.")
    gate: dict[str, Any] | None = Field(None, description="As in a spec; a suite has it off unless this says more.")
    tune: dict[str, Any] | None = Field(None, description="As in a spec.")
    falsify: dict[str, Any] | None = Field(None, description="As in a spec.")
    graphs: tuple[GraphKind, ...] | None = Field(
        None, min_length=1, description="The graphs that it is run with, where these are not all of the suite's."
    )

    def sections(self) -> dict[str, Any]:
        """What it writes into the spec of a cell."""
        written = {name: getattr(self, name) for name in type(self).model_fields if name not in ("name", "graphs")}
        return {name: value for name, value in written.items() if value is not None}


_Tables = Annotated[Annotated[str, Tag(TEXT)] | Annotated[TableEntry, Tag(MAPPING)], Discriminator(_written_as)]
_Augmenter = Annotated[Annotated[str, Tag(TEXT)] | Annotated[AugmenterEntry, Tag(MAPPING)], Discriminator(_written_as)]
_Regressor = Annotated[Annotated[str, Tag(TEXT)] | Annotated[dict[str, Any], Tag(MAPPING)], Discriminator(_written_as)]


class Suite(Strict):
    """Cells to run: the product of the lists."""

    version: Literal[1] = Field(description="The version of the language of suites.")
    name: RunName = Field(description="A short name; it names the folder of the results.")
    description: str = Field("", description="What the suite asks, for the page.")
    tables: tuple[_Tables, ...] = Field(
        min_length=1,
        description="Names of tables and worlds (`nine` stands for the paper's), or {name, spec} or {name, dataset}.",
    )
    sizes: tuple[float, ...] = Field(
        (1.0,), min_length=1, description="Rows, or shares of a table's rows up to 1; of a world, its training rows."
    )
    seeds: int | tuple[int, ...] = Field(5, description="How many seeds, from 1 on, or a list of them.")
    regressors: tuple[_Regressor, ...] = Field(
        ("mlp", "xgboost"), min_length=1, description="Kinds, or sections `regressor` of a spec."
    )
    augmenters: tuple[_Augmenter, ...] = Field(
        min_length=1, description="Names of recipes and rivals, or {name, recipe or augmenter, ...}."
    )
    protocols: tuple[Protocol, ...] = Field(
        ("matched",),
        min_length=1,
        description=(
            "matched: one model against one, nothing of the test rows is seen, all arms share settings, rows and "
            "seeds. published: the published code's way, with its leaks and its mean of ten models; of Algorithm 1 "
            "(recipe: paper) alone."
        ),
    )
    graphs: tuple[GraphKind, ...] = Field(
        ("right",), min_length=1, description="The graphs of worlds: right, none, or wrong in one of four ways."
    )
    knobs: dict[str, tuple[Any, ...]] = Field(
        default_factory=dict,
        description="Keys of a spec, each with values to try while the others stay: counterfactual.factor: [0.5, 1].",
    )
    measure: Measure = Field(
        "loss",
        description="loss: test errors. information: what features tell of the residual, selected and rejected ones.",
    )
    spec: dict[str, Any] = Field(default_factory=dict, description="Sections that the spec of every cell has.")
    paper: PaperTable | None = Field(None, description="The table of the paper that stands beside the results.")
    budget: str | None = Field(None, description="For how long new cells are started: 30m, 2h, 1h30m.")
    quick: dict[str, Any] = Field(
        default_factory=dict, description="The keys that --quick replaces; seeds: 1 and sizes: [120] unless written."
    )

    @property
    def all_seeds(self) -> tuple[int, ...]:
        """Every seed, in order."""
        return tuple(range(1, self.seeds + 1)) if isinstance(self.seeds, int) else self.seeds

    def complaints(self) -> Iterator[Complaint]:
        """What contradicts itself, whatever tables and packages there are."""
        if not self.all_seeds:
            yield Complaint(code="empty-product", path="seeds", what="no seed is left to run", hint="use at least 1")
        for position, size in enumerate(self.sizes):
            if size > 1 and (size != int(size) or size < _SMALLEST):
                what = f"{size:g} is no number of rows from {_SMALLEST} on, and no share of a table's rows"
                yield Complaint(code="bad-size", path=f"sizes.{position}", what=what, hint="write 300, or 0.5 for half")
            elif size <= 0:
                what = f"a size must be above 0, got {size:g}"
                yield Complaint(code="bad-size", path=f"sizes.{position}", what=what, hint="write 300, or 0.5 for half")
        yield from repeated("sizes", [int(size) if size == int(size) else size for size in self.sizes])
        yield from repeated("protocols", self.protocols)
        yield from repeated("graphs", self.graphs)
        yield from repeated("seeds", self.all_seeds)
        for name, values in self.knobs.items():
            if not values:
                what = "there is no value to try"
                yield Complaint(code="empty-product", path=f"knobs.{name}", what=what, hint="list some, or remove it")
        for name in sorted(_TAKEN.intersection(self.spec)):
            what, hint = "the suite's own lists write this section of a cell", "remove it here"
            yield inconsistent(f"spec.{name}", what, hint)
        yield from self._entries()
        if self.budget is not None and seconds_of(self.budget) is None:
            yield bad_budget(self.budget, "budget")

    def _entries(self) -> Iterator[Complaint]:
        """Tables and augmenters that say too much or too little."""
        yield from repeated("augmenters", [one if isinstance(one, str) else one.name for one in self.augmenters])
        for position, table in enumerate(self.tables):
            if isinstance(table, TableEntry) and (table.spec is None) == (table.dataset is None):
                what = "both spec and dataset are given" if table.spec else "neither spec nor dataset is given"
                yield inconsistent(f"tables.{position}", what, "give exactly one of them")
        for position, one in enumerate(self.augmenters):
            if isinstance(one, AugmenterEntry) and (one.recipe is None) == (one.augmenter is None):
                what = "both recipe and augmenter are given" if one.recipe else "neither recipe nor augmenter is given"
                yield inconsistent(f"augmenters.{position}", what, "give exactly one of them")


class Collection(Strict):
    """Several suites that are run as one."""

    version: Literal[1] = Field(description="The version of the language of suites.")
    name: RunName = Field(description="A short name; it names the folder of the results.")
    description: str = Field("", description="What the suites ask, for the page.")
    suites: tuple[FilePath, ...] = Field(min_length=1, description="Files of suites, the most telling one first.")
    budget: str | None = Field(None, description="For how long new cells are started: 30m, 2h, 1h30m.")

    def complaints(self) -> Iterator[Complaint]:
        """The same suite twice, a budget that is none."""
        yield from repeated("suites", self.suites)
        if self.budget is not None and seconds_of(self.budget) is None:
            yield bad_budget(self.budget, "budget")


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadSuite:
    """A sound suite and where its keys were written."""

    suite: Suite
    draft: Draft


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadSuites:
    """What one file asks for: a suite, or several."""

    name: str
    description: str
    budget: str | None
    draft: Draft  # of the file that was asked for
    parts: tuple[ReadSuite, ...]
    complaints: tuple[Complaint, ...] = ()  # of files that hold no suite


def seconds_of(budget: str) -> float | None:
    """`1h30m` in seconds; None if that is no time."""
    match = _BUDGET.match(budget)
    if match is None or not any(match.groups()):
        return None
    hours, minutes, seconds = (int(part or 0) for part in match.groups())
    return float(3600 * hours + 60 * minutes + seconds) or None


def bad_budget(budget: str, path: str) -> Complaint:
    """A budget that is no time."""
    what = f"{show(budget)} is no time"
    return Complaint(code="bad-budget", path=path, what=what, hint="write 90s, 30m, 2h or 1h30m")


def read_suites(file: Path, *, quick: bool = False, environ: Mapping[str, str] | None = None) -> ReadSuites:
    """The suites of a file, with what is wrong in their drafts; SpecError where there is no suite at all."""
    known = os.environ if environ is None else environ
    draft = _draft(file, known)
    if "suites" not in draft.tree.value:
        part = _one(draft, quick=quick)
        suite = part.suite
        return _together(suite, draft, [part], [])
    whole = _validated(draft, Collection)
    if whole is None or draft.complaints:
        raise SpecError(draft.complaints)
    parts: list[ReadSuite] = []
    complaints: list[Complaint] = []
    for path in whole.suites:
        try:
            parts.append(_one(_draft(file.parent / path, known), quick=quick))
        except SpecError as error:
            complaints += error.complaints
    return _together(whole, draft, parts, complaints)


def _together(
    whole: Suite | Collection, draft: Draft, parts: Sequence[ReadSuite], complaints: Sequence[Complaint]
) -> ReadSuites:
    return ReadSuites(
        name=whole.name,
        description=whole.description,
        budget=whole.budget,
        draft=draft,
        parts=tuple(parts),
        complaints=tuple(complaints),
    )


def _draft(file: Path, environ: Mapping[str, str]) -> Draft:
    text, trouble = read_text(file)
    if trouble is not None:
        raise SpecError(trouble)
    tree = read_tree(text, file.name, environ)
    draft = Draft(file=file, tree=tree, complaints=list(tree.complaints))
    if not isinstance(tree.value, dict):
        what, hint = f"a suite is a mapping (key: value lines), got {show(tree.value)}", "start with `version: 1`"
        wrong = Complaint(code="not-a-mapping", what=what, hint=hint, place=tree.place(()))
        raise SpecError(draft.complaints or wrong)
    return draft


def _one(draft: Draft, *, quick: bool) -> ReadSuite:
    if quick:
        _make_quick(draft.tree)
    suite = _validated(draft, Suite)
    if suite is None:
        raise SpecError(draft.complaints)
    return ReadSuite(suite=suite, draft=draft)


_Model = TypeVar("_Model", Suite, Collection)


def _validated(draft: Draft, model: type[_Model]) -> _Model | None:
    """The model, of what is sound in the draft; what is not is among its complaints. None if too little is left."""
    value = draft.tree.value
    try:
        found = model.model_validate_json(json.dumps(value))
    except ValidationError as error:
        known = {complaint.place for complaint in draft.complaints}
        explained = explain(error.errors(include_url=False), model, draft.tree)
        draft.complaints += [complaint for complaint in explained if complaint.place not in known]
        paths: list[SpecPath] = [tuple(one.path.split(".")[:1]) for one in explained]
        try:
            found = model.model_validate_json(json.dumps(without(value, paths)))
        except ValidationError:
            return None
    for complaint in found.complaints():
        draft.complain(complaint)
    return found


def _make_quick(tree: Tree) -> None:
    """Puts what stands under `quick` in the place of the suite's own keys, with its places."""
    written = tree.value.get("quick")
    changes = {**_QUICK, **(written if isinstance(written, dict) else {})}
    for places in (tree.value_places, tree.key_places):
        for path in [path for path in places if path and path[0] in changes]:
            del places[path]
        for path, place in list(places.items()):
            if len(path) > 1 and path[0] == "quick":
                places[path[1:]] = place
    tree.value |= {key: deepcopy(value) for key, value in changes.items()}
