"""What the report says of new rows, against rows whose answers are known."""

from dataclasses import replace

import numpy as np
import pytest
from counterfactual_parts import mixed, numbers

from crda_spec.counterfactual.abduct import abduct
from crda_spec.counterfactual.act import act
from crda_spec.counterfactual.diagnostics import comparison, diagnose
from crda_spec.counterfactual.perturbation import Perturbation
from crda_spec.counterfactual.policies import Jitter, Resample, Shift
from crda_spec.counterfactual.predict import LabelRule, predict_outcome
from crda_spec.records import Teacher


class Linear:
    """3 a, and b only through its sign times c: b's mean effect is flat, its effect is not."""

    def __init__(self, tilt=0.0):
        self.tilt = tilt

    def predict(self, x):
        x = np.nan_to_num(x)
        return 3.0 * x[:, 0] + np.sign(x[:, 1]) * x[:, 2] + self.tilt * x[:, 0] ** 2


def teacher_of(train, *members):
    said = np.mean([member.predict(train.x) for member in members], axis=0)
    return Teacher(kind="crossfit", members=members, in_sample=said, out_of_fold=said)


def world(rows=400, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(rows, 4))
    return numbers(x, Linear().predict(x) + rng.normal(size=rows))


def made_rows(train, teacher, moved, perturbation, *, factor=1.25, retention=1.0, **noise):
    action = act(train, moved, perturbation, factor=factor, seed=1, index=(0,))
    abduction = abduct(train, teacher, residuals="in_sample", **noise)
    rule = LabelRule(retention=retention, weight=1.0)
    return abduction, predict_outcome(teacher, action, abduction, train, rule, rng=np.random.default_rng(0))


def looked(train, members, moved, perturbation, **more):
    teacher = teacher_of(train, *members)
    abduction, made = made_rows(train, teacher, moved, perturbation, **more)
    return diagnose(train, teacher, abduction, made, seed=3), made


def test_how_far_a_feature_moved_is_in_its_own_unit():
    train = world()
    wide = replace(train, x=train.x * np.array([1.0, 1.0, 1.0, 10.0]))
    found, made = looked(wide, (Linear(),), ("d",), Perturbation(default=Shift(amount=4.0, measure="unit")), factor=2.0)
    (moved,) = found.moved
    delta = np.abs(made.action.x[:, 3] - wide.x[made.action.source, 3])
    assert moved.changed == 1.0
    assert moved.median == pytest.approx(np.median(delta))
    assert moved.far == pytest.approx(np.quantile(delta, 0.95))
    assert moved.in_sd == pytest.approx(np.sqrt((delta**2).mean()) / wide.x[:, 3].std())
    assert 1.8 < moved.median < 2.2


def test_an_irrelevant_feature_is_flat_and_an_effect_that_changes_sign_is_not():
    found, _ = looked(world(), (Linear(),), ("a", "b", "d"), Perturbation())
    a, b, d = found.moved
    assert d.effect < 1e-12
    assert a.effect == pytest.approx(3.0 * np.std(a.grid) / world().y.std(), rel=1e-9)
    assert b.effect > 0.2
    assert np.ptp(b.curve) < 0.15 * np.ptp(a.curve)  # the mean curve alone would call b flat
    assert np.allclose(np.diff(a.curve), 3.0 * np.diff(a.grid))


def test_members_that_differ_where_new_rows_are_show_it():
    perturbation = Perturbation(default=Shift(amount=6.0))
    found, _ = looked(world(), (Linear(0.0), Linear(0.2)), ("a",), perturbation, factor=1.0)
    assert found.disagreement.members == 2
    assert found.disagreement.new_median > 4 * found.disagreement.real_median
    alone, _ = looked(world(), (Linear(),), ("a",), perturbation, factor=1.0)
    assert alone.disagreement is None


def test_rows_off_the_data_are_counted_and_rows_that_stay_are_not():
    near, _ = looked(world(), (Linear(),), ("a",), Perturbation(default=Jitter(sd=0.001)), factor=1.0)
    far, _ = looked(world(), (Linear(),), ("a",), Perturbation(default=Shift(amount=50.0)), factor=1.0)
    assert near.places.outside < 0.06
    assert far.places.outside > 0.9


def test_carried_noise_is_compared_and_none_is_not():
    whole, _ = looked(world(), (Linear(),), ("d",), Perturbation(), factor=1.0)
    assert whole.noise.before == whole.noise.after
    assert whole.noise.distance == 0.0
    half, _ = looked(world(), (Linear(),), ("d",), Perturbation(), factor=1.0, retention=0.5)
    assert half.noise.after == pytest.approx([value / 2 for value in half.noise.before])
    assert half.noise.distance > 0.1
    nothing, _ = looked(world(), (Linear(),), ("d",), Perturbation(), retention=0.0)
    assert nothing.noise is None


def test_the_plane_and_the_pairs_hold_samples_of_both():
    found, _ = looked(world(), (Linear(),), ("a", "b"), Perturbation(default=Jitter(sd=0.5)))
    assert (len(found.places.plane.real), len(found.places.plane.new)) == (250, 250)
    assert 0.25 < found.places.shares[0] < 0.5
    assert found.places.shares[0] >= found.places.shares[1]
    assert [{pair.first, pair.second} for pair in found.places.pairs] == [{"a", "b"}]
    alone, _ = looked(world(), (Linear(),), ("a",), Perturbation(default=Jitter(sd=0.5)))
    assert [pair.first for pair in alone.places.pairs] == ["a"]


def test_every_type_of_column_and_missing_cells_are_looked_at():
    train = mixed(120)
    named = ("free", "count", "ward", "smoker")
    found, made = looked(train, (Linear(),), named, Perturbation(default=Resample()), factor=2.0)
    by = {one.name: one for one in found.moved}
    assert list(by) == list(named)
    assert by["ward"].median is None
    assert 0 < by["ward"].changed < 1
    assert len(by["ward"].grid) == 3
    assert by["count"].median >= 1
    assert set(by["count"].grid) <= set(range(1, 10))
    assert np.isfinite([value for one in found.moved for value in (*one.curve, one.effect)]).all()
    assert found.places.rows == len(made)


def test_the_same_rows_give_the_same_answers():
    perturbation = Perturbation(default=Jitter(sd=0.5))
    assert (
        looked(world(), (Linear(),), ("a",), perturbation)[0] == looked(world(), (Linear(),), ("a",), perturbation)[0]
    )


def test_a_comparison_is_quantile_by_quantile():
    rng = np.random.default_rng(0)
    sample = rng.normal(size=5000)
    found = comparison(sample, 2 * sample)
    assert found.after == pytest.approx([2 * value for value in found.before])
    assert len(found.before) == 40
