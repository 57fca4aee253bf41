"""What `crda-spec plan` says of the searches: what is varied, where, and how often."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from crda_spec.spec.load import Draft
    from crda_spec.spec.run import RunSpec


def tuning_content(spec: RunSpec, draft: Draft) -> dict[str, Any] | None:
    """The searches as data; None when nothing is searched."""
    from crda_spec.check import searched_knobs, searched_space

    tune, found = spec.tune, {}
    if tune.kind != "none":
        names = sorted(searched_space(spec.regressor.kind, draft))
        found["regressor"] = {"kind": tune.kind, "trials": tune.trials, "folds": tune.folds, "searched": names}
    if tune.augmentation is not None:
        parts = {name: getattr(spec, name) for name in type(spec).model_fields}
        said = tune.augmentation.model_dump(mode="json", exclude={"knobs"})
        found["augmentation"] = {**said, "searched": sorted(searched_knobs(draft, parts))}
    return {"on": tune.on.kind, **found} if found else None


def tuning_lines(tuning: Mapping[str, Any], *, folds: int, rows: int) -> Iterator[str]:
    """The same for people, one line a search."""
    where = f"once, on {rows} training rows set aside" if rows else f"in each of {folds} folds and on all rows"
    for name in ("regressor", "augmentation"):
        if name in tuning:
            one = tuning[name]
            yield (
                f"tuning of the {name}: {one['kind']}, {one['trials']} trials on {one['folds']} inner folds, {where}, "
                f"of {', '.join(one['searched'])}"
            )
    limit = tuning.get("augmentation", {}).get("seconds")
    if limit is not None:
        yield f"a search ends after {limit:g} s: such a run cannot be repeated to the byte"
