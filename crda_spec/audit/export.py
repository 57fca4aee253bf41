"""A run folder for other tools: as an RO-Crate 1.1 for archives, its table as Croissant 1.0 for catalogues."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath
from typing import Any

from crda_spec.audit.canonical import canonical_json, sha256_of

CRATE = "ro-crate-metadata.json"
_PROFILE = "https://w3id.org/ro/crate/1.1"
_TERMS = {"sha256": "https://schema.org/sha256"}  # younger than the context of 1.1

_FORMATS = {
    ".csv": "text/csv",
    ".html": "text/html",
    ".json": "application/json",
    ".parquet": "application/vnd.apache.parquet",
    ".png": "image/png",
    ".skops": "application/zip",
    ".svg": "image/svg+xml",
    ".yaml": "application/yaml",
}
_ABOUT = {
    "augmented.csv": "The rows of augmented.parquet, for a spreadsheet.",
    "augmented.parquet": "Real training rows, then synthetic ones; each names its source row and how it was made.",
    "certificate.json": "Which features may move, and on what ground.",
    "croissant.json": "augmented.parquet described for machine learning tools.",
    "folds.csv": "The paired losses of the gate.",
    "graph.svg": "The causal graph.",
    "ledger.parquet": "Every cell that was changed: row, column, old and new value.",
    "in_sample.json": "What the teacher predicts for the rows that it was fitted on.",
    "noise.json": "How large the noise is at which features.",
    "record.json": "The record of the run, with the hash of every file.",
    "report.html": "The report, for people.",
    "repeats.csv": "What each row cost in each repeat of the gate's folds.",
    "rows.csv": "Which row was trained on, held out in which gate fold, or tested, and what it cost there.",
    "spec.yaml": "The spec, with every default filled in.",
}
_ABOUT_FOLDERS = {
    "ensemble": "A model of the ensemble, whose mean is what the run predicts.",
    "model": "The final model.",
    "figures": "A figure of the report.",
    "teacher": "A member of the teacher, which labelled the synthetic rows.",
}


def crate_json(record: Mapping[str, Any], files: Mapping[str, bytes]) -> str:
    """The crate's metadata.

    record: as in record.json.  files: all other files of the folder, by name, record.json among them.
    """
    licence = stated_licence(record)
    terms = "As the spec's meta says."
    if licence is None:
        terms = "Nobody stated a licence: that of the source data holds. Name one in the spec: meta.license."
    graph = [
        {"@id": CRATE, "@type": "CreativeWork", "about": {"@id": "./"}, "conformsTo": {"@id": _PROFILE}},
        {
            "@id": "./",
            "@type": "Dataset",
            "name": f"crda-spec run: {record['name']}",
            "description": summary(record),
            "datePublished": record["volatile"]["created"][:10],
            "license": {"@id": "#licence"},
            "hasPart": [{"@id": name} for name in sorted(files)],
            "mainEntity": {"@id": "augmented.parquet"},
            "mentions": {"@id": "#run"},
        },
        {"@id": "#licence", "@type": "CreativeWork", "name": licence or "Not stated", "description": terms},
        *_origin(record),
        *(_file(name, data) for name, data in sorted(files.items())),
    ]
    return canonical_json({"@context": [f"{_PROFILE}/context", _TERMS], "@graph": graph})


def stated_licence(record: Mapping[str, Any]) -> str | None:
    """The licence of the data, where the spec's `meta` states one."""
    meta = record["spec"]["resolved"].get("meta") or {}
    return next((str(meta[key]) for key in ("license", "licence") if meta.get(key)), None)


def summary(record: Mapping[str, Any]) -> str:
    """The run in a sentence or two: the spec's own description, then the verdict."""
    described = str(record["spec"]["resolved"].get("description") or "")
    return f"{described} {record['verdict']['sentence']}".strip()


def _origin(record: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The data that were read, the program, and the run that turned one into the other."""
    data, verdict = record["data"], record["verdict"]
    sources = [("#source-data", data["source"], data["sha256"])]
    if data.get("test_source"):
        sources.append(("#test-data", data["test_source"], data["test_sha256"]))
    for place, name, digest in sources:
        about = "Not in this folder."
        yield {"@id": place, "@type": "CreativeWork", "name": name, "sha256": digest, "description": about}
    yield {
        "@id": "#crda-spec",
        "@type": "SoftwareApplication",
        "name": "crda-spec",
        "version": record["versions"]["crda-spec"],
        "softwareVersion": record["versions"]["crda-spec"],
        "softwareRequirements": [f"{name} {version}" for name, version in sorted(record["versions"].items())],
    }
    yield {
        "@id": "#run",
        "@type": "CreateAction",
        "name": f"Counterfactual residual data augmentation: {verdict['decision']}",
        "description": verdict["sentence"],
        "instrument": {"@id": "#crda-spec"},
        "object": [{"@id": "spec.yaml"}, *({"@id": place} for place, _, _ in sources)],
        "result": [{"@id": "augmented.parquet"}, {"@id": "record.json"}, {"@id": "report.html"}],
    }


def _file(name: str, data: bytes) -> dict[str, Any]:
    path = PurePosixPath(name)
    about = _ABOUT.get(name) or _ABOUT_FOLDERS.get(path.parts[0], "")
    kind = _FORMATS.get(path.suffix, "application/octet-stream")
    entry: dict[str, Any] = {"@id": name, "@type": "File", "name": name, "encodingFormat": kind}
    entry |= {"description": about} if about else {}
    entry |= {"isBasedOn": {"@id": "#source-data"}} if name == "augmented.parquet" else {}
    if name == "record.json":
        return entry  # its clock times change its bytes, and nothing else here should change with them
    return {**entry, "contentSize": str(len(data)), "sha256": sha256_of(data)}


# The context that the Croissant specification prescribes, word for word; first its terms that keep their own name.
_CONTEXT: dict[str, Any] = {
    **{
        term: f"cr:{term}"
        for term in (
            *("citeAs", "column", "equivalentProperty", "extract", "field", "fileObject", "fileProperty", "fileSet"),
            *("format", "includes", "isLiveDataset", "jsonPath", "key", "md5", "parentField", "path", "recordSet"),
            *("references", "regex", "repeated", "replace", "samplingRate", "separator", "source", "subField"),
            "transform",
        )
    },
    "@language": "en",
    "@vocab": "https://schema.org/",
    "conformsTo": "dct:conformsTo",
    "cr": "http://mlcommons.org/croissant/",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "dct": "http://purl.org/dc/terms/",
    "examples": {"@id": "cr:examples", "@type": "@json"},
    "prov": "http://www.w3.org/ns/prov#",
    "rai": "http://mlcommons.org/croissant/RAI/",
    "sc": "https://schema.org/",
}
_TYPES = {"continuous": "sc:Float", "integer": "sc:Integer", "boolean": "sc:Boolean", "category": "sc:Text"}
_LEDGER: dict[str, tuple[str, str]] = {  # what augmented.parquet adds to a row, in its order: type and meaning
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
    "_crda_basis": (
        "sc:Text",
        "On what the label rests: certificate (noise carried over), support (the teacher alone), augmenter (no claim).",
    ),
    "_crda_weight": ("sc:Float", "The row's weight in training."),
    "_crda_trained": ("sc:Boolean", "Whether the augmented model was trained on the row."),
}
LEDGER = tuple(_LEDGER)


def croissant_json(record: Mapping[str, Any], augmented: bytes) -> str:
    """The description of `augmented.parquet`, whose bytes these are."""
    licence = stated_licence(record)
    return canonical_json(
        {
            "@context": _CONTEXT,
            "@type": "sc:Dataset",
            "conformsTo": "http://mlcommons.org/croissant/1.0",
            # One word in a URL.
            "name": f"{re.sub('[^A-Za-z0-9]', '-', record['name']).strip('-') or 'run'}-augmented",
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
            "rai:dataLimitations": (
                f"The gate's verdict is {record['verdict']['decision']}: {record['verdict']['sentence']} Synthetic "
                "rows serve to train a model like the one that was gated. Do not count, test or publish them as if "
                "they had been measured."
            ),
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
    if made["basis"] == "augmenter":
        return (
            f"Features that an augmenter changed: {steps}. It made the outcome too (basis: augmenter): nothing is "
            "claimed of these rows. ledger.parquet lists every cell in which a row differs from its source."
        )
    return (
        f"Features that moved: {steps}. The outcome of a synthetic row is the teacher's prediction at its features "
        f"plus {made['retention']:g} of the noise of a real row (basis: {made['basis']}). ledger.parquet lists "
        "every cell that was changed."
    )


def _fields(record: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Each column: numbered, since a name may be anything; the ledger's columns are ours."""
    features, target = record["data"]["features"], record["data"]["target"]
    described = []
    for number, column in enumerate([*features, target], start=1):
        role = "The target" if column is target else "A feature"
        unit = f", in {column['unit']}" if column["unit"] else ""
        # The outcome of a synthetic row need not be whole, so the target's column is one of floats.
        kind = "sc:Float" if column is target and column["type"] == "integer" else _TYPES[column["type"]]
        described.append((f"column-{number}", column["name"], f"{role}{unit}.", kind))
    described += [(name, name, about, kind) for name, (kind, about) in _LEDGER.items()]
    for place, name, about, kind in described:
        yield {
            "@id": f"rows/{place}",
            "@type": "cr:Field",
            "name": name,
            "description": about,
            "dataType": kind,
            "source": {"fileObject": {"@id": "augmented-parquet"}, "extract": {"column": name}},
        }
