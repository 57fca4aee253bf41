"""docs/python.md: its code runs, and prints what it says."""

import re
from pathlib import Path

import pytest

import crda_spec

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "python.md").read_text()
BLOCKS = re.findall(r"```python\n(.*?)```", PAGE, flags=re.DOTALL)
(GRAPH,) = (block for block in BLOCKS if "CausalGraph" in block)
(ESTIMATOR,) = (block for block in BLOCKS if "estimator=" in block)


def test_the_graph_of_the_page(capsys):
    exec(GRAPH, {})  # noqa: S102 - our own page
    assert re.findall(r"(\w+) +(cause|blocked)", capsys.readouterr().out) == [
        ("age", "cause"),
        ("bmi", "cause"),
        ("dose", "blocked"),
        ("therapy_hours", "cause"),
    ]


def test_the_error_of_the_page(tmp_path):
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
    code = BLOCKS[0].replace("examples/", f"{ROOT}/examples/")
    monkeypatch.chdir(tmp_path)
    exec(code, {})  # noqa: S102
    decision, change = capsys.readouterr().out.split()
    assert decision == "accepted"
    assert float(change) < 0
    assert (tmp_path / "runs/from-python/record.json").is_file()


def test_the_page_lists_what_a_run_offers():
    listed = set(re.findall(r"`(\w+)[`(]", PAGE))
    offered = {name for name in dir(crda_spec.Run) if not name.startswith("_")} - {"draft"}
    assert offered <= listed


@pytest.mark.slow
def test_the_estimator_of_the_page(capsys, monkeypatch):
    monkeypatch.chdir(ROOT)
    exec(ESTIMATOR, {})  # noqa: S102 - our own page
    assert capsys.readouterr().out == "sklearn\n"
