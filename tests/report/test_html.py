from __future__ import annotations

import re
from html.parser import HTMLParser
from itertools import pairwise

import pytest

from crda_spec.report.graph_svg import graph_svg
from crda_spec.report.html import render_html

VOID = {"meta", "br"}
ALLOWED = {
    *("html", "head", "meta", "title", "style", "body", "header", "main", "footer", "section", "div", "dl", "dt", "dd"),
    *("h1", "h2", "h3", "p", "strong", "bdi", "span", "ul", "li", "code", "pre", "br", "figure", "figcaption"),
    *("table", "caption", "thead", "tbody", "tfoot", "tr", "th", "td", "details", "summary"),
    *("svg", "desc", "g", "path", "rect", "circle", "line", "text"),
}


class Page(HTMLParser):
    """Tags, attributes and text of a page; complains about a tag that does not close."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.attributes, self.words, self.open, self.words_of = [], [], [], [], {}
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += [(tag, key, value) for key, value in attrs]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += [(tag, key, value) for key, value in attrs]

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if "style" not in self.open:
            self.words.append(data)
            self.words_of.setdefault(self.open[-1] if self.open else "", []).append(data)

    @property
    def text(self):
        return re.sub(r"\s+", " ", " ".join(self.words))


def page(run, **changes):
    arguments = {
        "name": "clinic",
        "description": "Does the dose help?",
        "svg": graph_svg(run.certificate.graph, run.certificate.features),
        "record_json": '{"record": "</code><script>alert(3)</script>"}',
        "spec_yaml": "version: 1\nname: clinic # \u202e\n",
    }
    return render_html(run, **(arguments | changes))


def test_the_page_is_wellformed_and_uses_only_harmless_tags(any_run):
    found = Page(page(any_run))
    assert set(found.tags) <= ALLOWED
    assert not [item for item in found.attributes if item[1].startswith("on") or item[1] in ("href", "src", "style")]


def test_nothing_is_fetched(any_run):
    text = page(any_run)
    assert text.replace('xmlns="http://www.w3.org/2000/svg"', "").count("http:") == 0
    assert not re.search(r"https:|url\(|@import|<link|<script|<iframe|<img", text)
    policy = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
    assert f'<meta http-equiv="Content-Security-Policy" content="{policy}">' in text


def test_equal_results_give_equal_bytes(build, run_kind):
    assert page(build(run_kind)) == page(build(run_kind))


def test_hostile_text_is_shown_not_obeyed(build):
    text = page(build("hostile"), name="<script>alert(0)</script>", description="{{ 7 * 7 }} & <b>")
    found = Page(text)
    assert "\u202e" not in text
    assert "\x1b" not in text
    for shown in ("a<b>&\"c'", "<script>alert(1)</script>", "{{ 7 * 7 }} & <b>", "<img src=x onerror=alert(2)>"):
        assert shown in found.text
    assert '{"record": "</code><script>alert(3)</script>"}' in found.text
    assert "version: 1\nname: clinic # \\u202e\n" in found.words_of["code"]


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        (
            "accepted",
            [
                "Accepted: the augmented model is the one to use. The augmented model erred less in 10 of 10 folds;",
                "One model vs one model on 80 test rows: MSE 9.876 -> 8.829, -10.6 % (95 % interval -18.1 to -2.9).",
                "3 of 5 features may move, certified by the declared graph.",
                "Arrows run from cause to effect. A dashed arc with two heads is a hidden common cause. What to see:",
                "Open path: severity -> dose",
                "Measured: pearson r 0.0213, p value 0.61",
                "Warning: The residual is correlated with it (r = 0.1312, p = 0.0041): the model may be misspecified.",
                "delta uniform on [-0.7, 0.7], one delta a row; 12 of 400 brought back inside the contract.",
                "320 to train, 80 to test; 9 rows dropped for missing values, 3 repeated rows dropped.",
                "at least 0, at most 80",
                "one of north, south, intensive",
            ],
        ),
        (
            "rejected",
            [
                "Rejected: the plain model is the one to use.",
                "One plain model on 80 test rows: MSE 9.876 (used).",
                "Not used: the refused augmentation would have scored MSE 9.876 -> 10.03, +1.6 % (95 %",
                "test MSE, augmented (not used)",
            ],
        ),
        (
            "abstained",
            [
                "Abstained: nothing was augmented, the plain model is the one to use. No feature may be perturbed",
                "No synthetic rows were made.",
                "Nothing was tested.",
                "One plain model on 80 test rows: MSE 9.876; there is no augmented model to compare.",
            ],
        ),
        (
            "discovered",
            [
                "2 of 26 features may move, found by discovery, not certified.",
                "Arrows run from cause to effect. A line without a head has no known direction. What to see:",
            ],
        ),
    ],
)
def test_the_page_says(build, kind, said):
    text = Page(page(build(kind))).text
    for sentence in said:
        assert sentence in re.sub(r" +", " ", text)


@pytest.mark.parametrize(("kind", "figures"), [("accepted", 6), ("abstained", 1), ("discovered", 5)])
def test_each_picture_is_named_and_each_figure_says_what_to_see(build, kind, figures):
    run = build(kind)
    found = Page(page(run))
    pictures = [value for tag, key, value in found.attributes if (tag, key) == ("svg", "aria-label")]
    assert len(pictures) == figures
    assert all(len(label) > 20 for label in pictures)
    captions = found.text.count("What to see:")
    assert captions == (4 if run.counterfactuals is not None else 1)


def test_the_headings_are_nested_and_the_tables_have_headers(any_run):
    found = Page(page(any_run))
    levels = [int(tag[1]) for tag in found.tags if re.fullmatch("h[1-6]", tag)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(later - earlier <= 1 for earlier, later in pairwise(levels))
    headers = [tag for tag in found.tags if tag == "th"]
    scopes = [value for tag, key, value in found.attributes if (tag, key) == ("th", "scope")]
    assert len(headers) == len(scopes) > 0


def test_ids_are_unique(any_run):
    ids = [value for _, key, value in Page(page(any_run)).attributes if key == "id"]
    assert len(ids) == len(set(ids)) > 0
