"""Whole runs in which another method makes the rows: gated, recorded and verified like our own, and blind like it."""

import importlib.util
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import tampering
from audit_runs import Nobody, ledger_of, ran, record_of

from crda_spec import api
from crda_spec.audit.models import model_files
from crda_spec.audit.open_run import open_run, reopen
from crda_spec.counterfactual.augmenters import AUGMENTERS
from crda_spec.errors import SpecError
from crda_spec.gate.cross_validate import divisions, run_fold
from crda_spec.pipeline import run
from crda_spec.regressors import EarlyStopping
from crda_spec.regressors.fit import student_seed, watched_rows
from crda_spec.spec.build import build_plan
from crda_spec.spec.check import load_spec

FAST = {
    "teshima_sugiyama": ", bandwidth: 1.0",
    "regmix": ", rounds: 5",
    "tvae": ", epochs: 2",
    "ctgan": ", epochs: 2",
    "tab_ddpm": ", iterations: 10, timesteps: 10",
}
# Half of the spread of y comes from its tails, so that some outcomes are rare.
SPEC = """
version: 1
name: clinic
seed: 4
dataset:
  source: {{kind: csv, path: clinic.csv}}
  target: y
  split: {{kind: column, column: part, test: [test]}}{more}
causal: {{graph: {{kind: edges, edges: [age -> dose, "{{age dose ward visits}} -> y"]}}}}
regressor: {regressor}
augmenter: {{kind: {kind}{fast}}}
counterfactual: {{factor: 1.0{teacher}}}
gate: {{kind: corrected_t, folds: 3}}
execution: {{jobs: 1}}
output: {{plots: false}}
"""
RIDGE = "{kind: ridge}"
TREES = "{kind: xgboost, n_estimators: 12, early_stopping: {rounds: 3, validation: 0.2}}"


def table(*, rows=80, wild=False, columns="part,age,dose,visits,ward,y"):
    rng = np.random.default_rng(2)
    lines = [columns]
    for row in range(rows):
        age, dose = rng.normal(size=2).round(4).tolist()
        visits, ward = int(rng.integers(0, 9)), "nsw"[rng.integers(3)]
        noise = rng.standard_t(1.5)
        y = round(age + dose**2 + 0.2 * visits + (ward == "n") + 0.4 * noise, 4)
        test = row % 4 == 1
        if test and wild:
            age, dose, visits, y = 1e6 * age, -1e5, 10**6 + row, 1e7 * noise
        cells = {
            "part": "test" if test else "train",
            "age": age,
            "dose": dose,
            "visits": visits,
            "ward": ward,
            "y": y,
            "w": 1 + row % 3,
            "site": f"{'t' if test else 's'}{row // 8}",
            "day": row,
        }
        lines.append(",".join(str(cells[name]) for name in columns.split(",")))
    return "\n".join(lines) + "\n"


def text(kind, *, regressor=RIDGE, more=""):
    teacher = ", teacher: {kind: crossfit, folds: 3}" if kind == "augmented_distillation" else ""
    return SPEC.format(kind=kind, fast=FAST.get(kind, ""), regressor=regressor, teacher=teacher, more=more)


def kinds():
    for kind, member in AUGMENTERS.items():
        absent = bool(member.package) and importlib.util.find_spec(member.package) is None
        yield pytest.param(kind, marks=pytest.mark.skipif(absent, reason=f"{member.package} is not installed"))


every_kind = pytest.mark.parametrize("kind", list(kinds()))


def result_of(folder, spec_text, rows):
    folder.mkdir(exist_ok=True)
    (folder / "clinic.csv").write_text(rows)
    (folder / "spec.yaml").write_text(spec_text)
    spec, draft = load_spec(folder / "spec.yaml")
    plan = build_plan(spec, draft)
    return plan, run(plan, progress=Nobody())


@every_kind
def test_a_run_is_what_it_says_and_can_be_made_again(tmp_path, kind):
    (tmp_path / "clinic.csv").write_text(table())
    finished = ran(tmp_path, text(kind, regressor=TREES))
    record = record_of(finished)
    checked = api.verify(finished.folder, depth="full", base=tmp_path)
    assert not checked.findings, checked.findings
    assert checked.exit_status == 0
    made = record["counterfactuals"]
    if kind == "none":
        assert made is None
        assert record["verdict"]["reason"] == "no_new_rows"
        return
    assert made["basis"] == "augmenter"
    used = {AUGMENTERS[kind].package, "torch"} if AUGMENTERS[kind].trains else set()
    assert {"ctgan", "torch"} & set(record["versions"]) == used
    rows = ledger_of(finished)
    new = rows[rows["_crda_synthetic"]]
    assert set(new["_crda_basis"]) == {"augmenter"}
    assert new["_crda_source_row"].notna().all()
    assert rows.dtypes["visits"] == np.int64
    assert set(new["ward"]) <= {"n", "s", "w"}
    assert reopen(open_run(finished.folder)).result.counterfactuals.basis == "augmenter"


@every_kind
def test_what_test_rows_say_changes_no_row(tmp_path, kind):
    results = [
        result_of(tmp_path / name, text(kind), table(wild=wild))[1] for name, wild in (("tame", False), ("wild", True))
    ]
    one, other = (
        (b"" if made is None else made.action.x.tobytes() + made.y.tobytes(), model_files(result.model))
        for result, made in ((result, result.counterfactuals) for result in results)
    )
    assert one == other


@every_kind
def test_what_a_fold_holds_out_changes_nothing_inside_it(tmp_path, kind):
    plan, result = result_of(tmp_path, text(kind, regressor=TREES), table())
    train = result.split.train
    (division,) = divisions(plan.gate, train, seed=4)
    x, y = train.x.copy(), train.y.copy()
    held = division.held[0]
    x[held, :3] += 50.0
    y[held] -= 1000.0
    asked = np.array(train.x)
    found = []
    for rows in (train, replace(train, x=x, y=y)):
        outcome = run_fold(plan.procedure, rows, division, 1, keep=True)
        found.append([model.predict(asked).tobytes() for model in outcome.models])
    assert found[0] == found[1]


@every_kind
def test_a_row_weighs_as_much_as_its_source(tmp_path, kind):
    (tmp_path / "clinic.csv").write_text(table(columns="part,age,dose,visits,ward,w,y"))
    rows = ledger_of(ran(tmp_path, text(kind, more="\n  weights: w")))
    real, new = rows[~rows["_crda_synthetic"]], rows[rows["_crda_synthetic"]]
    weight = dict(zip(real["_crda_source_row"], real["_crda_weight"], strict=True))
    assert set(weight.values()) == {1.0, 2.0, 3.0}
    assert [weight[source] for source in new["_crda_source_row"]] == new["_crda_weight"].tolist()


@every_kind
def test_no_trained_row_is_made_of_a_group_that_early_stopping_watches(tmp_path, kind):
    spec = text(kind, regressor=TREES, more="\n  groups: site")
    _, result = result_of(tmp_path, spec, table(columns="part,age,dose,visits,ward,site,y"))
    made, train = result.counterfactuals, result.split.train
    seed = student_seed(4, (0,))
    watched = watched_rows(train, EarlyStopping(rounds=3, validation=0.2), seed=seed)
    aside = np.isin(np.arange(len(train)), watched)
    assert 0 < aside.sum() < len(train)
    assert not set(train.groups[aside]) & set(train.groups[~aside])
    if made is None:
        assert kind == "none"
        return
    trained = ~made.stems_from(aside)
    partner = made.action.source if made.action.partner is None else made.action.partner
    for origin in (made.action.source, partner, made.noise_rows):
        assert not aside[origin[trained & (origin >= 0)]].any()
    assert trained.all() == AUGMENTERS[kind].learns


@every_kind
def test_rows_with_an_order(tmp_path, kind):
    spec = text(kind, more="\n  time: day").replace("split: {kind: column, column: part, test: [test]}", "")
    spec = spec.replace("\n  \n", "\n")
    _, result = result_of(tmp_path, spec, table(columns="age,dose,visits,ward,day,y"))
    assert result.time is not None
    assert (result.counterfactuals is None) == (kind == "none")


def test_a_label_that_was_changed_is_found_without_a_fit(tmp_path):
    """The augmenter's own word is no formula of the ledger: the rows are drawn again."""
    (tmp_path / "clinic.csv").write_text(table())
    finished = ran(tmp_path, text("mixup"))
    for column in ("_crda_prediction", "y"):
        tampering.cell(column, -1, lambda value: value + 1.0)(finished.folder)
    found = [str(one) for one in api.verify(finished.folder, base=tmp_path).findings]
    assert any("is not what the seed draws" in one and "'y'" in one for one in found), found


def generated(folder, finished, name, **settings):
    rows = table(rows=120, columns="age,dose,visits,ward,y")
    (folder / "new.csv").write_text(rows)
    out = folder / name
    made = api.generate(finished.folder, folder / "new.csv", out, **settings)
    return made, pd.read_parquet(out)


@pytest.mark.parametrize("kind", [kind for kind, member in AUGMENTERS.items() if member.streams and kind != "none"])
def test_rows_of_new_data_whatever_the_batch(tmp_path, kind):
    (tmp_path / "clinic.csv").write_text(table())
    finished = ran(tmp_path, text(kind))
    made, rows = generated(tmp_path, finished, "one.parquet", rows=200)
    again, _ = generated(tmp_path, finished, "two.parquet", rows=200, batch=7)
    assert made.sha256 == again.sha256
    assert made.basis == "augmenter"
    assert len(rows) == 200
    assert rows["_crda_source_row"].between(1, 120).all()
    assert rows["ward"].isin(["n", "s", "w"]).all()
    assert rows.dtypes["visits"] == np.int64
    label = rows["_crda_prediction"] + rows["_crda_retention"] * rows["_crda_noise"]
    np.testing.assert_array_equal(rows["y"], label)


@pytest.mark.parametrize("kind", ["c_mixup", "teshima_sugiyama"])
def test_what_needs_all_rows_at_once_makes_none_block_by_block(tmp_path, kind):
    (tmp_path / "clinic.csv").write_text(table())
    finished = ran(tmp_path, text(kind))
    with pytest.raises(SpecError) as error:
        generated(tmp_path, finished, "one.parquet", rows=20)
    (one,) = error.value.complaints
    assert (one.code, one.path) == ("cannot-stream", "augmenter")
    assert one.what == f"the augmenter '{kind}' made the run's rows from all its training rows at once"
    assert not (tmp_path / "one.parquet").exists()


# Torch is larger than what the pool takes for a leak in workers that it keeps: it starts new ones and warns of that.
@pytest.mark.filterwarnings("ignore:A worker stopped while some jobs:UserWarning")
@pytest.mark.slow
@every_kind
def test_the_number_of_workers_changes_no_byte(tmp_path, kind):
    """Torch's too, which each worker holds to one thread."""
    found = []
    for jobs in ("1", "2"):
        folder = tmp_path / jobs
        folder.mkdir()
        (folder / "clinic.csv").write_text(table())
        finished = ran(folder, text(kind, regressor=TREES).replace("jobs: 1", f"jobs: {jobs}"))
        record = record_of(finished)
        found.append((record["verdict"], (finished.folder / "augmented.parquet").read_bytes()))
    assert found[0] == found[1]


@pytest.mark.parametrize(("kind", "reason"), [("causal_bootstrap", "graph_falsified"), ("mixup", None)])
def test_a_contradicted_graph_stops_those_who_use_it(tmp_path, kind, reason):
    spec = text(kind, more="").replace(
        'edges: [age -> dose, "{age dose ward visits} -> y"]', 'edges: [dose -> y, "{age visits ward} <-> dose"]'
    )
    rng = np.random.default_rng(0)
    lines = ["part,age,dose,visits,ward,y"]
    for row in range(160):
        age, dose, noise = rng.normal(size=3).round(4).tolist()
        lines.append(f"{'test' if row % 4 == 1 else 'train'},{age},{dose},{row % 7},{'nsw'[row % 3]},{3 * age + noise}")
    _, result = result_of(tmp_path / "run", spec + "falsify: {on_falsified: abstain}\n", "\n".join(lines) + "\n")
    assert (result.falsification is None) == (reason is None)
    assert (result.counterfactuals is None) == (reason is not None)
    assert reason is None or result.verdict.reason == reason
