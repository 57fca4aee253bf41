"""Action: new rows in which X_P moves, its effects follow if they are to, and all else stays, bit for bit.

Every feature draws from a stream of its own name, every set of features that move together from one of theirs, so that
neither the order of the spec nor one feature more shifts another's draws. A row that breaks a contract, or lies off the
data, is redrawn whole: what moves together, or shares a partner row, stays together.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from crda_spec.counterfactual.neighbours import Nearness
from crda_spec.counterfactual.perturbation import Perturbation, is_constant
from crda_spec.counterfactual.policies import BasePolicy, Feature, Rows
from crda_spec.counterfactual.rules import LearntRules
from crda_spec.counterfactual.support import Region, Strangers
from crda_spec.errors import Complaint, DataError, show
from crda_spec.records import NOBODY, Action, Array, Column, FeatureVerdict, IntArray, Table
from crda_spec.scm.graph import CausalGraph
from crda_spec.scm.mechanisms import Mechanisms, fit_mechanisms
from crda_spec.scm.propagation import follower_inputs, followers, propagable
from crda_spec.seeds import stream

RESAMPLED = "resampled from its own column in every new row, whatever the rest does"
TRIES = 10  # draws of a row that keeps breaking a rule, before it is clipped or dropped

Mask = npt.NDArray[np.bool_]


def values_that_occur(train: Table) -> dict[str, Array]:
    """By name, the values that these rows show of each whole-number column whose contract does not say which may be.

    A contract says it by a list of values, or by bounds at both ends. One bound alone says nothing of a gap (cars with
    4, 6 and 8 cylinders have `min: 0`), so there the rows decide.
    """
    occurring: dict[str, Array] = {}
    for position, column in enumerate(train.features):
        bounded = column.minimum is not None and column.maximum is not None
        if column.type == "integer" and column.allowed is None and not bounded:
            values = train.x[:, position]
            occurring[column.name] = np.unique(values[~np.isnan(values)])
    return occurring


def nearest_allowed(proposal: Array, column: Column, occurring: Array | None = None) -> tuple[Array, Mask]:
    """The nearest values that the column's contract allows, and which proposals that changed.

    Neither rounding an integer nor taking it to a value that occurs is a violation, so that is not marked.

    occurring: ascending, of an integer the values that occur, where it may take no other.
    """
    whole = column.type == "integer"
    rounded = np.rint(proposal) + 0.0 if whole else proposal  # a whole number has no -0.0, nor has a file of them
    # Between an integer's bounds, which may be fractions, only whole numbers count.
    ceil, floor = (np.ceil, np.floor) if whole else (float, float)
    low_bound = -np.inf if column.minimum is None else float(ceil(column.minimum)) + 0.0
    high_bound = np.inf if column.maximum is None else float(floor(column.maximum)) + 0.0
    allowed = np.unique([value for value in column.allowed or () if low_bound <= value <= high_bound])
    kept = _nearest(rounded, allowed) if len(allowed) else np.clip(rounded, low_bound, high_bound)
    changed = (kept != rounded) & ~np.isnan(rounded)
    # From the proposal itself: rounded first, 5.2 would be as near to 4 as to 6, and always become 4.
    return kept if occurring is None or not len(occurring) else _nearest(proposal, occurring), changed


def _nearest(values: Array, among: Array) -> Array:
    """The nearest of these, ascending; of two that are equally near, the smaller. NaN stays."""
    above = np.clip(np.searchsorted(among, values), 1, max(1, len(among) - 1))
    low, high = among[above - 1], among[np.minimum(above, len(among) - 1)]
    return np.where(np.isnan(values), values, np.where(np.abs(values - low) <= np.abs(high - values), low, high))


def violations(proposal: Array, broken: Mask, column: Column) -> Iterator[Complaint]:
    """What a run says that must not bring values back: the feature, its worst value, the bound and the count."""
    if not broken.any():
        return
    rounded = np.rint(proposal) if column.type == "integer" else proposal
    kept, _ = nearest_allowed(proposal, column)
    worst = int(np.argmax(np.where(broken, np.abs(kept - rounded), -1.0)))
    value, low, high = float(rounded[worst]), column.minimum, column.maximum
    if low is not None and value < low:
        rule = f"below its minimum {low:g}"
    elif high is not None and value > high:
        rule = f"above its maximum {high:g}"
    else:
        rule = "not among its allowed values"
    count = int(np.count_nonzero(broken))
    what = f"{show(column.name)} would become {value:g}, {rule}, in the worst of {count} of {len(proposal)} new rows"
    hint = "use on_violation: clip or redraw, or a policy that moves it less far"
    yield Complaint(code="contract-violation", path="perturbation.on_violation", what=what, hint=hint)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Move:
    """One feature, its policy, and whom it moves with."""

    feature: Feature
    policy: BasePolicy
    unit: int  # features of the same number move as one
    stream: str  # the name of the numbers they draw

    @property
    def words(self) -> str:
        """What is done, and whether that can come to nothing."""
        done = self.policy.describe(self.feature.column)
        return f"{done}; all training rows have the same value" if is_constant(self.feature.values) else done


def plan_moves(
    train: Table, moved: Sequence[str], perturbation: Perturbation, *, following: Sequence[str] = ()
) -> tuple[Move, ...]:
    """The moves, in the table's order. following: the features that follow moved ones, and so do not stay fixed."""
    names = [name for name in train.names if name in set(moved)]
    sets = list(dict.fromkeys(_sorted(perturbation.set_of(name), train) for name in names))
    free, every = train.positions([*names, *following]), np.arange(len(train))
    moves = []
    for name in names:
        together = _sorted(perturbation.set_of(name), train)
        positions = train.positions(together)
        # One feature (or set) at a time leaves the other movable ones where they are.
        fixed = set(range(len(train.features))) - set(train.positions(following))
        given = fixed - set(positions) if perturbation.features_per_row == 1 else fixed - set(free)
        (position,) = train.positions([name])
        feature = _feature(train, position, positions, every, given=tuple(sorted(given)))
        draws = f"act:{name}" if len(together) == 1 else "act together:" + "\0".join(together)
        policy = perturbation.policy(feature.column)
        moves.append(Move(feature=feature, policy=policy, unit=sets.index(together), stream=draws))
    return tuple(moves)


def _sorted(names: Sequence[str], train: Table) -> tuple[str, ...]:
    """In the table's order, whatever order the spec has."""
    return tuple(name for name in train.names if name in set(names))


def _feature(
    train: Table, position: int, together: Sequence[int], every: IntArray, *, given: tuple[int, ...]
) -> Feature:
    values = np.ascontiguousarray(train.x[:, position])
    joint = values[:, None] if len(together) == 1 else train.x[:, list(together)]
    known, pool = values, every
    if np.isnan(joint).any():
        known = values[~np.isnan(values)]
        pool = np.flatnonzero(~np.isnan(joint).any(axis=1))
        if not len(pool):  # no row knows them all, so each goes by the rows that know it
            pool, joint = np.flatnonzero(~np.isnan(values)), values[:, None]
    return Feature(
        column=train.features[position],
        values=values,
        pool=pool,
        joint=joint,
        mean=float(known.mean()) if len(known) else 0.0,
        sd=float(known.std()) if len(known) else 0.0,
        position=position,
        others=tuple(other for other in range(len(train.features)) if other not in set(together)),
        given=given,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Propagation:
    """Lets the effects of moved features follow, as the declared graph says."""

    graph: CausalGraph
    keep: tuple[str, ...] = ()  # features that never move, not even as an effect

    def followers(self, features: Sequence[str], moved: Sequence[str]) -> tuple[str, ...]:
        """The features that follow when these are moved, causes before effects."""
        return followers(self.graph, features, moved)

    def restrict(self, verdicts: Sequence[FeatureVerdict]) -> tuple[FeatureVerdict, ...]:
        """The same verdicts, but a feature whose effects cannot follow is blocked, and the reason says which and why.

        Ask again after a choice among the features that may move: one that cannot *follow* may yet move by a policy of
        its own beside its cause, and when the choice drops it, its cause has to stay as well. The verdicts of kept
        features are the choice's business and left as they are.
        """
        names = [verdict.name for verdict in verdicts]
        wanted = [verdict.name for verdict in verdicts if verdict.perturbable and verdict.name not in self.keep]
        obstacles = propagable(self.graph, names, wanted, keep=self.keep).obstacles

        def judged(verdict: FeatureVerdict) -> FeatureVerdict:
            why, evidence = obstacles.get(verdict.name), verdict.evidence
            if why is None:
                return verdict
            return FeatureVerdict(
                name=verdict.name, status="blocked", reason=why, witness=why.witness, evidence=evidence
            )

        return tuple(map(judged, verdicts))

    def mechanisms(self, train: Table, moved: Sequence[str]) -> Mechanisms:
        """The equations of all that follows these features; a GraphError when something cannot follow."""
        return fit_mechanisms(train, follower_inputs(self.graph, train.names, moved, keep=self.keep))


@dataclass(frozen=True, slots=True)
class Streams:
    """The random streams of one action, by name: those of a run, or of a block of `generate`, which share no draw."""

    seed: int
    index: tuple[int, ...]  # of a run's fold, or of the block
    own: str = ""  # before the name of a feature's own stream
    shared: str = "row-"  # before the label of the policy whose features share it
    features: str = "row-features"  # which features each row moves
    copied: str = "unmoved"  # which rows are copies of their source

    @classmethod
    def of_block(cls, seed: int, number: int) -> Streams:
        """Those of one block of `generate`."""
        return cls(seed, (number,), "generate:", "generate-shared:", "generate-features", "generate-unmoved")

    def open(self, name: str, attempt: int = 0) -> np.random.Generator:
        """Every attempt has streams of its own."""
        return stream(self.seed, f"again {attempt} {name}" if attempt else name, *self.index)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Block:
    """Rows, and which of them new ones are made from: a run's training rows, or rows from elsewhere."""

    x: Array  # (b, d)
    source: IntArray  # (m,) positions among them, one for each new row
    trained: bool  # whether they are the training rows themselves
    guard: Region | Strangers | None  # tells which new rows lie off the data; None: nobody asks
    streams: Streams
    free: tuple[str, ...] = ()  # irrelevant features: resampled in every new row, and the guard looks at the others
    guarded: tuple[int, ...] | None = None  # the columns that the guard looks at; None: all


def count_new_rows(rows: int, factor: float, most: int | None) -> int:
    """So many for each of these rows, and at most so many in all; None: no limit."""
    made = round(factor * rows)
    return made if most is None else min(made, most)


def act(
    train: Table,
    moved: Sequence[str],
    perturbation: Perturbation,
    *,
    factor: float,
    seed: int,
    index: tuple[int, ...],
    mechanisms: Mechanisms | None = None,
    noise: Array | None = None,
    free: Sequence[str] = (),
) -> Action:
    """Factor * n new rows in which features of X_P move. The effects follow by `mechanisms`; all others are kept.

    free: of the features that move, irrelevant ones, which every new row takes from rows drawn at random.
    noise: (n,) the abducted noise of the training rows, which only sources drawn by residual need.
    """
    count, guarded = round(factor * len(train)), guarded_columns(train, free)
    looked_at = train if guarded is None else train.select(guarded)
    block = Block(
        x=train.x,
        source=perturbation.sources.draw(train, count, noise=noise, rng=stream(seed, "sources", *index)),
        trained=True,
        guard=perturbation.support.learn(looked_at, rows=count, seed=seed, index=index),
        streams=Streams(seed, index),
        free=tuple(free),
        guarded=guarded,
    )
    return act_on(block, train, moved, perturbation, mechanisms=mechanisms)


def guarded_columns(train: Table, free: Sequence[str]) -> tuple[int, ...] | None:
    """The columns by which a new row is judged to lie on the data: all (None) but those that are resampled freely."""
    kept = tuple(position for position, name in enumerate(train.names) if name not in set(free))
    return kept if free and kept else None


def act_on(
    block: Block,
    train: Table,
    moved: Sequence[str],
    perturbation: Perturbation,
    *,
    mechanisms: Mechanisms | None = None,
) -> Action:
    """The block's source rows with their features moved. A row that breaks a rule is drawn again, or left out.

    train: the rows that policies draw values and partners from, and that say where the data are.
    """
    movable = perturbation.movable(moved)
    following = () if mechanisms is None else tuple(mechanisms.facts)
    by_policy = [name for name in movable if name not in block.free]
    moves = plan_moves(train, by_policy, perturbation, following=following)
    drawing = _Drawing(
        block=block,
        moves=moves,
        chosen=_chosen(moves, block, perturbation),
        occurring=values_that_occur(train),
        rules=perturbation.rules.on(train),
        on_violation=perturbation.on_violation,
        mechanisms=mechanisms,
        nearness=Nearness(train, seed=block.streams.seed, index=block.streams.index),
    )
    drawn = drawing.draw(np.arange(len(block.source)), attempt=0)
    checked = _redraw_until_sound(drawn, drawing, perturbation)
    kept = ~(checked.outside | checked.breaks)
    drawn, source = drawn.take(kept), block.source[kept]
    free = tuple(name for name in movable if name in block.free)
    drawn.resample(train, free, block.streams)
    broken = drawn.broken.sum(axis=1).tolist()
    clipped = {move.feature.column.name: times for move, times in zip(moves, broken, strict=True)}
    return Action(
        x=drawn.x,
        source=source,
        moved=movable,
        policies={**{move.feature.column.name: move.words for move in moves}, **dict.fromkeys(free, RESAMPLED)},
        clipped=clipped | dict.fromkeys(free, 0) | drawn.followed,
        propagated={} if mechanisms is None else mechanisms.facts,
        copied=int(drawn.still.sum()),
        dropped=int((checked.outside & ~checked.breaks).sum()),
        redrawn=int(checked.redrawn[kept].sum()),
        rule_dropped=int(checked.breaks.sum()),
        rule_redrawn=int(checked.rule_redrawn[kept].sum()),
        astray=block.guard.astray if isinstance(block.guard, Strangers) else 0,  # no training row is
        partner=drawn.partner,
    )


def _chosen(moves: Sequence[Move], block: Block, perturbation: Perturbation) -> Mask | None:
    """(m, len(moves)) which features each row moves; None: every row all of them."""
    chosen, rows, streams = None, len(block.source), block.streams
    units = np.array([move.unit for move in moves], dtype=np.int64)
    count, wanted = len(np.unique(units)), perturbation.features_per_row
    if wanted != "all" and wanted < count:
        rng = streams.open(streams.features)
        if wanted == 1 and block.trained:  # a block of `generate` draws a subset of one by ranks, too
            member = np.equal(rng.integers(0, count, size=rows)[:, None], np.arange(count))
        else:
            member = np.argsort(np.argsort(rng.random((rows, count)), axis=1), axis=1) < wanted
        chosen = member[:, units]
    if perturbation.copy_fraction:
        chosen = np.ones((rows, len(moves)), dtype=np.bool_) if chosen is None else chosen
        rng = streams.open(streams.copied)
        # A share that makes no whole number is rounded up or down by chance, so that many small sets have it too.
        chosen[rng.permutation(rows)[: int(perturbation.copy_fraction * rows + rng.random())]] = False
    return chosen


@dataclass(slots=True, eq=False)
class _Drawn:
    """Rows under way."""

    x: Array  # (m, d), inside every contract
    broken: Mask  # (moves, m) which proposals had to be brought back
    still: Mask  # (m,) which rows equal their source
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

    def resample(self, train: Table, names: Sequence[str], streams: Streams) -> None:
        """Every row takes a value of each of these features from a training row drawn at random."""
        for name, position in zip(names, train.positions(names), strict=True):
            donors = streams.open(f"{streams.own}act freely:{name}").integers(0, len(train), size=len(self.x))
            before, self.x[:, position] = self.x[:, position].copy(), train.x[donors, position]
            self.still &= (self.x[:, position] == before) | (np.isnan(before) & np.isnan(self.x[:, position]))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Drawing:
    """All that is needed to draw a block's new rows, and to draw some of them again."""

    block: Block
    moves: tuple[Move, ...]
    chosen: Mask | None  # (m, moves) which features each row moves
    occurring: Mapping[str, Array]  # of whole-number columns, the values that they may take
    rules: LearntRules
    on_violation: str
    mechanisms: Mechanisms | None
    nearness: Nearness

    def draw(self, rows: IntArray, *, attempt: int) -> _Drawn:
        """The new rows at these positions; a row keeps its source and its features at every attempt."""
        streams, source = self.block.streams, self.block.source[rows]
        x = self.block.x.take(source, axis=0)  # a quarter of the time of x[source]
        # To a policy that takes a partner, every training row is another than a row from elsewhere.
        origin = source if self.block.trained else np.full(len(source), NOBODY)
        broken = np.zeros((len(self.moves), len(source)), dtype=np.bool_)
        still = np.ones(len(source), dtype=np.bool_)
        partner: IntArray | None = None
        complaints: list[Complaint] = []
        for number, move in enumerate(self.moves):
            column, position = move.feature.column, move.feature.position
            here = None if self.chosen is None else self.chosen[rows, number]
            cells = x[:, position].copy()
            own = streams.open(streams.own + move.stream, attempt)
            shared = streams.open(streams.shared + move.policy.label, attempt)
            context = Rows(source=origin, nearness=self.nearness, shared=shared)
            proposal = move.policy.propose(cells, move.feature, context, rng=own)
            known = None if move.policy.own_values else self.occurring.get(column.name)
            settled, broken[number] = nearest_allowed(proposal.values, column, known)
            if here is not None:
                settled = np.where(here, settled, cells)
                broken[number] &= here
            if self.on_violation == "error":
                complaints += violations(proposal.values, broken[number], column)
            x[:, position] = settled
            still &= (settled == cells) | np.isnan(cells)
            if proposal.partner is not None:  # of several, a row has that of the first feature in the table's order
                taken = proposal.partner != origin if here is None else here & (proposal.partner != origin)
                mine = np.where(taken, proposal.partner, NOBODY)
                partner = mine if partner is None else np.where(partner == NOBODY, mine, partner)
        if complaints:
            raise DataError(complaints)
        return self._followed(_Drawn(x, broken, still, partner, {}), source, attempt=attempt)

    def outside(self, x: Array, rows: IntArray) -> Mask:
        """(k,) which of these new rows, the ones at these positions, lie off the data."""
        guard, columns = self.block.guard, self.block.guarded
        if guard is None:
            return np.zeros(len(x), dtype=np.bool_)
        return guard.outside(x if columns is None else x[:, list(columns)], self.block.source[rows])

    def _followed(self, drawn: _Drawn, source: IntArray, *, attempt: int) -> _Drawn:
        """The same rows once the effects of what moved have followed."""
        if self.mechanisms is None:
            return drawn
        before, streams = self.block.x[source], self.block.streams
        drawn.x, drawn.followed = self.mechanisms.follow(
            drawn.x,
            before,
            draws=lambda name: streams.open(f"follow:{name}", attempt),
            settle=lambda values, column: nearest_allowed(values, column, self.occurring.get(column.name)),
        )
        drawn.still = ((drawn.x == before) | (np.isnan(drawn.x) & np.isnan(before))).all(axis=1)
        return drawn


@dataclass(frozen=True, slots=True, eq=False)
class _Checked:
    """What became of rows that were looked at, and drawn again; (m,) each."""

    outside: Mask  # those that lie off the data
    breaks: Mask  # those that break a rule
    redrawn: Mask  # those that were drawn again off the data, or outside a contract
    rule_redrawn: Mask  # those that were drawn again because they broke a rule


def _redraw_until_sound(drawn: _Drawn, drawing: _Drawing, perturbation: Perturbation) -> _Checked:
    """Draws rows again where that is the rule."""
    count = len(drawn.x)
    redrawn, rule_redrawn = np.zeros(count, dtype=np.bool_), np.zeros(count, dtype=np.bool_)
    outside, breaks = drawing.outside(drawn.x, np.arange(count)), drawing.rules.broken(drawn.x)
    for attempt in range(1, TRIES + 1):
        wrong = np.zeros(count, dtype=np.bool_)
        if perturbation.on_violation == "redraw":
            wrong |= drawn.broken.any(axis=0)
        if perturbation.support.on_outside == "redraw":
            wrong |= outside
        rows = np.flatnonzero(wrong | breaks)
        if not len(rows):
            break
        redrawn |= wrong
        rule_redrawn |= breaks
        newer = drawing.draw(rows, attempt=attempt)
        drawn.put(rows, newer)
        outside[rows], breaks[rows] = drawing.outside(newer.x, rows), drawing.rules.broken(newer.x)
    return _Checked(outside, breaks, redrawn, rule_redrawn)
