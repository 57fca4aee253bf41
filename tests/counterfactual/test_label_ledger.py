"""Whose noise, at which size, and what was changed: every synthetic row follows from its ledger, to the last bit."""

import numpy as np
from counterfactual_parts import MIXED, mixed, numbers
from hypothesis import given
from hypothesis import strategies as st

from crda_spec.audit.tables import changed_cells
from crda_spec.counterfactual.abduct import Additive, LocationScale, abduct
from crda_spec.counterfactual.act import act
from crda_spec.counterfactual.perturbation import Perturbation
from crda_spec.counterfactual.policies import Jitter
from crda_spec.counterfactual.predict import LENDERS, LabelRule, matched_rows, predict_outcome
from crda_spec.records import NOBODY, Action, Teacher

MOVED = ("free", "count", "ward", "smoker")


class Sum:
    def predict(self, x):
        return np.nan_to_num(x).sum(axis=1) / 3.0


def made_of(train, *, noise=None, draw="own", retention=0.7, seed=0):
    said = Sum().predict(train.x) + 0.1
    teacher = Teacher(kind="crossfit", members=(Sum(),), in_sample=said, out_of_fold=said)
    abduction = abduct(train, teacher, residuals="out_of_fold", noise=noise or Additive())
    action = act(train, MOVED, Perturbation(default=Jitter()), factor=1.5, seed=seed, index=())
    rng = np.random.default_rng(seed)
    rule = LabelRule(retention=retention, weight=0.5, draw=draw)
    made = predict_outcome(teacher, action, abduction, train, rule, rng=rng)
    return made, abduction


@given(
    seed=st.integers(0, 2**32),
    noise=st.sampled_from([Additive(), LocationScale()]),
    draw=st.sampled_from(["own", "none", "matched"]),
    retention=st.sampled_from([0.0, 0.3, 1.0]),
)
def test_every_row_is_its_source_and_its_changed_cells_and_every_label_its_parts(seed, noise, draw, retention):
    train = mixed(40, seed=seed % 7)
    made, abduction = made_of(train, noise=noise, draw=draw, retention=retention, seed=seed)
    action = made.action
    row, column, (_, new) = changed_cells(action, train.x)
    again = train.x[action.source]
    again[row, column] = new
    assert again.tobytes() == action.x.tobytes()
    assert set(column.tolist()) <= set(train.positions(MOVED))
    scale = np.ones(len(made)) if made.scale is None else made.scale
    carries = made.noise_rows != NOBODY
    noise = np.where(carries, abduction.noise[made.noise_rows], 0.0)
    assert made.noise.tobytes() == noise.tobytes()
    assert made.y.tobytes() == (made.prediction + made.retention * (scale * made.noise)).tobytes()
    silent = draw == "none" or retention == 0.0
    assert (made.basis, made.draw) == ("certificate", "none" if silent else draw)
    assert made.retention == (0.0 if silent else retention)
    assert carries.any() != silent
    if silent:
        assert made.y.tobytes() == (Sum().predict(action.x) + 0.0).tobytes()


def test_bits_count_as_changes_and_missing_cells_do_not():
    real = np.array([[0.0, np.nan, 1.0]])
    action = Action(
        x=np.array([[-0.0, np.nan, 1.0], [0.0, 2.0, np.nan]]),
        source=np.array([0, 0]),
        moved=("a",),
        policies={},
        clipped={},
    )
    row, column, (old, new) = changed_cells(action, real)
    assert (row.tolist(), column.tolist()) == ([0, 1, 1], [0, 1, 2])
    np.testing.assert_array_equal(old, [0.0, np.nan, 1.0])
    np.testing.assert_array_equal(new, [-0.0, 2.0, np.nan])


def test_rows_stem_from_their_source_their_partner_and_whoever_lent_the_noise():
    train = mixed(40, missing=0.0)
    made, _ = made_of(train, draw="matched")
    assert (made.noise_rows != made.action.source).sum() > 30
    for row in (0, 7):
        watched = np.arange(40) == row
        wanted = (made.action.source == row) | (made.noise_rows == row)
        assert made.stems_from(watched).tolist() == wanted.tolist()
    none, _ = made_of(train, draw="none")
    last = np.arange(40) == 39  # NOBODY is no row, not even the last
    assert none.stems_from(last).tolist() == (none.action.source == 39).tolist()


def test_matched_rows_are_the_nearest_in_the_kept_features_and_in_no_other():
    rng = np.random.default_rng(0)
    train = numbers(np.column_stack([rng.normal(size=200), 100 * rng.normal(size=200)]), np.zeros(200))
    x = np.tile(train.x[:5], (400, 1))
    found = matched_rows(train, ["a"], x, rng=np.random.default_rng(1))
    for row in range(5):
        nearest = np.argsort(np.abs(train.x[:, 0] - train.x[row, 0]), kind="stable")[:LENDERS]
        assert set(found[row::5]) == set(nearest)
    anyone = matched_rows(train, [], x, rng=np.random.default_rng(1))
    assert set(anyone) == set(range(200))


def test_a_label_is_matched_by_the_same_label():
    train = mixed(300, missing=0.0)
    found = matched_rows(train, ["ward"], train.x, rng=np.random.default_rng(0))
    assert (train.x[found, 4] == train.x[:, 4]).all()
    names = [column.name for column in MIXED]
    few = train.take(np.arange(3))
    assert set(matched_rows(few, names, train.x, rng=np.random.default_rng(0))) == {0, 1, 2}
