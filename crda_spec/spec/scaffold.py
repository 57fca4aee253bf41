"""From a table to a first spec: what its columns are, and what is left to decide, as commented YAML."""

from __future__ import annotations

import codecs
import csv
import os
import re
import tempfile
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from textwrap import TextWrapper
from typing import Any

import numpy as np

from crda_spec.data.assemble import Assembled, assemble
from crda_spec.data.cells import number_of
from crda_spec.data.contract import ColumnContract
from crda_spec.data.dataset import PREDICTED, Dataset, DuplicatesKeep, Missing
from crda_spec.data.profile import profile
from crda_spec.data.raw import RawTable, counted
from crda_spec.data.sources import Csv, Excel, Frame, Parquet
from crda_spec.data.sources.frame import DESCRIPTION
from crda_spec.errors import Complaint, DataError, GraphError, Place, SpecError, printable, show
from crda_spec.gate.tests import folds_needed
from crda_spec.records import Array, Column, DataReport, Table, movable
from crda_spec.report.words.causal import movable_words, reason_sentence
from crda_spec.scm.formats import parse_edges, read_graph
from crda_spec.spec.check import LEDGER_PREFIX, known_graph, load_spec
from crda_spec.spec.render import scalar_text


def graph_nodes(
    text: str | Sequence[str], language: str, *, file: str, columns: Collection[str]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The nodes that are no columns, and those of them that the text itself does not call latent.

    text: the file's text, or the list of edges when the language is `edges`.
    """
    if isinstance(text, str):
        read = read_graph(text, language, file=file)
        nodes, latents, complaints = tuple(read.nodes), read.latents, read.complaints
    else:
        edges, complaints = parse_edges(text)
        nodes, latents = tuple(dict.fromkeys(name for edge in edges for name in (edge.tail, edge.head))), ()
    if complaints:
        raise GraphError(complaints)
    unknown = tuple(name for name in nodes if name not in columns)
    return unknown, tuple(name for name in unknown if name not in latents)


_MOST_LABELS = 20  # of a category, that are listed in the spec


@dataclass(frozen=True, slots=True, kw_only=True)
class Scaffold:
    """What a first spec says of a table."""

    table: Table
    dataset: Dataset  # the rules under which the table can be used
    left_out: dict[str, str]  # columns that cannot be features, and why; identifiers among them
    said: dict[str, tuple[str, ...]]  # of columns that are used: what their rules do, and what looks odd
    report: DataReport

    @property
    def columns(self) -> tuple[Column, ...]:
        """The features and the target."""
        return (*self.table.features, self.table.target)

    @property
    def units(self) -> int:
        """Rows, or sets of copies, that a fold cannot tear apart."""
        groups = self.table.groups
        return len(self.table) if groups is None else len(np.unique(groups))

    @property
    def training(self) -> int:
        """Those of them that are left to train on."""
        return self.units - max(1, round(_TEST * self.units))

    @property
    def incomplete(self) -> int:
        """Rows that are used although a feature is missing there: what `missing: {kind: drop}` would cost."""
        return int(np.isnan(self.table.x).any(axis=1).sum())

    @property
    def gaps(self) -> list[tuple[str, int]]:
        """Missing cells by column of the data, most first; the parts of a date are missing together."""
        counts = {self.dataset.reading.source(name): count for name, count in self.report.missing.items()}
        return sorted(counts.items(), key=lambda one: -one[1])

    @property
    def filled(self) -> dict[str, int]:
        """Missing cells of the rows that are used, by column of the data."""
        empty = np.isnan(self.table.x).sum(axis=0).tolist()
        counts = {self.dataset.reading.source(name): int(n) for name, n in zip(self.table.names, empty, strict=True)}
        return {name: count for name, count in counts.items() if count}

    @property
    def source_note(self) -> str:
        """How a text file is read that is not written as most are; empty where it is."""
        source = self.dataset.source
        if not isinstance(source, Csv):
            return ""
        ways = [f"cells between {show(source.delimiter)}"] if source.delimiter not in ",\t" else []
        ways += ["decimal commas"] if source.decimal == "," else []
        ways += [f"text as {source.encoding}, for it is not UTF-8"] if source.encoding != "utf-8" else []
        return f"the file is read with {', '.join(ways)}" if ways else ""

    def notes(self) -> Iterator[str]:
        """What becomes of every row and column that is not used as it is written, a sentence each."""
        target, ids = self.table.target.name, self.dataset.ids
        if self.report.dropped_missing:
            yield f"{self.report.dropped_missing} of {self.report.rows_read} rows are left out: no {target}"
        if self.source_note:
            yield self.source_note
        gaps = list(self.filled.values())
        if gaps:
            cells, columns = counted(sum(gaps), "missing cell"), counted(len(gaps), "column")
            cost = counted(self.incomplete, "row")
            yield f"{cells} of {columns} will be filled in the model; to drop instead costs {cost}"
        if self.dataset.duplicates.kind == "keep":
            yield "some rows agree in every column: all stay, copies together in every fold"
        for name, why in self.left_out.items():
            yield f"{name}: {'no feature, but beside every prediction' if name in ids else 'left out'}: {why}"
        for name, sentences in self.said.items():
            yield from (f"{name}: {sentence}" for sentence in sentences)
        for name, contract in self.dataset.columns.items():
            if contract.type == "date":
                yield f"{name}: a date, used as {', '.join(contract.parts)}"


def scaffold(
    data: Path | RawTable, target: str | None, *, folder: Path, without: Mapping[str, str] | None = None
) -> Scaffold:
    """Reads the whole table once. folder: where the spec will lie.  without: columns that are no features, and why."""
    if isinstance(data, RawTable):
        source: Csv | Parquet | Excel | Frame = Frame()
        raw, changed = data, dict[str, str]()
    else:
        source = _source(data)
        raw, changed = source.read(data.parent), {"path": _relative(data, folder)}
    names = [str(name) for name in raw.frame.columns]
    if target is None:
        raise _no_target(raw)
    _check_target(raw, names, target)
    left_out = {name: why for name, why in (without or {}).items() if name in names} | {
        name: "a column of our own ledger" for name in names if name.startswith(LEDGER_PREFIX)
    }
    if len(raw.frame) < _FEWEST_ROWS:
        raise _too_few(raw.description, f"{counted(len(raw.frame), 'row')} cannot tell what its columns hold", _NEEDED)
    profiles = {name: profile(raw, name) for name in names if name not in left_out}
    left_out |= {name: one.left_out for name, one in profiles.items() if one.left_out and name != target}
    features = tuple(name for name in names if name != target and name not in left_out) if left_out else None
    if target in profiles and profiles[target].is_date:
        what = f"the target '{target}' holds dates, but only numbers can be predicted"
        hint = "choose a numeric column, or write the dates as the days since some day"
        raise DataError(raw.complaint("target-not-numeric", "dataset.target", what, hint))
    if (features == () or names == [target]) and target in names:
        raise _no_features(target, left_out)
    columns = {
        name: ColumnContract(**one.rules)
        for name, one in profiles.items()
        if one.rules and name not in left_out and not (name == target and one.is_date)
    }
    # Constructed, not validated: whatever was asked for as the target, the header answers.
    start = Dataset.model_construct(source=source, target=target, features=features, columns=columns)
    assembled, dataset = _usable(raw, start, names, left_out)
    return Scaffold(
        table=assembled.table,
        dataset=dataset.model_copy(update={"source": source.model_copy(update=changed)}),
        left_out={name: left_out[name] for name in names if name in left_out},
        said={name: one.said for name, one in profiles.items() if one.said and name not in left_out},
        report=assembled.report,
    )


_FEWEST_ROWS = 3  # that can show what a column holds
_NEEDED = folds_needed(0.05, "less")
_MOST_TARGETS = 12  # columns that are named to whoever names no target


def _no_target(raw: RawTable) -> SpecError:
    names = [str(name) for name in raw.frame.columns]
    of_numbers = [name for name in names if name in raw.numbers or raw.frame[name].dtype.kind in "iuf"] or names
    shown = ", ".join(of_numbers[:_MOST_TARGETS])
    shown += f" and {len(of_numbers) - _MOST_TARGETS} more" if len(of_numbers) > _MOST_TARGETS else ""
    what, hint = "no column to predict was named", f"choose one that holds numbers: {shown}"
    place = Place(file=raw.description)
    return SpecError(Complaint(code="no-target", path="--target", place=place, what=what, hint=hint))


def _check_target(raw: RawTable, names: Sequence[str], target: str) -> None:
    """What a target that is no column tells of the file, or of what was asked."""
    if target in names:
        return
    parts = [part.strip() for part in target.split(",")]
    what = hint = ""
    if len(parts) > 1 and all(part in names for part in parts):
        what, hint = f"one column is predicted, got {len(parts)}", f"choose one: {' or '.join(parts)}"
    elif len(names) == 1 and target in names[0]:
        what = f"the header is one column, {show(names[0])}"
        hint = "separate the cells of each line by commas, semicolons or tabs"
    elif 3 * sum(number_of(name) is not None for name in names) >= len(names):
        what = f"there is no column {show(target)}, and the first line looks like data: {', '.join(names[:5])}"
        hint = "write the names of the columns above it"
    if what:
        place = Place(file=raw.description)
        raise SpecError(Complaint(code="no-target", path="dataset.target", place=place, what=what, hint=hint))


def _no_features(target: str, left_out: Mapping[str, str]) -> DataError:
    if not left_out:
        what, hint = f"the table has no column but '{target}', so there is nothing to predict it from", "add columns"
        return DataError(Complaint(code="no-features", what=what, hint=hint))
    what = f"no column is left to predict '{target}' from: "
    what += "; ".join(why if name in why else f"{name}: {why}" for name, why in left_out.items())
    return DataError(Complaint(code="no-features", what=what, hint="repair the columns, or add others"))


def _source(data: Path) -> Csv | Parquet | Excel:
    match data.suffix.casefold():
        case ".parquet" | ".pq":
            return Parquet(path=data.name)
        case ".xlsx":
            return Excel(path=data.name)
        case ".csv" | ".tsv" | ".txt":
            return _text_source(data)
    what = f"the ending of '{data.name}' tells no kind of table"
    raise DataError(Complaint(code="unknown-kind", what=what, hint="use .csv, .tsv, .parquet or .xlsx"))


def _text_source(data: Path) -> Csv:
    """How a text file is written, as far as its first lines tell."""
    if not data.is_file():
        return Csv(path=data.name)  # the reader says what is wrong, and what is near
    with data.open("rb") as file:
        head = file.read(1 << 16)
    encoding = "utf-8"
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        encoding = "utf-16"
    try:
        whole = head if encoding == "utf-16" else head[: head.rfind(b"\n") + 1 or None]
        text = whole[: len(whole) // 2 * 2 if encoding == "utf-16" else None].decode(encoding).removeprefix("\ufeff")
    except UnicodeDecodeError:
        encoding, text = "cp1252", head.decode("cp1252", errors="replace")
    first, _, rest = text.partition("\n")
    delimiter = max((",", ";", "\t", "|"), key=lambda mark: (first.count(mark), mark == ","))
    comma = _decimal_commas(rest, delimiter)
    return Csv(path=data.name, delimiter=delimiter, encoding=encoding, decimal="," if comma else ".")


def _decimal_commas(text: str, delimiter: str) -> bool:
    """Whether cells look like 3,14 more often than like 3.14; between commas, 1,234 may be a thousand and more."""
    rows = csv.reader(text.splitlines()[:50], delimiter=delimiter)
    with suppress(csv.Error):
        cells = [cell.strip().lstrip("+-") for row in rows for cell in row]
        parts = ((mark, *cell.partition(mark)[::2]) for cell in cells for mark in ",.")
        marks = [(mark, len(fraction)) for mark, whole, fraction in parts if whole.isdigit() and fraction.isdigit()]
        commas, points = (sum(one == mark for one, _ in marks) for mark in ",.")
        return commas > points and (delimiter != "," or any(mark == "," and size != 3 for mark, size in marks))
    return False


def _usable(
    raw: RawTable, dataset: Dataset, names: Sequence[str], left_out: dict[str, str]
) -> tuple[Assembled, Dataset]:
    """Answers what the data ask for, one rule at a time, until they can be used; what cannot be answered is raised.

    left_out: is told which columns had to go.
    """
    while True:
        try:
            done = assemble(raw, dataset, seed=0)
        except DataError as error:
            changed = _answered(error.complaints, dataset, names, left_out)
            if changed == dataset:
                raise
        else:
            constant = _constant(done, dataset)
            if not constant:
                return done, dataset
            changed = _without(constant, dataset, names, left_out)
        dataset = changed


def _constant(done: Assembled, dataset: Dataset) -> dict[str, str]:
    """Features that have one value in the rows that can be used, and why they tell nothing."""
    parts: dict[str, list[bool]] = {}
    for name, values in zip(done.table.names, done.table.x.T, strict=True):
        parts.setdefault(dataset.reading.source(name), []).append(len(np.unique(values[~np.isnan(values)])) < 2)
    return {name: "it is constant in the rows that can be used" for name, every in parts.items() if all(every)}


def _without(columns: Mapping[str, str], dataset: Dataset, names: Sequence[str], left_out: dict[str, str]) -> Dataset:
    """The dataset without these columns, which are told to `left_out`; DataError when none is left to predict from."""
    left_out.update(columns)
    features = dataset.features or tuple(name for name in names if name != dataset.target)
    stay = tuple(name for name in features if name not in left_out)
    if not stay:
        raise _no_features(dataset.target, left_out)
    contracts = {name: one for name, one in dataset.columns.items() if name not in left_out}
    chosen = dataset.features if not left_out and dataset.features is None else stay
    return dataset.model_copy(update={"features": chosen, "columns": contracts})


def _answered(
    complaints: Sequence[Complaint], dataset: Dataset, names: Sequence[str], left_out: dict[str, str]
) -> Dataset:
    features = dataset.features or tuple(name for name in names if name != dataset.target)
    ids, wrong = list(dataset.ids), dict[str, str]()
    for one in complaints:
        name = one.path.removeprefix("dataset.columns.")
        if one.path.startswith("dataset.columns.") and name in features:
            wrong[name] = one.what
            if one.code == "identifier" and name not in PREDICTED:
                ids.append(name)
    missing, duplicates = dataset.missing, dataset.duplicates
    gaps = [one.what for one in complaints if one.code == "missing"]
    if gaps:
        of_target = any(f"target '{dataset.target}'" in what for what in gaps)
        missing = Missing(kind="impute", target="drop" if of_target else missing.target)
    if any(one.code == "duplicates" for one in complaints):
        duplicates = DuplicatesKeep()
    changed = {"id": tuple(ids) or None, "missing": missing, "duplicates": duplicates}
    return _without(wrong, dataset, names, left_out).model_copy(update=changed)


def _contract(column: Column, values: Array, rules: Mapping[str, Any]) -> tuple[dict[str, Any], str]:
    """The contract of one column as the spec writes it, and what a reader should know of its values.

    rules: of its contract, about how its cells are read.
    """
    known = values[~np.isnan(values)]
    settings: dict[str, Any] = {"type": column.type, **rules}
    if column.type == "category":
        labels = list(column.labels or ())
        if len(labels) <= _MOST_LABELS:
            settings["values"] = labels
        return settings, f"{len(labels)} labels"
    if column.type == "boolean":
        return settings, f"true in {float(known.mean()):.0%} of the rows"
    low, high = float(known.min()), float(known.max())
    note = f"seen: {low:.6g} to {high:.6g}"
    if low >= 0:
        settings["min"] = 0
        note += "; min: 0 because nothing below was seen"
    return settings, note


_FOLDS = 10
_TEST = 0.2
_WIDTH = 113


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphPart:
    """The `causal.graph` of a first spec, as lines, and what stands before it."""

    settings: dict[str, Any]
    latent: tuple[str, ...] = ()  # names that may be misspelt columns
    notes: Mapping[str, str] = field(default_factory=dict)  # of an edge: a comment behind it
    before: tuple[str, ...] = ()  # comments above the graph
    said: tuple[str, ...] = ()  # the certificate's result, a comment each


@dataclass(frozen=True, slots=True, kw_only=True)
class FirstSpec:
    """A spec to begin with, and the table that it is of."""

    text: str
    table: Scaffold
    said: tuple[str, ...] = ()  # what its graph lets move, and why the rest stays


def first_spec(
    data: Path | RawTable,
    target: str | None,
    *,
    graph: Path | GraphPart | None,
    out: Path,
    schema: str,
    without: Mapping[str, str] | None = None,
) -> FirstSpec:
    """A spec that runs as it is. out: where it will lie.  schema: where the JSON Schema lies, for editors.

    without: columns that are to be no features, and why.
    """
    table = scaffold(data, target, folder=out.parent, without=without)
    file = None if isinstance(data, RawTable) else data
    if table.training < (needed := folds_for(table)):
        dropped = f" that have a {table.table.target.name}" if table.report.dropped_missing else ""
        rows = f"{table.units} rows that differ{dropped.replace(' that', ' and', 1)} are too few"
        raise _too_few(DESCRIPTION if file is None else file.name, rows, needed)
    part = _graph_part(graph, out.parent, table) if isinstance(graph, Path) else graph
    stem = table.table.target.name if file is None else file.stem
    name = re.sub(r"[^A-Za-z0-9._-]+", "_", stem).lstrip("._-")[:64] or "run"
    text = spec_text(table, name=name, schema=schema, graph=part)
    certified = _certified(text, out, data if isinstance(data, RawTable) else None)
    if part is not None:
        text = spec_text(table, name=name, schema=schema, graph=replace(part, said=certified))
    return FirstSpec(text=text, table=table, said=certified)


def _too_few(file: str, what: str, needed: int) -> SpecError:
    what += f": the gate needs {needed} to train on, beside those to test"
    return SpecError(Complaint(code="too-few-rows", place=Place(file=file), what=what, hint="gather more rows"))


def _relative(file: Path, folder: Path) -> str:
    """The file's path from the spec's folder, as a spec writes it."""
    return Path(os.path.relpath(file, folder)).as_posix()


_LANGUAGES = {".txt": "edges", ".dag": "dagitty", ".dagitty": "dagitty", ".dot": "dot", ".gv": "dot"}
_LANGUAGES |= {".gml": "gml", ".graphml": "graphml"}


def _graph_part(file: Path, folder: Path, table: Scaffold) -> GraphPart:
    """The graph's section; nodes that are no columns are taken for unmeasured ones."""
    language = _LANGUAGES.get(file.suffix.casefold())
    if language is None:
        what, hint = f"the ending of '{file.name}' tells no language", f"use one of {', '.join(_LANGUAGES)}"
        raise GraphError(Complaint(code="unknown-ending", path="--graph", what=what, hint=hint))
    try:
        text = file.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        what = f"{show(str(file))} cannot be read: {getattr(error, 'strerror', None) or 'it is not UTF-8 text'}"
        complaint = Complaint(code="unreadable-graph", path="--graph", what=what, hint="check the file")
        raise GraphError(complaint) from error
    edges = [line.strip() for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#")]
    columns = {one.name for one in table.columns} | set(table.left_out)
    unknown, unsaid = graph_nodes(edges if language == "edges" else text, language, file=file.name, columns=columns)
    settings: dict[str, Any] = {"kind": language}
    settings |= {"edges": edges} if language == "edges" else {"path": _relative(file, folder)}
    settings |= {"latent": list(unsaid)} if unsaid else {}
    return GraphPart(settings=settings, latent=unknown)


def _certified(text: str, out: Path, frame: RawTable | None) -> tuple[str, ...]:
    """What the declared graph says of each feature; raises whatever is wrong with the spec before it is written."""
    with tempfile.TemporaryDirectory(prefix="crda-init-") as folder:
        draft_file = Path(folder) / out.name
        draft_file.write_text(text, encoding="utf-8")
        spec, draft = load_spec(draft_file, environ={}, base=out.parent, frame=frame)
    if spec.causal.graph is None:
        return ()
    verdicts = known_graph(spec, draft).verdicts
    free = movable(verdicts)
    head = f"The certificate: {movable_words(verdicts)}{': ' if free else ''}{', '.join(free)}."
    fixed: dict[str, list[str]] = {}
    for one in verdicts:
        if not one.perturbable:
            fixed.setdefault(reason_sentence(one.held or one.reason), []).append(one.name)
    return head, *(f"fixed: {', '.join(names)}: {why}" for why, names in fixed.items())


def spec_text(table: Scaffold, *, name: str, schema: str, graph: GraphPart | None) -> str:
    """The whole file. schema: where the JSON Schema lies, for editors."""
    rows = len(table.table)
    lines = (
        f"# yaml-language-server: $schema={schema}",
        f"# $schema: {schema}",
        "# Written by crda-spec init. It runs as it is; what is yours to decide is marked with <-.",
        "version: 1",
        f"name: {name}",
        "seed: 0",
        "recipe: certified  # <- your graph decides what moves. distilled: any feature does. paper: Algorithm 1"
        if graph
        else "recipe: distilled  # <- any feature moves. certified: what your graph allows. paper: Algorithm 1",
        *((f"# {rows} rows are few: the gate will accept only a large gain.",) if rows < 100 else ()),
        *_dataset(table),
        *_causal(graph),
        "regressor: {kind: xgboost}  # <- or mlp, catboost, gaussian_process, ridge, ...: what you would use anyway",
        f"gate: {{kind: wilcoxon, folds: {folds_for(table)}}}  # augmented rows are used only if held-out errors fall",
    )
    return "".join(f"{line}\n" for line in lines)


def _dataset(table: Scaffold) -> Iterator[str]:
    rows, dataset = table.table, table.dataset
    source = {"kind": dataset.source.kind, **dataset.source.model_dump(exclude_defaults=True)}
    yield "dataset:"
    yield f"  source: {_flow(source)}"
    yield f"  target: {scalar_text(rows.target.name)}"
    ids = dataset.ids
    if ids:
        for name in ids:
            yield from _comment(f"no feature, but beside every prediction: {table.left_out[name]}")
        yield f"  id: {_inline(ids[0] if len(ids) == 1 else ids)}"
    others = {name: why for name, why in table.left_out.items() if name not in ids}
    for name, why in others.items():
        yield from _comment(f"left out: {name}: {why}")
    if dataset.features is not None and others:
        yield "  features:"
        yield from (f"    - {scalar_text(name)}" for name in dataset.features)
    yield "  columns:  # <- correct what was inferred; a unit (unit: mg/day) makes reports readable"
    yield from _columns(table)
    yield from _missing(table)
    if dataset.duplicates.kind != "error":
        yield "  # Some rows agree in every column. <- keep binds copies together, drop leaves them out"
        yield f"  duplicates: {{kind: {dataset.duplicates.kind}}}"
    for name, contract in dataset.columns.items():
        if contract.type == "date":
            yield f"  # time: {scalar_text(name)}  # <- if you predict later rows from earlier ones"
    yield "  # groups: patient_id  # <- if rows belong together, name the column that says so"
    yield f"  split: {{kind: fraction, test: {_TEST}}}"


def _columns(table: Scaffold) -> Iterator[str]:
    """The contract of every column that is used, and above it what its rules do."""
    rows, dataset = table.table, table.dataset
    known = dict(zip((one.name for one in table.columns), table.columns, strict=True))
    values = dict(zip(known, (*rows.x.T, rows.y), strict=True))
    source = dataset.reading.source
    for name in dict.fromkeys(map(source, known)):
        for sentence in table.said.get(name, ()):
            yield from _comment(sentence, indent=4)
        written = dataset.columns.get(name, ColumnContract()).model_dump(mode="json")
        rules = {key: value for key, value in written.items() if value is not None}
        if rules.get("type") == "date":
            note = f"a date as numbers: {', '.join(one for one in known if source(one) == name)}"
        else:
            rules, note = _contract(known[name], values[name], {key: rules[key] for key in rules if key != "type"})
        yield f"    {scalar_text(name, key=True)}: {_flow(rules)}  # {printable(note)}"


def _missing(table: Scaffold) -> Iterator[str]:
    """The rule for missing cells, and what each choice costs."""
    rule = table.dataset.missing
    if rule.kind == "error":
        return
    yield from _comment(f"missing cells: {', '.join(f'{name} {count}' for name, count in table.gaps)}")
    if table.incomplete:
        cost = f"{table.incomplete} of the {len(table.table)} rows"
        yield from _comment(f"impute fills features in the model; <- drop instead would leave out {cost}")
    if rule.target is None:
        yield f"  missing: {{kind: {rule.kind}}}"
        return
    dropped = f"{table.report.dropped_missing} of {table.report.rows_read} rows"
    yield from _comment(f"target: drop leaves out {dropped}, which have no {table.table.target.name}")
    yield f"  missing: {{kind: {rule.kind}, target: {rule.target}}}"


def _causal(graph: GraphPart | None) -> Iterator[str]:
    yield "causal:"
    if graph is None:
        yield "  # <- No graph was given, so one is searched for, and the features that look safe are moved."
        yield "  # What you know is worth more: crda-spec init --ask draws a graph from five answers, and"
        yield "  # crda-spec discover writes a draft to correct; then use graph: {kind: dagitty, path: graph.dag}"
        yield "  discovery: {kind: pc}"
        return
    if graph.latent:
        yield from _comment(
            "these nodes of the graph are no columns, so nobody measured them; <- a misspelt column would be here too: "
            + ", ".join(graph.latent)
        )
    for sentence in graph.before:
        yield from _comment(sentence)
    yield "  graph:"
    for key, value in graph.settings.items():
        if isinstance(value, list):
            yield f"    {key}:"
            notes = graph.notes if key == "edges" else {}
            for one in value:
                note = f"  # {printable(notes[one])}" if one in notes else ""
                yield f"      - {scalar_text(one)}{note}"
        else:
            yield f"    {key}: {scalar_text(value)}"
    for sentence in graph.said:
        yield from _comment(sentence)


def folds_for(table: Scaffold) -> int:
    """Ten folds, or as many as the training rows allow; too few to ever accept is for `init` to say."""
    return max(min(_FOLDS, table.training), _NEEDED)


def _comment(text: str, *, indent: int = 2) -> list[str]:
    """A comment of any length on lines of its own; nothing in the text can end it."""
    start = f"{' ' * indent}# "
    wrapper = TextWrapper(_WIDTH, start, f"{start}  ", break_long_words=False, break_on_hyphens=False)
    return wrapper.wrap(printable(text))


def _flow(settings: dict[str, Any]) -> str:
    return "{" + ", ".join(f"{scalar_text(key, key=True)}: {_inline(value)}" for key, value in settings.items()) + "}"


def _inline(value: Any) -> str:  # noqa: ANN401 - any value of a spec
    if isinstance(value, dict):
        return _flow(value)
    if isinstance(value, list | tuple):
        return f"[{', '.join(_inline(one) for one in value)}]"
    return scalar_text(value)
