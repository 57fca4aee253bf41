"""The `partition` section of a spec: the choice among the features that may move.

The user's pins, the paper's ranking, and the joint check.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Protocol

import numpy as np
from pydantic import Field

from crda_spec.independence import JointCheck, JointResult, Pearson, Screen, numbers
from crda_spec.records import (
    Array,
    Certificate,
    FeatureVerdict,
    HelpsToPredict,
    JointEvidence,
    Outranked,
    Reason,
    Residuals,
    ScreenUsed,
    Stated,
    Table,
)
from crda_spec.seeds import stream
from crda_spec.strict import ColumnName, Strict


class Partitioner(Protocol):
    """Says for each feature whether it moves."""

    def partition(self, train: Table, residuals: Array, *, seed: int, index: tuple[int, ...]) -> Certificate:
        """The certificate; an empty X_P is an answer, not an error.

        residuals: (n,) what is screened, which need not be the noise that rows carry.  index: names the set of rows,
        (0,) for all training rows and (k,) for those of gate fold k, so that its random streams are its own.
        """
        ...

    def foreseen(self, features: Sequence[str]) -> tuple[FeatureVerdict, ...]:
        """What is known of each feature before anything is fitted; empty when only residuals can tell."""
        ...


class Partition(Strict):
    """How X_P is chosen among the features that the graph, or the search, allows."""

    screen: Screen = Field(
        Pearson(),
        description="The empirical check on the residual. It decides when no graph is declared, else it only warns.",
    )
    joint: JointCheck | None = Field(
        JointCheck(), description="The check of all features that would move, together; null: none."
    )
    residuals: Residuals = Field(
        "out_of_fold",
        description=(
            "Which residual is screened: of rows that the model has not seen, or of its own training rows, where a "
            "flexible model hides dependence (the paper)."
        ),
    )
    max_features: int | None = Field(
        None,
        ge=1,
        description="At most this many features move: those most tied to the target and least to the residual.",
    )
    perturb: tuple[ColumnName, ...] | None = Field(
        None, min_length=1, description="Only these features may move; each must be allowed by the graph."
    )
    keep: tuple[ColumnName, ...] = Field((), description="These features never move.")

    @property
    def screen_used(self) -> ScreenUsed:
        """The screen, its settings and whose residuals it looks at, for the record."""
        return ScreenUsed(
            screen=self.screen.kind,
            alpha=self.screen.alpha,
            threshold=self.screen.limit,
            adjustment=self.screen.adjust,
            out_of_fold=self.residuals == "out_of_fold",
        )

    def leaves(self, name: str) -> Stated | None:
        """Why the user leaves this feature alone; None when the user does not."""
        if name in self.keep:
            return Stated(code="kept")
        return Stated(code="not_named") if self.perturb is not None and name not in self.perturb else None


def choose(verdicts: Sequence[FeatureVerdict], choice: Partition) -> tuple[FeatureVerdict, ...]:
    """Leaves X_P with what the user allows, the best-ranked first; equal ranks go by the table's order."""
    allowed = [verdict for verdict in verdicts if verdict.perturbable and not choice.leaves(verdict.name)]
    ranked = sorted(allowed, key=lambda verdict: -verdict.evidence["rank_score"])
    taken = {verdict.name for verdict in ranked[: choice.max_features]}
    places = {verdict.name: place for place, verdict in enumerate(ranked, start=1)}
    return tuple(
        verdict
        if not verdict.perturbable or verdict.name in taken
        else replace(verdict, status="kept", reason=_kept_because(verdict, choice, places), warning=None)
        for verdict in verdicts
    )


def _kept_because(verdict: FeatureVerdict, choice: Partition, places: dict[str, int]) -> Reason:
    left = choice.leaves(verdict.name)
    return left or Outranked(place=places[verdict.name], of=len(places), limit=choice.max_features)


def checked_jointly(
    train: Table,
    residuals: Array,
    verdicts: Sequence[FeatureVerdict],
    joint: JointCheck,
    *,
    seed: int,
    index: tuple[int, ...],
) -> tuple[tuple[FeatureVerdict, ...], JointEvidence | None]:
    """The verdicts after the joint check, and what it saw of the features that are left to move.

    A failed check blames the set and no feature of it. Pruning holds fixed the one most tied to the residual, and asks
    again: fixed features can only make the claim weaker, so asking several times frees nothing.
    """
    kept = list(verdicts)
    pruned: list[str] = []
    while True:
        moving = [verdict.name for verdict in kept if verdict.perturbable]
        if not moving:
            return tuple(kept), _after_pruning(pruned, joint.alpha)
        found = _ask(train, residuals, moving, joint, seed=seed, index=(*index, len(pruned)))
        failed = found.joint_p_value <= joint.alpha
        if not failed or joint.on_failure == "warn":
            return tuple(kept), _evidence(found, joint, moving, pruned, failed=failed)
        at = max(
            (place for place, verdict in enumerate(kept) if verdict.perturbable),
            key=lambda place: abs(kept[place].evidence["residual_statistic"]),
        )
        pruned.append(kept[at].name)
        kept[at] = replace(kept[at], status="blocked", reason=_pruned_because(found, moving), warning=None)


def _ask(
    train: Table, residuals: Array, moving: Sequence[str], joint: JointCheck, *, seed: int, index: tuple[int, ...]
) -> JointResult:
    columns, owner = numbers(train)
    moves = np.isin(owner, train.positions(moving))
    return joint(columns[:, moves], columns[:, ~moves], residuals, rng=stream(seed, "joint-check", *index))


def _pruned_because(found: JointResult, moving: Sequence[str]) -> HelpsToPredict:
    size = found.p_value > found.size_p_value
    return HelpsToPredict(features=len(moving), size=size, p_value=found.joint_p_value)


def _evidence(
    found: JointResult, joint: JointCheck, moving: Sequence[str], pruned: Sequence[str], *, failed: bool
) -> JointEvidence:
    return JointEvidence(
        p_value=found.joint_p_value,
        gain=found.gain,
        size_gain=found.size_gain,
        rows=found.rows,
        alpha=joint.alpha,
        failed=failed,
        pruned=tuple(pruned),
        features=len(moving),
        folds=found.folds,
    )


def _after_pruning(pruned: Sequence[str], alpha: float) -> JointEvidence | None:
    """Nothing is left to ask about."""
    if not pruned:
        return None
    return JointEvidence(p_value=1.0, gain=0.0, size_gain=0.0, rows=0, alpha=alpha, failed=False, pruned=tuple(pruned))
