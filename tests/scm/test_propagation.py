"""Who follows, who may move with all its effects, and why not: against brute force and against population algebra."""

from __future__ import annotations

from itertools import chain, combinations

import networkx as nx
import numpy as np
import pytest
from scm_worlds import World, arrows_hold, expanded, is_open, random_worlds

from crda_spec.errors import GraphError
from crda_spec.report.words.causal import reason_sentence
from crda_spec.scm.formats import from_edges
from crda_spec.scm.propagation import FollowerInputs, follower_inputs, followers, propagable


def subsets(names):
    return chain.from_iterable(combinations(sorted(names), size) for size in range(len(names) + 1))


def graph_of(edges, features, *, columns=None, latents=()):
    return from_edges(edges, columns=(*(columns or features), "y"), target="y", features=features, latents=latents)


def mediated_worlds(seed, count, most_features=6):
    """Random graphs in which much may move: y comes last, and little that is hidden touches it."""
    rng = np.random.default_rng(seed)
    for _ in range(count):
        features = [f"x{i}" for i in range(rng.integers(2, most_features + 1))]
        unused, latents = [f"w{i}" for i in range(rng.integers(0, 2))], [f"u{i}" for i in range(rng.integers(0, 3))]
        order = [str(name) for name in rng.permutation([*features, *unused, *latents])]
        pairs, density, hidden = list(combinations(order, 2)), rng.uniform(0.2, 0.6), rng.uniform(0.0, 0.2)
        directed = [pair for pair in pairs if rng.random() < density]
        directed += [(name, "y") for name in order if rng.random() < (0.6 if name in features else 0.05)]
        bidirected = [pair for pair in pairs if rng.random() < hidden]
        bidirected += [(name, "y") for name in features if rng.random() < 0.04]
        named = {name for pair in (*directed, *bidirected) for name in pair}
        if "y" in named:
            yield World(
                columns=(*features, "y", *unused),
                features=tuple(features),
                latents=tuple(name for name in latents if name in named),
                noise_parents=(),
                directed=tuple(directed),
                bidirected=tuple(bidirected),
            )


class Oracle:
    """The definition, by networkx: every moved set, every follower, every set that might free its noise."""

    def __init__(self, world: World) -> None:
        self.dag, self.features = world.oracle(), set(world.features)
        noise = world.noise_side()
        self.certified = {x for x in self.features if nx.is_d_separator(self.dag, noise, {x}, self.features - {x})}

    def changed(self, moved):
        return set(moved).union(*(nx.descendants(self.dag, x) for x in moved))

    def follows(self, f, moved):
        """Conditions 1, 3 and 4, the last one by trying every set."""
        changed, parents = self.changed(moved), set(self.dag.predecessors(f))
        hidden, acting = parents - self.features, parents & changed
        if f not in self.certified or hidden & changed:
            return False
        kept = parents & self.features - changed
        others = self.features - changed - kept
        return not hidden or any(
            nx.is_d_separator(self.dag, hidden, acting, kept | set(more)) for more in subsets(others)
        )

    def may_move(self, moved, keep=frozenset()):
        """Whether this very set may move, with all that it causes."""
        behind = (self.changed(moved) & self.features) - set(moved)
        return (
            set(moved) <= self.certified
            and not (behind | set(moved)) & keep
            and all(self.follows(f, moved) for f in behind)
        )


@pytest.mark.parametrize("seed", range(4))
def test_the_largest_set_is_the_union_of_all_sets_that_may_move(seed):
    kinds, sizes = set(), set()
    for world in chain(mediated_worlds(7000 + seed, 60, most_features=5), random_worlds(7050 + seed, 20, 4)):
        oracle, graph = Oracle(world), world.graph()
        for keep in (frozenset(), frozenset(world.features[:1])):
            for wanted in (world.features, world.features[:1], world.features[:2], world.features[1:]):
                found = propagable(graph, world.features, wanted, keep=keep)
                valid = [set(moved) for moved in subsets(wanted) if oracle.may_move(moved, keep)]
                assert set(found.moved) == set().union(*valid)
                assert set(found.moved) in valid
                assert set(found.obstacles) == set(wanted) - set(found.moved)
                kinds |= {obstacle.kind for obstacle in found.obstacles.values()}
                sizes.add(len(found.moved))
    assert kinds == {"not_certified", "held_fixed", "not_computable", "noise_tied"}
    assert {0, 1, 2, 3} <= sizes


def test_followers_are_the_descendants_in_causal_order():
    for world in random_worlds(7100, 300):
        oracle, graph = world.oracle(), world.graph()
        for moved in (world.features[:1], world.features[-2:]):
            found = followers(graph, world.features, moved)
            below = set(moved).union(*(nx.descendants(oracle, x) for x in moved))
            assert set(found) == (below & set(world.features)) - set(moved)
            assert all(not nx.has_path(oracle, b, a) for a, b in combinations(found, 2))


def test_a_witness_is_a_path_that_is_open_or_that_effects_take():
    seen = set()
    for world in mediated_worlds(7200, 200):
        oracle, graph = world.oracle(), world.graph()
        alone = (propagable(graph, world.features, [name]).obstacles for name in world.features)
        for name, obstacle in chain.from_iterable(found.items() for found in alone):
            seen.add(obstacle.kind)
            nodes, changed = expanded(obstacle.witness), nx.descendants(oracle, name) | {name}
            assert arrows_hold(oracle, obstacle.witness)
            assert obstacle.feature == name
            if obstacle.kind == "not_computable":
                assert list(obstacle.witness[1::2]) == ["->"] * (len(obstacle.witness) // 2)
                assert nodes[-2] not in world.features
                assert nodes[0] == name
                assert nodes[-1] == obstacle.follower
            elif obstacle.kind == "noise_tied":
                above = nx.ancestors(oracle, obstacle.follower) & set(world.features)
                assert nodes[0] == obstacle.follower
                assert nodes[1] not in world.features
                assert oracle.has_edge(nodes[-1], nodes[0])
                assert nodes[-1] in changed
                assert is_open(oracle, nodes[1:], above - changed)
    assert seen == {"not_certified", "not_computable", "noise_tied"}


def structural(oracle, rng):
    """A random linear model of a canonical DAG: (total effects of the noises, direct effects, names)."""
    names = list(nx.topological_sort(oracle))
    direct = np.zeros((len(names), len(names)))
    for parent, child in oracle.edges:
        direct[names.index(child), names.index(parent)] = rng.choice([-1, 1]) * rng.uniform(0.4, 1.2)
    return np.linalg.inv(np.eye(len(names)) - direct), direct, names


def test_least_squares_in_an_endless_sample_finds_the_structural_equation():
    """The meaning of it all: what is promised to be carried is, in every linear model of the graph."""
    rng, adjusted, wrong = np.random.default_rng(5), 0, 0
    for world in mediated_worlds(7300, 300):
        graph, oracle = world.graph(), world.oracle()
        moved = propagable(graph, world.features, world.features[:2]).moved
        if not moved:
            continue
        total, direct, names = structural(oracle, rng)
        covariance = total @ np.diag(rng.uniform(0.5, 2.0, len(names))) @ total.T
        changed = set(moved).union(*(nx.descendants(oracle, x) for x in moved))
        for rule in follower_inputs(graph, world.features, moved):
            rows = [names.index(name) for name in rule.inputs]
            slopes = np.linalg.solve(covariance[np.ix_(rows, rows)], covariance[rows, names.index(rule.name)])
            truth = direct[names.index(rule.name), rows]
            acting = [place for place, name in enumerate(rule.inputs) if name in changed]
            assert acting
            assert np.allclose(slopes[acting], truth[acting], atol=1e-9)
            adjusted += bool(rule.adjusted)
            wrong += not np.allclose(slopes, truth, atol=1e-9)
    assert adjusted > 0
    assert wrong > 0  # the slopes of what stays may be anything, and sometimes are


def test_where_the_noise_is_tied_least_squares_is_wrong():
    rng, seen = np.random.default_rng(6), 0
    for world in mediated_worlds(7400, 200):
        graph, oracle = world.graph(), world.oracle()
        alone = (propagable(graph, world.features, [name]).obstacles for name in world.features)
        for name, obstacle in chain.from_iterable(found.items() for found in alone):
            if obstacle.kind != "noise_tied":
                continue
            total, direct, names = structural(oracle, rng)
            covariance = total @ total.T
            changed = nx.descendants(oracle, name) | {name}
            parents = set(oracle.predecessors(obstacle.follower)) & set(world.features)
            others = nx.ancestors(oracle, obstacle.follower) & set(world.features) - changed - parents
            for more in subsets(others):
                rows = [names.index(one) for one in (*sorted(parents), *more)]
                slopes = np.linalg.solve(
                    covariance[np.ix_(rows, rows)], covariance[rows, names.index(obstacle.follower)]
                )
                acting = [place for place, row in enumerate(rows) if names[row] in parents & changed]
                truth = direct[names.index(obstacle.follower), rows]
                assert not np.allclose(slopes[acting], truth[acting], atol=1e-6)
                seen += 1
    assert seen > 20


def test_parents_alone_are_read_where_they_suffice():
    graph = graph_of(["a -> x", "x -> m", "r -> m", "m -> y", "x -> y"], ("a", "m", "r", "x"))
    assert follower_inputs(graph, ("a", "m", "r", "x"), ["x"]) == (FollowerInputs(name="m", parents=("r", "x")),)


def test_a_confounder_is_closed_by_what_stands_between():
    names = ("a", "m", "w", "x")
    graph = graph_of(["u -> w", "w -> x", "x -> m", "u -> m", "m -> y", "a -> w"], names, latents=["u"])
    assert follower_inputs(graph, names, ["x"]) == (FollowerInputs(name="m", parents=("x",), adjusted=("w",)),)


def test_effects_that_share_a_hidden_cause_may_both_follow():
    graph = graph_of(["x -> m", "x -> n", "m <-> n", "m -> y", "n -> y"], ("m", "n", "x"))
    rules = follower_inputs(graph, ("m", "n", "x"), ["x"])
    assert rules == (FollowerInputs(name="m", parents=("x",)), FollowerInputs(name="n", parents=("x",)))


def test_what_cannot_follow_may_be_moved_by_its_own_policy_instead():
    graph, names = graph_of(["x -> m", "x <-> m", "x -> y", "m -> y"], ("m", "x")), ("m", "x")
    assert propagable(graph, names, ["x"]).moved == ()
    assert propagable(graph, names, ["x", "m"]).moved == ("x", "m")
    assert followers(graph, names, ["x", "m"]) == ()


@pytest.mark.parametrize(
    ("edges", "latents", "keep", "kind", "reason", "witness"),
    [
        pytest.param(
            ["x -> m", "m -> y", "x <-> m"],
            (),
            (),
            "noise_tied",
            "x would move m with it (x -> m), but m cannot keep its own noise: something unmeasured ties it to x "
            "(x <-> m)",
            "m <-> x",
            id="confounded-mediator",
        ),
        pytest.param(
            ["x -> r", "r -> m", "m -> y", "u -> r", "u -> m"],
            ("u",),
            (),
            "noise_tied",
            "x would move m with it (x -> r -> m), but m cannot keep its own noise: something unmeasured ties it to r "
            "(r <- u -> m)",
            "m <- u -> r",
            id="confounded-further-down",
        ),
        pytest.param(
            ["x -> u", "u -> m", "m -> y"],
            ("u",),
            (),
            "not_computable",
            "x would move m with it (x -> u -> m), but how far cannot be computed: the unmeasured u changes on the way",
            "x -> u -> m",
            id="through-a-latent",
        ),
        pytest.param(
            ["x -> c", "c -> m", "m -> y", "x -> m"],
            (),
            (),
            "not_computable",
            "x would move m with it (x -> c -> m), but how far cannot be computed: c, which is no feature, changes on "
            "the way",
            "x -> c -> m",
            id="through-an-unused-column",
        ),
        pytest.param(
            ["x -> r", "r -> m", "m -> y", "m <-> y"],
            (),
            (),
            "not_certified",
            "x would move r with it (x -> r), and r may not move: holding m fixed ties r to an unmeasured cause of "
            "both m and y: r -> m <-> y",
            "y <-> m <- r",
            id="an-effect-is-confounded-with-the-target",
        ),
        pytest.param(
            ["x -> m", "m -> y", "y -> r"],
            (),
            (),
            "not_certified",
            "x would move m with it (x -> m), and m may not move: r is caused by y, and holding it fixed ties m to the "
            "noise of y: Z -> y <- m",
            "Z -> y <- m",
            id="the-target-has-an-effect",
        ),
        pytest.param(
            ["x -> m", "m -> y"],
            (),
            ("m",),
            "held_fixed",
            "x would move m with it (x -> m), but partition.keep holds m fixed",
            "x -> m",
            id="kept",
        ),
        pytest.param(
            ["x -> m", "m -> y"],
            (),
            ("x",),
            "held_fixed",
            "partition.keep holds x fixed",
            "",
            id="kept-itself",
        ),
        pytest.param(
            ["x -> m", "m -> y", "x <-> y"],
            (),
            (),
            "not_certified",
            "x and y share an unmeasured cause: x <-> y",
            "y <-> x",
            id="the-feature-itself",
        ),
    ],
)
def test_why_a_feature_may_not_move(edges, latents, keep, kind, reason, witness):
    names = tuple(name for name in ("m", "r", "x") if any(name in edge.split() for edge in edges))
    graph = graph_of(edges, names, columns=(*names, "c"), latents=latents)
    found = propagable(graph, names, ["x"], keep=keep)
    assert found.moved == ()
    obstacle = found.obstacles["x"]
    assert (obstacle.kind, reason_sentence(obstacle), " ".join(obstacle.witness)) == (kind, reason, witness)


def test_all_that_may_not_move_is_said_at_once():
    names = ("m", "n", "x", "z")
    graph = graph_of(["x -> m", "x <-> m", "z -> n", "z <-> n", "m -> y", "n -> y"], names)
    with pytest.raises(GraphError) as caught:
        follower_inputs(graph, names, ["x", "z"])
    assert str(caught.value) == (
        "perturbation.propagate: x cannot move with all that it causes: m cannot follow (noise tied m <-> x); leave x "
        "out of partition.perturb, or set perturbation.propagate to false\n"
        "perturbation.propagate: z cannot move with all that it causes: n cannot follow (noise tied n <-> z); leave z "
        "out of partition.perturb, or set perturbation.propagate to false\n"
        "2 problems"
    )


@pytest.mark.parametrize("ask", [followers, propagable, follower_inputs])
def test_only_features_move(ask):
    graph = graph_of(["x -> m", "u -> m", "m -> y"], ("m", "x"), latents=["u"])
    with pytest.raises(GraphError, match="the target 'y' is also a feature; remove it from the features"):
        ask(graph, ("m", "x"), ["y"])
    with pytest.raises(GraphError, match="the feature 'u' is not a column of the data"):
        ask(graph, ("m", "x"), ["u"])
