"""What every policy does, and what each says of itself."""

import numpy as np
import pytest
from counterfactual_parts import mixed, numbers, table
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from crda_spec.counterfactual.act import plan_moves
from crda_spec.counterfactual.neighbours import Nearness
from crda_spec.counterfactual.perturbation import Perturbation
from crda_spec.counterfactual.policies import (
    POLICIES,
    Conditional,
    Flip,
    Grid,
    Interpolate,
    Jitter,
    Quantile,
    Resample,
    Rows,
    Scale,
    Shift,
    cell,
)
from crda_spec.records import Column
from crda_spec.seeds import stream

EVERY = (
    Scale(),
    Scale(reach=10.0, around="zero"),
    Scale(share="cell"),
    Scale(around="zero", share="cell"),
    Shift(),
    Shift(amount=3.0, measure="unit", draw="normal", share="row"),
    Jitter(),
    Jitter(sd=100.0),
    Quantile(),
    Quantile(reach=1.0, share="row"),
    Resample(),
    Resample(weights="uniform"),
    Resample(weights="neighbour", neighbours=3),
    Interpolate(),
    Interpolate(partner="near", reach=1.0),
    Interpolate(apart=0.5),
    Grid(values=(-1.5, 2, 7.0)),
    Conditional(),
    Conditional(neighbours=2, share="cell"),
)
SPREAD = tuple(policy for policy in EVERY if policy.needs_spread)

cells = st.floats(-1e9, 1e9) | st.just(float("nan"))
columns = arrays(np.float64, st.integers(1, 30), elements=cells)
every_policy = pytest.mark.parametrize("policy", EVERY, ids=repr)


def beside(x):
    """The column a, beside one that tells the rows apart."""
    return numbers(np.column_stack([x, np.arange(len(x))]), np.zeros(len(x)))


def propose(policy, train, seed=0, *, name="a", source=None):
    source = np.arange(len(train)) if source is None else source
    moves = plan_moves(train, [name], Perturbation(features={name: policy}))
    rows = Rows(source=source, nearness=Nearness(train, seed=seed, index=()), shared=stream(seed, "shared"))
    feature = moves[0].feature
    return policy.propose(feature.values[source], feature, rows, rng=stream(seed, "cell")).values


@every_policy
@settings(max_examples=25)
@given(x=columns, seed=st.integers(0, 2**32))
def test_it_is_pure_deterministic_finite_and_leaves_gaps_alone(policy, x, seed):
    train = beside(x)
    before = train.x.tobytes()
    one, two = propose(policy, train, seed), propose(policy, train, seed)
    assert one.tobytes() == two.tobytes()
    assert train.x.tobytes() == before
    assert one.shape == x.shape
    assert np.array_equal(np.isnan(one), np.isnan(x))
    assert not np.isinf(one).any()


@every_policy
def test_another_generator_gives_other_values(policy):
    train = beside(stream(0, "x").normal(size=40))
    assert propose(policy, train, 1).tobytes() != propose(policy, train, 2).tobytes()


@pytest.mark.parametrize("policy", SPREAD, ids=repr)
@pytest.mark.parametrize("value", [0.0, 0.1, -3e7])
def test_a_column_of_one_value_stays_that_value(policy, value):
    np.testing.assert_allclose(propose(policy, beside(np.full(9, value))), value, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(propose(policy, beside(np.array([value]))), value, rtol=1e-9)


@every_policy
def test_a_column_without_values_stays_without(policy):
    assert np.isnan(propose(policy, beside(np.full(5, np.nan)))).all()


@given(x=columns, reach=st.floats(0.01, 10), around=st.sampled_from(["mean", "zero"]))
def test_a_scaled_value_stays_within_its_reach(x, reach, around):
    known = x[~np.isnan(x)]
    centre = known.mean() if around == "mean" and len(known) else 0.0
    moved = propose(Scale(reach=reach, around=around, share="cell"), beside(x))
    limit = reach * np.abs(x - centre) * (1 + 1e-9) + 1e-6
    assert (np.isnan(x) | (np.abs(moved - x) <= limit)).all()


def test_a_shift_is_as_large_as_it_says_in_its_own_measure():
    x = stream(0, "x").normal(5.0, 3.0, size=20_000)
    train = beside(x)
    far = propose(Shift(amount=0.5), train) - x
    assert np.abs(far).max() == pytest.approx(0.5 * x.std(), rel=1e-3)
    assert far.std() == pytest.approx(0.5 * x.std() / np.sqrt(3), rel=0.02)
    far = propose(Shift(amount=0.5, measure="unit"), train) - x
    assert np.abs(far).max() == pytest.approx(0.5, rel=1e-3)
    far = propose(Shift(amount=2.0, measure="unit", draw="normal"), train) - x
    assert far.std() == pytest.approx(2.0, rel=0.02)
    assert np.abs(far).max() > 6.0


def test_jitter_is_as_wide_as_it_says():
    x = stream(0, "x").normal(5.0, 3.0, size=20_000)
    moved = propose(Jitter(sd=0.5), beside(x))
    assert (moved - x).std() == pytest.approx(0.5 * x.std(), rel=0.02)
    assert (moved - x).mean() == pytest.approx(0.0, abs=0.04)


@given(x=arrays(np.float64, st.integers(1, 40), elements=st.integers(-5, 5).map(float)), reach=st.floats(0.01, 1.0))
def test_a_quantile_move_stays_within_its_reach_of_rank_on_training_values(x, reach):
    moved = propose(Quantile(reach=reach), beside(x))
    assert set(moved) <= set(x)
    low, high = np.minimum(x, moved), np.maximum(x, moved)
    # What lies strictly between the two values has a smaller share of the rows than the reach.
    between = ((x[None, :] > low[:, None]) & (x[None, :] < high[:, None])).sum(axis=1) / len(x)
    assert (between <= reach + 1e-9).all()


@pytest.mark.parametrize("reach", [0.05, 0.4, 1.0])
@pytest.mark.parametrize("digits", [0, 6])
def test_quantile_moves_keep_the_distribution_exactly(reach, digits):
    """Uniform ranks plus a symmetric step, reflected at both ends, are uniform again; ties stand at random places."""
    x = np.round(stream(0, "x").exponential(2.0, size=400), digits)
    source = np.tile(np.arange(400), 250)
    moved = propose(Quantile(reach=reach), beside(x), source=source)
    values, counts = np.unique(x, return_counts=True)
    shares = np.array([(moved == value).mean() for value in values])
    expected = counts / len(x)
    assert np.abs(np.cumsum(shares) - np.cumsum(expected)).max() < 0.01


def test_the_quantiles_of_many_values_are_looked_up_the_same_way():
    """Above the size of the cache another path is taken to the same ranks."""
    x = np.round(stream(0, "x").normal(size=30_000), 3)
    source = np.arange(0, 30_000, 7)
    moved = propose(Quantile(reach=1e-9), beside(x), source=source)
    np.testing.assert_array_equal(moved, x[source])


def test_resampling_by_frequency_and_alike():
    train = beside(np.repeat([1.0, 2.0], [900, 100]))
    assert (propose(Resample(), train) == 2.0).mean() == pytest.approx(0.1, abs=0.03)
    assert (propose(Resample(weights="uniform"), train) == 2.0).mean() == pytest.approx(0.5, abs=0.05)


@given(x=columns, weights=st.sampled_from(["empirical", "uniform", "neighbour"]))
def test_a_resampled_value_is_one_that_a_training_row_has(x, weights):
    moved = propose(Resample(weights=weights), beside(x))
    assert set(moved[~np.isnan(moved)]) <= set(x[~np.isnan(x)])


def test_a_neighbours_value_comes_from_a_row_alike_in_the_other_features():
    rng = stream(0, "x")
    b = np.sort(rng.normal(size=300))
    train = numbers(np.column_stack([np.sin(3 * b), b]), b)
    moved = propose(Resample(weights="neighbour", neighbours=4), train)
    row = {value: at for at, value in enumerate(train.x[:, 0])}
    steps = np.array([abs(row[value] - at) for at, value in enumerate(moved)])
    assert steps.min() >= 1  # never its own row
    assert (steps[4:-4] <= 4).all()


def test_labels_alone_do_not_always_give_the_same_few_neighbours():
    """All rows of one label are alike: each gets random ones of them, not the first few of the search."""
    rng = stream(0, "x")
    columns_ = [Column(name="a", type="continuous"), Column(name="w", type="category", labels=("n", "s"))]
    ward = np.repeat([0.0, 1.0], 200)
    train = table(np.column_stack([rng.normal(size=400) + 9 * ward, ward]), np.zeros(400), columns_)
    moved = propose(Resample(weights="neighbour", neighbours=5), train)
    assert ((moved > 4.5) == (train.x[:, 0] > 4.5)).all()
    assert len(np.unique(moved)) > 150


def test_flip_turns_round_as_often_as_it_says():
    flags = [Column(name="a", type="boolean"), Column(name="b", type="continuous")]
    a = np.where(np.arange(4000) % 10 == 0, np.nan, np.arange(4000) % 2)
    train = table(np.column_stack([a, np.arange(4000)]), np.zeros(4000), flags)
    moved = propose(Flip(probability=0.3), train)
    known = ~np.isnan(a)
    assert np.array_equal(np.isnan(moved), ~known)
    assert (moved[known] != a[known]).mean() == pytest.approx(0.3, abs=0.03)
    assert set(moved[known]) == {0.0, 1.0}
    assert (propose(Flip(probability=1.0), train)[known] == 1.0 - a[known]).all()


@given(x=columns, reach=st.floats(0.01, 1.0), partner=st.sampled_from(["any", "near"]))
def test_an_interpolated_value_lies_between_training_values(x, reach, partner):
    moved = propose(Interpolate(reach=reach, partner=partner), beside(x))
    known = x[~np.isnan(x)]
    if len(known):
        slack = 1e-9 * (1 + np.abs(known).max())
        inside = moved[~np.isnan(moved)]
        assert ((inside >= known.min() - slack) & (inside <= known.max() + slack)).all()


def test_a_label_is_the_partners_as_often_as_the_mix_says():
    """Mix is uniform up to the reach, so a label changes hands with half of it."""
    columns_ = [Column(name="a", type="category", labels=("u", "v")), Column(name="b", type="continuous")]
    train = table(np.column_stack([np.arange(6000) % 2, np.arange(6000)]), np.zeros(6000), columns_)
    moved = propose(Interpolate(reach=0.8), train)
    # Half of the partners have the other label.
    assert (moved != train.x[:, 0]).mean() == pytest.approx(0.4 / 2, abs=0.02)


def test_a_grid_gives_each_of_its_values_as_often():
    train = beside(np.zeros(3000))
    moved = propose(Grid(values=(1, 2.5, -4)), train)
    values, counts = np.unique(moved, return_counts=True)
    assert values.tolist() == [-4.0, 1.0, 2.5]
    assert (np.abs(counts / 3000 - 1 / 3) < 0.04).all()
    columns_ = [Column(name="a", type="category", labels=("low", "mid", "high"))]
    wards = table(np.zeros((50, 1)), np.zeros(50), columns_)
    assert set(propose(Grid(values=("high", "mid")), wards)) == {1.0, 2.0}


@pytest.mark.parametrize(
    ("value", "column", "reason"),
    [
        ("wset", Column(name="w", type="category", labels=("west",)), "'wset' is no label of 'w'"),
        (1, Column(name="w", type="category", labels=("1",)), "1 is no label of 'w'"),
        (1, Column(name="f", type="boolean"), "1 is not true or false, but 'f' is a boolean"),
        (True, Column(name="n", type="integer"), "True is not a number, but 'n' holds numbers"),
        ("3", Column(name="n", type="integer"), "'3' is not a number, but 'n' holds numbers"),
        (2.5, Column(name="n", type="integer"), "2.5 is not whole, but 'n' holds whole numbers"),
        (-1, Column(name="n", type="integer", minimum=0.5), "-1 is below the minimum 0.5 of 'n'"),
        (9.5, Column(name="c", type="continuous", maximum=9.0), "9.5 is above the maximum 9 of 'c'"),
        (3, Column(name="n", type="integer", allowed=(1.0, 2.0)), "3 is not among the values that 'n' may have"),
    ],
)
def test_a_grid_value_that_the_column_cannot_hold(value, column, reason):
    with pytest.raises(ValueError) as error:  # noqa: PT011 - the whole message is asserted below
        cell(value, column)
    assert str(error.value) == reason


def tied(n, noise, *, bend=0.0):
    """B follows a, up to noise."""
    rng = stream(0, "tied")
    a = rng.normal(size=n)
    b = a + bend * a**2 + noise * rng.normal(size=n)
    return numbers(np.column_stack([a, b, rng.normal(size=n)]), a)


@pytest.mark.parametrize("noise", [1e-4, 0.01, 0.3])
def test_a_conditional_draw_keeps_a_tie_and_its_width(noise):
    """B is drawn anew given a, and its distance from a is as wide as among the training rows."""
    train = tied(600, noise)
    moved = propose(Conditional(), train, name="b", source=np.tile(np.arange(600), 5))
    a = np.tile(train.x[:, 0], 5)
    assert (moved - a).std() == pytest.approx(noise, rel=0.15)
    assert (moved != np.tile(train.x[:, 1], 5)).all()


def test_a_conditional_draw_follows_a_curve():
    train = tied(800, 0.02, bend=1.0)
    moved = propose(Conditional(), train, name="b")
    a = train.x[:, 0]
    assert np.median(np.abs(moved - a - a**2)) < 0.03


def test_a_feature_that_the_fixed_ones_determine_stays_where_it_is():
    rng = stream(0, "sum")
    x = rng.normal(size=(200, 3))
    x[:, 2] = x[:, 0] - 2 * x[:, 1]
    train = numbers(x, x[:, 0])
    np.testing.assert_allclose(propose(Conditional(), train, name="c"), x[:, 2], atol=1e-3)


def test_a_conditional_draw_has_the_conditional_spread_not_the_marginal_one():
    """Var(b | a) differs with a: the donor is near, so the spread is the local one."""
    rng = stream(0, "fan")
    a = rng.uniform(0.0, 1.0, size=3000)
    train = numbers(np.column_stack([a, a * rng.normal(size=3000)]), a)
    moved = propose(Conditional(), train, name="b")
    narrow, wide = moved[a < 0.1].std(), moved[a > 0.9].std()
    assert narrow < 0.09
    assert wide == pytest.approx(0.95, rel=0.15)


def test_with_nothing_fixed_any_row_is_a_donor():
    x = np.arange(50.0)[:, None]
    train = numbers(x, x[:, 0])
    moved = propose(Conditional(neighbours=1), train)
    assert set(moved) <= set(range(50))
    assert (moved != x[:, 0]).all()
    assert len(set(moved)) > 20


def test_more_rows_than_are_fitted_change_only_the_sample(monkeypatch):
    train = tied(300, 0.1)
    whole = propose(Conditional(), train, name="b")
    monkeypatch.setattr("crda_spec.counterfactual.policies.other_rows._FITTED_ROWS", 200)
    sampled = propose(Conditional(), train, name="b")
    assert sampled.tobytes() != whole.tobytes()
    np.testing.assert_allclose(sampled, whole, atol=0.1)
    assert propose(Conditional(), train, name="b").tobytes() == sampled.tobytes()


def test_every_type_can_be_moved_by_what_says_so():
    """Labels stay labels that the rows show, and numbers stay finite."""
    train = mixed(60)
    for column in train.features:
        for policy in (*EVERY, Flip()):
            if column.type in policy.moves and policy.kind != "grid":
                moved = propose(policy, train, name=column.name)
                if not column.is_numeric:
                    (position,) = train.positions([column.name])
                    assert set(moved[~np.isnan(moved)]) <= set(train.x[:, position])


def test_what_they_say():
    given_fixed = "drawn given the fixed features: their fitted mean plus the deviation of one of the"
    dose = Column(name="dose", type="continuous", unit="mg")
    assert [policy.describe(dose) for policy in (*EVERY, Flip(probability=0.25))] == [
        "its distance from the mean scaled by up to 70 % either way, one factor for all scaled features of a row",
        "the value scaled by up to 1000 % either way, one factor for all scaled features of a row",
        "its distance from the mean scaled by up to 70 % either way, a factor for each cell",
        "the value scaled by up to 70 % either way, a factor for each cell",
        "shifted by up to 0.5 standard deviations either way",
        "shifted by a normal amount of size 3 mg, one draw for all shifted features of a row",
        "Gaussian noise of 0.3 standard deviations added",
        "Gaussian noise of 100 standard deviations added",
        "moved by up to 20 % of the rows along its own distribution",
        "moved by up to 100 % of the rows along its own distribution, one shift for all features of a row moved so",
        "redrawn from its own column, each value as often as it occurs",
        "redrawn from its own column, every value alike",
        "replaced by the value of one of the 3 rows most alike in all other features",
        "moved up to 50 % of the way to any other row",
        "moved up to 100 % of the way to one of the 10 rows most alike",
        "moved up to 50 % of the way to any other row; in 50 % of the rows redrawn from its own column",
        "set to one of -1.5, 2, 7.0 mg",
        f"{given_fixed} 10 rows most alike in the fixed features, one for all such features",
        f"{given_fixed} 2 rows most alike in the fixed features",
        "turned round with probability 0.25",
    ]
    ward = Column(name="ward", type="category", labels=("n", "s"))
    assert Conditional().describe(ward) == (
        "taken from one of the 10 rows most alike in the fixed features, one for all such features"
    )
    assert Interpolate().describe(ward) == "taken from any other row with a probability of up to 50 %"
    assert Shift(measure="unit").describe(ward) == "shifted by up to 0.5 in its own unit either way"
    assert Grid(values=tuple(range(9))).describe(ward) == "set to one of 0, 1, 2, 3, 4, 5 and 3 more"


def test_the_list_of_the_family():
    anything = ["boolean", "category", "continuous", "integer"]
    assert {kind: sorted(member.moves) for kind, member in POLICIES.items()} == {
        "conditional": anything,
        "flip": ["boolean"],
        "grid": anything,
        "interpolate": anything,
        "jitter": ["continuous", "integer"],
        "quantile": ["continuous", "integer"],
        "resample": anything,
        "scale": ["continuous", "integer"],
        "shift": ["continuous", "integer"],
    }
