"""What the graph proves and what the data say of it: the certificate, its falsification test and its sensitivity."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

FeatureStatus = Literal["direct_cause", "irrelevant", "screened", "follows", "blocked", "undrawn", "kept"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceLine:
    """One edge, as it is read, and where somebody wrote it."""

    edge: str  # `dose <-> recovery`
    where: str  # a path inside the spec (`causal.graph.edges.3`) or a place in a graph file (`model.dag:4:3`)


@dataclass(frozen=True, slots=True, kw_only=True)
class FeatureVerdict:
    """Why one feature may, or may not, be perturbed.

    direct_cause, irrelevant: certified by a declared graph. screened: no dependence on the residual was found.
    follows: changes because a moved feature causes it. blocked: tied to the noise. undrawn: the graph does not name
    it. kept: could have been perturbed, but the spec or the ranking left it alone.
    """

    name: str
    status: FeatureStatus
    reason: str
    witness: tuple[str, ...] = ()  # an open path from the noise, written as it is read
    lines: tuple[SourceLine, ...] = ()  # the edges of the witness, where they were written
    blockers: tuple[str, ...] = ()  # unmeasured nodes that, each by itself, would close the witness if held fixed
    lemma: str = ""  # of a certified feature: why the paper's lemma holds for it
    evidence: Mapping[str, float] = field(default_factory=dict)
    warning: str = ""  # where graph and data disagree

    @property
    def perturbable(self) -> bool:
        """Whether the feature is in X_P."""
        return self.status in ("direct_cause", "irrelevant", "screened")


RemedyKind = Literal["leave_out", "add", "measure"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Remedy:
    """Something that an expert can do, and the features that it was computed to make perturbable.

    leave_out: take features out of the model. add: make unused columns features. measure: observe what is latent.
    """

    kind: RemedyKind
    names: tuple[str, ...]
    frees: tuple[str, ...]
    sentence: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Certificate:
    """Which features may be perturbed while the noise is carried over, and on what ground."""

    basis: Literal["declared", "discovered"]
    graph: DrawnGraph
    features: tuple[FeatureVerdict, ...]  # in the table's order
    assumes: tuple[str, ...]  # what must hold for the certificate to mean anything
    noise_side: tuple[str, ...] = ()  # L: the noise and every unmeasured parent of the target; empty when discovered
    largest: tuple[str, ...] = ()  # X_P*: all features that the graph lets move, chosen or not; empty when discovered
    lemma_holds: bool | None = None  # None when there is no declared graph to check it on
    remedies: tuple[Remedy, ...] = ()  # smallest first
    propagated: tuple[str, ...] = ()  # features that follow X_P through their fitted equations, causes first
    joint: JointEvidence | None = None  # None when the spec asks for no such check, or nothing moves
    notes: tuple[str, ...] = ()  # what a reader must know of the search: a budget that was hit, conflicts
    method: str = ""  # how the data were asked, as a sentence: the search, the screen, and whose residuals

    @property
    def perturbed(self) -> tuple[str, ...]:
        """X_P."""
        return tuple(verdict.name for verdict in self.features if verdict.perturbable)

    @property
    def kept(self) -> tuple[str, ...]:
        """X_R."""
        return tuple(one.name for one in self.features if not one.perturbable and one.status != "follows")


@dataclass(frozen=True, slots=True, kw_only=True)
class JointEvidence:
    """Whether the features that move, together, help to predict the residual of rows that were not fitted."""

    p_value: float  # for the residual and its size together
    gain: float  # the share of the residual's squared error that they explain beside X_R, out of sample
    size_gain: float  # the same for the residual's size
    rows: int
    alpha: float
    failed: bool
    pruned: tuple[str, ...]  # features that were held fixed until the rest passed
    sentence: str


NodeRole = Literal["feature", "target", "latent", "noise", "unused"]


# An arrowhead, a tail, and a circle where the data leave open which of the two it is.
EdgeMark = Literal["->", "<->", "--", "o->", "o-o", "o--"]
DrawnEdge = tuple[str, str, EdgeMark]


@dataclass(frozen=True, slots=True, kw_only=True)
class DrawnGraph:
    """A graph as it is shown: names and marks only. The mathematics is in `scm.graph`."""

    nodes: tuple[tuple[str, NodeRole], ...]
    edges: tuple[DrawnEdge, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class TestedStatement:
    """One conditional independence that the graph implies, and what the training rows say of it."""

    __test__ = False  # not a test case, whatever pytest thinks of the name

    first: str
    second: str
    given: tuple[str, ...]
    statistic: float
    p_value: float
    adjusted: float  # the p-value after the correction for the number of statements
    violated: bool


FalsificationOutcome = Literal["not_falsified", "falsified", "not_informative"]
OnFalsified = Literal["abstain", "warn", "ignore"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Falsification:
    """Whether the training rows refute the expert's graph."""

    outcome: FalsificationOutcome
    on_falsified: OnFalsified
    sentence: str  # what was found and what to do next
    test: str  # the conditional test, in words
    alpha: float
    rows: int
    implied: int  # statements of the basis; `statements` holds fewer when a budget was hit
    statements: tuple[TestedStatement, ...]  # the worst first
    suggested: tuple[str, ...]  # edges that would excuse the violated statements, `a -> b` or `a <-> b`
    permutations: int
    as_good: float | None  # share of graphs with permuted nodes that violate no larger part of what they imply
    equivalent: float | None  # share of them that imply the very same statements: 1 when permuting changes nothing

    @property
    def forbids(self) -> bool:
        """Whether nothing may be augmented because of it."""
        return self.outcome == "falsified" and self.on_falsified == "abstain"


@dataclass(frozen=True, slots=True, kw_only=True)
class FeatureSensitivity:
    """How strong a hidden common cause of the target and one moved feature must be to use up the gate's gain."""

    name: str
    robustness: float  # partial R^2 with both, at which the label's error costs as much as the gate found; 0 to 1
    limit: float  # k^2: the product R2_y * R2_x / (1 - R2_x) at which that happens; infinite when nothing is carried
    moved_sd: float  # root mean square of the feature's change, in its own unit
    remaining_sd: float  # of the feature, given the other features
    observed: str  # the observed feature that is tied most strongly to both, as a yardstick; "" when there is none
    observed_with_feature: float  # its partial R^2 with the moved feature
    observed_with_target: float  # its partial R^2 with the target


@dataclass(frozen=True, slots=True, kw_only=True)
class Sensitivity:
    """The certificate's promise against the gate's measured gain, after Cinelli and Hazlett (2020)."""

    gain: float  # the fall of the mean held-out squared error that the gate measured
    retention: float
    features: tuple[FeatureSensitivity, ...]
    sentence: str
