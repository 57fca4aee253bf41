"""Runs whose student is an estimator of another package: by name the same bytes, as an object the record says so."""

import json

import numpy as np
import pytest
import yaml
from lightgbm import LGBMRegressor
from sklearn.linear_model import Ridge
from sklearn.neighbors import KNeighborsRegressor
from typer.testing import CliRunner

import crda_spec
from crda_spec.cli.app import app
from crda_spec.errors import SpecError


class House(Ridge):
    """A user's own class."""


def spec_of(**more):
    return {
        "version": 1,
        "name": "fields",
        "recipe": "paper",
        "dataset": {"source": {"kind": "synthetic", "world": "crop_yield", "rows": 60}, "target": "grain_yield"},
        "gate": {"kind": "wilcoxon", "folds": 8},
        "output": {"diagnostics": False, "plots": False},
        **more,
    }


BY_NAME = {"kind": "sklearn", "class": "lightgbm.LGBMRegressor", "params": {"n_estimators": 9}}


def files(folder):
    """By name; what the clock says is left out."""
    found = {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    record = json.loads(found["record.json"])
    del record["volatile"]
    return {**found, "record.json": record, "ro-crate-metadata.json": None}


@pytest.fixture(scope="module")
def named(tmp_path_factory):
    return crda_spec.run(spec_of(regressor=BY_NAME)).save(tmp_path_factory.mktemp("named") / "run")


def test_an_object_and_its_spec_are_the_same_run(named, tmp_path):
    run = crda_spec.run(spec_of(), estimator=LGBMRegressor(n_estimators=9, random_state=5))
    assert files(run.save(tmp_path / "run")) == files(named)
    assert "estimator.skops" in {path.name for path in (named / "model").iterdir()}
    record = json.loads((named / "record.json").read_text())
    assert record["regressor"] == BY_NAME
    assert "lightgbm" in record["versions"]
    assert "reproducible" not in record


def test_such_a_run_is_verified_to_the_last_byte(named):
    result = CliRunner().invoke(app, ["verify", str(named), "--depth", "full"])
    assert result.exit_code == 0, result.output


@pytest.fixture(scope="module")
def own():
    return crda_spec.run(spec_of(), estimator=House(2.0))


def test_an_object_that_no_spec_can_make_runs_in_memory_and_the_record_says_so(own, tmp_path):
    folder = own.save(tmp_path / "run")
    record = json.loads((folder / "record.json").read_text())
    written = yaml.safe_load((folder / "spec.yaml").read_text())["regressor"]
    assert record["reproducible"] is False
    assert written == {"kind": "object", "class": f"{__name__}.House", "params": {"alpha": 2.0}, "trees": False}
    why = f"House holds types of packages that are not allowed, or no classes: {__name__}.House"
    assert record["unsaved"] == {"model": why, "teacher": why}
    assert not (folder / "model").exists()
    rows = own.augmented[list(own.result.split.train.names)].head(5)
    np.testing.assert_array_equal(own.predict(rows)["prediction"], own.model.predict(own.result.split.train.x[:5]))


def test_verify_says_what_it_cannot_fit_again(own, tmp_path):
    folder = own.save(tmp_path / "run")
    result = CliRunner().invoke(app, ["verify", str(folder), "--depth", "full"])
    assert result.exit_code == 5, result.output
    said = " ".join(result.output.split())
    assert (
        f"run again: not reproducible from a spec: the regressor is an object of {__name__}.House from Python" in said
    )
    assert "failed" not in said


def test_its_spec_and_its_folder_say_what_to_do(own, tmp_path):
    folder = own.save(tmp_path / "run")
    with pytest.raises(SpecError) as caught:
        crda_spec.run(folder / "spec.yaml")
    assert (
        f"regressor: the regressor is an object of {__name__}.House that Python handed over, and a spec cannot make "
        "it; pass it again: crda_spec.run(spec, estimator=...), or name another regressor"
    ) in str(caught.value)
    assert crda_spec.run(folder / "spec.yaml", estimator=House(2.0)).verdict == own.verdict


def test_members_of_a_committee_go_by_their_classes():
    members = [
        {"kind": "student"},
        *({"kind": "sklearn", "class": f"sklearn.linear_model.{one}"} for one in ("Ridge", "LinearRegression")),
    ]
    teacher = {"kind": "committee", "members": members}
    run = crda_spec.run(spec_of(counterfactual={"teacher": teacher, "residuals": "out_of_fold"}), estimator=House(2.0))
    assert [one.name for one in run.teacher.families] == ["House", "Ridge", "LinearRegression"]


def test_weights_that_it_cannot_use_are_refused():
    with pytest.raises(SpecError) as caught:
        crda_spec.run(spec_of(counterfactual={"weight": 0.5}), estimator=KNeighborsRegressor())
    assert str(caught.value) == (
        "spec: counterfactual.weight: the regressor 'sklearn' takes no row weights, got 0.5; use weight: 1"
    )


def test_every_complaint_of_a_class_has_its_place_in_the_file(tmp_path):
    (tmp_path / "spec.yaml").write_text(
        "version: 1\nname: fields\n"
        "dataset: {source: {kind: synthetic, world: crop_yield, rows: 60}, target: grain_yield}\n"
        "regressor:\n  kind: sklearn\n  class: lightgbm.LGBMRegressor\n  params: {n_estimator: 9}\n"
    )
    with pytest.raises(SpecError) as caught:
        crda_spec.run(tmp_path / "spec.yaml")
    assert str(caught.value) == (
        "spec.yaml:7:25: regressor.params.n_estimator: lightgbm.LGBMRegressor has no parameter 'n_estimator'; "
        "did you mean 'n_estimators'?\n"
        "    7 |   params: {n_estimator: 9}\n"
        "      |                         ^"
    )


@pytest.mark.parametrize(("estimator", "weight"), [(LGBMRegressor(), 0.3), (Ridge(), 1.0), (House(), 1.0)])
def test_recipes_treat_trees_as_trees(estimator, weight):
    graph = {"kind": "edges", "edges": ["{rain soil fertilizer} -> grain_yield"]}
    from crda_spec.spec.load import read_draft

    draft = read_draft({**spec_of(causal={"graph": graph}), "recipe": "certified"}, environ={}, estimator=estimator)
    assert draft.sound().counterfactual.weight == weight
