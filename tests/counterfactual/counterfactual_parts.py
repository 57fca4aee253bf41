"""Tables with every type of column, and partitioners as the build makes them."""

import numpy as np

from crda_spec.counterfactual.partition import DeclaredPartitioner, DiscoveredPartitioner, Partition
from crda_spec.counterfactual.support import MahalanobisSupport, NeighbourSupport
from crda_spec.discovery import Pc
from crda_spec.records import Column, Table
from crda_spec.scm.formats.edges import from_edges

TARGET = Column(name="y", type="continuous")
GUARDS = {"neighbours": NeighbourSupport, "mahalanobis": MahalanobisSupport}


def table(x, y, columns):
    x, y = np.array(x, dtype=float), np.array(y, dtype=float)
    return Table(features=tuple(columns), target=TARGET, row_ids=np.arange(len(y)), x=x, y=y)


def numbers(x, y):
    """A table of continuous columns a, b, c, ..."""
    return table(x, y, [Column(name=chr(97 + position), type="continuous") for position in range(np.shape(x)[1])])


MIXED = (
    Column(name="free", type="continuous"),
    Column(name="bounded", type="continuous", minimum=-1.0, maximum=1.5),
    Column(name="count", type="integer", minimum=0.5, maximum=9.7),
    Column(name="size", type="integer", allowed=(1.0, 2.0, 5.0, 12.0), maximum=6.0),
    Column(name="ward", type="category", labels=("north", "south", "west")),
    Column(name="smoker", type="boolean"),
    Column(name="kept", type="continuous"),
)


def mixed(n, *, seed=0, missing=0.05):
    """Every type of column, some cells missing in each."""
    rng = np.random.default_rng(seed)
    x = np.column_stack(
        [
            rng.normal(50.0, 10.0, n),
            rng.uniform(-1.0, 1.5, n),
            rng.integers(1, 10, n),
            rng.choice([1.0, 2.0, 5.0], n),
            rng.integers(0, 3, n),
            rng.integers(0, 2, n),
            rng.normal(size=n),
        ]
    ).astype(float)
    x[rng.random(x.shape) < missing] = np.nan
    return table(x, rng.normal(size=n), MIXED)


def screened_only(**settings):
    """The `partition` section without the joint check, for the residuals that a test hands over."""
    return Partition(**{"joint": None, "residuals": "in_sample", **settings})


def declared(edges, names, *, latent=(), noise=(), **choice):
    graph = from_edges(edges, columns=(*names, "y"), target="y", features=names, latents=latent, noise_parents=noise)
    return DeclaredPartitioner(graph=graph, choice=screened_only(**choice))


INDEX = (1,)  # a gate fold's rows, for which no picture is made


def discovered(search=None, **choice):
    return DiscoveredPartitioner(discovery=search or Pc(), choice=screened_only(**choice))
