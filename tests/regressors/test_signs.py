"""Declared signs: trees hold them in every encoding, a committee hedges them, the rows are asked about them."""

from dataclasses import replace

import numpy as np
import pytest
from regressor_parts import quick, table

from crda_spec.audit.models import load_model, model_files
from crda_spec.gate.describe import describe_signs
from crda_spec.records import Column
from crda_spec.regressors import REGRESSORS, Fitter, HistGradientBoosting, Mlp, Ridge, Xgboost
from crda_spec.regressors.fit import fit_encoder
from crda_spec.regressors.teachers import CommitteeTeacher, FoldContext, Learner, Student

HOLDING = sorted(kind for kind, member in REGRESSORS.items() if member.holds_signs)
COLUMNS = (
    Column(name="ward", type="category", labels=("north", "south", "west")),
    Column(name="dose", type="continuous"),
    Column(name="site", type="category", labels=("a", "b")),
    Column(name="smoker", type="boolean"),
    Column(name="age", type="integer"),
)
SIGNS = (("age", "decreasing"), ("dose", "increasing"), ("smoker", "decreasing"))


def clinic(rows=160, *, seed=0):
    """The target goes up and down along dose and age, so that a model without signs does too."""
    rng = np.random.default_rng(seed)
    ward, site, smoker = (rng.integers(0, many, rows) for many in (3, 2, 2))
    dose, age = rng.uniform(0, 10, rows), rng.integers(20, 80, rows)
    y = np.sin(2 * dose) + 0.2 * dose + np.cos(age / 4) - age / 40 + smoker * (ward == 1) + rng.normal(0, 0.2, rows)
    x = np.column_stack([ward, dose, site, smoker, age]).astype(float)
    x[rng.random(x.shape) < 0.03] = np.nan
    return table(x, y, columns=COLUMNS)


def along(model, train, name):
    """(rows, points) predictions, all else held fixed: the feature's column as a grid."""
    (position,) = train.positions([name])
    low, high = np.nanmin(train.x[:, position]), np.nanmax(train.x[:, position])
    grid = np.array([0.0, 1.0]) if name == "smoker" else np.linspace(low - 1, high + 1, 60)
    x = np.repeat(train.x[:40], len(grid), axis=0)
    x[:, position] = np.tile(grid, 40)
    return model.predict(x).reshape(40, -1)


def obeys(model, train, signs=SIGNS):
    steps = {name: np.diff(along(model, train, name), axis=1) for name, _ in signs}
    return all((steps[name] >= 0).all() if sign == "increasing" else (steps[name] <= 0).all() for name, sign in signs)


def test_who_can_hold_signs_has_a_field_that_asks_for_them():
    assert HOLDING == ["catboost", "hist_gradient_boosting", "xgboost"]
    assert sorted(kind for kind, member in REGRESSORS.items() if "monotone" in member.model_fields) == HOLDING


@pytest.mark.parametrize("kind", HOLDING)
@pytest.mark.parametrize("columns", [None, (1, 2, 4)], ids=["all-columns", "a-boundary"])
def test_a_signed_model_never_goes_against_its_signs(kind, columns, tmp_path):
    """Whatever labels stand before a column, on a part of the columns too, trained once or twice, saved and read."""
    train, signs = clinic(), tuple(one for one in SIGNS if columns is None or one[0] != "smoker")
    fitter = Fitter(quick(kind))
    free = fitter.fit(train, seed=1, columns=columns)
    model = fitter.fit(train, seed=1, columns=columns, signs=SIGNS)
    assert not obeys(free, train, signs)
    assert obeys(model, train, signs)
    for name, data in model_files(model).items():
        (tmp_path / name).write_bytes(data)
    assert load_model(tmp_path).predict(train.x).tobytes() == model.predict(train.x).tobytes()


@pytest.mark.parametrize("kind", HOLDING)
def test_a_student_holds_them_only_if_it_says_so(kind):
    train, student = clinic(), quick(kind)
    asked = student.model_copy(update={"monotone": True}).with_signs(SIGNS)
    free, ignored, held = (Fitter(one).fit(train, seed=1) for one in (student, student.with_signs(SIGNS), asked))
    assert ignored.predict(train.x).tobytes() == free.predict(train.x).tobytes()
    assert obeys(held, train)
    again = asked.model_copy(update={"kind": kind})  # a search copies it with other settings
    assert again.signs == SIGNS


@pytest.mark.parametrize("kind", ["ridge", "random_forest"])
def test_who_cannot_hold_signs_is_left_alone(kind):
    train, fitter = clinic(60), Fitter(quick(kind))
    free, asked = (fitter.fit(train, seed=1, signs=signs).predict(train.x) for signs in ((), SIGNS))
    assert free.tobytes() == asked.tobytes()


def test_signs_stand_at_the_columns_that_a_model_sees():
    encoder = fit_encoder(clinic(), fill="median")
    names = [column.name for column in COLUMNS]
    assert encoder.encode_signs(SIGNS, names) == (0, 0, 0, 1, 0, 0, -1, -1)
    assert encoder.encode_signs((("elsewhere", "increasing"),), names) is None
    assert encoder.encode_signs((), names) is None


def test_a_model_that_is_kept_is_asked_for_with_its_signs():
    train, fitter = clinic(60), Fitter(quick("xgboost"), memo={})
    free, held = (fitter.fit(train, seed=1, signs=signs) for signs in ((), SIGNS))
    assert fitter.fit(train, seed=1, signs=SIGNS) is held
    assert fitter.fit(train, seed=1) is free
    assert (fitter.fits, fitter.reused) == (2, 2)


QUICK = HistGradientBoosting(max_iter=60, min_samples_leaf=10)
MEMBERS = (QUICK, Ridge())


def world(rows=150, *, seed=0):
    """Y goes up with x0, by a step, and down with x1; x2 is chance, x3 bends."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(-1, 1, size=(rows, 4))
    return table(x, 2.0 * (x[:, 0] > 0) - 1.5 * x[:, 1] + 2.0 * x[:, 3] ** 2 + rng.normal(0, 1.0, rows))


RIGHT = (("x0", "increasing"), ("x1", "decreasing"))
WRONG = (("x0", "increasing"), ("x1", "increasing"))
BENT = (("x3", "increasing"),)


def taught(train, signs, *, members=MEMBERS, boundary=None, student=QUICK):
    rule = CommitteeTeacher(members=members, folds=5, hedge=boundary is not None)
    holds = student.holds_signs and not student.monotone
    rule = rule.with_signs(signs, student_holds=holds).with_boundary(boundary)
    fitter = Fitter(student.with_signs(signs))
    teacher = rule.teach(train, fitter, fitter.fit(train, seed=0), FoldContext(seed=0))
    assert fitter.fits == 1 + rule.fits(5)
    return teacher


def test_each_kind_that_can_hold_signs_is_seated_once_more():
    teacher = taught(world(), RIGHT)
    names = [family.name for family in teacher.families]
    assert names == ["hist_gradient_boosting", "ridge", "hist_gradient_boosting with signs"]
    assert sum(family.weight for family in teacher.families) == pytest.approx(1.0)
    assert teacher.signs.weight == pytest.approx(teacher.families[-1].weight)
    assert teacher.signs.passed
    assert taught(world(), ()).signs is None
    assert taught(world(), RIGHT, members=(Ridge(), Ridge(alpha=9.0))).signs is None


def test_on_the_boundary_where_the_committee_is_hedged():
    teacher = taught(world(), RIGHT, boundary=(0, 1, 3))
    assert [family.name for family in teacher.families] == [
        "hist_gradient_boosting",
        "ridge",
        "hist_gradient_boosting on the boundary",
        "ridge on the boundary",
        "hist_gradient_boosting on the boundary with signs",
    ]
    bounded = sum(family.weight for family in teacher.families if "boundary" in family.name)
    assert teacher.trust.weight == pytest.approx(bounded)
    # Whether the graph is trusted is asked without the signs' help.
    without = taught(world(), (), boundary=(0, 1, 3)).trust
    assert replace(teacher.trust, weight=0.0) == replace(without, weight=0.0)


def test_the_seat_of_the_student_has_a_signed_one_beside_it_unless_it_holds_them_itself():
    seats = (Student(), Ridge())
    names = [family.name for family in taught(world(), RIGHT, members=seats).families]
    assert names == ["hist_gradient_boosting", "ridge", "hist_gradient_boosting with signs"]
    signed = QUICK.model_copy(update={"monotone": True})
    names = [family.name for family in taught(world(), RIGHT, members=(*seats, QUICK), student=signed).families]
    assert names[:3] == ["hist_gradient_boosting with signs", "ridge", "hist_gradient_boosting"]
    assert Learner().is_students
    assert not Learner(signs=RIGHT).is_students


def test_right_signs_do_not_hurt_and_a_wrong_one_costs_little():
    """Against the same committee without signs, on many new rows, mean of five tables."""
    new = world(3000, seed=99)
    losses = {
        name: np.mean([np.mean((new.y - taught(world(seed=seed), signs).predict(new.x)) ** 2) for seed in range(5)])
        for name, signs in (("none", ()), ("right", RIGHT), ("wrong", WRONG))
    }
    assert losses["right"] < 1.005 * losses["none"]
    assert losses["wrong"] < 1.01 * losses["none"]
    # What the wrong sign would cost a model that must hold it.
    models = (Fitter(QUICK).fit(world(), seed=0, signs=signs) for signs in ((), WRONG))
    free, held = (np.mean((new.y - model.predict(new.x)) ** 2) for model in models)
    assert held > 1.1 * free


def test_a_sign_that_the_rows_contradict_is_named():
    wrong = describe_signs(world(), WRONG)
    assert [(one.name, one.contradicted) for one in wrong] == [("x0", False), ("x1", True)]
    assert wrong[1].statistic < 0
    assert wrong[1].p_value <= wrong[1].adjusted <= 0.05
    assert not any(one.contradicted for one in describe_signs(world(), RIGHT))
    assert describe_signs(world(), ()) == ()
    (seen,) = describe_signs(clinic(400), (("smoker", "decreasing"),))
    assert seen.contradicted  # of the boolean's two values the larger one raises y


def test_a_feature_that_goes_both_ways_shows_in_what_the_signs_cost():
    assert not describe_signs(world(300), BENT)[0].contradicted
    assert not taught(world(300), BENT).signs.passed


def test_signs_of_features_without_effect_are_seldom_called_wrong():
    """The test's level is 0.05 for all signs together, and no effect is the hardest case of a right sign."""
    alarms = [
        any(one.contradicted for one in describe_signs(world(100, seed=seed), (("x2", "increasing"), *RIGHT)))
        for seed in range(100)
    ]
    assert np.mean(alarms) <= 0.09


def test_nothing_is_said_of_too_few_rows_or_of_a_constant():
    train = world(150)
    x = train.x.copy()
    x[:, 0] = 1.0
    flat = table(x, train.y)
    for rows in (train.take(np.arange(15)), flat):
        (found,) = describe_signs(rows, (("x0", "decreasing"),))
        assert (found.statistic, found.p_value, found.contradicted) == (0.0, 1.0, False)


def test_members_are_equal_to_the_student_whatever_signs_are_declared():
    """So that models are shared as without signs."""
    rule = CommitteeTeacher(members=(Xgboost(), Mlp())).with_signs(RIGHT, student_holds=True).with_student(Xgboost())
    assert [learner.regressor for learner in rule.all_learners] == [None, Mlp(), None]
    assert [learner.is_students for learner in rule.all_learners] == [True, False, False]
