"""Where the nodes of a causal graph go: layers from cause to effect, few crossings, short edges.

The usual four steps of a layered drawing. Layers: the longest path from a root, with the target as far right as its
causes allow. Order: barycentre sweeps. Height: each layer's least-squares answer to where its neighbours are. Long
edges bend at an invisible waypoint in every layer they pass, so that they run between boxes and not behind them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from graphlib import TopologicalSorter
from itertools import pairwise

SWEEPS = 6

Edge = tuple[str, str]
Way = tuple[str, str, bool]  # from, to, and whether it is a tie (which may run beside an edge)
Waypoint = tuple[str, str, bool, int]  # of a way, in a layer
Item = str | Waypoint


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """Where each node is, in layers and in pixels down, and how each edge and tie bends on its way."""

    layer: Mapping[str, int]
    height: Mapping[str, float]  # of the middle of each node
    bends: Mapping[Way, tuple[tuple[int, float], ...]]  # (layer, height) of the waypoints, from left to right
    layers: int
    bottom: float  # the middle of the lowest node; the highest is at 0


def arrange(
    nodes: Sequence[str],
    edges: Sequence[Edge],
    *,
    last: str | None,
    ties: Sequence[Edge],
    rank: Mapping[str, int],
    gap: float,
) -> Layout:
    """Arranges the nodes.

    edges: from cause to effect; those that close a cycle are set aside for the layering. last: the node that stands
    right of all that it does not cause. ties: pairs that like to be near each other without an order. rank: the band
    of each node within its layer, smaller is higher. gap: pixels between two neighbours' middles.
    """
    forward = _acyclic(nodes, edges)
    layer = _layers(nodes, forward, last)
    sideways = [(start, end) if layer[start] <= layer[end] else (end, start) for start, end in ties]
    ways = [(start, end, False) for start, end in forward] + [(start, end, True) for start, end in sideways]
    columns, links, bends = _with_waypoints(nodes, ways, layer, rank)
    near: dict[Item, list[Item]] = {item: [] for column in columns for item in column}
    for start, end in links:
        near[start].append(end)
        near[end].append(start)
    lowest = max(rank.values(), default=0)
    # A waypoint stays on top when the node it comes from does.
    bands = {
        item: rank[item] if isinstance(item, str) else rank[item[0]] if rank[item[0]] <= 1 else lowest for item in near
    }
    columns = _untangle(columns, near, bands)
    height = _heights(columns, near, gap)
    top = min(height.values(), default=0.0)
    return Layout(
        layer=layer,
        height={name: height[name] - top for name in nodes},
        bends={way: tuple((point[3], height[point] - top) for point in path) for way, path in bends.items()},
        layers=len(columns),
        bottom=max((value - top for value in height.values()), default=0.0),
    )


def _acyclic(nodes: Sequence[str], edges: Sequence[Edge]) -> list[Edge]:
    """The edges without those that lead back to where a walk along them came from."""
    children: dict[str, list[str]] = {name: [] for name in nodes}
    for start, end in edges:
        children[start].append(end)
    state: dict[str, int] = {}  # 1 while on the walk, 2 when done
    kept: list[Edge] = []
    for root in nodes:
        walk = [(root, iter(children[root]))] if root not in state else []
        state.setdefault(root, 1)
        while walk:
            name, rest = walk[-1]
            child = next(rest, None)
            if child is None:
                state[name] = 2
                walk.pop()
            elif state.get(child) != 1:
                kept.append((name, child))
                if child not in state:
                    state[child] = 1
                    walk.append((child, iter(children[child])))
    wanted = set(kept)
    return [edge for edge in dict.fromkeys(edges) if edge in wanted]


def _layers(nodes: Sequence[str], edges: Sequence[Edge], last: str | None) -> dict[str, int]:
    """Longest path from a root; then roots move next to their nearest effect, and `last` behind all but its effects."""
    parents: dict[str, list[str]] = {name: [] for name in nodes}
    children: dict[str, list[str]] = {name: [] for name in nodes}
    for start, end in edges:
        parents[end].append(start)
        children[start].append(end)
    order = tuple(TopologicalSorter(parents).static_order())
    effects = {last}
    for name in order:
        effects |= set() if effects.isdisjoint(parents[name]) else {name}
    layer: dict[str, int] = {}
    for name in sorted(order, key=effects.__contains__):  # stable, so that causes still come before effects
        before = layer.values() if name == last else (layer[parent] for parent in parents[name])
        layer[name] = 1 + max(before, default=-1)
    for name in reversed(order):
        if name != last and children[name] and len(parents[name]) < len(children[name]):
            layer[name] = min(layer[child] for child in children[name]) - 1
    return layer


def _with_waypoints(
    nodes: Sequence[str], ways: Sequence[Way], layer: Mapping[str, int], rank: Mapping[str, int]
) -> tuple[list[list[Item]], list[tuple[Item, Item]], dict[Way, tuple[Waypoint, ...]]]:
    """The layers with a waypoint for every layer that a way passes, the short links, and each way's waypoints."""
    columns: list[list[Item]] = [[] for _ in range(1 + max(layer.values(), default=-1))]
    for name in sorted(nodes, key=lambda name: rank[name]):
        columns[layer[name]].append(name)
    links: list[tuple[Item, Item]] = []
    bends: dict[Way, tuple[Waypoint, ...]] = {}
    for start, end, tie in ways:
        path = tuple((start, end, tie, level) for level in range(layer[start] + 1, layer[end]))
        for point in path:
            columns[point[3]].append(point)
        stops: list[Item] = [start, *path, end]
        links.extend(pairwise(stops))
        bends[start, end, tie] = path
    return columns, links, bends


def _untangle(
    columns: list[list[Item]], near: Mapping[Item, Sequence[Item]], bands: Mapping[Item, int]
) -> list[list[Item]]:
    """Barycentre sweeps, there and back: each item goes to the mean place of its neighbours, within its band."""
    place = {item: height for column in columns for item, height in _centred(column).items()}
    for sweep in range(SWEEPS):
        for column in columns if sweep % 2 == 0 else reversed(columns):
            wishes = _means(column, near, place)
            # Sorting is stable: items with equal wishes keep their order, and the drawing its bytes.
            column.sort(key=lambda item, wishes=wishes: (bands[item], wishes[item]))  # type: ignore[misc]
            place.update(_centred(column))
    return columns


def _means(
    column: Sequence[Item], near: Mapping[Item, Sequence[Item]], place: Mapping[Item, float]
) -> dict[Item, float]:
    """For each item the mean place of its neighbours; its own where it has none."""
    return {
        item: sum(place[other] for other in near[item]) / len(near[item]) if near[item] else place[item]
        for item in column
    }


def _centred(column: Sequence[Item]) -> dict[Item, float]:
    return {item: index - (len(column) - 1) / 2 for index, item in enumerate(column)}


def _heights(columns: Sequence[Sequence[Item]], near: Mapping[Item, Sequence[Item]], gap: float) -> dict[Item, float]:
    """Heights that keep every layer's order and distances and, sweep by sweep, straighten the edges."""
    height = {item: gap * place for column in columns for item, place in _centred(column).items()}
    for sweep in range(SWEEPS):
        for column in columns if sweep % 2 == 0 else reversed(columns):
            wishes = _means(column, near, height)
            height.update(zip(column, _spaced([wishes[item] for item in column], gap), strict=True))
    return height


def _spaced(wishes: Sequence[float], gap: float) -> list[float]:
    """The nearest heights, in least squares, at least `gap` apart: pooling neighbours that would come too close."""
    pools: list[tuple[float, int]] = []  # (mean, size) of wishes, each freed of its place in the queue
    for index, wish in enumerate(wishes):
        mean, size = wish - index * gap, 1
        while pools and pools[-1][0] > mean:
            earlier, members = pools.pop()
            mean, size = (earlier * members + mean * size) / (members + size), members + size
        pools.append((mean, size))
    free = [mean for mean, size in pools for _ in range(size)]
    return [value + index * gap for index, value in enumerate(free)]
