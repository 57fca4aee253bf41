"""What a finished run does with new rows: it makes more of them, or predicts them. Files are read block by block.

When rows are made, blocks are the unit of everything that reaches the file (random streams, the teacher's calls, row
groups), and their size depends on the numbers of rows alone. Batch and workers only decide how many are under way at
once.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, fields
from functools import cache
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from joblib import delayed
from threadpoolctl import ThreadpoolController

from crda_spec.audit.open_run import SavedRun
from crda_spec.audit.predicted import check_size, table_writer
from crda_spec.audit.runfolder import whole_file
from crda_spec.audit.tables import ONE_VALUE, synthetic_table
from crda_spec.counterfactual.act import count_new_rows, guarded_columns
from crda_spec.counterfactual.generation import BLOCK, Generation, Quota, cannot_stream, generate_block
from crda_spec.counterfactual.predict import LabelRule
from crda_spec.data.assemble import weight_column
from crda_spec.data.blocks import RowFile, missing_columns, open_rows
from crda_spec.data.cells import BlockPlace, block_numbers
from crda_spec.data.dataset import Dataset
from crda_spec.data.sources import Csv
from crda_spec.errors import Complaint, DataError, Place, SpecError, show
from crda_spec.execution import pool
from crda_spec.records import Array, Column, IntArray

if TYPE_CHECKING:
    from crda_spec.spec.run import RunSpec

DEFAULT_BATCH = BLOCK
_UNDER_WAY = 2  # tasks for each worker between two writes: enough to keep it busy, few enough to hold in memory
_SCORED = 16384  # rows that are predicted at a time


def refuse_missing(
    missing: npt.NDArray[np.bool_],
    columns: Sequence[Column],
    place: BlockPlace,
    *,
    allowed: Sequence[bool],
    why: str = "",
) -> None:
    """Names the first missing cell of each column that may have none. allowed: of each column, whether it may."""
    complaints = [
        Complaint(
            code="missing",
            place=Place(file=place.file),
            what=f"'{columns[at].name}' is missing in row {place.first + int(missing[:, at].argmax()) + 1}",
            hint=f"fill the cell, or leave the row out{why}",
        )
        for at in range(len(columns))
        if missing[:, at].any() and not allowed[at]
    ]
    if complaints:
        raise DataError(complaints)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Job:
    """What each worker needs to know."""

    generation: Generation
    file: RowFile
    dataset: Dataset  # the run's own: its rules for missing cells
    quota: Quota
    weights: str | None = None  # the column of the rows' weights, where the run has one
    decision: str = ""  # of the run's gate
    sentence: str = ""

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
    redrawn: int = 0  # rows that broke a contract or lay off the data at first, and were drawn again
    rule_dropped: int = 0  # new rows that broke a rule in every draw and were left out
    rule_redrawn: int = 0  # rows that broke a rule at first and were drawn again
    clipped: Counter[str] = field(default_factory=Counter)

    def add(self, other: Counts) -> None:
        """One block more."""
        self.clipped.update(other.clipped)  # a sum of counters would lose the zeros
        for name in (item.name for item in fields(self) if item.name != "clipped"):
            setattr(self, name, getattr(self, name) + getattr(other, name))


@dataclass(frozen=True, slots=True, kw_only=True)
class Generated:
    """What was written."""

    source_rows: int
    counts: Counts
    sha256: str
    basis: str  # what the rows rest on
    carries_noise: bool
    decision: str  # of the run's gate, on the run's own rows
    sentence: str


_Part = tuple[pa.Table | None, Counts]  # one block's new rows, None when it gives none, and what happened on the way


def prepare(saved: SavedRun, spec: RunSpec, data: Path, *, rows: int | None = None, factor: float | None = None) -> Job:
    """What is to be done, all of it checked; nothing is made yet.

    spec: the run's own, whose factor holds unless `rows` or `factor` says otherwise.
    """
    made = saved.record["counterfactuals"]
    perturbation = spec.perturbation.on(made["basis"])
    moved, train, seed = tuple(made["moved"]), saved.train, saved.record["seed"]
    free = perturbation.free(made["irrelevant"])
    if spec.augmenter is not None and not spec.augmenter.streams:
        what = f"the augmenter {show(spec.augmenter.label)} made the run's rows from all its training rows at once"
        hint = "use the run's own rows (augmented.parquet), or run again with another augmenter, or without one"
        raise SpecError(Complaint(code="cannot-stream", path="augmenter", what=what, hint=hint))
    ours = tuple(name for name in moved if name not in free) if spec.augmenter is None else ()
    complaints = list(cannot_stream(perturbation, train, ours))
    if made["propagated"]:
        what, hint = "effects of moved features followed by fitted equations", "set it to false, and run again"
        complaints.append(Complaint(code="cannot-stream", path="perturbation.propagate", what=what, hint=hint))
    if complaints:
        raise SpecError(complaints)
    rule = LabelRule(
        retention=made["retention"],
        weight=made["weight"],
        draw=made["residual_draw"],
        basis=made["basis"],
        irrelevant=tuple(made["irrelevant"]),
    )
    guarded = guarded_columns(train, free)
    generation = Generation(
        train=train,
        noise=saved.noise,
        teacher=saved.teacher,
        scale=saved.scale,
        moved=moved,
        perturbation=perturbation,
        rule=rule,
        seed=seed,
        augmenter=spec.augmenter,
        region=perturbation.support.learn(
            train if guarded is None else train.select(guarded),
            rows=count_new_rows(len(train), spec.counterfactual.factor, spec.counterfactual.max_rows),
            seed=seed,
            index=(0,),
        ),
    )
    source = spec.dataset.source
    file = open_rows(data, like=source if isinstance(source, Csv) else None).read_by(spec.dataset.reading)
    each = spec.counterfactual.factor if factor is None else factor
    wanted = rows if rows is not None else round(each * file.rows)
    if wanted < 1:
        what = f"{each:g} new rows for each of {file.rows} rows make none"
        raise DataError(Complaint(code="no-new-rows", path="--factor", what=what, hint="ask for more, or use --rows"))
    weights = saved.record["data"].get("weights")
    quota = Quota(sources=file.rows, made=wanted)
    verdict = saved.record["verdict"]
    job = Job(
        generation=generation,
        file=file,
        dataset=spec.dataset,
        quota=quota,
        weights=weights,
        decision=verdict["decision"],
        sentence=verdict["sentence"],
    )
    complaints = missing_columns(file, [column.name for column in job.columns])
    if complaints:
        raise DataError(complaints)
    return job


def generate(
    job: Job, out: Path, *, batch: int = DEFAULT_BATCH, workers: int = 1, advance: Callable[[], None] = lambda: None
) -> Generated:
    """Writes the new rows to `out` by its ending: .parquet, .csv or .xlsx. It appears whole or not at all.

    batch: about how many new rows a worker makes at a time.  advance: called after every block.
    """
    check_size(out, job.quota.made)
    counts = Counts(clipped=Counter(dict.fromkeys(job.generation.moved, 0)))
    with whole_file(out) as partial:
        with ExitStack() as stack:
            write: Callable[[pa.Table], None] | None = None
            for table, here in _parts(job, batch=batch, workers=workers):
                if table is not None:
                    if write is None:  # the first rows tell the columns
                        write = stack.enter_context(table_writer(partial, table.schema, few=ONE_VALUE))
                    write(table)
                counts.add(here)
                advance()
            if not counts.rows:
                raise DataError(_no_rows(counts))
        with partial.open("rb") as written:
            digest = hashlib.file_digest(written, "sha256").hexdigest()
    return Generated(
        source_rows=job.file.rows,
        counts=counts,
        sha256=digest,
        basis=job.generation.rule.basis,
        carries_noise=job.generation.rule.retention > 0,
        decision=job.decision,
        sentence=job.sentence,
    )


def _no_rows(counts: Counts) -> Complaint:
    if counts.rule_dropped:
        what = f"{counts.rule_dropped} new rows break a rule of perturbation.rules in every draw"
        what += f", and {counts.dropped} lie off the run's training data" if counts.dropped else ""
        hint = "use rows that keep the rules themselves, or run again with policies that keep them"
    elif counts.dropped:
        what = f"the support guard calls all {counts.dropped} new rows off the run's training data"
        hint = "use rows like those of the run, or run again with a weaker guard"
    else:
        what, hint = "every row of the data has a missing cell", "fill the cells, or leave such rows out"
    return Complaint(code="no-rows", what=f"no row can be made: {what}", hint=hint)


_Task = list[tuple[int, pa.Table]]  # blocks with their numbers


def _parts(job: Job, *, batch: int, workers: int) -> Iterator[_Part]:
    """The blocks' new rows, in the order of the file."""
    numbered = enumerate(job.file.blocks(job.quota.block, [column.name for column in job.columns]))
    per_task = max(1, batch // BLOCK)
    tasks = iter(lambda: list(islice(numbered, per_task)), [])
    if workers == 1:
        for task in tasks:
            yield from _made(job, task)
        return
    # In waves: a generator of results would let the workers run ahead of the disk, and fill the memory.
    with pool(workers) as parallel:
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
    counts.rule_dropped, counts.rule_redrawn = made.action.rule_dropped, made.action.rule_redrawn
    counts.scale_clipped, counts.astray = made.scale_clipped, made.action.astray
    counts.clipped.update(made.action.clipped)
    if not len(made):
        return None, counts
    numbers_in_data = usable + place.first + 1
    trained = generation.train.row_ids + 1  # whose rows are partners, and lend matched noise
    table = synthetic_table(
        made,
        generation.train,
        source_numbers=numbers_in_data,
        noise_numbers=trained if generation.rule.draw == "matched" else numbers_in_data,
        partner_numbers=trained if generation.augmenter is None else None,
        source_weights=None if job.weights is None else numbers[usable, -1],
    )
    return table, counts


def _usable(job: Job, numbers: Array, place: BlockPlace) -> IntArray:
    """The rows that the run's own rule for missing cells lets be used; a target is never imputed, nor a weight.

    A missing weight is an error under every rule, as in the run's own data.
    """
    missing = np.isnan(numbers)
    rules = ["error" if one.name == job.weights else job.dataset.missing_rule(one.name) for one in job.columns]
    refuse_missing(missing, job.columns, place, allowed=[rule != "error" for rule in rules])
    return np.flatnonzero(~missing[:, [rule == "drop" for rule in rules]].any(axis=1))
