"""`crda-spec plan`: what it promises is what a run then does."""

import json
from pathlib import Path

import pytest

SPECS = Path(__file__).parents[2] / "specs"
QUICK = ("--set", "dataset.source.rows=80", "--set", "regressor={kind: ridge}")


@pytest.mark.parametrize("name", ["clinical_recovery", "paper_synthetic_discovery", "bidding_war"])
@pytest.mark.parametrize(
    "more",
    [
        pytest.param((), id="paper"),
        pytest.param(("--set", "recipe=distilled"), id="distilled"),
        pytest.param(("--set", "tune={kind: randomized, trials: 2, folds: 3}"), id="tuned"),
    ],
)
def test_a_run_needs_as_many_fits_and_rows_as_planned(name, more, command, tmp_path):
    planned = json.loads(command("crda-spec", "plan", SPECS / f"{name}.yaml", *QUICK, *more, "--json").out)
    printed = command("crda-run", SPECS / f"{name}.yaml", *QUICK, *more, "--json", "--out", tmp_path / "run").out
    record = json.loads(printed)
    assert record["counterfactuals"]["rows"] == planned["rows"]["synthetic"]
    assert (record["data"]["train_rows"], record["data"]["test_rows"]) == (
        planned["rows"]["train"],
        planned["rows"]["test"],
    )
    idle = sum(not fold["perturbed"] for fold in record["verdict"]["folds"])
    assert record["fits"] == planned["fits"]["at_most"] - idle
    certain = {one["name"] for one in planned["features"] if one["may_move"] and not one["held_by_spec"]}
    if planned["features"]:
        assert set(record["certificate"]["perturbed"]) <= certain


def test_the_plan_as_text(command):
    text = command("crda-spec", "plan", SPECS / "clinical_recovery.yaml").out
    assert text.splitlines()[:3] == [
        "Plan of clinical_recovery",
        "  rows: 480 to train, 120 to test, 600 to make",
        "  what may move: decided by the declared graph",
    ]
    assert "    fixed  dose: the unmeasured severity drives both dose and recovery" in text
    assert "    kept   comorbidities: " in text
    assert text.splitlines()[-1] == "  fits: at most 22 (2 in each of 10 folds and on all rows)"
