"""How many models a run fits, known before any of them is: `plan` prints it, workers are started by it."""

from __future__ import annotations

from dataclasses import dataclass, replace

from crda_spec.counterfactual.basis import basis_of
from crda_spec.counterfactual.procedure import Procedure
from crda_spec.gate.cross_validate import divisions, fold_layout
from crda_spec.gate.describe import describe_time
from crda_spec.gate.ensemble import ensemble_fits
from crda_spec.gate.tests import Gate
from crda_spec.records import Basis, FeatureVerdict, Split, TimeOrder, rows_of
from crda_spec.regressors._protocol import refits
from crda_spec.regressors.teachers.fold_models import FoldLayout, FoldTeacher, shared_blocks


@dataclass(frozen=True, slots=True, kw_only=True)
class FitCounts:
    """At most: a fold in which nothing may move fits one less."""

    procedure: Procedure
    gate: Gate
    in_time: bool = False  # folds run forward, so that no model serves two of them

    @property
    def layout(self) -> FoldLayout:
        """Which models serve several folds."""
        return fold_layout(self.procedure, self.gate.folds, in_time=self.in_time)

    @property
    def on_all_rows(self) -> int:
        """What all training rows need, shared or not."""
        return self.procedure.fits(self.gate.folds)

    @property
    def in_folds(self) -> tuple[int, ...]:
        """What each fold of one division needs, shared or not; a further start trains both arms and nothing else."""
        procedure, folds, more = self.procedure, self.gate.folds, self._of_restarts - 1
        in_blocks = procedure.in_blocks and (procedure.tuner is None or procedure.tuner.in_blocks)  # as the dearest
        layout = FoldLayout(learners=procedure.teacher.learners, folds=folds, in_blocks=in_blocks)
        whole = 0  # members beside those of the blocks; the student's own is the plain model
        if not self.in_time and layout.asks_whole:
            whole = sum(not learner.is_students for learner in layout.learners)
        blocks = shared_blocks(folds, in_blocks=in_blocks)
        parts = (sum(number in block for block in blocks) for number in range(1, folds + 1))
        return tuple(more + whole + procedure.fits(count) for count in parts)

    @property
    def unshared(self) -> int:
        """Of a whole run, if no model served twice."""
        return self.on_all_rows + (self.gate.divisions * sum(self.in_folds) if self.gate.enabled else 0)

    @property
    def shared(self) -> int:
        """Of a whole run, models that serve several folds counted once."""
        gate, layout = self.gate, self.layout
        if not layout.learners:
            return self.unshared
        base = 1 + len(layout.singles()) + 1  # plain on all rows, models without one fold, augmented on all rows
        # The first division's models of all but one fold are among the singles; the others fit their own.
        own = self._own_singles * gate.folds * (gate.divisions - 1)
        return base + (gate.divisions * self.of_division + own if gate.enabled else 0)

    @property
    def of_division(self) -> int:
        """What one division fits once the models that leave out one fold are there."""
        if not self.layout.learners:
            return sum(self.in_folds)
        return len(self.layout.pairs(range(1, self.gate.folds + 1))) + self.gate.folds * self._of_restarts

    @property
    def refits(self) -> int:
        """Of a whole run's models, those trained a second time, on all their rows; an upper bound if none is shared."""
        gate, layout, procedure = self.gate, self.layout, self.procedure
        student, teacher = refits(procedure.regressor), procedure.teacher
        if not layout.learners:
            others = teacher.all_learners if isinstance(teacher, FoldTeacher) else ()
            return self.unshared if student or any(one.regressor and refits(one.regressor) for one in others) else 0
        again = [refits(one.regressor or procedure.regressor) for one in layout.learners]
        again.append(student)  # at the position of STUDENT
        taught = student and procedure.watch == "real"
        first = sum(again[key.learner] for key in layout.singles()) + student + taught
        pairs = sum(again[key.learner] for key in layout.pairs(range(1, gate.folds + 1)))
        restarts = taught + (gate.restarts - 1) * (student + taught)
        whole = zip(again, layout.learners, strict=False) if layout.asks_whole else ()
        own = student + sum(one for one, of in whole if not of.is_students)
        folds = gate.divisions * (pairs + gate.folds * restarts) + (gate.divisions - 1) * gate.folds * own
        return first + (folds if gate.enabled else 0)

    def stopped(self, run: int, shared: int) -> int:
        """What the folds that were not run would have fitted. run: how many were.  shared: models they share."""
        gate, ahead = self.gate, self.gate.all_folds - run
        if not self.layout.learners:
            return sum((self.in_folds * gate.divisions)[run:])
        pairs = len(self.layout.pairs(range(1, gate.folds + 1)))
        later = min(ahead, gate.folds * (gate.divisions - 1))
        return gate.divisions * pairs - shared + ahead * self._of_restarts + later * self._own_singles

    @property
    def _of_restarts(self) -> int:
        """Models that a fold fits where members are shared: the augmented one, and both arms' in each further start."""
        return 1 + 2 * (self.gate.restarts - 1)

    @property
    def _own_singles(self) -> int:
        """Models of all rows but one fold that a fold of a later division fits itself: the plain one, its teacher's."""
        others = sum(not learner.is_students for learner in self.layout.learners)
        return 1 + (others if self.layout.asks_whole else 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class CostEstimate:
    """What a run will do and cost, as far as that is known before anything is fitted."""

    train_rows: int
    test_rows: int
    synthetic_rows: int
    folds: int  # of the gate, over all its divisions; none when it is switched off
    features: tuple[FeatureVerdict, ...]  # empty when residuals will decide
    basis: Basis  # on which the new rows will stand, unless a search changes how much noise they carry
    fits_per_fold: int  # models that one gate fold needs
    fits_on_all: int  # models that all training rows need
    fits_at_most: int  # what is fitted, models that serve several of them counted once
    refits: int  # of these, models trained a second time at most: on all their rows, after early stopping
    fits_unshared: int  # what would be fitted if no model served twice
    tuning_rows: int  # training rows that are spent on searches
    fits_to_tune: int  # models that these searches fit, before anything else
    fits_of_ensemble: int  # models beside one, should the gate accept
    fits_of_controls: int = 0  # models of the report, which no other number counts
    time: TimeOrder | None  # which time each fold will be fitted and scored on; None when rows have no order


def estimate_cost(split: Split, procedure: Procedure, gate: Gate, *, seed: int, models: int = 1) -> CostEstimate:
    """Asks the graph and counts the fits. models: how many the run hands over."""
    train, to_tune = split.train, 0
    procedure = procedure.hedged(train)
    if split.tuning is not None:
        tuned = replace(procedure, search=None, tuner=None)
        to_tune, procedure = procedure.fits(gate.folds) - tuned.fits(gate.folds), tuned
    counts = FitCounts(procedure=procedure, gate=gate, in_time=train.times is not None)
    more = ensemble_fits(models, both=split.test is not None)
    # Where synthetic rows stop the augmented models, only the plain ones are trained again.
    again = to_tune + (more if procedure.watch == "real" else ensemble_fits(models, both=False))
    known = procedure.partitioner.known_before_fitting(train.names)
    causes = [one.name for one in known if one.perturbable and one.status != "irrelevant"]
    choice = procedure.choice_with(causes=causes) if known else procedure.choice
    return CostEstimate(
        train_rows=len(train),
        test_rows=rows_of(split.test),
        synthetic_rows=procedure.new_rows(len(train)),
        folds=gate.all_folds if gate.enabled else 0,
        features=known,
        basis="augmenter" if procedure.augmenter is not None else basis_of(procedure.carried, choice),
        fits_per_fold=max(counts.in_folds),
        fits_on_all=counts.on_all_rows,
        fits_at_most=counts.shared + to_tune + more,
        refits=counts.refits + (again if refits(procedure.regressor) else 0),
        fits_unshared=counts.unshared + to_tune + more,
        tuning_rows=rows_of(split.tuning),
        fits_to_tune=to_tune,
        fits_of_ensemble=more,
        time=describe_time(split, divisions(gate, train, seed=seed)[0] if gate.enabled else None),
    )
