"""What users get wrong in a suite: each folder of `broken/` holds a suite and the whole message.

`CRDA_UPDATE_GOLDEN=1 pytest tests/bench/test_bad_suites.py` rewrites the messages; read every one that changed.
"""

import importlib.util
import os
import shutil
import sys
from pathlib import Path

import pytest

from crda_spec.cli.app import main

BROKEN = Path(__file__).parent / "broken"
CASES = sorted(folder.name for folder in BROKEN.iterdir())
UPDATE = os.environ.get("CRDA_UPDATE_GOLDEN") == "1"


@pytest.mark.parametrize("name", CASES)
def test_a_bad_suite_is_refused_before_anything_runs(name, tmp_path, monkeypatch, capsys, computed):
    monkeypatch.delenv("CRDA_DATA_DIR", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", "cache")
    monkeypatch.chdir(tmp_path)
    shutil.copytree(BROKEN / name, tmp_path, dirs_exist_ok=True)
    (tmp_path / "message.txt").unlink(missing_ok=True)
    arguments = tmp_path / "args.txt"
    written = arguments.read_text(encoding="utf-8").splitlines() if arguments.exists() else ["suite.yaml"]
    before = sorted(tmp_path.rglob("*"))
    monkeypatch.setattr(sys, "argv", ["crda-spec", "bench", *written])
    with pytest.raises(SystemExit) as stopped:
        main()
    message = capsys.readouterr()
    golden = BROKEN / name / "message.txt"
    if UPDATE:
        golden.write_text(message.err, encoding="utf-8")
    assert stopped.value.code == 2
    assert message.err == golden.read_text(encoding="utf-8")
    assert message.out == ""
    assert computed == []
    assert sorted(tmp_path.rglob("*")) == before


def test_a_rival_whose_extra_is_missing(tmp_path, monkeypatch, capsys, computed):
    find = importlib.util.find_spec
    absent = ("ctgan", "torch", "catboost")
    monkeypatch.setattr(importlib.util, "find_spec", lambda name, *more: None if name in absent else find(name, *more))
    (tmp_path / "suite.yaml").write_text(
        "version: 1\nname: extras\ntables: [crop_yield]\nsizes: [60]\nregressors: [linear, catboost]\n"
        "augmenters:\n  - mixup\n  - tvae\n  - {name: mine, augmenter: {kind: ctgan}}\n"
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["crda-spec", "bench", "suite.yaml"])
    with pytest.raises(SystemExit) as stopped:
        main()
    assert stopped.value.code == 2
    said = capsys.readouterr().err.splitlines()
    assert said[0].startswith("suite.yaml:5:22: regressors.1: the package catboost is not installed; install it with: ")
    assert said[3].startswith("suite.yaml:8:5: augmenters.1: the package ctgan is not installed")
    assert 'pip install "crda-spec[rivals]"' in said[3]
    assert said[6].startswith("suite.yaml:9:36: augmenters.2.augmenter.kind: ")
    assert 'pip install "crda-spec[rivals]"' in said[6]
    assert said[9] == "3 problems"
    assert computed == []
