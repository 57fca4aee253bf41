"""The family's contract: training rows in, new rows with labels out. Nothing is claimed of them; the gate tests them.

Encoding, fits, gate, ledger and record are the same as for our own recipe; only act and predict are an augmenter's.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from crda_spec.counterfactual.neighbours import Space
from crda_spec.errors import Complaint
from crda_spec.records import Array, IntArray, Predictor, Table
from crda_spec.scm.graph import CausalGraph
from crda_spec.strict import Strict

ALL_ROWS = "learnt from all rows that no early stopping watches; its source is the training row nearest to it"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Given:
    """What an augmenter may look at: training rows, and what was learnt from training rows alone."""

    train: Table  # the rows to make new ones from
    teacher: Predictor  # the plain model, for those that ask no other
    noise: Array  # (n,) what the teacher leaves of each row's outcome
    movable: tuple[int, ...] = ()  # positions of the features that move: all, or those that the partition frees
    graph: CausalGraph | None = None
    known: Table | None = None  # the rows that means, spreads and legal values are learnt from; None: the same

    @property
    def reference(self) -> Table:
        """The rows that say what a column is like."""
        return self.train if self.known is None else self.known

    @property
    def numbers(self) -> tuple[int, ...]:
        """Positions of the features whose sums and differences mean something."""
        return tuple(at for at, column in enumerate(self.train.features) if column.is_numeric)

    def spreads(self) -> Array:
        """(k,) the standard deviation of each number, 0 of one that no row knows."""
        cells = self.reference.x[:, list(self.numbers)].T
        return np.array([one[~np.isnan(one)].std() if not np.isnan(one).all() else 0.0 for one in cells])

    def points(self) -> Array:
        """(n, p) the rows where distances mean something: standardised numbers, labels alike or different."""
        return Space.learn(self.train).encode(self.train.x)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class NewRows:
    """What an augmenter proposes, before the columns' contracts are applied."""

    x: Array  # (m, d)
    label: Array | None  # (m,) before the noise, where there is any; None: what the teacher predicts there
    source: IntArray | None  # (m,) the training row each was made from; None: of all rows, so the nearest stands there
    partner: IntArray | None = None  # (m,) the second row each was made from
    noise_source: IntArray | None = None  # (m,) the training row whose noise each carries; None: none is added


class BaseAugmenter(Strict):
    """How new rows are made: the settings that a spec writes, and the making itself."""

    asks_teacher: ClassVar[bool] = False  # it has use for a teacher of its own choice: `counterfactual.teacher`
    asks_graph: ClassVar[bool] = False  # it needs the declared graph
    asks_partition: ClassVar[bool] = False  # it moves what the certificate frees and `partition` chooses
    # Every row depends on all rows: it is then given only those that early stopping does not watch.
    learns: ClassVar[bool] = False
    streams: ClassVar[bool] = True  # `generate` can make rows of one block of a large table without the others
    trains: ClassVar[bool] = False  # it fits a generative network, so that drawing its rows again takes minutes
    package: ClassVar[str] = ""  # of the extra `rivals`, where it needs one
    search: ClassVar[Mapping[str, tuple[object, ...]]] = {}  # values of its settings that a fair comparison tries
    # Of the section `counterfactual`, unless the spec says otherwise.
    preset: ClassVar[Mapping[str, object]] = {"factor": 1.0}

    @property
    def label(self) -> str:
        """How messages call it."""
        return str(self.kind)  # type: ignore[attr-defined]

    @abstractmethod
    def describe(self) -> str:
        """What it does to a feature, in words for ledger and report."""

    @abstractmethod
    def make(self, given: Given, count: int, *, rng: np.random.Generator) -> NewRows:
        """`count` new rows, or fewer where the method finds no more. Draws only from `rng`, never writes to `given`."""

    def complaints(self) -> Iterator[Complaint]:
        """What no single field can know."""
        yield from ()


def sources_of(rows: int, count: int, *, rng: np.random.Generator) -> IntArray:
    """(count,) each row equally often, the remainder a random sample without repetition."""
    times, rest = divmod(count, rows)
    chosen = np.sort(rng.choice(rows, size=rest, replace=False))
    return np.concatenate([np.tile(np.arange(rows), times), chosen]).astype(np.int64)


def others_than(source: IntArray, rows: int, *, rng: np.random.Generator) -> IntArray:
    """(m,) for each row any other one, all as likely; the row itself where there is no other."""
    if rows < 2:
        return source
    drawn = rng.integers(0, rows - 1, size=len(source))
    return np.asarray(drawn + (drawn >= source), dtype=np.int64)


def mixed(given: Given, source: IntArray, partner: IntArray, share: Array, *, rng: np.random.Generator) -> Array:
    """(m, d) share * source + (1 - share) * partner; a label is the source's with probability `share`.

    A cell that is missing in either row is missing.
    """
    one, other = given.train.x[source], given.train.x[partner]
    part = share[:, None]
    blend = part * one + (1.0 - part) * other
    picked = np.where(rng.random(one.shape) < part, one, other)
    numeric: npt.NDArray[np.bool_] = np.isin(np.arange(one.shape[1]), given.numbers)
    return np.asarray(np.where(numeric, blend, picked), dtype=np.float64)
