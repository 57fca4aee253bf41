"""Runs of written specs, and worlds whose true outcomes are known."""

from contextlib import contextmanager
from dataclasses import dataclass, field

import numpy as np

from crda_spec.counterfactual.partition import DeclaredPartitioner, Partition
from crda_spec.data.assemble import assemble
from crda_spec.data.dataset import Dataset
from crda_spec.data.sources import Synthetic
from crda_spec.data.worlds import WORLDS
from crda_spec.pipeline import run
from crda_spec.scm.formats.edges import from_edges
from crda_spec.spec.build import build_plan
from crda_spec.spec.check import load_spec


@dataclass(slots=True)
class Notes:
    """Somebody who watches and writes down."""

    stages: list[tuple[str, int | None]] = field(default_factory=list)
    steps: int = 0

    @contextmanager
    def stage(self, name, total):
        self.stages.append((name, total))
        yield self

    def advance(self):
        self.steps += 1


def run_spec(folder, text, *overrides, notes=None):
    """The result of a written spec, through the same doors as the command."""
    file = folder / "spec.yaml"
    file.write_text(text)
    spec, draft = load_spec(file, overrides=overrides)
    return run(build_plan(spec, draft), progress=notes or Notes())


def observed(name, rows, *, seed):
    """A world's table as a run would see it, and the sample that knows the truth about each row."""
    world = WORLDS[name]
    source = Synthetic(world=name, rows=rows)
    dataset = Dataset(source=source, target=world.target)
    return assemble(source.read(seed=seed), dataset, seed=0).table, world.draw(rows, seed=seed)


def certified(name, feature):
    """The partitioner of the world's own graph; only one feature may move."""
    world = WORLDS[name]
    features = world.features()
    graph = from_edges(
        world.edges(),
        columns=(*features, world.target),
        target=world.target,
        features=features,
        latents=world.hidden,
        noise_parents=world.noise_parents(),
    )
    choice = Partition(perturb=(feature,), joint=None, residuals="in_sample")
    return DeclaredPartitioner(graph=graph, choice=choice)


def true_outcomes(table, sample, action):
    """What nature says of the changed rows, every feature set to its new or kept value."""
    values = {
        column.name: np.array(column.labels, dtype=object)[cells.astype(int)] if column.type == "category" else cells
        for column, cells in zip(table.features, action.x.T, strict=True)
    }
    return sample.outcome(values, rows=table.row_ids[action.source])
