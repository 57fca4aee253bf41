"""A finished run, read back from its folder: its training rows, its teacher, and the size of its noise."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq

from crda_spec.audit.canonical import canonical_json
from crda_spec.audit.models import load_model
from crda_spec.counterfactual.noise import SmoothScale
from crda_spec.counterfactual.noise.location_scale import EvenScale
from crda_spec.data.arrow_cells import BlockPlace, block_numbers
from crda_spec.errors import Complaint, OutputError, Place
from crda_spec.records import Abduction, Array, Column, NoiseScale, Table, Teacher
from crda_spec.scm.smooth import Basis, Inputs, SmoothMean

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
    members = sorted((folder / "teacher").glob("*/model.json"), key=lambda path: int(path.parent.name))
    if not members:
        return None
    told = record.get("teacher") or {}
    return Teacher(
        kind=str(told.get("kind", "")),
        members=tuple(load_model(path.parent) for path in members),
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
