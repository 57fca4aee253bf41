"""No page claims more than was shown."""

from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted(ROOT.glob("docs/**/*.md")), *sorted(ROOT.glob("crda_spec/**/*.py"))]


@pytest.mark.parametrize("phrase", ["cannot create a false acceptance", "to the letter"])
def test_no_page_uses_a_phrase_that_says_too_much(phrase):
    assert [str(page.relative_to(ROOT)) for page in PAGES if phrase in page.read_text(encoding="utf-8")] == []


def test_the_gates_page_says_what_its_level_is_worth_and_whose_result_that_is():
    page = (ROOT / "docs" / "gate.md").read_text(encoding="utf-8")
    for source in ("Bengio, Grandvalet (2004)", "Rüschendorf (1982)", "Vovk, Wang (2020)", "kind: corrected_t"):
        assert source in page
