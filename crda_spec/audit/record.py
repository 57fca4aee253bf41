"""`record.json`: everything a run found out, from which its numbers can be checked.

All fields but `volatile` are the same for the same spec, data and versions.
"""

from __future__ import annotations

import platform
from collections.abc import Mapping
from importlib.metadata import version
from typing import Any

from crda_spec.audit.canonical import plain, sha256_of
from crda_spec.records import Certificate, Counterfactuals, RunResult

RECORD_VERSION = 1
_PACKAGES = ("crda-spec", "numpy", "pandas", "scikit-learn", "scipy", "xgboost", "pyarrow", "networkx", "pgmpy")


def versions(*others: str) -> dict[str, str]:
    """What the numbers depend on, beside spec and data; `others` are packages that only this run used."""
    return {"python": platform.python_version(), **{name: version(name) for name in (*_PACKAGES, *others)}}


def certificate_record(certificate: Certificate) -> dict[str, Any]:
    """`certificate.json`: the partition and the reason for each feature."""
    return {
        "certificate_version": 1,
        "perturbed": list(certificate.perturbed),
        "kept": list(certificate.kept),
        **plain(certificate),
    }


def make_record(
    result: RunResult, *, spec: Mapping[str, Any], spec_yaml: str, origins: Mapping[str, str], seed: int
) -> dict[str, Any]:
    """The record of a run, without its volatile part and its file hashes."""
    return {
        "record_version": RECORD_VERSION,
        "name": spec["name"],
        "seed": seed,
        "spec": {"sha256": sha256_of(spec_yaml), "resolved": plain(spec), "origins": dict(origins)},
        "versions": versions(*(("catboost",) if result.settings["kind"] == "catboost" else ())),
        "data": {
            **plain(result.data),
            "features": plain(result.split.train.features),
            "target": plain(result.split.train.target),
            "train_rows": len(result.split.train),
            "test_rows": len(result.split.test),
            "test_row_ids_sha256": sha256_of(result.split.test.row_ids.astype("<i8").tobytes()),
        },
        "certificate": certificate_record(result.certificate),
        "abduction": {
            "model": result.abduction.model,
            "residuals": result.abduction.residuals,
            "noise_mean": float(result.abduction.noise.mean()),
            "noise_sd": float(result.abduction.noise.std()),
        },
        "counterfactuals": _counterfactuals(result.counterfactuals),
        "regressor": plain(result.settings),
        "verdict": {**plain(result.verdict), "accepted": result.verdict.accepted},
        "test": plain(result.score),
        "final_model": "augmented" if result.verdict.accepted else "plain",
        "fits": result.fits,
    }


def _counterfactuals(made: Counterfactuals | None) -> dict[str, Any] | None:
    if made is None:
        return None
    return {
        "rows": len(made),
        "retention": made.retention,
        "weight": made.weight,
        "moved": list(made.action.moved),
        "policies": dict(made.action.policies),
        "clipped": dict(made.action.clipped),
        "unmoved": made.action.unmoved,
    }
