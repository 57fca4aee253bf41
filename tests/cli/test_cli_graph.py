"""`crda-spec graph`: a picture, or the graph in any language, which a spec then takes back."""

import json
import os
import pty
import subprocess
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
import yaml

CLINIC = Path(__file__).parents[2] / "examples" / "clinic"
ENDINGS = {"dagitty": "dag", "dot": "dot", "gml": "gml", "graphml": "graphml"}


def verdicts(command, spec):
    """Every feature's verdict; where an edge was written is the one thing that the format may change."""
    features = json.loads(command("crda-spec", "plan", spec, "--json").out)["features"]
    return [{key: value for key, value in feature.items() if key != "lines"} for feature in features]


@pytest.mark.parametrize("kind", ENDINGS)
@pytest.mark.parametrize("inline", [False, True], ids=["file", "text"])
def test_what_was_exported_certifies_the_same_features(kind, inline, command, tmp_path):
    file = tmp_path / f"clinic.{ENDINGS[kind]}"
    done = command("crda-spec", "graph", CLINIC / "spec.yaml", "--out", file)
    unsaid = ["travel_distance"] if kind == "dagitty" else []
    note = f"note: dagitty has no word for the role unrelated, which these nodes have: {unsaid[0]}\n" if unsaid else ""
    assert (done.code, done.err) == (0, f"{file}\n{note}")
    spec = yaml.safe_load((CLINIC / "spec.yaml").read_text())
    spec["dataset"]["source"]["path"] = str(CLINIC / "patients.csv")
    spec["causal"]["graph"] = {
        "kind": kind,
        **({"text": file.read_text()} if inline else {"path": file.name}),
        "unrelated": unsaid,
    }
    copy = tmp_path / "spec.yaml"
    copy.write_text(yaml.safe_dump(spec))
    assert verdicts(command, copy) == verdicts(command, CLINIC / "spec.yaml")


def test_svg_is_the_default_and_well_formed(command):
    text = command("crda-spec", "graph", CLINIC / "spec.yaml").out
    root = ET.fromstring(text)  # noqa: S314 - our own text
    assert root.tag.endswith("svg")
    assert "severity" in text


def test_png_by_ending_and_through_a_pipe_are_the_same_bytes(command, script, tmp_path):
    file = tmp_path / "clinic.png"
    done = command("crda-spec", "graph", CLINIC / "spec.yaml", "--out", file)
    assert (done.code, done.out, done.err) == (0, "", f"{file}\n")
    line = [script("crda-spec"), "graph", str(CLINIC / "spec.yaml"), "--format", "png"]
    piped = subprocess.run(line, capture_output=True, timeout=120, check=True)
    assert piped.stderr == b""
    assert piped.stdout == file.read_bytes()
    assert piped.stdout.startswith(b"\x89PNG\r\n\x1a\n")


def test_png_is_not_poured_over_a_terminal(script):
    ours, theirs = pty.openpty()
    try:
        line = [script("crda-spec"), "graph", str(CLINIC / "spec.yaml"), "--format", "png"]
        done = subprocess.run(line, stdout=theirs, stderr=subprocess.PIPE, text=True, timeout=120, check=False)
    finally:
        os.close(theirs)
        os.close(ours)
    assert (done.returncode, done.stderr) == (
        2,
        "a PNG picture cannot be printed on a terminal; name a file: --out graph.png, or use > graph.png\n",
    )


def test_edges_are_printed_one_a_line(command):
    lines = command("crda-spec", "graph", CLINIC / "spec.yaml", "--format", "edges").out.splitlines()
    assert "severity -> dose" in lines
    assert len(lines) == 12


def test_a_format_that_cannot_say_everything_says_what_it_loses(command):
    specs = CLINIC.parents[1] / "specs"
    done = command("crda-spec", "graph", specs / "home_energy.yaml", "--format", "dagitty")
    assert done.code == 0
    assert done.err.startswith("note: ")
    assert "noise" in done.err


def test_wrong_uses(command, tmp_path):
    swapped = command("crda-spec", "graph", CLINIC / "spec.yaml", "--out", tmp_path / "clinic.pgn")
    assert (swapped.code, swapped.err) == (
        2,
        "the ending of 'clinic.pgn' tells no format; did you mean '.png'? or say --format\n",
    )
    both = command("crda-spec", "graph", CLINIC / "spec.yaml", "--out", tmp_path / "clinic.txt", "--format", "png")
    assert (both.code, both.err) == (
        2,
        "--format says png, but the ending of 'clinic.txt' says edges; write --out clinic.png, or leave --format out\n",
    )
    assert not (tmp_path / "clinic.txt").exists()
    text = command("crda-spec", "graph", CLINIC / "spec.yaml", "--out", tmp_path / "clinic.txt", "--format", "dagitty")
    assert text.code == 0
    unknown = command("crda-spec", "graph", CLINIC / "spec.yaml", "--out", tmp_path / "clinic.zip")
    assert (unknown.code, unknown.err) == (
        2,
        (
            "the ending of 'clinic.zip' tells no format; "
            "endings: .svg, .png, .txt, .dag, .dagitty, .dot, .gv, .gml, .graphml; or say --format\n"
        ),
    )
    specs = CLINIC.parents[1] / "specs"
    none = command("crda-spec", "graph", specs / "paper_synthetic_discovery.yaml")
    assert none.code == 2
    assert "causal: the spec declares no graph; declare one under causal.graph" in none.err
    nowhere = command("crda-spec", "graph", CLINIC / "spec.yaml", "--out", tmp_path / "no" / "clinic.svg")
    assert nowhere.code == 2
    assert nowhere.err.endswith("no such file or directory; choose another file\n")
