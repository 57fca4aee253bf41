"""The search that a user asks for on the command line, on top of what a spec says."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from crda_spec.errors import Complaint, SpecError
from crda_spec.spec.discovery import (
    ConsensusDiscovery,
    Discovery,
    FciDiscovery,
    GesDiscovery,
    Knowledge,
    PcDiscovery,
    Stability,
)

_TESTED = (PcDiscovery, FciDiscovery)
_SLOW = ("ges", "consensus")  # seconds a search: a hundred of them are not for nothing


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """A search without resamples of its own, the resamples, and what the user should know."""

    discovery: Discovery
    stability: Stability | None
    notes: tuple[str, ...]

    def repeated(self) -> dict[str, Any]:
        """How the search is repeated, as `search` takes it."""
        if self.stability is None:
            return {"resamples": 0}
        return {"resamples": self.stability.resamples, "scheme": self.stability.scheme}


def wanted_search(
    written: Discovery | None, *, method: str | None, alpha: float | None, resamples: int | None
) -> Wanted:
    """The spec's search (PC when it has none), changed by what the command line says."""
    _check(written, method=method, alpha=alpha, resamples=resamples)
    start: Discovery = written or PcDiscovery(kind="pc")
    notes: list[str] = []
    found = start
    if method is not None and method != start.kind:
        found = _by_method(start, method)
        if isinstance(found, GesDiscovery) and _shared(start).get("knowledge", Knowledge()) != Knowledge():
            notes.append("GES takes no knowledge: what the spec says is known was not used")
    stability = _stability(start, found.kind, resamples)
    if stability is None and resamples is None:
        notes.append("GES takes seconds a search, so no resamples were searched; --resamples 20 asks for them")
    return Wanted(discovery=_stripped(found, alpha), stability=stability, notes=tuple(notes))


def _check(written: Discovery | None, *, method: str | None, alpha: float | None, resamples: int | None) -> None:
    complaints = []
    if alpha is not None and not 0 < alpha < 1:
        what = f"--alpha {alpha:g} is not between 0 and 1"
        complaints.append(Complaint(code="out-of-range", what=what, hint="use 0.05 or 0.01"))
    elif alpha is not None and (method or (written.kind if written else "pc")) == "ges":
        what = "GES compares scores and makes no test, so --alpha would do nothing"
        complaints.append(Complaint(code="idle-option", what=what, hint="leave it out, or use --method pc"))
    if resamples is not None and (resamples == 1 or not 0 <= resamples <= 10_000):
        what = f"--resamples {resamples} is neither 0 nor between 2 and 10000"
        complaints.append(Complaint(code="out-of-range", what=what, hint="use 100, or 0 for none"))
    if complaints:
        raise SpecError(complaints)


def _shared(discovery: Discovery) -> dict[str, Any]:
    """The settings that a search by tests hands over to another one: its knowledge above all."""
    members = discovery.methods if isinstance(discovery, ConsensusDiscovery) else (discovery,)
    for one in members:
        if isinstance(one, _TESTED):
            return {name: getattr(one, name) for name in type(one).model_fields if name not in ("kind", "stability")}
    return {}


def _by_method(start: Discovery, method: str) -> Discovery:
    shared = _shared(start)
    if method == "pc":
        return PcDiscovery(kind="pc", **shared)
    if method == "fci":
        return FciDiscovery(kind="fci", **shared)
    if method == "ges":
        return GesDiscovery(kind="ges")
    members = (PcDiscovery(kind="pc", **shared), FciDiscovery(kind="fci", **shared), GesDiscovery(kind="ges"))
    return ConsensusDiscovery(kind="consensus", methods=members)


def _stability(start: Discovery, kind: str, resamples: int | None) -> Stability | None:
    """As many resamples as asked for; else the spec's; else a hundred halves, unless each search is slow."""
    members = start.methods if isinstance(start, ConsensusDiscovery) else (start,)
    written = next((one.stability for one in members if one.stability is not None), None)
    if resamples is None:
        return written or (None if kind in _SLOW else Stability())
    return None if resamples == 0 else (written or Stability()).model_copy(update={"resamples": resamples})


def _stripped(discovery: Discovery, alpha: float | None) -> Discovery:
    """Without resamples of its own, which are drawn around the whole search, and with the alpha asked for."""
    if isinstance(discovery, ConsensusDiscovery):
        members = tuple(_stripped(one, alpha) for one in discovery.methods)
        return discovery.model_copy(update={"methods": members})
    changes: dict[str, Any] = {"stability": None}
    if alpha is not None and isinstance(discovery, _TESTED):
        changes["alpha"] = alpha
    return discovery.model_copy(update=changes)
