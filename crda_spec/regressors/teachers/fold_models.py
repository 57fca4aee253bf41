"""Models that leave out gate folds, each fitted once and used wherever that is leak-free.

Let F1..FK be the gate's folds, and M(S) a model fitted on the training rows without the folds in S.

- The gate compares, on Fj, the plain model M({j}) with a student taught inside the rows without Fj.
- The teacher on all training rows needs, for each fold k, a model without Fk: that is M({k}).
- The teacher inside outer fold j needs, for each other fold k, a model without Fk, on rows without Fj: M({j, k}).

So M({k}) serves twice: as the gate's plain model of fold k, and as a member of the teacher on all rows. And M({j, k})
serves twice: in outer fold j, where it has not seen Fk, and in outer fold k, where it has not seen Fj. For K folds and
one kind of model that is K + K(K-1)/2 fits instead of 2K + K(K-1). A teacher in blocks goes further: inside outer fold
j it needs M(B) for the blocks B that contain j, and M(B) serves in each fold of B (`fold_blocks`). Since M(B) has seen
few rows, most of the say (all of it in a committee) is M({j})'s, which has seen all that there are in j and is fitted
anyway: for the teacher on all rows. M(B) then tells how the kinds are to be weighed.

Nothing leaks. Whatever is used inside outer fold j is M(S) with j in S: its plain model M({j}), its teacher's members
M({j, k}), M(B) or M({j}) again. By definition M(S) is a function of the rows outside Fj, of the settings, which are
declared and not tuned, and of a seed made from S and the run's seed. The folds themselves depend on the number of rows,
the groups and the seed, never on a value of x or y. Hence no value in Fj can change a prediction, a residual, a
partition, a synthetic row or a weight inside outer fold j. What the teacher on all rows does with M({j}) happens
outside the gate.

Settings that are tuned are tuned anew inside every fold; then M({j, k}) has other settings in j than in k, and nothing
is shared. Nor is it where folds run forward in time: M({j, k}) has seen rows that are later than Fj (`time_context`).
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial, reduce
from itertools import combinations
from operator import add
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from crda_spec.data.folds import Division, count_pieces, left_out_folds
from crda_spec.execution import in_order
from crda_spec.records import Array, Cost, IntArray, Table, Teacher, TeacherFamily, weighted_mean
from crda_spec.regressors._protocol import Regressor
from crda_spec.regressors.fit import Fill, FittedModel, Fitter, student_seed
from crda_spec.regressors.teachers._protocol import Block, FoldContext, Folds, Seat, TeacherRule, fold_blocks
from crda_spec.seeds import integer_seed, stream


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Line:
    """The members of one seat: one a fold, each fitted without its fold."""

    family: str
    names: tuple[str, ...]
    members: tuple[FittedModel, ...]
    out_of_fold: Array  # (n,) each row by the member that has not seen it, on average where there are several
    has_whole: bool = False  # the last member has seen all rows, the others fewer

    def weights(self, weight: float, *, whole_share: float) -> list[float]:
        """What each member weighs, when the line weighs this much and a member of all rows has this part of it."""
        if not self.has_whole:
            return [weight / len(self.members)] * len(self.members)
        parts = len(self.members) - 1
        return [weight * (1.0 - whole_share) / parts] * parts + [weight * whole_share]


def fold_model_seed(seed: int, seat: Seat, position: int, left_out: tuple[int, ...]) -> int:
    """One seed for one model, whoever asks for it: the seat at `position`, fitted without these gate folds.

    The student's own model without one fold is the gate's plain model of that fold, so it starts as that one does.
    """
    if seat.is_students and len(left_out) == 1:
        return student_seed(seed, left_out)
    return integer_seed(seed, "fold-model", position, *left_out)


class FoldTeacher(TeacherRule):
    """A teacher whose members each leave out a part of the rows: of the gate's folds, or of folds of its own."""

    whole_share: ClassVar[float]  # of a line's say, that of a member that has seen all rows: there is one in blocks

    if TYPE_CHECKING:
        folds: Folds  # a member says where it stands among its keys

    @property
    def all_seats(self) -> tuple[Seat, ...]:
        """Who is fitted once for each fold."""
        raise NotImplementedError

    def line_weights(self, train: Table, lines: Sequence[Line]) -> list[float]:
        """What each seat's line of members weighs, together 1."""
        raise NotImplementedError

    @property
    def in_blocks(self) -> bool:
        """Whether `folds` says so."""
        return self.folds == "blocks"

    @property
    def seats(self) -> tuple[Seat, ...]:
        """All, where the folds are the gate's."""
        return self.all_seats if isinstance(self.folds, str) else ()

    def fits(self, parts: int) -> int:
        """One member a fold and seat."""
        return len(self.all_seats) * (parts if isinstance(self.folds, str) else self.folds)

    def teach(self, train: Table, fitter: Fitter, plain: FittedModel, context: FoldContext) -> Teacher:
        """Costs one fit a fold and seat, less what is ready; members without weight are left behind."""
        if isinstance(self.folds, str):
            lines = gate_lines(train, fitter, self.all_seats, plain, context)
        else:
            lines = own_lines(train, fitter, self.all_seats, self.folds, context)
        weights = self.line_weights(train, lines)
        chosen = [(line, weight) for line, weight in zip(lines, weights, strict=True) if weight > 0]
        members = [
            (member, name, share)
            for line, weight in chosen
            for member, name, share in zip(
                line.members, line.names, line.weights(weight, whole_share=self.whole_share), strict=True
            )
            if share > 0
        ]
        teacher = Teacher(
            kind=self.kind,
            members=tuple(member for member, _, _ in members),
            in_sample=np.empty(0),
            # Added up in this order, so that it is the same to the last bit every time.
            out_of_fold=reduce(add, (weight * line.out_of_fold for line, weight in chosen)),
            weights=tuple(share for _, _, share in members),
            names=tuple(name for _, name, _ in members),
            families=_summaries(train, lines, weights),
        )
        return replace(teacher, in_sample=teacher.predict(train.x))


def gate_lines(
    train: Table, fitter: Fitter, seats: Sequence[Seat], plain: FittedModel, context: FoldContext
) -> tuple[Line, ...]:
    """The lines of members on the gate's folds; what is ready is taken, the rest is fitted. plain: on all these rows.

    Taken or fitted, a member is the same to the last bit: same rows, same seed. Where the gate's folds run forward in
    time, the members leave out blocks of time of these rows instead (`time_context`), at most one a moment.
    """
    if not context.numbers:
        message = "a teacher whose folds are the gate's must know the gate's folds"
        raise ValueError(message)
    if train.times is not None:
        count = max(2, min(len(context.parts), count_pieces(train.times, train.groups)))
        return own_lines(train, fitter, seats, count, context)
    held = [context.held_of(part) for part in context.parts]

    def member(position: int, seat: Seat, part: Block, unseen: IntArray) -> FittedModel:
        if seat.is_students and not part:
            return plain
        if (position, part) in context.ready:
            fitter.reused += 1
            return context.ready[position, part]
        member_seed = fold_model_seed(context.seed, seat, position, context.left_out(part))
        return _without(train, unseen, fitter, seat, seed=member_seed)

    lines = []
    for position, (seat, family) in enumerate(zip(seats, _families(seats, fitter), strict=True)):
        members = [member(position, seat, part, unseen) for part, unseen in zip(context.parts, held, strict=True)]
        lines.append(_line(train, family, seat, context.parts, held, members))
    return tuple(lines)


def own_lines(
    train: Table, fitter: Fitter, seats: Sequence[Seat], count: int, context: FoldContext
) -> tuple[Line, ...]:
    """The lines of members on folds of their own: the same for all seats of a repeat, drawn anew for the next."""
    seed, index = context.seed, context.index
    numbers = tuple((number,) for number in range(1, count + 1))
    lines = []
    for position, (seat, family) in enumerate(zip(seats, _families(seats, fitter), strict=True)):
        draw = stream(seed, "teacher-folds", *index, *((seat.repeat,) if seat.repeat else ()))
        held = left_out_folds(train, count, rng=draw)
        stage = f"teacher-{position}" if position else "teacher"
        members = [
            _without(train, unseen, fitter, seat, seed=integer_seed(seed, stage, *index, number))
            for number, unseen in enumerate(held)
        ]
        lines.append(_line(train, family, seat, numbers, held, members))
    return tuple(lines)


def unseen_error(train: Table, predicted: Array) -> float:
    """The (weighted) mean squared error of predictions for rows unseen; infinite for a model that has run away."""
    with np.errstate(over="ignore", invalid="ignore"):
        error = weighted_mean((train.y - predicted) ** 2, train.weights)
    return error if np.isfinite(error) else float("inf")


def _summaries(train: Table, lines: Sequence[Line], weights: Sequence[float]) -> tuple[TeacherFamily, ...]:
    """One a family; repeats of one family are summed up."""
    families: dict[str, list[tuple[Line, float]]] = {}
    for line, weight in zip(lines, weights, strict=True):
        families.setdefault(line.family, []).append((line, weight))
    return tuple(
        TeacherFamily(
            name=family,
            fitted=sum(len(line.members) for line, _ in pairs),
            weight=float(sum(weight for _, weight in pairs)),
            error=unseen_error(train, np.mean([line.out_of_fold for line, _ in pairs], axis=0)),
        )
        for family, pairs in families.items()
    )


def _families(seats: Sequence[Seat], fitter: Fitter) -> tuple[str, ...]:
    """The kinds, told apart where there are two of a kind; repeats of one seat keep its name."""
    names: list[str] = []
    for seat in seats:
        kind = (seat.regressor or fitter.regressor).kind
        number = 1 + sum(name == kind or name.startswith(f"{kind} ") for name in names)
        names.append(kind if seat.repeat or number == 1 else f"{kind} {number}")
    return tuple(names)


def _without(train: Table, held: IntArray, fitter: Fitter, seat: Seat, *, seed: int) -> FittedModel:
    rest = np.setdiff1d(np.arange(len(train)), held)
    return fitter.fit(train.take(rest), seed=seed, regressor=seat.regressor)


def _line(
    train: Table,
    family: str,
    seat: Seat,
    parts: Sequence[Block],
    layout: Sequence[IntArray],
    members: Sequence[FittedModel],
) -> Line:
    total, times = np.zeros(len(train)), np.zeros(len(train))
    for held, member in zip(layout, members, strict=True):
        total[held] += member.predict(train.x[held])
        times[held] += 1.0
    repeat = f", repeat {seat.repeat + 1}" if seat.repeat else ""
    word = "fold" if train.times is None else "block"
    names = tuple(f"{family} {_folds_in_words(part, word)}{repeat}" for part in parts)
    return Line(family=family, names=names, members=tuple(members), out_of_fold=total / times, has_whole=not all(parts))


def _folds_in_words(part: Block, word: str) -> str:
    """`without fold 3`, `without folds 2, 5 and 8`, `of all rows`."""
    if not part:
        return "of all rows"
    *others, last = map(str, part)
    return f"without {word}s {', '.join(others)} and {last}" if others else f"without {word} {last}"


STUDENT = -1  # stands for the student's own seat where the teacher has none for it


@dataclass(frozen=True, slots=True, order=True)
class ModelKey:
    """One model: which seat, and which of the gate's folds it has not seen (none: it has seen all training rows)."""

    seat: int
    left_out: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class FoldLayout:
    """Which models leave out gate folds: what a run fits once for all who need it, and what `plan` counts."""

    seats: tuple[Seat, ...]  # whose models serve both teacher and gate; none where nothing can be shared
    folds: int
    in_blocks: bool = False

    @property
    def student(self) -> int:
        """The seat whose models without one fold are the gate's plain ones."""
        return next((position for position, seat in enumerate(self.seats) if seat.is_students), STUDENT)

    def singles(self) -> list[ModelKey]:
        """What leaves out one fold: the gate's plain models, and the members of the teacher on all rows."""
        seats = sorted({self.student, *range(len(self.seats))}) if self.seats else ()
        return [ModelKey(seat, (number,)) for seat in seats for number in range(1, self.folds + 1)]

    def pairs(self, outer: Iterable[int]) -> list[ModelKey]:
        """What the teachers inside these outer folds need: models without two folds, or a block."""
        wanted = set(outer)
        blocks = (block for block in shared_blocks(self.folds, in_blocks=self.in_blocks) if wanted.intersection(block))
        return [ModelKey(seat, left_out) for left_out in blocks for seat in range(len(self.seats))]

    @property
    def asks_whole(self) -> bool:
        """Whether teachers inside an outer fold j ask M({j}) too, which has seen all rows there: in large blocks."""
        return any(len(block) > 2 for block in shared_blocks(self.folds, in_blocks=self.in_blocks))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FoldFitting:
    """All that is needed to fit any of the shared models, in this process or in another."""

    regressor: Regressor
    fill: Fill
    layout: FoldLayout
    train: Table
    division: Division

    def fit(self, key: ModelKey) -> tuple[FittedModel, float]:
        """The model and the seconds it took."""
        from threadpoolctl import threadpool_limits

        seat = Seat() if key.seat == STUDENT else self.layout.seats[key.seat]
        seed = self.division.seed
        seed = fold_model_seed(seed, seat, key.seat, key.left_out) if key.left_out else student_seed(seed, (0,))
        unseen = [self.division.held[number - 1] for number in key.left_out]
        rows = np.setdiff1d(np.arange(len(self.train)), np.concatenate(unseen) if unseen else [])
        fitter = Fitter(self.regressor, self.fill)
        with threadpool_limits(limits=1):  # the same bytes on any machine, and no fight between workers
            model = fitter.fit(self.train.take(rows), seed=seed, regressor=seat.regressor)
        # Equal numbers inside an estimator may be one object or two, and saved models tell the difference. Sending
        # pulls them apart, so a model that stays in its process is taken through the same door.
        return pickle.loads(pickle.dumps(model)), fitter.seconds  # noqa: S301 - our own object, a moment old


@dataclass(slots=True, eq=False)
class FoldModelCache:
    """The models that leave out gate folds: each fitted once, kept while somebody needs it, and counted."""

    fitting: FoldFitting
    models: dict[ModelKey, FittedModel] = field(default_factory=dict)
    cost: Cost = field(default_factory=Cost)  # of all that was fitted here

    @property
    def layout(self) -> FoldLayout:
        """Which models there are to fit."""
        return self.fitting.layout

    @property
    def numbers(self) -> range:
        """Of the folds, counted from 1."""
        return range(1, self.layout.folds + 1)

    @property
    def shares(self) -> bool:
        """Whether any model serves twice."""
        return bool(self.layout.seats)

    @property
    def plain_models(self) -> Cost:
        """Of those that are the gate's plain models: its part of what is fitted first."""
        return Cost.of_shared(self.layout.folds if self.shares else 0)

    @property
    def first(self) -> list[ModelKey]:
        """What is fitted before anything else: the plain model on all rows, then all that leave out one fold."""
        return [ModelKey(self.layout.student, ()), *self.layout.singles()] if self.shares else []

    def missing(self, outer: Iterable[int]) -> list[ModelKey]:
        """What the teachers inside these outer folds need and is not there yet."""
        return [key for key in self.layout.pairs(outer) if key not in self.models]

    def fit(self, keys: Sequence[ModelKey], *, workers: int = 1, advance: Callable[[], None] = lambda: None) -> None:
        """Fits these models and keeps them."""
        done = in_order((partial(self.fitting.fit, key) for key in keys), workers=workers)
        for key, (model, seconds) in zip(keys, done, strict=True):
            self.models[key] = model
            self.cost += Cost.of_shared(1, seconds)
            advance()

    def on_all_rows(self) -> FoldContext:
        """What the procedure on all training rows may know."""
        return self.inside(None)

    def inside(self, outer: int | None) -> FoldContext:
        """What the procedure inside an outer fold may know: no model that saw that fold. None: on all training rows."""
        context = fold_context(self.fitting.division, len(self.fitting.train), outer, in_blocks=self.layout.in_blocks)
        if not self.shares:
            return context
        ready = {
            (seat, part): model
            for seat in range(len(self.layout.seats))
            for part in context.parts
            if (model := self.models.get(ModelKey(seat, context.left_out(part)))) is not None
        }
        plain = ModelKey(self.layout.student, () if outer is None else (outer,))
        return replace(context, ready=ready, plain=self.models.get(plain))

    def release(self, ahead: Iterable[int]) -> None:
        """Forgets what no outer fold that is still ahead will ask for."""
        left = set(ahead)
        self.models = {key: model for key, model in self.models.items() if left.intersection(key.left_out)}


def fold_context(division: Division, rows: int, outer: int | None, *, in_blocks: bool = False) -> FoldContext:
    """The gate's folds as they lie in the rows without the outer fold, with no model at hand. rows: all there are."""
    folds = len(division.held)
    context = time_context(folds, outer, seed=division.seed, in_blocks=in_blocks)
    if division.in_time:
        return context
    seen = np.arange(rows) if outer is None else np.setdiff1d(np.arange(rows), division.held[outer - 1])
    held = tuple(np.searchsorted(seen, division.held[number - 1]).astype(np.int64) for number in context.numbers)
    return laid_out(replace(context, held=held, in_time=False), folds, in_blocks=in_blocks)


def time_context(folds: int, outer: int | None, *, seed: int, in_blocks: bool = False) -> FoldContext:
    """What a teacher that follows the gate's folds may know where they run forward in time: how many parts to make.

    Inside outer fold j there are only rows earlier than Fj, and not all other folds lie among them. So its members
    leave out blocks of time of these very rows, as many as they would leave out parts of the other folds, and are
    fitted for this fold alone. None of them can have seen a row of Fj or a later one: there is none among these rows.
    """
    numbers = tuple(number for number in range(1, folds + 1) if number != outer)
    whole = FoldContext(seed=seed, index=(outer or 0,), outer=outer, numbers=numbers, in_time=True)
    return laid_out(whole, folds, in_blocks=in_blocks)


def laid_out(context: FoldContext, folds: int, *, in_blocks: bool) -> FoldContext:
    """The same rows with the folds in them left out one by one or in blocks, with no model at hand.

    folds: how many the gate has. Some may have no row among these; they are in no part.
    """
    outer = context.outer
    if outer is None:
        return replace(context, parts=tuple((number,) for number in context.numbers), ready={}, plain=None)
    blocks = (block for block in shared_blocks(folds, in_blocks=in_blocks) if outer in block)
    parts = [tuple(number for number in block if number in context.numbers) for block in blocks]
    parts = [part for part in parts if part]
    if not context.in_time and FoldLayout(seats=(), folds=folds, in_blocks=in_blocks).asks_whole:
        parts.append(())
    return replace(context, parts=tuple(parts), ready={}, plain=None)


def shared_blocks(folds: int, *, in_blocks: bool) -> tuple[Block, ...]:
    """What the members of the teachers inside the outer folds leave out: any two folds, or a block of them."""
    return fold_blocks(folds) if in_blocks else tuple(combinations(range(1, folds + 1), 2))
