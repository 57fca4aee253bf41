"""What the spec asks of regressor, teacher, ensemble and searches that cannot be, or would change nothing."""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from pydantic import ValidationError

from crda_spec.counterfactual.policies import POLICIES, PluginPolicy, Scale
from crda_spec.errors import Complaint, show
from crda_spec.regressors import BaseRegressor, GivenEstimator, SklearnEstimator
from crda_spec.spec.check_augmenter import augmenter_complaints
from crda_spec.spec.check_goal import goal_complaints, quantile_teacher_complaints
from crda_spec.spec.load import Draft, check_parts
from crda_spec.spec.recipes import whole_preset_of
from crda_spec.spec.run import RunSpec
from crda_spec.spec.tune import PINNED_KNOBS, Candidate, CandidateTuning, Knobs, TpeTuning, usual_knobs

_ENSEMBLE = "output.ensemble"
_CANDIDATES = "tune.augmentation.candidates"
_SECTIONS = ("partition", "counterfactual", "perturbation", "augmenter")  # what a candidate may change


def ensemble_complaints(parts: Mapping[str, Any]) -> Iterator[Complaint]:
    """Several models of a regressor whose fit draws nothing: the mean of equal models is one of them."""
    output, regressor = parts.get("output"), parts.get("regressor")
    if output is None or regressor is None or output.ensemble == 1:
        return
    why, tune = "", parts.get("tune")
    searched = tune is not None and tune.kind != "none"  # which may change what is written
    whole = regressor.kind == "xgboost" and regressor.subsample == 1 and regressor.colsample_bytree == 1
    if regressor.seedless:
        why = f"{show(regressor.kind)} draws nothing"
    elif whole and not searched and (regressor.early_stopping is None or _in_time(parts)):
        watched = "" if regressor.early_stopping is None else ", and of rows in the order of time it watches the latest"
        stops = " and no early stopping" if regressor.early_stopping is None else ""
        why = f"with subsample 1, colsample_bytree 1{stops} 'xgboost' draws nothing{watched}"
    if why:
        what = f"{output.ensemble} models on the same rows would be the same model: {why}"
        hint = "leave it at 1, or use a regressor that draws: catboost, mlp, random_forest, xgboost with subsample < 1"
        yield Complaint(code="same-models", path=_ENSEMBLE, what=what, hint=hint)


def _in_time(parts: Mapping[str, Any]) -> bool:
    """Rows have an order: folds are blocks of it, and the rows to watch are the latest, which nobody draws."""
    return "dataset" in parts and parts["dataset"].time is not None


def regressor_complaints(parts: Mapping[str, Any]) -> Iterator[Complaint]:
    """A search without a space, weights that the regressor cannot use, a package that is not there."""
    regressor, tune = parts.get("regressor"), parts.get("tune")
    counterfactual = parts.get("counterfactual")
    if regressor is None:
        return
    if tune is not None and tune.kind != "none" and not regressor.open_space():
        what, hint = f"the regressor {show(regressor.kind)} has no search space", "use tune: {kind: none}"
        if regressor.space:
            what = "every setting that could be searched is written in the spec"
            hint = f"remove one from `regressor`, or {hint}"
        yield Complaint(code="nothing-to-tune", path="tune.kind", what=what, hint=hint)
    if counterfactual is not None and counterfactual.weight != 1 and not regressor.takes_weights:
        what = f"the regressor {show(regressor.kind)} takes no row weights, got {counterfactual.weight:g}"
        yield Complaint(code="no-weights", path="counterfactual.weight", what=what, hint="use weight: 1")
    dataset = parts.get("dataset")
    if dataset is not None and dataset.weights is not None and not regressor.takes_weights:
        what = f"the regressor {show(regressor.kind)} takes no row weights, got the column {show(dataset.weights)}"
        hint = "use another regressor, or remove dataset.weights"
        yield Complaint(code="no-weights", path="dataset.weights", what=what, hint=hint)
    if getattr(regressor, "monotone", False) and "causal" in parts and not parts["causal"].monotone:
        what = "there are no signs to hold: causal.monotone declares none"
        hint = "declare them, e.g. causal: {monotone: {dose: increasing}}, or leave monotone out"
        yield Complaint(code="no-signs", path="regressor.monotone", what=what, hint=hint)
    yield from _absent_package(regressor, "regressor.kind")


def _absent_package(regressor: Any, path: str) -> Iterator[Complaint]:  # noqa: ANN401 - the spec's union
    if isinstance(regressor, SklearnEstimator | GivenEstimator):
        yield from regressor.complaints(path.removesuffix(".kind"))
    if regressor.kind == "catboost" and importlib.util.find_spec("catboost") is None:
        what, hint = "the package catboost is not installed", 'install it with: pip install "crda-spec[catboost]"'
        yield Complaint(code="missing-extra", path=path, what=what, hint=hint)


_TEACHER = "counterfactual.teacher"
_MOST_FOLDS, _MOST_MEMBERS = 50, 20


def teacher_complaints(parts: Mapping[str, Any]) -> Iterator[Complaint]:
    """Folds and members out of range, folds that the gate cannot give, repeats of the same."""
    counterfactual = parts.get("counterfactual")
    if counterfactual is None:
        return
    teacher = counterfactual.teacher
    counted = teacher.kind in ("crossfit", "committee") and not isinstance(teacher.folds, str)
    if counted and not 2 <= teacher.folds <= _MOST_FOLDS:
        what = f"must be from 2 to {_MOST_FOLDS}, got {teacher.folds}"
        hint = "or write gate, for the gate's own folds"
        yield Complaint(code="out-of-range", path=f"{_TEACHER}.folds", what=what, hint=hint)
    if teacher.kind == "committee":
        tuned = "tune" in parts and parts["tune"].kind != "none"
        yield from _members(teacher.members, None if tuned else parts.get("regressor"))
        column = parts["dataset"].weights if "dataset" in parts else None
        weightless = [at for at, one in enumerate(teacher.members) if one.kind != "student" and not one.takes_weights]
        for position in weightless if column is not None else ():
            member = show(teacher.members[position].kind)
            what = f"the member {member} takes no row weights, got the column {show(column)}"
            hint = "use another member, or remove dataset.weights"
            yield Complaint(code="no-weights", path=f"{_TEACHER}.members.{position}.kind", what=what, hint=hint)
    if "gate" in parts and "partition" in parts:
        yield from _gate_folds(teacher, parts["partition"].residuals, parts["gate"].folds)
    if "regressor" in parts:
        yield from _repeats(teacher, parts["regressor"], in_time=_in_time(parts))


def _members(members: tuple[Any, ...], student: Any) -> Iterator[Complaint]:  # noqa: ANN401 - the spec's union
    """student: the run's own regressor, unless tuning gives it other settings than are written."""
    if not 2 <= len(members) <= _MOST_MEMBERS:
        what = f"a committee needs from 2 to {_MOST_MEMBERS} members, got {len(members)}"
        hint = "leave the key out for the usual ones, or use teacher: {kind: crossfit}"
        yield Complaint(code="out-of-range", path=f"{_TEACHER}.members", what=what, hint=hint)
    seated: list[Any] = []
    for position, member in enumerate(members):
        model = student if member.kind == "student" and student is not None else member
        seated.append(model)
        if model in seated[:-1]:
            what, hint = f"this member is listed twice: {show(model.kind)} with the same settings", "list it once"
            yield Complaint(code="inconsistent", path=f"{_TEACHER}.members.{position}", what=what, hint=hint)
        if getattr(member, "monotone", False):
            what = "a committee with declared signs seats each kind that can hold them with and without, by itself"
            path = f"{_TEACHER}.members.{position}.monotone"
            yield Complaint(code="inconsistent", path=path, what=what, hint="leave monotone out")
        yield from _absent_package(member, f"{_TEACHER}.members.{position}.kind")


def _gate_folds(teacher: Any, screened: str, gate: int) -> Iterator[Complaint]:  # noqa: ANN401 - the spec's union
    """Inside one of two gate folds only the other is left: nothing can be left out of it."""
    follows = teacher.kind in ("crossfit", "committee") and isinstance(teacher.folds, str)
    screens = teacher.kind == "single" and screened == "out_of_fold"
    if gate >= 3 or not (follows or screens):
        return
    who = "a teacher that follows the gate's folds" if follows else "a screen of out_of_fold residuals"
    hint = "use at least 3 folds" + (", or write a number as counterfactual.teacher.folds" if follows else "")
    what = f"{who} needs a gate of at least 3 folds, got {gate}"
    yield Complaint(code="too-few-folds", path="gate.folds", what=what, hint=hint)


def _repeats(teacher: Any, regressor: BaseRegressor, *, in_time: bool) -> Iterator[Complaint]:  # noqa: ANN401
    """in_time: the teacher's folds are blocks of time, which no repeat draws anew."""
    repeated = teacher.kind == "crossfit" and teacher.repeats > 1 and (isinstance(teacher.folds, str) or in_time)
    if not repeated or not regressor.seedless:
        return
    what = f"{teacher.repeats} repeats on the same folds give the same models: {show(regressor.kind)} draws nothing"
    hint = "use repeats: 1, or a number of teacher folds, which are drawn anew for each repeat"
    hint = "use repeats: 1" if in_time else hint
    yield Complaint(code="repeats-nothing", path=f"{_TEACHER}.repeats", what=what, hint=hint)


_KNOBS = "tune.augmentation.knobs"
# Where the spec writes a knob's own value.
_WRITTEN = {
    "max_features": "partition.max_features",
    "factor": "counterfactual.factor",
    "retention": "counterfactual.retention",
    "weight": "counterfactual.weight",
    "teacher": "counterfactual.teacher",
    "policy": "perturbation.default",
}
# The same bounds as the values themselves have: (least, whether it is allowed, greatest).
_BOUNDS: dict[str, tuple[float, bool, float]] = {
    "max_features": (1, True, 100_000),
    "factor": (0, False, 1000),
    "retention": (0, True, 1),
    "weight": (0, False, 1000),
}


def searched_knobs(draft: Draft) -> dict[str, Any]:
    """What the search varies: knob -> its values as the spec's model has them.

    Of the usual knobs, those whose value the user wrote are left out, and those that the rest of the spec cannot take.
    """
    parts = draft.parts
    search = parts["tune"].augmentation
    if not isinstance(search, TpeTuning):
        return {}
    if isinstance(search.knobs, Knobs):
        return dict(_fields(search.knobs))
    student = parts["regressor"]
    usual = dict(_fields(usual_knobs(parts.get("recipe", "distilled"), student.kind, trees=student.grows_trees)))
    size = parts["perturbation"].default.size
    if size is None or _by_user(draft, f"perturbation.default.{size}"):
        usual.pop("reach", None)
    if not parts["regressor"].takes_weights:
        usual.pop("weight", None)
    if parts["regressor"].quantile_level is not None:  # only a committee teaches its student
        usual.pop("teacher", None)
    if _no_zero_retention(parts["counterfactual"]) or parts["counterfactual"].residual_draw == "none":
        usual.pop("retention", None)
    open_ = {name: value for name, value in usual.items() if name == "reach" or not _by_user(draft, _WRITTEN[name])}
    return {name: _with_declared(name, values, parts) for name, values in open_.items()}


def _with_declared(name: str, values: tuple[Any, ...], parts: Mapping[str, Any]) -> tuple[Any, ...]:
    """The usual values, and the recipe's own among them: a search starts there."""
    section, key = ("perturbation", "default") if name in ("policy", "reach") else _WRITTEN[name].split(".")
    declared = getattr(parts[section], key)
    if name == "reach":
        declared = getattr(declared, declared.size)
    return values if declared is None or declared in values else (declared, *values)


def searched_paths(draft: Draft) -> tuple[tuple[str, ...], ...]:
    """Where the spec would write what a search varies; a spec that is to be searched again leaves these out."""
    parts = draft.parts
    paths: list[tuple[str, ...]] = []
    if parts["tune"].kind != "none":
        paths += [("regressor", name) for name in parts["regressor"].open_space()]
    for name in searched_knobs(draft):
        size = ("perturbation", "default", parts["perturbation"].default.size)
        paths.append(size if name == "reach" else tuple(_WRITTEN[name].split(".")))
    return tuple(paths)


def tuning_complaints(draft: Draft) -> Iterator[Complaint]:
    """Everything wrong with `tune`, each at its place; a draft has only the sections that could be read."""
    parts = draft.parts
    tune = parts.get("tune")
    if tune is None:
        return
    search = tune.augmentation
    if tune.on.kind == "split" and tune.kind == "none" and search is None:
        what, hint = "rows are set aside for tuning, and nothing is tuned", "remove tune.on, or add a search"
        yield Complaint(code="nothing-to-tune", path="tune.on", what=what, hint=hint)
    if not isinstance(search, TpeTuning):
        return
    if isinstance(search.knobs, Knobs):
        yield from _written_knobs(search.knobs, draft, parts)
    elif {"regressor", "counterfactual", "perturbation"} <= parts.keys() and not searched_knobs(draft):
        what = "every knob that is usually searched is written in the spec"
        yield Complaint(code="nothing-to-tune", path="tune.augmentation", what=what, hint="remove one, or the search")


def _written_knobs(knobs: Knobs, draft: Draft, parts: Mapping[str, Any]) -> Iterator[Complaint]:
    chosen = dict(_fields(knobs))
    if not chosen:
        what = "no knob is searched"
        hint = f"name one of {', '.join(Knobs.model_fields)}, or leave knobs out for the usual ones"
        yield Complaint(code="nothing-to-tune", path=_KNOBS, what=what, hint=hint)
    for name, values in chosen.items():
        yield from _pinned(name, draft, parts)
        bounds = _bounds(name, parts)
        yield from _several(name, values) if isinstance(values, tuple) else _range(name, values, bounds)
        if name not in ("teacher", "policy"):
            ends = enumerate(values) if isinstance(values, tuple) else (("low", values.low), ("high", values.high))
            for end, value in ends:
                yield from _inside(f"{name}.{end}", value, bounds)
    if knobs.policy is not None and knobs.reach is not None:
        what = "each policy to choose from has its own size, so reach has nothing to set"
        yield _bad("reach", what, "remove reach, and list a policy once for each size")
    for position, policy in enumerate(knobs.policy or ()):
        if isinstance(policy, PluginPolicy):
            yield from policy.complaints(f"{_KNOBS}.policy.{position}")
    yield from _fits_the_rest(knobs, parts)


def _pinned(name: str, draft: Draft, parts: Mapping[str, Any]) -> Iterator[Complaint]:
    """A knob whose value is already somebody's: the recipe's, or the user's."""
    recipe = parts.get("recipe", "distilled")
    why = PINNED_KNOBS.get(recipe, {}).get(name)
    if why is not None:
        what = f"recipe {recipe} pins {name}: {why}"
        hint = "remove it from the knobs" if recipe == "augmenter" else "use recipe: distilled"
        yield Complaint(code="pinned-knob", path=f"{_KNOBS}.{name}", what=what, hint=hint)
        return
    path = _WRITTEN.get(name)
    if name == "reach" and "perturbation" in parts:
        policy = parts["perturbation"].default
        if policy.size is None:
            what = f"perturbation.default is {show(policy.label)}, which has no size to set"
            sized = ", ".join(kind for kind, member in POLICIES.items() if member.size is not None)
            yield _bad("reach", what, f"remove reach, or use one of {sized}")
            return
        path = f"perturbation.default.{policy.size}"
    if path is not None and _by_user(draft, path):
        what = f"{name} is searched, but the spec also writes {path}"
        hint = f"remove {path}, or remove {name} from the knobs"
        yield Complaint(code="pinned-knob", path=f"{_KNOBS}.{name}", what=what, hint=hint)


def _several(name: str, values: tuple[Any, ...]) -> Iterator[Complaint]:
    if len(values) < 2:
        where = "perturbation.default's size" if name == "reach" else _WRITTEN[name]
        what = "the list is empty" if not values else "the list has one value, which is no choice"
        yield _bad(name, what, f"list at least two, or write the one as {where}")
    for position, value in enumerate(values):
        if value in values[:position]:
            shown = f"{value:g}" if isinstance(value, int | float) else f"this {getattr(value, 'kind', 'value')}"
            yield _bad(f"{name}.{position}", f"{shown} is listed twice", "list it once")


def _range(name: str, values: Any, bounds: tuple[float, bool, float]) -> Iterator[Complaint]:  # noqa: ANN401
    low, high = values.low, values.high
    if low >= high:
        what = f"`low < high` must hold, but got (low={low:g}, high={high:g})"
        yield _bad(f"{name}.low", what, "swap them" if low > high else "write the one value where it belongs")
    if getattr(values, "log", False) and low <= 0 and bounds[1]:
        yield _bad(f"{name}.low", f"a logarithm needs a low above 0, got {low:g}", "raise low, or remove log")


def _inside(path: str, value: float, bounds: tuple[float, bool, float]) -> Iterator[Complaint]:
    least, included, greatest = bounds
    if value > greatest or value < least or (value == least and not included):
        lowest = f"{'at least' if included else 'greater than'} {least:g}"
        what = f"must be {f'at most {greatest:g}' if value > greatest else lowest}, got {value:g}"
        yield Complaint(code="out-of-range", path=f"{_KNOBS}.{path}", what=what)


def _bounds(name: str, parts: Mapping[str, Any]) -> tuple[float, bool, float]:
    if name in _BOUNDS:
        return _BOUNDS[name]
    policy = type(parts["perturbation"].default) if "perturbation" in parts else Scale
    limits = [] if policy.size is None else policy.model_fields[policy.size].metadata
    return 0, False, next((float(one.le) for one in limits if hasattr(one, "le")), 1e9)


def _fits_the_rest(knobs: Knobs, parts: Mapping[str, Any]) -> Iterator[Complaint]:
    """Knobs against the sections whose values they vary."""
    counterfactual, regressor = parts.get("counterfactual"), parts.get("regressor")
    if knobs.weight is not None and regressor is not None and not regressor.takes_weights:
        what = f"the regressor {show(regressor.kind)} takes no row weights"
        yield Complaint(code="no-weights", path=f"{_KNOBS}.weight", what=what, hint="remove weight from the knobs")
    if counterfactual is None:
        return
    for position, teacher in enumerate(knobs.teacher or ()):
        asked = {**parts, "counterfactual": counterfactual.model_copy(update={"teacher": teacher})}
        for complaint in (*teacher_complaints(asked), *quantile_teacher_complaints(asked)):
            yield complaint.moved("counterfactual.teacher", f"{_KNOBS}.teacher.{position}")
        if teacher.kind == "single" and counterfactual.residuals == "out_of_fold":
            what = "a single teacher has seen every row, so it has no out_of_fold residuals"
            hint = "remove it from the list, or use counterfactual.residuals: in_sample"
            yield _bad(f"teacher.{position}", what, hint)
        elif teacher.kind == "single" and counterfactual.noise.kind == "location_scale":
            what = "a single teacher has seen every row, so it cannot tell where the noise is large"
            yield _bad(f"teacher.{position}", what, "remove it from the list, or use counterfactual.noise: additive")
    if knobs.retention is None:
        return
    if counterfactual.residual_draw == "none":
        what = "no noise is drawn (residual_draw: none), so there is none to keep"
        yield _bad("retention", what, "remove retention from the knobs, or draw own or matched noise")
    least = min(knobs.retention) if isinstance(knobs.retention, tuple) else knobs.retention.low
    if least == 0 and _no_zero_retention(counterfactual):
        given = "noise: location_scale" if counterfactual.noise.kind == "location_scale" else "residual_draw: matched"
        yield _bad("retention", f"0 keeps no noise, which {given} would then have nothing to do with", "start above 0")


def _no_zero_retention(counterfactual: Any) -> bool:  # noqa: ANN401 - the spec's model
    return bool(counterfactual.noise.kind == "location_scale" or counterfactual.residual_draw == "matched")


def _by_user(draft: Draft, path: str) -> bool:
    """Whether the user, not the recipe or the goal, wrote this value or something inside it."""
    return any(
        origin not in ("recipe", "goal") and (leaf == path or leaf.startswith(f"{path}."))
        for leaf, origin in draft.origins.items()
    )


def _fields(knobs: Knobs) -> Iterator[tuple[str, Any]]:
    return ((name, value) for name in Knobs.model_fields if (value := getattr(knobs, name)) is not None)


def _bad(path: str, what: str, hint: str) -> Complaint:
    return Complaint(code="inconsistent", path=f"{_KNOBS}.{path}", what=what, hint=hint)


def candidate_complaints(spec: RunSpec) -> Iterator[Complaint]:
    """Candidates that are no specs."""
    for name, found in candidate_specs(spec):
        if name == "declared":
            what, hint = "'declared' is the name of the spec as it stands", "choose another name"
            yield Complaint(code="inconsistent", path=f"{_CANDIDATES}.declared", what=what, hint=hint)
        if not isinstance(found, RunSpec):
            yield from found
            continue
        of_both = ({key: getattr(one, key) for key in RunSpec.model_fields} for one in (found, spec))
        its_own, known = (
            [*teacher_complaints(parts), *goal_complaints(parts), *augmenter_complaints(parts)] for parts in of_both
        )
        yield from (replace(one, path=f"{_CANDIDATES}.{name}.{one.path}") for one in its_own if one not in known)


def candidate_specs(spec: RunSpec) -> Iterator[tuple[str, RunSpec | list[Complaint]]]:
    """Each candidate as a whole spec, or what is wrong with it: first its recipe, then what it writes itself."""
    choice = spec.tune.augmentation
    for name, candidate in choice.candidates.items() if isinstance(choice, CandidateTuning) else ():
        yield name, _whole(spec, name, candidate)


def _whole(spec: RunSpec, name: str, candidate: Candidate) -> RunSpec | list[Complaint]:
    where = f"{_CANDIDATES}.{name}"
    merged: Any = spec.model_dump(mode="json")
    merged["tune"]["augmentation"] = None
    if candidate.recipe is not None:
        merged["recipe"] = candidate.recipe
        preset = whole_preset_of(candidate.recipe, spec.regressor.kind, spec.goal, trees=spec.regressor.grows_trees)
        merged = _over(merged, {key: value for key, value in preset.items() if key in _SECTIONS})
    merged = _over(merged, {key: getattr(candidate, key) for key in _SECTIONS if getattr(candidate, key)})
    try:
        whole = RunSpec.model_validate_json(json.dumps(merged))
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
    whole = whole.model_copy(update={"regressor": spec.regressor})  # which knows what of it the user wrote
    parts = {section: getattr(whole, section) for section in _SECTIONS}
    return [replace(one, path=f"{where}.{one.path}") for one in check_parts(parts)] or whole


def _over(base: Any, changes: Any) -> Any:  # noqa: ANN401 - any plain value
    """What is changed wins; another `kind` replaces the whole choice."""
    if not isinstance(base, Mapping) or not isinstance(changes, Mapping):
        return changes
    if "kind" in changes and changes["kind"] != base.get("kind"):
        return changes
    return {**base, **{key: _over(base.get(key), value) for key, value in changes.items()}}
