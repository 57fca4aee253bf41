from __future__ import annotations

import base64
import hashlib
import math
import re
from dataclasses import replace
from html.parser import HTMLParser
from itertools import pairwise

import pytest

from crda_spec.report.page import render_html

VOID = {"meta", "br"}
ALLOWED = {
    *("html", "head", "meta", "title", "style", "body", "header", "main", "footer", "section", "div", "dl", "dt", "dd"),
    *("h1", "h2", "h3", "p", "strong", "bdi", "span", "ul", "li", "code", "pre", "br", "figure", "figcaption"),
    *("table", "caption", "thead", "tbody", "tfoot", "tr", "th", "td", "details", "summary"),
    *("svg", "desc", "g", "path", "rect", "circle", "line", "text", "a", "nav", "script"),
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
        if not {"style", "script"} & set(self.open):
            self.words.append(data)
            self.words_of.setdefault(self.open[-1] if self.open else "", []).append(data)

    @property
    def text(self):
        return re.sub(r"\s+", " ", " ".join(self.words))


def page(run, **changes):
    arguments = {
        "name": "clinic",
        "description": "Does the dose help?",
        "record_json": '{"record": "</code><script>alert(3)</script>"}',
        "spec_yaml": "version: 1\nrecipe: paper\nname: clinic # \u202e\n",
    }
    return render_html(run, **(arguments | changes))


def test_the_page_is_wellformed_and_uses_only_harmless_tags(any_run):
    found = Page(page(any_run))
    assert set(found.tags) <= ALLOWED
    assert not [item for item in found.attributes if item[1].startswith("on") or item[1] == "src"]
    styles = [value for _, key, value in found.attributes if key == "style"]
    assert [value for value in styles if not re.fullmatch(r"width:[\d.]+%", value)] == []
    ids = {value for _, key, value in found.attributes if key == "id"}
    links = [value for _, key, value in found.attributes if key == "href"]
    assert all(link.startswith("#") and link[1:] in ids for link in links), "a link stays inside the page"
    assert found.tags.count("script") == 1


def test_nothing_is_fetched(any_run):
    text = page(any_run)
    assert text.replace('xmlns="http://www.w3.org/2000/svg"', "").count("http:") == 0
    assert not re.search(r"https:|url\(|@import|<link|<iframe|<img", text)
    (script,) = re.findall(r"<script>(.*?)</script>", text, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'unsafe-inline'; img-src data:; script-src 'sha256-{digest}'"
    assert f'<meta http-equiv="Content-Security-Policy" content="{policy}">' in text


def test_equal_results_give_equal_bytes(any_run):
    assert page(any_run) == page(any_run)


def test_hostile_text_is_shown_not_obeyed(build):
    text = page(build("hostile"), name="<script>alert(0)</script>", description="{{ 7 * 7 }} & <b>")
    found = Page(text)
    assert "\u202e" not in text
    assert "\x1b" not in text
    for shown in ("a<b>&\"c'", "<script>alert(1)</script>", "{{ 7 * 7 }} & <b>", "<img src=x onerror=alert(2)>"):
        assert shown in found.text
    assert '{"record": "</code><script>alert(3)</script>"}' in found.text
    assert "version: 1\nrecipe: paper\nname: clinic # \\u202e\n" in found.words_of["code"]


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        (
            "accepted",
            [
                "ACCEPTED Use the augmented model. On 80 test rows its mean squared error is 10.6 % lower (95 %",
                "plain augmented predict the mean RMSE (days) 3.14 2.97 5.01",
                "MAE (days) 2.47 2.33 4.00 R2 0.60 0.65 0.00",
                "estimated 6.7 % lower. The test figure is the one to quote.",
                "The gate: does it help on rows that nobody has seen? The augmented model errs less in",
                "The augmented model erred less in 10 of 10 folds;",
                "blocked dose severity (hidden) drives both it and recovery",
                "The data do not contradict the graph (2 statements tested).",
                "One model vs one model on 80 test rows: MSE 9.876 -> 8.829, -10.6 % (95 % interval -18.1 to -2.9).",
                "4 of 5 features may move, certified by the declared graph.",
                "In this run it moves : the certificate allows it",
                "In this run it stays : it is not certified, and new rows keep to the certificate",
                "Arrows run from cause to effect. A dashed arc with two heads is a hidden common cause. What to see:",
                "Open path: recovery <- severity -> dose Knowing severity would close this path.",
                "Written at: severity -> recovery (causal.graph.edges.5) , severity -> dose (causal.graph.edges.4)",
                "Lemma: ward is a parent of recovery.",
                "What drives recovery and is not measured: Z and severity. A feature may move if none of it is tied",
                "The graph would also let age move, which the spec or the ranking did not choose.",
                "The paper's lemma was checked on this graph, and it holds.",
                "What this assumes The declared graph is the true one. The noise is additive.",
                "What would let more features move",
                "With severity measured and among the features, dose could move.",
                "Not falsified The training rows do not contradict the graph",
                "2 of 4 implied independencies were tested on 320 training rows (partial correlation, alpha 0.05 over",
                "Of 100 graphs of the same shape with shuffled names, 4 % contradict the data no more than this one.",
                "smoker and dose, given age and ward 0.6900 1.000 holds",
                "A hidden cause of recovery and smoker would have to explain 4.3 % of what the features leave open",
                "The gain: the mean held-out squared error fell by 0.6119 (unit: days squared).",
                "exercise (h/week) 2.310 22 % age: 11 % of exercise, 8.3 % of recovery",
                "Measured: pearson r 0.0213, p value 0.61",
                "Warning: The residual is correlated with it (r = 0.1312, p = 0.0041): the model may be misspecified.",
                "delta uniform on [-0.7, 0.7], one delta a row; 12 of 400 brought back inside the contract.",
                "320 to train, 80 to test; 9 rows dropped for missing values, 3 repeated rows dropped.",
                "at least 0, at most 80",
                "one of north, south, intensive",
            ],
        ),
        (
            "supported",
            [
                "4 of 5 features may move with their noise, certified by the declared graph.",
                "In this run 2 features move. The new rows carry no noise, so any feature may move, and only the",
                "data's support is claimed. Not certified, and moved all the same: dose.",
                "In this run it moves : carries no noise, so only the data's support is claimed",
                "2 of them equal their source row. 17 of them were drawn again, off the data or outside a",
                "contract at first. 5 more lay off the data and were left out.",
                "3 of 400 brought back inside the contract",
            ],
        ),
        (
            "rejected",
            [
                "REJECTED Use the plain model. On 80 test rows the refused augmented model's mean squared error is",
                "One plain model on 80 test rows: MSE 9.876 (used).",
                "Not used: the refused augmentation would have scored MSE 9.876 -> 10.03, +1.6 % (95 %",
            ],
        ),
        (
            "abstained",
            [
                "NOTHING TO MOVE No feature may move, so nothing was augmented. Use the plain model.",
                "Why nothing moved",
                "No synthetic rows were made: no feature may move.",
                "Nothing was tested.",
                "One plain model on 80 test rows: MSE 9.876; there is no augmented model to compare.",
            ],
        ),
        (
            "falsified",
            [
                "GRAPH CONTRADICTED The data contradict the graph, so nothing was augmented. Use the plain model.",
                "No synthetic rows were made: the data contradict the declared graph.",
                "Falsified The training rows contradict the graph: smoker and dose are dependent where it says",
                "Under on_falsified: abstain, nothing is augmented on the word of a falsified graph.",
                "62 % contradict the data no more than this one; 5 % say the very same.",
                "Edges that would explain it: smoker -> dose and dose <-> smoker. Draw one only if it makes sense",
                "smoker and dose, given age and ward < 0.0001 < 0.0001 violated",
            ],
        ),
        (
            "recertified",
            [
                "Certified again with smoker -> dose added: dose is blocked instead of cause (by smoker -> dose ).",
                "The run went on by these classes: read its numbers with care, and correct the graph.",
            ],
        ),
        (
            "propagated",
            [
                "What the moved features cause moves with them: ward.",
                "Follows exercise: the uniform of its own row, logistic regression.",
                "Under on_falsified: warn, the run went on: read its numbers with care.",
                "fitted (p = 2e-09): carrying the noise over is doubtful. With a declared graph this only warns:",
            ],
        ),
        (
            "discovered",
            [
                "24 of 26 features may move, found by discovery, not certified. The spec and the ranking chose 2",
                "A line without a head has no known direction. A circle stands where the data leave open whether",
                "What the data were asked FCI (alpha 0.05, given up to 3 columns) and a screen by correlation",
                "Joint check: Together, the 2 features that move do not help to predict the residual or its size",
                "It held fixed: band_08.",
                "About the search: The search stopped before it tried sets of 3 columns:",
            ],
        ),
    ],
)
def test_the_page_says(build, kind, said):
    text = Page(page(build(kind))).text
    for sentence in said:
        assert sentence in re.sub(r" +", " ", text)


@pytest.mark.parametrize(("kind", "figures"), [("accepted", 8), ("propagated", 6), ("abstained", 1), ("discovered", 5)])
def test_each_picture_is_named_and_each_figure_says_what_to_see(build, kind, figures):
    run = build(kind)
    found = Page(page(run))
    pictures = [value for tag, key, value in found.attributes if (tag, key) == ("svg", "aria-label")]
    assert len(pictures) == figures
    assert all(len(label) > 20 for label in pictures)
    captions = found.text.count("What to see:")
    assert captions == (1 if run.counterfactuals is None else 4 if run.sensitivity is None else 5)


SECTIONS = ("falsification", "sensitivity", "remedies")


@pytest.mark.parametrize(
    ("kind", "present"),
    [
        ("accepted", SECTIONS),
        ("rejected", SECTIONS),
        ("falsified", ("falsification", "remedies")),
        ("abstained", ()),
        ("discovered", ()),
    ],
)
def test_a_section_without_anything_to_say_is_absent(build, kind, present):
    ids = {value for _, key, value in Page(page(build(kind))).attributes if key == "id"}
    assert {name for name in SECTIONS if name in ids} == set(present)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"effect_percent": 1.5}, "The gate measured no gain, so there is none that a hidden cause could use up."),
        (
            {"metric": "mae"},
            "The gate compared the MAE, and this question needs a gain in squared error: set gate.metric to mse.",
        ),
    ],
    ids=["no-gain", "absolute-errors"],
)
def test_a_missing_sensitivity_says_why(build, changes, said):
    run = build("accepted")
    text = Page(page(replace(run, sensitivity=None, verdict=replace(run.verdict, **changes)))).text
    assert f"How strong would a hidden cause have to be? No gain that a hidden cause could use up. {said}" in text


def test_a_limit_that_cannot_be_drawn_is_nothing_or_a_number(build):
    """Where no noise is carried nothing hidden can do harm: `100 %` would say that something can."""
    run = build("accepted")
    found = run.sensitivity
    never, always = (
        replace(found.features[0], limit=limit, robustness=r) for limit, r in ((math.inf, 1.0), (0.0, 0.0))
    )
    text = Page(page(replace(run, sensitivity=replace(found, features=(never, always))))).text
    assert "exercise (h/week) 2.310 age: 11 % of exercise, 8.3 % of recovery" in re.sub(" +", " ", text)
    assert "exercise (h/week) 2.310 0 % age:" in text
    assert "a hidden cause in the shaded part" not in text


def test_a_graph_that_implies_nothing_has_nothing_tested(build):
    run = build("accepted")
    none = replace(run.falsification, outcome="not_informative", implied=0, statements=(), as_good=None)
    text = Page(page(replace(run, falsification=none))).text
    assert "Not informative The training rows do not contradict the graph" in text
    assert "tested on" not in text
    assert "shuffled names," not in text


def test_a_failed_joint_check_that_only_warns_says_so_where_it_may_prune(build):
    run = build("discovered")
    joint = replace(run.certificate.joint, failed=True, pruned=())
    text = Page(page(replace(run, certificate=replace(run.certificate, joint=joint)))).text
    assert "Under joint.on_failure: warn, the run went on: read its numbers with care." in text
    assert "It held fixed" not in text


def test_a_certificate_that_asked_nothing_has_no_such_list(build):
    run = build("abstained")
    text = Page(page(replace(run, certificate=replace(run.certificate, method=None)))).text
    assert "What the data were asked" not in text


def test_long_lists_are_cut_and_say_so(build):
    run = build("accepted")
    many = replace(run.falsification, implied=30, statements=run.falsification.statements * 15)
    text = Page(page(replace(run, falsification=many))).text
    assert "30 implied independencies were tested" in text
    assert "the least likely first; 18 more in record.json" in text
    assert text.count("smoker and dose, given age and ward") == 6


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


def test_every_folded_part_says_what_it_found(any_run):
    text = page(any_run)
    named = r'<summary><h2 id="(\w+)">([^<]+)</h2><span class="finding">(.+?)</span></summary>'
    found = re.findall(named, text)
    assert len(found) == text.count('<details class="fold">') >= 8
    assert [one for one in found if not re.sub("<.*?>", "", one[2]).endswith((".", "yaml"))] == []


def test_no_backtick_and_no_column_of_dashes_is_left(any_run):
    words = Page(page(any_run)).text
    assert "`" not in words.partition("How to get these numbers again")[0]
    assert " - - " not in re.sub(r"\s+", " ", words.partition("How to get these numbers again")[0])


def test_a_column_with_missing_cells_is_seen_in_the_contract(build):
    run = build("accepted")
    assert "missing cells" not in page(run)
    data = replace(run.data, missing_cells=107, missing={"dose": 103, "age": 4})
    text = page(replace(run, data=data))
    assert '<th scope="col" class="number">missing cells</th>' in text
    assert text.count('data-label="missing cells"') == 2
    assert '<td class="number" data-label="missing cells">103 (25 %)</td>' in text
