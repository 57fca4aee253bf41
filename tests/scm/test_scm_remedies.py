"""Remedies against brute force: applied to the oracle's own graph they free what they say, and nothing smaller does."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import networkx as nx
import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from scm_worlds import World, random_world, random_worlds

from crda_spec.report.words.causal import remedy_sentence
from crda_spec.scm.certificate import certify, certify_named, graph_certificate, perturbable
from crda_spec.scm.formats import FORMATS, from_edges, read_graph, to_edges, write_graph
from crda_spec.scm.remedies import KINDS, MOST, remedies

ALL = 10_000  # more than any small graph has


@st.composite
def large_worlds(draw: st.DrawFn) -> World:
    """Up to 7 features; in every other world nothing is latent and the unmeasured nodes are unused columns."""
    world = random_world(np.random.default_rng(draw(st.integers(0, 2**32 - 1))), most_features=7)
    return unused_instead(world) if draw(st.booleans()) else world


def unused_instead(world: World) -> World:
    return replace(world, columns=(*world.columns, *world.latents), latents=())


def subsets(names):
    return [frozenset(found) for size in range(1, len(names) + 1) for found in combinations(names, size)]


def hidden_causes(world: World) -> list[str]:
    return [f"({min(pair)} <-> {max(pair)})" for pair in world.bidirected]


def candidates(world: World, kind: str) -> list[str]:
    """What each kind may take, from the definition."""
    if kind == "leave_out":
        return [name for name in world.features if name not in world.noise_parents]
    if kind == "add":
        return [name for name in world.columns if name not in world.features and name != "y"]
    return [*world.latents, *hidden_causes(world)]


def free_after(world: World, kind: str = "add", names=frozenset()) -> set[str]:
    """{ x : L _||_ x | rest } by networkx, the measured set changed as the remedy says."""
    oracle = world.oracle()
    measured = set(world.features) - names if kind == "leave_out" else set(world.features) | names
    noise = set(oracle.predecessors("y")) - measured
    return {x for x in measured & set(world.features) if nx.is_d_separator(oracle, noise, {x}, measured - {x})}


def minimal_remedies(world: World, kind: str) -> dict[frozenset[str], set[str]]:
    """All sets that free some feature which none of their proper subsets frees, by trying every set."""
    before = free_after(world)
    frees = {names: free_after(world, kind, names) - before for names in subsets(candidates(world, kind))}
    return {
        names: freed
        for names, freed in frees.items()
        if any(all(x not in frees[less] for less in frees if less < names) for x in freed)
    }


def shown(world: World, most: int = ALL):
    return remedies(world.graph(), certify(world.graph(), world.features), most=most)


def test_the_search_finds_exactly_the_minimal_remedies():
    sizes: dict[str, set[int]] = {kind: set() for kind in KINDS}
    drawn = list(random_worlds(900, 120, most_features=5))
    for world in (*drawn, *map(unused_instead, drawn)):
        if len(candidates(world, "measure")) > 6:
            continue
        found = shown(world)
        for kind in KINDS:
            mine = {frozenset(one.names): set(one.frees) for one in found if one.kind == kind}
            assert mine == minimal_remedies(world, kind)
            sizes[kind] |= {len(names) for names in mine}
    assert {1, 2} <= sizes["leave_out"]
    assert {1, 2} <= sizes["add"]
    assert {1, 2} <= sizes["measure"]


def applied(world: World, kind: str, names: set[str]) -> World:
    """The world in which somebody did what the remedy says."""
    if kind == "leave_out":
        return replace(world, features=tuple(name for name in world.features if name not in names))
    if kind == "add":
        return replace(world, features=(*world.features, *sorted(names)))
    pairs = {
        hidden: pair for hidden, pair in zip(hidden_causes(world), world.bidirected, strict=True) if hidden in names
    }
    return replace(
        world,
        columns=(*world.columns, *sorted(names)),
        features=(*world.features, *sorted(names)),
        latents=tuple(name for name in world.latents if name not in names),
        bidirected=tuple(pair for pair in world.bidirected if pair not in pairs.values()),
        directed=(*world.directed, *((hidden, end) for hidden, pair in pairs.items() for end in pair)),
    )


@settings(max_examples=80, deadline=None)
@given(world=large_worlds())
def test_every_remedy_applied_works(world):
    before = perturbable(world.graph(), world.features)
    for remedy in shown(world, MOST):
        after = applied(world, remedy.kind, set(remedy.names))
        now = perturbable(after.graph(), after.features) & set(world.features)
        assert set(remedy.frees) == now - before
        assert remedy.frees
        for less in subsets(remedy.names):
            if less < set(remedy.names):
                smaller = applied(world, remedy.kind, set(less))
                assert not set(remedy.frees) <= perturbable(smaller.graph(), smaller.features)
        assert before - set(remedy.names) <= now  # it costs nothing but what is left out


@settings(max_examples=50, deadline=None)
@given(world=large_worlds(), order=st.randoms(use_true_random=False))
def test_remedies_depend_neither_on_an_order_nor_on_the_format(world, order):
    graph, features = world.graph(), list(world.features)
    expected = remedies(graph, certify(graph, features))
    order.shuffle(features)
    assert remedies(graph, certify(graph, features)) == expected
    again = from_edges(
        to_edges(graph),
        columns=list(reversed(world.columns)),
        target="y",
        features=features,
        latents=world.latents,
        noise_parents=world.noise_parents,
    )
    read = [read_graph(write_graph(graph, kind).text, kind, file="g") for kind in sorted(FORMATS)]
    others = [one.graph(columns=world.columns, features=features, noise_parents=world.noise_parents) for one in read]
    for other in (again, *others):
        assert remedies(other, certify(other, features)) == expected
        unplaced = [replace(one, lines=()) for one in certify_named(other, features)]
        assert unplaced == [replace(one, lines=()) for one in certify_named(graph, features)]


@settings(max_examples=50, deadline=None)
@given(world=large_worlds())
def test_remedies_come_smallest_first_then_those_that_free_most(world):
    every, some = shown(world), shown(world, MOST)
    order = [(len(one.names), -len(one.frees)) for one in every]
    assert order == sorted(order)
    assert len(some) <= MOST
    assert set(some) <= set(every)
    assert len(some) == min(MOST, len(every))
    for kind in KINDS:
        mine = [one for one in every if one.kind == kind]
        assert set(mine[:2]) <= set(some)


def remedies_of(edges, features, *, columns=(), latents=()):
    graph = from_edges(
        edges, columns=[*features, *columns, "recovery"], target="recovery", features=features, latents=latents
    )
    return [
        (one.kind, one.names, one.frees, remedy_sentence(one)) for one in graph_certificate(graph, features).remedies
    ]


def test_the_sentences_can_be_acted_on():
    assert remedies_of(
        ["severity -> {dose recovery}", "age <-> recovery", "clinic -> {bmi recovery}", "stay -> recovery"],
        ["dose", "age", "bmi", "stay"],
        columns=["clinic"],
        latents=["severity"],
    ) == [
        ("add", ("clinic",), ("bmi",), "add clinic to the features: then bmi may move"),
        (
            "measure",
            ("(age <-> recovery)",),
            ("age",),
            "measure what drives both age and recovery and add it to the features: then age may move",
        ),
        ("measure", ("severity",), ("dose",), "measure severity and add it to the features: then dose may move"),
    ]


def test_all_effects_of_the_target_together():
    """Leaving out one of two effects frees nobody; an effect of an effect has to go as well."""
    assert remedies_of(
        ["{dose age} -> recovery -> {relapse stay}", "relapse -> cost"], ["dose", "age", "relapse", "stay", "cost"]
    ) == [
        (
            "leave_out",
            ("cost", "relapse", "stay"),
            ("age", "dose"),
            "leave cost, relapse and stay out of the features: then age and dose may move",
        )
    ]


def test_two_hidden_causes_have_to_be_measured_together():
    assert remedies_of(["severity -> {dose recovery}", "dose <-> recovery"], ["dose"], latents=["severity"]) == [
        (
            "measure",
            ("(dose <-> recovery)", "severity"),
            ("dose",),
            "measure what drives both dose and recovery and severity and add them to the features: then dose may move",
        )
    ]


def test_a_parent_of_the_noise_stays_a_feature():
    """Leaving it out would close the path, but the spec would then be refused."""
    columns = ["dose", "age", "recovery"]
    edges = ["{dose severity} -> age", "severity -> recovery"]
    graphs = [
        from_edges(edges, columns=columns, target="recovery", latents=["severity"], noise_parents=noise)
        for noise in ([], ["age"])
    ]
    kinds = [[one.kind for one in graph_certificate(graph, columns[:-1]).remedies] for graph in graphs]
    assert kinds == [["measure", "leave_out"], ["measure"]]


def test_a_feature_that_no_edge_names_has_no_remedy_but_an_edge():
    graph = from_edges(["dose -> recovery"], columns=["dose", "age", "recovery"], target="recovery")
    certificate = graph_certificate(graph, ["dose", "age"])
    assert [one.status for one in certificate.features] == ["cause", "blocked"]
    assert (certificate.remedies, certificate.largest) == ((), ("dose",))


def test_a_large_graph_ends_within_its_bounds_and_still_offers_the_forced_set():
    """300 causes, 40 effects, every cause paired with an effect by a hidden cause: the sets explode, the search not."""
    causes, effects = [f"c{i:03}" for i in range(300)], [f"e{i:02}" for i in range(40)]
    edges = [f"{{{' '.join(causes)}}} -> y", f"y -> {{{' '.join(effects)}}}"]
    edges += [f"{cause} <-> {effects[i % 40]}" for i, cause in enumerate(causes)]
    graph = from_edges(edges, columns=[*causes, *effects, "y"], target="y")
    found = graph_certificate(graph, [*causes, *effects]).remedies
    assert [(one.kind, one.names, len(one.frees)) for one in found] == [("leave_out", tuple(effects), 300)]
    assert remedy_sentence(found[0]) == (
        "leave e00, e01, e02, e03, e04 and 35 more out of the features: "
        "then c000, c001, c002, c003, c004 and 295 more may move"
    )
