"""`tune.augmentation` -> the search of the knobs. Imports Optuna, so it is imported only when there is one."""

from __future__ import annotations

from typing import Any

from crda_spec.counterfactual.tuning import Counts, KnobSearch, KnobSpace, Numbers, Options, Prior
from crda_spec.spec.build import with_student
from crda_spec.spec.check import searched_knobs
from crda_spec.spec.load import Draft
from crda_spec.spec.run import RunSpec
from crda_spec.spec.tune import CountRange, NumberRange


def build_knob_search(spec: RunSpec, draft: Draft) -> KnobSearch | None:
    """The search, or None when the spec asks for none."""
    said = spec.tune.augmentation
    if said is None:
        return None
    parts = {name: getattr(spec, name) for name in RunSpec.model_fields}
    chosen = searched_knobs(draft, parts)
    teachers = {_words(one): with_student(one, spec) for one in chosen.get("teacher", ())}
    policies = {_words(one): one for one in chosen.get("policy", ())}
    space = KnobSpace(
        priors={name: _prior(value) for name, value in chosen.items()}, teachers=teachers, policies=policies
    )
    return KnobSearch(
        space=space,
        trials=said.trials,
        folds=said.folds,
        prune=said.prune == "median",
        seconds=said.seconds,
        warm_start=said.warm_start,
        metric=spec.gate.inner_loss,
    )


def _prior(value: Any) -> Prior:  # noqa: ANN401 - the spec's union
    if isinstance(value, NumberRange):
        return Numbers(float(value.low), float(value.high), value.log)
    if isinstance(value, CountRange):
        return Counts(value.low, value.high)
    numbers = all(isinstance(one, int | float) for one in value)
    return Options(tuple(sorted(value))) if numbers else Options(tuple(_words(one) for one in value))


def _words(choice: Any) -> str:  # noqa: ANN401 - the spec's union
    """A teacher or policy in words: its kind, and the settings that are not the default."""
    plain = choice.model_dump(exclude_defaults=True, exclude={"kind"}, mode="json")
    said = ", ".join(f"{name} {value}" for name, value in plain.items() if not isinstance(value, list))
    members = plain.get("members")
    if isinstance(members, list):
        said = " and ".join(str(member["kind"]) for member in members)
    return f"{choice.kind} ({said})" if said else str(choice.kind)
