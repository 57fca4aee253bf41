"""docs/spec.md: every kind and every key that a spec may have is listed, and every example is understood."""

import json
import re
from pathlib import Path

import pytest
import yaml

from crda_spec.spec.run import RunSpec

PAGE = (Path(__file__).parents[2] / "docs" / "spec.md").read_text()
TABLE = [re.split(r" *\| *", line.strip("|").strip(" ")) for line in PAGE.splitlines() if line.startswith("| `")]
ROWS = {place: cells for place, *cells in ((row[0].strip("`"), *row[1:]) for row in TABLE)}  # what it says, the kinds
SCHEMA = RunSpec.model_json_schema()
LONG = ("dataset", "causal", "falsify", "partition", "counterfactual", "perturbation")  # whose keys are all listed


def opened(node):
    """A schema without its wrapping: references followed, `or null` dropped."""
    while "$ref" in node or "anyOf" in node:
        rest = [one for one in node.get("anyOf", ()) if one.get("type") != "null"]
        if "anyOf" in node and len(rest) != 1:
            return node
        node = SCHEMA["$defs"][node["$ref"].rpartition("/")[2]] if "$ref" in node else rest[0]
    return node


def kinds(node):
    """The members of a family; none where there is nothing to choose."""
    if "discriminator" in node:
        return set(node["discriminator"]["mapping"])
    kind = node.get("properties", {}).get("kind", {})
    return set(kind.get("enum", [kind["const"]] if "const" in kind else ()))


def families(node, path=(), depth=2):
    """Every place of a spec where a kind is chosen, with the kinds, down to two keys deep."""
    node = opened(node)
    if isinstance(node.get("additionalProperties"), dict):
        node = opened(node["additionalProperties"])
    found = kinds(node)
    if found:
        yield ".".join(path), found
    elif depth:
        for key, inner in node.get("properties", {}).items():
            yield from families(inner, (*path, key), depth - 1)


FAMILIES = dict(families(SCHEMA))


def test_the_families_are_all_seen():
    assert {"dataset.source", "causal.graph", "perturbation.features", "gate", "regressor"} <= set(FAMILIES)
    assert FAMILIES["tune"] == {"none", "randomized"}


@pytest.mark.parametrize("place", FAMILIES)
def test_every_kind_is_listed(place):
    cell = ROWS[place][1]
    told = set(re.findall(r"\w+", " ".join(re.findall(r"`(.+?)`", cell))))
    if cell.startswith("those, and"):
        told |= FAMILIES["perturbation.default"]
    assert told == FAMILIES[place], f"docs/spec.md, the row of {place}"


@pytest.mark.parametrize("section", LONG)
def test_every_key_is_listed(section):
    told = {key.rpartition(".")[2] for key in ROWS if key.startswith(f"{section}.")}
    for key, row in ROWS.items():
        if key.partition(".")[0] == section:
            told |= {
                word.removeprefix(f"{section}.") for part in re.findall(r"`(.+?)`", row[0]) for word in part.split()
            }
    assert set(opened(SCHEMA["properties"][section])["properties"]) <= told, f"docs/spec.md, the rows of {section}"


def examples():
    for text in re.findall(r"```yaml\n(.+?)```", PAGE, re.DOTALL):
        if yaml.safe_load(text) is not None:
            yield pytest.param(yaml.safe_load(text), id=text.partition("\n  ")[2].partition("\n")[0].strip())


@pytest.mark.parametrize("example", list(examples()))
def test_every_example_is_understood(example):
    dataset = {"source": {"kind": "csv", "path": "patients.csv"}, "target": "recovery"}
    RunSpec.model_validate_json(json.dumps({"version": 1, "name": "docs", "dataset": dataset, **example}))
