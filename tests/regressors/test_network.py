"""Our network against scikit-learn's, step by step, and against finite differences."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.neural_network import MLPRegressor

from crda_spec.regressors._protocol import Design, EarlyStopping
from crda_spec.regressors.mlp import Mlp, Network, Trainer, initial_network


@pytest.fixture
def rows():
    rng = np.random.default_rng(5)
    x = rng.normal(size=(70, 4))
    return x, np.sin(x[:, 0]) + x[:, 1] * x[:, 2] + 0.1 * rng.normal(size=70)


def start_of(oracle, x, y):
    """The weights that scikit-learn starts from: a step of size 1e-300 leaves them where they are."""
    still = MLPRegressor(**{**oracle.get_params(), "learning_rate_init": 1e-300}).partial_fit(x, y)
    return Network(tuple(still.coefs_), tuple(still.intercepts_))


@pytest.mark.parametrize("layers", [(5,), (16, 8), (128, 64, 32)])
@pytest.mark.parametrize("batch", [70, 32], ids=["whole", "batches-of-32"])
@pytest.mark.parametrize("penalty", [0.0, 0.5])
def test_every_epoch_equals_scikit_learns(rows, layers, batch, penalty):
    x, y = rows
    oracle = MLPRegressor(
        hidden_layer_sizes=layers,
        batch_size=batch,
        alpha=penalty,
        learning_rate_init=0.01,
        shuffle=False,
        random_state=3,
    )
    ours = Trainer(start_of(oracle, x, y), learning_rate=0.01, penalty=penalty)
    for _ in range(12):
        oracle.partial_fit(x, y)
        loss = ours.epoch(x, y, None, np.arange(len(y)), batch)
        np.testing.assert_allclose(loss, oracle.loss_, rtol=1e-9)
        np.testing.assert_allclose(ours.network().predict(x), oracle.predict(x), rtol=1e-7, atol=1e-9)


def test_weights_of_mean_one_equal_scikit_learns_on_the_whole_table(rows):
    x, y = rows
    weight = np.where(np.arange(70) < 35, 1.6, 0.4)
    oracle = MLPRegressor(hidden_layer_sizes=(8,), batch_size=70, shuffle=False, random_state=1)
    ours = Trainer(start_of(oracle, x, y), learning_rate=oracle.learning_rate_init, penalty=oracle.alpha)
    for _ in range(10):
        oracle.partial_fit(x, y, sample_weight=weight)
        ours.epoch(x, y, weight, np.arange(70), 70)
    np.testing.assert_allclose(ours.network().predict(x), oracle.predict(x), rtol=1e-8)


def test_the_first_step_follows_the_gradient(rows):
    """Adam's first step is the sign of the gradient; a finite difference says which sign that is."""
    x, y = rows
    start = initial_network((4, 3, 1), rng=np.random.default_rng(0))
    trainer = Trainer(start, learning_rate=1e-6, penalty=0.3)

    def loss(network):
        error = network.predict(x) - y
        return 0.5 * np.mean(error**2) + 0.15 * sum(float((layer**2).sum()) for layer in network.weights) / len(y)

    trainer.epoch(x, y, None, np.arange(70), 70)
    for layer in range(2):
        for at in np.ndindex(start.weights[layer].shape):
            moved = [weights.copy() for weights in start.weights]
            moved[layer][at] += 1e-6
            slope = (loss(Network(tuple(moved), start.biases)) - loss(start)) / 1e-6
            step = trainer.network().weights[layer][at] - start.weights[layer][at]
            assert np.sign(step) == -np.sign(slope)


def test_light_batches_make_small_steps(rows):
    """Rows of weight 0 in a batch of their own change nothing but Adam's memory: no gradient comes from them."""
    x, y = rows
    x = np.concatenate([x, x[:32] + 5.0])
    y = np.concatenate([y, np.full(32, 1e6)])
    weight = np.concatenate([np.ones(70), np.zeros(32)])
    design = Design(x=x, y=y, weight=weight, validation_x=None, validation_y=None)
    network = Mlp(hidden_layer_sizes=(8,), max_iter=60, early_stopping=None).train(design, seed=0)
    assert np.abs(network.predict(x[:70])).max() < 10


def test_the_best_weights_are_kept_not_the_last(rows):
    x, y = rows
    design = Design(x=x[:50], y=y[:50], weight=None, validation_x=x[50:], validation_y=y[50:])
    wild = Mlp(hidden_layer_sizes=(32,), learning_rate_init=0.2, max_iter=80, early_stopping=EarlyStopping(rounds=80))
    losses = []
    for epochs in range(1, 81, 10):
        network = wild.model_copy(update={"max_iter": epochs}).train(design, seed=2)
        losses.append(float(np.mean((network.predict(x[50:]) - y[50:]) ** 2)))
    assert losses == sorted(losses, reverse=True)


def test_more_looks_are_taken_between_the_same_steps(rows):
    """What is seen at the end of a pass is seen however often one looks, so more looks never find worse weights."""
    x, y = rows
    once = Design(x=x[:50], y=y[:50], weight=None, validation_x=x[50:], validation_y=y[50:])
    patient = EarlyStopping(rounds=30)
    wild = Mlp(hidden_layer_sizes=(32,), learning_rate_init=0.1, batch_size=4, max_iter=30, early_stopping=patient)
    single, *more = [
        float(np.mean((wild.train(replace(once, looks=looks), seed=2).predict(x[50:]) - y[50:]) ** 2))
        for looks in (1, 2, 5, 70)
    ]
    assert max(more) <= single
    assert more[-1] < single  # a look after every step


@pytest.mark.parametrize(("looks", "parts"), [(1, 1), (2, 2), (5, 4), (99, 7)])
def test_patience_is_counted_in_passes_however_often_one_looks(rows, looks, parts, monkeypatch):
    x, _ = rows
    seen = []
    train = Trainer.epoch

    def watched(self, x, y, weight, order, batch):
        seen.append(len(order))
        return train(self, x, y, weight, order, batch)

    monkeypatch.setattr(Trainer, "epoch", watched)
    design = Design(x=x[:50], y=np.zeros(50), weight=None, validation_x=x[50:], validation_y=np.zeros(20), looks=looks)
    Mlp(hidden_layer_sizes=(4,), batch_size=8, tol=1e9, early_stopping=EarlyStopping(rounds=3)).train(design, seed=0)
    assert len(seen) in (3 * parts, 3 * parts + 1)  # the first look is better than nothing
    assert sum(seen[:parts]) == 50
    assert all(size % 8 == 0 for size in seen[: parts - 1])


def test_it_stops_when_nothing_improves(rows):
    x, _ = rows
    design = Design(x=x[:50], y=np.zeros(50), weight=None, validation_x=x[50:], validation_y=np.zeros(20))
    network = Mlp(hidden_layer_sizes=(4,), tol=1e9, early_stopping=EarlyStopping(rounds=1)).train(design, seed=0)
    assert np.isfinite(network.predict(x)).all()


def test_the_running_mean_is_that_of_the_weights_after_every_step(rows):
    x, y = rows
    start = initial_network((4, 6, 1), rng=np.random.default_rng(2))
    live = Trainer(start, learning_rate=0.05, penalty=0.1)
    mean = Trainer(start, learning_rate=0.05, penalty=0.1, averaging=0.8)
    history = []
    for _ in range(7):
        for one in (live, mean):
            one.epoch(x, y, None, np.arange(len(y)), 70)
        history.append(live.snapshot())
    shares = 0.8 ** np.arange(6, -1, -1)
    for layer in range(2):
        expected = np.average([network.weights[layer] for network in history], axis=0, weights=shares)
        np.testing.assert_allclose(mean.snapshot().weights[layer], expected, rtol=1e-12)
        expected = np.average([network.biases[layer] for network in history], axis=0, weights=shares)
        np.testing.assert_allclose(mean.network().biases[layer], expected, rtol=1e-12)


def test_before_the_first_step_the_mean_is_the_start():
    start = initial_network((4, 6, 1), rng=np.random.default_rng(2))
    mean = Trainer(start, learning_rate=0.1, penalty=0.0, averaging=0.9)
    np.testing.assert_array_equal(mean.network().weights[0], start.weights[0])
