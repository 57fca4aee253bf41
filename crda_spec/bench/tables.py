"""The tables of a suite: the paper's nine, worlds whose graph is known, and those that a suite describes itself.

A world's graph is who stands in whose equation. It is given right or not at all, or wrong in one of four ways: `lost`
(the arrow of a cause into the target is missing), `extra` (a feature that is no cause gets one), `turned` (a cause's
arrow points the other way), `undrawn` (hidden causes are left out). Which arrow is wrong changes with the seed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from pydantic import TypeAdapter, ValidationError

from crda_spec.data.raw import read_catalogue
from crda_spec.data.sources import Source, read_source
from crda_spec.data.sources.benchmark import BENCHMARKS
from crda_spec.data.worlds import WORLDS, World, declare
from crda_spec.seeds import stream

GraphKind = Literal["none", "right", "lost", "extra", "turned", "undrawn"]
NINE = "nine"  # what stands for the paper's tables
_TEST_ROWS = 2000  # of a world
_WORLD_ROWS = 200  # to train on, where a suite says none

_judged = read_catalogue(Path(__file__).with_name("known_worlds.yaml"))["judge"]
KNOWN: Mapping[str, World] = {
    **WORLDS,
    **{
        name: declare(
            name=name, equations=facts["equations"], target=facts["target"], hidden=tuple(facts.get("hidden", ()))
        )
        for name, facts in _judged.items()
    },
}
NAMES = (NINE, *BENCHMARKS, *KNOWN)


@dataclass(frozen=True, kw_only=True)
class BenchTable:
    """A table as cells use it."""

    name: str
    dataset: Mapping[str, Any] = field(default_factory=dict)
    causal: Mapping[str, Any] | None = None
    base: Path = Path()  # where its relative paths start
    world: World | None = None

    @cached_property
    def facts(self) -> tuple[int, str]:
        """How many rows there are, and the hash of the data; of a source that draws, what it would draw by itself."""
        if self.world is not None:
            return _WORLD_ROWS, ""
        source = _SOURCE.validate_python(dict(self.dataset["source"]), strict=False)
        if source.kind == "synthetic":
            return source.rows, ""
        raw = read_source(source, self.base, target=str(self.dataset.get("target", "")), seed=0)
        return len(raw.frame), raw.sha256

    def rows_of(self, size: float) -> int:
        """How many rows a size means: so many, at most all, or a share of them."""
        rows = self.facts[0]
        return int(size * rows + 1e-9) if size <= 1 else int(size) if self._draws else min(int(size), rows)

    @property
    def _draws(self) -> bool:
        return self.world is not None or self.dataset.get("source", {}).get("kind") == "synthetic"

    @property
    def graphs(self) -> tuple[GraphKind, ...]:
        """The graphs that it can be given."""
        if self.world is None:
            return ("right", "none") if self.causal is not None else ("none",)
        hidden: tuple[GraphKind, ...] = ("undrawn",) if self.world.hidden else ()
        return ("none", "right", "lost", "extra", "turned", *hidden)

    def sections(self, rows: int, graph: GraphKind, seed: int) -> dict[str, Any]:
        """`dataset` and `causal` of a spec: so many rows, with this graph."""
        if self.world is not None:
            return {**_drawn(self.world, rows), **_causal(self.world, graph, seed)}
        dataset = dict(self.dataset)
        if self._draws:
            dataset["source"] = {**dataset["source"], "rows": rows}
        elif rows < self.facts[0]:
            dataset["sample"] = rows
        return {"dataset": dataset, **({} if self.causal is None or graph == "none" else {"causal": dict(self.causal)})}


_SOURCE: TypeAdapter[Any] = TypeAdapter(Source)


def named_tables(name: str) -> tuple[BenchTable, ...]:
    """The tables of a name of ours; none if it is not one."""
    if name == NINE:
        return tuple(table for one in BENCHMARKS for table in named_tables(one))
    if name in BENCHMARKS:
        source = {"kind": "benchmark", "name": name}
        dataset = {"source": source, "target": BENCHMARKS[name].target, "duplicates": {"kind": "keep"}}
        return (BenchTable(name=name, dataset=dataset),)
    return (BenchTable(name=name, world=KNOWN[name]),) if name in KNOWN else ()


def readable(dataset: Mapping[str, Any]) -> bool:
    """Whether its source can be asked for its rows; if not, the checks of the spec say why."""
    try:
        _SOURCE.validate_python(dict(dataset.get("source") or {}), strict=False)
    except (ValidationError, TypeError, ValueError):
        return False
    return True


def _drawn(world: World, rows: int) -> dict[str, Any]:
    source: dict[str, Any] = {"kind": "synthetic"}
    if world.name in WORLDS:
        source["world"] = world.name
    else:
        source |= {"equations": _judged[world.name]["equations"], "hidden": list(world.hidden)}
    test = {"kind": "source", "source": {**source, "rows": _TEST_ROWS}}
    return {"dataset": {"source": {**source, "rows": rows}, "target": world.target, "split": test}}


def _causal(world: World, graph: GraphKind, seed: int) -> dict[str, Any]:
    """The section `causal`, empty without a graph."""
    if graph == "none":
        return {}
    edges, latent = _edges(world, graph, seed), list(world.hidden if graph != "undrawn" else ())
    tied = {name for edge in edges for name in edge}
    return {
        "causal": {
            "graph": {
                "kind": "edges",
                "edges": [f"{tail} -> {head}" for tail, head in edges],
                "latent": [name for name in latent if name in tied],
                "unrelated": [name for name in world.features() if name not in tied],
            }
        }
    }


def _edges(world: World, graph: GraphKind, seed: int) -> list[tuple[str, str]]:
    """The arrows, right or wrong."""
    target, hidden = world.target, world.hidden
    edges = [(parent, each.name) for each in world.equations for parent in each.parents]
    if graph == "right":
        return edges
    if graph == "undrawn":
        return [edge for edge in edges if edge[0] not in hidden and edge[1] not in hidden]
    causes = [tail for tail, head in edges if head == target and tail not in hidden]
    others = [name for name in world.features() if name not in {*causes, *_below(edges, target)}]
    rng = stream(seed, "wrong-graph", ("lost", "extra", "turned").index(graph))
    if graph == "lost":
        gone = str(rng.choice(causes))
        return [edge for edge in edges if edge != (gone, target)]
    if graph == "extra":
        return [*edges, (str(rng.choice(others)), target)] if others else edges
    leaves = [name for name in causes if not any(head == name for _, head in edges)]
    turned = str(rng.choice(leaves or causes))
    flipped = [(target, turned) if edge == (turned, target) else edge for edge in edges]
    return _acyclic(flipped, target)


def _acyclic(edges: Sequence[tuple[str, str]], target: str) -> list[tuple[str, str]]:
    """Without the arrows that would lead back into the target from its new effect."""
    below = _below(edges, target)
    return [edge for edge in edges if not (edge[1] == target and edge[0] in below)]


def _below(edges: Sequence[tuple[str, str]], target: str) -> set[str]:
    """The target and all that follows from it."""
    below, added = {target}, True
    while added:
        more = {head for tail, head in edges if tail in below} - below
        below, added = below | more, bool(more)
    return below
