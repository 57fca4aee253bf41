"""A spec against what it names: the data's header, the graph, the installed packages. Fits nothing, reads no row.

`load_spec` is the one door through which a spec enters: it raises every complaint at once, or returns a spec that
can be built. It stays light (no pandas, no scikit-learn), so that `crda-spec validate` answers at once.
"""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from crda_spec.data import headers
from crda_spec.data.equations.parse import check_hidden, read_equations
from crda_spec.data.files import read_bytes
from crda_spec.data.worlds import DECLARED
from crda_spec.errors import Complaint, CrdaError, GraphError, SpecError, did_you_mean, show
from crda_spec.records import DrawnGraph, FeatureVerdict
from crda_spec.scm.certificate import certify_named, drawn
from crda_spec.scm.formats import from_edges, read_graph, to_edges, write_graph
from crda_spec.scm.graph import CausalGraph
from crda_spec.spaces import SPACES, TAKES_NO_WEIGHTS, Space
from crda_spec.spec.causal import Causal, EdgesGraph
from crda_spec.spec.dataset import ColumnSplit, Dataset, Source, SourceSplit
from crda_spec.spec.load import Draft, read_draft
from crda_spec.spec.partition import Partition
from crda_spec.spec.run import RunSpec

LEDGER_PREFIX = "_crda_"  # of the columns that augmented.parquet adds; audit/tables.py writes them


def load_spec(
    file: Path, *, overrides: Sequence[str] = (), environ: Mapping[str, str] | None = None
) -> tuple[RunSpec, Draft]:
    """The spec, checked against its data's header and its graph; SpecError with all complaints otherwise."""
    draft = read_draft(file, overrides=overrides, environ=os.environ if environ is None else environ)
    parts = draft.parts
    for complaint in _regressor_complaints(draft, parts):
        draft.complain(complaint)
    if "dataset" in parts:
        _check_data(draft, parts["dataset"], parts)
    if draft.complaints or draft.spec is None:
        raise SpecError(draft.complaints)
    return draft.spec, draft


def feature_names(dataset: Dataset, header: Sequence[str]) -> tuple[str, ...]:
    """The declared features, or all columns that have no other role."""
    if dataset.features is not None:
        return dataset.features
    other = {dataset.target, dataset.groups, _split_column(dataset)}
    return tuple(name for name in header if name not in other)


def searched_space(kind: str, draft: Draft) -> Space:
    """What tuning searches: the regressor's space without the settings that the user wrote."""
    written = draft.tree.value.get("regressor", {})
    return {name: prior for name, prior in SPACES[kind].items() if name not in written}


def declared_graph(causal: Causal, dataset: Dataset, header: Sequence[str], folder: Path) -> CausalGraph | None:
    """The expert's graph on these columns, None when there is none; GraphError with all that is wrong with it."""
    graph = causal.graph
    if graph is None:
        return None
    columns, features = tuple(header), feature_names(dataset, header)
    if isinstance(graph, EdgesGraph):
        return from_edges(
            graph.edges,
            columns=columns,
            target=dataset.target,
            features=features,
            latents=graph.latent,
            noise_parents=graph.noise,
        )
    text, file = _graph_text(graph.path, graph.text, folder)
    return read_graph(text, graph.kind, file=file).graph(
        columns=columns, target=dataset.target, features=features, latents=graph.latent, noise_parents=graph.noise
    )


def _graph_text(path: str | None, text: str | None, folder: Path) -> tuple[str, str]:
    """The graph's text and what messages call its file."""
    if path is None:
        return text or "", "causal.graph.text"
    data = read_bytes(folder / path, path, key="causal.graph.path")
    try:
        return data.decode("utf-8-sig"), Path(path).name
    except UnicodeDecodeError as error:
        what = f"{show(path)} is not UTF-8 text: byte {error.start} is 0x{data[error.start]:02x}"
        complaint = Complaint(code="not-utf8", path="causal.graph.path", what=what, hint="save the graph as UTF-8")
        raise GraphError(complaint) from None


@dataclass(frozen=True, slots=True)
class KnownGraph:
    """A declared graph and what it says of each feature."""

    graph: CausalGraph
    verdicts: tuple[FeatureVerdict, ...]
    drawn: DrawnGraph

    def exported(self, form: str) -> tuple[bytes, tuple[str, ...]]:
        """The graph in another language, and what that language cannot say."""
        if form == "edges":
            return "".join(f"{line}\n" for line in to_edges(self.graph)).encode(), ()
        written = write_graph(self.graph, form)
        return written.text.encode(), written.lost


def known_graph(spec: RunSpec, draft: Draft) -> KnownGraph:
    """The spec's graph with its verdicts; SpecError when the spec declares none."""
    folder = draft.file.parent
    header = header_of(spec.dataset.source, folder, target=spec.dataset.target)
    graph = declared_graph(spec.causal, spec.dataset, header, folder)
    if graph is None:
        hint = "declare one under causal.graph; what discovery finds is drawn in a run's graph.svg"
        complaint = Complaint(code="no-graph", path="causal", what="the spec declares no graph", hint=hint)
        raise SpecError(draft.placed(complaint))
    features = feature_names(spec.dataset, header)
    return KnownGraph(graph, certify_named(graph, features), drawn(graph, features))


def header_of(source: Source, folder: Path, *, target: str, path: str = "dataset.source") -> tuple[str, ...]:
    """The columns of a source, without reading its rows."""
    match source.kind:
        case "csv":
            where = folder / source.path
            return headers.csv_header(where, delimiter=source.delimiter, encoding=source.encoding, written=source.path)
        case "parquet":
            return headers.parquet_header(folder / source.path, written=source.path)
        case "excel":
            return headers.excel_header(folder / source.path, sheet=source.sheet, written=source.path)
        case "sql":
            return headers.sql_header(source.url, source.query, folder=folder)
        case "sklearn":
            return headers.sklearn_header(source.name)
        case "benchmark":
            return headers.benchmark_header(source.name)
        case "synthetic":
            if source.world is not None:
                return DECLARED[source.world].columns
            equations = source.equations or {}
            _, complaints = read_equations(equations, path=f"{path}.equations")
            complaints += check_hidden(tuple(equations), source.hidden, target=target, path=path)
            if complaints:
                raise SpecError(complaints)
            return tuple(name for name in equations if name not in source.hidden)


def _check_data(draft: Draft, dataset: Dataset, parts: Mapping[str, Any]) -> None:
    if any(complaint.path == "dataset.source" for complaint in draft.complaints):
        return  # a source that contradicts itself has no header to check against
    header = _header(draft, dataset.source, dataset.target, "dataset.source")
    if header is None:
        return
    for complaint in _name_complaints(dataset, header):
        draft.complain(complaint)
    features = feature_names(dataset, header)
    if dataset.target not in header:
        return  # every further complaint would only repeat this one
    if not features:
        what = "no column is left to predict from"
        draft.complain(Complaint(code="no-features", path="dataset", what=what, hint="the data need a second column"))
    if isinstance(dataset.split, SourceSplit):
        _check_second_source(draft, dataset, features)
    for complaint in _feature_complaints(parts, features):
        draft.complain(complaint)
    if "causal" in parts:
        _check_graph(draft, dataset, parts, header)


def _header(draft: Draft, source: Source, target: str, path: str) -> tuple[str, ...] | None:
    try:
        return header_of(source, draft.file.parent, target=target, path=path)
    except CrdaError as error:
        for complaint in error.complaints:
            draft.complain(complaint.moved("dataset.source", path))
        return None


def _check_second_source(draft: Draft, dataset: Dataset, features: Sequence[str]) -> None:
    assert isinstance(dataset.split, SourceSplit)  # noqa: S101 - the caller looked
    path = "dataset.split.source"
    second = _header(draft, dataset.split.source, dataset.target, path)
    needed = [*features, dataset.target, *([dataset.groups] if dataset.groups else [])]
    absent = [name for name in needed if second is not None and name not in second]
    if absent:
        what = f"the test source has no column {', '.join(show(name) for name in absent[:5])}"
        draft.complain(
            Complaint(code="unknown-column", path=path, what=what, hint="it needs the training source's columns")
        )


def _split_column(dataset: Dataset) -> str | None:
    return dataset.split.column if isinstance(dataset.split, ColumnSplit) else None


def _name_complaints(dataset: Dataset, header: Sequence[str]) -> Iterator[Complaint]:
    named = [("dataset.target", dataset.target)]
    named += [(f"dataset.features.{position}", name) for position, name in enumerate(dataset.features or ())]
    named += [(f"dataset.columns.{name}", name) for name in dataset.columns]
    if dataset.groups is not None:
        named.append(("dataset.groups", dataset.groups))
    column = _split_column(dataset)
    if column is not None:
        named.append(("dataset.split.column", column))
    for path, name in named:
        if name not in header:
            yield _unknown(path, name, header, "the data have no column", "columns")
    ledger = [name for name in (*feature_names(dataset, header), dataset.target) if name.startswith(LEDGER_PREFIX)]
    if ledger:
        what = f"{show(ledger[0])} is a column of our own ledger, so this table was augmented before"
        hint = f"list dataset.features without {LEDGER_PREFIX} columns, or rename them"
        yield Complaint(code="ledger-column", path="dataset.features", what=what, hint=hint)


def _feature_complaints(parts: Mapping[str, Any], features: Sequence[str]) -> Iterator[Complaint]:
    named: list[tuple[str, str]] = []
    if "partition" in parts:
        partition: Partition = parts["partition"]
        named += [(f"partition.perturb.{position}", name) for position, name in enumerate(partition.perturb or ())]
        named += [(f"partition.keep.{position}", name) for position, name in enumerate(partition.keep)]
    if "perturbation" in parts:
        named += [(f"perturbation.features.{name}", name) for name in parts["perturbation"].features]
    for path, name in named:
        if name not in features:
            yield _unknown(path, name, features, "there is no feature", "features")
    yield from _idle_policies(parts)


def _idle_policies(parts: Mapping[str, Any]) -> Iterator[Complaint]:
    """Policies of features that the partition never lets move: a key that would be read and ignored."""
    if "partition" not in parts or "perturbation" not in parts:
        return
    partition: Partition = parts["partition"]
    for name in parts["perturbation"].features:
        where = ""
        if name in partition.keep:
            where = "partition.keep holds it fixed"
        elif partition.perturb is not None and name not in partition.perturb:
            where = "partition.perturb does not name it"
        if where:
            what = f"{show(name)} never moves: {where}"
            path = f"perturbation.features.{name}"
            yield Complaint(code="idle-policy", path=path, what=what, hint="remove the policy, or let the feature move")


def _unknown(path: str, name: str, known: Sequence[str], what: str, otherwise: str) -> Complaint:
    hint = did_you_mean(name, list(known), otherwise=otherwise)
    return Complaint(code="unknown-column", path=path, what=f"{what} {show(name)}", hint=hint)


def _check_graph(draft: Draft, dataset: Dataset, parts: Mapping[str, Any], header: Sequence[str]) -> None:
    written = parts["causal"].graph
    if written is not None and written.kind != "edges" and (written.path is None) == (written.text is None):
        return  # there is no saying which of the two is meant
    try:
        graph = declared_graph(parts["causal"], dataset, header, draft.file.parent)
    except CrdaError as error:
        for complaint in error.complaints:
            draft.complain(complaint)
        return
    wanted = [(f"partition.perturb.{at}", name) for at, name in enumerate(_perturb(parts))]
    if "perturbation" in parts:
        wanted += [(f"perturbation.features.{name}", name) for name in parts["perturbation"].features]
    features = feature_names(dataset, header)
    if graph is None or not wanted or any(name not in header for name in features):
        return
    verdicts = {verdict.name: verdict for verdict in certify_named(graph, features)}
    for path, name in wanted:
        if name in verdicts and not verdicts[name].perturbable:
            what = f"the graph does not let {show(name)} move: {verdicts[name].reason.rstrip('.')}"
            hint = "leave it fixed, or correct the graph if it is wrong"
            draft.complain(Complaint(code="not-certified", path=path, what=what, hint=hint))


def _perturb(parts: Mapping[str, Any]) -> tuple[str, ...]:
    return (parts["partition"].perturb or ()) if "partition" in parts else ()


def _regressor_complaints(draft: Draft, parts: Mapping[str, Any]) -> Iterator[Complaint]:
    regressor, tune = parts.get("regressor"), parts.get("tune")
    counterfactual = parts.get("counterfactual")
    if regressor is None:
        return
    if tune is not None and tune.kind != "none" and regressor.kind not in SPACES:
        what = f"the regressor {show(regressor.kind)} has no search space"
        yield Complaint(code="nothing-to-tune", path="tune.kind", what=what, hint="use tune: {kind: none}")
    elif tune is not None and tune.kind != "none" and not searched_space(regressor.kind, draft):
        what = "every setting that could be searched is written in the spec"
        hint = "remove one from `regressor`, or use tune: {kind: none}"
        yield Complaint(code="nothing-to-tune", path="tune.kind", what=what, hint=hint)
    if counterfactual is not None and counterfactual.weight != 1 and regressor.kind in TAKES_NO_WEIGHTS:
        what = f"the regressor {show(regressor.kind)} takes no row weights, got {counterfactual.weight:g}"
        yield Complaint(code="no-weights", path="counterfactual.weight", what=what, hint="use weight: 1")
    if regressor.kind == "catboost" and importlib.util.find_spec("catboost") is None:
        what, hint = "the package catboost is not installed", 'install it with: pip install "crda-spec[catboost]"'
        yield Complaint(code="missing-extra", path="regressor.kind", what=what, hint=hint)
