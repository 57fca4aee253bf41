"""Several augmentations in one spec: the rows at hand choose among them, and the choice is part of what is gated.

Inside each gate fold an inner cross-validation on that fold's training rows picks one candidate. The gate then compares
the plain model with the whole procedure, choice included, by one test. However many candidates there are, there is one
hypothesis, so choosing the best of ten cannot create a false acceptance.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

from crda_spec.counterfactual.procedure import Procedure, Tuned
from crda_spec.counterfactual.tuning.search import inner_folds
from crda_spec.errors import Complaint, DataError
from crda_spec.records import Cost, Study, Table, Trial
from crda_spec.regressors.metrics import MSE, Metric
from crda_spec.regressors.teachers import FoldContext

DECLARED = "declared"  # the spec as it stands is the first candidate


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidates:
    """Named procedures that differ in how they augment; the regressor is the same in all."""

    named: Mapping[str, Procedure]
    folds: int = 3
    metric: Metric = MSE  # mae, or pinball

    @property
    def in_blocks(self) -> bool:
        """Whether every candidate leaves out the gate's folds in blocks."""
        return all(one.in_blocks for one in self.named.values())

    def fits(self, procedure: Procedure, parts: int) -> int:
        """In each inner fold, every candidate from top to bottom; and what the dearest needs beyond the declared."""
        needs = [one.fits(parts) for one in self.named.values()]
        return self.folds * sum(needs) + max(needs) - replace(procedure, tuner=None).fits(parts)

    def tune(self, procedure: Procedure, train: Table, context: FoldContext) -> Tuned:
        """The candidate with the least loss on the inner folds, the first of equals; and all their losses."""
        del procedure
        trials: list[Trial] = []
        plain: tuple[float, ...] = ()
        sizes: tuple[int, ...] = ()
        cost = Cost()
        for number, (name, one) in enumerate(self.named.items(), start=1):
            inside = inner_folds(one, train, self.folds, context, metric=self.metric)
            pairs = [fold.losses(one) for fold in inside]
            losses = tuple(augmented for _, augmented in pairs)
            plain = plain or tuple(loss for loss, _ in pairs)
            sizes = tuple(len(fold.held) for fold in inside)
            for fold in inside:
                cost += Cost(fits=fold.fitter.fits, seconds=fold.fitter.seconds)
            trials.append(
                Trial(
                    number=number,
                    values={"candidate": name},
                    losses=losses,
                    state="complete" if all(map(math.isfinite, losses)) else "failed",
                    origin="declared",
                )
            )
        best = _best(trials, sizes)
        study = Study(
            what="augmentation",
            fold=context.index[0],
            rows=len(train),
            held_rows=sizes,
            budget=len(trials),
            seconds=None,
            stopped="trials",
            metric=self.metric.kind,
            plain=plain,
            trials=tuple(trials),
            best=best.number,
            fits=cost.fits,
        )
        chosen = self.named[str(best.values["candidate"])]
        return Tuned(procedure=replace(chosen, tuner=None), studies=(study,), cost=cost)


def _best(trials: list[Trial], sizes: tuple[int, ...]) -> Trial:
    whole = [trial for trial in trials if trial.state == "complete"]
    if not whole:
        what, hint = "every candidate ends with numbers that are not finite", "look for extreme values in the data"
        raise DataError(Complaint(code="diverged", path="gate.candidates", what=what, hint=hint))
    return min(whole, key=lambda one: sum(loss * rows for loss, rows in zip(one.losses, sizes, strict=True)))
