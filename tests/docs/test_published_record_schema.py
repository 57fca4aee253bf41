"""The published schema of `record.json` is current, closed and documented, and real records obey it."""

import json
import sys
from pathlib import Path

import jsonschema
import pytest

from crda_spec.audit.schemas import published_schema, schema_text
from crda_spec.cli.app import run_main

ROOT = Path(__file__).parents[2]
NAME = "crda-record.v1.schema.json"
AGAIN = "the record changed: see crda_spec/audit/schemas.py, then run `python -m crda_spec.audit.schemas`"
SPEC = """version: 1
recipe: paper
name: small
dataset:
  source: {kind: synthetic, world: bidding_war, rows: 70}
  target: price
regressor: {kind: ridge}
gate: {kind: wilcoxon, folds: 5}
"""
GRAPH = 'causal: {graph: {kind: edges, edges: ["{area rooms age} -> price"]}}\n'
# Trees: the residuals of least squares leave a screen nothing to see.
SPECS = {
    "declared": SPEC + GRAPH + "counterfactual: {noise: {kind: location_scale}, residuals: out_of_fold,"
    " teacher: {kind: crossfit, folds: 3}}\n",
    "discovered": SPEC.replace("ridge", "hist_gradient_boosting, max_iter: 5"),
    "refused": SPEC + GRAPH.replace("->", "<->"),
    "several": SPEC.replace("ridge", "xgboost, n_estimators: 5").replace("folds: 5", "folds: 5, enabled: false")
    + GRAPH
    + "output: {ensemble: 2}\n",
}


def test_the_published_schema_is_current():
    assert (ROOT / "schemas" / NAME).read_text(encoding="utf-8") == schema_text(NAME), AGAIN


def test_it_is_a_schema_and_every_object_is_closed():
    schema = published_schema(NAME)
    jsonschema.Draft202012Validator.check_schema(schema)

    def objects(part):
        if isinstance(part, dict):
            if part.get("type") == "object" and "properties" in part:
                yield part
            for inner in part.values():
                yield from objects(inner)
        elif isinstance(part, list):
            for inner in part:
                yield from objects(inner)

    found = list(objects(schema))
    assert len(found) > 15
    for one in found:
        assert one["additionalProperties"] is False
        # Rows without an order have no times, and their record says nothing of them; nor, most, of objects from Python.
        left_out = {"time", "reproducible", "unsaved"} if one is schema else set()
        assert set(one["properties"]) - set(one["required"]) == left_out
        assert one["description"]


@pytest.mark.parametrize("text", SPECS.values(), ids=SPECS)
def test_the_record_of_a_run_obeys_it(text, tmp_path, monkeypatch):
    (tmp_path / "spec.yaml").write_text(text)
    monkeypatch.setattr(sys, "argv", ["crda-run", str(tmp_path / "spec.yaml"), "-q", "--out", str(tmp_path / "run")])
    with pytest.raises(SystemExit, match=r"^0$"):
        run_main()
    record = json.loads((tmp_path / "run" / "record.json").read_text())
    errors = jsonschema.Draft202012Validator(published_schema(NAME)).iter_errors(record)
    assert [f"{'.'.join(map(str, error.path))}: {error.message}" for error in errors] == [], AGAIN
