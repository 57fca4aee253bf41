"""The promise: certified labels approach the true counterfactual outcomes, and a confounded feature's never do."""

from dataclasses import replace

import numpy as np
import pytest
from pipeline_parts import certified, observed, true_outcomes

from crda_spec.counterfactual.act import act
from crda_spec.counterfactual.perturbation import Perturbation
from crda_spec.counterfactual.policies import Resample
from crda_spec.counterfactual.predict import LabelRule, predict_outcome
from crda_spec.counterfactual.procedure import Procedure, augment
from crda_spec.regressors import KernelRidge
from crda_spec.regressors.teachers import FoldContext, SingleTeacher

ROWS = (200, 800, 3200)
PERTURBATION = Perturbation(default=Resample())  # on the data's own values, where g has something to go by


def augmented(world, feature, rows):
    table, sample = observed(world, rows, seed=1)
    procedure = Procedure(
        regressor=KernelRidge(alpha=0.1, gamma=0.1),
        fill="median",
        search=None,
        teacher=SingleTeacher(),
        residuals="in_sample",
        partitioner=certified(world, feature),
        perturbation=PERTURBATION,
        factor=1.0,
        retention=1.0,
        weight=1.0,
    )
    return table, sample, augment(procedure, table, FoldContext(seed=0))


def error(table, sample, made):
    """Root mean squared error of the labels, in standard deviations of the target."""
    truth = true_outcomes(table, sample, made.action)
    return float(np.sqrt(np.mean((made.y - truth) ** 2)) / table.y.std())


@pytest.mark.parametrize(
    ("world", "feature"),
    [
        ("paper_synthetic", "x1"),
        ("paper_synthetic", "x3"),
        ("clinical_recovery", "therapy_hours"),
        ("clinical_recovery", "age"),
        ("crop_yield", "soil"),  # a category
        ("crop_yield", "fertilizer"),
        ("home_energy", "insulation"),  # a category, under noise that grows on cold days
        ("home_energy", "floor_area"),
    ],
)
def test_certified_labels_converge_to_the_true_counterfactual_outcomes(world, feature):
    errors = []
    for rows in ROWS:
        table, sample, made = augmented(world, feature, rows)
        assert made.certificate.perturbed == (feature,)
        errors.append(error(table, sample, made.counterfactuals))
        moved = true_outcomes(table, sample, made.counterfactuals.action) - table.y[made.counterfactuals.action.source]
        assert moved.std() > 0.5 * table.y.std()  # the action matters: labels left as they were would be wrong
    assert errors[1] < 0.85 * errors[0]
    assert errors[2] < 0.85 * errors[1]
    assert errors[2] < 0.6 * errors[0]
    assert errors[2] < 0.12


def test_labels_of_the_confounded_feature_do_not():
    """The dose is set by a severity that nobody recorded: the graph blocks it. If it is moved all the same, with the
    same regressor, rows and policy, the labels stay wrong by four fifths of a standard deviation at any number of rows.
    """
    errors, certified_errors = [], []
    for rows in ROWS:
        table, sample, made = augmented("clinical_recovery", "dose", rows)
        assert made.counterfactuals is None
        dose = next(verdict for verdict in made.certificate.features if verdict.name == "dose")
        assert (dose.status, dose.witness) == ("blocked", ("recovery", "<-", "severity", "->", "dose"))
        forced = act(table, ["dose"], PERTURBATION, factor=1.0, seed=0, index=(0,))
        rule = LabelRule(retention=1.0, weight=1.0)
        rng = np.random.default_rng(0)
        labels = predict_outcome(made.teacher, forced, made.abduction, table, rule, rng=rng)
        errors.append(error(table, sample, labels))
        certified_errors.append(error(*_therapy(rows)))
    assert min(errors) > 0.7
    assert errors[2] > 0.95 * errors[0]
    assert errors[2] > 6 * certified_errors[2]


def _therapy(rows):
    table, sample, made = augmented("clinical_recovery", "therapy_hours", rows)
    return table, sample, made.counterfactuals


def test_the_noise_itself_is_recovered():
    """Abduction: the residual approaches the noise that nature drew."""
    distances = []
    for rows in ROWS:
        _, sample, made = augmented("paper_synthetic", "x1", rows)
        distances.append(np.sqrt(np.mean((made.abduction.noise - sample.noise) ** 2)) / sample.noise.std())
    assert distances[2] < 0.6 * distances[0]
    assert distances[2] < 0.25


def test_without_retention_the_labels_miss_exactly_the_noise():
    table, sample, made = augmented("paper_synthetic", "x1", 3200)
    bare = replace(made.counterfactuals, y=made.counterfactuals.prediction)
    noise = sample.noise.std() / table.y.std()
    assert error(table, sample, bare) == pytest.approx(noise, rel=0.1)
