"""After the verdict: what the change on the test rows is made of, by models that were given less.

Each control is one student, fitted on all training rows from the seed of both arms and scored as they are. No teacher
is fitted for them: a committee that knows the graph has the members without it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from crda_spec.counterfactual.abduct import abduct
from crda_spec.counterfactual.predict import label_of
from crda_spec.counterfactual.procedure import Augmentation, Procedure, act_and_predict
from crda_spec.gate.score import Scored, percent_change
from crda_spec.records import (
    Arm,
    Control,
    ControlKind,
    Controls,
    Counterfactuals,
    HeldOut,
    Predictor,
    ShiftScore,
    Split,
    Table,
    TestScore,
)
from crda_spec.regressors import Fitter
from crda_spec.regressors.fit import student_seed
from crda_spec.regressors.metrics import Metric
from crda_spec.seeds import stream


def control_fits(procedure: Procedure, train: Table, without_graph: Procedure | None) -> int:
    """How many controls a run of this procedure has, where it makes rows."""
    relabelled = _has_label_rule(procedure)
    return relabelled + (procedure.boundary_columns(train) is not None) + (without_graph is not None)


def _has_label_rule(procedure: Procedure) -> bool:
    """Whether rows that did not move would be labelled by a teacher: not by every augmenter."""
    return procedure.augmenter is None or procedure.augmenter.asks_teacher


def score_controls(
    split: Split, augmentation: Augmentation, scored: Scored, without_graph: Procedure | None, metric: Metric
) -> Controls | None:
    """The controls and the shift score; None without an augmented model, test rows, or a loss that could change.

    without_graph: the same recipe for somebody who has no graph; None where the graph changes nothing in it.
    """
    augmented, score, train, test = scored.augmented, scored.score, split.train, split.test
    if augmented is None or score is None or test is None:
        return None
    if not np.isfinite(score.augmented or 0.0) or not score.plain > 0:
        return None
    # A fitter of its own: these fits are the report's, not the method's.
    fitter = Fitter(augmentation.fitter.regressor, augmentation.fitter.fill)
    models = dict(_models(fitter, train, augmentation, without_graph))
    # A control has no errors on rows unseen of its own: it takes those of the arm that it is a control of.
    arms: dict[ControlKind, Arm] = {kind: "plain" if kind == "boundary" else "augmented" for kind in models}
    losses = {kind: _loss(test, model, metric, arms[kind]) for kind, model in models.items()}
    seed, boundary = augmentation.context.seed, augmentation.procedure.partitioner.boundary(train.names)
    irrelevant, shifted = [name for name in train.names if name not in boundary], None
    if irrelevant:
        rows = test.shuffled(irrelevant, rng=stream(seed, "shift"))
        shifted = (_loss(rows, augmentation.plain, metric, "plain"), _loss(rows, augmented, metric, "augmented"))
    return compare_controls(score, losses, irrelevant, shifted, fits=fitter.fits)


def compare_controls(
    score: TestScore,
    losses: Mapping[ControlKind, float],
    irrelevant: Sequence[str],
    shifted: tuple[float, float] | None,
    *,
    fits: int,
) -> Controls:
    """All that follows from the losses. shifted: both models' on rows with these irrelevant features shuffled."""
    models = tuple(
        Control(kind=kind, loss=loss, change_percent=percent_change(score.plain, loss))
        for kind, loss in losses.items()
        if np.isfinite(loss)
    )
    shift = None
    if shifted is not None and np.isfinite(shifted).all():
        shift = ShiftScore(
            features=tuple(irrelevant),
            plain=shifted[0],
            augmented=shifted[1],
            change_percent=percent_change(*shifted),
        )
    controls = Controls(models=models, graph_points=None, shift=shift, fits=fits)
    blind = controls.change_of("without_graph")
    if blind is None or score.change_percent is None:
        return controls
    return replace(controls, graph_points=score.change_percent - blind)


def _loss(test: HeldOut, model: Predictor, metric: Metric, arm: Arm) -> float:
    return metric.loss(test.errors(model), spread=test.spread, weights=test.weights, arm=arm)


def _models(
    fitter: Fitter, train: Table, augmentation: Augmentation, without_graph: Procedure | None
) -> Iterator[tuple[ControlKind, Predictor]]:
    """Each control's model."""
    seed, columns = student_seed(augmentation.context.seed, (0,)), augmentation.procedure.boundary_columns(train)
    if columns is not None:
        yield "boundary", fitter.fit(train, seed=seed, columns=columns)
    if _has_label_rule(augmentation.procedure):
        yield "relabelled", fitter.fit(_relabelled(train, augmentation), seed=seed)
    made = None if without_graph is None else _rows_without_graph(train, augmentation, without_graph)
    if made is not None and without_graph is not None:
        yield "without_graph", fitter.fit(train, made, seed=seed, watch=without_graph.watch)


def _relabelled(train: Table, augmentation: Augmentation) -> Table:
    """The training rows as the label rule labels a row that did not move."""
    made, abduction = augmentation.counterfactuals, augmentation.abduction
    retention = 0.0 if made is None else made.retention
    scale = abduction.scale if retention > 0 else None
    return replace(train, y=label_of(augmentation.teacher.predict(train.x), retention, scale, abduction.noise))


def _rows_without_graph(train: Table, augmentation: Augmentation, procedure: Procedure) -> Counterfactuals | None:
    """The new rows of somebody who has the same committee and no graph; None when none is left on the data."""
    teacher = augmentation.teacher.without_graph or augmentation.teacher
    abduction = abduct(train, teacher, residuals=procedure.residuals, noise=procedure.noise)
    movable = procedure.movable(augmentation.certificate)
    return act_and_predict(procedure, train, teacher, abduction, movable, augmentation.context)
