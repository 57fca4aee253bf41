"""One edge of a causal graph, and where somebody wrote it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from crda_spec.errors import Place

Mark = Literal["->", "<->"]


@dataclass(frozen=True, slots=True, order=True)
class Edge:
    """One edge and where it was written: `tail -> head`, or `tail <-> head` for a hidden common cause.

    `path` is the place inside the spec (`causal.graph.edges.3`); `at` holds the characters, counted from 1, at which
    the names of tail and head start in that text, 0 where there is no text. An edge of a graph file has a `place`
    instead: where the first of its two names stands. None of these takes part in comparisons.
    """

    tail: str
    head: str
    mark: Mark = "->"
    path: str = field(default="", compare=False)
    at: tuple[int, int] = field(default=(0, 0), compare=False)
    place: Place | None = field(default=None, compare=False)

    def __str__(self) -> str:
        return f"{self.tail} {self.mark} {self.head}"

    @property
    def ends(self) -> tuple[str, str]:
        """Tail and head; of a bidirected edge, which has neither, the ends in the order of their names."""
        swap = self.mark == "<->" and self.head < self.tail
        return (self.head, self.tail) if swap else (self.tail, self.head)

    @property
    def where(self) -> str:
        """The place in the graph file, or the path inside the spec."""
        return self.path if self.place is None else str(self.place)
