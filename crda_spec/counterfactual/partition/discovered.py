"""Without a graph: what a search ties to the residual, then what the screen and the joint check see, stays fixed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from crda_spec.counterfactual.partition.choice import Choice, Joint, checked_jointly, choose
from crda_spec.counterfactual.partition.evidence import Evidence, Screening, blind, screened, tie_name
from crda_spec.counterfactual.partition.ties import Finder, drawn_graph
from crda_spec.records import Array, Certificate, FeatureVerdict, Table


@dataclass(frozen=True, slots=True, kw_only=True)
class DiscoveredPartitioner:
    """The paper's filters, with any search and any screen: what either ties to the residual stays fixed."""

    finder: Finder
    screening: Screening
    choice: Choice
    joint: Joint | None = None

    def foreseen(self, features: Sequence[str]) -> tuple[FeatureVerdict, ...]:
        """Nothing: the filters need residuals."""
        del features
        return ()

    def partition(self, train: Table, residuals: Array, *, seed: int, index: tuple[int, ...]) -> Certificate:
        """Filters each feature, then chooses, then asks about the chosen ones together."""
        ties = self.finder.ties(train, residuals, seed=seed, index=index)
        evidence = screened(train, residuals, self.screening, seed=seed, index=index)
        nothing = ties.untested or blind(evidence)
        verdicts = [
            FeatureVerdict(name=name, status="blocked", reason=nothing, evidence=found.numbers)
            if nothing
            else self._verdict(name, found, ties.tied.get(name, ""))
            for name, found in zip(train.names, evidence, strict=True)
        ]
        chosen, together = choose(verdicts, self.choice), None
        if self.joint is not None:
            chosen, together = checked_jointly(train, residuals, chosen, self.joint, seed=seed, index=index)
        return Certificate(
            basis="discovered",
            graph=drawn_graph(train, ties, whole=index == (0,), finder=self.finder, seed=seed),
            features=chosen,
            joint=together,
            notes=ties.notes,
            method=f"{self.finder.words} and {self.screening.words} looked for ties to {self.screening.whose}.",
            assumes=(
                "no link found means no link: the tests need enough rows, and see only the dependence they look for",
                self.finder.hidden_causes,
                "the regressor is accurate where features move: its own error travels with the noise",
            ),
        )

    def _verdict(self, name: str, found: Evidence, tied: str) -> FeatureVerdict:
        if tied:
            return FeatureVerdict(name=name, status="blocked", reason=f"{tied} ({found.words})", evidence=found.numbers)
        if found.fails:
            reason = f"its {tie_name(self.screening)} with the residual is {found.failure} ({found.words})"
            return FeatureVerdict(name=name, status="blocked", reason=reason, evidence=found.numbers)
        reason = f"no tie to the residual was found ({found.words})"
        return FeatureVerdict(name=name, status="screened", reason=reason, evidence=found.numbers)
