"""Runs in which the graph is at work: what moved freely, on what each row rests, and that a stranger can check it."""

import json

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
import tampering as by
from audit_runs import ledger_of, ran, record_of, teachers_of

from crda_spec.report.words.numbers import number
from crda_spec.report.words.run import trust_sentences

EQUATIONS = """
      cause: normal(0, 1)
      other: normal(0, 1)
      echo: cause + normal(0, 0.5)
      shadow: other + normal(0, 0.5)
      y: 2 * cause - other + normal(0, 0.5)"""
SPEC = """
version: 1
name: certified
recipe: certified
dataset:
  source:
    kind: synthetic
    rows: 120
    equations: EQUATIONS
  target: y
causal: {graph: {kind: edges, edges: EDGES}}
falsify: {on_falsified: RULE, permutations: 20}
regressor: {kind: REGRESSOR}
counterfactual:
  teacher: {kind: committee, folds: blocks, hedge: true, members: [{kind: ridge, alpha: 2}, {kind: linear}]}
  retention: RETENTION
  factor: 3
perturbation: {copy_fraction: 0.3}
gate: {kind: wilcoxon, folds: 8, restarts: 1}
output: {plots: false, diagnostics: false}
execution: {jobs: 1}
"""
RIGHT = "[cause -> {y echo}, other -> {y shadow}]"
OPPOSITE = "[echo -> {y cause}, shadow -> {y other}]"


def run_of(folder, *, edges=RIGHT, retention=1, regressor="ridge", rule="warn"):
    folder.mkdir(exist_ok=True)
    text = SPEC.replace("EQUATIONS", EQUATIONS).replace("EDGES", json.dumps(edges.strip("[]").split(", ")))
    text = text.replace("RETENTION", str(retention)).replace("REGRESSOR", regressor).replace("RULE", rule)
    return ran(folder, text)


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    """A run that keeps all of a row's noise."""
    return run_of(tmp_path_factory.mktemp("kept"))


def test_the_record_and_the_ledger_tell_what_moved_freely(kept):
    record, rows = record_of(kept), ledger_of(kept)
    assert record["certificate"]["irrelevant"] == ["echo", "shadow"]
    assert record["teacher"]["trust"]["passed"]
    assert record["counterfactuals"]["irrelevant"] == ["echo", "shadow"]
    bases = {one["name"]: one["basis"] for one in record["movements"]}
    assert bases == {"cause": "certificate", "other": "certificate", "echo": "invariance", "shadow": "invariance"}
    made = rows[rows["_crda_synthetic"]]
    assert made["_crda_basis"].value_counts().to_dict() == {
        "invariance": record["counterfactuals"]["invariant"],
        "certificate": len(made) - record["counterfactuals"]["invariant"],
    }
    assert record["counterfactuals"]["invariant"] >= 0.3 * len(made) - 1


def test_a_row_that_rests_on_invariance_has_its_sources_causes_and_outcome_to_the_last_bit(kept):
    rows = ledger_of(kept)
    real = rows[~rows["_crda_synthetic"]].set_index("_crda_source_row")
    made = rows[rows["_crda_basis"] == "invariance"]
    for column in ("cause", "other", "y"):
        assert made[column].tolist() == real.loc[made["_crda_source_row"], column].tolist()
    moved = made["echo"].to_numpy() != real.loc[made["_crda_source_row"], "echo"].to_numpy()
    assert moved.mean() > 0.9


def test_half_of_the_saved_committee_looks_at_the_boundary_only(kept):
    columns = {member.columns for member in teachers_of(kept)}
    assert columns == {None, (0, 1)}
    weights = dict(zip(record_of(kept)["teacher"]["members"], record_of(kept)["teacher"]["weights"], strict=True))
    graphs = sum(weight for name, weight in weights.items() if "on the boundary" in name)
    assert graphs == pytest.approx(record_of(kept)["teacher"]["trust"]["weight"])


@pytest.mark.parametrize("retention", [1, 0])
def test_such_a_run_is_verified_and_its_members_are_the_users(tmp_path, verify, retention):
    finished = run_of(tmp_path, retention=retention)
    code, said = verify(finished.folder)
    assert code == 0, said
    origins = record_of(finished)["spec"]["origins"]
    assert origins["counterfactual.teacher.members.0.alpha"] == "user"
    assert origins["counterfactual.teacher.members.1.kind"] == "user"


def last_invariant(run):
    bases = pq.read_table(run / "augmented.parquet")["_crda_basis"].to_pylist()
    return max(at for at, one in enumerate(bases) if one == "invariance")


@pytest.mark.parametrize(
    ("column", "change"),
    [("_crda_basis", lambda _: "certificate"), ("y", np.nextafter), ("cause", lambda value: value + 1.0)],
)
def test_a_changed_row_that_rests_on_invariance_is_found(kept, tmp_path, verify, column, change):
    copy = by.copy_of(kept.folder, tmp_path)
    change = (lambda value: float(np.nextafter(value, 9.0))) if change is np.nextafter else change
    by.cell(column, last_invariant(copy), change)(copy)
    code, said = verify(copy)
    assert code == 4
    assert "augmented.parquet, row" in said


def test_a_feature_more_that_labels_may_not_depend_on_is_found(kept, tmp_path, verify):
    copy = by.copy_of(kept.folder, tmp_path)
    by.told("counterfactuals", "irrelevant", value=["cause", "echo", "shadow"])(copy)
    assert verify(copy)[0] == 4


def test_generate_moves_irrelevant_features_freely_too(kept, tmp_path, command):
    rows = ledger_of(kept)
    rows.loc[~rows["_crda_synthetic"], ["cause", "other", "echo", "shadow", "y"]].to_csv(
        tmp_path / "rows.csv", index=False
    )
    code, said = command("generate", kept.folder, tmp_path / "rows.csv", "--out", tmp_path / "new.parquet")
    assert code == 0, said
    made = pd.read_parquet(tmp_path / "new.parquet")
    source = pd.read_csv(tmp_path / "rows.csv").iloc[made["_crda_source_row"] - 1].reset_index(drop=True)
    still = (made["cause"] == source["cause"]) & (made["other"] == source["other"])
    assert (made["_crda_basis"] == "invariance").tolist() == still.tolist()
    assert made.loc[still, "y"].tolist() == source.loc[still, "y"].tolist()
    assert (made["echo"] != source["echo"]).mean() > 0.9


def test_opposite_graphs_give_other_rows_other_models_and_another_answer(tmp_path):
    right, opposite = (
        run_of(tmp_path / name, edges=edges, retention=0) for name, edges in (("right", RIGHT), ("opposite", OPPOSITE))
    )
    first, second = record_of(right), record_of(opposite)
    assert (first["teacher"]["trust"]["passed"], second["teacher"]["trust"]["passed"]) == (True, False)
    assert (first["counterfactuals"]["irrelevant"], second["counterfactuals"]["irrelevant"]) == (["echo", "shadow"], [])
    assert first["files"]["augmented.parquet"] != second["files"]["augmented.parquet"]
    assert first["test"]["augmented"] != second["test"]["augmented"]
    assert first["verdict"]["folds"] != second["verdict"]["folds"]


def test_the_terminal_says_whether_the_rows_bear_the_graph_out(kept, tmp_path):
    trust, (seen, share) = kept.result.teacher.trust, trust_sentences(kept.result)
    assert seen == (
        "The rows bear out the irrelevant features: on rows that they have not seen, the committee's members without "
        f"echo and shadow have an MSE of {number(trust.boundary)}, those with every feature "
        f"{number(trust.everything)} (difference's standard error {number(trust.standard_error)}). No label depends on "
        "them."
    )
    assert share == f"The graph's members have {round(100 * trust.weight)} % of the committee's weight."
    opposite = run_of(tmp_path, edges=OPPOSITE, retention=0)
    assert trust_sentences(opposite.result)[0].startswith("The rows do not bear out the irrelevant features: on rows ")
    assert set(opposite.result.teacher.trust.contradicted) == {"cause", "other"}
    assert "So none is treated as such. They tie " in trust_sentences(opposite.result)[0]
    assert trust_sentences(opposite.result)[0].endswith(" to the target: draw an arrow, or a hidden cause.")


# Two arrows are missing; with cause -> echo, the hidden cause that it draws for echo and y reaches cause.
TRIED = "[cause -> {y shadow}, other -> y, echo <-> y]"


@pytest.mark.parametrize(("retention", "stops"), [(1, True), (0, False)])
def test_a_graph_that_is_certified_again_is_verified_and_its_word_cannot_be_changed(tmp_path, verify, retention, stops):
    finished = run_of(tmp_path / "first", edges=TRIED, retention=retention, rule="recertify")
    repair = record_of(finished)["certificate"]["repair"]
    assert (repair["lost"], repair["stops"]) == (["cause"], stops)
    assert repair["edges"] == ["other -> shadow", "cause -> echo"]
    assert (record_of(finished)["verdict"]["reason"] == "graph_falsified") == stops
    code, said = verify(finished.folder)
    assert code == 0, said
    copy = by.copy_of(finished.folder, tmp_path)
    by.told("certificate", "repair", "stops", value=not stops)(copy)
    code, said = verify(copy)
    assert code == 4
    assert "certificate.repair.stops" in said
