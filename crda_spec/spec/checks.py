"""What no single field can know: the spec's parts against each other, without looking at any data."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from crda_spec.counterfactual.perturbation import Perturbation
from crda_spec.errors import Complaint, show
from crda_spec.gate.tests import FiveByTwo, Gate
from crda_spec.spec.causal import Causal, EdgesGraph
from crda_spec.spec.counterfactual import Counterfactual, LocationScaleNoise
from crda_spec.spec.dataset import ColumnContract, ColumnSplit, Dataset, SourceSplit, SyntheticSource
from crda_spec.spec.partition import Partition
from crda_spec.spec.run import Execution


def check_parts(parts: Mapping[str, Any]) -> Iterator[Complaint]:
    """All complaints about the sections that could be read; a section that could not is absent from `parts`."""
    checks: dict[str, Callable[[Any], Iterator[Complaint]]] = {
        "dataset": _dataset,
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


def _dataset(dataset: Dataset) -> Iterator[Complaint]:
    features = dataset.features or ()
    if dataset.target in features:
        where = f"dataset.features.{features.index(dataset.target)}"
        yield _bad(where, f"the target {show(dataset.target)} is among the features", "remove it from the list")
    yield from _repeated("dataset.features", features)
    for path, name in (
        ("dataset.groups", dataset.groups),
        ("dataset.split.column", _split_column(dataset)),
        ("dataset.weights", dataset.weights),
    ):
        if name == dataset.target:
            yield _bad(path, f"{show(name)} is the target", "name another column")
        if name is not None and name in features:
            yield _bad(path, f"{show(name)} is among the features", "remove it from dataset.features")
    yield from _weights(dataset)
    yield from _time(dataset)
    for name, contract in dataset.columns.items():
        yield from _contract(f"dataset.columns.{name}", contract)
    target = dataset.columns.get(dataset.target)
    if target is not None and target.type in ("category", "boolean"):
        where = f"dataset.columns.{dataset.target}.type"
        yield _bad(where, f"a regression target cannot be a {target.type}", "declare it continuous or integer")
    yield from _synthetic("dataset.source", dataset.source)
    if isinstance(dataset.split, SourceSplit):
        yield from _synthetic("dataset.split.source", dataset.split.source)


def _weights(dataset: Dataset) -> Iterator[Complaint]:
    """A column of weights has no other part to play."""
    if dataset.weights is None:
        return
    for path, name in (("dataset.groups", dataset.groups), ("dataset.split.column", _split_column(dataset))):
        if name == dataset.weights:
            yield _bad("dataset.weights", f"{show(name)} is also {path}", "name another column")
    contract = dataset.columns.get(dataset.weights)
    if contract is not None and contract.type in ("category", "boolean"):
        where = f"dataset.columns.{dataset.weights}.type"
        yield _bad(where, f"row weights cannot be a {contract.type}", "declare them continuous or integer")


def _time(dataset: Dataset) -> Iterator[Complaint]:
    """The column that orders the rows plays no second part, but for that of a feature."""
    name, path = dataset.time, "dataset.time"
    if name is None:
        return
    if name == dataset.target:
        yield _bad(path, f"{show(name)} is the target", "name another column")
    if name == dataset.groups:
        hint = "remove dataset.groups: rows of equal time are never torn apart"
        yield _bad(path, f"{show(name)} is also dataset.groups", hint)
    if name == _split_column(dataset):
        yield _bad(path, f"{show(name)} is also dataset.split.column", "name another column in one of them")


def time_complaints(dataset: Dataset, gate: Any) -> Iterator[Complaint]:  # noqa: ANN401 - the spec's union
    """Gates that divide the rows more than once, where rows have an order."""
    repeats = getattr(gate, "repeats", 1)
    if dataset.time is None or repeats == 1:
        return
    if isinstance(gate, FiveByTwo):
        what = "five_by_two divides the rows into halves at random, but dataset.time gives them an order"
        yield _bad("gate.kind", what, "use kind: wilcoxon, or leave out dataset.time")
        return
    what = f"{repeats} repeats divide the rows anew, but rows with an order (dataset.time) can be divided in one way"
    yield _bad("gate.repeats", what, "write repeats: 1")


def _split_column(dataset: Dataset) -> str | None:
    return dataset.split.column if isinstance(dataset.split, ColumnSplit) else None


def _synthetic(path: str, source: object) -> Iterator[Complaint]:
    if not isinstance(source, SyntheticSource):
        return
    if (source.world is None) == (source.equations is None):
        what = "both world and equations are given" if source.world else "neither world nor equations is given"
        yield _bad(path, what, "give exactly one of them")
    if source.hidden and source.equations is None:
        yield _bad(f"{path}.hidden", "a named world knows its own hidden variables", "remove the key")


def _contract(path: str, contract: ColumnContract) -> Iterator[Complaint]:
    low, high, values = contract.min, contract.max, contract.values
    if contract.type in ("category", "boolean"):
        for key, bound in (("min", low), ("max", high)):
            if bound is not None:
                yield _bad(
                    f"{path}.{key}", f"a {contract.type} column has no bounds, got {bound:g}", "use values instead"
                )
    if low is not None and high is not None and low > high:
        yield _bad(f"{path}.min", f"`min <= max` must hold, but got (min={low:g}, max={high:g})", "swap them")
    if values is None:
        return
    yield from _repeated(f"{path}.values", values)
    if contract.type in ("continuous", "integer"):
        for value in values:
            if isinstance(value, bool | str):
                yield _bad(
                    f"{path}.values", f"{show(value)} is not a number", f"the column is declared {contract.type}"
                )
    if contract.type == "boolean" and not all(isinstance(value, bool) for value in values):
        yield _bad(f"{path}.values", "a boolean column holds true and false", "remove the key, or declare a category")


def _causal(causal: Causal) -> Iterator[Complaint]:
    if causal.graph is not None and causal.discovery is not None:
        yield _bad("causal", "both graph and discovery are given", "keep one; the graph, if an expert stands behind it")
    if causal.graph is None and causal.discovery is None:
        yield _bad(
            "causal", "neither graph nor discovery is given", "write one, or remove `causal` to discover with PC"
        )
    for position, name in enumerate(causal.graph.selected if causal.graph is not None else ()):
        what = f"the graph says that rows were selected by {show(name)}, and a certificate knows no selection"
        hint = "remove it if the rows were not chosen by it; if they were, no certificate can be given"
        yield _bad(f"causal.graph.selected.{position}", what, hint)
    if causal.graph is not None and not isinstance(causal.graph, EdgesGraph):
        path, text = causal.graph.path, causal.graph.text
        if (path is None) == (text is None):
            what = "both path and text are given" if path else "neither path nor text is given"
            yield _bad("causal.graph", what, "give exactly one of them")


def _partition(partition: Partition) -> Iterator[Complaint]:
    for position, name in enumerate(partition.keep):
        if name in (partition.perturb or ()):
            where = f"partition.keep.{position}"
            yield _bad(where, f"{show(name)} is also in partition.perturb", "name it in one of the two")
    yield from _repeated("partition.perturb", partition.perturb or ())
    yield from _repeated("partition.keep", partition.keep)


def _counterfactual(counterfactual: Counterfactual) -> Iterator[Complaint]:
    noise, retention, draw = counterfactual.noise, counterfactual.retention, counterfactual.residual_draw
    single = counterfactual.teacher.kind == "single"
    if single and counterfactual.residuals == "out_of_fold":
        what = "a single teacher has seen every row, so it has no out_of_fold residuals"
        yield _bad("counterfactual.residuals", what, "use residuals: in_sample, or teacher: {kind: crossfit}")
    if isinstance(noise, LocationScaleNoise):
        if single:
            what = (
                "a single teacher has seen every row, so it cannot tell where the noise is large and where it is small"
            )
            yield _bad("counterfactual.noise", what, "use kind: additive, or teacher: {kind: crossfit}")
        if retention == 0:
            what = "no noise is carried (retention: 0), so its size would never be used"
            yield _bad("counterfactual.noise", what, "remove it, or set counterfactual.retention above 0")
        low, high = noise.quantiles
        if low >= high:
            what = f"the first quantile must be below the second, but got [{low:g}, {high:g}]"
            yield _bad("counterfactual.noise.quantiles", what, "for example [0.01, 0.99]")
    if draw == "none" and retention > 0:
        what = f"none carries no noise, but counterfactual.retention is {retention:g}"
        yield _bad("counterfactual.residual_draw", what, "set retention: 0, or draw own or matched noise")
    if draw == "matched" and retention == 0:
        what = "no noise is carried (retention: 0), so there is none to match"
        yield _bad("counterfactual.residual_draw", what, "remove it, or set counterfactual.retention above 0")


def _execution(execution: Execution) -> Iterator[Complaint]:
    if execution.jobs != "auto" and execution.jobs < 1:
        yield _bad("execution.jobs", f"must be at least 1, got {execution.jobs}", "or write auto")


def _repeated(path: str, names: tuple[Any, ...]) -> Iterator[Complaint]:
    for name, times in Counter(names).items():
        if times > 1:
            yield _bad(path, f"{show(name)} is listed {times} times", "list it once")


def _bad(path: str, what: str, hint: str) -> Complaint:
    return Complaint(code="inconsistent", path=path, what=what, hint=hint)
