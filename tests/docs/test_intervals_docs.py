"""docs/intervals.md: its keys are the spec's, its numbers those of the clinic, its arithmetic is right."""

import json
import re
from pathlib import Path

import pytest
from docs_builder import builder

from crda_spec.regressors.intervals import Intervals, fewest_units
from crda_spec.spec.load import read_draft

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "intervals.md").read_text()


def test_the_snippet_is_a_spec(tmp_path):
    (shown,) = re.findall(r"```yaml\n(.+?)```", PAGE, re.DOTALL)
    file = tmp_path / "spec.yaml"
    file.write_text((ROOT / "specs" / "quickstart.yaml").read_text() + shown)
    draft = read_draft(file, environ={})
    assert (draft.complaints, draft.spec.output.intervals.levels) == ([], (0.8, 0.95))


def test_forms_defaults_and_rows_needed_are_the_codes():
    forms = re.findall(r"^\| `(\w+)`( \(default\))? \|", PAGE, re.MULTILINE)
    assert forms == [("residuals", " (default)"), ("cv_plus", "")]
    assert Intervals().form == "residuals"
    assert "A level of 0.95 needs 19 held-out rows, 0.99 needs 99" in PAGE
    assert (fewest_units(0.95), fewest_units(0.99)) == (19, 99)
    keys = json.loads((ROOT / "schemas" / "crda-spec.v1.schema.json").read_text())["$defs"]["Intervals"]["properties"]
    assert set(keys) == {"levels", "form", "width"}


def test_the_figures_are_those_that_were_kept():
    """What the page says was measured is in benchmarks/results/intervals.json."""
    figures = json.loads((ROOT / "benchmarks" / "results" / "intervals.json").read_text())["figures"]
    measured = PAGE.partition("\n## What was measured\n")[2]
    for key in ("coverage_90", "coverage_90_worst_table", "coverage_large_noise", "coverage_large_noise_constant"):
        assert f"{figures[key]:.1f} %" in measured, key
    for key in ("score_vs_crepes", "score_vs_mapie", "score_vs_better_peer", "score_vs_constant"):
        assert f"{figures[key]:+.1f} %" in measured, key


@pytest.mark.slow
def test_the_clinic_says_what_the_page_shows(tmp_path):
    shown = re.findall(r"^```\w*\n(.+?)^```", PAGE, re.DOTALL | re.MULTILINE)
    summary, table, answer = (
        next(one for one in shown if one.startswith(head)) for head in ("Interv", "age", "$ crda")
    )
    run, new = tmp_path / "clinic-run", tmp_path / "new.csv"
    new.write_text(table)
    printed = builder.printed(f"crda-spec run {ROOT}/examples/clinic/spec.yaml --verbose --jobs 1 --out {run}")
    assert summary in printed
    first, *lines = answer.splitlines(keepends=True)
    assert first == "$ crda-spec predict clinic-run new.csv --interval 0.9\n"
    said = builder.printed(f"crda-spec predict {run} {new} --interval 0.9").splitlines()
    assert said[0] == lines[0].strip()
    numbers = [[float(cell) for cell in line.split(",")] for line in (*said[1:], *lines[1:])]
    assert numbers[:3] == [pytest.approx(row, rel=1e-6) for row in numbers[3:]]
