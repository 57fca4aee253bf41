"""Five questions about a table, and the causal graph that the answers draw.

A front end asks for `Interview.questions`, hands what was typed to `Interview.typed`, and writes the spec with
`Interview.first_spec`. Nothing here prints or waits for anybody. A question that is skipped claims nothing.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, product
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field

from crda_spec import api
from crda_spec.errors import Complaint, CrdaError, SpecError, did_you_mean, repeated, show
from crda_spec.scm.certificate import certify_named
from crda_spec.scm.formats import from_edges
from crda_spec.scm.formats.edges import written
from crda_spec.scm.graph import CausalGraph, free_name
from crda_spec.strict import ColumnName, Strict

if TYPE_CHECKING:
    from crda_spec.spec.document import Document
    from crda_spec.spec.scaffold import FirstSpec, Scaffold

ALL, CHANCE, UNKNOWN = "all", "chance", "unknown"  # words of the answers that are no names, unless a column has them
TIES_NOTHING = "ties-nothing"  # the complaint of answers that say nothing of the target
Key = Literal["causes", "after", "hidden", "decided_by", "chosen_by"]
_EXAMPLES = {"->": "severity -> dose, pain", "<-": "dose <- age, severity"}
_EDGE = re.compile(r",? (first )?at \.edges\.\d+")
_WIDE = 90  # letters of an entry of the graph, about


class Answers(Strict):
    """What an expert says of a table. A key that is left out was skipped."""

    causes: tuple[ColumnName, ...] = Field((), description="Columns that act on the target directly, or [all].")
    after: tuple[ColumnName, ...] = Field(
        (), description="Columns that got their value after the target, or that the target acts on."
    )
    hidden: dict[ColumnName, tuple[ColumnName, ...]] = Field(
        default_factory=dict,
        description=(
            "What nobody measured and what drives the target and columns: {severity: [dose]}; unknown: a suspected "
            "cause without a name."
        ),
    )
    decided_by: dict[ColumnName, tuple[ColumnName, ...]] = Field(
        default_factory=dict, description="Of a column: the columns and hidden causes that decided it, or [chance]."
    )
    chosen_by: tuple[ColumnName, ...] = Field((), description="What decided which rows are in the table.")

    @property
    def is_empty(self) -> bool:
        """Whether every question was skipped."""
        return self == Answers()


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """One of the five. A mapping takes a line for each name, `name <- others` or `name -> others`."""

    key: Key
    text: str
    help: str
    arrow: Literal["", "<-", "->"] = ""  # of a mapping: what stands behind the name


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawing:
    """The graph that the answers draw."""

    graph: CausalGraph
    settings: dict[str, Any]  # as `causal.graph` of a spec
    notes: dict[str, str]  # of an edge: which answer it is
    comments: tuple[str, ...]
    without: dict[str, str]  # columns that are no features, and why


@dataclass(slots=True)
class _Sheet:
    """Edges as they are drawn, each with the answer that it is."""

    edges: list[str] = field(default_factory=list)
    notes: dict[str, str] = field(default_factory=dict)
    paths: list[str] = field(default_factory=list)
    pairs: set[tuple[str, str]] = field(default_factory=set)

    def arrows(self, tails: Iterable[str], heads: Sequence[str], note: str, path: str) -> None:
        """From each tail to each head, but for those that are drawn already."""
        fresh: dict[tuple[str, ...], list[str]] = {}
        for tail in tails:
            fresh.setdefault(tuple(head for head in heads if (tail, head) not in self.pairs), []).append(tail)
        for ends, starts in fresh.items():
            for some, others in product(_parts(starts), _parts(ends)):
                self.entry(f"{_group(some)} -> {_group(others)}", note, path)
            self.pairs |= set(product(starts, ends))

    def entry(self, text: str, note: str, path: str) -> None:
        """One entry as it is."""
        self.edges.append(text)
        self.notes[text] = note
        self.paths.append(path)


@dataclass(frozen=True, slots=True, kw_only=True)
class Interview:
    """The questions about one table, and what their answers draw."""

    data: Any  # a path or a frame
    table: Scaffold

    @classmethod
    def about(cls, data: Any, *, target: str | None, out: Path | None = None) -> Interview:  # noqa: ANN401
        """Reads the table. data: its path, or a frame.  out: where the spec is to be written, if anywhere."""
        return cls(data=data, table=api.first_table(data, target=target, out=out))

    @property
    def target(self) -> str:
        """The column to predict."""
        return self.table.table.target.name

    @property
    def features(self) -> tuple[str, ...]:
        """The columns to ask about; a date is one, whatever is made of it."""
        return tuple(dict.fromkeys(map(self.table.dataset.reading.source, self.table.table.names)))

    @property
    def columns(self) -> tuple[str, ...]:
        """All that an answer may name: features, the parts of dates, and columns that are no features."""
        return tuple(dict.fromkeys((*self.features, *self.table.table.names, *self.table.left_out)))

    def questions(self) -> tuple[Question, ...]:
        """In the order in which one asks them: a hidden cause has a name before it decides a column."""
        y = self.target
        return (
            Question(
                key="causes",
                text=f"If one column alone had been different, which ones would have changed {y}?",
                help=f"Columns, separated by commas, or {ALL}. Leave out what acts only through another column.",
            ),
            Question(
                key="after",
                text=f"Which columns got their value after {y}, or because of it?",
                help="They know the answer, so the model does not see them.",
            ),
            Question(
                key="hidden",
                text=f"What did nobody measure that drives {y}, and a column too?",
                help=f"One a line, as in: severity -> dose, pain. If you only suspect something: {UNKNOWN} -> dose.",
                arrow="->",
            ),
            Question(
                key="decided_by",
                text="What decided the value of a column: other columns, something hidden, chance?",
                help=f"One a line, as in: dose <- age, severity. By lot, or by nothing in sight: distance <- {CHANCE}.",
                arrow="<-",
            ),
            Question(
                key="chosen_by",
                text="Are rows missing from the table because of some value? Of which columns?",
                help=f"Columns, something hidden, or {y} itself: only people in pain came, only the best are listed.",
            ),
        )

    def typed(self, key: Key, lines: Sequence[str]) -> dict[str, Any]:
        """What was typed in answer to a question, as a value of `Answers`. SpecError for what cannot be read."""
        question = next(one for one in self.questions() if one.key == key)
        if not question.arrow:
            return {key: tuple(chain.from_iterable(map(self._listed, lines)))}
        answer: dict[str, tuple[str, ...]] = {}
        for line in filter(str.strip, lines):
            name, arrow, rest = line.partition(question.arrow)
            if not arrow or not name.strip() or not rest.strip():
                what = f"{show(line.strip())} has no {question.arrow} between two names"
                raise SpecError(
                    Complaint(code="no-arrow", path=key, what=what, hint=f"write {_EXAMPLES[question.arrow]}")
                )
            known = self._listed(name)
            for one in known:
                answer[one] = (*answer.get(one, ()), *self._listed(rest))
        return {key: answer}

    def _listed(self, text: str) -> tuple[str, ...]:
        """Names between commas; one that holds a comma stands in double quotes, or alone."""
        if text.strip() in (*self.columns, self.target):
            return (text.strip(),)
        parts = next(csv.reader([text.strip()], skipinitialspace=True), [])
        return tuple(name for name in map(str.strip, parts) if name)

    def complaints(self, answers: Answers) -> tuple[Complaint, ...]:
        """All that is wrong with the answers; of each, the path starts with its question's key."""
        try:
            self.draw(answers)
        except CrdaError as error:
            return error.complaints
        return ()

    def draw(self, answers: Answers) -> Drawing | None:
        """The graph; None where every question was skipped. SpecError with all that is wrong with the answers."""
        if answers.is_empty:
            return None
        complaints = [*self._lists(answers), *self._unknown(answers), *self._contradictions(answers)]
        if complaints:
            raise SpecError(complaints)
        sheet, chosen = self._sheet(answers)
        without = dict.fromkeys(answers.after, f"it came after {self.target}, and knows the answer")
        gone = {one for name in without for one in self._made_of(name)}
        features = tuple(name for name in self.table.table.names if name not in gone)
        named = {name for pair in sheet.pairs for name in pair}
        by_chance = self._by_chance(answers)
        parts = [one for name in by_chance for one in self._made_of(name)]
        about: dict[str, Any] = {"latents": tuple(name for name in answers.hidden if name != UNKNOWN)}
        about["selected"] = (chosen,) if chosen else ()
        about["unrelated"] = tuple(one for one in parts if one in features and one not in named)
        graph = self._graph(sheet, about, features)
        settings = {"kind": "edges", "edges": sheet.edges}
        keys = {"latents": "latent", "selected": "selected", "unrelated": "unrelated"}
        settings |= {keys[key]: list(names) for key, names in about.items() if names}
        silent = [name for name in features if name not in named and name not in about["unrelated"]]
        untouched = [name for name in by_chance if not named.isdisjoint(self._made_of(name))]
        return Drawing(
            graph=graph,
            settings=settings,
            notes=sheet.notes,
            comments=tuple(_comments(silent, untouched)),
            without=without,
        )

    def first_spec(self, answers: Answers, *, out: Path | None = None) -> FirstSpec:
        """The spec that the answers make; written to a new file where `out` is given."""
        drawing = self.draw(answers)
        if drawing is None:
            return api.first_spec(self.data, target=self.target, out=out)
        return api.first_spec(
            self.data,
            target=self.target,
            graph=drawing.settings,
            comments=drawing.comments,
            notes=drawing.notes,
            without=drawing.without,
            out=out,
        )

    def _made_of(self, name: str) -> tuple[str, ...]:
        """What the model sees of a column: itself, or the parts of a date."""
        source = self.table.dataset.reading.source
        return tuple(one for one in self.table.table.names if name in (one, source(one))) or (name,)

    def _causes(self, answers: Answers) -> tuple[str, ...]:
        """The direct causes that were named; `all` leaves out what came later."""
        if answers.causes != (ALL,) or ALL in self.columns:
            return answers.causes
        return tuple(name for name in self.features if name not in answers.after)

    def _is_chance(self, answers: Answers, name: str) -> bool:
        return answers.decided_by.get(name) == (CHANCE,) and CHANCE not in self.columns

    def _sheet(self, answers: Answers) -> tuple[_Sheet, str]:
        """The edges, and the node by which rows were chosen, if there is one."""
        sheet, y = _Sheet(), self.target
        after = set(answers.after)
        kept = {name: (name,) if name in after else self._made_of(name) for name in (*self.columns, y)}

        def nodes(names: Iterable[str]) -> list[str]:
            return list(dict.fromkeys(one for name in names for one in kept.get(name, (name,))))

        sheet.arrows(nodes(self._causes(answers)), [y], f"act on {y} directly", "causes")
        for name, driven in answers.hidden.items():
            if name == UNKNOWN:
                for one in nodes(driven):
                    text = f"{written(one)} <-> {written(y)}"
                    sheet.entry(text, "a common cause that nobody measured is suspected", f"hidden.{name}")
                    sheet.pairs |= {(one, one), (y, y)}
            else:
                sheet.arrows([name], [*nodes(driven), y], f"nobody measured {name}", f"hidden.{name}")
        for name, deciders in answers.decided_by.items():
            if not self._is_chance(answers, name):
                sheet.arrows(nodes(deciders), nodes([name]), f"what decided {name}", f"decided_by.{name}")
        for position, name in enumerate(answers.after):
            sheet.arrows([y], [name], f"came after {y}", f"after.{position}")
        chosen = ""
        if answers.chosen_by:
            chosen = free_name("in_the_table", {*self.columns, y, *answers.hidden})
            sheet.arrows(nodes(answers.chosen_by), [chosen], "rows were chosen by these", "chosen_by")
        return sheet, chosen

    def _graph(self, sheet: _Sheet, about: Mapping[str, Any], features: Sequence[str]) -> CausalGraph:
        """The checked graph; complaints name the answer that they are about."""
        y = self.target
        named = {name for pair in sheet.pairs for name in pair}
        if y not in named:
            what = f"no answer ties {y} to anything, so the graph would say nothing of it"
            raise SpecError(_wrong("causes", what, f"name what acts on {y}, or skip every question", TIES_NOTHING))
        columns = tuple(dict.fromkeys((*self.table.table.names, *self.columns, y)))
        try:
            graph = from_edges(sheet.edges, columns=columns, target=y, features=features, path="", **about)
        except CrdaError as error:
            raise SpecError(_at_answer(one, sheet.paths) for one in error.complaints) from error
        if features and all(one.status == "irrelevant" for one in certify_named(graph, features)):
            what = f"by these answers no column tells anything of {y}"
            raise SpecError(_wrong("causes", what, f"name what acts on {y}, or skip every question", TIES_NOTHING))
        return graph

    def _by_chance(self, answers: Answers) -> list[str]:
        return [name for name in answers.decided_by if self._is_chance(answers, name)]

    def _lists(self, answers: Answers) -> Iterator[Complaint]:
        """Names that are listed twice."""
        for key in ("causes", "after", "chosen_by"):
            yield from repeated(key, getattr(answers, key))
        for key in ("hidden", "decided_by"):
            for name, names in getattr(answers, key).items():
                yield from repeated(f"{key}.{name}", names)

    def _unknown(self, answers: Answers) -> Iterator[Complaint]:
        """Names of no column, at their places, and columns where none can stand."""
        y, hidden = self.target, [name for name in answers.hidden if name != UNKNOWN]
        for name in answers.hidden:
            if name in (*self.columns, y):
                what, hint = f"{show(name)} is a column, so it was measured", "name what stands in no column"
                yield _wrong(f"hidden.{name}", what, hint)
        for name in answers.decided_by:
            if name == y:
                yield _wrong(f"decided_by.{name}", f"{show(y)} is the target", "what acts on it goes under causes")
            elif name not in self.columns:
                yield self._no_column(f"decided_by.{name}", name)
        causes = () if answers.causes == (ALL,) else answers.causes
        places = [(f"causes.{at}", name, "") for at, name in enumerate(causes)]
        places += [(f"after.{at}", name, "") for at, name in enumerate(answers.after)]
        for key, names in answers.hidden.items():
            places += [(f"hidden.{key}.{at}", name, "") for at, name in enumerate(names)]
        for key, names in answers.decided_by.items():
            if not self._is_chance(answers, key):
                places += [(f"decided_by.{key}.{at}", name, key) for at, name in enumerate(names)]
        places += [(f"chosen_by.{at}", name, y) for at, name in enumerate(answers.chosen_by) if name != y]
        for path, name, about in places:
            if name not in self.columns and not (about and name in hidden):
                yield self._misplaced(path, name, about, hidden)

    def _misplaced(self, path: str, name: str, about: str, hidden: Sequence[str]) -> Complaint:
        """What is wrong with a name that cannot stand where it does.

        about: what the names decide, where something hidden may be among them.
        """
        y = self.target
        if name == y and path.startswith("decided_by"):
            what = f"{show(about)} was decided by the target, so it came after it"
            return _wrong(path, what, f"name {about} under after")
        if name == y:
            return _wrong(path, f"{show(y)} is the target", "leave it out: the question is about the other columns")
        if path.startswith("decided_by") and name == CHANCE:
            return _wrong(path, f"{CHANCE} stands beside others", f"write what decided {about}, or [{CHANCE}] alone")
        if path.startswith("causes") and name == ALL:
            return _wrong(path, f"{ALL} stands beside others", f"write [{ALL}] alone, or the columns")
        complaint = self._no_column(path, name, hidden if about else ())
        if not about:
            return complaint
        joint = "" if complaint.hint.endswith("?") else ";"
        return replace(
            complaint, hint=f"{complaint.hint}{joint} what nobody measured goes under hidden, question 3, first"
        )

    def _no_column(self, path: str, name: str, hidden: Sequence[str] = ()) -> Complaint:
        """A name that nothing has. hidden: what nobody measured, where that may be named too."""
        hint = did_you_mean(name, list(dict.fromkeys((*self.features, *hidden, *self.columns))), otherwise="columns")
        return _wrong(path, f"there is no column {show(name)}", hint)

    def _contradictions(self, answers: Answers) -> Iterator[Complaint]:
        """Answers that cannot both be true."""
        y, causes = self.target, answers.causes
        for at, name in enumerate(answers.after):
            if name in causes:
                what = f"{show(name)} cannot act on {y} and come after it"
                yield _wrong(f"after.{at}", what, "leave it out of causes or of after")
        for name, deciders in answers.decided_by.items():
            if name in deciders:
                what = f"{show(name)} cannot decide itself"
                yield _wrong(f"decided_by.{name}", what, "name what came before it, or leave it out")
            drivers = [key for key, names in answers.hidden.items() if name in names]
            if self._is_chance(answers, name) and (drivers or name in answers.after):
                by = drivers[0] if drivers else y
                what = f"{show(name)} was decided by chance, but {by} is said to drive it"
                yield _wrong(f"decided_by.{name}", what, "leave out one of the two answers")


def read_answers(file: Path) -> Document[Answers]:
    """Answers from a YAML file; SpecError with all that is wrong with it, each problem at its place."""
    return api.read_document(file, Answers, holds="answers")


def _comments(silent: Sequence[str], by_chance: Sequence[str]) -> Iterator[str]:
    yield "Your answers as arrows. <- correct them here; a missing arrow is the stronger claim"
    if by_chance:
        yield f"decided by chance, so that no arrow leads to them: {', '.join(by_chance)}"
    if silent:
        yield f"no answer names these, so the graph claims nothing of them: {', '.join(silent)}"


def _wrong(path: str, what: str, hint: str, code: str = "wrong-answer") -> Complaint:
    return Complaint(code=code, path=path, what=what, hint=hint)


def _at_answer(complaint: Complaint, paths: Sequence[str]) -> Complaint:
    """A complaint about the graph, at the answer whose edge it is about."""
    head, _, rest = complaint.path.lstrip(".").partition(".")
    position = rest.split(".")[0]
    known = head == "edges" and position.isdigit() and int(position) < len(paths)
    what = _EDGE.sub("", complaint.what)  # our own numbering of the edges
    turned = complaint.code in ("cycle", "contradictory-edges")
    hint = "leave out one of these answers, or turn it round" if turned else complaint.hint
    return replace(complaint, path=paths[int(position)] if known else "", what=what, hint=hint)


def _group(names: Sequence[str]) -> str:
    """Names on one side of an arrow."""
    return written(names[0]) if len(names) == 1 else f"{{{', '.join(map(written, names))}}}"


def _parts(names: Sequence[str]) -> Iterator[list[str]]:
    """The names in parts that fit into a line each."""
    part: list[str] = []
    for name in names:
        if part and len(_group([*part, name])) > _WIDE:
            yield part
            part = []
        part.append(name)
    if part:
        yield part
