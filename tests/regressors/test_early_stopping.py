"""Early stopping: the watched rows are real, the same in both arms, and nothing made from them is trained on."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from regressor_parts import Mean, Spy, line, numbered, row_numbers, synthetic

from crda_spec.regressors import Catboost, Design, EarlyStopping, Fitter, Mlp, Xgboost
from crda_spec.regressors._protocol import recorded_settings
from crda_spec.regressors.fit import fit_encoder
from crda_spec.regressors.mlp import Network


def designs_of_both_arms(train, extra, *, validation, seed):
    spy = Spy(early_stopping=EarlyStopping(validation=validation))
    fitter = Fitter(spy)
    plain = fitter.fit(train, seed=seed)
    fitter.fit(train, extra, seed=seed)
    return plain.encoder, *spy.designs


@given(
    n=st.integers(4, 60),
    validation=st.floats(0.05, 0.5),
    grouped=st.booleans(),
    seed=st.integers(0, 2**31),
    data=st.data(),
)
def test_both_arms_watch_the_same_real_rows_and_train_on_nothing_made_from_them(n, validation, grouped, seed, data):
    groups = np.array(data.draw(st.lists(st.integers(0, 9), min_size=n, max_size=n))) if grouped else None
    train = numbered(n, groups=groups)
    source = data.draw(st.lists(st.integers(0, n - 1), min_size=1, max_size=2 * n))
    extra = synthetic(train, source)
    encoder, plain, augmented = designs_of_both_arms(train, extra, validation=validation, seed=seed)
    if grouped and len(np.unique(groups)) < 4:
        assert plain.validation_x is None
        assert augmented.validation_x is None
        return
    watched, trained = row_numbers(encoder, plain.validation_x), row_numbers(encoder, plain.x)
    assert augmented.validation_x.tobytes() == plain.validation_x.tobytes()
    assert augmented.validation_y.tobytes() == plain.validation_y.tobytes()
    assert sorted([*watched, *trained]) == list(range(n))
    assert len(watched) >= 1
    assert len(trained) >= 1
    np.testing.assert_allclose(encoder.decode_target(plain.validation_y), train.y[watched])
    if grouped:
        assert not set(groups[watched]) & set(groups[trained])
    else:
        wanted = min(max(validation * n, 1), n - 1)  # one row at least on either side
        assert abs(len(watched) - wanted) <= 0.5 + 1e-9
    made = augmented.x[len(trained) :]
    assert augmented.x[: len(trained)].tobytes() == plain.x.tobytes()
    assert row_numbers(encoder, made).tolist() == [row for row in source if row not in set(watched.tolist())]


def test_another_seed_watches_other_rows():
    train = numbered(40)
    seen = set()
    for seed in range(5):
        encoder, plain, _ = designs_of_both_arms(train, synthetic(train, [0]), validation=0.2, seed=seed)
        seen.add(tuple(row_numbers(encoder, plain.validation_x).tolist()))
    assert len(seen) == 5


def test_a_table_of_three_rows_is_trained_on_whole():
    _, plain, augmented = designs_of_both_arms(numbered(3), synthetic(numbered(3), [1]), validation=0.3, seed=0)
    assert (len(plain.x), len(augmented.x)) == (3, 4)
    assert plain.validation_x is None


def test_without_early_stopping_all_rows_are_trained_on_and_synthetic_ones_keep_their_weight():
    train = numbered(6)
    spy = Spy()
    fitter = Fitter(spy)
    for weight in (1.0, 0.25):
        fitter.fit(train, synthetic(train, [0, 0, 5], weight=weight), seed=0)
    even, uneven = spy.designs
    assert even.weight is None
    assert uneven.weight.tolist() == [1.0] * 6 + [0.25] * 3
    assert (len(even.x), fitter.fits) == (9, 2)


@pytest.mark.parametrize("member", [Xgboost, Catboost, Mlp])
def test_members_stop_when_the_watched_rows_stop_improving(member):
    """With noise only, more rounds only overfit: a model that stops early stays nearer to the mean."""
    rng = np.random.default_rng(3)
    train = line(120, noise=0.0)
    noise = type(train)(
        features=train.features, target=train.target, row_ids=train.row_ids, x=train.x, y=rng.normal(size=120)
    )
    rounds = {Mlp: {"max_iter": 60}, Catboost: {"iterations": 300}, Xgboost: {"n_estimators": 300}}[member]
    spread = [
        Fitter(member(early_stopping=stopping, **rounds)).fit(noise, seed=1).predict(noise.x).std()
        for stopping in (EarlyStopping(rounds=5), None)
    ]
    assert spread[0] < 0.7 * spread[1]


@pytest.mark.parametrize("patience", [1, 5])
def test_xgboost_stops_after_its_patience_and_is_cut_at_the_best_round(patience):
    """Against the same trees without early stopping: the losses on the watched rows, round by round."""
    rng = np.random.default_rng(2)
    x, watched = rng.normal(size=(80, 3)), rng.normal(size=(40, 3))
    y, watched_y = (rows[:, 0] + rng.normal(size=len(rows)) for rows in (x, watched))
    design = Design(x=x, y=y, weight=None, validation_x=watched, validation_y=watched_y)
    settings = {"n_estimators": 150, "learning_rate": 0.3}
    whole = Xgboost(early_stopping=None, **settings).train(design, seed=3).trees
    losses = [
        float(np.mean((whole.inplace_predict(watched, iteration_range=(0, rounds)) - watched_y) ** 2))
        for rounds in range(1, 151)
    ]
    stopped = Xgboost(early_stopping=EarlyStopping(rounds=patience), **settings).train(design, seed=3)
    best = stopped.trees.num_boosted_rounds()
    assert 1 <= best < 150 - patience
    seen = losses[: best + patience]
    assert int(np.argmin(seen)) + 1 == best
    assert all(min(losses[last + 1 : last + 1 + patience]) < min(losses[: last + 1]) for last in range(best - 1))
    cut = whole.inplace_predict(watched, iteration_range=(0, best)).astype(np.float64)
    assert stopped.predict(watched).tobytes() == cut.tobytes()
    later = whole.inplace_predict(watched, iteration_range=(0, best + patience)).astype(np.float64)
    assert stopped.predict(watched).tobytes() != later.tobytes()


@given(
    n=st.integers(5, 40),
    validation=st.floats(0.1, 0.5),
    seed=st.integers(0, 2**31),
    weight=st.sampled_from([1.0, 0.5]),
    data=st.data(),
)
def test_watching_synthetic_rows_trains_on_every_real_row_and_on_nothing_that_is_watched(
    n, validation, seed, weight, data
):
    train = numbered(n)
    source = data.draw(st.lists(st.integers(0, n - 1), min_size=1, max_size=3 * n))
    extra = synthetic(train, source, weight=weight)
    spy = Spy(early_stopping=EarlyStopping(validation=validation))
    fitter = Fitter(spy)
    encoder = fitter.fit(train, seed=seed, watch="synthetic").encoder
    fitter.fit(train, extra, seed=seed, watch="real")
    fitter.fit(train, extra, seed=seed, watch="synthetic")
    plain, real, design = spy.designs
    aside = set(row_numbers(encoder, plain.validation_x))  # the plain arm has no synthetic row to watch
    if not aside & set(source):  # none was made from them: there is nothing else to watch
        assert design.x.tobytes() == real.x.tobytes()
        assert design.validation_x.tobytes() == real.validation_x.tobytes()
        return
    assert row_numbers(encoder, design.x[:n]).tolist() == list(range(n))
    assert row_numbers(encoder, design.x[n:]).tolist() == [row for row in source if row not in aside]
    assert row_numbers(encoder, design.validation_x).tolist() == [row for row in source if row in aside]
    if weight != 1.0:
        assert design.weight.tolist() == [1.0] * n + [0.5] * (len(design.x) - n)
    # As often, counted in steps, as the plain arm looks; where real rows are watched, once a pass in both arms.
    assert design.looks == max(1, round(len(design.x) / len(plain.x)))
    assert (plain.looks, real.looks) == (1, 1)


def test_watched_synthetic_rows_carry_the_teachers_word_and_no_noise():
    """Their sources are trained on: a label with the source's noise would praise a model that learnt it by heart."""
    train = numbered(20)
    made = synthetic(train, range(20), y=np.arange(20) + 0.5)
    noisy = replace(made, prediction=np.arange(20.0))
    spy = Spy(early_stopping=EarlyStopping(validation=0.25))
    encoder = Fitter(spy).fit(train, noisy, seed=3, watch="synthetic").encoder
    (design,) = spy.designs
    labels = np.rint(encoder.decode_target(design.validation_y) * 2) / 2
    assert labels.tolist() == row_numbers(encoder, design.validation_x).tolist()
    trained = np.rint(encoder.decode_target(design.y[20:]) * 2) / 2
    assert trained.tolist() == (row_numbers(encoder, design.x[20:]) + 0.5).tolist()


def test_without_early_stopping_there_is_nothing_to_watch():
    train = numbered(12)
    spy = Spy()
    Fitter(spy).fit(train, synthetic(train, range(12)), seed=3, watch="synthetic")
    assert (len(spy.designs[0].x), spy.designs[0].validation_x) == (24, None)


class Refitting(Spy):
    """The same, and it trains again when it is asked to."""

    def refit(self, stopped, design, *, seed):
        assert isinstance(stopped, Mean)
        return self.train(design, seed=seed)


def fits_of_both_arms(train, extra, rule, *, watch):
    spy = Refitting(early_stopping=rule)
    fitter = Fitter(spy)
    encoder = fitter.fit(train, seed=5).encoder
    plain, spy.designs[:] = list(spy.designs), []
    fitter.fit(train, extra, seed=5, watch=watch)
    return fitter, encoder, plain, spy.designs


@pytest.mark.parametrize("watch", ["real", "synthetic"])
def test_by_default_the_last_fit_of_either_arm_has_every_real_row(watch):
    """Equal footing: no arm may train on rows that the other only watches."""
    train, extra = numbered(40), synthetic(numbered(40), range(40))
    fitter, encoder, plain, augmented = fits_of_both_arms(train, extra, EarlyStopping(), watch=watch)
    for designs in (plain, augmented):
        assert row_numbers(encoder, designs[-1].x[:40]).tolist() == list(range(40))
    assert (len(plain), plain[-1].validation_x, len(plain[-1].x)) == (2, None, 40)
    # Real rows have stopped the augmented model: it is trained again, on all that was made from them too.
    assert [len(one.x) for one in augmented] == ([72, 80] if watch == "real" else [76])
    assert (fitter.fits, fitter.refits) == (2, 2 if watch == "real" else 1)


@pytest.mark.parametrize(
    ("rows", "rule"), [(40, EarlyStopping(refit=False)), (40, None), (3, EarlyStopping())], ids=["off", "none", "few"]
)
def test_nothing_is_trained_twice_where_no_row_was_set_aside_or_nobody_asks(rows, rule):
    train = numbered(rows)
    fitter, _, plain, augmented = fits_of_both_arms(train, synthetic(train, range(rows)), rule, watch="real")
    assert (len(plain), len(augmented), fitter.fits, fitter.refits) == (1, 1, 2, 0)


def test_a_regressor_that_cannot_train_again_is_left_as_early_stopping_left_it():
    spy = Spy(early_stopping=EarlyStopping())
    fitter = Fitter(spy)
    fitter.fit(numbered(40), seed=5)
    assert (len(spy.designs), fitter.fits, fitter.refits) == (1, 1, 0)
    assert recorded_settings(spy)["stopping"]["refit"] is False


@pytest.mark.parametrize("kind", [Xgboost, Catboost])
def test_trees_are_grown_again_on_all_rows_for_the_rounds_that_were_best(kind):
    if kind is Catboost:
        pytest.importorskip("catboost")
    train = line(80, noise=1.0)
    rounds = "n_estimators" if kind is Xgboost else "iterations"
    settings = {"learning_rate": 0.3, rounds: 60}
    stopped = Fitter(kind(early_stopping=EarlyStopping(rounds=5, refit=False), **settings)).fit(train, seed=3)
    trees = stopped.estimator
    best = trees.trees.num_boosted_rounds() if kind is Xgboost else trees.tree_count_
    assert 1 <= best < 60
    again = Fitter(kind(early_stopping=EarlyStopping(rounds=5), **settings)).fit(train, seed=3)
    whole = Fitter(kind(early_stopping=None, **{**settings, rounds: best})).fit(train, seed=3)
    assert again.predict(train.x).tobytes() == whole.predict(train.x).tobytes()
    assert again.predict(train.x).tobytes() != stopped.predict(train.x).tobytes()


def test_a_network_is_trained_again_on_all_rows_for_no_more_epochs_than_were_best():
    """Of the weights after each epoch it keeps those that err least on the rows it trains on."""
    train = line(80, noise=1.0)
    first = Fitter(Mlp(early_stopping=EarlyStopping(rounds=5, refit=False))).fit(train, seed=3)
    again = Fitter(Mlp(early_stopping=EarlyStopping(rounds=5))).fit(train, seed=3)
    assert 1 <= again.estimator.epochs <= first.estimator.epochs
    errors = []
    for epochs in range(1, first.estimator.epochs + 1):
        longer = Mlp(max_iter=epochs, early_stopping=EarlyStopping(rounds=1000)).refit(
            Network((), (), epochs=epochs), whole_design(train), seed=3
        )
        errors.append(float(np.mean((longer.predict(whole_design(train).x) - whole_design(train).y) ** 2)))
    encoder = again.encoder
    error = float(np.mean((encoder.encode_target(again.predict(train.x)) - encoder.encode_target(train.y)) ** 2))
    assert error == pytest.approx(min(errors))


def whole_design(train):
    encoder = fit_encoder(train, fill="median")
    return Design(
        x=encoder.encode(train.x),
        y=encoder.encode_target(train.y),
        weight=None,
        validation_x=None,
        validation_y=None,
    )
