from __future__ import annotations

import re
from itertools import chain, combinations

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scm_worlds import World, arrows_hold, expanded, is_open, open_paths, random_worlds, worlds

from crda_spec.errors import GraphError
from crda_spec.records import DrawnGraph
from crda_spec.report.words.causal import assumption_sentence, lemma_sentence, reason_sentence
from crda_spec.scm.certificate import (
    certify,
    certify_named,
    drawn,
    graph_certificate,
    lemma_holds,
    noise_side,
    perturbable,
)
from crda_spec.scm.formats import from_edges


def subsets(names):
    return chain.from_iterable(combinations(names, size) for size in range(len(names) + 1))


def closed_form(world: World, features=None) -> set[str]:
    """{ x : L _||_ x | X - x } by networkx, from the definition."""
    oracle, chosen = world.oracle(), set(world.features if features is None else features)
    noise = set(oracle.predecessors("y")) - chosen
    return {x for x in chosen if nx.is_d_separator(oracle, noise, {x}, chosen - {x})}


@pytest.mark.parametrize("seed", range(4))
def test_exactly_the_subsets_of_the_closed_form_are_valid(seed):
    sizes = set()
    for world in random_worlds(300 + seed, 70, most_features=7):
        oracle, everything, noise = world.oracle(), set(world.features), world.noise_side()
        largest = perturbable(world.graph(), world.features)
        sizes.add(len(largest))
        for chosen in map(set, subsets(world.features)):
            valid = not chosen or nx.is_d_separator(oracle, noise, chosen, everything - chosen)
            assert valid == (chosen <= largest)
    assert {0, 1, 2, 3} <= sizes


@pytest.mark.parametrize("seed", range(4))
def test_one_sweep_finds_what_one_query_per_feature_finds(seed):
    for world in random_worlds(400 + seed, 250):
        assert set(noise_side(world.graph(), world.features)) == world.noise_side()
        assert perturbable(world.graph(), world.features) == closed_form(world)


def test_the_lemma_of_the_appendix_holds():
    statuses = set()
    for world in random_worlds(500, 500):
        oracle, graph = world.oracle(), world.graph()
        free = perturbable(graph, world.features)
        kept = set(world.features) - free
        causes = set(oracle.predecessors("y"))
        for verdict in certify(graph, world.features):
            statuses.add(verdict.status)
            assert verdict.perturbable == (verdict.name in free)
            assert bool(verdict.lemma) == verdict.perturbable
            if verdict.status == "cause":
                assert verdict.name in causes
                assert lemma_sentence(verdict.lemma) == f"{verdict.name} is a parent of y"
            elif verdict.status == "irrelevant":
                assert verdict.name not in causes
                assert lemma_sentence(verdict.lemma).startswith(f"{verdict.name} is d-separated from y given ")
                assert nx.is_d_separator(oracle, {verdict.name}, {"y"}, (causes & free) | kept)
    assert statuses == {"cause", "irrelevant", "blocked"}


def test_a_witness_is_a_shortest_open_path_from_the_noise_side():
    starts = set()
    for world in random_worlds(600, 150, most_features=4):
        oracle = world.oracle()
        for verdict in certify(world.graph(), world.features):
            assert (verdict.witness == ()) == verdict.perturbable
            if verdict.perturbable:
                continue
            others = set(world.features) - {verdict.name}
            nodes = expanded(verdict.witness)
            starts.add(nodes[0])
            assert nodes[-1] == verdict.name
            assert len(set(nodes)) == len(nodes)
            assert arrows_hold(oracle, verdict.witness)
            assert is_open(oracle, nodes, others)
            from_noise = nodes if nodes[0] == "Z" else nodes[1:]
            assert from_noise[0] in world.noise_side()
            every = [path for a in world.noise_side() for path in open_paths(oracle, a, verdict.name, others)]
            assert len(from_noise) == min(map(len, every))
    assert starts == {"Z", "y"}


@settings(max_examples=100)
@given(world=worlds(), order=st.randoms(use_true_random=False))
def test_the_lemma_holds_for_every_valid_partition(world, order):
    """Any part of the largest X_P may move, and the lemma speaks of that partition."""
    graph = world.graph()
    largest = sorted(perturbable(graph, world.features))
    moved = [name for name in largest if order.random() < 0.5]
    assert lemma_holds(graph, world.features, largest)
    assert lemma_holds(graph, world.features, moved)


def test_blockers_are_the_unmeasured_nodes_that_would_close_the_witness():
    counts = set()
    for world in random_worlds(650, 300):
        oracle = world.oracle()
        for verdict in certify(world.graph(), world.features):
            if verdict.perturbable:
                assert verdict.blockers == ()
                continue
            others, nodes = set(world.features) - {verdict.name}, expanded(verdict.witness)
            held = [name for name in nodes[:-1] if name not in {"y", "Z"} and name not in others]
            closing = [name for name in held if not is_open(oracle, nodes, others | {name})]
            assert list(verdict.blockers) == closing
            counts.add((len(held) > len(closing), len(closing)))
    assert {(False, 0), (False, 1), (False, 2), (True, 1)} <= counts


def test_the_whole_certificate_of_a_graph():
    columns = ["dose", "age", "bmi", "shoe", "recovery"]
    graph = from_edges(
        ["severity -> {dose recovery}", "bmi -> age -> recovery"],
        columns=columns,
        target="recovery",
        latents=["severity"],
    )
    found = graph_certificate(graph, columns[:-1])
    assert found.basis == "declared"
    assert found.graph == drawn(graph, columns[:-1])
    assert found.features == certify_named(graph, columns[:-1])
    assert [one.status for one in found.features] == ["blocked", "cause", "irrelevant", "blocked"]
    assert found.noise_side == ("Z", "severity")
    assert found.largest == found.perturbed == ("age", "bmi")  # nothing is known of shoe
    assert found.lemma_holds is True
    assert [remedy.names for remedy in found.remedies] == [("severity",)]
    assert found.propagated == ()
    assert tuple(map(assumption_sentence, found.assumes)) == (
        "the graph is right: an arrow that is not drawn stands for an effect that does not exist",
        "every common cause of two nodes is drawn, measured or not",
        (
            "recovery is a function of its causes plus noise that adds to it, "
            "and the noise depends on no feature but those declared to drive it"
        ),
        "nothing unmeasured changes the effect of a feature that moves",
        "the rows were not chosen by anything that these nodes cause",
        "the regressor is accurate where features move: its own error travels with the noise",
        (
            "shoe, which the graph does not draw, is not caused by recovery or by anything unmeasured that drives "
            "recovery: if it is, nothing may move"
        ),
    )


REMEDIES = {
    "leave-one": r"; leaving (?P<out>.+) out of the features would free (?P<freed>.+)$",
    "leave-all": r"; leaving out all that y causes \((?P<out>.+)\) would free (?P<freed>.+)$",
    "add": r"; with (?P<add>.+) among the features, (?P<freed>.+) would be free$",
}


def names_in(text: str, itself: str) -> set[str]:
    return {itself} if text == "it" else set(re.findall(r"\b[xw]\d\b", text))


def test_an_effect_that_alone_blocks_others_is_told_to():
    """Only effects that alone keep a collider open are asked about; the oracle asks about all."""
    told = 0
    for world in random_worlds(31, 300):
        graph, features = world.graph(), world.features
        free = perturbable(graph, features)
        below = nx.descendants(world.oracle(), "y")
        for verdict in certify(graph, features):
            if verdict.name in below:
                freed = perturbable(graph, [name for name in features if name != verdict.name]) - free
                assert ("leaving it out of the features would free" in reason_sentence(verdict.reason)) == bool(freed)
                told += bool(freed)
    assert told > 20


def test_every_remedy_applied_works():
    seen = set()
    for world in random_worlds(700, 600):
        for verdict in certify(world.graph(), world.features):
            for kind, pattern in REMEDIES.items():
                found = re.search(pattern, reason_sentence(verdict.reason))
                if found is None:
                    continue
                seen.add(kind)
                parts = {"out": "", "add": "", **found.groupdict()}
                features = (set(world.features) | names_in(parts["add"], "")) - names_in(parts["out"], verdict.name)
                freed = names_in(parts["freed"], verdict.name)
                assert freed
                assert freed <= closed_form(world, features)
                assert not freed & closed_form(world)
    assert seen == set(REMEDIES)


@settings(max_examples=80, deadline=None)
@given(world=worlds(), order=st.randoms(use_true_random=False))
def test_verdicts_do_not_depend_on_the_order_of_anything(world, order):
    parts = {name: list(getattr(world, name)) for name in World.__slots__}
    for part in parts.values():
        order.shuffle(part)
    parts["bidirected"] = [pair[::-1] if order.random() < 0.5 else pair for pair in parts["bidirected"]]
    other = World(**{name: tuple(part) for name, part in parts.items()})
    mine = {verdict.name: verdict for verdict in certify(world.graph(), world.features)}
    # Lists of names inside a reason follow the features' order, so the same order of features is asked about.
    assert {verdict.name: verdict for verdict in certify(other.graph(), world.features)} == mine
    turned = certify(other.graph(), other.features)
    assert tuple(verdict.name for verdict in turned) == other.features
    assert {(v.name, v.status, v.witness) for v in turned} == {(v.name, v.status, v.witness) for v in mine.values()}


def test_features_are_checked():
    graph = from_edges(["dose -> recovery"], columns=["dose", "recovery"], target="recovery")
    for ask in (certify, graph_certificate, perturbable, noise_side, drawn):
        with pytest.raises(GraphError) as caught:
            ask(graph, ["dose", "doze", "recovery", "dose", "Z"])
        assert str(caught.value) == (
            "the feature 'doze' is not a column of the data; did you mean 'dose'?\n"
            "the target 'recovery' is also a feature; remove it from the features\n"
            "the feature 'dose' is listed twice; remove one\n"
            "the feature 'Z' is not a column of the data; the columns are: dose, recovery\n"
            "4 problems"
        )


def test_the_drawing_shows_roles_and_marks():
    graph = from_edges(
        ["severity -> {dose recovery}", "clinic -> dose", "age <-> recovery"],
        columns=["dose", "age", "recovery", "clinic", "id"],
        features=["dose", "age"],
        target="recovery",
        latents=["severity"],
        noise_parents=["age"],
    )
    assert drawn(graph, ["dose", "age"]) == DrawnGraph(
        nodes=(
            ("dose", "feature"),
            ("age", "feature"),
            ("recovery", "target"),
            ("Z", "noise"),
            ("clinic", "unused"),
            ("severity", "latent"),
        ),
        edges=(
            ("age", "recovery", "<->"),
            ("clinic", "dose", "->"),
            ("severity", "dose", "->"),
            ("severity", "recovery", "->"),
            ("age", "Z", "->"),
            ("Z", "recovery", "->"),
        ),
    )


def test_certified_features_are_uncorrelated_with_the_noise_given_the_rest_in_a_linear_world():
    """The theorem meets data: partial correlations of the true noise, from the model's covariance, no sampling."""
    rng = np.random.default_rng(8)
    checked = {True: 0, False: 0}
    for world in random_worlds(800, 200):
        oracle = world.oracle()
        names = list(nx.topological_sort(oracle))
        weights = np.array([[rng.uniform(0.3, 1.2) * oracle.has_edge(a, b) for b in names] for a in names])
        mix = np.linalg.inv(np.eye(len(names)) - weights)
        covariance = mix.T @ mix
        where = {name: i for i, name in enumerate(names)}
        free = perturbable(world.graph(), world.features)
        for x in world.features:
            rest = [where[other] for other in world.features if other != x]
            ends = [where[x], *(where[name] for name in world.noise_side())]
            cross = covariance[np.ix_(ends, rest)]
            partial = covariance[np.ix_(ends, ends)] - cross @ np.linalg.solve(covariance[np.ix_(rest, rest)], cross.T)
            tied = np.abs(partial[0, 1:]).max() > 1e-9
            checked[x in free] += 1
            assert tied == (x not in free)
    assert min(checked.values()) > 100


def test_the_same_in_large_samples():
    """20 000 rows of each world: certified features pass at the test's own level, faithful blocked ones fail."""
    rng = np.random.default_rng(9)
    rejected: dict[bool, list[bool]] = {True: [], False: []}
    for world in random_worlds(820, 40):
        oracle = world.oracle()
        names = list(nx.topological_sort(oracle))
        weights = np.array([[rng.uniform(0.3, 1.2) * oracle.has_edge(a, b) for b in names] for a in names])
        rows = rng.normal(size=(20_000, len(names))) @ np.linalg.inv(np.eye(len(names)) - weights)
        where = {name: i for i, name in enumerate(names)}
        free = perturbable(world.graph(), world.features)
        for x in world.features:
            rest = np.column_stack([np.ones(len(rows)), *(rows[:, where[o]] for o in world.features if o != x)])
            ends = rows[:, [where[x], *(where[name] for name in world.noise_side())]]
            left = ends - rest @ np.linalg.lstsq(rest, ends, rcond=None)[0]
            size = np.abs(np.corrcoef(left.T)[0, 1:]) * np.sqrt(len(rows))
            rejected[x in free].append(bool(size.max() > 4.0))  # p about 0.00006
    assert min(map(len, rejected.values())) > 30
    assert not any(rejected[True])
    assert np.mean(rejected[False]) > 0.95  # some paths are long, and their ties weak


@settings(max_examples=60)
@given(world=worlds())
def test_only_features_that_no_edge_names_are_held_back(world):
    """All other verdicts are those of the graph, word for word."""
    graph = world.graph()
    named = {end for edge in graph.edges for end in (edge.tail, edge.head)} | set(graph.noise_parents)
    forgotten = "no edge of the graph names it, so nothing is known of it: draw it, or leave it out of the features"
    for before, after in zip(certify(graph, world.features), certify_named(graph, world.features), strict=True):
        if before.name in named:
            assert after == before
        else:
            assert (before.status, after.status, reason_sentence(after.reason)) == ("irrelevant", "blocked", forgotten)


def test_a_parent_of_the_noise_is_named_without_an_edge():
    names = ("a", "b", "c")
    graph = from_edges(["a -> y"], columns=(*names, "y"), target="y", features=names, noise_parents=("b",))
    statuses = [verdict.status for verdict in certify_named(graph, names)]
    assert statuses == ["cause", "blocked", "blocked"]
    assert ["no edge" in reason_sentence(one.reason) for one in certify_named(graph, names)] == [False, False, True]
