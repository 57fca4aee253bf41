"""What the page says of the gate's p-value and of what would turn its verdict."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crda_spec.gate.tests import Wilcoxon, wilcoxon_p_value
from crda_spec.gate.verdict import conclude, measure, paired_folds
from crda_spec.records import FoldResult
from crda_spec.report.words.gate import folds_to_turn, p_value_sentence, turning_sentences, verdict_sentence


def accepts(values, alpha, two_sided, asked=0.0):
    p_value = wilcoxon_p_value(values, "two-sided" if two_sided else "less")
    return p_value < alpha and (values - asked).mean() < 0 and wilcoxon_p_value(values, "less") < 0.5


def by_brute_force(difference, alpha, two_sided, accepted, asked):
    side = np.flatnonzero(difference < 0 if accepted else difference > 0)
    for amount in range(1, len(side) + 1):
        for chosen in combinations(side, amount):
            turned = difference.copy()
            turned[list(chosen)] *= -1
            if accepts(turned, alpha, two_sided, asked) != accepted:
                return amount
    return None


@given(
    st.lists(st.integers(-9, 9), min_size=3, max_size=8),
    st.sampled_from([0.05, 0.1, 0.3]),
    st.booleans(),
    st.sampled_from([0.0, 1.0, 4.0]),
)
def test_no_smaller_number_of_folds_would_turn_the_verdict(values, alpha, two_sided, asked):
    difference = np.array(values, dtype=np.float64)
    accepted = accepts(difference, alpha, two_sided, asked)
    expected = by_brute_force(difference, alpha, two_sided, accepted, asked)
    settings = {"alpha": alpha, "two_sided": two_sided, "accepted": accepted}
    assert folds_to_turn(difference, **settings, asked=asked) == expected


@pytest.mark.parametrize(
    ("p_value", "said"),
    [
        (0.0322, "If the augmentation did nothing, about 3.2 in 100 such runs would speak for it at least this"),
        (0.00391, "If the augmentation did nothing, about 3.9 in 1000 such runs"),
        (1e-6, "If the augmentation did nothing, fewer than 1 in 10 000 such runs"),
        (1.0, "If the augmentation did nothing, about 100 in 100 such runs"),
    ],
)
def test_the_p_value_in_counts(build, p_value, said):
    verdict = replace(build("accepted").verdict, p_value=p_value)
    assert p_value_sentence(verdict).startswith(said)
    assert p_value_sentence(verdict).endswith("; the gate accepts below 5 in 100 (alpha 0.05).")
    assert p_value_sentence(replace(verdict, p_value=None)) == ""


def test_what_would_turn_it(build):
    accepted = build("accepted")
    accepted = replace(accepted, verdict=replace(accepted.verdict, test="wilcoxon, less"))
    first, second = turning_sentences(accepted)
    assert first.startswith("It hangs on ")
    assert second.startswith("Without the fold that gained most (fold ")
    assert turning_sentences(build("falsified")) == (
        "A graph that the data do not contradict: see which statements were violated, and correct the graph.",
    )
    other = replace(accepted, verdict=replace(accepted.verdict, test="bootstrap"))
    assert turning_sentences(other) == (second,), "a test whose arithmetic is not known here gets no count"


def judged(gains, **settings):
    """The gate's own verdict on ten folds with these gains, in percent."""
    gate = Wilcoxon(folds=len(gains), **settings)
    folds = tuple(
        FoldResult(
            fold=number,
            train_rows=90,
            held_out_rows=10,
            plain=100.0,
            augmented=100.0 - gain,
            perturbed=("dose",),
            synthetic_rows=90,
        )
        for number, gain in enumerate(gains, start=1)
    )
    return conclude(gate, folds, measure(gate, paired_folds(folds), folds, seed=0), rows=100)


def test_what_would_turn_it_counts_the_gain_that_was_asked_for(build):
    gains = [9.0, 8.5, 8.0, 7.5, 7.0, 6.5, 6.0, 4.0, 3.0, 2.0]
    run = build("accepted")
    free, bound = judged(gains), judged(gains, min_effect=5.0)
    assert (free.decision, bound.decision) == ("accepted", "inconclusive")
    assert "fell in 10 of 10 folds (by more than 5 % in 7), -6.2 % on average" in verdict_sentence(bound)
    assert "by more than" not in verdict_sentence(free)
    first = turning_sentences(replace(run, verdict=bound))[0]
    said = re.fullmatch(
        r"(\d) folds? that fell short of the 5 % asked for, had (?:it|they) exceeded it by as much, would have been "
        "enough to accept.",
        first,
    )
    needed = int(said[1])
    short = sorted((gain for gain in gains if gain < 5.0), key=lambda gain: gain)
    turned = {gain: 10.0 - gain for gain in short[:needed]}
    assert judged([turned.get(gain, gain) for gain in gains], min_effect=5.0).accepted
    turned = {gain: 10.0 - gain for gain in short[: needed - 1]}
    assert not judged([turned.get(gain, gain) for gain in gains], min_effect=5.0).accepted
    sure = judged([gain + 4.0 for gain in gains], min_effect=5.0)
    assert sure.accepted
    assert re.match(
        r"It hangs on \d of 10 folds: \d folds? that gained more than the 5 % asked for, had (it|they) fallen short by "
        "as much, would have turned it.",
        turning_sentences(replace(run, verdict=sure))[0],
    )
    assert p_value_sentence(sure).startswith("If the augmentation gained 5 % and no more, ")


def test_a_gate_that_stopped_early_is_not_turned_by_its_folds(build):
    run = build("accepted")
    verdict = replace(judged([-1.0] * 5 + [1.0] * 5), reason="cannot_pass", decision="rejected")
    assert not any("enough to accept" in one for one in turning_sentences(replace(run, verdict=verdict)))


def test_an_abstention_points_to_its_remedy(build):
    run = build("abstained")
    remedies = build("accepted").certificate.remedies
    with_remedy = replace(run, certificate=replace(run.certificate, remedies=remedies))
    assert turning_sentences(with_remedy) == (
        "A feature that may move. The smallest change: With severity measured and among the features, dose could move.",
    )
    assert turning_sentences(replace(run, certificate=replace(run.certificate, remedies=()))) == (
        "A feature that may move: the table above tells what holds each of them fixed.",
    )
