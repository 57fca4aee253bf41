"""What every augmenter does, whatever its method: same rows for a seed, legal and finite cells, sources that exist."""

import importlib.util
from dataclasses import replace

import numpy as np
import pytest
from counterfactual_parts import mixed, numbers, table

from crda_spec.counterfactual.augmenters import AUGMENTERS, Given, augmented_rows
from crda_spec.records import Column
from crda_spec.scm.formats.edges import from_edges

SETTINGS = {  # enough of those that learn to see that they run, and a kernel that is wide enough for these tables
    "teshima_sugiyama": {"bandwidth": 1.0},
    "tvae": {"epochs": 3},
    "ctgan": {"epochs": 2},
    "tab_ddpm": {"iterations": 20, "timesteps": 10},
}


def every():
    for kind, member in AUGMENTERS.items():
        absent = member.package and importlib.util.find_spec(member.package) is None
        why = pytest.mark.skipif(bool(absent), reason=f"the package {member.package} is not installed")
        yield pytest.param(member(**SETTINGS.get(kind, {})), id=kind, marks=why)


every_member = pytest.mark.parametrize("member", list(every()))


class Mean:
    """A teacher that knows one number."""

    def __init__(self, train):
        self.mean = float(train.y.mean())

    def predict(self, x):
        return np.full(len(x), self.mean)


def given(train):
    teacher = Mean(train)
    graph = from_edges(
        [f"{name} -> y" for name in train.names], columns=(*train.names, "y"), target="y", features=train.names
    )
    every = tuple(range(len(train.names)))
    return Given(train=train, teacher=teacher, noise=train.y - teacher.mean, movable=every, graph=graph)


def rows(member, train, count, *, seed=0, watched=None):
    rng = np.random.default_rng(seed)
    return augmented_rows(member, given(train), count, weight=0.5, rng=rng, watched=watched)


def line(n, d=3, *, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, d))
    return numbers(x, x[:, 0] + 0.5 * rng.standard_t(1, size=n))  # some outcomes are rare


def every_type(n):
    train = mixed(n)
    return replace(train, y=np.where(np.arange(n) < 5, 20.0, train.y))


@every_member
def test_the_same_stream_gives_the_same_bits_and_another_one_others(member):
    train = every_type(60)
    first, again, other = (rows(member, train, 80, seed=seed) for seed in (1, 1, 2))
    if first is None:
        assert member.kind == "none"
        return
    for one, two in zip(parts(first), parts(again), strict=True):
        assert one.tobytes() == two.tobytes()
    assert any(one.tobytes() != two.tobytes() for one, two in zip(parts(first), parts(other), strict=True))


def parts(made):
    return made.action.x, made.y, made.action.source


@every_member
def test_cells_are_legal_and_origins_are_training_rows(member):
    train = every_type(60)
    made = rows(member, train, 90)
    if made is None:
        assert member.kind == "none"
        return
    assert 0 < len(made) <= 90
    assert made.action.x.shape == (len(made), 7)
    assert np.isfinite(made.y).all()
    assert made.weight == 0.5
    x = dict(zip(train.names, made.action.x.T, strict=True))
    known = {name: values[~np.isnan(values)] for name, values in x.items()}
    assert ((known["bounded"] >= -1.0) & (known["bounded"] <= 1.5)).all()
    assert set(known["count"].tolist()) <= set(range(1, 10))
    assert set(known["size"].tolist()) <= {1.0, 2.0, 5.0}
    assert set(known["ward"].tolist()) <= {0.0, 1.0, 2.0}
    assert set(known["smoker"].tolist()) <= {0.0, 1.0}
    for origin in (made.action.source, made.action.partner, made.noise_source):
        assert origin is None or ((origin >= -1) & (origin < 60)).all()
    assert (made.action.source >= 0).all()
    assert set(made.row_basis) == {"augmenter"}
    # The ledger's arithmetic, to the last bit.
    assert (made.y == made.prediction + made.retention * made.noise).all()


@every_member
def test_what_stays_is_the_sources(member):
    train = every_type(60)
    made = rows(member, train, 90)
    stays = [] if made is None else [at for at, name in enumerate(train.names) if name not in made.action.moved]
    for at in stays:
        np.testing.assert_array_equal(made.action.x[:, at], train.x[made.action.source, at])


@every_member
def test_nothing_given_is_written_to(member):
    train = every_type(40)
    before = train.x.tobytes(), train.y.tobytes()
    rows(member, train, 40)
    assert (train.x.tobytes(), train.y.tobytes()) == before


@every_member
@pytest.mark.parametrize("shape", [(20, 3), (20, 1), (2, 1), (3, 2)])
def test_few_rows_and_one_column(member, shape):
    made = rows(member, line(*shape), 30)
    assert made is None or np.isfinite(made.action.x).all()


AWKWARD = {
    "constant feature": numbers(np.column_stack([np.ones(30), np.arange(30.0)]), np.arange(30.0)),
    "constant target": numbers(np.arange(60.0).reshape(30, 2), np.ones(30)),
    "equal rows": numbers(np.tile([[1.0, 2.0]], (20, 1)), np.tile([0.0, 1.0], 10)),
    "labels alone": table(
        np.arange(30)[:, None] % 3, np.arange(30.0), [Column(name="w", type="category", labels=("a", "b", "c"))]
    ),
    "a column that is missing": numbers(np.column_stack([np.full(20, np.nan), np.arange(20.0)]), np.arange(20.0)),
    "large numbers": numbers(1e12 * np.random.default_rng(0).normal(size=(30, 2)), 1e12 + np.arange(30.0)),
}


@every_member
@pytest.mark.parametrize("train", AWKWARD.values(), ids=AWKWARD)
def test_awkward_tables(member, train):
    made = rows(member, train, 40)
    assert made is None or np.isfinite(made.y).all()


@every_member
def test_no_row_is_made_of_one_that_early_stopping_watches_unless_it_says_so(member):
    """Rewriting what is watched changes no row that is trained on."""
    train, watched = line(50), np.array([3, 17, 29, 41])
    aside = np.isin(np.arange(50), watched)
    x, y = train.x.copy(), train.y.copy()
    x[watched] += 7.0 if member.learns else 0.0
    y[watched] += 7.0 if member.learns else 0.0
    one = rows(member, train, 60, watched=watched)
    if one is None:
        assert member.kind == "none"
        return
    if member.learns:
        other = rows(member, numbers(x, y), 60, watched=watched)
        assert one.action.x.tobytes() == other.action.x.tobytes()
        assert not one.stems_from(aside).any()
    origins = [one.action.source, one.noise_source, *([] if one.action.partner is None else [one.action.partner])]
    made_of = np.logical_or.reduce([(rows >= 0) & aside[rows] for rows in origins])
    np.testing.assert_array_equal(one.stems_from(aside), made_of)


def test_the_family():
    for kind, member in AUGMENTERS.items():
        assert member().label == kind
        assert member().describe()
