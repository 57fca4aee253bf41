"""No page claims more than was shown."""

import re
from pathlib import Path

import pytest

from crda_spec.regressors.intervals import fewest_units

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted(ROOT.glob("docs/**/*.md")), *sorted(ROOT.glob("crda_spec/**/*.py"))]


@pytest.mark.parametrize("phrase", ["cannot create a false acceptance", "to the letter"])
def test_no_page_uses_a_phrase_that_says_too_much(phrase):
    assert [str(page.relative_to(ROOT)) for page in PAGES if phrase in page.read_text(encoding="utf-8")] == []


def test_the_gates_page_says_what_its_level_is_worth_and_whose_result_that_is():
    page = (ROOT / "docs" / "explanation" / "gate.md").read_text(encoding="utf-8")
    assert "`gate: {kind: corrected_t}`" in page
    assert "Bengio and Grandvalet 2004" in " ".join(page.split())
    page = (ROOT / "docs" / "design" / "gate.md").read_text(encoding="utf-8")
    for source in ("Bengio, Grandvalet (2004)", "Rüschendorf (1982)", "Vovk, Wang (2020)"):
        assert source in page


@pytest.mark.parametrize(("level", "rows"), [(0.95, 19), (0.99, 99)])
def test_the_rows_that_a_level_needs_are_the_codes(level, rows):
    page = (ROOT / "docs" / "explanation" / "intervals.md").read_text(encoding="utf-8")
    assert fewest_units(level) == rows
    assert re.search(rf"{level}\s+needs\s+{rows}\b", page)
