"""docs/python.md: its code runs, in order, and prints what it says."""

import re
from pathlib import Path

import pytest

import crda_spec

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "python.md").read_text()
BLOCKS = re.findall(r"```python\n(.*?)```", PAGE, flags=re.DOTALL)
SETUP, BEFORE, RUN, ASK, ESTIMATOR, KEEP, GRAPH, SEARCH = BLOCKS


def said(blocks, capsys):
    """What the blocks print, and the names that they leave."""
    names: dict[str, object] = {}
    for block in blocks:
        exec(block.replace("examples/", f"{ROOT}/examples/"), names)  # noqa: S102 - our own page
    return capsys.readouterr().out, names


def test_what_the_page_does_before_a_run(capsys):
    out, names = said((SETUP, BEFORE), capsys)
    assert out.startswith("Plan of clinic\n  rows: 240 to train, 60 to test, 3000 to make\n")
    classes = names["graph"].certify(names["patients"].columns)["class"]
    assert classes[["age", "dose", "waist"]].tolist() == ["cause", "blocked", "irrelevant"]
    assert crda_spec.validate(names["spec"], names["patients"]) == []
    assert "target: recovery" in crda_spec.init(names["patients"], target="recovery")


def test_the_graph_and_the_search_of_the_page(capsys):
    assert said((SETUP, GRAPH), capsys)[0] == "{'dose': 'blocked'}\n"
    names = said((SETUP, SEARCH), capsys)[1]
    assert len(names["found"].links)
    assert names["found"].graph.target == "recovery"


def test_the_error_of_the_page():
    import pandas as pd

    (message,) = re.findall(r"```text\n(.*?)\n```", PAGE)
    with pytest.raises(crda_spec.SpecError) as raised:
        crda_spec.run(
            {"version": 1, "name": "clinic", "dataset": {"target": "recoverr"}},
            data=pd.read_csv(ROOT / "examples" / "clinic" / "patients.csv"),
        )
    assert str(raised.value) == message


@pytest.mark.slow
def test_the_run_of_the_page(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    out, names = said((SETUP, RUN, ASK, KEEP), capsys)
    decision, change, status = out.split()
    assert decision in ("accepted", "rejected", "inconclusive")
    assert float(change) < 0
    assert status == "5"
    assert (tmp_path / "runs/from-python/record.json").is_file()
    assert crda_spec.validate("spec.yaml") == []
    assert names["again"].verdict == names["run"].verdict


def test_the_page_lists_what_a_run_offers():
    listed = set(re.findall(r"`(\w+)[`(]", PAGE))
    assert {name for name in dir(crda_spec.Run) if not name.startswith("_")} <= listed


@pytest.mark.slow
def test_the_estimator_of_the_page(capsys, monkeypatch):
    monkeypatch.chdir(ROOT)
    exec(ESTIMATOR, {})  # noqa: S102 - our own page
    assert capsys.readouterr().out == "sklearn\n"
