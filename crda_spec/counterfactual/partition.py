"""The partition (X_P, X_R): which features move while the noise is carried over, and why.

Two ways lead to it. With a declared graph, d-separation decides and the empirical screen only warns. Without one, the
paper's two filters decide: PC's neighbours of the residual, then the correlation screen. Either way the survivors are
ranked and at most `max_features` are taken; everything is computed from training rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from crda_spec.records import (
    Abduction,
    Array,
    Certificate,
    DrawnGraph,
    FeatureStatus,
    FeatureVerdict,
    IntArray,
    Table,
)
from crda_spec.scm.certificate import certify_named, drawn
from crda_spec.scm.discovery.pc import neighbours
from crda_spec.scm.graph import CausalGraph
from crda_spec.scm.independence import Screen, correlation_matrix


@dataclass(frozen=True, slots=True, kw_only=True)
class Screening:
    """When a screen's evidence keeps a feature fixed: a statistic this large, or a p-value this small."""

    screen: Screen
    threshold: float
    alpha: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """What the user wants of the features that may move."""

    max_features: int | None = None
    perturb: tuple[str, ...] | None = None
    keep: tuple[str, ...] = ()


class Partitioner(Protocol):
    """Says for each feature whether it moves, from training rows and their noise."""

    def partition(self, train: Table, abduction: Abduction) -> Certificate:
        """The certificate; an empty X_P is an answer, not an error."""
        ...

    def foreseen(self, features: Sequence[str]) -> tuple[FeatureVerdict, ...]:
        """What is known of each feature before anything is fitted; empty when only residuals can tell."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class DeclaredPartitioner:
    """The expert's graph decides; the screen says where the data disagree."""

    graph: CausalGraph
    screening: Screening
    choice: Choice

    def foreseen(self, features: Sequence[str]) -> tuple[FeatureVerdict, ...]:
        """The graph's verdicts; the choice among features that may move waits for the ranking."""
        return certify_named(self.graph, features)

    def partition(self, train: Table, abduction: Abduction) -> Certificate:
        """Certifies each feature, warns where the residual disagrees, then chooses."""
        evidence = _screen(train, abduction, self.screening)
        verdicts = [
            replace(verdict, evidence=found.numbers, warning=_disagreement(found) if verdict.perturbable else "")
            for verdict, found in zip(certify_named(self.graph, train.names), evidence, strict=True)
        ]
        return Certificate(
            basis="declared",
            graph=drawn(self.graph, train.names),
            features=_choose(verdicts, self.choice),
            assumes=(
                "the declared graph is right, its hidden common causes included",
                f"{train.target.name} is a function of its causes plus noise that adds to it",
                "the regressor is accurate where features move: its own error travels with the noise",
            ),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class DiscoveredPartitioner:
    """The paper's filters: what PC ties to the residual, then what correlates with it, stays fixed."""

    alpha: float
    max_depth: int
    screening: Screening
    choice: Choice

    def foreseen(self, features: Sequence[str]) -> tuple[FeatureVerdict, ...]:
        """Nothing: the filters need residuals."""
        del features
        return ()

    def partition(self, train: Table, abduction: Abduction) -> Certificate:
        """Filters each feature, then chooses."""
        tied, untested = self._tied_to_noise(train, abduction.noise)
        evidence = _screen(train, abduction, self.screening)
        blind = untested or _blind(evidence)
        verdicts = [
            FeatureVerdict(name=name, status="blocked", reason=blind, evidence=found.numbers)
            if blind
            else self._verdict(name, found, tied=linked)
            for name, found, linked in zip(train.names, evidence, tied, strict=True)
        ]
        noise = _noise_name(train)
        tied_names = [name for name, linked in zip(train.names, tied, strict=True) if linked]
        graph = DrawnGraph(
            nodes=(*((name, "feature") for name in train.names), (train.target.name, "target"), (noise, "noise")),
            edges=((noise, train.target.name, "->"), *((noise, name, "--") for name in tied_names)),
        )
        return Certificate(
            basis="discovered",
            graph=graph,
            features=_choose(verdicts, self.choice),
            assumes=(
                "no link found means no link: the tests see linear dependence only, and need enough rows",
                "there is no hidden common cause that these tests cannot see",
                "the regressor is accurate where features move: its own error travels with the noise",
            ),
        )

    def _tied_to_noise(self, train: Table, noise: Array) -> tuple[list[bool], str]:
        """Whether PC leaves a link between each feature and the residual, and why not when it could not test at all.

        The target is never conditioned on: the residual is a function of the features and the target, so with it
        every test would be degenerate.
        """
        columns, owner = _numbers(train)
        correlation, rows = correlation_matrix(np.column_stack([columns, noise]))
        found = neighbours(correlation, rows, len(owner), alpha=self.alpha, max_depth=self.max_depth)
        linked = {int(owner[position]) for position in found.linked}
        untested = ""
        if found.depth_reached < 0:
            few = f"only {rows} of {len(train)} rows have no missing cell" if rows < len(train) else f"only {rows} rows"
            untested = f"PC could not test anything: {few}"
        return [position in linked for position in range(len(train.features))], untested

    def _verdict(self, name: str, found: _Evidence, *, tied: bool) -> FeatureVerdict:
        status: FeatureStatus = "screened"
        if tied:
            status, reason = "blocked", f"PC finds it directly tied to the residual ({found.words})"
        elif found.fails:
            status, reason = "blocked", f"its correlation with the residual is {found.failure} ({found.words})"
        else:
            reason = f"no tie to the residual was found ({found.words})"
        return FeatureVerdict(name=name, status=status, reason=reason, evidence=found.numbers)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Evidence:
    """What the screen saw of one feature."""

    statistic: float
    p_value: float
    rank: float  # tie to the target minus tie to the residual: the paper's ranking
    failure: str  # why the screen keeps the feature fixed, in words; empty when it does not

    @property
    def fails(self) -> bool:
        return bool(self.failure)

    @property
    def numbers(self) -> dict[str, float]:
        return {"residual_statistic": self.statistic, "residual_p_value": self.p_value, "rank_score": self.rank}

    @property
    def words(self) -> str:
        return f"r = {self.statistic:+.2f}, p = {self.p_value:.2g}"


_BY_CONSTRUCTION = 1e-9  # correlations below this are rounding, not evidence


def _blind(evidence: Sequence[_Evidence]) -> str:
    """Why the residual's correlations say nothing, if they do not.

    Least squares leaves in-sample residuals without any correlation with any feature, whatever the truth. A screen that
    must pass has not screened.
    """
    if all(abs(found.statistic) < _BY_CONSTRUCTION for found in evidence):
        return (
            "a linear fit leaves residuals uncorrelated with every feature by construction: there is nothing to screen"
        )
    return ""


def _disagreement(found: _Evidence) -> str:
    if not found.fails:
        return ""
    return f"the data disagree ({found.words}): the regressor may not have caught this feature's effect"


def _screen(train: Table, abduction: Abduction, screening: Screening) -> list[_Evidence]:
    """One line of evidence a feature; a category counts by its strongest label, corrected for their number."""
    columns, owner = _numbers(train)
    residual = screening.screen(columns, abduction.noise)
    target = screening.screen(columns, train.y)
    evidence = []
    for position in range(len(train.features)):
        mine = np.flatnonzero(owner == position)
        strongest = mine[np.abs(residual.statistic[mine]).argmax()]
        statistic = float(residual.statistic[strongest])
        p_value = min(1.0, float(residual.p_value[mine].min()) * len(mine))
        evidence.append(
            _Evidence(
                statistic=statistic,
                p_value=p_value,
                rank=float(np.abs(target.statistic[mine]).max()) - abs(statistic),
                failure=_failure(statistic, p_value, screening),
            )
        )
    return evidence


def _failure(statistic: float, p_value: float, screening: Screening) -> str:
    if p_value <= screening.alpha:
        return "significant"
    return f"at least {screening.threshold:g}" if abs(statistic) >= screening.threshold else ""


def _numbers(train: Table) -> tuple[Array, IntArray]:
    """Columns that correlations make sense for, and the feature each belongs to: a category gives one a label."""
    parts, owner = [], []
    for position, column in enumerate(train.features):
        values = train.x[:, position]
        codes = np.unique(values[~np.isnan(values)]) if column.type == "category" else np.empty(0)
        if len(codes) > 2:
            known = np.where(np.isnan(values)[:, None], np.nan, values[:, None] == codes)
            parts.append(known.astype(np.float64))
        elif len(codes):  # of two labels one tells the other; as a column of codes it would depend on unused labels
            parts.append(np.where(np.isnan(values), np.nan, values == codes[-1])[:, None])
        else:
            parts.append(values[:, None])
        owner += [position] * parts[-1].shape[1]
    return np.concatenate(parts, axis=1), np.array(owner, dtype=np.int64)


def _choose(verdicts: Sequence[FeatureVerdict], choice: Choice) -> tuple[FeatureVerdict, ...]:
    """Leaves X_P with what the user allows, the best-ranked first; equal ranks go by the table's order."""
    allowed = [
        verdict
        for verdict in verdicts
        if verdict.perturbable
        and verdict.name not in choice.keep
        and (choice.perturb is None or verdict.name in choice.perturb)
    ]
    ranked = sorted(allowed, key=lambda verdict: -verdict.evidence["rank_score"])
    taken = {verdict.name for verdict in ranked[: choice.max_features]}
    places = {verdict.name: place for place, verdict in enumerate(ranked, start=1)}
    return tuple(
        verdict
        if not verdict.perturbable or verdict.name in taken
        else replace(verdict, status="kept", reason=_kept_because(verdict, choice, places), warning="")
        for verdict in verdicts
    )


def _kept_because(verdict: FeatureVerdict, choice: Choice, places: dict[str, int]) -> str:
    if verdict.name in choice.keep:
        return "it may move, but partition.keep holds it fixed"
    if choice.perturb is not None and verdict.name not in choice.perturb:
        return "it may move, but partition.perturb does not name it"
    of = len(places)
    return f"it may move, but ranks {places[verdict.name]} of {of} and partition.max_features is {choice.max_features}"


def _noise_name(train: Table) -> str:
    name = "Z"
    while name in (*train.names, train.target.name):
        name += "'"
    return name
