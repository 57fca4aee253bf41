"""`certificate.json`: its published schema is current, closed and documented, and real certificates obey it."""

import copy
import json
import subprocess
import sys
from dataclasses import fields
from pathlib import Path
from typing import get_args, get_type_hints

import jsonschema
import pytest
from audit_parts import SPEC
from audit_runs import ran

from crda_spec.audit.record import certificate_record, known_record
from crda_spec.audit.schemas import SCHEMAS, published_schema, schema_text
from crda_spec.records import UNPUBLISHED, Certificate, DrawnGraph, FeatureVerdict, JointEvidence, Remedy, SourceLine
from crda_spec.scm.certificate import graph_certificate
from crda_spec.scm.formats import from_edges

ROOT = Path(__file__).parents[2]
NAME = "crda-certificate.v1.schema.json"
VALIDATOR = jsonschema.Draft202012Validator(published_schema(NAME))
COLUMNS = ("dose", "age", "bmi", "relapse", "clinic", "recovery")
FEATURES = COLUMNS[:4]


def hospital():
    return from_edges(
        ["severity -> {dose recovery}", "{dose age} -> recovery", "recovery -> relapse", "clinic -> {bmi recovery}"],
        columns=COLUMNS,
        target="recovery",
        features=FEATURES,
        latents=["severity"],
    )


def test_the_published_schema_is_current():
    assert (ROOT / "schemas" / NAME).read_text(encoding="utf-8") == schema_text(NAME), (
        "the certificate changed: run `python -m crda_spec.audit.schemas` and read the difference"
    )


@pytest.mark.slow
def test_the_module_writes_the_schemas(tmp_path):
    subprocess.run([sys.executable, "-m", "crda_spec.audit.schemas", tmp_path], check=True)
    assert {file.name: file.read_text(encoding="utf-8") for file in tmp_path.iterdir()} == {
        name: schema_text(name) for name in SCHEMAS
    }


def test_the_schema_is_valid_draft_2020_12():
    schema = published_schema(NAME)
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    jsonschema.Draft202012Validator.check_schema(schema)


def objects(schema):
    return [schema, *schema["$defs"].values()]


def test_the_schema_is_closed_and_every_property_is_required_and_described():
    for found in objects(published_schema(NAME)):
        assert found["additionalProperties"] is False
        assert found["required"] == list(found["properties"])
        assert found["description"]
        for name, said in found["properties"].items():
            assert said["description"], name


@pytest.mark.parametrize(
    ("record", "where", "more"),
    [
        pytest.param(Certificate, None, {"certificate_version", "may_move", "perturbed", "kept"}, id="certificate"),
        pytest.param(DrawnGraph, "DrawnGraph", set(), id="graph"),
        pytest.param(FeatureVerdict, "FeatureVerdict", set(), id="feature"),
        pytest.param(SourceLine, "SourceLine", set(), id="line"),
        pytest.param(Remedy, "Remedy", set(), id="remedy"),
        pytest.param(JointEvidence, "JointEvidence", set(), id="joint"),
    ],
)
def test_the_schema_knows_every_field(record, where, more):
    schema = published_schema(NAME)
    described = schema if where is None else schema["$defs"][where]
    hints = get_type_hints(record, include_extras=True)
    written = {one.name for one in fields(record) if UNPUBLISHED not in get_args(hints[one.name])}
    assert set(described["properties"]) == written | more


DISCOVERED = SPEC[: SPEC.index("causal:")] + SPEC[SPEC.index("partition:") :]


@pytest.mark.slow
@pytest.mark.parametrize("text", [pytest.param(SPEC, id="declared"), pytest.param(DISCOVERED, id="discovered")])
def test_the_certificate_of_a_real_run_obeys_the_schema(text, tmp_path):
    finished = ran(tmp_path, text)
    found = json.loads((finished.folder / "certificate.json").read_text(encoding="utf-8"))
    VALIDATOR.validate(found)
    assert found["certificate_version"] == 1
    assert sorted(found["perturbed"] + found["kept"]) == sorted(one["name"] for one in found["features"])
    if text is SPEC:
        assert (found["basis"], found["lemma_holds"]) == ("declared", True)
        assert found["noise_side"] == ["Z", "buyer_urgency"]
        assert found["largest"] == ["area", "rooms", "age", "garage", "station_distance"]
        assert [remedy["names"] for remedy in found["remedies"]] == [["buyer_urgency"]]
        assert set(found["perturbed"]) <= set(found["largest"])
        assert found["method"].startswith("The graph was held against ")
        assert found["notes"] == []
    else:
        assert found["method"].startswith("PC (alpha 0.05, given up to 3 columns) and a screen by correlation (")
        empty = ("noise_side", "largest", "remedies", "lemma_holds")
        assert [found[name] for name in ("basis", *empty)] == ["discovered", [], [], [], None]


def test_the_whole_record_of_a_declared_graph():
    record = known_record(hospital(), FEATURES)
    VALIDATOR.validate(json.loads(json.dumps(record)))
    assert record == certificate_record(graph_certificate(hospital(), FEATURES))
    assert (record["perturbed"], record["largest"], record["kept"]) == ([], [], list(FEATURES))
    assert record["noise_side"] == ["Z", "clinic", "severity"]
    assert record["features"][0] == {
        "name": "dose",
        "status": "blocked",
        "reason": "the unmeasured severity drives both dose and recovery: dose <- severity -> recovery",
        "held": "",
        "witness": ["recovery", "<-", "severity", "->", "dose"],
        "lines": [
            {"edge": "severity -> recovery", "where": "causal.graph.edges.0"},
            {"edge": "severity -> dose", "where": "causal.graph.edges.0"},
        ],
        "blockers": ["severity"],
        "lemma": "",
        "evidence": {},
        "warning": "",
    }
    assert record["remedies"] == [
        {
            "kind": "leave_out",
            "names": ["relapse"],
            "frees": ["age"],
            "sentence": "leave relapse out of the features: then age may move",
        },
        {
            "kind": "add",
            "names": ["clinic"],
            "frees": ["bmi"],
            "sentence": "add clinic to the features: then bmi may move",
        },
    ]


def damaged(record):
    """The record, wrong in one place each."""
    for path, value in {
        ("certificate_version",): 2,
        ("basis",): "guessed",
        ("perturbed",): "dose",
        ("more",): 1,
        ("features", 0, "status"): "free",
        ("features", 0, "evidence", "r"): "nan",
        ("features", 0, "lines", 0, "line"): 4,
        ("remedies", 0, "kind"): "pray",
        ("graph", "edges", 0): ["dose", "recovery"],
        ("graph", "edges", 1): ["dose", "recovery", "->", "again"],
        ("graph", "nodes", 0, 1): "king",
        ("lemma_holds",): "yes",
        ("graph", "edges", 2): ["dose", "recovery", "=>"],
        ("joint",): {"p_value": 0.5},
        ("notes",): "none",
        ("method",): None,
    }.items():
        other = copy.deepcopy(record)
        inside = other
        for key in path[:-1]:
            inside = inside[key]
        inside[path[-1]] = value
        yield path, other
    for name in record:
        yield ("without", name), {key: value for key, value in record.items() if key != name}


def test_the_schema_refuses_what_is_wrong():
    record = json.loads(json.dumps(known_record(hospital(), FEATURES)))
    assert VALIDATOR.is_valid(record)
    assert [path for path, other in damaged(record) if VALIDATOR.is_valid(other)] == []
