"""Exported models: raw numbers in, the run's predictions out; the contract says how."""

import importlib.util
import json

import numpy as np
import pytest
import skops.io
from audit_parts import fitted, training_rows
from typer.testing import CliRunner

import crda_spec
from crda_spec.audit.exported import INPUT, OUTPUT, contract, format_of, onnx_bytes, skops_bytes
from crda_spec.audit.models import load_model
from crda_spec.cli.app import app
from crda_spec.errors import CrdaError, MissingExtraError, OutputError
from crda_spec.regressors import Fitter, SklearnEstimator

ROWS = training_rows().x
FRESH = np.concatenate([training_rows(n=41).x[::-1] * 1.1, np.full((1, 4), np.nan)])
FRESH[:-1, -1] = np.arange(41) % 3  # a category has codes

needs_onnx = pytest.mark.skipif(
    any(importlib.util.find_spec(one) is None for one in ("onnx", "onnxruntime", "skl2onnx", "onnxmltools")),
    reason="the extra crda-spec[export] is not installed",
)

STEPS = [["scale", {"class": "sklearn.preprocessing.StandardScaler"}], ["trees", {"class": "lightgbm.LGBMRegressor"}]]
NAMED = {
    "lightgbm in a pipeline": {"class": "sklearn.pipeline.Pipeline", "params": {"steps": STEPS}},
    "wrapped ridge": {
        "class": "sklearn.compose.TransformedTargetRegressor",
        "params": {"regressor": {"class": "sklearn.linear_model.Ridge"}},
    },
    "extra trees": {"class": "sklearn.ensemble.ExtraTreesRegressor", "params": {"n_estimators": 5}},
}


def models(kind):
    if kind in NAMED:
        return [Fitter(SklearnEstimator.model_validate(NAMED[kind])).fit(training_rows(), seed=3)]
    if kind == "two networks":
        return [fitted("mlp"), fitted("mlp", settings={"averaging": 0.9})]
    if kind.startswith("process"):
        return [fitted("gaussian_process", settings={"kernel": kind.split()[1]})]
    name, _, level = kind.partition(" at ")
    return [fitted(name, settings={"objective": "quantile", "quantile": float(level)} if level else {})]


def mean(members, x):
    return np.mean([one.predict(x) for one in members], axis=0)


@needs_onnx
@pytest.mark.parametrize(
    ("kind", "within"),
    [
        ("mlp", 1e-12),
        ("two networks", 1e-12),
        ("kernel_ridge", 1e-12),
        ("process rbf", 1e-12),
        ("process matern", 1e-12),
        ("process rational_quadratic", 1e-12),
        ("linear", 1e-5),
        ("ridge", 1e-5),
        ("svr", 1e-4),
        ("random_forest", 1e-5),
        ("hist_gradient_boosting", 1e-5),
        ("hist_gradient_boosting at 0.9", 1e-5),
        ("xgboost", 1e-5),
        ("xgboost at 0.9", 1e-5),
        ("catboost", 1e-5),
        *((name, 1e-5) for name in NAMED),
    ],
)
def test_an_onnx_graph_predicts_as_the_run_does(kind, within):
    import onnxruntime

    members = models(kind)
    data = onnx_bytes(members, ROWS, mean(members, ROWS))
    assert data == onnx_bytes(members, ROWS, mean(members, ROWS))
    session = onnxruntime.InferenceSession(data, providers=["CPUExecutionProvider"])
    (found,) = session.run([OUTPUT], {INPUT: FRESH})
    assert found.shape == (len(FRESH),)
    assert found.dtype == np.float64
    np.testing.assert_allclose(found, mean(members, FRESH), atol=within)


@pytest.mark.parametrize(
    ("kind", "within"),
    [
        ("linear", 1e-12),
        ("mlp", 1e-12),
        ("two networks", 1e-12),
        ("knn", 1e-12),
        ("kernel_ridge", 1e-12),
        ("xgboost", 1e-5),
        ("catboost", 1e-12),
        *((name, 1e-12) for name in NAMED),
    ],
)
def test_a_skops_pipeline_predicts_as_the_run_does(kind, within):
    members = models(kind)
    data = skops_bytes(members, ROWS, mean(members, ROWS))
    # A search tree counts how often it was asked.
    assert kind == "knn" or data == skops_bytes(members, ROWS, mean(members, ROWS))
    pipeline = skops.io.loads(data, trusted=skops.io.get_untrusted_types(data=data))
    np.testing.assert_allclose(pipeline.predict(FRESH), mean(members, FRESH), atol=within)


def refused(make, kind):
    members = models(kind)
    with pytest.raises(OutputError) as caught:
        make(members, ROWS, mean(members, ROWS))
    return str(caught.value)


def test_what_no_pipeline_can_say():
    assert refused(skops_bytes, "gaussian_process") == (
        "a gaussian_process of ours is no estimator of scikit-learn, so it has no skops archive; use --format onnx"
    )


@needs_onnx
def test_what_no_graph_can_say():
    assert refused(onnx_bytes, "knn") == (
        "the graph predicts 60 of 60 training rows otherwise than the run; export it as skops"
    )


def test_a_graph_needs_the_extra(monkeypatch):
    monkeypatch.setattr("crda_spec.audit.exported._EXTRA", ("onnx", "no_such_package_here"))
    with pytest.raises(
        MissingExtraError, match=r'no_such_package_here; install them with: pip install "crda-spec\[export\]"'
    ):
        onnx_bytes([], ROWS, ROWS[:, 0])


@pytest.fixture(scope="module")
def run():
    dataset = {"source": {"kind": "synthetic", "world": "crop_yield", "rows": 60}, "target": "grain_yield"}
    return crda_spec.run(
        {
            "version": 1,
            "name": "fields",
            "recipe": "paper",
            "dataset": dataset,
            "regressor": {"kind": "ridge"},
            "gate": {"enabled": False},
            "output": {"diagnostics": False, "plots": False},
        }
    )


def test_the_contract_beside_the_model(run, tmp_path):
    assert run.export(tmp_path / "model.skops") == tmp_path / "model.skops"
    told = json.loads((tmp_path / "model.skops.json").read_text())
    train = run.result.split.train
    assert [column["name"] for column in told["columns"]] == list(train.names)
    assert {column["name"]: column["codes"] for column in told["columns"]}["soil"] == {
        label: code for code, label in enumerate(next(one.labels for one in train.features if one.name == "soil"))
    }
    assert told["target"]["name"] == "grain_yield"
    assert (told["format"], told["regressor"], told["models"]) == ("skops", {"kind": "ridge", "alpha": 1.0}, 1)
    assert len(told["record_sha256"]) == len(told["sha256"]) == 64


@needs_onnx
def test_the_command_exports_what_python_exports(run, tmp_path):
    import onnxruntime

    folder, file = run.save(tmp_path / "run"), tmp_path / "model.onnx"
    result = CliRunner().invoke(app, ["export", str(folder), "--out", str(file)])
    assert (result.exit_code, result.output) == (0, f"model: {file}\ncontract: {file}.json\n")
    run.export(tmp_path / "python.onnx")
    assert (tmp_path / "python.onnx").read_bytes() == file.read_bytes()
    session = onnxruntime.InferenceSession(file.read_bytes(), providers=["CPUExecutionProvider"])
    train = run.result.split.train
    predicted = run.predict(run.augmented.loc[~run.augmented["_crda_synthetic"], list(train.names)])["prediction"]
    np.testing.assert_allclose(session.run(None, {INPUT: train.x})[0], predicted, rtol=1e-5)
    assert load_model(folder / "model").predict(train.x).tolist() == predicted.tolist()
    again = CliRunner().invoke(app, ["export", str(folder), "--out", str(file)])
    assert isinstance(again.exception, CrdaError)


def test_an_unknown_format(tmp_path):
    for path, form, said in (
        ("model.pkl", None, "'pkl' is no format of a model; use --format, or an ending: skops, onnx"),
        ("model", None, "nothing says in which format; use --format, or an ending: skops, onnx"),
        ("model.skops", "onxn", "'onxn' is no format of a model; did you mean 'onnx'?"),
    ):
        with pytest.raises(OutputError) as caught:
            format_of(tmp_path / path, form)
        assert str(caught.value) == f"{tmp_path / path}: {said}"
    assert format_of(tmp_path / "model.bin", "onnx") == "onnx"


def test_the_contract_of_an_ensemble_counts_its_models():
    record = {
        "name": "fields",
        "sha256": "0" * 64,
        "final_model": "plain",
        "ensemble": {"models": 3},
        "regressor": {"kind": "mlp"},
        "data": {"features": [], "target": {"name": "y", "unit": "kg"}},
    }
    assert contract(record, "onnx") == {
        "contract_version": 1,
        "run": "fields",
        "record_sha256": "0" * 64,
        "format": "onnx",
        "model": "plain",
        "models": 3,
        "regressor": {"kind": "mlp"},
        "input": "rows",
        "output": "prediction",
        "columns": [],
        "target": {"name": "y", "unit": "kg"},
    }
