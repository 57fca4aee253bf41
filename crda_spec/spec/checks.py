"""What no single field can know: the spec's parts against each other, without looking at any data."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from crda_spec.counterfactual.noise import LocationScale
from crda_spec.counterfactual.partition import Partition
from crda_spec.counterfactual.perturbation import Perturbation
from crda_spec.data.dataset import Dataset
from crda_spec.errors import Complaint, inconsistent, repeated, show
from crda_spec.gate.tests import FiveByTwo, Gate
from crda_spec.spec.run import Causal, Counterfactual, EdgesGraph, Execution


def check_parts(parts: Mapping[str, Any]) -> Iterator[Complaint]:
    """All complaints about the sections that could be read; a section that could not is absent from `parts`."""
    checks: dict[str, Callable[[Any], Iterator[Complaint]]] = {
        "dataset": Dataset.complaints,
        "causal": _causal,
        "partition": _partition,
        "counterfactual": _counterfactual,
        "perturbation": Perturbation.complaints,
        "gate": Gate.complaints,
        "execution": _execution,
    }
    for name, check in checks.items():
        if name in parts:
            yield from check(parts[name])
    if "dataset" in parts and "gate" in parts:
        yield from time_complaints(parts["dataset"], parts["gate"])


def time_complaints(dataset: Dataset, gate: Any) -> Iterator[Complaint]:  # noqa: ANN401 - the spec's union
    """Gates that divide the rows more than once, where rows have an order."""
    repeats = getattr(gate, "repeats", 1)
    if dataset.time is None or repeats == 1:
        return
    if isinstance(gate, FiveByTwo):
        what = "five_by_two divides the rows into halves at random, but dataset.time gives them an order"
        yield inconsistent("gate.kind", what, "use kind: wilcoxon, or leave out dataset.time")
        return
    what = f"{repeats} repeats divide the rows anew, but rows with an order (dataset.time) can be divided in one way"
    yield inconsistent("gate.repeats", what, "write repeats: 1")


def _causal(causal: Causal) -> Iterator[Complaint]:
    if causal.graph is not None and causal.discovery is not None:
        yield inconsistent(
            "causal", "both graph and discovery are given", "keep one; the graph, if an expert stands behind it"
        )
    if causal.graph is None and causal.discovery is None:
        yield inconsistent(
            "causal", "neither graph nor discovery is given", "write one, or remove `causal` to discover with PC"
        )
    for position, name in enumerate(causal.graph.selected if causal.graph is not None else ()):
        what = f"the graph says that rows were selected by {show(name)}, and a certificate knows no selection"
        hint = "remove it if the rows were not chosen by it; if they were, no certificate can be given"
        yield inconsistent(f"causal.graph.selected.{position}", what, hint)
    if causal.graph is not None and not isinstance(causal.graph, EdgesGraph):
        path, text = causal.graph.path, causal.graph.text
        if (path is None) == (text is None):
            what = "both path and text are given" if path else "neither path nor text is given"
            yield inconsistent("causal.graph", what, "give exactly one of them")


def _partition(partition: Partition) -> Iterator[Complaint]:
    for position, name in enumerate(partition.keep):
        if name in (partition.perturb or ()):
            where = f"partition.keep.{position}"
            yield inconsistent(where, f"{show(name)} is also in partition.perturb", "name it in one of the two")
    yield from repeated("partition.perturb", partition.perturb or ())
    yield from repeated("partition.keep", partition.keep)


def _counterfactual(counterfactual: Counterfactual) -> Iterator[Complaint]:
    noise, retention, draw = counterfactual.noise, counterfactual.retention, counterfactual.residual_draw
    single = counterfactual.teacher.kind == "single"
    if single and counterfactual.residuals == "out_of_fold":
        what = "a single teacher has seen every row, so it has no out_of_fold residuals"
        yield inconsistent("counterfactual.residuals", what, "use residuals: in_sample, or teacher: {kind: crossfit}")
    if isinstance(noise, LocationScale):
        if single:
            what = (
                "a single teacher has seen every row, so it cannot tell where the noise is large and where it is small"
            )
            yield inconsistent("counterfactual.noise", what, "use kind: additive, or teacher: {kind: crossfit}")
        if retention == 0:
            what = "no noise is carried (retention: 0), so its size would never be used"
            yield inconsistent("counterfactual.noise", what, "remove it, or set counterfactual.retention above 0")
        low, high = noise.quantiles
        if low >= high:
            what = f"the first quantile must be below the second, but got [{low:g}, {high:g}]"
            yield inconsistent("counterfactual.noise.quantiles", what, "for example [0.01, 0.99]")
    if draw == "none" and retention > 0:
        what = f"none carries no noise, but counterfactual.retention is {retention:g}"
        yield inconsistent("counterfactual.residual_draw", what, "set retention: 0, or draw own or matched noise")
    if draw == "matched" and retention == 0:
        what = "no noise is carried (retention: 0), so there is none to match"
        yield inconsistent("counterfactual.residual_draw", what, "remove it, or set counterfactual.retention above 0")


def _execution(execution: Execution) -> Iterator[Complaint]:
    if execution.jobs != "auto" and execution.jobs < 1:
        yield inconsistent("execution.jobs", f"must be at least 1, got {execution.jobs}", "or write auto")
