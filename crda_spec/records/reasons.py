"""Why a feature moves or stays, what is assumed, what a search noted: codes, names and numbers, never a sentence.

`crda_spec.report.words` has the sentences. A record on disk keeps the sentence alone, so what is read back from one is
`Quoted`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import BeforeValidator, WithJsonSchema


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

    held_fixed: other features, held fixed, open it. effect: the target causes the feature. noise_parent: the feature
    was declared to drive the noise. acts_through: it acts on the target, or its noise, through `node`. shared_cause: a
    hidden cause of the two. common_cause: `node` drives both.
    """

    kind: Literal["held_fixed", "effect", "noise_parent", "acts_through", "shared_cause", "common_cause"]
    feature: str
    target: str
    tokens: tuple[str, ...]  # nodes and arrows, from the end at which a reader starts
    from_noise: bool = True  # whether it starts at the noise, not at an unmeasured parent of the target
    node: Unmeasured | None = None
    openers: tuple[str, ...] = ()  # the features that, held fixed, open it
    effects: tuple[str, ...] = ()  # of these, the ones that the target causes


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

    kind: Literal["not_certified", "held_fixed", "not_computable", "noise_tied"]
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
        "could_carry_noise",
        "blind_screen",
        "not_certified",
        "no_rows",
        "kept",
        "not_named",
        "moves_together",
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
SpokenLemma = Annotated[Lemma | Quoted | None, *AS_SENTENCE]
SpokenWarning = Annotated[Doubt | Quoted | None, *AS_SENTENCE]
SpokenAssumption = Annotated[Assumption | Quoted, *AS_SENTENCE]
SpokenInquiry = Annotated[Inquiry | Quoted | None, *AS_SENTENCE]
SpokenNote = Annotated[Note | Quoted, *AS_SENTENCE]
