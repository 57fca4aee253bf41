"""The gate of a spec."""

from __future__ import annotations

from crda_spec.gate.gate import Gate
from crda_spec.gate.metrics import Metric
from crda_spec.gate.tests import TESTS, Bootstrap
from crda_spec.spec.run import RunSpec


def inner_metric(spec: RunSpec) -> tuple[str, float]:
    """By what inner folds choose, and pinball's quantile: the gate's own metric, as a mean over rows.

    rmse and r2 put the choices in the same order as the squared error, fold by fold.
    """
    metric = str(spec.gate.metric)
    quantile = 0.5 if spec.gate.quantile is None else float(spec.gate.quantile)
    return (metric if metric in ("mae", "pinball") else "mse"), quantile


def build_gate(spec: RunSpec) -> Gate:
    """The test with its settings, and the folds it is asked about."""
    gate = spec.gate
    return Gate(
        test=Bootstrap(resamples=gate.resamples) if gate.kind == "bootstrap" else TESTS[gate.kind](),
        folds=gate.folds,
        repeats=getattr(gate, "repeats", 1),
        starts=gate.starts,
        alpha=gate.alpha,
        alternative=gate.alternative,
        metric=Metric(kind=gate.metric, quantile=0.5 if gate.quantile is None else gate.quantile),
        min_effect=gate.min_effect,
        stop=getattr(gate, "stop", "never"),
        enabled=gate.enabled,
    )
