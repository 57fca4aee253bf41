"""The specs of the worlds say what the worlds are."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from crda_spec.data.sources import Synthetic
from crda_spec.data.worlds import WORLDS, World, declare
from crda_spec.spec import RunSpec

SPECS = Path(__file__).parents[2] / "specs"
OURS = (*WORLDS, "own_equations", "paper_synthetic_discovery")
every_spec = pytest.mark.parametrize("name", OURS)
FILES = {"house_listing": "quickstart"}  # all others are named after their world
MODELINE = "# yaml-language-server: $schema=../schemas/crda-spec.v1.schema.json"


def load(name: str) -> RunSpec:
    data = yaml.safe_load((SPECS / f"{FILES.get(name, name)}.yaml").read_text(encoding="utf-8"))
    return RunSpec.model_validate_json(json.dumps(data))


def world_of(spec: RunSpec) -> World:
    source = spec.dataset.source
    assert isinstance(source, Synthetic)
    if source.world is not None:
        return WORLDS[source.world]
    assert source.equations is not None
    return declare(name=spec.name, equations=source.equations, target=spec.dataset.target, hidden=source.hidden)


def expand(edges: tuple[str, ...]) -> set[tuple[str, str]]:
    """Chains and fan-outs of the arrow language, for names of one word."""
    found = set()
    for text in edges:
        parts = [part.strip(" {}").replace(",", " ").split() for part in text.split("->")]
        for causes, effects in itertools.pairwise(parts):
            found |= {(cause, effect) for cause in causes for effect in effects}
    return found


@every_spec
def test_a_spec_is_named_after_its_file_and_known_to_editors(name: str) -> None:
    spec = load(name)
    file = FILES.get(name, name)
    assert (SPECS / f"{file}.yaml").read_text(encoding="utf-8").splitlines()[0] == MODELINE
    assert spec.name == file
    assert spec.dataset.target == world_of(spec).target


@every_spec
def test_the_declared_graph_is_the_worlds_graph(name: str) -> None:
    spec = load(name)
    world = world_of(spec)
    graph = spec.causal.graph
    if graph is None:
        assert name == "paper_synthetic_discovery"
        assert spec.causal.discovery is not None
        return
    assert expand(graph.edges) == expand(world.edges())
    assert graph.latent == world.hidden
    assert graph.noise == world.noise_parents()
    drawn = {name for edge in expand(world.edges()) for name in edge}
    assert set(graph.unrelated) == set(world.features()) - drawn


@every_spec
def test_the_declared_columns_hold_for_the_rows_that_are_drawn(name: str) -> None:
    spec = load(name)
    world = world_of(spec)
    source = spec.dataset.source
    assert isinstance(source, Synthetic)
    columns: dict[str, Any] = world.draw_columns(source.rows, seed=spec.seed)
    assert 300 <= source.rows <= 600
    for column, contract in spec.dataset.columns.items():
        values = columns[column]
        assert contract.type in (None, world.equation(column).type)
        assert contract.values is None or set(contract.values) == set(values)
        assert contract.min is None or np.min(values) >= contract.min
        assert contract.max is None or np.max(values) <= contract.max


@pytest.mark.parametrize("name", WORLDS)
def test_every_column_of_a_world_has_the_worlds_unit(name: str) -> None:
    world, spec = WORLDS[name], load(name)
    declared = {column: contract.unit for column, contract in spec.dataset.columns.items() if contract.unit}
    assert declared == {column: unit for column, unit in world.units.items() if column not in world.hidden}
