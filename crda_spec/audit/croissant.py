"""`croissant.json`: the augmented table in the Croissant format (MLCommons, 1.0), which catalogues and loaders read.

It says which rows are synthetic, what they were made from and how, so that nobody takes them for observations.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from crda_spec.audit.canonical import canonical_json, sha256_of
from crda_spec.audit.crate import stated_licence, summary

# The context that the Croissant specification prescribes, word for word.
_CONTEXT: dict[str, Any] = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "citeAs": "cr:citeAs",
    "column": "cr:column",
    "conformsTo": "dct:conformsTo",
    "cr": "http://mlcommons.org/croissant/",
    "rai": "http://mlcommons.org/croissant/RAI/",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "dct": "http://purl.org/dc/terms/",
    "equivalentProperty": "cr:equivalentProperty",
    "examples": {"@id": "cr:examples", "@type": "@json"},
    "extract": "cr:extract",
    "field": "cr:field",
    "fileProperty": "cr:fileProperty",
    "fileObject": "cr:fileObject",
    "fileSet": "cr:fileSet",
    "format": "cr:format",
    "includes": "cr:includes",
    "isLiveDataset": "cr:isLiveDataset",
    "jsonPath": "cr:jsonPath",
    "key": "cr:key",
    "md5": "cr:md5",
    "parentField": "cr:parentField",
    "path": "cr:path",
    "recordSet": "cr:recordSet",
    "references": "cr:references",
    "regex": "cr:regex",
    "repeated": "cr:repeated",
    "replace": "cr:replace",
    "samplingRate": "cr:samplingRate",
    "sc": "https://schema.org/",
    "separator": "cr:separator",
    "source": "cr:source",
    "subField": "cr:subField",
    "transform": "cr:transform",
    "prov": "http://www.w3.org/ns/prov#",
}
_TYPES = {"continuous": "sc:Float", "integer": "sc:Integer", "boolean": "sc:Boolean", "category": "sc:Text"}
_LEDGER: dict[str, tuple[str, str]] = {
    "_crda_synthetic": ("sc:Boolean", "True for a synthetic row, false for a real training row."),
    "_crda_source_row": ("sc:Integer", "The number, in the source, of the row itself or of the row it was made from."),
    "_crda_partner_row": ("sc:Integer", "The number of the second row it was made from, where there is one."),
    "_crda_prediction": ("sc:Float", "The teacher's prediction at the row's features."),
    "_crda_scale": ("sc:Float", "The size of the noise at the row's features."),
    "_crda_noise": ("sc:Float", "The noise that the row carries."),
    "_crda_noise_row": ("sc:Integer", "The number of the row whose noise it is."),
    "_crda_retention": (
        "sc:Float",
        "The share of the noise that was kept: y = prediction + retention * scale * noise.",
    ),
    "_crda_licence": ("sc:Text", "What the synthetic row stands on: certificate or support."),
    "_crda_weight": ("sc:Float", "The row's weight in training."),
    "_crda_trained": ("sc:Boolean", "Whether the augmented model was trained on the row."),
}


def croissant_json(record: Mapping[str, Any], augmented: bytes) -> str:
    """The description of `augmented.parquet`, whose bytes these are."""
    licence = stated_licence(record)
    return canonical_json(
        {
            "@context": _CONTEXT,
            "@type": "sc:Dataset",
            "conformsTo": "http://mlcommons.org/croissant/1.0",
            "name": f"{_slug(record['name'])}-augmented",
            "description": f"{summary(record)} {_provenance(record)}",
            "version": "1.0.0",
            "isLiveDataset": False,
            **({"license": licence} if licence else {}),
            "prov:wasDerivedFrom": {
                "@id": f"urn:sha256:{record['data']['sha256']}",
                "@type": "prov:Entity",  # a second sc:Dataset would make loaders guess which one is described
                "name": record["data"]["source"],
            },
            "rai:dataManipulationProtocol": _protocol(record),
            "rai:dataLimitations": _limits(record),
            "distribution": [
                {
                    "@id": "augmented-parquet",
                    "@type": "cr:FileObject",
                    "name": "augmented.parquet",
                    "contentUrl": "augmented.parquet",
                    "contentSize": f"{len(augmented)} B",
                    "encodingFormat": "application/x-parquet",
                    "sha256": sha256_of(augmented),
                }
            ],
            "recordSet": [
                {
                    "@id": "rows",
                    "@type": "cr:RecordSet",
                    "name": "rows",
                    "description": "Real training rows, then synthetic rows: see the field _crda_synthetic.",
                    "field": list(_fields(record)),
                }
            ],
        }
    )


def _slug(name: str) -> str:
    """A name that stays one word in a URL."""
    return "".join(letter if letter.isascii() and letter.isalnum() else "-" for letter in name).strip("-") or "run"


def _provenance(record: Mapping[str, Any]) -> str:
    made, data = record["counterfactuals"], record["data"]
    source = f"{data['source']} (SHA-256 {data['sha256']})"
    if made is None:
        return f"All {data['train_rows']} rows are real training rows of {source}; no synthetic row was made."
    return (
        f"{data['train_rows']} rows are real training rows of {source}; {made['rows']} rows are SYNTHETIC, made from "
        "them by counterfactual residual data augmentation and marked by _crda_synthetic. They are not observations."
    )


def _protocol(record: Mapping[str, Any]) -> str:
    made = record["counterfactuals"]
    if made is None:
        return "None: the rows are as they were read."
    steps = "; ".join(f"{name}: {what}" for name, what in sorted({**made["policies"], **made["propagated"]}.items()))
    return (
        f"Features that moved: {steps}. The outcome of a synthetic row is the teacher's prediction at its features "
        f"plus {made['retention']:g} of the noise of a real row (licence: {made['licence']}). ledger.parquet lists "
        "every cell that was changed."
    )


def _limits(record: Mapping[str, Any]) -> str:
    return (
        f"The gate's verdict is {record['verdict']['decision']}: {record['verdict']['sentence']} Synthetic rows serve "
        "to train a model like the one that was gated. Do not count, test or publish them as if they had been measured."
    )


def _fields(record: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Each column: numbered, since a name may be anything; the ledger's columns are ours."""
    features, target = record["data"]["features"], record["data"]["target"]
    for number, column in enumerate([*features, target], start=1):
        role = "The target" if column is target else "A feature"
        unit = f", in {column['unit']}" if column["unit"] else ""
        # The outcome of a synthetic row need not be whole, so the target's column is one of floats.
        kind = "sc:Float" if column is target and column["type"] == "integer" else _TYPES[column["type"]]
        yield _field(f"rows/column-{number}", column["name"], f"{role}{unit}.", kind)
    for name, (kind, about) in _LEDGER.items():
        yield _field(f"rows/{name}", name, about, kind)


def _field(place: str, name: str, about: str, kind: str) -> dict[str, Any]:
    return {
        "@id": place,
        "@type": "cr:Field",
        "name": name,
        "description": about,
        "dataType": kind,
        "source": {"fileObject": {"@id": "augmented-parquet"}, "extract": {"column": name}},
    }
