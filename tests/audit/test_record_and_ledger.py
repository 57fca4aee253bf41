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
from crda_spec.audit.tables import LEDGER, augmented_parquet, folds_csv, ledger_parquet


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
    carried = made["_crda_retention"] * (made["_crda_scale"] * made["_crda_noise"])
    assert (made["price"] == made["_crda_prediction"] + carried).all()
    assert (set(made["_crda_retention"]), set(made["_crda_scale"])) == ({0.6}, {1.0})
    assert set(made["_crda_basis"]) == {"certificate"}
    assert (made["_crda_noise_row"] == made["_crda_source_row"]).all()
    assert (set(real["_crda_weight"]), set(made["_crda_weight"])) == ({1.0}, {0.5})
    assert real[["_crda_retention", "_crda_basis"]].isna().all(axis=None)
    assert ledger["_crda_partner_row"].isna().all()
    assert not made.drop(columns="_crda_partner_row").isna().any(axis=None)


def test_a_real_row_says_what_the_teacher_said_of_it_and_its_noise(finished, ledger):
    real = ledger[~ledger["_crda_synthetic"]]
    assert real["_crda_noise"].tolist() == finished.result.abduction.noise.tolist()
    assert real["_crda_prediction"].tolist() == finished.result.teacher.in_sample.tolist()
    np.testing.assert_allclose(real["_crda_prediction"] + real["_crda_noise"], real["price"], rtol=1e-12)
    assert real["_crda_noise_row"].tolist() == real["_crda_source_row"].tolist()


def test_every_changed_cell_is_listed_with_what_it_was_and_how_it_changed(finished, ledger):
    cells = pq.read_table(finished.folder / "ledger.parquet").to_pandas()
    assert list(cells.columns) == ["row", "column", "policy", "old", "new", "old_label", "new_label"]
    real = ledger[~ledger["_crda_synthetic"]].set_index("_crda_source_row")
    rebuilt = real.loc[ledger["_crda_source_row"]].reset_index(drop=True)
    for name, part in cells.groupby("column"):
        labels = name == "garage"
        old, new = ("old_label", "new_label") if labels else ("old", "new")
        rows = part["row"].to_numpy() - 1
        assert rebuilt[name].iloc[rows].tolist() == part[old].tolist()
        assert (part[old] != part[new]).all()
        assert part[["old", "new"] if labels else ["old_label", "new_label"]].isna().all(axis=None)
        column = rebuilt[name].to_numpy(copy=True)
        column[rows] = part[new].to_numpy()
        assert column.tolist() == ledger[name].tolist()
    changed = set(cells["column"])
    assert changed == set(finished.result.certificate.perturbed)
    told = dict(zip(cells["column"], cells["policy"], strict=True))
    assert told == {name: finished.result.counterfactuals.action.policies[name] for name in changed}
    assert cells["row"].min() > len(real)


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
        "_crda_partner_row": "int64",
        "_crda_prediction": "double",
        "_crda_scale": "double",
        "_crda_noise": "double",
        "_crda_noise_row": "int64",
        "_crda_retention": "double",
        "_crda_basis": "string",
        "_crda_weight": "double",
        "_crda_trained": "bool",
    }
    assert tuple(types)[-11:] == LEDGER
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
        "falsification",
        "sensitivity",
        "abduction",
        "movements",
        "counterfactuals",
        "regressor",
        "signs",
        "tuning",
        "verdict",
        "test",
        "controls",
        "ensemble",
        "intervals",
        "diagnostics",
        "final_model",
        "fits",
        "refits",
        "reused_fits",
        "teacher",
        "watch",
        "platform",
        "streams",
        "graph",
        "sha256",
        "files",
        "volatile",
    }
    assert (record["record_version"], record["name"], record["seed"]) == (1, "audited", 2)
    assert record["fits"] == result.cost.fits == 2 + 2 * 5
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
    assert (made["basis"], made["residual_draw"], made["scale_clipped"]) == ("certificate", "own", 0)
    assert (record["abduction"]["model"], record["abduction"]["scale"]) == ("additive", None)
    assert record["versions"] == versions()
    assert record["spec"]["sha256"] == hashlib.sha256((finished.folder / "spec.yaml").read_bytes()).hexdigest()


def test_a_package_that_only_some_runs_use_is_recorded_by_those(finished):
    catboost = replace(finished.result, settings={"kind": "catboost"})
    record = make_record(catboost, spec={"name": "n"}, spec_yaml="", origins={}, seed=0, graph={})
    assert set(record["versions"]) - set(versions()) == {"catboost"}


def test_every_file_is_there_with_the_hash_that_the_record_names(finished):
    record = json.loads((finished.folder / "record.json").read_text())
    on_disk = {
        str(path.relative_to(finished.folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(finished.folder.rglob("*"))
        # The crate names the record's day and hash, so it comes after the record; verify computes it anew.
        if path.is_file() and path.name not in {"record.json", "ro-crate-metadata.json"}
    }
    assert record["files"] == on_disk
    assert {name for name in on_disk if not name.startswith("figures/")} == {
        "spec.yaml",
        "certificate.json",
        "croissant.json",
        "augmented.csv",
        "augmented.parquet",
        "ledger.parquet",
        "diagnostics.json",
        "folds.csv",
        "rows.csv",
        "graph.svg",
        "intervals.csv",
        "intervals.json",
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
    assert set(one.pop("volatile")) == {"created", "seconds", "jobs", "sha256"}
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
    assert pq.read_table(io.BytesIO(ledger_parquet(finished.result))).num_rows == 0
    record = make_record(finished.result, spec={"name": "n"}, spec_yaml="", origins={}, seed=0, graph={})
    assert (record["counterfactuals"], record["test"]["augmented"]) == (None, None)
