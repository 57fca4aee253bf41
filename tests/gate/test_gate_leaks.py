"""The gate leaks nothing: poison in held-out rows reaches nothing that is fitted. A planted leak is found."""

import numpy as np
import pytest
from gate_parts import CROSSFIT, MAE, LeakyTeacher, Watching, accepts, one_fold, poisoned, procedure, table
from hypothesis import given, settings
from hypothesis import strategies as st

from crda_spec.counterfactual.perturbation import Perturbation
from crda_spec.counterfactual.policies import Jitter
from crda_spec.data.folds import folds
from crda_spec.gate.tests import Wilcoxon
from crda_spec.records import Column, Table
from crda_spec.regressors import EarlyStopping
from crda_spec.regressors.metrics import MSE
from crda_spec.regressors.tune import RandomSearch
from crda_spec.seeds import stream

SEARCH = RandomSearch(trials=2, folds=3)


def draw(n, d, seed, *, groups=None):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, d))
    return table(x, x[:, 0] + rng.normal(size=n), groups)


def fold_artefacts(make_procedure, train, held, *, stopping, metric=MSE, restarts=1):
    """All that was fitted in one fold, what was decided there, and the outcome."""
    watching = Watching(early_stopping=stopping)
    outcome = one_fold(make_procedure(train, watching), train, held, 3, metric=metric, seed=5, restarts=restarts)
    result = outcome.result
    decided = (result.perturbed, result.synthetic_rows, result.train_rows, result.held_out_rows, outcome.cost.fits)
    return watching, decided, outcome


def sees_held_out_rows(make_procedure, train, held, *, stopping=None, restarts=1):
    """Whether poison in the held-out rows changes anything that was fitted or decided."""
    asked = {"stopping": stopping, "restarts": restarts}
    clean, decided, outcome = fold_artefacts(make_procedure, train, held, **asked)
    dirty, decided_again, again = fold_artefacts(make_procedure, poisoned(train, held), held, **asked)
    assert outcome.result.plain != again.result.plain  # the poison is real: the scores do change
    return clean.fingerprint() != dirty.fingerprint() or decided != decided_again


@settings(max_examples=25)
@given(
    n=st.integers(24, 50),
    seed=st.integers(0, 1000),
    declared=st.booleans(),
    crossfit=st.booleans(),
    tuned=st.booleans(),
    stops=st.booleans(),
    weight=st.sampled_from([1.0, 0.5]),
    restarts=st.sampled_from([1, 2]),
)
def test_nothing_fitted_inside_a_fold_has_seen_a_held_out_row(
    n, seed, declared, crossfit, tuned, stops, weight, restarts
):
    train = draw(n, 3, seed)
    held = folds(n, 4, rng=stream(seed, "folds"))[seed % 4]

    def make(rows, watching):
        choices = {"weight": weight, "search": SEARCH if tuned else None, **(CROSSFIT if crossfit else {})}
        return procedure(rows, regressor=watching, declared=declared, **choices)

    assert not sees_held_out_rows(make, train, held, stopping=EarlyStopping() if stops else None, restarts=restarts)


def test_a_planted_leak_is_found():
    """The mutation: labels by a model that saw all rows. The very check of the test above must catch it."""
    train = draw(40, 3, 1)
    held = folds(40, 4, rng=stream(1, "folds"))[0]

    def leaky(rows, watching):
        return procedure(rows, regressor=watching, teacher=LeakyTeacher(rows))

    assert sees_held_out_rows(leaky, train, held)


@pytest.mark.parametrize("stopping", [None, EarlyStopping(validation=0.25)])
def test_both_arms_get_the_same_real_rows_and_no_synthetic_row_is_scored(stopping):
    train = draw(40, 3, 2)
    held = folds(40, 4, rng=stream(0, "folds"))[0]
    watching, _, outcome = fold_artefacts(
        lambda rows, watching: procedure(rows, regressor=watching), train, held, stopping=stopping, metric=MAE
    )
    plain, augmented = watching.designs
    assert augmented.x[: len(plain.x)].tobytes() == plain.x.tobytes()
    assert augmented.y[: len(plain.y)].tobytes() == plain.y.tobytes()
    assert len(augmented.x) == 2 * len(plain.x)
    if stopping is not None:
        assert augmented.validation_x.tobytes() == plain.validation_x.tobytes()
        assert len(plain.validation_x) == 7  # a quarter of 30 is 7.5, and of two that are as near the smaller is taken
    result = outcome.result
    assert (result.fold, result.train_rows, result.held_out_rows, result.synthetic_rows) == (3, 30, 10, 30)
    assert result.perturbed == ("x0", "x1", "x2")
    assert outcome.cost.fits == 2
    assert outcome.cost.seconds > 0


def test_the_losses_of_a_fold_are_those_of_its_models_on_the_held_out_rows():
    """Least squares by hand on the design that the plain arm trained on."""
    train = draw(40, 2, 3)
    held = folds(40, 4, rng=stream(0, "folds"))[1]
    rest = np.setdiff1d(np.arange(40), held)
    a = np.column_stack([train.x, np.ones(40)])
    errors = train.y[held] - a[held] @ np.linalg.lstsq(a[rest], train.y[rest], rcond=None)[0]
    for metric, expected in ((MSE, np.mean(errors**2)), (MAE, np.mean(np.abs(errors)))):
        outcome = one_fold(procedure(train), train, held, 1, metric=metric, seed=5)
        assert outcome.result.plain == pytest.approx(expected, rel=1e-9)
        assert outcome.result.augmented != outcome.result.plain


def test_a_fold_without_a_perturbable_feature_compares_the_plain_model_with_itself():
    train = draw(40, 2, 3)
    outcome = one_fold(procedure(train, keep=train.names), train, np.arange(10), 1, metric=MSE, seed=0)
    assert outcome.result.plain == outcome.result.augmented
    assert (outcome.result.perturbed, outcome.result.synthetic_rows, outcome.cost.fits) == ((), 0, 1)


def accept_rate(simulations, make_procedure):
    """How often the gate accepts, over small tables of eight useless features."""
    gate = Wilcoxon(folds=5)
    accepted = 0
    for simulation in range(simulations):
        train = draw(40, 8, simulation)
        held = folds(40, gate.folds, rng=stream(simulation, "gate-folds"))
        chosen = make_procedure(train)
        outcomes = [one_fold(chosen, train, rows, k, metric=MSE, seed=simulation) for k, rows in enumerate(held, 1)]
        accepted += accepts(gate, outcomes, train)
    return accepted / simulations


def many_rows(train, **changes):
    return procedure(train, perturbation=Perturbation(default=Jitter(sd=0.5)), factor=3.0, **changes)


MOST = 0.05 + 3 * (0.05 * 0.95 / 200) ** 0.5


@pytest.mark.slow
def test_an_augmentation_that_cannot_help_is_accepted_no_more_often_than_the_level_says():
    """Null by construction: with least squares as teacher and student, y' = g(x') + z_i at randomly moved x' adds to
    g's coefficients a random vector of mean zero, independent of the held-out rows. It cannot help.
    """
    assert accept_rate(200, many_rows) <= MOST


def test_the_same_with_a_planted_leak_is_accepted_far_too_often():
    """The mutation of the test above: only the teacher is changed, and the bound is broken."""
    assert accept_rate(60, lambda train: many_rows(train, teacher=LeakyTeacher(train))) > 3 * MOST


@pytest.mark.parametrize("only_held", [0.0, 1.0, 2.0])
@pytest.mark.parametrize("crossfit", [False, True])
def test_a_label_that_only_held_out_rows_have_does_not_even_widen_the_model(only_held, crossfit):
    rng = np.random.default_rng(0)
    held = folds(40, 4, rng=stream(0, "folds"))[0]
    columns = (Column(name="ward", type="category", labels=("u", "v", "w")), Column(name="a", type="continuous"))
    others = [code for code in (0.0, 1.0, 2.0) if code != only_held]
    ward, a, y = rng.choice(others, 40), rng.normal(size=40), rng.normal(size=40)

    def fitted(labels):
        x = np.column_stack([labels, a])
        rows = Table(features=columns, target=Column(name="y", type="continuous"), row_ids=np.arange(40), x=x, y=y)
        watching = Watching()
        outcome = one_fold(
            procedure(rows, regressor=watching, **(CROSSFIT if crossfit else {})), rows, held, 1, metric=MSE, seed=5
        )
        return watching, outcome.result.plain

    strange = ward.copy()
    strange[held] = only_held
    (clean, loss), (dirty, other_loss) = fitted(ward), fitted(strange)
    assert clean.fingerprint() == dirty.fingerprint()
    assert {design.x.shape[1] for design in dirty.designs} == {3}  # two labels and a number
    assert loss != other_loss
