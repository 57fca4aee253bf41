"""The partition (X_P, X_R): which features move while the noise is carried over, and why.

Two ways lead to it. With a declared graph, d-separation decides and the empirical checks only warn. Without one, a
search and a screen decide, as in the paper. Either way the survivors are ranked, at most `max_features` are taken, and
the chosen ones are checked together; everything is computed from training rows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, Protocol

import numpy as np
from pydantic import Field

from crda_spec import records
from crda_spec.discovery import Discovery, ResidualNeighbours
from crda_spec.discovery._protocol import noise_name
from crda_spec.independence import JointCheck, Pearson, Screen, adjust, grouped, numbers
from crda_spec.records import Array, Assumption, Certificate, DrawnGraph, FeatureVerdict, JointEvidence, Stated, Table
from crda_spec.scm.certificate import certify_named, class_changes, graph_certificate, lemma_holds
from crda_spec.scm.falsify import Correction, Falsify
from crda_spec.scm.graph import CausalGraph
from crda_spec.scm.implied import as_written, with_edges
from crda_spec.seeds import integer_seed, stream
from crda_spec.strict import ColumnName, Strict

if TYPE_CHECKING:
    from crda_spec.counterfactual.act import Propagation

_BY_CONSTRUCTION = 1e-9  # correlations below this are rounding, not evidence


class Partitioner(Protocol):
    """Says for each feature whether it moves."""

    def partition(self, train: Table, residuals: Array, *, seed: int, index: tuple[int, ...]) -> Certificate:
        """The certificate; an empty X_P is an answer, not an error.

        residuals: (n,) what is screened, which need not be the noise that rows carry.  index: names the set of rows,
        (0,) for all training rows and (k,) for those of gate fold k, so that its random streams are its own.
        """

    def on(self, train: Table, known: Partitioner | None = None) -> Partitioner:
        """The same, once these rows have had their say about the graph.

        known: a partitioner of the same graph that may have asked them already.
        """

    def boundary(self, features: Sequence[str]) -> tuple[str, ...]:
        """The features that may tell something of the target once the others are known: all but the irrelevant ones."""

    def known_before_fitting(self, features: Sequence[str]) -> tuple[FeatureVerdict, ...]:
        """What is known of each feature before anything is fitted; empty when only residuals can tell."""


class Partition(Strict):
    """How X_P is chosen among the features that the graph, or the search, allows."""

    screen: Screen = Field(
        Pearson(),
        description="The empirical check on the residual. It decides when no graph is declared, else it only warns.",
    )
    joint: JointCheck | None = Field(
        JointCheck(), description="The check of all features that would move, together; null: none."
    )
    residuals: records.Residuals = Field(
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
    basis: Literal["certificate", "support"] = Field(
        "certificate",
        description=(
            "certificate: only features that the graph (or the search and the screen) lets move. support: any feature, "
            "in rows that carry no noise and are labelled by the teacher alone."
        ),
    )

    @property
    def screen_used(self) -> records.ScreenUsed:
        """The screen, its settings and whose residuals it looks at, for the record."""
        return records.ScreenUsed(
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


class HeldPartition(Partition):
    """The same, and features that are made of other columns stay: nobody sets a date, or that a cell is missing."""

    derived: tuple[ColumnName, ...] = ()

    @property
    def held(self) -> tuple[str, ...]:
        """All features that stay by name."""
        return (*self.keep, *self.derived)

    def leaves(self, name: str) -> Stated | None:
        """See `Partition.leaves`."""
        return Stated(code="derived") if name in self.derived else super().leaves(name)


def choose(verdicts: Sequence[FeatureVerdict], choice: Partition) -> tuple[FeatureVerdict, ...]:
    """Leaves X_P with what the user allows, the best-ranked first; equal ranks go by the table's order."""
    allowed = [verdict for verdict in verdicts if verdict.perturbable and not choice.leaves(verdict.name)]
    ranked = sorted(allowed, key=lambda verdict: -verdict.evidence["rank_score"])
    taken = {verdict.name for verdict in ranked[: choice.max_features]}
    places = {verdict.name: place for place, verdict in enumerate(ranked, start=1)}

    def kept(verdict: FeatureVerdict) -> FeatureVerdict:
        left = choice.leaves(verdict.name)
        reason = left or records.Outranked(place=places[verdict.name], of=len(places), limit=choice.max_features)
        return replace(verdict, held=reason, warning=None)

    return tuple(verdict if not verdict.perturbable or verdict.name in taken else kept(verdict) for verdict in verdicts)


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
    kept, pruned = list(verdicts), list[str]()
    columns, owner = numbers(train)
    while True:
        moving = [verdict.name for verdict in kept if verdict.perturbable]
        if not moving:
            left = tuple(pruned)
            rest = JointEvidence(
                p_value=1.0, gain=0.0, size_gain=0.0, rows=0, alpha=joint.alpha, failed=False, pruned=left
            )
            return tuple(kept), rest if pruned else None
        moves = np.isin(owner, train.positions(moving))
        rng = stream(seed, "joint-check", *index, len(pruned))
        result = joint(columns[:, moves], columns[:, ~moves], residuals, rng=rng)
        failed, in_size = result.joint_p_value <= joint.alpha, result.size_p_value < result.p_value
        if not failed or joint.on_failure == "warn":
            return tuple(kept), JointEvidence(
                p_value=result.joint_p_value,
                gain=result.gain,
                size_gain=result.size_gain,
                rows=result.rows,
                alpha=joint.alpha,
                failed=failed,
                pruned=tuple(pruned),
                features=len(moving),
                folds=result.folds,
                in_size=in_size,
            )
        at = max(
            (place for place, verdict in enumerate(kept) if verdict.perturbable),
            key=lambda place: abs(kept[place].evidence["residual_statistic"]),
        )
        reason = records.HelpsToPredict(features=len(moving), size=in_size, p_value=result.joint_p_value)
        pruned.append(kept[at].name)
        kept[at] = replace(kept[at], status="blocked", reason=reason, warning=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """What the screen saw of one feature."""

    seen: records.Screened
    raw: float  # the p-value before it was adjusted
    rank: float  # tie to the target minus tie to the residual: the paper's ranking

    @property
    def numbers(self) -> dict[str, float]:
        """For the record."""
        statistic, adjusted = self.seen.statistic, self.seen.p_value
        seen = {"residual_statistic": statistic, "residual_p_value": self.raw, "rank_score": self.rank}
        return seen if adjusted == self.raw else seen | {"residual_p_value_adjusted": adjusted}


def screened(train: Table, residuals: Array, screen: Screen, *, seed: int, index: tuple[int, ...]) -> list[Evidence]:
    """One line of evidence a feature; a category counts by its strongest label, corrected for their number."""
    columns, owner = numbers(train)
    count = len(train.features)
    residual = grouped(screen(columns, residuals, rng=stream(seed, "screen-residual", *index)), owner, count)
    target = grouped(screen(columns, train.y, rng=stream(seed, "screen-target", *index)), owner, count)
    adjusted = adjust(residual.p_value, screen.adjust)

    def evidence(at: int) -> Evidence:
        statistic, p_value = float(residual.statistic[at]), float(adjusted[at])
        failure = screen.failure(statistic, p_value)
        return Evidence(
            seen=records.Screened(
                screen=screen.kind, statistic=statistic, p_value=p_value, failure=failure, threshold=screen.limit
            ),
            raw=float(residual.p_value[at]),
            rank=abs(float(target.statistic[at])) - abs(statistic),
        )

    return [evidence(at) for at in range(count)]


def blind(evidence: Sequence[Evidence]) -> bool:
    """Whether the residual's correlations say nothing.

    Least squares leaves in-sample residuals without any correlation with any feature, whatever the truth. A screen that
    must pass has not screened.
    """
    return all(one.seen.screen == "pearson" and abs(one.seen.statistic) < _BY_CONSTRUCTION for one in evidence)


@dataclass(frozen=True, slots=True, kw_only=True)
class DeclaredPartitioner:
    """The expert's graph decides; the screen and the joint check say where the data disagree.

    With `falsify`, rows that contradict the graph add the edges that they suggest (`on`), and the graph with them
    decides: an edge more frees nothing, so no feature moves that the expert's graph would not let move.
    """

    graph: CausalGraph  # as the expert drew it
    choice: Partition
    propagation: Propagation | None = None  # None: what a moved feature causes is held fixed
    falsify: Falsify | None = None  # None: the graph decides whatever the rows say of it
    seed: int = 0  # the run's
    rows: Table | None = field(default=None, compare=False, repr=False)  # that were asked
    correction: Correction | None = None  # what they suggest; None: nothing

    def on(self, train: Table, known: Partitioner | None = None) -> DeclaredPartitioner:
        """Asks these rows alone, so that inside a gate fold no held-out row has a say in what is added."""
        if self.falsify is None:
            return self
        for one in (self, known):
            if isinstance(one, DeclaredPartitioner) and one.rows is train:
                return replace(self, rows=train, correction=one.correction)
        found = self.falsify.correct(self.graph, train, rng=stream(self.seed, "falsify"))
        return replace(self, rows=train, correction=found if found.edges else None)

    @property
    def deciding(self) -> CausalGraph:
        """The graph, with the edges that the rows suggest."""
        return self.graph if self.correction is None else with_edges(self.graph, self.correction.edges)

    def boundary(self, features: Sequence[str]) -> tuple[str, ...]:
        """By the graph; a feature that it does not draw may be one that was forgotten, and belongs to it."""
        return tuple(one.name for one in certify_named(self.deciding, features) if one.status != "irrelevant")

    def known_before_fitting(self, features: Sequence[str]) -> tuple[FeatureVerdict, ...]:
        """The graph's verdicts; the choice among features that may move waits for the ranking."""
        verdicts = certify_named(self.graph, features)
        return verdicts if self.propagation is None else self.propagation.restrict(verdicts)

    def partition(self, train: Table, residuals: Array, *, seed: int, index: tuple[int, ...]) -> Certificate:
        """Certifies each feature, warns where the residual disagrees, then chooses."""
        graph = self.deciding
        proved = graph_certificate(graph, train.names)
        evidence = screened(train, residuals, self.choice.screen, seed=seed, index=index)
        alpha = self.choice.screen.alpha

        def seen(verdicts: Sequence[FeatureVerdict]) -> list[FeatureVerdict]:
            return [
                replace(
                    one,
                    evidence=found.numbers,
                    # Size alone is no disagreement: with few rows chance reaches any threshold.
                    warning=records.Doubt(seen=found.seen) if one.perturbable and found.seen.p_value <= alpha else None,
                )
                for one, found in zip(verdicts, evidence, strict=True)
            ]

        verdicts = seen(proved.features)
        if self.correction is not None and self.propagation is not None:
            verdicts = list(replace(self.propagation, graph=graph).restrict(verdicts))
        chosen = self._chosen(verdicts)
        together = None
        if self.choice.joint is not None and index == (0,):  # nobody is told of a fold's warning
            rule = self.choice.joint.model_copy(update={"on_failure": "warn"})
            _, together = checked_jointly(train, residuals, chosen, rule, seed=seed, index=index)
        moved = tuple(verdict.name for verdict in chosen if verdict.perturbable)
        followers = () if self.propagation is None else self.propagation.followers(train.names, moved)
        # The lemma speaks of one partition: it is checked on the largest X_P and on the one that will move.
        holds = proved.lemma_holds and lemma_holds(graph, train.names, (*moved, *followers))
        return replace(
            proved,
            features=tuple(
                replace(verdict, held=Stated(code="follows_equation"), warning=None)
                if verdict.name in followers
                else verdict
                for verdict in chosen
            ),
            lemma_holds=holds,
            propagated=followers,
            joint=together,
            repair=self._repair(seen, verdicts),
            method=records.Inquiry(searches=(), screen=self.choice.screen_used),
            assumes=proved.assumes if self.propagation is None else (*proved.assumes, Assumption(code="followers_add")),
        )

    def suggested(self, features: Sequence[str]) -> records.Repair | None:
        """What the rows suggest and what that changes, as far as the graph alone tells: no cause is known to move."""
        if self.correction is None:
            return None
        return records.Repair(
            edges=tuple(map(as_written, self.correction.edges)),
            explained=self.correction.explained,
            changed=class_changes(self.graph, features, self.correction.edges),
            lost=(),
        )

    def _repair(
        self, seen: Callable[[Sequence[FeatureVerdict]], list[FeatureVerdict]], verdicts: Sequence[FeatureVerdict]
    ) -> records.Repair | None:
        """The same, with the causes that would have moved by the expert's graph. verdicts: with the edges."""
        names = [one.name for one in verdicts]
        repair = self.suggested(names)
        if repair is None:
            return None
        pairs = zip(self._chosen(seen(certify_named(self.graph, names))), verdicts, strict=True)
        causes = [(was, now) for was, now in pairs if was.status == "cause" and was.perturbable]
        return replace(repair, lost=tuple(was.name for was, now in causes if not now.perturbable))

    def _chosen(self, verdicts: Sequence[FeatureVerdict]) -> tuple[FeatureVerdict, ...]:
        """The choice; with propagation, what it drops may hold its cause back, so that the choice is made again."""
        if self.propagation is None:
            return choose(verdicts, self.choice)
        allowed = self.propagation.restrict(verdicts)
        while True:
            chosen = self._causes_first(choose(allowed, self.choice))
            moved = {verdict.name for verdict in chosen if verdict.perturbable}
            again = {verdict.name: verdict for verdict in self.propagation.restrict(chosen)}
            stuck = {name: again[name] for name in moved if not again[name].perturbable}
            if not stuck:
                return chosen
            allowed = tuple(stuck.get(verdict.name, verdict) for verdict in allowed)

    def _causes_first(self, chosen: tuple[FeatureVerdict, ...]) -> tuple[FeatureVerdict, ...]:
        """Of a moved cause and its moved effect only the cause moves, and the effect follows it: unless the user named
        both, or the effect cannot follow and can only move by a policy of its own.
        """
        if self.propagation is None or self.choice.perturb is not None:
            return chosen
        names = [verdict.name for verdict in chosen]
        moved = [verdict.name for verdict in chosen if verdict.perturbable]
        causes = [name for name in moved if not any(name in self.propagation.followers(names, [one]) for one in moved)]
        effects = tuple(
            replace(verdict, held=Stated(code="follows_its_cause"))
            if verdict.name in moved and verdict.name not in causes
            else verdict
            for verdict in chosen
        )
        still = {verdict.name for verdict in self.propagation.restrict(effects) if verdict.perturbable}
        return effects if still.issuperset(causes) else chosen


def drawn_graph(train: Table, ties: ResidualNeighbours, *, whole: bool, discovery: Discovery, seed: int) -> DrawnGraph:
    """The picture: what the search finds among the columns (for all training rows only), and what is tied to Z."""
    noise, target = noise_name(train), train.target.name
    edges: list[records.DrawnEdge] = [
        (noise, target, "->"),
        *((noise, name, "--") for name in train.names if name in ties.tied),
    ]
    if whole and not ties.untested:
        x = np.column_stack([train.x, train.y])
        drawn = discovery.graph(x, (*train.features, train.target), seed=integer_seed(seed, "picture"))
        # A conflict of a CPDAG is a link whose direction nobody knows.
        marks: list[Any] = ["--" if (drawn.kind, edge.mark) == ("cpdag", "<->") else edge.mark for edge in drawn.edges]
        edges += [(edge.first, edge.second, mark) for edge, mark in zip(drawn.edges, marks, strict=True)]
    return DrawnGraph(
        nodes=(*((name, "feature") for name in train.names), (target, "target"), (noise, "noise")),
        edges=tuple(edges),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class DiscoveredPartitioner:
    """The paper's filters, with any search and any screen: what either ties to the residual stays fixed."""

    discovery: Discovery
    choice: Partition

    def on(self, train: Table, known: Partitioner | None = None) -> DiscoveredPartitioner:
        """There is no graph to be asked about."""
        return self

    def boundary(self, features: Sequence[str]) -> tuple[str, ...]:
        """All of them: not to find a tie is no proof that there is none."""
        return tuple(features)

    def known_before_fitting(self, features: Sequence[str]) -> tuple[FeatureVerdict, ...]:
        """Nothing: the filters need residuals."""
        return ()

    def partition(self, train: Table, residuals: Array, *, seed: int, index: tuple[int, ...]) -> Certificate:
        """Filters each feature, then chooses, then asks about the chosen ones together."""
        ties = self.discovery.residual_neighbours(train, residuals, seed=seed, index=index)
        evidence = screened(train, residuals, self.choice.screen, seed=seed, index=index)
        nothing = ties.untested or (Stated(code="blind_screen") if blind(evidence) else None)
        verdicts = [
            FeatureVerdict(name=name, status="blocked", reason=nothing, evidence=found.numbers)
            if nothing
            # What either the search or the screen ties to the residual stays.
            else FeatureVerdict(
                name=name,
                status="blocked" if name in ties.tied or found.seen.failure else "cause",
                reason=replace(found.seen, tie=ties.tied.get(name)),
                evidence=found.numbers,
            )
            for name, found in zip(train.names, evidence, strict=True)
        ]
        chosen, together, joint = choose(verdicts, self.choice), None, self.choice.joint
        if joint is not None and (joint.on_failure == "prune" or index == (0,)):  # nobody is told of a fold's warning
            chosen, together = checked_jointly(train, residuals, chosen, joint, seed=seed, index=index)
        return Certificate(
            basis="discovered",
            graph=drawn_graph(train, ties, whole=index == (0,), discovery=self.discovery, seed=seed),
            features=chosen,
            joint=together,
            notes=ties.notes,
            method=records.Inquiry(searches=self.discovery.used, screen=self.choice.screen_used),
            assumes=(
                Assumption(code="tests_see_links"),
                Assumption(code=self.discovery.hidden_causes),
                Assumption(code="same_effect"),
                Assumption(code="regressor_accurate"),
            ),
        )
