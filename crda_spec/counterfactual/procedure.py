"""The whole procedure on one set of training rows: tune, fit g, abduct, partition, act, predict.

The gate calls it anew inside every fold, the pipeline once on all training rows. It never sees another row.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Protocol

from crda_spec.counterfactual.abduct import abduct
from crda_spec.counterfactual.act import Acting, Propagation, act
from crda_spec.counterfactual.licence import licensed, restated
from crda_spec.counterfactual.noise import Additive, NoiseModel
from crda_spec.counterfactual.partition import Choice, Partitioner
from crda_spec.counterfactual.predict import predict_outcome
from crda_spec.records import (
    Abduction,
    Array,
    Certificate,
    Counterfactuals,
    Licensed,
    ResidualDraw,
    Residuals,
    Study,
    Table,
    Teacher,
)
from crda_spec.regressors import FittedModel, Fitter, Regressor
from crda_spec.regressors.fit import Fill, Watch, student_seed
from crda_spec.regressors.teachers import CrossfitTeacher, GateFolds, Seat, TeacherRule
from crda_spec.regressors.teachers.fold_models import asks_whole, laid_out, shared_blocks
from crda_spec.regressors.tune import RandomSearch, tune
from crda_spec.seeds import integer_seed, stream

if TYPE_CHECKING:
    from crda_spec.records import Abduction, Counterfactuals, Licensed, Table, Teacher

__all__ = [
    "Augmentation",
    "Procedure",
    "Settled",
    "Tuner",
    "augment",
    "fit_augmented",
    "once_more",
    "settle",
    "settled_regressor",
    "student_seed",
]


def new_rows(
    procedure: Procedure,
    train: Table,
    teacher: Teacher,
    abduction: Abduction,
    permit: Licensed,
    *,
    seed: int,
    index: tuple[int, ...],
) -> Counterfactuals | None:
    """None when nothing may move, or no row is left because all of them lie off the data."""
    if not permit.names:
        return None
    following = procedure.propagation
    mechanisms = None if following is None else following.mechanisms(train, permit.names)
    action = act(
        train, permit.names, procedure.acting, seed=seed, index=index, mechanisms=mechanisms, noise=abduction.noise
    )
    if not len(action.source):
        return None
    return predict_outcome(
        teacher,
        action,
        abduction,
        retention=procedure.carried,
        weight=procedure.weight,
        draw=procedure.draw,
        train=train,
        rng=stream(seed, "matched-noise", *index),
    )


_SCREENING_FOLDS = 5  # of the screen's own cross-fitting, when there is no gate whose folds it could follow


class Tuner(Protocol):
    """Finds the augmentation's knobs on one set of rows. `counterfactual/tuning/` is one."""

    @property
    def in_blocks(self) -> bool:
        """Whether every teacher that it may choose leaves out the gate's folds in blocks."""
        ...

    def fits(self, procedure: Procedure, parts: int) -> int:
        """How many models it fits at most; `parts` as in `Procedure.fits`."""
        ...

    def settle(
        self, procedure: Procedure, train: Table, *, seed: int, index: tuple[int, ...], around: GateFolds | None
    ) -> Settled:
        """The procedure with its knobs set. Whatever it fits, it fits on parts of these rows."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Procedure:
    """Every choice that the augmentation depends on."""

    regressor: Regressor
    fill: Fill
    search: RandomSearch | None
    teacher: TeacherRule
    residuals: Residuals
    partitioner: Partitioner
    acting: Acting
    retention: float
    weight: float
    screened: Residuals = "in_sample"  # whose dependence on features is screened; not always the noise that rows carry
    propagation: Propagation | None = None  # None: what a moved feature causes is held fixed
    watch: Watch = "real"  # what the augmented arm's early stopping looks at
    choice: Choice = field(default_factory=Choice)  # among all features, for rows that carry no noise
    noise: NoiseModel = field(default_factory=Additive)
    draw: ResidualDraw = "own"
    tuner: Tuner | None = None  # of the knobs; None: they are used as they stand

    @property
    def carried(self) -> float:
        """How much noise a new row carries."""
        return 0.0 if self.draw == "none" else self.retention

    def fits(self, parts: int) -> int:
        """Models needed for one set of rows, shared or not: tuning, the plain one, the teacher's, the augmented one.

        parts: in how many parts a teacher that follows the gate's folds leaves them out, one model each.
        """
        tuning = 0 if self.search is None else self.search.trials * self.search.folds
        tuning += 0 if self.tuner is None else self.tuner.fits(self, parts)
        helper = self._screening_teacher()
        screening = 0 if helper is None else helper.fits(parts)
        return tuning + 1 + self.teacher.fits(parts) + screening + 1

    def fits_in_folds(self, gate_folds: int, *, in_time: bool = False) -> tuple[int, ...]:
        """The same for each fold of the gate, inside which the other folds are left out one by one or in blocks."""
        in_blocks = self.in_blocks and (self.tuner is None or self.tuner.in_blocks)  # at most: as the dearest needs
        blocks = shared_blocks(gate_folds, in_blocks=in_blocks)
        whole = 0  # members beside those of the blocks; the student's own is the plain model
        if not in_time and asks_whole(gate_folds, in_blocks=in_blocks):
            whole = sum(not seat.is_students for seat in self.teacher.seats)
        parts = (sum(number in block for block in blocks) for number in range(1, gate_folds + 1))
        return tuple(whole + self.fits(count) for count in parts)

    @property
    def in_blocks(self) -> bool:
        """Whether models inside the gate leave out its folds in blocks."""
        return self._screening_teacher() is None and self.teacher.in_blocks

    @property
    def shared_seats(self) -> tuple[Seat, ...]:
        """Whose models without folds serve both teacher and gate; none when settings are tuned inside each fold."""
        if self.search is not None or self.tuner is not None:
            return ()
        helper = self._screening_teacher()
        return self.teacher.seats if helper is None else helper.seats

    def _screening_teacher(self, folds: int | None = None) -> CrossfitTeacher | None:
        """Who predicts rows unseen for the screen, when the teacher itself cannot."""
        needed = self.screened == "out_of_fold" and not self.teacher.predicts_unseen
        return CrossfitTeacher(folds) if needed else None

    def residuals_to_screen(
        self,
        train: Table,
        teacher: Teacher,
        fitter: Fitter,
        plain: FittedModel,
        *,
        seed: int,
        index: tuple[int, ...],
        around: GateFolds | None = None,
    ) -> Array:
        """The residuals in which the screen looks for features; those of rows unseen may cost fits of their own."""
        helper = self._screening_teacher(_SCREENING_FOLDS if around is None else None)
        if helper is not None:
            own = integer_seed(seed, "screening") if around is None else seed  # shared models have the run's seed
            teacher = helper.teach(train, fitter, plain, seed=own, index=index, around=around)
        return abduct(train, teacher, residuals=self.screened, noise=self.noise).noise


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Augmentation:
    """What the procedure made of one set of training rows."""

    fitter: Fitter
    watch: Watch
    plain: FittedModel
    teacher: Teacher
    abduction: Abduction
    certificate: Certificate
    permit: Licensed  # what may move, on which licence, rows made or not
    counterfactuals: Counterfactuals | None  # None when no feature may move, none was asked to, or no row is left
    settings: Mapping[str, object]
    procedure: Procedure  # with nothing left to search
    around: GateFolds | None  # the gate's folds, as the teacher was told them
    studies: tuple[Study, ...] = ()  # the searches that settings and knobs come from

    @property
    def moved(self) -> tuple[str, ...]:
        """The features that moved, on whichever licence."""
        return () if self.counterfactuals is None else self.counterfactuals.action.moved


def augment(
    procedure: Procedure,
    train: Table,
    *,
    seed: int,
    index: tuple[int, ...],
    make_rows: bool = True,
    around: GateFolds | None = None,
    fitter: Fitter | None = None,
) -> Augmentation:
    """`index` names the set of rows (a fold), so that its random streams are its own.

    make_rows: False when it is already known that nothing will be augmented, and only the rest is wanted.
    around: the gate's folds inside these rows, and models on parts of these rows that need not be fitted again.
    fitter: fits with settings that were found on these rows already; None: they are searched now, if they are to be.
    """
    studies: tuple[Study, ...] = ()
    if fitter is None:
        settled = settle(procedure, train, seed=seed, index=index, around=around, knobs=make_rows)
        if around is not None and settled.procedure.in_blocks != procedure.in_blocks:
            around = laid_out(around, around.folds, in_blocks=settled.procedure.in_blocks)
        procedure, studies = settled.procedure, settled.studies
        fitter = Fitter(procedure.regressor, procedure.fill, fits=settled.fits, seconds=settled.seconds)
    if around is not None and around.plain is not None:
        plain, fitter.reused = around.plain, fitter.reused + 1
    else:
        plain = fitter.fit(train, seed=student_seed(seed, index))
    teacher = procedure.teacher.teach(train, fitter, plain, seed=seed, index=index, around=around)
    abduction = abduct(train, teacher, residuals=procedure.residuals, noise=procedure.noise)
    screened = procedure.residuals_to_screen(train, teacher, fitter, plain, seed=seed, index=index, around=around)
    certificate = procedure.partitioner.partition(train, screened, seed=seed, index=index)
    permit = permitted(procedure, certificate)
    counterfactuals = None
    if make_rows:
        counterfactuals = new_rows(procedure, train, teacher, abduction, permit, seed=seed, index=index)
    return Augmentation(
        fitter=fitter,
        watch=procedure.watch,
        plain=plain,
        teacher=teacher,
        abduction=abduction,
        certificate=restated(certificate, permit),
        permit=permit,
        counterfactuals=counterfactuals,
        settings={"kind": fitter.regressor.kind, **asdict(fitter.regressor)},  # type: ignore[call-overload]
        procedure=procedure,
        around=around,
        studies=studies,
    )


def once_more(first: Augmentation, train: Table, *, seed: int, index: tuple[int, ...]) -> Augmentation:
    """The same from another random state: another plain model, other new rows; its fits count with the first one's.

    What was searched, what may move and who teaches stay as they are; a teacher that is the plain model is the new one.
    """
    procedure, fitter = first.procedure, first.fitter
    plain, teacher = fitter.fit(train, seed=student_seed(seed, index)), first.teacher
    if not procedure.teacher.fits(1):
        teacher = procedure.teacher.teach(train, fitter, plain, seed=seed, index=index, around=first.around)
    abduction = abduct(train, teacher, residuals=procedure.residuals, noise=procedure.noise)
    made = None
    if first.counterfactuals is not None:
        made = new_rows(procedure, train, teacher, abduction, first.permit, seed=seed, index=index)
    return replace(first, plain=plain, teacher=teacher, abduction=abduction, counterfactuals=made)


def permitted(procedure: Procedure, certificate: Certificate) -> Licensed:
    """What moves, and on which licence."""
    permit = licensed(certificate, procedure.choice, retention=procedure.carried, propagation=procedure.propagation)
    return _as_sets(permit, procedure.acting)


def _as_sets(permit: Licensed, acting: Acting) -> Licensed:
    """Features that move together all do, or none does."""
    held = acting.held(permit.names)
    names = tuple(name for name in permit.names if name not in held)
    uncertified = tuple(name for name in permit.uncertified if name not in held)
    return replace(permit, names=names, uncertified=uncertified, left={**permit.left, **held})


def fit_augmented(augmentation: Augmentation, train: Table, *, seed: int, index: tuple[int, ...]) -> FittedModel:
    """The augmented arm; the plain model itself when there is nothing to add."""
    if augmentation.counterfactuals is None:
        return augmentation.plain
    return augmentation.fitter.fit(
        train, augmentation.counterfactuals, seed=student_seed(seed, index), watch=augmentation.watch
    )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Settled:
    """A procedure with nothing left to search, and what settling it took."""

    procedure: Procedure
    studies: tuple[Study, ...] = ()
    fits: int = 0
    seconds: float = 0.0


def settle(
    procedure: Procedure,
    train: Table,
    *,
    seed: int,
    index: tuple[int, ...],
    around: GateFolds | None = None,
    knobs: bool = True,
) -> Settled:
    """Searches what is to be searched, on these rows alone: the regressor's settings, then the augmentation's knobs.

    Both arms of a comparison get the same regressor settings. Only the augmented arm has knobs.

    knobs: False when nothing will be augmented.
    """
    found = settled_regressor(procedure, train, seed=seed, index=index)
    if procedure.tuner is None or not knobs:
        return replace(found, procedure=replace(found.procedure, tuner=None))
    # Not with the settings just found: they know the rows that hold out an inner fold.
    tuned = procedure.tuner.settle(procedure, train, seed=seed, index=index, around=around)
    return Settled(
        procedure=replace(tuned.procedure, regressor=found.procedure.regressor, search=None, tuner=None),
        studies=(*found.studies, *tuned.studies),
        fits=found.fits + tuned.fits,
        seconds=found.seconds + tuned.seconds,
    )


def settled_regressor(procedure: Procedure, train: Table, *, seed: int, index: tuple[int, ...]) -> Settled:
    """The procedure with the regressor's settings found on these rows."""
    if procedure.search is None:
        return Settled(procedure=procedure)
    tuned = tune(procedure.regressor, procedure.search, train, fill=procedure.fill, seed=seed, index=index)
    return Settled(
        procedure=replace(procedure, regressor=tuned.regressor, search=None),
        studies=(tuned.study,),
        fits=tuned.fits,
        seconds=tuned.seconds,
    )
