"""What a run answers when it is asked what would have been."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from crda_spec.records.causal import FeatureClass
from crda_spec.records.rows import Column

Cell = float | int | bool | str | None  # as the data have it: a number, a truth, a label; None: missing

# irrelevant: the graph separates what changed from the target. certificate: the graph certifies it. search: no graph
# was declared, and a search and a screen found no tie between it and the noise.
AnswerBasis = Literal["irrelevant", "certificate", "search"]

# What a reader must know of all answers.
Caution = Literal[
    "graph_contradicted",  # the data contradict the declared graph
    "trust_failed",  # rows predict better with the features that the graph calls irrelevant
    "no_graph",  # nothing was declared
    "one_draw",  # a follower is a label or a whole number: its new value is one draw of several that fit
    "searched_teacher",  # no interval: a search chose the teacher
]


@dataclass(frozen=True, slots=True, kw_only=True)
class CellChange:
    """One cell of a row, as it is and as it would have been."""

    name: str
    before: Cell
    after: Cell
    follows: bool = False  # it was not set, and follows what was


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """One row's outcome, had some of its columns been different."""

    row: int  # its number in the run's source, or in the file of questions, counted from 1
    changes: tuple[CellChange, ...]
    observed: float
    outcome: float  # as it would have been
    difference: float
    interval: tuple[float, float] | None  # of the difference; None: nothing was fitted again
    basis: AnswerBasis
    robustness: float | None  # how much a hidden cause must explain of what changed and of the target to turn the sign
    beyond: tuple[str, ...] = ()  # columns whose new value lies beyond all training rows'
    off_data: bool = False  # no training row is near


@dataclass(frozen=True, slots=True, kw_only=True)
class Benchmark:
    """The observed feature that is tied most to both the changed one and the target."""

    name: str
    with_feature: float  # its partial R^2 with the changed feature, given the rest
    with_target: float


@dataclass(frozen=True, slots=True, kw_only=True)
class WhatIf:
    """Answers to one question, and what they rest on."""

    run: str  # the spec's name
    seal: str  # the record's sha256
    target: Column
    asked: tuple[tuple[str, FeatureClass], ...]  # the columns that are set, and their class
    follow: bool
    refits: int
    level: float
    new_rows: bool  # the rows are not the run's own
    cautions: tuple[Caution, ...]
    contradicted: tuple[str, ...]  # features that the graph calls irrelevant, and the rows do not
    benchmark: Benchmark | None  # of a single changed feature
    answers: tuple[Answer, ...]
    sweep: Column | None = None  # that runs through its grid; answers stand row by row
