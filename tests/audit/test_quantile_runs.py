"""A run whose student predicts a quantile: saved, checked by a stranger, used on new rows."""

import json

import numpy as np
import pandas as pd
import pytest
import tampering as by
from audit_runs import ledger_of, ran, record_of, teachers_of

from crda_spec.audit.models import load_model

SPEC = """
version: 1
name: quantile
goal: quantiles
dataset:
  source:
    kind: synthetic
    rows: 120
    equations:
      cause: normal(0, 1)
      wide: uniform(0, 1)
      echo: cause + normal(0, 0.5)
      y: 2 * cause + (0.2 + wide) * normal(0, 1)
  target: y
causal: {graph: {kind: edges, edges: ["{cause wide} -> y", "cause -> echo"], noise: [wide]}}
falsify: {on_falsified: warn, permutations: 20}
regressor: REGRESSOR
counterfactual:
  teacher: {kind: committee, folds: blocks, hedge: true, members: [{kind: ridge, alpha: 2}, {kind: linear}]}
  factor: 4
perturbation: {default: {kind: resample}}
gate: {kind: wilcoxon, folds: 6}
output: {plots: false}
execution: {jobs: 1}
"""
REGRESSORS = {
    "xgboost": "{kind: xgboost, quantile: 0.8, n_estimators: 40, learning_rate: 0.2}",
    "hist_gradient_boosting": "{kind: hist_gradient_boosting, quantile: 0.8, max_iter: 20}",
    "catboost": "{kind: catboost, quantile: 0.8, iterations: 20}",
}


@pytest.fixture(scope="module", params=sorted(REGRESSORS))
def finished(request, tmp_path_factory):
    return ran(tmp_path_factory.mktemp("quantile"), SPEC.replace("REGRESSOR", REGRESSORS[request.param]))


def test_the_record_says_what_was_predicted_and_how_it_was_judged(finished):
    record = record_of(finished)
    assert (record["regressor"]["objective"], record["regressor"]["quantile"]) == ("quantile", 0.8)
    assert {record[part]["metric"] for part in ("verdict", "test")} == {"pinball 0.8"}
    origins = record["spec"]["origins"]
    assert (origins["goal"], origins["counterfactual.retention"], origins["gate.quantile"]) == ("user", "goal", "goal")


def test_rows_carry_all_of_their_noise_and_what_its_size_depends_on_stays(finished):
    record, rows = record_of(finished), ledger_of(finished)
    made = rows[rows["_crda_synthetic"]]
    assert set(made["_crda_retention"]) == {1.0}
    assert set(made["_crda_basis"]) <= {"certificate", "invariance"}
    assert "wide" not in record["counterfactuals"]["moved"]
    teachers = {model.kind for model in teachers_of(finished)}
    assert teachers <= {"ridge", "linear"}


def test_a_stranger_can_verify_it_and_predict_with_it(finished, start, tmp_path):
    code, out, err = start("verify", finished.folder)
    assert (code, err) == (0, ""), out
    rng = np.random.default_rng(3)
    cause, wide = rng.normal(size=400), rng.uniform(size=400)
    new = pd.DataFrame({"cause": cause, "wide": wide, "echo": cause + 0.5 * rng.normal(size=400)})
    new.to_csv(tmp_path / "new.csv", index=False)
    told = json.loads(start("predict", finished.folder, tmp_path / "new.csv", "--json")[1])
    assert told["predictions"] == load_model(finished.folder / "model").predict(new.to_numpy()).tolist()
    y = 2 * cause + (0.2 + wide) * rng.normal(size=400)
    assert 0.65 < np.mean(y <= np.array(told["predictions"])) < 0.95


def test_another_quantile_in_the_record_is_noticed(finished, start, tmp_path):
    run = by.copy_of(finished.folder, tmp_path)
    by.told("regressor", "quantile", value=0.5)(run)
    assert start("verify", run)[0] == 4
