"""README.md and the reference of the run folder: the spec and the files that they show are the real ones."""

import json
import re
import sys
from pathlib import Path

import pandas as pd
import pytest
import yaml
from docs_builder import builder

from crda_spec.cli.app import run_main

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()
FOLDER = (ROOT / "docs" / "reference" / "run-folder.md").read_text()


def section(page, title):
    return page.partition(f"\n## {title}\n")[2].partition("\n## ")[0]


@pytest.fixture
def spec(tmp_path):
    """The spec shown, beside its table."""
    (text,) = re.findall(r"```yaml\n(.+?)```", section(README, "Your own table"), re.DOTALL)
    table = pd.read_csv(ROOT / "examples" / "clinic" / "patients.csv")
    table = table[["age", "bmi", "comorbidities", "therapy_hours", "dose", "recovery"]]
    table.to_csv(tmp_path / "patients.csv", index=False)
    file = tmp_path / "spec.yaml"
    file.write_text(text)
    return file


def test_the_spec_shown_is_sound(spec):
    assert builder.printed(f"crda-spec validate {spec}") == (
        "spec.yaml: valid (300 of 300 rows: 240 to train, 60 to test); "
        f"see what it would do with: crda-spec plan {spec}, run it with: crda-run {spec}\n"
    )
    plan = json.loads(builder.printed(f"crda-spec plan {spec} --json"))
    free = {one["name"] for one in plan["features"] if one["may_move"]}
    assert free == {"age", "bmi", "comorbidities", "therapy_hours"}


def test_it_begins_with_the_two_commands_for_a_fresh_machine():
    start = section(README, "Start")
    assert re.findall(r"^```\n(.+?)\n```", start, re.DOTALL | re.MULTILINE) == [
        "git clone REPOSITORY crda-spec && cd crda-spec && python3 -m venv .venv && . .venv/bin/activate",
        "pip install . && crda-run specs/quickstart.yaml",
        'pip install -e ".[dev]" && pytest',
    ]


def test_it_fits_on_two_screens():
    """What comes before the output of the first run is one, and so is the rest without that output."""
    output = re.search(r"^```text\n.+?^```\n", README, re.DOTALL | re.MULTILINE)
    assert len(README.splitlines()) - len(output[0].splitlines()) <= 95
    assert len(output[0].splitlines()) <= 42


@pytest.mark.slow
def test_the_files_of_a_run_are_listed(tmp_path):
    told = FOLDER.partition("Where you ask for it")[0]
    rows = re.findall(r"^\| (`.+?) \|", told, re.MULTILINE)
    listed = {name.rstrip("/") for row in rows for name in re.findall(r"`([\w.-]+/?)`", row)}
    spec = tmp_path / "spec.yaml"
    small = yaml.safe_load((ROOT / "specs" / "quickstart.yaml").read_text()) | {"regressor": {"kind": "linear"}}
    spec.write_text(yaml.safe_dump(small))
    run_folder = tmp_path / "run"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", ["crda-run", str(spec), "--quiet", "--jobs", "1", "--out", str(run_folder)])
        with pytest.raises(SystemExit, match=r"^0$"):
            run_main()
    assert listed == {file.name for file in run_folder.iterdir()}


def test_what_may_move_is_told_as_the_quickstart_tells_it(tmp_path, capsys):
    """The certificate does not hang on the regressor, so a cheap one will do."""
    members = [{"kind": "linear"}, {"kind": "ridge"}]
    teacher = {"kind": "committee", "hedge": True, "members": members}
    cheap = {"regressor": {"kind": "linear"}, "counterfactual": {"teacher": teacher}}
    spec = tmp_path / "spec.yaml"
    whole = yaml.safe_load((ROOT / "specs" / "quickstart.yaml").read_text()) | cheap | {"gate": {"enabled": False}}
    spec.write_text(yaml.safe_dump(whole))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", ["crda-run", str(spec), "--jobs", "1", "--out", str(tmp_path / "run")])
        with pytest.raises(SystemExit, match=r"^0$"):
            run_main()
    # Cheap members do not bear the irrelevant features out, so these are another matter.
    told = section(README, "Start").partition("\n  cause  ")[2].partition("\n\nWHERE THE GAIN")[0]
    assert "neighbourhood -> buyer_urgency -> price" in told
    assert told in capsys.readouterr().out


@pytest.mark.parametrize("folder", ["examples/clinic", "specs"])
def test_the_specs_it_points_to_are_sound(folder):
    for spec in sorted((ROOT / folder).glob("*.yaml")):
        said = builder.printed(f"crda-spec validate {spec.relative_to(ROOT)}")
        assert said.startswith(f"{spec.name}: valid"), said
