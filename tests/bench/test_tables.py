"""The tables of suites, and the right and wrong graphs of worlds."""

import pytest

from crda_spec.bench.tables import KNOWN, NAMES, NINE, named_tables
from crda_spec.data.sources.benchmark import BENCHMARKS
from crda_spec.data.worlds import WORLDS
from crda_spec.spec.check import known_graph, load_spec

WRONG = ("lost", "extra", "turned", "undrawn")


def written(name, graph, seed=1):
    (table,) = named_tables(name)
    return table.sections(60, graph, seed)


def edges(name, graph, seed=1):
    sections = written(name, graph, seed)
    return set(sections["causal"]["graph"]["edges"]) if "causal" in sections else set()


def test_nine_are_the_papers_nine():
    assert [table.name for table in named_tables(NINE)] == list(BENCHMARKS)
    assert len(named_tables(NINE)) == 9
    assert set(NAMES) == {NINE, *BENCHMARKS, *KNOWN}
    assert set(WORLDS) < set(KNOWN)
    assert named_tables("nobody") == ()


@pytest.mark.parametrize("name", KNOWN)
@pytest.mark.parametrize("graph", ["right", *WRONG])
def test_every_graph_of_every_world_can_be_declared(name, graph):
    (table,) = named_tables(name)
    if graph not in table.graphs:
        assert graph == "undrawn"
        assert not KNOWN[name].hidden
        return
    for seed in (1, 2, 3):
        spec = {"version": 1, "name": "w", "recipe": "paper", "regressor": {"kind": "linear"}}
        loaded = load_spec({**spec, **table.sections(60, graph, seed)}, environ={})
        assert known_graph(*loaded).verdicts


@pytest.mark.parametrize("name", KNOWN)
def test_a_wrong_graph_is_wrong_in_one_place(name):
    world, right = KNOWN[name], edges(name, "right")
    assert right == set(world.edges())
    causes = {edge for edge in right if edge.endswith(f"-> {world.target}")}
    for seed in range(1, 6):
        (lost,) = right - edges(name, "lost", seed)
        assert lost in causes
        assert edges(name, "lost", seed) < right
        added = edges(name, "extra", seed) - right
        assert len(added) <= 1
        assert all(edge.endswith(f"-> {world.target}") for edge in added)
        flipped = edges(name, "turned", seed) - right
        assert len(flipped) == 1
        assert next(iter(flipped)).startswith(f"{world.target} -> ")
    if world.hidden:
        assert not any(hidden in edge.split() for edge in edges(name, "undrawn") for hidden in world.hidden)
    assert edges(name, "none") == set()


def test_which_arrow_is_wrong_changes_with_the_seed():
    assert len({frozenset(edges("smooth_proxies", "lost", seed)) for seed in range(1, 20)}) == 4


def test_a_world_is_tested_on_fresh_rows():
    sections = written("hidden_confounder", "right")
    dataset = sections["dataset"]
    assert dataset["source"]["rows"] == 60
    assert dataset["split"]["source"]["rows"] == 2000
    assert dataset["source"]["hidden"] == ["u"]
    assert sections["causal"]["graph"]["latent"] == ["u"]


def test_sizes_are_rows_or_shares(tmp_path):
    (world,) = named_tables("smooth_proxies")
    assert [world.rows_of(size) for size in (100, 1.0, 5000)] == [100, 200, 5000]
