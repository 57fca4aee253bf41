"""Action: new rows in which X_P moves, its effects follow if they are to, and all else stays, bit for bit.

Every feature draws from a stream of its own name, every set of features that move together from one of theirs, so that
neither the order of the spec nor one feature more shifts another's draws. A row that breaks a contract, or lies off the
data, is redrawn whole: what moves together, or shares a partner row, stays together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, Protocol, Self, TypeVar

import numpy as np
import numpy.typing as npt

from crda_spec.counterfactual.nearness import Nearness
from crda_spec.counterfactual.policies import Feature, Policy, Resample, Rows, Scale
from crda_spec.counterfactual.sources import SourceKind, draw_sources
from crda_spec.counterfactual.support import Guard
from crda_spec.errors import Complaint, DataError, show
from crda_spec.records import NOBODY, Action, Array, Column, FeatureVerdict, IntArray, Table
from crda_spec.scm.graph import CausalGraph
from crda_spec.scm.mechanisms import Mechanisms, fit_mechanisms
from crda_spec.scm.propagation import follower_inputs, followers, propagable
from crda_spec.seeds import stream

__all__ = ["Acting", "act", "fit_contract"]


def settle(proposal: Array, column: Column) -> tuple[Array, npt.NDArray[np.bool_]]:
    """The nearest values that the column's contract allows, and which proposals that changed.

    Rounding an integer is no violation, so it is not marked.
    """
    rounded = np.rint(proposal) if column.type == "integer" else proposal
    low_bound, high_bound = _bounds(column)
    allowed = np.unique([value for value in column.allowed or () if low_bound <= value <= high_bound])
    if len(allowed):
        above = np.clip(np.searchsorted(allowed, rounded), 1, max(1, len(allowed) - 1))
        low, high = allowed[above - 1], allowed[np.minimum(above, len(allowed) - 1)]
        nearest = np.where(np.abs(rounded - low) <= np.abs(high - rounded), low, high)
        kept = np.where(np.isnan(rounded), rounded, nearest)
    elif np.isinf(low_bound) and np.isinf(high_bound):
        return rounded, np.zeros(len(rounded), dtype=np.bool_)
    else:
        kept = np.clip(rounded, low_bound, high_bound)
    return kept, (kept != rounded) & ~np.isnan(rounded)


def _bounds(column: Column) -> tuple[float, float]:
    """Between an integer's bounds, which may be fractions, only whole numbers count."""
    ceil, floor = (np.ceil, np.floor) if column.type == "integer" else (float, float)
    low = -np.inf if column.minimum is None else float(ceil(column.minimum))
    high = np.inf if column.maximum is None else float(floor(column.maximum))
    return low, high


def fit_contract(proposal: Array, column: Column) -> tuple[Array, int]:
    """The nearest values that the contract allows, and how many proposals that changed."""
    kept, changed = settle(proposal, column)
    return kept, int(np.count_nonzero(changed))


def violations(proposal: Array, broken: npt.NDArray[np.bool_], column: Column) -> Iterator[Complaint]:
    """What a run says that must not bring values back: the feature, its worst value, the bound and the count."""
    if not broken.any():
        return
    rounded = np.rint(proposal) if column.type == "integer" else proposal
    kept, _ = settle(proposal, column)
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Acting:
    """How many new rows, from which rows, and what is done to each feature that may move."""

    default: Policy = Scale()
    features: Mapping[str, Policy] = field(default_factory=dict)
    factor: float = 1.25
    together: tuple[tuple[str, ...], ...] = ()  # sets of features that move as one
    per_row: int | None = None  # how many features (a set counts as one) each new row moves; None: all
    unmoved: float = 0.0  # the share of new rows that stay where their source is
    on_violation: Literal["clip", "redraw", "error"] = "clip"
    sources: SourceKind = "every"
    support: Guard | None = None

    def policy(self, column: Column) -> Policy:
        """The feature's own policy, or the default; what the default cannot move is resampled."""
        chosen = self.features.get(column.name, self.default)
        return chosen if column.type in chosen.moves else Resample()

    def movable(self, moved: Sequence[str]) -> tuple[str, ...]:
        """Of these features, those that can move: features that move together all do, or none does."""
        held = self.held(moved)
        return tuple(name for name in moved if name not in held)

    def held(self, moved: Sequence[str]) -> dict[str, str]:
        """Why a feature that may move does not: something that it moves together with stays."""
        allowed = set(moved)
        found: dict[str, str] = {}
        for together in self.together:
            stay = [show(name) for name in together if name not in allowed]
            if stay:
                why = f"it moves together with {' and '.join(stay)}, which may not move"
                found |= {name: why for name in together if name in allowed}
        return found

    def set_of(self, name: str) -> tuple[str, ...]:
        """The features that move as one with this one, itself among them."""
        return next((together for together in self.together if name in together), (name,))


def resting_rows(rows: int, share: float, *, rng: np.random.Generator) -> IntArray:
    """Which of so many new rows stay where their source is: a random part, its size right on average.

    A share that makes no whole number is rounded up or down by chance, so that many small sets have it too.
    """
    return rng.permutation(rows)[: int(share * rows + rng.random())]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Move:
    """One feature, its policy, and whom it moves with."""

    feature: Feature
    policy: Policy
    unit: int  # features of the same number move as one
    stream: str  # the name of the numbers they draw

    @property
    def words(self) -> str:
        """What is done, and whether that can come to nothing."""
        said = self.policy.describe(self.feature.column)
        return f"{said}; all training rows have the same value" if is_constant(self.feature.values) else said


def is_constant(values: Array) -> bool:
    """Whether the known values are all the same; true of none at all."""
    known = values[~np.isnan(values)]
    return not len(known) or bool(np.ptp(known) == 0.0)


def plan_moves(train: Table, moved: Sequence[str], acting: Acting, *, following: Sequence[str]) -> tuple[Move, ...]:
    """The moves, in the table's order. following: the features that follow moved ones, and so do not stay fixed."""
    names = [name for name in train.names if name in set(moved)]
    sets = list(dict.fromkeys(_sorted(acting.set_of(name), train) for name in names))
    free, every = train.positions([*names, *following]), np.arange(len(train))
    moves = []
    for name in names:
        together = _sorted(acting.set_of(name), train)
        positions = train.positions(together)
        # One feature (or set) at a time leaves the other movable ones where they are.
        fixed = set(range(len(train.features))) - set(train.positions(following))
        given = fixed - set(positions) if acting.per_row == 1 else fixed - set(free)
        (position,) = train.positions([name])
        feature = _feature(train, position, positions, every, given=tuple(sorted(given)))
        draws = f"act:{name}" if len(together) == 1 else "act together:" + "\0".join(together)
        policy = acting.policy(feature.column)
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
        return tuple(
            replace(
                verdict,
                status="blocked",
                reason=obstacles[verdict.name].reason,
                witness=obstacles[verdict.name].witness,
                lines=(),
                blockers=(),
                lemma="",
                warning="",
            )
            if verdict.name in obstacles
            else verdict
            for verdict in verdicts
        )

    def mechanisms(self, train: Table, moved: Sequence[str]) -> Mechanisms:
        """The equations of all that follows these features; a GraphError when something cannot follow."""
        return fit_mechanisms(train, follower_inputs(self.graph, train.names, moved, keep=self.keep))


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
