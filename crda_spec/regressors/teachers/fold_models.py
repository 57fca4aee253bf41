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

One thing about a shared model may depend on all rows: which columns a member of the boundary looks at, where the rows
suggest edges that the declared graph lacks. Inside outer fold j the rows outside Fj are asked anew, and M(S) is used
only if they name the same columns (`gate_crossfits`): it is then the very model that fold j alone would have fitted.

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
from crda_spec.records import Array, Cost, IntArray, SignedMembers, Table, Teacher, TeacherFamily, Trust, weighted_mean
from crda_spec.regressors._protocol import Regressor, label_of
from crda_spec.regressors.fit import Fill, FittedModel, Fitter, student_seed
from crda_spec.regressors.teachers._protocol import Block, FoldContext, Folds, Learner, TeacherRule, fold_blocks
from crda_spec.seeds import integer_seed, stream


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CrossFit:
    """One learner on every fold: its members, each fitted without its fold."""

    family: str
    names: tuple[str, ...]
    members: tuple[FittedModel, ...]
    out_of_fold: Array  # (n,) each row by the member that has not seen it, on average where there are several
    learner: Learner
    has_whole: bool = False  # the last member has seen all rows, the others fewer

    def weights(self, weight: float, *, whole_share: float) -> list[float]:
        """What each member weighs, when the crossfit weighs this much and a member of all rows has this part of it."""
        if not self.has_whole:
            return [weight / len(self.members)] * len(self.members)
        parts = len(self.members) - 1
        return [weight * (1.0 - whole_share) / parts] * parts + [weight * whole_share]


@dataclass(frozen=True, slots=True)
class Weighing:
    """What each learner's crossfit weighs, together 1, and what its rows said on the way."""

    weights: list[float]
    trust: Trust | None = None  # whether the rows bear the graph out
    signs: SignedMembers | None = None  # what the declared signs did


def fold_model_seed(seed: int, learner: Learner, position: int, left_out: tuple[int, ...]) -> int:
    """One seed for one model, whoever asks for it: the learner at `position`, fitted without these gate folds.

    The student's own model without one fold is the gate's plain model of that fold, so it starts as that one does.
    """
    if learner.is_students and len(left_out) == 1:
        return student_seed(seed, left_out)
    return integer_seed(seed, "fold-model", position, *left_out)


class FoldTeacher(TeacherRule):
    """A teacher whose members each leave out a part of the rows: of the gate's folds, or of folds of its own."""

    whole_share: ClassVar[float]  # of a crossfit's say, that of a member that has seen all rows: there is one in blocks

    if TYPE_CHECKING:
        folds: Folds  # a member says where it stands among its keys

    @property
    def all_learners(self) -> tuple[Learner, ...]:
        """Who is fitted once for each fold."""
        raise NotImplementedError

    def weigh(self, train: Table, crossfits: Sequence[CrossFit]) -> Weighing:
        """By what the learners say of rows that they have not seen."""
        raise NotImplementedError

    @property
    def in_blocks(self) -> bool:
        """Whether `folds` says so."""
        return self.folds == "blocks"

    @property
    def learners(self) -> tuple[Learner, ...]:
        """All, where the folds are the gate's."""
        return self.all_learners if isinstance(self.folds, str) else ()

    def fits(self, parts: int) -> int:
        """One member a fold and learner."""
        return len(self.all_learners) * (parts if isinstance(self.folds, str) else self.folds)

    def teach(self, train: Table, fitter: Fitter, plain: FittedModel, context: FoldContext) -> Teacher:
        """Costs one fit a fold and learner, less what is ready; members without weight are left behind."""
        if isinstance(self.folds, str):
            crossfits = gate_crossfits(train, fitter, self.all_learners, plain, context)
        else:
            crossfits = own_crossfits(train, fitter, self.all_learners, self.folds, context)
        teacher = self._mixed(train, crossfits)
        blind = [one for one in crossfits if one.learner.columns is None]
        if len(blind) == len(crossfits) or context.index != (0,):  # nobody is told of a fold's
            return teacher
        return replace(teacher, without_graph=self._mixed(train, blind))

    def _mixed(self, train: Table, crossfits: Sequence[CrossFit]) -> Teacher:
        """These members, weighed."""
        weighing = self.weigh(train, crossfits)
        chosen = [
            (crossfit, weight) for crossfit, weight in zip(crossfits, weighing.weights, strict=True) if weight > 0
        ]
        members = [
            (member, name, share)
            for crossfit, weight in chosen
            for member, name, share in zip(
                crossfit.members, crossfit.names, crossfit.weights(weight, whole_share=self.whole_share), strict=True
            )
            if share > 0
        ]
        teacher = Teacher(
            kind=self.kind,
            members=tuple(member for member, _, _ in members),
            in_sample=np.empty(0),
            # Added up in this order, so that it is the same to the last bit every time.
            out_of_fold=reduce(add, (weight * crossfit.out_of_fold for crossfit, weight in chosen)),
            weights=tuple(share for _, _, share in members),
            names=tuple(name for _, name, _ in members),
            families=_summaries(train, crossfits, weighing.weights),
            trust=weighing.trust,
            signs=weighing.signs,
        )
        return replace(teacher, in_sample=teacher.predict(train.x))


def gate_crossfits(
    train: Table, fitter: Fitter, learners: Sequence[Learner], plain: FittedModel, context: FoldContext
) -> tuple[CrossFit, ...]:
    """Cross-fits on the gate's folds; what is ready is taken, the rest is fitted. plain: on all these rows.

    Taken or fitted, a member is the same to the last bit: same rows, same seed. Where the gate's folds run forward in
    time, the members leave out blocks of time of these rows instead (`time_context`), at most one a moment.
    """
    if not context.numbers:
        raise ValueError("a teacher whose folds are the gate's must know the gate's folds")
    if train.times is not None:
        count = max(2, min(len(context.parts), count_pieces(train.times, train.groups)))
        return own_crossfits(train, fitter, learners, count, context)
    where, nowhere = dict(zip(context.numbers, context.held, strict=True)), np.empty(0, dtype=np.int64)
    held = [np.sort(np.concatenate([nowhere, *(where[number] for number in part)])) for part in context.parts]

    def member(position: int, learner: Learner, part: Block, unseen: IntArray) -> FittedModel:
        if learner.is_students and not part:
            return plain
        # These rows may name another boundary than all rows did, on whose columns the shared member was fitted.
        if (position, part) in context.ready and context.learners[position] == learner:
            fitter.reused += 1
            return context.ready[position, part]
        member_seed = fold_model_seed(context.seed, learner, position, context.left_out(part))
        return _without(train, unseen, fitter, learner, seed=member_seed)

    crossfits = []
    for position, (learner, family) in enumerate(zip(learners, family_names(learners, fitter.regressor), strict=True)):
        members = [member(position, learner, part, unseen) for part, unseen in zip(context.parts, held, strict=True)]
        crossfits.append(_crossfit(train, family, learner, context.parts, held, members))
    return tuple(crossfits)


def own_crossfits(
    train: Table, fitter: Fitter, learners: Sequence[Learner], count: int, context: FoldContext
) -> tuple[CrossFit, ...]:
    """Cross-fits on folds of their own: the same for all learners of a repeat, drawn anew for the next."""
    seed, index = context.seed, context.index
    numbers = tuple((number,) for number in range(1, count + 1))
    crossfits = []
    for position, (learner, family) in enumerate(zip(learners, family_names(learners, fitter.regressor), strict=True)):
        draw = stream(seed, "teacher-folds", *index, *((learner.repeat,) if learner.repeat else ()))
        held = left_out_folds(train, count, rng=draw)
        stage = f"teacher-{position}" if position else "teacher"
        members = [
            _without(train, unseen, fitter, learner, seed=integer_seed(seed, stage, *index, number))
            for number, unseen in enumerate(held)
        ]
        crossfits.append(_crossfit(train, family, learner, numbers, held, members))
    return tuple(crossfits)


def unseen_error(train: Table, predicted: Array) -> float:
    """The (weighted) mean squared error of predictions for rows unseen; infinite for a model that has run away."""
    with np.errstate(over="ignore", invalid="ignore"):
        error = weighted_mean((train.y - predicted) ** 2, train.weights)
    return error if np.isfinite(error) else float("inf")


def _summaries(train: Table, crossfits: Sequence[CrossFit], weights: Sequence[float]) -> tuple[TeacherFamily, ...]:
    """One a family; repeats of one family are summed up."""
    families: dict[str, list[tuple[CrossFit, float]]] = {}
    for crossfit, weight in zip(crossfits, weights, strict=True):
        families.setdefault(crossfit.family, []).append((crossfit, weight))
    return tuple(
        TeacherFamily(
            name=family,
            fitted=sum(len(crossfit.members) for crossfit, _ in pairs),
            weight=float(sum(weight for _, weight in pairs)),
            error=unseen_error(train, np.mean([crossfit.out_of_fold for crossfit, _ in pairs], axis=0)),
        )
        for family, pairs in families.items()
    )


def family_names(learners: Sequence[Learner], student: Regressor) -> tuple[str, ...]:
    """The kinds, told apart where there are two of a kind; repeats of one learner keep its name."""
    labels: list[str] = []
    names: list[str] = []
    for learner in learners:
        regressor = learner.regressor or student
        label = label_of(regressor) + ("" if learner.columns is None else " on the boundary")
        label += " with signs" if learner.signs or getattr(regressor, "signs", ()) else ""
        labels.append(label)
        number = labels.count(label)
        names.append(label if learner.repeat or number == 1 else f"{label} {number}")
    return tuple(names)


def fit_learner(fitter: Fitter, rows: Table, learner: Learner, *, seed: int) -> FittedModel:
    """One of its models."""
    return fitter.fit(rows, seed=seed, regressor=learner.regressor, columns=learner.columns, signs=learner.signs)


def _without(train: Table, held: IntArray, fitter: Fitter, learner: Learner, *, seed: int) -> FittedModel:
    rest = np.setdiff1d(np.arange(len(train)), held)
    return fit_learner(fitter, train.take(rest), learner, seed=seed)


def _crossfit(
    train: Table,
    family: str,
    learner: Learner,
    parts: Sequence[Block],
    layout: Sequence[IntArray],
    members: Sequence[FittedModel],
) -> CrossFit:
    total, times = np.zeros(len(train)), np.zeros(len(train))
    for held, member in zip(layout, members, strict=True):
        total[held] += member.predict(train.x[held])
        times[held] += 1.0
    repeat = f", repeat {learner.repeat + 1}" if learner.repeat else ""
    word = "fold" if train.times is None else "block"
    names = tuple(f"{family} {_folds_in_words(part, word)}{repeat}" for part in parts)
    return CrossFit(
        family=family,
        names=names,
        members=tuple(members),
        out_of_fold=total / times,
        has_whole=not all(parts),
        learner=learner,
    )


def _folds_in_words(part: Block, word: str) -> str:
    """`without fold 3`, `without folds 2, 5 and 8`, `of all rows`."""
    if not part:
        return "of all rows"
    *others, last = map(str, part)
    return f"without {word}s {', '.join(others)} and {last}" if others else f"without {word} {last}"


STUDENT = -1  # stands for the student's own learner where the teacher has none for it


@dataclass(frozen=True, slots=True, order=True)
class ModelKey:
    """One model: which learner, and which of the gate's folds it has not seen (none: it has seen all training rows)."""

    learner: int
    left_out: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class FoldLayout:
    """Which models leave out gate folds: what a run fits once for all who need it, and what `plan` counts."""

    learners: tuple[Learner, ...]  # whose models serve both teacher and gate; none where nothing can be shared
    folds: int
    in_blocks: bool = False

    @property
    def student(self) -> int:
        """The learner whose models without one fold are the gate's plain ones."""
        return next((position for position, learner in enumerate(self.learners) if learner.is_students), STUDENT)

    def singles(self) -> list[ModelKey]:
        """What leaves out one fold: the gate's plain models, and the members of the teacher on all rows."""
        learners = sorted({self.student, *range(len(self.learners))}) if self.learners else ()
        return [ModelKey(learner, (number,)) for learner in learners for number in range(1, self.folds + 1)]

    def pairs(self, outer: Iterable[int]) -> list[ModelKey]:
        """What the teachers inside these outer folds need: models without two folds, or a block."""
        wanted = set(outer)
        blocks = (block for block in shared_blocks(self.folds, in_blocks=self.in_blocks) if wanted.intersection(block))
        return [ModelKey(learner, left_out) for left_out in blocks for learner in range(len(self.learners))]

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

    def fit(self, key: ModelKey) -> tuple[FittedModel, Cost]:
        """The model and what it took."""
        learner = Learner() if key.learner == STUDENT else self.layout.learners[key.learner]
        seed = self.division.seed
        seed = fold_model_seed(seed, learner, key.learner, key.left_out) if key.left_out else student_seed(seed, (0,))
        unseen = [self.division.held[number - 1] for number in key.left_out]
        rows = np.setdiff1d(np.arange(len(self.train)), np.concatenate(unseen) if unseen else [])
        fitter = Fitter(self.regressor, self.fill)
        model = fit_learner(fitter, self.train.take(rows), learner, seed=seed)
        # Equal numbers inside an estimator may be one object or two, and saved models tell the difference. Sending
        # pulls them apart, so a model that stays in its process is taken through the same door.
        cost = Cost.of_shared(1, fitter.seconds, fitter.refits)
        return pickle.loads(pickle.dumps(model)), cost  # noqa: S301 - our own object, a moment old


@dataclass(slots=True, eq=False)
class FoldModelCache:
    """The models that leave out gate folds: each fitted once, kept while somebody needs it, and counted."""

    fitting: FoldFitting
    models: dict[ModelKey, FittedModel] = field(default_factory=dict)
    costs: dict[ModelKey, Cost] = field(default_factory=dict)  # of each that was fitted here, kept or not

    @property
    def cost(self) -> Cost:
        """Of all that was fitted here."""
        return self.cost_of(self.costs)

    def cost_of(self, keys: Iterable[ModelKey]) -> Cost:
        """Of these models, fitted here."""
        return sum((self.costs[key] for key in keys), Cost())

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
        return bool(self.layout.learners)

    @property
    def plain_models(self) -> Cost:
        """Of those that are the gate's plain models: its part of what is fitted first."""
        return self.cost_of(ModelKey(self.layout.student, (number,)) for number in self.numbers if self.shares)

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
        for key, (model, cost) in zip(keys, done, strict=True):
            self.models[key], self.costs[key] = model, cost
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
            (learner, part): model
            for learner in range(len(self.layout.learners))
            for part in context.parts
            if (model := self.models.get(ModelKey(learner, context.left_out(part)))) is not None
        }
        plain = ModelKey(self.layout.student, () if outer is None else (outer,))
        return replace(context, ready=ready, learners=self.layout.learners, plain=self.models.get(plain))

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
    if not context.in_time and FoldLayout(learners=(), folds=folds, in_blocks=in_blocks).asks_whole:
        parts.append(())
    return replace(context, parts=tuple(parts), ready={}, plain=None)


def shared_blocks(folds: int, *, in_blocks: bool) -> tuple[Block, ...]:
    """What the members of the teachers inside the outer folds leave out: any two folds, or a block of them."""
    return fold_blocks(folds) if in_blocks else tuple(combinations(range(1, folds + 1), 2))
