"""Synthetic rows for tables larger than memory: block after block, each with random streams of its own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from crda_spec.counterfactual.act import Acting, Move, partner_of, plan_moves, redraw_until_sound, resting_rows, settle
from crda_spec.counterfactual.licence import licence_of
from crda_spec.counterfactual.nearness import Nearness
from crda_spec.counterfactual.policies import Interpolate, Resample, Rows
from crda_spec.counterfactual.predict import label, matched_rows
from crda_spec.counterfactual.support import Support
from crda_spec.errors import Complaint
from crda_spec.records import (
    NOBODY,
    Action,
    Array,
    Counterfactuals,
    IntArray,
    NoiseScale,
    Predictor,
    ResidualDraw,
    Table,
)
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


BLOCK = 1 << 15  # new rows of one block, about
_MOST_SOURCES = 4 * BLOCK  # rows read for one block, however few new ones come of them

# Policies that look at no other row than the one they move, or at any training row: only these can leave the training
# rows behind. A row like the one that is moved would have to be looked for.
_ANYWHERE = frozenset({"scale", "shift", "jitter", "quantile", "resample", "flip", "grid", "interpolate"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Quota:
    """How many new rows the source rows give, divided among blocks. Exact in total, and no row is favoured."""

    sources: int  # rows of the file
    made: int  # new rows

    @property
    def block(self) -> int:
        """Source rows of a block, but for the last: a function of the two numbers alone."""
        return max(1, min(_MOST_SOURCES, BLOCK * self.sources // max(1, self.made)))

    @property
    def blocks(self) -> int:
        """How many blocks there are."""
        return -(-self.sources // self.block)

    def of(self, number: int) -> int:
        """New rows of the block with this number, counted from 0."""
        first, last = number * self.block, min((number + 1) * self.block, self.sources)
        return last * self.made // self.sources - first * self.made // self.sources


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Generation:
    """All that turns real rows into synthetic ones, as a finished run did it."""

    train: Table  # the run's training rows
    noise: Array  # (n,) their abducted noise, which a matched draw lends
    teacher: Predictor
    scale: NoiseScale | None  # None: additive noise
    moved: tuple[str, ...]
    acting: Acting
    retention: float
    draw: ResidualDraw
    weight: float
    seed: int
    support: Support | None = None  # where the training rows say that the data are, if a guard was declared

    @property
    def needs_outcomes(self) -> bool:
        """Whether the rows' own y is needed: only to abduct the noise that they lend to their copies."""
        return self.retention > 0 and self.draw == "own"


def cannot_stream(acting: Acting, train: Table, moved: tuple[str, ...]) -> Iterator[Complaint]:
    """What a finished run may have used, and what cannot be done block after block."""
    hint = (
        "use a policy that looks for none, such as scale, quantile, resample or interpolate towards any, and run again"
    )
    for column in (train.features[position] for position in train.positions(moved)):
        policy = acting.policy(column)
        near = isinstance(policy, Resample) and policy.weights == "neighbour"
        near |= isinstance(policy, Interpolate) and policy.partner == "near"
        if policy.kind not in _ANYWHERE or near:
            what = f"'{column.name}' was moved by {policy.kind}, which looks for other rows like it"
            yield Complaint(code="cannot-stream", path=f"perturbation.features.{column.name}", what=what, hint=hint)
    for path, used, what, remedy in (
        ("perturbation.sources", acting.sources != "every", "source rows were drawn by weight", "use kind: every"),
        ("perturbation.on_violation", acting.on_violation == "error", "one bad row would end it", "use clip or redraw"),
    ):
        if used:
            yield Complaint(code="cannot-stream", path=path, what=what, hint=f"{remedy}, and run again")


def generate_block(generation: Generation, x: Array, y: Array | None, *, number: int, quota: int) -> Counterfactuals:
    """The new rows of one block, fewer than `quota` where the guard drops some.

    Positions in the result count the block's own rows; partners, and the rows that lend matched noise, are training
    rows.

    x: (b, d) the block's rows.  y: (b,) their outcomes; None when they are not needed.
    """
    action = act_on_block(
        x,
        _sources(len(x), quota, rng=stream(generation.seed, "generate-sources", number)),
        train=generation.train,
        moved=generation.moved,
        acting=generation.acting,
        support=generation.support,
        seed=generation.seed,
        number=number,
    )
    source = action.source  # what lay off the data may have been dropped
    noise, carriers = _noise(generation, x, y, source, number=number)
    scale, clipped = None, 0
    if generation.retention > 0 and generation.scale is not None:
        scale, clipped = generation.scale.at(action.x)
    prediction = generation.teacher.predict(action.x)
    return Counterfactuals(
        action=action,
        prediction=prediction,
        noise=noise,
        retention=generation.retention,
        y=label(prediction, generation.retention, scale, noise),
        weight=generation.weight,
        licence=licence_of(generation.retention),
        draw=generation.draw,
        scale=scale,
        noise_source=carriers,
        scale_clipped=clipped,
    )


def _sources(rows: int, quota: int, *, rng: np.random.Generator) -> IntArray:
    """Each row equally often; the remainder is a random sample without repetition. Ascending."""
    times, rest = divmod(quota, rows)
    if not rest:
        return np.repeat(np.arange(rows), times)
    copies = np.full(rows, times, dtype=np.int64)
    copies[rng.permutation(rows)[:rest]] += 1
    return np.repeat(np.arange(rows), copies)


def _noise(
    generation: Generation, x: Array, y: Array | None, source: IntArray, *, number: int
) -> tuple[Array, IntArray]:
    """(m,) the noise of each new row, and whose it is: a row of the block, or of the training rows when matched."""
    if generation.retention == 0 or generation.draw == "none":
        return np.zeros(len(source)), np.full(len(source), NOBODY, dtype=np.int64)
    if generation.draw == "matched":
        kept = tuple(name for name in generation.train.names if name not in generation.moved)
        rng = stream(generation.seed, "generate-noise", number)
        carriers = matched_rows(generation.train, kept, x[source], rng=rng)
        return generation.noise[carriers], carriers
    if y is None:
        message = "the rows' own noise needs their outcomes"
        raise ValueError(message)
    used, where = np.unique(source, return_inverse=True)
    residual = y[used] - generation.teacher.predict(x[used])
    if generation.scale is not None:
        residual = residual / generation.scale.at(x[used])[0]
    return residual[where], source
