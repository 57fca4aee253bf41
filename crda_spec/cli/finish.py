"""From a result to a run folder that appears whole or not at all."""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from crda_spec.audit.canonical import canonical_json
from crda_spec.audit.crate import CRATE, crate_json
from crda_spec.audit.croissant import croissant_json
from crda_spec.audit.models import model_files
from crda_spec.audit.record import certificate_record, make_record
from crda_spec.audit.runfolder import check_destination, file_hashes, write_run
from crda_spec.audit.saved import noise_files
from crda_spec.audit.seal import sealed
from crda_spec.audit.tables import augmented_parquet, folds_csv, ledger_parquet, repeats_csv, rows_csv
from crda_spec.audit.tuning import tuning_files
from crda_spec.check import searched_paths
from crda_spec.cli.locking import graph_of
from crda_spec.records import Predictor, RunResult
from crda_spec.regressors import FittedModel
from crda_spec.report.graph_svg import graph_svg
from crda_spec.report.html import render_html
from crda_spec.report.rows_page import rows_figures
from crda_spec.report.tuning_page import tuning_figure
from crda_spec.spec.load import Draft
from crda_spec.spec.render import portable, render, resolved, value_origins
from crda_spec.spec.run import RunSpec


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FinishedRun:
    """A run and where it was written."""

    result: RunResult
    folder: Path
    record_json: str


def plan_folder(out: Path | None, *, base: Path, name: str) -> Path:
    """Where the run will go, checked before any work is done. The clock and a random part make the id unique."""
    stamp = datetime.now(tz=UTC).strftime("%Y%m%d-%H%M%S")
    folder = out if out is not None else base / name / f"{stamp}-{secrets.token_hex(3)}"
    check_destination(folder)
    return folder


def _saved(folder: str, model: Predictor) -> dict[str, bytes]:
    if not isinstance(model, FittedModel):
        return {}
    return {f"{folder}/{name}": data for name, data in model_files(model).items()}


def finish_run(result: RunResult, *, spec: RunSpec, draft: Draft, folder: Path) -> FinishedRun:
    """Writes the run's files; all but the record's `volatile` part depend on spec, data and versions only."""
    # How the work was spread changes no number, so it may change no byte either: it is kept in `volatile`.
    told = portable(spec)
    parts = {name: getattr(spec, name) for name in type(spec).model_fields}
    spec_yaml = render(told, draft, without=searched_paths(draft, parts))
    shown = resolved(told, draft)
    graph = graph_of(spec, draft, result.certificate.graph)
    record = make_record(
        result, spec=shown, spec_yaml=spec_yaml, origins=value_origins(shown, draft), seed=spec.seed, graph=graph
    )
    svg = graph_svg(result.certificate.graph, result.certificate.features)
    files: dict[str, bytes] = {
        "spec.yaml": spec_yaml.encode(),
        "certificate.json": canonical_json(certificate_record(result.certificate)).encode(),
        "augmented.parquet": augmented_parquet(result),
        "ledger.parquet": ledger_parquet(result),
        "folds.csv": folds_csv(result.verdict.folds, result.time).encode(),
        "rows.csv": rows_csv(result).encode(),
        "graph.svg": svg.encode(),
        **tuning_files(result.studies),
    }
    if result.gate_rows:
        files["repeats.csv"] = repeats_csv(result).encode()
    if result.studies:
        files["tuning.svg"] = tuning_figure(result.studies).encode()
    if result.diagnostics is not None:
        files["diagnostics.json"] = canonical_json(result.diagnostics).encode()
        files |= {f"figures/{one.file}.svg": one.svg.encode() for one in rows_figures(result)}
    page = render_html(
        result,
        name=spec.name,
        description=shown["description"],  # as written: what fills it in may be a secret
        record_json=canonical_json(record),
        spec_yaml=spec_yaml,
    )
    files["report.html"] = page.encode()
    if spec.output.plots:
        from crda_spec.report.plots import plot_files  # loads matplotlib: not for a run that ends with a complaint

        files |= plot_files(result)
    files["croissant.json"] = croissant_json(record, files["augmented.parquet"]).encode()
    if spec.output.model:
        files |= _saved("model", result.model)
        for number, member in enumerate(result.members, start=1):
            files |= _saved(f"ensemble/{number}", member)  # what predicts, by its mean; the first is model/
        for number, member in enumerate(result.teacher.members, start=1):
            files |= _saved(f"teacher/{number}", member)  # what labelled the synthetic rows
        files |= noise_files(result.abduction)
    record["files"] = file_hashes(files)
    volatile = {
        "created": datetime.now(tz=UTC).isoformat(timespec="seconds"),
        "seconds": {**result.timings, "regressor fits": result.fit_seconds},
        "jobs": spec.execution.jobs,
    }
    whole = sealed(record, volatile)
    record_json = canonical_json(whole)
    files["record.json"] = record_json.encode()
    files[CRATE] = crate_json(whole, files).encode()
    write_run(folder, files)
    return FinishedRun(result=result, folder=folder, record_json=record_json)
