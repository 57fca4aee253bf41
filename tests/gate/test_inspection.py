"""What the report adds to a run: controls, and what the new rows are like; the method needs none of it."""

import json
from pathlib import Path

import pytest

from crda_spec.audit.files import finish_run
from crda_spec.pipeline import run
from crda_spec.report.progress import Silent
from crda_spec.spec.build import build_plan
from crda_spec.spec.check import load_spec

SPEC = """\
version: 1
recipe: paper
name: control
seed: 4
dataset: {{source: {{kind: synthetic, world: bidding_war, rows: 120}}, target: price}}
causal: {{graph: {{kind: edges, edges: ["{{area rooms age garage station_distance}} -> price"]}}}}
falsify: {{on_falsified: ignore}}
partition: {{perturb: [area, rooms], joint: null}}
regressor: {{kind: {kind}}}
counterfactual: {{teacher: {{kind: crossfit, folds: 4}}, retention: {retention}, factor: 2.0}}
gate: {{kind: wilcoxon, folds: 5}}
execution: {{jobs: 1}}
output: {{diagnostics: {wanted}}}
"""


def ran(folder: Path, *, retention: float = 0.0, wanted: str = "true", kind: str = "ridge"):
    folder.mkdir(exist_ok=True)
    (folder / "spec.yaml").write_text(SPEC.format(retention=retention, wanted=wanted, kind=kind))
    spec, draft = load_spec(folder / "spec.yaml")
    result = run(build_plan(spec, draft), progress=Silent())
    return result, finish_run(result, spec=spec, draft=draft, folder=folder / "run").folder


def test_labels_with_all_their_in_sample_noise_are_the_rows_own(tmp_path):
    """With retention 1 and in-sample residuals the relabelled rows are the training rows: the same least squares."""
    result, _ = ran(tmp_path, retention=1.0, kind="linear")
    (control,) = result.controls.models
    assert control.kind == "relabelled"
    assert abs(control.change_percent) < 1e-6
    assert abs(result.score.change_percent) > 1e-3


@pytest.mark.slow
def test_it_costs_the_method_no_fit_and_changes_no_other_number(tmp_path):
    (with_it, folder), (without, other) = ran(tmp_path / "a"), ran(tmp_path / "b", wanted="false")
    assert (without.diagnostics, without.controls) == (None, None)
    assert (with_it.cost.fits, with_it.score, with_it.verdict) == (without.cost.fits, without.score, without.verdict)
    told, bare = (json.loads((one / "record.json").read_text()) for one in (folder, other))
    assert (bare["diagnostics"], bare["controls"]) == (None, None)
    for key in ("counterfactuals", "verdict", "test", "fits", "movements"):
        assert told[key] == bare[key]
    assert not (other / "diagnostics.json").exists()
    drawn = [{path.name for path in (one / "figures").iterdir()} for one in (folder, other)]
    assert drawn[1] == {f"{name}.svg" for name in ("feature_1", "feature_2", "gate", "intervals", "test")}
    assert drawn[1] < drawn[0]


def test_the_folder_holds_numbers_and_pictures_and_the_record_the_numbers(tmp_path):
    result, folder = ran(tmp_path)
    record = json.loads((folder / "record.json").read_text())
    told, controls = record["diagnostics"], record["controls"]["models"]
    assert [one["kind"] for one in controls] == ["relabelled", "without_graph"]
    assert [one["loss"] for one in controls] == [one.loss for one in result.controls.models]
    assert [one["name"] for one in told["moved"]] == ["area", "rooms"]
    assert "plane" not in told["places"]
    points = json.loads((folder / "diagnostics.json").read_text())
    assert len(points["places"]["plane"]["real"]) == 96
    drawn = sorted(path.stem for path in (folder / "figures").glob("*.svg"))
    assert {"rows_plane", "rows_pair_1", "teacher_effects", "error_quantiles", "gain"} <= set(drawn)
    page = (folder / "report.html").read_text()
    assert "What the new rows are like" in page
    assert "Where the gain comes from" in page


@pytest.mark.slow
def test_equal_runs_write_equal_bytes(tmp_path):
    (_, one), (_, two) = ran(tmp_path / "a"), ran(tmp_path / "b")
    for name in ("diagnostics.json", "figures/rows_plane.svg", "figures/gain.svg", "figures/teacher_effects.svg"):
        assert (one / name).read_bytes() == (two / name).read_bytes()
