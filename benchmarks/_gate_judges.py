"""Who judges the kept runs: every gate test in every layout of folds, the ways to use repeats, the published gates."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from _gate_runs import PUBLISHED, Layout, Losses, Run, read_piece
from _gate_worlds import COLUMNS

from crda_spec.gate.tests import TESTS, Bootstrap, Gate, Paired, wilcoxon_p_value
from crda_spec.gate.verdict import paired_losses, passes, tested_p_value
from crda_spec.records import Column, Table

ALPHA = 0.05


class EveryFold(Gate):
    """Wilcoxon on all folds of all repeats, as if they were independent: what not to do."""

    kind: str = "every_fold"
    repeats: int = 1

    def p_value(self, paired: Paired, *, rng: np.random.Generator) -> float:
        """Draws nothing."""
        del rng
        return wilcoxon_p_value(paired.folds.difference, "less")


class FirstDivision(Gate):
    """Wilcoxon on the first division's folds, rows averaged over repeats."""

    kind: str = "first_division"
    repeats: int = 1

    def p_value(self, paired: Paired, *, rng: np.random.Generator) -> float:
        """Draws nothing."""
        del rng
        return wilcoxon_p_value(paired.blocks.difference[0], "less")


@dataclass(frozen=True, slots=True, kw_only=True)
class Judge:
    """One gate: a test, and the folds and repeats that it looks at."""

    test: Gate
    layout: Layout  # folds, repeats

    @property
    def fits(self) -> int:
        """For a single teacher: two models a fold."""
        return 2 * self.layout[0] * self.layout[1]

    def accepts(self, run: Run, *, seed: int) -> bool | None:
        """None when the run was not made in this layout."""
        losses = _losses(run.losses, self.layout)
        if losses is None:
            return None
        gate = self.test.model_copy(update={"folds": self.layout[0], "repeats": self.layout[1], "alpha": ALPHA})
        outcomes = losses.outcomes(self.layout[1])
        paired = paired_losses(outcomes, _no_matter(losses.rows))
        return passes(gate, paired, [one.result for one in outcomes], tested_p_value(gate, paired, seed=seed))


def _losses(kept: Mapping[Layout, Losses], layout: Layout) -> Losses | None:
    found = [losses for (folds, repeats), losses in kept.items() if folds == layout[0] and repeats >= layout[1]]
    return found[0] if found else None


@lru_cache
def _no_matter(rows: int) -> Table:
    """Squared errors are kept, so that the rows themselves are not asked."""
    x, y = np.zeros((rows, len(COLUMNS))), np.zeros(rows)
    return Table(features=COLUMNS, target=Column(name="y", type="continuous"), row_ids=np.arange(rows), x=x, y=y)


def judges() -> dict[str, Judge]:
    """Every test with its default folds."""
    found = {kind: Judge(test=test(), layout=(10, 1)) for kind, test in TESTS.items()}
    found["bootstrap"] = Judge(test=Bootstrap(resamples=999), layout=(10, 1))
    found["clustered"] = Judge(test=TESTS["clustered"](), layout=(6, 2))
    found["five_by_two"] = Judge(test=TESTS["five_by_two"](), layout=(2, 5))
    return found


def trade_off() -> dict[str, Judge]:
    """The tests that can take more fits, in every layout that was run; and what was tried beside."""
    layouts: tuple[Layout, ...] = ((10, 1), (6, 2), (10, 2), (20, 1), (10, 3))
    tests: dict[str, tuple[Callable[[], Gate], tuple[Layout, ...]]] = {
        "wilcoxon": (TESTS["wilcoxon"], layouts),
        "clustered": (TESTS["clustered"], layouts),
        "corrected_t": (TESTS["corrected_t"], layouts),
        "bootstrap": (lambda: Bootstrap(resamples=299), ((6, 2), (10, 2))),
        "first_division": (FirstDivision, ((6, 2), (10, 2), (10, 3))),
        "every_fold": (EveryFold, ((6, 2), (10, 2), (10, 3))),
    }
    return {
        f"{name} {folds}x{repeats}": Judge(test=test(), layout=(folds, repeats))
        for name, (test, chosen) in tests.items()
        for folds, repeats in chosen
    }


def judged(run: Run, panel: Mapping[str, Judge], *, seed: int) -> dict[str, Any]:
    """The true change in percent, and which gates accept."""
    found: dict[str, Any] = {name: judge.accepts(run, seed=seed) for name, judge in panel.items()}
    for name in PUBLISHED:
        p = run.published.get(name, float("nan"))
        found[f"published_{name}"] = None if np.isnan(p) else p < ALPHA
    return {"before": run.before, "after": run.after, **found}


def judged_piece(path: Path, panel: Mapping[str, Judge]) -> list[dict[str, Any]]:
    """The judgements on one file of runs; they are kept beside it, since bootstraps take their time."""
    kept = path.with_suffix(".json")
    if kept.exists() and kept.stat().st_mtime >= path.stat().st_mtime:
        told = json.loads(kept.read_text(encoding="utf-8"))
        if told["panel"] == list(panel):
            found: list[dict[str, Any]] = told["runs"]
            return found
    first = int(path.stem)
    found = [judged(run, panel, seed=first + number) for number, run in enumerate(read_piece(path))]
    kept.write_text(json.dumps({"panel": list(panel), "runs": found}), encoding="utf-8")
    return found
