"""docs/estimators.md: its code runs, and prints what it says."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "estimators.md").read_text()


def test_the_code_of_the_page(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    for block in re.findall(r"```python\n(.*?)```", PAGE, flags=re.DOTALL):
        exec(block.replace("examples/", f"{ROOT}/examples/"), names)  # noqa: S102 - our own page
    decision, *sizes = capsys.readouterr().out.split()
    assert decision in ("accepted", "rejected", "inconclusive")
    assert "# {} {}\n".format(*sizes) in PAGE
    assert {"spec.yaml", "patients.parquet"} == {file.name for file in tmp_path.iterdir()}
