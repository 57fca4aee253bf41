"""The published JSON Schemas of `record.json` and `certificate.json`; `python -m crda_spec.audit.schemas` writes them.

Pydantic makes them from the records' own types, and their descriptions are the records' docstrings and comments: what a
run writes and what a schema says cannot drift apart. Both are closed, and every key is always written.
"""

from __future__ import annotations

import inspect
import json
import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, TypeAdapter
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core import core_schema

from crda_spec import records
from crda_spec.audit.record import LEFT_TO_FIGURES
from crda_spec.errors import show

Sha256 = Annotated[str, Field(pattern="^[0-9a-f]{64}$")]
Count = Annotated[int, Field(ge=0)]


@dataclass(frozen=True, kw_only=True)
class CertificateRecord(records.Certificate):
    """Which features of a table may be perturbed while a row keeps its noise, and on what ground."""

    certificate_version: Literal[1]  # the version of this form
    may_move: tuple[str, ...] = field()  # the features that may move while a row keeps its noise, chosen or not
    perturbed: tuple[str, ...] = field()  # X_P: those of them that the spec and the ranking chose
    kept: tuple[str, ...] = field()  # X_R: the others; a row that carries no noise may move them


@dataclass(frozen=True, kw_only=True)
class SpecPart:
    """The spec that was run."""

    sha256: Sha256  # of spec.yaml
    resolved: dict[str, Any]  # the spec with every default filled in; see its own schema
    # by path; default: nobody did
    origins: Mapping[str, Literal["user", "recipe", "goal", "default", "--set", "environment"]]


@dataclass(frozen=True, kw_only=True)
class PlatformPart:
    """What numbers may depend on beside the versions."""

    system: str  # Linux, Darwin or Windows
    machine: str  # the processor's family
    python: str  # the implementation of Python
    byteorder: str  # little or big


@dataclass(frozen=True, kw_only=True)
class StreamsPart:
    """How the seed becomes random numbers."""

    rule: str  # the generator of a stream
    names: Mapping[str, str]  # every stream by its name, and what it draws; <...> varies


@dataclass(frozen=True, kw_only=True)
class GraphPart:
    """The causal graph that was used."""

    source: str  # spec: written in the spec; discovered: found by a search; else the name of its file
    language: str | None  # the language it was written in
    sha256: Sha256 | None  # of its nodes and edges, as certificate.graph has them, in canonical JSON
    file_sha256: Sha256 | None  # of its file


@dataclass(frozen=True, kw_only=True)
class DataPart(records.DataReport):
    """The data's fingerprint."""

    features: tuple[records.Column, ...]  # with their contracts
    target: records.Column  # the column to predict
    grouped: bool  # whether some rows are bound together, so that none straddles
    train_rows: Count  # rows that were trained on
    test_rows: Count  # rows that were set aside
    tuning_rows: Count  # rows that were spent on searches
    test_row_ids_sha256: Sha256 | None  # of the test rows' positions, as little-endian 64-bit numbers; null without any


@dataclass(frozen=True, kw_only=True)
class ScalePart:
    """The fitted size of the noise."""

    least: float
    greatest: float
    clipped: Count  # rows brought back


@dataclass(frozen=True, kw_only=True)
class AbductionPart:
    """The noise of the training rows."""

    model: str  # additive or location_scale
    residuals: str  # in_sample or out_of_fold: whose predictions were subtracted
    noise_mean: float
    noise_sd: float
    scale: ScalePart | None  # null when additive


@dataclass(frozen=True, kw_only=True)
class TeacherPart:
    """What labelled the synthetic rows."""

    kind: str
    members: tuple[str, ...]  # its models, by name
    weights: tuple[float, ...]  # one a member, together 1; empty: all the same
    families: tuple[records.TeacherFamily, ...]  # by kind of model
    trust: records.Trust | None  # whether the rows bear out what the graph calls irrelevant; null: nobody asked
    signs: records.SignedMembers | None  # what declared signs did to the kinds that hold them; null: none does


@dataclass(frozen=True, kw_only=True)
class CounterfactualsPart:
    """What was done to make the synthetic rows."""

    rows: Count  # how many there are
    basis: records.Basis  # of the rows that are not invariant; see docs/explanation/basis.md
    irrelevant: tuple[str, ...]  # features on which no label depends
    invariant: Count  # rows in which only these changed
    retention: float  # the part of its noise that each carries
    residual_draw: records.ResidualDraw  # whose noise each carries
    scale_clipped: Count  # rows at whose x the fitted size of the noise was brought back into its range
    weight: float  # of a synthetic row, when the real one it was made from weighs 1
    moved: tuple[str, ...]  # the features that moved
    uncertified: tuple[str, ...]  # of these, the ones that the certificate does not cover
    policies: Mapping[str, str]  # what was done to each moved feature, in words
    propagated: Mapping[str, str]  # what followed the moved ones, and by which equation
    clipped: Mapping[str, Count]  # how many cells of each moved feature were brought back inside the contract
    dropped: Count  # rows left out because they lay off the data's support
    redrawn: Count  # rows drawn again, because of that or because they broke a column's contract
    rule_dropped: Count  # rows left out because they broke a rule in every draw
    rule_redrawn: Count  # rows drawn again because they broke a rule
    copied: Count  # rows that equal their source


@dataclass(frozen=True, kw_only=True)
class TuningPart:
    """What was searched, and what it cost; tuning.json holds every trial."""

    searches: Count  # on all rows, and inside each gate fold
    fits: Count  # models that they fitted
    trials: Count  # settings that were tried
    pruned: Count  # trials that were given up early
    stopped_by_time: Count  # searches that the clock ended
    repeatable: bool  # whether no clock took part, so that a run again is the same
    chosen: Mapping[str, dict[str, Any]]  # what was chosen on all training rows, by what was searched


@dataclass(frozen=True, kw_only=True)
class VerdictPart(records.Verdict):
    """What the gate decided, and the numbers it decided on."""

    accepted: bool = field()  # whether the gate let the augmentation pass


@dataclass(frozen=True, kw_only=True)
class VolatilePart:
    """All that may differ between two runs of the same spec on the same data with the same versions."""

    created: str  # when the run was written, in UTC
    seconds: Mapping[str, Annotated[float, Field(allow_inf_nan=False)]]  # the time that each stage took
    jobs: int | str  # worker processes, as the spec asks for them
    sha256: Sha256  # the seal of this part


@dataclass(frozen=True, kw_only=True)
class RunRecord:
    """Everything that a run found out, from which its numbers can be checked.

    All but `volatile` is the same for the same spec, data and versions.
    """

    record_version: Literal[1]  # the version of this form
    name: str  # the run's name
    seed: Count  # the one seed from which all randomness follows
    spec: SpecPart
    versions: Mapping[str, str]  # Python, and the packages that the numbers depend on
    platform: PlatformPart
    streams: StreamsPart
    graph: GraphPart
    data: DataPart
    certificate: CertificateRecord  # the same as certificate.json
    falsification: records.Falsification | None  # the declared graph against the training rows
    abduction: AbductionPart
    teacher: TeacherPart
    signs: tuple[records.DeclaredSign, ...]  # each declared sign against the training rows
    movements: tuple[records.Movement, ...]  # what became of every feature
    counterfactuals: CounterfactualsPart | None  # the synthetic rows; null when none were made
    regressor: dict[str, Any]  # the regressor's kind and settings, tuned or declared
    tuning: TuningPart | None  # the searches for settings and knobs; null when there were none
    verdict: VerdictPart
    test: records.TestScore | None  # null when no row was held back for a test
    controls: (
        records.Controls | None
    )  # what the change is made of; null without new or test rows, or when nobody looked
    ensemble: records.Ensemble | None  # several models instead of one; null when one is handed over
    intervals: records.IntervalReport | None  # prediction intervals; null without a gate, or when nobody asks for them
    sensitivity: records.Sensitivity | None  # how strong a hidden cause would use up the gain
    diagnostics: records.Diagnostics | None  # what the new rows are like; null when nobody looked
    final_model: Literal["plain", "augmented"]  # which model, or ensemble, the run chose
    fits: Count  # models fitted in all
    refits: Count  # of these models, those fitted a second time: on all their rows, when early stopping had ended
    reused_fits: int  # fits saved by models that served twice
    watch: Literal["real", "synthetic"]  # what stopped the augmented model early
    time: records.TimeOrder  # only where rows have an order
    reproducible: Literal[False]  # only where no spec can express the regressor, an object from Python
    unsaved: Mapping[str, str]  # only where models could not be saved: the folders that are missing, and why
    files: Mapping[str, Sha256]  # every other file of the folder, and the hash of its bytes
    sha256: Sha256  # the seal: of this record in canonical JSON, without sha256 and volatile
    volatile: VolatilePart


SCHEMAS = {
    "crda-certificate.v1.schema.json": (CertificateRecord, "crda-spec certificate v1"),
    "crda-record.v1.schema.json": (RunRecord, "crda-spec record v1"),
}
_COMMENT = re.compile(r"^    (\w+): .*?  # (.+)$", re.MULTILINE)
# A record of rows without an order says nothing of time, one of a run that a spec gives again nothing of objects.
_NOT_ALWAYS = ("time", "reproducible", "unsaved")


class _Closed(GenerateJsonSchema):
    """Closed objects, every key required; a number that JSON cannot hold is text."""

    def float_schema(self, schema: core_schema.FloatSchema) -> JsonSchemaValue:
        """As `canonical.plain` writes it."""
        number = super().float_schema(schema)
        return number if schema.get("allow_inf_nan") is False else {"anyOf": [number, {"enum": ["nan", "inf", "-inf"]}]}

    def dataclass_schema(self, schema: core_schema.DataclassSchema) -> JsonSchemaValue:
        """Whose keys are all written, but for those of `_NOT_ALWAYS`."""
        properties = super().dataclass_schema(schema)["properties"]
        required = [name for name in properties if name not in _NOT_ALWAYS]
        return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


class _Published(_Closed):
    """With the records' docstrings, and the comments behind their fields, as descriptions."""

    def dataclass_schema(self, schema: core_schema.DataclassSchema) -> JsonSchemaValue:
        """One object."""
        found, kind = super().dataclass_schema(schema), schema["cls"]
        described = {
            name: text
            for base in reversed(kind.__mro__[:-1])
            for name, text in _COMMENT.findall(inspect.getsource(base))
        }
        for name, part in found["properties"].items():
            part.pop("title", None)
            part.pop("default", None)
            part.update({"description": described[name]} if name in described else {})
        return {"type": "object", "description": " ".join((inspect.getdoc(kind) or "").split()), **found}


def published_schema(name: str, form: type[_Closed] = _Published) -> dict[str, Any]:
    """One of `SCHEMAS` (draft 2020-12)."""
    kind, title = SCHEMAS[name]
    schema = TypeAdapter(kind).json_schema(mode="serialization", schema_generator=form)
    for left, names in LEFT_TO_FIGURES.items():
        part = schema["$defs"].get(left.__name__, {"properties": {}, "required": []})
        part["properties"] = {key: one for key, one in part["properties"].items() if key not in names}
        part["required"] = [key for key in part["required"] if key not in names]
    schema["$defs"].pop(records.Cloud.__name__, None)
    return {"$schema": GenerateJsonSchema.schema_dialect, "title": title, **schema}


def schema_text(name: str) -> str:
    """The published form: indented, with a final newline, the same bytes every time."""
    return json.dumps(published_schema(name), indent=2, ensure_ascii=False) + "\n"


@cache
def _record_schema() -> dict[str, Any]:
    return published_schema("crda-record.v1.schema.json", _Closed)  # nobody reads its descriptions here


def record_trouble(record: object) -> list[tuple[str, str]]:
    """Where a record is not as its schema says: the path, and what is wrong there."""
    schema = _record_schema()
    return list(_trouble(record, schema, schema["$defs"], ""))


_TYPES: Mapping[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "null": (type(None),),
    "array": (list,),
    "object": (dict,),
}


def _trouble(value: Any, schema: Mapping[str, Any], defs: Mapping[str, Any], path: str) -> Iterator[tuple[str, str]]:  # noqa: ANN401 - any JSON
    """The keywords that pydantic writes for our records, and no other."""
    if "$ref" in schema:
        schema = defs[schema["$ref"].rpartition("/")[2]]
    if "anyOf" in schema:
        tried = [list(_trouble(value, one, defs, path)) for one in schema["anyOf"]]
        inner = [one for one in tried if all(where != path for where, _ in one)]  # of the right type, if nothing else
        yield from min(inner, key=len) if inner else [(path, f"is {show(value)}, must be {_words(schema, defs)}")]
        return
    wanted = schema.get("type")
    if (wanted and (type(value) not in _TYPES[wanted])) or not _allowed(value, schema):
        yield path, f"is {show(value)}, must be {_words(schema, defs)}"
    elif isinstance(value, dict):
        named, others = schema.get("properties", {}), schema.get("additionalProperties", True)
        yield from ((_below(path, key), "is missing") for key in schema.get("required", ()) if key not in value)
        for key, one in value.items():
            if key in named or isinstance(others, dict):
                yield from _trouble(one, named.get(key, others), defs, _below(path, key))
            elif others is False:
                yield _below(path, key), "is no key of a record"
    elif isinstance(value, list):
        first = schema.get("prefixItems", ())
        for at, one in enumerate(value):
            yield from _trouble(one, first[at] if at < len(first) else schema.get("items", {}), defs, _below(path, at))


def _below(path: str, key: object) -> str:
    return f"{path}.{key}" if path else str(key)


def _allowed(value: Any, schema: Mapping[str, Any]) -> bool:  # noqa: ANN401
    """Whether a value of the right type is one of those that may stand there."""
    size = len(value) if isinstance(value, list) else 0
    return (
        value in schema.get("enum", (value,))
        and value == schema.get("const", value)
        and ("pattern" not in schema or re.search(schema["pattern"], value) is not None)
        and not ("minimum" in schema and value < schema["minimum"])
        and not ("maximum" in schema and value > schema["maximum"])
        and schema.get("minItems", 0) <= size <= schema.get("maxItems", size)
    )


def _words(schema: Mapping[str, Any], defs: Mapping[str, Any]) -> str:
    if "$ref" in schema:
        return _words(defs[schema["$ref"].rpartition("/")[2]], defs)
    if "anyOf" in schema:
        return " or ".join(_words(one, defs) for one in schema["anyOf"])
    if "enum" in schema or "const" in schema:
        return " or ".join(map(repr, schema.get("enum", [schema.get("const")])))
    more = {"pattern": "like", "minimum": "from", "maximum": "to", "minItems": "with at least", "maxItems": "at most"}
    limits = [f"{word} {schema[key]}" for key, word in more.items() if key in schema]
    return " ".join(["null" if schema["type"] == "null" else f"of type {schema['type']}", *limits])


if __name__ == "__main__":
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path("schemas")
    for file in SCHEMAS:
        (folder / file).write_text(schema_text(file), encoding="utf-8")
