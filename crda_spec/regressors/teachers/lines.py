"""Members fitted fold by fold, and the teacher that weighs them.

Crossfit and committee differ only in who sits and in how the lines of members are weighed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from crda_spec.data.folds import left_out_folds
from crda_spec.data.timeorder import count_pieces
from crda_spec.records import Array, IntArray, Table, Teacher, TeacherFamily, weighted_mean
from crda_spec.regressors.fit import FittedModel, Fitter, student_seed
from crda_spec.regressors.teachers._protocol import GateFolds, Seat
from crda_spec.regressors.teachers.blocks import Block
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


def gate_lines(
    train: Table,
    fitter: Fitter,
    seats: Sequence[Seat],
    around: GateFolds | None,
    plain: FittedModel,
    *,
    seed: int,
    index: tuple[int, ...],
) -> tuple[Line, ...]:
    """The lines of members on the gate's folds; what is ready is taken, the rest is fitted. plain: on all these rows.

    Taken or fitted, a member is the same to the last bit: same rows, same seed. Where the gate's folds run forward in
    time, the members leave out blocks of time of these rows instead (`sharing.time_folds`), at most one a moment.
    """
    if around is None:
        message = "a teacher whose folds are the gate's must be told the gate's folds"
        raise ValueError(message)
    if train.times is not None:
        count = max(2, min(len(around.parts), count_pieces(train.times, train.groups)))
        return own_lines(train, fitter, seats, count, seed=seed, index=index)
    families = _families(seats, fitter)
    lines = []
    for position, seat in enumerate(seats):
        members = []
        for part in around.parts:
            if seat.is_students and not part:
                members.append(plain)
                continue
            member = around.ready.get((position, part))
            if member is None:
                member_seed = fold_model_seed(seed, seat, position, around.left_out(part))
                member = _without(train, around.held_of(part), fitter, seat, seed=member_seed)
            else:
                fitter.reused += 1
            members.append(member)
        held = [around.held_of(part) for part in around.parts]
        lines.append(_line(train, families[position], seat, around.parts, held, members))
    return tuple(lines)


def own_lines(
    train: Table, fitter: Fitter, seats: Sequence[Seat], count: int, *, seed: int, index: tuple[int, ...]
) -> tuple[Line, ...]:
    """The lines of members on folds of their own: the same for all seats of a repeat, drawn anew for the next."""
    families = _families(seats, fitter)
    numbers = tuple((number,) for number in range(1, count + 1))
    lines = []
    for position, seat in enumerate(seats):
        draw = stream(seed, "teacher-folds", *index, *((seat.repeat,) if seat.repeat else ()))
        layout = left_out_folds(train, count, rng=draw)
        stage = f"teacher-{position}" if position else "teacher"
        members = [
            _without(train, held, fitter, seat, seed=integer_seed(seed, stage, *index, number))
            for number, held in enumerate(layout)
        ]
        word = "fold" if train.times is None else "block"
        lines.append(_line(train, families[position], seat, numbers, layout, members, word=word))
    return tuple(lines)


def weighed_teacher(
    kind: str, train: Table, lines: Sequence[Line], weights: Sequence[float], *, whole_share: float
) -> Teacher:
    """The teacher whose lines weigh this much (together 1); members without weight are left behind.

    whole_share: how much of a line's say belongs to the member that has seen all rows, where there is one.
    """
    chosen = [(line, weight) for line, weight in zip(lines, weights, strict=True) if weight > 0]
    say = [(line, line.weights(weight, whole_share=whole_share)) for line, weight in chosen]
    members = [(line, at, own) for line, each in say for at, own in enumerate(each) if own > 0]
    teacher = Teacher(
        kind=kind,
        members=tuple(line.members[at] for line, at, _ in members),
        in_sample=np.empty(0),
        out_of_fold=None,
        weights=tuple(weight for *_, weight in members),
    )
    return Teacher(
        kind=kind,
        members=teacher.members,
        in_sample=teacher.predict(train.x),
        out_of_fold=_weighed([line.out_of_fold for line, _ in chosen], [weight for _, weight in chosen]),
        weights=teacher.weights,
        names=tuple(line.names[at] for line, at, _ in members),
        families=_summaries(train, lines, weights),
    )


def unseen_error(train: Table, predicted: Array) -> float:
    """The (weighted) mean squared error of predictions for rows unseen; infinite for a model that has run away."""
    with np.errstate(over="ignore", invalid="ignore"):
        error = weighted_mean((train.y - predicted) ** 2, train.weights)
    return error if np.isfinite(error) else float("inf")


def _weighed(predictions: Sequence[Array], weights: Sequence[float]) -> Array:
    """(n,) the weighted mean; in this order, so that it is the same to the last bit every time."""
    total = weights[0] * predictions[0]
    for weight, predicted in zip(weights[1:], predictions[1:], strict=True):
        total = total + weight * predicted
    return total


def _summaries(train: Table, lines: Sequence[Line], weights: Sequence[float]) -> tuple[TeacherFamily, ...]:
    """One a family; repeats of one family are summed up."""
    found = []
    for family in dict.fromkeys(line.family for line in lines):
        own = [(line, weight) for line, weight in zip(lines, weights, strict=True) if line.family == family]
        mean = np.mean([line.out_of_fold for line, _ in own], axis=0)
        found.append(
            TeacherFamily(
                name=family,
                fitted=sum(len(line.members) for line, _ in own),
                weight=float(sum(weight for _, weight in own)),
                error=unseen_error(train, mean),
            )
        )
    return tuple(found)


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
    *,
    word: str = "fold",
) -> Line:
    total, times = np.zeros(len(train)), np.zeros(len(train))
    for held, member in zip(layout, members, strict=True):
        total[held] += member.predict(train.x[held])
        times[held] += 1.0
    repeat = f", repeat {seat.repeat + 1}" if seat.repeat else ""
    names = tuple(f"{family} {_folds_in_words(part, word)}{repeat}" for part in parts)
    return Line(family=family, names=names, members=tuple(members), out_of_fold=total / times, has_whole=not all(parts))


def _folds_in_words(part: Block, word: str) -> str:
    """`without fold 3`, `without folds 2, 5 and 8`, `of all rows`."""
    if not part:
        return "of all rows"
    *others, last = map(str, part)
    return f"without {word}s {', '.join(others)} and {last}" if others else f"without {word} {last}"
