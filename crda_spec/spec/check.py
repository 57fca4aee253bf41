"""A spec against what it names: the data's header, the graph, the installed packages. Fits nothing, reads no row.

`load_spec` is the one door through which a spec enters: it raises every complaint at once, or returns a spec that
can be built. It stays light (no pandas, no scikit-learn), so that `crda-spec validate` answers at once.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any

from crda_spec.counterfactual.partition import HeldPartition, Partition
from crda_spec.counterfactual.perturbation import Perturbation
from crda_spec.data.dataset import Dataset
from crda_spec.data.raw import RawTable, read_bytes
from crda_spec.data.sources import Source, header_of
from crda_spec.data.split import SourceSplit
from crda_spec.discovery import Consensus, Discovery, Ges
from crda_spec.discovery.knowledge import PATH
from crda_spec.errors import Complaint, CrdaError, GraphError, SpecError, did_you_mean, show
from crda_spec.records import DrawnGraph, FeatureVerdict, Obstacle, Stated
from crda_spec.report.words.causal import assumption_sentence, reason_sentence
from crda_spec.scm.certificate import certify_named, drawn, undrawn_assumption
from crda_spec.scm.falsify import Falsify
from crda_spec.scm.formats import from_edges, read_graph, to_edges, write_graph
from crda_spec.scm.graph import CausalGraph
from crda_spec.scm.implied import implications
from crda_spec.scm.propagation import followers as known_followers
from crda_spec.scm.propagation import propagable
from crda_spec.spec import check_models
from crda_spec.spec.check_augmenter import augmenter_complaints, undrawn_complaints
from crda_spec.spec.check_goal import goal_complaints
from crda_spec.spec.load import Draft, read_draft
from crda_spec.spec.run import Causal, EdgesGraph, RunSpec

LEDGER_PREFIX = "_crda_"  # of the columns that augmented.parquet adds; audit/tables.py writes them


def load_spec(
    spec: Path | Mapping[str, Any],
    *,
    overrides: Sequence[str] = (),
    environ: Mapping[str, str] | None = None,
    base: Path | None = None,
    frame: RawTable | None = None,
    estimator: Any = None,  # noqa: ANN401 - an object of any library
    fits: bool = True,
) -> tuple[RunSpec, Draft]:
    """The spec, checked against its data's header and its graph; SpecError with all complaints otherwise.

    spec: its file, or its values.  base: where its relative paths start, when that is not the file's own folder (of
    values: the current one).  frame: a data frame's rows, in place of those that the spec names.  estimator: a
    regressor, in place of the spec's.  fits: whether models will be fitted, for which an object must be at hand.
    """
    known = os.environ if environ is None else environ
    draft = read_draft(spec, overrides=overrides, environ=known, frame=frame, estimator=estimator)
    if base is not None:
        draft.file = base / draft.file.name
    for complaint in _complaints(draft, draft.parts):
        if fits or complaint.code != "no-estimator":
            draft.complain(complaint)
    return draft.sound(), draft


def partition_of(spec: RunSpec, graph: CausalGraph | None) -> HeldPartition:
    """The spec's partition; what is made of other columns (parts of dates, marks of gaps) stays unless named.

    A row at another date is another row, so a date moves only where the graph draws it or the spec asks for it.
    """
    choice = spec.partition
    named = {*(choice.perturb or ()), *choice.keep, *spec.perturbation.features, *chain(*spec.perturbation.together)}
    named |= frozenset() if graph is None else graph.named
    derived = tuple(one.name for one in spec.dataset.reading.derived if one.name not in named)
    return HeldPartition(**dict(choice), derived=derived)


def _complaints(draft: Draft, parts: Mapping[str, Any]) -> Iterator[Complaint]:
    yield from check_models.regressor_complaints(parts)
    yield from check_models.teacher_complaints(parts)
    yield from check_models.ensemble_complaints(parts)
    yield from check_models.tuning_complaints(draft)
    yield from goal_complaints(parts)
    yield from augmenter_complaints(parts)
    # A source that contradicts itself has no header to check against.
    if "dataset" in parts and not any(complaint.path == "dataset.source" for complaint in draft.complaints):
        yield from _data_complaints(draft, parts["dataset"], parts)
    if draft.spec is not None:
        yield from check_models.candidate_complaints(draft.spec)


def _data_complaints(draft: Draft, dataset: Dataset, parts: Mapping[str, Any]) -> Iterator[Complaint]:
    """Every name in the spec that should be a column, and the graph on these columns."""
    written, troubles = _header(draft, dataset.source, dataset.target, "dataset.source")
    yield from troubles
    if written is None:
        return
    header = dataset.reading.names(written)
    for path, name in dataset.column_names():
        if name not in header:
            yield _unknown(path, name, header, "the data have no column", "columns")
    features = dataset.feature_names(header)
    ledger = [name for name in (*features, dataset.target) if name.startswith(LEDGER_PREFIX)]
    if ledger:
        what = f"{show(ledger[0])} is a column of our own ledger, so this table was augmented before"
        hint = f"list dataset.features without {LEDGER_PREFIX} columns, or rename them"
        yield Complaint(code="ledger-column", path="dataset.features", what=what, hint=hint)
    if dataset.target not in header:
        return  # every further complaint would only repeat this one
    if not features:
        what = "no column is left to predict from"
        yield Complaint(code="no-features", path="dataset", what=what, hint="the data need a second column")
    if isinstance(dataset.split, SourceSplit):
        yield from _second_source(draft, dataset, dataset.split, features)
    yield from _feature_complaints(parts, features)
    if "causal" in parts:
        yield from _sign_complaints(parts["causal"], features, dataset.target)
        if parts["causal"].discovery is not None:
            yield from _knowledge_complaints(parts["causal"].discovery, (*features, dataset.target))
        yield from _graph_complaints(draft, dataset, parts, header)


def _header(draft: Draft, source: Source, target: str, path: str) -> tuple[tuple[str, ...] | None, list[Complaint]]:
    """The header, or None and why it cannot be read."""
    frame = draft.frame if path == "dataset.source" else None  # test rows come from a source of their own
    try:
        return header_of(source, draft.file.parent, target=target, frame=frame), []
    except CrdaError as error:
        return None, [complaint.moved("dataset.source", path) for complaint in error.complaints]


def _second_source(draft: Draft, dataset: Dataset, split: SourceSplit, features: Sequence[str]) -> Iterator[Complaint]:
    """The source of the test rows must have the columns that the training rows have."""
    path = "dataset.split.source"
    header, troubles = _header(draft, split.source, dataset.target, path)
    yield from troubles
    needed = [*features, dataset.target, *(name for name in (dataset.groups, dataset.weights) if name is not None)]
    needed = list(dict.fromkeys(map(dataset.reading.source, needed)))
    absent = [name for name in needed if header is not None and name not in header]
    if absent:
        what = f"the test source has no column {', '.join(show(name) for name in absent[:5])}"
        yield Complaint(code="unknown-column", path=path, what=what, hint="it needs the training source's columns")


def _unknown(path: str, name: str, known: Sequence[str], what: str, otherwise: str) -> Complaint:
    hint = did_you_mean(name, list(known), otherwise=otherwise)
    return Complaint(code="unknown-column", path=path, what=f"{what} {show(name)}", hint=hint)


def _feature_complaints(parts: Mapping[str, Any], features: Sequence[str]) -> Iterator[Complaint]:
    """Names in other sections that are no features, and policies that would never be used."""
    partition: Partition | None = parts.get("partition")
    perturbation: Perturbation | None = parts.get("perturbation")
    named: list[tuple[str, str]] = []
    if partition is not None:
        named += [(f"partition.perturb.{position}", name) for position, name in enumerate(partition.perturb or ())]
        named += [(f"partition.keep.{position}", name) for position, name in enumerate(partition.keep)]
    if perturbation is not None:
        named += [(f"perturbation.features.{name}", name) for name in perturbation.features]
        named += [(path, name) for path, name, _ in _moving_together(perturbation)]
    for path, name in named:
        if name not in features:
            yield _unknown(path, name, features, "there is no feature", "features")
    if perturbation is not None:
        yield from perturbation.rules.complaints(features)
    if partition is not None and perturbation is not None:
        yield from _idle_policies(partition, perturbation)
        yield from _too_many_per_row(partition, perturbation, features)


def _sign_complaints(causal: Causal, features: Sequence[str], target: str) -> Iterator[Complaint]:
    """Signs on what is no feature."""
    for name in causal.monotone:
        path = f"causal.monotone.{name}"
        if name == target:
            what, hint = f"{show(name)} is the target: a sign says what a feature does to it", "leave the sign out"
            yield Complaint(code="no-sign", path=path, what=what, hint=hint)
        elif name not in features:
            yield _unknown(path, name, features, "there is no feature", "features")


def _signs_against_graph(
    signs: Iterable[str], verdicts: Mapping[str, FeatureVerdict], target: str
) -> Iterator[Complaint]:
    """Signs on features that the graph calls irrelevant."""
    for name in signs:
        if name in verdicts and verdicts[name].status == "irrelevant":
            what = f"{show(name)} is irrelevant to {show(target)} in the graph: it has no sign"
            hint = f"draw {name} -> {target}, or leave the sign out"
            yield Complaint(code="no-sign", path=f"causal.monotone.{name}", what=what, hint=hint)


def _idle_policies(partition: Partition, perturbation: Perturbation) -> Iterator[Complaint]:
    """Policies of features that the partition never lets move: a key that would be read and ignored."""
    for name in perturbation.features:
        if where := _held_by(name, partition):
            what = f"{show(name)} never moves: {where}"
            path = f"perturbation.features.{name}"
            yield Complaint(code="idle-policy", path=path, what=what, hint="remove the policy, or let the feature move")
    for path, name, others in _moving_together(perturbation):
        if where := _held_by(name, partition):
            what = f"{show(name)} never moves ({where}), so neither would {' nor '.join(show(one) for one in others)}"
            yield Complaint(code="idle-policy", path=path, what=what, hint="take it out of the set, or let it move")


def _held_by(name: str, partition: Partition) -> str:
    """What keeps a feature from ever moving; empty when nothing in the spec does."""
    if name in partition.keep:
        return "partition.keep holds it fixed"
    if partition.perturb is not None and name not in partition.perturb:
        return "partition.perturb does not name it"
    return ""


def _moving_together(perturbation: Perturbation) -> Iterator[tuple[str, str, tuple[str, ...]]]:
    """The place, the name and the companions of every feature that moves together with others."""
    for number, names in enumerate(perturbation.together):
        for position, name in enumerate(names):
            yield f"perturbation.together.{number}.{position}", name, tuple(other for other in names if other != name)


def _too_many_per_row(partition: Partition, perturbation: Perturbation, features: Sequence[str]) -> Iterator[Complaint]:
    """More features a row than can ever move; a set that moves together counts as one."""
    wanted = perturbation.features_per_row
    if wanted == "all":
        return
    free = [name for name in features if not _held_by(name, partition)]
    units = {next((names for names in perturbation.together if name in names), (name,)) for name in free}
    most, why = len(units), "partition and perturbation.together leave"
    if partition.max_features is not None and partition.max_features < most:
        most, why = partition.max_features, "partition.max_features allows"
    if wanted > max(most, 1):  # where nothing may move, one a row is not too many: the run abstains and says why
        what = f"{wanted} of the features cannot move in each row: {why} {most}"
        hint = f"use all, or at most {most}" if most else "let more features move"
        yield Complaint(code="too-many-per-row", path="perturbation.features_per_row", what=what, hint=hint)


def _knowledge_complaints(discovery: Discovery, names: Sequence[str]) -> Iterator[Complaint]:
    """Everything that contradicts itself or names no column, for each method of the search."""
    methods = discovery.methods if isinstance(discovery, Consensus) else (discovery,)
    for place, method in enumerate(methods):
        if not isinstance(method, Ges):
            here = PATH if method is discovery else f"causal.discovery.methods.{place}.knowledge"
            yield from (complaint.moved(PATH, here) for complaint in method.knowledge.complaints(names))


def declared_graph(causal: Causal, dataset: Dataset, header: Sequence[str], folder: Path) -> CausalGraph | None:
    """The expert's graph on these columns, None when there is none; GraphError with all that is wrong with it."""
    graph = causal.graph
    if graph is None:
        return None
    # Of a date, the graph draws the parts: they are what a model sees.
    dates = [name for name, contract in dataset.columns.items() if contract.type == "date" and name != dataset.time]
    about: dict[str, Any] = {
        "columns": tuple(name for name in dataset.reading.names(header) if name not in dates),
        "target": dataset.target,
        "features": dataset.feature_names(header),
        "latents": tuple(graph.latent),
        "noise_parents": graph.noise,
        "selected": graph.selected,
        "unrelated": graph.unrelated,
        "additive": tuple(name for name in graph.latent if isinstance(graph.latent, dict) and graph.latent[name]),
    }
    if isinstance(graph, EdgesGraph):
        return from_edges(graph.edges, **about)
    text, file = _graph_text(graph.path, graph.text, folder)
    return read_graph(text, graph.kind, file=file).graph(**about)


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

    def implied(self) -> tuple[tuple[str, ...], int]:
        """The independencies that the training rows will be asked about, `age _||_ dose | bmi`, and how many there are.

        A large graph claims more than a test can look at; those nearest the target are looked at first.
        """
        claims = implications(self.graph, [verdict.name for verdict in self.verdicts])
        return tuple(str(statement) for statement in claims.to_test()), len(claims)

    def exported(self, form: str) -> tuple[bytes, tuple[str, ...]]:
        """The graph in another language, and what that language cannot say."""
        if form == "edges":
            return "".join(f"{edge}\n" for edge in to_edges(self.graph)).encode(), ()
        written = write_graph(self.graph, form)
        return written.text.encode(), written.lost


def known_graph(spec: RunSpec, draft: Draft) -> KnownGraph:
    """The spec's graph with its verdicts; SpecError when the spec declares none."""
    folder = draft.file.parent
    header = header_of(spec.dataset.source, folder, target=spec.dataset.target, frame=draft.frame)
    graph = declared_graph(spec.causal, spec.dataset, header, folder)
    if graph is None:
        hint = f"declare one under causal.graph, or let one be found: crda-spec discover {draft.file.name}"
        complaint = Complaint(code="no-graph", path="causal", what="the spec declares no graph", hint=hint)
        raise SpecError(draft.placed(complaint))
    features = spec.dataset.feature_names(header)
    return KnownGraph(graph, _as_the_spec_asks(graph, features, spec), drawn(graph, features))


def undrawn_notes(spec: RunSpec, draft: Draft) -> tuple[str, ...]:
    """What a reader must know of features that a declared graph does not draw."""
    if spec.causal.graph is None:
        return ()
    known = known_graph(spec, draft)
    return tuple(map(assumption_sentence, undrawn_assumption(known.verdicts, spec.dataset.target)))


def _as_the_spec_asks(graph: CausalGraph, features: Sequence[str], spec: RunSpec) -> tuple[FeatureVerdict, ...]:
    """The graph's verdicts after what the spec holds fixed and lets follow; the ranking waits for data."""
    choice = partition_of(spec, graph)
    keep, perturb = choice.held, choice.perturb
    verdicts = certify_named(graph, features)
    followers: tuple[str, ...] = ()
    stuck: Mapping[str, Obstacle] = {}
    if spec.perturbation.propagate:
        wanted = [one.name for one in verdicts if one.perturbable and one.name in (perturb or features)]
        propagation = propagable(graph, features, [name for name in wanted if name not in keep], keep=keep)
        stuck = propagation.obstacles
        followers = () if perturb is None else known_followers(graph, features, propagation.moved)

    def as_asked(verdict: FeatureVerdict) -> FeatureVerdict:
        name = verdict.name
        if not verdict.perturbable:
            return verdict
        if name in stuck:
            return replace(verdict, status="blocked", reason=stuck[name], lemma=None)
        if name in followers:
            return replace(verdict, held=Stated(code="follows"))
        return replace(verdict, held=choice.leaves(name))

    return tuple(map(as_asked, verdicts))


def _nothing_informs(target: str, verdicts: Mapping[str, FeatureVerdict]) -> Iterator[Complaint]:
    """A graph in which no feature tells anything of the target."""
    if verdicts and all(one.status == "irrelevant" for one in verdicts.values()):
        what = f"the graph ties no feature to {target}: read literally, no model could predict it from these columns"
        hint = f"draw what acts on {target}, or remove causal.graph"
        yield Complaint(code="nothing-informs", path="causal.graph", what=what, hint=hint)


def _graph_complaints(
    draft: Draft, dataset: Dataset, parts: Mapping[str, Any], header: Sequence[str]
) -> Iterator[Complaint]:
    """Everything that is wrong with the graph, and everything the spec asks that the graph does not allow."""
    written = parts["causal"].graph
    if written is not None and written.kind != "edges" and (written.path is None) == (written.text is None):
        return  # there is no saying which of the two is meant
    try:
        graph = declared_graph(parts["causal"], dataset, header, draft.file.parent)
    except CrdaError as error:
        yield from error.complaints
        return
    # A rendered spec writes every section: one that says nothing new asks for nothing.
    if graph is None and "falsify" in draft.tree.value and parts.get("falsify") != Falsify():
        what = "there is no declared graph that the data could refute"
        hint = "declare one under causal.graph, or remove falsify"
        yield Complaint(code="no-graph", path="falsify", what=what, hint=hint)
    propagate = "perturbation" in parts and parts["perturbation"].propagate
    if graph is None and propagate:
        what = "there is no graph to say what follows a moved feature"
        hint = "declare one under causal.graph, or remove propagate"
        yield Complaint(code="no-graph", path="perturbation.propagate", what=what, hint=hint)
    perturb = (parts["partition"].perturb or ()) if "partition" in parts else ()
    wanted = [(f"partition.perturb.{at}", name) for at, name in enumerate(perturb)]
    if "perturbation" in parts:
        wanted += [(f"perturbation.features.{name}", name) for name in parts["perturbation"].features]
    features, signs = dataset.feature_names(header), parts["causal"].monotone
    if graph is None or any(name not in header for name in features):
        return
    yield from undrawn_complaints(parts.get("augmenter"), graph, features)
    verdicts = {verdict.name: verdict for verdict in certify_named(graph, features)}
    yield from _nothing_informs(dataset.target, verdicts)
    yield from _signs_against_graph(signs, verdicts, dataset.target)
    carries_noise = "counterfactual" not in parts or parts["counterfactual"].retention > 0
    bound = carries_noise or "partition" not in parts or parts["partition"].basis == "certificate"
    for path, name in wanted:
        # On the data's support any feature may move; its effects are another matter.
        if (bound or propagate) and name in verdicts and not verdicts[name].perturbable:
            what = f"the graph does not let {show(name)} move: {reason_sentence(verdicts[name].reason)}"
            hint = "leave it fixed, or correct the graph if it is wrong"
            if not propagate:
                hint = (
                    "leave it fixed, let any feature move on the data's support (recipe: distilled), or mend the graph"
                )
            yield Complaint(code="not-certified", path=path, what=what, hint=hint)
    if propagate:
        free = [name for name in perturb if name in verdicts and verdicts[name].perturbable]
        keep = parts["partition"].keep if "partition" in parts else ()
        for name, obstacle in propagable(graph, features, free, keep=keep).obstacles.items():
            what = f"{show(name)} cannot move with its effects: {reason_sentence(obstacle)}"
            hint = "leave it fixed, or set perturbation.propagate to false to hold its effects fixed"
            path = f"partition.perturb.{perturb.index(name)}"
            yield Complaint(code="cannot-propagate", path=path, what=what, hint=hint)
