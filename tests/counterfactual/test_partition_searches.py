"""The searches and checks behind a discovered partition: FCI, GES, consensus, knowledge, resamples, the joint check."""

import os

import numpy as np
import pytest
from counterfactual_parts import INDEX, declared, discovered, numbers, table

from crda_spec.data.assemble import assemble
from crda_spec.data.dataset import Dataset, DuplicatesKeep
from crda_spec.data.sources import Benchmark
from crda_spec.discovery import Consensus, Fci, Ges, Knowledge, Pc, Stability
from crda_spec.independence import Distance, JointCheck, Pearson
from crda_spec.records import Column
from crda_spec.report.words.causal import assumption_sentence, joint_sentence, reason_sentence
from crda_spec.report.words.discovery import tie_words

WHOLE = (0,)
PRUNE = JointCheck(on_failure="prune")
WARN = JointCheck(on_failure="warn")
RESAMPLED = Pc(stability=Stability(resamples=10, scheme="half", threshold=0.5))


def tied_to_b(rows=600, seed=2):
    """b drives the residual, c follows b, a and d are free."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(rows, 4))
    x[:, 2] = x[:, 1] + 0.7 * x[:, 2]
    z = rng.normal(size=rows) + x[:, 1]
    return numbers(x, x @ [1.0, 0.5, 0.5, 2.0] + z), z


@pytest.mark.parametrize(
    "search",
    [
        Pc(),
        Pc(dependence="nonlinear"),
        Pc(knowledge=Knowledge(roots=("a",), forbidden=("c -> b",))),
        RESAMPLED,
        Ges(),
    ],
    ids=["pc", "pc nonlinear", "pc with knowledge", "pc on resamples", "ges"],
)
def test_every_search_ties_what_drives_the_residual(search):
    train, z = tied_to_b()
    ties = search.residual_neighbours(train, z, seed=0, index=INDEX)
    assert "b" in ties.tied
    assert "a" not in ties.tied
    assert "d" not in ties.tied
    certificate = discovered(search).partition(train, z, seed=0, index=INDEX)
    assert certificate.perturbed == ("a", "d")  # c is screened out: it follows b


def test_resamples_say_how_often():
    train, z = tied_to_b()
    ties = RESAMPLED.residual_neighbours(train, z, seed=0, index=INDEX)
    assert tie_words(ties.tied["b"]) == "PC ties it to the residual in 100% of the resamples"


def hidden_cause(rows=4000):
    """{a b} -> x makes x -> y an edge that cannot be confounded; w shares a hidden cause with y."""
    rng = np.random.default_rng(0)
    a, b, u, v = rng.normal(size=(4, rows))
    x = a + b + rng.normal(size=rows)
    w = u + v + rng.normal(size=rows)
    y = x + u + rng.normal(size=rows)
    columns = [Column(name=name, type="continuous") for name in ("a", "b", "x", "v", "w")]
    return table(np.column_stack([a, b, x, v, w]), y, columns)


def test_fci_holds_fixed_what_may_share_a_hidden_cause_with_the_target():
    train = hidden_cause()
    z = np.random.default_rng(1).normal(size=len(train))
    by_pc = discovered().partition(train, z, seed=0, index=INDEX)
    by_fci = discovered(Fci()).partition(train, z, seed=0, index=INDEX)
    assert "w" in by_pc.perturbed
    assert "w" not in by_fci.perturbed
    assert {"a", "b", "x", "v"} <= set(by_fci.perturbed)
    reason = next(reason_sentence(one.reason) for one in by_fci.features if one.name == "w")
    assert reason.startswith("for all that FCI can tell, a hidden cause may tie it to y (r = ")
    assert (
        assumption_sentence(by_fci.assumes[1])
        == "a hidden cause that ties a feature to the target leaves traces that the tests can see"
    )


def test_a_consensus_counts_votes():
    train = hidden_cause()
    z = np.random.default_rng(1).normal(size=len(train))
    two_of_three = Consensus(methods=(Fci(), Fci(), Pc()))
    one_of_three = Consensus(methods=(Fci(), Pc(), Pc()))
    assert "w" in two_of_three.residual_neighbours(train, z, seed=0, index=INDEX).tied
    assert "w" not in one_of_three.residual_neighbours(train, z, seed=0, index=INDEX).tied
    words = tie_words(two_of_three.residual_neighbours(train, z, seed=0, index=INDEX).tied["w"])
    assert words.startswith("2 of 3 methods tie it to the noise; the first: for all that FCI can tell")


def test_the_picture_is_made_for_all_training_rows_only():
    train, z = tied_to_b()
    fold = discovered().partition(train, z, seed=0, index=INDEX).graph
    whole = discovered().partition(train, z, seed=0, index=WHOLE).graph
    assert set(fold.edges) == {("Z", "y", "->"), ("Z", "b", "--")}
    assert set(fold.edges) < set(whole.edges)
    assert any({"b", "c"} == {first, second} for first, second, _ in whole.edges)


def test_a_category_is_searched_as_a_whole():
    rng = np.random.default_rng(5)
    code = np.tile(np.arange(5.0), 100)
    z = rng.normal(size=500) + 1.5 * (code == 2)
    columns = (
        Column(name="ward", type="category", labels=tuple("vwxyz")),
        Column(name="other", type="category", labels=tuple("vwxyz")),
    )
    train = table(np.column_stack([code, rng.permutation(code)]), z, columns)
    assert set(Pc().residual_neighbours(train, z, seed=0, index=INDEX).tied) == {"ward"}


def test_a_spread_that_follows_a_feature_is_seen_by_distance_and_not_by_correlation():
    rng = np.random.default_rng(3)
    x = rng.normal(size=(600, 2))
    z = rng.normal(size=600) * np.exp(0.7 * x[:, 0])
    train = numbers(x, x.sum(axis=1) + z)
    by_r = discovered().partition(train, z, seed=0, index=INDEX)
    by_distance = discovered(screen=Distance(adjust="bonferroni"))
    found = by_distance.partition(train, z, seed=0, index=INDEX)
    assert by_r.perturbed == ("a", "b")
    assert found.perturbed == ("b",)
    reason = reason_sentence(found.features[0].reason)
    assert reason.startswith("its distance correlation with the residual is significant (distance correlation = ")
    assert "residual_p_value_adjusted" in found.features[1].evidence


def bent(rows=500):
    """The residual bends with a: no correlation, but a tells it."""
    rng = np.random.default_rng(6)
    x = rng.normal(size=(rows, 3))
    z = rng.normal(size=rows) + (x[:, 0] ** 2 - 1)
    return numbers(x, x.sum(axis=1) + z), z


def test_the_joint_check_prunes_until_the_rest_passes():
    train, z = bent()
    careless = discovered().partition(train, z, seed=0, index=INDEX)
    assert "a" in careless.perturbed
    careful = discovered(joint=PRUNE).partition(train, z, seed=0, index=INDEX)
    assert "a" not in careful.perturbed
    assert "a" in careful.joint.pruned
    assert not careful.joint.failed
    reason = next(reason_sentence(one.reason) for one in careful.features if one.name == careful.joint.pruned[0])
    assert reason.startswith("together, 3 features help to predict the residual")


def test_the_joint_check_may_only_warn():
    train, z = bent()
    found = discovered(joint=WARN).partition(train, z, seed=0, index=(0,))
    assert found.perturbed == discovered().partition(train, z, seed=0, index=(0,)).perturbed
    assert found.joint.failed
    assert joint_sentence(found.joint) == (
        "Together, the 3 features that move help to predict the residual or its size in rows that were not fitted "
        f"(p = {found.joint.p_value:.2g}): carrying the noise over is doubtful."
    )


def test_with_a_declared_graph_the_joint_check_never_decides():
    train, z = bent()
    graph = declared(["{a b c} -> y"], ("a", "b", "c"), joint=PRUNE)
    found = graph.partition(train, z, seed=0, index=(0,))
    assert found.perturbed == ("a", "b", "c")
    assert (found.joint.failed, found.joint.pruned) == (True, ())


@pytest.mark.skipif("CRDA_DATA_DIR" not in os.environ, reason="needs the benchmark tables in CRDA_DATA_DIR")
def test_on_the_satellite_table_few_features_are_left_for_a_regressor_that_sees_one():
    source = Benchmark(name="satellite_image")
    raw = source.read()
    rows = assemble(
        raw, Dataset(source=source, target=raw.frame.columns[-1], duplicates=DuplicatesKeep()), seed=0
    ).table
    train = rows.take(np.arange(1500))
    slope = np.polyfit(train.x[:, 0], train.y, 1)
    z = train.y - np.polyval(slope, train.x[:, 0])
    found = discovered(joint=PRUNE).partition(train, z, seed=0, index=(0,))
    # What is left says nothing more about the residual once the other, collinear features are held fixed.
    assert len(found.perturbed) < 18
    assert not found.joint.failed
    only_pc = discovered(screen=Pearson(threshold=None, alpha=1e-300), joint=WARN)
    assert only_pc.partition(train, z, seed=0, index=(0,)).joint.failed  # PC alone would have let them all go
