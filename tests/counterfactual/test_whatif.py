"""Single rows asked what would have been, against worlds whose truth is known."""

from dataclasses import replace

import numpy as np
import pytest
from counterfactual_parts import numbers, table

from crda_spec.counterfactual.abduct import EvenScale
from crda_spec.counterfactual.effects import average_effects
from crda_spec.counterfactual.whatif import (
    AskedRows,
    OutcomeModel,
    Spread,
    beyond_column,
    example_change,
    interval,
    off_data,
)
from crda_spec.data.worlds import declare
from crda_spec.records import Column, Teacher
from crda_spec.regressors import GaussianProcess, Linear
from crda_spec.regressors.teachers import CrossfitTeacher, Learner
from crda_spec.regressors.teachers.refits import Refits
from crda_spec.scm.formats.edges import from_edges
from crda_spec.scm.mechanisms import fit_mechanisms
from crda_spec.scm.propagation import follower_inputs

CURVED = declare(
    name="curved",
    target="y",
    equations={
        "a": "uniform(-2, 2)",
        "b": "sin(a) + normal(0, 0.5)",
        "c": "normal(0, 1)",
        "y": "2 * sin(1.5 * a) + b + 0.5 * c * c + normal(0, 0.7)",
    },
)
GRAPH = from_edges(CURVED.edges(), columns=CURVED.columns(), target="y")


class Known:
    """A teacher that is a formula."""

    def __init__(self, formula):
        self.formula = formula

    def predict(self, x):
        return self.formula(x)


def drawn(rows, seed):
    sample = CURVED.draw(rows, seed=seed)
    x = np.column_stack([sample.values[name] for name in CURVED.features()])
    return sample, numbers(x, sample.y)


def fitted(train, regressor, seed=0):
    return Refits(learners=(Learner(),), weights=(1.0,), regressor=regressor, fill="median").fit(train, seed=seed)


def asked(train, rows, name, values):
    (position,) = train.positions([name])
    return AskedRows(x=train.x[rows], y=train.y[rows], settings={position: np.asarray(values, dtype=float)})


def truth(sample, rows, name, values, *, follow=False):
    held = {} if follow else {one: sample.values[one][rows] for one in CURVED.features()}
    return sample.outcome({**held, name: np.asarray(values)}, rows=rows) - sample.y[rows]


def test_with_the_true_function_the_answer_is_the_truth():
    sample, train = drawn(50, 1)
    g = Known(lambda x: 2 * np.sin(1.5 * x[:, 0]) + x[:, 1] + 0.5 * x[:, 2] ** 2)
    rows, values = np.arange(20), np.linspace(-1.5, 1.5, 20)
    found = OutcomeModel(teacher=g).what_if(asked(train, rows, "a", values))
    np.testing.assert_allclose(found.difference, truth(sample, rows, "a", values), atol=1e-12)


def test_nothing_changed_is_the_observed_outcome_to_the_last_bit():
    _, train = drawn(30, 2)
    model = OutcomeModel(teacher=Known(lambda x: 0.1 + x.sum(axis=1) / 3))
    found = model.what_if(asked(train, np.arange(30), "a", train.x[:, 0]))
    assert found.same.all()
    assert found.y.tobytes() == train.y.tobytes()


def test_an_irrelevant_column_changes_nothing_whatever_the_teacher_says():
    _, train = drawn(30, 3)
    rows = replace(asked(train, np.arange(30), "c", np.full(30, 9.0)))
    model = OutcomeModel(teacher=Known(lambda x: x.sum(axis=1)), irrelevant=(2,))
    found = model.what_if(rows)
    assert found.y.tobytes() == train.y.tobytes()
    assert found.x[:, 2].tolist() == [9.0] * 30
    assert not OutcomeModel(teacher=Known(lambda x: x.sum(axis=1))).what_if(rows).same.any()


def test_noise_of_a_changing_size_is_carried_at_its_new_size():
    class Size:
        def at(self, x):
            return np.exp(x[:, 0]), 0

    _, train = drawn(40, 4)
    g = Known(lambda x: x[:, 0] + x[:, 1])
    values = train.x[:, 0] + 1.0
    found = OutcomeModel(teacher=g, scale=Size()).what_if(asked(train, np.arange(40), "a", values))
    noise = (train.y - g.predict(train.x)) / np.exp(train.x[:, 0])
    np.testing.assert_allclose(found.y, values + train.x[:, 1] + np.exp(values) * noise)
    even = OutcomeModel(teacher=g, scale=EvenScale(3.0)).what_if(asked(train, np.arange(40), "a", values))
    plain = OutcomeModel(teacher=g).what_if(asked(train, np.arange(40), "a", values))
    np.testing.assert_allclose(even.y, plain.y)


@pytest.mark.parametrize("follow", [False, True])
def test_the_error_shrinks_with_rows(follow):
    errors = []
    for size in (60, 600):
        squares = []
        for seed in range(4):
            sample, train = drawn(size, 10 + seed)
            rows = np.arange(40)
            values = np.random.default_rng(seed).permutation(train.x[rows, 0])
            mechanisms = fit_mechanisms(train, follower_inputs(GRAPH, train.names, ["a"])) if follow else None
            model = OutcomeModel(teacher=fitted(train, GaussianProcess()), mechanisms=mechanisms)
            found = model.what_if(asked(train, rows, "a", values)).difference
            squares.append(np.mean((found - truth(sample, rows, "a", values, follow=follow)) ** 2))
        errors.append(float(np.sqrt(np.mean(squares))))
    assert errors[1] < 0.6 * errors[0]
    assert errors[1] < 0.35


def test_effects_follow_only_when_they_are_to():
    sample, train = drawn(400, 5)
    mechanisms = fit_mechanisms(train, follower_inputs(GRAPH, train.names, ["a"]))
    model = OutcomeModel(teacher=fitted(train, GaussianProcess()), mechanisms=mechanisms)
    rows, values = np.arange(50), np.full(50, 1.0)
    found = model.what_if(asked(train, rows, "a", values))
    true = sample.after({"a": values}, rows=rows)
    assert np.sqrt(np.mean((found.x[:, 1] - true["b"]) ** 2)) < 0.25
    held = replace(model, mechanisms=None).what_if(asked(train, rows, "a", values))
    assert held.x[:, 1].tobytes() == train.x[rows, 1].tobytes()


def test_a_rows_draw_does_not_depend_on_who_else_is_asked():
    rng = np.random.default_rng(0)
    x = np.column_stack([rng.normal(size=80), rng.integers(0, 3, size=80)])
    x[:, 1] = (x[:, 0] + rng.normal(size=80) > 0) + 0.0
    columns = (Column(name="a", type="continuous"), Column(name="l", type="category", labels=("no", "yes")))
    train = table(x, x.sum(axis=1), columns)
    graph = from_edges(["a -> l", "{a l} -> y"], columns=("a", "l", "y"), target="y")
    mechanisms = fit_mechanisms(train, follower_inputs(graph, train.names, ["a"]))
    model = OutcomeModel(teacher=Known(lambda x: x.sum(axis=1)), mechanisms=mechanisms, seed=7)
    every = AskedRows(x=x, y=train.y, settings={0: x[:, 0] + 1.5}, luck=np.arange(80))
    some = np.array([70, 3, 41])
    few = AskedRows(x=x[some], y=train.y[some], settings={0: x[some, 0] + 1.5}, luck=some)
    assert model.what_if(few).x.tobytes() == model.what_if(every).x[some].tobytes()
    assert set((model.what_if(every).x - x)[:, 1].tolist()) == {
        0.0,
        1.0,
    }  # more of the cause never takes the label away


def test_intervals_of_ninety_percent_hold_nine_times_in_ten():
    """500 questions, one in each of 500 tables: a regression whose spread the refits must find."""
    covered = []
    for seed in range(500):
        rng = np.random.default_rng(seed)
        x = rng.normal(size=(40, 2))
        train = numbers(x, 1.5 * x[:, 0] - x[:, 1] + rng.normal(size=40))
        refits = Refits(learners=(Learner(),), weights=(1.0,), regressor=Linear(), fill="median")
        model = OutcomeModel(teacher=refits.fit(train, seed=seed), seed=seed)
        unseen = refits.unseen(train, seed=seed)
        own = model.teacher.predict(train.x)
        spread = Spread(train=train, predicted=own, residual=train.y - unseen, refits=refits, model=model, seed=seed)
        question = asked(train, [0], "a", [x[0, 0] + 2.0])
        refitted = np.array([spread.difference(question, number) for number in range(20)])
        low, high = interval(model.what_if(question).difference, refitted, 0.9)
        covered.append(bool(low[0] <= 3.0 <= high[0]))
    assert 0.85 <= np.mean(covered) <= 0.95


def test_rows_of_a_group_share_their_luck():
    _, train = drawn(60, 6)
    refits = Refits(learners=(Learner(),), weights=(1.0,), regressor=Linear(), fill="median")
    own = refits.fit(train, seed=1).predict(train.x)
    residual = train.y - own
    one_group = replace(train, groups=np.zeros(60, dtype=np.int64))
    model = OutcomeModel(teacher=refits.fit(train, seed=1))
    question = asked(train, [0], "a", [train.x[0, 0] + 1.0])
    plain, grouped = (
        Spread(train=rows, predicted=own, residual=residual, refits=refits, model=model, seed=1)
        for rows in (train, one_group)
    )
    # All residuals keep their sign, or all change it: least squares finds the same slope.
    again = {round(float(grouped.difference(question, number)[0]), 9) for number in range(6)}
    assert again == {round(float(model.what_if(question).difference[0]), 9)}
    assert len({round(float(plain.difference(question, number)[0]), 9) for number in range(6)}) == 6


def test_refits_are_the_run_s_kinds_with_its_weights():
    _, train = drawn(60, 7)
    refits = Refits.of(CrossfitTeacher(folds=3, repeats=4), {"linear": 1.0}, Linear(), "median")
    assert refits is not None
    assert [one.repeat for one in refits.learners] == [0]
    assert refits.fit(train, seed=1).predict(train.x).tolist() == fitted(train, Linear(), 1).predict(train.x).tolist()
    assert Refits.of(CrossfitTeacher(folds=3), {"mlp": 1.0}, Linear(), "median") is None


def test_values_beyond_the_data_are_told():
    _, train = drawn(200, 8)
    rows, values = np.array([0, 1]), np.array([0.0, 5.0])
    found = OutcomeModel(teacher=Known(lambda x: x.sum(axis=1))).what_if(asked(train, rows, "a", values))
    ((position, far),) = beyond_column(train, train.x[rows], found.x)
    assert (position, far.tolist()) == (0, [False, True])
    for source in (rows, None):
        assert off_data(train, train.x[rows], found.x, (), source, seed=1).tolist()[1]
    assert not off_data(train, train.x[rows], train.x[rows], (), rows, seed=1).any()


def test_average_effects_are_those_of_the_function():
    rng = np.random.default_rng(1)
    x = np.column_stack(
        [rng.normal(size=300), rng.integers(0, 3, 300), rng.integers(0, 2, 300), rng.integers(0, 9, 300)]
    )
    columns = (
        Column(name="slope", type="continuous"),
        Column(name="ward", type="category", labels=("north", "south", "west")),
        Column(name="treated", type="boolean"),
        Column(name="count", type="integer"),
    )
    x[:200, 1] = 1.0
    train = table(x, np.zeros(300), columns)
    bonus = np.array([0.5, 0.0, -1.0])
    g = Known(lambda x: x[:, 0] * (1 + x[:, 2]) + bonus[x[:, 1].astype(int)] + 2 * x[:, 3] + 4 * x[:, 2])
    model = OutcomeModel(teacher=g)
    found = {(one.name, one.label): one for one in average_effects(train, model, train.names)}
    assert found["slope", ""].mean == pytest.approx(1 + x[:, 2].mean())
    assert found["slope", ""].spread == pytest.approx(x[:, 2].std())
    assert found["count", ""].mean == pytest.approx(2.0)
    assert {key: one.against for key, one in found.items() if one.label} == {
        ("ward", "north"): "south",
        ("ward", "west"): "south",
        ("treated", "true"): "false",
    }
    assert found["ward", "north"].mean == pytest.approx(0.5)
    assert found["ward", "west"].mean == pytest.approx(-1.0)
    assert found["treated", "true"].mean == pytest.approx(4 + x[:, 0].mean())


def test_an_average_stays_inside_the_data():
    seen = []

    def remember(x):
        seen.append(x[:, 0])
        return x[:, 0] ** 2

    train = numbers(np.linspace(0, 10, 50)[:, None], np.zeros(50))
    (found,) = average_effects(train, OutcomeModel(teacher=Known(remember)), ["a"])
    assert (np.concatenate(seen).min(), np.concatenate(seen).max()) == (0.0, 10.0)
    assert found.mean == pytest.approx(10.0, rel=0.02)


def test_a_teacher_is_asked_once_a_changed_row():
    """Where its own predictions are known, an answer costs one prediction, and an unchanged row none."""
    count = []
    g = Known(lambda x: count.append(len(x)) or x.sum(axis=1))
    _, train = drawn(100, 9)
    rows = asked(train, np.arange(100), "a", np.where(np.arange(100) < 30, train.x[:, 0], 0.5))
    known = replace(rows, predicted=train.x.sum(axis=1))
    first = OutcomeModel(teacher=g).what_if(known)
    assert count == [70]
    second = OutcomeModel(teacher=g).what_if(rows)
    assert count == [70, 70, 70]
    assert first.y.tobytes() == second.y.tobytes()


def test_a_teacher_of_several_is_one_model():
    members = (Known(lambda x: x[:, 0]), Known(lambda x: 3 * x[:, 0]))
    teacher = Teacher(kind="committee", members=members, in_sample=np.empty(0), out_of_fold=None, weights=(0.75, 0.25))
    _, train = drawn(10, 1)
    found = OutcomeModel(teacher=teacher).what_if(asked(train, np.arange(10), "a", train.x[:, 0] + 1))
    np.testing.assert_allclose(found.difference, 1.5)


@pytest.mark.parametrize("seed", range(8))
def test_the_example_of_a_question_lies_among_the_data(seed):
    rng = np.random.default_rng(seed)
    length, width = rng.normal(size=(2, 150))
    area = length + width + rng.normal(0, 0.2, 150)  # tied to both: one standard deviation more is often off the data
    train = numbers(np.column_stack([area, length, width]), area + rng.normal(size=150))
    classes = dict.fromkeys(train.names, "cause")
    row, feature, step = example_change(train, classes, seed=seed)
    x = train.x[[row]]
    changed = x.copy()
    changed[0, feature] += step
    assert step > 0
    assert changed[0, feature] <= train.x[:, feature].max()
    assert not list(beyond_column(train, x, changed))
    assert not off_data(train, x, changed, (), np.array([row]), seed=seed).any()


def test_the_example_asks_a_cause_first_and_nothing_that_is_blocked():
    rng = np.random.default_rng(0)
    train = numbers(rng.normal(size=(60, 3)), rng.normal(size=60))
    first, second, third = train.names
    asked = example_change(train, {first: "blocked", second: "irrelevant", third: "cause"}, seed=0)
    assert asked is not None
    assert asked[1] == 2
    assert example_change(train, dict.fromkeys(train.names, "blocked"), seed=0) is None
