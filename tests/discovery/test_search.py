"""Discovery alone: what it says of the rows, the resamples and the picture, whatever the table."""

import numpy as np
import pytest

from crda_spec.discovery import Fci, Pc, Stability
from crda_spec.discovery.search import search
from crda_spec.records import Column, Table
from crda_spec.report.words.discovery import search_notes


def table(x, y):
    names = "abcdefgh"[: x.shape[1]]
    return Table(
        features=tuple(Column(name=name, type="continuous") for name in names),
        target=Column(name="y", type="continuous"),
        row_ids=np.arange(len(y)),
        x=x,
        y=y,
    )


def draws(rows, seed=5):
    """a causes y strongly, b weakly: some resamples show it, and all rows together may not."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(rows, 2))
    return table(x, x[:, 0] + 0.25 * x[:, 1] + rng.normal(size=rows))


def searched(rows, **settings):
    return search(rows, Pc(), source="rows of a test", seed=1, **settings)


def test_too_few_rows_say_that_nothing_was_tested():
    found = searched(draws(3))
    assert search_notes(found) == (
        "Only 3 rows have no missing cell: nothing could be tested, so every link is still there.",
    )
    assert len(found.graph.edges) == 3


def test_pairs_that_resamples_link_often_and_all_rows_do_not_are_told():
    """Copies of rows make a bootstrap sure of links that all rows leave open: some of these tables have one."""
    told = 0
    for seed in range(20):
        found = searched(draws(60, seed), stability=Stability(resamples=20, scheme="bootstrap"))
        linked = {frozenset((edge.first, edge.second)) for edge in found.graph.edges}
        for a, b, share in found.often:
            assert 0.5 <= share <= 1
            assert frozenset((a, b)) not in linked
            told += 1
    assert told


def test_no_resamples_no_shares():
    found = searched(draws(200))
    assert found.often == ()
    assert {edge.frequency for edge in found.graph.edges} == {None}


def test_the_same_seed_gives_the_same_findings_and_another_one_other_resamples():
    rows = draws(200)
    first, again = (searched(rows, stability=Stability(resamples=15)) for _ in range(2))
    assert first.graph == again.graph
    other = search(rows, Pc(), source="", seed=2, stability=Stability(resamples=15, scheme="bootstrap"))
    assert [edge.frequency for edge in other.graph.edges] != []
    assert [str(edge) for edge in other.graph.edges] == [str(edge) for edge in first.graph.edges]


@pytest.mark.parametrize("discovery", [Pc(), Fci()], ids=["pc", "fci"])
def test_the_picture_has_every_column_and_every_link_and_no_noise(discovery):
    rng = np.random.default_rng(8)
    x = rng.normal(size=(500, 3))
    x[:, 2] += x[:, 0] + x[:, 1]
    found = search(table(x, x[:, 2] + rng.normal(size=500)), discovery, source="", seed=0)
    assert found.drawn.nodes == (("a", "feature"), ("b", "feature"), ("c", "feature"), ("y", "target"))
    links = {frozenset(edge[:2]) for edge in found.drawn.edges}
    assert links == {frozenset((edge.first, edge.second)) for edge in found.graph.edges}
    assert ("o->" in {edge[2] for edge in found.drawn.edges}) == isinstance(discovery, Fci)


def test_a_conflict_is_drawn_as_a_line_without_a_direction():
    rng = np.random.default_rng(0)
    for _ in range(40):
        rows = table(rng.normal(size=(60, 5)) @ rng.normal(size=(5, 5)), rng.normal(size=60))
        found = searched(rows)
        if found.graph.conflicted:
            break
    assert found.graph.conflicted
    marks = {frozenset(edge[:2]): edge[2] for edge in found.drawn.edges}
    assert {marks[frozenset(pair)] for pair in found.graph.conflicted} == {"--"}
