"""A spec against what it names: the header of its data, and its graph."""

import sqlite3
from pathlib import Path

import pandas as pd
import pytest

from crda_spec.data.sources import header_of
from crda_spec.data.sources.benchmark import BENCHMARKS
from crda_spec.data.sources.sklearn import COLUMNS as SKLEARN_COLUMNS
from crda_spec.errors import SpecError
from crda_spec.spec.check import declared_graph, load_spec

FRAME = pd.DataFrame({"area": [50.0, 60.0], "rooms": [2, 3], "town": ["a", "b"], "price": [100.0, 120.0]})
COLUMNS = ("area", "rooms", "town", "price")


def spec_text(source: str, more: str = "", target: str = "price") -> str:
    return f"version: 1\nname: houses\ndataset:\n  source: {source}\n  target: {target}\n{more}"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """One table, in every kind of file."""
    FRAME.to_csv(tmp_path / "houses.csv", index=False)
    FRAME.to_csv(tmp_path / "houses.tsv", index=False, sep="\t", encoding="utf-16")
    FRAME.to_parquet(tmp_path / "houses.parquet")
    FRAME.to_excel(tmp_path / "houses.xlsx", index=False, sheet_name="Sales")
    connection = sqlite3.connect(tmp_path / "houses.db")
    FRAME.to_sql("houses", connection, index=False)
    connection.close()
    return tmp_path


def checked(folder: Path, text: str):
    file = folder / "spec.yaml"
    file.write_text(text, encoding="utf-8")
    return load_spec(file, environ={})[0]


def refused(folder: Path, text: str) -> str:
    with pytest.raises(SpecError) as caught:
        checked(folder, text)
    return caught.value.render()


@pytest.mark.parametrize(
    "source",
    [
        "{kind: csv, path: houses.csv}",
        '{kind: csv, path: houses.tsv, delimiter: "\\t", encoding: utf-16}',
        "{kind: parquet, path: houses.parquet}",
        "{kind: excel, path: houses.xlsx, sheet: Sales}",
        "{kind: excel, path: houses.xlsx, sheet: 0}",
        "{kind: sql, url: 'sqlite:///houses.db', query: SELECT * FROM houses}",
    ],
)
def test_the_header_of_every_kind_of_file_is_read_from_the_specs_folder(folder, source, tmp_path, monkeypatch):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    spec = checked(folder, spec_text(source))
    assert header_of(spec.dataset.source, folder, target="price") == COLUMNS


@pytest.mark.parametrize(
    ("source", "target", "columns"),
    [
        ("{kind: sklearn, name: diabetes}", "progression", SKLEARN_COLUMNS["diabetes"]),
        ("{kind: benchmark, name: wine_quality}", "quality", BENCHMARKS["wine_quality"].columns),
        ("{kind: synthetic, world: paper_synthetic}", "y", ("x1", "x2", "x3", "y")),
        (
            "{kind: synthetic, equations: {a: 'normal(0, 1)', u: 'normal(0, 1)', b: a + u}, hidden: [u]}",
            "b",
            ("a", "b"),
        ),
    ],
)
def test_the_header_of_every_named_table_is_known(tmp_path, source, target, columns):
    spec = checked(tmp_path, spec_text(source, target=target))
    assert header_of(spec.dataset.source, tmp_path, target=target) == columns


@pytest.mark.parametrize(
    ("more", "features"),
    [
        ("", ("area", "rooms", "town")),
        ("  groups: town\n", ("area", "rooms")),
        ("  split: {kind: column, column: rooms, test: [3]}\n", ("area", "town")),
        ("  features: [rooms, area]\n", ("rooms", "area")),
    ],
)
def test_features_are_declared_or_all_columns_without_another_role(folder, more, features):
    spec = checked(folder, spec_text("{kind: csv, path: houses.csv}", more))
    assert spec.dataset.feature_names(COLUMNS) == features


def test_without_a_declared_graph_there_is_none(folder):
    spec = checked(folder, spec_text("{kind: csv, path: houses.csv}"))
    assert declared_graph(spec.causal, spec.dataset, COLUMNS, folder) is None


@pytest.mark.parametrize(
    ("more", "message"),
    [
        pytest.param(
            "  split: {kind: source, source: {kind: csv, path: test.csv}}\n",
            "spec.yaml:6:51: dataset.split.source.path: there is no file 'test.csv'; did you mean 'houses.csv'?\n"
            "    6 |   split: {kind: source, source: {kind: csv, path: test.csv}}\n"
            "      |                                                   ^",
            id="absent-test-source",
        ),
        pytest.param(
            "  groups: town\n  split: {kind: source, source: {kind: synthetic, equations: {price: '1', area: '2'}}}\n",
            "spec.yaml:7:33: dataset.split.source: the test source has no column 'rooms', 'town'; "
            "it needs the training source's columns\n"
            "    7 |   split: {kind: source, source: {kind: synthetic, equations: {price: '1', area: '2'}}}\n"
            "      |                                 ^",
            id="test-source-without-columns",
        ),
    ],
)
def test_the_test_source_is_checked_too(folder, more, message):
    assert refused(folder, spec_text("{kind: csv, path: houses.csv}", more)) == message


GRAPH = """causal:
  graph:
    kind: edges
    edges:
      - {edges}
      - rooms -> price
    latent: [care]
partition: {{perturb: [area, rooms]}}
"""


def test_a_feature_that_the_graph_ties_to_the_noise_is_refused_with_the_open_path(folder):
    text = spec_text("{kind: csv, path: houses.csv}", GRAPH.format(edges='"area <- care -> price"'))
    assert refused(folder, text) == (
        "spec.yaml:13:23: partition.perturb.0: the graph does not let 'area' move: the unmeasured care drives both "
        "area and price: area <- care -> price; leave it fixed, let any feature move on the data's support "
        "(recipe: distilled), or mend the graph\n"
        "    13 | partition: {perturb: [area, rooms]}\n"
        "       |                       ^"
    )


def test_a_certified_feature_passes(folder):
    spec = checked(
        folder, spec_text("{kind: csv, path: houses.csv}", GRAPH.format(edges='"area -> price <- care -> town"'))
    )
    assert spec.partition.perturb == ("area", "rooms")


def test_an_unknown_target_is_one_complaint_not_many(folder):
    text = spec_text("{kind: csv, path: houses.csv}", GRAPH.format(edges='"area <- care -> price"'), target="prize")
    assert refused(folder, text) == (
        "spec.yaml:5:11: dataset.target: the data have no column 'prize'; did you mean 'price'?\n"
        "    5 |   target: prize\n"
        "      |           ^"
    )


def test_an_absent_file_does_not_hide_what_is_wrong_elsewhere(folder):
    text = spec_text("{kind: csv, path: huoses.csv}", "regressor: {kind: linear}\ntune: {kind: randomized}\n")
    assert refused(folder, text) == (
        "spec.yaml:4:29: dataset.source.path: there is no file 'huoses.csv'; did you mean 'houses.csv'?\n"
        "    4 |   source: {kind: csv, path: huoses.csv}\n"
        "      |                             ^\n"
        "spec.yaml:7:14: tune.kind: the regressor 'linear' has no search space; use tune: {kind: none}\n"
        "    7 | tune: {kind: randomized}\n"
        "      |              ^\n"
        "2 problems"
    )
