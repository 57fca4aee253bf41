"""The verdict: each reason, each sentence, word for word."""

from dataclasses import replace

import numpy as np
import pytest
from gate_parts import MAE
from gate_parts import verdict_of as judge

from crda_spec.errors import DataError
from crda_spec.gate.cross_validate import FoldOutcome, _check_finite
from crda_spec.gate.tests import Wilcoxon
from crda_spec.gate.verdict import abstain, percent_change, rows_to_decide
from crda_spec.records import Cost, FoldResult
from crda_spec.regressors.metrics import MSE
from crda_spec.report.words.gate import verdict_sentence


def outcomes(pairs, *, idle=()):
    return [
        FoldOutcome(
            result=FoldResult(
                fold=number,
                train_rows=90,
                held_out_rows=10,
                plain=plain,
                augmented=augmented,
                perturbed=() if number in idle else ("a",),
                synthetic_rows=0 if number in idle else 112,
            ),
            cost=Cost(fits=2),
            held=np.arange(10 * number - 10, 10 * number),
            plain=np.full(10, plain),
            augmented=np.full(10, augmented),
        )
        for number, (plain, augmented) in enumerate(pairs, start=1)
    ]


BETTER = [(1.0 + k / 10, 0.9 + k / 11) for k in range(10)]


def test_accepted():
    verdict = judge(Wilcoxon(), outcomes(BETTER))
    assert (verdict.decision, verdict.reason, verdict.accepted) == ("accepted", "improved", True)
    assert verdict.p_value == 2**-10
    assert verdict.fits == 20
    assert (verdict.test, verdict.metric, verdict.alpha) == ("wilcoxon, less", "mse", 0.05)
    assert len(verdict.folds) == 10
    assert verdict.effect_percent == pytest.approx(-9.718, abs=1e-3)
    assert verdict_sentence(verdict) == (
        "Augmentation helps: held-out MSE fell in 10 of 10 folds, -9.7 % on average (p = 0.0009766 < 0.05): "
        "use the augmented model."
    )


def test_not_significant():
    """Ranks 8.5 four times and 3.5 six times; P(3.5 A + 8.5 B <= 21) = (1 + 4 * 42/64 + 6 * 7/64) / 16 = 0.2676."""
    pairs = [(1.0, 0.9)] * 4 + [(1.0, 1.05)] * 6
    verdict = judge(Wilcoxon(metric="mae"), outcomes(pairs))
    assert (verdict.decision, verdict.reason) == ("inconclusive", "not_significant")
    assert verdict.interval_percent[0] < -1.0 < verdict.interval_percent[1]
    assert (verdict.level, verdict.planned_folds, verdict.stopped_fits) == (0.9, 10, 0)
    assert verdict_sentence(verdict).startswith(
        "No convincing gain: held-out MAE fell in 4 of 10 folds, -1.0 % on average (p = 0.2676 >= 0.05): "
        "keep the plain model. "
    )


def test_worse():
    verdict = judge(Wilcoxon(), outcomes([(plain, 2 * plain) for plain, _ in BETTER]))
    assert (verdict.decision, verdict.reason) == ("rejected", "worse")
    assert verdict_sentence(verdict) == (
        "Augmentation hurts: held-out MSE fell in 0 of 10 folds, +100.0 % on average (p = 1 >= 0.05): "
        "keep the plain model."
    )


def test_a_significant_test_with_a_worse_mean_is_not_accepted():
    """Nine folds a little better and one a disaster: the ranks say yes, the mean says no."""
    verdict = judge(Wilcoxon(), outcomes([*BETTER[1:], (1.0, 6.0)]))
    assert verdict.p_value < 0.05
    assert (verdict.decision, verdict.reason) == ("rejected", "worse")
    assert verdict_sentence(verdict) == (
        "Augmentation hurts: held-out MSE fell in 9 of 10 folds, +25.5 % on average (p = 0.04199 < 0.05): "
        "keep the plain model."
    )


def test_a_little_worse_is_no_evidence_of_harm():
    verdict = judge(Wilcoxon(folds=5), outcomes([(1.0, 1.01), (1.0, 0.992), (1.0, 1.007), (1.0, 0.995), (1.0, 1.004)]))
    assert (verdict.decision, verdict.reason) == ("rejected", "no_gain_worth_having")
    low = verdict.interval_percent[0]
    assert -1.0 < low < 0.2
    assert verdict_sentence(verdict) == (
        "No gain worth having: held-out MSE fell in 2 of 5 folds, +0.2 % on average (p = 0.6875 >= 0.05): "
        f"keep the plain model. The change is {low:+.1f} % or more (90% interval)."
    )


def test_two_sided_a_lucky_mean_does_not_turn_losing_ranks_into_a_gain():
    """Nine folds a little worse and one far better: two-sided the ranks are significant, but against augmentation."""
    pairs = [(augmented, plain) for plain, augmented in BETTER[1:]] + [(6.0, 1.0)]
    verdict = judge(Wilcoxon(alternative="two-sided", alpha=0.1), outcomes(pairs))
    assert verdict.p_value < 0.1
    assert verdict.effect_percent < 0
    assert (verdict.decision, verdict.reason) == ("rejected", "worse")


def test_a_model_that_runs_away_is_an_error_with_its_fold():
    with pytest.raises(DataError) as caught:
        _check_finite(3, 1.0, float("inf"))
    assert str(caught.value) == (
        "regressor: the augmented model of gate fold 3 predicts numbers that are not finite; "
        "lower its learning rate, or look for extreme values in the data"
    )


def test_two_sided_accepts_only_the_better_side():
    gate = Wilcoxon(alternative="two-sided")
    assert judge(gate, outcomes(BETTER)).accepted
    worse = judge(gate, outcomes([(augmented, plain) for plain, augmented in BETTER]))
    assert worse.p_value == 2**-9
    assert (worse.decision, worse.reason, worse.test) == ("rejected", "worse", "wilcoxon, two-sided")


def test_alpha_itself_is_not_below_alpha():
    pairs = BETTER[:5]
    assert not judge(Wilcoxon(folds=5, alpha=2**-5), outcomes(pairs)).accepted
    assert judge(Wilcoxon(folds=5, alpha=2**-5 + 1e-9), outcomes(pairs)).accepted


@pytest.mark.parametrize(("idle", "said"), [((2,), "In 1 fold "), ((1, 3), "In 2 folds ")])
def test_folds_in_which_nothing_could_move_are_named(idle, said):
    pairs = [(1.0, 1.0) if number in idle else (1.0, 0.9) for number in range(1, 11)]
    verdict = judge(Wilcoxon(), outcomes(pairs, idle=idle))
    assert verdict_sentence(verdict).endswith(f": use the augmented model. {said}no feature could be perturbed.")


def test_two_arms_alike_in_every_fold():
    verdict = judge(Wilcoxon(), outcomes([(0.0, 0.0)] * 10))
    assert (verdict.decision, verdict.reason, verdict.p_value, verdict.effect_percent) == (
        "rejected",
        "no_gain_worth_having",
        1.0,
        0.0,
    )


@pytest.mark.parametrize(
    ("reason", "sentence"),
    [
        ("no_perturbable_features", "No feature may be perturbed, so nothing was augmented: use the plain model."),
        (
            "graph_falsified",
            (
                "The data contradict the declared graph, so nothing it promises was used and nothing was augmented: "
                "use the plain model."
            ),
        ),
    ],
)
def test_nothing_to_test(reason, sentence):
    verdict = abstain(Wilcoxon(metric="mae", alternative="two-sided"), reason)
    assert (verdict.decision, verdict.reason, verdict.accepted) == ("abstained", reason, False)
    assert (verdict.p_value, verdict.effect_percent, verdict.folds, verdict.fits) == (None, None, (), 0)
    assert (verdict.test, verdict.metric) == ("wilcoxon, two-sided", "mae")
    assert verdict_sentence(verdict) == sentence


def test_a_fold_loss_that_is_no_number_is_an_error_not_a_verdict():
    with pytest.raises(ValueError, match=r"^a fold loss is not finite$"):
        judge(Wilcoxon(), outcomes([*BETTER[1:], (1.0, float("nan"))]))


def test_losses_and_changes():
    errors = np.array([3.0, -1.0])
    assert (MSE.loss(errors, spread=1.0), MAE.loss(errors, spread=1.0)) == (5.0, 2.0)
    assert [percent_change(*pair) for pair in ((2.0, 1.0), (2.0, 3.0), (0.0, 0.0), (0.0, 1.0))] == [
        -50.0,
        50.0,
        0.0,
        float("inf"),
    ]


def test_half_of_the_folds_without_anything_to_move_may_not_speak_for_all():
    idle = (1, 2, 3, 4, 5)
    pairs = [(1.0, 1.0) if number in idle else (1.0, 0.9) for number in range(1, 11)]
    verdict = judge(Wilcoxon(), outcomes(pairs, idle=idle))
    assert (verdict.decision, verdict.reason, verdict.p_value) == ("rejected", "unstable_partition", 2**-5)
    assert verdict_sentence(verdict) == (
        "The partition is not stable: held-out MSE fell in 5 of 10 folds, -5.0 % on average (p = 0.03125 < 0.05): "
        "keep the plain model. In 5 folds no feature could be perturbed."
    )


@pytest.mark.parametrize(
    ("folds", "idle", "reason"),
    [(10, 4, "improved"), (10, 5, "unstable_partition"), (11, 5, "improved"), (11, 6, "unstable_partition")],
)
def test_the_majority_of_folds_must_have_something_to_move(folds, idle, reason):
    pairs = [(1.0, 1.0) if number <= idle else (1.0, 0.9) for number in range(1, folds + 1)]
    verdict = judge(Wilcoxon(alpha=0.1), outcomes(pairs, idle=range(1, idle + 1)))
    assert verdict.reason == reason
    assert verdict.accepted == (reason == "improved")


def test_harm_is_named_before_instability():
    pairs = [(1.0, 1.0)] * 5 + [(1.0, 2.0)] * 5
    verdict = judge(Wilcoxon(), outcomes(pairs, idle=range(1, 6)))
    assert (verdict.decision, verdict.reason) == ("rejected", "worse")
    assert verdict_sentence(verdict) == (
        "Augmentation hurts: held-out MSE fell in 0 of 10 folds, +50.0 % on average (p = 1 >= 0.05): "
        "keep the plain model. In 5 folds no feature could be perturbed."
    )


def test_a_loss_beyond_all_numbers_is_infinite_without_a_warning():
    assert MSE.loss(np.array([1e200, 1.0]), spread=1.0) == float("inf")


def test_the_rows_that_would_decide_are_counted_from_the_gain_that_is_asked_for():
    """Errors shrink with the root of the rows: twice the distance needs a quarter of them."""

    def wanted(effect, min_effect):
        gate = Wilcoxon(min_effect=min_effect)
        found = rows_to_decide(gate, 10_000, effect, (effect - 9.0, effect + 9.0), 0.9)
        return None if found is None else found[0]

    assert wanted(-6.0, 5.0) == pytest.approx(4 * wanted(-7.0, 5.0), rel=1e-3)  # to show more than 5 %
    assert wanted(-4.0, 5.0) == pytest.approx(4 * wanted(-3.0, 5.0), rel=1e-3)  # to rule out 5 %
    assert wanted(-6.0, 0.0) == pytest.approx(wanted(-6.0, 5.0) / 36, rel=1e-3)
    assert wanted(-5.0, 5.0) is None  # right on the border no number of rows tells


def test_the_rows_that_would_decide_come_with_the_interval_that_the_effects_error_leaves():
    """The effect may be as near to the border, or as far from it, as its interval says."""
    gate, level = Wilcoxon(), 0.9
    about, low, high = rows_to_decide(gate, 1000, -10.0, (-12.0, -8.0), level)
    needed = [rows_to_decide(gate, 1000, effect, (effect - 2.0, effect + 2.0), level)[0] for effect in (-12.0, -8.0)]
    assert [low, high] == needed
    assert low <= about <= high
    assert rows_to_decide(gate, 1000, -4.0, (-9.0, 1.0), level)[2] is None  # it may be nothing: no number is enough


@pytest.mark.parametrize(
    ("interval", "said"),
    [
        ((1010, 2990), "About 2000 training rows (1100 to 3000) instead of 800 would decide."),
        ((990, 2990), "More training rows could decide; how many cannot be told from these."),
        ((990, None), "More training rows could decide; how many cannot be told from these."),
    ],
    ids=["narrow", "wide", "open"],
)
def test_a_number_of_rows_is_told_only_where_its_interval_is_no_wider_than_a_factor_of_three(interval, said):
    pairs = [(1.0, 0.9)] * 5 + [(1.0, 1.05)] * 5
    verdict = judge(Wilcoxon(), outcomes(pairs))
    assert verdict.reason == "not_significant"
    known = replace(verdict, rows_to_decide=1950, rows_interval=interval, train_rows=800)
    assert verdict_sentence(known).endswith(f": keep the plain model. {said}")
