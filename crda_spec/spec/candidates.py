"""`tune.augmentation: {kind: candidates}`: other augmentations, each written as what it changes in the spec."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from pydantic import ValidationError

from crda_spec.errors import Complaint
from crda_spec.spec.load import check_parts
from crda_spec.spec.recipes import whole_preset_of
from crda_spec.spec.run import RunSpec
from crda_spec.spec.tune import Candidate, CandidateTuning

CANDIDATES = "tune.augmentation.candidates"
_SECTIONS = ("partition", "counterfactual", "perturbation")


def candidate_specs(spec: RunSpec) -> Iterator[tuple[str, RunSpec | list[Complaint]]]:
    """Each candidate as a whole spec, or what is wrong with it: first its recipe, then what it writes itself."""
    choice = spec.tune.augmentation
    for name, candidate in choice.candidates.items() if isinstance(choice, CandidateTuning) else ():
        yield name, _whole(spec, name, candidate)


def _whole(spec: RunSpec, name: str, candidate: Candidate) -> RunSpec | list[Complaint]:
    where = f"{CANDIDATES}.{name}"
    merged: Any = spec.model_dump(mode="json")
    merged["tune"]["augmentation"] = None
    if candidate.recipe is not None:
        merged["recipe"] = candidate.recipe
        preset = whole_preset_of(candidate.recipe, spec.regressor.kind)
        merged = _over(merged, {key: value for key, value in preset.items() if key in _SECTIONS})
    merged = _over(merged, {key: getattr(candidate, key) for key in _SECTIONS if getattr(candidate, key)})
    try:
        found = RunSpec.model_validate_json(json.dumps(merged))
    except ValidationError as error:
        return [
            Complaint(
                code="bad-candidate",
                path=".".join((where, *(str(part) for part in one["loc"]))),
                what=one["msg"][:1].lower() + one["msg"][1:],
                hint=f"a candidate takes the same keys as {', '.join(_SECTIONS)} of a spec",
            )
            for one in error.errors(include_url=False)
        ]
    found = found.model_copy(update={"regressor": spec.regressor})  # which knows what of it the user wrote
    parts = {section: getattr(found, section) for section in _SECTIONS}
    troubles = [replace(one, path=f"{where}.{one.path}") for one in check_parts(parts)]
    return troubles or found


def _over(base: Any, changes: Any) -> Any:  # noqa: ANN401 - any plain value
    """What is changed wins; another `kind` replaces the whole choice."""
    if not isinstance(base, Mapping) or not isinstance(changes, Mapping):
        return changes
    if "kind" in changes and changes["kind"] != base.get("kind"):
        return changes
    return {**base, **{key: _over(base.get(key), value) for key, value in changes.items()}}
