"""Fitted equations: noise is kept to the last bit, labels by their uniform; missing cells stay, odd tables work."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crda_spec.records import Column, Followed, Table
from crda_spec.report.words.causal import followed_words
from crda_spec.scm.mechanisms import AbductedUniform, Inputs, fit_label_shares, fit_mean, fit_mechanisms
from crda_spec.scm.propagation import FollowerInputs

COLUMNS = (
    Column(name="dose", type="continuous"),
    Column(name="ward", type="category", labels=("north", "south", "west")),
    Column(name="weight", type="continuous"),
    Column(name="visits", type="integer"),
    Column(name="grade", type="category", labels=("a", "b", "c", "d")),
    Column(name="smoker", type="boolean"),
)
CAUSES = ("dose", "ward")
RULES = (
    FollowerInputs(name="weight", parents=CAUSES),
    FollowerInputs(name="visits", parents=("dose", "weight")),
    FollowerInputs(name="grade", parents=("visits",), adjusted=("ward",)),
    FollowerInputs(name="smoker", parents=("dose", "grade")),
)


def table(x, columns=COLUMNS):
    x = np.array(x, dtype=float)
    rows = np.arange(len(x))
    return Table(features=columns, target=Column(name="y", type="continuous"), row_ids=rows, x=x, y=np.zeros(len(x)))


def patients(n, *, seed=0, missing=0.0):
    rng = np.random.default_rng(seed)
    dose, ward = rng.normal(size=n), rng.integers(0, 3, n)
    weight = np.sin(dose) + (ward == 1) + 0.3 * rng.normal(size=n)
    visits = np.rint(5 + dose + weight + rng.normal(size=n))
    grade = np.digitize(visits - 5 + rng.normal(size=n), [-1.0, 0.5, 2.0])
    smoker = dose + (grade == 2) + rng.logistic(size=n) > 0
    x = np.column_stack([dose, ward, weight, visits, grade, smoker]).astype(float)
    x[rng.random(x.shape) < missing] = np.nan
    return table(x)


def settle(values, column):
    """Only rounding: bounds are the action's business."""
    return (np.rint(values) if column.type == "integer" else values), np.zeros(len(values), dtype=bool)


def draws(name):
    return np.random.default_rng([7, len(name)])


def follow(mechanisms, x, before):
    return mechanisms.follow(x, before, draws=draws, settle=settle)[0]


@given(seed=st.integers(0, 10_000), rows=st.integers(1, 40), missing=st.sampled_from([0.0, 0.1, 0.6]))
@settings(max_examples=15)
def test_rows_whose_causes_stay_are_reproduced_to_the_last_bit(seed, rows, missing):
    train = patients(rows, seed=seed, missing=missing)
    mechanisms = fit_mechanisms(train, RULES)
    assert follow(mechanisms, train.x, train.x).tobytes() == train.x.tobytes()
    x, stay = train.x.copy(), np.random.default_rng(seed).random(rows) < 0.5
    x[~stay, 0] += 1.0
    followed = follow(mechanisms, x, train.x)
    assert followed[stay].tobytes() == train.x[stay].tobytes()
    assert np.array_equal(np.isnan(followed), np.isnan(train.x))
    assert np.array_equal(followed[:, :2], x[:, :2], equal_nan=True)  # only followers follow
    assert np.isfinite(followed[~np.isnan(followed)]).all()
    for place in (3, 4, 5):
        assert np.array_equal(np.rint(followed[:, place]), followed[:, place], equal_nan=True)
    for place in (4, 5):  # no label that the rows do not show
        assert set(followed[~np.isnan(followed[:, place]), place]) <= set(train.x[~np.isnan(train.x[:, place]), place])


def test_followers_of_followers_follow():
    train = patients(400)
    mechanisms = fit_mechanisms(train, RULES)
    x = train.x.copy()
    x[:, 0] += 1.5
    followed = follow(mechanisms, x, train.x)
    assert (followed != train.x).mean(axis=0)[[2, 3, 4, 5]] == pytest.approx([1.0, 0.9, 0.5, 0.3], abs=0.2)
    without = follow(fit_mechanisms(train, RULES[1:]), x, train.x)
    assert (followed[:, 3] - without[:, 3]).mean() != pytest.approx(0.0, abs=0.1)  # weight's part of the way to visits


def test_what_happens_to_one_row_shifts_no_draw_of_another():
    train = patients(200)
    mechanisms = fit_mechanisms(train, RULES)
    x = train.x.copy()
    x[100:, 0] += 1.0
    one = follow(mechanisms, x, train.x)
    x[:100, 0] += 1.0
    assert np.allclose(follow(mechanisms, x, train.x)[100:], one[100:], rtol=0, atol=1e-12)


def test_what_a_follower_does_is_said_in_words():
    assert {name: followed_words(how) for name, how in fit_mechanisms(patients(50), RULES).facts.items()} == {
        "weight": "follows dose and ward: additive noise, kernel ridge",
        "visits": "follows dose and weight: additive noise, rounded, kernel ridge",
        "grade": "follows visits, with ward held fixed: abducted uniform, kernel logistic regression",
        "smoker": "follows dose and grade: abducted uniform, kernel logistic regression",
    }


def test_a_follower_that_no_row_shows_stays_missing():
    x = patients(30).x.copy()
    x[:, 2] = np.nan
    train = table(x)
    mechanisms = fit_mechanisms(train, RULES)
    assert mechanisms.facts["weight"] == Followed(kind="unlearned", parents=("dose", "ward"))
    x = train.x.copy()
    x[:, 0] += 1.0
    assert np.isnan(follow(mechanisms, x, train.x)[:, 2]).all()


@pytest.mark.parametrize("rows", [1, 2, 3, 30])
def test_constant_columns_do_no_harm(rows):
    train = table(np.column_stack([np.full(rows, 3.0), np.zeros(rows), *np.ones((4, rows))]))
    x = train.x.copy()
    x[:, 0] += 1.0
    assert np.array_equal(follow(fit_mechanisms(train, RULES), x, train.x), x)


def test_an_equation_without_noise_is_found():
    dose = np.random.default_rng(0).uniform(-2, 2, 300)
    columns = (COLUMNS[0], COLUMNS[2])
    train = table(np.column_stack([dose, 3 * dose - 1]), columns)
    mechanisms = fit_mechanisms(train, [FollowerInputs(name="weight", parents=("dose",))])
    x = train.x.copy()
    x[:, 0] += 5.0  # far beyond the data the linear trend holds
    assert np.allclose(follow(mechanisms, x, train.x)[:, 1], 3 * x[:, 0] - 1, atol=1e-2)


def test_the_order_of_the_rows_does_not_matter():
    train = patients(150)
    back = table(train.x[::-1])
    x = train.x.copy()
    x[:, 0] += 1.0
    one, other = (follow(fit_mechanisms(each, RULES[:1]), x, train.x) for each in (train, back))
    assert np.allclose(one, other, atol=1e-6)


def test_shares_add_up_and_no_label_is_lost():
    train = patients(300)
    inputs = Inputs.learn(train.x[:, :2], COLUMNS[:2])
    shares = fit_label_shares(inputs, train.x[:, :2], train.x[:, 4])
    grid = np.column_stack([np.linspace(-50, 50, 101), np.tile([0.0, 1.0, np.nan], 34)[:101]])
    found = shares.predict(grid)
    assert found.shape == (101, 4)
    assert np.allclose(found.sum(axis=1), 1.0)
    assert (found >= 0.0).all()
    counts = np.bincount(train.x[:, 4].astype(int), minlength=4) / 300
    assert np.allclose(shares.predict(train.x[:, :2]).mean(axis=0), counts, atol=0.02)


@given(place=st.floats(0.0, 1.0, exclude_max=True), label=st.integers(0, 3), dose=st.floats(-3.0, 3.0))
def test_with_the_same_inputs_any_uniform_gives_the_label_back(place, label, dose):
    equation, row = GRADES, np.array([[dose, 1.0]])
    assert equation.follow(np.array([float(label)]), row, row, np.array([place]))[0] == label


def _grades():
    train = patients(300)
    rows = train.x[:, :2]
    return AbductedUniform(fit_label_shares(Inputs.learn(rows, COLUMNS[:2]), rows, train.x[:, 4]))


GRADES = _grades()


@pytest.mark.parametrize("label", [0.0, 1.0, 3.0], ids=["first", "inner", "last"])
def test_a_row_keeps_a_label_that_the_equation_has_never_seen(label):
    """Rows drawn again for the spread of an answer may lack a rare one."""
    train = patients(300)
    train = train.take(np.flatnonzero(train.x[:, 4] != label))
    rows = train.x[:, :2]
    equation = AbductedUniform(fit_label_shares(Inputs.learn(rows, COLUMNS[:2]), rows, train.x[:, 4]))
    before, after = np.array([[-1.0, 1.0], [-1.0, 1.0]]), np.array([[3.0, 1.0], [3.0, 1.0]])
    other = 2.0
    assert equation.follow(np.array([label, other]), before, after, np.array([0.5, 0.5]))[0] == label


def test_labels_that_a_cause_separates_perfectly_have_finite_shares():
    x = np.linspace(-1, 1, 60)[:, None]
    shares = fit_label_shares(Inputs.learn(x, COLUMNS[:1]), x, (x[:, 0] > 0).astype(float)).predict(x)
    assert np.isfinite(shares).all()
    assert shares[0, 0] > 0.95
    assert shares[-1, 1] > 0.95


@pytest.mark.parametrize("rows", [250, 1000, 4000])
def test_the_mean_of_an_interaction_is_learnt(rows):
    rng = np.random.default_rng(rows)
    x = rng.uniform(-2, 2, size=(rows, 2))
    truth = np.sin(2 * x[:, 0]) * x[:, 1]
    mean = fit_mean(Inputs.learn(x, (COLUMNS[0], COLUMNS[2])), x, truth + 0.5 * rng.normal(size=rows))
    # Root-n up to a smoothing factor: 3.5 noise standard deviations over the root of the number of rows.
    assert np.sqrt(np.mean((mean.predict(x) - truth) ** 2)) < 3.5 / np.sqrt(rows)
