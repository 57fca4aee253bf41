"""Several candidates: the choice is made on training rows alone and is part of what is gated."""

from dataclasses import replace

import numpy as np
import pytest
from gate_parts import Squares, Watching, accepts, one_fold, poisoned, procedure, table
from scipy.stats import binomtest

from crda_spec.counterfactual.perturbation import Perturbation
from crda_spec.counterfactual.policies import Jitter
from crda_spec.counterfactual.tuning import Candidates
from crda_spec.data.folds import folds
from crda_spec.errors import SpecError
from crda_spec.gate.tests import Wilcoxon
from crda_spec.regressors.metrics import MSE, Metric
from crda_spec.regressors.teachers import FoldContext
from crda_spec.seeds import stream
from crda_spec.spec.build import build_plan
from crda_spec.spec.check import load_spec


def draw(n, d, seed):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, d))
    return table(x, x[:, 0] + rng.normal(size=n))


def choosing(train, count, *, regressor=None, folds_=2):
    """A procedure that chooses among `count` useless augmentations."""
    named = {
        f"c{number}": procedure(
            train, regressor=regressor, perturbation=Perturbation(default=Jitter(sd=0.2 + 0.2 * number)), factor=1.0
        )
        for number in range(count)
    }
    return replace(named["c0"], tuner=Candidates(named=named, folds=folds_))


def test_the_best_on_the_inner_folds_is_chosen_and_all_are_told():
    train = draw(40, 2, 0)
    wild = procedure(train, perturbation=Perturbation(default=Jitter(sd=50.0)), factor=3.0, retention=0.0)
    named = {"wild": wild, "mild": procedure(train), "same": procedure(train)}
    tuner = Candidates(named=named, folds=3)
    settled = tuner.tune(wild, train, FoldContext(seed=0))
    study = settled.studies[0]
    assert [trial.values["candidate"] for trial in study.trials] == ["wild", "mild", "same"]
    losses = [study.mean_loss(trial.losses) for trial in study.trials]
    assert losses[0] != losses[1] == losses[2]
    assert study.best == 1 + losses.index(min(losses))  # the first of equals
    assert settled.procedure == named[study.chosen.values["candidate"]]
    assert (study.fits, settled.cost.fits, tuner.fits(wild, 0)) == (18, 18, 18)
    assert len(study.plain) == len(study.chosen.losses) == 3


def test_the_choice_never_sees_a_held_out_row():
    """Poison in the held-out rows changes nothing that is fitted, chosen or told: one test gates the whole choice."""
    train = draw(36, 2, 1)
    held = folds(36, 4, rng=stream(0, "gate-folds"))[1]
    seen = []
    for rows in (train, poisoned(train, held)):
        watching = Watching()
        outcome = one_fold(choosing(rows, 3, regressor=watching), rows, held, 2, metric=MSE, seed=5)
        seen.append((watching.fingerprint(), outcome.studies))
    assert seen[0] == seen[1]


def test_choosing_the_best_of_ten_useless_ones_is_no_acceptance():
    """Gated as one procedure, the best of ten is accepted no more often than one would be."""
    gate, accepted, runs = Wilcoxon(folds=5), 0, 10
    for seed in range(runs):
        train = draw(30, 4, seed)
        held = folds(30, 5, rng=stream(seed, "gate-folds"))
        chosen = choosing(train, 10, regressor=Squares())
        found = [one_fold(chosen, train, rows, number, metric=MSE, seed=seed) for number, rows in enumerate(held, 1)]
        accepted += accepts(gate, found, train)
    assert binomtest(accepted, runs, 0.05, alternative="greater").pvalue > 0.01


SPEC = """
version: 1
recipe: paper
name: candidates
dataset: {source: {kind: synthetic, world: home_energy, rows: 60}, target: energy, split: {kind: fraction, test: 0.2}}
regressor: {kind: ridge}
tune: {kind: none, augmentation: {kind: candidates, candidates: CANDIDATES}}
gate:
  kind: wilcoxon
  folds: 5
"""


@pytest.fixture
def load(tmp_path):
    def load(candidates, gate="metric: mse"):
        text = SPEC.replace("CANDIDATES", candidates).replace(
            "folds: 5", f"folds: 5\n  {gate.replace(', ', chr(10) + '  ')}"
        )
        (tmp_path / "spec.yaml").write_text(text)
        return load_spec(tmp_path / "spec.yaml")

    return load


@pytest.mark.parametrize(
    ("gate", "metric", "quantile"),
    [
        ("metric: mse", "mse", 0.5),
        ("metric: rmse", "mse", 0.5),
        ("metric: r2", "mse", 0.5),
        ("metric: mae", "mae", 0.5),
        ("metric: pinball, quantile: 0.9", "pinball", 0.9),
    ],
)
def test_candidates_are_chosen_by_the_gates_own_metric(load, gate, metric, quantile):
    found = build_plan(*load("{more: {counterfactual: {factor: 3}}}", gate))
    tuner = found.procedure.tuner
    assert (tuner.metric.kind, tuner.metric.quantile) == (metric, quantile)


def test_a_candidates_loss_is_that_of_its_metric():
    """Twice the pinball loss at a half is the absolute error; at another quantile it is neither."""
    train = draw(40, 2, 0)
    losses = {}
    for metric, quantile in (("mae", 0.5), ("pinball", 0.5), ("pinball", 0.9)):
        tuner = Candidates(named={"one": procedure(train)}, folds=3, metric=Metric(kind=metric, quantile=quantile))
        study = tuner.tune(procedure(train), train, FoldContext(seed=0)).studies[0]
        losses[metric, quantile] = np.array([*study.plain, *study.trials[0].losses])
    np.testing.assert_allclose(2 * losses["pinball", 0.5], losses["mae", 0.5])
    assert not np.allclose(2 * losses["pinball", 0.9], losses["mae", 0.5])


def test_a_candidate_is_the_spec_with_its_changes(load):
    plan = build_plan(
        *load("{more: {counterfactual: {factor: 3}}, ours: {recipe: distilled, partition: {max_features: 1}}}")
    )
    named = plan.procedure.tuner.named
    assert list(named) == ["declared", "more", "ours"]
    assert [one.factor for one in named.values()][:2] == [1.25, 3.0]
    assert named["more"].retention == 1.0
    assert named["ours"].retention == 0.0
    assert named["ours"].choice.max_features == 1
    assert plan.procedure.fits(5) > 3 * 3 * 2


@pytest.mark.parametrize(
    ("candidates", "said"),
    [
        (
            "{more: {counterfactual: {faktor: 3}}}",
            "tune.augmentation.candidates.more.counterfactual.faktor: extra inputs are not",
        ),
        (
            "{more: {counterfactual: {factor: -3}}}",
            "more.counterfactual.factor: input should be greater",
        ),
        ("{more: {regressor: {kind: knn}}}", "tune.augmentation.candidates.more.regressor: unknown key"),
        (
            "{declared: {recipe: paper}}",
            "tune.augmentation.candidates.declared: 'declared' is the name of the spec as it stands",
        ),
        (
            "{more: {counterfactual: {residuals: out_of_fold}}}",
            "tune.augmentation.candidates.more.counterfactual.residuals: a single teacher has seen every row",
        ),
    ],
)
def test_candidates_that_are_no_specs_are_refused(load, candidates, said):
    with pytest.raises(SpecError) as caught:
        load(candidates)
    assert said in str(caught.value)
