"""The gate of a spec."""

from __future__ import annotations

from crda_spec.gate.gate import Gate
from crda_spec.gate.metrics import Metric
from crda_spec.gate.tests import TESTS, Bootstrap
from crda_spec.spec.run import RunSpec


def build_gate(spec: RunSpec) -> Gate:
    """The test with its settings, and the folds it is asked about."""
    gate = spec.gate
    return Gate(
        test=Bootstrap(resamples=gate.resamples) if gate.kind == "bootstrap" else TESTS[gate.kind](),
        folds=gate.folds,
        repeats=getattr(gate, "repeats", 1),
        alpha=gate.alpha,
        alternative=gate.alternative,
        metric=Metric(kind=gate.metric, quantile=0.5 if gate.quantile is None else gate.quantile),
        min_effect=gate.min_effect,
        stop=getattr(gate, "stop", "never"),
        enabled=gate.enabled,
    )
