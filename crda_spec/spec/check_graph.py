"""The declared graph on the columns, what is known before a search, and what the spec asks of both."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from crda_spec.data.dataset import Dataset
from crda_spec.data.raw import read_bytes
from crda_spec.data.sources import header_of
from crda_spec.discovery import Consensus, Discovery, Ges
from crda_spec.discovery.knowledge import PATH
from crda_spec.errors import Complaint, CrdaError, GraphError, SpecError, show
from crda_spec.records import DrawnGraph, FeatureVerdict, Obstacle, Stated
from crda_spec.report.words.causal import assumption_sentence, reason_sentence
from crda_spec.scm.certificate import certify_named, drawn, undrawn_assumption
from crda_spec.scm.falsify import Falsify
from crda_spec.scm.formats import from_edges, read_graph, to_edges, write_graph
from crda_spec.scm.graph import CausalGraph
from crda_spec.scm.implied import implications
from crda_spec.scm.propagation import followers as known_followers
from crda_spec.scm.propagation import propagable
from crda_spec.spec.causal import Causal, EdgesGraph
from crda_spec.spec.load import Draft
from crda_spec.spec.run import RunSpec


def knowledge_complaints(discovery: Discovery, names: Sequence[str]) -> Iterator[Complaint]:
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
    columns, features = tuple(header), dataset.feature_names(header)
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

    def implied(self) -> tuple[tuple[str, ...], int]:
        """The independencies that the training rows will be asked about, `age _||_ dose | bmi`, and how many there are.

        A large graph claims more than a test can look at; those nearest the target are looked at first.
        """
        claims = implications(self.graph, [verdict.name for verdict in self.verdicts])
        return tuple(str(statement) for statement in claims.to_test()), len(claims)

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
    keep, perturb = spec.partition.keep, spec.partition.perturb
    verdicts = certify_named(graph, features)
    followers: tuple[str, ...] = ()
    stuck: Mapping[str, Obstacle] = {}
    if spec.perturbation.propagate:
        wanted = [one.name for one in verdicts if one.perturbable and one.name in (perturb or features)]
        found = propagable(graph, features, [name for name in wanted if name not in keep], keep=keep)
        stuck = found.obstacles
        followers = () if perturb is None else known_followers(graph, features, found.moved)

    def asked(verdict: FeatureVerdict) -> FeatureVerdict:
        if not verdict.perturbable:
            return verdict
        if verdict.name in stuck:
            return replace(verdict, status="blocked", reason=stuck[verdict.name], lemma=None)
        if verdict.name in followers:
            return replace(verdict, status="follows", reason=Stated(code="follows"))
        if verdict.name in keep:
            return replace(verdict, status="kept", reason=Stated(code="kept"))
        if perturb is not None and verdict.name not in perturb:
            return replace(verdict, status="kept", reason=Stated(code="not_named"))
        return verdict

    return tuple(asked(verdict) for verdict in verdicts)


def check_graph(draft: Draft, dataset: Dataset, parts: Mapping[str, Any], header: Sequence[str]) -> None:
    """Everything that is wrong with the graph, and everything the spec asks that the graph does not allow."""
    written = parts["causal"].graph
    if written is not None and written.kind != "edges" and (written.path is None) == (written.text is None):
        return  # there is no saying which of the two is meant
    try:
        graph = declared_graph(parts["causal"], dataset, header, draft.file.parent)
    except CrdaError as error:
        for complaint in error.complaints:
            draft.complain(complaint)
        return
    # A rendered spec writes every section: one that says nothing new asks for nothing.
    if graph is None and "falsify" in draft.tree.value and parts.get("falsify") != Falsify():
        what = "there is no declared graph that the data could refute"
        hint = "declare one under causal.graph, or remove falsify"
        draft.complain(Complaint(code="no-graph", path="falsify", what=what, hint=hint))
    propagate = "perturbation" in parts and parts["perturbation"].propagate
    if graph is None and propagate:
        what = "there is no graph to say what follows a moved feature"
        hint = "declare one under causal.graph, or remove propagate"
        draft.complain(Complaint(code="no-graph", path="perturbation.propagate", what=what, hint=hint))
    wanted = [(f"partition.perturb.{at}", name) for at, name in enumerate(_perturb(parts))]
    if "perturbation" in parts:
        wanted += [(f"perturbation.features.{name}", name) for name in parts["perturbation"].features]
    features = dataset.feature_names(header)
    if graph is None or not wanted or any(name not in header for name in features):
        return
    verdicts = {verdict.name: verdict for verdict in certify_named(graph, features)}
    carries_noise = "counterfactual" not in parts or parts["counterfactual"].retention > 0
    for path, name in wanted:
        # A row that carries no noise claims no invariance, so any feature may move; its effects are another matter.
        if (carries_noise or propagate) and name in verdicts and not verdicts[name].perturbable:
            what = f"the graph does not let {show(name)} move: {reason_sentence(verdicts[name].reason)}"
            hint = "leave it fixed, or correct the graph if it is wrong"
            if not propagate:
                hint = "leave it fixed, let rows carry no noise (counterfactual.retention: 0), or correct the graph"
            draft.complain(Complaint(code="not-certified", path=path, what=what, hint=hint))
    if propagate:
        _check_propagation(draft, graph, features, parts)


def _check_propagation(draft: Draft, graph: CausalGraph, features: Sequence[str], parts: Mapping[str, Any]) -> None:
    """Features that the user wants to move, and whose effects cannot follow."""
    named = _perturb(parts)
    free = {verdict.name for verdict in certify_named(graph, features) if verdict.perturbable}
    keep = parts["partition"].keep if "partition" in parts else ()
    found = propagable(graph, features, [name for name in named if name in free], keep=keep)
    for name, obstacle in found.obstacles.items():
        what = f"{show(name)} cannot move with its effects: {reason_sentence(obstacle)}"
        hint = "leave it fixed, or set perturbation.propagate to false to hold its effects fixed"
        path = f"partition.perturb.{named.index(name)}"
        draft.complain(Complaint(code="cannot-propagate", path=path, what=what, hint=hint))


def _perturb(parts: Mapping[str, Any]) -> tuple[str, ...]:
    return (parts["partition"].perturb or ()) if "partition" in parts else ()
