"""New rows for a table of any size, written to Parquet as they are made; memory holds a few blocks at a time.

Blocks are the unit of everything that reaches the file (random streams, the teacher's calls, row groups), and their
size depends on the numbers of rows alone. Batch and workers only decide how many blocks are under way at once.
"""

from __future__ import annotations

import hashlib
import os
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Self

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from joblib import Parallel, delayed
from threadpoolctl import ThreadpoolController

from crda_spec.audit.open_run import SavedRun
from crda_spec.audit.tables import ONE_VALUE, synthetic_table
from crda_spec.counterfactual.stream import BLOCK, Generation, Quota, cannot_stream, generate_block
from crda_spec.data.assemble import weight_column
from crda_spec.data.blocks import RowFile, missing_columns, open_rows
from crda_spec.data.cells import BlockPlace, block_numbers
from crda_spec.data.sources import Csv
from crda_spec.errors import Complaint, DataError, OutputError, Place, SpecError
from crda_spec.records import Array, Column, IntArray

if TYPE_CHECKING:
    from crda_spec.spec.run import RunSpec

MissingRule = Literal["error", "drop", "impute"]
DEFAULT_BATCH = BLOCK
_UNDER_WAY = 2  # tasks for each worker between two writes: enough to keep it busy, few enough to hold in memory


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Job:
    """What each worker needs to know."""

    generation: Generation
    file: RowFile
    missing: MissingRule
    quota: Quota
    weights: str | None = None  # the column of the rows' weights, where the run has one

    @property
    def columns(self) -> tuple[Column, ...]:
        """What is read: the outcome only where its noise is needed, the weights, last, only where rows have any."""
        train = self.generation.train
        outcome = (train.target,) if self.generation.needs_outcomes else ()
        return (*train.features, *outcome, *(() if self.weights is None else (weight_column(self.weights),)))


@dataclass(slots=True, kw_only=True)
class Counts:
    """What happened to rows on the way, of one block or of all."""

    rows: int = 0
    left_out: int = 0  # source rows with missing cells, which were not used
    scale_clipped: int = 0
    dropped: int = 0  # new rows that lay off the data and were left out
    astray: int = 0  # source rows that lie off the run's data themselves
    redrawn: int = 0  # rows that broke a rule at first and were drawn again
    clipped: Counter[str] = field(default_factory=Counter)

    def add(self, other: Counts) -> None:
        """One block more."""
        self.rows += other.rows
        self.left_out += other.left_out
        self.scale_clipped += other.scale_clipped
        self.dropped += other.dropped
        self.redrawn += other.redrawn
        self.astray += other.astray
        self.clipped.update(other.clipped)


@dataclass(frozen=True, slots=True, kw_only=True)
class Generated:
    """What was written."""

    source_rows: int
    counts: Counts
    sha256: str


_Part = tuple[pa.Table | None, Counts]  # one block's new rows, None when it gives none, and what happened on the way


def prepare(
    saved: SavedRun,
    spec: RunSpec,
    data: Path,
    *,
    rows: int | None = None,
    factor: float | None = None,
) -> Job:
    """What is to be done, all of it checked; nothing is made yet.

    spec: the run's own, whose factor holds unless `rows` or `factor` says otherwise.
    """
    made, perturbation = saved.record["counterfactuals"], spec.perturbation
    moved, train, seed = tuple(made["moved"]), saved.train, saved.record["seed"]
    complaints = list(cannot_stream(perturbation, train, moved))
    if made["propagated"]:
        what, hint = "effects of moved features followed by fitted equations", "set it to false, and run again"
        complaints.append(Complaint(code="cannot-stream", path="perturbation.propagate", what=what, hint=hint))
    if complaints:
        raise SpecError(complaints)
    generation = Generation(
        train=train,
        noise=saved.noise,
        teacher=saved.teacher,
        scale=saved.scale,
        moved=moved,
        perturbation=perturbation,
        retention=made["retention"],
        draw=made["residual_draw"],
        weight=made["weight"],
        seed=seed,
        region=perturbation.support.learn(
            train, rows=round(spec.counterfactual.factor * len(train)), seed=seed, index=(0,)
        ),
    )
    source = spec.dataset.source
    file = open_rows(data, like=source if isinstance(source, Csv) else None)
    each = spec.counterfactual.factor if factor is None else factor
    wanted = rows if rows is not None else round(each * file.rows)
    if wanted < 1:
        what = f"{each:g} new rows for each of {file.rows} rows make none"
        raise DataError(Complaint(code="no-new-rows", path="--factor", what=what, hint="ask for more, or use --rows"))
    weights = saved.record["data"].get("weights")
    quota = Quota(sources=file.rows, made=wanted)
    job = Job(generation=generation, file=file, missing=spec.dataset.missing.kind, quota=quota, weights=weights)
    complaints = missing_columns(file, [column.name for column in job.columns])
    if complaints:
        raise DataError(complaints)
    return job


def generate(
    job: Job,
    out: Path,
    *,
    batch: int = DEFAULT_BATCH,
    workers: int = 1,
    advance: Callable[[], None] = lambda: None,
) -> Generated:
    """Writes the new rows to `out`, which appears whole or not at all.

    batch: about how many new rows a worker makes at a time.  advance: called after every block.
    """
    partial = out.parent / f".partial-{out.name}-{os.getpid()}"
    counts = Counts(clipped=Counter(dict.fromkeys(job.generation.moved, 0)))
    try:
        with _Writer(partial) as writer:
            for table, here in _parts(job, batch=batch, workers=workers):
                writer.add(table)
                counts.add(here)
                advance()
            if not counts.rows:
                raise DataError(_no_rows(counts))
        digest = _digest(partial)
        partial.replace(out)
    except OSError as error:
        what = f"cannot write '{out}': {(error.strerror or str(error)).lower()}"
        raise OutputError(Complaint(code="cannot-write", what=what, hint="choose another file with --out")) from error
    finally:
        partial.unlink(missing_ok=True)
    return Generated(source_rows=job.file.rows, counts=counts, sha256=digest)


class _Writer:
    """A Parquet file with one row group for each block that has rows."""

    def __init__(self, path: Path) -> None:
        """Opens nothing before the first rows tell the columns."""
        self._path = path
        self._file: pq.ParquetWriter | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *failure: object) -> None:
        if self._file is not None:
            self._file.close()

    def add(self, table: pa.Table | None) -> None:
        """Appends the rows of one block."""
        if table is None:
            return
        if self._file is None:
            # A dictionary pays for labels and for columns of one value; of other numbers it is built in vain.
            few = [field.name for field in table.schema if field.type == pa.string() or field.name in ONE_VALUE]
            self._file = pq.ParquetWriter(self._path, table.schema, use_dictionary=few)
        self._file.write_table(table, row_group_size=table.num_rows)


def _no_rows(counts: Counts) -> Complaint:
    if counts.dropped:
        what = f"no row can be made: the support guard calls all {counts.dropped} new rows off the run's training data"
        return Complaint(
            code="no-rows", what=what, hint="use rows like those of the run, or run again with a weaker guard"
        )
    what = "no row can be made: every row of the data has a missing cell"
    return Complaint(code="no-rows", what=what, hint="fill the cells, or leave such rows out")


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


_Task = list[tuple[int, pa.Table]]  # blocks with their numbers


def _parts(job: Job, *, batch: int, workers: int) -> Iterator[_Part]:
    """The blocks' new rows, in the order of the file."""
    names = [column.name for column in job.columns]
    numbered = enumerate(job.file.blocks(job.quota.block, names))
    per_task = max(1, batch // BLOCK)
    tasks = iter(lambda: list(islice(numbered, per_task)), [])
    if workers == 1:
        for task in tasks:
            yield from _made(job, task)
        return
    # In waves: a generator of results would let the workers run ahead of the disk, and fill the memory.
    with Parallel(n_jobs=workers) as parallel:
        while wave := list(islice(tasks, _UNDER_WAY * workers)):
            for parts in parallel(delayed(_made)(job, task) for task in wave):
                yield from parts


@cache
def _pools() -> ThreadpoolController:
    """The process's thread pools, looked for once: the search takes longer than a small block."""
    return ThreadpoolController()


def _made(job: Job, task: _Task) -> list[_Part]:
    with _pools().limit(limits=1):  # the same bytes on any machine, and no fight between workers
        return [_part(job, number, block) for number, block in task]


def _part(job: Job, number: int, block: pa.Table) -> _Part:
    generation, quota = job.generation, job.quota.of(number)
    place = BlockPlace(file=job.file.path.name, first=number * job.quota.block, decimal=job.file.decimal)
    numbers = block_numbers(block, job.columns, place)
    usable = _usable(job, numbers, place)
    counts = Counts(left_out=len(numbers) - len(usable))
    if not quota or not len(usable):
        return None, counts
    width = len(generation.train.features)
    x = np.ascontiguousarray(numbers[usable, :width])
    y = np.ascontiguousarray(numbers[usable, width]) if generation.needs_outcomes else None
    made = generate_block(generation, x, y, number=number, quota=quota)
    counts.rows, counts.dropped, counts.redrawn = len(made), made.action.dropped, made.action.redrawn
    counts.scale_clipped, counts.astray = made.scale_clipped, made.action.astray
    counts.clipped.update(made.action.clipped)
    if not len(made):
        return None, counts
    own = usable + place.first + 1
    trained = generation.train.row_ids + 1  # whose rows are partners, and lend matched noise
    lenders = trained if generation.draw == "matched" else own
    table = synthetic_table(
        made,
        generation.train,
        source_numbers=own,
        noise_numbers=lenders,
        partner_numbers=trained,
        source_weights=None if job.weights is None else numbers[usable, -1],
    )
    return table, counts


def _usable(job: Job, numbers: Array, place: BlockPlace) -> IntArray:
    """The rows that the run's own rule for missing cells lets be used; a target is never imputed, nor a weight.

    A missing weight is an error under every rule, as in the run's own data.
    """
    missing = np.isnan(numbers)
    whole = len(job.columns) - (job.weights is not None)
    first = {"error": 0, "impute": len(job.generation.train.features), "drop": whole}[job.missing]
    complaints = [
        Complaint(
            code="missing",
            place=Place(file=place.file),
            what=f"'{job.columns[at].name}' is missing in row {place.first + int(missing[:, at].argmax()) + 1}",
            hint="fill the cell, or leave the row out",
        )
        for at in range(first, len(job.columns))
        if missing[:, at].any()
    ]
    if complaints:
        raise DataError(complaints)
    return np.flatnonzero(~missing.any(axis=1)) if job.missing == "drop" else np.arange(len(numbers))
