"""What a spec may ask to move: certified features only, or any where rows carry no noise and keep to the support."""

import pytest

from crda_spec.errors import SpecError
from crda_spec.spec.check import load_spec

SPEC = """\
version: 1
name: bases
dataset:
  source: {kind: synthetic, world: clinical_recovery, rows: 60}
  target: recovery
causal:
  graph:
    kind: edges
    edges: ["severity -> {dose recovery}", "age -> recovery"]
    latent: [severity]
partition: {perturb: [age, dose], basis: BASIS}
perturbation: {features: {dose: {kind: jitter}}, propagate: PROPAGATE}
counterfactual: {retention: RETENTION}
"""
BARRED = "the graph does not let 'dose' move: the unmeasured severity drives both dose and recovery"


def loaded(folder, retention, propagate="false", basis="support"):
    text = SPEC.replace("RETENTION", retention).replace("PROPAGATE", propagate).replace("BASIS", basis)
    (folder / "spec.yaml").write_text(text)
    return load_spec(folder / "spec.yaml")


def test_without_noise_any_feature_may_be_named_on_the_support(tmp_path):
    spec, _ = loaded(tmp_path, "0.0")
    assert spec.partition.perturb == ("age", "dose")


@pytest.mark.parametrize(
    ("retention", "propagate", "basis"),
    [
        ("0.01", "false", "support"),
        ("1.0", "false", "support"),
        ("0.0", "true", "support"),
        ("0.0", "false", "certificate"),
    ],
)
def test_with_noise_or_with_effects_that_follow_only_a_certified_one_may(tmp_path, retention, propagate, basis):
    with pytest.raises(SpecError) as caught:
        loaded(tmp_path, retention, propagate, basis)
    found = [(complaint.code, complaint.path) for complaint in caught.value.complaints]
    assert found == [("not-certified", "partition.perturb.1"), ("not-certified", "perturbation.features.dose")]
    assert all(complaint.what.startswith(BARRED) for complaint in caught.value.complaints)
