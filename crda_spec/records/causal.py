"""What the graph proves and what the data say of it: the certificate, its falsification test and its sensitivity.

Why a feature moves or stays, what is assumed and what a search noted are codes, names and numbers, never a sentence:
`crda_spec.report.words` has the sentences. A record on disk keeps the sentence alone, so what is read back from one is
`Quoted`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, WithJsonSchema


@dataclass(frozen=True, slots=True, kw_only=True)
class Quoted:
    """A sentence that was read back from a record."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Unmeasured:
    """A node of the graph that is no feature."""

    name: str
    kind: Literal["latent", "hidden_cause", "column"]  # column: somebody measured it
    drives: tuple[str, ...] = ()  # of a hidden common cause: the two nodes


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenPath:
    """An open path between what is unmeasured about the target and a feature, given all other features.

    held_fixed: other features, held fixed, or the choice of the rows open it. effect: the target causes the feature.
    noise_parent: the feature was declared to drive the noise. acts_through: it acts on the target, or its noise,
    through `node`. shared_cause: a hidden cause of the two. common_cause: `node` drives both.
    """

    kind: Literal["held_fixed", "effect", "noise_parent", "acts_through", "shared_cause", "common_cause"]
    feature: str
    target: str
    tokens: tuple[str, ...]  # nodes and arrows, from the end at which a reader starts
    from_noise: bool = True  # whether it starts at the noise, not at an unmeasured parent of the target
    node: Unmeasured | None = None
    openers: tuple[str, ...] = ()  # the features that, held fixed, open it, and the nodes that rows were chosen by
    effects: tuple[str, ...] = ()  # of these, the ones that the target causes
    chosen_by: tuple[str, ...] = ()  # of these, the ones that rows were chosen by


@dataclass(frozen=True, slots=True, kw_only=True)
class Relief:
    """What would free features, as far as one look at a blocked feature tells; `Remedy` is the whole search."""

    kind: Literal["leave_it_out", "leave_out_effects", "leave_out", "add"]
    names: tuple[str, ...]
    frees: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Tied:
    """A declared graph ties the feature to the target's noise."""

    path: OpenPath
    effect_too: bool = False  # the target causes the feature as well, by another path
    relief: Relief | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Obstacle:
    """Why a feature may not move when its effects are to follow."""

    kind: Literal["not_certified", "held_fixed", "not_computable", "rows_chosen", "noise_tied"]
    feature: str
    follower: str  # the effect that cannot follow; the feature itself when it may not move at all
    witness: tuple[str, ...] = ()  # an open path between an unmeasured cause and what would move; or the way of effects
    way: tuple[str, ...] = ()  # from the feature to the effect
    path: OpenPath | None = None  # of one that is not certified
    node: Unmeasured | None = None  # of one that is not computable: what changes on the way
    loop: tuple[str, ...] = ()  # of a tied noise: the witness, from the moving cause that the noise is tied to


@dataclass(frozen=True, slots=True, kw_only=True)
class Stated:
    """A reason that needs no more than a code and names.

    direct_cause, separated, isolated: (feature, target), certified by a declared graph.  moves_together: what may not.
    """

    code: Literal[
        "direct_cause",
        "separated",
        "isolated",
        "undrawn",
        "follows",
        "follows_equation",
        "follows_its_cause",
        "blind_screen",
        "not_certified",
        "no_rows",
        "kept",
        "derived",
        "not_named",
        "moves_together",
        "identifies_rows",
        "augmenter_keeps",
    ]
    names: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Outranked:
    """The feature may move, and so many others come first."""

    place: int
    of: int
    limit: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class HelpsToPredict:
    """The joint check failed, and this feature of those that moved is the most tied to the residual."""

    features: int  # that moved together
    size: bool  # the residual's size rather than the residual
    p_value: float


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchTie:
    """What a search holds against a feature."""

    kind: Literal["linked", "resampled", "hidden_cause", "votes"]
    method: str = ""
    share: float = 0.0  # of the resamples
    target: str = ""  # of a hidden cause
    votes: tuple[int, int] = (0, 0)  # methods that tie it, of how many
    first: SearchTie | None = None  # what the first of them says


@dataclass(frozen=True, slots=True, kw_only=True)
class Screened:
    """What the screen, and a search before it, see of a feature."""

    screen: str
    statistic: float
    p_value: float  # adjusted for the number of features, if asked for
    failure: Literal["significant", "large"] | None = None  # why the screen keeps the feature fixed
    threshold: float | None = None
    tie: SearchTie | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Doubt:
    """Graph and data disagree: the graph lets the feature move, and the screen would keep it fixed."""

    seen: Screened


@dataclass(frozen=True, slots=True, kw_only=True)
class Untested:
    """There were too few rows to test anything."""

    rows: int  # without a missing cell
    of: int


Reason = Tied | Obstacle | Stated | Outranked | HelpsToPredict | Screened | Untested | Quoted


@dataclass(frozen=True, slots=True, kw_only=True)
class Lemma:
    """Why the lemma of the paper's appendix holds for a feature: a parent of the target, or separated from it."""

    feature: str
    target: str
    parent: bool
    given: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Assumption:
    """What must hold for a certificate to mean anything."""

    code: Literal[
        "graph_is_right",
        "common_causes_drawn",
        "noise_adds",
        "rows_not_selected",
        "selection_drawn",
        "latents_additive",
        "same_effect",
        "regressor_accurate",
        "undrawn_harmless",
        "followers_add",
        "tests_see_links",
        "no_hidden_cause",
        "hidden_causes_leave_traces",
        "methods_see_hidden_causes",
    ]
    target: str = ""
    names: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchUsed:
    """One search for a graph, with its settings."""

    method: str
    alpha: float | None = None  # None for a method without tests
    max_depth: int | None = None
    nonlinear: bool = False
    knowledge: bool = False  # bound by what the expert knows
    resamples: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ScreenUsed:
    """The screen, with its settings."""

    screen: str
    alpha: float
    threshold: float | None
    adjustment: str
    out_of_fold: bool  # whether it looks at residuals of rows that the model had not seen


@dataclass(frozen=True, slots=True, kw_only=True)
class Inquiry:
    """How the data were asked."""

    searches: tuple[SearchUsed, ...]  # none with a declared graph; the majority of several
    screen: ScreenUsed


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """What a reader must know of a search."""

    code: Literal[
        "budget",
        "budget_of_neighbours",
        "budget_beyond",
        "directions_by_cutting_set",
        "arrowheads_by_cutting_set",
        "conflict",
        "overruled",
        "left_out",
        "methods_disagree",
    ]
    names: tuple[str, ...] = ()
    amount: int = 0  # tests that were allowed, or left
    depth: int = 0  # the size of the sets that were not tried


@dataclass(frozen=True, slots=True, kw_only=True)
class Followed:
    """How a feature follows those that cause it.

    additive, rounded: its noise adds to a kernel ridge fit. uniform: its place in the fitted distribution of its labels
    stays. unlearned: no training row shows a value of it.
    """

    kind: Literal["additive", "rounded", "uniform", "unlearned"]
    parents: tuple[str, ...]
    adjusted: tuple[str, ...] = ()  # held fixed beside them


def _quoted(value: object) -> object:
    """A sentence of a record, which has no more; an empty one stands for none."""
    return (Quoted(text=value) if value else None) if isinstance(value, str) else value


# Of a field that a record on disk writes as a sentence.
AS_SENTENCE = (BeforeValidator(_quoted), WithJsonSchema({"type": "string"}))
SpokenReason = Annotated[Reason, *AS_SENTENCE]
SpokenHold = Annotated[Reason | None, *AS_SENTENCE]
SpokenLemma = Annotated[Lemma | Quoted | None, *AS_SENTENCE]
SpokenWarning = Annotated[Doubt | Quoted | None, *AS_SENTENCE]
SpokenAssumption = Annotated[Assumption | Quoted, *AS_SENTENCE]
SpokenInquiry = Annotated[Inquiry | Quoted | None, *AS_SENTENCE]
SpokenNote = Annotated[Note | Quoted, *AS_SENTENCE]

UNPUBLISHED = Field(exclude=True)  # a fact that only the sentence of a record tells: no key of its own on disk

Finite = Annotated[float, WithJsonSchema({"type": "number"})]  # as published; what cannot be is still read

FeatureClass = Literal["irrelevant", "cause", "blocked"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceLine:
    """One edge, as it is read, and where somebody wrote it."""

    edge: str  # `dose <-> recovery`
    where: str  # a path inside the spec (`causal.graph.edges.3`) or a place in a graph file (`model.dag:4:3`)


@dataclass(frozen=True, slots=True, kw_only=True)
class FeatureVerdict:
    """The class of one feature, why it has it, and whether something holds it although its class lets it move.

    irrelevant: the graph separates it from the target, so no label depends on it. cause: it may move while its row
    keeps its noise; the graph proves it, or without a graph the search and the screen found no tie. blocked: it is tied
    to the noise, its effects cannot follow it, or the graph does not draw it.
    """

    name: str  # the feature's column
    status: FeatureClass  # its class, see above
    reason: SpokenReason  # why it has this class, in a sentence
    held: SpokenHold = None  # of one that its class lets move: why it does not by itself; empty when it does
    witness: tuple[str, ...] = ()  # an open path from the noise, written as it is read
    lines: tuple[SourceLine, ...] = ()  # the edges of the witness, where they were written
    blockers: tuple[str, ...] = ()  # unmeasured nodes that, each by itself, would close the witness if held fixed
    lemma: SpokenLemma = None  # of a certified feature: why the paper's lemma holds for it
    evidence: Mapping[str, Finite] = field(default_factory=dict)  # what the screen measured on the training rows
    warning: SpokenWarning = None  # where graph and data disagree

    @property
    def perturbable(self) -> bool:
        """Whether the feature is in X_P."""
        return self.status != "blocked" and self.held is None


def movable(verdicts: Iterable[FeatureVerdict]) -> tuple[str, ...]:
    """The features that may move with their row's noise, whichever of them the spec or the ranking then chooses."""
    return tuple(one.name for one in verdicts if one.status != "blocked")


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
class ClassChange:
    """A feature whose class is another once the suggested edges are in the graph; never a freer one."""

    name: str  # the feature's column
    before: FeatureClass  # by the declared graph
    after: FeatureClass  # with the suggested edges
    by: tuple[str, ...]  # the edges that do it, each alone; all of them where no single one does


@dataclass(frozen=True, slots=True, kw_only=True)
class Repair:
    """The training rows contradict the declared graph, so the certificate stands on the graph with more edges."""

    edges: tuple[str, ...]  # that the rows suggest, `a -> b` or `a <-> b`
    explained: bool  # with them, the rows no longer contradict the graph
    changed: tuple[ClassChange, ...]  # in the table's order
    lost: tuple[str, ...]  # of these, causes that would have moved by the declared graph and are now blocked
    stops: bool = False  # nothing is augmented: rows carry noise, and a cause is lost or the edges explain too little
    sentence: str = ""  # the same in a sentence


@dataclass(frozen=True, slots=True, kw_only=True)
class Certificate:
    """Which features may be perturbed while the noise is carried over, and on what ground."""

    basis: Literal["declared", "discovered"]  # an expert's graph proves it, or tests on the training rows suggest it
    graph: DrawnGraph  # on which the certificate stands
    features: tuple[FeatureVerdict, ...]  # one verdict a feature, in the table's order
    assumes: tuple[SpokenAssumption, ...]  # what must hold for the certificate to mean anything
    noise_side: tuple[str, ...] = ()  # L: the noise and every unmeasured parent of the target; empty when discovered
    largest: tuple[str, ...] = ()  # X_P*: all features that the graph lets move, chosen or not; empty when discovered
    irrelevant: tuple[str, ...] = ()  # of these, the ones that tell nothing of the target once the others are known
    lemma_holds: bool | None = None  # None when there is no declared graph to check it on
    remedies: tuple[Remedy, ...] = ()  # smallest first
    propagated: tuple[str, ...] = ()  # features that follow X_P through their fitted equations, causes first
    joint: JointEvidence | None = None  # None when the spec asks for no such check, or nothing moves
    notes: tuple[SpokenNote, ...] = ()  # what a reader must know of the search: a budget that was hit, conflicts
    method: SpokenInquiry = None  # how the data were asked: the search, the screen, and whose residuals
    repair: Repair | None = None  # None when the graph is the declared one, or discovered

    @property
    def stops(self) -> bool:
        """Whether nothing may be augmented because of what the rows say of the graph."""
        return self.repair is not None and self.repair.stops

    @property
    def perturbed(self) -> tuple[str, ...]:
        """X_P."""
        return tuple(verdict.name for verdict in self.features if verdict.perturbable)

    @property
    def kept(self) -> tuple[str, ...]:
        """X_R."""
        return tuple(one.name for one in self.features if not one.perturbable and one.name not in self.propagated)


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
    in_size: Annotated[bool, UNPUBLISHED] = False  # whether it is rather the residual's size that they help to predict


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
OnFalsified = Literal["recertify", "abstain", "warn", "ignore"]


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
        """Whether nothing may be augmented, whatever a certificate of a corrected graph would say."""
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
