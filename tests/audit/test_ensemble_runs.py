"""Runs that hand over several models: their folder, what predict and verify make of it, what stays as it was."""

import io
import json
import shutil

import numpy as np
import pandas as pd
import pytest
import tampering as by
from audit_runs import ran, record_of
from test_ledger_recomputed import houses

from crda_spec.audit.models import load_model
from crda_spec.audit.open_run import open_run, reopen

# Ungated, so that the augmented arm is used without the fits of a gate.
SPEC = """
version: 1
recipe: paper
name: several
seed: 5
dataset: {{source: {{kind: csv, path: houses.csv}}, target: price}}
causal:
  graph:
    kind: edges
    edges: ["{{area rooms garage}} -> price", "age <- care -> price"]
    latent: [care]
regressor: {regressor}
gate: {{kind: wilcoxon, folds: 5, enabled: {gated}}}
execution: {{jobs: {jobs}}}
output: {{plots: false{more}}}
"""
MLP = "{kind: mlp, hidden_layer_sizes: [4], max_iter: 5, early_stopping: {rounds: 3, validation: 0.2}}"
TREES = "{kind: xgboost, n_estimators: 8, early_stopping: {rounds: 3, validation: 0.2}}"


def make(folder, regressor=MLP, jobs=1, more=", ensemble: 3", gated="false"):
    houses(90).to_csv(folder / "houses.csv", index=False)
    return ran(folder, SPEC.format(regressor=regressor, jobs=jobs, more=more, gated=gated))


@pytest.fixture(scope="module", params=["mlp", "xgboost"])
def finished(request, tmp_path_factory):
    return make(tmp_path_factory.mktemp("several"), {"mlp": MLP, "xgboost": TREES}[request.param])


@pytest.fixture(scope="module")
def networks(tmp_path_factory):
    return make(tmp_path_factory.mktemp("networks"))


def contents(folder):
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def _files(folder):
    return [path.name for path in (folder / "model").iterdir()]


def test_the_folder_holds_every_model_and_the_record_their_scores(finished):
    folder, record = finished.folder, record_of(finished)
    assert sorted(path.name for path in (folder / "ensemble").iterdir()) == ["1", "2", "3"]
    assert contents(folder / "ensemble" / "1") == contents(folder / "model")
    kinds = {name: {path.read_bytes() for path in folder.glob(f"ensemble/*/{name}")} for name in _files(folder)}
    assert max(map(len, kinds.values())) == 3, "three models, and no two of them equal"
    told = record["ensemble"]
    assert (told["models"], told["arm"], told["fits"]) == (3, "augmented", 4)
    losses = {(one["arm"], one["models"]): one["loss"] for one in told["scores"]}
    assert losses["plain", 1] == record["test"]["plain"]
    assert losses["augmented", 1] == record["test"]["augmented"]
    assert [one["@id"] for one in json.loads((folder / "ro-crate-metadata.json").read_text())["@graph"]].count(
        "ensemble/3/model.json"
    ) == 1


def test_the_saved_models_predict_what_those_in_memory_do(finished):
    x = finished.result.split.train.x
    for number, member in enumerate(finished.result.members, start=1):
        saved = load_model(finished.folder / "ensemble" / str(number))
        assert saved.predict(x).tolist() == member.predict(x).tolist()
    assert finished.result.members[0] is finished.result.model


def test_predict_answers_with_the_mean_and_with_one_model_when_asked(finished, start, tmp_path):
    new = tmp_path / "new.csv"
    houses(20).drop(columns="price").to_csv(new, index=False)
    features = finished.result.split.train.features
    labels = features[[column.name for column in features].index("garage")].labels
    frame = houses(20).assign(garage=houses(20)["garage"].map(labels.index))[[column.name for column in features]]
    said = np.array([model.predict(frame.to_numpy(np.float64)) for model in finished.result.members])
    code, out, err = start("predict", finished.folder, new)
    assert (code, err) == (0, "")
    mean = pd.read_csv(io.StringIO(out), dtype=str)["prediction"].map(float).to_numpy()
    np.testing.assert_allclose(mean, said.mean(axis=0), rtol=1e-14)
    told = json.loads(start("predict", finished.folder, new, "--single", "--json")[1])
    assert (told["models"], told["predictions"]) == (1, said[0].tolist())
    _, out, _ = start("predict", finished.folder, new, "--out", tmp_path / "out.csv")
    assert out == f"20 predictions of price by the mean of 3 augmented models: {tmp_path / 'out.csv'}\n"


@pytest.mark.slow
def test_one_model_or_several_the_rest_of_the_run_is_the_same(finished, tmp_path):
    """The same rows, verdict, single scores and model, to the last byte."""
    regressor = MLP if finished.result.settings["kind"] == "mlp" else TREES
    one = make(tmp_path, regressor, more="")
    assert (one.result.ensemble, one.result.members) == (None, ())
    few, many = contents(one.folder), contents(finished.folder)
    differs = {name for name in few if few[name] != many[name]}
    assert differs == {"spec.yaml", "record.json", "report.html", "ro-crate-metadata.json"}
    assert all(name.startswith("ensemble/") for name in many.keys() - few.keys())
    then, now = record_of(one), record_of(finished)
    changed = {key for key in then if then[key] != now[key]}
    assert changed == {"spec", "ensemble", "fits", "files", "sha256", "volatile"}
    assert (then["ensemble"], now["fits"] - then["fits"]) == (None, 4)
    assert "several models" not in few["report.html"].decode().casefold()


@pytest.mark.slow
def test_the_same_bytes_at_any_number_of_workers(finished, tmp_path):
    regressor = MLP if finished.result.settings["kind"] == "mlp" else TREES
    other = make(tmp_path, regressor, jobs=2)
    one, two = contents(finished.folder), contents(other.folder)
    volatile = ("record.json", "ro-crate-metadata.json")
    assert {name: one[name] for name in one if name not in volatile} == {
        name: two[name] for name in two if name not in volatile
    }
    assert record_of(finished)["sha256"] == record_of(other)["sha256"]


@pytest.mark.slow
def test_the_folder_is_verified_and_its_page_made_again(finished, start):
    code, out, _ = start("verify", finished.folder)
    assert code == 0, out
    assert "ok       ensemble: " in out
    assert "ok       ensemble's models: " in out
    assert reopen(open_run(finished.folder)).result.ensemble == finished.result.ensemble
    code, _, err = start("report", finished.folder)
    assert (code, err) == (0, "")


@pytest.mark.slow
def test_the_whole_run_again(finished, start):
    code, out, _ = start("verify", finished.folder, "--depth", "full")
    assert (code, out.splitlines()[-1]) == (0, "Verified: the run is as it was written (depth full).")


def swap(run):
    one, two = run / "ensemble" / "2", run / "ensemble" / "3"
    one.rename(run / "aside")
    two.rename(one)
    (run / "aside").rename(two)
    by.reseal(run)


def replace_first(run):
    shutil.rmtree(run / "ensemble" / "1")
    shutil.copytree(run / "ensemble" / "2", run / "ensemble" / "1")
    by.reseal(run)


def forget(run):
    record = by.read(run)
    record["files"] = {name: one for name, one in record["files"].items() if not name.startswith("ensemble/3/")}
    shutil.rmtree(run / "ensemble" / "3")
    by.write(run, record)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        pytest.param(by.told("ensemble", "scores", 3, "loss", value=1.0), "3 augmented models", id="a-loss"),
        pytest.param(
            by.told("ensemble", "scores", 2, "change_percent", value=-50.0), "scores.2.change_percent", id="gain"
        ),
        pytest.param(
            by.told("ensemble", "scores", 3, "augmentation_percent", value=-50.0),
            "augmentation_percent",
            id="its-share",
        ),
        pytest.param(by.told("ensemble", "scores", 0, "loss", value=9e9), "one plain model", id="one-model"),
        pytest.param(by.told("ensemble", "scores", 3, "singles", 2, value=1.0), "model 3 alone", id="a-single-model"),
        pytest.param(by.told("ensemble", "scores", 0, "arm", value="augmented"), "in this order", id="arms"),
        pytest.param(by.told("ensemble", "models", value=5), "ensemble.models: says 5, should be 3", id="how-many"),
        pytest.param(by.told("ensemble", "fits", value=0), "ensemble.fits", id="cost"),
        pytest.param(by.told("ensemble", value=None), "is missing, but the spec asks for 3 models", id="hidden"),
        pytest.param(swap, "model 2 alone", id="models-swapped"),
        pytest.param(replace_first, "is not the same as model/", id="another-first-model"),
        pytest.param(forget, "holds 2 models, the record says 3", id="a-model-less"),
    ],
)
def test_what_is_changed_and_sealed_again_is_found(networks, start, tmp_path, change, said):
    shutil.copy(networks.folder.parent / "houses.csv", tmp_path / "houses.csv")
    copy = by.copy_of(networks.folder, tmp_path)
    change(copy)
    code, out, err = start("verify", copy)
    assert code == 4
    assert said in out + err


def test_predict_refuses_models_that_are_not_the_runs(finished, start, tmp_path):
    copy = by.copy_of(finished.folder, tmp_path)
    shutil.copytree(copy / "ensemble" / "1", copy / "ensemble" / "4")
    (copy / "ensemble" / "2" / "model.json").write_text("{}")
    houses(5).to_csv(tmp_path / "new.csv", index=False)
    code, _, err = start("predict", copy, tmp_path / "new.csv")
    assert code == 4
    assert "ensemble/4/model.json: was not written by the run" in err
    assert "ensemble/2/model.json: was changed after it was written" in err
    assert start("predict", copy, tmp_path / "new.csv", "--single")[0] == 4  # nothing is loaded from such a folder


@pytest.fixture(scope="module")
def refused(tmp_path_factory):
    """A gate that nothing can pass: it asks for a gain of 99 %."""
    folder = tmp_path_factory.mktemp("refused")
    return make(folder, gated="true, min_effect: 99")


def test_a_refused_augmentation_leaves_plain_models_only(refused, start):
    record = record_of(refused)
    assert record["final_model"] == record["ensemble"]["arm"] == "plain"
    assert [(one["arm"], one["models"]) for one in record["ensemble"]["scores"]] == [("plain", 1), ("plain", 3)]
    assert record["ensemble"]["fits"] == 2
    assert start("verify", refused.folder)[0] == 0


def test_runs_and_diff_tell_how_many_models_there_are(finished, refused, start):
    _, out, _ = start("runs", finished.folder)
    assert "ungated, 3 models" in out
    assert json.loads(start("runs", refused.folder, "--json")[1])["runs"][0]["models"] == 3
    _, out, _ = start("diff", finished.folder, refused.folder)
    assert "ensemble\n" in out
    assert "  augmented together: " in out
