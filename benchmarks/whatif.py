"""How far are what-ifs from the truth, how often do their intervals hold, and what do they cost?

    python benchmarks/whatif.py [--quick]

Known worlds with additive noise (the outcomes of any row under any action can be computed), the true graph declared,
`recipe: certified` with its own committee, no gate. Each run is asked about its own training rows: one certified cause
is set to a value that occurs in its column. Answers are compared with the outcome that nature would have given the row.

- `coverage_90`: how often the 90 % interval of the difference holds the true one (100 and 400 training rows together),
  `coverage_90_100` and `coverage_90_400` apart, each with `_interval` and `_runs` (questions).
- `coverage_90_follow`: the same where the effects of what is set follow.
- `error_100`, `error_400`: root mean square error of the difference over the root mean square of the true one, the
  other columns held fixed. `error_follow_100`, `error_follow_400`: where the effects follow.
- `refused`: the share of questions about a confounded column that are refused; 1 is right.
- `seconds_ratio`: seconds for answers about 10,000 training rows over those in which the teacher (a Gaussian process
  and a ridge regression on each of ten folds) predicts these rows, of this process;
  `seconds_ratio_refits`: with ten refits, without their fits, over the seconds that all teachers asked need.
"""

from __future__ import annotations

import csv
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from _harness import arguments, publish, say, share
from threadpoolctl import threadpool_limits

from crda_spec.api import whatif as what_if
from crda_spec.audit.files import finish_run
from crda_spec.audit.kept_spec import resolved_spec
from crda_spec.audit.open_run import open_run, taught_run
from crda_spec.audit.whatif import Question, answer
from crda_spec.counterfactual.whatif import AskedRows, OutcomeModel
from crda_spec.data.worlds import World, WorldSample, declare
from crda_spec.errors import GraphError, SpecError
from crda_spec.pipeline import run
from crda_spec.records import Answer
from crda_spec.regressors.teachers.refits import Refits
from crda_spec.report.progress import Silent
from crda_spec.seeds import stream
from crda_spec.spec.build import build_plan
from crda_spec.spec.check import load_spec

WORLDS = {
    name: declare(name=name, target="y", **facts)
    for name, facts in {
        "linear": {
            "equations": {
                "a": "normal(0, 1)",
                "b": "0.6 * a + normal(0, 0.8)",
                "c": "normal(0, 1)",
                "y": "1.5 * a + b - 0.5 * c + normal(0, 1)",
            }
        },
        "curved": {
            "equations": {
                "a": "uniform(-2, 2)",
                "b": "sin(a) + normal(0, 0.7)",
                "c": "normal(0, 1)",
                "y": "2 * sin(1.5 * a) + 0.7 * c * c + b + normal(0, 1)",
            }
        },
        "interaction": {
            "equations": {
                "c": "uniform(0, 3)",
                "a": "normal(0, 1)",
                "b": "0.5 * a + normal(0, 0.8)",
                "y": "a * c + exp(0.5 * b) + normal(0, 0.7)",
            }
        },
        "labels": {
            "equations": {
                "ward": "choice('north', 'south', 'west')",
                "a": "normal(0, 1) + 0.5 * (ward == 'west')",
                "treated": "bernoulli(0.4)",
                "y": "2 * (ward == 'north') - (ward == 'south') + 1.5 * treated + a * (1 + treated) + normal(0, 1)",
            }
        },
        "confounded": {
            "equations": {
                "u": "normal(0, 1)",
                "d": "0.8 * u + normal(0, 0.6)",
                "a": "uniform(0, 10)",
                "b": "0.3 * a + normal(0, 1)",
                "y": "6 * (1 - exp(-a / 4)) + d - 1.5 * u + 0.5 * b + normal(0, 0.7)",
            },
            "hidden": ("u",),
        },
    }.items()
}
ASKED = {
    "linear": ("a", "b", "c"),
    "curved": ("a", "b", "c"),
    "interaction": ("a", "b", "c"),
    "labels": ("ward", "a", "treated"),
    "confounded": ("a", "b"),
}
FOLLOWED = {"linear": "a", "curved": "a", "interaction": "a", "confounded": "a"}  # whose effect is no label
SPEC = """
version: 1
name: whatif
seed: {seed}
dataset: {{source: {{kind: csv, path: rows.csv}}, target: y}}
causal:
  graph: {{kind: edges, edges: {edges}, latent: {hidden}}}
regressor: {{kind: linear}}
counterfactual: {{factor: 0.1}}
gate: {{enabled: false}}
output: {{diagnostics: false}}
execution: {{jobs: 1}}
"""


@dataclass(frozen=True, kw_only=True)
class Asked:
    """One question, its answer and the truth."""

    answer: Answer
    truth: float

    @property
    def covered(self) -> bool | None:
        """Whether the interval holds the truth."""
        if self.answer.interval is None:
            return None
        low, high = self.answer.interval
        return low <= self.truth <= high


def table(world: World, sample: WorldSample, folder: Path) -> None:
    with (folder / "rows.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(world.columns())
        writer.writerows(zip(*(sample.values[name].tolist() for name in world.columns()), strict=True))


def finished(folder: Path, spec: str) -> Path:
    (folder / "spec.yaml").write_text(spec, encoding="utf-8")
    loaded, draft = load_spec(folder / "spec.yaml")
    finish_run(run(build_plan(loaded, draft), progress=Silent()), spec=loaded, draft=draft, folder=folder / "run")
    return folder / "run"


def questions(
    world: World, sample: WorldSample, folder: Path, *, seed: int, count: int, follow: bool, refits: int
) -> Iterator[Asked]:
    """One cause of one training row set to another value of its column, and what nature says of it."""
    saved = taught_run(open_run(folder))
    spec, train = resolved_spec(saved.record), saved.train
    rng = stream(seed, "questions", int(follow))
    names = (FOLLOWED[world.name],) if follow else ASKED[world.name]
    at = rng.choice(len(train), size=count, replace=False)
    donors = rng.choice(len(train), size=count, replace=False)
    moved = [names[number % len(names)] for number in range(count)]
    values = [sample.values[name][train.row_ids[donor]] for name, donor in zip(moved, donors, strict=True)]
    with tempfile.TemporaryDirectory() as place:
        file = Path(place) / "questions.csv"
        with file.open("w", encoding="utf-8", newline="") as lines:
            writer = csv.writer(lines)
            writer.writerow(("row", *names))
            for row, name, value in zip((train.row_ids[at] + 1).tolist(), moved, values, strict=True):
                number = world.equation(name).type in ("continuous", "integer")
                cell = f"={value.item()!r}" if number else str(value)
                writer.writerow((row, *(cell if one == name else "" for one in names)))
        question = Question(file=file, follow=follow, refits=refits)
        found = answer(saved, spec, question, folder=None, progress=Silent())
    for one, name, value, row in zip(found.answers, moved, values, train.row_ids[at], strict=True):
        held = {} if follow else {other: sample.values[other][[row]] for other in world.features()}
        truth = sample.outcome({**held, name: np.array([value])}, rows=[row]) - sample.y[row]
        if one.changes:
            yield Asked(answer=one, truth=float(truth[0]))


def refused(folder: Path) -> bool:
    row = int(taught_run(open_run(folder)).train.row_ids[0]) + 1
    try:
        what_if(folder, Question(changes=("d=+1",), rows=(row,), refits=0))
    except (GraphError, SpecError) as error:
        return "d <- u -> y" in str(error)
    return False


def relative_error(asked: list[Asked]) -> float:
    truth = np.array([one.truth for one in asked])
    error = np.array([one.answer.difference for one in asked]) - truth
    return round(float(np.sqrt(np.mean(error**2) / np.mean(truth**2))), 4)


def seconds(rows: int) -> dict[str, float]:
    """What 10,000 answers cost, beside the predictions they are made of."""
    world = WORLDS["curved"]
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        table(world, world.draw(round(rows / 0.8), seed=5), folder)
        spec = SPEC.format(seed=5, edges=list(world.edges()), hidden="[]")
        members = "{kind: committee, folds: 10, members: [{kind: gaussian_process}, {kind: ridge}]}"
        teacher = f"counterfactual: {{factor: 0.01, invariance: 'off', teacher: {members}}}"
        spec = spec.replace("counterfactual: {factor: 0.1}", teacher)
        saved = taught_run(open_run(finished(folder, spec)))
    kept = resolved_spec(saved.record)
    question = Question(changes=("a=+0.5",), rows=None, refits=0)
    asked = _quickest(lambda: answer(saved, kept, question, folder=None, progress=Silent()))
    predicted = _quickest(lambda: saved.teacher.predict(saved.train.x))
    refits = Refits.of(kept.counterfactual.teacher, {"gaussian_process": 1.0}, kept.regressor, "median")
    assert refits is not None
    part = saved.train.take(np.arange(500))
    teachers = [refits.fit(part, seed=seed) for seed in range(10)]
    model = OutcomeModel(teacher=saved.teacher)
    rows_asked = AskedRows(
        x=saved.train.x,
        y=saved.train.y,
        settings={0: saved.train.x[:, 0] + 0.5},
        predicted=saved.teacher.in_sample,
    )

    def with_refits() -> None:
        model.what_if(rows_asked)
        for teacher in teachers:
            replace(model, teacher=teacher).what_if(replace(rows_asked, predicted=None))

    def predictions() -> None:
        for teacher in (saved.teacher, *teachers):
            teacher.predict(saved.train.x)

    return {
        "seconds_ratio": round(asked / predicted, 3),
        "seconds_ratio_refits": round(_quickest(with_refits) / _quickest(predictions), 3),
        "seconds_teacher": round(predicted, 3),
    }


def _quickest(work: Any) -> float:  # noqa: ANN401 - any callable
    times = []
    for _ in range(3):
        started = time.process_time()
        work()
        times.append(time.process_time() - started)
    return min(times)


def main() -> None:
    """Measures, prints and keeps."""
    quick = arguments(__doc__ or "").quick
    seeds, each, sizes = (1, 6, (100,)) if quick else (3, 18, (100, 400))
    worlds = {"linear": WORLDS["linear"], "confounded": WORLDS["confounded"]} if quick else WORLDS
    direct: dict[int, list[Asked]] = {rows: [] for rows in sizes}
    following: dict[int, list[Asked]] = {rows: [] for rows in sizes}
    refusals: list[bool] = []
    with threadpool_limits(limits=1):
        for rows in sizes:
            for seed in range(seeds):
                for name, world in worlds.items():
                    sample = world.draw(round(rows / 0.8), seed=1000 * rows + seed)
                    with tempfile.TemporaryDirectory() as place:
                        folder = Path(place)
                        table(world, sample, folder)
                        spec = SPEC.format(seed=seed, edges=list(world.edges()), hidden=list(world.hidden))
                        made = finished(folder, spec)
                        how = {"seed": seed, "refits": 20}
                        direct[rows] += questions(world, sample, made, count=each, follow=False, **how)
                        if name in FOLLOWED:
                            following[rows] += questions(world, sample, made, count=each, follow=True, **how)
                        if name == "confounded":
                            refusals.append(refused(made))
                    held = [one.covered for one in direct[rows]]
                    say(f"{rows} rows, seed {seed}, {name}: {np.mean(held):.3f} of {len(held)} held so far")
        figures: dict[str, Any] = {"tables": seeds * len(worlds) * len(sizes)}
        figures |= share("coverage_90", (one.covered for asked in direct.values() for one in asked))
        figures |= share("coverage_90_follow", (one.covered for asked in following.values() for one in asked))
        for rows in sizes:
            figures |= share(f"coverage_90_{rows}", (one.covered for one in direct[rows]))
            figures[f"error_{rows}"] = relative_error(direct[rows])
            figures[f"error_follow_{rows}"] = relative_error(following[rows])
        figures |= share("refused", refusals)
        figures |= seconds(2_000 if quick else 10_000)
    publish("whatif", figures, quick=quick)


if __name__ == "__main__":
    main()
