"""The columns of a source, and every name in a spec that should be one of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from crda_spec.counterfactual.partition import Partition
from crda_spec.counterfactual.perturbation import Perturbation
from crda_spec.data.dataset import Dataset
from crda_spec.data.sources import Source, header_of
from crda_spec.data.split import SourceSplit
from crda_spec.errors import Complaint, CrdaError, did_you_mean, show
from crda_spec.spec.load import Draft

LEDGER_PREFIX = "_crda_"  # of the columns that augmented.parquet adds; audit/tables.py writes them


def header_or_complaints(draft: Draft, source: Source, target: str, path: str) -> tuple[str, ...] | None:
    """The header; None, with every complaint noted in the draft, when it cannot be read."""
    try:
        return header_of(source, draft.file.parent, target=target)
    except CrdaError as error:
        for complaint in error.complaints:
            draft.complain(complaint.moved("dataset.source", path))
        return None


def check_second_source(draft: Draft, dataset: Dataset, features: Sequence[str]) -> None:
    """The source of the test rows must have the columns that the training rows have."""
    assert isinstance(dataset.split, SourceSplit)  # noqa: S101 - the caller looked
    path = "dataset.split.source"
    second = header_or_complaints(draft, dataset.split.source, dataset.target, path)
    needed = [*features, dataset.target, *(name for name in (dataset.groups, dataset.weights) if name is not None)]
    absent = [name for name in needed if second is not None and name not in second]
    if absent:
        what = f"the test source has no column {', '.join(show(name) for name in absent[:5])}"
        draft.complain(
            Complaint(code="unknown-column", path=path, what=what, hint="it needs the training source's columns")
        )


def name_complaints(dataset: Dataset, header: Sequence[str]) -> Iterator[Complaint]:
    """Names in `dataset` that are no columns, and columns that we wrote ourselves."""
    for path, name in dataset.column_names():
        if name not in header:
            yield _unknown(path, name, header, "the data have no column", "columns")
    ledger = [name for name in (*dataset.feature_names(header), dataset.target) if name.startswith(LEDGER_PREFIX)]
    if ledger:
        what = f"{show(ledger[0])} is a column of our own ledger, so this table was augmented before"
        hint = f"list dataset.features without {LEDGER_PREFIX} columns, or rename them"
        yield Complaint(code="ledger-column", path="dataset.features", what=what, hint=hint)


def feature_complaints(parts: Mapping[str, Any], features: Sequence[str]) -> Iterator[Complaint]:
    """Names in other sections that are no features, and policies that would never be used."""
    named: list[tuple[str, str]] = []
    if "partition" in parts:
        partition: Partition = parts["partition"]
        named += [(f"partition.perturb.{position}", name) for position, name in enumerate(partition.perturb or ())]
        named += [(f"partition.keep.{position}", name) for position, name in enumerate(partition.keep)]
    if "perturbation" in parts:
        named += [(f"perturbation.features.{name}", name) for name in parts["perturbation"].features]
        named += [(path, name) for path, name, _ in _moving_together(parts["perturbation"])]
    for path, name in named:
        if name not in features:
            yield _unknown(path, name, features, "there is no feature", "features")
    yield from _idle_policies(parts, features)


def _idle_policies(parts: Mapping[str, Any], features: Sequence[str]) -> Iterator[Complaint]:
    """Policies of features that the partition never lets move: a key that would be read and ignored."""
    if "partition" not in parts or "perturbation" not in parts:
        return
    partition: Partition = parts["partition"]
    perturbation: Perturbation = parts["perturbation"]
    for name in perturbation.features:
        where = _held_by(name, partition)
        if where:
            what = f"{show(name)} never moves: {where}"
            path = f"perturbation.features.{name}"
            yield Complaint(code="idle-policy", path=path, what=what, hint="remove the policy, or let the feature move")
    for path, name, others in _moving_together(perturbation):
        where = _held_by(name, partition)
        if where:
            what = f"{show(name)} never moves ({where}), so neither would {' nor '.join(show(one) for one in others)}"
            yield Complaint(code="idle-policy", path=path, what=what, hint="take it out of the set, or let it move")
    yield from _too_many_per_row(partition, perturbation, features)


def _held_by(name: str, partition: Partition) -> str:
    """What keeps a feature from ever moving; empty when nothing in the spec does."""
    if name in partition.keep:
        return "partition.keep holds it fixed"
    if partition.perturb is not None and name not in partition.perturb:
        return "partition.perturb does not name it"
    return ""


def _moving_together(perturbation: Perturbation) -> Iterator[tuple[str, str, tuple[str, ...]]]:
    """The place, the name and the companions of every feature that moves together with others."""
    for number, names in enumerate(perturbation.together):
        for position, name in enumerate(names):
            others = tuple(other for other in names if other != name)
            yield f"perturbation.together.{number}.{position}", name, others


def _too_many_per_row(partition: Partition, perturbation: Perturbation, features: Sequence[str]) -> Iterator[Complaint]:
    """More features a row than can ever move; a set that moves together counts as one."""
    wanted = perturbation.features_per_row
    if wanted == "all":
        return
    free = [name for name in features if not _held_by(name, partition)]
    units = {next((names for names in perturbation.together if name in names), (name,)) for name in free}
    most, why = len(units), "partition and perturbation.together leave"
    if partition.max_features is not None and partition.max_features < most:
        most, why = partition.max_features, "partition.max_features allows"
    if wanted > max(most, 1):  # where nothing may move, one a row is not too many: the run abstains and says why
        what = f"{wanted} of the features cannot move in each row: {why} {most}"
        hint = f"use all, or at most {most}" if most else "let more features move"
        yield Complaint(code="too-many-per-row", path="perturbation.features_per_row", what=what, hint=hint)


def _unknown(path: str, name: str, known: Sequence[str], what: str, otherwise: str) -> Complaint:
    hint = did_you_mean(name, list(known), otherwise=otherwise)
    return Complaint(code="unknown-column", path=path, what=f"{what} {show(name)}", hint=hint)
