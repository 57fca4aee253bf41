"""A finished run, read back through one door: its rows, its teacher, and the result that its pages were made from.

And the list of all finished runs below a folder.
"""

from __future__ import annotations

import csv
import json
import zipfile
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from pathlib import Path, PurePosixPath
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from crda_spec import records
from crda_spec.audit.canonical import canonical_json, read_as, seal, sha256_of
from crda_spec.audit.export import CRATE, LEDGER
from crda_spec.audit.kept_spec import resolved_spec
from crda_spec.audit.models import load_models
from crda_spec.audit.record import RECORD_VERSION, STUDIES, read_studies
from crda_spec.audit.runfolder import MARKER
from crda_spec.audit.schemas import record_trouble
from crda_spec.counterfactual.abduct import EvenScale, SmoothScale
from crda_spec.data.cells import BlockPlace, block_numbers
from crda_spec.errors import Complaint, CrdaError, OutputError, Place, TamperedError, show
from crda_spec.gate.intervals import FittedBand, SizeBy
from crda_spec.records import NOBODY, Array, Column, IntArray, NoiseScale, Table, Teacher
from crda_spec.scm.mechanisms import Basis, Inputs, SmoothMean
from crda_spec.spec.run import RunSpec

ROWS_FILE = "augmented.parquet"
_NOISE = "noise.json"
_IN_SAMPLE = "in_sample.json"
BAND = "intervals.json"
FOLD_MODELS = "fold_models"
_LARGEST = 256 * 2**20  # a record has a few hundred kilobytes; nobody should have to read a bomb
# Whose presence alone changes what is read.
_READ_WHERE_PRESENT = (
    "model",
    "teacher",
    "ensemble",
    _NOISE,
    _IN_SAMPLE,
    "diagnostics.json",
    STUDIES,
    "repeats.csv",
    BAND,
    FOLD_MODELS,
    "intervals.csv",
)
# What a folder whose parts do not fit together can make a reader raise. Nothing in it is executed.
UNREADABLE = (
    OSError,
    ValueError,
    LookupError,
    TypeError,
    AttributeError,
    AssertionError,
    NotImplementedError,
    EOFError,
    ArithmeticError,
    RecursionError,
    csv.Error,
    pa.ArrowException,
    zipfile.BadZipFile,
)


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is not as it should be: where, and what."""

    where: str
    what: str

    def __str__(self) -> str:
        return f"{self.where}: {self.what}"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class OpenedRun:
    """A run's folder and its record, after its schema, its seal and the hash of every file were checked."""

    folder: Path
    record: dict[str, Any]

    @property
    def spec(self) -> RunSpec:
        """The spec that the record itself holds; text from the environment stands there as it was written."""
        return resolved_spec(self.record)


def open_run(folder: Path, *, lost: Collection[str] = ()) -> OpenedRun:
    """The one door to a run: an OutputError when it cannot be read, a TamperedError when a seal or a hash is wrong.

    lost: files that may be missing. Files that nobody reads may be in the folder too; `verify` names them.
    """
    record = read_record(folder)
    wrong = [
        *seal_findings(record),
        *(one for one in file_findings(folder, record) if one.where not in lost or (folder / one.where).exists()),
    ]
    if wrong:
        place, hint = Place(file=str(folder)), f"see what else differs: crda-spec verify {folder}"
        raise TamperedError(Complaint(code="tampered", place=place, what=str(one), hint=hint) for one in wrong)
    return OpenedRun(folder=folder, record=record)


def read_record(folder: Path) -> dict[str, Any]:
    """The record of a run, as its schema says; an OutputError names all that is not."""
    file = folder / "record.json"
    if not file.is_file():
        hint = "name the folder that crda-run wrote, runs/<name>/<id>"
        raise OutputError(Complaint(code="no-run", what=f"'{folder}' is not the folder of a finished run", hint=hint))

    def complaint(what: str, code: str = "bad-record", hint: str = "") -> Complaint:
        hint = hint or "it was not written by crda-run, or it was changed since"
        return Complaint(code=code, place=Place(file=str(file)), what=what, hint=hint)

    def no_number(name: str) -> None:
        raise ValueError(f"{name} is no number of JSON")

    try:
        if file.stat().st_size > _LARGEST:
            raise OutputError(complaint("the record is too large to be one"))
        record = json.loads(file.read_text(encoding="utf-8"), parse_constant=no_number)
        canonical_json(record).encode()
    except (OSError, ValueError, RecursionError) as error:
        raise OutputError(complaint(f"the record is not JSON: {error}")) from None
    if not isinstance(record, dict) or "record_version" not in record:
        raise OutputError(complaint("the file is no run's record"))
    if record["record_version"] != RECORD_VERSION:
        what = f"the record has version {show(record['record_version'])}, but this crda-spec reads {RECORD_VERSION}"
        raise OutputError(complaint(what, "record-version", "use the crda-spec that wrote it"))
    wrong = [complaint(f"{path} {what}") for path, what in record_trouble(record)]
    files = record["files"] if not wrong else ()
    wrong += [complaint(f"files.{name} leads out of the folder") for name in files if not _inside(name)]
    if wrong:
        raise OutputError(wrong)
    return record


def _inside(name: str) -> bool:
    path = PurePosixPath(name)
    return str(path) == name and not path.is_absolute() and not {"..", "."} & {*path.parts} and "\\" not in name


def seal_findings(record: Mapping[str, Any]) -> Iterator[Finding]:
    """Whether the record was changed after it was written."""
    if seal(record, "volatile") != record["sha256"]:
        yield Finding("record.json", "was changed after it was written: its seal is broken")
    if seal(record["volatile"]) != record["volatile"]["sha256"]:
        yield Finding("record.json", "its volatile part (time, seconds, workers) was changed: its seal is broken")


def file_findings(folder: Path, record: Mapping[str, Any], *, others: bool = False) -> Iterator[Finding]:
    """Every file against the hash that the record names. others: also names files that only lie there."""
    listed = record["files"]
    for name in sorted({*listed, *present_files(folder)} - {"record.json", CRATE}):
        file = folder / name
        if name not in listed:
            if others or name.split("/")[0] in _READ_WHERE_PRESENT:
                yield Finding(name, "was not written by the run")
        elif any(one.is_symlink() for one in (file, *file.parents[: len(PurePosixPath(name).parts) - 1])):
            yield Finding(name, "is a link, not a file")
        elif not file.is_file():
            yield Finding(name, "is missing")
        elif sha256_of(file.read_bytes()) != listed[name]:
            yield Finding(name, "was changed after it was written: its hash differs")


def present_files(folder: Path) -> set[str]:
    """What lies in the folder; a link is not followed."""
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_symlink() or path.is_file()}


@contextmanager
def readable(folder: Path) -> Iterator[None]:
    """Hashes can be mended: what then does not fit together is an OutputError, not a crash."""
    try:
        yield
    except CrdaError:
        raise
    except UNREADABLE as error:
        what = f"the folder is not as a run leaves it ({type(error).__name__}: {str(error)[:200]})"
        raise _refused(folder, "broken-run", what, "take a fresh copy of the folder, or run the spec again") from error


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SavedRun:
    """What a run's folder holds of the augmentation itself."""

    record: dict[str, Any]
    train: Table  # the real rows it was trained on
    noise: Array  # (n,) their abducted noise
    teacher: Teacher
    scale: NoiseScale | None  # None: additive noise


def saved_run(run: OpenedRun) -> SavedRun:
    """Reads what new rows are made from; an OutputError says what is missing."""
    if run.record["counterfactuals"] is None:
        what = f"this run made no new rows: {run.record['verdict']['sentence'].rstrip('.')}"
        nothing = run.record["verdict"]["reason"] == "no_new_rows"
        hint = "use another augmenter, and run again" if nothing else "let features move, and run again"
        raise _refused(run.folder, "nothing-made", what, hint)
    return taught_run(run)


def taught_run(run: OpenedRun) -> SavedRun:
    """The same, rows made or not: the training rows, their noise, and who can say what another row would be."""
    folder, record = run.folder, run.record
    with readable(folder):
        teacher = load_teacher(folder, record)
        if teacher is None:
            what = "the run saved no teacher, so nobody can label new rows"
            raise _refused(folder, "no-teacher", what, "set output.model: true, and run again")
        rows, scale = read_ledger(folder, record, real_only=True), load_scale(folder)
        train, predicted = rows.train, rows.real["prediction"]
        if record["data"].get("grouped"):
            train = replace(train, groups=_groups(folder / "rows.csv"))
        if record["abduction"]["residuals"] == "in_sample":
            teacher = replace(teacher, in_sample=predicted)
        else:
            teacher = replace(teacher, out_of_fold=predicted)
    return SavedRun(record=record, train=train, noise=rows.real["noise"], teacher=teacher, scale=scale)


def taught_result(result: records.RunResult, record: dict[str, Any]) -> SavedRun:
    """The same of a result in memory, as its folder would have it. record: of the result, as JSON holds it."""
    teacher, used = result.teacher, result.abduction.residuals
    return SavedRun(
        record=record,
        train=result.split.train,
        noise=result.abduction.noise,
        teacher=replace(teacher, out_of_fold=teacher.out_of_fold if used == "out_of_fold" else None),
        scale=result.abduction.scale_model,
    )


def load_teacher(folder: Path, record: dict[str, Any]) -> Teacher | None:
    """What labelled the synthetic rows; None when the run did not save it."""
    members = load_models(folder / "teacher")
    if not members:
        return None
    recorded = record.get("teacher") or {}
    own = folder / _IN_SAMPLE
    return Teacher(
        kind=str(recorded.get("kind", "")),
        members=members,
        # Of the rows that it was fitted on; a teacher that has seen them all has its predictions in the ledger.
        in_sample=np.array(json.loads(own.read_text(encoding="utf-8")) if own.exists() else (), dtype=np.float64),
        out_of_fold=None,
        weights=tuple(recorded.get("weights", ())),
    )


def _refused(folder: Path, code: str, what: str, hint: str) -> OutputError:
    return OutputError(Complaint(code=code, place=Place(file=str(folder)), what=what, hint=hint))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Ledger:
    """augmented.parquet as numbers: real rows first, then the synthetic ones. Rows are counted from 1 in messages."""

    train: Table  # the real rows
    x: Array  # (m, d) the synthetic rows
    y: Array  # (m,)
    real: Mapping[str, Array]  # the ledger's numbers of the real rows, by name without `_crda_`
    made: Mapping[str, Array]  # those of the synthetic rows
    bases: tuple[str | None, ...]  # of the synthetic rows
    source: IntArray  # (m,) position of the real row each was made from, NOBODY when there is no such row
    partner: IntArray
    noise_row: IntArray

    def place(self, position: int, column: str = "") -> str:
        """Where a synthetic row stands."""
        return f"{ROWS_FILE}, row {len(self.train) + position + 1}" + (f", {show(column)}" if column else "")


def read_ledger(folder: Path, record: Mapping[str, Any], *, real_only: bool = False) -> Ledger:
    """The rows; DataError or ValueError when they are not such rows at all."""
    data = record["data"]
    features = tuple(read_as(Column, column) for column in data["features"])
    # A counterfactual outcome need not be whole, nor within the bounds of what was observed.
    target = replace(read_as(Column, data["target"]), type="continuous", minimum=None, maximum=None, allowed=None)
    rows = pq.read_table(folder / ROWS_FILE, filters=[("_crda_synthetic", "==", False)] if real_only else None)
    expected = [*(column.name for column in features), target.name, *LEDGER]
    if rows.column_names != expected:
        raise ValueError(f"the columns are not {', '.join(expected)}")
    numbers = block_numbers(rows, (*features, target), BlockPlace(file=ROWS_FILE, first=0))
    numbers_of = {name.removeprefix("_crda_"): _numbers(rows[name]) for name in LEDGER if name != "_crda_basis"}
    synthetic = numbers_of.pop("synthetic") == 1.0
    count = int(np.count_nonzero(~synthetic))
    if synthetic[:count].any():
        raise ValueError("a synthetic row stands before a real one")
    real = {name: values[:count] for name, values in numbers_of.items()}
    made = {name: values[count:] for name, values in numbers_of.items()}
    ids = real["source_row"].astype(np.int64)
    train = Table(
        features=features,
        target=read_as(Column, data["target"]),
        row_ids=ids - 1,
        x=np.ascontiguousarray(numbers[:count, :-1]),
        y=np.ascontiguousarray(numbers[:count, -1]),
        weights=None if data.get("weights") is None else real["weight"].copy(),
    )
    return Ledger(
        train=train,
        x=np.ascontiguousarray(numbers[count:, :-1]),
        y=np.ascontiguousarray(numbers[count:, -1]),
        real=real,
        made=made,
        bases=tuple(rows["_crda_basis"].to_pylist()[count:]),
        source=_positions(made["source_row"], ids),
        partner=_positions(made["partner_row"], ids),
        noise_row=_positions(made["noise_row"], ids),
    )


def _numbers(cells: pa.ChunkedArray) -> Array:
    values = cells.combine_chunks().cast(pa.float64() if not pa.types.is_boolean(cells.type) else pa.int8())
    return np.asarray(values.to_numpy(zero_copy_only=False), dtype=np.float64)


def _positions(numbers: Array, ids: IntArray) -> IntArray:
    """Where the rows of these numbers stand among the real ones; NOBODY for no row, and for one that is not there."""
    where = {number: position for position, number in enumerate(ids.tolist())}
    return np.array([NOBODY if np.isnan(one) else where.get(int(one), NOBODY) for one in numbers], dtype=np.int64)


def noise_files(abduction: records.Abduction) -> dict[str, bytes]:
    """File name -> bytes: how large the noise is at which x. No file for additive noise."""
    if abduction.scale_model is None:
        return {}
    return {_NOISE: canonical_json({"noise_version": 1, "scale": abduction.scale_model}).encode()}


def in_sample_files(teacher: Teacher, residuals: records.Residuals) -> dict[str, bytes]:
    """File name -> bytes: what the teacher says of its own rows, where the ledger has what it says of them unseen."""
    return {} if residuals == "in_sample" else {_IN_SAMPLE: canonical_json(teacher.in_sample).encode()}


def load_scale(folder: Path) -> NoiseScale | None:
    """The scale that `noise_files` wrote, to the last bit; None when there is none."""
    file = folder / _NOISE
    if not file.exists():
        return None
    return read_scale(json.loads(file.read_text(encoding="utf-8"))["scale"])


def read_scale(recorded: Mapping[str, Any]) -> NoiseScale:
    """A fitted size of the noise, as JSON holds it."""
    if "size" in recorded:
        return EvenScale(recorded["size"])
    smooth, basis = recorded["log_size"], recorded["log_size"]["basis"]
    inputs = {name: np.array(basis["inputs"][name], dtype=np.float64) for name in ("fill", "center", "scale")}
    codes = tuple(np.array(one, dtype=np.float64) for one in basis["inputs"]["codes"])
    centers, whiten = np.array(basis["centers"]), np.array(basis["whiten"])
    mean = SmoothMean(
        basis=Basis(inputs=Inputs(**inputs, codes=codes), centers=centers, width=basis["width"], whiten=whiten),
        constant=smooth["constant"],
        slopes=np.array(smooth["slopes"]),
    )
    return SmoothScale(log_size=mean, level=recorded["level"], lowest=recorded["lowest"], highest=recorded["highest"])


def band_text(band: FittedBand) -> str:
    """The calibrated intervals as `intervals.json` holds them, to the last bit."""
    return canonical_json({"intervals_version": 1, **{item.name: getattr(band, item.name) for item in fields(band)}})


def load_band(folder: Path) -> FittedBand | None:
    """What `band_text` wrote; None when the run has no intervals."""
    file = folder / BAND
    if not file.is_file():
        return None
    saved = json.loads(file.read_text(encoding="utf-8"))
    scores, fold = np.array(saved["scores"], dtype=np.float64), np.array(saved["fold"], dtype=np.int64)
    weights = None if saved["weights"] is None else np.array(saved["weights"], dtype=np.float64)
    if not scores.shape == fold.shape == (scores if weights is None else weights).shape == (len(scores),):
        raise ValueError(f"{BAND}: its scores, folds and weights are not of one length")
    return FittedBand(
        form=saved["form"],
        scores=scores,
        fold=fold,
        weights=weights,
        units=int(saved["units"]),
        sizes_by=tuple(
            SizeBy(
                source=one["source"],
                columns=tuple(int(at) for at in one["columns"]),
                power=float(one["power"]),
                scale=read_scale(one["scale"]),
            )
            for one in saved["sizes_by"]
        ),
    )


VOLATILE = ("files", "sha256", "unsaved", "volatile")  # what the record gains after the page is made


_Kind = TypeVar("_Kind")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ReopenedRun:
    """A run's result as far as its folder tells, and the two texts that its page shows."""

    folder: Path
    record: dict[str, Any]
    result: records.RunResult
    record_json: str  # as the page shows it: without the files' hashes and what the clock says
    spec_yaml: str

    @property
    def name(self) -> str:
        """The spec's name."""
        return str(self.record["name"])

    @property
    def description(self) -> str:
        """The spec's description, as written."""
        return str(self.record["spec"]["resolved"].get("description", ""))


class _Absent:
    """The final model, which no page asks: `crda-spec predict` loads it from the folder."""

    def predict(self, x: Array) -> Array:
        raise NotImplementedError(f"this result was read for its pages; {len(x)} rows need the saved model")


def reopen(run: OpenedRun) -> ReopenedRun:
    """Reads the run's result; an OutputError says what does not fit together."""
    with readable(run.folder):
        stable = {key: value for key, value in run.record.items() if key not in VOLATILE}
        return ReopenedRun(
            folder=run.folder,
            record=run.record,
            result=_result(run.folder, run.record),
            record_json=canonical_json(stable),
            spec_yaml=(run.folder / "spec.yaml").read_text(encoding="utf-8"),
        )


def _result(folder: Path, record: dict[str, Any]) -> records.RunResult:
    ledger = read_ledger(folder, record)
    train, real = ledger.train, ledger.real
    if record["data"].get("grouped"):
        train = replace(train, groups=np.zeros(len(train), dtype=np.int64))
    held, tuned, gate_fold = _parts(folder / "rows.csv")
    figures = folder / "diagnostics.json"  # a run without new rows has no such file
    diagnostics = json.loads(figures.read_text(encoding="utf-8")) if figures.is_file() else None
    scale = record["abduction"]["scale"]
    residuals = record["abduction"]["residuals"]
    return records.RunResult(
        data=read_as(records.DataReport, record["data"]),
        split=records.Split(
            train=train,
            test=None if record["test"] is None else records.HeldOut(_rows_elsewhere(train, held)),
            tuning=_rows_elsewhere(train, tuned) if len(tuned) else None,
        ),
        certificate=read_as(records.Certificate, record["certificate"]),
        falsification=_optional(records.Falsification, record["falsification"]),
        sensitivity=_optional(records.Sensitivity, record["sensitivity"]),
        teacher=Teacher(
            kind=record["teacher"]["kind"],
            members=(),
            in_sample=real["prediction"] if residuals == "in_sample" else np.full(len(train), np.nan),
            out_of_fold=real["prediction"] if residuals == "out_of_fold" else None,
            weights=tuple(record["teacher"]["weights"]),
            names=tuple(record["teacher"]["members"]),
            families=tuple(read_as(records.TeacherFamily, recorded) for recorded in record["teacher"]["families"]),
            trust=_optional(records.Trust, record["teacher"]["trust"]),
            signs=_optional(records.SignedMembers, record["teacher"]["signs"]),
        ),
        signs=tuple(read_as(records.DeclaredSign, recorded) for recorded in record["signs"]),
        abduction=records.Abduction(
            noise=real["noise"],
            residuals=residuals,
            model=record["abduction"]["model"],
            scale=None if scale is None else real["scale"],  # the fitted size itself is in noise.json
            scale_clipped=0 if scale is None else scale["clipped"],
        ),
        counterfactuals=made_rows(ledger, record),
        movements=tuple(read_as(records.Movement, recorded) for recorded in record["movements"]),
        watched=np.flatnonzero(real["trained"] != 1.0),
        gate_fold=gate_fold,
        verdict=read_as(records.Verdict, record["verdict"]),
        score=_optional(records.TestScore, record["test"]),
        controls=_optional(records.Controls, record.get("controls")),  # older records know none
        diagnostics=_optional(records.Diagnostics, diagnostics),
        model=_Absent(),
        settings={key: tuple(one) if isinstance(one, list) else one for key, one in record["regressor"].items()},
        timings={key: value for key, value in record["volatile"]["seconds"].items() if key != "regressor fits"},
        cost=records.Cost(
            fits=record["fits"],
            refits=record.get("refits", 0),  # older records know none
            reused=record["reused_fits"],
            seconds=record["volatile"]["seconds"]["regressor fits"],
        ),
        watch=record["watch"],
        studies=read_studies(folder),
        ensemble=_optional(records.Ensemble, record.get("ensemble")),  # older records know no ensembles
        intervals=_optional(records.IntervalReport, record.get("intervals")),  # older records know none
        time=_optional(records.TimeOrder, record.get("time")),  # only where rows have an order
    )


def _optional(kind: type[_Kind], recorded: dict[str, Any] | None) -> _Kind | None:
    return None if recorded is None else read_as(kind, recorded)


def _parts(file: Path) -> tuple[IntArray, IntArray, IntArray]:
    """Of rows.csv: the numbers (from 0) of the test rows and of those tuned on, and each training row's gate fold."""
    with file.open(encoding="utf-8", newline="") as lines:
        rows = list(csv.DictReader(lines))
    held, tuned = ([int(row["row"]) - 1 for row in rows if row["part"] == part] for part in ("test", "tuning"))
    folds = [int(row["gate_fold"] or 0) for row in rows if row["part"] == "train"]
    return np.array(held, dtype=np.int64), np.array(tuned, dtype=np.int64), np.array(folds, dtype=np.int64)


def _groups(file: Path) -> IntArray:
    """Of rows.csv: the group of each training row."""
    with file.open(encoding="utf-8", newline="") as lines:
        return np.array([int(row["group"]) for row in csv.DictReader(lines) if row["part"] == "train"], dtype=np.int64)


def _rows_elsewhere(train: Table, held: IntArray) -> Table:
    """Which rows were tested, or tuned on. Their cells are in the source, not in the folder."""
    return Table(
        features=(), target=train.target, row_ids=held, x=np.empty((len(held), 0)), y=np.full(len(held), np.nan)
    )


def made_rows(ledger: Ledger, record: Mapping[str, Any]) -> records.Counterfactuals | None:
    """The synthetic rows; None when there are none."""
    recorded = record["counterfactuals"]
    if recorded is None:
        return None
    # The certificate lists what followed, causes first, which a JSON object does not keep.
    followed = [name for name in record["certificate"]["propagated"] if name in recorded["propagated"]]
    action = records.Action(
        x=ledger.x,
        source=ledger.source,
        moved=tuple(recorded["moved"]),
        policies=recorded["policies"],
        clipped=recorded["clipped"],
        propagated={name: records.Quoted(text=recorded["propagated"][name]) for name in followed},
        copied=recorded["copied"],
        dropped=recorded["dropped"],
        redrawn=recorded["redrawn"],
        rule_dropped=recorded["rule_dropped"],
        rule_redrawn=recorded["rule_redrawn"],
        partner=None if (ledger.partner == NOBODY).all() else ledger.partner,
    )
    return records.Counterfactuals(
        action=action,
        prediction=ledger.made["prediction"],
        noise=ledger.made["noise"],
        retention=recorded["retention"],
        y=ledger.y,
        weight=recorded["weight"],
        basis=recorded["basis"],
        draw=recorded["residual_draw"],
        scale=ledger.made["scale"],
        noise_source=ledger.noise_row,
        scale_clipped=recorded["scale_clipped"],
        irrelevant=tuple(recorded["irrelevant"]),
        invariant=np.array([one == "invariance" for one in ledger.bases]) if recorded["irrelevant"] else None,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedRun:
    """What a list of runs says of one."""

    folder: str  # from where the list was asked for
    name: str = ""
    created: str = ""
    decision: str = ""
    reason: str = ""
    metric: str = ""
    change_percent: float | None = None  # of one model's test loss, by the augmentation, used or not
    sha256: str = ""
    models: int = 1  # that the run hands over; more than one predict by their mean
    trouble: str = ""  # why the record cannot be read; then nothing else is known


def list_runs(folder: Path) -> list[ListedRun]:
    """Every run below the folder, the oldest first; those whose record cannot be read come last."""
    return sorted(map(_listed, _runs(folder)), key=lambda run: (bool(run.trouble), run.created, run.folder))


def _runs(folder: Path) -> Iterator[Path]:
    """Not inside a run, nor in what an interrupted run left behind."""
    if (folder / "record.json").is_file():
        yield folder
        return
    for inner in sorted(folder.iterdir()):
        if inner.is_dir() and not inner.is_symlink() and not (inner / MARKER).exists():
            yield from _runs(inner)


def _listed(folder: Path) -> ListedRun:
    try:
        record = read_record(folder)
        trouble = next((one.what for one in seal_findings(record)), "")
    except OutputError as error:
        trouble = error.complaints[0].what
    if trouble:
        return ListedRun(folder=str(folder), trouble=trouble)
    change = None if record["test"] is None else record["test"]["change_percent"]
    return ListedRun(
        folder=str(folder),
        name=record["name"],
        created=record["volatile"]["created"],
        decision=record["verdict"]["decision"],
        reason=record["verdict"]["reason"],
        metric=(record["test"] or record["verdict"])["metric"],
        change_percent=None if change is None else float(change),
        sha256=record["sha256"],
        models=(record["ensemble"] or {"models": 1})["models"],
    )
