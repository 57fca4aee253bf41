"""The support guard: it notices gaps and broken ties, and leaves alone what is where the data are."""

import numpy as np
import pytest
from counterfactual_parts import GUARDS, mixed, numbers, table
from hypothesis import given, settings
from hypothesis import strategies as st

from crda_spec.counterfactual.act import TRIES, act
from crda_spec.counterfactual.perturbation import Perturbation
from crda_spec.counterfactual.policies import Conditional, Grid, Interpolate, Jitter, Resample
from crda_spec.counterfactual.support import NeighbourSupport, _leave_one_out
from crda_spec.records import Column

KINDS = ["neighbours", "mahalanobis"]
both = pytest.mark.parametrize("kind", KINDS)


def learn(train, kind="neighbours", **settings_):
    return GUARDS[kind](**settings_).learn(train, rows=len(train), seed=0, index=())


def collinear(n=300, *, noise=0.01, seed=0):
    """x2 = x1 + tiny noise, and two features of their own."""
    rng = np.random.default_rng(seed)
    a = rng.normal(size=n)
    x = np.column_stack([a, a + noise * rng.normal(size=n), rng.normal(size=(n, 2))])
    return numbers(x, a)


@both
@settings(max_examples=20)
@given(n=st.integers(1, 60), seed=st.integers(0, 1000), quantile=st.floats(0.5, 0.99))
def test_a_row_that_did_not_move_is_never_outside(kind, n, seed, quantile):
    train = mixed(n, seed=seed)
    support = learn(train, kind, quantile=quantile)
    source = np.random.default_rng(seed).integers(0, n, size=2 * n)
    assert not support.outside(train.x[source], source).any()


@both
def test_other_rows_of_the_same_kind_are_as_often_inside_as_the_quantile_says(kind):
    """New rows from the same world, the source any row: a little fewer are outside, as a source excuses its own."""
    rng = np.random.default_rng(0)

    def world(n):
        a = rng.normal(size=n)
        return np.column_stack([a, a + 0.1 * rng.normal(size=n), rng.exponential(size=n)])

    train = numbers(world(600), np.zeros(600))
    share = learn(train, kind, quantile=0.9).outside(world(4000), rng.integers(0, 600, size=4000)).mean()
    assert 0.05 < share < 0.12


@both
@pytest.mark.parametrize("noise", [0.0, 1e-6, 0.01, 0.05])
def test_one_of_a_collinear_pair_moved_alone_is_caught(kind, noise):
    train = collinear(noise=noise)
    action = act(train, ["a"], Perturbation(default=Jitter(sd=0.5)), factor=2.0, seed=0, index=())
    far = np.abs(action.x[:, 0] - train.x[action.source, 0]) > 0.25
    outside = learn(train, kind).outside(action.x, action.source)
    assert far.sum() > 300
    assert outside[far].mean() > 0.97


def test_plain_distance_alone_would_not_have_caught_it():
    """With few rows every row is far from its neighbours; only the tie tells."""
    train = collinear(60, noise=0.01)
    action = act(train, ["a"], Perturbation(default=Jitter(sd=0.3)), factor=4.0, seed=0, index=())
    support = learn(train)
    distance, tie = (support.measures.of(action.x, action.source) > support.limits).T
    assert distance.mean() < 0.15
    assert tie.mean() > 0.9


@both
@pytest.mark.parametrize("noise", [0.0, 0.01])
def test_interpolation_within_a_linear_manifold_is_left_alone(kind, noise):
    train = collinear(noise=noise)
    action = act(train, train.names, Perturbation(default=Interpolate()), factor=4.0, seed=0, index=())
    assert learn(train, kind).outside(action.x, action.source).mean() < 0.03


def test_what_stays_tied_is_left_alone_too():
    train = collinear(noise=0.01)
    drawn = act(train, ["a"], Perturbation(default=Conditional()), factor=4.0, seed=0, index=())
    assert learn(train).outside(drawn.x, drawn.source).mean() < 0.05
    moved_alone = act(train, ["a", "b"], Perturbation(default=Jitter(sd=0.3)), factor=1.25, seed=0, index=())
    as_one = act(
        train, ["a", "b"], Perturbation(default=Jitter(sd=0.3), together=(("a", "b"),)), factor=1.25, seed=0, index=()
    )
    assert learn(train).outside(moved_alone.x, moved_alone.source).mean() > 0.9
    assert learn(train).outside(as_one.x, as_one.source).mean() < 0.1


def test_a_curve_is_followed_by_neighbours_and_not_by_an_ellipse():
    rng = np.random.default_rng(0)
    angle = rng.uniform(0, 2 * np.pi, size=400)
    ring = numbers(np.column_stack([np.cos(angle), np.sin(angle)]), angle)
    middle, source = np.zeros((50, 2)), np.arange(50)
    assert learn(ring).outside(middle, source).all()
    assert not learn(ring, "mahalanobis").outside(middle, source).any()


def test_labels_that_never_meet_are_outside_and_rare_ones_are_not():
    columns = [
        Column(name="animal", type="category", labels=("cow", "hen", "fish")),
        Column(name="lays", type="boolean"),
        Column(name="age", type="continuous"),
    ]
    rng = np.random.default_rng(0)
    animal = np.where(np.arange(400) < 8, 2, np.arange(400) % 2)  # eight fish
    x = np.column_stack([animal, animal > 0, rng.normal(size=400)]).astype(float)
    train = table(x, np.zeros(400), columns)
    support, source = learn(train), np.arange(8, 108)
    cow_that_lays = np.column_stack([np.zeros(100), np.ones(100), x[source, 2]])
    assert support.outside(cow_that_lays, source).all()
    fish = np.column_stack([np.full(100, 2.0), np.ones(100), rng.choice(x[:8, 2], 100) + 0.01])
    assert not support.outside(fish, source).any()
    # An indicator that hardly varies is no tie among numbers.
    assert support.measures.of(fish, source)[:, 1].max() == 0.0


def test_a_constant_that_is_moved_is_off_the_data():
    rng = np.random.default_rng(0)
    train = numbers(np.column_stack([np.full(100, 5.0), rng.normal(size=100)]), np.zeros(100))
    perturbation = Perturbation(features={"a": Grid(values=(5.0, 6.0))}, support=NeighbourSupport())
    action = act(train, ["a"], perturbation, factor=2.0, seed=0, index=())
    assert set(action.x[:, 0]) == {5.0}
    assert action.dropped == 200 - len(action.x) > 50


def test_leaving_one_out_is_leaving_one_out():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(12, 3))
    spread = np.linalg.inv(np.cov(x.T))
    inside = np.einsum("ij,jk,ik->i", x - x.mean(axis=0), spread, x - x.mean(axis=0))
    expected = []
    for row in range(12):
        rest = np.delete(x, row, axis=0)
        away = x[row] - rest.mean(axis=0)
        expected.append(away @ np.linalg.inv(np.cov(rest.T)) @ away)
    np.testing.assert_allclose(_leave_one_out(inside, 12), expected)


def test_fewer_rows_than_directions_say_nothing_about_ties():
    rng = np.random.default_rng(0)
    train = numbers(rng.normal(size=(20, 15)), np.zeros(20))
    action = act(train, train.names, Perturbation(default=Jitter(sd=0.3)), factor=5.0, seed=0, index=())
    for kind in KINDS:
        assert learn(train, kind).outside(action.x, action.source).mean() < 0.3


@pytest.mark.parametrize("rows", [1, 2, 3])
@both
def test_a_handful_of_rows_is_no_error(kind, rows):
    train = collinear(rows)
    action = act(train, ["a"], Perturbation(support=GUARDS[kind]()), factor=3.0, seed=0, index=())
    assert len(action.x) + action.dropped == 3 * rows


@both
def test_rows_outside_are_dropped_and_counted(kind):
    train = collinear()
    perturbation = Perturbation(default=Jitter(sd=0.5))
    free = act(train, ["a"], perturbation, factor=2.0, seed=0, index=())
    outside = learn(train, kind).outside(free.x, free.source)
    kept = act(train, ["a"], Perturbation(default=Jitter(sd=0.5), support=GUARDS[kind]()), factor=2.0, seed=0, index=())
    assert (kept.dropped, kept.redrawn) == (int(outside.sum()), 0)
    assert kept.x.tobytes() == free.x[~outside].tobytes()
    assert kept.source.tobytes() == free.source[~outside].tobytes()


@both
def test_rows_outside_are_redrawn_until_they_are_inside_or_dropped(kind):
    train = collinear(noise=0.3)
    perturbation = Perturbation(default=Jitter(sd=0.5), support=GUARDS[kind](on_outside="redraw"))
    action = act(train, ["a"], perturbation, factor=2.0, seed=0, index=())
    first = act(train, ["a"], Perturbation(default=Jitter(sd=0.5)), factor=2.0, seed=0, index=())
    outside = learn(train, kind).outside(first.x, first.source)
    assert 0 <= action.dropped < 0.05 * 600
    assert len(action.x) + action.dropped == 600
    assert action.redrawn == pytest.approx(outside.sum() - action.dropped)
    assert not learn(train, kind).outside(action.x, action.source).any()
    assert act(train, ["a"], perturbation, factor=2.0, seed=0, index=()).x.tobytes() == action.x.tobytes()
    assert TRIES == 10


def test_all_rows_outside_leave_none():
    train = collinear(noise=0.0)
    perturbation = Perturbation(features={"a": Grid(values=(50.0,))}, support=NeighbourSupport(on_outside="redraw"))
    action = act(train, ["a"], perturbation, factor=1.25, seed=0, index=())
    assert action.x.shape == (0, 4)
    assert (action.dropped, action.redrawn, action.copied) == (375, 0, 0)


def test_a_large_number_of_new_rows_is_compared_with_a_sample(monkeypatch):
    monkeypatch.setattr("crda_spec.counterfactual.neighbours._DISTANCES", 0)
    monkeypatch.setattr("crda_spec.counterfactual.neighbours._LEAST_REFERENCE", 100)
    train = collinear(1000)
    action = act(train, ["c"], Perturbation(default=Resample()), factor=1.25, seed=0, index=())
    assert learn(train).outside(action.x, action.source).mean() < 0.08
    source = np.arange(1000)
    assert not learn(train).outside(train.x, source).any()
