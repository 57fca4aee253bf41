"""Rules between columns: how they are read, that every new row keeps them, and what is said of rows that do not."""

import numpy as np
import pytest
from counterfactual_parts import table

from crda_spec.counterfactual.act import act
from crda_spec.counterfactual.generation import Generation, generate_block
from crda_spec.counterfactual.perturbation import Perturbation
from crda_spec.counterfactual.policies import Interpolate, Jitter, Resample
from crda_spec.counterfactual.predict import LabelRule
from crda_spec.counterfactual.rules import ListedCombinations, Rules
from crda_spec.records import Column

STAYS = (
    Column(name="start", type="integer"),
    Column(name="end", type="integer"),
    Column(name="body mass", type="continuous"),
    Column(name="ward", type="category", labels=("north", "south", "west")),
    Column(name="pregnant", type="boolean"),
)
NAMES = tuple(column.name for column in STAYS)


def stays(n, *, seed=0):
    """Stays in hospital: nobody leaves before coming, and only the south has pregnant patients."""
    rng = np.random.default_rng(seed)
    start, ward = rng.integers(0, 300, n), rng.integers(0, 3, n)
    x = [start, start + rng.integers(0, 20, n), rng.uniform(18, 40, n), ward, (ward == 1) & (rng.random(n) < 0.5)]
    return table(np.column_stack(x), rng.normal(size=n), STAYS)


def moved(train, rules, *, default=None, **more):
    perturbation = Perturbation(default=default or Jitter(sd=0.5), rules=rules, **more)
    return act(train, list(train.names), perturbation, factor=4.0, seed=3, index=(0,))


def test_without_rules_rows_break_them_and_with_rules_no_row_does():
    train = stays(60)
    rules = Rules(hold=("start <= end", "`body mass` < 45"))
    free = moved(train, Rules())
    assert (free.x[:, 0] > free.x[:, 1]).any()
    assert (free.x[:, 2] >= 45).any()
    assert (free.rule_redrawn, free.rule_dropped) == (0, 0)
    kept = moved(train, rules)
    assert (kept.x[:, 0] <= kept.x[:, 1]).all()
    assert (kept.x[:, 2] < 45).all()
    assert len(kept.x) + kept.rule_dropped == 240
    assert kept.rule_redrawn > 40
    assert (kept.redrawn, kept.dropped) == (0, 0)
    again = moved(train, rules)
    assert again.x.tobytes() == kept.x.tobytes()
    same = (free.x[:, 0] <= free.x[:, 1]) & (free.x[:, 2] < 45)
    fine = free.x[same]
    assert {row.tobytes() for row in fine} <= {row.tobytes() for row in kept.x}  # rows that keep the rules stay


def test_only_combinations_that_occur_or_that_are_listed():
    train, pair = stays(60), ("ward", "pregnant")
    free = moved(train, Rules(), default=Resample())
    assert ((free.x[:, 3] != 1) & (free.x[:, 4] == 1)).any()
    for allowed in (pair, ListedCombinations(columns=pair, rows=(("south", True), ("south", False), ("west", False)))):
        rules = Rules(allowed=(allowed,))
        part = train if allowed is pair else train.take(np.flatnonzero(train.x[:, 3] != 0))
        assert list(rules.misfits(part)) == []
        kept = moved(part, rules, default=Resample())
        assert not ((kept.x[:, 3] != 1) & (kept.x[:, 4] == 1)).any()
        assert kept.rule_redrawn > 0


def test_what_occurs_is_asked_of_the_folds_rows_alone():
    train = stays(60)
    fold = train.take(np.flatnonzero(train.x[:, 3] != 2))
    learnt = Rules(allowed=(("ward", "pregnant"),)).on(fold)
    (west,) = np.flatnonzero(train.x[:, 3] == 2)[:1]
    assert learnt.broken(train.x[[west]]).tolist() == [True]


def mixtures(n):
    shares = np.random.default_rng(1).dirichlet([2.0, 2.0, 2.0], n) * 100
    return table(shares, np.zeros(n), [Column(name=name, type="continuous") for name in "abc"])


@pytest.mark.parametrize(("tolerance", "left"), [(0.0, 0.0), (5.0, 0.5), (500.0, 1.0)])
def test_a_sum_holds_within_its_tolerance(tolerance, left):
    train, text = mixtures(50), "a + b + c == 100"
    rules = Rules(hold=(text,), tolerance=tolerance)
    assert list(rules.misfits(train)) == []  # rounding breaks nothing
    made = moved(train, rules, default=Jitter(sd=0.5))
    assert (np.abs(made.x.sum(axis=1) - 100) <= tolerance + 1e-6).all()
    assert len(made.x) / 200 >= left
    assert len(made.x) + made.rule_dropped == 200
    # A policy that keeps linear ties keeps the sum by itself.
    whole = moved(train, rules, default=Interpolate())
    assert (whole.rule_dropped, whole.rule_redrawn) == (0, 0)


def test_a_row_with_a_missing_cell_cannot_be_judged():
    train = stays(30)
    x = train.x.copy()
    x[0, 1], x[1, 3] = np.nan, np.nan
    learnt = Rules(hold=("end < start",), allowed=(("ward", "pregnant"),)).on(train)
    (_, condition), (_, combination) = learnt.broken_by_rule(x)
    assert condition.tolist() == [False, *[True] * 29]
    assert combination.tolist() == [False] * 30


def test_labels_are_compared_by_label_and_rules_can_be_joined():
    train = stays(60)
    rules = Rules(hold=("where(ward == 'south', 1, 0) >= pregnant", "(start >= 0) * (end < 400)"))
    assert list(rules.misfits(train)) == []
    made = moved(train, rules, default=Resample())
    assert not ((made.x[:, 3] != 1) & (made.x[:, 4] == 1)).any()


def test_a_feature_with_a_rule_is_never_resampled_whatever_the_rest_does():
    rules = Rules(hold=("start <= end",))
    assert Perturbation(rules=rules).free(NAMES) == ("body mass", "ward", "pregnant")
    assert rules.names == ("start", "end")
    assert Rules(hold=("`body mass` < 60",), allowed=(("ward", "pregnant"),)).names == ("body mass", "ward", "pregnant")


class Zero:
    def predict(self, x):
        return np.zeros(len(x))


def test_generate_keeps_the_rules_and_leaves_out_what_is_made_of_rows_that_break_them():
    train = stays(60)
    generation = Generation(
        train=train,
        noise=np.zeros(60),
        teacher=Zero(),
        scale=None,
        moved=("body mass", "ward"),
        perturbation=Perturbation(default=Jitter(), rules=Rules(hold=("start <= end",))),
        rule=LabelRule(retention=0.0, weight=1.0, draw="none", basis="support"),
        seed=1,
    )
    x = stays(20, seed=9).x.copy()
    x[:5, 0] = x[:5, 1] + 1
    made = generate_block(generation, x, None, number=0, quota=40)
    assert made.action.rule_dropped == 10
    assert set(made.action.source) == set(range(5, 20))


BROKEN = [
    ("start <= ende", "ende (column 10) is no feature; did you mean 'end'?"),
    ("start <= end and end < 9", "start <= end and end < 9 (column 1) is not part of the equation language; multiply "),
    ("0 < start < end", "0 < start < end (column 1) is not part of the equation language; multiply two comparisons"),
    ("start + end", "start + end (column 1) is no comparison; compare it: start <= end, bmi < 60, a + b == 100"),
    ("1 < 2", "1 < 2 (column 1) names no column; compare columns: start <= end"),
    ("ward == 'nort'", "ward == 'nort' (column 1) compares labels that are never equal; did you mean 'north'?"),
    ("ward < 'north'", "ward < 'north' (column 1) asks for an order, and labels have none; use == or !="),
    ("ward == 1", "ward == 1 (column 1) compares a label with a number; compare a category with a quoted label"),
    ("`body mas` < 3", "`body mas` (column 1) is no feature; did you mean 'body mass'?"),
    ("`body mass` < smal", "smal (column 15) is no feature; features: start, end, body mass, ward, pregnant"),
    (
        "body mass < 3",
        "'body mass < 3' cannot be read at column 6; write it like start <= end; a name of several words",
    ),
    ("start < normal(0, 1)", "normal(0, 1) (column 9) is a draw, and a rule has no chance in it; compare columns only"),
    ("pregnant == true", "true (column 13) is no feature; write 1"),
    ("start.real < 1", "start.real (column 1) is not part of the equation language; use + - * / **, one of "),
    ("__import__('os') < 1", "__import__ (column 1) is no function of the equation language"),
]


@pytest.mark.parametrize(("text", "message"), BROKEN, ids=[text for text, _ in BROKEN])
def test_a_rule_that_cannot_be_read(text, message):
    (complaint,) = Rules(hold=(text,)).misfits(stays(30))
    assert f"{complaint.what}; {complaint.hint}".startswith(message)
    assert complaint.path == "perturbation.rules.hold.0"


def test_what_is_wrong_is_known_before_a_row_is_read_as_far_as_names_tell():
    wrong = Rules(
        hold=("start <= ende", "ward == 'nort'", "bmi <"),
        allowed=(("ward",), ("ward", "sex"), ListedCombinations(columns=("ward", "pregnant"), rows=(("north",),))),
    )
    assert [(one.path, one.what) for one in wrong.complaints(NAMES)] == [
        ("perturbation.rules.hold.0", "ende (column 10) is no feature"),
        ("perturbation.rules.hold.2", "'bmi <' cannot be read"),
        ("perturbation.rules.allowed.0", "a combination has at least 2 columns, got 1"),
        ("perturbation.rules.allowed.1", "there is no feature 'sex'"),
        ("perturbation.rules.allowed.2.rows.0", "['north'] has 1 value for 2 columns"),
    ]
    (idle,) = Rules(hold=("start < end",), tolerance=0.1).complaints(NAMES)
    assert (idle.path, idle.what) == (
        "perturbation.rules.tolerance",
        "tolerance is read only by ==, <= and >=, and no rule has one",
    )


def test_combinations_that_do_not_suit_their_columns():
    listed = ListedCombinations(columns=("ward", "pregnant"), rows=(("nort", True), ("north", 1)))
    wrong = Rules(allowed=(listed, ("ward", "body mass")))
    assert [f"{one.what}; {one.hint}" for one in wrong.misfits(stays(30))] == [
        "'nort' is no value of 'ward'; did you mean 'north'?",
        "1 is no value of 'pregnant'; the column is boolean",
        (
            "'body mass' is continuous: hardly any of its combinations occurs twice; take labels, truths or whole "
            "numbers, or compare numbers under perturbation.rules.hold"
        ),
    ]


def test_a_rule_that_real_rows_break_is_none():
    train = stays(30)
    x = train.x.copy()
    x[[3, 7, 8, 9, 20, 21, 29], 1] = -1
    (complaint,) = Rules(hold=("start <= end",)).misfits(table(x, train.y, STAYS))
    assert (complaint.code, complaint.path) == ("rule-broken", "perturbation.rules.hold.0")
    assert complaint.what == "7 training rows break the rule 'start <= end': rows 4, 8, 9, 10, 21 and 2 more"
    assert complaint.hint == "repair these cells, or weaken the rule until every real row keeps it"
