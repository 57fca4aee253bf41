"""What does generation cost beside the teacher's own predictions, and how much memory does it take?

    python benchmarks/generation.py [--quick]

`generation_ratio`: the time to turn 1 million rows in memory into new ones (draw sources, move features, ask the
teacher, label, keep what the ledger needs: source, prediction, noise and whose it is), divided by the part of that time
in which the teacher predicts these very rows. Both are processor time of one and the same generation on one thread, so
that a busy machine slows both alike; the ratio can never be below 1. Retention 0, the distilled recipe's label rule:
one prediction a row. `generation_ratio_guarded`: the same with a support guard that draws rows off the data again,
which compares every new row with the run's 1000 training rows. `generation_ratio_noise`: the same with retention 1,
where the teacher is asked about source and
new rows. `generation_ratio_single`: a teacher of one small model, which leaves little time to hide behind.
`file_ratio...`: the same for `crda-spec generate` from file to file, which also reads Parquet, checks contracts, writes
Parquet and hashes it. Each is the median of a few turns; `..._worst` is the largest.

`peak_mb`: the largest memory of a process that makes 10 million rows from 10 million, all of its libraries included.
The teacher is XGBoost with 100 rounds, a mean of five fold models, fitted on 1000 rows of ten features.
"""

from __future__ import annotations

import json
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from _harness import arguments, publish, say
from threadpoolctl import threadpool_limits

from crda_spec.audit.files import finish_run
from crda_spec.audit.new_rows import generate, prepare
from crda_spec.audit.open_run import SavedRun, open_run, saved_run
from crda_spec.counterfactual.generation import generate_block
from crda_spec.data.cells import BlockPlace, block_numbers
from crda_spec.pipeline import run
from crda_spec.records import Array, Predictor
from crda_spec.report.progress import Silent
from crda_spec.spec.build import build_plan
from crda_spec.spec.check import load_spec
from crda_spec.spec.run import RunSpec

FEATURES = 10
SPEC = """\
version: 1
recipe: paper
name: generation
dataset:
  source: {{kind: parquet, path: train.parquet}}
  target: y
causal:
  graph: {{kind: edges, edges: ["{{{names}}} -> y"]}}
falsify: {{on_falsified: ignore}}
partition: {{max_features: 3, joint: null, residuals: in_sample}}
regressor: {{kind: xgboost, n_estimators: 100, early_stopping: null}}
counterfactual: {{teacher: {teacher}, retention: {retention}, factor: 1.0, residuals: in_sample}}
perturbation: {{default: {{kind: scale}}, support: {support}}}
gate: {{kind: wilcoxon, folds: 5}}
execution: {{jobs: 1}}
"""
TEACHERS = {"crossfit": "{kind: crossfit, folds: 5}", "single": "{kind: single}"}

GUARDS = {"none": "{kind: none}", "guarded": "{kind: neighbours, on_outside: redraw}"}


def rows(count: int, seed: int) -> pa.Table:
    """Ten features and an outcome with noise."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(count, FEATURES))
    y = np.sin(2 * x[:, 0]) + x[:, 1] * x[:, 2] + 0.5 * x[:, 3] ** 2 + 0.3 * rng.normal(size=count)
    return pa.table({**{f"x{at}": x[:, at] for at in range(FEATURES)}, "y": y})


def write_rows(path: Path, count: int, seed: int) -> None:
    """A file of many rows, written a million at a time."""
    with pq.ParquetWriter(path, rows(1, seed).schema) as writer:
        for part, start in enumerate(range(0, count, 1_000_000)):
            writer.write_table(rows(min(1_000_000, count - start), seed + part))


def finished_run(folder: Path, teacher: str, retention: float, support: str = "none") -> Path:
    """A run with this teacher, label rule and guard; its folder."""
    here = folder / f"{teacher}-{retention:g}-{support}"
    here.mkdir()
    pq.write_table(rows(1250, 0), here / "train.parquet")
    names = " ".join(f"x{at}" for at in range(FEATURES))
    text = SPEC.format(names=names, teacher=TEACHERS[teacher], retention=retention, support=GUARDS[support])
    (here / "spec.yaml").write_text(text, encoding="utf-8")
    spec, draft = load_spec(here / "spec.yaml")
    result = run(build_plan(spec, draft), progress=Silent())
    return finish_run(result, spec=spec, draft=draft, folder=here / "run").folder


@dataclass(slots=True)
class TimedTeacher:
    """A teacher that knows how long it was asked."""

    teacher: Predictor
    seconds: float = 0.0

    def predict(self, x: Array) -> Array:
        """x: (m, d). Returns (m,)."""
        started = time.process_time()
        predicted = self.teacher.predict(x)
        self.seconds += time.process_time() - started
        return predicted


def generated(saved: SavedRun, data: Path, out: Path) -> tuple[float, float]:
    """Processor seconds of the whole, and of the teacher's predictions inside it."""
    spec = RunSpec.model_validate_json(json.dumps(saved.record["spec"]["resolved"]))
    timed = TimedTeacher(saved.teacher)
    started = time.process_time()
    job = prepare(saved, spec, data)
    generate(replace(job, generation=replace(job.generation, teacher=timed)), out)
    whole = time.process_time() - started
    out.unlink()
    return whole, timed.seconds


def in_memory(saved: SavedRun, data: Path, out: Path) -> tuple[float, float]:
    """The same without files: rows are read before the clock starts, and nothing is written."""
    del out
    spec = RunSpec.model_validate_json(json.dumps(saved.record["spec"]["resolved"]))
    timed = TimedTeacher(saved.teacher)
    job = prepare(saved, spec, data)
    generation, width = replace(job.generation, teacher=timed), len(job.generation.train.features)
    names = [column.name for column in job.columns]
    whole = 0.0
    with threadpool_limits(limits=1):
        for number, block in enumerate(job.file.blocks(job.quota.block, names)):
            numbers = block_numbers(block, job.columns, BlockPlace(file=data.name, first=0))
            x = np.ascontiguousarray(numbers[:, :width])
            y = np.ascontiguousarray(numbers[:, width]) if generation.needs_outcomes else None
            started = time.process_time()
            generate_block(generation, x, y, number=number, quota=job.quota.of(number))
            whole += time.process_time() - started
    return whole, timed.seconds


def ratios(folder: Path, data: Path, run_folder: Path, repeats: int) -> dict[str, list[float]]:
    """One a turn, in memory and from file to file."""
    saved = saved_run(open_run(run_folder))
    found: dict[str, list[float]] = {"generation_ratio": [], "file_ratio": []}
    for turn in range(repeats):
        for key, work in (("generation_ratio", in_memory), ("file_ratio", generated)):
            whole, asked = work(saved, data, folder / "new.parquet")
            found[key].append(round(whole / asked, 3))
            say(f"{key}, {run_folder.parent.name}, turn {turn}: {whole:.2f} s, predictions {asked:.2f} s")
    return found


def peak_mb(run_folder: Path, data: Path, out: Path) -> float:
    """The largest memory of one command, as the system counts it."""
    code = "from crda_spec.cli.app import main; main()"
    command = [sys.executable, "-c", code, "generate", str(run_folder), str(data), "--out", str(out), "--quiet"]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return round(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024, 1)


def main() -> None:
    """Measures, prints and keeps."""
    quick = arguments(__doc__ or "").quick
    million, many, repeats = (50_000, 100_000, 1) if quick else (1_000_000, 10_000_000, 3)
    figures: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        data = folder / "data.parquet"
        write_rows(data, many, 1)
        say(f"{many} rows written")
        figures["peak_rows"] = many
        figures["peak_mb"] = peak_mb(finished_run(folder, "single", 1.0), data, folder / "many.parquet")
        (folder / "many.parquet").unlink()
        write_rows(data, million, 1)
        say(f"peak {figures['peak_mb']} MB")
        figures["rows"] = million
        for key, teacher, retention, support in (
            ("", "crossfit", 0.0, "none"),
            ("_guarded", "crossfit", 0.0, "guarded"),
            ("_noise", "crossfit", 1.0, "none"),
            ("_single", "single", 0.0, "none"),
        ):
            made = finished_run(folder, teacher, retention, support)
            for name, found in ratios(folder, data, made, repeats).items():
                figures[f"{name}{key}"] = statistics.median(found)
                figures[f"{name}{key}_worst"] = max(found)
    publish("generation", figures, quick=quick)


if __name__ == "__main__":
    main()
