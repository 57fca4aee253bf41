"""What the graph proves and what the data say of it: the certificate, its falsification test and its sensitivity."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Literal

from pydantic import Field, WithJsonSchema

from crda_spec.records.reasons import (
    SpokenAssumption,
    SpokenInquiry,
    SpokenLemma,
    SpokenNote,
    SpokenReason,
    SpokenWarning,
    Unmeasured,
)

UNPUBLISHED = Field(exclude=True)  # a fact that only the sentence of a record tells: no key of its own on disk

Finite = Annotated[float, WithJsonSchema({"type": "number"})]  # as published; what cannot be is still read

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

    name: str  # the feature's column
    status: FeatureStatus  # see above
    reason: SpokenReason  # the reason, in a sentence
    witness: tuple[str, ...] = ()  # an open path from the noise, written as it is read
    lines: tuple[SourceLine, ...] = ()  # the edges of the witness, where they were written
    blockers: tuple[str, ...] = ()  # unmeasured nodes that, each by itself, would close the witness if held fixed
    lemma: SpokenLemma = None  # of a certified feature: why the paper's lemma holds for it
    evidence: Mapping[str, Finite] = field(default_factory=dict)  # what the screen measured on the training rows
    warning: SpokenWarning = None  # where graph and data disagree

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

    kind: RemedyKind  # see above
    names: tuple[str, ...]  # the features, columns or hidden nodes; (a <-> b) is the hidden cause of both
    frees: tuple[str, ...]  # the features that it makes perturbable, all of them
    sentence: str = ""  # the same in a sentence; `report.words` makes it when the record is written
    nodes: Annotated[tuple[Unmeasured, ...], UNPUBLISHED] = ()  # of what is to be measured


@dataclass(frozen=True, slots=True, kw_only=True)
class Certificate:
    """Which features may be perturbed while the noise is carried over, and on what ground."""

    basis: Literal["declared", "discovered"]  # an expert's graph proves it, or tests on the training rows suggest it
    graph: DrawnGraph  # on which the certificate stands
    features: tuple[FeatureVerdict, ...]  # one verdict a feature, in the table's order
    assumes: tuple[SpokenAssumption, ...]  # what must hold for the certificate to mean anything
    noise_side: tuple[str, ...] = ()  # L: the noise and every unmeasured parent of the target; empty when discovered
    largest: tuple[str, ...] = ()  # X_P*: all features that the graph lets move, chosen or not; empty when discovered
    lemma_holds: bool | None = None  # None when there is no declared graph to check it on
    remedies: tuple[Remedy, ...] = ()  # smallest first
    propagated: tuple[str, ...] = ()  # features that follow X_P through their fitted equations, causes first
    joint: JointEvidence | None = None  # None when the spec asks for no such check, or nothing moves
    notes: tuple[SpokenNote, ...] = ()  # what a reader must know of the search: a budget that was hit, conflicts
    method: SpokenInquiry = None  # how the data were asked: the search, the screen, and whose residuals

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

    p_value: Finite  # for the residual and its size together
    gain: Finite  # the share of the residual's squared error that they explain beside X_R, out of sample
    size_gain: Finite  # the same for the residual's size
    rows: Annotated[int, Field(ge=0)]  # that were asked
    alpha: Finite  # a p-value at most this small means that they help
    failed: bool  # whether they help, so that carrying the noise over is doubtful
    pruned: tuple[str, ...]  # features that were held fixed until the rest passed
    sentence: str = ""  # the same in a sentence
    features: Annotated[int, UNPUBLISHED] = 0  # that were asked about: none when all were pruned
    folds: Annotated[int, UNPUBLISHED] = 0  # none when there were too few rows


NodeRole = Literal["feature", "target", "latent", "noise", "unused"]


# An arrowhead, a tail, and a circle where the data leave open which of the two it is.
EdgeMark = Literal["->", "<->", "--", "o->", "o-o", "o--"]
DrawnEdge = tuple[str, str, EdgeMark]


@dataclass(frozen=True, slots=True, kw_only=True)
class DrawnGraph:
    """A graph as it is shown: names and marks only. The mathematics is in `scm.graph`."""

    nodes: tuple[tuple[str, NodeRole], ...]  # each as [name, role]; unused: a column that is no feature
    edges: tuple[DrawnEdge, ...]  # each as [node, node, mark]


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
    sentence: str = ""  # what was found and what to do next
    test: str = ""  # the conditional test, in words
    alpha: float
    rows: int
    implied: int  # statements of the basis; `statements` holds fewer when a budget was hit
    statements: tuple[TestedStatement, ...]  # the worst first
    suggested: tuple[str, ...]  # edges that would excuse the violated statements, `a -> b` or `a <-> b`
    permutations: int
    as_good: float | None  # share of graphs with permuted nodes that violate no larger part of what they imply
    equivalent: float | None  # share of them that imply the very same statements: 1 when permuting changes nothing
    others_as_good: Annotated[float | None, UNPUBLISHED] = None  # as_good among those that imply something else
    explained: Annotated[bool, UNPUBLISHED] = False  # the graph with the suggested edges is no longer contradicted
    unasked: Annotated[int, UNPUBLISHED] = 0  # more statements that only the first of the two tests calls violated

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


NotMeasured = Literal["category", "too_few_rows"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Sensitivity:
    """The certificate's promise against the gate's measured gain, after Cinelli and Hazlett (2020)."""

    gain: float  # the fall of the mean held-out squared error that the gate measured
    retention: float
    features: tuple[FeatureSensitivity, ...]
    sentence: str = ""  # the weakest feature, its yardstick, and what was left out
    target: Annotated[str, UNPUBLISHED] = ""
    left_out: Annotated[Mapping[str, NotMeasured], UNPUBLISHED] = field(default_factory=dict)  # moved, but: name -> why
