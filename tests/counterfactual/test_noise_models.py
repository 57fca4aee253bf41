"""How noise enters the outcome: every model undoes itself; a fitted size is positive, bounded and near the truth."""

import numpy as np
import pytest
from counterfactual_parts import mixed, numbers, table
from hypothesis import given, settings
from hypothesis import strategies as st

from crda_spec.counterfactual.abduct import Additive, EvenScale, LocationScale, SmoothScale, abduct
from crda_spec.records import Teacher


def taught(train, said, *, unseen=None):
    """A teacher that says this of the training rows."""
    return Teacher(kind="crossfit", members=(), in_sample=said, out_of_fold=said if unseen is None else unseen)


@pytest.mark.parametrize("noise", [Additive(), LocationScale()], ids=lambda noise: noise.kind)
@settings(max_examples=25)
@given(seed=st.integers(0, 2**32))
def test_every_model_splits_an_outcome_into_what_was_said_and_scaled_noise(noise, seed):
    rng = np.random.default_rng(seed)
    train = mixed(60, seed=seed % 5)
    said = rng.normal(size=60)
    found = abduct(train, taught(train, said), residuals="out_of_fold", noise=noise)
    scale = np.ones(60) if found.scale is None else found.scale
    assert found.model == noise.kind
    assert (scale > 0).all()
    np.testing.assert_allclose(said + scale * found.noise, train.y, atol=1e-12)
    again = abduct(train, taught(train, said), residuals="out_of_fold", noise=noise)
    assert again.noise.tobytes() == found.noise.tobytes()


def test_additive_noise_is_the_residual_and_has_no_size():
    train = numbers([[1.0], [2.0]], [3.0, 5.0])
    found = abduct(train, taught(train, np.array([1.0, 1.5])), residuals="in_sample")
    assert found.noise.tolist() == [2.0, 3.5]
    assert (found.model, found.scale, found.scale_model, found.scale_clipped) == ("additive", None, None, 0)


def uneven(n, seed, d=2):
    """Noise whose size is exp(0.6 a)."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, d))
    return x, np.exp(0.6 * x[:, 0]) * rng.normal(size=n)


@pytest.mark.parametrize(("n", "error"), [(300, 0.25), (3000, 0.08)])
def test_the_size_is_learnt_and_more_rows_teach_it_better(n, error):
    x, noise = uneven(n, seed=0)
    train = numbers(x, noise)
    scale = LocationScale(quantiles=(0.001, 0.999)).fit(train, noise)
    new = np.random.default_rng(1).normal(size=(1000, 2))
    size, _ = scale.at(new)
    off = np.log(size) - 0.6 * new[:, 0]
    assert np.sqrt(np.mean((off - off.mean()) ** 2)) < error
    assert abs(np.mean((noise / scale.at(x)[0]) ** 2) - 1.0) < 0.05


def test_the_size_is_held_between_the_stated_quantiles_and_the_rows_are_counted():
    x, noise = uneven(400, seed=3)
    train = numbers(x, noise)
    scale = LocationScale(quantiles=(0.05, 0.95)).fit(train, noise)
    size, clipped = scale.at(x)
    assert clipped == 40
    assert (size.min(), size.max()) == (scale.lowest, scale.highest)
    far, outside = scale.at(np.array([[50.0, 0.0], [-50.0, 0.0], [0.0, 0.0]]))
    assert outside == 2
    assert far[:2].tolist() == [scale.highest, scale.lowest]
    found = abduct(
        train, taught(train, np.zeros(400)), residuals="in_sample", noise=LocationScale(quantiles=(0.05, 0.95))
    )
    assert (found.scale_clipped, found.scale.tobytes()) == (40, size.tobytes())


def test_the_size_comes_from_rows_unseen_also_when_the_noise_is_the_fitted_residual():
    """A model that has learnt its rows by heart has residuals of any size; what it says of new rows tells the noise."""
    x, noise = uneven(400, seed=4)
    train = numbers(x, noise)
    by_heart = taught(train, 0.99 * noise, unseen=np.zeros(400))
    found = abduct(train, by_heart, residuals="in_sample", noise=LocationScale())
    honest = abduct(train, by_heart, residuals="out_of_fold", noise=LocationScale())
    assert found.scale.tobytes() == honest.scale.tobytes()
    np.testing.assert_allclose(found.noise, 0.01 * honest.noise, atol=1e-12)


def test_without_rows_unseen_there_is_no_size():
    train = numbers([[1.0], [2.0]], [1.0, 2.0])
    teacher = Teacher(kind="single", members=(), in_sample=train.y, out_of_fold=None)
    with pytest.raises(ValueError, match=r"^a single teacher has no out-of-fold predictions$"):
        abduct(train, teacher, residuals="in_sample", noise=LocationScale())


@pytest.mark.parametrize(
    ("residual", "size"),
    [
        pytest.param(np.zeros(30), 1.0, id="a-perfect-teacher"),
        pytest.param(np.array([3.0, 4.0, -5.0]), np.sqrt(50 / 3), id="three-rows"),
        pytest.param(np.array([3.0, np.nan, -4.0]), np.sqrt(12.5), id="unknown-residuals"),
    ],
)
def test_where_nothing_can_be_learnt_the_size_is_one_for_all(residual, size):
    train = numbers(np.arange(len(residual))[:, None], residual)
    scale = LocationScale().fit(train, residual)
    assert isinstance(scale, EvenScale)
    assert scale.at(train.x)[0] == pytest.approx(size)


def test_rows_whose_residual_is_unknown_are_left_out():
    x, noise = uneven(200, seed=5)
    known = noise.copy()
    known[::4] = np.nan
    some = np.flatnonzero(~np.isnan(known))
    whole = LocationScale().fit(numbers(x, noise), known)
    part = LocationScale().fit(numbers(x[some], noise[some]), noise[some])
    assert whole.at(x)[0].tobytes() == part.at(x)[0].tobytes()


def test_a_category_may_carry_the_size_and_missing_cells_stop_nothing():
    rng = np.random.default_rng(0)
    train = mixed(600, seed=1)
    ward = np.nan_to_num(train.x[:, 4], nan=0.0)
    noise = np.where(ward == 2, 5.0, 1.0) * rng.normal(size=600)
    size, _ = LocationScale().fit(table(train.x, noise, train.features), noise).at(train.x)
    assert np.median(size[train.x[:, 4] == 2]) > 2.5 * np.median(size[train.x[:, 4] == 1])


def test_noise_of_one_size_is_found_to_have_one():
    rng = np.random.default_rng(2)
    x = rng.normal(size=(2000, 3))
    noise = rng.normal(size=2000)
    scale = LocationScale().fit(numbers(x, noise), noise)
    assert isinstance(scale, SmoothScale)
    assert np.std(np.log(scale.at(x)[0])) < 0.06
    assert Additive().fit(numbers(x, noise), noise) is None
