"""Which rows new rows are made from: as many as asked for, none favoured but by the rule."""

import numpy as np
import pytest
from counterfactual_parts import mixed, numbers
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from crda_spec.counterfactual.act import act
from crda_spec.counterfactual.perturbation import Perturbation, Sources, leverage, systematic
from crda_spec.seeds import stream

KINDS = ["every", "uniform", "leverage", "residual"]


@pytest.mark.parametrize("kind", KINDS)
@given(n=st.integers(1, 40), count=st.integers(0, 100), seed=st.integers(0, 1000))
def test_there_are_as_many_as_asked_for_and_all_are_rows(kind, n, count, seed):
    train = mixed(n, seed=seed % 3)
    noise = np.random.default_rng(seed).normal(size=n)
    source = Sources(kind=kind).draw(train, count, noise=noise, rng=stream(seed, "s"))
    assert source.dtype == np.int64
    assert len(source) == count
    assert ((source >= 0) & (source < n)).all()
    again = Sources(kind=kind).draw(train, count, noise=noise, rng=stream(seed, "s"))
    assert again.tobytes() == source.tobytes()


@given(
    weights=arrays(np.float64, st.integers(1, 30), elements=st.floats(0.001, 1.0)),
    count=st.integers(1, 200),
    seed=st.integers(0, 1000),
)
def test_systematic_draws_are_never_a_whole_draw_off(weights, count, seed):
    probability = weights / weights.sum()
    times = np.bincount(systematic(probability, count, rng=stream(seed, "s")), minlength=len(weights))
    assert (np.abs(times - count * probability) < 1 + 1e-6).all()


def test_systematic_draws_are_unbiased():
    probability = np.array([0.05, 0.15, 0.5, 0.3])
    times = sum(np.bincount(systematic(probability, 3, rng=stream(0, "s", k)), minlength=4) for k in range(4000))
    np.testing.assert_allclose(times / 4000, 3 * probability, atol=0.03)


@pytest.mark.parametrize("factor", [0.3, 1.25, 2.5])
def test_a_fraction_of_every_row_is_unbiased(factor):
    """Not the first rows twice: over many seeds each row comes as often as the factor says."""
    train = mixed(8)
    drawn = [
        np.bincount(act(train, ["free"], Perturbation(), factor=factor, seed=k, index=()).source, minlength=8)
        for k in range(400)
    ]
    np.testing.assert_allclose(np.mean(drawn, axis=0), round(factor * 8) / 8, atol=0.12)


def test_leverage_is_the_diagonal_of_the_hat_matrix():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(30, 3))
    x[:, 2] = x[:, 0] + x[:, 1]  # no further direction
    design = np.column_stack([np.ones(30), x[:, :2]])
    hat = design @ np.linalg.inv(design.T @ design) @ design.T
    np.testing.assert_allclose(leverage(numbers(x, x[:, 0])), np.diag(hat), rtol=1e-9)
    np.testing.assert_allclose(leverage(numbers(np.ones((4, 1)), np.zeros(4))), 0.25)


def test_weighted_draws_look_half_evenly_and_half_where_the_weight_is():
    x = np.concatenate([np.zeros(98), [1.0, -1.0]])[:, None]
    train = numbers(x, x[:, 0])
    times = np.bincount(Sources(kind="leverage").draw(train, 1000, noise=None, rng=stream(0, "s")), minlength=100)
    # Sum of the pulls 2: 0.01 each, and 0.5 more for the two that stand out.
    expected = 1000 * (0.5 / 100 + 0.5 * (0.01 + np.abs(x[:, 0]) * 0.5) / 2)
    assert (np.abs(times - expected) <= 1).all()
    noise = np.zeros(100)
    noise[7] = -3.0
    times = np.bincount(Sources(kind="residual").draw(train, 1000, noise=noise, rng=stream(0, "s")), minlength=100)
    assert times[7] == pytest.approx(505, abs=1)
    assert times[8] == 5
    flat = Sources(kind="residual").draw(train, 1000, noise=np.zeros(100), rng=stream(0, "s"))
    assert set(np.bincount(flat, minlength=100)) == {10}


def test_residuals_are_asked_for_by_name():
    with pytest.raises(ValueError, match=r"^sources by residual need the noise of the training rows$"):
        act(mixed(5), ["free"], Perturbation(sources=Sources(kind="residual")), factor=1.25, seed=0, index=())
    noise = np.array([0.0, 0.0, 0.0, 9.0, 0.0])
    action = act(
        mixed(5), ["free"], Perturbation(sources=Sources(kind="residual")), factor=4.0, seed=0, index=(), noise=noise
    )
    assert np.bincount(action.source, minlength=5)[3] >= 11
