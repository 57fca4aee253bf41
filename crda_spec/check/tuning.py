"""What `tune` asks that cannot be: ranges without values, knobs that are pinned, teachers that do not fit the rest."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from crda_spec.check.regressor import searched_space
from crda_spec.check.teacher import teacher_complaints
from crda_spec.errors import Complaint, show
from crda_spec.spaces import TAKES_NO_WEIGHTS
from crda_spec.spec.load import Draft
from crda_spec.spec.tune import Knobs
from crda_spec.spec.usual_knobs import PINNED_KNOBS, usual_knobs

_PATH = "tune.augmentation.knobs"
# Where the spec writes a knob's own value.
_WRITTEN = {
    "max_features": "partition.max_features",
    "factor": "counterfactual.factor",
    "retention": "counterfactual.retention",
    "weight": "counterfactual.weight",
    "teacher": "counterfactual.teacher",
    "policy": "perturbation.default",
}
_SIZES = {"scale": "reach", "shift": "amount", "jitter": "sd", "quantile": "reach", "interpolate": "reach"}
# The same bounds as the values themselves have: (least, whether it is allowed, greatest).
_BOUNDS: dict[str, tuple[float, bool, float]] = {
    "max_features": (1, True, 100_000),
    "factor": (0, False, 1000),
    "retention": (0, True, 1),
    "weight": (0, False, 1000),
}
_REACH_BOUNDS = {"scale": 10.0, "shift": 1e9, "jitter": 100.0, "quantile": 1.0, "interpolate": 1.0}


def searched_knobs(draft: Draft, parts: Mapping[str, Any]) -> dict[str, Any]:
    """What the search varies: knob -> its values as the spec's model has them.

    Of the usual knobs, those whose value the user wrote are left out, and those that the rest of the spec cannot take.
    """
    search = parts["tune"].augmentation
    if isinstance(search.knobs, Knobs):
        return dict(_fields(search.knobs))
    usual = dict(_fields(usual_knobs(parts.get("recipe", "paper"), parts["regressor"].kind)))
    policy = parts["perturbation"].default
    size = _SIZES.get(policy.kind)
    if size is None or _by_user(draft, f"perturbation.default.{size}"):
        usual.pop("reach", None)
    if parts["regressor"].kind in TAKES_NO_WEIGHTS:
        usual.pop("weight", None)
    if _no_zero_retention(parts["counterfactual"]) or parts["counterfactual"].residual_draw == "none":
        usual.pop("retention", None)
    open_ = {name: value for name, value in usual.items() if name == "reach" or not _by_user(draft, _WRITTEN[name])}
    return {name: _with_declared(name, values, parts) for name, values in open_.items()}


def _with_declared(name: str, values: tuple[Any, ...], parts: Mapping[str, Any]) -> tuple[Any, ...]:
    """The usual values, and the recipe's own among them: a search starts there."""
    section, key = ("perturbation", "default") if name in ("policy", "reach") else _WRITTEN[name].split(".")
    declared = getattr(parts[section], key)
    if name == "reach":
        declared = getattr(declared, _SIZES[declared.kind])
    return values if declared is None or declared in values else (declared, *values)


def searched_paths(draft: Draft, parts: Mapping[str, Any]) -> tuple[tuple[str, ...], ...]:
    """Where the spec would write what a search varies; a spec that is to be searched again leaves these out."""
    found: list[tuple[str, ...]] = []
    if parts["tune"].kind != "none":
        found += [("regressor", name) for name in searched_space(parts["regressor"].kind, draft)]
    if parts["tune"].augmentation is not None:
        for name in searched_knobs(draft, parts):
            size = _SIZES.get(parts["perturbation"].default.kind, "")
            found.append(("perturbation", "default", size) if name == "reach" else tuple(_WRITTEN[name].split(".")))
    return tuple(found)


def tuning_complaints(draft: Draft, parts: Mapping[str, Any]) -> Iterator[Complaint]:
    """Everything wrong with `tune`, each at its place; `parts` has only the sections that could be read."""
    tune = parts.get("tune")
    if tune is None:
        return
    search = tune.augmentation
    if tune.on.kind == "split" and tune.kind == "none" and search is None:
        what, hint = "rows are set aside for tuning, and nothing is tuned", "remove tune.on, or add a search"
        yield Complaint(code="nothing-to-tune", path="tune.on", what=what, hint=hint)
    if search is None:
        return
    if isinstance(search.knobs, Knobs):
        yield from _written_knobs(search.knobs, draft, parts)
    elif {"regressor", "counterfactual", "perturbation"} <= parts.keys() and not searched_knobs(draft, parts):
        what = "every knob that is usually searched is written in the spec"
        yield Complaint(code="nothing-to-tune", path="tune.augmentation", what=what, hint="remove one, or the search")


def _written_knobs(knobs: Knobs, draft: Draft, parts: Mapping[str, Any]) -> Iterator[Complaint]:
    chosen = dict(_fields(knobs))
    if not chosen:
        what = "no knob is searched"
        hint = f"name one of {', '.join(Knobs.model_fields)}, or leave knobs out for the usual ones"
        yield Complaint(code="nothing-to-tune", path=_PATH, what=what, hint=hint)
    for name, values in chosen.items():
        yield from _pinned(name, draft, parts)
        bounds = _bounds(name, parts)
        if name in ("teacher", "policy"):
            yield from _several(name, values)
        elif isinstance(values, tuple):
            yield from _list(name, values, bounds)
        else:
            yield from _range(name, values, bounds)
    if knobs.policy is not None and knobs.reach is not None:
        what = "each policy to choose from has its own size, so reach has nothing to set"
        yield _bad("reach", what, "remove reach, and list a policy once for each size")
    yield from _fits_the_rest(knobs, parts)


def _pinned(name: str, draft: Draft, parts: Mapping[str, Any]) -> Iterator[Complaint]:
    """A knob whose value is already somebody's: the recipe's, or the user's."""
    recipe = parts.get("recipe", "paper")
    why = PINNED_KNOBS.get(recipe, {}).get(name)
    if why is not None:
        what = f"recipe {recipe} pins {name}: {why}"
        yield Complaint(code="pinned-knob", path=f"{_PATH}.{name}", what=what, hint="use recipe: distilled")
        return
    path = _WRITTEN.get(name)
    if name == "reach" and "perturbation" in parts:
        kind = parts["perturbation"].default.kind
        if kind not in _SIZES:
            what = f"perturbation.default is {show(kind)}, which has no size to set"
            yield _bad("reach", what, f"remove reach, or use one of {', '.join(_SIZES)}")
            return
        path = f"perturbation.default.{_SIZES[kind]}"
    if path is not None and _by_user(draft, path):
        what = f"{name} is searched, but the spec also writes {path}"
        hint = f"remove {path}, or remove {name} from the knobs"
        yield Complaint(code="pinned-knob", path=f"{_PATH}.{name}", what=what, hint=hint)


def _list(name: str, values: tuple[float, ...], bounds: tuple[float, bool, float]) -> Iterator[Complaint]:
    yield from _several(name, values)
    for position, value in enumerate(values):
        yield from _inside(f"{name}.{position}", value, bounds)


def _several(name: str, values: tuple[Any, ...]) -> Iterator[Complaint]:
    if len(values) < 2:
        where = "perturbation.default's size" if name == "reach" else _WRITTEN[name]
        what = "the list is empty" if not values else "the list has one value, which is no choice"
        yield _bad(name, what, f"list at least two, or write the one as {where}")
    for position, value in enumerate(values):
        if value in values[:position]:
            yield _bad(f"{name}.{position}", f"{_said(value)} is listed twice", "list it once")


def _range(name: str, values: Any, bounds: tuple[float, bool, float]) -> Iterator[Complaint]:  # noqa: ANN401
    low, high = values.low, values.high
    if low >= high:
        what = f"`low < high` must hold, but got (low={low:g}, high={high:g})"
        yield _bad(f"{name}.low", what, "swap them" if low > high else "write the one value where it belongs")
    if getattr(values, "log", False) and low <= 0 and bounds[1]:
        yield _bad(f"{name}.low", f"a logarithm needs a low above 0, got {low:g}", "raise low, or remove log")
    for end in ("low", "high"):
        yield from _inside(f"{name}.{end}", getattr(values, end), bounds)


def _inside(path: str, value: float, bounds: tuple[float, bool, float]) -> Iterator[Complaint]:
    least, included, greatest = bounds
    if value > greatest:
        yield Complaint(
            code="out-of-range", path=f"{_PATH}.{path}", what=f"must be at most {greatest:g}, got {value:g}"
        )
    elif value < least or (value == least and not included):
        limit = "at least" if included else "greater than"
        yield Complaint(code="out-of-range", path=f"{_PATH}.{path}", what=f"must be {limit} {least:g}, got {value:g}")


def _bounds(name: str, parts: Mapping[str, Any]) -> tuple[float, bool, float]:
    if name in _BOUNDS:
        return _BOUNDS[name]
    kind = parts["perturbation"].default.kind if "perturbation" in parts else "scale"
    return 0, False, _REACH_BOUNDS.get(kind, 1e9)


def _fits_the_rest(knobs: Knobs, parts: Mapping[str, Any]) -> Iterator[Complaint]:
    """Knobs against the sections whose values they vary."""
    counterfactual, regressor = parts.get("counterfactual"), parts.get("regressor")
    if knobs.weight is not None and regressor is not None and regressor.kind in TAKES_NO_WEIGHTS:
        what = f"the regressor {show(regressor.kind)} takes no row weights"
        yield Complaint(code="no-weights", path=f"{_PATH}.weight", what=what, hint="remove weight from the knobs")
    if counterfactual is None:
        return
    for position, teacher in enumerate(knobs.teacher or ()):
        asked = {**parts, "counterfactual": counterfactual.model_copy(update={"teacher": teacher})}
        for complaint in teacher_complaints(asked):
            yield complaint.moved("counterfactual.teacher", f"{_PATH}.teacher.{position}")
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
    """Whether the user, not the recipe, wrote this value or something inside it."""
    return any(
        origin != "recipe" and (leaf == path or leaf.startswith(f"{path}.")) for leaf, origin in draft.origins.items()
    )


def _fields(knobs: Knobs) -> Iterator[tuple[str, Any]]:
    return ((name, value) for name in Knobs.model_fields if (value := getattr(knobs, name)) is not None)


def _said(value: object) -> str:
    return f"{value:g}" if isinstance(value, int | float) else f"this {getattr(value, 'kind', 'value')}"


def _bad(path: str, what: str, hint: str) -> Complaint:
    return Complaint(code="inconsistent", path=f"{_PATH}.{path}", what=what, hint=hint)
