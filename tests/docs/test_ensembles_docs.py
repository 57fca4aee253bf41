"""docs/ensembles.md: its table is the quickstart's own, and it lists the regressors that are refused."""

import json
import re
from pathlib import Path

import pytest

from crda_spec.pipeline import run
from crda_spec.regressors import REGRESSORS
from crda_spec.report.progress import Silent
from crda_spec.report.words.gate import ensemble_rows
from crda_spec.spec.build import build_plan
from crda_spec.spec.check import load_spec
from crda_spec.spec.load import read_draft

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "ensembles.md").read_text()


@pytest.fixture(scope="module")
def found():
    """The quickstart's ensembles. What the gate's folds say changes none of their numbers, so they are left out."""
    changes = (
        *re.findall(r"--set (\S+?)[ `]", PAGE)[-2:],
        "gate.enabled=false",
        "output.diagnostics=false",
        "execution.jobs=1",
    )
    spec, draft = load_spec(ROOT / "specs" / "quickstart.yaml", overrides=changes)
    return run(build_plan(spec, draft), progress=Silent()).ensemble


@pytest.mark.slow
def test_the_table_is_the_quickstarts(found):
    (shown,) = re.findall(r"```\n  models .+?\n  -[- ]+\n(.+?)```", PAGE, re.DOTALL)
    assert [line.split() for line in shown.splitlines()] == [" ".join(row).split() for row in ensemble_rows(found)]


@pytest.mark.slow
def test_its_arithmetic(found):
    """The shares multiply."""
    plain, both = found.scores[2], found.scores[3]
    product = (1 + plain.change_percent / 100) * (1 + both.augmentation_percent / 100)
    assert 100 * (product - 1) == pytest.approx(both.change_percent)
    factors = [f"{1 + part / 100:.3f}" for part in (plain.change_percent, both.augmentation_percent)]
    assert f"{factors[0]} * {factors[1]} = {product:.3f}" in PAGE
    assert f"that is {both.change_percent:.1f} %" in PAGE
    assert min(plain.singles) < plain.singles[0] < max(plain.singles), "model 1 is neither the best nor the worst"


def test_the_regressors_that_are_refused_are_all_named():
    told = PAGE.partition("Models of ")[2].partition(" on the same rows")[0]
    assert set(re.findall(r"`(\w+)`", told)) == {kind for kind, member in REGRESSORS.items() if member.seedless}


def test_the_range_it_names_is_the_schemas():
    schema = json.loads((ROOT / "schemas" / "crda-spec.v1.schema.json").read_text())
    told = schema["$defs"]["Output"]["properties"]["ensemble"]
    assert f"{told['minimum']} to {told['maximum']}; {told['default']}, the default" in PAGE


def test_the_snippet_is_a_spec(tmp_path):
    (shown,) = re.findall(r"```yaml\n(.+?)```", PAGE, re.DOTALL)
    file = tmp_path / "spec.yaml"
    file.write_text((ROOT / "specs" / "quickstart.yaml").read_text() + shown)
    draft = read_draft(file, environ={})
    assert (draft.complaints, draft.spec.output.ensemble) == ([], 5)
