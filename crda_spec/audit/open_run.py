"""A finished run, read back from its folder: its rows, its teacher, and the result that its pages were made from."""

from __future__ import annotations

import csv
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from crda_spec.audit.canonical import canonical_json, revived
from crda_spec.audit.models import load_models
from crda_spec.audit.record import RECORD_VERSION, read_studies
from crda_spec.counterfactual.noise import EvenScale, SmoothScale
from crda_spec.data.cells import BlockPlace, block_numbers
from crda_spec.errors import Complaint, OutputError, Place
from crda_spec.records import (
    NOBODY,
    Abduction,
    Action,
    Array,
    Certificate,
    Column,
    Cost,
    Counterfactuals,
    DataReport,
    Diagnostics,
    Ensemble,
    Falsification,
    HeldOut,
    IntArray,
    Movement,
    NoiseScale,
    Quoted,
    RunResult,
    Sensitivity,
    Split,
    Table,
    Teacher,
    TeacherFamily,
    TestScore,
    TimeOrder,
    Verdict,
)
from crda_spec.scm.mechanisms import Basis, Inputs, SmoothMean

_NOISE = "noise.json"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SavedRun:
    """What a run's folder holds of the augmentation itself."""

    folder: Path
    record: dict[str, Any]
    train: Table  # the real rows it was trained on
    noise: Array  # (n,) their abducted noise
    teacher: Teacher
    scale: NoiseScale | None  # None: additive noise


def open_run(folder: Path) -> SavedRun:
    """Reads the folder; an OutputError says what is missing for new rows to be made."""
    file = folder / "record.json"
    if not file.is_file():
        hint = "name the folder that crda-run wrote, runs/<name>/<id>"
        raise OutputError(Complaint(code="no-run", what=f"'{folder}' is not the folder of a finished run", hint=hint))
    record: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    if record["counterfactuals"] is None:
        what = f"this run made no new rows: {record['verdict']['sentence'].rstrip('.')}"
        raise _refused(folder, "nothing-made", what, "let features move, and run again")
    teacher = load_teacher(folder, record)
    if teacher is None:
        what = "the run saved no teacher, so nobody can label new rows"
        raise _refused(folder, "no-teacher", what, "set output.model: true, and run again")
    train, noise = _training_rows(folder, record)
    return SavedRun(folder=folder, record=record, train=train, noise=noise, teacher=teacher, scale=load_scale(folder))


def load_teacher(folder: Path, record: dict[str, Any]) -> Teacher | None:
    """What labelled the synthetic rows; None when the run did not save it."""
    members = load_models(folder / "teacher")
    if not members:
        return None
    told = record.get("teacher") or {}
    return Teacher(
        kind=str(told.get("kind", "")),
        members=members,
        in_sample=np.empty(0),  # of rows at hand when it was fitted; they are in the ledger
        out_of_fold=None,
        weights=tuple(told.get("weights", ())),
    )


def _refused(folder: Path, code: str, what: str, hint: str) -> OutputError:
    return OutputError(Complaint(code=code, place=Place(file=str(folder)), what=what, hint=hint))


def read_column(told: dict[str, Any]) -> Column:
    """The contract of a column, from the record."""
    lists = {name: None if told[name] is None else tuple(told[name]) for name in ("labels", "allowed")}
    return Column(**{**told, **lists})


def _training_rows(folder: Path, record: dict[str, Any]) -> tuple[Table, Array]:
    """The real rows of augmented.parquet, as the run had them, and their noise."""
    features = tuple(read_column(told) for told in record["data"]["features"])
    target = read_column(record["data"]["target"])
    file = folder / "augmented.parquet"
    rows = pq.read_table(file, filters=[("_crda_synthetic", "==", False)])
    where = BlockPlace(file=file.name, first=0)
    numbers = block_numbers(rows, (*features, target), where)
    noise = rows["_crda_noise"].to_numpy().astype(np.float64)
    table = Table(
        features=features,
        target=target,
        row_ids=rows["_crda_source_row"].to_numpy().astype(np.int64) - 1,
        x=np.ascontiguousarray(numbers[:, :-1]),
        y=np.ascontiguousarray(numbers[:, -1]),
        weights=rows["_crda_weight"].to_numpy().copy() if record["data"].get("weights") is not None else None,
    )
    return table, noise


def noise_files(abduction: Abduction) -> dict[str, bytes]:
    """File name -> bytes: how large the noise is at which x. No file for additive noise."""
    if abduction.scale_model is None:
        return {}
    return {_NOISE: canonical_json({"noise_version": 1, "scale": abduction.scale_model}).encode()}


def load_scale(folder: Path) -> NoiseScale | None:
    """The scale that `noise_files` wrote, to the last bit; None when there is none."""
    file = folder / _NOISE
    if not file.exists():
        return None
    told = json.loads(file.read_text(encoding="utf-8"))["scale"]
    if "size" in told:
        return EvenScale(told["size"])
    smooth, basis = told["log_size"], told["log_size"]["basis"]
    inputs = {name: np.array(basis["inputs"][name], dtype=np.float64) for name in ("fill", "center", "scale")}
    codes = tuple(np.array(one, dtype=np.float64) for one in basis["inputs"]["codes"])
    centers, whiten = np.array(basis["centers"]), np.array(basis["whiten"])
    mean = SmoothMean(
        basis=Basis(inputs=Inputs(**inputs, codes=codes), centers=centers, width=basis["width"], whiten=whiten),
        constant=smooth["constant"],
        slopes=np.array(smooth["slopes"]),
    )
    return SmoothScale(log_size=mean, level=told["level"], lowest=told["lowest"], highest=told["highest"])


FILES = ("record.json", "spec.yaml", "augmented.parquet", "rows.csv")
VOLATILE = ("files", "sha256", "volatile")  # what the record gains after the page is made


Mask = npt.NDArray[np.bool_]
_Kind = TypeVar("_Kind")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ReopenedRun:
    """A run's result as far as its folder tells, and the two texts that its page shows."""

    folder: Path
    record: dict[str, Any]
    result: RunResult
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


def reopen(folder: Path) -> ReopenedRun:
    """Reads a run's folder; an OutputError says what is missing or not as a run writes it."""
    _check(folder)
    try:
        record: dict[str, Any] = json.loads((folder / "record.json").read_text(encoding="utf-8"))
        version = record["record_version"]
        if version != RECORD_VERSION:
            what = f"its record has version {version}, and this crda-spec reads version {RECORD_VERSION}"
            raise _refused(folder, "record-version", what, "open it with the crda-spec that its record names")
        result = _result(folder, record)
    except (ValueError, KeyError, TypeError, IndexError, OSError, pa.ArrowException) as error:
        what = f"the folder is not as a run leaves it ({type(error).__name__}: {str(error)[:200]})"
        raise _refused(folder, "broken-run", what, "take a fresh copy of the folder, or run the spec again") from error
    told = {key: value for key, value in record.items() if key not in VOLATILE}
    return ReopenedRun(
        folder=folder,
        record=record,
        result=result,
        record_json=canonical_json(told),
        spec_yaml=(folder / "spec.yaml").read_text(encoding="utf-8"),
    )


def _check(folder: Path) -> None:
    if not (folder / "record.json").is_file():
        what = f"'{folder}' is not the folder of a finished run"
        raise OutputError(
            Complaint(code="no-run", what=what, hint="name the folder that crda-run wrote, runs/<name>/<id>")
        )
    missing = [name for name in FILES if not (folder / name).is_file()]
    if missing:
        what = f"the folder lacks {', '.join(missing)}"
        raise _refused(folder, "broken-run", what, "take a fresh copy of the folder, or run the spec again")


def _result(folder: Path, record: dict[str, Any]) -> RunResult:
    features = tuple(revived(Column, told) for told in record["data"]["features"])
    target = revived(Column, record["data"]["target"])
    whole = pq.read_table(folder / "augmented.parquet")
    synthetic = whole["_crda_synthetic"].to_numpy()
    x = np.column_stack([_codes(whole[column.name], column) for column in features])
    y = _numbers(whole, target.name)
    rows = whole["_crda_source_row"].to_numpy().astype(np.int64) - 1
    real = ~synthetic
    train = Table(
        features=features,
        target=target,
        row_ids=rows[real],
        x=x[real],
        y=y[real],
        groups=np.zeros(int(real.sum()), dtype=np.int64) if record["data"].get("grouped") else None,
        weights=_numbers(whole, "_crda_weight")[real] if record["data"].get("weights") is not None else None,
    )
    held, tuned, gate_fold = _parts(folder / "rows.csv")
    said = _numbers(whole, "_crda_prediction")[real]
    residuals = record["abduction"]["residuals"]
    return RunResult(
        data=revived(DataReport, record["data"]),
        split=Split(
            train=train,
            test=HeldOut(_rows_elsewhere(train, held)),
            tuning=_rows_elsewhere(train, tuned) if len(tuned) else None,
        ),
        certificate=revived(Certificate, record["certificate"]),
        falsification=_optional(Falsification, record["falsification"]),
        sensitivity=_optional(Sensitivity, record["sensitivity"]),
        teacher=Teacher(
            kind=record["teacher"]["kind"],
            members=(),
            in_sample=said if residuals == "in_sample" else np.full(len(said), np.nan),
            out_of_fold=said if residuals == "out_of_fold" else None,
            weights=tuple(record["teacher"]["weights"]),
            names=tuple(record["teacher"]["members"]),
            families=tuple(revived(TeacherFamily, told) for told in record["teacher"]["families"]),
        ),
        abduction=_abduction(whole, real, record["abduction"]),
        counterfactuals=_made(whole, (x, y), synthetic, record["counterfactuals"], record["certificate"]["propagated"]),
        movements=tuple(revived(Movement, told) for told in record["movements"]),
        watched=np.flatnonzero(~whole["_crda_trained"].to_numpy()[real]),
        gate_fold=gate_fold,
        verdict=revived(Verdict, record["verdict"]),
        score=revived(TestScore, record["test"]),
        diagnostics=_diagnostics(folder / "diagnostics.json"),
        model=_Absent(),
        settings={key: tuple(one) if isinstance(one, list) else one for key, one in record["regressor"].items()},
        timings={key: value for key, value in record["volatile"]["seconds"].items() if key != "regressor fits"},
        cost=Cost(
            fits=record["fits"], reused=record["spared_fits"], seconds=record["volatile"]["seconds"]["regressor fits"]
        ),
        watch=record["watch"],
        studies=read_studies(folder),
        ensemble=_optional(Ensemble, record.get("ensemble")),  # older records know no ensembles
        time=_optional(TimeOrder, record.get("time")),  # only where rows have an order
    )


def _diagnostics(file: Path) -> Diagnostics | None:
    """What the figures of the new rows are drawn from; a run without new rows has no such file."""
    return revived(Diagnostics, json.loads(file.read_text(encoding="utf-8"))) if file.is_file() else None


def _optional(kind: type[_Kind], told: dict[str, Any] | None) -> _Kind | None:
    return None if told is None else revived(kind, told)


def _codes(cells: pa.ChunkedArray, column: Column) -> Array:
    """A feature's cells as a `Table` has them: the inverse of `tables.decoded`."""
    if column.type != "category":
        return np.asarray(cells.cast(pa.float64()).to_numpy(), dtype=np.float64)
    codes = {label: float(code) for code, label in enumerate(column.labels or ())}
    return np.array([np.nan if label is None else codes[label] for label in cells.to_pylist()], dtype=np.float64)


def _numbers(table: pa.Table, name: str) -> Array:
    """A column as float64, NaN where it is null."""
    return np.asarray(table[name].cast(pa.float64()).to_numpy(), dtype=np.float64)


def _parts(file: Path) -> tuple[IntArray, IntArray, IntArray]:
    """Of rows.csv: the numbers (from 0) of the test rows and of those tuned on, and each training row's gate fold."""
    with file.open(encoding="utf-8", newline="") as lines:
        rows = list(csv.DictReader(lines))
    held, tuned = ([int(row["row"]) - 1 for row in rows if row["part"] == part] for part in ("test", "tuning"))
    folds = [int(row["gate_fold"] or 0) for row in rows if row["part"] == "train"]
    return np.array(held, dtype=np.int64), np.array(tuned, dtype=np.int64), np.array(folds, dtype=np.int64)


def _rows_elsewhere(train: Table, held: IntArray) -> Table:
    """Which rows were tested, or tuned on. Their cells are in the source, not in the folder."""
    return Table(
        features=(), target=train.target, row_ids=held, x=np.empty((len(held), 0)), y=np.full(len(held), np.nan)
    )


def _abduction(whole: pa.Table, real: Mask, told: dict[str, Any]) -> Abduction:
    """The noise and, unless it is additive, its size at each training row; the fitted size itself is in noise.json."""
    scaled = told["scale"] is not None
    return Abduction(
        noise=_numbers(whole, "_crda_noise")[real],
        residuals=told["residuals"],
        model=told["model"],
        scale=_numbers(whole, "_crda_scale")[real] if scaled else None,
        scale_clipped=told["scale"]["clipped"] if scaled else 0,
    )


def _made(
    whole: pa.Table, cells: tuple[Array, Array], synthetic: Mask, told: dict[str, Any] | None, order: list[str]
) -> Counterfactuals | None:
    """The synthetic rows; `order` lists what followed, causes first, which a JSON object does not keep."""
    if told is None:
        return None
    position = {number: at for at, number in enumerate(whole["_crda_source_row"].to_numpy()[~synthetic].tolist())}

    def rows(name: str) -> IntArray:
        numbers = whole[name].to_pylist()[int((~synthetic).sum()) :]
        return np.array([NOBODY if number is None else position[number] for number in numbers], dtype=np.int64)

    partner = rows("_crda_partner_row")
    action = Action(
        x=cells[0][synthetic],
        source=rows("_crda_source_row"),
        moved=tuple(told["moved"]),
        policies=told["policies"],
        clipped=told["clipped"],
        propagated={name: Quoted(text=told["propagated"][name]) for name in order if name in told["propagated"]},
        unmoved=told["unmoved"],
        dropped=told["dropped"],
        redrawn=told["redrawn"],
        partner=None if (partner == NOBODY).all() else partner,
    )
    return Counterfactuals(
        action=action,
        prediction=_numbers(whole, "_crda_prediction")[synthetic],
        noise=_numbers(whole, "_crda_noise")[synthetic],
        retention=told["retention"],
        y=cells[1][synthetic],
        weight=told["weight"],
        licence=told["licence"],
        draw=told["residual_draw"],
        scale=_numbers(whole, "_crda_scale")[synthetic],
        noise_source=rows("_crda_noise_row"),
        scale_clipped=told["scale_clipped"],
    )
