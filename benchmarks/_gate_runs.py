"""The runs of the calibration study: what every held-out row cost in both arms, kept so that any test can be asked.

Fitting is dear and testing is cheap, so each run is fitted once, in several layouts of folds, and all tests judge the
same rows afterwards (`_gate_judges.py`).
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from _gate_worlds import SCENARIOS, truth, world
from _harness import say
from _published_gates import published

from crda_spec.counterfactual.procedure import Procedure, augment, fit_augmented
from crda_spec.gate.cross_validate import FoldOutcome, divisions, run_fold
from crda_spec.gate.tests import Wilcoxon
from crda_spec.records import Array, FoldResult, IntArray, Table
from crda_spec.regressors.teachers import FoldContext
from crda_spec.seeds import stream

PARTS = Path(__file__).parent / "results" / "gate_calibration_parts"  # not kept in the repository
FRESH = 10_000
PIECE = 10  # runs in a file
PUBLISHED = ("research", "package")

Layout = tuple[int, int]  # folds, repeats
TEN, TWENTY, SIX, HALVES = (10, 3), (20, 1), (6, 2), (2, 5)
LAYOUTS: dict[str, tuple[Layout, ...]] = {
    "null": (TEN, TWENTY, SIX, HALVES),
    "gain": (TEN, TWENTY, SIX, HALVES),
    "harm": ((10, 1), SIX),
}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Losses:
    """What each row cost in one layout. All three: (repeats, rows)."""

    fold: Array
    plain: Array
    augmented: Array

    def outcomes(self, repeats: int) -> list[FoldOutcome]:
        """The folds of the first `repeats` divisions, as the gate has them."""
        found: list[FoldOutcome] = []
        for number in range(repeats):
            for fold in range(1, int(self.fold[number].max()) + 1):
                held = np.flatnonzero(self.fold[number] == fold)
                plain, augmented = (arm[number, held].astype(np.float64) for arm in (self.plain, self.augmented))
                found.append(_outcome(len(found) + 1, held, plain, augmented, trained=self.rows - len(held)))
        return found

    @property
    def rows(self) -> int:
        """How many there are."""
        return int(self.fold.shape[1])


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Run:
    """One table, one augmentation."""

    before: float  # error of the plain model on fresh rows
    after: float  # of the augmented one
    published: dict[str, float]  # p-values of the published gates, NaN where they were not asked
    losses: dict[Layout, Losses]

    @property
    def change(self) -> float:
        """The truth, in percent."""
        return 100.0 * (self.after / self.before - 1.0)


def _outcome(number: int, held: IntArray, plain: Array, augmented: Array, *, trained: int) -> FoldOutcome:
    result = FoldResult(
        fold=number,
        train_rows=trained,
        held_out_rows=len(held),
        plain=float(plain.mean()),
        augmented=float(augmented.mean()),
        perturbed=("a",),
        synthetic_rows=0,
    )
    return FoldOutcome(result=result, held=held, plain=plain, augmented=augmented)


def losses_of(procedure: Procedure, train: Table, layout: Layout, *, seed: int) -> Losses:
    """Every fold of every repeat, through the gate's own `run_fold`."""
    gate = Wilcoxon(folds=layout[0], repeats=layout[1])
    fold, plain, augmented = (np.zeros((layout[1], len(train)), dtype=np.float32) for _ in range(3))
    for repeat in divisions(gate, train, seed=seed):
        for number, held in enumerate(repeat.held, start=1):
            outcome = run_fold(procedure, train, repeat, number)
            fold[repeat.number, held] = number
            plain[repeat.number, held], augmented[repeat.number, held] = outcome.plain, outcome.augmented
    return Losses(fold=fold, plain=plain, augmented=augmented)


def one_run(name: str, rows: int, seed: int) -> Run:
    """The truth on fresh rows, the published gates' p-values, and what held-out rows cost in every layout."""
    kind, _, procedure = SCENARIOS[name]
    rng = stream(seed, "calibration", rows)
    train, fresh = world(rows, rng), rng.normal(size=(FRESH, 5))
    augmentation = augment(procedure, train, FoldContext(seed=seed))
    augmented = fit_augmented(augmentation, train)
    before, after = (
        float(np.mean((model.predict(fresh) - truth(fresh)) ** 2)) + 1.0 for model in (augmentation.plain, augmented)
    )
    return Run(
        before=before,
        after=after,
        published=published(augmentation, train, seed=seed),
        losses={layout: losses_of(procedure, train, layout, seed=seed) for layout in LAYOUTS[kind]},
    )


def _write(path: Path, runs: list[Run]) -> None:
    columns: dict[str, np.ndarray] = {
        "truth": np.array([[run.before, run.after] for run in runs]),
        "published": np.array([[run.published.get(name, np.nan) for name in PUBLISHED] for run in runs]),
    }
    for folds, repeats in runs[0].losses:
        kept = [run.losses[folds, repeats] for run in runs]
        columns[f"{folds}x{repeats}"] = np.stack([np.stack([one.fold, one.plain, one.augmented]) for one in kept])
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_suffix(".part.npz")
    np.savez(part, allow_pickle=False, **columns)
    part.replace(path)  # an interrupted piece is no piece


def _read(path: Path) -> Iterator[Run]:
    with np.load(path, allow_pickle=False) as kept:
        columns = {name: kept[name] for name in kept.files}
    layouts = {name: tuple(map(int, name.split("x"))) for name in columns if "x" in name}
    for number, (before, after) in enumerate(columns["truth"]):
        losses = {}
        for name, layout in layouts.items():
            fold, plain, augmented = columns[name][number]
            losses[layout[0], layout[1]] = Losses(fold=fold, plain=plain, augmented=augmented)
        yield Run(
            before=float(before),
            after=float(after),
            published=dict(zip(PUBLISHED, map(float, columns["published"][number]), strict=True)),
            losses=losses,
        )


def run_part(name: str, *, until: float) -> bool:
    """Runs what is missing of one augmentation until the clock says so; whether all of it is there."""
    for rows, runs in SCENARIOS[name][1].items():
        for first in range(0, runs, PIECE):
            path = PARTS / f"{name}_{rows}" / f"{first:04}.npz"
            if path.exists():
                continue
            if time.monotonic() > until:
                return False
            _write(path, [one_run(name, rows, seed) for seed in range(first, first + PIECE)])
            say(f"{name}, {rows} rows: {first + PIECE} of {runs}")
    return True


def pieces(name: str, rows: int) -> list[Path]:
    """The files that are there."""
    return sorted((PARTS / f"{name}_{rows}").glob("????.npz"))


def read_piece(path: Path) -> list[Run]:
    """The runs of one file."""
    return list(_read(path))
