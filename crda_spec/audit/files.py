"""What a run's folder holds: every file as bytes, made from the result in memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from crda_spec.audit.canonical import canonical_json, sealed
from crda_spec.audit.export import CRATE, crate_json, croissant_json
from crda_spec.audit.models import model_files
from crda_spec.audit.open_run import BAND, FOLD_MODELS, ReopenedRun, band_text, in_sample_files, noise_files
from crda_spec.audit.record import certificate_record, graph_of, make_record, tuning_files
from crda_spec.audit.runfolder import file_hashes, write_run
from crda_spec.audit.tables import (
    augmented_parquet,
    csv_files,
    folds_csv,
    intervals_csv,
    ledger_parquet,
    repeats_csv,
    rows_csv,
)
from crda_spec.errors import OutputError
from crda_spec.execution import no_collection
from crda_spec.gate.intervals import FittedBand
from crda_spec.records import Predictor, RunResult
from crda_spec.regressors import FittedModel
from crda_spec.report.figures import figure_files, run_figures
from crda_spec.report.graph_draw import run_graph_svg
from crda_spec.report.page import render_html, tuning_figure
from crda_spec.spec.check_models import searched_paths
from crda_spec.spec.load import Draft
from crda_spec.spec.render import render, resolved, value_origins
from crda_spec.spec.run import RunSpec


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FinishedRun:
    """A run and where it was written."""

    result: RunResult
    folder: Path
    record_json: str


def finish_run(result: RunResult, *, spec: RunSpec, draft: Draft, folder: Path) -> FinishedRun:
    """Writes the run's files."""
    files = run_files(result, spec=spec, draft=draft)
    write_run(folder, files)
    return FinishedRun(result=result, folder=folder, record_json=files["record.json"].decode())


def plain_record(result: RunResult, *, spec: RunSpec, draft: Draft, spec_yaml: str) -> dict[str, Any]:
    """The record before any file is written: without hashes, and without what the clock says."""
    values, graph = resolved(spec, draft, shared=True), graph_of(spec, draft, result.certificate.graph)
    origins = value_origins(values, draft)
    return make_record(result, spec=values, spec_yaml=spec_yaml, origins=origins, seed=spec.seed, graph=graph)


@no_collection()  # figures are thousands of objects
def run_files(result: RunResult, *, spec: RunSpec, draft: Draft) -> dict[str, bytes]:
    """What a run's folder holds, by name; all but the record's `volatile` part depends on spec, data and versions."""
    # How the work was spread changes no number, so it may change no byte either: it is kept in `volatile`.
    spec_yaml = render(spec, draft, without=searched_paths(draft), shared=True)
    record = plain_record(result, spec=spec, draft=draft, spec_yaml=spec_yaml)
    files: dict[str, bytes] = {
        "spec.yaml": spec_yaml.encode(),
        "certificate.json": canonical_json(certificate_record(result.certificate)).encode(),
        "augmented.parquet": augmented_parquet(result),
        "ledger.parquet": ledger_parquet(result),
        "folds.csv": folds_csv(result.verdict.folds, result.time).encode(),
        "rows.csv": rows_csv(result).encode(),
        "graph.svg": run_graph_svg(result).encode(),
        **tuning_files(result.studies),
    }
    files |= csv_files(files["augmented.parquet"], always=spec.output.writes_csv)
    if result.gate_rows:
        files["repeats.csv"] = repeats_csv(result).encode()
    if isinstance(result.band, FittedBand):
        files[BAND] = band_text(result.band).encode()
        if result.split.test is not None:
            files["intervals.csv"] = intervals_csv(result, result.split.test).encode()
    if result.studies:
        files["tuning.svg"] = tuning_figure(result.studies).encode()
    if result.diagnostics is not None:
        files["diagnostics.json"] = canonical_json(result.diagnostics).encode()
    figures = run_figures(result)
    page = render_html(
        result,
        figures=figures,
        name=spec.name,
        description=record["spec"]["resolved"]["description"],  # as written: what fills it in may be a secret
        record_json=canonical_json(record),
        spec_yaml=spec_yaml,
    )
    files["report.html"] = page.encode()
    if spec.output.plots:
        files |= figure_files(figures)
    files["croissant.json"] = croissant_json(record, files["augmented.parquet"]).encode()
    unsaved: dict[str, str] = {}
    if spec.output.model:
        files |= saved_models(result, unsaved)
        files |= noise_files(result.abduction) | in_sample_files(result.teacher, result.abduction.residuals)
    record |= {"unsaved": unsaved} if unsaved else {}
    record["files"] = file_hashes(files)
    volatile = {
        "created": datetime.now(tz=UTC).isoformat(timespec="seconds"),
        "seconds": {**result.timings, "regressor fits": result.cost.seconds},
        "jobs": spec.execution.jobs,
    }
    whole = sealed(record, volatile)
    files["record.json"] = canonical_json(whole).encode()
    files[CRATE] = crate_json(whole, files).encode()
    return files


def saved_models(result: RunResult, unsaved: dict[str, str]) -> dict[str, bytes]:
    """All models of a run as files. A folder is left out whole where one of its models cannot be saved.

    unsaved: receives the folders that are left out, and why.
    """
    groups: dict[str, Sequence[Predictor]] = {
        "model": (result.model,),
        "ensemble": result.members,  # what predicts, by its mean; the first is model/
        FOLD_MODELS: result.fold_models,  # around which cv_plus intervals lie
        "teacher": result.teacher.members,  # what labelled the synthetic rows
    }
    files: dict[str, bytes] = {}
    for folder, models in groups.items():
        try:
            made = [model_files(one) if isinstance(one, FittedModel) else {} for one in models]
        except OutputError as error:
            unsaved[folder] = error.complaints[0].what
            continue
        for number, one in enumerate(made, start=1):
            place = folder if folder == "model" else f"{folder}/{number}"
            files |= {f"{place}/{name}": data for name, data in one.items()}
    return files


def page_of(run: ReopenedRun) -> bytes:
    """The page of a run, made again from its folder."""
    page = render_html(
        run.result, name=run.name, description=run.description, record_json=run.record_json, spec_yaml=run.spec_yaml
    )
    return page.encode()
