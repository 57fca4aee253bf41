"""What one can do from Python: the examples run, and each function answers."""

import doctest

import pytest
from patients import rows, spec_of

import crda_spec
from crda_spec import SpecError

DOCUMENTED = [name for name in crda_spec.__all__ if not name.startswith("_")]
# Of the errors the root has the example; a spec's keys are documented one by one.
PLAIN = ["RunSpec", *(name for name in DOCUMENTED if name.endswith(("Error", "Warning")) and name != "CrdaError")]


@pytest.mark.parametrize("name", [name for name in DOCUMENTED if name not in PLAIN])
def test_the_examples_run(name):
    found = doctest.DocTestFinder(recurse=False).find(getattr(crda_spec, name), name)
    results = [doctest.DocTestRunner(verbose=False).run(one) for one in found]
    assert sum(one.attempted for one in results) > 0
    assert [one.failed for one in results] == [0]


def test_validate_lists_what_is_wrong():
    assert crda_spec.validate(spec_of(), rows()) == []
    wrong = spec_of(gate={"kind": "wilcoxon", "folds": 0}, dataset={"target": "recoverr"})
    assert [str(one) for one in crda_spec.validate(wrong, rows())] == [
        "spec: gate.folds: must be at least 2, got 0",
        "spec: dataset.target: the data have no column 'recoverr'; did you mean 'recovery'?",
    ]
    assert [one.code for one in crda_spec.validate("nowhere.yaml")] == ["unreadable-spec"]


def test_a_loaded_spec_has_what_its_recipe_fills_in():
    spec = crda_spec.load_spec(spec_of(), rows(), overrides=["gate.folds=8"])
    assert (spec.gate.folds, spec.counterfactual.teacher.kind) == (8, "single")
    with pytest.raises(SpecError, match=r"gate\.folds: must be at least 2, got 0"):
        crda_spec.load_spec(spec_of(), rows(), overrides=["gate.folds=0"])


def test_a_plan_tells_certificate_tests_rows_and_fits():
    plan = crda_spec.plan(spec_of(), rows())
    assert plan.rows["train"] + plan.rows["test"] == 80
    assert plan.certificate["class"].to_dict() == {"age": "cause", "dose": "cause", "clinic": "cause"}
    assert plan.certificate["may move"].all()
    assert (plan.tests["gate"]["folds"], plan.tests["falsify"]["on_falsified"]) == (5, "warn")
    run = crda_spec.run(spec_of(), data=rows())
    assert run.result.cost.fits <= plan.fits["at_most"]
    assert str(plan).startswith("Plan of clinic\n  rows: ")
    assert plan._repr_html_().startswith("<pre>Plan of clinic\n")


def test_a_first_spec_of_a_frame_runs(tmp_path):
    text = crda_spec.init(rows(), target="recovery")
    file = tmp_path / "spec.yaml"
    file.write_text(text)
    assert "source: {kind: frame}" in text
    assert crda_spec.validate(file, rows()) == []


def test_discovery_of_a_spec_takes_its_training_rows(tmp_path):
    rows().to_csv(tmp_path / "patients.csv", index=False)
    source = {"kind": "csv", "path": str(tmp_path / "patients.csv")}
    written = spec_of(dataset={"source": source, "target": "recovery"})
    found = crda_spec.discover(written, method="ges")
    assert found.findings.rows == 64
    assert found.findings.comparison is not None
    assert found.wishes == ("GES takes seconds a search, so no resamples were searched; --resamples 20 asks for them",)


def test_discovery_needs_a_target_of_a_frame():
    with pytest.raises(SpecError, match="'data frame' does not say what to predict; name a column: target"):
        crda_spec.discover(rows())


def test_wrong_arguments_are_named(tmp_path):
    def told(call):
        with pytest.raises(SpecError) as raised:
            call()
        return str(raised.value)

    assert told(lambda: crda_spec.load_spec(5)) == "spec: int is no spec; give a path, a mapping or a RunSpec"
    assert told(lambda: crda_spec.verify(tmp_path, depth="row")) == (
        "depth: there is no depth 'row'; did you mean 'rows'?"
    )
    assert told(lambda: crda_spec.discover(rows(), target="recovery", method="pcs")) == (
        "there is no search 'pcs'; did you mean 'pc'?"
    )
