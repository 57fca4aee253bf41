"""README.md and docs/commands.md: the spec, the commands and the messages that they show are the real ones."""

import re
import sys
from pathlib import Path

import pytest
import yaml
from docs_builder import builder

from crda_spec.cli.app import app, run_main

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()
COMMANDS = (ROOT / "docs" / "commands.md").read_text()


def section(page, title):
    return page.partition(f"\n## {title}\n")[2].partition("\n## ")[0]


def test_the_spec_shown_is_the_clinics():
    (shown,) = re.findall(r"```yaml\n(.+?)```", section(README, "Your own table"), re.DOTALL)
    assert yaml.safe_load(shown) == yaml.safe_load((ROOT / "examples" / "clinic" / "spec.yaml").read_text())


def test_it_fits_on_two_screens():
    """What comes before the own table is one, and so is the rest; a table's rows are long, prose is not."""
    first, _, second = README.partition("\n## Your own table\n")
    assert len(first.splitlines()) <= 95
    assert len(second.splitlines()) <= 70
    assert max(len(line) for line in README.splitlines() if not line.startswith("|")) <= 130


def test_every_command_is_listed():
    told = re.findall(r"^\| `crda-(?:spec )?(\w+)", COMMANDS.partition("\n## ")[0], re.MULTILINE)
    assert sorted(told) == sorted(command.name for command in app.registered_commands)


@pytest.mark.slow
def test_the_files_of_a_run_are_listed(tmp_path):
    told = section(COMMANDS, "The run folder").partition("It appears whole")[0]
    listed = {name.rstrip("/") for name in re.findall(r"`([\w.-]+(?:\.\w+|/))`", told)}
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


def test_the_messages_shown_are_real(tmp_path):
    lines = ["version: 1", "name: houses", "seed: 1", "recipe: paper", "", "dataset:"]
    lines += ["  source: {kind: cvs, path: houses.csv}", "  target: price", *[""] * 11]
    lines += ["gate:", "  folds: 5", "  kind: wilcoxon", "  alternative: two-sided", ""]
    spec = tmp_path / "spec.yaml"
    spec.write_text("\n".join(lines))
    (shown,) = re.findall(r"```\n(spec\.yaml:.+?)```", section(COMMANDS, "When something is wrong"), re.DOTALL)
    said = builder.printed(f"crda-spec validate {spec}")
    assert " ".join(shown.split()) in " ".join(said.split())


@pytest.mark.parametrize("folder", ["examples/clinic", "specs"])
def test_the_specs_it_points_to_are_sound(folder):
    for spec in sorted((ROOT / folder).glob("*.yaml")):
        said = builder.printed(f"crda-spec validate {spec.relative_to(ROOT)}")
        assert said.startswith(f"{spec.name}: valid"), said
