"""One graph out of several: what most methods, or most resamples, agree on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import combinations
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from crda_spec.discovery._protocol import DiscoveredGraph, FoundEdge, HiddenCauses, ResidualNeighbours
from crda_spec.discovery.fci import Fci
from crda_spec.discovery.ges import Ges
from crda_spec.discovery.pc import Pc, in_circles
from crda_spec.errors import Complaint, GraphError, show
from crda_spec.records import Array, Column, EdgeMark, Note, SearchTie, SearchUsed, Table
from crda_spec.strict import Strict


class Consensus(Strict):
    """Several methods, and what most of them agree on."""

    kind: Literal["consensus"] = Field(
        "consensus", description="A link counts when more than half of the methods find it."
    )
    methods: tuple[Annotated[Pc | Fci | Ges, Field(discriminator="kind")], ...] = Field(
        (Pc(), Fci(), Ges()), min_length=2, max_length=9, description="The methods that vote."
    )

    hidden_causes: ClassVar[HiddenCauses] = "methods_see_hidden_causes"

    @property
    def used(self) -> tuple[SearchUsed, ...]:
        """Its methods, one by one."""
        return tuple(one for method in self.methods for one in method.used)

    def graph(self, x: Array, columns: Sequence[Column], *, seed: int) -> DiscoveredGraph:
        """What most methods agree on."""
        return consensus([method.graph(x, columns, seed=seed) for method in self.methods])

    def residual_neighbours(
        self, train: Table, residuals: Array, *, seed: int, index: tuple[int, ...]
    ) -> ResidualNeighbours:
        """What more than half of the methods tie to the residual."""
        answers = [method.residual_neighbours(train, residuals, seed=seed, index=index) for method in self.methods]
        untested = next((one.untested for one in answers if one.untested), None)
        tied = {}
        for name in train.names:
            ties = [one.tied[name] for one in answers if name in one.tied]
            if 2 * len(ties) > len(answers):
                tied[name] = SearchTie(kind="votes", votes=(len(ties), len(answers)), first=ties[0])
        return ResidualNeighbours(
            tied=tied, untested=untested, notes=tuple(note for one in answers for note in one.notes)
        )


def consensus(graphs: Sequence[DiscoveredGraph]) -> DiscoveredGraph:
    """The links that more than half of the graphs have, each with the share that has it.

    A direction is taken when more than half of the graphs with the link claim it, by `->` or by a PAG's `o->`, which
    rules the other one out; a link that is claimed both ways, or in a circle, is a conflict; else it stays undirected.
    """
    names = _common_names(graphs)
    votes = [_votes(graph) for graph in graphs]
    marks: dict[tuple[int, int], tuple[EdgeMark, float, float]] = {}
    for i, j in combinations(range(len(names)), 2):
        cast = [found[names[i], names[j]] for found in votes if (names[i], names[j]) in found]
        if 2 * len(cast) <= len(graphs):
            continue
        mark, turned, share = _decide(Counter(cast), len(cast))
        marks[(j, i) if turned else (i, j)] = (mark, len(cast) / len(graphs), share * len(cast) / len(graphs))
    for i, j in in_circles([pair for pair, found in marks.items() if found[0] == "->"], len(names)):
        _, linked, _ = marks.pop((i, j))
        marks[min(i, j), max(i, j)] = ("<->", linked, 0.0)
    edges = tuple(
        _edge(graphs, (names[a], names[b]), *found)
        for (a, b), found in sorted(marks.items(), key=lambda item: (min(item[0]), max(item[0])))
    )
    notes = tuple(
        Note(code="methods_disagree", names=(edge.first, edge.second)) for edge in edges if edge.mark == "<->"
    )
    return DiscoveredGraph(
        method="consensus",
        kind="cpdag",
        names=names,
        edges=edges,
        tests=sum(graph.tests for graph in graphs),
        budget_hit=any(graph.budget_hit for graph in graphs),
        notes=notes,
    )


def _common_names(graphs: Sequence[DiscoveredGraph]) -> tuple[str, ...]:
    """The columns of the first graph; a GraphError when there is none, or one has others."""
    if not graphs:
        raise GraphError(Complaint(code="no-graphs", what="there is no graph to agree on", hint="give two or more"))
    names = graphs[0].names
    hint = "search the same columns with each method"
    what = "the graph found by {} has other columns than the first: {}"
    complaints = [
        Complaint(code="other-columns", what=what.format(graph.method, show(odd)), hint=hint)
        for graph in graphs
        if (odd := sorted(set(graph.names) ^ set(names)))
    ]
    if complaints:
        raise GraphError(complaints)
    return names


def _votes(graph: DiscoveredGraph) -> dict[tuple[str, str], str]:
    """(a, b), in both orders -> `->` or `<-` when the link claims a direction, else `--`."""
    claims = {(edge.first, edge.second): edge.mark in ("->", "o->") for edge in graph.edges}
    votes = {ends: "->" if claimed else "--" for ends, claimed in claims.items()}
    return votes | {(b, a): "<-" if claimed else "--" for (a, b), claimed in claims.items()}


def _decide(votes: Counter[str], total: int) -> tuple[EdgeMark, bool, float]:
    """The mark, whether it is to be read from right to left, and the share of the votes that say so."""
    if 2 * votes["->"] > total:
        return "->", False, votes["->"] / total
    if 2 * votes["<-"] > total:
        return "->", True, votes["<-"] / total
    if votes["->"] and votes["<-"]:
        return "<->", False, 0.0
    return "--", False, votes["--"] / total


def _edge(
    graphs: Sequence[DiscoveredGraph], ends: tuple[str, str], mark: EdgeMark, linked: float, same: float
) -> FoundEdge:
    """The link with the weakest evidence that any of the graphs has for it; a search by score tests nothing."""
    links = [(edge, graph.alpha is not None) for graph in graphs if (edge := graph.edge(*ends)) is not None]
    return FoundEdge(
        first=ends[0],
        second=ends[1],
        mark=mark,
        p_value=max((edge.p_value for edge, tested in links if tested), default=0.0),
        statistic=min((edge.statistic for edge, tested in links if tested), default=0.0),
        by_knowledge=any(edge.by_knowledge for edge, _ in links),
        frequency=linked,
        same_mark=same,
    )
