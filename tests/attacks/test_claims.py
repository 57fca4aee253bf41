"""Attacks on the certificate's claims: worlds in which a claim would be wrong, and what must be said instead."""

from __future__ import annotations

import json
import re
import sys
from dataclasses import replace
from itertools import combinations
from pathlib import Path

import networkx as nx
import numpy as np
import pytest

from crda_spec.audit.open_run import open_run, reopen
from crda_spec.cli.app import main, run_main
from crda_spec.counterfactual.partition import DeclaredPartitioner, Partition
from crda_spec.counterfactual.perturbation import Perturbation
from crda_spec.counterfactual.policies import Resample
from crda_spec.counterfactual.procedure import Procedure, augment
from crda_spec.discovery import Pc
from crda_spec.discovery.findings import declarable
from crda_spec.errors import CrdaError, GraphError
from crda_spec.independence import Pearson
from crda_spec.independence.conditional import MixedTest
from crda_spec.records import Certificate, Column, Table, Tied
from crda_spec.regressors import KernelRidge
from crda_spec.regressors.teachers import FoldContext, SingleTeacher
from crda_spec.report.terminal import Line, closing, sections
from crda_spec.report.words.causal import assumption_sentence, joint_sentence, obstacle_sentence, reason_sentence
from crda_spec.report.words.discovery import guess_notes
from crda_spec.scm.certificate import certify, graph_certificate, perturbable
from crda_spec.scm.formats import FORMATS, from_edges, read_graph, write_graph
from crda_spec.scm.graph import CausalGraph, Edge
from crda_spec.scm.implied import Statement, implications, repairing_edges
from crda_spec.scm.propagation import propagable
from crda_spec.scm.remedies import remedies
from crda_spec.scm.separation import separated
from crda_spec.spec.check import declared_graph, load_spec

# ---------------------------------------------------------------------------------------------- rows that were chosen


def chosen_world(rng: np.random.Generator) -> tuple[CausalGraph, nx.DiGraph, tuple[str, ...]]:
    """A random graph with latents, hidden causes and one or two nodes that rows were chosen by; and networkx's copy.

    To choose rows by a node is to know something below it, so networkx gets a child of each such node.
    """
    features = [f"x{i}" for i in range(rng.integers(2, 6))]
    latents = [f"u{i}" for i in range(rng.integers(0, 3))]
    order = [*rng.permutation([*features, *latents, "y"]), "came"]
    density, hidden = rng.uniform(0.15, 0.5), rng.uniform(0.0, 0.15)
    pairs = list(combinations(order, 2))
    arrows = [pair for pair in pairs if rng.random() < density] or [(features[0], "y")]
    both = [pair for pair in pairs if rng.random() < hidden]
    named = {name for pair in (*arrows, *both) for name in pair}
    if "y" not in named:
        arrows.append(next((a, b) for a, b in pairs if {a, b} == {features[0], "y"}))
    if "came" not in named:
        arrows.append((features[0], "came"))
    selected = ["came", *(name for name in features if name in named and rng.random() < 0.15)]
    graph = CausalGraph.build(
        [*(Edge(a, b) for a, b in arrows), *(Edge(a, b, "<->") for a, b in both)],
        columns=[*features, "y"],
        target="y",
        latents=[name for name in latents if name in named],
        selected=selected,
    )
    copy = nx.DiGraph([*arrows, ("Z", "y"), *((name, f"chosen by {name}") for name in selected)])
    copy.add_nodes_from(features)
    copy.add_edges_from((f"({min(ends)} <-> {max(ends)})", end) for ends in both for end in ends)
    return graph, copy, tuple(f"chosen by {name}" for name in selected)


@pytest.mark.parametrize("seed", range(3))
def test_of_chosen_rows_exactly_the_subsets_of_the_closed_form_may_move(seed):
    rng, freed = np.random.default_rng(900 + seed), 0
    for _ in range(100):
        graph, copy, chosen = chosen_world(rng)
        features = tuple(name for name in graph.observed if name != "y")
        noise = set(copy.predecessors("y")) - set(features)
        largest = perturbable(graph, features)
        freed += bool(largest)
        for size in range(1, len(features) + 1):
            for moved in combinations(features, size):
                rest = {*features, *chosen}.difference(moved)
                assert nx.is_d_separator(copy, noise, set(moved), rest) == (largest >= set(moved))
    assert freed > 30  # selection does not forbid everything


def test_of_chosen_rows_the_classes_the_witnesses_and_the_remedies_are_right():
    rng, found = np.random.default_rng(77), {"irrelevant": 0, "chosen": 0, "remedies": 0}
    for _ in range(150):
        graph, copy, chosen = chosen_world(rng)
        features = tuple(name for name in graph.observed if name != "y")
        verdicts = certify(graph, features)
        for verdict in verdicts:
            rest = {*features, *chosen} - {verdict.name}
            if verdict.status == "irrelevant":  # its label is copied: y must not depend on it
                assert nx.is_d_separator(copy, {"y"}, {verdict.name}, rest)
                found["irrelevant"] += 1
            if isinstance(verdict.reason, Tied) and verdict.reason.path.chosen_by:
                found["chosen"] += 1
                assert "choosing rows by" in reason_sentence(verdict.reason)
        for remedy in remedies(graph, verdicts):
            left = [name for name in features if remedy.kind != "leave_out" or name not in remedy.names]
            seen = {*left, *(remedy.names if remedy.kind != "leave_out" else ())}
            noise = set(copy.predecessors("y")) - seen
            for name in remedy.frees:
                assert nx.is_d_separator(copy, noise, {name}, (seen | {*chosen}) - {name})
            found["remedies"] += 1
    assert min(found.values()) > 20


def test_of_chosen_rows_only_independencies_that_survive_the_choice_are_tested():
    rng, tested = np.random.default_rng(5), 0
    for _ in range(150):
        graph, copy, chosen = chosen_world(rng)
        features = tuple(name for name in graph.observed if name != "y")
        claims = implications(graph, features)
        for one in claims.statements():
            tested += 1
            assert nx.is_d_separator(copy, {one.first}, {one.second}, {*one.given, *chosen})
        silent = set(combinations(claims.measured, 2)) - set(claims.pairs)
        for a, b in silent:
            others = set(claims.measured) - {a, b}
            for size in range(len(others) + 1):
                for given in combinations(sorted(others), size):
                    assert not nx.is_d_separator(copy, {a}, {b}, {*given, *chosen})
    assert tested > 100


def test_who_came_by_dose_and_pain_blocks_the_dose_and_says_that_the_choice_of_rows_does_it():
    edges = ["{dose, age, pain} -> recovery", "{dose, pain} -> came"]
    graph = from_edges(
        edges, columns=["dose", "age", "recovery"], target="recovery", latents=["pain"], selected=["came"]
    )
    found = graph_certificate(graph, ["dose", "age"])
    assert found.largest == ("age",)
    assert reason_sentence(found.features[0].reason) == (
        "choosing rows by came ties dose to the unmeasured pain, which drives recovery: "
        "dose -> came <- pain -> recovery"
    )
    said = [assumption_sentence(one) for one in found.assumes]
    assert (
        "the rows were chosen by came and by nothing else that these nodes cause, and what decides it is drawn" in said
    )
    assert "the rows were not chosen by anything that these nodes cause" not in said


def test_rows_chosen_by_the_target_itself_free_nothing_that_causes_it():
    graph = from_edges(["age -> recovery", "shoe -> hat"], columns=["age", "shoe", "hat", "recovery"],
                       target="recovery", selected=["recovery"])  # fmt: skip
    assert perturbable(graph, ["age", "shoe", "hat"]) == {"shoe", "hat"}


def test_rows_chosen_by_something_that_nobody_drew_are_refused():
    with pytest.raises(GraphError) as caught:
        from_edges(["age -> recovery"], columns=["age", "recovery"], target="recovery", selected=["came", "came"])
    assert str(caught.value) == (
        "causal.graph.selected.0: rows were selected by 'came', but no edge names it; "
        "draw what decides it, such as age -> came\n"
        "causal.graph.selected.1: 'came' is listed twice; remove one\n"
        "2 problems"
    )


@pytest.mark.parametrize("kind", FORMATS)
def test_a_graph_with_chosen_rows_survives_every_format(kind):
    graph = from_edges(["{dose, pain} -> {recovery, came}"], columns=["dose", "recovery"], target="recovery",
                       latents=["pain"], selected=["came"])  # fmt: skip
    text = write_graph(graph, kind).text
    assert read_graph(text, kind, file="g").graph(columns=["dose", "recovery"], target="recovery") == graph


def test_a_follower_that_rows_were_chosen_by_cannot_keep_its_own_noise():
    def moved(selected):
        graph = from_edges(["age -> bmi -> recovery", "age -> recovery", "bmi -> came"],
                           columns=["age", "bmi", "recovery"], target="recovery", latents=["came"],
                           selected=selected)  # fmt: skip
        return propagable(graph, ["age", "bmi"], ["age"])

    assert moved([]).moved == ("age",)
    assert moved(["came"]).moved == ()
    assert obstacle_sentence(moved(["came"]).obstacles["age"]) == (
        "age would move bmi with it (age -> bmi), but bmi cannot keep its own noise: "
        "rows were chosen by it, or by something that it causes"
    )


# ------------------------------------------------------------------------------- unmeasured nodes that only pass on


THROUGH = ["dose -> blood_level -> recovery", "age -> recovery"]


def through(**said) -> CausalGraph:
    """The dose acts through a blood level that nobody measured."""
    return from_edges(THROUGH, columns=["dose", "age", "recovery"], target="recovery", latents=["blood_level"], **said)


def table_of(x: np.ndarray, y: np.ndarray, names: tuple[str, ...]) -> Table:
    """Numbers as a table; the last name is the target's."""
    columns = tuple(Column(name=name, type="continuous") for name in names)
    return Table(features=columns[:-1], target=columns[-1], row_ids=np.arange(len(y)), x=x, y=y)


def carried_label_error(blood_level, rows: int = 2400) -> float:
    """How far carried labels are from the truth, in standard deviations of recovery.

    blood_level: the level that a dose and a patient's own noise give.
    """
    rng = np.random.default_rng(3)
    dose, age, own, noise = (
        rng.uniform(-2, 2, rows),
        rng.normal(size=rows),
        rng.normal(size=rows),
        rng.normal(size=rows),
    )
    recovery = 2.0 * blood_level(dose, own) - age + 0.5 * noise
    table = table_of(np.column_stack([dose, age]), recovery, ("dose", "age", "recovery"))
    procedure = Procedure(
        regressor=KernelRidge(alpha=0.1, gamma=0.1),
        fill="median",
        search=None,
        teacher=SingleTeacher(),
        residuals="in_sample",
        partitioner=DeclaredPartitioner(
            graph=through(additive=["blood_level"]), choice=Partition(perturb=("dose",), joint=None)
        ),
        perturbation=Perturbation(default=Resample()),
        factor=1.0,
        retention=1.0,
        weight=1.0,
    )
    made = augment(procedure, table, FoldContext(seed=0)).counterfactuals
    source, moved = made.action.source, made.action.x[:, 0]
    truth = 2.0 * blood_level(moved, own[source]) - age[source] + 0.5 * noise[source]
    return float(np.sqrt(np.mean((made.y - truth) ** 2)) / recovery.std())


def test_an_additive_latent_passes_the_dose_on_and_carried_labels_are_right():
    assert carried_label_error(lambda dose, own: np.sin(dose) + own) < 0.1


def test_declared_additive_where_it_is_not_gives_wrong_labels_so_the_declaration_is_printed():
    assert carried_label_error(lambda dose, own: (0.2 + np.abs(dose)) * own) > 0.5
    said = [assumption_sentence(one) for one in graph_certificate(through(additive=["blood_level"]), ["dose"]).assumes]
    assert (
        "blood_level is a function of its causes plus noise of its own, and recovery is linear in it, with the same "
        "slope in every row: so it was declared (latent: additive)"
    ) in said


def test_a_latent_that_nobody_calls_additive_still_blocks_what_it_passes_on():
    assert perturbable(through(), ["dose", "age"]) == {"age"}
    assert perturbable(through(additive=["blood_level"]), ["dose", "age"]) == {"dose", "age"}


def test_an_additive_latent_that_something_else_confounds_frees_nothing():
    columns = {"columns": ["dose", "recovery"], "target": "recovery", "latents": ["level", "habit"]}
    shared = ["dose -> level -> recovery", "habit -> {dose, level}"]
    assert perturbable(from_edges(shared, **columns, additive=["level"]), ["dose"]) == set()
    hidden = from_edges(["dose -> level -> recovery", "dose <-> level"], columns=["dose", "recovery"],
                        target="recovery", latents=["level"], additive=["level"])  # fmt: skip
    verdict = certify(hidden, ["dose"])[0]
    assert reason_sentence(verdict.reason) == (
        "an unmeasured cause of both dose and level drives both dose and recovery: dose <- (dose <-> level) -> recovery"
    )
    assert [remedy.names for remedy in remedies(hidden, (verdict,))] == [("(dose <-> level)",)]


def test_passing_on_keeps_every_independence_of_what_is_measured():
    rng = np.random.default_rng(11)
    for _ in range(200):
        names = [f"x{i}" for i in range(4)]
        order = [str(name) for name in rng.permutation([*names, "m", "n", "y"])]
        arrows = [pair for pair in combinations(order, 2) if rng.random() < 0.45]
        named = {name for pair in arrows for name in pair}
        if not {"m", "n", "y"} <= named:
            continue
        graph = CausalGraph.build([Edge(a, b) for a, b in arrows], columns=[*names, "y"], target="y",
                                  latents=["m", "n"], additive=["m", "n"])  # fmt: skip
        drawn = nx.DiGraph([*arrows])
        drawn.add_nodes_from(names)
        for a, b in combinations(sorted([*names, "y"]), 2):
            others = sorted({*names, "y"} - {a, b})
            for size in range(len(others) + 1):
                for given in combinations(others, size):
                    assert separated(graph, [a], [b], given) == nx.is_d_separator(drawn, {a}, {b}, set(given))


SPEC = """
version: 1
recipe: paper
name: passing
dataset:
  source: {{kind: synthetic, rows: 60, equations: {{dose: "normal(0, 1)", recovery: "dose + normal(0, 1)"}}}}
  target: recovery
causal:
  graph:
    kind: edges
    edges: [dose -> blood_level -> recovery]
    latent: {latent}
"""


@pytest.mark.parametrize(
    ("latent", "free"),
    [
        pytest.param("[blood_level]", set(), id="a-list"),
        pytest.param("{blood_level: }", set(), id="a-mapping-that-says-nothing"),
        pytest.param("{blood_level: additive}", {"dose"}, id="additive"),
    ],
)
def test_the_spec_says_which_latent_is_additive(tmp_path, latent, free):
    (tmp_path / "spec.yaml").write_text(SPEC.format(latent=latent))
    spec, _ = load_spec(tmp_path / "spec.yaml")
    graph = declared_graph(spec.causal, spec.dataset, ["dose", "recovery"], tmp_path)
    assert perturbable(graph, ["dose"]) == free


def test_a_misspelt_additive_is_refused_with_its_place(tmp_path):
    (tmp_path / "spec.yaml").write_text(SPEC.format(latent="{blood_level: aditive}"))
    with pytest.raises(CrdaError) as caught:
        load_spec(tmp_path / "spec.yaml")
    assert str(caught.value).splitlines()[3] == (
        "spec.yaml:12:27: causal.graph.latent.blood_level: unknown value 'aditive'; did you mean 'additive'?"
    )


@pytest.mark.parametrize("kind", FORMATS)
def test_an_additive_latent_survives_every_format_that_has_a_word_for_it(kind):
    graph = through(additive=["blood_level"])
    written = write_graph(graph, kind)
    again = read_graph(written.text, kind, file="g").graph(columns=graph.observed, target="recovery")
    if written.lost:
        assert kind == "dagitty"
        assert written.lost == ("dagitty has no word for the role additive, which these nodes have: blood_level",)
    assert again.additive == (() if written.lost else ("blood_level",))


# ------------------------------------------------------------- something unmeasured that changes a feature's effect


def partition_of(strength: float, rows: int = 400) -> Certificate:
    """y = x + strength * x * u + noise, u unmeasured: the graph y <- x, y <- w certifies both features."""
    rng = np.random.default_rng(12)
    x, w, u, noise = rng.normal(size=(4, rows))
    residual = strength * x * u + noise
    table = table_of(np.column_stack([x, w]), x + w + residual, ("x", "w", "y"))
    graph = from_edges(["{x, w, u} -> y"], columns=["x", "w", "y"], target="y", latents=["u"])
    partitioner = DeclaredPartitioner(graph=graph, choice=Partition())
    return partitioner.partition(table, residual, seed=0, index=(0,))


def test_an_effect_that_something_unmeasured_changes_is_assumed_away_in_print_and_warned_of():
    found = partition_of(1.0)
    assert found.perturbed == ("x", "w")  # the graph cannot tell, and a declared graph decides
    said = [assumption_sentence(one) for one in found.assumes]
    assert "nothing unmeasured changes the effect of a feature that moves" in said
    assert found.joint.failed
    assert re.sub(r"p = [^)]*", "p = small", joint_sentence(found.joint)) == (
        "Together, the 2 features that move help to predict the residual or its size in rows that were not fitted "
        "(p = small): carrying the noise over is doubtful: something unmeasured may change their effect, or the noise "
        "may depend on them."
    )


def test_an_effect_that_nothing_changes_is_not_warned_of():
    assert not partition_of(0.0).joint.failed


# ---------------------------------------------------------------------------- curves that a straight line leaves over


@pytest.mark.parametrize("rows", [300, 1000])
@pytest.mark.parametrize("kind", ["normal", "uniform", "skewed", "heavy"])
def test_two_effects_of_a_square_are_not_tied_once_it_is_known(rows, kind):
    """Beside a boolean, too; a straight line of c left them tied in all tables. 300 tables: 0.05 and 3.5 errors."""
    rng, false_alarms = np.random.default_rng(rows), 0
    for _ in range(300):
        c = {
            "normal": lambda: rng.normal(size=rows),
            "uniform": lambda: rng.uniform(-2, 2, size=rows),
            "skewed": lambda: rng.exponential(size=rows),
            "heavy": lambda: rng.standard_t(4, size=rows),
        }[kind]()
        first, second = c**2 + rng.normal(size=(2, rows))
        x = np.column_stack([first, second, c, rng.uniform(size=rows) < 0.5])
        test = MixedTest.of(x, ("continuous", "continuous", "continuous", "boolean"))
        false_alarms += test.p_value(0, 1, (2,))[1] <= 0.05
    assert false_alarms / 300 < 0.094


# ---------------------------------------------------------------------------------------- a graph that rows contradict


@pytest.fixture
def command(monkeypatch, capsys):
    """Runs `crda-run` or `crda-spec` through its real entry point; gives what it printed."""

    def start(name: str, *arguments: object) -> str:
        monkeypatch.setattr(sys, "argv", [name, *map(str, arguments)])
        with pytest.raises(SystemExit):
            {"crda-run": run_main, "crda-spec": main}[name]()
        return capsys.readouterr().out

    return start


CONTRADICTED = """
version: 1
recipe: paper
name: contradicted
dataset:
  source:
    kind: synthetic
    rows: 200
    equations:
      age: normal(50, 10)
      blood: 0.5 * age + normal(0, 1)
      recovery: blood + 0.5 * age + normal(0, 2)
  target: recovery
causal: {graph: {kind: edges, edges: ["{age blood} -> recovery"]}}
regressor: {kind: ridge}
falsify: {on_falsified: warn, permutations: 0}
gate: {kind: wilcoxon, enabled: false}
"""


def test_a_run_whose_graph_is_contradicted_is_green_nowhere(tmp_path, command):
    (tmp_path / "spec.yaml").write_text(CONTRADICTED)
    command("crda-run", tmp_path / "spec.yaml", "--out", tmp_path / "run")
    result = reopen(open_run(tmp_path / "run")).result
    assert result.falsification.outcome == "falsified"
    accepted = replace(result, verdict=replace(result.verdict, decision="accepted"))  # the greenest that it could be
    blocks = [block for section in sections(accepted) for block in section.blocks]
    tones = [tone for block in blocks for tone in ((block.tone,) if isinstance(block, Line) else block.tones)]
    assert "good" not in [*tones, *(line.tone for line in closing(accepted, None))]
    page = (tmp_path / "run" / "report.html").read_text()
    assert not re.search(r'class="(tag|verdict) (accepted|irrelevant|cause)"', page)
    assert (
        page.count('<span class="tag doubted cause">cause, doubted</span>') == 3
    )  # the class's card, and a row for each feature
    for picture in (page, (tmp_path / "run" / "graph.svg").read_text()):
        assert not re.search(r'<g class="(green|sky)"', picture)
    assert "2 of 2 features may move, by a declared graph that the data contradict." in page


@pytest.mark.parametrize("edges", [["x -> y", "w -> x"], ["x -> y -> w"], ["{x w} -> y", "y -> v"]])
def test_no_suggested_arrow_leaves_the_target(edges):
    columns = ["x", "w", "v", "y"]
    graph = from_edges(edges, columns=columns, target="y")
    for other in "xwv":
        violated = (Statement(*sorted(("y", other)), ()),)
        assert all(edge.mark == "<->" or edge.tail != "y" for edge in repairing_edges(graph, violated))


def test_a_draft_says_which_arrows_leave_the_target_or_contradict_what_was_told(tmp_path, command):
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(2, 3000))
    y = a + b + rng.normal(size=3000)
    late = y + rng.normal(size=3000)
    rows = np.column_stack([a, b, late, y])
    np.savetxt(tmp_path / "t.csv", rows, delimiter=",", header="a,b,late,y", comments="")
    found = command("crda-spec", "discover", tmp_path / "t.csv", "--target", "y", "--json")
    assert (
        "y -> late leaves the target, so that nothing that causes the target may move: is late known beforehand?"
        in found
    )
    graph = Pc().graph(rows, tuple(Column(name=name, type="continuous") for name in "ably"), seed=0)
    draft = declarable(graph, target="y", barred={("a", "y")})
    assert (
        "a -> y is a guess: it contradicts what you told the search (tiers, required or forbidden edges, roots, leaves)"
        in guess_notes(draft)
    )


# ------------------------------------------------------------------------------------------- one number for one thing


SPECS = Path(__file__).parents[2] / "specs"


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param((), id="paper"),
        pytest.param(("partition.max_features=1",), id="one-is-chosen"),
        pytest.param(("partition.keep=[age]",), id="one-is-kept"),
        pytest.param(("recipe=distilled",), id="no-noise"),
        pytest.param(("causal.graph.selected=[dose]",), id="chosen-rows"),
    ],
)
def test_plan_terminal_page_and_record_say_the_same_of_how_many_features_may_move(changes, tmp_path, command):
    sets = [part for one in ("dataset.source.rows=80", "regressor={kind: ridge}", *changes) for part in ("--set", one)]
    spec = SPECS / "clinical_recovery.yaml"
    planned = json.loads(command("crda-spec", "plan", spec, *sets, "--json"))
    said = command("crda-spec", "plan", spec, *sets)
    printed = command("crda-run", spec, *sets, "--verbose", "--out", tmp_path / "run")
    record = json.loads((tmp_path / "run" / "record.json").read_text())["certificate"]
    count = f"{len(record['may_move'])} of {len(record['features'])} features"
    assert planned["may_move"] == record["may_move"]
    assert re.search(rf"what may move[^:]*: {count}, ", said)
    assert re.findall(r"\d+ of \d+ features may move", printed) == [f"{count} may move"]
    page = (tmp_path / "run" / "report.html").read_text()
    assert set(re.findall(r"\d+ of \d+ features may move", page)) == {f"{count} may move"}


def test_a_disagreement_of_graph_and_data_is_told_only_below_the_declared_level():
    """With 30 rows a correlation of 0.15 is chance: it fails the screen's threshold, and says nothing of the graph."""
    rng = np.random.default_rng(4)
    x = rng.normal(size=(30, 1))
    z = rng.normal(size=30)
    z -= z.mean()
    across = x[:, 0] - x.mean()
    z -= across * (across @ z) / (across @ across)
    z += 0.15 * z.std() * across / across.std()
    table = table_of(x, 2 * x[:, 0] + z, ("x", "y"))
    graph = from_edges(["x -> y"], columns=["x", "y"], target="y")
    verdict = DeclaredPartitioner(graph=graph, choice=Partition()).partition(table, z, seed=0, index=(0,)).features[0]
    assert verdict.evidence["residual_statistic"] > 0.1
    assert verdict.evidence["residual_p_value"] > 0.05
    assert verdict.warning is None
    strict = Partition(screen=Pearson(alpha=0.6))
    assert DeclaredPartitioner(graph=graph, choice=strict).partition(table, z, seed=0, index=(0,)).features[0].warning
