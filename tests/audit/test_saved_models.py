"""Models on disk and back: the same predictions, the same bytes in every process, nothing that executes."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import skops.io
from audit_parts import KINDS, fitted, training_rows
from sklearn.preprocessing import FunctionTransformer

from crda_spec.audit.models import load_model, model_files
from crda_spec.errors import OutputError
from crda_spec.records import Table
from crda_spec.regressors import REGRESSORS, Fitter


def saved(folder, model):
    for name, data in model_files(model).items():
        (folder / name).write_bytes(data)
    return folder


@pytest.mark.parametrize("kind", KINDS)
def test_a_saved_model_predicts_the_same_bits(kind, tmp_path):
    model = fitted(kind)
    again = load_model(saved(tmp_path, model))
    x = np.concatenate([training_rows().x, training_rows(n=31).x[::-1] * 1.1, np.full((1, 4), np.nan)])
    assert again.kind == kind
    assert again.predict(x).tobytes() == model.predict(x).tobytes()


QUANTILES = [kind for kind in KINDS if REGRESSORS[kind].learns_quantiles]


@pytest.mark.parametrize("kind", QUANTILES)
def test_a_saved_model_of_a_quantile_predicts_the_same_bits(kind, tmp_path):
    model = fitted(kind, settings={"objective": "quantile", "quantile": 0.9})
    again = load_model(saved(tmp_path, model))
    x = np.concatenate([training_rows().x, training_rows(n=31).x[::-1] * 1.1, np.full((1, 4), np.nan)])
    assert again.predict(x).tobytes() == model.predict(x).tobytes()
    assert again.predict(x).tobytes() != fitted(kind).predict(x).tobytes()


@pytest.mark.parametrize(
    "told", [{"name": "reg:absoluteerror"}, {"quantile_loss_param": {"quantile_alpha": "[1E-1,9E-1]"}}]
)
def test_trees_of_another_objective_are_not_loaded(told, tmp_path):
    saved(tmp_path, fitted("xgboost", settings={"objective": "quantile", "quantile": 0.9}))
    trees = json.loads((tmp_path / "estimator.json").read_text())
    trees["learner"]["objective"] |= told
    (tmp_path / "estimator.json").write_text(json.dumps(trees))
    with pytest.raises(OutputError, match="holds numbers that do not fit together"):
        load_model(tmp_path)


@pytest.mark.parametrize("kind", ["knn", "svr", "kernel_ridge"])
def test_many_features_change_how_neighbours_are_found_but_not_that_they_can_be_saved(kind, tmp_path):
    model = fitted(kind, d=25)
    x = training_rows(d=25).x
    assert load_model(saved(tmp_path, model)).predict(x).tobytes() == model.predict(x).tobytes()


def test_catboost_without_a_feature_that_varies_is_a_mean_that_can_be_saved(tmp_path):
    rows = training_rows()
    flat = Table(features=rows.features, target=rows.target, row_ids=rows.row_ids, x=np.zeros(rows.x.shape), y=rows.y)
    model = Fitter(REGRESSORS["catboost"](early_stopping=None)).fit(flat, seed=0)
    np.testing.assert_allclose(load_model(saved(tmp_path, model)).predict(flat.x), rows.y.mean())


@pytest.mark.parametrize("kind", KINDS)
def test_the_files_hold_no_pickle(kind):
    files = model_files(fitted(kind))
    assert set(files) in ({"model.json"}, {"model.json", "estimator.json"}, {"model.json", "estimator.skops"})
    head = json.loads(files["model.json"])
    assert (head["model_version"], head["kind"]) == (1, kind)
    if "estimator.json" in files:
        json.loads(files["estimator.json"])
    if "estimator.skops" in files:
        assert files["estimator.skops"].startswith(b"PK")


@pytest.mark.parametrize(
    ("kind", "part", "spoil"),
    [
        pytest.param("gaussian_process", "kernel", lambda _: "polynomial", id="unknown-kernel"),
        pytest.param("gaussian_process", "lengths", lambda told: told[:1], id="one-length-for-all"),
        pytest.param("gaussian_process", "lengths", lambda told: [0.0 for _ in told], id="no-length"),
        pytest.param("gaussian_process", "points", lambda told: told[1:], id="a-point-is-gone"),
        pytest.param("mlp", "biases", lambda told: told[1:], id="a-layer-is-gone"),
        pytest.param("mlp", "weights", lambda told: [told[0][1:], *told[1:]], id="an-input-is-gone"),
    ],
)
def test_numbers_that_do_not_fit_together_are_not_loaded(kind, part, spoil, tmp_path):
    saved(tmp_path, fitted(kind))
    head = json.loads((tmp_path / "model.json").read_text())
    own = head["network" if kind == "mlp" else "process"]
    own[part] = spoil(own[part])
    (tmp_path / "model.json").write_text(json.dumps(head))
    with pytest.raises(OutputError, match="holds numbers that do not fit together; do not load this model"):
        load_model(tmp_path)


PRINT = """
import sys
sys.path.insert(0, sys.argv[1])
from audit_parts import KINDS, fitted
from crda_spec.audit.models import model_files
from crda_spec.audit.runfolder import file_hashes
from threadpoolctl import threadpool_limits
with threadpool_limits(limits=1):
    junk = [object() for _ in range(int(sys.argv[2]))]  # moves the memory addresses that skops would write down
    for kind in KINDS:
        print(kind, sorted(file_hashes(model_files(fitted(kind))).items()))
"""


@pytest.mark.slow
def test_equal_models_fitted_in_two_processes_are_equal_bytes():
    here = str(Path(__file__).parent)
    started = [
        subprocess.Popen(
            [sys.executable, "-c", PRINT, here, str(seed * 1000)],
            env={**os.environ, "PYTHONHASHSEED": str(seed)},
            stdout=subprocess.PIPE,
            text=True,
        )
        for seed in (1, 2)
    ]
    one, two = (process.communicate(timeout=120)[0] for process in started)
    assert [process.returncode for process in started] == [0, 0]
    assert one == two
    assert [line.split()[0] for line in one.splitlines()] == list(KINDS)


def test_an_archive_with_an_unexpected_type_is_refused(tmp_path):
    """What an attacker would plant: a transformer whose function is the shell."""
    folder = tmp_path / "model"
    folder.mkdir()
    saved(folder, fitted("ridge"))
    (folder / "estimator.skops").write_bytes(skops.io.dumps(FunctionTransformer(func=os.system)))
    with pytest.raises(OutputError) as caught:
        load_model(folder)
    assert str(caught.value) == (
        "model/estimator.skops contains unexpected types: posix.system; do not load this model"
    )
