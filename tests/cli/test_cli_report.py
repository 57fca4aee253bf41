"""`crda-spec report`: a run's page from its folder alone, and several runs side by side."""

import json

import pytest

SPEC = """
version: 1
recipe: paper
name: small
dataset:
  source: {kind: synthetic, world: paper_synthetic, rows: 60}
  target: y
causal:
  graph: {kind: edges, edges: ["{x1 x2 x3} -> y"]}
partition: {residuals: in_sample, joint: null}
regressor: {kind: ridge}
counterfactual: {factor: 2}
gate: {kind: wilcoxon, folds: 5}
"""


@pytest.fixture
def place(tmp_path, monkeypatch, command):
    """A folder with two finished runs."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "spec.yaml").write_text(SPEC)
    assert command("crda-run", "spec.yaml", "--out", "first", "--quiet").code == 0
    assert command("crda-run", "spec.yaml", "--out", "second", "--quiet", "--set", "counterfactual.factor=3").code == 0
    return tmp_path


def test_one_page_and_a_comparison(place, command):
    page = (place / "first" / "report.html").read_bytes()
    (place / "first" / "report.html").unlink()
    told = command("crda-spec", "report", "first")
    assert (told.code, told.out, told.err) == (0, "first/report.html\n", "")
    assert (place / "first" / "report.html").read_bytes() == page
    told = command("crda-spec", "report", "first", "--out", "elsewhere.html", "--json")
    assert json.loads(told.out) == {"file": "elsewhere.html", "bytes": len(page), "runs": ["first"]}
    assert (place / "elsewhere.html").read_bytes() == page
    told = command("crda-spec", "report", "first", "second")
    assert (told.code, told.out) == (0, "compare.html\n")
    compared = (place / "compare.html").read_text()
    assert "2 runs side by side" in compared
    assert "<code>counterfactual.factor</code></th><td>2.0</td><td>3.0</td>" in compared


def test_figures_as_png(place, command):
    told = command("crda-spec", "report", "first", "--png", "slides")
    assert (told.code, told.out, told.err) == (0, "slides\n", "")
    files = {file.stem: file.read_bytes() for file in (place / "slides").iterdir()}
    assert set(files) == {file.stem for file in (place / "first" / "figures").iterdir()} > {"feature_1", "gate", "test"}
    assert all(data.startswith(b"\x89PNG") for data in files.values())
    told = command("crda-spec", "report", "first", "--png", "more", "--json")
    size = sum(map(len, files.values()))
    assert json.loads(told.out) == {"folder": "more", "bytes": size, "runs": ["first"]}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["nowhere"], "'nowhere' is not the folder of a finished run; name the folder that crda-run wrote"),
        (["first", "--out", "spec.yaml"], "--out: 'spec.yaml' already exists; choose another place with --out"),
        (["first", "--out", "no/page.html"], "--out: there is no folder 'no'; choose another place with --out"),
        (["first", "second", "--out", "spec.yaml"], "--out: 'spec.yaml' already exists"),
        (["first", "--png", "second"], "--png: 'second' already exists; choose another place with --png"),
        (["first", "--png", "no/pictures"], "--png: there is no folder 'no'; choose"),
        (["first", "second", "--png", "new"], "--png: the figures are those of one run, without a page; write"),
        (["first", "--out", "new.html", "--png", "new"], "--png: the figures are those of one run, without a page"),
    ],
)
def test_what_cannot_be_done_is_said(place, command, arguments, said):
    told = command("crda-spec", "report", *arguments)
    assert (told.code, told.out) == (2, "")
    assert told.err.startswith(said)


def test_a_page_that_the_record_does_not_know_may_not_take_its_place(place, command):
    record = json.loads((place / "first" / "record.json").read_text())
    record["verdict"]["sentence"] = "Believe me."
    (place / "first" / "record.json").write_text(json.dumps(record))
    before = (place / "first" / "report.html").read_bytes()
    told = command("crda-spec", "report", "first")
    assert told.code == 4
    assert told.err.startswith("first: record.json: was changed after it was written: its seal is broken;")
    assert (place / "first" / "report.html").read_bytes() == before
