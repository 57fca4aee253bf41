"""Python and the command line call the same functions, and hear the same."""

import json
from pathlib import Path

from patients import rows, spec_of

import crda_spec
from crda_spec import CausalGraph


def test_a_first_spec_of_a_file_is_the_commands(command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows().to_csv("patients.csv", index=False)
    Path("graph.txt").write_text("{age dose clinic} -> recovery\n")
    text = crda_spec.init("patients.csv", target="recovery", graph="graph.txt")
    command("crda-spec", "init", "patients.csv", "--target", "recovery", "--graph", "graph.txt")
    assert text == Path("spec.yaml").read_text()


def test_discovery_of_a_frame_and_of_its_file_agree(command, tmp_path):
    frame = rows(200)
    found = crda_spec.discover(frame, target="recovery", resamples=10)
    assert type(found.graph) is CausalGraph
    assert found.graph.target == "recovery"
    assert set(found.links.columns) == {"first", "mark", "second", "resamples"}
    frame.to_csv(tmp_path / "patients.csv", index=False)
    line = ("discover", tmp_path / "patients.csv", "--target", "recovery", "--resamples", "10", "--format", "edges")
    edges = [one for one in command("crda-spec", *line).out.splitlines() if one and not one.startswith("#")]
    assert tuple(edges) == found.graph.to_edges()
    assert found._repr_html_().startswith("<svg")
    assert str(found).startswith("PC, alpha 0.05, on 200 rows of data frame")


def test_verify_says_what_the_command_says(command, tmp_path):
    folder = crda_spec.run(spec_of(), data=rows()).save(tmp_path / "run")
    found = crda_spec.verify(folder)
    said = json.loads(command("crda-spec", "verify", folder, "--json").out)
    assert [one["name"] for one in said["checks"]] == [one.name for one in found.checks]
    assert (found.exit_status, found.findings) == (5, ())  # the rows are not in the folder
    assert "none was handed over" in str(found)
    (folder / "folds.csv").write_text("")
    broken = crda_spec.verify(folder, depth="files")
    assert broken.exit_status == 4
    assert [one.where for one in broken.findings] == ["folds.csv", "ro-crate-metadata.json"]
    assert str(broken) == "NOT VERIFIED: files (depth files)"
