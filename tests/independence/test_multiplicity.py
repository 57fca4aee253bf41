from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from crda_spec.errors import SpecError
from crda_spec.independence import ADJUSTMENTS, adjust

p_values = st.lists(st.floats(0.0, 1.0), max_size=12).map(lambda found: np.array(found, dtype=np.float64))


@pytest.mark.parametrize(
    ("method", "expected"),
    [
        ("none", [0.01, 0.04, 0.03, 0.5]),
        ("bonferroni", [0.04, 0.16, 0.12, 1.0]),
        ("holm", [0.04, 0.09, 0.09, 0.5]),
        ("fdr_bh", [0.04, 0.16 / 3, 0.16 / 3, 0.5]),
    ],
)
def test_by_hand(method, expected):
    assert adjust(np.array([0.01, 0.04, 0.03, 0.5]), method) == pytest.approx(expected)


@given(p_values)
def test_fdr_agrees_with_scipy(p):
    expected = stats.false_discovery_control(p) if len(p) else p
    assert adjust(p, "fdr_bh") == pytest.approx(expected, rel=1e-12)


@given(p_values, st.floats(0.001, 0.999))
def test_holm_rejects_what_its_step_by_step_procedure_rejects(p, alpha):
    rejected = np.zeros(len(p), dtype=bool)
    for step, position in enumerate(np.argsort(p, kind="stable")):
        if p[position] * (len(p) - step) > alpha:
            break
        rejected[position] = True
    assert ((adjust(p, "holm") <= alpha) == rejected).all()


@given(p_values, st.randoms(use_true_random=False))
@pytest.mark.parametrize("method", ADJUSTMENTS)
def test_adjusted_values_stay_in_order_and_in_range(method, p, random):
    adjusted = adjust(p, method)
    assert ((adjusted >= p * (1 - 1e-15)) & (adjusted <= 1.0)).all()
    assert (np.diff(adjusted[np.argsort(p, kind="stable")]) >= 0).all()
    order = list(range(len(p)))
    random.shuffle(order)
    assert (adjust(p[order], method) == adjusted[order]).all()


@given(p_values)
def test_the_methods_rank_by_caution(p):
    none, fdr, holm, bonferroni = (adjust(p, method) for method in ("none", "fdr_bh", "holm", "bonferroni"))
    assert (none <= fdr).all()
    assert (fdr <= holm * (1 + 1e-12)).all()
    assert (holm <= bonferroni).all()


def test_an_unknown_method_is_named_with_its_neighbour():
    with pytest.raises(SpecError) as caught:
        adjust(np.array([0.1]), "bonferoni")
    assert str(caught.value) == "'bonferoni' is no way to adjust p-values; did you mean 'bonferroni'?"
