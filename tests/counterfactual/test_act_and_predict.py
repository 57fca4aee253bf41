"""Action, abduction, prediction: only X_P moves, contracts hold, and y' = g(x') + retention * z to the last bit."""

import numpy as np
import pytest
from counterfactual_parts import MIXED, declared, mixed, numbers, table
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from crda_spec.counterfactual.abduct import abduct
from crda_spec.counterfactual.act import act, nearest_allowed, values_that_occur
from crda_spec.counterfactual.perturbation import Perturbation
from crda_spec.counterfactual.policies import Grid, Interpolate, Jitter, Quantile, Resample, Scale, Shift
from crda_spec.counterfactual.predict import LabelRule, predict_outcome
from crda_spec.counterfactual.procedure import Procedure, augment, fit_augmented
from crda_spec.records import Column, Teacher
from crda_spec.regressors import Ridge
from crda_spec.regressors.fit import student_seed
from crda_spec.regressors.teachers import CrossfitTeacher, FoldContext, SingleTeacher

MOVED = tuple(column.name for column in MIXED if column.name != "kept")


@pytest.mark.parametrize(("factor", "rows"), [(0.5, 20), (1.0, 40), (1.25, 50), (4.0, 160), (0.01, 0)])
def test_every_row_is_a_source_as_often_as_the_factor_says(factor, rows):
    action = act(mixed(40), ["free"], Perturbation(), factor=factor, seed=0, index=())
    times = np.bincount(action.source, minlength=40)
    assert len(action.source) == len(action.x) == rows
    assert set(times) <= {int(factor), int(factor) + 1}


@pytest.mark.parametrize("default", [Scale(reach=3.0), Scale(reach=5.0, around="zero", share="cell"), Jitter(sd=2.0)])
@given(seed=st.integers(0, 2**32))
def test_what_is_kept_stays_bit_for_bit_and_what_moves_keeps_its_contract(default, seed):
    train = mixed(30, seed=seed % 7)
    before = train.x.tobytes()
    action = act(train, MOVED, Perturbation(default=default), factor=2.5, seed=seed, index=(1,))
    assert train.x.tobytes() == before
    source = train.x[action.source]
    moved = dict(zip(train.names, action.x.T, strict=True))
    assert moved["kept"].tobytes() == source[:, -1].copy().tobytes()
    assert np.array_equal(np.isnan(action.x), np.isnan(source))
    known = {name: values[~np.isnan(values)] for name, values in moved.items()}
    assert ((known["bounded"] >= -1.0) & (known["bounded"] <= 1.5)).all()
    assert set(known["count"]) <= set(range(1, 10))
    assert set(known["size"]) <= {1.0, 2.0, 5.0}
    assert set(known["ward"]) <= {0.0, 1.0, 2.0}
    assert set(known["smoker"]) <= {0.0, 1.0}
    again = act(train, MOVED, Perturbation(default=default), factor=2.5, seed=seed, index=(1,))
    assert again.x.tobytes() == action.x.tobytes()


def test_moving_one_feature_more_changes_no_other_draw():
    train = mixed(50)
    one = act(train, ["free"], Perturbation(default=Jitter()), factor=1.25, seed=3, index=(0,))
    two = act(train, ["count", "free"], Perturbation(default=Jitter()), factor=1.25, seed=3, index=(0,))
    assert one.source.tobytes() == two.source.tobytes()
    assert one.x[:, 0].tobytes() == two.x[:, 0].tobytes()
    assert one.x[:, 2].tobytes() != two.x[:, 2].tobytes()
    other = act(train, ["free"], Perturbation(default=Jitter()), factor=1.25, seed=3, index=(1,))
    assert one.x[:, 0].tobytes() != other.x[:, 0].tobytes()


def test_each_feature_gets_its_own_policy_the_default_or_what_its_type_allows():
    perturbation = Perturbation(
        default=Jitter(sd=0.1), features={"count": Scale(reach=0.2), "ward": Resample(weights="uniform")}
    )
    action = act(mixed(40), ["free", "count", "ward", "smoker"], perturbation, factor=1.25, seed=0, index=())
    assert action.moved == ("free", "count", "ward", "smoker")
    assert action.policies == {
        "free": "Gaussian noise of 0.1 standard deviations added",
        "count": "its distance from the mean scaled by up to 20 % either way, "
        "one factor for all scaled features of a row",
        "ward": "redrawn from its own column, every value alike",
        "smoker": "redrawn from its own column, each value as often as it occurs",
    }


def test_all_scaled_features_of_a_row_share_one_delta():
    rng = np.random.default_rng(0)
    train = numbers(rng.normal(size=(60, 2)), rng.normal(size=60))
    action = act(train, ["a", "b"], Perturbation(default=Scale(reach=0.5)), factor=1.25, seed=0, index=())
    centre = train.x.mean(axis=0)
    source = train.x[action.source]
    delta = (action.x - source) / (source - centre)
    np.testing.assert_allclose(delta[:, 0], delta[:, 1], atol=1e-9)
    assert np.abs(delta).max() <= 0.5
    assert np.ptp(delta[:, 0]) > 0.8


@given(
    values=arrays(np.float64, 12, elements=st.floats(-50, 50) | st.just(float("nan"))),
    allowed=st.lists(st.integers(-40, 40), max_size=5, unique=True),
    bounds=st.tuples(st.none() | st.floats(-30, 0), st.none() | st.floats(0, 30)),
    kind=st.sampled_from(["continuous", "integer"]),
)
def test_a_contract_is_kept_by_the_nearest_value_and_only_violations_are_counted(values, allowed, bounds, kind):
    low, high = bounds
    inside = [v for v in allowed if (low is None or v >= low) and (high is None or v <= high)]
    column = Column(
        name="a", type=kind, minimum=low, maximum=high, allowed=tuple(map(float, allowed)) if inside else None
    )
    kept, changed = nearest_allowed(values, column)
    rounded = np.rint(values) if kind == "integer" else values
    assert np.array_equal(np.isnan(kept), np.isnan(values))
    known, wanted = kept[~np.isnan(kept)], rounded[~np.isnan(kept)]
    assert (known >= (-np.inf if low is None else low)).all()
    assert (known <= (np.inf if high is None else high)).all()
    if inside:
        assert set(known) <= set(inside)
        nearest = np.abs(np.subtract.outer(wanted, np.array(inside, dtype=float))).min(axis=1)
        np.testing.assert_allclose(np.abs(known - wanted), nearest)
    elif kind == "integer":
        assert (known == np.rint(known)).all()
    assert np.count_nonzero(changed) == np.count_nonzero(known != wanted)
    assert kind == "continuous" or not np.signbit(kept[kept == 0.0]).any()  # files of whole numbers lose a -0.0
    again, twice = nearest_allowed(kept, column)
    assert again.tobytes() == kept.tobytes()
    assert not twice.any()


def test_violations_are_counted_by_feature():
    train = mixed(40, missing=0.0)
    perturbation = Perturbation(default=Jitter(sd=3.0))
    action = act(train, ["free", "bounded", "count"], perturbation, factor=1.0, seed=0, index=())
    assert action.clipped["free"] == 0
    assert action.clipped["bounded"] == np.count_nonzero(np.isin(action.x[:, 1], [-1.0, 1.5]))
    assert 0 < action.clipped["bounded"] < 40
    assert 0 < action.clipped["count"] < 40


CYLINDERS = (4.0, 6.0, 8.0)


def cars(n, **contract):
    """Cylinders that are 4, 6 or 8, and ages that are dense."""
    rng = np.random.default_rng(2)
    columns = [Column(name="cylinders", type="integer", **contract), Column(name="age", type="integer")]
    x = np.column_stack([rng.choice(CYLINDERS, n), rng.integers(18, 90, n)])
    return table(x, rng.normal(size=n), columns)


@pytest.mark.parametrize(
    "policy",
    [Interpolate(), Scale(reach=2.0), Shift(amount=3.0, measure="unit"), Jitter(sd=2.0), Quantile()],
    ids=lambda policy: policy.kind,
)
def test_a_whole_number_takes_only_values_that_occur(policy):
    train = cars(60, minimum=0.0)  # a bound at one end says nothing of what lies between
    action = act(train, ["cylinders", "age"], Perturbation(default=policy), factor=4.0, seed=1, index=(0,))
    assert set(action.x[:, 0]) == set(CYLINDERS)
    assert set(action.x[:, 1]) <= set(train.x[:, 1])
    assert (action.x != train.x[action.source]).any(axis=0).all()


@pytest.mark.parametrize(
    ("contract", "policies", "expected"),
    [
        pytest.param({"minimum": 3.0, "maximum": 8.0}, {}, {3.0, 4.0, 5.0, 6.0, 7.0, 8.0}, id="bounds-at-both-ends"),
        pytest.param({"allowed": (4.0, 5.0, 6.0, 8.0)}, {}, {4.0, 5.0, 6.0, 8.0}, id="a-list"),
        pytest.param({}, {"cylinders": Grid(values=(2, 3))}, {2.0, 3.0}, id="a-grid"),
    ],
)
def test_what_the_user_declares_says_more_than_what_occurs(contract, policies, expected):
    train, perturbation = cars(60, **contract), Perturbation(default=Jitter(sd=1.0), features=policies)
    assert set(act(train, ["cylinders"], perturbation, factor=8.0, seed=1, index=()).x[:, 0]) == expected


def test_what_occurs_is_asked_of_the_rows_at_hand_alone():
    train = cars(60)
    fold = train.take(np.flatnonzero(train.x[:, 0] != 6.0))
    action = act(fold, ["cylinders"], Perturbation(default=Jitter(sd=2.0)), factor=8.0, seed=1, index=(0,))
    assert set(action.x[:, 0]) == {4.0, 8.0}
    assert {name: set(values) for name, values in values_that_occur(fold).items()} == {
        "cylinders": {4.0, 8.0},
        "age": set(fold.x[:, 1]),
    }


def test_the_nearest_value_that_occurs_is_the_proposals_not_the_rounded_ones():
    column, occurring = Column(name="cylinders", type="integer"), np.array(CYLINDERS)
    kept, changed = nearest_allowed(np.array([4.9, 5.0, 5.1, 99.0, -3.0, np.nan]), column, occurring)
    np.testing.assert_array_equal(kept, [4.0, 4.0, 6.0, 8.0, 4.0, np.nan])
    assert not changed.any()
    single, _ = nearest_allowed(np.array([1.0, 9.0]), column, np.array([6.0]))
    np.testing.assert_array_equal(single, [6.0, 6.0])


def procedure(train, *, teacher, retention, residuals, weight=1.0):
    return Procedure(
        regressor=Ridge(),
        fill="median",
        search=None,
        teacher=teacher,
        residuals=residuals,
        partitioner=declared(["{a b c} -> y"], train.names),
        perturbation=Perturbation(),
        factor=1.5,
        retention=retention,
        weight=weight,
    )


@pytest.mark.parametrize("retention", [0.0, 0.3, 1.0])
@pytest.mark.parametrize(
    ("teacher", "residuals"),
    [
        (SingleTeacher(), "in_sample"),
        (CrossfitTeacher(folds=4), "in_sample"),
        (CrossfitTeacher(folds=4), "out_of_fold"),
    ],
)
def test_every_label_can_be_recomputed_from_its_ledger(teacher, residuals, retention):
    rng = np.random.default_rng(1)
    x = rng.normal(size=(40, 3))
    train = numbers(x, x[:, 0] ** 2 + x[:, 1] + rng.normal(size=40))
    made = augment(
        procedure(train, teacher=teacher, retention=retention, residuals=residuals),
        train,
        FoldContext(seed=1, index=(2,)),
    )
    rows = made.counterfactuals
    assert rows is not None
    assert len(rows) == 60
    said = made.teacher.in_sample if residuals == "in_sample" else made.teacher.out_of_fold
    noise = (train.y - said)[rows.action.source] if retention else np.zeros(60)
    assert rows.noise.tobytes() == noise.tobytes()
    assert rows.prediction.tobytes() == made.teacher.predict(rows.action.x).tobytes()
    assert rows.y.tobytes() == (rows.prediction + retention * rows.noise).tobytes()
    assert (rows.retention, rows.weight, made.abduction.residuals) == (retention, 1.0, residuals)
    assert made.settings == {"kind": "ridge", "alpha": 1.0}
    assert made.fitter.fits == (1 if isinstance(teacher, SingleTeacher) else 5)
    augmented = fit_augmented(made, train)
    assert augmented is not made.plain
    assert made.fitter.fits == (2 if isinstance(teacher, SingleTeacher) else 6)
    assert student_seed(1, (2,)) != student_seed(1, (0,))


def test_an_unmoved_row_keeps_its_own_outcome():
    """Where x' = x, prediction undoes abduction: y' = y."""
    rng = np.random.default_rng(0)
    train = numbers(np.column_stack([np.full(20, 3.0), rng.normal(size=20)]), rng.normal(size=20))
    teacher = Teacher(kind="single", members=(_Half(),), in_sample=_Half().predict(train.x), out_of_fold=None)
    action = act(train, ["a"], Perturbation(), factor=1.0, seed=0, index=())
    rule = LabelRule(retention=1.0, weight=0.5)
    made = predict_outcome(teacher, action, abduct(train, teacher, residuals="in_sample"), train, rule, rng=rng)
    assert action.x.tobytes() == train.x.tobytes()
    np.testing.assert_allclose(made.y, train.y, rtol=1e-14)
    assert made.weight == 0.5


class _Half:
    def predict(self, x):
        return 0.5 * x[:, -1]


def test_a_single_teacher_has_no_out_of_fold_residuals():
    train = numbers([[1.0], [2.0]], [1.0, 2.0])
    teacher = Teacher(kind="single", members=(_Half(),), in_sample=train.y, out_of_fold=None)
    with pytest.raises(ValueError, match=r"^a single teacher has no out-of-fold predictions$"):
        abduct(train, teacher, residuals="out_of_fold")


def test_rows_that_came_out_as_their_source_are_counted():
    """A constant is not scaled about its mean; a missing cell stays missing; of two values some are redrawn alike."""
    rng = np.random.default_rng(0)
    gappy = np.where(np.arange(40) % 4 == 0, np.nan, rng.normal(size=40))
    x = np.column_stack([np.full(40, 3.0), gappy, rng.normal(size=40), np.arange(40) % 2])
    train = numbers(x, rng.normal(size=40))
    perturbation = Perturbation(features={"d": Resample()})

    def copied(*moved):
        return act(train, moved, perturbation, factor=2.0, seed=0, index=()).copied

    assert copied("a") == 80
    assert copied("b") == 20  # ten rows without a value, twice
    assert copied("a", "b") == 20
    assert copied("c") == 0
    assert copied("b", "c") == 0
    redrawn = act(train, ["d"], perturbation, factor=2.0, seed=0, index=())
    assert redrawn.copied == np.count_nonzero(redrawn.x[:, 3] == train.x[redrawn.source, 3])
    assert 0 < redrawn.copied < 80
