"""What a row's weight does to a fit: to the rows trained on, to those watched, and to a committee's votes."""

from dataclasses import replace

import numpy as np
import pytest
from regressor_parts import Spy, line, numbered, quick, synthetic

from crda_spec.records import Table
from crda_spec.regressors import Design, EarlyStopping, Fitter, Mlp, Ridge, Xgboost
from crda_spec.regressors.teachers import BaggedTeacher, FoldContext
from crda_spec.regressors.teachers.committee import stacking_weights
from crda_spec.regressors.teachers.fold_models import unseen_error

WEIGHTS = np.array([1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 15.0])  # mean 6


def weighted(train: Table, weights) -> Table:
    return replace(train, weights=np.array(weights, dtype=float))


def design_of(train, extra=None, *, stopping=None, watch="real") -> Design:
    spy = Spy(early_stopping=stopping)
    Fitter(spy).fit(train, extra, seed=1, watch=watch)
    return spy.designs[0]


def test_a_table_keeps_its_weights():
    train = weighted(numbered(10), WEIGHTS)
    assert train.take(np.array([3, 1])).weights.tolist() == [4.0, 2.0]
    assert numbered(10).take(np.array([3, 1])).weights is None
    with pytest.raises(ValueError, match="read-only"):
        train.weights[0] = 2.0


def test_rows_weigh_relative_to_their_mean():
    assert design_of(weighted(numbered(10), WEIGHTS)).weight == pytest.approx(WEIGHTS / 6.0)


@pytest.mark.parametrize("constant", [1.0, 0.3, 7e40])
def test_equal_weights_are_none(constant):
    assert design_of(weighted(numbered(10), np.full(10, constant))).weight is None


def test_a_synthetic_row_weighs_as_its_source_times_its_own_weight():
    train = weighted(numbered(10), WEIGHTS)
    made = design_of(train, synthetic(train, [0, 9, 9], weight=0.5))
    assert made.weight == pytest.approx(np.array([*WEIGHTS, 0.5, 7.5, 7.5]) / 6.0)
    whole = design_of(train, synthetic(train, [0, 9, 9]))
    assert whole.weight == pytest.approx(np.array([*WEIGHTS, 1.0, 15.0, 15.0]) / 6.0)


def test_without_weights_a_design_is_what_it_was():
    train = numbered(10)
    assert design_of(train, synthetic(train, [0, 1])).weight is None
    assert design_of(train, synthetic(train, [0, 1], weight=0.5)).weight.tolist() == [1.0] * 10 + [0.5] * 2
    assert design_of(train, stopping=EarlyStopping(validation=0.3)).validation_weight is None


@pytest.mark.parametrize("watch", ["real", "synthetic"])
def test_watched_rows_weigh_too(watch):
    """Every row weighs its own y, so that weights can be read off the rows that are watched."""
    train = numbered(10)
    train = weighted(train, np.exp(train.y))
    made = synthetic(train, range(10), y=train.y)
    design = design_of(train, made, stopping=EarlyStopping(validation=0.3), watch=watch)
    sample_weight = train.weights / train.weights.mean()
    encoded = (train.y - train.y.mean()) / train.y.std()
    where = [int(np.abs(encoded - y).argmin()) for y in design.validation_y]
    assert design.validation_weight == pytest.approx(sample_weight[where])
    assert len(where) == 3


def bent(weight):
    """Watched rows of two sorts: one wants many steps of training, the other none."""
    x = np.linspace(-1.0, 1.0, 60)[:, None]
    watched = np.concatenate([x[::2], x[::2]])
    return Design(
        x=x,
        y=2.0 * x[:, 0],
        weight=None,
        validation_x=watched,
        validation_y=np.concatenate([2.0 * x[::2, 0], np.zeros(30)]),
        validation_weight=weight,
    )


@pytest.mark.parametrize("kind", ["mlp", "xgboost", "catboost"])
def test_early_stopping_listens_to_heavy_rows(kind):
    if kind == "catboost":
        pytest.importorskip("catboost")
    member = quick(kind)
    learnt, still = (
        float(np.abs(member.train(bent(weight), seed=1).predict(np.array([[0.9]]))[0]))
        for weight in (np.repeat([50.0, 1.0], 30), np.repeat([1.0, 50.0], 30))
    )
    assert learnt > 1.2
    assert still < 0.6 * learnt


@pytest.mark.parametrize("member", [Ridge(alpha=3.0), quick("xgboost"), quick("mlp"), quick("random_forest")])
def test_the_unit_of_weights_does_not_change_a_model(member):
    train = line(60)
    weights = np.random.default_rng(0).gamma(1.0, size=60) + 0.1
    light, heavy = (Fitter(member).fit(weighted(train, unit * weights), seed=2).predict(train.x) for unit in (1, 1024))
    np.testing.assert_allclose(light, heavy, rtol=1e-6, atol=1e-9)


def test_xgboost_copes_with_weights_that_single_precision_cannot_hold():
    train = weighted(line(60), np.where(np.arange(60) % 2, 1e-90, 3e-90))
    assert np.isfinite(Fitter(Xgboost(n_estimators=5)).fit(train, seed=1).predict(train.x)).all()


def test_the_mlp_of_equal_weights_is_the_plain_one_to_the_last_bit():
    train, member = line(60), Mlp(max_iter=5)
    one, two = (
        Fitter(member).fit(rows, seed=1).predict(train.x) for rows in (train, weighted(train, np.full(60, 3.0)))
    )
    assert one.tobytes() == two.tobytes()


def test_stacking_counts_rows_by_their_weight():
    """Whole weights are repetitions, and a heavy row decides who is listened to."""
    rng = np.random.default_rng(5)
    train = line(40)
    said = [train.y + rng.normal(size=40), train.y + rng.normal(size=40), rng.normal(size=40)]
    times = rng.integers(1, 5, size=40)
    once = stacking_weights(weighted(train, times), said)
    copies = stacking_weights(train.take(np.arange(40).repeat(times)), [one.repeat(times) for one in said])
    assert once == pytest.approx(copies)
    right_once = np.where(np.arange(40) < 5, train.y, train.y + 3.0)
    right_else = np.where(np.arange(40) < 5, train.y + 3.0, train.y)
    heavy = stacking_weights(weighted(train, np.where(np.arange(40) < 5, 1000.0, 1.0)), [right_once, right_else])
    assert heavy[0] > 0.9
    assert stacking_weights(train, [right_once, right_else])[0] < 0.5


def test_the_error_of_unseen_rows_is_weighted():
    train = weighted(line(4), [1.0, 1.0, 1.0, 7.0])
    off = train.y - np.array([0.0, 0.0, 0.0, 2.0])
    assert unseen_error(train, off) == pytest.approx(2.8)


def test_bags_keep_the_weights_of_their_rows():
    spy, train = Spy(), weighted(numbered(12), np.arange(1.0, 13.0))
    BaggedTeacher(members=2).teach(train, Fitter(spy), None, FoldContext(seed=0))
    assert all(design.weight is not None and design.weight.mean() == pytest.approx(1.0) for design in spy.designs)
