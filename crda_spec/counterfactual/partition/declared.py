"""With a declared graph, d-separation decides, and the data only say where they disagree."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from crda_spec.counterfactual.partition.choice import Partition, checked_jointly, choose
from crda_spec.counterfactual.partition.evidence import screened
from crda_spec.records import Array, Assumption, Certificate, Doubt, FeatureVerdict, Inquiry, Stated, Table
from crda_spec.scm.certificate import certify_named, graph_certificate, lemma_holds
from crda_spec.scm.graph import CausalGraph

if TYPE_CHECKING:
    from crda_spec.counterfactual.act import Propagation


@dataclass(frozen=True, slots=True, kw_only=True)
class DeclaredPartitioner:
    """The expert's graph decides; the screen and the joint check say where the data disagree."""

    graph: CausalGraph
    choice: Partition
    propagation: Propagation | None = None  # None: what a moved feature causes is held fixed

    def foreseen(self, features: Sequence[str]) -> tuple[FeatureVerdict, ...]:
        """The graph's verdicts; the choice among features that may move waits for the ranking."""
        verdicts = certify_named(self.graph, features)
        return verdicts if self.propagation is None else self.propagation.restrict(verdicts)

    def partition(self, train: Table, residuals: Array, *, seed: int, index: tuple[int, ...]) -> Certificate:
        """Certifies each feature, warns where the residual disagrees, then chooses."""
        proved = graph_certificate(self.graph, train.names)
        evidence = screened(train, residuals, self.choice.screen, seed=seed, index=index)
        verdicts = [
            replace(
                verdict,
                evidence=found.numbers,
                warning=Doubt(seen=found.seen) if verdict.perturbable and found.fails else None,
            )
            for verdict, found in zip(proved.features, evidence, strict=True)
        ]
        chosen = self._chosen(verdicts)
        together = None
        if self.choice.joint is not None:
            rule = self.choice.joint.model_copy(update={"on_failure": "warn"})
            _, together = checked_jointly(train, residuals, chosen, rule, seed=seed, index=index)
        moved = tuple(verdict.name for verdict in chosen if verdict.perturbable)
        followers = () if self.propagation is None else self.propagation.followers(train.names, moved)
        # The lemma speaks of one partition: it is checked on the largest X_P and on the one that will move.
        holds = proved.lemma_holds and lemma_holds(self.graph, train.names, (*moved, *followers))
        return replace(
            proved,
            features=tuple(_following(verdict) if verdict.name in followers else verdict for verdict in chosen),
            lemma_holds=holds,
            propagated=followers,
            joint=together,
            method=Inquiry(searches=(), screen=self.choice.screen_used),
            assumes=proved.assumes if self.propagation is None else (*proved.assumes, Assumption(code="followers_add")),
        )

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
            replace(verdict, status="kept", reason=Stated(code="follows_its_cause"))
            if verdict.name in moved and verdict.name not in causes
            else verdict
            for verdict in chosen
        )
        still = {verdict.name for verdict in self.propagation.restrict(effects) if verdict.perturbable}
        return effects if still.issuperset(causes) else chosen


def _following(verdict: FeatureVerdict) -> FeatureVerdict:
    """A feature that changes without being moved itself."""
    return replace(verdict, status="follows", reason=Stated(code="follows_equation"), warning=None)
