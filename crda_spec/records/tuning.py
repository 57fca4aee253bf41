"""What a search tried, how each trial fared, and what was chosen."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

TrialState = Literal["complete", "pruned", "failed"]
StoppedBy = Literal["trials", "time"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """One setting, and its loss on each inner fold as far as it went."""

    number: int  # from 1
    values: Mapping[str, object]  # numbers, or words where a teacher or policy was chosen
    losses: tuple[float, ...]  # one an inner fold; fewer when it was pruned or failed
    state: TrialState
    origin: Literal["declared", "drawn"] = "drawn"  # declared: the spec's own values, tried first
    repeats: int | None = None  # the earlier trial with the same values, whose losses these are: nothing was fitted


@dataclass(frozen=True, slots=True, kw_only=True)
class Study:
    """One search. `fold` is the gate fold whose training rows it saw, 0 for all training rows (or a tuning split)."""

    what: Literal["regressor", "augmentation"]
    fold: int
    rows: int  # that the search saw
    held_rows: tuple[int, ...]  # of each inner fold
    budget: int  # trials that were allowed
    seconds: float | None  # that were allowed; None: no limit
    stopped: StoppedBy
    metric: str
    plain: tuple[float, ...]  # the plain model's loss on each inner fold; empty when the regressor itself is searched
    trials: tuple[Trial, ...]
    best: int  # the number of the trial that was chosen
    fits: int
    set_aside: bool = False  # whether it saw rows that are spent on tuning and serve nothing else

    @property
    def chosen(self) -> Trial:
        """The whole trial with the least loss, the first of equals."""
        return self.trials[self.best - 1]

    def mean_loss(self, losses: tuple[float, ...]) -> float:
        """The mean loss of a row over the inner folds that were reached."""
        held = self.held_rows[: len(losses)]
        return sum(loss * rows for loss, rows in zip(losses, held, strict=True)) / sum(held) if held else float("nan")
