"""Synthetic rows for tables larger than memory: block after block, each with random streams of its own.

A block is a fixed number of source rows, counted from the start of the file. Its number names its streams, and the
teacher is asked about one block at a time, so a row's bytes depend on nothing but its place in the file: not on how
many blocks are worked on at once, not on the workers. (A matrix product may round a row differently in another
company; inside its block a row always has the same company.)

What a policy knows of a feature, and the guard of where the data are, still comes from the run's training rows alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from crda_spec.counterfactual.acting import Acting
from crda_spec.counterfactual.draws import matched_rows
from crda_spec.counterfactual.licence import licence_of
from crda_spec.counterfactual.policies import Interpolate, Resample
from crda_spec.counterfactual.predict import label
from crda_spec.counterfactual.stream_act import act_on_block
from crda_spec.counterfactual.support import Support
from crda_spec.errors import Complaint
from crda_spec.records import (
    NOBODY,
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
