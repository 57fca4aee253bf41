"""pgmpy's and causal-learn's stable PC as oracles: the same links, and the same separating sets.

Both keep, for each link they cut, the members of *all* sets of that size that separate: our `separator="union"`.
"""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from discovery_worlds import linear_world, pc_skeleton

from crda_spec.independence import correlation_matrix

SIZES = [(6, 80, 0.6), (10, 150, 0.4), (15, 300, 0.25), (25, 300, 0.06), (40, 200, 0.03)]


def ours(x: np.ndarray, alpha: float, depth: int):
    found = pc_skeleton(*correlation_matrix(x), alpha=alpha, max_depth=depth, separator="union")
    links = {(int(i), int(j)) for i, j in zip(*np.nonzero(np.triu(found.adjacent)), strict=True)}
    return links, {pair: set(held) for pair, held in found.separating.items()}


def pgmpys(x: np.ndarray, alpha: float, depth: int):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from pgmpy.causal_discovery import PC

        names = [f"x{i:02d}" for i in range(x.shape[1])]
        search = PC(
            variant="stable",
            ci_test="fisher_z",
            significance_level=alpha,
            max_cond_vars=depth,
            show_progress=False,
        ).fit(pd.DataFrame(x, columns=names))
    links = {tuple(sorted((int(a[1:]), int(b[1:])))) for a, b in search.skeleton_.edges()}
    sets = {
        tuple(sorted(int(name[1:]) for name in pair)): {int(name[1:]) for name in held}
        for pair, held in search.separating_sets_.items()
    }
    return links, sets


def causal_learns(x: np.ndarray, alpha: float, depth: int):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from causallearn.utils.cit import CIT
        from causallearn.utils.PCUtils.SkeletonDiscovery import skeleton_discovery

        graph = skeleton_discovery(x, alpha, CIT(x, "fisherz"), stable=True, show_progress=False, max_k=depth)
    d = x.shape[1]
    pairs = [(i, j) for i in range(d) for j in range(i + 1, d)]
    links = {(i, j) for i, j in pairs if graph.G.graph[i, j] != 0}
    # It lists what each end of the link found.
    sets = {pair: set().union(*graph.sepset[pair]) for pair in pairs if pair not in links}
    return links, sets


@pytest.mark.parametrize(("d", "n", "density"), SIZES)
@pytest.mark.parametrize("theirs", [pgmpys, causal_learns])
def test_links_and_separating_sets_equal_those_of_another_implementation(theirs, d, n, density):
    x = linear_world(np.random.default_rng(d), d=d, n=n, density=density)
    links, sets = ours(x, 0.05, 3)
    their_links, their_sets = theirs(x, 0.05, 3)
    assert links == their_links
    assert sets == {pair: {int(k) for k in held} for pair, held in their_sets.items()}
    assert any(sets.values())


def test_the_kept_set_is_the_most_convincing_of_those_that_separate():
    x = linear_world(np.random.default_rng(1), d=12, n=200, density=0.4)
    matrix, n = correlation_matrix(x)
    strongest = pc_skeleton(matrix, n, alpha=0.05).separating
    union = pc_skeleton(matrix, n, alpha=0.05, separator="union").separating
    assert list(strongest) == list(union)
    assert all(set(held) <= set(union[pair]) for pair, held in strongest.items())
    assert any(set(held) < set(union[pair]) for pair, held in strongest.items())
