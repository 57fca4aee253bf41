"""The named worlds: their tables, their graphs, and counterfactuals that are exact."""

from __future__ import annotations

import pickle
from typing import Any, get_args

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from crda_spec.data.sources.synthetic import WorldName
from crda_spec.data.worlds import WORLDS, World, WorldSample, check_hidden, declare
from crda_spec.errors import Complaint, SpecError

ROWS = 300
every_world = pytest.mark.parametrize("world", WORLDS.values(), ids=list(WORLDS))

# What the certificate of each world's graph must find: a feature is tied to the noise through these.
TIED = {
    "bidding_war": {"neighbourhood"},
    "house_listing": {"neighbourhood"},
    "clinical_recovery": {"dose"},
    "crop_yield": {"rain"},
    "home_energy": {"outside_temperature"},
    "paper_synthetic": set(),
}


def features_of(world: World, sample: WorldSample, rows: Any = slice(None)) -> dict[str, Any]:
    return {name: sample.values[name][rows] for name in world.features()}


def moved(world: World, sample: WorldSample, *, seed: int) -> dict[str, Any]:
    """All features of all rows, those that are not tied to the noise taken from other rows."""
    order = np.random.default_rng(seed).permutation(sample.rows)
    values = features_of(world, sample)
    return {name: column if name in TIED[world.name] else column[order] for name, column in values.items()}


def test_the_spec_and_the_worlds_know_the_same_names() -> None:
    assert tuple(WORLDS) == get_args(WorldName)


@every_world
def test_the_columns_are_the_variables_that_are_not_hidden(world: World) -> None:
    variables = [equation.name for equation in world.equations]
    assert (
        world.columns()
        == tuple(world.draw_columns(3, seed=0))
        == tuple(name for name in variables if name not in world.hidden)
    )
    assert {*world.features(), *world.hidden, world.target} == set(variables)
    assert set(world.units) <= set(variables)


@every_world
def test_columns_have_the_type_of_their_equation(world: World) -> None:
    columns = world.draw_columns(ROWS, seed=1)
    dtypes = {"continuous": np.float64, "integer": np.int64, "boolean": np.bool_, "category": object}
    for name, column in columns.items():
        equation = world.equation(name)
        assert column.dtype == dtypes[equation.type]
        assert column.shape == (ROWS,)
        if equation.type == "category":
            assert {type(label) for label in column} == {str}
            assert set(column) == set(equation.labels)
        else:
            assert np.isfinite(column).all()


@every_world
def test_edges_are_the_parents(world: World) -> None:
    arrows = [tuple(edge.split(" -> ")) for edge in world.edges()]
    assert arrows == [(parent, each.name) for each in world.equations for parent in each.parents]
    order = [equation.name for equation in world.equations]
    assert all(order.index(cause) < order.index(effect) for cause, effect in arrows)


@every_world
def test_the_features_tied_to_the_noise_are_as_documented(world: World) -> None:
    """Here the hidden parents of the target have no effect but the target or a feature, and few causes."""
    parents = {each.name: each.parents for each in world.equations}
    hidden_parents = set(parents[world.target]) & set(world.hidden)
    causes = {cause for name in hidden_parents for cause in parents[name]}
    effects = {name for name in world.features() if hidden_parents & set(parents[name])}
    assert (causes | effects | set(world.noise_parents())) - set(world.hidden) == TIED[world.name]
    assert 3 <= len(world.features()) <= 12


@every_world
@given(small=st.integers(1, 40), more=st.integers(0, 40), seed=st.integers(0, 2**32 - 1))
@settings(deadline=None, max_examples=20)
def test_the_first_rows_of_a_larger_sample_are_the_smaller_sample(
    world: World, small: int, more: int, seed: int
) -> None:
    less, full = world.draw(small, seed=seed), world.draw(small + more, seed=seed)
    for name, column in less.values.items():
        np.testing.assert_array_equal(column, full.values[name][:small])


@every_world
def test_seeds_differ_and_repeat(world: World) -> None:
    first, again, other = (world.draw(ROWS, seed=seed).y for seed in (1, 1, 2))
    np.testing.assert_array_equal(first, again)
    assert (first != other).all()


@every_world
def test_the_outcome_under_what_was_is_what_was_bit_for_bit(world: World) -> None:
    sample = world.draw(ROWS, seed=3)
    np.testing.assert_array_equal(sample.outcome({}), sample.y)
    np.testing.assert_array_equal(sample.outcome(features_of(world, sample)), sample.y)
    roots = {each.name: sample.values[each.name] for each in world.equations if not each.parents}
    np.testing.assert_array_equal(sample.outcome(roots), sample.y)
    rows = np.array([7, 7, 299, 0, 7])
    np.testing.assert_array_equal(sample.outcome(features_of(world, sample, rows), rows), sample.y[rows])


@every_world
def test_each_row_of_an_outcome_stands_alone(world: World) -> None:
    sample = world.draw(ROWS, seed=4)
    action = moved(world, sample, seed=0)
    whole = sample.outcome(action)
    for row in (0, 1, 150, 299):
        alone = sample.outcome({name: column[row] for name, column in action.items()}, [row])
        np.testing.assert_array_equal(alone, whole[[row]])


@every_world
def test_an_additive_worlds_effects_do_not_depend_on_the_noise(world: World) -> None:
    """The same action on the same features has the same effect, whatever the luck of the row.

    This is what certifies that y' = g(x') + z: the row's noise and hidden causes cancel in the difference.
    """
    one, other = world.draw(ROWS, seed=5), world.draw(ROWS, seed=6)
    factual, action = features_of(world, one), moved(world, one, seed=1)
    effect = one.outcome(action) - one.outcome(factual)
    elsewhere = other.outcome(action) - other.outcome(factual)
    assert np.abs(effect).mean() > 0.5 * one.y.std() / np.sqrt(len(world.features()))
    assert not np.allclose(one.outcome(factual), other.outcome(factual))
    np.testing.assert_allclose(effect, elsewhere, rtol=1e-9, atol=1e-9)


@every_world
def test_the_noise_kept_aside_is_the_targets_own_draw(world: World) -> None:
    sample = world.draw(4000, seed=8)
    (u,) = sample.exogenous[world.target]
    scale = {
        "bidding_war": 12,
        "house_listing": 12,
        "clinical_recovery": 2.5,
        "crop_yield": 0.25,
        "paper_synthetic": 0.5,
    }
    if world.name == "home_energy":
        sd = 1 + 1.5 * np.exp(-sample.values["outside_temperature"] / 8)
    else:
        sd = np.full(4000, scale[world.name])
    np.testing.assert_allclose(sample.noise, sd * stats.norm.ppf(u), atol=1e-9 * np.abs(sample.y).max())
    np.testing.assert_array_equal(sample.noise, sample.y - sample.systematic)


@every_world
def test_the_noise_is_small_enough_to_learn_and_large_enough_to_matter(world: World) -> None:
    """Given the features, the best possible R2 is what hidden causes and noise leave over."""
    sample = world.draw(4000, seed=9)
    held = features_of(world, sample)
    # Twins: rows with the same features and another fate, half of whose squared difference is the noise's variance.
    fate = world.draw(4000, seed=10)
    twin = fate.outcome(held)
    if world.name == "clinical_recovery":  # severity is known in part from the dose, which the twin's is not
        severity = stats.linregress(np.log(held["dose"]), sample.values["severity"])
        left = sample.values["severity"] - severity.intercept - severity.slope * np.log(held["dose"])
        share = (64 * left.var() + sample.noise.var()) / sample.y.var()
    else:
        share = ((sample.y - twin) ** 2).mean() / 2 / sample.y.var()
    assert 0.03 < share < 0.3


def test_a_hidden_confounder_stays_fixed_under_an_action_on_its_effect() -> None:
    sample = WORLDS["clinical_recovery"].draw(ROWS, seed=2)
    dose = sample.values["dose"]
    effect = sample.outcome({"dose": 2 * dose}) - sample.y
    np.testing.assert_allclose(effect, 25 * (np.exp(-dose / 40) - np.exp(-dose / 20)), atol=1e-9)
    sicker = sample.outcome({"severity": sample.values["severity"] + 1})
    new_dose = dose * np.exp(0.3)  # the doctor responds to severity, with the same exogenous choice
    expected = -8 + 25 * (np.exp(-dose / 40) - np.exp(-new_dose / 40))
    np.testing.assert_allclose(sicker - sample.y, expected, atol=1e-9)


def test_the_confounded_dose_looks_harmful_and_helps() -> None:
    sample = WORLDS["clinical_recovery"].draw(2000, seed=2)
    assert stats.pearsonr(sample.values["dose"], sample.y).statistic < -0.1
    assert (sample.outcome({"dose": sample.values["dose"] + 10}) > sample.y).all()


def test_descendants_respond_unless_they_are_held() -> None:
    sample = WORLDS["bidding_war"].draw(ROWS, seed=2)
    area = sample.values["area"] + 52
    free, held = sample.outcome({"area": area}), sample.outcome({"area": area, "rooms": sample.values["rooms"]})
    new_rooms = np.clip(
        np.round(sample.values["area"] / 26 + 0.7 * stats.norm.ppf(sample.exogenous["rooms"][0]) + 2), 1, 12
    )
    np.testing.assert_allclose(free - held, 9 * (new_rooms - sample.values["rooms"]), atol=1e-9)
    assert (free > held).any()


def test_the_paper_world_is_the_papers_equation() -> None:
    sample = WORLDS["paper_synthetic"].draw(ROWS, seed=0)
    x1, x2, x3 = (sample.values[name] for name in ("x1", "x2", "x3"))
    np.testing.assert_allclose(sample.y, x1**2 + x2 * x3 + sample.noise, atol=1e-12)
    np.testing.assert_allclose(
        sample.outcome({"x1": 0, "x2": 3}, [5, 5, 9]), 3 * x3[[5, 5, 9]] + sample.noise[[5, 5, 9]], atol=1e-12
    )


def test_a_sample_is_read_only_and_its_columns_are_not() -> None:
    world = WORLDS["paper_synthetic"]
    with pytest.raises(ValueError, match="read-only"):
        world.draw(3, seed=0).values["x1"][0] = 1.0
    world.draw_columns(3, seed=0)["x1"][0] = 1.0


@every_world
def test_a_world_crosses_a_process_boundary(world: World) -> None:
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(world)).draw(5, seed=1).y, world.draw(5, seed=1).y)  # noqa: S301


def test_a_world_of_ones_own() -> None:
    world = declare(
        name="own", equations={"u": "normal(0, 1)", "x": "normal(0, 1)", "y": "x + u"}, target="y", hidden=["u"]
    )
    assert world.edges() == ("x -> y", "u -> y")
    assert list(world.draw_columns(4, seed=1)) == ["x", "y"]
    np.testing.assert_array_equal(world.draw(4, seed=1).noise, np.zeros(4))


def test_all_that_is_wrong_with_a_world_is_said_at_once() -> None:
    with pytest.raises(SpecError) as caught:
        declare(name="own", equations={"x": "nomal(0, 1)", "y": "x > 0"}, target="z", hidden=["w"])
    assert str(caught.value).splitlines() == [
        (
            "dataset.source.equations.x: nomal (column 1) is no function of the equation language; "
            "did you mean 'normal'?"
        ),
        "dataset.source.hidden.0: 'w' is no variable of the equations; variables: x, y",
        "dataset.target: the target 'z' has no equation; variables: x, y",
        "3 problems",
    ]
    with pytest.raises(SpecError) as caught:
        declare(name="own", equations={"x": "normal(0, 1)", "y": "x > 0"}, target="y")
    assert str(caught.value) == (
        "dataset.target: the target 'y' is a boolean, and a regression needs a number; choose another target"
    )


def test_hidden_variables_are_checked() -> None:
    variables = ("severity", "dose", "recovery")
    assert check_hidden(variables, ("severity",), target="recovery") == ()
    assert check_hidden(variables, ("severty", "recovery"), target="recovery") == (
        Complaint(
            code="unknown-variable",
            path="dataset.source.hidden.0",
            what="'severty' is no variable of the equations",
            hint="did you mean 'severity'?",
        ),
        Complaint(
            code="hidden-target",
            path="dataset.source.hidden.1",
            what="'recovery' is the target and cannot be hidden",
            hint="take it out of hidden",
        ),
    )
    assert check_hidden(variables, ("dose", "severity"), target="recovery") == (
        Complaint(
            code="all-hidden",
            path="dataset.source.hidden",
            what="every variable but the target is hidden",
            hint="leave at least one in the table to predict from",
        ),
    )
