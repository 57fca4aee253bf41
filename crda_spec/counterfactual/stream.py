"""Synthetic rows for tables larger than memory: block after block, each with random streams of its own.

A block is a fixed number of source rows, counted from the start of the file. Its number names its streams, and the
teacher is asked about one block at a time, so a row's bytes depend on nothing but its place in the file: not on how
many blocks are worked on at once, not on the workers. (A matrix product may round a row differently in another
company; inside its block a row always has the same company.)

What a policy knows of a feature still comes from the run's training rows alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from crda_spec.counterfactual.act import partner_of
from crda_spec.counterfactual.acting import Acting, Move, plan_moves, resting_rows
from crda_spec.counterfactual.contract import settle
from crda_spec.counterfactual.draws import matched_rows
from crda_spec.counterfactual.licence import licence_of
from crda_spec.counterfactual.nearness import Nearness
from crda_spec.counterfactual.policies import Interpolate, Resample, Rows
from crda_spec.counterfactual.predict import label
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

    @property
    def needs_outcomes(self) -> bool:
        """Whether the rows' own y is needed: only to abduct the noise that they lend to their copies."""
        return self.retention > 0 and self.draw == "own"


def cannot_stream(acting: Acting, train: Table, moved: tuple[str, ...]) -> Iterator[Complaint]:
    """What a finished run may have used, and what needs all rows at once."""
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
        ("perturbation.support", acting.support is not None, "the support guard compares all rows", "set it to none"),
        ("perturbation.sources", acting.sources != "every", "source rows were drawn by weight", "use kind: every"),
        (
            "perturbation.on_violation",
            acting.on_violation != "clip",
            f"{acting.on_violation} decides about whole rows",
            "use clip",
        ),
    ):
        if used:
            yield Complaint(code="cannot-stream", path=path, what=what, hint=f"{remedy}, and run again")


def generate_block(generation: Generation, x: Array, y: Array | None, *, number: int, quota: int) -> Counterfactuals:
    """The new rows of one block. Positions in the result count the block's own rows; partners, and the rows that lend
    matched noise, are training rows.

    x: (b, d) the block's rows.  y: (b,) their outcomes; None when they are not needed.
    """
    source = _sources(len(x), quota, rng=stream(generation.seed, "generate-sources", number))
    action = _moved(generation, x, source, number=number)
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


def _moved(generation: Generation, x: Array, source: IntArray, *, number: int) -> Action:
    """The source rows with their features moved, each feature by its policy and its own stream."""
    train, seed = generation.train, generation.seed
    moves = plan_moves(train, generation.moved, generation.acting, following=())
    new = x.take(source, axis=0)  # a quarter of the time of x[source]
    # There is no training row that these come from: to a policy that takes a partner, every training row is another.
    rows = Rows(source=np.full(len(source), NOBODY), nearness=Nearness.of(train, seed=seed, index=(number,)))
    moving = _moving(moves, len(source), generation.acting.per_row, rng=stream(seed, "generate-features", number))
    if generation.acting.unmoved:
        units = 1 + max(move.unit for move in moves)
        moving = np.ones((len(source), units), dtype=np.bool_) if moving is None else moving
        rng = stream(seed, "generate-unmoved", number)
        moving[resting_rows(len(source), generation.acting.unmoved, rng=rng)] = False
    clipped: dict[str, int] = {}
    partner: IntArray | None = None
    for move in moves:
        feature, column = move.feature, move.feature.column
        here = None if moving is None else moving[:, move.unit]
        cells = np.ascontiguousarray(new[:, feature.position])
        proposal = move.policy.propose(
            cells,
            feature,
            rows,
            rng=stream(seed, f"generate:{move.stream}", number),
            shared=stream(seed, f"generate-shared:{move.policy.kind}", number),
        )
        settled, changed = settle(proposal.values, column)
        clipped[column.name] = int(np.count_nonzero(changed if here is None else changed & here))
        new[:, feature.position] = settled if here is None else np.where(here, settled, cells)
        if proposal.partner is not None:
            partner = partner_of(partner, proposal.partner, here, rows.source)
    words = {move.feature.column.name: move.words for move in moves}
    return Action(x=new, source=source, moved=generation.moved, policies=words, clipped=clipped, partner=partner)


def _moving(
    moves: tuple[Move, ...], rows: int, per_row: int | None, *, rng: np.random.Generator
) -> npt.NDArray[np.bool_] | None:
    """(rows, units) which features each row moves, a set that moves as one being one unit; None: all in every row."""
    count = 1 + max((move.unit for move in moves), default=-1)
    if per_row is None or per_row >= count:
        return None
    place = np.argsort(np.argsort(rng.random((rows, count)), axis=1), axis=1)
    chosen: npt.NDArray[np.bool_] = place < per_row
    return chosen


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
