"""Runs of every sort verify: nothing that a run may legitimately be is taken for tampering."""

from pathlib import Path

import pytest

SPEC = """version: 1
recipe: paper
name: sort
seed: 2
dataset:
  source: {kind: synthetic, world: bidding_war, rows: 80}
  target: price
gate: {kind: wilcoxon, folds: 5}
"""
DISTILLED = SPEC.replace("recipe: paper", "recipe: distilled")
GRAPH = "causal: {graph: {kind: edges, edges: ['{area rooms age} -> price']}}\n"
RIDGE = "regressor: {kind: ridge}\n"
SORTS = {
    "discovered": SPEC + "regressor: {kind: hist_gradient_boosting, max_iter: 5}\n",
    "abstained": SPEC + GRAPH.replace("->", "<->") + RIDGE,
    "interpolated": SPEC
    + GRAPH
    + RIDGE
    + "perturbation: {default: {kind: interpolate}}\ncounterfactual: {retention: 0}\n",
    "ranked": SPEC + GRAPH + RIDGE + "partition: {max_features: 1}\ncounterfactual: {retention: 0}\n",
    "matched": SPEC + GRAPH + RIDGE + "counterfactual: {residual_draw: matched}\n",
    "network": DISTILLED + GRAPH + "regressor: {kind: mlp, max_iter: 3, hidden_layer_sizes: [4]}\n",
    "repeated": SPEC.replace("{kind: wilcoxon, folds: 5}", "{kind: five_by_two}") + GRAPH + RIDGE,
    "resampled": SPEC.replace("wilcoxon", "bootstrap") + GRAPH + RIDGE,
    "grouped": SPEC.replace("price\n", "price\n  groups: neighbourhood\n").replace(
        "wilcoxon, folds: 5", "corrected_t, folds: 3, metric: r2"
    )
    + GRAPH
    + RIDGE,
    "stopped": SPEC.replace("folds: 5", "folds: 8, metric: rmse, stop: certain") + GRAPH + RIDGE,
    "ungated": SPEC.replace("folds: 5", "folds: 5, enabled: false") + GRAPH + RIDGE,
    # Sections whose kind only the recipe names.
    "recipes": SPEC.replace("kind: wilcoxon, ", "") + GRAPH + RIDGE + "perturbation: {default: {reach: 0.5}}\n",
    "recipes_teacher": DISTILLED.replace("kind: wilcoxon, folds", "folds")
    + GRAPH
    + RIDGE
    + "counterfactual: {teacher: {folds: 2}}\nperturbation: {default: {weights: uniform}}\n",
    "candidates": SPEC
    + "tune: {kind: none, augmentation: {kind: candidates, candidates: {one: {partition: {max_features: 1}}}}}\n"
    + GRAPH
    + RIDGE,
    "searched": SPEC + GRAPH + RIDGE + "tune: {kind: randomized, trials: 2, folds: 2}\n",
}


LONG = ("discovered", "grouped", "network", "recipes_teacher")


@pytest.mark.parametrize(
    "text",
    [pytest.param(text, id=name, marks=[pytest.mark.slow] * (name in LONG)) for name, text in SORTS.items()],
)
def test_a_run_of_any_sort_is_verified(command, tmp_path, monkeypatch, text):
    monkeypatch.chdir(tmp_path)
    Path("spec.yaml").write_text(text)
    outcome = command("crda-run", "spec.yaml", "-q", "--jobs", "1", "--out", "run")
    assert outcome.code == 0, outcome.err
    outcome = command("crda-spec", "verify", "run", "--depth", "full" if "tune:" in text else "rows")
    assert outcome.code == 0, outcome.out
    assert outcome.out.splitlines()[-1].startswith("Verified: the run is as it was written (depth ")
    assert "skipped" not in outcome.out
