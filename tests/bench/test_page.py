"""What a suite leaves: tidy tables, Markdown, and a page with its plots that fetches nothing."""

import json
import re
import sys
from pathlib import Path

import pandas as pd
import pytest

from crda_spec.bench.bench import CSV, MARKDOWN, PAGE, PARQUET
from crda_spec.bench.results import COLUMNS, paper_caption, paper_fact
from crda_spec.cli.app import main
from crda_spec.report.suite_figures import Bar, bars_figure, curves_figure, p_value_figure, rank_figure
from crda_spec.report.suite_live import CellLines, CellTable, clock, watching

SWEPT = """version: 1
name: swept
description: A small suite of everything that a page can draw.
tables: [crop_yield, hidden_confounder, smooth_proxies]
sizes: [40, 60]
seeds: 2
regressors: [linear]
augmenters: [none, mixup, paper, duplicate]
spec: {gate: {enabled: true, folds: 5}}
"""
KNOBS = """version: 1
name: knobs
tables: [crop_yield]
sizes: [60]
seeds: 2
regressors: [linear]
augmenters: [paper]
knobs: {counterfactual.factor: [0.5, 1.5], perturbation.default.reach: [0.2, 0.9], partition.residuals: [in_sample]}
"""


@pytest.fixture
def outcome(run):
    return run(SWEPT)


def test_the_tables_are_tidy_and_agree(outcome):
    frame = pd.read_csv(outcome.folder / CSV)
    assert tuple(frame.columns) == COLUMNS
    assert len(frame) == 3 * 2 * 2 * 4 * 2  # with an arm for what the gate lets through
    same = pd.read_parquet(outcome.folder / PARQUET)
    assert tuple(same.columns) == COLUMNS
    assert list(same["change_percent"]) == pytest.approx(list(frame["change_percent"]))
    assert set(frame["arm"]) == {"augmented", "gated"}
    none = frame[frame["augmenter"] == "none"]
    assert (none["change_percent"] == 0).all()
    assert (none["loss"] == none["plain"]).all()
    plain = frame.groupby(["table", "rows", "seed"])["plain"].agg(lambda one: one.max() - one.min())
    assert (plain == 0).all()  # every rival is compared with the same model
    refused = frame[(frame["arm"] == "gated") & (frame["accepted"] == False)]  # noqa: E712 - a column
    assert len(refused)
    assert (refused["change_percent"] == 0).all()


def test_the_page_has_its_plots_and_fetches_nothing(outcome):
    page = (outcome.folder / PAGE).read_text(encoding="utf-8")
    titles = re.findall(r"<figcaption>(.*?)</figcaption>", page)
    for part in ("mean over tables", "mean ranks", "adjusted by Holm", "change by size", "p-value of the gate"):
        assert any(part in title for title in titles), part
    assert page.count("<svg") == len(titles)
    assert page.count("critical difference") >= 1
    assert not re.search(r"""(src|href)\s*=\s*["']?\s*(https?:)?//""", page)
    assert "<script" not in page
    assert "Protocol matched: one model against one" in page


def test_markdown_says_the_same_numbers(outcome):
    text = (outcome.folder / MARKDOWN).read_text(encoding="utf-8")
    frame = outcome.frame
    mine = frame[(frame["augmenter"] == "mixup") & (frame["arm"] == "augmented")]
    mean = mine.groupby(["table", "rows"])["change_percent"].mean().mean()
    assert re.search(rf"\| mixup \| {mean:+.1f} ", text), mean
    ranked = re.search(r"(\S+) has the best mean rank", text)
    assert ranked is not None
    for line in text.splitlines():
        if line.startswith("|"):
            assert line.endswith("|")


def test_a_sweep_is_drawn_knob_by_knob(run):
    done = run(KNOBS)
    page = (done.folder / PAGE).read_text(encoding="utf-8")
    for knob in ("counterfactual.factor", "perturbation.default.reach", "partition.residuals"):
        assert f"knobs, linear, matched: {knob}" in page
    assert set(done.frame["value"]) == {"0.5", "1.5", "0.2", "0.9", "in_sample"}
    rows = {value: set(part["synthetic_rows"]) for value, part in done.frame.groupby("value")}
    assert rows["0.5"] == {30}
    assert rows["1.5"] == {90}


def test_wrong_graphs_are_lines_of_their_own(run):
    suite = SWEPT.replace("crop_yield, hidden_confounder, smooth_proxies", "hidden_confounder")
    suite = suite.replace(
        "[none, mixup, paper, duplicate]", "[paper, {name: mix, augmenter: {kind: mixup}, graphs: [none]}]"
    )
    done = run(suite + "graphs: [right, none, lost, undrawn]\n", only="/60/1/")
    methods = re.findall(r"^\| (paper[^|]*|mix[^|]*) \|", (done.folder / MARKDOWN).read_text(), re.MULTILINE)
    assert {"paper", "paper, graph lost", "paper, graph undrawn", "paper, no graph", "mix, no graph"} <= set(methods)
    assert "mix" not in methods


def test_a_table_without_a_graph_is_run_once(run):
    own = "{name: own, dataset: {source: {kind: synthetic, world: paper_synthetic, rows: 60}, target: y}}"
    suite = SWEPT.replace("crop_yield, hidden_confounder, smooth_proxies", f"crop_yield, {own}")
    frame = run(suite + "graphs: [right, none, lost]\n", only="/60/1/linear/mixup").frame
    found = {table: sorted(part["graph"]) for table, part in frame.groupby("table")}
    assert found == {"crop_yield": ["lost", "lost", "none", "none", "right", "right"], "own": ["none", "none"]}


def test_information_beside_the_papers(run, tmp_path):
    rows = "".join(f"{i % 43},{i * 7 % 11},{i * 5 % 13},{i * i % 17 + 0.01 * i}\n" for i in range(90))
    (tmp_path / "rows.csv").write_text("a,b,c,y\n" + rows)
    text = """version: 1
name: told
tables: [{name: house_price, dataset: {source: {kind: csv, path: rows.csv}, target: y}}]
sizes: [90]
seeds: 2
regressors: [{kind: xgboost, n_estimators: 20}]
augmenters: [paper]
measure: information
paper: table8
"""
    done = run(text)
    assert set(done.frame["features_selected"] + done.frame["features_rejected"]) == {3}
    page = (done.folder / MARKDOWN).read_text()
    assert "0.0056 | 0.0155" in page  # what the paper's Table 8 has for House Price


def test_the_papers_facts():
    fact = paper_fact("table12", table="concrete_strength", rows=402, regressor="mlp", augmenter="paper")
    assert (fact.change, fact.se, fact.facts["accepted"]) == (-19.8, 2.9, True)
    near = paper_fact("table12", table="concrete_strength", rows=404, regressor="mlp", augmenter="paper")
    assert near == fact
    assert paper_fact("table12", table="concrete_strength", rows=450, regressor="mlp", augmenter="paper") is None
    any_size = paper_fact("table2", table="wind_power", rows=321, regressor="xgboost", augmenter="ada")
    assert (any_size.change, any_size.se) == (-0.2, 0.3)
    assert paper_caption("table9").startswith("Table 9")


def test_figures_say_what_they_show():
    bars = bars_figure(
        [Bar(name="a <b>", change=-3.0, error=1.0, other=-9.0), Bar(name="far", change=900.0)], title="t"
    )
    assert bars.description == "a <b>: -3.0 ± 1.0 % (paper -9.0 %); far: +900.0 %"
    assert "&lt;b&gt;" in bars.svg
    ranks = rank_figure(("a", "b"), (1.25, 1.75), groups=((0, 1),), critical=0.9, title="t")
    assert ranks.description == "a: 1.25; b: 1.75; critical difference 0.90"
    map_ = p_value_figure(("a", "b"), ("1", "2"), ((None, 0.0004), (0.0004, None)), title="t")
    assert "&lt;.001" in map_.svg
    curves = curves_figure({"a": [(100.0, -3.0, 1.0), (200.0, -4.0, None)]}, title="t", across="rows")
    assert curves.description == "a: 100: -3.0 %, 200: -4.0 %"
    for picture in (bars, ranks, map_, curves):
        assert picture.svg == picture.svg
        assert picture.png.startswith(b"\x89PNG")


def test_progress_on_a_terminal_and_in_a_pipe(run):
    from io import StringIO

    from rich.console import Console

    sink = StringIO()
    with watching(Console(file=sink, width=100), quiet=False) as watch:
        assert isinstance(watch, CellLines)
        run(watch=watch)
    lines = sink.getvalue().splitlines()
    assert len(lines) == 12
    assert re.fullmatch(
        r"\[3/12\] tiny/crop_yield/60/1/linear/paper/matched: [+-]\d+\.\d %, \d+\.\d s; \d+:\d\d left", lines[2]
    )
    screen = Console(file=StringIO(), force_terminal=True, width=100)
    with watching(screen, quiet=False) as watch:
        assert isinstance(watch, CellTable)
        run(watch=watch)
    assert "12 of 12 cells, 12 kept" in screen.file.getvalue()
    assert [clock(65), clock(7385)] == ["1:05", "2:03:05"]


def test_the_command(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("suite.yaml").write_text(KNOBS, encoding="utf-8")
    monkeypatch.setattr(sys, "argv", ["crda-spec", "bench", "suite.yaml", "--quick"])
    with pytest.raises(SystemExit) as stopped:
        main()
    assert not stopped.value.code
    printed = capsys.readouterr()
    assert printed.out.splitlines()[0] == "5 cells computed, 0 kept, 0 left, 0 failed"
    assert printed.out.splitlines()[-1] == "bench/knobs-quick/index.html"
    kept = [json.loads(file.read_text()) for file in Path("bench/knobs-quick/cells").iterdir()]
    assert {one["spec"]["dataset"]["source"]["rows"] for one in kept} == {120}
