"""The family's contract, and what a teacher may be handed: the gate's folds, with models that are already fitted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from itertools import combinations
from typing import ClassVar, Literal, Self

from crda_spec.records import IntArray, Signs, Table, Teacher
from crda_spec.regressors._protocol import Regressor
from crda_spec.regressors.fit import FittedModel, Fitter
from crda_spec.strict import Strict

Block = tuple[int, ...]  # numbers of folds, counted from 1, in ascending order

_FEWEST = 7  # folds: with fewer, pairs cost little more, and sets would leave a model too few rows
_GROUPS = 5


@cache
def fold_blocks(folds: int) -> tuple[Block, ...]:
    """Any two of the folds 1..`folds` lie together in some block; pairs where folds are too few for blocks."""
    numbers = range(1, folds + 1)
    if folds < _FEWEST:
        return tuple(combinations(numbers, 2))
    groups = [numbers[start::_GROUPS] for start in range(_GROUPS)]
    return tuple(tuple(sorted((*one, *other))) for one, other in combinations(groups, 2))


@dataclass(frozen=True, slots=True)
class Learner:
    """A kind of model with its settings, to be cross-fitted: one member for each fold."""

    regressor: Regressor | None = None  # None: the student's own, with the settings it was given or tuned to
    repeat: int = 0
    columns: tuple[int, ...] | None = None  # the boundary's, where it may look at no others; None: all
    signs: Signs = ()  # declared ones that its models hold, beside a learner whose models do not

    @property
    def is_students(self) -> bool:
        """Whether its member without one fold is the plain model that the gate fits for that fold anyway."""
        return self.regressor is None and self.repeat == 0 and self.columns is None and not self.signs


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FoldContext:
    """One set of training rows: its random streams, the gate's folds as they lie in it, and models fitted on it.

    No row of the outer fold is among the rows at hand, and no model in `ready` or `plain` has seen one of them.
    """

    seed: int
    index: tuple[int, ...] = (0,)  # names these rows, so that their random streams are their own; 0: all training rows
    outer: int | None = None  # the number of the fold that these rows leave out; None when they are all training rows
    numbers: tuple[int, ...] = ()  # of the gate's folds that these rows contain, counted from 1; none without a gate
    held: tuple[IntArray, ...] = ()  # the positions of each of them in these rows
    # By member: which of these folds it leaves out. Each fold is in one part at least. Where parts are blocks there is
    # an empty one beside them: a member that sees all of these rows, since those of the blocks see so few.
    parts: tuple[Block, ...] = ()
    ready: Mapping[tuple[int, Block], FittedModel] = field(default_factory=dict)  # (learner, part) -> its member
    learners: tuple[Learner, ...] = ()  # whose members `ready` holds, by position
    plain: FittedModel | None = None  # the student's model on all of these rows
    # The gate's folds run forward in time. `held` is then empty: a member that leaves out a part of the rows at hand
    # leaves out a block of time of its own, and only how many there are is taken from `parts`.
    in_time: bool = False

    @property
    def folds(self) -> int:
        """How many folds the gate has, where each of them has rows."""
        return len(self.numbers) + (self.outer is not None)

    def left_out(self, part: Block) -> Block:
        """The folds that the member for this part may not see, in ascending order."""
        return part if self.outer is None else tuple(sorted((self.outer, *part)))


Folds = int | Literal["gate", "blocks"]
FOLDS = (
    "How many folds. gate: as many as the gate has, and the same ones, so that a fitted model serves both. blocks: the "
    "same on all training rows, but inside the gate a model leaves out several folds at once and serves all of them: "
    "far fewer are fitted. A number from 2 to 50: folds of the teacher's own, whose models serve nobody else."
)


class TeacherRule(Strict):
    """How a teacher comes from training rows."""

    predicts_unseen: ClassVar[bool] = True  # whether it has out-of-fold predictions

    kind: str

    @property
    def learners(self) -> tuple[Learner, ...]:
        """Who is fitted once for each of the gate's folds; empty when its members do not follow these folds."""
        return ()

    @property
    def in_blocks(self) -> bool:
        """Whether a member inside an outer fold leaves out several of the other folds at once (`fold_blocks`)."""
        return False

    def with_student(self, student: Regressor | None) -> Self:
        """The rule once it is known who the student is; None: a search will change its settings."""
        return self

    def with_boundary(self, columns: tuple[int, ...] | None) -> Self:
        """The rule once it is known which columns the graph calls the boundary; None: all of them."""
        return self

    def with_signs(self, signs: Signs, *, student_holds: bool) -> Self:
        """The rule once the declared signs are known. student_holds: a member of the student's kind can hold them."""
        return self

    def fits(self, parts: int) -> int:
        """How many models it needs beside the plain one, where the gate's folds are left out in this many parts."""
        raise NotImplementedError

    def teach(self, train: Table, fitter: Fitter, plain: FittedModel, context: FoldContext) -> Teacher:
        """`plain` is the model already fitted on all of `train`; what the context holds ready is not fitted again."""
        raise NotImplementedError
