"""From a table to a first spec: what its columns are, and what is left to decide, as commented YAML."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from textwrap import TextWrapper
from typing import Any

import numpy as np

from crda_spec.data.assemble import Assembled, assemble
from crda_spec.data.dataset import PREDICTED, Dataset, DuplicatesKeep, Missing
from crda_spec.data.raw import RawTable
from crda_spec.data.sources import Csv, Excel, Parquet
from crda_spec.errors import Complaint, DataError, GraphError, printable
from crda_spec.gate.tests import folds_needed
from crda_spec.records import Array, Column, Table
from crda_spec.scm.formats import parse_edges, read_graph
from crda_spec.spec.check import LEDGER_PREFIX
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
    missing_cells: int

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


def scaffold(data: Path, target: str, *, written: str) -> Scaffold:
    """Reads the whole table once. written: the file's path as the spec will write it."""
    source = _source(data)
    raw = source.read(data.parent)
    names = [str(name) for name in raw.frame.columns]
    ours = {name: "a column of our own ledger" for name in names if name.startswith(LEDGER_PREFIX)}
    features = tuple(name for name in names if name != target and name not in ours) if ours else None
    # Constructed, not validated: whatever was asked for as the target, the header answers.
    start = Dataset.model_construct(source=source, target=target, features=features)
    assembled, dataset, left_out = _usable(raw, start, names)
    return Scaffold(
        table=assembled.table,
        dataset=dataset.model_copy(update={"source": source.model_copy(update={"path": written})}),
        left_out={**ours, **left_out},
        missing_cells=assembled.report.missing_cells,
    )


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
    try:
        text = head[: head.rfind(b"\n") + 1 or None].decode("utf-8-sig")
    except UnicodeDecodeError:
        encoding, text = "cp1252", head.decode("cp1252", errors="replace")
    first, _, rest = text.partition("\n")
    delimiter = max((",", ";", "\t", "|"), key=lambda mark: (first.count(mark), mark == ","))
    comma = delimiter != "," and _decimal_commas(rest, delimiter)
    return Csv(path=data.name, delimiter=delimiter, encoding=encoding, decimal="," if comma else ".")


def _decimal_commas(text: str, delimiter: str) -> bool:
    """Whether cells look like 3,14 more often than like 3.14."""
    cells = [cell.strip().lstrip("+-") for row in text.splitlines()[:50] for cell in row.split(delimiter)]
    parts = ((mark, *cell.partition(mark)[::2]) for cell in cells for mark in ",.")
    marks = [mark for mark, whole, fraction in parts if whole.isdigit() and fraction.isdigit()]
    return marks.count(",") > marks.count(".")


def _usable(raw: RawTable, dataset: Dataset, names: Sequence[str]) -> tuple[Assembled, Dataset, dict[str, str]]:
    """Answers what the data ask for, one rule at a time, until they can be used; what cannot be answered is raised."""
    left_out: dict[str, str] = {}
    while True:
        try:
            return assemble(raw, dataset, seed=0), dataset, left_out
        except DataError as error:
            changed = _answered(error.complaints, dataset, names, left_out)
            if changed == dataset:
                raise
            dataset = changed


def _answered(
    complaints: Sequence[Complaint], dataset: Dataset, names: Sequence[str], left_out: dict[str, str]
) -> Dataset:
    features = dataset.features or tuple(name for name in names if name != dataset.target)
    ids = list(dataset.ids)
    for one in complaints:
        name = one.path.removeprefix("dataset.columns.")
        if one.path.startswith("dataset.columns.") and name in features:
            left_out[name] = one.what
            if one.code == "identifier" and name not in PREDICTED:
                ids.append(name)
    missing, duplicates = dataset.missing, dataset.duplicates
    if any(one.code == "missing" for one in complaints):
        missing = Missing(kind="impute", target="drop")
    if any(one.code == "duplicates" for one in complaints):
        duplicates = DuplicatesKeep()
    stay = tuple(name for name in features if name not in left_out)
    if not stay:
        what = f"no column is left to predict '{dataset.target}' from: " + "; ".join(left_out.values())
        raise DataError(Complaint(code="no-features", what=what, hint="repair the columns, or add others"))
    chosen = dataset.features if not left_out and dataset.features is None else stay
    changed = {"features": chosen, "id": tuple(ids) or None, "missing": missing, "duplicates": duplicates}
    return dataset.model_copy(update=changed)


def _contract(column: Column, values: Array) -> tuple[dict[str, Any], str]:
    """The contract of one column as the spec writes it, and what a reader should know of its values."""
    known = values[~np.isnan(values)]
    settings: dict[str, Any] = {"type": column.type}
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
    latent: tuple[str, ...] = ()
    said: tuple[str, ...] = ()  # the certificate's result, a comment each


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
    if others:
        for name, why in others.items():
            yield from _comment(f"left out: {name}: {why}")
        yield "  features:"
        yield from (f"    - {scalar_text(name)}" for name in rows.names)
    yield "  columns:  # <- correct what was inferred; a unit (unit: mg/day) makes reports readable"
    for column, values in zip(table.columns, (*rows.x.T, rows.y), strict=True):
        settings, note = _contract(column, values)
        yield f"    {scalar_text(column.name, key=True)}: {_flow(settings)}  # {printable(note)}"
    if dataset.missing.kind != "error":
        yield f"  # Missing cells: {table.missing_cells}. <- drop leaves their rows out, impute fills them in the model"
        yield f"  missing: {{kind: {dataset.missing.kind}}}"
    if dataset.duplicates.kind != "error":
        yield "  # Some rows agree in every column. <- keep binds copies together, drop leaves them out"
        yield f"  duplicates: {{kind: {dataset.duplicates.kind}}}"
    yield "  # groups: patient_id  # <- if rows belong together, name the column that says so"
    yield f"  split: {{kind: fraction, test: {_TEST}}}"


def _causal(graph: GraphPart | None) -> Iterator[str]:
    yield "causal:"
    if graph is None:
        yield "  # <- No graph was given, so one is searched for, and the features that look safe are moved."
        yield "  # What you know is worth more: crda-spec discover writes a draft to correct, then use"
        yield "  # graph: {kind: dagitty, path: graph.dag}"
        yield "  discovery: {kind: pc}"
        return
    if graph.latent:
        yield from _comment(
            "these nodes of the graph are no columns, so nobody measured them; <- a misspelt column would be here too: "
            + ", ".join(graph.latent)
        )
    yield "  graph:"
    for key, value in graph.settings.items():
        if isinstance(value, list):
            yield f"    {key}:"
            yield from (f"      - {scalar_text(one)}" for one in value)
        else:
            yield f"    {key}: {scalar_text(value)}"
    for sentence in graph.said:
        yield from _comment(sentence)


def folds_for(table: Scaffold) -> int:
    """Ten folds, or as many as the training rows allow; too few to ever accept is for `init` to say."""
    return max(min(_FOLDS, table.training), folds_needed(0.05, "less"))


_COMMENT = TextWrapper(_WIDTH, "  # ", "  #   ", break_long_words=False, break_on_hyphens=False)


def _comment(text: str) -> list[str]:
    """A comment of any length on lines of its own; nothing in the text can end it."""
    return _COMMENT.wrap(printable(text))


def _flow(settings: dict[str, Any]) -> str:
    return "{" + ", ".join(f"{key}: {_inline(value)}" for key, value in settings.items()) + "}"


def _inline(value: Any) -> str:  # noqa: ANN401 - any value of a spec
    if isinstance(value, list | tuple):
        return f"[{', '.join(_inline(one) for one in value)}]"
    return scalar_text(value)
