"""What a carried noise promises, where the truth is known: the noise's distribution at the new place, or not.

Kolmogorov-Smirnov on samples of several thousand: real noise in a stratum of x against synthetic noise in the same
stratum of x'. Each new row has a source of its own, so the synthetic values are independent too.
"""

import numpy as np
import pytest
from counterfactual_parts import numbers
from scipy.stats import ks_2samp, spearmanr

from crda_spec.counterfactual.abduct import Additive, LocationScale, abduct
from crda_spec.counterfactual.act import act
from crda_spec.counterfactual.perturbation import Perturbation
from crda_spec.counterfactual.policies import Resample
from crda_spec.counterfactual.predict import LabelRule, predict_outcome
from crda_spec.records import Teacher
from crda_spec.scm.certificate import certify_named
from crda_spec.scm.formats.edges import from_edges

ROWS = 6000
SAME, OTHER = 1e-3, 1e-8  # p-values: above, no difference is seen; below, there is no doubt of one


class Truth:
    """A teacher that knows g: what is left is the label rule alone."""

    def predict(self, x):
        return np.sin(2 * x[:, 0]) + x[:, 1] ** 2


def world(seed, *, size=None, tie=0.0):
    """a moves, b is kept. tie: how strongly a hidden cause of y drives a."""
    rng = np.random.default_rng(seed)
    hidden, r = rng.normal(size=ROWS), rng.normal(size=ROWS)
    p = tie * hidden + np.sqrt(1 - tie**2) * rng.normal(size=ROWS)
    noise = (1.0 if size is None else size(p, r)) * (
        np.sqrt(0.5) * hidden + np.sqrt(0.5) * (rng.exponential(size=ROWS) - 1.0)
    )
    x = np.column_stack([p, r])
    return numbers(x, Truth().predict(x) + noise), noise


def carried(train, *, model, draw="own", retention=1.0):
    said = Truth().predict(train.x)
    teacher = Teacher(kind="crossfit", members=(Truth(),), in_sample=said, out_of_fold=said)
    action = act(train, ["a"], Perturbation(default=Resample()), factor=1.0, seed=1, index=(0,))
    made = predict_outcome(
        teacher,
        action,
        abduct(train, teacher, residuals="out_of_fold", noise=model),
        train,
        LabelRule(retention=retention, weight=1.0, draw=draw),
        rng=np.random.default_rng(2),
    )
    return made, made.y - Truth().predict(action.x)


def worst_p_value(real_x, real_noise, new_x, new_noise):
    """The smallest p-value over four strata of (a, b), times their number."""
    found = []
    for high_a in (False, True):
        for high_b in (False, True):
            here = ((real_x > 0) == (high_a, high_b)).all(axis=1)
            there = ((new_x > 0) == (high_a, high_b)).all(axis=1)
            found.append(ks_2samp(real_noise[here], new_noise[there]).pvalue)
    return min(1.0, 4 * min(found))


def growing_with_kept(moved, kept):
    del moved
    return np.exp(0.5 * kept)


def growing_with_moved(moved, kept):
    del kept
    return np.exp(0.8 * moved)


CASES = [
    pytest.param({}, Additive(), True, id="certified"),
    pytest.param({"size": growing_with_kept}, Additive(), True, id="size-by-kept-feature"),
    pytest.param({"size": growing_with_kept}, LocationScale(), True, id="size-by-kept-feature-fitted"),
    pytest.param(
        {"size": growing_with_moved}, LocationScale(quantiles=(0.001, 0.999)), True, id="size-by-moved-feature-fitted"
    ),
    pytest.param({"size": growing_with_moved}, Additive(), False, id="size-by-moved-feature-ignored"),
    pytest.param({"tie": 0.6}, Additive(), False, id="confounded"),
    pytest.param({"tie": 0.6}, LocationScale(), False, id="confounded-and-no-size-can-mend-it"),
]


@pytest.mark.parametrize(("nature", "model", "holds"), CASES)
@pytest.mark.parametrize("draw", ["own", "matched"])
def test_carried_noise_has_the_true_distribution_exactly_where_it_is_certified(nature, model, holds, draw):
    train, _ = world(0, **nature)
    fresh, truth = world(7, **nature)
    made, noise = carried(train, model=model, draw=draw)
    p_value = worst_p_value(fresh.x, truth, made.action.x, noise)
    assert p_value > SAME if holds else p_value < OTHER


def test_less_retention_is_less_noise_and_none_is_none():
    train, _ = world(0)
    for retention in (0.0, 0.5):
        made, noise = carried(train, model=Additive(), retention=retention)
        _, whole = carried(train, model=Additive())
        np.testing.assert_allclose(noise, retention * whole, atol=1e-12)
        assert made.draw == ("own" if retention else "none")


def test_matched_noise_is_a_neighbours_not_the_rows_own():
    train, _ = world(0, size=growing_with_kept)
    own, own_noise = carried(train, model=Additive())
    made, noise = carried(train, model=Additive(), draw="matched")
    assert own.noise_rows.tobytes() == own.action.source.tobytes()
    assert abs(spearmanr(own_noise, noise).statistic) < 0.15  # a tenth of the lenders is the row itself
    assert np.abs(train.x[made.noise_rows, 1] - made.action.x[:, 1]).max() < 1.0
    assert np.median(np.abs(train.x[made.noise_rows, 1] - made.action.x[:, 1])) < 0.01


@pytest.mark.parametrize(
    ("nature", "edges", "latents", "noise_parents", "model"),
    [
        pytest.param({}, ["{a b} -> y"], (), (), Additive(), id="free"),
        pytest.param({"size": growing_with_kept}, ["{a b} -> y"], (), ("b",), Additive(), id="size-by-kept"),
        pytest.param({"size": growing_with_moved}, ["{a b} -> y"], (), ("a",), Additive(), id="size-by-moved"),
        pytest.param({"tie": 0.6}, ["{a b} -> y", "u -> {a y}"], ("u",), (), Additive(), id="hidden-cause"),
        pytest.param({"tie": 0.6}, ["{a b} -> y", "a <-> y"], (), (), LocationScale(), id="hidden-cause-as-arc"),
    ],
)
def test_the_certificate_of_the_true_graph_foretells_whether_carried_noise_is_right(
    nature, edges, latents, noise_parents, model
):
    """The two halves of the promise: what the graph certifies holds in the data, and what it refuses does not."""
    graph = from_edges(
        edges, columns=("a", "b", "y"), target="y", features=("a", "b"), latents=latents, noise_parents=noise_parents
    )
    (verdict,) = [one for one in certify_named(graph, ("a", "b")) if one.name == "a"]
    train, _ = world(3, **nature)
    fresh, truth = world(11, **nature)
    made, noise = carried(train, model=model)
    p_value = worst_p_value(fresh.x, truth, made.action.x, noise)
    assert p_value > SAME if verdict.perturbable else p_value < OTHER


def test_a_little_confounding_is_seen_in_a_large_sample():
    """The test of this file has power: a tie of 0.3 with the hidden cause is enough."""
    train, _ = world(5, tie=0.3)
    fresh, truth = world(13, tie=0.3)
    made, noise = carried(train, model=Additive())
    assert worst_p_value(fresh.x, truth, made.action.x, noise) < SAME
