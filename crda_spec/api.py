"""What the commands do, as functions: discovery alone, the spec that a run kept, locks, a run from plan to folder."""

from __future__ import annotations

import json
import os
import secrets
import shutil
import tempfile
import weakref
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import yaml
from pydantic import ValidationError
from threadpoolctl import threadpool_limits

from crda_spec.audit.canonical import canonical_json, sealed, sha256_of
from crda_spec.audit.export import CRATE, crate_json, croissant_json
from crda_spec.audit.models import model_files
from crda_spec.audit.open_run import (
    BAND,
    FOLD_MODELS,
    band_text,
    in_sample_files,
    noise_files,
    open_run,
    readable,
    taught_run,
)
from crda_spec.audit.record import (
    certificate_record,
    lock_complaints,
    lock_file,
    make_lock,
    make_record,
    read_lock,
    special_packages,
    tuning_files,
)
from crda_spec.audit.runfolder import check_destination, file_hashes, write_run
from crda_spec.audit.tables import augmented_parquet, folds_csv, intervals_csv, ledger_parquet, repeats_csv, rows_csv
from crda_spec.audit.whatif import Effects, Question, answer, effects
from crda_spec.discovery import Consensus, Discovery, Fci, Ges, Knowledge, Pc, Stability
from crda_spec.discovery.findings import OFTEN, Findings, compare
from crda_spec.discovery.knowledge import Constraints
from crda_spec.errors import Complaint, CrdaError, SpecError
from crda_spec.execution import Progress, no_collection
from crda_spec.gate.controls import control_fits
from crda_spec.gate.cost import CostEstimate, estimate_cost
from crda_spec.gate.intervals import FittedBand
from crda_spec.records import (
    Certificate,
    DrawnGraph,
    FeatureVerdict,
    Predictor,
    RunResult,
    Table,
    Teacher,
    TestScore,
    Verdict,
    WhatIf,
)
from crda_spec.regressors import FittedModel
from crda_spec.report.figures import figure_files, run_figures
from crda_spec.report.graph_draw import run_graph_svg
from crda_spec.report.page import render_html, run_glance, tuning_figure
from crda_spec.report.progress import Silent
from crda_spec.scm.graph import CausalGraph
from crda_spec.spec.check import known_graph, load_spec
from crda_spec.spec.check_models import searched_paths
from crda_spec.spec.load import Draft, read_draft
from crda_spec.spec.render import render, resolved, value_origins
from crda_spec.spec.run import RunSpec
from crda_spec.spec.scaffold import scaffold

if TYPE_CHECKING:
    import pandas as pd

    from crda_spec.pipeline import Plan


def search(
    table: Table,
    discovery: Discovery,
    *,
    source: str,
    seed: int,
    stability: Stability | None = None,
    declared: CausalGraph | None = None,
) -> Findings:
    """Searches the features and the target of a table; with resamples, each link carries its share of them.

    discovery: a search without resamples of its own.  declared: the expert's graph, to compare with.
    """
    x = np.column_stack([table.x, table.y])
    find = partial(discovery.graph, columns=(*table.features, table.target), seed=seed)
    often: tuple[tuple[str, str, float], ...] = ()
    with threadpool_limits(limits=1):
        if stability is None:
            graph = find(x)
        else:
            repeated = stability.repeat(find, x, seed=seed)
            graph, place = repeated.graph, repeated.graph.names.index
            often = tuple(
                (a, b, float(repeated.linked[place(a), place(b)]))
                for a, b in repeated.stable(OFTEN)
                if graph.edge(a, b) is None
            )
    return Findings(
        graph=graph,
        target=table.target.name,
        source=source,
        rows=len(table),
        complete=int(np.isfinite(x).all(axis=1).sum()),
        stability=stability,
        often=often,
        comparison=None if declared is None else compare(graph, declared),
        barred=frozenset(_barred(discovery, graph.names)),
    )


def _barred(discovery: Discovery, names: Sequence[str]) -> Iterator[tuple[str, str]]:
    """The arrows that what the expert told a search rules out."""
    for method in _methods(discovery):
        if not isinstance(method, Ges) and method.knowledge:
            tails, heads = np.nonzero(~Constraints.of(method.knowledge, names).may_cause)
            yield from ((names[tail], names[head]) for tail, head in zip(tails.tolist(), heads.tolist(), strict=True))


def read_table(path: Path, *, target: str) -> tuple[Table, tuple[str, ...]]:
    """The rows of a file under the rules that `crda-spec init` would write, and what they leave out or change."""
    found = scaffold(path, target, written=path.name)
    return found.table, tuple(found.notes())


_SLOW = ("ges", "consensus")  # seconds a search: a hundred of them are not for nothing


@dataclass(frozen=True, slots=True, kw_only=True)
class WantedSearch:
    """A search without resamples of its own, the resamples, and what the user should know."""

    discovery: Discovery
    stability: Stability | None
    notes: tuple[str, ...]


def wanted_search(
    written: Discovery | None, *, method: str | None, alpha: float | None, resamples: int | None
) -> WantedSearch:
    """The spec's search (PC when it has none), changed by what the command line says."""
    _check(written, method=method, alpha=alpha, resamples=resamples)
    start = written or Pc()
    notes: list[str] = []
    wanted = start
    if method is not None and method != start.kind:
        shared = _shared(start)
        made: dict[str, Pc | Fci | Ges] = {"pc": Pc(**shared), "fci": Fci(**shared), "ges": Ges()}
        wanted = Consensus(methods=tuple(made.values())) if method == "consensus" else made[method]
        if method == "ges" and shared.get("knowledge", Knowledge()):
            notes.append("GES takes no knowledge: what the spec says is known was not used")
    # As many resamples as asked for; else the spec's; else a hundred halves, unless each search is slow.
    stability = next((one.stability for one in _methods(start) if one.stability is not None), None)
    if resamples is None:
        stability = stability or (None if wanted.kind in _SLOW else Stability())
    else:
        stability = None if resamples == 0 else (stability or Stability()).model_copy(update={"resamples": resamples})
    if stability is None and resamples is None:
        notes.append("GES takes seconds a search, so no resamples were searched; --resamples 20 asks for them")
    return WantedSearch(discovery=_stripped(wanted, alpha), stability=stability, notes=tuple(notes))


def _check(written: Discovery | None, *, method: str | None, alpha: float | None, resamples: int | None) -> None:
    complaints = []
    if alpha is not None and not 0 < alpha < 1:
        what = f"--alpha {alpha:g} is not between 0 and 1"
        complaints.append(Complaint(code="out-of-range", what=what, hint="use 0.05 or 0.01"))
    elif alpha is not None and (method or (written.kind if written else "pc")) == "ges":
        what = "GES compares scores and makes no test, so --alpha would do nothing"
        complaints.append(Complaint(code="idle-option", what=what, hint="leave it out, or use --method pc"))
    if resamples is not None and (resamples == 1 or not 0 <= resamples <= 10_000):
        what = f"--resamples {resamples} is neither 0 nor between 2 and 10000"
        complaints.append(Complaint(code="out-of-range", what=what, hint="use 100, or 0 for none"))
    if complaints:
        raise SpecError(complaints)


def _methods(discovery: Discovery) -> tuple[Pc | Fci | Ges, ...]:
    return discovery.methods if isinstance(discovery, Consensus) else (discovery,)


def _shared(discovery: Discovery) -> dict[str, Any]:
    """The settings that a search by tests hands over to another one: its knowledge above all."""
    for one in _methods(discovery):
        if not isinstance(one, Ges):
            return {name: getattr(one, name) for name in type(one).model_fields if name not in ("kind", "stability")}
    return {}


def _stripped(discovery: Discovery, alpha: float | None) -> Discovery:
    """Without resamples of its own, which are drawn around the whole search, and with the alpha asked for."""
    if isinstance(discovery, Consensus):
        return discovery.model_copy(update={"methods": tuple(_stripped(one, alpha) for one in discovery.methods)})
    changes: dict[str, Any] = {"stability": None}
    if alpha is not None and not isinstance(discovery, Ges):
        changes["alpha"] = alpha
    return discovery.model_copy(update=changes)


def estimate(plan: Plan) -> CostEstimate:
    """What a run will do and cost: reads and checks the data, asks the graph, counts the fits."""
    split, _ = plan.load()
    controls = control_fits(plan.procedure, split.train, plan.without_graph) if plan.inspect else 0
    cost = estimate_cost(split, plan.procedure, plan.gate, seed=plan.seed, models=plan.models)
    return replace(cost, fits_of_controls=controls)


_TEXT = "causal.graph.text:"  # how messages call the lines of a graph that is written inside the spec


def place_of(where: str, draft: Draft) -> str:
    """`spec.yaml:12:9` for a path inside the spec; a place in a graph's own file stays as it is."""
    path, _, rest = where.partition(":") if where.startswith(_TEXT) else (where, "", "")
    if not path.startswith("causal.graph"):
        return where
    place = draft.placed(Complaint(code="written-at", what="", path=path)).place
    return f"{place}, line {rest.split(':', 1)[0]} of the text" if rest else str(place)


def with_places(result: RunResult, draft: Draft) -> RunResult:
    """The same result for the reader of this spec file; the record keeps paths, which hold for the spec it stores."""

    def placed(verdict: FeatureVerdict) -> FeatureVerdict:
        lines = tuple(replace(line, where=place_of(line.where, draft)) for line in verdict.lines)
        return replace(verdict, lines=lines)

    features = tuple(map(placed, result.certificate.features))
    return replace(result, certificate=replace(result.certificate, features=features))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class KeptSpec:
    """The spec, and its data and graph if they are at hand."""

    spec: RunSpec
    draft: Draft
    absent: str = ""  # why the data are not at hand; empty when they are


def kept_spec(run: Path, base: Path | None, record: dict[str, Any]) -> KeptSpec:
    """The run's own spec.yaml; SpecError when it is none, or needs an environment that is not set."""
    tune = record["spec"]["resolved"].get("tune", {})
    searched = tune.get("kind") != "none" or (tune.get("augmentation") or {}).get("kind") == "tpe"
    # A search leaves alone what is written, and spec.yaml writes everything: then only what somebody wrote counts.
    kept = run / "spec.yaml"
    with _only_written(kept, record) if searched else nullcontext(kept) as file:
        draft = read_draft(file, environ=os.environ)
        written = draft.sound()
        files = tuple(_files(written))
        if any("***" in name for name in files):
            return KeptSpec(spec=written, draft=draft, absent="the database's URL is masked; write it with ${NAME}")
        here = [name for name in files if "://" not in name]
        nearest = (one for one in (Path.cwd(), *run.resolve().parents) if all((one / name).is_file() for name in here))
        folder = base if base is not None else next(nearest, None)
        if folder is None:
            absent = f"no folder holds {', '.join(files)}; say where with --base"
            return KeptSpec(spec=written, draft=draft, absent=absent)
        try:
            spec, loaded = load_spec(file, base=folder)
        except CrdaError as error:
            if base is not None:
                raise
            return KeptSpec(spec=written, draft=draft, absent=error.complaints[0].headline())
        return KeptSpec(spec=spec, draft=loaded)


def origins_again(run: Path, record: dict[str, Any]) -> dict[str, Any]:
    """The spec that follows from what somebody wrote alone, and who wrote each value: `user`, whoever it was."""
    with _only_written(run / "spec.yaml", record) as file:
        draft = read_draft(file, environ=os.environ)
    values = resolved(draft.sound(), draft, shared=True)
    return {"resolved": values, "origins": somebody(value_origins(values, draft))}


def somebody(origins: Mapping[str, str]) -> dict[str, str]:
    """The origins of values, without who of those that write specs it was."""
    return {name: one if one in ("default", "recipe", "goal") else "user" for name, one in origins.items()}


@contextmanager
def _only_written(file: Path, record: dict[str, Any]) -> Iterator[Path]:
    """A spec's file with only what somebody wrote, as the record tells it."""
    origins = record["spec"]["origins"]
    written = {name for name, origin in origins.items() if origin not in ("default", "recipe", "goal")}
    filled = {name for name, origin in origins.items() if origin in ("recipe", "goal")}
    kept = _kept(yaml.safe_load(file.read_text(encoding="utf-8")), "", written, filled)
    with tempfile.TemporaryDirectory(prefix="crda-verify-") as folder:
        pruned = Path(folder) / file.name
        pruned.write_text(json.dumps(kept, ensure_ascii=False), encoding="utf-8")
        yield pruned


def _kept(value: Any, path: str, written: set[str], filled: set[str]) -> Any:  # noqa: ANN401 - any value of a spec
    """The value without what nobody wrote, None when nothing is left.

    A list keeps its length. A section keeps its kind, unless a recipe fills it in again.
    """
    below = [name for name in written if name == path or not path or name.startswith(f"{path}.")]
    if isinstance(value, list) and below:
        parts = ((f"{path}.{at}", one) for at, one in enumerate(value))
        return [_kept(one, place, written, filled) if isinstance(one, dict) else one for place, one in parts]
    if not isinstance(value, dict) or not value:
        return value if below else None
    inner = {key: (_kept(one, f"{path}.{key}" if path else key, written, filled), one) for key, one in value.items()}
    kept = {key: one for key, (left, one) in inner.items() if left is not None or f"{path}.{key}" in written}
    kept = {key: inner[key][0] if isinstance(one, dict | list) and one else one for key, one in kept.items()}
    if kept and "kind" in value and f"{path}.kind" not in filled:
        kept = {"kind": value["kind"], **kept}
    return kept or None


def resolved_spec(record: dict[str, Any]) -> RunSpec:
    """The spec that the record itself holds; text from the environment stands there as it was written."""
    try:
        return RunSpec.model_validate_json(json.dumps(record["spec"]["resolved"]))
    except (ValidationError, KeyError, TypeError) as error:
        what = f"the record's spec is no spec of this version: {str(error).splitlines()[0]}"
        hint = "see what was changed: crda-spec verify RUN"
        raise SpecError(Complaint(code="bad-record", what=what, hint=hint)) from None


def what_if(run: Path, question: Question, *, base: Path | None = None, progress: Progress | None = None) -> WhatIf:
    """What the outcomes of some rows would have been, by a finished run. base: where the spec's files are."""
    saved = taught_run(open_run(run))
    spec = resolved_spec(saved.record)
    with readable(run):
        folder = _graph_folder(run, spec, base)
        return answer(saved, spec, question, folder=folder, progress=progress or Silent())


def average_effects(run: Path, *, follow: bool = False, base: Path | None = None) -> Effects:
    """What each certified cause of a finished run does to the target on average."""
    saved = taught_run(open_run(run))
    spec = resolved_spec(saved.record)
    with readable(run):
        return effects(saved, spec, follow=follow, folder=_graph_folder(run, spec, base))


def _graph_folder(run: Path, spec: RunSpec, base: Path | None) -> Path | None:
    """Where the graph's file is, if it has one: the folder that is given, this one, or one above the run."""
    path = getattr(spec.causal.graph, "path", None)
    if path is None or base is not None:
        return base
    return next((one for one in (Path.cwd(), *run.resolve().parents) if (one / path).is_file()), None)


def _files(spec: RunSpec) -> Iterator[str]:
    """The files, and the databases, that a spec reads."""
    graph: Any = spec.causal.graph
    if getattr(graph, "path", None):
        yield graph.path
    split: Any = spec.dataset.split
    sources: tuple[Any, ...] = (spec.dataset.source, getattr(split, "source", None))
    for source in sources:
        if getattr(source, "path", None):
            yield source.path
        elif source is not None and source.kind == "sql":
            lite = source.url.startswith("sqlite:///") and source.url != "sqlite:///:memory:"
            yield source.url.removeprefix("sqlite:///").partition("?")[0] if lite else source.url


def graph_of(spec: RunSpec, draft: Draft, drawn: DrawnGraph | None) -> dict[str, Any]:
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


def lock_now(spec: RunSpec, draft: Draft, plan: Plan) -> tuple[dict[str, Any], Plan]:
    """The lock as it would be written now, and the plan with its rows already read."""
    drawn = None if spec.causal.graph is None else known_graph(spec, draft).drawn
    data = plan.load()
    searched = spec.tune.augmentation is not None and spec.tune.augmentation.kind == "tpe"
    packages = special_packages(spec.regressor.kind, searched=searched)
    lock = make_lock(resolved(spec, draft, shared=True), data, graph_of(spec, draft, drawn), packages)
    return lock, replace(plan, load=lambda: data)


def locked_plan(spec: RunSpec, draft: Draft, plan: Plan, file: Path) -> Plan:
    """The plan, if all is as it was locked; else a SpecError with every value that is not."""
    where = lock_file(file)
    lock = read_lock(where)
    now, ready = lock_now(spec, draft, plan)
    complaints = lock_complaints(lock, now, where)
    if complaints:
        raise SpecError(complaints)
    return ready


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
    """Writes the run's files."""
    files = run_files(result, spec=spec, draft=draft)
    write_run(folder, files)
    return FinishedRun(result=result, folder=folder, record_json=files["record.json"].decode())


@no_collection()  # figures are thousands of objects
def run_files(result: RunResult, *, spec: RunSpec, draft: Draft) -> dict[str, bytes]:
    """What a run's folder holds, by name; all but the record's `volatile` part depends on spec, data and versions."""
    # How the work was spread changes no number, so it may change no byte either: it is kept in `volatile`.
    spec_yaml = render(spec, draft, without=searched_paths(draft), shared=True)
    values = resolved(spec, draft, shared=True)
    graph = graph_of(spec, draft, result.certificate.graph)
    record = make_record(
        result, spec=values, spec_yaml=spec_yaml, origins=value_origins(values, draft), seed=spec.seed, graph=graph
    )
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
    if result.gate_rows:
        files["repeats.csv"] = repeats_csv(result).encode()
    if isinstance(result.band, FittedBand):
        files[BAND] = band_text(result.band).encode()
        files["intervals.csv"] = intervals_csv(result).encode()
    if result.studies:
        files["tuning.svg"] = tuning_figure(result.studies).encode()
    if result.diagnostics is not None:
        files["diagnostics.json"] = canonical_json(result.diagnostics).encode()
    figures = run_figures(result)
    page = render_html(
        result,
        figures=figures,
        name=spec.name,
        description=values["description"],  # as written: what fills it in may be a secret
        record_json=canonical_json(record),
        spec_yaml=spec_yaml,
    )
    files["report.html"] = page.encode()
    if spec.output.plots:
        files |= figure_files(figures)
    files["croissant.json"] = croissant_json(record, files["augmented.parquet"]).encode()
    if spec.output.model:
        files |= _saved("model", result.model)
        for number, member in enumerate(result.members, start=1):
            files |= _saved(f"ensemble/{number}", member)  # what predicts, by its mean; the first is model/
        for number, member in enumerate(result.fold_models, start=1):
            files |= _saved(f"{FOLD_MODELS}/{number}", member)  # around which cv_plus intervals lie
        for number, member in enumerate(result.teacher.members, start=1):
            files |= _saved(f"teacher/{number}", member)  # what labelled the synthetic rows
        files |= noise_files(result.abduction) | in_sample_files(result.teacher, result.abduction.residuals)
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


def run(
    spec: str | Path | Mapping[str, Any] | RunSpec,
    data: Any = None,  # noqa: ANN401 - any kind of frame
    *,
    overrides: Sequence[str] = (),
    progress: bool = False,
) -> Run:
    """Certify, augment and gate as the spec says.

    Parameters
    ----------
    spec : path, mapping or RunSpec
        The spec: its file, or its values.
    data : pandas or polars DataFrame, or Arrow table, optional
        The rows, in place of those that the spec's source names.
    overrides : sequence of str
        Single values, as ``--set`` takes them: ``["gate.folds=5"]``.
    progress : bool
        Whether the stages of the run are shown on standard error.

    Returns
    -------
    Run
        What came of it, in memory; ``Run.save`` writes the folder that ``crda-run`` leaves.

    Raises
    ------
    SpecError, DataError, GraphError
        Everything that is wrong with spec, rows or graph, each with its place.

    Examples
    --------
    >>> import crda_spec
    >>> spec = {
    ...     "version": 1,
    ...     "name": "fields",
    ...     "dataset": {"source": {"kind": "synthetic", "world": "crop_yield", "rows": 60}, "target": "grain_yield"},
    ...     "regressor": {"kind": "ridge"},
    ...     "gate": {"enabled": False},
    ... }
    >>> crda_spec.run(spec).verdict.decision
    'ungated'

    """
    from rich.console import Console

    from crda_spec.data.sources.frame import frame_table
    from crda_spec.report.progress import progress_for

    written = spec.model_dump(mode="json") if isinstance(spec, RunSpec) else spec
    written = Path(written) if isinstance(written, str) else written
    found, draft = load_spec(written, overrides=overrides, frame=None if data is None else frame_table(data))
    return execute(found, draft, progress=progress_for(Console(stderr=True), quiet=not progress))


def execute(spec: RunSpec, draft: Draft, *, progress: Progress, lock: Path | None = None) -> Run:
    """Runs a checked spec; complaints name their places in it. lock: the spec whose lock must hold."""
    from crda_spec.pipeline import run as run_plan
    from crda_spec.spec.build import build_plan

    with draft.placing():
        plan = build_plan(spec, draft)
        plan = plan if lock is None else locked_plan(spec, draft, plan, lock)
        return Run(spec=spec, draft=draft, result=run_plan(plan, progress=progress))


@dataclass(frozen=True, kw_only=True, eq=False)
class Run:
    """A finished run.

    Attributes
    ----------
    spec : RunSpec
        The spec with everything that its recipe filled in.
    result : RunResult
        All that the run found out; the properties below are its most asked-for parts.

    """

    spec: RunSpec
    draft: Draft
    result: RunResult

    @property
    def verdict(self) -> Verdict:
        """What the gate decided, and the numbers it decided on."""
        return self.result.verdict

    @property
    def certificate(self) -> Certificate:
        """Each feature's class: irrelevant, cause or blocked, with the reason."""
        return self.result.certificate

    @property
    def score(self) -> TestScore:
        """One plain against one augmented model on the test rows."""
        return self.result.score

    @property
    def model(self) -> Predictor:
        """The final model: augmented if the gate accepted, else plain."""
        return self.result.model

    @property
    def teacher(self) -> Teacher:
        """What labelled the synthetic rows."""
        return self.result.teacher

    @cached_property
    def augmented(self) -> pd.DataFrame:
        """The real training rows, then the synthetic ones; the columns ``_crda_...`` say where each comes from."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        frame: pd.DataFrame = pq.read_table(pa.BufferReader(augmented_parquet(self.result))).to_pandas()
        return frame

    @cached_property
    def _files(self) -> dict[str, bytes]:
        return run_files(self.result, spec=self.spec, draft=self.draft)

    def predict(self, data: Any, *, interval: float | None = None) -> pd.DataFrame:  # noqa: ANN401 - any kind of frame
        """The final model on new rows.

        Parameters
        ----------
        data : pandas or polars DataFrame, or Arrow table
            Rows with the run's features, in any order of columns, under the contracts of the run's columns.
        interval : float, optional
            The level of prediction intervals: 0.9 adds the columns ``low`` and ``high``.

        Returns
        -------
        pandas.DataFrame
            The columns of ``dataset.id`` and ``prediction``, missing for a row that the run's rule for missing cells
            leaves out; in the rows' order, with their index.
        """
        from crda_spec.audit.new_rows import prepare_scoring
        from crda_spec.audit.predicted import predicted_table

        spec, opened = self.spec, open_run(self._folder)
        with _as_file(data) as file, readable(self._folder):
            scoring = prepare_scoring(opened, file, dataset=spec.dataset, level=interval)
            frame: pd.DataFrame = predicted_table(scoring.written_ids(), scoring.predictions()).to_pandas()
        if not scoring.ids:
            frame = frame.drop(columns="row")
        return frame if getattr(data, "index", None) is None else frame.set_index(data.index)

    def whatif(
        self,
        rows: int | Sequence[int] | Any,  # noqa: ANN401 - or any kind of frame
        *,
        follow: bool = False,
        refits: int = 20,
        level: float = 0.9,
        **changes: float | str,
    ) -> pd.DataFrame:
        """What the outcomes would have been.

        Parameters
        ----------
        rows : int, sequence of int, or frame
            Numbers of training rows in the run's source, counted from 1; or rows with all features and the outcome.
        follow : bool
            Whether what a changed column causes follows, by equations fitted along the graph.
        refits : int
            How many teachers are fitted again for the interval; 0: there is none.
        level : float
            Of the interval.
        **changes : number or str
            New values by column: ``dose=40`` sets, ``dose="+2"`` adds, a category takes a label.

        Returns
        -------
        pandas.DataFrame
            For each row: as observed, as it would have been, the difference with its interval, the basis of the claim,
            and what a hidden cause would have to explain to turn the sign.

        Raises
        ------
        CrdaError
            When a changed feature is blocked, with the open path and the remedy, or a change makes no sense.
        """
        import pandas as pd

        written = tuple(f"{name}={_as_change(value)}" for name, value in changes.items())
        asked = Question(changes=written, follow=follow, refits=refits, level=level)
        numbered = isinstance(rows, int) or (isinstance(rows, Sequence) and not isinstance(rows, str))
        with nullcontext(None) if numbered else _as_file(rows) as file:
            numbers = (rows,) if isinstance(rows, int) else tuple(rows) if file is None else ()
            found = what_if(self._folder, replace(asked, rows=numbers, file=file), base=self.draft.file.parent)
        return pd.DataFrame(
            {
                "row": one.row,
                "observed": one.observed,
                "outcome": one.outcome,
                "difference": one.difference,
                "low": None if one.interval is None else one.interval[0],
                "high": None if one.interval is None else one.interval[1],
                "basis": one.basis,
                "turns_at": one.robustness,
            }
            for one in found.answers
        ).set_index("row")

    @cached_property
    def _folder(self) -> Path:
        """A copy of the run on disk, which goes when the run does: whoever asks it takes the commands' way."""
        home = tempfile.mkdtemp(prefix="crda-run-")
        weakref.finalize(self, shutil.rmtree, home, ignore_errors=True)
        return self.save(Path(home) / "run")

    def save(self, folder: str | Path) -> Path:
        """Writes the folder that ``crda-run`` leaves; it must be new or empty."""
        check_destination(Path(folder))
        write_run(Path(folder), self._files)
        return Path(folder)

    def report(self, path: str | Path) -> Path:
        """Writes the page of the run, one HTML file."""
        Path(path).write_bytes(self._files["report.html"])
        return Path(path)

    def _repr_html_(self) -> str:
        """For notebooks: the verdict, the graph, the features and the scores."""
        return run_glance(self.result)


def _as_change(value: float | str) -> str:
    """A new value as a question writes it; a negative number is set, not taken away."""
    return value if isinstance(value, str) else f"={value!r}" if value < 0 else repr(value)


@contextmanager
def _as_file(data: Any) -> Iterator[Path]:  # noqa: ANN401 - any kind of frame
    """The frame as a Parquet file, for the readers of files."""
    import pyarrow.parquet as pq

    from crda_spec.data.sources.frame import arrow_table

    with tempfile.TemporaryDirectory(prefix="crda-frame-") as folder:
        file = Path(folder) / "data.parquet"
        pq.write_table(arrow_table(data), file)
        yield file
