"""From the folder and the source alone, every synthetic row and the final model can be computed again."""

import hashlib
import itertools

import numpy as np
import pandas as pd
import pytest
from audit_runs import encoded, ledger_of, ran, record_of, rows_of, teachers_of

from crda_spec.audit.models import load_model
from crda_spec.regressors import REGRESSORS, Fitter
from crda_spec.regressors._protocol import Design
from crda_spec.regressors.fit import student_seed

SPEC = """
version: 1
recipe: paper
name: recomputed
seed: 5
dataset:
  source: {{kind: csv, path: houses.csv}}
  target: price
causal:
  graph:
    kind: edges
    edges: ["{{area rooms garage}} -> price", "age <- care -> price"]
    latent: [care]
partition: {{max_features: null}}
regressor: {regressor}
counterfactual: {{teacher: {teacher}, retention: 0.75, factor: 1.5, weight: 0.5}}
gate: {{kind: wilcoxon, folds: 5}}
execution: {{jobs: 1}}
"""
REGRESSOR = {
    "mlp": "{kind: mlp, hidden_layer_sizes: [6, 4], max_iter: 8, early_stopping: {rounds: 3, validation: 0.2}}",
    "xgboost": "{kind: xgboost, n_estimators: 12, early_stopping: {rounds: 3, validation: 0.2}}",
}
TEACHER = {"single": "{kind: single}", "crossfit": "{kind: crossfit, folds: 3}"}


def houses(rows=110):
    rng = np.random.default_rng(8)
    area, age = rng.uniform(30, 150, rows).round(1), rng.integers(0, 90, rows)
    rooms, garage = rng.integers(1, 7, rows), rng.choice(["none", "carport", "double"], rows)
    price = 3 * area + 20 * rooms + 30 * (garage == "double") - age + rng.normal(0, 20, rows).round(2)
    return pd.DataFrame({"area": area, "rooms": rooms, "age": age, "garage": garage, "price": price})


def houses_run(folder, regressor, teacher="single"):
    houses().to_csv(folder / "houses.csv", index=False)
    return ran(folder, SPEC.format(regressor=regressor, teacher=TEACHER[teacher]))


@pytest.fixture(scope="module", params=list(itertools.product(REGRESSOR, TEACHER)), ids="-".join)
def finished(request, tmp_path_factory):
    """A network or trees, with one teacher or several."""
    regressor, teacher = request.param
    return houses_run(tmp_path_factory.mktemp("houses"), REGRESSOR[regressor], teacher)


def source_of(finished, rows):
    """These rows of the source's file, counted from 1."""
    return pd.read_csv(finished.folder.parent / "houses.csv").iloc[rows.to_numpy() - 1].reset_index(drop=True)


@pytest.mark.slow
def test_every_prediction_is_the_saved_teachers(finished):
    ledger = ledger_of(finished)
    made = ledger[ledger["_crda_synthetic"]]
    members = teachers_of(finished)
    assert len(members) == {"single": 1, "crossfit": 3}[finished.result.teacher.kind]
    x = encoded(made, record_of(finished))
    np.testing.assert_allclose(
        made["_crda_prediction"], np.mean([member.predict(x) for member in members], axis=0), rtol=1e-12
    )


def test_every_outcome_is_its_prediction_and_the_retained_noise_of_its_source(finished):
    ledger = ledger_of(finished)
    made = ledger[ledger["_crda_synthetic"]].reset_index(drop=True)
    assert (made["price"] == made["_crda_prediction"] + 0.75 * (made["_crda_scale"] * made["_crda_noise"])).all()
    source = source_of(finished, made["_crda_source_row"])
    x = encoded(source, record_of(finished))
    fitted = np.mean([member.predict(x) for member in teachers_of(finished)], axis=0)
    np.testing.assert_allclose(made["_crda_noise"], source["price"] - fitted, rtol=1e-9, atol=1e-9)


def test_real_rows_are_the_sources_and_made_rows_differ_only_in_what_may_move(finished):
    ledger = ledger_of(finished)
    source = source_of(finished, ledger["_crda_source_row"])
    names = ["area", "rooms", "age", "garage", "price"]
    real = ~ledger["_crda_synthetic"]
    assert ledger.loc[real, names].to_dict("list") == source.loc[real, names].to_dict("list")
    assert record_of(finished)["certificate"]["kept"] == ["age"]
    assert ledger["age"].tolist() == source["age"].tolist()
    for name in ("area", "rooms", "garage"):
        assert (ledger.loc[~real, name] != source.loc[~real, name]).any()
    still = (ledger.loc[~real, names[:-1]] == source.loc[~real, names[:-1]]).all(axis=1).sum()
    assert record_of(finished)["counterfactuals"]["copied"] == still


def test_a_row_is_untrained_exactly_when_it_was_watched_or_made_from_a_watched_one(finished):
    ledger = ledger_of(finished)
    real = ledger[~ledger["_crda_synthetic"]]
    train = finished.result.split.train
    watched = set(real.loc[~real["_crda_trained"], "_crda_source_row"])
    assert watched == set(train.row_ids[finished.result.watched] + 1)
    assert len(watched) == round(0.2 * len(train))
    assert (ledger["_crda_trained"] == ~ledger["_crda_source_row"].isin(watched)).all()
    assert not ledger.loc[ledger["_crda_synthetic"], "_crda_trained"].all()


def test_without_early_stopping_every_row_is_trained_on(tmp_path):
    assert ledger_of(houses_run(tmp_path, "{kind: ridge}"))["_crda_trained"].all()


def recorded_regressor(settings):
    """The regressor that these settings of a record describe."""
    written = {name: value for name, value in settings.items() if name != "stopping"}
    member = REGRESSORS[settings["kind"]]
    return member.model_validate({**written, "early_stopping": settings["stopping"]}, strict=False)


def refitted(finished, *, augmented):
    """The model, trained again on the rows that the ledger says it was trained on."""
    record, ledger = record_of(finished), ledger_of(finished)
    ledger = ledger if augmented else ledger[~ledger["_crda_synthetic"]]
    used, watched = ledger[ledger["_crda_trained"]], ledger[~ledger["_crda_trained"] & ~ledger["_crda_synthetic"]]
    regressor = recorded_regressor(record["regressor"])
    model = load_model(finished.folder / "model")
    design = Design(
        x=model.encoder.encode(encoded(used, record)),
        y=model.encoder.encode_target(used["price"].to_numpy()),
        weight=used["_crda_weight"].to_numpy() if augmented else None,
        validation_x=model.encoder.encode(encoded(watched, record)),
        validation_y=model.encoder.encode_target(watched["price"].to_numpy()),
    )
    estimator = regressor.train(design, seed=student_seed(record["seed"], (0,)))
    return type(model)(model.kind, model.encoder, estimator)


def test_the_final_model_is_the_augmented_one_when_accepted_and_the_plain_one_when_not(finished):
    record = record_of(finished)
    accepted = record["regressor"]["kind"] == "mlp"  # eight epochs are too few: more rows make more steps
    assert (record["verdict"]["decision"], record["final_model"]) == (
        ("accepted", "augmented") if accepted else ("rejected", "plain")
    )
    saved = load_model(finished.folder / "model")
    x = finished.result.split.train.x
    assert saved.predict(x).tobytes() == refitted(finished, augmented=accepted).predict(x).tobytes()
    assert not np.allclose(saved.predict(x), refitted(finished, augmented=not accepted).predict(x))
    errors = finished.result.split.test.errors(saved)
    assert float(np.mean(errors**2)) == record["test"][record["final_model"]]


def test_every_source_row_has_one_line_that_says_its_part_and_its_fold(finished):
    rows, record = rows_of(finished), record_of(finished)
    about = ["source", "row", "part", "gate_fold", "group"]
    assert list(rows.columns) == [*about, "plain_loss", "augmented_loss", "plain_error", "augmented_error"]
    assert set(rows["source"]) == {record["data"]["source"]} == {"houses.csv"}
    assert sorted(rows["row"]) == list(range(1, 111))
    train, test = rows[rows["part"] == "train"], rows[rows["part"] == "test"]
    assert (len(train), len(test)) == (record["data"]["train_rows"], record["data"]["test_rows"]) == (88, 22)
    ledger = ledger_of(finished)
    assert train["row"].tolist() == ledger.loc[~ledger["_crda_synthetic"], "_crda_source_row"].tolist()
    assert test["gate_fold"].isna().all()
    folds = pd.read_csv(finished.folder / "folds.csv")
    sizes = train["gate_fold"].value_counts().sort_index()
    assert sizes.index.tolist() == folds["fold"].tolist() == [1, 2, 3, 4, 5]
    assert sizes.tolist() == folds["held_out_rows"].tolist()
    assert (folds["train_rows"] + folds["held_out_rows"] == len(train)).all()


def test_all_losses_follow_from_those_of_single_rows(finished):
    rows, record = rows_of(finished), record_of(finished)
    train, test = rows[rows["part"] == "train"], rows[rows["part"] == "test"]
    folds = pd.read_csv(finished.folder / "folds.csv").set_index("fold")
    for arm in ("plain", "augmented"):
        means = train.groupby("gate_fold")[f"{arm}_loss"].mean()
        np.testing.assert_allclose(means, folds[arm], rtol=1e-12)
        assert test[f"{arm}_loss"].mean() == pytest.approx(record["test"][arm], rel=1e-12)
    assert rows["group"].isna().all()


def test_a_folds_plain_loss_is_that_of_the_rows_it_holds_out(finished):
    rows, table = rows_of(finished), finished.result.split.train
    fold_of = rows.loc[rows["part"] == "train", "gate_fold"].to_numpy()
    regressor = recorded_regressor(finished.result.settings)
    for fold in pd.read_csv(finished.folder / "folds.csv").itertuples():
        held, rest = np.flatnonzero(fold_of == fold.fold), np.flatnonzero(fold_of != fold.fold)
        model = Fitter(regressor).fit(table.take(rest), seed=student_seed(5, (fold.fold,)))
        assert np.mean((table.y[held] - model.predict(table.x[held])) ** 2) == pytest.approx(fold.plain, rel=1e-12)


def test_the_second_source_is_named_hashed_and_listed(tmp_path):
    houses(30).assign(price=lambda frame: frame["price"] + 1).to_csv(tmp_path / "later.csv", index=False)
    second = "  split: {{kind: source, source: {{kind: csv, path: later.csv}}}}\ncausal:"
    text = SPEC.replace("causal:", second, 1).format(regressor="{kind: ridge}", teacher=TEACHER["single"])
    houses().to_csv(tmp_path / "houses.csv", index=False)
    finished = ran(tmp_path, text)
    data = record_of(finished)["data"]
    assert (data["source"], data["test_source"]) == ("houses.csv", "later.csv")
    for key, name in (("sha256", "houses.csv"), ("test_sha256", "later.csv")):
        assert data[key] == hashlib.sha256((tmp_path / name).read_bytes()).hexdigest()
    page = (finished.folder / "report.html").read_text()
    assert f"Test rows: later.csv<br>SHA-256: <code>{data['test_sha256']}</code>" in page
    assert "110 rows read, 110 used to train, nothing dropped; 30 to test, from later.csv." in page
    rows = rows_of(finished)
    lines = list(rows[["source", "row", "part"]].itertuples(index=False, name=None))
    assert lines == [
        *(("houses.csv", row, "train") for row in range(1, 111)),
        *(("later.csv", row, "test") for row in range(1, 31)),
    ]
    houses(31).assign(price=lambda frame: frame["price"] + 1).to_csv(tmp_path / "later.csv", index=False)
    (tmp_path / "run").rename(tmp_path / "earlier")
    again = record_of(ran(tmp_path, text))["data"]
    assert (again["sha256"], again["test_rows"]) == (data["sha256"], 31)
    assert again["test_sha256"] == hashlib.sha256((tmp_path / "later.csv").read_bytes()).hexdigest()
    assert again["test_sha256"] != data["test_sha256"]


def test_a_run_with_one_source_has_no_second(finished):
    data = record_of(finished)["data"]
    assert (data["test_source"], data["test_sha256"]) == (None, None)
    assert "Test rows:" not in (finished.folder / "report.html").read_text()


def test_without_a_gate_no_row_has_a_fold(tmp_path):
    blocked = SPEC.replace("area rooms garage}} ->", "area rooms garage}} <->")
    houses().to_csv(tmp_path / "houses.csv", index=False)
    finished = ran(tmp_path, blocked.format(regressor="{kind: ridge}", teacher=TEACHER["single"]))
    assert record_of(finished)["verdict"]["reason"] == "no_perturbable_features"
    rows = rows_of(finished)
    assert (rows["part"] == "train").sum() == 88
    assert rows["gate_fold"].isna().all()
