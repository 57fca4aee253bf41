"""The screen's edges: what lies exactly on one stays fixed, many labels are corrected for, blind tests say so."""

import numpy as np
import pytest
from counterfactual_parts import INDEX, discovered, numbers, table

from crda_spec.discovery import Pc
from crda_spec.independence import Pearson
from crda_spec.records import Column
from crda_spec.report.words.causal import reason_sentence

NEVER = 1e-300  # a level at which neither PC nor a p-value finds anything


def noise(values):
    return np.asarray(values, dtype=float)


def screened(train, z, *, threshold=0.99, alpha=NEVER):
    """The verdict on the first feature when only the screen can say no."""
    screen = Pearson(threshold=threshold, alpha=alpha)
    partitioner = discovered(Pc(alpha=NEVER, max_depth=0), screen=screen)
    verdict = partitioner.partition(train, z, seed=0, index=INDEX).features[0]
    return verdict.status, reason_sentence(verdict.reason)


@pytest.fixture
def faint():
    """One feature with a faint tie to the residual."""
    rng = np.random.default_rng(1)
    x = rng.normal(size=(200, 2))
    z = rng.normal(size=200) - 0.15 * x[:, 0]
    return numbers(x, z), noise(z)


def below(value):
    return float(np.nextafter(value, 0.0))


def test_a_p_value_exactly_at_alpha_keeps_the_feature_fixed(faint):
    train, z = faint
    seen = Pearson()(train.x, z)
    r, p = float(seen.statistic[0]), float(seen.p_value[0])
    words = f"(r = {r:+.2f}, p = {p:.2g})"
    assert screened(train, z, alpha=p) == ("blocked", f"its correlation with the residual is significant {words}")
    assert screened(train, z, alpha=below(p)) == ("cause", f"no tie to the residual was found {words}")


def test_a_correlation_exactly_at_the_threshold_keeps_the_feature_fixed(faint):
    train, z = faint
    seen = Pearson()(train.x, z)
    r, p = float(seen.statistic[0]), float(seen.p_value[0])
    assert r < 0
    words = f"(r = {r:+.2f}, p = {p:.2g})"
    at_it = f"its correlation with the residual is at least {-r:g} {words}"
    assert screened(train, z, threshold=-r) == ("blocked", at_it)
    assert screened(train, z, threshold=float(np.nextafter(-r, 1.0))) == (
        "cause",
        f"no tie to the residual was found {words}",
    )


def test_the_p_value_of_a_category_is_corrected_for_its_number_of_labels():
    rng = np.random.default_rng(2)
    code = np.tile(np.arange(5.0), 40)
    z = rng.normal(size=200) + 0.4 * (code == 3)
    train = table(code[:, None], z, [Column(name="ward", type="category", labels=tuple("vwxyz"))])
    alone = Pearson()((code[:, None] == np.arange(5.0)).astype(float), z).p_value
    corrected = float(5 * alone.min())
    assert screened(train, noise(z), alpha=corrected)[0] == "blocked"
    assert screened(train, noise(z), alpha=below(corrected))[0] == "cause"
    assert alone.min() < below(corrected)  # uncorrected, the label would be significant
    pair = table((code[:, None] == 3), z, [Column(name="ward", type="category", labels=("other", "y"))])
    p = float(Pearson()(pair.x, z).p_value[0])
    assert screened(pair, noise(z), alpha=p)[0] == "blocked"  # two labels are one column: nothing to correct for
    assert screened(pair, noise(z), alpha=below(p))[0] == "cause"


def test_a_corrected_p_value_is_never_above_one():
    code = np.tile(np.arange(3.0), 10)
    z = np.random.default_rng(0).permutation(np.linspace(-1.0, 1.0, 30))
    train = table(code[:, None], z, [Column(name="ward", type="category", labels=tuple("xyz"))])
    found = discovered().partition(train, noise(z), seed=0, index=INDEX).features[0].evidence["residual_p_value"]
    least = Pearson()((code[:, None] == np.arange(3.0)).astype(float), z).p_value.min()
    assert found == min(1.0, 3 * least)
    assert 3 * least > 1.0


@pytest.mark.parametrize("codes", [(0.0, 1.0), (0.0, 3.0), (1.0, 2.0), (2.0, 7.0)])
def test_the_numbers_of_labels_change_no_bit_of_the_evidence(codes):
    """A label that only test rows have shifts the codes of the others; the screen may not see that."""
    rng = np.random.default_rng(3)
    which = rng.integers(0, 2, 60)
    z = rng.normal(size=60) + 0.3 * which
    columns = [Column(name="ward", type="category", labels=tuple("abcdefgh"))]
    one, two = (
        discovered()
        .partition(table(np.array(used)[which][:, None], z, columns), noise(z), seed=0, index=INDEX)
        .features
        for used in ((0.0, 1.0), codes)
    )
    assert one == two
    assert abs(one[0].evidence["residual_statistic"]) > 0.01


def test_without_a_complete_row_pc_says_that_it_could_not_test():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(40, 2))
    x[:20, 0], x[20:, 1] = np.nan, np.nan
    certificate = discovered().partition(
        numbers(x, rng.normal(size=40)), noise(rng.normal(size=40)), seed=0, index=INDEX
    )
    assert [(verdict.status, reason_sentence(verdict.reason)) for verdict in certificate.features] == [
        ("blocked", "PC could not test anything: only 0 of 40 rows have no missing cell")
    ] * 2
    x[:3] = 1.0, 2.0
    certificate = discovered().partition(
        numbers(x, rng.normal(size=40)), noise(rng.normal(size=40)), seed=0, index=INDEX
    )
    assert {reason_sentence(verdict.reason) for verdict in certificate.features} == {
        "PC could not test anything: only 3 of 40 rows have no missing cell"
    }


def test_three_rows_are_too_few_for_pc():
    rng = np.random.default_rng(0)
    certificate = discovered().partition(
        numbers(rng.normal(size=(3, 2)), rng.normal(size=3)), noise([1.0, -2.0, 1.5]), seed=0, index=INDEX
    )
    assert [(verdict.status, reason_sentence(verdict.reason)) for verdict in certificate.features] == [
        ("blocked", "PC could not test anything: only 3 rows")
    ] * 2
