"""What a run leaves: a record of everything, and a ledger from which every synthetic row can be recomputed."""

import csv
import hashlib
import io
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from audit_parts import SPEC
from audit_runs import ran

from crda_spec.audit.canonical import canonical_json
from crda_spec.audit.models import load_model
from crda_spec.audit.record import certificate_record, make_record, versions
from crda_spec.audit.tables import LEDGER, augmented_parquet, folds_csv


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    return ran(tmp_path_factory.mktemp("spec"), SPEC)


@pytest.fixture(scope="module")
def ledger(finished):
    return pq.read_table(finished.folder / "augmented.parquet").to_pandas()


def test_every_synthetic_outcome_is_prediction_plus_retained_noise(finished, ledger):
    real, made = ledger[~ledger["_crda_synthetic"]], ledger[ledger["_crda_synthetic"]]
    train = finished.result.split.train
    assert (len(real), len(made)) == (len(train), round(2.5 * len(train)))
    assert (made["price"] == made["_crda_prediction"] + made["_crda_retention"] * made["_crda_noise"]).all()
    assert set(made["_crda_retention"]) == {0.6}
    assert (set(real["_crda_weight"]), set(made["_crda_weight"])) == ({1.0}, {0.5})
    assert real[["_crda_prediction", "_crda_noise", "_crda_retention"]].isna().all(axis=None)
    assert not made.isna().any(axis=None)


def test_what_was_kept_is_the_source_rows_and_what_moved_is_named(finished, ledger):
    real = ledger[~ledger["_crda_synthetic"]].set_index("_crda_source_row")
    made = ledger[ledger["_crda_synthetic"]]
    source = real.loc[made["_crda_source_row"]]
    certificate = finished.result.certificate
    assert certificate.kept == ("neighbourhood",)
    for name in certificate.kept:
        assert made[name].tolist() == source[name].tolist()
    for name in certificate.perturbed:
        assert made[name].tolist() != source[name].tolist()
    assert sorted(set(made["_crda_source_row"])) == sorted(real.index)


def test_the_noise_and_prediction_of_the_ledger_come_from_the_teacher(finished, ledger):
    """The single teacher is the plain model, so anyone with the saved model can check the ledger."""
    result = finished.result
    assert not result.verdict.accepted
    model = load_model(finished.folder / "model")
    made = ledger[ledger["_crda_synthetic"]]
    rows = result.counterfactuals
    assert model.predict(rows.action.x).tobytes() == made["_crda_prediction"].to_numpy().tobytes()
    train = result.split.train
    noise = (train.y - model.predict(train.x))[rows.action.source]
    assert noise.tobytes() == made["_crda_noise"].to_numpy().tobytes()


def test_columns_keep_their_types_and_labels(finished):
    table = pq.read_table(finished.folder / "augmented.parquet")
    types = {field.name: str(field.type) for field in table.schema}
    assert types == {
        "neighbourhood": "string",
        "area": "double",
        "rooms": "int64",
        "age": "int64",
        "garage": "string",
        "station_distance": "double",
        "price": "double",
        "_crda_synthetic": "bool",
        "_crda_source_row": "int64",
        "_crda_prediction": "double",
        "_crda_noise": "double",
        "_crda_retention": "double",
        "_crda_weight": "double",
        "_crda_trained": "bool",
    }
    assert tuple(types)[-7:] == LEDGER
    assert set(table["garage"].to_pylist()) == {"none", "unfinished", "finished"}


def test_the_folds_can_be_read_back_to_the_last_digit(finished):
    text = (finished.folder / "folds.csv").read_text()
    assert text == folds_csv(finished.result.verdict.folds)
    rows = list(csv.DictReader(io.StringIO(text)))
    assert [float(row["plain"]) for row in rows] == [fold.plain for fold in finished.result.verdict.folds]
    assert [float(row["augmented"]) for row in rows] == [fold.augmented for fold in finished.result.verdict.folds]
    assert rows[0]["perturbed"] == "; ".join(finished.result.verdict.folds[0].perturbed)
    assert list(rows[0]) == [
        "fold",
        "train_rows",
        "held_out_rows",
        "synthetic_rows",
        "plain",
        "augmented",
        "perturbed",
    ]


def test_the_record_says_all_that_was_found(finished):
    record = json.loads((finished.folder / "record.json").read_text())
    result = finished.result
    assert set(record) == {
        "record_version",
        "name",
        "seed",
        "spec",
        "versions",
        "data",
        "certificate",
        "abduction",
        "counterfactuals",
        "regressor",
        "verdict",
        "test",
        "final_model",
        "fits",
        "files",
        "volatile",
    }
    assert (record["record_version"], record["name"], record["seed"]) == (1, "audited", 2)
    assert record["fits"] == result.fits == 2 + 2 * 5
    assert record["final_model"] == "plain"
    assert record["verdict"]["accepted"] is False
    assert record["verdict"]["p_value"] == result.verdict.p_value
    assert record["test"]["interval_percent"] == list(result.score.interval_percent)
    assert record["regressor"] == {"kind": "kernel_ridge", "alpha": 0.1, "gamma": None}
    assert record["abduction"]["noise_sd"] == float(np.std(result.abduction.noise))
    assert record["data"]["train_rows"] + record["data"]["test_rows"] == 120
    ids = np.sort(np.setdiff1d(np.arange(120), result.split.train.row_ids)).astype("<i8")
    assert record["data"]["test_row_ids_sha256"] == hashlib.sha256(ids.tobytes()).hexdigest()
    made = record["counterfactuals"]
    assert (made["rows"], made["retention"], made["weight"]) == (len(result.counterfactuals), 0.6, 0.5)
    assert made["moved"] == ["area", "rooms", "age", "garage", "station_distance"]
    assert set(made["clipped"]) == set(made["policies"]) == set(made["moved"])
    assert record["versions"] == versions()
    assert record["spec"]["sha256"] == hashlib.sha256((finished.folder / "spec.yaml").read_bytes()).hexdigest()


def test_a_package_that_only_some_runs_use_is_recorded_by_those(finished):
    catboost = replace(finished.result, settings={"kind": "catboost"})
    record = make_record(catboost, spec={"name": "n"}, spec_yaml="", origins={}, seed=0)
    assert set(record["versions"]) - set(versions()) == {"catboost"}


def test_every_file_is_there_with_the_hash_that_the_record_names(finished):
    record = json.loads((finished.folder / "record.json").read_text())
    on_disk = {
        str(path.relative_to(finished.folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(finished.folder.rglob("*"))
        if path.is_file() and path.name != "record.json"
    }
    assert record["files"] == on_disk
    assert set(on_disk) == {
        "spec.yaml",
        "certificate.json",
        "augmented.parquet",
        "folds.csv",
        "rows.csv",
        "graph.svg",
        "report.html",
        "model/model.json",
        "model/estimator.skops",
        "teacher/1/model.json",
        "teacher/1/estimator.skops",
    }
    certificate = json.loads((finished.folder / "certificate.json").read_text())
    assert certificate == json.loads(canonical_json(certificate_record(finished.result.certificate)))
    assert certificate == record["certificate"]


def test_the_same_spec_leaves_the_same_bytes_but_for_what_is_volatile(finished, tmp_path):
    again = ran(tmp_path, SPEC)
    names = {str(path.relative_to(again.folder)) for path in again.folder.rglob("*") if path.is_file()}
    for name in sorted(names - {"record.json"}):
        assert (again.folder / name).read_bytes() == (finished.folder / name).read_bytes(), name
    one, two = (json.loads((Path(folder) / "record.json").read_text()) for folder in (finished.folder, again.folder))
    assert set(one.pop("volatile")) == {"created", "seconds", "jobs"}
    two.pop("volatile")
    assert one == two


def test_a_run_without_synthetic_rows_has_a_ledger_of_real_ones(tmp_path):
    features = "neighbourhood area rooms age garage station_distance"
    blocked = SPEC.replace("- area -> rooms", f'- area -> rooms\n      - "{{{features}}} <-> price"')
    finished = ran(tmp_path, blocked)
    table = pq.read_table(io.BytesIO(augmented_parquet(finished.result))).to_pandas()
    assert len(table) == len(finished.result.split.train)
    assert not table["_crda_synthetic"].any()
    assert table["price"].tolist() == finished.result.split.train.y.tolist()
    assert folds_csv(finished.result.verdict.folds).count("\n") == 1
    record = make_record(finished.result, spec={"name": "n"}, spec_yaml="", origins={}, seed=0)
    assert (record["counterfactuals"], record["test"]["augmented"]) == (None, None)
