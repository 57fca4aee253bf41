"""Whatever is changed in a run's folder after it was written is found, and named."""

import json
import shutil

import pytest
import tampering as by
from audit_runs import ran
from test_ledger_recomputed import SPEC, TEACHER, houses

RIDGE = "{kind: kernel_ridge}"
STOPPED = "{kind: xgboost, n_estimators: 8, early_stopping: {rounds: 3, validation: 0.2}}"


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    """A run, and its data beside it."""
    folder = tmp_path_factory.mktemp("kept")
    houses(90).to_csv(folder / "houses.csv", index=False)
    return ran(folder, SPEC.format(regressor=RIDGE, teacher=TEACHER["single"])).folder


@pytest.fixture(scope="module")
def stopped(tmp_path_factory):
    """The same with early stopping and several teachers."""
    folder = tmp_path_factory.mktemp("stopped")
    houses(90).to_csv(folder / "houses.csv", index=False)
    text = SPEC.format(regressor=STOPPED, teacher=TEACHER["crossfit"])
    return ran(folder, text.replace("retention: 0.75", "noise: {kind: location_scale}, retention: 0.75")).folder


def tampered(run, tmp_path, change):
    """A copy of the run, its data beside it, changed."""
    shutil.copy(run.parent / "houses.csv", tmp_path / "houses.csv")
    copy = by.copy_of(run, tmp_path)
    change(copy)
    return copy


@pytest.mark.parametrize("depth", ["files", "rows"])
def test_an_untouched_run_is_verified(kept, stopped, verify, depth):
    for run in (kept, stopped):
        code, said = verify(run, "--depth", depth)
        assert (code, said.splitlines()[-1]) == (0, f"Verified: the run is as it was written (depth {depth}).")
        assert "skipped" not in said


def plant(run):
    (run / "model" / "model.pkl").write_bytes(b"\x80\x04.")


def cut(run):
    (run / "augmented.parquet").write_bytes((run / "augmented.parquet").read_bytes()[:-40])


def lose(run):
    (run / "graph.svg").unlink()


def link(run):
    (run / "folds.csv").rename(run.parent / "elsewhere.csv")
    (run / "folds.csv").symlink_to(run.parent / "elsewhere.csv")


def spaced(run):
    record = json.loads((run / "record.json").read_text())
    (run / "record.json").write_text(json.dumps(record))


def another_license(run):
    crate = run / "ro-crate-metadata.json"
    crate.write_text(crate.read_text().replace("Not stated", "Public domain"))


def lose_crate(run):
    (run / "ro-crate-metadata.json").unlink()


CLUMSY = {
    "a changed byte": (cut, "augmented.parquet: was changed after it was written: its hash differs"),
    "a lost file": (lose, "graph.svg: is missing"),
    "a file more": (plant, "model/model.pkl: was not written by the run"),
    "a link": (link, "folds.csv: is a link, not a file"),
    "an edited verdict": (by.clumsily("verdict", "decision", value="accepted"), "record.json: was changed after it"),
    "an edited hash": (by.clumsily("files", "spec.yaml", value="0" * 64), "record.json: was changed after it"),
    "another day": (
        by.clumsily("volatile", "created", value="2020-01-01T00:00:00+00:00"),
        "record.json: its volatile part (time, seconds, workers) was changed",
    ),
    "another license": (another_license, "ro-crate-metadata.json: does not tell what the record and the files do"),
    "no crate": (lose_crate, "ro-crate-metadata.json: is missing"),
    "another form": (spaced, "record.json: is not in the form in which a run writes it"),
}


@pytest.mark.parametrize(("change", "named"), CLUMSY.values(), ids=CLUMSY)
def test_a_clumsy_change_is_found_by_its_hash(kept, verify, tmp_path, change, named):
    code, said = verify(tampered(kept, tmp_path, change), "--depth", "files")
    assert code == 4
    assert f"- {named}" in said
    assert said.splitlines()[-1].startswith("NOT VERIFIED: ")


# Row 73 is the first synthetic one: 72 of the 90 rows are trained on.
SEALED = {
    "a label": (by.cell("price", -1, by.nearly), "augmented.parquet, row 180, 'price': is "),
    "a label and its prediction": (by.consistent_label, "augmented.parquet, row 180, '_crda_prediction': is "),
    "a fixed feature": (
        by.cell("age", 72, lambda age: age + 1),
        "augmented.parquet, row 73, 'age': must be its source",
    ),
    "a moved feature": (by.cell("area", 80, by.nearly), "ledger.parquet, row "),
    "a value that never occurs": (
        by.cell("rooms", 80, lambda _: 7),
        "augmented.parquet, row 81, 'rooms': is 7, which no real row has",
    ),
    "a label of a category": (by.cell("garage", 80, lambda _: "castle"), "1 value of 'garage' is not a label"),
    "a noise": (by.cell("_crda_noise", 90, by.nearly), "augmented.parquet, row 91, '_crda_noise': is "),
    "a retention": (by.cell("_crda_retention", 90, lambda _: 0.5), "row 91, '_crda_retention': is 0.5"),
    "a weight": (by.cell("_crda_weight", 90, lambda _: 2.0), "row 91, '_crda_weight': is 2"),
    "a basis": (by.cell("_crda_basis", 90, lambda _: "support"), "row 91, '_crda_basis': says 'support'"),
    "a source": (by.cell("_crda_source_row", 90, lambda _: 999), "row 91, '_crda_source_row': names no real row"),
    "a lender": (by.cell("_crda_noise_row", 90, lambda row: row % 5 + 1), "row 91, '_crda_noise"),
    "a real outcome": (by.cell("price", 3, by.nearly), "augmented.parquet, row 4, 'price': is "),
    "a real feature": (by.cell("area", 3, lambda area: area + 1), "augmented.parquet, row 4, 'area': is "),
    "a real noise": (by.cell("_crda_noise", 3, by.nearly), "augmented.parquet, row 4, '_crda_noise': is "),
    "a row used": (by.cell("_crda_trained", 90, lambda _: False), "row 91, '_crda_trained': says set aside"),
    "a row less": (by.without_last_row("augmented.parquet"), "has 107 synthetic rows, the record says 108"),
    "a row more": (by.last_row_twice, "has 109 synthetic rows, the record says 108"),
    "a changed cell's old value": (
        by.cell("old", 0, lambda old: (old or 0.0) + 1, file="ledger.parquet"),
        "ledger.parquet, row 1, 'old': says ",
    ),
    "a changed cell less": (by.without_last_row("ledger.parquet"), "ledger.parquet: lists "),
    "a cell of the CSV": (by.text("augmented.csv", ",double,", ",carport,"), "augmented.csv, line "),
    "a line of the CSV less": (by.without_last_line("augmented.csv"), "augmented.csv, line 181: is not what augmented"),
    "a fold loss": (by.fold_loss, "record.json, verdict.effect_percent: says "),
    "a line of folds.csv": (by.text("folds.csv", "\n1,", "\n9,"), "folds.csv, line 2: says "),
    "a p-value": (by.told("verdict", "p_value", value=0.001), "record.json, verdict.p_value: says 0.001, should be "),
    "a decision": (by.told("verdict", "decision", value="accepted"), "record.json, verdict.decision: says 'accepted'"),
    "a sentence": (
        by.told("verdict", "sentence", value="It helps."),
        "record.json, verdict.sentence: says 'It helps.'",
    ),
    "an alpha": (by.told("verdict", "alpha", value=0.9), "record.json, verdict.alpha: says 0.9, should be 0.05"),
    "a final model": (by.told("final_model", value="augmented"), "record.json, final_model: says 'augmented'"),
    "a copy of the certificate": (by.text("certificate.json", "blocked", "cause"), "certificate.json.features."),
    "both copies of the certificate": (by.certificate_both, "record.json, certificate.features.2.status: says "),
    "a class": (
        by.verdict_both("area", status="irrelevant"),
        "record.json, certificate.features: 'area' is called irrelevant, which certificate.irrelevant contradicts",
    ),
    "a hold": (by.verdict_both("area", held="It stays."), "record.json, certificate.perturbed"),
    "an arrow": (by.arrow_removed, "record.json, certificate.graph.edges"),
    "what moved": (
        by.told("counterfactuals", "moved", value=["area", "rooms", "garage", "age"]),
        "record.json, counterfactuals.moved: 'age' moved and carries noise",
    ),
    "a test score": (by.told("test", "plain", value=1.0), "record.json, test.plain: says 1.0, should be "),
    "an RMSE": (
        by.told("test", "accuracy", 0, "rmse", value=1.0),
        "record.json, test.accuracy.plain.rmse: says 1.0, should be ",
    ),
    "an R2": (by.told("test", "accuracy", 1, "r2", value=0.99), "record.json, test.accuracy.augmented.r2: says 0.99"),
    "the mean's MAE": (
        by.told("test", "accuracy", 2, "mae", value=9.0),
        "record.json, test.accuracy.mean.mae: says 9.0, should be ",
    ),
    "who was scored": (
        by.told("test", "accuracy", value=lambda all_: all_[:2]),
        "record.json, test.accuracy: must be of ['plain', 'augmented', 'mean'], in this order",
    ),
    "a change": (by.told("test", "change_percent", value=-50.0), "record.json, test.change_percent: says -50.0"),
    "the final model": (by.other_model("model"), "record.json, test.plain: says "),
    "a teacher": (by.other_model("teacher/1"), "'_crda_prediction': is "),
    "the spec": (
        by.text("spec.yaml", "retention: 0.75", "retention: 0.5"),
        "spec.yaml.counterfactual.retention: says 0.5",
    ),
    "the seed": (by.told("seed", value=6), "record.json, seed: is 6, the spec says 5"),
    "the data's hash": (by.told("data", "sha256", value="0" * 64), "record.json, data.sha256: says '000"),
    "the page": (by.text("report.html", "<h1", "<h1 hidden"), "report.html: is not what this crda-spec draws"),
    "the picture": (by.text("graph.svg", "<svg", "<svg hidden"), "graph.svg: is not what this crda-spec draws"),
    "a part": (by.text("rows.csv", "train", "test"), "rows.csv, line 2: says "),
    "a gate fold": (by.text("rows.csv", ",train,1", ",train,2"), "rows.csv: puts "),
    "two rows' folds": (by.swapped_folds, "rows.csv: holds 2 training rows out in another fold than the seed does"),
    "a training row's loss": (by.row_loss("train", "augmented"), "record.json, verdict.folds."),
    "a test row's loss, used": (by.row_loss("test", "plain"), "rows.csv, test row 1, 'plain_loss': says "),
    "a test row's loss, not used": (by.row_loss("test", "augmented"), "record.json, test.augmented: says "),
    "the score of the model not used": (by.better_loser, "record.json, test.augmented: says "),
    "the gate's interval": (
        by.told("verdict", "interval_percent", value=[-9.0, -1.0]),
        "record.json, verdict.interval_percent.0: says -9.0, should be ",
    ),
    "the test's interval": (
        by.told("test", "interval_percent", value=[-9.0, -1.0]),
        "record.json, test.interval_percent: says [-9.0, -1.0], should be ",
    ),
}


@pytest.mark.parametrize(("change", "named"), SEALED.values(), ids=SEALED)
def test_a_change_with_every_hash_mended_is_found_by_computing_again(kept, verify, tmp_path, change, named):
    run = tampered(kept, tmp_path, change)
    assert verify(run, "--depth", "files")[0] == 0
    code, said = verify(run)
    assert code == 4, said
    assert named in said


def test_a_run_with_early_stopping_has_each_row_set_aside_checked(stopped, verify, tmp_path):
    change = by.cell("_crda_trained", 0, lambda trained: not trained)
    code, said = verify(tampered(stopped, tmp_path, change))
    assert code == 4
    assert "augmented.parquet, row 1, '_crda_trained': says " in said


def test_the_seal_that_an_auditor_noted_is_asked_for(kept, verify):
    noted = json.loads((kept / "record.json").read_text())["sha256"]
    for seal in (noted, noted[:12]):
        assert verify(kept, "--depth", "files", "--seal", seal)[0] == 0
    code, said = verify(kept, "--depth", "files", "--seal", noted[:8])
    assert (code, said.startswith(f"--seal '{noted[:8]}' is no hash: 12 to 64 of the digits")) == (2, True)
    code, said = verify(kept, "--depth", "files", "--seal", "0" * 64)
    assert code == 4
    assert f"- record.json: has the seal {noted}, not the one you noted" in said


def test_the_p_value_of_a_test_on_single_rows_is_computed_again(verify, tmp_path):
    folder = tmp_path / "first"
    folder.mkdir()
    houses(90).to_csv(folder / "houses.csv", index=False)
    text = SPEC.format(regressor="{kind: ridge}", teacher=TEACHER["single"]).replace("wilcoxon", "bootstrap")
    run = ran(folder, text).folder
    assert verify(run)[0] == 0
    code, said = verify(tampered(run, tmp_path, by.told("verdict", "p_value", value=0.5)))
    assert code == 4
    assert "record.json, verdict.p_value: says 0.5, should be " in said


def test_a_report_for_programs(kept, verify, tmp_path):
    code, said = verify(tampered(kept, tmp_path, by.cell("price", -1, by.nearly)), "--json")
    told = json.loads(said)
    assert (code, told["verified"], told["depth"]) == (4, False, "rows")
    ledger, failed, again = [check for check in told["checks"] if check["state"] == "failed"]
    # augmented.csv still holds the other rows, and croissant.json names their hash.
    assert (ledger["name"], failed["name"], again["name"]) == ("ledger", "labels", "again")
    assert "versions" in told["taken_as_recorded"]
    assert [finding["where"] for finding in failed["findings"]] == ["augmented.parquet, row 180, 'price'"]


def test_without_the_data_all_else_is_checked_and_said(kept, verify, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code, said = verify(by.copy_of(kept, tmp_path))
    assert code == 5
    absent = "no folder holds houses.csv; say where with --base"
    assert f"skipped  data: {absent}" in said
    assert said.splitlines()[-1] == f"Verified in part (depth rows); not looked at: data ({absent})."
    code, said = verify(tmp_path / "run", "--base", str(kept.parent))
    assert (code, "skipped" in said) == (0, False)
    code, said = verify(tmp_path / "run", "--depth", "full")
    assert (code, f"skipped  run again: {absent}" in said) == (5, True)


def test_other_data_are_found_out_cell_by_cell(kept, verify, tmp_path):
    frame = houses(90)
    frame.loc[:, "age"] = frame["age"].where(frame.index != 5, 89)
    run = by.copy_of(kept, tmp_path)
    frame.to_csv(tmp_path / "houses.csv", index=False)
    code, said = verify(run, "--base", str(tmp_path))
    assert code == 4
    assert "record.json, data.sha256: says " in said


@pytest.mark.slow
def test_a_run_made_again_gives_every_byte_and_a_sealed_lie_about_a_fold_does_not(kept, verify, tmp_path):
    code, said = verify(kept, "--depth", "full")
    assert code == 0
    assert "ok       run again: the run made again, byte for byte" in said

    def lie(run):
        """Two folds exchange their losses: the same p-value, the same effect."""
        record = by.read(run)
        first, second = record["verdict"]["folds"][:2]
        for arm in ("plain", "augmented"):
            first[arm], second[arm] = second[arm], first[arm]
        lines = (run / "folds.csv").read_text().splitlines()
        cells = [line.split(",") for line in lines]
        cells[1][4:6], cells[2][4:6] = cells[2][4:6], cells[1][4:6]
        (run / "folds.csv").write_text("".join(",".join(line) + "\n" for line in cells))
        by.write(run, record)

    run = tampered(kept, tmp_path, lie)
    said = verify(run)[1]
    assert said.splitlines()[-1] == "NOT VERIFIED: losses, page (depth rows)"  # the page still shows the old record
    assert "- record.json, verdict.folds.1.augmented: says " in said
    code, said = verify(run, "--depth", "full")
    assert code == 4
    assert "folds.csv, row 1, 'plain': is " in said
    assert "record.json.verdict.folds.0.plain: says " in said


def test_a_tolerance_forgives_the_last_digits_and_no_more(kept, verify, tmp_path):
    def rounded(run):
        by.cell("_crda_prediction", -1, lambda value: value * (1 + 1e-12))(run)

    run = tampered(kept, tmp_path, rounded)
    assert "'_crda_prediction': is " in verify(run)[1]
    said = verify(run, "--tolerance", "1e-6")[1]
    assert "'_crda_prediction'" not in said
    assert "'price': is " in said  # the formula of a label is exact everywhere


def test_the_page_of_another_version_is_not_judged(kept, verify, tmp_path):
    def older(run):
        by.text("report.html", "<h1", "<h1 class=old")(run)
        by.told("versions", "crda-spec", value="0.0.9")(run)

    code, said = verify(tampered(kept, tmp_path, older))
    assert code == 5, said
    assert "skipped  page: it was drawn by crda-spec 0.0.9" in said


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nowhere"], "'nowhere' is not the folder of a finished run; name the folder that crda-run wrote"),
        (["RUN", "--tolerance", "2"], "--tolerance 2 is not between 0 and 1; use 0 for bits, or 1e-6"),
        (["RUN", "--tolerance", "-1"], "--tolerance -1 is not between 0 and 1"),
    ],
)
def test_wrong_questions(kept, verify, arguments, message):
    code, said = verify(*(str(kept) if one == "RUN" else one for one in arguments))
    assert code == 2
    assert message in said


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "the record is not JSON: "),
        ("[]", "the file is no run's record"),
        (
            '{"record_version": 99}',
            "the record has version 99, but this crda-spec reads 1; use the crda-spec that wrote",
        ),
    ],
)
def test_a_record_that_is_none(verify, tmp_path, content, message):
    (tmp_path / "record.json").write_text(content)
    code, said = verify(tmp_path)
    assert code == 2
    assert message in said


@pytest.mark.parametrize(
    "name", ["augmented.parquet", "certificate.json", "spec.yaml", "model/model.json", "folds.csv"]
)
def test_rubbish_in_any_file_is_a_finding_not_a_crash(kept, verify, tmp_path, name):
    def rubbish(run):
        (run / name).write_bytes(b"\x80\x04\xff rubbish")
        by.reseal(run)

    code, said = verify(tampered(kept, tmp_path, rubbish))
    assert code == 4
    assert "NOT VERIFIED: " in said
