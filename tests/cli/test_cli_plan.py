"""`crda-spec plan`: what it promises is what a run then does."""

import json
from pathlib import Path

import pytest

SPECS = Path(__file__).parents[2] / "specs"
QUICK = ("--set", "dataset.source.rows=80", "--set", "regressor={kind: ridge}")


@pytest.mark.slow
@pytest.mark.parametrize("name", ["clinical_recovery", "paper_synthetic_discovery", "bidding_war"])
@pytest.mark.parametrize(
    "more",
    [
        pytest.param((), id="paper"),
        pytest.param(("--set", "recipe=distilled"), id="distilled"),
        pytest.param(("--set", "tune={kind: randomized, trials: 2, folds: 3}"), id="tuned"),
    ],
)
def test_a_run_needs_as_many_fits_and_rows_as_planned(name, more, command, tmp_path):
    planned = json.loads(command("crda-spec", "plan", SPECS / f"{name}.yaml", *QUICK, *more, "--json").out)
    printed = command("crda-run", SPECS / f"{name}.yaml", *QUICK, *more, "--json", "--out", tmp_path / "run").out
    record = json.loads(printed)
    assert record["counterfactuals"]["rows"] == planned["rows"]["synthetic"]
    assert (record["data"]["train_rows"], record["data"]["test_rows"]) == (
        planned["rows"]["train"],
        planned["rows"]["test"],
    )
    idle = sum(not fold["perturbed"] for fold in record["verdict"]["folds"])
    assert record["fits"] == planned["fits"]["at_most"] - idle
    certain = {one["name"] for one in planned["features"] if one["may_move"] and not one["held_by_spec"]}
    if planned["features"]:
        assert set(record["certificate"]["perturbed"]) <= certain


TREES = "regressor={kind: xgboost, n_estimators: 5}"


@pytest.mark.slow
@pytest.mark.parametrize("recipe", ["paper", "distilled"])
def test_the_models_of_an_ensemble_are_counted(recipe, command, tmp_path):
    changed = ("--set", "dataset.source.rows=80", "--set", TREES, "--set", f"recipe={recipe}")
    several = (SPECS / "clinical_recovery.yaml", *changed, "--set", "output.ensemble=4")
    one = json.loads(command("crda-spec", "plan", several[0], *changed, "--json").out)["fits"]
    planned = json.loads(command("crda-spec", "plan", *several, "--json").out)["fits"]
    more = {name: one[name] + 6 for name in ("at_most", "unshared", "ensemble")}
    assert planned == one | more | {"refits": one["refits"] + (3 if recipe == "distilled" else 0)}  # the plain ones
    ungated = ("--set", "gate={kind: wilcoxon, enabled: false}")  # so that the augmented models are fitted, too
    planned = json.loads(command("crda-spec", "plan", *several, *ungated, "--json").out)["fits"]
    record = json.loads(command("crda-run", *several, *ungated, "--json", "--out", tmp_path / "run").out)
    assert (record["fits"], record["ensemble"]["fits"]) == (planned["at_most"], planned["ensemble"])
    assert record["refits"] <= planned["refits"]
    text = command("crda-spec", "plan", *several).out
    assert "  ensemble: the mean of 4 models is handed over; 6 of the fits below, or 3 if\n" in text


def test_the_plan_as_text(command):
    text = command("crda-spec", "plan", SPECS / "clinical_recovery.yaml").out
    assert text == GOLDEN


GOLDEN = """\
Plan of clinical_recovery
  rows: 480 to train, 120 to test, 3000 to make
  what may move: 4 of 5 features, decided by the declared graph
    moves  age (cause): a direct cause of recovery, and once the other features
           are known, nothing unmeasured that drives recovery is tied to it
           the same holds for: bmi, therapy_hours
    kept   comorbidities (cause): a direct cause of recovery, and once the other
           features are known, nothing unmeasured that drives recovery is tied
           to it
    fixed  dose (blocked): the unmeasured severity drives both dose and
           recovery: dose <- severity -> recovery
           written: severity -> recovery (clinical_recovery.yaml:32:9),
             severity -> dose (clinical_recovery.yaml:31:9)
           this path would close if one could hold fixed: severity
    at most 3 of them move (max_features): those most tied to the target
  what moves is separated from: Z (the noise of recovery), severity (not a
    feature)
  lemma of the paper: holds (causes of recovery: 4; irrelevant to it: 0)
  what would free more:
    - measure severity and add it to the features: then dose may move
  this holds only if:
    - the graph is right: an arrow that is not drawn stands for an effect that
      does not exist
    - every common cause of two nodes is drawn, measured or not
    - recovery is a function of its causes plus noise that adds to it, and the
      noise depends on no feature but those declared to drive it
    - nothing unmeasured changes the effect of a feature that moves
    - the rows were not chosen by anything that these nodes cause
    - the regressor is accurate where features move: its own error travels with
      the noise
  test of the graph: the 9 independencies that the graph implies, alpha 0.05
    over all of them together; compared with 100 permuted graphs; if refuted:
    recertify (add the suggested arrows; noise is carried if no cause is lost)
  screen: pearson, alpha 0.05, adjust none, threshold 0.1
  gate: wilcoxon, folds 10, restarts 2, alpha 0.05, alternative less, metric mse
  fits: at most 102 instead of 222, because teacher and gate share fold models, and 2 for the report
    40 of these at most are repeated on all their rows, once early stopping has ended
"""


def line_of(file: Path, text: str) -> int:
    [number] = [at for at, line in enumerate(file.read_text().splitlines(), start=1) if line.strip() == text]
    return number


def test_every_line_of_a_witness_is_where_the_plan_says(command):
    spec = SPECS / "clinical_recovery.yaml"
    planned = json.loads(command("crda-spec", "plan", spec, "--json").out)
    dose = next(one for one in planned["features"] if one["name"] == "dose")
    assert dose["witness"] == ["recovery", "<-", "severity", "->", "dose"]
    assert dose["blockers"] == ["severity"]
    assert dose["lines"] == [
        {
            "edge": edge,
            "where": f"causal.graph.edges.{position}",
            "place": f"clinical_recovery.yaml:{line_of(spec, f'- {edge}')}:9",
        }
        for position, edge in ((1, "severity -> recovery"), (0, "severity -> dose"))
    ]


def test_the_plan_holds_the_certificate_for_machines(command):
    planned = json.loads(command("crda-spec", "plan", SPECS / "clinical_recovery.yaml", "--json").out)
    found = planned["certificate"]
    assert found["noise_side"] == ["Z", "severity"]
    assert found["largest"] == ["age", "bmi", "comorbidities", "therapy_hours"]
    assert found["lemma_holds"] is True
    assert found["remedies"] == [
        {
            "kind": "measure",
            "names": ["severity"],
            "frees": ["dose"],
            "sentence": "measure severity and add it to the features: then dose may move",
        }
    ]
    assert len(found["assumes"]) == 6
    implied = planned["falsify"].pop("implied")
    assert planned["falsify"] == {"on_falsified": "recertify", "alpha": 0.05, "permutations": 100}
    assert (len(implied), implied[0]) == (9, "age _||_ bmi")
    lemmas = {one["name"]: one["lemma"] for one in planned["features"]}
    assert lemmas["age"] == "age is a parent of recovery"
    assert lemmas["dose"] == ""


def test_without_a_graph_the_plan_says_what_will_decide(command):
    spec = SPECS / "paper_synthetic_discovery.yaml"
    planned = json.loads(command("crda-spec", "plan", spec, "--json").out)
    assert (planned["features"], planned["certificate"], planned["falsify"]) == ([], None, None)
    assert planned["discovery"]["kind"] == "pc"
    lines = command("crda-spec", "plan", spec).out.splitlines()
    assert "  what may move: decided by PC and the screen, from residuals" in lines
    assert "  search: pc, alpha 0.05, max depth 2, dependence linear, colliders plain" in lines


NO_GRAPH = "version: 1\nname: own\ndataset: {source: {kind: synthetic, world: bidding_war, rows: 80}, target: price}\n"


@pytest.mark.parametrize("recipe", ["distilled", "certified"])
def test_without_a_graph_the_plan_says_what_one_would_add(recipe, command, tmp_path):
    (tmp_path / "own.yaml").write_text(NO_GRAPH + f"recipe: {recipe}\n")
    text = " ".join(command("crda-spec", "plan", tmp_path / "own.yaml").out.split())
    assert (
        "a graph that you draw (causal.graph) would add: which features are causes of price, which are irrelevant to "
        "it and move freely, and which must stay"
    ) in text
    counts = "no graph: what the search and the screen let through counts as a cause, and no feature as irrelevant"
    assert (counts in text) == (recipe == "certified")
    assert "what the graph says" not in text


def test_an_effect_of_the_target_that_blocks_every_cause_is_named_before_anything_else(command, tmp_path):
    edges = "[measurement_00 -> outcome -> measurement_01, measurement_00 -> measurement_02]"
    spec = own_spec(tmp_path, 3, f"    kind: edges\n    edges: {edges}\n")
    lines = command("crda-spec", "plan", spec).out.splitlines()
    assert lines[2:4] == [
        "  what may move: 1 of 3 features, decided by the declared graph",
        "    no cause of outcome may move: leave measurement_01 out, and 1 may",
    ]


def own_spec(folder: Path, features: int, graph: str) -> Path:
    """A spec of our own, with rows of its own."""
    names = [f"measurement_{number:02}" for number in range(features)]
    rows = [",".join(str((row * (at + 3)) % 17 + row / 10) for at in range(features + 2)) for row in range(40)]
    (folder / "rows.csv").write_text("\n".join([",".join([*names, "outcome", "spare"]), *rows]) + "\n")
    head = "version: 1\nrecipe: paper\nname: own\nregressor: {kind: ridge}\n"
    head += "dataset:\n  source: {kind: csv, path: rows.csv}\n"
    listed = f"  target: outcome\n  features: [{', '.join(names)}]\n"
    (folder / "own.yaml").write_text(head + listed + "causal:\n  graph:\n" + graph)
    return folder / "own.yaml"


def test_places_in_a_text_and_in_the_list_of_noise_parents(command, tmp_path):
    graph = """\
    kind: dagitty
    text: |
      dag {
        measurement_00 -> outcome
        outcome -> measurement_01
      }
    noise: [measurement_02, measurement_00]
"""
    spec = own_spec(tmp_path, 3, graph)
    at = line_of(spec, "text: |")
    found = json.loads(command("crda-spec", "plan", spec, "--json").out)["features"]
    assert [one["lines"] for one in found] == [
        [
            {
                "edge": "measurement_00 -> Z",
                "where": "causal.graph.noise.1",
                "place": f"own.yaml:{at + 5}:29",
            }
        ],
        [
            {
                "edge": "outcome -> measurement_01",
                "where": "causal.graph.text:3:3",
                "place": f"own.yaml:{at}:11, line 3 of the text",
            }
        ],
        [
            {
                "edge": "measurement_02 -> Z",
                "where": "causal.graph.noise.0",
                "place": f"own.yaml:{at + 5}:13",
            }
        ],
    ]


def test_a_graph_file_is_named_with_its_line(command, tmp_path):
    (tmp_path / "model.dot").write_text("digraph {\n  measurement_00 -> outcome [dir=both];\n}\n")
    spec = own_spec(tmp_path, 1, "    kind: dot\n    path: model.dot\n")
    text = command("crda-spec", "plan", spec).out
    assert text.splitlines()[3:9] == [
        "    fixed  measurement_00 (blocked): measurement_00 and outcome share an",
        "           unmeasured cause: measurement_00 <-> outcome",
        "           written: measurement_00 <-> outcome (model.dot:2:3)",
        "           this path would close if one could hold fixed: the hidden cause of",
        "             measurement_00 and outcome",
        "    at most 2 of them move (max_features): those most tied to the target",
    ]


def test_thirty_features_stay_readable_on_eighty_columns(command, tmp_path):
    names = [f"measurement_{number:02}" for number in range(30)]
    edges = [
        f'      - "{{{" ".join(names[:20])}}} -> outcome"',
        f"      - outcome -> {{{' '.join(names[20:23])}}}",
        f"      - spare -> {{outcome {names[23]}}}",
        f"      - {names[24]} -> {names[25]} -> {names[0]}",
        f"      - {names[26]} <-> outcome",
    ]
    spec = own_spec(tmp_path, 30, "    kind: edges\n    edges:\n" + "\n".join(edges) + "\n")
    text = command("crda-spec", "plan", spec).out
    assert max(map(len, text.splitlines())) <= 80
    assert len(text.splitlines()) < 80
    assert "\N{NO-BREAK SPACE}" not in text
    lines = text.splitlines()
    at = lines.index("  what would free more:")
    assert lines[at + 1 : at + 8] == [
        "    - add spare to the features: then measurement_23 may move",
        "    - measure what drives both measurement_26 and outcome and add it to the",
        "      features: then measurement_26 may move",
        "    - leave measurement_20, measurement_21 and measurement_22 out of the",
        "      features: then measurement_00, measurement_01, measurement_02,",
        "      measurement_03, measurement_04 and 15 more may move",
        "  this holds only if:",
    ]
    assert "           lemma: measurement_24 is d-separated from outcome given" in lines


def test_a_plan_with_propagation_says_what_follows_and_what_is_held_back(command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "spec.yaml").write_text(
        """
version: 1
recipe: paper
name: chain
dataset:
  source:
    kind: synthetic
    rows: 100
    equations:
      dose: normal(10, 3)
      blood: dose + normal(0, 1)
      recovery: blood + dose + normal(0, 1)
  target: recovery
causal: {graph: {kind: edges, edges: [dose -> blood, dose <-> blood, "{dose blood} -> recovery"]}}
perturbation: {propagate: true}
regressor: {kind: linear}
"""
    )
    outcome = command("crda-spec", "plan", "spec.yaml")
    assert outcome.code == 0
    assert "    what a moved feature causes follows it, by equations fitted to the graph\n" in outcome.out
    planned = json.loads(command("crda-spec", "plan", "spec.yaml", "--set", "partition.keep=[blood]", "--json").out)
    dose = next(one for one in planned["features"] if one["name"] == "dose")
    assert (planned["propagate"], dose["may_move"], dose["status"]) == (True, False, "blocked")
    assert dose["reason"] == ("dose would move blood with it (dose -> blood), but partition.keep holds blood fixed")


def test_without_noise_a_tied_feature_moves_and_the_plan_says_on_what(command):
    spec = SPECS / "clinical_recovery.yaml"
    none = ("--set", "counterfactual.retention=0", "--set", "partition.basis=support")
    planned = json.loads(command("crda-spec", "plan", spec, *none, "--json").out)
    assert planned["basis"] == "support"
    (dose,) = [one for one in planned["features"] if one["name"] == "dose"]
    assert (dose["certified"], dose["may_move"], dose["basis"]) == (False, True, "support")
    text = " ".join(command("crda-spec", "plan", spec, *none).out.split())
    assert "the new rows carry no noise (retention 0), so any feature may move, and only the data's support" in text
    assert "moves dose (blocked): not certified, but without noise it may: the unmeasured severity drives both" in text
    assert "what is certified is separated from: Z" in text
    assert "fixed dose" not in text


def test_with_effects_that_follow_only_a_certified_feature_moves_even_without_noise(command):
    more = ("--set", "counterfactual.retention=0", "--set", "partition.basis=support")
    more = (*more, "--set", "perturbation.propagate=true")
    planned = json.loads(command("crda-spec", "plan", SPECS / "clinical_recovery.yaml", *more, "--json").out)
    (dose,) = [one for one in planned["features"] if one["name"] == "dose"]
    assert (dose["certified"], dose["may_move"], dose["basis"]) == (False, False, None)


def test_a_searched_retention_leaves_the_basis_open(command):
    more = ("--set", "recipe=distilled", "--set", "counterfactual.retention=tune")
    spec = SPECS / "clinical_recovery.yaml"
    planned = json.loads(command("crda-spec", "plan", spec, *QUICK, *more, "--json").out)
    assert planned["basis"] == "searched"
    text = " ".join(command("crda-spec", "plan", spec, *QUICK, *more).out.split())
    assert "how much noise the new rows carry (retention) is searched inside the folds" in text
