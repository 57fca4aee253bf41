"""The joint check: its level, its power, and the satellite pitfall that it is for."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from crda_spec.discovery.skeleton import neighbours
from crda_spec.independence import JointCheck, JointResult, Pearson, correlation_matrix
from crda_spec.independence.joint import PENALTIES, Ridge
from crda_spec.seeds import stream

NOTHING = np.empty


def world(kind: str, n: int, *, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Four features that may move, three that are kept, and a residual that the kept ones bend and spread."""
    x = rng.normal(size=(n, 7))
    if kind == "collinear":
        x = rng.normal(size=(n, 1)) + 0.4 * x
    moving, kept = x[:, :4], x[:, 4:]
    z = 0.4 * kept[:, 0] ** 2 + np.exp(0.3 * kept[:, 1]) * rng.normal(size=n)
    added = {
        "linear": 0.5 * moving[:, 0],
        "all-a-little": 0.25 * moving.sum(axis=1),
        "square": 0.4 * moving[:, 0] ** 2,
        "product": 0.5 * moving[:, 0] * moving[:, 1],
        "with-kept": 0.5 * moving[:, 0] * kept[:, 2],
    }.get(kind, 0.0)
    if kind == "spread":
        z = z * np.exp(0.6 * moving[:, 0])
    if kind == "heavy":
        z = z + rng.standard_t(1.5, size=n)
    return moving, kept, z + added


def rate(kind: str, n: int, draws: int) -> float:
    found = []
    for draw in range(draws):
        rng = stream(21, f"joint-{kind}", n, draw)
        found.append(JointCheck()(*world(kind, n, rng=rng), rng=rng).joint_p_value <= 0.05)
    return float(np.mean(found))


@pytest.mark.parametrize("kind", ["none", "collinear", "heavy"])
def test_the_level_holds(kind):
    draws = 80
    assert rate(kind, 300, draws) * draws <= stats.binom.ppf(0.999, draws, 0.05)


@pytest.mark.parametrize("kind", ["linear", "all-a-little", "square", "product", "with-kept", "spread"])
def test_what_the_moving_features_add_is_seen(kind):
    assert rate(kind, 300, 12) >= 0.8


def test_what_the_kept_features_say_already_is_no_evidence():
    """A noisy copy of a kept feature adds nothing, though it alone predicts the residual well."""
    rng = stream(22, "copy")
    kept = rng.normal(size=(500, 1))
    moving = kept + 0.5 * rng.normal(size=(500, 1))
    z = kept[:, 0] + rng.normal(size=500)
    assert JointCheck()(moving, kept, z, rng=stream(0, "joint")).joint_p_value > 0.05
    assert JointCheck()(moving, NOTHING((500, 0)), z, rng=stream(0, "joint")).joint_p_value < 1e-12


def test_gains_are_shares_of_the_error():
    rng = stream(23, "gain")
    moving = rng.normal(size=(2000, 1))
    z = moving[:, 0] + rng.normal(size=2000)
    result = JointCheck()(moving, NOTHING((2000, 0)), z, rng=stream(0, "joint"))
    assert result.gain == pytest.approx(0.5, abs=0.05)
    assert (result.rows, result.folds) == (2000, 5)


def test_it_is_a_pure_function_that_does_not_care_for_units():
    moving, kept, z = world("linear", 200, rng=stream(24, "units"))
    first = JointCheck()(moving, kept, z, rng=stream(0, "joint"))
    assert first == JointCheck()(moving, kept, z, rng=stream(0, "joint"))
    other = JointCheck()(moving[:, ::-1] * 1e6 - 3.0, kept * 1e-6, z * 100.0 + 7.0, rng=stream(0, "joint"))
    assert other.gain == pytest.approx(first.gain, rel=1e-6)
    assert other.joint_p_value == pytest.approx(first.joint_p_value, rel=1e-4)


def test_gaps_constants_and_unknown_residuals_are_no_trouble():
    moving, kept, z = world("linear", 300, rng=stream(25, "gaps"))
    moving[::7, 0], kept[::5, 1], z[:20] = np.nan, np.inf, np.nan
    moving[:, 3], kept[:, 2] = 4.0, np.nan
    result = JointCheck()(moving, kept, z, rng=stream(0, "joint"))
    assert result.rows == 280
    assert result.joint_p_value < 0.001


@pytest.mark.parametrize(
    ("moving", "z"),
    [
        pytest.param(np.arange(15.0)[:, None], np.arange(15.0), id="few-rows"),
        pytest.param(np.arange(50.0)[:, None], np.full(50, 3.0), id="constant-residual"),
        pytest.param(np.arange(50.0)[:, None], np.full(50, np.nan), id="no-residual"),
    ],
)
def test_what_cannot_be_tested_has_shown_nothing(moving, z):
    result = JointCheck()(moving, NOTHING((len(z), 0)), z, rng=stream(0, "joint"))
    rows = int(np.isfinite(z).sum())
    assert result == JointResult(gain=0.0, p_value=1.0, size_gain=0.0, size_p_value=1.0, rows=rows, folds=0)


def test_features_without_a_column_or_without_variation_add_nothing():
    z = stream(26, "empty").normal(size=50)
    for moving in (NOTHING((50, 0)), np.ones((50, 2))):
        result = JointCheck()(moving, NOTHING((50, 0)), z, rng=stream(0, "joint"))
        assert (result.gain, result.size_gain) == pytest.approx((0.0, 0.0), abs=1e-12)
        assert result.joint_p_value > 0.05


def test_more_columns_than_rows_is_an_answer():
    rng = stream(27, "wide")
    result = JointCheck()(rng.normal(size=(40, 60)), rng.normal(size=(40, 30)), rng.normal(size=40), rng=rng)
    assert 0.05 < result.joint_p_value <= 1.0


@pytest.mark.parametrize(("n", "q"), [(40, 5), (40, 90)], ids=["tall", "wide"])
def test_the_ridge_is_a_ridge_whatever_its_shape(n, q):
    """Some penalty of the definition's gives its predictions, in the rows that it was fitted on and in others."""
    rng = stream(29, "ridge", q)
    x, new = rng.normal(size=(n, q)), rng.normal(size=(7, q))
    y = x[:, :1] + rng.normal(size=(n, 1))
    fitted, predicted = Ridge.of(x).predict(y, new)
    unit, other = (x - x.mean(axis=0)) / x.std(axis=0), (new - x.mean(axis=0)) / x.std(axis=0)
    ways = [np.linalg.solve(unit.T @ unit + penalty * np.eye(q), unit.T @ (y - y.mean())) for penalty in PENALTIES]
    nearest = min(ways, key=lambda way: np.abs(y.mean() + unit @ way - fitted).max())
    assert y.mean() + unit @ nearest == pytest.approx(fitted, abs=1e-6)
    assert y.mean() + other @ nearest == pytest.approx(predicted, abs=1e-6)


def satellite_like(n: int, *, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Nine neighbouring pixels in four bands: 36 noisy views of four numbers, which make the target."""
    ground = rng.normal(size=(n, 4)) + rng.normal(size=(n, 1))
    x = np.concatenate([ground + 0.5 * rng.normal(size=(n, 4)) for _ in range(9)], axis=1)
    return x, ground @ [1.0, -0.8, 0.6, 0.9] + 0.5 * rng.normal(size=n)


def tables() -> list:
    """Each with the most links that PC should find: few enough to show the pitfall.

    Causal-learn and pgmpy find the same links (`test_discovery_oracles`), so a larger bound for the stand-in, whose
    views are less alike than the real ones, hides nothing of ours.
    """
    found = [pytest.param(satellite_like(1000, rng=stream(28, "satellite")), 12, id="stand-in")]
    file = Path(os.environ.get("CRDA_DATA_DIR", "")) / "294_satellite_image.csv"
    absent = pytest.mark.skipif(not file.is_file(), reason="CRDA_DATA_DIR names no folder with the satellite table")
    data = np.loadtxt(file, delimiter=",", skiprows=1) if file.is_file() else np.empty((0, 37))
    return [*found, pytest.param((data[::2, :-1], data[::2, -1]), 4, id="satellite", marks=absent)]


@pytest.mark.parametrize("seen", [0, 16, 33])
@pytest.mark.parametrize(("table", "most_links"), tables())
def test_a_regressor_that_sees_one_feature_leaves_no_36_safe_ones(table, most_links, seen):
    """PC links the residual to few features, Pearson to most; what both let pass, the joint check does not."""
    x, y = table
    z = y - np.polyval(np.polyfit(x[:, seen], y, 3), x[:, seen])
    matrix, n = correlation_matrix(np.column_stack([x, z]))
    linked = neighbours(matrix, n, 36, alpha=0.05).linked
    assert len(linked) <= most_links
    assert JointCheck()(x, NOTHING((len(z), 0)), z, rng=stream(0, "joint")).joint_p_value < 1e-20
    screen = Pearson()(x, z)
    passed = (np.abs(screen.statistic) < 0.1) & (screen.p_value > 0.05)
    passed[list(linked)] = False
    assert passed.sum() <= 12
    left = JointCheck()(x[:, passed], x[:, ~passed], z, rng=stream(0, "joint"))
    assert not passed.any() or left.joint_p_value < 1e-6
