"""Where the edges of a graph were written, as an editor counts: `spec.yaml:12:9` instead of a path inside the spec."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from crda_spec.errors import Complaint
from crda_spec.records import FeatureVerdict, RunResult, SourceLine

if TYPE_CHECKING:
    from crda_spec.spec.load import Draft

_TEXT = "causal.graph.text:"  # how messages call the lines of a graph that is written inside the spec


def place_of(where: str, draft: Draft) -> str:
    """`spec.yaml:12:9` for a path inside the spec; a place in a graph's own file stays as it is."""
    path, _, rest = where.partition(":") if where.startswith(_TEXT) else (where, "", "")
    if not path.startswith("causal.graph"):
        return where
    place = draft.placed(Complaint(code="written-at", what="", path=path)).place
    return f"{place}, line {rest.split(':', 1)[0]} of the text" if rest else str(place)


def with_places(result: RunResult, draft: Draft) -> RunResult:
    """The same result for the reader of this spec file; the record keeps paths, which hold for the spec it stores."""

    def placed(verdict: FeatureVerdict) -> FeatureVerdict:
        lines = tuple(SourceLine(edge=line.edge, where=place_of(line.where, draft)) for line in verdict.lines)
        return replace(verdict, lines=lines)

    certificate = result.certificate
    return replace(
        result, certificate=replace(certificate, features=tuple(placed(verdict) for verdict in certificate.features))
    )
