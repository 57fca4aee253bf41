"""After the final scoring: what the new rows are like, and how much of the change needs no new place.

Nothing is decided here, so the test rows may be asked; they are asked for losses and quantiles of errors only.
"""

from __future__ import annotations

from dataclasses import replace

from crda_spec.counterfactual.diagnostics import comparison, diagnose, unmoved
from crda_spec.counterfactual.procedure import Augmentation, student_seed
from crda_spec.gate.metrics import Metric
from crda_spec.records import Control, Counterfactuals, Diagnostics, Predictor, Split
from crda_spec.regressors import Fitter


def inspect(
    split: Split, augmentation: Augmentation, made: Counterfactuals, augmented: Predictor, *, metric: Metric, seed: int
) -> Diagnostics:
    """The diagnostics of the rows that all training rows gave. augmented: the student that was trained on them."""
    train, teacher = split.train, augmentation.teacher
    found = diagnose(train, teacher, augmentation.abduction, made, seed=seed)
    before, after = (split.test.errors(model) for model in (augmentation.plain, augmented))
    # A fitter of its own: this fit is the report's, not the method's.
    fitter = Fitter(augmentation.fitter.regressor, augmentation.fitter.fill)
    still = unmoved(train, teacher, augmentation.abduction, made)
    relabelled = fitter.fit(train, still, seed=student_seed(seed, (0,)), watch=augmentation.watch)
    spread, weights, all_errors = split.test.spread, split.test.weights, (before, split.test.errors(relabelled), after)
    losses = [metric.loss(errors, spread=spread, weights=weights) for errors in all_errors]
    return replace(found, errors=comparison(before, after), control=_control(metric, *losses))


def _control(metric: Metric, plain: float, relabelled: float, augmented: float) -> Control | None:
    """None when there is no loss that could change."""
    if not plain > 0:
        return None
    return Control(
        metric=metric.name,
        plain=plain,
        relabelled=relabelled,
        augmented=augmented,
        teacher_percent=100.0 * (relabelled - plain) / plain,
        places_percent=100.0 * (augmented - relabelled) / plain,
    )
