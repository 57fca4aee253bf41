"""A run folder read back: the result that its page was made from, to the last byte of the page."""

import json
import math
import shutil
from dataclasses import replace

import numpy as np
import pytest
from audit_runs import ran, record_of

from crda_spec.audit.canonical import plain, read_as
from crda_spec.audit.open_run import open_run, read_ledger, reopen
from crda_spec.audit.verify.rows import check_cells
from crda_spec.errors import OutputError, TamperedError
from crda_spec.records import Certificate, Falsification, FeatureSensitivity, FoldResult, TestScore, Verdict
from crda_spec.report.page import render_html
from crda_spec.report.words.causal import followed_words

HEAD = "version: 1\nrecipe: paper\nname: small\nseed: 3\nregressor: {kind: ridge}\n"
GATE = "gate: {kind: wilcoxon, folds: 5}\n"
SPECS = {
    "noise-of-two-sizes": HEAD
    + GATE
    + """dataset: {source: {kind: synthetic, world: bidding_war, rows: 90}, target: price}
causal: {graph: {kind: edges, edges: ["neighbourhood -> {area, price}", "{area, rooms, garage} -> price"]}}
partition: {max_features: 3}
counterfactual: {teacher: {kind: crossfit, folds: 3}, noise: {kind: location_scale}, retention: 0.5}
""",
    "followers": HEAD
    + GATE
    + """dataset: {source: {kind: synthetic, world: paper_synthetic, rows: 80}, target: y}
causal: {graph: {kind: edges, edges: ["x1 -> x3 -> x2 -> y", "x1 -> y"]}}
falsify: {on_falsified: ignore}
partition: {perturb: [x1]}
perturbation: {propagate: true}
counterfactual: {retention: 1.0}
""",
    "nothing-moves": HEAD
    + GATE
    + """dataset: {source: {kind: synthetic, world: paper_synthetic, rows: 60}, target: y}
causal: {graph: {kind: edges, edges: ["{x1 x2 x3} -> y", "u -> {x1 x2 x3 y}"], latent: [u]}}
counterfactual: {retention: 1.0}
""",
}


@pytest.fixture(scope="module", params=SPECS)
def finished(request, tmp_path_factory):
    return ran(tmp_path_factory.mktemp("run"), SPECS[request.param])


def test_every_changed_cell_is_recomputed_from_the_rows(finished):
    record = record_of(finished)
    assert list(check_cells(finished.folder, read_ledger(finished.folder, record), record)) == []


@pytest.fixture(scope="module")
def a_run(tmp_path_factory):
    return ran(tmp_path_factory.mktemp("run"), SPECS["nothing-moves"]).folder


def test_the_page_made_again_is_the_same_page(finished):
    again = reopen(open_run(finished.folder))
    page = render_html(
        again.result,
        name=again.name,
        description=again.description,
        record_json=again.record_json,
        spec_yaml=again.spec_yaml,
    )
    assert page == (finished.folder / "report.html").read_text()


def test_what_is_read_back_is_what_was_found(finished):
    found, again = finished.result, reopen(open_run(finished.folder)).result
    for part in ("data", "certificate", "falsification", "sensitivity", "verdict", "score"):
        assert plain(getattr(again, part)) == plain(getattr(found, part)), part
    for name in ("x", "y", "row_ids"):
        np.testing.assert_array_equal(getattr(again.split.train, name), getattr(found.split.train, name))
    np.testing.assert_array_equal(again.split.test.row_ids, found.split.test.row_ids)
    np.testing.assert_array_equal(again.gate_fold, found.gate_fold)
    np.testing.assert_array_equal(again.abduction.noise, found.abduction.noise)
    assert (again.cost, again.settings) == (found.cost, found.settings)
    made, made_again = found.counterfactuals, again.counterfactuals
    if made is None:
        assert made_again is None
        return
    for name in ("y", "prediction", "noise", "noise_rows"):
        np.testing.assert_array_equal(getattr(made_again, name), getattr(made, name))
    for name in ("x", "source"):
        np.testing.assert_array_equal(getattr(made_again.action, name), getattr(made.action, name))
    how = [(name, followed_words(one)) for name, one in made.action.propagated.items()]
    assert [(name, followed_words(one)) for name, one in made_again.action.propagated.items()] == how
    assert made_again.action.policies == made.action.policies


def test_a_record_survives_json_with_numbers_that_json_cannot_hold():
    fold = FoldResult(
        fold=1, train_rows=9, held_out_rows=3, plain=math.inf, augmented=0.1, perturbed=("a", "b"), synthetic_rows=4
    )
    verdict = Verdict(
        decision="rejected",
        reason="worse",
        sentence="No.",
        test="wilcoxon",
        metric="mse",
        alpha=0.05,
        p_value=None,
        effect_percent=-math.inf,
        folds=(fold, replace(fold, fold=2, plain=0.1 + 0.2)),
        fits=3,
    )
    assert read_as(Verdict, json.loads(json.dumps(plain(verdict), allow_nan=False))) == verdict


@pytest.mark.parametrize("kind", [Certificate, Falsification, FeatureSensitivity, TestScore])
def test_a_record_without_a_needed_value_is_no_record(kind):
    with pytest.raises(ValueError, match="Field required"):
        read_as(kind, {"unknown": 1})


def refuse(folder):
    with pytest.raises((OutputError, TamperedError)) as refused:
        reopen(open_run(folder))
    return refused.value.complaints[0]


def test_a_folder_that_is_no_run_is_named(tmp_path):
    told = refuse(tmp_path)
    assert (told.code, told.what) == ("no-run", f"'{tmp_path}' is not the folder of a finished run")


@pytest.mark.parametrize(
    ("file", "text", "said"),
    [
        ("record.json", "{", "the record is not JSON: "),
        ("record.json", '{"record_version": 1}', "name is missing"),
        ("record.json", '{"record_version": 99}', "the record has version 99, but this crda-spec reads 1"),
        ("augmented.parquet", "x", "augmented.parquet: was changed after it was written: its hash differs"),
        ("rows.csv", None, "rows.csv: is missing"),
    ],
)
def test_a_damaged_folder_says_what_is_wrong(tmp_path, a_run, file, text, said):
    folder = tmp_path / "run"
    shutil.copytree(a_run, folder)
    if text is None:
        (folder / file).unlink()
    else:
        (folder / file).write_text(text)
    told = refuse(folder)
    assert told.what.startswith(said)
    assert str(told.place) == str(folder / file if file == "record.json" else folder)
