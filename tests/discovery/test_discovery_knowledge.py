from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
from discovery_worlds import Oracle, ancestors, linear_world, random_dag
from hypothesis import given, settings
from hypothesis import strategies as st

from crda_spec.discovery.fci import Fci
from crda_spec.discovery.knowledge import Knowledge
from crda_spec.discovery.pc import Pc
from crda_spec.errors import SpecError
from crda_spec.independence import correlation_matrix
from crda_spec.independence.conditional import PartialCorrelation
from crda_spec.report.words.discovery import note_sentence

WHERE = "causal.discovery.knowledge"


@pytest.mark.parametrize(
    ("knowledge", "expected"),
    [
        pytest.param(
            Knowledge(required=("a -> b",), forbidden=("b -> c", "a -> b")),
            [f"{WHERE}.required.0: a -> b is required and forbidden (forbidden.1); keep one of the two"],
            id="required-and-forbidden",
        ),
        pytest.param(
            Knowledge(tiers=(("a",), ("b",)), required=("b -> a",)),
            [
                (
                    f"{WHERE}.required.0: b -> a runs from tier 1 back to tier 0; "
                    "turn it round, or move one of its ends to another tier"
                )
            ],
            id="against-tiers",
        ),
        pytest.param(
            Knowledge(required=("a -> b", "b -> c", "c -> a")),
            [
                (
                    f"{WHERE}.required.2: the required edges run in a circle: c -> a -> b -> c; "
                    "remove or turn round one of them"
                )
            ],
            id="circle",
        ),
        pytest.param(
            Knowledge(required=("a -> a",)),
            [f"{WHERE}.required.0: a -> a would make a column its own cause; remove it"],
            id="own-cause",
        ),
        pytest.param(
            Knowledge(required=("a -> b", "a -> c", "b -> c"), roots=("b", "c"), leaves=("a",)),
            [
                (
                    f"{WHERE}.required.0: a -> b is required, but nothing causes 'b' (roots); "
                    "remove it, or take 'b' out of roots"
                ),
                (
                    f"{WHERE}.required.0: a -> b is required, but 'a' causes nothing (leaves); "
                    "remove it, or take 'a' out of leaves"
                ),
                (
                    f"{WHERE}.required.1: a -> c is required, but nothing causes 'c' (roots); "
                    "remove it, or take 'c' out of roots"
                ),
                (
                    f"{WHERE}.required.1: a -> c is required, but 'a' causes nothing (leaves); "
                    "remove it, or take 'a' out of leaves"
                ),
                (
                    f"{WHERE}.required.2: b -> c is required, but nothing causes 'c' (roots); "
                    "remove it, or take 'c' out of roots"
                ),
            ],
            id="roots-leaves",
        ),
        pytest.param(
            Knowledge(tiers=(("a", "b"), ("a",))),
            [f"{WHERE}.tiers.1.0: 'a' is already in tier 0; keep it in one tier"],
            id="two-tiers",
        ),
        pytest.param(
            Knowledge(tiers=(("aa",),), required=("a -> d",), roots=("b", "e")),
            [
                f"{WHERE}.tiers.0.0: 'aa' is not among the columns that are searched; did you mean 'a'?",
                f"{WHERE}.required.0: 'd' is not among the columns that are searched; the columns are: a, b, c",
                f"{WHERE}.roots.1: 'e' is not among the columns that are searched; the columns are: a, b, c",
            ],
            id="unknown-names",
        ),
    ],
)
def test_contradictions_are_named_all_at_once_and_at_their_place(knowledge, expected):
    assert [complaint.headline() for complaint in knowledge.complaints(["a", "b", "c"])] == expected
    with pytest.raises(SpecError) as caught:
        knowledge.check(["a", "b", "c"])
    assert len(caught.value.complaints) == len(expected)


def test_no_search_begins_on_a_contradiction_and_other_columns_are_left_out():
    test, names = PartialCorrelation.of(np.eye(3), 50), ["a", "b", "c"]
    with pytest.raises(SpecError, match="the required edges run in a circle"):
        Pc(knowledge=Knowledge(required=("a -> b -> c -> a",))).search(test, names)
    other = Knowledge(tiers=(("d",),), required=("a -> d",), forbidden=("d -> b",), roots=("e",))
    assert Pc(knowledge=other).search(test, names) == Pc().search(test, names)


def test_an_edge_of_a_chain_is_complained_about_where_the_chain_is_written():
    knowledge = Knowledge(required=("c -> d", "a -> b -> b"), forbidden=("b -> c -> a", "a -> c -> d"))
    assert [complaint.headline() for complaint in knowledge.complaints()] == [
        f"{WHERE}.required.0: c -> d is required and forbidden (forbidden.1); keep one of the two",
        f"{WHERE}.required.1: b -> b would make a column its own cause; remove it",
    ]


def true_knowledge(rng: np.random.Generator, dag: nx.DiGraph) -> tuple[Knowledge, tuple[str, ...]]:
    """Random things that are so, and the columns that are noise."""
    d = len(dag)
    names = [f"x{i:02d}" for i in range(d)]
    order = list(nx.topological_sort(dag))
    at = int(rng.integers(0, d + 1))
    absent = [(names[i], names[j]) for i in range(d) for j in range(d) if i != j and not dag.has_edge(i, j)]
    knowledge = Knowledge(
        tiers=tuple(tuple(names[i] for i in part) for part in (order[:at], order[at:])) if rng.random() < 0.5 else (),
        required=tuple(f"{names[i]} -> {names[j]}" for i, j in dag.edges if rng.random() < 0.3),
        forbidden=tuple(" -> ".join(edge) for edge in absent if rng.random() < 0.2),
        roots=tuple(names[i] for i in dag if not dag.in_degree(i) and rng.random() < 0.3),
        leaves=tuple(names[i] for i in dag if not dag.out_degree(i) and rng.random() < 0.3),
    )
    return knowledge, tuple(names[i] for i in dag if not dag.in_degree(i) and rng.random() < 0.2)


@settings(max_examples=80, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), d=st.integers(2, 7))
def test_true_knowledge_keeps_pc_right_and_makes_it_know_no_less(seed, d):
    rng = np.random.default_rng(seed)
    dag = random_dag(rng, d, rng.uniform(0.2, 0.6))
    knowledge, noise = true_knowledge(rng, dag)
    names = [f"x{i:02d}" for i in range(d)]
    oracle, deep = Oracle(dag, tuple(range(d))), Pc.model_construct(max_depth=d)
    plain = deep.search(oracle, names)
    informed = deep.model_copy(update={"knowledge": knowledge}).search(oracle, names, noise=noise)
    links = {frozenset((names[i], names[j])) for i, j in dag.edges}
    assert {frozenset((edge.first, edge.second)) for edge in informed.edges} == links
    assert set(plain.directed) <= set(informed.directed) <= {(names[i], names[j]) for i, j in dag.edges}
    assert informed.conflicted == ()
    assert {(edge.tail, edge.head) for edge in knowledge.edges.required} <= set(informed.directed)


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 2**32 - 1))
def test_true_knowledge_keeps_fci_right(seed):
    rng = np.random.default_rng(seed)
    dag = random_dag(rng, 7, rng.uniform(0.2, 0.5))
    columns = tuple(sorted(rng.choice(7, 5, replace=False).tolist()))
    names = [f"x{i:02d}" for i in columns]
    order = [i for i in nx.topological_sort(dag) if i in columns]
    at = int(rng.integers(1, 5))
    tiers = tuple(tuple(f"x{i:02d}" for i in part) for part in (order[:at], order[at:]))
    free = Fci(max_depth=5).search(Oracle(dag, columns), names)
    found = Fci(max_depth=5, knowledge=Knowledge(tiers=tiers)).search(Oracle(dag, columns), names)
    ends = lambda graph: {frozenset((edge.first, edge.second)) for edge in graph.edges}  # noqa: E731
    assert ends(found) == ends(free)
    for a, b in found.directed:
        assert int(a[1:]) in ancestors(dag, [int(b[1:])])
    for edge in found.edges:
        if edge.mark in ("->", "o->", "<->"):
            assert int(edge.second[1:]) not in ancestors(dag, [int(edge.first[1:])])
        later = {name for name in tiers[1] if name in (edge.first, edge.second)}
        assert edge.by_knowledge == (len(later) == 1)


def test_knowledge_binds_against_the_data_and_the_result_says_so():
    """b is an effect of a and c in the data; the expert knows better."""
    rng = np.random.default_rng(0)
    a, c = rng.normal(size=(2, 1000))
    b = a + c + rng.normal(size=1000)
    free = rng.normal(size=1000)
    test = PartialCorrelation.of(*correlation_matrix(np.column_stack([a, b, c, free])))
    names = ["a", "b", "c", "free"]
    assert [str(edge) for edge in Pc().search(test, names).edges] == ["a -> b", "c -> b"]
    known = Pc(knowledge=Knowledge(tiers=(("b",), ("a",)), required=("free -> c",))).search(test, names)
    assert [(str(edge), edge.by_knowledge) for edge in known.edges] == [
        ("b -> a", True),
        ("b -> c", False),  # free has no link to b, so c is a common effect
        ("free -> c", True),
    ]
    assert tuple(map(note_sentence, known.notes)) == (
        "The data suggest that b is caused by both a and c; what you told the search rules that out, and was followed.",
    )
    apart = Pc(knowledge=Knowledge(forbidden=("a -> b", "b -> a"))).search(test, names)
    assert apart.edge("a", "b") is None
    assert (apart.separating_set("a", "b"), apart.p_value("a", "b")) == (None, 0.0)


def test_later_tiers_are_never_conditioned_on():
    x = linear_world(np.random.default_rng(5), d=8, n=200, density=0.5, shuffled=False)
    names = [f"x{i}" for i in range(8)]
    tiers = (tuple(names[:4]), tuple(names[4:]))
    found = Pc(knowledge=Knowledge(tiers=tiers)).search(PartialCorrelation.of(*correlation_matrix(x)), names)
    early = set(tiers[0])
    for i, j in found.evidence.separating:
        if {names[i], names[j]} <= early:
            assert set(found.separating_set(names[i], names[j])) <= early
    assert not any(b in early and a not in early for a, b in found.directed)


def test_noise_shares_no_hidden_cause_and_roots_may():
    class Dependent:
        def p_value(self, i, j, given):
            del i, j, given
            return 1.0, 0.0

    names = ["z", "x", "y"]
    rooted = Fci(knowledge=Knowledge(roots=("z", "x"))).search(Dependent(), names)
    assert [str(edge) for edge in rooted.edges] == ["z <-> x", "z o-> y", "x o-> y"]
    noisy = Fci().search(Dependent(), names, noise=("z", "x"))
    assert [str(edge) for edge in noisy.edges] == ["z -> y", "x -> y"]
    leaf = Fci(knowledge=Knowledge(leaves=("y",), required=("x -> y",))).search(Dependent(), names)
    assert [str(edge) for edge in leaf.edges] == ["z o-o x", "z o-> y", "x -> y"]
