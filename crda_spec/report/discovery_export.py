"""A search's findings for other programs: JSON, and drafts of a declared graph in which every guess is a comment."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator
from typing import Any

import yaml

from crda_spec.report.discovery_summary import METHODS, p_words, search_sentence, strength_words, tested
from crda_spec.report.wording import share, shown
from crda_spec.scm.discovery.extension import BY_ORDER, GraphDraft
from crda_spec.scm.edge import Edge
from crda_spec.scm.formats import to_edges, write_graph
from crda_spec.search import Findings

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
    notes = draft.notes
    if form == "yaml":
        return _yaml(found, draft).encode(), notes
    mark = _COMMENTS.get(form, "")
    head = "".join(f"{line}\n" for line in _comments(_about(found, draft), mark)) if mark else ""
    if form == "edges":
        return (head + "".join(f"{line}\n" for line in to_edges(draft.graph))).encode(), notes
    written = write_graph(draft.graph, form)
    return (head + written.text).encode(), (*notes, *written.lost)


def _about(found: Findings, draft: GraphDraft) -> list[str]:
    """What stands above a draft."""
    said = [f"Found by crda-spec discover: {search_sentence(found)}", _FIRST_GUESS]
    return [*said, *(f"Note: {shown(note)}." for note in draft.notes)]


def _yaml(found: Findings, draft: GraphDraft) -> str:
    """A `causal` section: paste it into a spec in place of its own."""
    about = [f"Found by crda-spec discover: {search_sentence(found)}", _FIRST_GUESS]
    about += [f"Note: {BY_ORDER}."] if draft.by_order else []
    lines = [*_comments(about, "#"), "causal:", "  graph:", "    kind: edges", "    edges:"]
    for edge, text in zip(draft.graph.edges, to_edges(draft.graph), strict=True):
        guess = draft.guess(edge)
        lines += [f"      # guess: {guess}"] if guess else []
        lines.append(f"      - {_scalar(text)} # {_evidence(found, edge)}")
    return "\n".join(lines) + "\n"


def _evidence(found: Findings, edge: Edge) -> str:
    """The comment behind an edge: its numbers."""
    link = found.graph.edge(edge.tail, edge.head)
    parts = []
    if link is not None and link.by_knowledge:
        parts.append("your word")
    if link is not None and tested(found.graph, link):
        p = p_words(found.graph, link)
        parts.append(f"strength {strength_words(found.graph, link)}, p {p if p.startswith('<') else f'= {p}'}")
    if link is not None and link.frequency is not None:
        whose = f"{found.resamples} resamples" if found.resamples else "the methods"
        parts.append(f"in {share(link.frequency)} of {whose}")
    return "; ".join(parts) or f"found by {METHODS[found.graph.method]}"


def _comments(sentences: list[str], mark: str) -> Iterator[str]:
    for sentence in sentences:
        for line in textwrap.wrap(sentence, _WIDTH - len(mark) - 1, break_long_words=False, break_on_hyphens=False):
            yield f"{mark} {line}"


def _scalar(text: str) -> str:
    """The text as a YAML value on one line; a dollar that a spec would take for a variable is doubled."""
    plain = re.sub(r"\$(?=[${])", "$$", text)
    written: str = yaml.safe_dump([plain], width=1_000_000, allow_unicode=True)
    if written.count("\n") > 1 or " #" in plain:
        written = yaml.safe_dump([plain], width=1_000_000, default_style='"')
    return written.removeprefix("- ").rstrip("\n")


def findings_record(found: Findings) -> dict[str, Any]:
    """Everything that the table shows, and the draft with its guesses, for machines."""
    graph, compared = found.graph, found.comparison
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
        "resamples": {"count": found.resamples, "scheme": found.scheme} if found.resamples else None,
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
        "notes": list(found.notes),
        "draft": None
        if draft is None
        else {"edges": list(to_edges(draft.graph)), "guesses": list(draft.notes), "by_order": draft.by_order},
    }
