"""The published JSON Schema: current, valid, documented, and as strict as the loader where a schema can be."""

import copy
import json
import typing
from pathlib import Path

import jsonschema
import pytest
import yaml
from pydantic import BaseModel

from crda_spec.spec.check import load_spec
from crda_spec.spec.run import RunSpec
from crda_spec.spec.schema import PUBLISHED, spec_schema, spec_schema_text

ROOT = Path(__file__).parents[2]
SPECS = sorted((ROOT / "specs").glob("*.yaml"))
MODELINE = "# yaml-language-server: $schema=../schemas/crda-spec.v1.schema.json"


def models_below(annotation, seen):
    """All models that a spec can contain."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        if annotation not in seen:
            seen.add(annotation)
            for field in annotation.model_fields.values():
                models_below(field.annotation, seen)
    else:
        for part in typing.get_args(annotation):
            models_below(part, seen)
    return seen


MODELS = sorted(models_below(RunSpec, set()), key=lambda model: model.__name__)
VALIDATOR = jsonschema.Draft202012Validator(spec_schema())


def test_the_published_schema_is_current():
    assert (ROOT / PUBLISHED).read_text(encoding="utf-8") == spec_schema_text(), (
        "the spec language changed: run `python -m crda_spec.spec.schema` and read the difference"
    )


def test_the_schema_is_valid_draft_2020_12():
    schema = spec_schema()
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    jsonschema.Draft202012Validator.check_schema(schema)


def test_every_model_of_the_language_is_found():
    names = {model.__name__ for model in MODELS}
    assert {"RunSpec", "Sql", "EdgesGraph", "Plugin", "Resample", "SourceSplit"} <= names
    assert names - {"RunSpec"} == set(spec_schema()["$defs"])


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.__name__)
def test_every_field_has_a_description_and_it_reaches_the_schema(model):
    schema = spec_schema()
    shown = schema if model is RunSpec else schema["$defs"][model.__name__]
    assert shown["description"]
    for name, field in model.model_fields.items():
        assert field.description, f"{model.__name__}.{name} has no description"
        assert shown["properties"][field.alias or name]["description"] == field.description


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.__name__)
def test_every_section_is_closed(model):
    schema = spec_schema()
    shown = schema if model is RunSpec else schema["$defs"][model.__name__]
    assert shown["additionalProperties"] is False


def discriminated(node):
    """Every union of the schema that is told apart by a key."""
    if isinstance(node, dict):
        if "discriminator" in node:
            yield node
        for inner in node.values():
            yield from discriminated(inner)
    elif isinstance(node, list):
        for inner in node:
            yield from discriminated(inner)


def test_every_union_is_closed_on_kind():
    schema = spec_schema()
    found = list(discriminated(schema))
    assert len(found) >= 9
    for union in found:
        assert union["discriminator"]["propertyName"] == "kind"
        members = [schema["$defs"][one["$ref"].rsplit("/", 1)[1]] for one in union["oneOf"]]
        assert {member["properties"]["kind"]["const"] for member in members} == set(union["discriminator"]["mapping"])
        assert all("kind" in member["required"] for member in members)


@pytest.mark.parametrize("file", SPECS, ids=lambda file: file.stem)
def test_every_spec_we_ship_is_valid_by_schema_and_by_loader(file):
    text = file.read_text(encoding="utf-8")
    assert text.splitlines()[0] == MODELINE
    VALIDATOR.validate(yaml.safe_load(text))
    spec, _ = load_spec(file, environ={})
    assert spec.name == file.stem


def test_we_ship_specs():
    assert len(SPECS) >= 8


MINIMAL = {
    "version": 1,
    "name": "houses",
    "dataset": {"source": {"kind": "synthetic", "world": "bidding_war"}, "target": "price"},
}


def test_the_smallest_spec_is_valid():
    VALIDATOR.validate(MINIMAL)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("version", 2),
        ("name", "a/b"),
        ("seeed", 1),
        ("seed", "1"),
        ("dataset.source.kind", "cvs"),
        ("dataset.source.wrld", "x"),
        ("regressor", {"kind": "ridge", "n_estimators": 3}),
        ("regressor", {"alpha": 3}),
        ("gate", {"kind": "wilcoxon", "folds": 1}),
        ("causal", {"graph": {"kind": "edges", "edges": []}}),
        ("perturbation", {"features": {"area": {"kind": "shake"}}}),
    ],
)
def test_a_wrong_spec_fails_the_schema_and_the_loader(path, value, tmp_path, draft):
    wrong = copy.deepcopy(MINIMAL)
    *above, last = path.split(".")
    target = wrong
    for part in above:
        target = target[part]
    target[last] = value
    assert not VALIDATOR.is_valid(wrong)
    assert draft(head=json.dumps(wrong)).complaints
