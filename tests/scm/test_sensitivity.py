"""Sensitivity against worlds whose hidden cause is known: what the number promises, and how it behaves."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crda_spec.records import Action, Certificate, Column, Counterfactuals, DrawnGraph, FeatureVerdict, Stated, Table
from crda_spec.report.words.causal import sensitivity_sentence
from crda_spec.scm.sensitivity import robustness_at, sensitivity, sign_robustness, used_up_at, uses_up_the_gain


def numbers(*names):
    return tuple(Column(name=name, type="continuous") for name in names)


def made_table(x, y, columns):
    target = Column(name="y", type="continuous")
    return Table(features=columns, target=target, row_ids=np.arange(len(y)), x=np.asarray(x, float), y=y)


def moves(train, deltas, *, retention=1.0, propagated=None):
    """Each row once, every named feature moved by its own delta."""
    x = train.x.copy()
    for name, delta in deltas.items():
        x[:, train.names.index(name)] += delta
    rows = len(train)
    action = Action(
        x=x,
        source=np.arange(rows),
        moved=tuple(name for name in deltas if name not in (propagated or {})),
        policies={},
        clipped={},
        propagated=propagated or {},
    )
    zero = np.zeros(rows)
    return Counterfactuals(action=action, prediction=zero, noise=zero, retention=retention, y=zero, weight=1.0)


def certificate(train, *, status="cause", held=None, basis="declared", propagated=()):
    reason = Stated(code="undrawn")
    verdicts = tuple(FeatureVerdict(name=name, status=status, reason=reason, held=held) for name in train.names)
    graph = DrawnGraph(nodes=(), edges=())
    return Certificate(basis=basis, graph=graph, features=verdicts, assumes=(), propagated=propagated)


def of(train, made, *, gain=1.0, **options):
    found = sensitivity(train, made, certificate(train, **options), gain=gain)
    assert found is not None
    return found


def r2(target, *columns):
    """The share of a column's variance that others explain: the textbook way, by least squares."""
    design = np.column_stack([np.ones(len(target)), *columns])
    rest = target - design @ np.linalg.lstsq(design, target, rcond=None)[0]
    return 1 - rest.var() / target.var()


def partial_r2(target, one, *given):
    return 1 - (1 - r2(target, one, *given)) / (1 - r2(target, *given))


def hidden_world(rng, rows=60_000, *, with_x=0.8, with_y=1.5):
    """y = 2 x - w + with_y U + e, x = 0.7 w + with_x U + d: U hidden, so x's noise leans on U."""
    w, u = rng.normal(size=(2, rows))
    x = 0.7 * w + with_x * u + rng.normal(size=rows)
    noise = with_y * u + 1.3 * rng.normal(size=rows)
    return w, u, x, noise, 2.0 * x - w + noise


WORLDS = [(0.8, 1.5), (0.2, 2.0), (2.0, 0.9)]


def slope(target, *columns):
    """The coefficient of the first column."""
    design = np.column_stack([*columns, np.ones(len(target))])
    return np.linalg.lstsq(design, target, rcond=None)[0][0]


@pytest.mark.parametrize("retention", [1.0, 0.4])
@pytest.mark.parametrize(("with_x", "with_y"), WORLDS)
def test_the_limit_is_the_strength_of_a_hidden_cause_that_uses_up_the_gain(with_x, with_y, retention):
    """The bias by definition: the slope without U minus the slope with U. Both sides come from the same rows, where
    Cinelli and Hazlett's identity is algebra; only degrees of freedom, one in 60 000, stand between them.
    """
    rng = np.random.default_rng(5)
    w, u, x, _, y = hidden_world(rng, with_x=with_x, with_y=with_y)
    delta = rng.uniform(-1.5, 1.5, len(y))
    bias = slope(y, x, w) - slope(y, x, w, u)
    strength = partial_r2(y, u, x, w) * partial_r2(x, u, w) / (1 - partial_r2(x, u, w))
    train = made_table(np.column_stack([x, w]), y, numbers("x", "w"))
    error = float(np.mean((retention * bias * delta) ** 2))
    found = of(train, moves(train, {"x": delta}, retention=retention), gain=error).features[0]
    assert found.limit == pytest.approx(strength, rel=1e-4)


@pytest.mark.parametrize(("with_x", "with_y"), WORLDS)
def test_at_the_limit_the_labels_miss_the_true_counterfactual_by_the_gain(with_x, with_y):
    """All noise carried, a teacher fitted without U: y* = g(x*) + z, against the world's own answer at x*.

    Monte Carlo with 60 000 rows: over seeds the two sides differ by a standard deviation of 1.4 to 2.9 percent, so
    10 percent are allowed.
    """
    rng = np.random.default_rng(6)
    w, u, x, noise, y = hidden_world(rng, with_x=with_x, with_y=with_y)
    delta = rng.normal(size=len(y))
    design = np.column_stack([np.ones(len(y)), x, w])
    weights = np.linalg.lstsq(design, y, rcond=None)[0]
    label = np.column_stack([np.ones(len(y)), x + delta, w]) @ weights + (y - design @ weights)
    error = float(np.mean((label - (2.0 * (x + delta) - w + noise)) ** 2))
    train = made_table(np.column_stack([x, w]), y, numbers("x", "w"))
    found = of(train, moves(train, {"x": delta}), gain=error).features[0]
    assert used_up_at(found.limit, partial_r2(x, u, w)) == pytest.approx(partial_r2(y, u, x, w), rel=0.1)


@given(st.floats(1e-8, 1e8))
def test_the_robustness_solves_its_equation(limit):
    r = robustness_at(limit)
    assert 0 < r < 1
    assert used_up_at(limit, r) == pytest.approx(r, rel=1e-6)


def test_the_robustness_at_the_ends():
    assert robustness_at(0.0) == 0.0
    assert robustness_at(math.inf) == 1.0
    assert used_up_at(0.5, 0.0) == math.inf
    assert used_up_at(0.5, 1.0) == 0.0


def small_world(rows=200, seed=1):
    rng = np.random.default_rng(seed)
    w, _, x, _, y = hidden_world(rng, rows)
    return w, x, y, rng.normal(size=rows)


@given(st.floats(1e-3, 1e3), st.floats(1.01, 10.0), st.floats(0.05, 1.0))
@settings(max_examples=30)
def test_more_gain_or_less_noise_carried_is_harder_to_use_up(gain, more, retention):
    w, x, y, delta = small_world()
    train = made_table(np.column_stack([x, w]), y, numbers("x", "w"))
    made = moves(train, {"x": delta}, retention=retention)
    base = of(train, made, gain=gain).features[0]
    assert of(train, made, gain=gain * more).features[0].robustness > base.robustness
    less = moves(train, {"x": delta}, retention=retention / more)
    assert of(train, less, gain=gain).features[0].limit == pytest.approx(base.limit * more**2, rel=1e-9)


@given(st.floats(1e-60, 1e60), st.floats(1e-60, 1e60), st.floats(-5, 5))
@settings(max_examples=40)
def test_units_do_not_matter(unit_x, unit_y, shift):
    w, x, y, delta = small_world()
    base = made_table(np.column_stack([x, w]), y, numbers("x", "w"))
    other = made_table(np.column_stack([(x + shift) * unit_x, w]), (y - shift) * unit_y, numbers("x", "w"))
    before = of(base, moves(base, {"x": delta}), gain=0.3).features[0]
    after = of(other, moves(other, {"x": delta * unit_x}), gain=0.3 * unit_y**2).features[0]
    for name in ("limit", "robustness", "observed_with_feature", "observed_with_target"):
        assert getattr(after, name) == pytest.approx(getattr(before, name), rel=1e-6)
    assert after.moved_sd == pytest.approx(before.moved_sd * unit_x, rel=1e-6)
    assert after.remaining_sd == pytest.approx(before.remaining_sd * unit_x, rel=1e-6)


def mixed_world(rows=400):
    """A category, a boolean and missing cells beside the moved number."""
    rng = np.random.default_rng(2)
    ward, sick = rng.integers(0, 3, rows), rng.integers(0, 2, rows)
    age = rng.normal(50, 9, rows)
    x = 1.2 * (ward == 1) - 0.5 * (ward == 2) + 0.03 * age + rng.normal(size=rows)
    y = x + 1.5 * (ward == 1) + 0.05 * age + 0.4 * sick + rng.normal(size=rows)
    age[rng.random(rows) < 0.1] = np.nan
    columns = (
        Column(name="x", type="continuous"),
        Column(name="ward", type="category", labels=("a", "b", "c")),
        Column(name="sick", type="boolean"),
        Column(name="age", type="continuous"),
    )
    return made_table(np.column_stack([x, ward, sick, age]), y, columns), rng.normal(size=rows)


def test_the_yardstick_is_the_one_that_least_squares_finds():
    train, delta = mixed_world()
    x, ward, sick, age = train.x.T
    missing = np.isnan(age)
    parts = {
        "ward": np.column_stack([ward == 1, ward == 2]),
        "sick": sick[:, None],
        "age": np.column_stack([np.where(missing, age[~missing].mean(), age), missing]),
    }

    def tied(name, target, *more):
        rest = [parts[other] for other in parts if other != name]
        return partial_r2(target, parts[name], *rest, *more)

    expected = {name: (tied(name, x), tied(name, train.y, x)) for name in parts}
    strongest = max(expected, key=lambda name: min(expected[name]))
    found = of(train, moves(train, {"x": delta})).features[0]
    assert found.observed == strongest == "ward"
    assert (found.observed_with_feature, found.observed_with_target) == pytest.approx(expected[strongest], rel=1e-6)
    rest = np.column_stack([np.ones(len(x)), *parts.values()])
    left = x - rest @ np.linalg.lstsq(rest, x, rcond=None)[0]
    assert found.remaining_sd == pytest.approx(math.sqrt(left @ left / (len(x) - rest.shape[1])), rel=1e-6)
    assert found.moved_sd == pytest.approx(math.sqrt(np.mean(delta**2)))


def test_a_moved_feature_with_missing_cells_is_measured_on_the_rows_that_have_it():
    w, x, y, delta = small_world()
    x[:40], delta[:40] = np.nan, 0.0
    train = made_table(np.column_stack([x, w]), y, numbers("x", "w"))
    found = of(train, moves(train, {"x": delta})).features[0]
    known = train.take(np.arange(40, 200))
    same = of(known, moves(known, {"x": delta[40:]})).features[0]
    assert found.remaining_sd == pytest.approx(same.remaining_sd, rel=1e-9)
    assert found.moved_sd == pytest.approx(math.sqrt(np.sum(delta**2) / 200))  # what is missing does not move
    assert found.limit == pytest.approx(same.limit * 200 / 160, rel=1e-9)


@pytest.mark.parametrize("nearly", [0.0, 1e-12], ids=["equal", "nearly-equal"])
def test_a_repeated_feature_changes_nothing_but_its_own_yardstick(nearly):
    w, x, y, delta = small_world()
    v = np.sin(np.arange(200.0)) + 0.3 * x + 0.2 * y
    twice = np.column_stack([x, w, v, w + nearly * np.cos(np.arange(200))])
    train = made_table(twice, y, numbers("x", "w", "v", "copy"))
    once = made_table(twice[:, :3], y, numbers("x", "w", "v"))
    found = of(train, moves(train, {"x": delta})).features[0]
    base = of(once, moves(once, {"x": delta})).features[0]
    assert found.limit == pytest.approx(base.limit, rel=1e-6)
    # Leaving w out costs nothing while its copy stays, so neither is a yardstick, and v is.
    assert found.observed == "v"


def test_a_feature_that_the_others_determine_has_no_robustness():
    w, x, y, delta = small_world()
    train = made_table(np.column_stack([x, w, x - 2 * w]), y, numbers("x", "w", "sum"))
    found = of(train, moves(train, {"x": delta}))
    assert (found.features[0].robustness, found.features[0].limit, found.features[0].remaining_sd) == (0.0, 0.0, 0.0)
    assert sensitivity_sentence(found).startswith(
        "The other features determine x, so that the data cannot tell its own effect: "
        "the weakest hidden cause would use up the gain that the gate measured. "
    )


def test_nothing_carried_cannot_be_spoilt():
    w, x, y, delta = small_world()
    train = made_table(np.column_stack([x, w]), y, numbers("x", "w"))
    found = of(train, moves(train, {"x": delta}, retention=0.0))
    assert (found.features[0].robustness, found.features[0].limit) == (1.0, math.inf)
    assert (
        sensitivity_sentence(found)
        == "No noise is carried, so the certificate promises nothing that a hidden cause could break."
    )


def test_nothing_moved_or_a_target_without_noise_cannot_be_spoilt():
    w, x, y, delta = small_world()
    for target, change in ((y, 0 * delta), (x + w, delta)):
        train = made_table(np.column_stack([x, w]), target, numbers("x", "w"))
        found = of(train, moves(train, {"x": change}))
        assert (found.features[0].robustness, found.features[0].limit) == (1.0, math.inf)
        assert sensitivity_sentence(found) == "Nothing that moved lets a hidden cause spoil the labels."


@pytest.mark.parametrize("gain", [0.0, -1.0, math.nan, math.inf])
def test_without_a_gain_there_is_none_to_lose(gain):
    w, x, y, delta = small_world()
    train = made_table(np.column_stack([x, w]), y, numbers("x", "w"))
    assert sensitivity(train, moves(train, {"x": delta}), certificate(train), gain=gain) is None


def test_what_no_graph_certified_has_no_promise_to_break():
    w, x, y, delta = small_world()
    train = made_table(np.column_stack([x, w]), y, numbers("x", "w"))
    made = moves(train, {"x": delta})
    assert sensitivity(train, made, certificate(train, basis="discovered"), gain=1.0) is None
    assert sensitivity(train, made, certificate(train, status="blocked"), gain=1.0) is None
    assert sensitivity(train, made, certificate(train, held=Stated(code="kept")), gain=1.0) is None


def test_what_follows_through_its_equation_is_measured_too():
    w, x, y, delta = small_world()
    train = made_table(np.column_stack([x, w]), y, numbers("x", "w"))
    made = moves(train, {"x": delta, "w": delta / 2}, propagated={"w": "linear in x"})
    assert [feature.name for feature in of(train, made, propagated=("w",)).features] == ["x", "w"]


def test_the_sentence_names_the_weakest_feature_its_yardstick_and_what_is_left_out():
    train, delta = mixed_world()
    codes = np.where(train.x[:, 1] == 0, 1.0, -train.x[:, 1])
    flips = 1 - 2 * train.x[:, 2]
    made = moves(train, {"x": delta, "ward": codes, "sick": flips})
    found = of(train, made, gain=0.05)
    assert [feature.name for feature in found.features] == ["x", "sick"]
    assert sensitivity_sentence(found) == (
        "A hidden cause of y and sick would have to explain 10 % of what the features leave open in each before it "
        "uses up the gain that the gate measured. x, the measured feature that is tied most to both, explains 2.1 % of "
        "sick and 46 % of y: one more like it, unmeasured, would not be enough. "
        "Not measured: ward (a category has no distance to move by)."
    )
    assert uses_up_the_gain(found.features[0])
    assert not uses_up_the_gain(found.features[1])
    alone = of(train, moves(train, {"x": delta}), gain=0.05)
    assert sensitivity_sentence(alone).endswith(
        "ward, the measured feature that is tied most to both, explains 30 % of x and 26 % of y: "
        "one more like it, unmeasured, would be enough."
    )


def test_only_categories_or_too_few_rows_leave_only_a_sentence():
    train, _ = mixed_world()
    codes = np.where(train.x[:, 1] == 0, 1.0, -train.x[:, 1])
    found = of(train, moves(train, {"ward": codes}))
    assert found.features == ()
    assert sensitivity_sentence(found) == (
        "No feature that moved can be measured this way. Not measured: ward (a category has no distance to move by)."
    )
    few = train.take(np.arange(4))
    found = of(few, moves(few, {"x": np.ones(4)}))
    assert found.features == ()
    assert sensitivity_sentence(found) == (
        "No feature that moved can be measured this way. Not measured: x (there are too few rows for so many columns)."
    )


def test_a_lonely_feature_has_no_yardstick():
    _, x, y, delta = small_world()
    train = made_table(x[:, None], y, numbers("x"))
    found = of(train, moves(train, {"x": delta}))
    assert found.features[0].observed == ""
    assert not uses_up_the_gain(found.features[0])
    assert not uses_up_the_gain(replace(found.features[0], limit=0.0))


def test_the_order_of_rows_and_features_does_not_matter():
    train, delta = mixed_world()
    order = np.random.default_rng(3).permutation(len(train))
    columns = [3, 1, 0, 2]
    turned = made_table(train.x[order][:, columns], train.y[order], tuple(train.features[column] for column in columns))
    found = of(train, moves(train, {"x": delta})).features[0]
    same = of(turned, moves(turned, {"x": delta[order]})).features[0]
    assert same.observed == found.observed
    assert same.limit == pytest.approx(found.limit, rel=1e-9)


def test_the_robustness_of_a_sign_is_that_of_its_t_value():
    """Cinelli and Hazlett's robustness value: f = |t| / sqrt(df), r = (sqrt(f^4 + 4 f^2) - f^2) / 2."""
    rng = np.random.default_rng(4)
    x = rng.normal(size=(80, 3))
    x[:, 1] += 0.5 * x[:, 0]
    y = 0.3 * x[:, 0] - x[:, 1] + rng.normal(size=80)
    names = ("a", "b", "c")
    train = Table(
        features=tuple(Column(name=name, type="continuous") for name in names),
        target=Column(name="y", type="continuous"),
        row_ids=np.arange(80),
        x=x,
        y=y,
    )
    design = np.column_stack([np.ones(80), x])
    slopes, *_ = np.linalg.lstsq(design, y, rcond=None)
    free = 80 - 4
    variance = np.sum((y - design @ slopes) ** 2) / free
    for change in ((1.0, 0.0, 0.0), (0.5, -2.0, 0.0)):
        contrast = np.array([0.0, *change])
        error = np.sqrt(variance * contrast @ np.linalg.inv(design.T @ design) @ contrast)
        f = abs(contrast @ slopes) / error / np.sqrt(free)
        expected = (np.sqrt(f**4 + 4 * f**2) - f**2) / 2
        after = x[:1] + np.array(change)
        found = sign_robustness(train, x[:1], after, np.array([contrast @ slopes]))
        assert found[0] == pytest.approx(expected, rel=1e-6)
    assert sign_robustness(train, x[:2], x[:2] + 1.0, np.zeros(2)).tolist() == [0.0, 0.0]
    few = train.take(np.arange(3))
    assert np.isnan(sign_robustness(few, x[:1], x[:1] + 1.0, np.ones(1))).all()
