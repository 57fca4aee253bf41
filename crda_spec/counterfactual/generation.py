"""Synthetic rows for tables larger than memory: block after block, each with random streams of its own."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from crda_spec.counterfactual.act import Block, Streams, act_on, guarded_columns
from crda_spec.counterfactual.augmenters import BaseAugmenter, Given, augmented_rows
from crda_spec.counterfactual.perturbation import Perturbation
from crda_spec.counterfactual.predict import LabelRule, labelled, matched_rows
from crda_spec.counterfactual.support import Region
from crda_spec.errors import Complaint
from crda_spec.records import NOBODY, Array, Counterfactuals, IntArray, NoiseScale, Predictor, Table
from crda_spec.seeds import stream

BLOCK = 1 << 15  # new rows of one block, about
_MOST_SOURCES = 4 * BLOCK  # rows read for one block, however few new ones come of them


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
    perturbation: Perturbation
    rule: LabelRule
    seed: int
    augmenter: BaseAugmenter | None = None  # makes the rows in place of policies and label rule
    region: Region | None = None  # where the training rows say that the data are, if a guard was declared

    @property
    def needs_outcomes(self) -> bool:
        """Whether the rows' own y is needed: only to abduct the noise that they lend to their copies."""
        return self.rule.draw == "own" or self.augmenter is not None

    @property
    def free(self) -> tuple[str, ...]:
        """The irrelevant features that every new row resamples."""
        return self.perturbation.free(self.rule.irrelevant)


def cannot_stream(perturbation: Perturbation, train: Table, moved: tuple[str, ...]) -> Iterator[Complaint]:
    """What a finished run may have used, and what cannot be done block after block."""
    hint = (
        "use a policy that looks for none, such as scale, quantile, resample or interpolate towards any, and run again"
    )
    for column in (train.features[position] for position in train.positions(moved)):
        policy = perturbation.policy(column)
        if policy.needs_neighbours:
            what = f"'{column.name}' was moved by {policy.label}, which looks for other rows like it"
            yield Complaint(code="cannot-stream", path=f"perturbation.features.{column.name}", what=what, hint=hint)
    for path, used, what, remedy in (
        ("sources", perturbation.sources.kind != "every", "source rows were drawn by weight", "use kind: every"),
        ("on_violation", perturbation.on_violation == "error", "one bad row would end it", "use clip or redraw"),
    ):
        if used:
            hint = f"{remedy}, and run again"
            yield Complaint(code="cannot-stream", path=f"perturbation.{path}", what=what, hint=hint)


def generate_block(generation: Generation, x: Array, y: Array | None, *, number: int, quota: int) -> Counterfactuals:
    """The new rows of one block, fewer than `quota` where the guard drops some.

    Positions in the result count the block's own rows; partners, and the rows that lend matched noise, are training
    rows.

    x: (b, d) the block's rows.  y: (b,) their outcomes; None when they are not needed.
    """
    train, region, seed = generation.train, generation.region, generation.seed
    if generation.augmenter is not None and y is not None:
        return _by_augmenter(generation.augmenter, generation, x, y, number=number, quota=quota)
    guarded = guarded_columns(train, generation.free)
    looked_at = (x, train) if guarded is None else (x[:, list(guarded)], train.select(guarded))
    block = Block(
        x=x,
        source=_sources(len(x), quota, rng=stream(seed, "generate-sources", number)),
        trained=False,
        guard=None if region is None else region.strangers(*looked_at),
        streams=Streams.of_block(seed, number),
        free=generation.free,
        guarded=guarded,
    )
    action = act_on(block, train, generation.moved, generation.perturbation)
    # What lay off the data may have been dropped: the action knows the sources that are left.
    noise, carriers = _noise(generation, x, y, action.source, number=number)
    teacher, scale, rule = generation.teacher, generation.scale, generation.rule
    return labelled(teacher, action, noise, carriers, scale, rule, x=x, y=y, names=train.names)


def _by_augmenter(
    augmenter: BaseAugmenter, generation: Generation, x: Array, y: Array, *, number: int, quota: int
) -> Counterfactuals:
    """Rows that an augmenter makes of the block's own: partners and lenders of noise are of the block, too."""
    train = generation.train
    block = replace(train, row_ids=np.arange(len(x)), x=x, y=y, groups=None, weights=None, times=None)
    given = Given(
        train=block,
        teacher=generation.teacher,
        noise=y - generation.teacher.predict(x),
        movable=train.positions(generation.moved),
        known=train,
    )
    rng = stream(generation.seed, "generate-augmenter", number)
    made = augmented_rows(augmenter, given, quota, weight=generation.rule.weight, rng=rng)
    if made is None:
        raise ValueError("an augmenter that makes no row has none to generate")
    return made


def _sources(rows: int, quota: int, *, rng: np.random.Generator) -> IntArray:
    """Each row equally often; the remainder is a random sample without repetition. Ascending."""
    times, rest = divmod(quota, rows)
    copies = np.full(rows, times, dtype=np.int64)
    copies[rng.permutation(rows)[:rest]] += 1
    return np.repeat(np.arange(rows), copies)


def _noise(
    generation: Generation, x: Array, y: Array | None, source: IntArray, *, number: int
) -> tuple[Array, IntArray]:
    """(m,) the noise of each new row, and whose it is: a row of the block, or of the training rows when matched."""
    if generation.rule.draw == "none":
        return np.zeros(len(source)), np.full(len(source), NOBODY, dtype=np.int64)
    if generation.rule.draw == "matched":
        kept = tuple(name for name in generation.train.names if name not in generation.moved)
        rng = stream(generation.seed, "generate-noise", number)
        carriers = matched_rows(generation.train, kept, x[source], rng=rng)
        return generation.noise[carriers], carriers
    if y is None:
        raise ValueError("the rows' own noise needs their outcomes")
    used, where = np.unique(source, return_inverse=True)
    residual = y[used] - generation.teacher.predict(x[used])
    if generation.scale is not None:
        residual = residual / generation.scale.at(x[used])[0]
    return residual[where], source
