"""`ro-crate-metadata.json`: the run folder as an RO-Crate 1.1, so that archives know what each file is and made it.

It is written last and, like the record's `volatile` part, tells the day; all else depends on spec, data and versions
only. The record cannot hold its hash, since it tells the record's place among the files.
"""

from __future__ import annotations

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
    "augmented.parquet": "Real training rows, then synthetic ones; each names its source row and how it was made.",
    "certificate.json": "Which features may move, and on what ground.",
    "croissant.json": "augmented.parquet described for machine learning tools.",
    "folds.csv": "The paired losses of the gate.",
    "graph.svg": "The causal graph.",
    "ledger.parquet": "Every cell that was changed: row, column, old and new value.",
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
    graph = [
        {
            "@id": CRATE,
            "@type": "CreativeWork",
            "about": {"@id": "./"},
            "conformsTo": {"@id": _PROFILE},
        },
        _root(record, files),
        *_licence(record),
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


def _root(record: Mapping[str, Any], files: Mapping[str, bytes]) -> dict[str, Any]:
    return {
        "@id": "./",
        "@type": "Dataset",
        "name": f"crda-spec run: {record['name']}",
        "description": summary(record),
        "datePublished": record["volatile"]["created"][:10],
        "license": {"@id": "#licence"},
        "hasPart": [{"@id": name} for name in sorted(files)],
        "mainEntity": {"@id": "augmented.parquet"},
        "mentions": {"@id": "#run"},
    }


def _licence(record: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    stated = stated_licence(record)
    told = {"name": stated or "Not stated", "description": "As the spec's meta says."}
    if stated is None:
        told["description"] = (
            "Nobody stated a licence: that of the source data holds. Name one in the spec: meta.license."
        )
    yield {"@id": "#licence", "@type": "CreativeWork", **told}


def _origin(record: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The data that were read, the program, and the run that turned one into the other."""
    data, verdict = record["data"], record["verdict"]
    sources = [("#source-data", data["source"], data["sha256"])]
    if data.get("test_source"):
        sources.append(("#test-data", data["test_source"], data["test_sha256"]))
    for place, name, digest in sources:
        yield {
            "@id": place,
            "@type": "CreativeWork",
            "name": name,
            "sha256": digest,
            "description": "Not in this folder.",
        }
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
    told: dict[str, Any] = {
        "@id": name,
        "@type": "File",
        "name": name,
        "encodingFormat": _FORMATS.get(path.suffix, "application/octet-stream"),
    }
    if about:
        told["description"] = about
    if name == "augmented.parquet":
        told["isBasedOn"] = {"@id": "#source-data"}
    if name == "record.json":
        return told  # its clock times change its bytes, and nothing else here should change with them
    return {**told, "contentSize": str(len(data)), "sha256": sha256_of(data)}
