"""One seed, many independent random streams, each known by its name.

A stage asks for the stream of its own name (and fold), so a new stage, or a different order of work,
shifts no other stage's draws. Nothing in this package touches a global random state.
"""

from __future__ import annotations

import zlib

import numpy as np

STREAM_RULE = (
    "numpy.random.default_rng(SeedSequence(seed, spawn_key=(crc32(name), *index))); the index names the gate fold, 0 "
    "for all training rows, and a repetition where there is one"
)
# Every stream of the package, for the record; <...> stands for a name that varies. A test finds one that is missing.
STREAMS = {
    "act together:<features>": "draws of features that move as one",
    "act:<feature>": "draws of one moved feature",
    "again <attempt> <stream>": "a draw that is repeated because its row broke a rule",
    "augmenter": "rows that another method makes",
    "bag": "the fit of one bagged teacher",
    "bags": "the rows of each bagged teacher",
    "bootstrap": "the interval of the test score",
    "conditional-rows": "rows to draw a value from, given the kept features",
    "dataset": "rows of a synthetic source",
    "dataset-test": "rows of a synthetic second source",
    "diagnostics": "which rows the report looks at",
    "discovery-stability": "resamples of a search",
    "falsify": "the test of the declared graph",
    "fold-model": "the fit of a model that leaves out folds",
    "follow:<feature>": "draws of a feature that follows a moved one",
    "gate-folds": "the folds of the gate",
    "gate-interval": "the interval of the change over the gate's held-out rows",
    "gate-repeat": "the seed of each repetition of the gate's folds",
    "gate-sides": "the gate's test turned round, to tell harm from no gain",
    "gate-start": "the seed of each further start of a gate fold's models",
    "gate-test": "a gate's test that draws at random",
    "gaussian-process": "which rows settle the scales of a Gaussian process and carry it, the same for every seed",
    "generate-augmenter": "rows of a generated block that another method makes",
    "generate-features": "which features move in a generated block",
    "generate-noise": "whose noise a generated row carries",
    "generate-shared:<policy>": "draws that the features of a generated row share",
    "generate-sources": "which rows a generated block is made from",
    "generate-unmoved": "which rows of a generated block stay where their source is",
    "generate:<stream>": "draws of one feature in a generated block",
    "joint-check": "the folds of the joint check",
    "knob-folds": "the inner folds of a search for knobs",
    "knobs": "the knobs that a search tries",
    "matched-noise": "whose noise a row carries under a matched draw",
    "nearness-rows": "reference rows for distances",
    "nearness-ties": "which of equally near rows is nearest",
    "network": "initial weights and batches of a network",
    "picture": "the search behind the picture of a discovered graph",
    "row-<policy>": "draws that the features of a row share",
    "row-features": "which features move in each row",
    "sample": "the rows of dataset.sample",
    "screen-residual": "the screen of the residuals",
    "screen-shuffles": "shuffles of a permutation test",
    "screen-target": "the screen of the target",
    "screening": "the fits of the screen's own teacher",
    "search": "the search for ties with the noise",
    "search-target": "the search for ties with the target",
    "second opinion: landmarks": "landmarks of the second opinion on a refuted claim",
    "second opinion: ties": "which of equally near rows are paired in the second opinion",
    "shift": "the order of irrelevant features in the shuffled test rows",
    "sources": "which training row each new row is made from",
    "split": "which rows are the test set",
    "student": "the fit of the model that is compared, the same in both arms",
    "support": "reference rows of the support guard",
    "teacher": "the fits of a cross-fitted teacher",
    "teacher-<position>": "the fits of another kind of model in a committee",
    "teacher-folds": "the folds of a cross-fitted teacher",
    "tune": "the settings that a search tries",
    "tune-fit": "the fits of a search for settings",
    "tune-folds": "the folds of a search for settings",
    "tuning-gate-folds": "the folds that stand for the gate's on rows set aside for searches",
    "tuning-split": "which rows are set aside for searches",
    "unmoved": "which new rows stay where their source is",
    "validation": "the rows that early stopping watches",
    "whatif-fit": "the fits of the teachers that a what-if's interval is made of",
    "whatif-folds": "the folds in which rows are predicted unseen for such an interval",
    "whatif-follow:<feature>": "draws of a feature that follows a change in a what-if",
    "whatif-rows": "the signs and rows of each such teacher's training rows",
    "published": "all that the published code draws, in `protocol: published` of a benchmark suite",
    "wrong-graph": "which arrow of a benchmark suite's wrong graph is wrong",
    "world:<variable>": "draws of one variable of a synthetic world",
}


def _sequence(seed: int, stage: str, index: tuple[int, ...]) -> np.random.SeedSequence:
    return np.random.SeedSequence(seed, spawn_key=(zlib.crc32(stage.encode()), *index))


def stream(seed: int, stage: str, *index: int) -> np.random.Generator:
    """The generator of one stage (and fold)."""
    return np.random.default_rng(_sequence(seed, stage, index))


def integer_seed(seed: int, stage: str, *index: int) -> int:
    """A 31-bit seed for libraries that take an integer instead of a Generator."""
    return int(_sequence(seed, stage, index).generate_state(1, np.uint32)[0] >> 1)
