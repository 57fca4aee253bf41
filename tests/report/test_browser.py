"""Reports in a real browser, from disk, with the network off: nothing leaves the page or spills over its edge."""

from __future__ import annotations

import re
import shlex

import pytest
from chromium import BINARY, Chromium
from test_compare import compared
from test_html import page

from crda_spec.report.compare import render_comparison

pytestmark = [
    pytest.mark.skipif(BINARY is None, reason="no Chromium on this machine (Debian: apt-get install chromium)"),
]
KINDS = ("accepted", "abstained", "discovered", "hostile")

# Words that reach over the edge of the window. What scrolls inside its own frame, or is there for screen readers only,
# is meant to.
SPILLED = """
Array.from(document.querySelectorAll("body *")).filter(function (part) {
  if (part.closest(".scroll, pre, thead, svg") && !part.matches(".scroll, pre, figure > svg")) return false;
  var box = part.getBoundingClientRect();
  return box.width > 0 && (box.right > document.documentElement.clientWidth + 1 || box.left < -1);
}).map(function (part) { return part.tagName + "." + part.className + ": " + part.textContent.slice(0, 40); })
"""
# Contrast of every text with the ground behind it, after WCAG: 4.5 at least, 3 for large letters.
FAINT = """
(function () {
  function channel(c) { c /= 255; return c <= 0.03928 ? c / 12.92 : Math.pow((c + 0.055) / 1.055, 2.4); }
  function numbers(colour) { return colour.match(/[\\d.]+/g).map(Number); }
  function light(c) { return 0.2126 * channel(c[0]) + 0.7152 * channel(c[1]) + 0.0722 * channel(c[2]); }
  function ground(part) {
    for (var at = part; at; at = at.parentElement) {
      var c = numbers(getComputedStyle(at).backgroundColor);
      if (c.length < 4 || c[3] > 0) return c;
    }
    return numbers(getComputedStyle(document.body).backgroundColor);
  }
  var faint = [];
  document.querySelectorAll("body *").forEach(function (part) {
    if (!Array.from(part.childNodes).some(function (n) { return n.nodeType === 3 && n.textContent.trim(); })) return;
    if (part.closest("script, style, details:not([open]) > :not(summary)")) return;
    var style = getComputedStyle(part), drawn = part.namespaceURI.indexOf("svg") > 0;
    if (drawn && (part.tagName !== "text" || part.closest("g[class]"))) return;  // boxes have their own tint
    var ink = light(numbers(drawn ? style.fill : style.color)), back = light(ground(part));
    var ratio = (Math.max(ink, back) + 0.05) / (Math.min(ink, back) + 0.05);
    if (ratio < 4.5) faint.push(ratio.toFixed(2) + " " + part.tagName + "." + part.className.toString());
  });
  return Array.from(new Set(faint));
})()
"""


# Ordinary words that stand on two lines: a column was too narrow for them. Names and code may be long, and may break.
BROKEN = """
(function () {
  var found = [], walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT), range = document.createRange();
  for (var node = walk.nextNode(); node; node = walk.nextNode()) {
    if (node.parentElement.closest("script, style, svg, pre, code, bdi, h1, thead, .about, .facts")) continue;
    for (var words = /[A-Za-z]{2,20}/g, word = words.exec(node.data); word; word = words.exec(node.data)) {
      range.setStart(node, word.index);
      range.setEnd(node, word.index + word[0].length);
      var tops = Array.from(range.getClientRects()).map(function (box) { return Math.round(box.top); });
      if (new Set(tops).size > 1) found.push(word[0] + " in " + node.parentElement.tagName);
    }
  }
  return found;
})()
"""
# Of each picture in an unfolded part: its name, the room that it and what stands beside it leave unused at the right,
# whether it fills its own figure, and the size of its letters in pixels.
PLOTS = """
(function () {
  return Array.from(document.querySelectorAll(".folded figure svg")).map(function (drawing) {
    var part = drawing.closest(".folded"), figure = drawing.closest("figure");
    var style = getComputedStyle(part), box = part.getBoundingClientRect();
    var edge = box.right - parseFloat(style.paddingRight), used = drawing.getBoundingClientRect();
    var row = Array.from(part.querySelectorAll("figure, figure > *, table")).map(function (one) {
      return one.getBoundingClientRect();
    }).filter(function (one) { return one.top < used.bottom && one.bottom > used.top; });
    var right = Math.max.apply(null, row.map(function (one) { return one.right; }));
    var room = drawing.parentElement.getBoundingClientRect();
    var cell = getComputedStyle(figure).display === "grid" ? used.width : room.width;
    return [drawing.querySelector("title").textContent, edge - right, used.width / cell,
            12 * used.width / drawing.viewBox.baseVal.width];
  });
})()
"""
# Pixels from top to bottom while all is folded, by the window's width.
TALLEST = {1400: 4900, 800: 6500, 400: 9200}


@pytest.fixture(scope="module")
def browser():
    with Chromium() as started:
        yield started


@pytest.fixture
def opened(browser, build, tmp_path):
    """Opens the page of a run of some kind."""

    def at(kind, **how):
        file = tmp_path / f"{kind}.html"
        if not file.exists():
            file.write_text(page(build(kind)), encoding="utf-8")
        browser.open(file, **how)
        return file

    return at


def middle(browser, selector):
    box = browser.ask(
        f"(function () {{ var part = document.querySelector({selector!r}); part.scrollIntoView({{block: 'center'}});"
        " var box = part.getBoundingClientRect();"
        " return [box.left + box.width / 2, box.top + box.height / 2]; })()"
    )
    return box[0], box[1]


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_leaves_the_page_and_nothing_spills_over(browser, opened, kind):
    file = opened(kind, width=1400)
    for width in (1400, 900, 700, 400):
        browser.resize(width)
        assert browser.ask("document.documentElement.scrollWidth") <= width
        assert browser.ask(SPILLED) == []
        browser.ask("document.querySelectorAll('details').forEach(function (part) { part.open = true; })")
        assert browser.ask("Array.from(document.querySelectorAll('details')).every(function (p) { return p.open; })")
        assert browser.ask("document.documentElement.scrollWidth") <= width
        assert browser.ask(SPILLED) == []
    assert set(browser.requests) == {file.resolve().as_uri()}
    assert browser.errors == []


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_every_word_can_be_read(browser, opened, dark):
    opened("accepted", dark=dark)
    ground = browser.ask("getComputedStyle(document.body).backgroundColor")
    assert (sum(map(int, re.findall(r"\d+", ground)[:3])) < 200) == dark
    assert browser.ask(FAINT) == []


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("kind", ["accepted", "abstained", "discovered"])
@pytest.mark.parametrize("width", TALLEST)
def test_folded_it_is_short_and_no_word_is_broken(browser, opened, kind, width, dark):
    opened(kind, width=width, dark=dark)
    assert browser.ask("document.documentElement.scrollHeight") <= TALLEST[width]
    assert browser.ask("document.documentElement.scrollWidth") <= width
    assert browser.ask(BROKEN) == []
    browser.ask("document.querySelectorAll('details').forEach(function (part) { part.open = true; })")
    assert browser.ask("document.documentElement.scrollWidth") <= width
    assert browser.ask(BROKEN) == []


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("kind", ["accepted", "supported", "ensemble"])
@pytest.mark.parametrize("width", TALLEST)
def test_plots_in_unfolded_parts_use_the_width_and_can_be_read(browser, opened, kind, width, dark):
    opened(kind, width=width, dark=dark)
    browser.ask("document.querySelectorAll('details').forEach(function (part) { part.open = true; })")
    plots = browser.ask(PLOTS)
    assert len(plots) >= 3
    for name, _, filled, letters in plots:
        assert filled >= 0.99, name
        assert 8.5 <= letters <= 20.0, name
    # A last picture without a partner may leave the other half of its row free; the others fill theirs.
    assert sum(unused > 4 for _, unused, _, _ in plots) <= 2
    assert browser.ask("document.documentElement.scrollWidth") <= width
    assert browser.ask(SPILLED) == []


def test_the_page_says_where_it_lies_and_of_when_it_is(browser, build, tmp_path):
    """Neither is in its bytes, which are the same for the same run."""
    folder = tmp_path / "it's here" / "20261117-102822-d9daf6"
    folder.mkdir(parents=True)
    (folder / "report.html").write_text(page(build("accepted")), encoding="utf-8")
    browser.open(folder / "report.html")
    assert browser.ask("document.getElementById('made').textContent") == "2026-11-17 10:28 UTC"
    command = shlex.split(browser.ask("document.getElementById('check').textContent"))
    assert command == ["crda-spec", "verify", str(folder)]
    (tmp_path / "report.html").write_text(page(build("accepted")), encoding="utf-8")
    browser.open(tmp_path / "report.html")
    assert browser.ask("document.getElementById('made').textContent").endswith(" (of this file)")


def test_a_link_into_a_folded_part_unfolds_it(browser, opened):
    opened("accepted")
    browser.ask("location.hash = '#feature-3'")
    browser.ask("new Promise(function (done) { setTimeout(done, 50); })")
    assert browser.ask("document.getElementById('feature-3').closest('details').open") is True


def test_a_section_opens_at_a_click(browser, opened):
    opened("accepted")
    assert browser.ask("document.querySelector('details').open") is False
    browser.click(*middle(browser, "summary"))
    assert browser.ask("document.querySelector('details').open") is True


def test_a_box_tells_its_verdict_reason_and_path_when_pointed_at(browser, opened):
    opened("accepted")
    assert browser.ask("document.getElementById('asked').textContent").startswith("Point at a box")
    browser.hover(*middle(browser, "a[href='#feature-1'] rect"))
    told = browser.ask("document.getElementById('asked').textContent")
    for said in (
        "dose",
        "(mg/day)",
        "blocked",
        "An unmeasured cause of recovery also drives it.",
        "Open path: recovery <- severity -> dose",
    ):
        assert said in told
    lit = browser.ask(
        "Array.from(document.querySelectorAll('.node.lit text')).map(function (t) { return t.textContent; })"
    )
    assert set(lit) == {"dose", "severity", "recovery"}
    assert browser.ask("document.querySelectorAll('.link.lit').length") == 2
    browser.hover(5, 5)
    assert browser.ask("document.querySelectorAll('.lit').length") == 0
    assert browser.ask("document.getElementById('asked').textContent").startswith("Point at a box")


@pytest.mark.parametrize("width", [1400, 1000, 400])
def test_the_panel_lies_under_the_graph_and_not_beside_it(browser, opened, width):
    opened("accepted", width=width)
    edges = browser.ask(
        "['#asked', '#asked + *', 'h2'].map("
        "function (one) { return document.querySelector(one).getBoundingClientRect().left; })"
    )
    assert max(edges) - min(edges) <= 1


@pytest.mark.parametrize("height", [500, 900])
def test_the_panel_is_in_the_window_and_never_covers_the_box_that_is_asked(browser, opened, height):
    opened("accepted", height=height)
    for number in range(1, 6):
        browser.hover(*middle(browser, f"a[href='#feature-{number}'] rect"))
        panel, box = browser.ask(
            f"['#asked', \"a[href='#feature-{number}'] rect\"].map(function (one) {{ var box ="
            " document.querySelector(one).getBoundingClientRect(); return [box.top, box.bottom]; })"
        )
        assert panel[0] >= 0
        assert panel[1] <= height
        assert panel[1] <= box[0] or box[1] <= panel[0]
        upper = browser.ask("document.getElementById('asked').classList.contains('upper')")
        foot = height - (panel[1] - panel[0]) - 16
        assert not upper or box[1] > foot - 4, "headings are covered only where the foot of the window cannot be"


def test_the_keyboard_reaches_every_box(browser, opened):
    opened("accepted")
    boxes = browser.ask("document.querySelectorAll('[data-node]').length")
    browser.ask("document.querySelector('[data-node]').focus()")
    seen = set()
    for _ in range(boxes):
        seen.add(browser.ask("document.activeElement.getAttribute('data-node')"))
        assert browser.ask("document.activeElement.classList.contains('lit')")
        browser.press("ArrowRight")
    assert len(seen) == boxes == 8
    browser.press("Escape")
    assert browser.ask("document.querySelectorAll('.lit').length") == 0
    browser.press("Tab")
    assert browser.ask("document.activeElement.hasAttribute('data-node')")


def test_a_features_box_leads_to_its_row(browser, opened):
    opened("accepted")
    browser.click(*middle(browser, "a[href='#feature-3'] rect"))
    assert browser.ask("document.querySelector(':target th').textContent").startswith("ward")


def test_without_scripts_the_page_says_the_same(browser, opened, build):
    opened("accepted")
    with_script = browser.ask("document.querySelector('main').innerText")
    opened("accepted", scripts=False)
    without = browser.ask("document.querySelector('main').innerText")
    lost = set(with_script.splitlines()) - set(without.splitlines())
    assert all(re.search("Point at a box|of this file|crda-spec verify", line) for line in lost), lost
    assert browser.ask("document.querySelector('[data-node] title').textContent.length") > 10
    assert browser.ask("document.getElementById('asked').hidden") is True


def test_hostile_names_run_nothing_and_keep_their_place(browser, opened):
    opened("hostile")
    assert browser.errors == []
    assert browser.ask("document.scripts.length") == 1
    assert browser.ask("document.querySelectorAll('img, iframe, b').length") == 0
    browser.ask("document.querySelectorAll('[data-node]').forEach(function (node) { node.focus(); })")
    assert browser.ask("document.scripts.length") == 1, "asking a box makes no markup of its name"
    assert "<script>alert(1)</script>" in browser.ask("document.body.innerText")
    assert browser.ask(SPILLED) == []


def test_on_paper_it_is_light_and_whole(browser, opened):
    opened("accepted", dark=True)
    browser.media(dark=True, kind="print")
    assert browser.ask("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert browser.ask("getComputedStyle(document.getElementById('asked')).display") == "none"
    paper = browser.paper()
    assert paper.startswith(b"%PDF")
    assert len(re.findall(rb"/Type\s*/Page\b", paper)) == 1
    assert browser.ask("getComputedStyle(document.querySelector('.folds')).display") == "none"


@pytest.mark.parametrize("width", [1400, 400])
def test_a_comparison_keeps_its_place_too(browser, build, tmp_path, width):
    file = tmp_path / "compare.html"
    runs = [compared(build(kind), name) for kind, name in (("accepted", "a" * 300), ("hostile", "<b>\u202e"))]
    file.write_text(render_comparison([*runs, *runs]), encoding="utf-8")
    browser.open(file, width=width)
    assert browser.ask("document.documentElement.scrollWidth") <= width
    assert browser.ask(SPILLED) == []
    assert set(browser.requests) == {file.resolve().as_uri()}
    assert browser.errors == []
