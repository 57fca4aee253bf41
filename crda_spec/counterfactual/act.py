"""Action: new rows in which X_P moves, its effects follow if they are to, and all else stays, bit for bit.

Every feature draws from a stream of its own name, every set of features that move together from one of theirs, so that
neither the order of the spec nor one feature more shifts another's draws. A row that breaks a contract, or lies off the
data, is redrawn whole: what moves together, or shares a partner row, stays together.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, Self, TypeVar

import numpy as np
import numpy.typing as npt

from crda_spec.counterfactual.acting import Acting, Move, plan_moves, resting_rows
from crda_spec.counterfactual.contract import fit_contract, settle, violations
from crda_spec.counterfactual.nearness import Nearness
from crda_spec.counterfactual.policies import Rows
from crda_spec.counterfactual.sources import draw_sources
from crda_spec.errors import Complaint, DataError
from crda_spec.records import NOBODY, Action, Array, IntArray, Table
from crda_spec.scm.mechanisms import Mechanisms
from crda_spec.seeds import stream

__all__ = ["Acting", "act", "fit_contract"]

TRIES = 10  # draws of a row that keeps breaking a rule, before it is clipped or dropped

Mask = npt.NDArray[np.bool_]


def act(
    train: Table,
    moved: Sequence[str],
    acting: Acting,
    *,
    seed: int,
    index: tuple[int, ...],
    mechanisms: Mechanisms | None = None,
    noise: Array | None = None,
) -> Action:
    """Factor * n new rows in which features of X_P move. The effects follow by `mechanisms`; all others are kept.

    noise: (n,) the abducted noise of the training rows, which only sources drawn by residual need.
    """
    count = round(acting.factor * len(train))
    source = draw_sources(acting.sources, train, count, noise=noise, rng=stream(seed, "sources", *index))
    movable = acting.movable(moved)
    held = {name: f"held fixed: {why}" for name, why in acting.held(moved).items()}
    following = () if mechanisms is None else tuple(mechanisms.words)
    moves = plan_moves(train, movable, acting, following=following)
    drawing = _Drawing(
        train=train,
        moves=moves,
        on_violation=acting.on_violation,
        mechanisms=mechanisms,
        seed=seed,
        index=index,
        nearness=Nearness.of(train, seed=seed, index=index),
    )
    chosen = _chosen(moves, count, acting.per_row, rng=stream(seed, "row-features", *index))
    if acting.unmoved:
        chosen = np.ones((count, len(moves)), dtype=np.bool_) if chosen is None else chosen
        chosen[resting_rows(count, acting.unmoved, rng=stream(seed, "unmoved", *index))] = False
    drawn = drawing.draw(source, chosen, attempt=0)
    support = None if acting.support is None else acting.support.learn(train, rows=count, seed=seed, index=index)
    outside, redrawn = redraw_until_sound(
        drawn,
        acting,
        again=lambda rows, attempt: drawing.draw(
            source[rows], None if chosen is None else chosen[rows], attempt=attempt
        ),
        judge=None if support is None else lambda x, rows: support.outside(x, source[rows]),
    )
    drawn, source, redrawn = drawn.take(~outside), source[~outside], redrawn[~outside]
    return Action(
        x=drawn.x,
        source=source,
        moved=movable,
        policies={move.feature.column.name: move.words for move in moves} | held,
        clipped=drawn.clipped(moves) | drawn.followed,
        propagated={} if mechanisms is None else mechanisms.words,
        unmoved=int(drawn.still.sum()),
        dropped=int(outside.sum()),
        redrawn=int(redrawn.sum()),
        partner=drawn.partner,
    )


def _chosen(moves: Sequence[Move], rows: int, per_row: int | None, *, rng: np.random.Generator) -> Mask | None:
    """(rows, len(moves)) which features each row moves: a random subset of this size, a set that moves as one whole."""
    units = np.array([move.unit for move in moves], dtype=np.int64)
    count = len(np.unique(units))
    if per_row is None or per_row >= count:
        return None
    if per_row == 1:
        picked: Mask = rng.integers(0, count, size=rows)[:, None] == units
        return picked
    rank = np.argsort(rng.random((rows, count)), axis=1)
    member = np.zeros((rows, count), dtype=np.bool_)
    np.put_along_axis(member, rank[:, :per_row], values=True, axis=1)
    return member[:, units]


@dataclass(slots=True, eq=False)
class _Drawn:
    """Rows under way."""

    x: Array  # (m, d), inside every contract
    broken: Mask  # (moves, m) which proposals had to be brought back
    still: Mask  # (m,) which rows came out as their source
    partner: IntArray | None  # (m,)
    followed: dict[str, int]  # how many values of each follower had to be brought back, in all draws

    def put(self, rows: IntArray, other: _Drawn) -> None:
        """Replaces these rows by newer ones."""
        self.x[rows], self.broken[:, rows], self.still[rows] = other.x, other.broken, other.still
        if self.partner is not None and other.partner is not None:
            self.partner[rows] = other.partner
        self.followed = {name: times + other.followed[name] for name, times in self.followed.items()}

    def take(self, rows: Mask) -> _Drawn:
        """Only these rows."""
        if rows.all():
            return self
        partner = None if self.partner is None else self.partner[rows]
        return _Drawn(self.x[rows], self.broken[:, rows], self.still[rows], partner, self.followed)

    def clipped(self, moves: Sequence[Move]) -> dict[str, int]:
        """By feature, how many values had to be brought back."""
        counts = self.broken.sum(axis=1).tolist()
        return {move.feature.column.name: count for move, count in zip(moves, counts, strict=True)}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Drawing:
    """All that is needed to draw rows, and to draw some of them again."""

    train: Table
    moves: tuple[Move, ...]
    on_violation: str
    mechanisms: Mechanisms | None
    seed: int
    index: tuple[int, ...]
    nearness: Nearness

    def draw(self, source: IntArray, chosen: Mask | None, *, attempt: int) -> _Drawn:
        """The rows made from these sources; every attempt has streams of its own."""
        x, rows = self.train.x[source], Rows(source=source, nearness=self.nearness)
        broken = np.zeros((len(self.moves), len(source)), dtype=np.bool_)
        still = np.ones(len(source), dtype=np.bool_)
        partner: IntArray | None = None
        complaints: list[Complaint] = []
        for number, move in enumerate(self.moves):
            column, cells = move.feature.column, move.feature.values[source]
            here = None if chosen is None else chosen[:, number]
            own, shared = self._stream(move.stream, attempt), self._stream(f"row-{move.policy.kind}", attempt)
            proposal = move.policy.propose(cells, move.feature, rows, rng=own, shared=shared)
            settled, broken[number] = settle(proposal.values, column)
            if here is not None:
                settled = np.where(here, settled, cells)
                broken[number] &= here
            if self.on_violation == "error":
                complaints += violations(proposal.values, broken[number], column)
            x[:, move.feature.position] = settled
            still &= (settled == cells) | np.isnan(cells)
            if proposal.partner is not None:
                partner = partner_of(partner, proposal.partner, here, source)
        if complaints:
            raise DataError(complaints)
        return self._followed(_Drawn(x, broken, still, partner, {}), source, attempt=attempt)

    def _followed(self, drawn: _Drawn, source: IntArray, *, attempt: int) -> _Drawn:
        """The same rows once the effects of what moved have followed."""
        if self.mechanisms is None:
            return drawn
        before = self.train.x[source]
        drawn.x, drawn.followed = self.mechanisms.follow(
            drawn.x, before, draws=lambda name: self._stream(f"follow:{name}", attempt), settle=fit_contract
        )
        drawn.still = ((drawn.x == before) | (np.isnan(drawn.x) & np.isnan(before))).all(axis=1)
        return drawn

    def _stream(self, name: str, attempt: int) -> np.random.Generator:
        return stream(self.seed, f"again {attempt} {name}" if attempt else name, *self.index)


def partner_of(known: IntArray | None, new: IntArray, here: Mask | None, source: IntArray) -> IntArray:
    """The second row each new row is made from; of several, that of the first feature in the table's order."""
    taken = new != source if here is None else here & (new != source)
    mine = np.where(taken, new, NOBODY)
    return mine if known is None else np.where(known == NOBODY, mine, known)


class UnderWay(Protocol):
    """Rows that may still be drawn again."""

    x: Array  # (m, d)
    broken: Mask  # (moves, m) which proposals had to be brought back

    def put(self, rows: IntArray, other: Self, /) -> None:
        """Replaces these rows by newer ones."""
        ...


DrawnT = TypeVar("DrawnT", bound=UnderWay)


def redraw_until_sound(
    drawn: DrawnT,
    acting: Acting,
    *,
    again: Callable[[IntArray, int], DrawnT],
    judge: Callable[[Array, IntArray], Mask] | None,
) -> tuple[Mask, Mask]:
    """Draws rows again where that is the rule. Returns which rows still lie off the data, and which were redrawn.

    again: draws these rows anew, at this attempt; a row keeps its source and its features.
    judge: which of these new rows lie off the data, given them and their positions; None: there is no guard.
    """
    count = len(drawn.x)
    redrawn = np.zeros(count, dtype=np.bool_)
    outside = np.zeros(count, dtype=np.bool_) if judge is None else judge(drawn.x, np.arange(count))
    for attempt in range(1, TRIES + 1):
        wrong = np.zeros(count, dtype=np.bool_)
        if acting.on_violation == "redraw":
            wrong |= drawn.broken.any(axis=0)
        if acting.support is not None and acting.support.on_outside == "redraw":
            wrong |= outside
        rows = np.flatnonzero(wrong)
        if not len(rows):
            break
        redrawn[rows] = True
        newer = again(rows, attempt)
        drawn.put(rows, newer)
        if judge is not None:
            outside[rows] = judge(newer.x, rows)
    return outside, redrawn
