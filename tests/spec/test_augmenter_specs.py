"""Specs with `augmenter`: what it fills in, what it has no use for, and what has to be there before anything runs."""

import importlib.util

import pytest

from crda_spec.counterfactual.augmenters import AUGMENTERS
from crda_spec.errors import SpecError
from crda_spec.spec.check import load_spec
from crda_spec.spec.render import render

BASE = """version: 1
name: rival
dataset: {source: {kind: csv, path: rows.csv}, target: y}
regressor: {kind: ridge}
"""


def loaded(folder, text):
    (folder / "rows.csv").write_text("a,b,y\n1,2,3\n2,3,4\n4,5,6\n")
    (folder / "spec.yaml").write_text(BASE + text)
    return load_spec(folder / "spec.yaml")


def refused(folder, text):
    """Every complaint, a line each: its path, what is wrong, what to do."""
    with pytest.raises(SpecError) as error:
        loaded(folder, text)
    return "\n".join(f"{one.path}: {one.what}; {one.hint}" for one in error.value.complaints)


def test_it_fills_in_what_its_rows_need_and_nothing_of_ours(tmp_path):
    spec, draft = loaded(tmp_path, "augmenter: {kind: mixup}\n")
    assert spec.recipe == "augmenter"
    assert spec.augmenter == AUGMENTERS["mixup"]()
    labels = spec.counterfactual
    assert (labels.teacher.kind, labels.residuals, labels.factor, labels.watch) == ("single", "in_sample", 1.0, "real")
    assert draft.origins["counterfactual.factor"] == "recipe"


def test_a_rendered_spec_can_be_loaded_again(tmp_path):
    for kind in ("mixup", "label_invariance", "augmented_distillation"):
        spec, _ = loaded(tmp_path, f"augmenter: {{kind: {kind}}}\n")
        (tmp_path / "again.yaml").write_text(render(spec))
        assert load_spec(tmp_path / "again.yaml")[0] == spec


def test_distillation_has_a_committee_as_its_teacher(tmp_path):
    spec, _ = loaded(tmp_path, "augmenter: {kind: augmented_distillation}\n")
    assert spec.counterfactual.teacher.kind == "committee"
    assert spec.counterfactual.residuals == "out_of_fold"


def test_a_student_of_a_quantile_needs_no_committee_where_nobody_teaches(tmp_path):
    quantile = "regressor: {kind: xgboost, objective: quantile, quantile: 0.9}\n"
    text = BASE.replace("regressor: {kind: ridge}\n", quantile)
    (tmp_path / "rows.csv").write_text("a,b,y\n1,2,3\n2,3,4\n4,5,6\n")
    (tmp_path / "spec.yaml").write_text(text + "augmenter: {kind: mixup}\n")
    spec, _ = load_spec(tmp_path / "spec.yaml")
    assert (spec.goal, spec.gate.metric, spec.counterfactual.retention) == ("quantiles", "pinball", 0.0)
    (tmp_path / "spec.yaml").write_text(text + "augmenter: {kind: residual_bootstrap}\n")
    with pytest.raises(SpecError, match="a single teacher is of the regressor's own kind"):
        load_spec(tmp_path / "spec.yaml")


MAKES = "the augmenter 'mixup' makes the rows"
OUT = "leave it out, or leave out augmenter"
MIXUP, GRAPH = "augmenter: {kind: mixup}\n", "causal: {graph: {kind: edges, edges: [a -> y]}}\n"
SEARCH = "tune: {{kind: none, augmentation: {}}}\n"
NOT_OURS = (
    "a way of our own to make rows, but the augmenter 'mixup' makes them; leave out recipe, or leave out augmenter"
)
REFUSED = {
    "another recipe": (MIXUP + "recipe: certified\n" + GRAPH, f"recipe: certified is {NOT_OURS}"),
    "its recipe alone": (
        "recipe: augmenter\n",
        "recipe: augmenter is for specs with the key augmenter; write that key, or another recipe",
    ),
    "an unknown kind": (
        "augmenter: {kind: mixupp}\n",
        "augmenter.kind: unknown kind 'mixupp'; did you mean 'mixup'?",
    ),
    "an unknown key": (
        "augmenter: {kind: mixup, alfa: 2.0}\n",
        "augmenter.alfa: unknown key 'alfa'; did you mean 'alpha'?",
    ),
    "what moves our rows": (
        MIXUP + "perturbation: {default: {kind: jitter}}\npartition: {max_features: 2}\n",
        (
            f"perturbation: {MAKES}, so this has nothing to do; {OUT}\n"
            f"partition: {MAKES}, so nothing is chosen here; {OUT}"
        ),
    ),
    "what labels our rows": (
        MIXUP + "counterfactual: {teacher: {kind: crossfit}, retention: 0.5}\n",
        (
            f"counterfactual.teacher: {MAKES} and asks no teacher; {OUT}\n"
            f"counterfactual.retention: {MAKES} and their labels, so this has nothing to do; {OUT}"
        ),
    ),
    "no graph": (
        "augmenter: {kind: teshima_sugiyama}\n",
        (
            "augmenter.kind: the augmenter 'teshima_sugiyama' makes rows along a causal graph, and none is declared; "
            "declare one under causal.graph, or use another augmenter"
        ),
    ),
    "a graph that leaves out a column": (
        "augmenter: {kind: causal_bootstrap}\n" + GRAPH,
        (
            "causal.graph: the augmenter 'causal_bootstrap' makes rows along the graph, which does not draw 'b'; draw "
            "what is missing, or name it under causal.graph.unrelated, or leave it out of dataset.features"
        ),
    ),
    "a knob that it has not": (
        MIXUP + SEARCH.format("{kind: tpe, knobs: {reach: [0.1, 0.2]}}"),
        (
            "tune.augmentation.knobs.reach: recipe augmenter pins reach: the augmenter makes the rows in its own way; "
            "remove it from the knobs"
        ),
    ),
    "a candidate of ours": (
        MIXUP + SEARCH.format("{kind: candidates, candidates: {ours: {recipe: distilled}}}"),
        f"tune.augmentation.candidates.ours.recipe: distilled is {NOT_OURS}",
    ),
}


@pytest.mark.parametrize(("text", "said"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_be(tmp_path, text, said):
    assert refused(tmp_path, text) == said


@pytest.mark.parametrize(
    ("kind", "package", "more"),
    [
        ("tab_ddpm", "torch", ""),
        (
            "ctgan",
            "ctgan",
            " (ctgan is under the Business Source License 1.1: read it before any use in production)",
        ),
    ],
)
def test_a_missing_package_is_named_before_anything_runs(tmp_path, monkeypatch, kind, package, more):
    found = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == package else found(name))
    what = f"the package {package} is not installed, which the augmenter '{kind}' needs"
    hint = f'install it with: pip install "crda-spec[rivals]"{more}'
    assert refused(tmp_path, f"augmenter: {{kind: {kind}}}\n") == f"augmenter.kind: {what}; {hint}"


@pytest.mark.parametrize("kind", AUGMENTERS)
def test_what_a_comparison_searches_is_allowed(kind):
    member = AUGMENTERS[kind]
    for name, values in member.search.items():
        for value in values:
            assert getattr(member.model_validate({"kind": kind, name: value}), name) == value
