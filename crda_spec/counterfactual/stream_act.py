"""Action on one block of rows that are not the training rows: what `act` does, with the block's own streams."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from crda_spec.counterfactual.act import partner_of, redraw_until_sound
from crda_spec.counterfactual.acting import Acting, Move, plan_moves, resting_rows
from crda_spec.counterfactual.contract import settle
from crda_spec.counterfactual.nearness import Nearness
from crda_spec.counterfactual.policies import Rows
from crda_spec.counterfactual.support import Support
from crda_spec.records import NOBODY, Action, Array, IntArray, Table
from crda_spec.seeds import stream

Mask = npt.NDArray[np.bool_]


def act_on_block(
    x: Array,
    source: IntArray,
    *,
    train: Table,
    moved: Sequence[str],
    acting: Acting,
    support: Support | None,
    seed: int,
    number: int,
) -> Action:
    """The source rows with their features moved. A row that breaks a rule is drawn again, or dropped, as in a run.

    x: (b, d) the block's rows.  source: (m,) positions among them, ascending.
    """
    moves = plan_moves(train, moved, acting, following=())
    drawing = _Drawing(x=x, train=train, moves=moves, seed=seed, number=number)
    moving = drawing.moving(len(source), acting)
    drawn = drawing.draw(source, moving, attempt=0)
    strangers = None if support is None else support.strangers(x, train)
    outside, redrawn = redraw_until_sound(
        drawn,
        acting,
        again=lambda rows, attempt: drawing.draw(
            source[rows], None if moving is None else moving[rows], attempt=attempt
        ),
        judge=None if strangers is None else lambda x, rows: strangers.outside(x, source[rows]),
    )
    kept = ~outside
    counts = drawn.broken[:, kept].sum(axis=1).tolist()
    return Action(
        x=drawn.x if kept.all() else drawn.x[kept],
        source=source if kept.all() else source[kept],
        moved=tuple(moved),
        policies={move.feature.column.name: move.words for move in moves},
        clipped={move.feature.column.name: count for move, count in zip(moves, counts, strict=True)},
        partner=None if drawn.partner is None else drawn.partner[kept],
        dropped=int(outside.sum()),
        redrawn=int(redrawn[kept].sum()),
        astray=0 if strangers is None else strangers.astray,
    )


@dataclass(slots=True, eq=False)
class _Drawn:
    """Rows under way."""

    x: Array  # (m, d)
    broken: Mask  # (moves, m) which proposals had to be brought back
    partner: IntArray | None  # (m,)

    def put(self, rows: IntArray, other: _Drawn) -> None:
        """Replaces these rows by newer ones."""
        self.x[rows], self.broken[:, rows] = other.x, other.broken
        if self.partner is not None and other.partner is not None:
            self.partner[rows] = other.partner


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Drawing:
    """All that is needed to draw a block's rows, and to draw some of them again."""

    x: Array
    train: Table
    moves: tuple[Move, ...]
    seed: int
    number: int

    def moving(self, rows: int, acting: Acting) -> Mask | None:
        """(rows, units) which features each row moves, a set that moves as one being one unit; None: all of them."""
        units = 1 + max((move.unit for move in self.moves), default=-1)
        chosen: Mask | None = None
        if acting.per_row is not None and acting.per_row < units:
            uniform = stream(self.seed, "generate-features", self.number).random((rows, units))
            chosen = np.argsort(np.argsort(uniform, axis=1), axis=1) < acting.per_row
        if acting.unmoved:
            chosen = np.ones((rows, units), dtype=np.bool_) if chosen is None else chosen
            rng = stream(self.seed, "generate-unmoved", self.number)
            chosen[resting_rows(rows, acting.unmoved, rng=rng)] = False
        return chosen

    def draw(self, source: IntArray, moving: Mask | None, *, attempt: int) -> _Drawn:
        """The rows made from these; every attempt has streams of its own."""
        new = self.x.take(source, axis=0)  # a quarter of the time of x[source]
        # No training row is the one that these come from: to a policy that takes a partner, each of them is another.
        rows = Rows(
            source=np.full(len(source), NOBODY),
            nearness=Nearness.of(self.train, seed=self.seed, index=(self.number,)),
        )
        broken = np.zeros((len(self.moves), len(source)), dtype=np.bool_)
        partner: IntArray | None = None
        for at, move in enumerate(self.moves):
            feature = move.feature
            here = None if moving is None else moving[:, move.unit]
            cells = np.ascontiguousarray(new[:, feature.position])
            own, shared = self._stream(f":{move.stream}", attempt), self._stream(f"-shared:{move.policy.kind}", attempt)
            proposal = move.policy.propose(cells, feature, rows, rng=own, shared=shared)
            settled, broken[at] = settle(proposal.values, feature.column)
            if here is not None:
                settled = np.where(here, settled, cells)
                broken[at] &= here
            new[:, feature.position] = settled
            if proposal.partner is not None:
                partner = partner_of(partner, proposal.partner, here, rows.source)
        return _Drawn(new, broken, partner)

    def _stream(self, name: str, attempt: int) -> np.random.Generator:
        said = f"generate{name}"
        return stream(self.seed, f"again {attempt} {said}" if attempt else said, self.number)
