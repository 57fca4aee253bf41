"""The site in a real browser, read from disk with the network off: nothing spills over, and the search answers."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "report"))

from chromium import BINARY, Chromium
from test_site import site

pytestmark = [
    pytest.mark.skipif(BINARY is None, reason="no Chromium on this machine (Debian: apt-get install chromium)"),
]
__all__ = ["site"]
LOOKED_AT = (
    "index.html",
    "tutorials/first-graph.html",
    "how-to/index.html",
    "reference/spec.html",
    "evidence/gate.html",
)
SPILLS = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
TYPE = """(function () {
  var field = document.querySelector("input.md-search__input");
  field.focus();
  field.value = "collider";
  field.dispatchEvent(new Event("input"));
  field.dispatchEvent(new KeyboardEvent("keyup"));
})()"""


@pytest.fixture(scope="module")
def browser():
    with Chromium() as found:
        yield found


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [400, 1400])
@pytest.mark.parametrize("page", LOOKED_AT)
def test_a_page_fits_its_window_and_asks_for_nothing_from_outside(site, browser, page, width, dark):
    browser.open(site / page, width=width, dark=dark)
    assert browser.ask(SPILLS) <= 0
    assert [url for url in browser.requests if not url.startswith(("file:", "data:", "blob:"))] == []
    assert browser.errors == []


def test_the_search_answers_from_disk(site, browser):
    browser.open(site / "index.html")
    until = time.monotonic() + 20
    while time.monotonic() < until and not browser.ask("document.querySelectorAll('.md-search-result__item').length"):
        browser.ask(TYPE)
        time.sleep(0.2)
    found = browser.ask("Array.from(document.querySelectorAll('.md-search-result__link')).map(one => one.href)")
    assert any(link.partition("?")[0].endswith("explanation/traps.html") for link in found)
    assert browser.errors == []
