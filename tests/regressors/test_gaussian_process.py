"""Our Gaussian process against scikit-learn's kernels, the textbook's equations and finite differences."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import approx_fprime
from scipy.stats import multivariate_normal
from sklearn.gaussian_process.kernels import RBF, DotProduct, Matern, RationalQuadratic

from crda_spec.regressors import Design, GaussianProcess
from crda_spec.regressors import gaussian_process as module
from crda_spec.regressors.gaussian_process import (
    _BELIEF_WIDTH,
    SHAPES,
    Scales,
    _believed,
    likeliest,
    minus_log_evidence,
)

KERNELS = {
    "rational_quadratic": RationalQuadratic(length_scale=1.0, alpha=1.0),
    "matern": Matern(length_scale=1.0, nu=2.5),
    "rbf": RBF(length_scale=1.0),
}
UNEVEN = np.random.default_rng(1).uniform(0.5, 2.0, 60)
LOGS = np.array([0.2, -0.6, -1.2, 0.4, -0.3, 1.1])


def rows(n=60, seed=5):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 3))
    return x, truth(x) + 0.1 * rng.normal(size=n)


def truth(x):
    return np.sin(2.0 * x[:, 0]) + 0.5 * x[:, 1]  # the last feature does not matter


def design(x, y, weight=None):
    return Design(x=x, y=y, weight=weight, validation_x=None, validation_y=None)


def covariance(name, a, b, scales):
    """By scikit-learn's kernels."""
    smooth = KERNELS[name](a / scales.lengths, b / scales.lengths)
    return scales.smooth * smooth + scales.linear * DotProduct(sigma_0=0.0)(a, b)


@pytest.mark.parametrize("name", KERNELS)
def test_the_evidence_is_a_normal_density_and_beliefs(name):
    x, y = rows()
    scales = Scales.of(LOGS)
    total = covariance(name, x, x, scales) + scales.noise * np.eye(60)
    belief = (LOGS - _believed(3))[2:] / _BELIEF_WIDTH
    theirs = -multivariate_normal(cov=total).logpdf(y) - 30.0 * np.log(2.0 * np.pi)
    ours, _ = minus_log_evidence(LOGS, x, y, SHAPES[name])
    assert ours == pytest.approx(theirs + 0.5 * belief @ belief, rel=1e-9)


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("sample_weight", [None, UNEVEN], ids=["even", "weighted"])
def test_the_posterior_is_the_textbooks(name, sample_weight, monkeypatch):
    """Rasmussen and Williams 2006, equation 2.25."""
    x, y = rows()
    scales = Scales.of(LOGS)
    monkeypatch.setattr(module, "likeliest", lambda *_args, **_named: scales)
    ours = GaussianProcess(kernel=name).train(design(x, y, sample_weight), seed=0)
    assert ours.level == pytest.approx(0.0 if sample_weight is None else np.average(y, weights=sample_weight))
    y = y - ours.level
    fresh = rows(300, seed=9)[0]
    total = covariance(name, x, x, scales) + np.diag(
        scales.noise / (np.ones(60) if sample_weight is None else sample_weight)
    )
    theirs = covariance(name, fresh, x, scales) @ np.linalg.solve(total, y)
    np.testing.assert_allclose(ours.predict(fresh), ours.level + theirs, rtol=1e-6, atol=1e-8)


@given(
    st.sampled_from(sorted(SHAPES)),
    st.lists(st.floats(-1.5, 1.5), min_size=6, max_size=6),
    st.integers(0, 2**16),
)
def test_the_gradient_is_that_of_the_evidence(name, logs, seed):
    x, y = rows(20, seed=seed)
    at = np.array(logs)
    _, gradient = minus_log_evidence(at, x, y, SHAPES[name])
    step = approx_fprime(at, lambda a: minus_log_evidence(a, x, y, SHAPES[name])[0], 1e-6)
    np.testing.assert_allclose(gradient, step, atol=2e-3 * (1.0 + np.abs(step).max()))


@pytest.mark.parametrize("name", KERNELS)
def test_as_many_points_as_rows_give_the_exact_posterior(name):
    """The way of many rows, taken where the exact one can be taken too."""
    x, y = rows(80)
    weight = np.random.default_rng(3).uniform(0.5, 2.0, 80)
    scales = likeliest(x, y, SHAPES[name], steps=30)
    model = GaussianProcess(kernel=name, points=80)
    exact, at_points = model._exact(x, y, weight, scales), model._at_points(x, y, weight, scales)
    fresh = rows(50, seed=8)[0]
    one, two = (
        module.Process(name, scales.lengths, slopes, x / scales.lengths, heights).predict(fresh)
        for slopes, heights in (exact, at_points)
    )
    np.testing.assert_allclose(one, two, atol=1e-4)


def test_fewer_points_than_rows_lose_little_and_every_row_is_used():
    x, y = rows(1500)
    fresh = rows(500, seed=2)[0]

    def error(**settings):
        model = GaussianProcess(**settings).train(design(x, y), seed=0)
        assert len(model.points) == min(1500, settings["points"])
        return np.mean((model.predict(fresh) - truth(fresh)) ** 2)

    exact, few = error(points=1500), error(points=150)
    alone = GaussianProcess(points=150).train(design(x[:150], y[:150]), seed=0)
    assert few < 1.2 * exact + 1e-4
    assert few < 0.5 * np.mean((alone.predict(fresh) - truth(fresh)) ** 2)


def test_a_feature_that_does_not_matter_gets_a_long_scale():
    x, y = rows(150)
    lengths = GaussianProcess().train(design(x, y), seed=0).lengths
    assert lengths[2] > 10.0 * lengths[0]


def test_a_weight_of_zero_is_a_row_left_out_and_two_are_two_rows():
    x, y = rows(60)
    weight = np.tile([0.0, 1.0, 2.0], 20)
    scales = Scales.of(LOGS)
    model = GaussianProcess(points=90)
    kept = weight > 0
    fresh = rows(30, seed=4)[0]
    twice = np.repeat(np.flatnonzero(kept), weight[kept].astype(int))
    slopes, heights = model._exact(x[kept], y[kept], weight[kept], scales)
    one = module.Process("rational_quadratic", scales.lengths, slopes, x[kept] / scales.lengths, heights)
    slopes, heights = model._exact(x[twice], y[twice], np.ones(len(twice)), scales)
    two = module.Process("rational_quadratic", scales.lengths, slopes, x[twice] / scales.lengths, heights)
    np.testing.assert_allclose(one.predict(fresh), two.predict(fresh), atol=1e-6)
    trained = GaussianProcess().train(design(x, y, weight), seed=0)
    assert len(trained.points) == 40


@pytest.mark.parametrize("light", [1e-6, 1e-12, 1e-100])
def test_a_row_that_hardly_weighs_hardly_matters(light):
    x, y = rows(60)
    scales, model = Scales.of(LOGS), GaussianProcess()
    weight = np.where(np.arange(60) < 6, light, 1.0)
    fresh = rows(30, seed=4)[0]
    (slopes, heights), (dropped_slopes, dropped_heights) = (
        model._exact(x[kept], y[kept], weight[kept], scales) for kept in (slice(0, 60), slice(6, 60))
    )
    lengths = scales.lengths
    with_it = module.Process("rational_quadratic", lengths, slopes, x / lengths, heights).predict(fresh)
    without = module.Process("rational_quadratic", lengths, dropped_slopes, x[6:] / lengths, dropped_heights)
    np.testing.assert_allclose(with_it, without.predict(fresh), atol=1e-5)


@pytest.mark.parametrize("points", [100, 1000], ids=["at points", "exact"])
def test_uneven_weights_do_not_spoil_the_scales(points):
    """With weights in the evidence the noise would go to its bound here, and the error up."""
    x, y = rows(300)
    weight = np.random.default_rng(6).lognormal(0.0, 1.5, 300)
    fresh = rows(300, seed=4)[0]
    model = GaussianProcess(points=points).train(design(x, y, weight / weight.mean()), seed=0)
    assert np.mean((model.predict(fresh) - truth(fresh)) ** 2) < 0.03 * truth(fresh).var()


@pytest.mark.parametrize("name", KERNELS)
def test_far_away_it_is_a_line_and_never_undefined(name):
    x, y = rows(40)
    model = GaussianProcess(kernel=name).train(design(x, y), seed=0)
    with np.errstate(over="ignore"):
        far = model.predict(np.array([[1e160, 0.0, 0.0], [0.0, 1e9, 0.0]]))
    assert np.isfinite(far).all()
    assert far[1] == pytest.approx(1e9 * model.slopes[1], rel=1e-6)


def test_how_many_rows_are_predicted_at_once_does_not_matter(monkeypatch):
    x, y = rows(40)
    model = GaussianProcess().train(design(x, y), seed=0)
    fresh = rows(1000, seed=7)[0]
    whole = model.predict(fresh)
    monkeypatch.setattr(module, "_BLOCK", 7)
    np.testing.assert_allclose(model.predict(fresh), whole, atol=1e-10)


def test_a_matrix_that_cannot_be_factored_is_firmed_up():
    flat = np.ones((5, 5)) - 1e-9 * np.eye(5)  # indefinite by rounding
    lower = module._factor(flat)
    np.testing.assert_allclose(lower @ lower.T, flat, atol=1e-4)


def test_a_point_of_the_search_without_a_factor_is_hopeless_not_fatal():
    x = np.full((3, 2), 1e12)  # beside it the noise is lost in rounding
    density, gradient = minus_log_evidence(np.zeros(5), x, np.zeros(3), SHAPES["rbf"])
    assert density > 1e20
    assert not gradient.any()
