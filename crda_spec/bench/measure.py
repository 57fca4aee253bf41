"""One cell computed: by our pipeline, by the published code's way, or asked what features tell of the residual."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from crda_spec import pipeline
from crda_spec.bench.cells import Cell
from crda_spec.bench.published import published
from crda_spec.counterfactual.procedure import augment
from crda_spec.records import Array, RunResult
from crda_spec.regressors.teachers import FoldContext
from crda_spec.report.progress import Silent
from crda_spec.spec.build import build_plan
from crda_spec.spec.load import Draft
from crda_spec.spec.run import RunSpec

Figures = Mapping[str, float | int | bool | str | None]
_NEIGHBOURS = 3  # of the estimate of mutual information, as in the paper


def figures_of(cell: Cell, spec: RunSpec, draft: Draft) -> Figures:
    """What the cell found out; the same for the same spec, data and versions."""
    if cell.measure == "information":
        return information(spec, draft)
    if cell.protocol == "published":
        return published(spec, draft)
    return matched(pipeline.run(build_plan(spec, draft), progress=Silent()), gated=spec.gate.enabled)


def matched(result: RunResult, *, gated: bool) -> Figures:
    """One plain and one augmented model on the same test rows; where no row was made, they are the same model."""
    score = result.score
    if score is None:
        raise ValueError("a cell needs test rows")
    made = score.augmented is not None
    augmented = score.plain if score.augmented is None else score.augmented
    rows = 0 if result.counterfactuals is None else len(result.counterfactuals)
    found: dict[str, float | int | bool | str | None] = {
        "metric": score.metric,
        "train_rows": len(result.split.train),
        "test_rows": score.rows,
        "plain": score.plain,
        "augmented": augmented,
        "made": made,
        "synthetic_rows": rows,
        "fits": result.cost.fits,
    }
    if gated:
        found["accepted"] = result.verdict.accepted
        found["p_value"] = result.verdict.p_value
        found["used"] = augmented if result.verdict.uses_augmented else score.plain
    return found


def information(spec: RunSpec, draft: Draft) -> Figures:
    """The mean mutual information with the residual of the features that the screens select, and of those they reject.

    In nats, by the paper's estimator; negative estimates count as 0.
    """
    plan = build_plan(spec, draft)
    train = plan.load()[0].train
    found = augment(plan.procedure, train, FoldContext(seed=plan.seed), make_rows=False)
    chosen = np.isin(train.names, found.certificate.perturbed)
    return {
        "metric": "information",
        "train_rows": len(train),
        "test_rows": 0,
        "selected": _information(train.x[:, chosen], found.abduction.noise),
        "rejected": _information(train.x[:, ~chosen], found.abduction.noise),
        "features_selected": int(chosen.sum()),
        "features_rejected": int((~chosen).sum()),
        "fits": found.fitter.cost.fits,
    }


def _information(x: Array, noise: Array) -> float | None:
    from crda_spec.independence.dependence import nearest_neighbour_information

    told = [max(0.0, nearest_neighbour_information(column, noise, _NEIGHBOURS)) for column in x.T if np.ptp(column) > 0]
    return float(np.mean(told)) if told else None
