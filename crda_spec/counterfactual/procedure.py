"""The whole procedure on one set of training rows: tune, teach, abduct, classify, act, predict.

The gate calls it anew inside every fold, the pipeline once on all training rows. It never sees another row.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Protocol

from crda_spec import records
from crda_spec.counterfactual import basis
from crda_spec.counterfactual.abduct import Additive, NoiseModel, abduct
from crda_spec.counterfactual.act import Propagation, act, count_new_rows
from crda_spec.counterfactual.augmenters import BaseAugmenter, Given, augmented_rows
from crda_spec.counterfactual.partition import Partition, Partitioner
from crda_spec.counterfactual.perturbation import Perturbation, row_labels
from crda_spec.counterfactual.predict import LabelRule, predict_outcome
from crda_spec.records import Abduction, Certificate, Counterfactuals, MovableFeatures, Residuals, Table, Teacher
from crda_spec.regressors import FittedModel, Fitter, Regressor
from crda_spec.regressors._protocol import recorded_settings, refits
from crda_spec.regressors.fit import Fill, Watch, student_seed, watched_rows, watches_synthetic
from crda_spec.regressors.teachers import CrossfitTeacher, FoldContext, Learner, TeacherRule
from crda_spec.regressors.teachers.fold_models import laid_out
from crda_spec.regressors.tune import RandomSearch
from crda_spec.regressors.tune import tune as random_search
from crda_spec.scm.graph import CausalGraph
from crda_spec.seeds import integer_seed, stream

_SCREENING_FOLDS = 5  # of the screen's own cross-fitting, when there is no gate whose folds it could follow


class Tuner(Protocol):
    """Finds the augmentation's knobs on one set of rows. `counterfactual/tuning/` has them."""

    @property
    def in_blocks(self) -> bool:
        """Whether every teacher that it may choose leaves out the gate's folds in blocks."""

    def fits(self, procedure: Procedure, parts: int) -> int:
        """How many models it fits at most; `parts` as in `Procedure.fits`."""

    def tune(self, procedure: Procedure, train: Table, context: FoldContext) -> Tuned:
        """The procedure with its knobs set. Whatever it fits, it fits on parts of these rows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Procedure:
    """Every choice that the augmentation depends on."""

    regressor: Regressor
    fill: Fill
    search: RandomSearch | None
    teacher: TeacherRule
    residuals: Residuals
    partitioner: Partitioner
    perturbation: Perturbation
    factor: float  # new rows per training row
    max_rows: int | None = None  # new rows at most; None: no limit
    retention: float
    weight: float
    screened: Residuals = "in_sample"  # whose dependence on features is screened; not always the noise that rows carry
    propagation: Propagation | None = None  # None: what a moved feature causes is held fixed
    watch: Watch = "real"  # what the augmented arm's early stopping looks at
    choice: Partition = field(default_factory=Partition)  # among all features, for rows that carry no noise
    invariance: basis.Invariance = "off"  # whether what the graph calls irrelevant moves freely and labels nothing
    noise: NoiseModel = field(default_factory=Additive)
    draw: records.ResidualDraw = "own"
    tuner: Tuner | None = None  # of the knobs; None: they are used as they stand
    signs: records.Signs = ()  # as declared, held or not
    identifiers: tuple[str, ...] = ()  # labels that tell rows apart; known once the rows are
    augmenter: BaseAugmenter | None = None  # makes the rows in place of act and predict; None: these do
    graph: CausalGraph | None = None  # as declared, for an augmenter that asks for it

    @property
    def carried(self) -> float:
        """How much noise a new row carries on the certificate's word."""
        return 0.0 if self.draw == "none" or self.augmenter is not None else self.retention

    def new_rows(self, rows: int) -> int:
        """How many are made from so many training rows."""
        return count_new_rows(rows, self.factor, self.max_rows)

    def fits(self, parts: int) -> int:
        """Models needed for one set of rows, shared or not: tuning, the plain one, the teacher's, the augmented one.

        parts: in how many parts a teacher that follows the gate's folds leaves them out, one model each.
        """
        tuning = 0 if self.search is None else self.search.trials * self.search.folds
        tuning += 0 if self.tuner is None else self.tuner.fits(self, parts)
        helper = self._screening_teacher()
        screening = 0 if helper is None else helper.fits(parts)
        return tuning + 1 + self.teacher.fits(parts) + screening + 1

    @property
    def in_blocks(self) -> bool:
        """Whether models inside the gate leave out its folds in blocks."""
        return self._screening_teacher() is None and self.teacher.in_blocks

    @property
    def shared_learners(self) -> tuple[Learner, ...]:
        """Whose models without folds serve both teacher and gate; none when settings are tuned inside each fold."""
        if self.search is not None or self.tuner is not None:
            return ()
        helper = self._screening_teacher()
        return self.teacher.learners if helper is None else helper.learners

    def _screening_teacher(self, folds: int | None = None) -> CrossfitTeacher | None:
        """Who predicts rows unseen for the screen, when the teacher itself cannot."""
        needed = self.screened == "out_of_fold" and not self.teacher.predicts_unseen
        return CrossfitTeacher(folds="gate" if folds is None else folds) if needed else None

    def residuals_to_screen(
        self, train: Table, teacher: Teacher, fitter: Fitter, plain: FittedModel, context: FoldContext
    ) -> records.Array:
        """The residuals in which the screen looks for features; those of rows unseen may cost fits of their own."""
        own_folds = not context.numbers
        helper = self._screening_teacher(_SCREENING_FOLDS if own_folds else None)
        if helper is not None:  # shared models have the run's seed
            own = replace(context, seed=integer_seed(context.seed, "screening")) if own_folds else context
            teacher = helper.teach(train, fitter, plain, own)
        return abduct(train, teacher, residuals=self.screened, noise=self.noise).noise

    def boundary_columns(self, train: Table) -> tuple[int, ...] | None:
        """Where the features of the boundary stand; None where these are all, or none, which no model can look at."""
        names = self.partitioner.boundary(train.names)
        return train.positions(names) if 0 < len(names) < len(train.names) else None

    def on(self, train: Table) -> Procedure:
        """The same, once these rows have had their say about the graph; its boundary is then known."""
        partitioner = self.partitioner.on(train)
        identifiers = tuple(name for name in row_labels(train) if name not in self.perturbation.features)
        if partitioner is self.partitioner and identifiers == self.identifiers:
            return self.hedged(train)
        return replace(self, partitioner=partitioner, identifiers=identifiers).hedged(train)

    def hedged(self, train: Table) -> Procedure:
        """The same, once the features are known: a hedged teacher has members that look at the boundary only."""
        teacher = self.teacher.with_boundary(self.boundary_columns(train))
        return self if teacher is self.teacher else replace(self, teacher=teacher)

    def certify(self, train: Table, residuals: records.Array, *, seed: int, index: tuple[int, ...]) -> Certificate:
        """The partitioner's certificate, and whether what these rows say of the graph lets noise be carried."""
        certificate = self.partitioner.partition(train, residuals, seed=seed, index=index)
        repair = certificate.repair
        if repair is None:
            return certificate
        stops = self.carried > 0 and (bool(repair.lost) or not repair.explained)
        return replace(certificate, repair=replace(repair, stops=stops))

    def choice_with(self, *, causes: Collection[str], barred: tuple[str, ...] = ()) -> Partition:
        """The user's choice; where no cause may move, on the basis `support` if the spec has a policy for that.

        barred: what stays fixed even then.
        """
        if causes or self.perturbation.blocked is None:
            return self.choice
        return self.choice.model_copy(update={"basis": "support", "keep": (*self.choice.keep, *barred)})

    def movable(self, certificate: Certificate, trust: records.Trust | None = None) -> MovableFeatures:
        """What moves, and on which basis; features that move together all do, or none does."""
        if self.augmenter is not None:
            every = tuple(one.name for one in certificate.features)
            names = certificate.perturbed if self.augmenter.asks_partition else every
            return MovableFeatures(basis="augmenter", names=names)
        irrelevant = basis.trusted_irrelevant(certificate, trust, self.invariance)
        # A cause that a suggested edge blocks frees no other feature: what the expert's graph holds fixed stays.
        lost = () if certificate.repair is None else certificate.repair.lost
        fixed = [one.name for one in certificate.features if one.status == "blocked" and one.name not in lost]
        barred = {name: records.Stated(code="not_certified") for name in fixed if lost and name not in self.choice.keep}
        choice = self.choice_with(
            causes=set(certificate.perturbed).difference(certificate.irrelevant), barred=tuple(barred)
        )
        movable = basis.movable_features(
            certificate, choice, retention=self.carried, propagation=self.propagation, irrelevant=irrelevant
        )
        own = {name: records.Stated(code="identifies_rows") for name in movable.names if name in self.identifiers}
        held = {**self.perturbation.held([name for name in movable.names if name not in own]), **own}
        names = tuple(name for name in movable.names if name not in held)
        uncertified = tuple(name for name in movable.uncertified if name not in held)
        return replace(movable, names=names, uncertified=uncertified, left={**movable.left, **barred, **held})


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Augmentation:
    """What the procedure made of one set of training rows."""

    procedure: Procedure  # with nothing left to search
    context: FoldContext
    fitter: Fitter
    plain: FittedModel
    teacher: Teacher
    abduction: Abduction
    certificate: Certificate
    movable: MovableFeatures  # what may move, on which basis, rows made or not
    counterfactuals: Counterfactuals | None  # None when no feature may move, none was asked to, or no row is left
    studies: tuple[records.Study, ...] = ()  # the searches that settings and knobs come from

    @property
    def moved(self) -> tuple[str, ...]:
        """The features that moved, on whichever basis."""
        return () if self.counterfactuals is None else self.counterfactuals.action.moved

    @property
    def movements(self) -> tuple[records.Movement, ...]:
        """What becomes of every feature."""
        made = self.counterfactuals
        return basis.movements(self.certificate, self.movable, None if made is None else made.action)

    def watched(self, train: Table) -> records.IntArray:
        """Positions of the rows that stop the final model, or whose synthetic rows do; none if it is refitted."""
        regressor = self.fitter.regressor
        held = self._set_aside(train)
        return held[:0] if refits(regressor) and self.watches(train) == "real" else held

    def _set_aside(self, train: Table) -> records.IntArray:
        seed = student_seed(self.context.seed, self.context.index)
        return records.read_only(watched_rows(train, self.fitter.regressor.stopping, seed=seed))

    def watches(self, train: Table) -> Watch:
        """What stops the augmented model early: these rows, or new ones that were made from them."""
        made = self.counterfactuals
        synthetic = made is not None and watches_synthetic(made, self._set_aside(train), self.procedure.watch)
        return "synthetic" if synthetic else "real"

    @property
    def settings(self) -> Mapping[str, object]:
        """The regressor's settings, tuned or declared."""
        return recorded_settings(self.fitter.regressor)


def augment(
    procedure: Procedure,
    train: Table,
    context: FoldContext,
    *,
    make_rows: bool = True,
    fitter: Fitter | None = None,
) -> Augmentation:
    """Teach, abduct, classify, act, predict.

    make_rows: False when it is already known that nothing will be augmented, and only the rest is wanted.
    fitter: fits with settings that were found on these rows already; None: they are searched now, if they are to be.
    """
    studies: tuple[records.Study, ...] = ()
    procedure = procedure.on(train)
    if fitter is None:
        tuned = tune(procedure, train, context, knobs=make_rows)
        if context.numbers and tuned.procedure.in_blocks != procedure.in_blocks:
            context = laid_out(context, context.folds, in_blocks=tuned.procedure.in_blocks)
        procedure, studies = tuned.procedure.on(train), tuned.studies
        fitter = Fitter(procedure.regressor, procedure.fill).spent(tuned.cost)
    if context.plain is None:
        plain = fitter.fit(train, seed=student_seed(context.seed, context.index))
    else:
        plain, fitter.reused = context.plain, fitter.reused + 1
    teacher = procedure.teacher.teach(train, fitter, plain, context)
    abduction = abduct(train, teacher, residuals=procedure.residuals, noise=procedure.noise)
    screened = procedure.residuals_to_screen(train, teacher, fitter, plain, context)
    certificate = procedure.certify(train, screened, seed=context.seed, index=context.index)
    movable = procedure.movable(certificate, teacher.trust)
    if teacher.trust is not None and not teacher.trust.passed and context.index == (0,):  # nobody is told of a fold's
        against = basis.contradicted_features(train, certificate.irrelevant)
        teacher = replace(teacher, trust=replace(teacher.trust, contradicted=against))
    made = None
    if make_rows and not certificate.stops:
        made = act_and_predict(procedure, train, teacher, abduction, movable, context)
    return Augmentation(
        procedure=procedure,
        context=context,
        fitter=fitter,
        plain=plain,
        teacher=teacher,
        abduction=abduction,
        certificate=basis.restated(certificate, movable),
        movable=movable,
        counterfactuals=made,
        studies=studies,
    )


def act_and_predict(
    procedure: Procedure,
    train: Table,
    teacher: Teacher,
    abduction: Abduction,
    movable: MovableFeatures,
    context: FoldContext,
) -> Counterfactuals | None:
    """The new rows; None when nothing may move, or no row is left because all of them lie off the data."""
    if not movable.names:
        return None
    seed, index, following = context.seed, context.index, procedure.propagation
    if procedure.augmenter is not None:
        return augmented_rows(
            procedure.augmenter,
            Given(
                train=train,
                teacher=teacher,
                noise=abduction.noise,
                movable=train.positions(movable.names),
                graph=procedure.graph,
            ),
            procedure.new_rows(len(train)),
            weight=procedure.weight,
            rng=stream(seed, "augmenter", *index),
            watched=watched_rows(train, procedure.regressor.stopping, seed=student_seed(seed, index)),
        )
    perturbation = procedure.perturbation.on(movable.basis)
    mechanisms = None if following is None else following.mechanisms(train, movable.names)
    action = act(
        train,
        movable.names,
        perturbation,
        factor=procedure.new_rows(len(train)) / len(train),
        seed=seed,
        index=index,
        mechanisms=mechanisms,
        noise=abduction.noise,
        free=perturbation.free(movable.irrelevant),
    )
    if not len(action.source):
        return None
    rule = LabelRule(
        retention=procedure.carried,
        weight=procedure.weight,
        draw=procedure.draw,
        basis=movable.basis,
        irrelevant=movable.irrelevant,
    )
    return predict_outcome(teacher, action, abduction, train, rule, rng=stream(seed, "matched-noise", *index))


def refit_with_seed(first: Augmentation, train: Table, seed: int) -> Augmentation:
    """The same from another random state: another plain model, other new rows; its fits count with the first one's.

    What was searched, what may move and who teaches stay as they are; a teacher that is the plain model is the new one.
    """
    procedure, fitter, teacher = first.procedure, first.fitter, first.teacher
    context = replace(first.context, seed=seed, ready={}, plain=None)
    plain = fitter.fit(train, seed=student_seed(seed, context.index))
    if not procedure.teacher.fits(1):
        teacher = procedure.teacher.teach(train, fitter, plain, context)
    abduction = abduct(train, teacher, residuals=procedure.residuals, noise=procedure.noise)
    made = None
    if first.counterfactuals is not None:
        made = act_and_predict(procedure, train, teacher, abduction, first.movable, context)
    return replace(first, context=context, plain=plain, teacher=teacher, abduction=abduction, counterfactuals=made)


def fit_augmented(augmentation: Augmentation, train: Table) -> FittedModel:
    """The augmented arm; the plain model itself when there is nothing to add."""
    made, context = augmentation.counterfactuals, augmentation.context
    if made is None:
        return augmentation.plain
    seed = student_seed(context.seed, context.index)
    return augmentation.fitter.fit(train, made, seed=seed, watch=augmentation.procedure.watch)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Tuned:
    """A procedure with nothing left to search, and what the searches took."""

    procedure: Procedure
    studies: tuple[records.Study, ...] = ()
    cost: records.Cost = field(default_factory=records.Cost)


def tune(procedure: Procedure, train: Table, context: FoldContext, *, knobs: bool = True) -> Tuned:
    """Searches what is to be searched, on these rows alone: the regressor's settings, then the augmentation's knobs.

    Both arms of a comparison get the same regressor settings. Only the augmented arm has knobs.

    knobs: False when nothing will be augmented.
    """
    settings = tune_regressor(procedure, train, context)
    if procedure.tuner is None or not knobs:
        return replace(settings, procedure=replace(settings.procedure, tuner=None))
    # Not with the settings just found: they know the rows that hold out an inner fold.
    tuned = procedure.tuner.tune(procedure, train, context)
    return Tuned(
        procedure=replace(tuned.procedure, regressor=settings.procedure.regressor, search=None, tuner=None),
        studies=(*settings.studies, *tuned.studies),
        cost=settings.cost + tuned.cost,
    )


def tune_regressor(procedure: Procedure, train: Table, context: FoldContext) -> Tuned:
    """The procedure with the regressor's settings found on these rows."""
    if procedure.search is None:
        return Tuned(procedure=procedure)
    seed, index = context.seed, context.index
    tuned = random_search(procedure.regressor, procedure.search, train, fill=procedure.fill, seed=seed, index=index)
    return Tuned(
        procedure=replace(procedure, regressor=tuned.regressor, search=None),
        studies=(tuned.study,),
        cost=tuned.cost,
    )
