"""Runs with prediction intervals: what the folder holds, what predict and verify make of it, what it costs."""

import io
import json
import shutil

import numpy as np
import pandas as pd
import pytest
import tampering as by
from audit_runs import Nobody, ran, record_of
from test_ledger_recomputed import houses

from crda_spec.audit.open_run import load_band, open_run, reopen
from crda_spec.pipeline import run
from crda_spec.spec.build import build_plan
from crda_spec.spec.check import load_spec

SPEC = """
version: 1
recipe: paper
name: sure
seed: 5
dataset: {{source: {{kind: csv, path: houses.csv}}, target: price{dataset}}}
causal:
  graph:
    kind: edges
    edges: ["{{area rooms garage}} -> price", "age <- care -> price"]
    latent: [care]
    noise: [area]
regressor: {regressor}
gate: {{kind: wilcoxon, folds: 5{gate}}}
execution: {{jobs: {jobs}}}
output: {{plots: false, diagnostics: false{output}}}
"""
RIDGE = "{kind: ridge}"
TREES = "{kind: xgboost, n_estimators: 8, early_stopping: {rounds: 3, validation: 0.2}}"
LEVELS = ", intervals: {levels: [0.8, 0.95]}"


def make(folder, *, regressor=RIDGE, output=LEVELS, gate="", dataset="", jobs=1, rows=150):
    table = houses(rows)
    table["weight"] = 1.0 + np.arange(rows) % 3
    table["estate"] = np.arange(rows) // 2
    unused = [name for name in ("weight", "estate") if name not in dataset]
    table.drop(columns=unused).to_csv(folder / "houses.csv", index=False)
    text = SPEC.format(regressor=regressor, output=output, gate=gate, dataset=dataset, jobs=jobs)
    return ran(folder, text)


WAYS = {
    "residuals": {},
    "cv_plus": {"output": ", intervals: {levels: [0.8, 0.95], form: cv_plus}"},
    "constant": {"output": ", intervals: {width: constant}"},
    "trees": {"regressor": TREES, "output": ", intervals: {form: cv_plus}"},
    "weights": {"dataset": ", weights: weight"},
    "groups": {"dataset": ", groups: estate"},
    "repeats": {"gate": ", repeats: 2, alpha: 0.1"},
    "restarts": {"regressor": TREES, "gate": ", restarts: 2"},
    "stopped": {"gate": ", stop: certain"},
    "crps": {"gate": ", metric: crps"},
    "interval_score": {"gate": ", metric: interval_score", "dataset": ", weights: weight"},
    "crps, repeats": {"gate": ", metric: crps, repeats: 2, alpha: 0.1"},
    "ensemble": {"regressor": TREES, "gate": ", metric: crps", "output": LEVELS + ", ensemble: 2"},
    "none": {"output": ", intervals: null"},
}


@pytest.fixture(scope="module", params=list(WAYS))
def finished(request, tmp_path_factory):
    return make(tmp_path_factory.mktemp("sure"), **WAYS[request.param])


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    return make(tmp_path_factory.mktemp("kept"))


def test_every_such_run_is_verified(finished, verify):
    code, said = verify(finished.folder)
    assert (code, said.splitlines()[-1]) == (0, "Verified: the run is as it was written (depth rows).")
    record = record_of(finished)
    assert (record["intervals"] is None) == (finished.result.intervals is None)


def test_the_numbers_are_those_of_the_rows(kept):
    """Coverage, width and score by hand, from the errors in rows.csv and the widths in intervals.csv."""
    record, rows = record_of(kept)["intervals"], pd.read_csv(kept.folder / "rows.csv")
    lines = pd.read_csv(kept.folder / "intervals.csv")
    assert record["levels"] == [0.8, 0.95]
    assert record["parents"] == ["area"]
    assert record["rows"] == record["units"] == (rows["part"] == "train").sum()
    for score in record["scores"]:
        mine = lines[lines["level"] == score["level"]]
        below, above = mine[f"{score['arm']}_below"], mine[f"{score['arm']}_above"]
        out = np.maximum(-below, 0) + np.maximum(-above, 0)
        assert score["coverage"] == pytest.approx((out == 0).mean())
        assert score["width"] == pytest.approx((below + above).mean())
        assert score["score"] == pytest.approx((below + above + 2 / (1 - score["level"]) * out).mean())
        errors = rows.loc[rows["part"] == "test", f"{score['arm']}_error"].to_numpy()
        np.testing.assert_allclose((below - above).to_numpy() / 2, errors, atol=1e-9)
    wide, narrow = (lines[lines["level"] == level]["plain_above"].to_numpy() for level in (0.95, 0.8))
    assert (wide > narrow).all()


def test_intervals_cost_no_fit(kept, tmp_path):
    without = make(tmp_path, output=", intervals: null")
    assert (without.result.intervals, (without.folder / "intervals.json").exists()) == (None, False)
    costs = [(record["fits"], record["refits"], record["reused_fits"]) for record in map(record_of, (kept, without))]
    assert costs[0] == costs[1]
    for name in ("verdict", "test", "final_model"):
        assert record_of(kept)[name] == record_of(without)[name]


def test_fold_models_are_kept_for_cv_plus_and_cost_no_fit_either(kept, tmp_path):
    plus = make(tmp_path, **WAYS["cv_plus"])
    assert sorted(path.name for path in (plus.folder / "fold_models").iterdir()) == ["1", "2", "3", "4", "5"]
    assert not (kept.folder / "fold_models").exists()
    assert record_of(plus)["fits"] == record_of(kept)["fits"]
    assert record_of(plus)["verdict"] == record_of(kept)["verdict"]


def predicted(start, run, file, *more):
    code, out, err = start("predict", run, file, *more)
    assert (code, err) == (0, "")
    return pd.read_csv(io.StringIO(out))


@pytest.mark.parametrize("way", ["residuals", "cv_plus", "ensemble"])
def test_predict_adds_bounds_at_any_level(way, start, tmp_path):
    run = make(tmp_path, **WAYS[way]).folder
    file = tmp_path / "new.csv"
    houses(40).drop(columns="price").to_csv(file, index=False)
    plain, some, most = (predicted(start, run, file, *more) for more in ((), ("--interval", 0.5), ("--interval", 0.97)))
    assert list(some.columns) == ["row", "prediction", "low", "high"]
    assert plain["prediction"].tolist() == some["prediction"].tolist()
    assert (most["low"] < some["low"]).all()
    assert (some["high"] < most["high"]).all()
    told = json.loads(start("predict", run, file, "--interval", 0.5, "--json")[1])
    assert (told["level"], told["low"]) == (0.5, pytest.approx(some["low"].tolist(), rel=1e-12))
    code, _, _ = start("predict", run, file, "--interval", 0.5, "--out", tmp_path / "out.parquet")
    assert code == 0
    assert pd.read_parquet(tmp_path / "out.parquet")["high"].tolist() == pytest.approx(some["high"].tolist(), rel=1e-12)


def test_the_saved_intervals_are_those_in_memory(kept):
    saved, made = load_band(kept.folder), kept.result.band
    x = kept.result.split.train.x
    prediction = kept.result.model.predict(x)
    for one, other in zip(saved.bounds(x, prediction, 0.9), made.bounds(x, prediction, 0.9), strict=True):
        assert one.tolist() == other.tolist()


def test_too_few_rows_for_a_level_give_infinite_bounds_and_say_so(start, tmp_path):
    run = make(tmp_path, rows=40, output=", intervals: {levels: [0.8, 0.99]}")
    wide = record_of(run)["intervals"]["scores"][-1]
    assert (wide["level"], wide["coverage"], wide["width"], wide["score"]) == (0.99, 1.0, "inf", "inf")
    said = (run.folder / "report.html").read_text()
    assert "99 % intervals are infinite: they need at least 99 held-out rows, and there are 32." in said
    file = tmp_path / "new.csv"
    houses(3).drop(columns="price").to_csv(file, index=False)
    code, out, err = start("predict", run.folder, file, "--interval", 0.99, "--json")
    told = json.loads(out)
    assert (code, told["low"], told["high"]) == (0, ["-inf"] * 3, ["inf"] * 3)
    needs = "at level 0.99 an interval needs 99 held-out rows (or groups), and the run has 32.\n"
    assert err == f"All intervals are infinite: {needs}"
    assert start("predict", run.folder, file, "--interval", 0.99)[1].splitlines()[1].endswith(",-inf,inf")


@pytest.mark.parametrize("level", ["0", "1", "-0.5", "90"])
def test_a_level_that_is_none_is_refused(kept, start, level):
    code, out, err = start("predict", kept.folder, kept.folder.parent / "houses.csv", "--interval", level)
    assert (code, out) == (2, "")
    assert err == f"--interval {float(level)!r} is not between 0 and 1; use for example --interval 0.9\n"


@pytest.mark.parametrize("how", [{"output": ", intervals: null"}, {"gate": ", enabled: false", "output": ""}])
def test_a_run_without_held_out_rows_has_no_intervals_and_says_what_to_do(how, start, tmp_path):
    run = make(tmp_path, **how).folder
    code, _, err = start("predict", run, tmp_path / "houses.csv", "--interval", "0.9")
    assert code == 2
    what = "the run has no intervals: its gate held out no rows, or output.intervals is null"
    assert err == f"{run}: {what}; enable the gate, leave output.intervals out, and run again\n"
    assert record_of_folder(run)["intervals"] is None


def record_of_folder(folder):
    return json.loads((folder / "record.json").read_text())


def csv_cell(name, column, change, line=0):
    """One cell of a CSV file of the run, and all hashes mended."""

    def tamper(run):
        cells = [one.split(",") for one in (run / name).read_text().splitlines()]
        at = cells[0].index(column)
        row = cells[1:][line]
        row[at] = repr(change(float(row[at])))
        (run / name).write_text("".join(",".join(one) + "\n" for one in cells))
        by.reseal(run)

    return tamper


def band_value(name, change):
    def tamper(run):
        saved = json.loads((run / "intervals.json").read_text())
        saved[name] = change(saved[name])
        (run / "intervals.json").write_text(by.canonical_json(saved))
        by.reseal(run)

    return tamper


def lose(name):
    def tamper(run):
        (run / name).unlink()
        record = by.read(run)
        del record["files"][name]
        by.write(run, record)

    return tamper


def both(run):
    """The error of a held-out row and what it cost, together."""
    csv_cell("rows.csv", "plain_error", lambda value: 0.5 * value)(run)
    csv_cell("rows.csv", "plain_loss", lambda value: 0.25 * value)(run)


TAMPERED = {
    "a held-out error": (csv_cell("rows.csv", "plain_error", lambda value: 0.5 * value), "losses"),
    "a held-out error and its loss": (both, "losses"),
    "a test error": (csv_cell("rows.csv", "augmented_error", lambda value: 0.5 * value, line=-1), "losses"),
    "a row's place in its interval": (csv_cell("intervals.csv", "plain_below", lambda value: value + 30), "intervals"),
    "of the other model too": (csv_cell("intervals.csv", "augmented_above", lambda value: value + 30), "intervals"),
    "a calibration score": (band_value("scores", lambda old: [0.5 * old[0], *old[1:]]), "intervals"),
    "the number of units": (band_value("units", lambda old: 10 * old), "intervals"),
    "the coverage": (by.told("intervals", "scores", 0, "coverage", value=1.0), "intervals"),
    "the width": (by.told("intervals", "scores", 1, "width", value=lambda old: 0.5 * old), "intervals"),
    "the power of a size": (by.told("intervals", "widths", 0, "prediction", value=0.3), "intervals"),
    "intervals that are gone": (by.told("intervals", value=None), "intervals"),
    "a level": (by.told("intervals", "levels", 0, value=0.7), "intervals"),
    "no intervals.json": (lose("intervals.json"), "intervals"),
}


@pytest.mark.parametrize("what", list(TAMPERED))
def test_what_was_changed_afterwards_is_found(what, kept, verify, tmp_path):
    change, where = TAMPERED[what]
    shutil.copy(kept.folder.parent / "houses.csv", tmp_path / "houses.csv")
    copy = by.copy_of(kept.folder, tmp_path)
    change(copy)
    code, said = verify(copy)
    assert code == 4, said
    failed = said.splitlines()[-1].removeprefix("NOT VERIFIED: ")
    assert where in failed, said


def test_a_width_and_its_scores_changed_together_are_found_with_the_data(kept, verify, tmp_path):
    """Every number of intervals.csv agrees with the record; only the model and the test rows can tell."""
    shutil.copy(kept.folder.parent / "houses.csv", tmp_path / "houses.csv")
    copy = by.copy_of(kept.folder, tmp_path)
    lines = pd.read_csv(copy / "intervals.csv")
    final = record_of(kept)["final_model"]
    lines.loc[lines["level"] == 0.8, [f"{final}_below", f"{final}_above"]] += 5.0
    lines.to_csv(copy / "intervals.csv", index=False)
    record = by.read(copy)
    mine = lines[lines["level"] == 0.8]
    below, above = mine[f"{final}_below"].to_numpy(), mine[f"{final}_above"].to_numpy()
    score = next(one for one in record["intervals"]["scores"] if (one["arm"], one["level"]) == (final, 0.8))
    miss = np.maximum(-below, 0) + np.maximum(-above, 0)
    score.update(coverage=float((miss == 0).mean()), width=float((below + above).mean()))
    score["score"] = float((below + above + 2.0 / (1.0 - 0.8) * miss).mean())
    by.write(copy, record)
    code, said = verify(copy)
    assert code == 4
    assert "intervals' rows" in said.splitlines()[-1]


def test_the_page_is_made_again_from_the_folder(kept):
    opened = reopen(open_run(kept.folder))
    assert opened.result.intervals == kept.result.intervals
    assert "How sure is it" in (kept.folder / "report.html").read_text()


@pytest.mark.slow
def test_a_run_with_fold_models_made_again_is_the_same_at_any_number_of_workers(verify, tmp_path):
    run = make(tmp_path, **WAYS["trees"]).folder
    code, said = verify(run, "--depth", "full")
    assert code == 0
    assert "Verified: the run is as it was written (depth full)." in said
    spec, draft = load_spec(tmp_path / "spec.yaml", overrides=["execution.jobs=2"])
    again = run_again(spec, draft)
    assert again.intervals == reopen(open_run(run)).result.intervals


def run_again(spec, draft):
    return run(build_plan(spec, draft), progress=Nobody())
