"""Convex combinations of two rows, outcomes included: mixup, and two that choose the partner with more care."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Literal

import numpy as np
from pydantic import Field

from crda_spec.counterfactual.augmenters._protocol import (
    BaseAugmenter,
    Given,
    NewRows,
    mixed,
    others_than,
    sources_of,
)
from crda_spec.counterfactual.neighbours import nearest
from crda_spec.records import Array, IntArray
from crda_spec.strict import Positive

_BLOCK = 1_000_000  # cells of a matrix of shares held at once
_FEATURES = 100  # random ones that RegMix judges a choice by
_PENALTY = 1e-2  # of that judge, a row


class Mixup(BaseAugmenter):
    """x' = s x + (1 - s) x_j, y' = s y + (1 - s) y_j, s ~ Beta(alpha, alpha), j any other row (Zhang et al. 2018).

    Drawn once, before training, not anew in every batch. A category is one of the two rows', with probability s.
    """

    kind: Literal["mixup"] = Field("mixup", description="Convex combinations of two random rows and their outcomes.")
    alpha: Positive = Field(1.0, le=100, description="Of the Beta distribution of the mixing share.")

    search: ClassVar[Mapping[str, tuple[object, ...]]] = {"alpha": (0.2, 0.5, 1.0, 2.0)}

    def describe(self) -> str:
        """See `BaseAugmenter.describe`."""
        return f"mixed with its partner row, share from Beta({self.alpha:g}, {self.alpha:g})"

    def partners(self, given: Given, source: IntArray, *, rng: np.random.Generator) -> IntArray:
        """(m,) whom each source row is mixed with."""
        return others_than(source, len(given.train), rng=rng)

    def make(self, given: Given, count: int, *, rng: np.random.Generator) -> NewRows:
        """See `BaseAugmenter.make`."""
        y, source = given.train.y, sources_of(len(given.train), count, rng=rng)
        partner = self.partners(given, source, rng=rng)
        share = rng.beta(self.alpha, self.alpha, size=count)
        x = mixed(given, source, partner, share, rng=rng)
        return NewRows(x=x, label=share * y[source] + (1.0 - share) * y[partner], source=source, partner=partner)


class CMixup(Mixup):
    """Mixup whose partner is likely to have a similar outcome: p(j | i) ~ exp(-(y_i - y_j)^2 / 2 b^2).

    Yao et al. 2022, "C-Mixup: Improving generalization in regression". As there, a row may be its own partner.
    """

    kind: Literal["c_mixup"] = Field("c_mixup", description="Mixup with partners of similar outcome.")  # type: ignore[assignment]
    bandwidth: Positive = Field(1.0, le=100, description="Of the kernel, in standard deviations of the target.")

    search: ClassVar[Mapping[str, tuple[object, ...]]] = {"bandwidth": (0.01, 0.1, 1.0), "alpha": (0.5, 1.0, 2.0)}
    streams: ClassVar[bool] = False  # it compares each row with all others

    def describe(self) -> str:
        """See `BaseAugmenter.describe`."""
        return f"mixed with a row of similar outcome, share from Beta({self.alpha:g}, {self.alpha:g})"

    def partners(self, given: Given, source: IntArray, *, rng: np.random.Generator) -> IntArray:
        """See `Mixup.partners`."""
        y = given.train.y
        place = y / (self.bandwidth * (float(y.std()) or 1.0))
        found, level = np.empty(len(source), dtype=np.int64), rng.random(len(source))
        step = max(1, _BLOCK // len(y))
        for at in range(0, len(source), step):
            rows = slice(at, at + step)
            summed = np.cumsum(np.exp(-0.5 * (place[source[rows], None] - place) ** 2), axis=1)
            found[rows] = (summed < level[rows, None] * summed[:, -1:]).sum(axis=1)
        return np.minimum(found, len(y) - 1)


class RegMix(Mixup):
    """Mixup with one of each row's k nearest neighbours, k learnt row by row on rows held out.

    Hwang and Whang 2021, "RegMix: Data mixing augmentation for regression" by Monte Carlo policy gradient.
    Smaller here than there: the policy is linear in the row, and ridge regression on random Fourier features stands in
    for the network that judges a choice.
    """

    kind: Literal["regmix"] = Field("regmix", description="Mixup with near rows; how near is learnt row by row.")  # type: ignore[assignment]
    neighbours: tuple[int, ...] = Field(
        (1, 2, 4, 8, 16, 32, 64), min_length=1, description="The numbers of neighbours to choose from."
    )
    rounds: int = Field(100, ge=1, le=10_000, description="Steps of the policy gradient.")
    validation: float = Field(0.2, gt=0, lt=1, description="The part of the rows that judges a choice.")

    learns: ClassVar[bool] = True
    streams: ClassVar[bool] = False

    def describe(self) -> str:
        """See `BaseAugmenter.describe`."""
        return f"mixed with a near row, share from Beta({self.alpha:g}, {self.alpha:g})"

    def partners(self, given: Given, source: IntArray, *, rng: np.random.Generator) -> IntArray:
        """See `Mixup.partners`."""
        rows, points = len(given.train), given.points()
        if rows < 2:
            return source
        most = min(max(self.neighbours), rows - 1)
        near = nearest_others(points, most)
        counts = np.minimum(np.array(self.neighbours), most)
        if rows < 5:  # too few to hold one out
            chosen = np.full(rows, counts[-1])
        else:
            chosen = counts[self._policy(points, given.train.y, near, counts, rng=rng).argmax(axis=1)]
        partner: IntArray = near[source, (rng.random(len(source)) * chosen[source]).astype(np.int64)]
        return partner

    def _policy(self, points: Array, y: Array, near: IntArray, counts: IntArray, *, rng: np.random.Generator) -> Array:
        """(n, c) how much each row prefers each number of neighbours, after the rounds (REINFORCE with a baseline)."""
        rows = len(y)
        order = rng.permutation(rows)
        held = order[: max(1, round(self.validation * rows))]
        seen = np.setdiff1d(np.arange(rows), held)
        known = np.isin(np.arange(rows), seen)
        y = (y - y.mean()) / (float(y.std()) or 1.0)
        state = np.column_stack([np.ones(rows), points, y])
        frequency = rng.standard_normal((points.shape[1], _FEATURES)) / np.sqrt(max(1, points.shape[1]))
        shift = rng.uniform(0.0, 2.0 * np.pi, _FEATURES)

        def features(x: Array) -> Array:
            return np.column_stack([np.ones(len(x)), np.cos(x @ frequency + shift)])

        real, target = features(points[seen]), features(points[held])
        gram, moment = real.T @ real, real.T @ y[seen]
        weights, baseline = np.zeros((state.shape[1], len(counts))), None
        for _ in range(self.rounds):
            odds = _softmax(state[seen] @ weights)
            pick = np.minimum((np.cumsum(odds, axis=1) < rng.random((len(seen), 1))).sum(axis=1), len(counts) - 1)
            partner = near[seen, (rng.random(len(seen)) * counts[pick]).astype(np.int64)]
            share = rng.beta(self.alpha, self.alpha, size=len(seen))[:, None]
            usable = known[partner]  # a row held out must not be mixed in
            x = features((share * points[seen] + (1.0 - share) * points[partner])[usable])
            mixed_y = (share[:, 0] * y[seen] + (1.0 - share[:, 0]) * y[partner])[usable]
            ridge = _PENALTY * len(seen) * np.eye(gram.shape[0])
            slopes = np.linalg.solve(gram + x.T @ x + ridge, moment + x.T @ mixed_y)
            reward = -float(((target @ slopes - y[held]) ** 2).mean())
            baseline = reward if baseline is None else baseline
            taken = np.eye(len(counts))[pick] - odds
            weights += 10.0 * (reward - baseline) / (abs(baseline) or 1.0) * (state[seen].T @ taken) / len(seen)
            baseline = 0.9 * baseline + 0.1 * reward
        return np.asarray(state @ weights, dtype=np.float64)


def _softmax(scores: Array) -> Array:
    odds = np.exp(scores - scores.max(axis=1, keepdims=True))
    return np.asarray(odds / odds.sum(axis=1, keepdims=True), dtype=np.float64)


def nearest_others(points: Array, count: int) -> IntArray:
    """(n, count) the rows nearest to each row, itself left out, the nearest first."""
    found = nearest(points, points, count + 1)[1]
    itself = found == np.arange(len(points))[:, None]
    order = np.argsort(itself, axis=1, kind="stable")  # the row itself goes last, whether it was found or not
    return np.take_along_axis(found, order, axis=1)[:, :count]
