"""`record.json`: everything a run found out, from which its numbers can be checked.

All its fields but `volatile` are the same for the same spec, data and versions.
"""

from __future__ import annotations

import json
import platform
import sys
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from crda_spec import __version__, records
from crda_spec.audit.canonical import canonical_json, plain, read_as, sha256_of
from crda_spec.audit.tables import trials_csv
from crda_spec.counterfactual.augmenters import AUGMENTERS
from crda_spec.regressors.classes import distribution, roots_of
from crda_spec.report.words.causal import followed_words
from crda_spec.scm.certificate import graph_certificate
from crda_spec.scm.graph import CausalGraph
from crda_spec.seeds import STREAM_RULE, STREAMS
from crda_spec.spec.load import Draft
from crda_spec.spec.run import RunSpec

TRIALS, STUDIES = "trials.csv", "tuning.json"


def tuning_files(studies: Sequence[records.Study]) -> dict[str, bytes]:
    """The files of a run that searched; none otherwise."""
    if not studies:
        return {}
    return {TRIALS: trials_csv(studies).encode(), STUDIES: canonical_json({"studies": studies}).encode()}


def read_studies(folder: Path) -> tuple[records.Study, ...]:
    """The studies of a finished run."""
    file = folder / STUDIES
    if not file.is_file():
        return ()
    return tuple(read_as(records.Study, study) for study in json.loads(file.read_text(encoding="utf-8"))["studies"])


def tuning_record(studies: Sequence[records.Study]) -> dict[str, Any] | None:
    """What the record says of the searches: what was chosen on all rows, the cost, and whether it can be repeated."""
    if not studies:
        return None
    return {
        "searches": len(studies),
        "fits": sum(study.fits for study in studies),
        "trials": sum(len(study.trials) for study in studies),
        "pruned": sum(trial.state == "pruned" for study in studies for trial in study.trials),
        "stopped_by_time": sum(study.stopped == "time" for study in studies),
        # A search that the clock ends depends on the machine; all others are functions of spec, data and versions.
        "repeatable": all(study.stopped == "trials" for study in studies),
        "chosen": {study.what: dict(study.chosen.values) for study in studies if study.fold == 0},
    }


RECORD_VERSION = 1
CERTIFICATE_VERSION = 1
# What only figures need is in diagnostics.json: it would be most of the record.
LEFT_TO_FIGURES: dict[type, tuple[str, ...]] = {
    records.Places: ("plane", "pairs"),
    records.MovedFeature: ("grid", "curve"),
    records.Comparison: ("before", "after"),
}
_PACKAGES = ("crda-spec", "numpy", "pandas", "scikit-learn", "scipy", "xgboost", "pyarrow", "networkx", "pgmpy")


def versions(*others: str) -> dict[str, str]:
    """What the numbers depend on, beside spec and data; `others` are packages that only this run used."""
    # Our own is the code's: in a checkout, what is installed may be older than what runs.
    known = {name: __version__ if name == "crda-spec" else version(name) for name in _PACKAGES}
    return {"python": platform.python_version(), **known, **{name: _version(name) for name in others}}


def _version(name: str) -> str:
    """A module of the user's own belongs to no package, and has no version."""
    try:
        return version(name)
    except PackageNotFoundError:
        return "unknown"


def special_packages(regressor: Mapping[str, Any], *, searched: bool, augmenter: str | None = None) -> list[str]:
    """The packages that only some runs use. regressor: its settings. searched: whether the augmentation's knobs are.

    augmenter: its kind, where there is one.
    """
    catboost = regressor["kind"] == "catboost"
    used = [name for name, used in (("catboost", catboost), ("optuna", searched)) if used]
    if augmenter is not None and AUGMENTERS[augmenter].trains:
        used += [AUGMENTERS[augmenter].package, "torch"]
    return sorted({*used, *map(distribution, roots_of(regressor))} - set(_PACKAGES))


def platform_record() -> dict[str, str]:
    """What numbers may depend on beside the versions; nothing that tells one machine from its neighbour."""
    return {
        "system": platform.system(),
        "machine": platform.machine(),
        "python": platform.python_implementation(),
        "byteorder": sys.byteorder,
    }


def make_record(
    result: records.RunResult,
    *,
    spec: Mapping[str, Any],
    spec_yaml: str,
    origins: Mapping[str, str],
    seed: int,
    graph: Mapping[str, Any],
) -> dict[str, Any]:
    """The record of a run, without its volatile part and its file hashes. graph: see `graph_of`."""
    searched = (spec.get("tune", {}).get("augmentation") or {}).get("kind") == "tpe"
    augmenter = (spec.get("augmenter") or {}).get("kind")
    return {
        "record_version": RECORD_VERSION,
        "name": spec["name"],
        "seed": seed,
        "spec": {"sha256": sha256_of(spec_yaml), "resolved": plain(spec), "origins": dict(origins)},
        "versions": versions(*special_packages(result.settings, searched=searched, augmenter=augmenter)),
        "platform": platform_record(),
        "streams": {"rule": STREAM_RULE, "names": dict(STREAMS)},
        "graph": dict(graph),
        "data": data_record(result.split, result.data),
        "certificate": certificate_record(result.certificate),
        "falsification": plain(result.falsification),
        "abduction": {
            "model": result.abduction.model,
            "scale": _scale(result.abduction),
            "residuals": result.abduction.residuals,
            "noise_mean": float(result.abduction.noise.mean()),
            "noise_sd": float(result.abduction.noise.std()),
        },
        "teacher": {
            "kind": result.teacher.kind,
            "members": list(result.teacher.names),
            "weights": list(result.teacher.weights),
            "families": plain(result.teacher.families),
            "trust": plain(result.teacher.trust),
            "signs": plain(result.teacher.signs),
        },
        "signs": plain(result.signs),
        "movements": plain(result.movements),
        "counterfactuals": _counterfactuals(result),
        "regressor": plain(result.settings),
        "tuning": plain(tuning_record(result.studies)),
        "verdict": {**plain(result.verdict), "accepted": result.verdict.accepted},
        "test": plain(result.score),
        "controls": plain(result.controls),
        "ensemble": plain(result.ensemble),
        "intervals": plain(result.intervals),
        "sensitivity": plain(result.sensitivity),
        "diagnostics": _diagnostics(result.diagnostics),
        "final_model": "augmented" if result.verdict.uses_augmented else "plain",
        "fits": result.cost.fits,
        "refits": result.cost.refits,
        "reused_fits": result.cost.reused,
        "watch": result.watch,
        **({} if result.time is None else {"time": plain(result.time)}),
        **({"reproducible": False} if result.settings["kind"] == "object" else {}),
    }


def certificate_record(certificate: records.Certificate) -> dict[str, Any]:
    """`certificate.json`: the partition, the reason for each feature, what would free the others, what is assumed."""
    return {
        "certificate_version": CERTIFICATE_VERSION,
        "perturbed": list(certificate.perturbed),
        "may_move": list(records.movable(certificate.features)),
        "kept": list(certificate.kept),
        **plain(certificate),
    }


def known_record(graph: CausalGraph, features: Sequence[str]) -> dict[str, Any]:
    """The same for all that a declared graph proves by itself, before a row is seen: every feature it frees moves."""
    return certificate_record(graph_certificate(graph, features))


def data_record(split: records.Split, report: records.DataReport) -> dict[str, Any]:
    """The data's fingerprint: hash, rows, columns with their types, and which rows were set aside."""
    return {
        **plain(report),
        "features": plain(split.train.features),
        "target": plain(split.train.target),
        "grouped": split.train.groups is not None,
        "train_rows": len(split.train),
        "test_rows": records.rows_of(split.test),
        "tuning_rows": records.rows_of(split.tuning),
        "test_row_ids_sha256": None if split.test is None else sha256_of(split.test.row_ids.astype("<i8").tobytes()),
    }


def _scale(abduction: records.Abduction) -> dict[str, Any] | None:
    """The fitted size of the noise at the training rows, and at how many it had to be brought back into its range."""
    if abduction.scale is None:
        return None
    low, high = float(abduction.scale.min()), float(abduction.scale.max())
    return {"least": low, "greatest": high, "clipped": abduction.scale_clipped}


def _diagnostics(value: Any) -> Any:  # noqa: ANN401 - any part of the diagnostics
    """The numbers alone."""
    left = LEFT_TO_FIGURES.get(type(value), ())
    if is_dataclass(value):
        return {item.name: _diagnostics(getattr(value, item.name)) for item in fields(value) if item.name not in left}
    return [_diagnostics(one) for one in value] if isinstance(value, tuple) else plain(value)


def _counterfactuals(result: records.RunResult) -> dict[str, Any] | None:
    made = result.counterfactuals
    if made is None:
        return None
    return {
        "rows": len(made),
        "basis": made.basis,
        "irrelevant": list(made.irrelevant),
        "invariant": 0 if made.invariant is None else int(made.invariant.sum()),
        "retention": made.retention,
        "residual_draw": made.draw,
        "scale_clipped": made.scale_clipped,
        "weight": made.weight,
        "moved": list(made.action.moved),
        # What moved although the certificate does not cover it: rows that carry no noise may.
        "uncertified": [one.name for one in result.movements if one.moves == "moves" and not one.certified],
        "policies": dict(made.action.policies),
        "propagated": {name: followed_words(how) for name, how in made.action.propagated.items()},
        "clipped": dict(made.action.clipped),
        "dropped": made.action.dropped,
        "redrawn": made.action.redrawn,
        "rule_dropped": made.action.rule_dropped,
        "rule_redrawn": made.action.rule_redrawn,
        "copied": made.action.copied,
    }


def graph_of(spec: RunSpec, draft: Draft, drawn: records.DrawnGraph | None) -> dict[str, Any]:
    """The graph's hash, its language and where it was written. drawn: None before a search has found one."""
    written: Any = spec.causal.graph
    path = getattr(written, "path", None)
    file = None if path is None else draft.file.parent / path
    return {
        "source": "discovered" if written is None else "spec" if file is None else file.name,
        "language": getattr(written, "kind", None),
        "sha256": None if drawn is None else sha256_of(canonical_json(drawn)),
        "file_sha256": None if file is None else sha256_of(file.read_bytes()),
    }
