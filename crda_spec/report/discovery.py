"""What a search found, for the terminal: how it searched, every link with its evidence, and what to mind."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

import yaml

from crda_spec.discovery import DiscoveredGraph, FoundEdge
from crda_spec.discovery.findings import OFTEN, Findings, GraphDraft
from crda_spec.report.terminal import Grid, Line, Section
from crda_spec.report.words.discovery import BY_ORDER, GUESSES, guess_notes, search_notes
from crda_spec.report.words.numbers import count, listed, number, p_number, p_value, setting, share, shown, wrapped
from crda_spec.scm.formats import to_edges, write_graph
from crda_spec.scm.graph import Edge

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
        kind, marks = found.graph.kind, {edge.mark for edge in found.graph.edges}
        legend = (text for (whose, mark), text in _MARKS.items() if whose == kind and mark in marks)
        links = (_grid(found), *(Line(text, "soft") for text in legend))
    often = (
        f"{a} and {b} are linked in {share(part)} of the resamples, at least {share(OFTEN)}, and not in all rows "
        "together: look twice before you leave the link out."
        for a, b, part in found.often
    )
    parts = (
        Section("Search", search),
        Section("Links", links),
        Section("Declared graph", tuple(Line(text) for text in _declared(found))),
        Section("Mind", tuple(Line(shown(text)) for text in (*search_notes(found), *often))),
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
    repeated = ""
    if found.stability is not None:
        size = "half of the rows each" if found.stability.scheme == "half" else "as many rows, drawn with replacement"
        repeated = f" Repeated on {found.stability.resamples} resamples ({size})."
    return f"{METHODS[graph.method]}{alpha}, on {where}: {columns}{effort}.{repeated}"


def _grid(found: Findings) -> Grid:
    """One row a link. A column without anything to say is left out."""
    graph, edges = found.graph, found.graph.edges
    columns: dict[str, list[str]] = {
        "column": [shown(edge.first) for edge in edges],
        "": [edge.mark for edge in edges],
        "column ": [shown(edge.second) for edge in edges],
    }
    numbers: dict[str, list[str]] = {}
    if any(tested(graph, edge) for edge in edges):
        numbers["strength"] = [strength_words(graph, edge) for edge in edges]
        numbers["p"] = [p_number(edge.p_value, 3) if tested(graph, edge) else "-" for edge in edges]
    if any(edge.frequency is not None for edge in edges):
        shares = {"in methods" if found.stability is None else "in resamples": "frequency", "same mark": "same_mark"}
        for header, key in shares.items():
            values = [getattr(edge, key) for edge in edges]
            numbers[header] = ["-" if value is None else share(value) for value in values]
    columns |= numbers
    if any(edge.by_knowledge for edge in edges):
        columns["your word"] = ["yes" if edge.by_knowledge else "" for edge in edges]
    if found.comparison is not None:
        columns["declared graph"] = [found.comparison.of(edge) for edge in edges]
    return Grid(
        headers=tuple(header.strip() for header in columns),
        rows=tuple(zip(*columns.values(), strict=True)),
        numeric=tuple(place for place, header in enumerate(columns) if header in numbers),
    )


def tested(graph: DiscoveredGraph, edge: FoundEdge) -> bool:
    """Whether a test stands behind the link: neither a score's link nor one that the expert required."""
    return graph.alpha is not None and (edge.p_value, edge.statistic) != (0.0, 0.0)


def strength_words(graph: DiscoveredGraph, edge: FoundEdge) -> str:
    """The statistic of the test that came nearest to cutting the link."""
    return number(edge.statistic, 3) if tested(graph, edge) else "-"


def _declared(found: Findings) -> Iterator[str]:
    """What the two graphs have in common, and what only the declared one has."""
    compared = found.comparison
    if compared is None:
        return
    verdicts = list(compared.found.values())
    same, absent = verdicts.count("same") + verdicts.count("direction open"), verdicts.count("not there")
    differs = len(verdicts) - same - absent
    other = f", and has {differs} in another way" if differs else ""
    lacks = f"; {absent} it does not have" if absent else ""
    yield f"Of {count(len(verdicts), 'link')} that the data show, it has {same} too{other}{lacks}."
    if compared.unseen:
        edges = listed(tuple(shown(edge) for edge in compared.unseen), limit=20)
        yield (
            f"Declared, and the data show no link: {edges}. A weak effect may need more rows; a search that finds no "
            "link does not prove that there is none."
        )


_COMMENTS = {"edges": "#", "yaml": "#", "dagitty": "//", "dot": "//", "gml": "#"}  # graphml has none that is read over
_WIDTH = 100
_FIRST_GUESS = (
    "A first draft for somebody who knows the field. Check every arrow, above all those called a guess, and add what "
    "nobody measured."
)


def exported(found: Findings, form: str) -> tuple[bytes, tuple[str, ...]]:
    """The draft of a declared graph as text, and a note for every guess and for what the format cannot say.

    form: `yaml` for a `causal` section, `edges` for one arrow a line, or a format of `scm.formats`.
    """
    draft = found.draft()
    notes = guess_notes(draft)
    if form == "yaml":
        return _yaml(found, draft).encode(), notes
    mark = _COMMENTS.get(form, "")
    about = (*_about(found), *(f"Note: {shown(note)}." for note in notes))
    head = "".join(f"{line}\n" for line in _comments(about, mark)) if mark else ""
    if form == "edges":
        return (head + "".join(f"{line}\n" for line in to_edges(draft.graph))).encode(), notes
    written = write_graph(draft.graph, form)
    return (head + written.text).encode(), (*notes, *written.lost)


def _about(found: Findings) -> tuple[str, ...]:
    """What stands above a draft."""
    return f"Found by crda-spec discover: {search_sentence(found)}", _FIRST_GUESS


def _yaml(found: Findings, draft: GraphDraft) -> str:
    """A `causal` section: paste it into a spec in place of its own."""
    about = (*_about(found), *([f"Note: {BY_ORDER}."] if draft.by_order else []))
    lines = [*_comments(about, "#"), "causal:", "  graph:", "    kind: edges", "    edges:"]
    for edge, text in zip(draft.graph.edges, to_edges(draft.graph), strict=True):
        guess = draft.guess(edge)
        lines += [f"      # guess: {GUESSES[guess]}"] if guess else []
        lines.append(f"      - {_scalar(text)} # {_evidence(found, edge)}")
    return "\n".join(lines) + "\n"


def _evidence(found: Findings, edge: Edge) -> str:
    """The comment behind an edge: its numbers."""
    link = found.graph.edge(edge.tail, edge.head)
    parts = []
    if link is not None and link.by_knowledge:
        parts.append("your word")
    if link is not None and tested(found.graph, link):
        parts.append(f"strength {strength_words(found.graph, link)}, {p_value(link.p_value, digits=3)}")
    if link is not None and link.frequency is not None:
        whose = "the methods" if found.stability is None else f"{found.stability.resamples} resamples"
        parts.append(f"in {share(link.frequency)} of {whose}")
    return "; ".join(parts) or f"found by {METHODS[found.graph.method]}"


def _comments(sentences: Iterable[str], mark: str) -> Iterator[str]:
    for sentence in sentences:
        yield from (f"{mark} {line}" for line in wrapped(sentence, _WIDTH - len(mark) - 1))


def _scalar(text: str) -> str:
    """The text as a YAML value on one line; a dollar that a spec would take for a variable is doubled."""
    plain = re.sub(r"\$(?=[${])", "$$", text)
    written: str = yaml.safe_dump([plain], width=1_000_000, allow_unicode=True)
    if written.count("\n") > 1 or " #" in plain:
        written = yaml.safe_dump([plain], width=1_000_000, default_style='"')
    return written.removeprefix("- ").rstrip("\n")


def findings_record(found: Findings) -> dict[str, Any]:
    """Everything that the table shows, and the draft with its guesses, for machines."""
    graph, compared, repeated = found.graph, found.comparison, found.stability
    draft = found.draft() if graph.neighbours(found.target) else None
    return {
        "method": graph.method,
        "kind": graph.kind,
        "target": found.target,
        "columns": list(graph.names),
        "rows": found.rows,
        "searched_rows": found.complete,
        "alpha": graph.alpha,
        "tests": graph.tests,
        "budget_hit": graph.budget_hit,
        "resamples": None if repeated is None else {"count": repeated.resamples, "scheme": repeated.scheme},
        "edges": [
            {
                "first": edge.first,
                "mark": edge.mark,
                "second": edge.second,
                "statistic": edge.statistic if tested(graph, edge) else None,
                "p_value": edge.p_value if tested(graph, edge) else None,
                "by_knowledge": edge.by_knowledge,
                "frequency": edge.frequency,
                "same_mark": edge.same_mark,
                "declared": None if compared is None else compared.of(edge),
            }
            for edge in graph.edges
        ],
        "often_linked": [{"first": a, "second": b, "frequency": often} for a, b, often in found.often],
        "declared_and_unseen": None if compared is None else list(compared.unseen),
        "notes": list(search_notes(found)),
        "draft": None
        if draft is None
        else {"edges": list(to_edges(draft.graph)), "guesses": list(guess_notes(draft)), "by_order": draft.by_order},
    }
