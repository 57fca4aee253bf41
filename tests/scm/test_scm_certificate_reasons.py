from __future__ import annotations

import pytest

from crda_spec.records import FeatureVerdict, SourceLine
from crda_spec.report.words.causal import lemma_sentence, reason_sentence
from crda_spec.scm.certificate import certify, certify_named, lemma_holds, lemma_reasons
from crda_spec.scm.formats import from_edges, read_graph
from crda_spec.scm.graph import CausalGraph, Edge

CASES = {
    "direct-cause": (
        ["dose -> recovery"],
        {},
        "cause",
        (
            "dose is a direct cause of recovery, and once the other features are known, "
            "nothing unmeasured that drives recovery is tied to it"
        ),
        "",
    ),
    "irrelevant": (
        ["dose -> age -> recovery"],
        {},
        "irrelevant",
        "once the other features are known, dose says nothing about recovery or its noise",
        "",
    ),
    "isolated": (
        ["age -> recovery"],
        {},
        "irrelevant",
        "no arrow of the graph touches dose: it is chance, and tells nothing of recovery",
        "",
    ),
    "confounded": (
        ["severity -> {dose recovery}", "dose -> recovery"],
        {"latents": ["severity"]},
        "blocked",
        "the unmeasured severity drives both dose and recovery: dose <- severity -> recovery",
        "recovery <- severity -> dose",
    ),
    "confounded-by-an-unused-column": (
        ["clinic -> {dose recovery}"],
        {},
        "blocked",
        (
            "the column clinic (not a feature) drives both dose and recovery: dose <- clinic -> recovery; "
            "with clinic among the features, dose would be free"
        ),
        "recovery <- clinic -> dose",
    ),
    "hidden-cause": (
        ["dose <-> recovery"],
        {},
        "blocked",
        "dose and recovery share an unmeasured cause: dose <-> recovery",
        "recovery <-> dose",
    ),
    "confounder-of-a-latent-parent": (
        ["severity -> recovery", "dose <-> severity"],
        {"latents": ["severity"]},
        "blocked",
        "an unmeasured cause of both dose and severity drives both dose and recovery: dose <-> severity -> recovery",
        "recovery <- severity <-> dose",
    ),
    "hidden-mediator": (
        ["dose -> level -> recovery"],
        {"latents": ["level"]},
        "blocked",
        "dose acts on recovery through the unmeasured level, which cannot be held fixed: dose -> level -> recovery",
        "recovery <- level <- dose",
    ),
    "noise-parent": (
        ["dose -> recovery"],
        {"noise_parents": ["dose"]},
        "blocked",
        "the noise of recovery depends on dose, as declared: dose -> Z",
        "Z <- dose",
    ),
    "effect-of-the-target": (
        ["age -> recovery -> dose"],
        {},
        "blocked",
        (
            "dose is caused by the target recovery and carries its noise: Z -> recovery -> dose; "
            "leaving it out of the features would free age"
        ),
        "Z -> recovery -> dose",
    ),
    "effect-that-blocks-nobody": (
        ["recovery -> dose"],
        {},
        "blocked",
        "dose is caused by the target recovery and carries its noise: Z -> recovery -> dose",
        "Z -> recovery -> dose",
    ),
    "effects-together": (
        ["age -> recovery -> {dose relapse}"],
        {"features": ["dose", "age", "relapse"]},
        "blocked",
        (
            "dose is caused by the target recovery and carries its noise: Z -> recovery -> dose; "
            "leaving out all that recovery causes (dose and relapse) would free age"
        ),
        "Z -> recovery -> dose",
    ),
    "effect-with-a-hidden-cause": (
        ["recovery -> dose", "dose <-> recovery"],
        {},
        "blocked",
        "dose and recovery share an unmeasured cause: dose <-> recovery; dose is also caused by recovery",
        "recovery <-> dose",
    ),
    "collider-with-a-hidden-cause": (
        ["dose -> age <-> recovery"],
        {},
        "blocked",
        "holding age fixed ties dose to an unmeasured cause of both age and recovery: dose -> age <-> recovery",
        "recovery <-> age <- dose",
    ),
    "cause-beside-an-effect": (
        ["dose -> recovery -> age"],
        {},
        "blocked",
        (
            "age is caused by recovery, and holding it fixed ties dose to the noise of recovery: "
            "Z -> recovery <- dose; leaving age out of the features would free dose"
        ),
        "Z -> recovery <- dose",
    ),
    "cause-beside-two-effects": (
        ["dose -> recovery -> {age relapse}"],
        {"features": ["dose", "age", "relapse"]},
        "blocked",
        (
            "age is caused by recovery, and holding it fixed ties dose to the noise of recovery: "
            "Z -> recovery <- dose; leaving age and relapse out of the features would free dose"
        ),
        "Z -> recovery <- dose",
    ),
    "cause-of-an-effect": (
        ["{recovery dose} -> age"],
        {},
        "blocked",
        (
            "age is caused by recovery, and holding it fixed ties dose to the noise of recovery: "
            "Z -> recovery -> age <- dose; leaving age out of the features would free dose"
        ),
        "Z -> recovery -> age <- dose",
    ),
    "collider-at-a-feature": (
        ["severity -> {age recovery}", "dose -> age"],
        {"latents": ["severity"]},
        "blocked",
        (
            "holding age fixed ties dose to the unmeasured severity, which drives recovery: "
            "dose -> age <- severity -> recovery"
        ),
        "recovery <- severity -> age <- dose",
    ),
    "collider-above-a-feature": (
        ["{severity dose} -> frailty -> age", "severity -> recovery"],
        {"latents": ["severity", "frailty"]},
        "blocked",
        (
            "holding age fixed ties dose to the unmeasured severity, which drives recovery: "
            "dose -> frailty <- severity -> recovery"
        ),
        "recovery <- severity -> frailty <- dose",
    ),
}


BLOCKERS = {
    "confounded": ("severity",),
    "confounded-by-an-unused-column": ("clinic",),
    "hidden-cause": ("(dose <-> recovery)",),
    "confounder-of-a-latent-parent": ("severity", "(dose <-> severity)"),
    "hidden-mediator": ("level",),
    "effect-with-a-hidden-cause": ("(dose <-> recovery)",),
    "collider-with-a-hidden-cause": ("(age <-> recovery)",),
    "collider-at-a-feature": ("severity",),
    "collider-above-a-feature": ("severity",),  # frailty is a collider: holding it fixed would only open the path
}
LEMMAS = {
    "direct-cause": "dose is a parent of recovery",
    "irrelevant": "dose is d-separated from recovery given age",
    "isolated": "dose is d-separated from recovery given age",
}


@pytest.mark.parametrize("case", CASES)
def test_a_verdict_says_why_in_words_that_an_expert_reads(case):
    edges, more, status, reason, witness = CASES[case]
    features = more.get("features", ["dose", "age"])
    columns = ["dose", "age", "recovery", "clinic", "relapse"]
    graph = from_edges(edges, columns=columns, target="recovery", **{"features": features, **more})
    found = certify(graph, features)[0]
    assert (reason_sentence(found.reason), lemma_sentence(found.lemma)) == (reason, LEMMAS.get(case, ""))
    assert found == FeatureVerdict(
        name="dose",
        status=status,
        reason=found.reason,
        witness=tuple(witness.split()),
        blockers=BLOCKERS.get(case, ()),
        lemma=found.lemma,
    )


def test_an_unused_parent_of_the_noise_is_named():
    graph = from_edges(
        ["clinic -> dose -> recovery"],
        columns=["dose", "recovery", "clinic"],
        target="recovery",
        noise_parents=["clinic"],
    )
    [verdict] = certify(graph, ["dose"])
    assert reason_sentence(verdict.reason) == (
        "the column clinic (not a feature) drives both dose and the noise of recovery: dose <- clinic -> Z; "
        "with clinic among the features, dose would be free"
    )


def test_a_long_list_is_cut_short():
    effects = [f"e{i}" for i in range(2)]
    causes = [f"c{i}" for i in range(6)]
    graph = from_edges([f"{{{' '.join(causes)}}} -> y", "y -> {e0 e1}"], columns=[*effects, *causes, "y"], target="y")
    assert reason_sentence(certify(graph, [*effects, *causes])[0].reason) == (
        "e0 is caused by the target y and carries its noise: Z -> y -> e0; "
        "leaving out all that y causes (e0 and e1) would free c0, c1, c2 and 3 more"
    )


def test_every_blocked_feature_names_the_lines_of_its_path():
    columns = ["dose", "age", "ward", "relapse", "recovery"]
    graph = from_edges(
        ["{dose age} -> recovery -> relapse", "ward <-> recovery"],
        columns=columns,
        target="recovery",
        noise_parents=["age"],
    )
    found = {one.name: [(line.edge, line.where) for line in one.lines] for one in certify_named(graph, columns[:-1])}
    assert found == {
        "dose": [("dose -> recovery", "causal.graph.edges.0")],  # Z -> recovery is understood, nobody wrote it
        "age": [("age -> Z", "causal.graph.noise")],
        "ward": [("recovery <-> ward", "causal.graph.edges.1")],
        "relapse": [("recovery -> relapse", "causal.graph.edges.0")],
    }
    assert all(not one.lines for one in certify(graph, columns[:-1]))


def test_lines_of_a_graph_file_are_places_in_it():
    text = "dag {\n  u [latent]\n  u -> dose\n  u -> recovery\n}\n"
    graph = read_graph(text, "dagitty", file="model.dag").graph(columns=["dose", "recovery"], target="recovery")
    [verdict] = certify_named(graph, ["dose"])
    assert [(line.edge, line.where) for line in verdict.lines] == [
        ("u -> recovery", "model.dag:4:3"),
        ("u -> dose", "model.dag:3:3"),
    ]


def test_a_noise_parent_of_a_graph_file_is_declared_there_or_in_the_spec():
    graph = read_graph("digraph { dose -> recovery; }", "dot", file="model.dot").graph(
        columns=["dose", "recovery"], target="recovery", noise_parents=["dose"]
    )
    [verdict] = certify_named(graph, ["dose"])
    assert verdict.lines == (SourceLine(edge="dose -> Z", where="causal.graph"),)


def test_edges_that_nobody_wrote_have_no_lines():
    graph = CausalGraph.build(
        [Edge("dose", "recovery")], columns=["dose", "recovery"], target="recovery", noise_parents=["dose"]
    )
    assert certify_named(graph, ["dose"])[0].lines == ()


def test_the_lemma_fails_where_the_partition_is_not_valid():
    """It never looks at the noise, so it can tell that something is wrong: age carries what severity does."""
    graph = from_edges(
        ["severity -> {age recovery}"], columns=["dose", "age", "recovery"], target="recovery", latents=["severity"]
    )
    one, two = (lemma_reasons(graph, ["dose", "age"], moved) for moved in (["dose"], ["dose", "age"]))
    assert (set(one), set(two)) == ({"dose"}, {"dose"})
    assert lemma_sentence(one["dose"]) == "dose is d-separated from recovery given age"
    assert lemma_sentence(two["dose"]) == "dose is d-separated from recovery given nothing"
    assert lemma_holds(graph, ["dose", "age"], ["dose"])
    assert not lemma_holds(graph, ["dose", "age"], ["dose", "age"])
