"""A run as a run of MLflow, in a store in a folder; skipped where MLflow is absent."""

import importlib.util
import sys

import numpy as np
import pytest

import crda_spec
from crda_spec.audit import tracking
from crda_spec.errors import MissingExtraError

if importlib.util.find_spec("mlflow") is not None:
    NEEDED = None
else:
    NEEDED = "mlflow is not installed: its packages are too large for the dev extra"

DATASET = {"source": {"kind": "synthetic", "world": "crop_yield", "rows": 60}, "target": "grain_yield"}
SPEC = {
    "version": 1,
    "name": "fields",
    "recipe": "paper",
    "dataset": DATASET,
    "gate": {"kind": "wilcoxon", "folds": 8},
    "output": {"diagnostics": False, "plots": False},
}


@pytest.mark.skipif(NEEDED is not None, reason=NEEDED or "")
@pytest.mark.filterwarnings("ignore")  # of MLflow's own affairs
@pytest.mark.parametrize(("kind", "flavour"), [("ridge", "sklearn"), ("gaussian_process", "onnx")])
def test_a_run_in_a_store_of_files(kind, flavour, tmp_path, monkeypatch):
    import mlflow

    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    monkeypatch.chdir(tmp_path)
    mlflow.set_tracking_uri((tmp_path / "store").as_uri())
    run = crda_spec.run({**SPEC, "regressor": {"kind": kind}})
    logged = mlflow.get_run(run.log_mlflow())
    assert mlflow.active_run() is None
    assert logged.info.run_name == "fields"
    assert logged.data.params["regressor.kind"] == kind
    assert logged.data.params["counterfactual.factor"] == "1.25"
    assert logged.data.metrics["test.plain"] == run.score.plain
    assert logged.data.metrics["gate.p_value"] == run.verdict.p_value
    assert logged.data.tags["crda.decision"] == run.verdict.decision
    assert logged.data.tags["crda.model"] == flavour
    artifacts = mlflow.artifacts.download_artifacts(run_id=logged.info.run_id, dst_path=str(tmp_path / "again"))
    assert (tmp_path / "again" / "run" / "record.json").is_file(), artifacts
    model = mlflow.pyfunc.load_model(f"runs:/{logged.info.run_id}/model")
    x = run.result.split.train.x
    found = model.predict(x)
    found = found["prediction"] if isinstance(found, dict) else found
    np.testing.assert_allclose(np.ravel(found), run.model.predict(x), rtol=1e-9)


def test_what_is_logged_needs_no_mlflow_to_be_told():
    record = {
        "spec": {"resolved": {"recipe": "paper", "goal": "mean", "seed": 3, **{one: {} for one in tracking._SECTIONS}}},
        "data": {"sha256": "ab"},
        "test": {"plain": 2.0, "augmented": None, "metric": "mse", "rows": 4},
        "verdict": {"p_value": 0.25, "accepted": True, "decision": "rejected"},
        "ensemble": None,
        "fits": 7,
    }
    record["spec"]["resolved"]["perturbation"] = {"features": {"dose (mg)": {"kind": "scale"}}, "together": []}
    told = dict(tracking._parameters(record))
    assert told["perturbation.features.dose _mg_.kind"] == "scale"
    assert (told["seed"], told["perturbation.together"], told["gate"]) == ("3", "[]", "{}")
    assert dict(tracking._metrics(record)) == {"test.plain": 2.0, "test.rows": 4.0, "gate.p_value": 0.25, "fits": 7.0}


def test_without_mlflow_it_says_how_to_get_it(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "mlflow", None)
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    with pytest.raises(MissingExtraError) as caught:
        tracking.log_run({}, tmp_path, (), np.empty((0, 0)))
    assert str(caught.value) == 'the package mlflow is not installed; install it with: pip install "crda-spec[mlflow]"'
