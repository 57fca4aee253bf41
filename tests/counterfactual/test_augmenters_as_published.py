"""Each augmenter against what its paper says of it, on a small case."""

import importlib.util

import numpy as np
import pytest
from counterfactual_parts import numbers, table

from crda_spec.counterfactual.augmenters import AUGMENTERS, Given, augmented_rows
from crda_spec.counterfactual.augmenters.anchor import clusters
from crda_spec.counterfactual.augmenters.ddpm import from_normal, to_normal
from crda_spec.counterfactual.augmenters.graph import Admg
from crda_spec.counterfactual.augmenters.mixing import nearest_others
from crda_spec.counterfactual.augmenters.rare import rare_rows, relevance
from crda_spec.records import Column
from crda_spec.scm.formats.edges import from_edges


class Sum:
    """A teacher that adds up the cells."""

    def predict(self, x):
        return x.sum(axis=1)


def made(kind, train, count, *, seed=0, edges=None, latent=(), movable=None, **settings):
    teacher = Sum()
    graph = None if edges is None else graph_of(edges, train.names, latent)
    given = Given(
        train=train,
        teacher=teacher,
        noise=train.y - teacher.predict(train.x),
        movable=tuple(range(len(train.names))) if movable is None else movable,
        graph=graph,
    )
    return augmented_rows(AUGMENTERS[kind](**settings), given, count, weight=1.0, rng=np.random.default_rng(seed))


def graph_of(edges, features, latent=()):
    return from_edges(edges, columns=(*features, "y"), target="y", features=features, latents=latent)


def wave(n, *, seed=0):
    x = np.sort(np.random.default_rng(seed).uniform(-1.0, 1.0, n))[:, None]
    return numbers(x, np.sin(6.0 * x[:, 0]))


def off_the_wave(rows):
    return float(np.abs(rows.y - np.sin(6.0 * rows.action.x[:, 0])).mean())


def slope(x, y):
    return float(np.cov(x, y)[0, 1] / x.var(ddof=1))


def test_duplicates_are_every_row_equally_often():
    train = wave(20)
    rows = made("duplicate", train, 50)
    times = np.bincount(rows.action.source, minlength=20)
    assert set(times.tolist()) == {2, 3}
    np.testing.assert_array_equal(rows.y, train.y[rows.action.source])
    assert rows.action.moved == ()


def test_noise_on_the_inputs_shrinks_a_slope_as_a_ridge_penalty_does():
    """Bishop 1995; for least squares the slope is divided by 1 + sd^2."""
    x = np.random.default_rng(0).normal(size=(400, 1))
    rows = made("gaussian_noise", numbers(x, 2.0 * x[:, 0]), 40_000, sd=0.5)
    assert slope(rows.action.x[:, 0], rows.y) == pytest.approx(2.0 / 1.25, rel=0.02)


def test_mixup_keeps_a_line_and_bends_a_wave():
    x = np.random.default_rng(1).normal(size=(60, 2))
    line = numbers(x, x[:, 0] - 3.0 * x[:, 1])
    rows = made("mixup", line, 500)
    np.testing.assert_allclose(rows.y, rows.action.x[:, 0] - 3.0 * rows.action.x[:, 1], atol=1e-12)
    assert off_the_wave(made("mixup", wave(200), 1000)) > 0.2


def test_a_small_alpha_stays_near_one_of_the_two_rows():
    train = wave(100)
    near, even = (made("mixup", train, 2000, alpha=alpha).action for alpha in (0.1, 10.0))

    def to_the_nearer(action):
        ends = train.x[np.stack([action.source, action.partner])][..., 0]
        return np.abs(ends - action.x[:, 0]).min(axis=0).mean()

    assert to_the_nearer(near) < 0.3 * to_the_nearer(even)


def test_c_mixup_prefers_similar_outcomes_and_becomes_mixup_with_a_wide_kernel():
    """Yao et al. 2022: the wider the kernel, the more uniform the partners."""
    train = wave(300)
    gaps = []
    for bandwidth in (0.05, 1.0, 100.0):
        action = made("c_mixup", train, 3000, bandwidth=bandwidth).action
        gaps.append(float(np.abs(train.y[action.source] - train.y[action.partner]).mean()))
    free = made("mixup", train, 3000).action
    uniform = float(np.abs(train.y[free.source] - train.y[free.partner]).mean())
    assert gaps[0] < 0.12 * uniform < gaps[1] < 0.9 * uniform
    assert gaps[2] == pytest.approx(uniform, rel=0.05)


def test_ada_of_strength_one_is_the_row_itself_and_a_strong_one_nears_the_centre():
    train = wave(100)
    same = made("ada", train, 100, gammas=(1.0,))
    np.testing.assert_allclose(same.action.x, train.x[same.action.source], atol=1e-12)
    near = made("ada", train, 100, gammas=(1e8,), anchors=1)
    np.testing.assert_allclose(near.action.x[:, 0], train.x.mean(), atol=1e-3)
    np.testing.assert_allclose(near.y, train.y.mean(), atol=1e-3)


def test_ada_keeps_a_nonlinear_shape_that_mixup_loses():
    """Schneider et al. 2023: within clusters a line is a good approximation."""
    train = wave(200)
    assert off_the_wave(made("ada", train, 1000, anchors=20)) < 0.1 * off_the_wave(made("mixup", train, 1000))


def test_the_clusters_are_those_that_one_sees():
    points = np.repeat([[0.0, 0.0], [10.0, 0.0], [0.0, 10.0]], 20, axis=0)
    points = points + 0.1 * np.random.default_rng(0).normal(size=points.shape)
    own = clusters(points, 3, rng=np.random.default_rng(1)).reshape(3, 20)
    assert (own == own[:, :1]).all()
    assert len(set(own[:, 0].tolist())) == 3


def test_regmix_learns_to_mix_near_rows_of_a_wave():
    """Hwang and Whang 2021: mixing rows that are far apart harms; how near is good is learnt."""
    train = wave(200)
    rows = made("regmix", train, 1000)
    assert off_the_wave(rows) < 0.3 * off_the_wave(made("mixup", train, 1000))
    near = nearest_others(train.x, 64)
    assert all(other in near[row] for row, other in zip(rows.action.source, rows.action.partner, strict=True))


def skewed(n=200):
    rng = np.random.default_rng(5)
    x = rng.normal(size=(n, 2))
    y = x[:, 0].copy()
    x[:12], y[:12] = x[:12] * 0.2 + 3.0, 8.0 + x[:12, 0]
    return numbers(x, y)


def test_relevance_is_nothing_at_the_median_and_all_beyond_a_whisker():
    y = skewed().y
    found = relevance(y)
    low, high = np.quantile(y, [0.25, 0.75])
    assert (found[y > high + 1.5 * (high - low)] == 1.0).all()
    assert found[np.argmin(np.abs(y - np.median(y)))] < 0.01
    below, above = rare_rows(y, 0.9)
    assert set(range(12)) <= set(above.tolist())
    assert (relevance(np.linspace(0.0, 1.0, 50)) == 0.0).all()
    assert len(below) < len(above)


def test_smoter_makes_rows_of_rare_outcome_only_weighted_by_distance():
    """Torgo et al. 2013."""
    train = skewed()
    rows = made("smoter", train, 300, threshold=1.0)
    source, partner, x = rows.action.source, rows.action.partner, rows.action.x
    assert set(np.concatenate([source, partner]).tolist()) <= set(np.concatenate(rare_rows(train.y, 1.0)).tolist())
    one, other = (np.linalg.norm(x - train.x[end], axis=1) for end in (source, partner))
    np.testing.assert_allclose(rows.y, (other * train.y[source] + one * train.y[partner]) / (one + other), atol=1e-9)


def test_nothing_rare_makes_no_row():
    assert made("smoter", wave(100), 50) is None
    assert made("smogn", wave(100), 50) is None


def test_smogn_adds_noise_where_the_neighbour_is_far():
    """Branco et al. 2017: two rare groups far apart; SMOTER fills the gap between them, SMOGN does not."""
    rng = np.random.default_rng(0)
    x = np.concatenate([rng.normal(size=(200, 1)), np.full((3, 1), 10.0), np.full((3, 1), 30.0)])
    x[200:] += 0.1 * rng.normal(size=(6, 1))
    y = np.concatenate([rng.uniform(size=200), np.full(6, 9.0) + 0.1 * rng.normal(size=6)])
    between = [
        float(((rows.action.x[:, 0] > 12.0) & (rows.action.x[:, 0] < 28.0)).mean())
        for rows in (made(kind, numbers(x, y), 500, threshold=1.0) for kind in ("smoter", "smogn"))
    ]
    assert between[0] > 0.2
    assert between[1] == 0.0


def test_the_residual_bootstrap_lends_residuals_of_other_rows():
    train = skewed()
    rows = made("residual_bootstrap", train, 5000)
    np.testing.assert_array_equal(rows.action.x, train.x[rows.action.source])
    residual = train.y - train.x.sum(axis=1)
    assert set(rows.noise.tolist()) <= set(residual.tolist())
    assert rows.noise.std() == pytest.approx(residual.std(), rel=0.05)
    assert abs(np.corrcoef(rows.noise, residual[rows.action.source])[0, 1]) < 0.05
    assert rows.draw == "any"


def chain(n, *, seed=0):
    """a -> b -> y, and c, a cause of y that is tied to a by chance alone."""
    rng = np.random.default_rng(seed)
    a, c = rng.normal(size=(2, n))
    b = 2.0 * a + 0.5 * rng.normal(size=n)
    return numbers(np.column_stack([a, b, c]), b - c + 0.3 * rng.normal(size=n))


EDGES = ["a -> b", "b -> y", "c -> y"]


@pytest.mark.parametrize("kind", ["causal_bootstrap", "teshima_sugiyama"])
def test_rows_along_the_graph_keep_its_ties_and_lose_those_of_chance(kind):
    train = chain(60)
    rows = made(kind, train, 4000, edges=EDGES, **({"bandwidth": 0.3} if kind == "teshima_sugiyama" else {}))
    a, b, c = rows.action.x.T
    by_chance = abs(np.corrcoef(train.x[:, 0], train.x[:, 2])[0, 1])
    assert by_chance > 0.1
    assert abs(np.corrcoef(a, c)[0, 1]) < 0.05
    assert slope(a, b) == pytest.approx(slope(*train.x[:, :2].T), rel=0.1)
    assert np.corrcoef(b - c, rows.y)[0, 1] > 0.95


def test_rows_along_a_graph_are_independent_where_it_says_so():
    """Teshima and Sugiyama 2021: a tells nothing of y once b is known."""
    train = chain(400)
    rows = made("teshima_sugiyama", train, 4000, edges=EDGES, bandwidth=0.3)
    a, b, c = rows.action.x.T
    left = [one - np.polyval(np.polyfit(b, one, 3), b) for one in (a, rows.y + c)]
    assert abs(np.corrcoef(*left)[0, 1]) < 0.1
    for cells, known in zip(rows.action.x.T, train.x.T, strict=True):
        assert set(cells.tolist()) <= set(known.tolist())  # every cell occurs


def test_a_graph_that_says_nothing_makes_copies():
    """Every pair joined: each cell must come from a row with the same earlier cells, that is, from one row."""
    train = chain(50)
    nodes = [*train.names, "y"]
    edges = [f"{one} <-> {other}" for at, one in enumerate(nodes) for other in nodes[at + 1 :]]
    for kind, settings in (("teshima_sugiyama", {"bandwidth": 1e-3}), ("causal_bootstrap", {})):
        rows = made(kind, train, 200, edges=edges, **settings)
        real = {tuple(row) for row in np.column_stack([train.x, train.y]).tolist()}
        assert {tuple(row) for row in np.column_stack([rows.action.x, rows.y]).tolist()} <= real


def test_a_narrow_kernel_recombines_only_what_is_nearly_equal():
    """Teshima and Sugiyama 2021, their bandwidth: c is free of all, and b repeats, so a goes with rows of equal b."""
    rng = np.random.default_rng(0)
    x = np.column_stack([rng.normal(size=60), np.arange(60) % 3, rng.normal(size=60)])
    train = numbers(x, rng.normal(size=60))
    rows = made("teshima_sugiyama", train, 500, edges=["b -> a", "b -> y", "c <-> y"])
    group = dict(x[:, :2].tolist())
    assert all(group[a] == b for a, b in rows.action.x[:, :2].tolist())
    pairs = {tuple(pair) for pair in x[:, [0, 2]].tolist()}
    assert not {tuple(pair) for pair in rows.action.x[:, [0, 2]].tolist()} <= pairs  # new combinations
    place = dict(zip(train.y.tolist(), x[:, 2].tolist(), strict=True))
    apart = [abs(place[y] - c) for c, y in zip(rows.action.x[:, 2].tolist(), rows.y.tolist(), strict=True)]
    assert max(apart) < 0.03  # of a standard deviation: the reach of a kernel of this width
    assert made("teshima_sugiyama", line(30), 100, edges=["{a b c d e} -> y"]) is None


def line(n):
    x = np.random.default_rng(1).normal(size=(n, 5))
    return numbers(x, x.sum(axis=1))


@pytest.mark.parametrize(
    ("edges", "latent", "parents", "siblings"),
    [
        pytest.param(["a -> y", "b -> a"], (), [{1}, set(), {0}], [set(), set(), set()], id="as it is drawn"),
        pytest.param(["u -> {a y}", "b -> y"], ("u",), [set(), set(), {1}], [{2}, set(), {0}], id="a hidden cause"),
        pytest.param(["a -> u -> y", "b -> y"], ("u",), [set(), set(), {0, 1}], [set(), set(), set()], id="on the way"),
        pytest.param(["b -> u -> {a y}"], ("u",), [{1}, set(), {1}], [{2}, set(), {0}], id="both"),
        pytest.param(["a <-> b", "{a b} -> y"], (), [set(), set(), {0, 1}], [{1}, {0}, set()], id="two heads"),
    ],
)
def test_what_is_hidden_is_projected_out(edges, latent, parents, siblings):
    found = Admg.project(graph_of(edges, ("a", "b"), latent), ("a", "b", "y"))
    assert list(map(set, found.parents)) == parents
    assert list(map(set, found.siblings)) == siblings


def test_the_markov_pillow_is_the_district_and_its_parents():
    """Of y, in a -> b -> c, with b <-> y and c -> y: its district {b, y} and their parents."""
    graph = graph_of(["a -> b -> c -> y", "b <-> y"], ("a", "b", "c"))
    found = Admg.project(graph, ("a", "b", "c", "y"))
    assert found.pillow(3) == (0, 1, 2)
    assert found.pillow(2) == (1,)
    assert set(found.districts) == {frozenset({0}), frozenset({1, 3}), frozenset({2})}


def test_global_perturbation_moves_all_and_keeps_the_noise():
    train = skewed()
    rows = made("global_perturbation", train, 400)
    assert rows.action.moved == ("a", "b")
    center = train.x.mean(axis=0)
    stretch = (rows.action.x - center) / (train.x[rows.action.source] - center)
    np.testing.assert_allclose(stretch[:, 0], stretch[:, 1], rtol=1e-6)  # one draw a row
    assert 0.3 <= stretch.min() < 0.4
    assert 1.6 < stretch.max() <= 1.7
    residual = train.y - train.x.sum(axis=1)
    np.testing.assert_allclose(rows.y, rows.action.x.sum(axis=1) + residual[rows.action.source])


def test_label_invariance_moves_what_may_move_and_keeps_the_outcome():
    train = skewed()
    rows = made("label_invariance", train, 400, movable=(1,))
    assert rows.action.moved == ("b",)
    np.testing.assert_array_equal(rows.y, train.y[rows.action.source])


def test_munge_draws_around_the_nearest_row_and_the_teacher_labels():
    """Bucila et al. 2006; with a great divisor a changed cell is the nearest row's own."""
    train = skewed()
    rows = made("augmented_distillation", train, 2000, probability=0.3, narrowing=1000.0)
    near = train.x[rows.action.partner]
    changed = rows.action.x != train.x[rows.action.source]
    assert changed.mean() == pytest.approx(0.3, abs=0.02)
    np.testing.assert_allclose(rows.action.x[changed], near[changed], atol=0.05)
    np.testing.assert_array_equal(rows.y, rows.action.x.sum(axis=1))


def needs(package):
    absent = importlib.util.find_spec(package) is None
    return pytest.mark.skipif(absent, reason=f"the package {package} is not installed")


def correlated(n=400):
    rng = np.random.default_rng(3)
    a = rng.normal(size=n)
    w = (rng.random(n) < np.where(a > 0, 0.9, 0.2)).astype(float)
    columns = [Column(name="a", type="continuous"), Column(name="w", type="category", labels=("no", "yes"))]
    return table(np.column_stack([10.0 + 3.0 * a, w]), 2.0 * a + 0.3 * rng.normal(size=n), columns)


@needs("torch")
def test_the_diffusion_learns_the_joint_distribution():
    """Kotelnikov et al. 2023: numbers, labels and their ties, the target's included."""
    train = correlated()
    rows = made("tab_ddpm", train, 600, timesteps=100, iterations=600, width=64, batch_size=256)
    a, w = rows.action.x.T
    assert a.mean() == pytest.approx(10.0, abs=0.6)
    assert a.std() == pytest.approx(3.0, rel=0.2)
    assert np.corrcoef(a, rows.y)[0, 1] > 0.9
    assert w[a > 11.0].mean() > 0.75
    assert w[a < 9.0].mean() < 0.35


def test_ranks_go_to_normal_quantiles_and_back():
    values = np.array([5.0, 1.0, 1.0, 9.0, 100.0])
    np.testing.assert_allclose(from_normal(to_normal(values), values), values)
    assert from_normal(np.array([-9.0, 9.0]), values).tolist() == [1.0, 100.0]


@pytest.mark.slow
@needs("ctgan")
def test_the_autoencoder_learns_more_than_the_margins():
    train = correlated()
    rows = made("tvae", train, 600, epochs=300, batch_size=100)
    a, w = rows.action.x.T
    assert a.mean() == pytest.approx(10.0, abs=1.0)
    assert np.corrcoef(a, rows.y)[0, 1] > 0.7
    assert w[a > 11.0].mean() > w[a < 9.0].mean() + 0.2


@pytest.mark.slow
@needs("ctgan")
def test_the_adversarial_network_learns_a_tie_of_label_and_number():
    train = correlated()
    rows = made("ctgan", train, 600, epochs=150, batch_size=100)
    a, w = rows.action.x.T
    assert set(w.tolist()) == {0.0, 1.0}
    assert w[a > 11.0].mean() > w[a < 9.0].mean() + 0.2
