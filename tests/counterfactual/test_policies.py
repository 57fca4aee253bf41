"""What every policy does, and what each says of itself."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from crda_spec.counterfactual.policies import POLICIES, Feature, Jitter, Resample, RowDraws, Scale
from crda_spec.seeds import stream

EVERY = (
    Scale(),
    Scale(reach=10.0, around="zero"),
    Scale(share="cell"),
    Scale(around="zero", share="cell"),
    Jitter(),
    Jitter(sd=100.0),
    Resample(),
    Resample(weights="uniform"),
)

ABOUT_ZERO = (Scale(reach=10.0, around="zero"), Scale(around="zero", share="cell"))  # these move a constant

cells = st.floats(-1e9, 1e9) | st.just(float("nan"))
columns = arrays(np.float64, st.integers(1, 30), elements=cells)
every_policy = pytest.mark.parametrize("policy", EVERY, ids=repr)


def feature_of(values):
    known = values[~np.isnan(values)]
    return Feature(
        values=known, mean=float(known.mean()) if len(known) else 0.0, sd=float(known.std() if len(known) else 0)
    )


def propose(policy, x, seed=0, feature=None):
    shared = RowDraws(scale=stream(seed, "shared").uniform(-1, 1, size=len(x)))
    return policy.propose(x, feature or feature_of(x), shared, rng=stream(seed, "cell"))


@every_policy
@given(x=columns, seed=st.integers(0, 2**32))
def test_it_is_pure_deterministic_finite_and_leaves_gaps_alone(policy, x, seed):
    before = x.tobytes()
    x.setflags(write=False)
    one, two = propose(policy, x, seed), propose(policy, x, seed)
    assert one.tobytes() == two.tobytes()
    assert x.tobytes() == before
    assert one.shape == x.shape
    assert np.array_equal(np.isnan(one), np.isnan(x))
    assert not np.isinf(one).any()


@every_policy
@given(
    x=arrays(np.float64, st.integers(2, 30), elements=st.integers(-(10**6), 10**6).map(lambda k: k / 1000), unique=True)
)
def test_another_generator_gives_other_values(policy, x):
    one, two = propose(policy, x, 1), propose(policy, x, 2)
    if isinstance(policy, Resample) and len(x) < 20:
        return  # a few values can come out alike by chance
    assert one.tobytes() != two.tobytes()


@pytest.mark.parametrize(
    "policy", [Scale(), Scale(share="cell"), Jitter(), Resample(), Resample(weights="uniform")], ids=repr
)
@pytest.mark.parametrize("value", [0.0, 0.1, -3e7])
def test_a_column_of_one_value_stays_that_value(policy, value):
    np.testing.assert_allclose(propose(policy, np.full(9, value)), value, rtol=1e-12)
    np.testing.assert_allclose(propose(policy, np.array([value])), value, rtol=1e-12)


@every_policy
def test_a_column_without_values_stays_without(policy):
    assert np.isnan(propose(policy, np.full(5, np.nan))).all()


@given(x=columns, reach=st.floats(0.01, 10), around=st.sampled_from(["mean", "zero"]))
def test_a_scaled_value_stays_within_its_reach(x, reach, around):
    feature = feature_of(x)
    centre = feature.mean if around == "mean" else 0.0
    moved = propose(Scale(reach=reach, around=around, share="cell"), x)
    limit = reach * np.abs(x - centre) * (1 + 1e-9) + 1e-6
    assert (np.isnan(x) | (np.abs(moved - x) <= limit)).all()


def test_one_delta_a_row_or_one_a_cell():
    x, y = np.linspace(10.0, 20.0, 50), np.linspace(-3.0, 90.0, 50)
    shared = RowDraws(scale=stream(1, "row").uniform(-1, 1, size=50))

    def deltas(policy):
        return [
            (policy.propose(values, feature_of(values), shared, rng=stream(1, name)) - values)
            / (values - values.mean())
            for name, values in (("x", x), ("y", y))
        ]

    one, two = deltas(Scale(reach=0.4))
    np.testing.assert_allclose(one, two, atol=1e-9)
    np.testing.assert_allclose(one, 0.4 * shared.scale, atol=1e-9)
    one, two = deltas(Scale(reach=0.4, share="cell"))
    assert np.abs(one - two).max() > 0.1
    assert abs(np.corrcoef(one, two)[0, 1]) < 0.5


def test_jitter_is_as_wide_as_it_says():
    x = stream(0, "x").normal(5.0, 3.0, size=20_000)
    moved = propose(Jitter(sd=0.5), x)
    assert (moved - x).std() == pytest.approx(0.5 * x.std(), rel=0.02)
    assert (moved - x).mean() == pytest.approx(0.0, abs=0.04)


def test_resampling_by_frequency_and_alike():
    x = np.repeat([1.0, 2.0], [900, 100])
    assert (propose(Resample(), x) == 2.0).mean() == pytest.approx(0.1, abs=0.03)
    assert (propose(Resample(weights="uniform"), x) == 2.0).mean() == pytest.approx(0.5, abs=0.05)


@given(x=columns, weights=st.sampled_from(["empirical", "uniform"]))
def test_a_resampled_value_is_one_that_a_training_row_has(x, weights):
    moved = propose(Resample(weights=weights), x)
    assert set(moved[~np.isnan(moved)]) <= set(x[~np.isnan(x)])


def test_what_they_say():
    assert [policy.describe() for policy in EVERY] == [
        "its distance from the mean scaled by up to 70 % either way, one factor for all scaled features of a row",
        "the value scaled by up to 1000 % either way, one factor for all scaled features of a row",
        "its distance from the mean scaled by up to 70 % either way, a factor for each cell",
        "the value scaled by up to 70 % either way, a factor for each cell",
        "Gaussian noise of 0.3 standard deviations added",
        "Gaussian noise of 100 standard deviations added",
        "redrawn from its own column, each value as often as it occurs",
        "redrawn from its own column, every value alike",
    ]


def test_the_list_of_the_family():
    assert {"jitter": Jitter, "resample": Resample, "scale": Scale} == POLICIES
    assert [sorted(policy.moves) for policy in POLICIES.values()] == [
        ["continuous", "integer"],
        ["boolean", "category", "continuous", "integer"],
        ["continuous", "integer"],
    ]
