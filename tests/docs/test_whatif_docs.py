"""docs/whatif.md: its commands run, its figures are the benchmark's."""

import json
import re

import pytest
from docs_builder import builder

PAGE = (builder.ROOT / "docs" / "whatif.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```text\n\$ (.+)\n((?:.*\n)*?)```", PAGE)


def test_the_figures_are_those_of_the_benchmark():
    figures = json.loads((builder.ROOT / "benchmarks" / "results" / "whatif.json").read_text())["figures"]
    assert 0.85 <= figures["coverage_90"] <= 0.95
    assert f"{figures['coverage_90_runs']} questions" in PAGE
    for rows in (100, 400):
        assert f"{100 * figures[f'coverage_90_{rows}']:.1f} %" in PAGE
        for key in (f"error_{rows}", f"error_follow_{rows}"):
            assert f"{figures[key]:.3f}" in PAGE
    assert (
        f"With `--follow`, {100 * figures['coverage_90_follow']:.1f} % of {figures['coverage_90_follow_runs']}" in PAGE
    )
    assert figures["refused"] == 1.0
    assert f"took {figures['seconds_ratio']:.1f} times" in PAGE
    assert f"{figures['seconds_ratio_refits']:.1f} times as long as all teachers" in PAGE


def test_the_page_asks_five_questions():
    assert [command.partition(" runs/clinic")[0] for command, _ in BLOCKS] == ["crda-spec whatif"] * 4 + [
        "crda-spec effects"
    ]


@pytest.mark.slow
def test_every_command_says_what_the_page_says(tmp_path):
    """Numbers may move with the versions of the libraries, and the seal with them; the words may not."""
    run = tmp_path / "clinic"
    builder.printed(f"crda-spec run examples/clinic/spec.yaml --quiet --jobs 1 --out {run}")
    for command, told in BLOCKS:
        said = builder.printed(command.replace("runs/clinic", str(run)))
        said = "".join(f"{line}\n" for line in said.splitlines() if not line.startswith("fit the teacher"))
        assert _words(said) == _words(told), command


def _words(text):
    text = re.sub(r"record [0-9a-f]{12}", "record", text)
    return re.findall(r"[A-Za-z_]+", re.sub(r"[-+]?\d[\d.]*(?:e-?\d+)?", "", text))
