from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scm_worlds import World, worlds

from crda_spec.errors import GraphError
from crda_spec.scm import graph as module
from crda_spec.scm.graph import CausalGraph, Edge, GraphDeclaration, complaints_about

COLUMNS = ("dose", "age", "recovery", "relapse")


def build(*arrows: str, **more) -> CausalGraph:
    edges = []
    for i, arrow in enumerate(arrows):
        tail, mark, head = arrow.split()
        edges.append(Edge(tail, head, mark, path=f"causal.graph.edges.{i}"))
    return CausalGraph.build(edges, **{"columns": COLUMNS, "target": "recovery", **more})


def complaints(*arrows: str, **more) -> list[str]:
    with pytest.raises(GraphError) as caught:
        build(*arrows, **more)
    return [f"{complaint.code} @ {complaint.headline()}" for complaint in caught.value.complaints]


def test_the_canonical_dag_adds_the_noise_and_a_parent_for_each_hidden_cause():
    graph = build(
        "age -> dose", "recovery <-> dose", "dose -> recovery", "u -> age", latents=["u"], noise_parents=["age"]
    )
    assert graph.observed == ("age", "dose", "recovery", "relapse")
    assert graph.latents == ("u",)
    assert graph.directed == (("age", "dose"), ("dose", "recovery"), ("u", "age"))
    assert graph.bidirected == (("dose", "recovery"),)
    assert graph.noise == "Z"
    assert dict(graph.confounders) == {"(dose <-> recovery)": ("dose", "recovery")}
    names = graph.dag.names
    assert names == ("(dose <-> recovery)", "Z", "age", "dose", "recovery", "relapse", "u")
    parents = {names[node]: [names[p] for p in found] for node, found in enumerate(graph.dag.parents) if found}
    assert parents == {
        "Z": ["age"],
        "age": ["u"],
        "dose": ["(dose <-> recovery)", "age"],
        "recovery": ["(dose <-> recovery)", "Z", "dose"],
    }


def test_added_names_never_clash_with_columns():
    graph = CausalGraph.build(
        [Edge("Z", "y", "<->"), Edge("(Z <-> y)", "y"), Edge("Z(y)", "y")],
        columns=["Z", "y", "(Z <-> y)", "Z(y)"],
        target="y",
    )
    assert graph.noise == "Z(y)'"
    assert dict(graph.confounders) == {"(Z <-> y)'": ("Z", "y")}


def test_a_column_called_z_gives_the_noise_its_longer_name():
    assert build("Z -> recovery", columns=(*COLUMNS, "Z")).noise == "Z(recovery)"


def test_a_column_that_no_edge_names_is_an_isolated_node():
    graph = build("dose -> recovery")
    [node] = graph.positions(["age"])
    assert graph.dag.parents[node] == graph.dag.children[node] == ()


def test_a_bow_of_a_directed_and_a_bidirected_edge_is_allowed():
    graph = build("dose -> recovery", "dose <-> recovery")
    assert (graph.directed, graph.bidirected) == ((("dose", "recovery"),),) * 2


def test_each_edge_remembers_where_it_was_written():
    graph = build("dose -> recovery", "age -> dose")
    assert [(str(edge), edge.path) for edge in graph.edges] == [
        ("age -> dose", "causal.graph.edges.1"),
        ("dose -> recovery", "causal.graph.edges.0"),
    ]


@pytest.mark.parametrize(
    ("arrows", "more", "expected"),
    [
        pytest.param(
            ["dose -> recovry", "recovry -> age"],
            {"latents": []},
            [
                (
                    "unknown-node @ causal.graph.edges.0: 'recovry' is neither a column of the data nor a latent node "
                    "(2 edges name it); did you mean 'recovery'? if nobody measured it, list it under latent"
                ),
                (
                    "target-missing @ causal.graph.edges: no edge names the target 'recovery'; "
                    "write what causes it, such as dose -> recovery"
                ),
            ],
            id="unknown-node",
        ),
        pytest.param(
            ["dose -> dose", "dose -> recovery"],
            {},
            [
                (
                    "self-loop @ causal.graph.edges.0: dose -> dose makes 'dose' its own cause; "
                    "remove the edge; an earlier value of the same quantity is another node"
                )
            ],
            id="self-loop",
        ),
        pytest.param(
            ["age <-> age", "dose -> recovery"],
            {},
            [
                (
                    "bidirected-self @ causal.graph.edges.0: age <-> age gives 'age' a hidden cause in common "
                    "with itself; a <-> ties two different nodes"
                )
            ],
            id="bidirected-self",
        ),
        pytest.param(
            ["dose -> recovery", "age -> dose", "dose -> recovery"],
            {},
            [
                (
                    "duplicate-edge @ causal.graph.edges.2: dose -> recovery is written twice, "
                    "first at causal.graph.edges.0; remove one"
                )
            ],
            id="duplicate",
        ),
        pytest.param(
            ["dose <-> recovery", "recovery <-> dose"],
            {},
            [
                (
                    "duplicate-edge @ causal.graph.edges.1: recovery <-> dose is written twice, "
                    "first at causal.graph.edges.0; remove one"
                )
            ],
            id="duplicate-bidirected-turned",
        ),
        pytest.param(
            ["dose -> recovery", "recovery -> dose"],
            {},
            [
                (
                    "contradictory-edges @ causal.graph.edges.1: recovery -> dose contradicts dose -> recovery at "
                    "causal.graph.edges.0: together they are the cycle dose -> recovery -> dose; "
                    "keep one; for a hidden common cause write recovery <-> dose"
                )
            ],
            id="contradiction",
        ),
        pytest.param(
            ["dose -> age", "age -> recovery", "recovery -> dose"],
            {},
            [
                (
                    "cycle @ causal.graph.edges.2: the edges form a cycle: dose -> age -> recovery -> dose; "
                    "remove or turn one of them; recovery -> dose closes it"
                )
            ],
            id="cycle",
        ),
        pytest.param(
            ["recovery -> relapse"],
            {"noise_parents": ["relapse"]},
            [
                (
                    "cycle @ causal.graph.noise.0: the edges form a cycle: Z -> recovery -> relapse -> Z "
                    "(Z is the noise of recovery); remove or turn one of them; relapse -> Z closes it"
                )
            ],
            id="cycle-through-the-noise",
        ),
        pytest.param(
            ["dose -> recovery", "age -> recovery"],
            {"latents": ["age"]},
            [
                (
                    "latent-is-column @ causal.graph.latent.0: 'age' is declared latent, but it is a column of the "
                    "data; remove it from the latent nodes; a column that is no feature counts as unmeasured anyway"
                )
            ],
            id="latent-is-column",
        ),
        pytest.param(
            ["severity -> recovery"],
            {"latents": ["severity", "severity", "sevrity"]},
            [
                "duplicate-latent @ causal.graph.latent.1: 'severity' is declared latent twice; remove one",
                (
                    "latent-without-edges @ causal.graph.latent.2: no edge names the latent 'sevrity'; "
                    "did you mean 'severity'?"
                ),
            ],
            id="latents",
        ),
        pytest.param(
            ["age -> dose"],
            {},
            [
                (
                    "target-missing @ causal.graph.edges: no edge names the target 'recovery'; "
                    "write what causes it, such as dose -> recovery"
                )
            ],
            id="target-missing",
        ),
        pytest.param(
            [],
            {},
            [
                (
                    "target-missing @ causal.graph.edges: no edge names the target 'recovery'; "
                    "write what causes it, such as dose -> recovery"
                )
            ],
            id="empty",
        ),
        pytest.param(
            ["dose -> recovery"],
            {"noise_parents": ["agee", "dose", "dose", "recovery"], "features": ["dose", "age"]},
            [
                (
                    "noise-parent-not-feature @ causal.graph.noise.0: the noise of recovery is said to depend on "
                    "'agee', which is not a feature; did you mean 'age'?"
                ),
                "duplicate-noise-parent @ causal.graph.noise.2: 'dose' is listed twice; remove one",
                (
                    "noise-parent-not-feature @ causal.graph.noise.3: the noise of recovery is said to depend on "
                    "'recovery', which is not a feature; the features are: dose, age"
                ),
            ],
            id="noise-parents",
        ),
        pytest.param(
            ["dose -> recovery"],
            {"target": "recvery", "features": ["dose", "doze", "recvery"]},
            [
                (
                    "unknown-column @ dataset.target: the target 'recvery' is not a column of the data; "
                    "did you mean 'recovery'?"
                ),
                (
                    "unknown-column @ dataset.features.1: the feature 'doze' is not a column of the data; "
                    "did you mean 'dose'?"
                ),
                (
                    "target-is-feature @ dataset.features.2: the target 'recvery' is also a feature; "
                    "remove it from the features"
                ),
            ],
            id="roles",
        ),
    ],
)
def test_a_bad_graph_is_refused_with_all_that_is_wrong(arrows, more, expected):
    assert complaints(*arrows, **more) == expected


def test_the_nodes_are_listed_when_no_name_is_near():
    [complaint] = complaints("qqq -> recovery")
    assert complaint == (
        "unknown-node @ causal.graph.edges.0: 'qqq' is neither a column of the data nor a latent node; "
        "the nodes are: dose, age, recovery, relapse; if nobody measured it, list it under latent"
    )


def test_a_graph_beyond_the_size_limit_is_refused():
    edges = [Edge(f"n{i}", "recovery") for i in range(module.MAX_NODES)]
    found = complaints_about(GraphDeclaration.of(edges, columns=COLUMNS, target="recovery"))
    assert [complaint.headline() for complaint in found] == [
        (
            "causal.graph: the graph has 10001 nodes, and at most 10000 are allowed; "
            "leave out what is not tied to the target"
        )
    ]
    edges = [Edge("dose", "recovery")] * (module.MAX_EDGES + 1)
    found = complaints_about(GraphDeclaration.of(edges, columns=COLUMNS, target="recovery"))
    assert [complaint.headline() for complaint in found] == [
        (
            "causal.graph: the graph has 100001 edges, and at most 100000 are allowed; "
            "leave out what is not tied to the target"
        )
    ]


def test_a_wide_table_with_a_small_graph_is_within_the_limit():
    columns = [f"gene{i}" for i in range(module.MAX_NODES + 5)]
    graph = CausalGraph.build([Edge("gene0", "gene1")], columns=columns, target="gene1")
    assert len(graph.observed) == module.MAX_NODES + 5


def test_an_unknown_node_is_never_looked_up_in_silence():
    with pytest.raises(GraphError) as caught:
        build("dose -> recovery").positions(["dose", "doze", "qqq"])
    assert str(caught.value) == (
        "'doze' is not a node of the graph; did you mean 'dose'?\n"
        "'qqq' is not a node of the graph; the nodes are: Z, age, dose, recovery, relapse\n"
        "2 problems"
    )


@settings(max_examples=60, deadline=None)
@given(world=worlds(), order=st.randoms(use_true_random=False))
def test_graphs_written_in_another_order_are_equal(world: World, order):
    parts = {name: list(getattr(world, name)) for name in World.__slots__}
    for part in parts.values():
        order.shuffle(part)
    parts["bidirected"] = [pair[::-1] if order.random() < 0.5 else pair for pair in parts["bidirected"]]
    other = World(**{name: tuple(part) for name, part in parts.items()})
    assert other.graph() == world.graph()
    assert hash(other.graph()) == hash(world.graph())
    assert other.graph().dag == world.graph().dag
