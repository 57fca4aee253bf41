"""What an action keeps, whatever the policies: other features, contracts, ties, and every draw its own."""

import numpy as np
import pytest
from counterfactual_parts import GUARDS, MIXED, mixed, numbers, table
from hypothesis import given, settings
from hypothesis import strategies as st

from crda_spec.counterfactual.act import TRIES, act
from crda_spec.counterfactual.perturbation import Perturbation
from crda_spec.counterfactual.policies import (
    Conditional,
    Flip,
    Grid,
    Interpolate,
    Jitter,
    Quantile,
    Resample,
    Scale,
    Shift,
)
from crda_spec.counterfactual.support import NeighbourSupport, NoSupport
from crda_spec.errors import DataError
from crda_spec.records import NOBODY, Column
from crda_spec.report.words.causal import why_sentence

MOVED = tuple(column.name for column in MIXED if column.name != "kept")
POLICIES = (
    Scale(reach=3.0),
    Shift(amount=2.0, share="row"),
    Shift(amount=5.0, measure="unit", draw="normal"),
    Jitter(sd=2.0),
    Quantile(reach=0.5),
    Quantile(share="row"),
    Resample(),
    Resample(weights="uniform"),
    Resample(weights="neighbour", neighbours=3),
    Interpolate(),
    Interpolate(partner="near", neighbours=4, reach=1.0),
    Interpolate(apart=0.5),
    Conditional(),
    Conditional(share="cell"),
)
OWN = {
    "smoker": Flip(probability=0.4),
    "ward": Grid(values=("west", "north")),
    "size": Grid(values=(1, 5)),
    "count": Quantile(),
}


@pytest.mark.parametrize("default", POLICIES, ids=repr)
@settings(max_examples=15)
@given(
    seed=st.integers(0, 2**32),
    per_row=st.none() | st.just(1),
    on_violation=st.sampled_from(["clip", "redraw"]),
    own=st.booleans(),
    support=st.none() | st.sampled_from(["neighbours", "mahalanobis"]),
)
def test_what_is_kept_stays_bit_for_bit_and_what_moves_keeps_its_contract(
    default, seed, per_row, on_violation, own, support
):
    train = mixed(30, seed=seed % 7)
    before = train.x.tobytes()
    perturbation = Perturbation(
        default=default,
        features=OWN if own else {},
        features_per_row=per_row or "all",
        on_violation=on_violation,
        support=NoSupport() if support is None else GUARDS[support](quantile=0.8, on_outside="redraw"),
    )
    action = act(train, MOVED, perturbation, factor=2.5, seed=seed, index=(1,))
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
    changed = (action.x != source) & ~np.isnan(source)
    assert action.copied == np.count_nonzero(~changed.any(axis=1))
    if per_row == 1:
        assert changed.sum(axis=1).max(initial=0) <= 1
    assert len(action.x) + action.dropped == 75
    again = act(train, MOVED, perturbation, factor=2.5, seed=seed, index=(1,))
    assert again.x.tobytes() == action.x.tobytes()


@pytest.mark.parametrize("default", POLICIES, ids=repr)
@settings(max_examples=10)
@given(seed=st.integers(0, 2**32), per_row=st.none() | st.just(1), share=st.floats(0.01, 0.99))
def test_a_share_of_the_rows_stays_where_its_source_is(default, seed, per_row, share):
    train = mixed(30, seed=seed % 7)
    perturbation = Perturbation(
        default=default,
        features_per_row=per_row or "all",
        copy_fraction=share,
        support=NeighbourSupport(on_outside="drop"),
    )
    action = act(train, MOVED, perturbation, factor=2.5, seed=seed, index=(1,))
    assert action.copied >= int(75 * share)  # also behind the guard, which never drops such a row
    moving = act(
        train,
        MOVED,
        perturbation.model_copy(update={"copy_fraction": 0.0, "support": NoSupport()}),
        factor=2.5,
        seed=seed,
        index=(1,),
    )
    resting = act(
        train, MOVED, perturbation.model_copy(update={"support": NoSupport()}), factor=2.5, seed=seed, index=(1,)
    )
    source = train.x[moving.source]
    same = [(np.array_equal(a, b, equal_nan=True)) for a, b in zip(resting.x, moving.x, strict=True)]
    still = [(np.array_equal(a, b, equal_nan=True)) for a, b in zip(resting.x, source, strict=True)]
    assert all(one or other for one, other in zip(same, still, strict=True))  # a row that moves does so as before


def test_the_share_of_rows_that_rest_is_right_on_average_and_favours_no_row():
    train, times = mixed(7, missing=0.0), np.zeros(7)
    for seed in range(400):
        action = act(
            train,
            ("free",),
            Perturbation(default=Shift(amount=1.0), copy_fraction=0.25),
            factor=1,
            seed=seed,
            index=(0,),
        )
        times += action.x[:, 0] == train.x[action.source, 0]
    assert abs(times.sum() / 2800 - 0.25) < 0.01
    assert np.abs(times / 400 - 0.25).max() < 0.1


@pytest.mark.parametrize("default", POLICIES, ids=repr)
def test_the_order_of_the_features_changes_no_byte(default):
    train = mixed(60)
    together = (("free", "bounded"), ("ward", "smoker"))
    for per_row, sets in ((None, ()), (2, together), (1, together)):
        if per_row == 2 and default.kind == "conditional":
            continue  # which the spec refuses
        one = Perturbation(
            default=default, features=OWN if not sets else {}, features_per_row=per_row or "all", together=sets
        )
        backwards = tuple(names[::-1] for names in sets[::-1])
        two = Perturbation(
            default=default,
            features=dict(reversed((OWN if not sets else {}).items())),
            features_per_row=per_row or "all",
            together=backwards,
        )
        first = act(train, MOVED, one, factor=1.25, seed=5, index=(2,))
        second = act(train, MOVED[::-1], two, factor=1.25, seed=5, index=(2,))
        assert first.x.tobytes() == second.x.tobytes()
        assert list(first.policies.items()) == list(second.policies.items())
        assert list(first.clipped.items()) == list(second.clipped.items())


@pytest.mark.parametrize("default", [p for p in POLICIES if p.kind != "conditional"], ids=repr)
def test_moving_one_feature_more_changes_no_other_draw(default):
    """But for conditional draws, which are given what stays fixed."""
    train = mixed(50)
    one = act(train, ["free"], Perturbation(default=default), factor=1.25, seed=3, index=(0,))
    two = act(train, ["count", "ward", "free"], Perturbation(default=default), factor=1.25, seed=3, index=(0,))
    assert one.x[:, 0].tobytes() == two.x[:, 0].tobytes()
    other = act(train, ["free"], Perturbation(default=default), factor=1.25, seed=3, index=(1,))
    assert one.x[:, 0].tobytes() != other.x[:, 0].tobytes()


def plane(n=200, seed=0):
    """c = a - 2 b, exactly; d stands alone."""
    rng = np.random.default_rng(seed)
    a, b, d = rng.normal(size=(3, n)) * np.array([[1.0], [5.0], [1.0]])
    return numbers(np.column_stack([a, b, a - 2 * b, d]), a)


@pytest.mark.parametrize("partner", ["any", "near"])
def test_interpolation_keeps_every_linear_tie(partner):
    train = plane()
    action = act(
        train, ["a", "b", "c"], Perturbation(default=Interpolate(partner=partner)), factor=3.0, seed=0, index=()
    )
    a, b, c, d = action.x.T
    np.testing.assert_allclose(c, a - 2 * b, atol=1e-12)
    assert d.tobytes() == train.x[action.source, 3].tobytes()
    assert action.copied == 0
    # Each row lies between its source and its partner, at one place for all features.
    start, end = train.x[action.source][:, :3], train.x[action.partner][:, :3]
    mix = (action.x[:, :3] - start) / (end - start)
    np.testing.assert_allclose(mix, mix[:, [0]] * np.ones(3), atol=1e-6)
    assert mix.min() >= 0
    assert mix.max() <= 0.5 + 1e-9


def test_rows_apart_take_each_value_from_a_row_of_its_own_and_have_no_partner():
    train = plane(200)
    action = act(train, ["a", "b", "c"], Perturbation(default=Interpolate(apart=0.4)), factor=20.0, seed=0, index=())
    a, b, c, d = action.x.T
    apart = action.partner == NOBODY
    assert apart.mean() == pytest.approx(0.4, abs=0.03)
    np.testing.assert_allclose(c[~apart], (a - 2 * b)[~apart], atol=1e-12)
    assert np.abs(c - a + 2 * b)[apart].mean() > 5.0
    assert d.tobytes() == train.x[action.source, 3].tobytes()
    for position in range(3):  # values that occur, each as often as it does, and not tied to those of other features
        values, counts = np.unique(action.x[apart, position], return_counts=True)
        assert set(values) <= set(train.x[:, position])
        assert counts.max() < 5 * counts.mean()
    assert np.abs(np.corrcoef(action.x[apart, :3].T)[0, 1]) < 0.1


def test_conditional_draws_of_a_row_share_their_donor_so_ties_among_them_stay():
    """c - a + 2 b is 0 in every row, and the fitted means are nearly linear in d: one donor keeps it near 0."""
    train = plane()
    one = act(train, ["a", "b", "c"], Perturbation(default=Conditional()), factor=1.25, seed=0, index=())
    own = act(train, ["a", "b", "c"], Perturbation(default=Conditional(share="cell")), factor=1.25, seed=0, index=())

    def broken(action):
        a, b, c, _ = action.x.T
        return np.abs(c - a + 2 * b).mean()

    assert broken(one) < 0.02
    assert broken(own) > 1.0
    assert own.partner is None
    assert (one.partner != one.source).all()


def test_the_partner_of_each_row_is_named_or_nobody():
    train = plane()
    policies = {"a": Interpolate(), "b": Conditional(), "d": Jitter()}
    action = act(
        train, ["a", "b", "d"], Perturbation(features=policies, features_per_row=1), factor=1.25, seed=0, index=()
    )
    only_d = (action.x[:, :2] == train.x[action.source][:, :2]).all(axis=1)
    assert 40 < only_d.sum() < 130
    assert (action.partner[only_d] == NOBODY).all()
    assert (action.partner[~only_d] != action.source[~only_d]).all()
    assert act(train, ["d"], Perturbation(default=Jitter()), factor=1.25, seed=0, index=()).partner is None
    guarded = act(
        train,
        ["a"],
        Perturbation(default=Interpolate(), support=NeighbourSupport(quantile=0.6)),
        factor=1.25,
        seed=0,
        index=(),
    )
    assert guarded.dropped > 0
    assert len(guarded.partner) == len(guarded.x)


TOGETHER = {
    "scale": Scale(share="cell"),
    "shift": Shift(),
    "jitter": Jitter(),
    "quantile": Quantile(),
    "resample": Resample(),
    "uniform": Resample(weights="uniform"),
    "neighbour": Resample(weights="neighbour"),
    "interpolate": Interpolate(partner="near"),
    "conditional": Conditional(share="cell"),
}


@pytest.mark.parametrize("default", TOGETHER.values(), ids=TOGETHER)
def test_features_that_move_together_keep_their_tie(default):
    """Fahrenheit follows Celsius through every policy, and does not when each moves alone."""
    rng = np.random.default_rng(0)
    celsius = np.round(rng.normal(15.0, 8.0, size=150), 1)
    train = numbers(np.column_stack([celsius, 32 + 1.8 * celsius, rng.normal(size=150)]), celsius)
    as_one = act(
        train, ["a", "b"], Perturbation(default=default, together=(("b", "a"),)), factor=1.25, seed=0, index=()
    )
    np.testing.assert_allclose(as_one.x[:, 1], 32 + 1.8 * as_one.x[:, 0], atol=1e-3)
    assert as_one.copied < 20
    alone = act(train, ["a", "b"], Perturbation(default=default), factor=1.25, seed=0, index=())
    if default.kind != "interpolate":  # one partner and one mix for all of a row
        assert np.abs(alone.x[:, 1] - 32 - 1.8 * alone.x[:, 0]).max() > 0.3


def test_labels_that_move_together_flip_as_one_and_take_the_same_place_of_a_grid():
    columns = [Column(name="a", type="boolean"), Column(name="b", type="boolean"), Column(name="c", type="integer")]
    x = np.array([[0, 1, 1], [1, 0, 2]] * 100, dtype=float)
    train = table(x, np.zeros(200), columns)
    for policies in ({"a": Flip(), "b": Flip()}, {"a": Interpolate(), "b": Interpolate()}):
        action = act(
            train, ["a", "b"], Perturbation(features=policies, together=(("a", "b"),)), factor=1.25, seed=0, index=()
        )
        assert (action.x[:, 0] == 1.0 - action.x[:, 1]).all()
        alone = act(train, ["a", "b"], Perturbation(features=policies), factor=1.25, seed=0, index=())
        assert (alone.x[:, 0] != 1.0 - alone.x[:, 1]).any()
    grids = {"a": Grid(values=(True, False, True)), "c": Grid(values=(10, 20, 30))}
    action = act(train, ["a", "c"], Perturbation(features=grids, together=(("a", "c"),)), factor=1.25, seed=0, index=())
    assert set(map(tuple, action.x[:, [0, 2]])) == {(1.0, 10.0), (0.0, 20.0), (1.0, 30.0)}


def test_a_gap_in_one_of_a_set_does_not_break_the_others_row():
    """Values that move together come from rows that know them all; when no row does, each from its own."""
    x = np.array([[1.0, 10.0], [2.0, 20.0], [3.0, np.nan], [np.nan, 40.0]])
    train = numbers(x, np.zeros(4))
    perturbation = Perturbation(default=Resample(), together=(("a", "b"),))
    action = act(train, ["a", "b"], perturbation, factor=30.0, seed=0, index=())
    pairs = {(a, b) for a, b in action.x if not np.isnan(a + b)}
    assert pairs == {(1.0, 10.0), (2.0, 20.0)}
    apart = numbers([[1.0, np.nan], [2.0, np.nan], [np.nan, 3.0]], np.zeros(3))
    action = act(apart, ["a", "b"], perturbation, factor=30.0, seed=0, index=())
    assert set(action.x[:, 0][~np.isnan(action.x[:, 0])]) == {1.0, 2.0}


def test_a_set_moves_whole_or_not_at_all():
    train = plane()
    perturbation = Perturbation(default=Jitter(), together=(("a", "b", "c"),))
    action = act(train, ["d", "a", "b"], perturbation, factor=1.25, seed=0, index=())
    assert action.moved == ("d",)
    assert perturbation.movable(["d", "a", "b"]) == ("d",)
    assert perturbation.movable(["c", "a", "b"]) == ("c", "a", "b")
    assert action.x[:, :3].tobytes() == train.x[action.source, :3].tobytes()
    assert action.policies == {"d": "Gaussian noise of 0.3 standard deviations added"}
    held = perturbation.held(["d", "a", "b"])
    assert {name: why_sentence(why) for name, why in held.items()} == dict.fromkeys(
        ("a", "b"), "it moves together with 'c', which may not move"
    )
    assert action.clipped == {"d": 0}
    nothing = act(train, ["a"], perturbation, factor=1.25, seed=0, index=())
    assert nothing.copied == len(nothing.x) == 250


@pytest.mark.parametrize(("per_row", "units"), [(1, 1), (2, 2), (3, 3), (9, 3)])
def test_each_row_moves_so_many_features_chosen_alike_and_a_set_counts_as_one(per_row, units):
    train = plane(400)
    perturbation = Perturbation(default=Jitter(), features_per_row=per_row or "all", together=(("b", "c"),))
    action = act(train, ["a", "b", "c", "d"], perturbation, factor=5.0, seed=0, index=())
    changed = action.x != train.x[action.source]
    assert (changed[:, 1] == changed[:, 2]).all()
    assert (changed[:, [0, 1, 3]].sum(axis=1) == units).all()
    np.testing.assert_allclose(changed.mean(axis=0), units / 3, atol=0.04)


def test_one_feature_at_a_time_is_drawn_given_all_the_others():
    """Given b, a hardly varies; given only d it varies freely."""
    rng = np.random.default_rng(0)
    a = rng.normal(size=300)
    train = numbers(np.column_stack([a, a + 0.05 * rng.normal(size=300), rng.normal(size=300)]), a)
    one = act(train, ["a", "b"], Perturbation(default=Conditional(), features_per_row=1), factor=1.25, seed=0, index=())
    both = act(train, ["a", "b"], Perturbation(default=Conditional()), factor=1.25, seed=0, index=())
    assert np.abs(one.x[:, 0] - train.x[one.source, 0]).max() < 0.5
    assert np.abs(both.x[:, 0] - train.x[both.source, 0]).max() > 2.0


def bounded(n=200):
    rng = np.random.default_rng(0)
    columns = [
        Column(name="dose", type="continuous", minimum=0.0, maximum=10.0),
        Column(name="visits", type="integer", maximum=6.0),
        Column(name="size", type="integer", allowed=(1.0, 2.0, 5.0)),
    ]
    x = np.column_stack([rng.uniform(0, 10, n), rng.integers(0, 7, n), rng.choice([1.0, 2.0, 5.0], n)])
    return table(x, rng.normal(size=n), columns)


def test_a_redrawn_row_is_inside_unless_it_never_is():
    train = bounded()
    clipping = Perturbation(default=Jitter(sd=1.0))
    redrawing = Perturbation(default=Jitter(sd=1.0), on_violation="redraw")
    clip = act(train, ["dose", "visits"], clipping, factor=2.0, seed=0, index=())
    redraw = act(train, ["dose", "visits"], redrawing, factor=2.0, seed=0, index=())
    assert clip.clipped["dose"] > 60
    assert redraw.clipped["dose"] < 5
    assert clip.redrawn == 0
    sound = ~np.isin(clip.x[:, 0], [0.0, 10.0]) & (clip.x[:, 1] < 6)
    assert 0 < 400 - redraw.redrawn >= sound.sum()
    assert redraw.x[sound].tobytes() == clip.x[sound].tobytes()  # what was right stays
    assert not np.isin(redraw.x[:, 0], [0.0, 10.0]).any() or redraw.clipped["dose"]
    far = Shift(amount=1e6, measure="unit")
    stuck = act(train, ["dose"], Perturbation(default=far, on_violation="redraw"), factor=1.0, seed=0, index=())
    assert stuck.redrawn == stuck.clipped["dose"] == 200
    assert set(stuck.x[:, 0]) == {0.0, 10.0}
    assert TRIES == 10


def test_a_row_is_redrawn_whole_so_that_what_it_shares_stays_shared():
    train = bounded()
    perturbation = Perturbation(default=Scale(reach=3.0), on_violation="redraw")
    wide = table(train.x[:, :2], train.y, [train.features[0], Column(name="free", type="continuous")])
    action = act(wide, ["dose", "free"], perturbation, factor=2.0, seed=0, index=())
    source, centre = wide.x[action.source], wide.x.mean(axis=0)
    inside = ~np.isin(action.x[:, 0], [0.0, 10.0])
    delta = ((action.x - source) / (source - centre))[inside]
    np.testing.assert_allclose(delta[:, 0], delta[:, 1], atol=1e-6)
    assert action.redrawn > 100


def test_a_violation_can_be_an_error_that_names_feature_value_and_bound():
    train = bounded(20)
    perturbation = Perturbation(default=Shift(amount=4.0), on_violation="error")
    with pytest.raises(DataError) as error:
        act(train, ["dose", "visits", "size"], perturbation, factor=1.0, seed=0, index=())
    lines = str(error.value).splitlines()
    hint = "use on_violation: clip or redraw, or a policy that moves it less far"
    action = act(
        train, ["dose", "visits", "size"], Perturbation(default=Shift(amount=4.0)), factor=1.0, seed=0, index=()
    )
    assert len(lines) == 4
    for line, name in zip(lines, ["dose", "visits", "size"], strict=False):
        assert line.startswith(f"perturbation.on_violation: '{name}' would become ")
        assert line.endswith(f", in the worst of {action.clipped[name]} of 20 new rows; {hint}")
    assert ("below its minimum 0" in lines[0]) or ("above its maximum 10" in lines[0])
    assert "above its maximum 6" in lines[1]
    assert "not among its allowed values" in lines[2]
    assert lines[3] == "3 problems"
    calm = Perturbation(default=Resample(), on_violation="error")
    assert act(train, ["dose", "visits", "size"], calm, factor=1.25, seed=0, index=()).clipped == {
        "dose": 0,
        "visits": 0,
        "size": 0,
    }


def test_what_the_default_cannot_move_is_resampled_and_a_constant_says_so():
    columns = [Column(name="a", type="continuous"), Column(name="w", type="category", labels=("n", "s"))]
    train = table(np.column_stack([np.full(10, 3.0), np.arange(10) % 2]), np.zeros(10), columns)
    action = act(train, ["a", "w"], Perturbation(default=Jitter()), factor=1.25, seed=0, index=())
    assert action.policies == {
        "a": "Gaussian noise of 0.3 standard deviations added; all training rows have the same value",
        "w": "redrawn from its own column, each value as often as it occurs",
    }
    assert (action.x[:, 0] == 3.0).all()
