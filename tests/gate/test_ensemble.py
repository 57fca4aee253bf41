"""Several models instead of one: who is compared with whom, and that the arithmetic is that of the test score."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crda_spec.errors import DataError
from crda_spec.gate.ensemble import ensemble_fits, member_seed, score_ensemble
from crda_spec.gate.score import score
from crda_spec.records import Column, HeldOut, Table
from crda_spec.regressors.fit import MeanModel, student_seed
from crda_spec.regressors.metrics import Metric

ROWS = 60
X = np.random.default_rng(1).normal(size=(ROWS, 1))
Y = X[:, 0] + np.random.default_rng(2).normal(size=ROWS)


class Off:
    """Predicts x, with an error of its own in every row."""

    def __init__(self, number, size=1.0):
        self.error = np.random.default_rng(number).normal(0, size, ROWS)

    def predict(self, x):
        return x[:, 0] + self.error


def held_out(y=Y, groups=None):
    column = Column(name="x", type="continuous")
    target = Column(name="y", type="continuous")
    return HeldOut(Table(features=(column,), target=target, row_ids=np.arange(ROWS), x=X, y=y, groups=groups))


PLAIN = tuple(Off(number) for number in range(3))
AUGMENTED = tuple(Off(10 + number, 0.5) for number in range(3))


@pytest.mark.parametrize("kind", ["mse", "rmse", "mae", "r2"])
def test_every_line_is_the_score_of_its_two_sides(kind):
    test, metric = held_out(), Metric(kind=kind)
    found = score_ensemble(test, {"plain": PLAIN, "augmented": AUGMENTED}, metric=metric, seed=4)
    assert [(one.arm, one.models) for one in found] == [
        ("plain", 1),
        ("augmented", 1),
        ("plain", 3),
        ("augmented", 3),
    ]
    of = {("plain", n): MeanModel(PLAIN[:n]) for n in (1, 3)} | {
        ("augmented", n): MeanModel(AUGMENTED[:n]) for n in (1, 3)
    }
    for one in found:
        whole = score(test, of["plain", 1], of[one.arm, one.models], metric=metric, seed=4, usual=0.0)
        assert one.loss == whole.augmented
        if (one.arm, one.models) == ("plain", 1):
            assert (one.change_percent, one.interval_percent) == (None, None)
        else:
            assert (one.change_percent, one.interval_percent) == (whole.change_percent, whole.interval_percent)
        equal = score(test, of["plain", one.models], of[one.arm, one.models], metric=metric, seed=4, usual=0.0)
        expected = (None, None) if one.arm == "plain" else (equal.change_percent, equal.interval_percent)
        assert (one.augmentation_percent, one.augmentation_interval) == expected
        alone = (PLAIN if one.arm == "plain" else AUGMENTED)[: one.models]
        assert one.singles == tuple(metric.loss(test.errors(model), spread=test.spread) for model in alone)


def test_a_refused_augmentation_has_no_line():
    found = score_ensemble(held_out(), {"plain": PLAIN}, metric=Metric(), seed=4)
    assert [(one.arm, one.models) for one in found] == [("plain", 1), ("plain", 3)]


@settings(max_examples=25)
@given(st.lists(st.integers(0, 10_000), min_size=2, max_size=8))
def test_the_mean_of_models_never_costs_more_than_they_do_on_average(numbers):
    """Jensen's inequality, on any rows: so an ensemble's gain needs no luck, and must not be called augmentation's."""
    members = tuple(Off(number) for number in numbers)
    found = score_ensemble(held_out(), {"plain": members}, metric=Metric(), seed=0)
    together = found[-1]
    assert (together.arm, together.models) == ("plain", len(numbers))
    assert together.loss <= np.mean(together.singles) * (1 + 1e-12)


def test_equal_models_change_nothing():
    found = score_ensemble(held_out(), {"plain": (PLAIN[0],) * 4}, metric=Metric(), seed=0)
    last = found[-1]
    assert (last.change_percent, last.interval_percent, set(last.singles)) == (0.0, (0.0, 0.0), {found[0].loss})


def test_rows_of_a_group_stay_together_in_the_interval():
    groups = np.arange(ROWS) // 2
    apart = score_ensemble(held_out(), {"plain": PLAIN}, metric=Metric(), seed=0)[-1]
    bound = score_ensemble(held_out(groups=groups), {"plain": PLAIN}, metric=Metric(), seed=0)[-1]
    assert (apart.loss, apart.change_percent) == (bound.loss, bound.change_percent)
    assert apart.interval_percent != bound.interval_percent


def test_a_model_that_ran_away_is_an_error_not_a_mean():
    class Lost:
        def predict(self, x):
            return np.full(len(x), np.inf)

    members = {"plain": PLAIN, "augmented": (*AUGMENTED[:2], Lost())}
    with pytest.raises(DataError, match="one of the augmented models of the ensemble predicts numbers that are not"):
        score_ensemble(held_out(), members, metric=Metric(), seed=0)


def test_the_first_model_is_the_runs_own_and_no_other_seed_is_used_twice():
    seeds = [member_seed(7, number) for number in range(1, 101)]
    assert seeds[0] == student_seed(7, (0,))
    of_folds = [student_seed(7, (fold,)) for fold in range(51)]
    assert len({*seeds, *of_folds}) == 100 + 50


@pytest.mark.parametrize(("models", "both", "fits"), [(1, True, 0), (2, False, 1), (5, True, 8)])
def test_fits_beside_the_runs_own(models, both, fits):
    assert ensemble_fits(models, both=both) == fits
