"""What a search found, for the terminal: how it searched, every link with its evidence, and what to mind."""

from __future__ import annotations

from collections.abc import Iterator

from crda_spec.report.blocks import Grid, Line, Section
from crda_spec.report.wording import count, listed, number, setting, share, shown
from crda_spec.scm.discovery.found import DiscoveredGraph, FoundEdge
from crda_spec.search import OFTEN, Findings

METHODS = {"pc": "PC", "fci": "FCI", "ges": "GES", "consensus": "The consensus of several methods"}
NO_RESIDUAL = (
    "The residual is not part of this search, since it needs a model: a run looks for what is tied to it, and only "
    "then says which features may move."
)
_MARKS = {
    ("cpdag", "->"): "a -> b: a causes b in every graph that fits",
    ("cpdag", "--"): "a -- b: both directions fit the data equally well",
    ("cpdag", "<->"): "a <-> b: a conflict; the tests argue for both directions, so at least one of them erred",
    ("pag", "->"): "a -> b: a causes b, perhaps through others",
    ("pag", "o->"): "a o-> b: b does not cause a; a causes b, or a hidden cause ties them",
    ("pag", "o-o"): "a o-o b: either may cause the other, or a hidden cause ties them",
    ("pag", "<->"): "a <-> b: neither causes the other; a hidden cause ties them",
    ("pag", "o--"): "a o-- b: b causes a, or rows were selected by an effect",
    ("pag", "--"): "a -- b: rows seem to be selected by an effect of both",
}


def discovery_sections(found: Findings) -> tuple[Section, ...]:
    """The search, its links, and what a reader must know before using them."""
    search = (Line(search_sentence(found)), Line(NO_RESIDUAL, "soft"))
    links: tuple[Line | Grid, ...] = (Line("No two columns are linked.", "strong"),)
    if found.graph.edges:
        links = (_grid(found), *(Line(text, "soft") for text in _legend(found.graph)))
    parts = (
        Section("Search", search),
        Section("Links", links),
        Section("Declared graph", tuple(Line(text) for text in _declared(found))),
        Section("Mind", tuple(Line(shown(text)) for text in (*found.notes, *_often(found)))),
    )
    return tuple(part for part in parts if part.blocks)


def search_sentence(found: Findings) -> str:
    """The method, the rows and the effort: `PC, alpha 0.05, on 240 training rows of patients.csv: ...`."""
    graph = found.graph
    alpha = "" if graph.alpha is None else f", alpha {setting(graph.alpha)}"
    where = f"{found.complete} {shown(found.source)}"
    columns = f"{count(len(graph.names) - 1, 'feature')} and the target {shown(found.target)}"
    effort = ""
    if graph.tests:
        depth = f" given up to {count(graph.depth_reached, 'column')}" if graph.depth_reached > 0 else ""
        effort = f"; {count(graph.tests, 'test')}{depth}"
    return f"{METHODS[graph.method]}{alpha}, on {where}: {columns}{effort}.{_resamples(found)}"


def _resamples(found: Findings) -> str:
    if not found.resamples:
        return ""
    size = "half of the rows each" if found.scheme == "half" else "as many rows, drawn with replacement"
    return f" Repeated on {found.resamples} resamples ({size})."


def _grid(found: Findings) -> Grid:
    """One row a link. A column without anything to say is left out."""
    edges = found.graph.edges
    shares = any(edge.frequency is not None for edge in edges)
    whose = "resamples" if found.resamples else "methods"
    told: dict[str, list[str]] = {
        "column": [shown(edge.first) for edge in edges],
        "": [edge.mark for edge in edges],
        "column ": [shown(edge.second) for edge in edges],
    }
    if any(tested(found.graph, edge) for edge in edges):
        told["strength"] = [strength_words(found.graph, edge) for edge in edges]
        told["p"] = [p_words(found.graph, edge) for edge in edges]
    if shares:
        told[f"in {whose}"] = [_share(edge.frequency) for edge in edges]
        told["same mark"] = [_share(edge.same_mark) for edge in edges]
    if any(edge.by_knowledge for edge in edges):
        told["your word"] = ["yes" if edge.by_knowledge else "" for edge in edges]
    if found.comparison is not None:
        told["declared graph"] = [found.comparison.of(edge) for edge in edges]
    numeric = ("strength", "p", f"in {whose}", "same mark")
    return Grid(
        headers=tuple(header.strip() for header in told),
        rows=tuple(zip(*told.values(), strict=True)),
        numeric=tuple(place for place, header in enumerate(told) if header in numeric),
        toned=1,
        tones=("",) * len(edges),
    )


def tested(graph: DiscoveredGraph, edge: FoundEdge) -> bool:
    """Whether a test stands behind the link: neither a score's link nor one that the expert required."""
    return graph.alpha is not None and (edge.p_value, edge.statistic) != (0.0, 0.0)


def strength_words(graph: DiscoveredGraph, edge: FoundEdge) -> str:
    """The statistic of the test that came nearest to cutting the link."""
    return number(edge.statistic, 3) if tested(graph, edge) else "-"


def p_words(graph: DiscoveredGraph, edge: FoundEdge) -> str:
    """Its p-value, with a bound where more digits would say nothing."""
    if not tested(graph, edge):
        return "-"
    return "< 0.0001" if edge.p_value < 1e-4 else number(edge.p_value, 3)


def _share(value: float | None) -> str:
    return "-" if value is None else share(value)


def _legend(graph: DiscoveredGraph) -> Iterator[str]:
    marks = {edge.mark for edge in graph.edges}
    return (words for (kind, mark), words in _MARKS.items() if kind == graph.kind and mark in marks)


def _declared(found: Findings) -> Iterator[str]:
    """What the two graphs have in common, and what only the declared one has."""
    compared = found.comparison
    if compared is None:
        return
    said = list(compared.found.values())
    same, absent = said.count("same") + said.count("direction open"), said.count("not there")
    differs = len(said) - same - absent
    other = f", and has {differs} in another way" if differs else ""
    lacks = f"; {absent} it does not have" if absent else ""
    yield f"Of {count(len(said), 'link')} that the data show, it has {same} too{other}{lacks}."
    if compared.unseen:
        edges = listed(tuple(shown(edge) for edge in compared.unseen), limit=20)
        yield (
            f"Declared, and the data show no link: {edges}. A weak effect may need more rows; a search that finds no "
            "link does not prove that there is none."
        )


def _often(found: Findings) -> Iterator[str]:
    for a, b, often in found.often:
        yield (
            f"{a} and {b} are linked in {share(often)} of the resamples, at least {share(OFTEN)}, and not in all rows "
            "together: look twice before you leave the link out."
        )
