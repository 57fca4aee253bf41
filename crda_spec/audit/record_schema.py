"""The published JSON Schema of `record.json`. `python -m crda_spec.audit.record_schema` rewrites its file.

It is made from the records' own types, and its descriptions are their docstrings and comments: what a run writes and
what the schema says cannot drift apart. Like the certificate's it is closed, and every key is always written.
"""

from __future__ import annotations

import inspect
import json
import re
import sys
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin

from crda_spec.audit.canonical import Schema, closed_object, record_types, text
from crda_spec.audit.certificate import certificate_schema
from crda_spec.audit.record import LEFT_TO_FIGURES, RECORD_VERSION
from crda_spec.records import (
    Cloud,
    Column,
    DataReport,
    Diagnostics,
    Ensemble,
    Falsification,
    Licence,
    Movement,
    ResidualDraw,
    Sensitivity,
    TeacherFamily,
    TestScore,
    TimeOrder,
    Verdict,
)

PUBLISHED = Path("schemas/crda-record.v1.schema.json")
HASH = {"type": "string", "pattern": "^[0-9a-f]{64}$"}
_REAL = {"anyOf": [{"type": "number"}, {"enum": ["nan", "inf", "-inf"]}]}  # what JSON cannot hold is written as text
_COMMENT = re.compile(r"^    (\w+): .*?  # (.+)$", re.MULTILINE)


def record_schema() -> Schema:
    """The schema of `record.json` (draft 2020-12)."""
    defs: dict[str, Schema] = {}
    certificate = certificate_schema()
    defs |= {f"Certificate{name}": _renamed(part) for name, part in certificate["$defs"].items()}
    body = {key: _renamed(part) for key, part in certificate.items() if key not in ("$schema", "title", "$defs")}
    schema = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "crda-spec record v1",
        **closed_object(
            "Everything that a run found out, from which its numbers can be checked. All but `volatile` is the same "
            "for the same spec, data and versions.",
            **_head(),
            **_inputs(defs),
            certificate={"$ref": "#/$defs/Certificate", "description": "The same as certificate.json."},
            **_findings(defs),
            **_tail(),
        ),
    }
    # The one key that is not always there: a record of rows without an order says nothing of time.
    schema["properties"]["time"] = {**_of(TimeOrder, defs), "description": _doc(TimeOrder)}
    return {**schema, "$defs": {"Certificate": body, **dict(sorted(defs.items()))}}


def record_schema_text() -> str:
    """The published form: indented, with a final newline, the same bytes every time."""
    return json.dumps(record_schema(), indent=2, ensure_ascii=False) + "\n"


def _head() -> dict[str, Schema]:
    origin = {"enum": ["user", "recipe", "default", "--set", "environment"]}
    return {
        "record_version": {"const": RECORD_VERSION, "description": "The version of this form."},
        "name": text("The run's name."),
        "seed": _count("The one seed from which all randomness follows."),
        "spec": closed_object(
            "The spec that was run.",
            sha256={**HASH, "description": "Of spec.yaml."},
            resolved={"type": "object", "description": "The spec with every default filled in; see its own schema."},
            origins=_map(origin, "Who wrote each value, by its path in the spec; default: nobody did."),
        ),
        "versions": _map({"type": "string"}, "Python, and the packages that the numbers depend on."),
        "platform": closed_object(
            "What numbers may depend on beside the versions.",
            system=text("Linux, Darwin or Windows."),
            machine=text("The processor's family."),
            python=text("The implementation of Python."),
            byteorder=text("little or big."),
        ),
        "streams": closed_object(
            "How the seed becomes random numbers.",
            rule=text("The generator of a stream."),
            names=_map({"type": "string"}, "Every stream by its name, and what it draws; <...> varies."),
        ),
        "graph": closed_object(
            "The causal graph that was used.",
            source=text("spec: written in the spec; discovered: found by a search; else the name of its file."),
            language=_maybe({"type": "string"}, "The language it was written in."),
            sha256=_maybe(HASH, "Of its nodes and edges, as certificate.graph has them, in canonical JSON."),
            file_sha256=_maybe(HASH, "Of its file."),
        ),
    }


def _inputs(defs: dict[str, Schema]) -> dict[str, Schema]:
    data = _fields(DataReport, defs)
    return {
        "data": closed_object(
            "The data's fingerprint.",
            **data,
            features={
                "type": "array",
                "items": _of(Column, defs),
                "description": "The features, with their contracts.",
            },
            target={**_of(Column, defs), "description": "The column to predict."},
            grouped={"type": "boolean", "description": "Whether some rows are bound together, so that none straddles."},
            train_rows=_count("Rows that were trained on."),
            test_rows=_count("Rows that were set aside."),
            tuning_rows=_count("Rows that were spent on searches."),
            test_row_ids_sha256={
                **HASH,
                "description": "Of the test rows' positions, as little-endian 64-bit numbers.",
            },
        )
    }


def _findings(defs: dict[str, Schema]) -> dict[str, Schema]:
    accepted = {"type": "boolean", "description": "Whether the augmented model is the one to use."}
    verdict = closed_object(_doc(Verdict), **_fields(Verdict, defs), accepted=accepted)
    return {
        "falsification": _maybe(_of(Falsification, defs), "The declared graph against the training rows."),
        "abduction": closed_object(
            "The noise of the training rows.",
            model=text("additive or location_scale."),
            residuals=text("in_sample or out_of_fold: whose predictions were subtracted."),
            noise_mean=_REAL,
            noise_sd=_REAL,
            scale=_maybe(
                closed_object(
                    "The fitted size of the noise.", least=_REAL, greatest=_REAL, clipped=_count("Rows brought back.")
                ),
                "Null when additive.",
            ),
        ),
        "teacher": closed_object(
            "What labelled the synthetic rows.",
            kind=text("Its kind."),
            members={"type": "array", "items": {"type": "string"}, "description": "Its models, by name."},
            weights={"type": "array", "items": _REAL, "description": "One a member, together 1; empty: all the same."},
            families={"type": "array", "items": _of(TeacherFamily, defs), "description": "By kind of model."},
        ),
        "movements": {"type": "array", "items": _of(Movement, defs), "description": "What became of every feature."},
        "counterfactuals": _maybe(_counterfactuals(), "The synthetic rows; null when none were made."),
        "regressor": {"type": "object", "description": "The regressor's kind and settings, tuned or declared."},
        "tuning": _maybe(_tuning(), "The searches for settings and knobs; null when there were none."),
        "verdict": verdict,
        "test": _of(TestScore, defs),
        "ensemble": _maybe(_of(Ensemble, defs), "Several models instead of one; null when one is handed over."),
        "sensitivity": _maybe(_of(Sensitivity, defs), "How strong a hidden cause would use up the gain."),
        "diagnostics": _maybe(_diagnostics(defs), "What the new rows are like; null when nobody looked."),
    }


def _counterfactuals() -> Schema:
    names = {"type": "array", "items": {"type": "string"}}
    return closed_object(
        "What was done to make the synthetic rows.",
        rows=_count("How many there are."),
        licence={"enum": list(get_args(Licence)), "description": "What they stand on; see docs/labels.md."},
        retention={**_REAL, "description": "The part of its noise that each carries."},
        residual_draw={"enum": list(get_args(ResidualDraw)), "description": "Whose noise each carries."},
        scale_clipped=_count("Rows at whose x the fitted size of the noise was brought back into its range."),
        weight={**_REAL, "description": "Of a synthetic row, when the real one it was made from weighs 1."},
        moved={**names, "description": "The features that moved."},
        uncertified={**names, "description": "Of these, the ones that the certificate does not cover."},
        policies=_map({"type": "string"}, "What was done to each moved feature, in words."),
        propagated=_map({"type": "string"}, "What followed the moved ones, and by which equation."),
        clipped=_map(_count("Cells."), "How many cells of each moved feature were brought back inside the contract."),
        dropped=_count("Rows left out because they lay off the data's support."),
        redrawn=_count("Rows drawn again, because of that or because they broke a column's contract."),
        unmoved=_count("Rows that came out as their source."),
    )


def _diagnostics(defs: dict[str, Schema]) -> Schema:
    """The numbers alone: points, curves and quantiles are in diagnostics.json."""
    found = _of(Diagnostics, defs)
    for kind, names in LEFT_TO_FIGURES.items():
        part = defs[kind.__name__]
        for name in names:
            del part["properties"][name]
            part["required"].remove(name)
    defs.pop(Cloud.__name__)
    return found


def _tuning() -> Schema:
    return closed_object(
        "What was searched, and what it cost; tuning.json holds every trial.",
        searches=_count("On all rows, and inside each gate fold."),
        fits=_count("Models that they fitted."),
        trials=_count("Settings that were tried."),
        pruned=_count("Trials that were given up early."),
        stopped_by_time=_count("Searches that the clock ended."),
        repeatable={"type": "boolean", "description": "Whether no clock took part, so that a run again is the same."},
        chosen=_map({"type": "object"}, "What was chosen on all training rows, by what was searched."),
    )


def _tail() -> dict[str, Schema]:
    return {
        "final_model": {
            "enum": ["plain", "augmented"],
            "description": "Which model, or ensemble, the run chose.",
        },
        "fits": _count("Models fitted in all."),
        "spared_fits": {"type": "integer", "description": "Fits saved by models that served twice."},
        "watch": {"enum": ["real", "synthetic"], "description": "What stopped the augmented model early."},
        "files": _map(HASH, "Every other file of the folder, and the hash of its bytes."),
        "sha256": {**HASH, "description": "The seal: of this record in canonical JSON, without sha256 and volatile."},
        "volatile": closed_object(
            "All that may differ between two runs of the same spec on the same data with the same versions.",
            created=text("When the run was written, in UTC."),
            seconds=_map({"type": "number"}, "The time that each stage took."),
            jobs={"type": ["integer", "string"], "description": "Worker processes, as the spec asks for them."},
            sha256={**HASH, "description": "The seal of this part."},
        ),
    }


def _of(kind: type[Any], defs: dict[str, Schema]) -> Schema:
    """A reference to a record's schema, which is made on its first use."""
    if kind.__name__ not in defs:
        defs[kind.__name__] = {}  # a record that holds its own kind would come back here
        defs[kind.__name__] = closed_object(_doc(kind), **_fields(kind, defs))
    return {"$ref": f"#/$defs/{kind.__name__}"}


def _fields(kind: type[Any], defs: dict[str, Schema]) -> dict[str, Schema]:
    types, said = record_types(kind), dict(_COMMENT.findall(inspect.getsource(kind)))
    return {
        field.name: {
            **_type(types[field.name], defs),
            **({"description": said[field.name]} if field.name in said else {}),
        }
        for field in fields(kind)
    }


def _type(kind: Any, defs: dict[str, Schema]) -> Schema:  # noqa: ANN401 - any type of a record
    origin, inner = get_origin(kind), get_args(kind)
    if origin in (Union, UnionType):
        chosen = [_type(one, defs) for one in inner if one is not NoneType]
        return {"anyOf": [*chosen, {"type": "null"}]} if NoneType in inner else {"anyOf": chosen}
    if origin is tuple and inner[-1] is Ellipsis:
        return {"type": "array", "items": _type(inner[0], defs)}
    if origin is tuple:
        cells = [_type(one, defs) for one in inner]
        return {"type": "array", "prefixItems": cells, "minItems": len(cells), "items": False}
    if origin is Literal:
        return {"enum": list(inner)}
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return {"type": "object", "additionalProperties": _type(inner[1], defs)}
    if isinstance(kind, type) and is_dataclass(kind):
        return _of(kind, defs)
    simple: dict[Any, Schema] = {
        str: {"type": "string"},
        bool: {"type": "boolean"},
        int: {"type": "integer"},
        float: _REAL,
        object: {},
        Any: {},
    }
    return simple[kind]


def _doc(kind: type[Any]) -> str:
    return " ".join((inspect.getdoc(kind) or "").split())


def _renamed(part: Any) -> Any:  # noqa: ANN401 - any JSON
    """The certificate's own definitions, under names of their own."""
    if isinstance(part, dict):
        return {
            key: inner.replace("/$defs/", "/$defs/Certificate") if key == "$ref" else _renamed(inner)
            for key, inner in part.items()
        }
    return [_renamed(one) for one in part] if isinstance(part, list) else part


def _map(values: Schema, description: str) -> Schema:
    return {"type": "object", "description": description, "additionalProperties": values}


def _maybe(part: Schema, description: str) -> Schema:
    return {"anyOf": [part, {"type": "null"}], "description": description}


def _count(description: str) -> Schema:
    return {"type": "integer", "minimum": 0, "description": description}


if __name__ == "__main__":
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else PUBLISHED
    target.write_text(record_schema_text(), encoding="utf-8")
