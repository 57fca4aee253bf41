"""What the spec says is known before a search: its edges read, its contradictions found, each at its place."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from crda_spec.errors import Complaint, show
from crda_spec.scm.discovery.knowledge import PATH, Knowledge, complaints_about
from crda_spec.scm.formats import parse_edges
from crda_spec.spec.discovery import Knowledge as WrittenKnowledge

_EDGE = re.compile(r"(required|forbidden)\.(\d+)")


@dataclass(frozen=True, slots=True)
class KnownEdges:
    """The knowledge, its edges one by one, and what is wrong with their text."""

    knowledge: Knowledge
    entries: Mapping[str, tuple[int, ...]]  # `required`, `forbidden`: for each edge, the entry that it stands in
    complaints: tuple[Complaint, ...]


def known_edges(written: WrittenKnowledge) -> KnownEdges:
    """Reads the edges; one entry may stand for several (a chain, a fan-out)."""
    complaints: list[Complaint] = []
    arrows: dict[str, tuple[tuple[str, str], ...]] = {}
    entries: dict[str, tuple[int, ...]] = {}
    for field in ("required", "forbidden"):
        edges, unreadable = parse_edges(getattr(written, field), path=f"{PATH}.{field}")
        complaints += unreadable
        for edge in edges:
            if edge.mark == "<->":
                hint = "a search decides about hidden causes itself; write a -> b"
                what = f"{show(str(edge))} is no direction that can be {field}"
                complaints.append(Complaint(code="knowledge-clash", path=edge.path, what=what, hint=hint))
        plain = [edge for edge in edges if edge.mark == "->"]
        arrows[field] = tuple((edge.tail, edge.head) for edge in plain)
        entries[field] = tuple(int(edge.path.rsplit(".", 1)[1]) for edge in plain)
    knowledge = Knowledge(
        tiers=written.tiers,
        required=arrows["required"],
        forbidden=arrows["forbidden"],
        roots=written.roots,
        leaves=written.leaves,
    )
    return KnownEdges(knowledge, entries, tuple(complaints))


def knowledge_complaints(discovery: Any, names: Sequence[str]) -> Iterator[Complaint]:  # noqa: ANN401 - the spec's union
    """Everything that contradicts itself or names no column, for each method of the search."""
    several = discovery.kind == "consensus"
    for place, method in enumerate(discovery.methods if several else (discovery,)):
        if method.kind == "ges":
            continue
        found = known_edges(method.knowledge)
        here = f"causal.discovery.methods.{place}.knowledge" if several else PATH
        for complaint in (*found.complaints, *complaints_about(found.knowledge, names)):
            yield _as_written(complaint, found).moved(PATH, here)


def _as_written(complaint: Complaint, found: KnownEdges) -> Complaint:
    """The path of an edge is that of the entry it stands in."""
    inner = complaint.path.removeprefix(f"{PATH}.")
    match = _EDGE.fullmatch(inner)
    if match is None or complaint in found.complaints:
        return complaint
    entry = found.entries[match[1]][int(match[2])]
    return replace(complaint, path=f"{PATH}.{match[1]}.{entry}")
