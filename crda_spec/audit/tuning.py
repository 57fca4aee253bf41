"""The searches of a run as files: every trial as a table, every study whole as JSON."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from crda_spec.audit.canonical import canonical_json
from crda_spec.audit.revive import revived
from crda_spec.records import Study

TRIALS, STUDIES = "trials.csv", "tuning.json"


def tuning_files(studies: Sequence[Study]) -> dict[str, bytes]:
    """The files of a run that searched; none otherwise."""
    if not studies:
        return {}
    return {TRIALS: trials_csv(studies).encode(), STUDIES: canonical_json({"studies": studies}).encode()}


def read_studies(folder: Path) -> tuple[Study, ...]:
    """The studies of a finished run."""
    file = folder / STUDIES
    if not file.is_file():
        return ()
    told = json.loads(file.read_text(encoding="utf-8"))
    return tuple(revived(Study, one) for one in told["studies"])


def tuning_record(studies: Sequence[Study]) -> dict[str, Any] | None:
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


def trials_csv(studies: Sequence[Study]) -> str:
    """One line a trial: which search, how it ended, its loss on each inner fold, and the values tried.

    gate_fold is 0 for the search on all training rows, or on the rows set aside for tuning.
    """
    names = sorted({name for study in studies for trial in study.trials for name in trial.values})
    inner = max(len(study.held_rows) for study in studies)
    head = ["search", "gate_fold", "trial", "state", "origin", "repeats", "chosen", "loss"]
    sink = io.StringIO()
    writer = csv.writer(sink, lineterminator="\n")
    writer.writerow([*head, *(f"inner_fold_{number}" for number in range(1, inner + 1)), *names])
    for study in studies:
        for trial in study.trials:
            losses = [repr(loss) for loss in trial.losses]
            whole = repr(study.mean_loss(trial.losses)) if trial.state == "complete" else ""
            writer.writerow(
                [
                    *(study.what, study.fold, trial.number, trial.state, trial.origin),
                    *(trial.repeats or "", "yes" if trial.number == study.best else "no", whole),
                    *losses,
                    *([""] * (inner - len(losses))),
                    *(_cell(trial.values[name]) if name in trial.values else "" for name in names),
                ]
            )
    return sink.getvalue()


def _cell(value: object) -> str:
    if isinstance(value, tuple | list):
        return " ".join(map(str, value))
    return repr(value) if isinstance(value, float) else str(value)
