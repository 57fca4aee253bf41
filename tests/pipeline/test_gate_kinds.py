"""Every kind of gate in a whole run, the gate switched off, and what is refused when a spec is loaded."""

import pytest
from pipeline_parts import run_spec

from crda_spec.audit.record import make_record
from crda_spec.errors import SpecError
from crda_spec.pipeline import estimate
from crda_spec.report.terminal import closing
from crda_spec.report.words.gate import verdict_sentence
from crda_spec.spec.build import build_plan
from crda_spec.spec.check import load_spec

SPEC = """
version: 1
recipe: paper
name: gates
seed: 2
dataset: {source: {kind: synthetic, world: home_energy, rows: 100}, target: energy, split: {kind: fraction, test: 0.2}}
falsify: {on_falsified: ignore}
causal: {graph: {kind: edges, edges: ["{outdoor insulation} -> energy"]}}
regressor: {kind: ridge}
execution: {jobs: 1}
gate: GATE
"""


@pytest.fixture(scope="module")
def text(tmp_path_factory):
    """The spec with the world's own columns."""
    folder = tmp_path_factory.mktemp("columns")
    (folder / "spec.yaml").write_text(SPEC[: SPEC.index("falsify:")])
    split, _ = build_plan(*load_spec(folder / "spec.yaml")).load()
    return SPEC.replace("outdoor insulation", " ".join(split.train.names))


GATES = {
    "wilcoxon": ("{kind: wilcoxon, folds: 5, metric: rmse}", 5),
    "wilcoxon_twice": ("{kind: wilcoxon, folds: 6, repeats: 2, metric: r2}", 12),
    "clustered": ("{kind: clustered, folds: 4, metric: rmse, min_effect: 1}", 8),
    "sign": ("{kind: sign, folds: 5, metric: r2}", 5),
    "corrected_t": ("{kind: corrected_t, folds: 4, repeats: 2, metric: mae}", 8),
    "bootstrap": ("{kind: bootstrap, folds: 4, resamples: 199, metric: pinball, quantile: 0.9}", 4),
    "five_by_two": ("{kind: five_by_two, alternative: two-sided}", 10),
}


@pytest.mark.parametrize("kind", GATES)
@pytest.mark.parametrize("recipe", ["paper", pytest.param("distilled", marks=pytest.mark.slow)])
def test_every_gate_runs_and_costs_what_was_foreseen(tmp_path, text, kind, recipe):
    gate, folds = GATES[kind]
    changes = [f"recipe={recipe}"]
    if recipe == "distilled" and kind == "five_by_two":
        changes += ["counterfactual={teacher: {kind: crossfit, folds: 3}}", "partition.residuals=in_sample"]
    result = run_spec(tmp_path, text.replace("GATE", gate), *changes)
    verdict = result.verdict
    assert verdict.test.startswith(f"{kind.removesuffix('_twice')}, ")
    assert [fold.fold for fold in verdict.folds] == list(range(1, folds + 1))
    assert verdict.planned_folds == folds
    assert 0.0 <= verdict.p_value <= 1.0
    assert verdict.interval_percent[0] <= verdict.interval_percent[1]
    cost = estimate(build_plan(*load_spec(tmp_path / "spec.yaml", overrides=changes)))
    idle = sum(not fold.perturbed for fold in verdict.folds)
    assert result.cost.fits == cost.fits_at_most - idle
    assert result.cost.fits + result.cost.reused == cost.fits_unshared - idle
    assert cost.folds == folds


def test_without_a_gate_the_augmented_model_is_used_and_everybody_says_so(tmp_path, text):
    result = run_spec(tmp_path, text.replace("GATE", "{enabled: false}"))
    verdict = result.verdict
    assert (verdict.decision, verdict.reason, verdict.accepted) == ("ungated", "gate_disabled", False)
    assert verdict_sentence(verdict).startswith("UNGATED: the spec switches the gate off")
    assert (verdict.folds, verdict.p_value, result.cost.fits) == ((), None, 2)
    record = make_record(result, spec={"name": "gates"}, spec_yaml="", origins={}, seed=2, graph={})
    assert (record["final_model"], record["verdict"]["decision"]) == ("augmented", "ungated")
    errors = result.split.test.errors(result.model)
    assert float((errors**2).mean()) == result.score.augmented
    assert closing(result, None)[0].text.startswith("UNGATED: ")
    assert estimate(build_plan(*load_spec(tmp_path / "spec.yaml"))).fits_at_most == 2


def test_a_gain_has_to_be_as_large_as_was_asked(tmp_path, text):
    gate = "{kind: corrected_t, folds: 4, min_effect: 50}"
    verdict = run_spec(tmp_path, text.replace("GATE", gate)).verdict
    assert not verdict.accepted
    assert "a gain of 50 % or more asked for" in verdict_sentence(verdict)


@pytest.mark.parametrize(
    ("gate", "said"),
    [
        (
            "{kind: sign, folds: 4}",
            (
                "gate.folds: this gate can never accept: with 4 folds the smallest one-sided p-value is 1/2^4 = "
                "0.0625, which is not below alpha = 0.05; use at least 5 folds"
            ),
        ),
        (
            "{kind: bootstrap, resamples: 99, alpha: 0.01}",
            (
                "gate.resamples: this gate can never accept: with 99 resamples the smallest one-sided p-value is "
                "1/100 = 0.01, which is not below alpha = 0.01; use at least 101 resamples"
            ),
        ),
        (
            "{kind: wilcoxon, repeats: 3, stop: certain}",
            (
                "gate.stop: with 3 repeats nothing is certain before the last one: it changes every row's mean loss; "
                "use stop: never, or repeats: 1"
            ),
        ),
        (
            "{kind: wilcoxon, metric: pinball}",
            "gate.metric: the pinball loss is for one quantile, and none is given; add for example quantile: 0.9",
        ),
        (
            "{kind: wilcoxon, quantile: 0.9}",
            (
                "gate.quantile: only the pinball loss has a quantile, and the metric is mse; "
                "remove it, or use metric: pinball"
            ),
        ),
        ("{kind: five_by_two, folds: 3}", "gate.folds: unknown value 3; write 2"),
    ],
)
def test_gates_that_make_no_sense_are_refused(tmp_path, text, gate, said):
    (tmp_path / "spec.yaml").write_text(text.replace("GATE", gate))
    with pytest.raises(SpecError) as caught:
        load_spec(tmp_path / "spec.yaml")
    assert said in str(caught.value)
