"""What the page says of the gate's p-value and of what would turn its verdict."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crda_spec.gate.tests import wilcoxon_p_value
from crda_spec.report.gate_words import folds_to_turn, p_value_sentence, turning_sentences


def accepts(values, alpha, two_sided):
    p_value = wilcoxon_p_value(values, "two-sided" if two_sided else "less")
    return p_value < alpha and values.mean() < 0 and wilcoxon_p_value(values, "less") < 0.5


def by_brute_force(difference, alpha, two_sided, accepted):
    side = np.flatnonzero(difference < 0 if accepted else difference > 0)
    for amount in range(1, len(side) + 1):
        for chosen in combinations(side, amount):
            turned = difference.copy()
            turned[list(chosen)] *= -1
            if accepts(turned, alpha, two_sided) != accepted:
                return amount
    return None


@given(
    st.lists(st.integers(-9, 9), min_size=3, max_size=8),
    st.sampled_from([0.05, 0.1, 0.3]),
    st.booleans(),
)
def test_no_smaller_number_of_folds_would_turn_the_verdict(values, alpha, two_sided):
    difference = np.array(values, dtype=np.float64)
    accepted = accepts(difference, alpha, two_sided)
    expected = by_brute_force(difference, alpha, two_sided, accepted)
    assert folds_to_turn(difference, alpha=alpha, two_sided=two_sided, accepted=accepted) == expected


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
