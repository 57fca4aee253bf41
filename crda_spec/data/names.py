"""The columns that a spec names, settled against the columns that the data have."""

from __future__ import annotations

from crda_spec.data.contract import Assembly
from crda_spec.data.raw import RawTable
from crda_spec.errors import Complaint, DataError, Place, did_you_mean


def resolve_names(raw: RawTable, assembly: Assembly, wanted: tuple[str, ...] | None) -> tuple[str, ...]:
    """The features in their order, or a DataError with every name that cannot stand.

    wanted: the declared features; None for all columns that have no other part to play.
    """
    known = tuple(str(name) for name in raw.frame.columns)
    place = Place(file=raw.description)
    found = [
        Complaint(
            code="unknown-column",
            path=path,
            place=place,
            what=f"there is no column '{name}'",
            hint=did_you_mean(name, known, otherwise="columns"),
        )
        for path, name in _named(assembly, wanted)
        if name not in known
    ]
    found += [
        Complaint(code=code, path=path, place=place, what=what, hint=hint)
        for code, path, what, hint in _conflicts(assembly, assembly.features or ())
    ]
    reserved = {assembly.target, assembly.groups, assembly.weights, assembly.time, *assembly.exclude}
    features = wanted if wanted is not None else tuple(name for name in known if name not in reserved)
    if not features and not found:
        what = f"no feature is left: the table has only {', '.join(repr(name) for name in known)}"
        found.append(
            Complaint(
                code="no-features", path="dataset.features", place=place, what=what, hint="it needs at least one more"
            )
        )
    if found:
        raise DataError(found)
    return features


def _named(assembly: Assembly, wanted: tuple[str, ...] | None) -> list[tuple[str, str]]:
    """Every name that the spec uses, with the path at which it stands."""
    named = [("dataset.target", assembly.target)]
    if assembly.features is not None:
        named += [(f"dataset.features.{position}", name) for position, name in enumerate(assembly.features)]
    else:
        named += [("dataset.split.source", name) for name in wanted or ()]
    named += [(f"dataset.columns.{name}", name) for name in assembly.columns]
    named += [("dataset.groups", assembly.groups)] if assembly.groups is not None else []
    named += [("dataset.weights", assembly.weights)] if assembly.weights is not None else []
    named += [("dataset.time", assembly.time)] if assembly.time is not None else []
    return named + [("dataset.split.column", name) for name in assembly.exclude]


def _conflicts(assembly: Assembly, features: tuple[str, ...]) -> list[tuple[str, str, str, str]]:
    """Names that play two parts, each with a code, a path, what is wrong and a hint."""
    found: list[tuple[str, str, str, str]] = []
    path, target = "dataset.features", assembly.target
    if target in features:
        what = f"the target '{target}' is listed among the features"
        found.append(("target-is-feature", path, what, "a model may not see what it predicts: remove it"))
    found += [
        ("split-is-feature", path, f"the split column '{name}' is listed among the features", "remove it")
        for name in assembly.exclude
        if name in features
    ]
    found += [
        ("repeated-feature", path, f"'{name}' is listed {features.count(name)} times", "list each feature once")
        for name in dict.fromkeys(name for name in features if features.count(name) > 1)
    ]
    if target in (assembly.groups, *assembly.exclude):
        part = "groups" if target == assembly.groups else "split"
        what = f"the target '{target}' is also the {part} column"
        found.append(("target-has-two-parts", "dataset.target", what, "choose another column"))
    others: tuple[tuple[tuple[str | None, ...], str], ...] = (
        ((target,), "the target"),
        ((assembly.groups,), "the groups column"),
        (assembly.exclude, "the split column"),
        (features, "listed among the features"),
    )
    if assembly.weights is not None:
        found += [
            (
                "weights-have-two-parts",
                "dataset.weights",
                f"the weights column '{assembly.weights}' is also {part}",
                "choose another column",
            )
            for names, part in others
            if assembly.weights in names
        ]
    if assembly.time is not None and assembly.time in (target, assembly.groups, *assembly.exclude):
        what = f"the time column '{assembly.time}' is also the target, the groups or the split column"
        found.append(("time-has-two-parts", "dataset.time", what, "choose another column"))
    return found
