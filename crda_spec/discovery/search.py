"""Discovery alone: the search that is wanted, on the rows of a table, with its resamples."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from crda_spec.discovery import Consensus, Discovery, Fci, Ges, Knowledge, Pc, Stability
from crda_spec.discovery.findings import OFTEN, Findings, compare
from crda_spec.discovery.knowledge import Constraints
from crda_spec.errors import Complaint, SpecError, did_you_mean, show
from crda_spec.records import Table
from crda_spec.scm.graph import CausalGraph


def search(
    table: Table,
    discovery: Discovery,
    *,
    source: str,
    seed: int,
    stability: Stability | None = None,
    declared: CausalGraph | None = None,
) -> Findings:
    """Searches the features and the target of a table; with resamples, each link carries its share of them.

    discovery: a search without resamples of its own.  declared: the expert's graph, to compare with.
    """
    x = np.column_stack([table.x, table.y])
    find = partial(discovery.graph, columns=(*table.features, table.target), seed=seed)
    often: tuple[tuple[str, str, float], ...] = ()
    with threadpool_limits(limits=1):
        if stability is None:
            graph = find(x)
        else:
            repeated = stability.repeat(find, x, seed=seed)
            graph, place = repeated.graph, repeated.graph.names.index
            often = tuple(
                (a, b, float(repeated.linked[place(a), place(b)]))
                for a, b in repeated.stable(OFTEN)
                if graph.edge(a, b) is None
            )
    return Findings(
        graph=graph,
        target=table.target.name,
        source=source,
        rows=len(table),
        complete=int(np.isfinite(x).all(axis=1).sum()),
        stability=stability,
        often=often,
        comparison=None if declared is None else compare(graph, declared),
        barred=frozenset(_barred(discovery, graph.names)),
    )


def _barred(discovery: Discovery, names: Sequence[str]) -> Iterator[tuple[str, str]]:
    """The arrows that what the expert told a search rules out."""
    for method in _methods(discovery):
        if not isinstance(method, Ges) and method.knowledge:
            tails, heads = np.nonzero(~Constraints.of(method.knowledge, names).may_cause)
            yield from ((names[tail], names[head]) for tail, head in zip(tails.tolist(), heads.tolist(), strict=True))


_METHODS = ("pc", "fci", "ges", "consensus")
_SLOW = (
    "ges",
    "consensus",
)  # seconds a search: a hundred of them are not for nothing


@dataclass(frozen=True, slots=True, kw_only=True)
class WantedSearch:
    """A search without resamples of its own, the resamples, and what the user should know."""

    discovery: Discovery
    stability: Stability | None
    notes: tuple[str, ...]


def wanted_search(
    written: Discovery | None, *, method: str | None, alpha: float | None, resamples: int | None
) -> WantedSearch:
    """The spec's search (PC when it has none), changed by what the command line says."""
    _check(written, method=method, alpha=alpha, resamples=resamples)
    start = written or Pc()
    notes: list[str] = []
    wanted = start
    if method is not None and method != start.kind:
        shared = _shared(start)
        made: dict[str, Pc | Fci | Ges] = {"pc": Pc(**shared), "fci": Fci(**shared), "ges": Ges()}
        wanted = Consensus(methods=tuple(made.values())) if method == "consensus" else made[method]
        if method == "ges" and shared.get("knowledge", Knowledge()):
            notes.append("GES takes no knowledge: what the spec says is known was not used")
    # As many resamples as asked for; else the spec's; else a hundred halves, unless each search is slow.
    stability = next((one.stability for one in _methods(start) if one.stability is not None), None)
    if resamples is None:
        stability = stability or (None if wanted.kind in _SLOW else Stability())
    else:
        stability = None if resamples == 0 else (stability or Stability()).model_copy(update={"resamples": resamples})
    if stability is None and resamples is None:
        notes.append("GES takes seconds a search, so no resamples were searched; --resamples 20 asks for them")
    return WantedSearch(discovery=_stripped(wanted, alpha), stability=stability, notes=tuple(notes))


def _check(written: Discovery | None, *, method: str | None, alpha: float | None, resamples: int | None) -> None:
    complaints = []
    if method not in (None, *_METHODS):
        hint = did_you_mean(str(method), _METHODS, otherwise="searches")
        complaints.append(Complaint(code="unknown-method", what=f"there is no search {show(method)}", hint=hint))
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


def _methods(discovery: Discovery) -> tuple[Pc | Fci | Ges, ...]:
    return discovery.methods if isinstance(discovery, Consensus) else (discovery,)


def _shared(discovery: Discovery) -> dict[str, Any]:
    """The settings that a search by tests hands over to another one: its knowledge above all."""
    for one in _methods(discovery):
        if not isinstance(one, Ges):
            return {name: getattr(one, name) for name in type(one).model_fields if name not in ("kind", "stability")}
    return {}


def _stripped(discovery: Discovery, alpha: float | None) -> Discovery:
    """Without resamples of its own, which are drawn around the whole search, and with the alpha asked for."""
    if isinstance(discovery, Consensus):
        return discovery.model_copy(update={"methods": tuple(_stripped(one, alpha) for one in discovery.methods)})
    changes: dict[str, Any] = {"stability": None}
    if alpha is not None and not isinstance(discovery, Ges):
        changes["alpha"] = alpha
    return discovery.model_copy(update=changes)
