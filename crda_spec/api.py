"""All that one can do with crda-spec: each command is one of these functions, and Python calls the same.

What computes is imported when it is asked for, so that `crda-spec validate` answers at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from crda_spec.errors import Complaint, CrdaError, OutputError, SpecError

if TYPE_CHECKING:
    import pandas as pd

    from crda_spec.audit.compare import Differences
    from crda_spec.audit.new_rows import Generated
    from crda_spec.audit.open_run import ListedRun
    from crda_spec.audit.plan import RunPlan
    from crda_spec.audit.scoring import Predicted
    from crda_spec.audit.verify.checks import Check
    from crda_spec.audit.verify.folder import Depth, Verification
    from crda_spec.audit.whatif import Effects, Question
    from crda_spec.bench.bench import Benched
    from crda_spec.execution import Progress
    from crda_spec.graphs import Discovered, GraphLike
    from crda_spec.records import RunResult, WhatIf
    from crda_spec.runs import Run
    from crda_spec.spec.document import Document, Model
    from crda_spec.spec.load import Draft
    from crda_spec.spec.run import RunSpec
    from crda_spec.spec.scaffold import FirstSpec, Scaffold

    SpecLike = str | Path | Mapping[str, Any] | RunSpec

SearchMethod = Literal["pc", "fci", "ges", "consensus"]
SCHEMA = "crda-spec.v1.schema.json"  # beside a first spec, for editors


def run(
    spec: SpecLike,
    data: Any = None,  # noqa: ANN401 - any kind of frame
    *,
    estimator: Any = None,  # noqa: ANN401 - an object of any library
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
    estimator : object with fit, predict and get_params, optional
        The regressor, in place of the spec's: a LightGBM or CatBoost model, a pipeline. Each fit clones it.
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
    found, draft = _load(spec, data, overrides, estimator)
    return _execute(found, draft, progress=_shown(progress=progress))


def run_to_folder(
    spec: Path,
    out: Path | None = None,
    *,
    overrides: Sequence[str] = (),
    locked: bool = False,
    progress: bool = False,
    before_saving: Callable[[], None] = lambda: None,
) -> tuple[Run, Path, RunResult]:
    """Runs a spec's file and writes its folder, runs/<name>/<id> unless said, which is checked before any work.

    Returned beside both: the result for the reader of the file, each line of the graph at its place in it.
    locked: whether spec, data, graph and versions must be as in the spec's lock.
    before_saving: what it raises leaves no folder.
    """
    from crda_spec.audit.runfolder import plan_folder

    found, draft = _load(spec, None, overrides)
    with draft.placing():
        folder = plan_folder(out, base=Path(found.output.dir), name=found.name)
    finished = _execute(found, draft, progress=_shown(progress=progress), lock=spec if locked else None)
    before_saving()
    return finished, finished.save(folder), draft.with_places(finished.result)


def open_run(folder: str | Path) -> Run:
    """Open the folder of a finished run.

    Parameters
    ----------
    folder : path
        What ``crda-run`` or ``Run.save`` wrote.

    Returns
    -------
    Run
        It answers as the run did that wrote the folder: ``predict``, ``whatif``, ``effects``, ``verify``, ``report``.

    Raises
    ------
    OutputError
        When the folder is not that of a finished run.
    TamperedError
        When a seal or the hash of a file is wrong.

    Examples
    --------
    >>> import crda_spec, tempfile
    >>> spec = {
    ...     "version": 1,
    ...     "name": "fields",
    ...     "dataset": {"source": {"kind": "synthetic", "world": "crop_yield", "rows": 60}, "target": "grain_yield"},
    ...     "regressor": {"kind": "ridge"},
    ...     "gate": {"enabled": False},
    ... }
    >>> with tempfile.TemporaryDirectory() as home:
    ...     folder = crda_spec.run(spec).save(f"{home}/run")
    ...     crda_spec.open_run(folder).verdict.decision
    'ungated'

    """
    from crda_spec.audit.held_run import KeptRun
    from crda_spec.audit.open_run import open_run as opened
    from crda_spec.runs import Run

    return Run(KeptRun(opened=opened(Path(folder))))


def load_spec(spec: SpecLike, data: Any = None, *, overrides: Sequence[str] = ()) -> RunSpec:  # noqa: ANN401
    """Read a spec, with everything that its recipe fills in.

    Parameters
    ----------
    spec : path, mapping or RunSpec
        The spec: its file, or its values.
    data : pandas or polars DataFrame, or Arrow table, optional
        The rows, in place of those that the spec's source names.
    overrides : sequence of str
        Single values, as ``--set`` takes them.

    Returns
    -------
    RunSpec
        Checked against the header of its data and its graph.

    Raises
    ------
    SpecError
        Everything that is wrong, each complaint with its place.

    Examples
    --------
    >>> import crda_spec
    >>> source = {"kind": "synthetic", "world": "crop_yield", "rows": 60}
    >>> spec = {"version": 1, "name": "fields", "dataset": {"source": source, "target": "grain_yield"}}
    >>> crda_spec.load_spec(spec, overrides=["gate.folds=12"]).gate.folds
    12

    """
    return _load(spec, data, overrides)[0]


def validate(spec: SpecLike, data: Any = None, *, overrides: Sequence[str] = ()) -> list[Complaint]:  # noqa: ANN401
    """Check a spec against its data's header and its graph; nothing is fitted, and no row is read.

    Parameters
    ----------
    spec : path, mapping or RunSpec
        The spec: its file, or its values.
    data : pandas or polars DataFrame, or Arrow table, optional
        The rows, in place of those that the spec's source names.
    overrides : sequence of str
        Single values, as ``--set`` takes them.

    Returns
    -------
    list of Complaint
        What is wrong: where, what, and the next thing to try. An empty list: the spec is sound.

    Examples
    --------
    >>> import crda_spec
    >>> source = {"kind": "synthetic", "world": "crop_yield", "rows": 60}
    >>> spec = {"version": 1, "name": "fields", "dataset": {"source": source, "target": "grain"}}
    >>> for complaint in crda_spec.validate(spec):
    ...     print(complaint)
    spec: dataset.target: the data have no column 'grain'; did you mean 'rain'?

    """
    try:
        check(spec, data, overrides=overrides)
    except CrdaError as error:
        return list(error.complaints)
    return []


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """A sound spec, and what it assumes of features that its graph does not draw."""

    name: str
    rows: str  # how many can be used, in words
    assumptions: tuple[str, ...]


def check(spec: SpecLike, data: Any = None, *, overrides: Sequence[str] = (), rows: bool = True) -> Checked:  # noqa: ANN401
    """As `validate`, but all complaints are one exception. rows: whether they are read, or the header alone."""
    from crda_spec.spec.check import undrawn_notes

    found, draft = _load(spec, data, overrides)
    read = _usable_rows(found, draft) if rows else "rows not read"
    return Checked(name=found.name, rows=read, assumptions=undrawn_notes(found, draft))


def _usable_rows(spec: RunSpec, draft: Draft) -> str:
    """How many rows can be used; raises all that is wrong with them."""
    from crda_spec.spec.build import build_plan

    with draft.placing():
        split, report = build_plan(spec, draft).load()
    parts = [(len(split.train), "to train")]
    parts += [] if split.tuning is None else [(len(split.tuning), "to tune")]
    parts += [] if split.test is None else [(len(split.test), "to test")]
    listed = ", ".join(f"{count} {use}" for count, use in parts)
    return f"{report.rows_used} of {report.rows_read} rows: {listed}"


def render(spec: SpecLike, *, overrides: Sequence[str] = (), as_json: bool = False) -> Any:  # noqa: ANN401 - YAML or values
    """The spec as it will be run, secrets masked: YAML, or its values for JSON."""
    from crda_spec.spec.check_models import searched_paths
    from crda_spec.spec.render import render as to_yaml
    from crda_spec.spec.render import resolved

    found, draft = _load(spec, None, overrides)
    return resolved(found, draft) if as_json else to_yaml(found, draft, without=searched_paths(draft))


def schema() -> str:
    """The JSON Schema of the spec language."""
    from crda_spec.spec.schema import spec_schema_text

    return spec_schema_text()


def plan(spec: SpecLike, data: Any = None, *, overrides: Sequence[str] = ()) -> RunPlan:  # noqa: ANN401
    """Tell what a run would do, before anything is fitted: certificate, tests, rows and fits.

    Parameters
    ----------
    spec : path, mapping or RunSpec
        The spec: its file, or its values.
    data : pandas or polars DataFrame, or Arrow table, optional
        The rows, in place of those that the spec's source names. They are read and checked.
    overrides : sequence of str
        Single values, as ``--set`` takes them.

    Returns
    -------
    RunPlan
        With ``certificate``, ``tests``, ``rows`` and ``fits``; printed, it is the plan in words.

    Examples
    --------
    >>> import crda_spec
    >>> spec = {
    ...     "version": 1,
    ...     "name": "fields",
    ...     "dataset": {"source": {"kind": "synthetic", "world": "crop_yield", "rows": 60}, "target": "grain_yield"},
    ...     "regressor": {"kind": "ridge"},
    ... }
    >>> crda_spec.plan(spec).rows["train"]
    48

    """
    from crda_spec.audit.plan import plan_of

    return plan_of(*_load(spec, data, overrides))


def init(data: Any, *, target: str, graph: str | Path | None = None) -> str:  # noqa: ANN401 - a path or a frame
    """Write a first spec for a table: commented YAML that runs as it is.

    Parameters
    ----------
    data : path or data frame
        The table: .csv, .tsv, .parquet or .xlsx; or a pandas or polars DataFrame or an Arrow table.
    target : str
        The column to predict.
    graph : path, optional
        Your causal graph: .dag, .dot, .gml, .graphml, or .txt of edges.

    Returns
    -------
    str
        The text, with each column's contract as inferred, and comments on what is yours to decide. Paths start at the
        current folder. The spec of a frame takes its rows from ``run(spec, data=frame)``.

    Examples
    --------
    >>> import crda_spec, numpy as np, pandas as pd
    >>> area = np.random.default_rng(0).uniform(40, 120, size=80).round(1)
    >>> frame = pd.DataFrame({"area": area, "price": 3.5 * area})
    >>> print(crda_spec.init(frame, target="price").splitlines()[4])
    name: price

    """
    return first_spec(data, target=target, graph=None if graph is None else Path(graph)).text


def first_table(
    data: Any,  # noqa: ANN401 - a path or a frame
    *,
    target: str | None,
    out: Path | None = None,
) -> Scaffold:
    """A table as a first spec would use it: its features, and what is said of the rest. out: must be a new file."""
    from crda_spec.audit.runfolder import check_new_file
    from crda_spec.data.sources.frame import frame_table
    from crda_spec.spec.scaffold import scaffold

    if out is not None:
        check_new_file(out, "choose another file with --out")
    return scaffold(Path(data) if isinstance(data, str | Path) else frame_table(data), target, folder=Path())


def read_document(file: Path, model: type[Model], *, holds: str) -> Document[Model]:
    """A YAML file as a model of ours, every problem with its place as in a spec. holds: what it is for, in messages."""
    from crda_spec.spec.document import read_document as read

    return read(file, model, holds=holds)


def first_spec(
    data: Any,  # noqa: ANN401 - a path or a frame
    *,
    target: str | None,
    graph: Path | Mapping[str, Any] | None = None,
    out: Path | None = None,
    without: Mapping[str, str] | None = None,
    comments: Sequence[str] = (),
    notes: Mapping[str, str] | None = None,
) -> FirstSpec:
    """The same with the table it is of; written to a new file, the JSON Schema beside it, where `out` is given.

    graph: its file, or the section `causal.graph`, with comments above it and notes behind some of its edges.
    without: columns that are to be no features, and why.
    """
    from crda_spec.audit.runfolder import check_new_file, writing
    from crda_spec.data.sources.frame import frame_table
    from crda_spec.spec.scaffold import GraphPart
    from crda_spec.spec.scaffold import first_spec as first

    if out is not None:
        check_new_file(out, "choose another file with --out")
    table = Path(data) if isinstance(data, str | Path) else frame_table(data)
    part: Path | GraphPart | None = graph if isinstance(graph, Path) else None
    if isinstance(graph, Mapping):
        part = GraphPart(settings=dict(graph), before=tuple(comments), notes=notes or {})
    made = first(table, target, graph=part, out=out or Path("spec.yaml"), schema=SCHEMA, without=without)
    if out is not None:
        beside = out.parent / SCHEMA
        with writing(out, "choose another file", "--out"):
            out.write_text(made.text, encoding="utf-8")
            if not beside.exists():
                beside.write_text(schema(), encoding="utf-8")
    return made


def certify(graph: GraphLike, features: Iterable[str] | None = None, target: str | None = None) -> pd.DataFrame:
    """Ask a causal graph which features may move.

    Parameters
    ----------
    graph : CausalGraph, str, sequence of edges, networkx.DiGraph, pgmpy DAG or ADMG
        The graph. Text is edges (``a -> b``, one a line), DAGitty, DOT or GML.
    features : iterable of str, optional
        What the model sees; all observed columns but the target when left out. A node that is no feature and not the
        target is taken for one that nobody measured.
    target : str, optional
        The column to predict, where the graph does not say.

    Returns
    -------
    pandas.DataFrame
        By feature: its class (irrelevant: moves freely; cause: moves while its row keeps its noise; blocked: stays),
        the reason, and the open path that blocks it.

    Examples
    --------
    >>> import crda_spec
    >>> graph = "{age dose} -> recovery; severity -> {dose recovery}"
    >>> crda_spec.certify(graph, ["age", "dose"], "recovery")["class"].to_dict()
    {'age': 'cause', 'dose': 'blocked'}

    """
    from crda_spec.graphs import certify as certified

    return certified(graph, features, target)


def graph(spec: SpecLike, form: str = "svg", *, overrides: Sequence[str] = ()) -> tuple[bytes, tuple[str, ...]]:
    """The declared graph as a picture with its verdicts, or as text; and what that language cannot say."""
    from crda_spec.report.graph_draw import graph_picture
    from crda_spec.spec.check import known_graph

    known = known_graph(*_load(spec, None, overrides))
    drawn = graph_picture(known.drawn, known.verdicts, form)
    return known.exported(form) if drawn is None else (drawn, ())


def discover(
    data: Any,  # noqa: ANN401 - a path, a frame or a spec
    *,
    target: str | None = None,
    method: SearchMethod | None = None,
    alpha: float | None = None,
    resamples: int | None = None,
    overrides: Sequence[str] = (),
) -> Discovered:
    """Search for a causal graph: a draft for an expert to edit and declare.

    Parameters
    ----------
    data : data frame, or path of a table or a spec
        All rows of a table (.csv, .parquet, .xlsx, or a frame); or the training rows of a spec, whose search it is.
    target : str, optional
        The column to predict, when the data are a table.
    method : {"pc", "fci", "ges", "consensus"}, optional
        The search; the spec's, else PC.
    alpha : float, optional
        Links with a p-value above it are cut.
    resamples : int, optional
        Searches on half-samples, which tell how stable each link is; 100 for PC and FCI, none for the slow ones.
    overrides : sequence of str
        Single values of a spec, as ``--set`` takes them.

    Returns
    -------
    Discovered
        ``links``: each link with its evidence; ``graph``: a ``CausalGraph`` with every open direction guessed;
        ``notes``: the guesses.

    Examples
    --------
    >>> import crda_spec, numpy as np, pandas as pd
    >>> rng = np.random.default_rng(0)
    >>> frame = pd.DataFrame(rng.normal(size=(200, 2)), columns=["rain", "sun"])
    >>> frame["crop"] = frame.rain + frame.sun + 0.5 * rng.normal(size=200)
    >>> crda_spec.discover(frame, target="crop", resamples=0).graph.to_edges()
    ('rain -> crop', 'sun -> crop')

    """
    from crda_spec.data.sources.frame import frame_table
    from crda_spec.graphs import Discovered
    from crda_spec.spec.discover import discover_in_spec, discover_in_table, is_table
    from crda_spec.spec.run import RunSpec

    wishes = {"method": method, "alpha": alpha, "resamples": resamples}
    path = Path(data) if isinstance(data, str | Path) else None
    if path is not None and (target is not None or is_table(path)):
        found = discover_in_table(path, target, wishes, overrides=overrides)
    elif path is not None or isinstance(data, Mapping | RunSpec):
        found = discover_in_spec(*_load(data, None, overrides), wishes)
    else:
        found = discover_in_table(frame_table(data), target, wishes, overrides=overrides)
    return Discovered(findings=found[0], wishes=found[1])


def lock(spec: Path, *, overrides: Sequence[str] = (), out: Path | None = None) -> tuple[Path, dict[str, Any]]:
    """Writes the spec's lock: spec, data, graph and versions as they are now. An existing lock is replaced."""
    from crda_spec.audit.lock import lock_file, lock_now, write_lock
    from crda_spec.spec.build import build_plan

    found, draft = _load(spec, None, overrides)
    with draft.placing():
        made, _ = lock_now(found, draft, build_plan(found, draft))
    file = out or lock_file(spec)
    write_lock(file, made)
    return file, made


def verify(
    folder: str | Path,
    *,
    depth: Depth = "rows",
    base: str | Path | None = None,
    tolerance: float = 0.0,
    seal: str | None = None,
    progress: bool = False,
    told: Callable[[Check], None] = lambda _: None,
) -> Verification:
    """Check a run's folder: is it what a run wrote, and do its numbers follow from each other?

    Parameters
    ----------
    folder : path
        Of a finished run.
    depth : {"files", "rows", "full"}
        Hashes; also every row, label, certificate and verdict, without fitting; also the whole run again.
    base : path, optional
        Where the spec's relative paths start.
    tolerance : float
        On another platform: how far numbers may differ, as a part of their column's largest; 0 is bits.
    seal : str, optional
        The record's sha256 as you noted it, 12 digits at least.
    progress : bool
        Whether a run made again shows its stages on standard error.
    told : callable
        Hears of each check as soon as it is done.

    Returns
    -------
    Verification
        ``findings``: all that is not as it should be; ``exit_status``: 0, 4 (something was changed) or 5 (part of it
        could not be checked), as ``crda-spec verify`` exits.

    Examples
    --------
    >>> import crda_spec, tempfile
    >>> spec = {
    ...     "version": 1,
    ...     "name": "fields",
    ...     "dataset": {"source": {"kind": "synthetic", "world": "crop_yield", "rows": 60}, "target": "grain_yield"},
    ...     "regressor": {"kind": "ridge"},
    ...     "gate": {"enabled": False},
    ... }
    >>> with tempfile.TemporaryDirectory() as home:
    ...     print(crda_spec.verify(crda_spec.run(spec).save(f"{home}/run")))
    Verified: the run is as it was written (depth rows).

    """
    from crda_spec.audit.verify.folder import verify_folder

    where = None if base is None else Path(base)
    shown = _shown(progress=progress)
    return verify_folder(Path(folder), depth, base=where, tolerance=tolerance, seal=seal, progress=shown, told=told)


def predict(
    folder: Path, data: Path, *, out: Path | None = None, single: bool = False, level: float | None = None
) -> Predicted:
    """The final model of a run on the rows of a file; written to a new file where `out` is given.

    single: asks the run's one model also where there is an ensemble.  level: asks for intervals too.
    """
    from crda_spec.audit.open_run import open_run as opened
    from crda_spec.audit.open_run import readable
    from crda_spec.audit.predicted import check_ending, check_size, write_table
    from crda_spec.audit.runfolder import check_new_file
    from crda_spec.audit.scoring import predict_rows, saved_model
    from crda_spec.data.blocks import open_rows

    if out is not None:
        check_new_file(out, "choose another file")
        check_ending(out)
    saved = opened(folder)
    with readable(folder):
        final = saved_model(saved, single=single, level=level)
        rows = open_rows(data, like=saved.spec.dataset.source)
        if out is not None:
            check_size(out, rows.rows)
        found = predict_rows(final, rows, ids=saved.spec.dataset.ids)
    if out is not None:
        write_table(found.table, out)
    return found


def generate(
    folder: Path,
    data: Path,
    out: Path,
    *,
    rows: int | None = None,
    factor: float | None = None,
    batch: int = 32768,
    jobs: int = 1,
    progress: bool = False,
) -> Generated:
    """New rows for a table of any size, as a finished run made them, in a new file: .parquet, .csv or .xlsx.

    rows: how many, in all; else `factor` for each row of the data; else the run's own factor.
    batch: about how many a worker makes at a time.
    """
    from crda_spec.audit.new_rows import generate as generate_rows
    from crda_spec.audit.new_rows import prepare
    from crda_spec.audit.open_run import open_run as opened
    from crda_spec.audit.open_run import readable, saved_run
    from crda_spec.audit.predicted import check_ending
    from crda_spec.audit.runfolder import check_new_file

    check_new_file(out, "choose another file", no_folder="make it, or choose another file")
    check_ending(out)
    run = opened(folder)
    saved = saved_run(run)
    with readable(folder):
        job = prepare(saved, run.spec, data, rows=rows, factor=factor)
    with readable(folder), _shown(progress=progress).stage("generate", job.quota.blocks) as stage:
        return generate_rows(job, out, batch=batch, workers=jobs, advance=stage.advance)


def whatif(
    folder: Path,
    question: Question,
    *,
    base: Path | None = None,
    out: Path | None = None,
    plot: Path | None = None,
    progress: bool = False,
) -> WhatIf:
    """What the outcomes of some rows would have been, by a finished run.

    base: where the spec's files are.  out: a new file for the answers.  plot: a new file for the curves of a sweep.
    """
    from crda_spec.audit.held_run import KeptRun, ask
    from crda_spec.audit.open_run import open_run as opened
    from crda_spec.audit.pages import check_answers, write_answers

    check_answers(out, plot, swept=question.sweep is not None)
    found = ask(KeptRun(opened=opened(folder)), question, base=base, progress=_shown(progress=progress))
    write_answers(found, out, plot)
    return found


def effects(folder: Path, *, follow: bool = False, base: Path | None = None) -> Effects:
    """What each certified cause of a finished run does to the target on average."""
    from crda_spec.audit.held_run import KeptRun, average_effects
    from crda_spec.audit.open_run import open_run as opened

    return average_effects(KeptRun(opened=opened(folder)), follow=follow, base=base)


def report(folders: Sequence[Path], *, out: Path | None = None, png: Path | None = None) -> tuple[Path, int]:
    """The page of a run made again, several runs on one page, or one run's figures: where, and how many bytes.

    out: a new file; else the run's own page, or compare.html.  png: a new folder for the figures, and no page.
    """
    from crda_spec.audit.pages import write_page

    return write_page(folders, out=out, png=png)


def export(run: Path, out: Path, *, form: str | None = None) -> tuple[Path, Path]:
    """The final model of a finished run for other tools, and its contract. form: skops or onnx; None: the ending."""
    model = open_run(run).export(out, form=form)
    return model, model.with_name(f"{model.name}.json")


def runs(folder: Path) -> list[ListedRun]:
    """Every finished run below a folder, the oldest first."""
    from crda_spec.audit.open_run import list_runs

    if not folder.is_dir():
        hint = "name the folder of your runs, or run a spec first: crda-run SPEC"
        raise OutputError(Complaint(code="no-folder", what=f"there is no folder '{folder}'", hint=hint))
    return list_runs(folder)


def diff(first: Path, second: Path) -> Differences:
    """What differs between two specs or two runs."""
    from crda_spec.audit.compare import differences

    return differences(first, second)


def bench(
    suite: Path,
    *,
    out: Path | None = None,
    jobs: int = 1,
    only: str | None = None,
    budget: str | None = None,
    quick: bool = False,
    progress: bool = False,
) -> Benched:
    """Runs what a suite asks for and its folder does not hold yet; writes tables and page.

    out: the folder, `bench/<name>` by default.  only: a part of the labels of the cells to run.  budget: `30m`; no new
    cell is started after it.  quick: the suite's small variant.
    """
    from rich.console import Console

    from crda_spec.bench.bench import bench as run_bench
    from crda_spec.report.suite_live import watching

    with watching(Console(stderr=True), quiet=not progress) as watch:
        return run_bench(suite, out=out, jobs=jobs, only=only, budget=budget, quick=quick, watch=watch)


def _load(
    spec: SpecLike,
    data: Any,  # noqa: ANN401
    overrides: Sequence[str],
    estimator: Any = None,  # noqa: ANN401
) -> tuple[RunSpec, Draft]:
    """The spec, checked against its data's header and its graph."""
    from crda_spec.spec.check import load_spec as load

    frame = None
    if data is not None:
        from crda_spec.data.sources.frame import frame_table

        frame = frame_table(data)
    values: Any = spec
    if not isinstance(spec, str | Path | Mapping):
        values = _values_of(spec)
    values = Path(values) if isinstance(values, str) else values
    return load(values, overrides=overrides, frame=frame, estimator=estimator)


def _values_of(spec: Any) -> dict[str, Any]:  # noqa: ANN401 - whatever stands for a spec
    from crda_spec.spec.run import RunSpec

    if not isinstance(spec, RunSpec):
        what = f"{type(spec).__name__} is no spec"
        raise SpecError(Complaint(code="no-spec", path="spec", what=what, hint="give a path, a mapping or a RunSpec"))
    return spec.model_dump(mode="json")


def _execute(spec: RunSpec, draft: Draft, *, progress: Progress, lock: Path | None = None) -> Run:
    """Runs a checked spec; complaints name their places in it. lock: the spec whose lock must hold."""
    from crda_spec.audit.held_run import MadeRun
    from crda_spec.audit.lock import locked_plan
    from crda_spec.pipeline import run as run_plan
    from crda_spec.runs import Run
    from crda_spec.spec.build import build_plan

    with draft.placing():
        plan = build_plan(spec, draft)
        plan = plan if lock is None else locked_plan(spec, draft, plan, lock)
        return Run(MadeRun(spec=spec, draft=draft, result=run_plan(plan, progress=progress)))


def _shown(*, progress: bool) -> Progress:
    """Stages on standard error, or nothing."""
    from rich.console import Console

    from crda_spec.report.progress import progress_for

    return progress_for(Console(stderr=True), quiet=not progress)
