"""Cycles of a list of directed edges, each with the edge that closes it in the order of writing."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterator, Sequence

MAX_CYCLES = 10  # enough to repair a graph; a tangle of thousands helps nobody

Pair = tuple[str, str]


def find_cycles(edges: Sequence[Pair]) -> Iterator[tuple[int, tuple[str, ...]]]:
    """For each cycle the position of the edge that closes it and its nodes, first and last the same.

    Reading the edges in order, the first one that makes a cycle is blamed and left out of the further reading, so
    every cycle reported has its own culprit. Each takes a logarithmic number of linear passes; at most MAX_CYCLES.
    """
    kept = list(range(len(edges)))
    for _ in range(MAX_CYCLES):
        if _is_acyclic([edges[i] for i in kept]):
            return
        low, high = 1, len(kept)  # the shortest cyclic prefix has more than `low - 1` and at most `high` edges
        while low < high:
            middle = (low + high) // 2
            if _is_acyclic([edges[i] for i in kept[:middle]]):
                low = middle + 1
            else:
                high = middle
        closing = kept.pop(low - 1)
        tail, head = edges[closing]
        yield closing, (*_shortest_route([edges[i] for i in kept[: low - 1]], head, tail), head)


def _is_acyclic(edges: Sequence[Pair]) -> bool:
    """Kahn's algorithm: remove nodes without a parent until none is left, or none can be removed."""
    waiting: dict[str, int] = {}
    children: defaultdict[str, list[str]] = defaultdict(list)
    for tail, head in edges:
        waiting.setdefault(tail, 0)
        waiting[head] = waiting.get(head, 0) + 1
        children[tail].append(head)
    ready = [node for node, parents in waiting.items() if not parents]
    removed = 0
    while ready:
        removed += 1
        for child in children[ready.pop()]:
            waiting[child] -= 1
            if not waiting[child]:
                ready.append(child)
    return removed == len(waiting)


def _shortest_route(edges: Sequence[Pair], start: str, end: str) -> tuple[str, ...]:
    """The nodes of a shortest directed route, which the caller knows to exist; `(start,)` when that is the end."""
    children: defaultdict[str, list[str]] = defaultdict(list)
    for tail, head in edges:
        children[tail].append(head)
    came_from = {start: start}
    queue = deque([start])
    while end not in came_from:
        node = queue.popleft()
        for child in children[node]:
            if child not in came_from:
                came_from[child] = node
                queue.append(child)
    route = [end]
    while route[-1] != start:
        route.append(came_from[route[-1]])
    return tuple(reversed(route))
