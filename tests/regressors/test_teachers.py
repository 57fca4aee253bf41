"""The teachers: who is asked, with which weight, and who has not seen what."""

from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from regressor_parts import Spy, committee, line, numbered, row_numbers, table
from scipy.optimize import minimize

from crda_spec.data.folds import Division, folds
from crda_spec.errors import DataError
from crda_spec.regressors import EarlyStopping, Fitter, Knn, Linear, RandomForest, Ridge, Svr
from crda_spec.regressors.teachers import BaggedTeacher, CrossfitTeacher, FoldContext, SingleTeacher
from crda_spec.regressors.teachers.bagged import bags
from crda_spec.regressors.teachers.committee import stacking_weights
from crda_spec.regressors.teachers.fold_models import fold_context
from crda_spec.seeds import stream

RULES = [
    SingleTeacher(),
    CrossfitTeacher(folds=4),
    CrossfitTeacher(folds=3, repeats=2),
    CrossfitTeacher(),
    CrossfitTeacher(repeats=2),
    BaggedTeacher(members=4),
    committee(None, Ridge(), Knn(), folds=3),
    committee(None, Ridge(), Knn()),
]


def gate_of(train, k=5, *, outer=None, seed=0):
    """The gate's folds in these rows, as a run would draw them."""
    held = folds(len(train), k, rng=stream(seed, "gate-folds"), groups=train.groups)
    return fold_context(Division(held=held, seed=seed), len(train), outer)


def taught(rule, train, *, regressor=None, seed=0, index=(0,)):
    fitter = Fitter(regressor or RandomForest(n_estimators=5))
    plain = fitter.fit(train, seed=1)
    return rule.teach(train, fitter, plain, replace(gate_of(train), seed=seed, index=index)), fitter


@pytest.mark.parametrize("rule", RULES, ids=repr)
def test_every_teacher_keeps_the_familys_contract(rule):
    train = line(40)
    teacher, fitter = taught(rule, train)
    again, _ = taught(rule, train)
    assert fitter.fits == 1 + rule.fits(5)
    assert teacher.kind == rule.kind
    assert len(teacher.members) == len(teacher.weights) == len(teacher.names) == len(set(teacher.names))
    assert all(weight > 0 for weight in teacher.weights)
    assert sum(teacher.weights) == pytest.approx(1.0)
    assert sum(family.weight for family in teacher.families) == pytest.approx(1.0)
    assert sum(family.fitted for family in teacher.families) == max(1, rule.fits(5))
    np.testing.assert_allclose(teacher.in_sample, teacher.predict(train.x), rtol=1e-12)
    x = line(9, seed=3).x
    words = [weight * member.predict(x) for weight, member in zip(teacher.weights, teacher.members, strict=True)]
    np.testing.assert_allclose(teacher.predict(x), np.sum(words, axis=0), rtol=1e-12)
    assert (teacher.out_of_fold is not None) == rule.predicts_unseen
    assert teacher.predict(x).tobytes() == again.predict(x).tobytes()
    if rule.predicts_unseen:
        assert teacher.out_of_fold.tobytes() == again.out_of_fold.tobytes()
        worse = np.mean((train.y - teacher.out_of_fold) ** 2), np.mean((train.y - teacher.in_sample) ** 2)
        assert worse[0] > worse[1]


@pytest.mark.parametrize("rule", [one for one in RULES if one.kind in ("crossfit", "bagged")], ids=repr)
@pytest.mark.parametrize("grouped", [False, True])
def test_a_rows_own_outcome_does_not_reach_its_out_of_fold_prediction(rule, grouped):
    groups = np.arange(30) // 2 if grouped else None
    train = numbered(30, groups=groups)
    for row in (0, 17, 29):
        together = groups == groups[row] if grouped else np.arange(30) == row
        y = train.y.copy()
        y[together] = 1e6
        changed = table(train.x, y, groups=groups)
        said, said_again = (taught(rule, rows)[0] for rows in (train, changed))
        assert said.out_of_fold[together].tobytes() == said_again.out_of_fold[together].tobytes()
        assert said.out_of_fold[~together].tobytes() != said_again.out_of_fold[~together].tobytes()


def test_repeats_start_the_gates_folds_from_other_seeds_and_draw_folds_of_their_own_anew():
    train = numbered(30)
    for rule, same in ((CrossfitTeacher(repeats=2), True), (CrossfitTeacher(folds=5, repeats=2), False)):
        spy = Spy()
        teacher, _ = taught(rule, train, regressor=spy)
        designs = zip(teacher.members, spy.designs[1:], strict=True)
        rows = [frozenset(row_numbers(one.encoder, design.x)) for one, design in designs]
        assert len(set(spy.seeds)) == 11
        assert (set(rows[:5]) == set(rows[5:])) is same
        unseen = np.array([[row not in seen for row in range(30)] for seen in rows])  # (members, rows)
        assert unseen[:5].sum(axis=0).tolist() == unseen[5:].sum(axis=0).tolist() == [1] * 30
        words = np.array([[one.predict(train.x[:1])[0]] for one in teacher.members])
        np.testing.assert_allclose(teacher.out_of_fold, (unseen * words).sum(axis=0) / 2, rtol=1e-9)
        assert teacher.names[0] == "spy without fold 1"
        assert teacher.names[5] == "spy without fold 1, repeat 2"
        assert [(one.name, one.fitted, one.weight) for one in teacher.families] == [("spy", 10, 1.0)]


def test_a_teacher_that_follows_the_gate_must_be_told_its_folds():
    train = line(20)
    fitter = Fitter(Ridge())
    with pytest.raises(ValueError, match=r"^a teacher whose folds are the gate's must know the gate's folds$"):
        CrossfitTeacher().teach(train, fitter, fitter.fit(train, seed=0), FoldContext(seed=0))


@given(units=st.integers(2, 40), count=st.integers(2, 6), seed=st.integers(0, 10_000))
def test_every_unit_is_missing_from_a_bag_and_every_bag_has_its_size(units, count, seed):
    drawn = bags(units, count, rng=stream(seed, "bags"))
    assert [len(bag) for bag in drawn] == [units] * count
    assert all(bag.min() >= 0 and bag.max() < units for bag in drawn)
    present = np.array([np.isin(np.arange(units), bag) for bag in drawn])
    assert not present.all(axis=0).any()
    again = bags(units, count, rng=stream(seed, "bags"))
    assert [bag.tolist() for bag in again] == [bag.tolist() for bag in drawn]


def test_only_units_in_all_bags_are_taken_out_of_one():
    """With many bags that is nobody, and a bag is a plain bootstrap sample: a unit is missing with chance 1/e."""
    drawn = bags(200, 60, rng=stream(0, "bags"))
    assert [bag.tolist() for bag in drawn] == stream(0, "bags").integers(0, 200, size=(60, 200)).tolist()
    missing = np.mean([1 - len(np.unique(bag)) / 200 for bag in drawn])
    assert missing == pytest.approx(np.exp(-1), abs=0.02)


@pytest.mark.parametrize(
    ("units", "count", "message"),
    [
        (
            1,
            3,
            (
                "counterfactual.teacher: 3 bags drawn from 1 row (or groups) cannot leave each of them out; "
                "use teacher: {kind: single}, or more data"
            ),
        ),
        (
            9,
            1,
            (
                "counterfactual.teacher.members: 1 bag drawn from 9 rows (or groups) cannot leave each of them out; "
                "use at least 2 members"
            ),
        ),
    ],
)
def test_bags_that_cannot_leave_anything_out(units, count, message):
    with pytest.raises(DataError) as caught:
        bags(units, count, rng=stream(0, "bags"))
    assert str(caught.value) == message


@pytest.mark.parametrize("grouped", [False, True])
def test_out_of_bag_predictions_are_the_mean_of_the_members_that_did_not_draw_the_row(grouped):
    groups = np.arange(24) // 3 if grouped else None
    train, spy = numbered(24, groups=groups), Spy()
    teacher, _ = taught(BaggedTeacher(members=5), train, regressor=spy)
    drawn = [row_numbers(one.encoder, design.x) for one, design in zip(teacher.members, spy.designs[1:], strict=True)]
    for row in range(24):
        voices = [train.y[rows].mean() for rows in drawn if row not in rows]
        assert voices
        assert teacher.out_of_fold[row] == pytest.approx(np.mean(voices), rel=1e-9)
    if grouped:  # a group is drawn whole, as often as it is drawn
        assert all(len(set(np.bincount(rows, minlength=24)[groups == one])) == 1 for rows in drawn for one in range(8))
    assert len({rows.tobytes() for rows in drawn}) == 5
    assert teacher.names[4] == "spy on bag 5"


def test_copies_of_a_row_in_a_bag_are_watched_together_or_not_at_all():
    spy = Spy(early_stopping=EarlyStopping(validation=0.3))
    teacher, _ = taught(BaggedTeacher(members=4), numbered(30), regressor=spy)
    for member, design in zip(teacher.members, spy.designs[1:], strict=True):
        seen, watched = (set(row_numbers(member.encoder, x)) for x in (design.x, design.validation_x))
        assert watched
        assert not seen & watched


def least_error(y, predictions):
    """The best weights on the simplex, by a general solver."""
    columns = np.column_stack(predictions)
    start = np.full(columns.shape[1], 1.0 / columns.shape[1])
    found = minimize(
        lambda w: np.mean((y - columns @ w) ** 2),
        start,
        bounds=[(0, 1)] * len(start),
        constraints={"type": "eq", "fun": lambda w: w.sum() - 1},
    )
    return found.x


def test_the_committees_weights_are_nearly_the_best_on_the_simplex():
    """Normalised non-negative least squares is not the constrained optimum, but close where members are any good."""
    rng = np.random.default_rng(0)
    y = rng.normal(5.0, 2.0, size=400)
    predictions = [y + rng.normal(0, size, 400) for size in (0.5, 0.7, 3.0)]
    weights = stacking_weights(table(np.zeros((400, 1)), y), predictions)
    assert sum(weights) == pytest.approx(1.0)
    np.testing.assert_allclose(weights, least_error(y, predictions), atol=0.05)


@given(level=st.floats(-1e6, 1e6), unit=st.sampled_from([1e-6, 1.0, 1e6]), seed=st.integers(0, 50))
def test_the_targets_level_and_unit_do_not_change_the_weights(level, unit, seed):
    rng = np.random.default_rng(seed)
    y = rng.normal(size=60)
    predictions = [y + rng.normal(0, size, 60) for size in (0.3, 0.6, 1.0)]
    empty = np.zeros((60, 1))
    plain = stacking_weights(table(empty, y), predictions)
    moved = stacking_weights(table(empty, level + unit * y), [level + unit * one for one in predictions])
    np.testing.assert_allclose(moved, plain, atol=1e-3 if unit < 1 else 1e-6)


@pytest.mark.parametrize(
    ("predictions", "weights"),
    [
        pytest.param([[9.0, 1.0, 5.0], [8.0, 2.0, 5.0]], [0.5, 0.5], id="all-turned-round"),
        pytest.param([[1.0, 5.0, 9.0], [np.nan, 5.0, 9.0]], [1.0, 0.0], id="one-not-a-number"),
        pytest.param([[1e200, 5.0, 9.0], [1.0, 5.0, 9.0]], [0.0, 1.0], id="one-run-away"),
        pytest.param([[np.inf, 5.0, 9.0], [np.nan, 5.0, 9.0]], [0.5, 0.5], id="all-run-away"),
        pytest.param([[1.0, 5.0, 9.0], [5.0, 5.0, 5.0]], [1.0, 0.0], id="one-perfect-one-mean"),
    ],
)
def test_weights_at_the_edge(predictions, weights):
    found = stacking_weights(table(np.zeros((3, 1)), [1.0, 5.0, 9.0]), [np.array(one) for one in predictions])
    assert found == pytest.approx(weights, abs=1e-12)


def test_a_constant_target_gives_equal_weights():
    found = stacking_weights(table(np.zeros((3, 1)), [2.0, 2.0, 2.0]), [np.ones(3), np.zeros(3)])
    assert found == [0.5, 0.5]


@dataclass(frozen=True, slots=True)
class Counted:
    """Counts how often it is asked, once it is told to."""

    asked: list

    def predict(self, x):
        self.asked.append(len(x))
        return -5.0 * x[:, 0]


@dataclass(frozen=True, slots=True, eq=False)
class Useless:
    """Learns nothing and says wild things."""

    kind: ClassVar[str] = "useless"
    stopping: ClassVar[None] = None
    asked: list = field(default_factory=list)

    def train(self, design, *, seed):
        del design, seed
        return Counted(self.asked)


def test_a_kind_without_weight_is_not_asked_again():
    train, useless = line(60), Useless()
    teacher, fitter = taught(committee(None, useless, folds=4), train, regressor=Linear())
    assert [(one.name, one.fitted) for one in teacher.families] == [("linear", 4), ("useless", 4)]
    assert [one.weight for one in teacher.families] == [1.0, 0.0]
    assert len(teacher.members) == 4
    assert useless.asked == [15] * 4  # its out-of-fold predictions, and never again
    teacher.predict(train.x)
    assert useless.asked == [15] * 4
    assert fitter.fits == 9
    assert teacher.families[0].error < 0.1 < teacher.families[1].error


def test_the_committee_is_no_worse_than_its_best_kind_on_rows_it_has_not_seen():
    rng = np.random.default_rng(2)
    x = rng.uniform(-2, 2, size=(200, 3))
    train = table(x, np.sin(2 * x[:, 0]) + x[:, 1] + 0.1 * rng.normal(size=200))
    teacher, _ = taught(committee(None, Ridge(), Svr(), Knn(), folds=5), train)
    mixed = np.mean((train.y - teacher.out_of_fold) ** 2)
    assert mixed <= min(one.error for one in teacher.families)
    assert {one.name for one in teacher.families} == {"random_forest", "ridge", "svr", "knn"}


def test_two_of_a_kind_have_two_names():
    teacher, _ = taught(committee(Ridge(), Ridge(alpha=9.0), None, folds=3), line(30), regressor=Ridge(alpha=4.0))
    assert [one.name for one in teacher.families] == ["ridge", "ridge 2", "ridge 3"]
