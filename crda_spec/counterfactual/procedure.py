"""The whole procedure on one set of training rows: tune, fit g, abduct, partition, act, predict.

The gate calls it anew inside every fold, the pipeline once on all training rows. It never sees another row.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass

from crda_spec.counterfactual.abduct import abduct
from crda_spec.counterfactual.act import Acting, act
from crda_spec.counterfactual.partition import Partitioner
from crda_spec.counterfactual.predict import predict_outcome
from crda_spec.records import Abduction, Certificate, Counterfactuals, Residuals, Table, Teacher
from crda_spec.regressors import FittedModel, Fitter, Regressor
from crda_spec.regressors.encoding import Fill
from crda_spec.regressors.teachers import TeacherRule
from crda_spec.regressors.tune import RandomSearch, tune
from crda_spec.seeds import integer_seed


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

    @property
    def fits(self) -> int:
        """Models fitted for one set of training rows: tuning, the plain one, the teacher's, the augmented one."""
        tuning = 0 if self.search is None else self.search.trials * self.search.folds
        return tuning + 1 + self.teacher.fits + 1


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Augmentation:
    """What the procedure made of one set of training rows."""

    fitter: Fitter
    plain: FittedModel
    teacher: Teacher
    abduction: Abduction
    certificate: Certificate
    counterfactuals: Counterfactuals | None  # None when no feature may move
    settings: Mapping[str, object]


def augment(procedure: Procedure, train: Table, *, seed: int, index: tuple[int, ...]) -> Augmentation:
    """`index` names the set of rows (a fold), so that its random streams are its own."""
    fitter = _fitter(procedure, train, seed=seed, index=index)
    plain = fitter.fit(train, seed=student_seed(seed, index))
    teacher = procedure.teacher.teach(train, fitter, plain, seed=seed, index=index)
    abduction = abduct(train, teacher, residuals=procedure.residuals)
    certificate = procedure.partitioner.partition(train, abduction)
    counterfactuals = None
    if certificate.perturbed:
        action = act(train, certificate.perturbed, procedure.acting, seed=seed, index=index)
        counterfactuals = predict_outcome(
            teacher, action, abduction, retention=procedure.retention, weight=procedure.weight
        )
    return Augmentation(
        fitter=fitter,
        plain=plain,
        teacher=teacher,
        abduction=abduction,
        certificate=certificate,
        counterfactuals=counterfactuals,
        settings={"kind": fitter.regressor.kind, **asdict(fitter.regressor)},  # type: ignore[call-overload]
    )


def student_seed(seed: int, index: tuple[int, ...]) -> int:
    """Both arms start from the same seed: same initial state, same early-stopping rows."""
    return integer_seed(seed, "student", *index)


def fit_augmented(augmentation: Augmentation, train: Table, *, seed: int, index: tuple[int, ...]) -> FittedModel:
    """The augmented arm; the plain model itself when there is nothing to add."""
    if augmentation.counterfactuals is None:
        return augmentation.plain
    return augmentation.fitter.fit(train, augmentation.counterfactuals, seed=student_seed(seed, index))


def _fitter(procedure: Procedure, train: Table, *, seed: int, index: tuple[int, ...]) -> Fitter:
    if procedure.search is None:
        return Fitter(procedure.regressor, procedure.fill)
    tuned = tune(procedure.regressor, procedure.search, train, fill=procedure.fill, seed=seed, index=index)
    return Fitter(tuned.regressor, procedure.fill, fits=tuned.fits, seconds=tuned.seconds)
