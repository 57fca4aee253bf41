"""The run folder for archives and other tools, judged by their own libraries: `rocrate` and `mlcroissant`."""

import hashlib
import json
import re

import pyarrow.parquet as pq
import pytest
from audit_runs import ran

from crda_spec.audit.export import crate_json, croissant_json

HOSTILE = ('<script>alert("1")</script>', "two\nlines", "=cmd()|' /C calc'!A0", "rtl\u202edesrever", "ü " + "long" * 75)


def quoted(name):
    return '"' + name.replace("\\", "\\\\").replace('"', '\\"') + '"'


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A run with synthetic rows whose columns have names that nobody should have."""
    folder = tmp_path_factory.mktemp("made")
    names = [*HOSTILE, "y"]
    lines = [",".join('"' + name.replace('"', '""') + '"' for name in names)]
    for row in range(60):
        values = [(row * 7 % 11) / 3, (row * 5 % 13) / 2, (row * 3 % 17) / 5, (row * 11 % 19) / 7, row % 6 / 2]
        lines.append(",".join(f"{value:.4f}" for value in [*values, sum(values) + row % 4 / 5]))
    (folder / "rows.csv").write_text("\n".join(lines) + "\n", encoding="utf-8", newline="")
    spec = {
        "version": 1,
        "name": "hostile",
        "description": "Names that nobody should have.",
        "meta": {"license": "https://creativecommons.org/licenses/by/4.0/"},
        "dataset": {"source": {"kind": "csv", "path": "rows.csv"}, "target": "y"},
        "causal": {"graph": {"kind": "edges", "edges": [quoted(name) + " -> y" for name in HOSTILE]}},
        "regressor": {"kind": "ridge"},
        "counterfactual": {"retention": 1.0, "factor": 2},
        "gate": {"kind": "wilcoxon", "folds": 5},
    }
    return ran(folder, json.dumps(spec)).folder


@pytest.fixture(scope="module")
def abstained(tmp_path_factory):
    text = """version: 1
recipe: paper
name: nothing
dataset: {source: {kind: synthetic, world: paper_synthetic, rows: 60}, target: y}
causal: {graph: {kind: edges, edges: ["{x1 x2 x3} -> y", "u -> {x1 x2 x3 y}"], latent: [u]}}
counterfactual: {retention: 1.0}
regressor: {kind: ridge}
gate: {kind: wilcoxon, folds: 5}
"""
    return ran(tmp_path_factory.mktemp("abstained"), text).folder


@pytest.fixture(params=["made", "abstained"])
def folder(request):
    return request.getfixturevalue(request.param)


def read(folder, name):
    return json.loads((folder / name).read_text())


def contents(folder):
    files = {str(file.relative_to(folder)): file.read_bytes() for file in folder.rglob("*") if file.is_file()}
    del files["ro-crate-metadata.json"]
    return files


def test_archives_open_the_folder(folder):
    rocrate = pytest.importorskip("rocrate.rocrate")
    crate = rocrate.ROCrate(str(folder))
    record = read(folder, "record.json")
    assert crate.name == f"crda-spec run: {record['name']}"
    assert record["verdict"]["sentence"] in crate.description
    assert {entity.id for entity in crate.data_entities} == set(contents(folder))
    assert crate.mainEntity.id == "augmented.parquet"
    assert crate.mainEntity["isBasedOn"]["sha256"] == record["data"]["sha256"]
    assert crate.root_dataset["license"]["name"]
    assert crate.dereference("#run")["instrument"]["version"] == record["versions"]["crda-spec"]


def test_the_crate_hashes_what_is_there_and_refers_to_nothing_else(folder):
    told = read(folder, "ro-crate-metadata.json")
    graph = {entity["@id"]: entity for entity in told["@graph"]}
    assert len(graph) == len(told["@graph"])
    for name, data in contents(folder).items():
        if name != "record.json":
            assert graph[name]["sha256"] == hashlib.sha256(data).hexdigest()
            assert graph[name]["contentSize"] == str(len(data))
    references = set(re.findall(r'\{\s*"@id": "([^"]+)"\s*\}', (folder / "ro-crate-metadata.json").read_text()))
    assert references - {"https://w3id.org/ro/crate/1.1"} <= set(graph)
    root = graph["./"]
    assert {"name", "description", "datePublished", "license"} <= set(root)
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", root["datePublished"])


def test_only_the_day_depends_on_the_clock(folder):
    record, files = read(folder, "record.json"), contents(folder)
    assert crate_json(record, files) == (folder / "ro-crate-metadata.json").read_text()
    other_day = {**record, "volatile": {**record["volatile"], "created": "1999-12-31T00:00:00+00:00"}}
    changed = crate_json(other_day, {**files, "record.json": b"{}"})
    day = record["volatile"]["created"][:10]
    assert changed == (folder / "ro-crate-metadata.json").read_text().replace(day, "1999-12-31")
    assert croissant_json(other_day, files["augmented.parquet"]) == (folder / "croissant.json").read_text()


# rdflib, on which mlcroissant stands, warns of its own old names; mlcroissant leaves open files to the collector.
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_loaders_read_every_row_and_know_the_synthetic_ones(folder, monkeypatch):
    mlcroissant = pytest.importorskip("mlcroissant")
    monkeypatch.chdir(folder)
    dataset = mlcroissant.Dataset(jsonld=folder / "croissant.json")
    issues = dataset.metadata.ctx.issues
    assert issues.errors == set()
    recommended = {re.search(r"/(\w+)\"", warning).group(1) for warning in issues.warnings}
    assert recommended <= {"citeAs", "datePublished", "license"}
    rows = list(dataset.records(record_set="rows"))
    table = pq.read_table(folder / "augmented.parquet")
    assert len(rows) == table.num_rows
    assert [row["rows/_crda_synthetic"] for row in rows] == table["_crda_synthetic"].to_pylist()
    assert [row["rows/_crda_source_row"] for row in rows] == table["_crda_source_row"].to_pylist()
    for number, name in enumerate((name for name in table.column_names if not name.startswith("_crda_")), start=1):
        assert rows[-1][f"rows/column-{number}"] == pytest.approx(table[name][-1].as_py())


def test_synthetic_rows_are_called_so_and_their_source_is_named(made, abstained):
    told, record = read(made, "croissant.json"), read(made, "record.json")
    rows = record["counterfactuals"]["rows"]
    assert rows > 0
    assert f"{rows} rows are SYNTHETIC, made from them by counterfactual" in told["description"]
    assert told["prov:wasDerivedFrom"]["@id"] == f"urn:sha256:{record['data']['sha256']}"
    assert told["prov:wasDerivedFrom"]["name"] == record["data"]["source"]
    assert told["license"] == "https://creativecommons.org/licenses/by/4.0/"
    assert [field["name"] for field in told["recordSet"][0]["field"][:6]] == [*HOSTILE, "y"]
    assert "no synthetic row was made" in read(abstained, "croissant.json")["description"]
    assert "license" not in read(abstained, "croissant.json")
