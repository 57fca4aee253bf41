"""The declared graph as two augmenters use it: on the columns alone, what is hidden projected out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
import numpy.typing as npt
from pydantic import Field

from crda_spec.counterfactual.augmenters._protocol import BaseAugmenter, Given, NewRows
from crda_spec.records import Array, Column, IntArray
from crda_spec.scm.graph import CausalGraph, causes_first
from crda_spec.strict import Positive

_BLOCK = 1_000_000  # cells of a matrix of weights held at once
_ROUNDS = 20  # of draws at most, for as many rows as are asked for


def columns_of(given: Given) -> tuple[tuple[Column, ...], Array]:
    """The features and, last, the target: the nodes, by position."""
    train = given.train
    return (*train.features, train.target), np.column_stack([train.x, train.y])


@dataclass(frozen=True, slots=True)
class Admg:
    """The latent projection of a graph on the columns: arrows, and districts of nodes that hidden causes join."""

    order: tuple[int, ...]  # causes before effects
    parents: tuple[frozenset[int], ...]
    siblings: tuple[frozenset[int], ...]  # what shares a hidden cause with each node

    @classmethod
    def of(cls, given: Given) -> Admg:
        """On the features and the target."""
        if given.graph is None:
            raise ValueError("this augmenter needs the declared graph")
        return cls.project(given.graph, (*given.train.names, given.train.target.name))

    @classmethod
    def project(cls, graph: CausalGraph, names: tuple[str, ...]) -> Admg:
        """Onto these nodes; all others are hidden."""
        dag = graph.dag
        place = {dag.index[name]: at for at, name in enumerate(names)}
        reach: dict[int, frozenset[int]] = {}  # of every node: the kept nodes that it acts on through hidden ones alone

        order = causes_first(dag.parents, dag.children)
        for node in reversed(order):
            onward = (frozenset({place[child]}) if child in place else reach[child] for child in dag.children[node])
            reach[node] = frozenset(kept for heads in onward for kept in heads)
        parents: list[set[int]] = [set() for _ in names]
        siblings: list[set[int]] = [set() for _ in names]
        for node, heads in reach.items():
            for head in heads:
                if node in place:
                    parents[head].add(place[node])
                else:
                    siblings[head] |= heads - {head}
        kept = tuple(place[node] for node in order if node in place)
        return cls(kept, tuple(map(frozenset, parents)), tuple(map(frozenset, siblings)))

    @property
    def districts(self) -> tuple[frozenset[int], ...]:
        """All nodes in sets that hidden causes join."""
        found: list[frozenset[int]] = []
        for node in self.order:
            if not any(node in one for one in found):
                found.append(self.district(node, self.order))
        return tuple(found)

    def district(self, node: int, among: Iterable[int]) -> frozenset[int]:
        """The nodes that this one is joined with by hidden causes, without leaving these nodes; itself among them."""
        allowed, found, waiting = set(among), {node}, [node]
        while waiting:
            for other in self.siblings[waiting.pop()]:
                if other in allowed and other not in found:
                    found.add(other)
                    waiting.append(other)
        return frozenset(found)

    def pillow(self, node: int) -> tuple[int, ...]:
        """The Markov pillow: given these earlier nodes, the node is independent of all other earlier ones."""
        before = self.order[: self.order.index(node) + 1]
        district = self.district(node, before)
        return tuple(sorted(district.union(*(self.parents[one] for one in district)) - {node}))


class TeshimaSugiyama(BaseAugmenter):
    """Each column of a new row from a row of its own, the more likely the more alike its Markov pillow is.

    Teshima and Sugiyama 2021, "Incorporating causal graphical prior knowledge into predictive modeling via simple data
    augmentation" (UAI): Tian's factorization of the graph, each factor estimated by kernels. They weigh every possible
    combination of cells; here rows are drawn with these weights, which is the same in expectation and needs no pruning.
    Numbers have Gaussian kernels of the normal reference rule times `bandwidth`, labels have to be equal; a combination
    to which every kernel is 0 in double precision has no weight and is left out. With the published bandwidth that is
    nearly every one, unless values repeat or the graph joins little.
    """

    kind: Literal["teshima_sugiyama"] = Field(
        "teshima_sugiyama", description="Columns recombined along the graph, by kernels on each column's causes."
    )
    bandwidth: Positive = Field(
        0.001, le=100, description="Times the normal reference rule; the published experiments use 0.001."
    )

    search: ClassVar[Mapping[str, tuple[object, ...]]] = {"bandwidth": (0.001, 0.1, 1.0)}
    asks_graph: ClassVar[bool] = True
    learns: ClassVar[bool] = True
    streams: ClassVar[bool] = False

    def describe(self) -> str:
        """See `BaseAugmenter.describe`."""
        return "taken from a training row with similar causes in the graph"

    def make(self, given: Given, count: int, *, rng: np.random.Generator) -> NewRows:
        """See `BaseAugmenter.make`."""
        admg, columns, values = Admg.of(given), *columns_of(given)
        scaled = np.column_stack([self._scaled(column, one) for column, one in zip(columns, values.T, strict=True)])
        numeric = np.array([column.is_numeric for column in columns])
        found = [np.empty((0, len(columns)), dtype=np.int64)]
        for _ in range(_ROUNDS):
            left = count - sum(map(len, found))
            found += [_combined(admg, scaled, numeric, count, rng=rng)[:left]] if left else []
        made = np.take_along_axis(values, np.concatenate(found), axis=0)
        return NewRows(x=made[:, :-1], label=made[:, -1], source=None)

    def _scaled(self, column: Column, values: Array) -> Array:
        """(n,) the values in bandwidths of their kernel; labels as they are."""
        known = values[~np.isnan(values)]
        if not column.is_numeric or not len(known):
            return np.nan_to_num(values, nan=-1.0)
        spread = float(known.std(ddof=1)) if len(known) > 1 else 0.0
        quartiles = float(np.subtract(*np.quantile(known, [0.75, 0.25]))) / 1.349
        size = min(one for one in (spread, quartiles or spread)) * 1.06 * len(known) ** -0.2
        scaled: Array = np.nan_to_num((values - known.mean()) / (size * self.bandwidth or 1.0), nan=0.0)
        return scaled


def _combined(
    admg: Admg, scaled: Array, numeric: npt.NDArray[np.bool_], count: int, *, rng: np.random.Generator
) -> IntArray:
    """(m, k) the row that each cell comes from, of those among `count` draws that have any weight."""
    origin = np.zeros((count, scaled.shape[1]), dtype=np.int64)
    for node in admg.order:
        at = list(admg.pillow(node))
        if not at:
            origin[:, node] = rng.integers(0, len(scaled), size=len(origin))
            continue
        known = np.column_stack([scaled[origin[:, one], one] for one in at])
        drawn, alive = _drawn_rows(known, scaled[:, at], numeric[at], rng=rng)
        origin[:, node] = drawn
        origin = origin[alive]
    return origin


def _drawn_rows(
    wanted: Array, known: Array, numeric: npt.NDArray[np.bool_], *, rng: np.random.Generator
) -> tuple[IntArray, npt.NDArray[np.bool_]]:
    """(m,) a row of `known` (n, k) for each of `wanted` (m, k), by the product of kernels; whether one is above 0."""
    found, alive = np.zeros(len(wanted), dtype=np.int64), np.zeros(len(wanted), dtype=np.bool_)
    level, step = rng.random(len(wanted)), max(1, _BLOCK // max(1, len(known)))
    for at in range(0, len(wanted), step):
        rows = slice(at, at + step)
        score = np.zeros((len(wanted[rows]), len(known)))
        for column in range(known.shape[1]):
            gap = wanted[rows, column, None] - known[:, column]
            score -= 0.5 * gap**2 if numeric[column] else np.where(gap != 0.0, np.inf, 0.0)
        summed = np.cumsum(np.exp(score), axis=1)
        found[rows] = (summed < level[rows, None] * summed[:, -1:]).sum(axis=1)
        alive[rows] = summed[:, -1] > 0.0
    return np.minimum(found, len(known) - 1), alive
