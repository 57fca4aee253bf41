"""What every member of the family does, the plugin of another package included."""

import numpy as np
import pytest
from regressor_parts import ESTIMATORS, KINDS, MEDIANS, Spy, line, numbered, synthetic, table

from crda_spec.records import Column
from crda_spec.regressors import REGRESSORS, Design, Fitter, Knn, Ridge
from crda_spec.regressors.fit import fit_encoder

SEEDED = {kind for kind, member in REGRESSORS.items() if not member.seedless}  # what a spec may ask several models of
WEIGHING = tuple(kind for kind in KINDS if kind == "plugin" or REGRESSORS[kind].takes_weights)

every_kind = pytest.mark.parametrize("member", [*KINDS, *MEDIANS, *ESTIMATORS], indirect=True)


def fit(member, train, *, seed=5, fill="median"):
    return Fitter(member, fill).fit(train, seed=seed)


@every_kind
def test_it_learns_a_line_better_than_the_mean_does(member):
    fresh = line(200, seed=9)
    model = fit(member, line(150))
    assert np.mean((fresh.y - model.predict(fresh.x)) ** 2) < 0.2 * fresh.y.var()
    assert model.kind == member.kind


@every_kind
def test_the_same_seed_gives_the_same_bits(member):
    train = line(80)
    one, two = (fit(member, train, seed=3).predict(train.x) for _ in range(2))
    assert one.tobytes() == two.tobytes()


@every_kind
def test_another_seed_matters_only_where_there_is_randomness(member):
    train = line(80)
    one, two = (fit(member, train, seed=seed).predict(train.x) for seed in (3, 4))
    draws = member.kind in SEEDED or "subsample" in getattr(member, "params", {})
    assert (one.tobytes() != two.tobytes()) == draws


@pytest.mark.parametrize("member", [*WEIGHING, *ESTIMATORS], indirect=True)
def test_heavy_rows_pull(member):
    """At every x one row says -1 and one says +1; the ones that say +1 weigh three times as much."""
    x = np.repeat(np.linspace(-1.5, 1.5, 40), 2)[:, None]
    y = np.tile([-1.0, 1.0], 40)
    even, uneven = (
        member.train(Design(x=x, y=y, weight=weight, validation_x=None, validation_y=None), seed=1).predict(x).mean()
        for weight in (None, np.tile([1.0, 3.0], 40))
    )
    assert abs(even) < 0.2
    assert uneven > 0.35  # the weighted mean is 0.5; the support vector machine goes on to the weighted median


@pytest.mark.parametrize(
    ("member", "tolerance"),
    [
        ("linear", 1e-9),
        ("ridge", 1e-9),
        ("kernel_ridge", 1e-7),
        ("plugin", 1e-9),
        ("svr", 5e-3),
        ("sklearn of ridge", 1e-9),
    ],
    indirect=["member"],
)
def test_a_weight_is_a_number_of_repetitions(member, tolerance):
    """Exact where the loss is a weighted sum; the support vector machine's solver stops within a tolerance."""
    rng = np.random.default_rng(2)
    x, y = rng.normal(size=(30, 2)), rng.normal(size=30)
    times = rng.integers(1, 4, size=30)
    weighted = Design(x=x, y=y, weight=times.astype(float), validation_x=None, validation_y=None)
    repeated = Design(x=x.repeat(times, axis=0), y=y.repeat(times), weight=None, validation_x=None, validation_y=None)
    one, two = (member.train(design, seed=1).predict(x) for design in (weighted, repeated))
    np.testing.assert_allclose(one, two, atol=tolerance)


def test_nearest_neighbours_take_no_weights():
    """Why `crda-spec validate` refuses a weight for them: it would be accepted and ignored."""
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(20, 2)), rng.normal(size=20)
    plain, weighted = (
        Knn().train(Design(x=x, y=y, weight=weight, validation_x=None, validation_y=None), seed=0).predict(x + 0.1)
        for weight in (None, np.arange(1.0, 21.0))
    )
    assert plain.tobytes() == weighted.tobytes()
    assert [kind for kind, member in REGRESSORS.items() if not member.takes_weights] == ["knn"]


@every_kind
def test_categories_booleans_integers_and_missing_values_go_through(member):
    rng = np.random.default_rng(4)
    n = 160
    ward, smoker, age = (
        rng.integers(0, 3, n).astype(float),
        rng.integers(0, 2, n).astype(float),
        rng.integers(20, 80, n),
    )
    y = np.array([0.0, 10.0, 5.0])[ward.astype(int)] + 4.0 * smoker + 0.05 * age + 0.3 * rng.normal(size=n)
    x = np.column_stack([ward, smoker, age, rng.normal(size=n)])
    x[rng.random(x.shape) < 0.03] = np.nan
    columns = (
        Column(name="ward", type="category", labels=("north", "south", "west")),
        Column(name="smoker", type="boolean"),
        Column(name="age", type="integer"),
        Column(name="rest", type="continuous"),
    )
    train = table(x, y, columns=columns)
    predicted = fit(member, train).predict(x)
    assert np.mean((predicted - y) ** 2) < 0.3 * y.var()
    assert np.isfinite(fit(member, train, fill="mean").predict(np.full((2, 4), np.nan))).all()


_X, _Y = line(40).x, line(40).y
AWKWARD = {
    "constant feature": (np.column_stack([_X, np.full(40, 0.1)]), _Y),
    "only a constant feature": (np.full((40, 1), 0.1), _Y),
    "constant target": (_X, np.full(40, 0.1)),
    "all constant": (np.ones((40, 1)), np.ones(40)),
    "twice the same columns": (np.column_stack([_X, _X]), _Y),
    "a column without values": (np.column_stack([_X, np.full(40, np.nan)]), _Y),
    "two rows": (_X[:2], _Y[:2]),
    "two rows, one constant feature": (np.ones((2, 1)), _Y[:2]),
    "five rows": (_X[:5], _Y[:5]),
}


@every_kind
@pytest.mark.parametrize("awkward", AWKWARD)
def test_awkward_tables_are_fitted_all_the_same(member, awkward):
    train = table(*AWKWARD[awkward])
    predicted = fit(member, train).predict(train.x)
    assert predicted.shape == (len(train),)
    # A network stops near a constant, the others meet it.
    assert np.abs(predicted - train.y.mean()).max() <= 2.0 * np.ptp(train.y) + (0.05 if member.kind == "mlp" else 1e-6)


@every_kind
def test_no_rows_in_no_predictions_out(member):
    model = fit(member, line(30))
    assert model.predict(np.empty((0, 3))).shape == (0,)
    assert model.predict(np.zeros((1, 3))).shape == (1,)


@every_kind
def test_a_constant_that_changes_a_little_changes_predictions_little(member):
    """0.1 a hundred times has a standard deviation of 1e-17, not 0: dividing by it would move 0.2 light years away."""
    base = line(100)
    model = fit(member, table(np.column_stack([base.x, np.full(100, 0.1)]), base.y))
    moved = np.column_stack([base.x, np.full(100, 0.2)])
    before = model.predict(np.column_stack([base.x, np.full(100, 0.1)]))
    assert np.abs(model.predict(moved) - before).max() < 0.3 * base.y.std()


def test_the_encoding_is_learnt_from_the_real_training_rows_alone():
    train = line(40)
    fitter = Fitter(Ridge())
    plain = fitter.fit(train, seed=1)
    augmented = Fitter(Spy()).fit(numbered(40), synthetic(numbered(40), range(40)), seed=1)
    alone = fit_encoder(numbered(40), fill="median")
    for name in ("fill", "center", "scale"):
        assert getattr(augmented.encoder, name).tobytes() == getattr(alone, name).tobytes()
    assert (augmented.encoder.target_center, augmented.encoder.target_scale) == (
        alone.target_center,
        alone.target_scale,
    )
    np.testing.assert_allclose(plain.encoder.encode(train.x).mean(axis=0), 0.0, atol=1e-12)
    np.testing.assert_allclose(plain.encoder.encode(train.x).std(axis=0), 1.0)
    assert (fitter.fits, fitter.seconds > 0) == (1, True)


def test_labels_get_columns_and_gaps_their_filling():
    columns = (
        Column(name="a", type="continuous"),
        Column(name="b", type="category", labels=("p", "q", "r")),
        Column(name="c", type="boolean"),
    )
    x = [[1.0, 2.0, 1.0], [3.0, 2.0, 1.0], [np.nan, 0.0, np.nan], [8.0, np.nan, 0.0]]
    encoder = fit_encoder(table(x, [1.0, 2.0, 3.0, 6.0], columns=columns), fill="median")
    assert encoder.fill.tolist() == [3.0, 2.0, 1.0]
    assert fit_encoder(table(x, [1.0, 2.0, 3.0, 6.0], columns=columns), fill="mean").fill.tolist() == [4.0, 2.0, 1.0]
    encoded = encoder.encode(np.array([[np.nan, np.nan, 0.0]]))
    assert encoder.labels == ((), (0, 2), ())  # no row shows q, so it gets no column
    np.testing.assert_allclose(encoded, [[(3.0 - 3.75) / encoder.scale[0], 0.0, 1.0, -0.75 / encoder.scale[2]]])
    assert encoded.flags.c_contiguous
    np.testing.assert_allclose(encoder.decode_target(encoder.encode_target(np.array([7.0]))), [7.0])


@every_kind
@pytest.mark.parametrize("unseen", [0.0, 1.0, 2.0])
def test_a_label_that_no_training_row_has_is_predicted_all_the_same(member, unseen):
    """Its dummies are all zero, so it stands between the labels that were seen."""
    rng = np.random.default_rng(6)
    column = Column(name="ward", type="category", labels=("north", "south", "west"))
    seen = rng.choice([code for code in (0.0, 1.0, 2.0) if code != unseen], 60)
    x = np.column_stack([seen, rng.normal(size=60)])
    train = table(x, 4.0 * (seen == seen.max()) + x[:, 1], columns=(column, Column(name="a", type="continuous")))
    model = fit(member, train)
    strange = np.array([[unseen, 0.0], [unseen, 1.0]])
    assert model.encoder.encode(strange)[:, :2].tolist() == [[0.0, 0.0], [0.0, 0.0]]
    assert model.encoder.encode(strange).shape == (2, 3)
    assert (np.abs(model.predict(strange) - train.y.mean()) < 2.0 * np.ptp(train.y)).all()
