"""Estimators by the names of their classes: which packages a spec may import from, and what their parameters may be.

A spec may come from a stranger. It therefore names classes of a few packages only; a user may allow more for
themselves, a spec never can. Nothing is imported before the list has been asked.
"""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import os
import pkgutil
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from importlib.metadata import packages_distributions
from typing import Any, cast

from crda_spec.errors import Complaint, SpecError, did_you_mean, show

PACKAGES = ("sklearn", "xgboost", "lightgbm", "catboost")
SETTING = "CRDA_ALLOWED_PACKAGES"  # the user's own: names between commas

_DISTRIBUTIONS = {"sklearn": "scikit-learn", "xgboost": "xgboost", "lightgbm": "lightgbm", "catboost": "catboost"}
_INSTALL = {"sklearn": "scikit-learn", "catboost": '"crda-spec[catboost]"'}
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*(?:\.[A-Za-z][A-Za-z0-9_]*)*")
# What a run sets itself, under every name that these packages have for it.
SEEDS = ("random_state", "random_seed", "seed")
THREADS = ("n_jobs", "thread_count", "nthread", "num_threads", "num_thread")
_OWN = {
    **dict.fromkeys(SEEDS, "the spec's `seed` sets it"),
    **dict.fromkeys(THREADS, "every model is fitted on one thread, so that equal runs give equal bytes"),
}
# What would read or write files, load pickles or talk to other machines: not on the word of a spec.
_OUTSIDE = frozenset({
    "memory", "callbacks", "train_dir", "snapshot_file", "save_snapshot", "input_borders", "output_borders",
    "allow_writing_files", "custom_loss", "forcedsplits_filename", "forcedbins_filename", "input_model",
    "output_model", "machines", "machine_list_filename", "local_listen_port",
})  # fmt: skip
# LightGBM takes any keyword and warns of those it does not know; these of its documented ones have no place in the
# signature of its class.
_LIGHTGBM = (
    "alpha", "boost_from_average", "cat_l2", "cat_smooth", "deterministic", "extra_trees", "fair_c",
    "feature_fraction_bynode", "force_col_wise", "force_row_wise", "linear_lambda", "linear_tree", "max_bin",
    "max_cat_threshold", "max_delta_step", "min_data_in_bin", "monotone_constraints", "monotone_constraints_method",
    "monotone_penalty", "path_smooth", "poisson_max_delta_step", "top_rate", "other_rate", "tweedie_variance_power",
    "verbose", "verbosity",
)  # fmt: skip


def allowed_packages() -> tuple[str, ...]:
    """Ours, and those that the user allows by the environment variable."""
    own = (name.strip() for name in os.environ.get(SETTING, "").split(","))
    return tuple(dict.fromkeys((*PACKAGES, *filter(None, own))))


def is_allowed(name: str) -> bool:
    """Whether a class, or its module, belongs to a package of the list."""
    return name.partition(".")[0] in allowed_packages()


def roots_of(settings: Any) -> set[str]:  # noqa: ANN401 - any part of a regressor's settings
    """The packages of all classes that settings name."""
    if isinstance(settings, Mapping):
        own = settings.get("class")
        inside = (roots_of(one) for one in settings.values())
        return {own.partition(".")[0] for own in (own,) if isinstance(own, str)}.union(*inside)
    return set().union(*map(roots_of, settings)) if isinstance(settings, list | tuple) else set()


def distribution(package: str) -> str:
    """What pip calls it; a module that nobody installed keeps its name."""
    if package in _DISTRIBUTIONS:
        return _DISTRIBUTIONS[package]
    return min(packages_distributions().get(package, [package]))


def is_trusted(name: str) -> bool:
    """Whether a saved model may hold an object of this type: a class, no function, of an allowed package.

    A module offers what it imports, too: where a class was written counts, not where a file says to look for it.
    """
    module, _, last = name.rpartition(".")
    if name in _CONTAINERS:
        return True
    if not is_allowed(name) or not _NAME.fullmatch(name.replace("._", ".")):
        return False
    try:
        found = getattr(importlib.import_module(module), last, None)
    except ImportError:
        return False
    return isinstance(found, type) and is_allowed(found.__module__)


_CONTAINERS = ("collections.OrderedDict", "collections.defaultdict")


def is_estimator(value: object) -> bool:
    """Whether it is an object, not a class, with parameters that can be read and set."""
    return not isinstance(value, type) and hasattr(value, "get_params") and hasattr(value, "set_params")


def is_nested(value: object) -> bool:
    """Whether a parameter's value is an estimator as a spec writes one: {class: ..., params: {...}}."""
    return isinstance(value, Mapping) and "class" in value and set(value) <= {"class", "params"}


def build(name: str, params: Mapping[str, Any], path: str) -> Any:  # noqa: ANN401 - whatever the class makes
    """The regressor; SpecError with all that is wrong with its class and its parameters."""
    complaints: list[Complaint] = []
    model = _made(name, params, path, complaints, regressor=True)
    if complaints:
        raise SpecError(complaints)
    return model


def _made(
    name: str, params: Mapping[str, Any], path: str, complaints: list[Complaint], *, regressor: bool = False
) -> Any:  # noqa: ANN401
    """The estimator, or None and complaints."""
    try:
        found = _class_of(name, f"{path}.class", regressor=regressor)
    except SpecError as error:
        complaints.extend(error.complaints)
        return None
    before, known = len(complaints), parameters(found)
    made: dict[str, Any] = {}
    for key, value in params.items():
        place = f"{path}.params.{key}"
        if key in _OWN and (key in known or key in THREADS):
            what, hint = f"{show(key)} is no setting of a spec: {_OWN[key]}", "remove it"
            complaints.append(Complaint(code="own-setting", path=place, what=what, hint=hint))
        elif key in _OUTSIDE:
            what = f"{show(key)} reaches outside of the fit (files, callbacks, other machines)"
            hint = "leave it out, or pass the estimator as an object: crda_spec.run(spec, estimator=...)"
            complaints.append(Complaint(code="outside-setting", path=place, what=what, hint=hint))
        elif key not in known:
            what = f"{name} has no parameter {show(key)}"
            hint = did_you_mean(key, sorted(known.keys() - _OWN.keys() - _OUTSIDE), otherwise="parameters")
            complaints.append(Complaint(code="unknown-parameter", path=place, what=what, hint=hint))
        else:
            made[key] = _value(value, place, complaints, like=known[key])
    if len(complaints) > before:
        return None
    try:
        model = found(**made)
        if hasattr(model, "_parameter_constraints"):  # scikit-learn can say before the fit
            model._validate_params()  # noqa: SLF001
    except Exception as error:  # noqa: BLE001 - whatever a class of another package raises
        complaints.append(refusal(name, error, f"{path}.params"))
        return None
    return model


def _value(value: Any, path: str, complaints: list[Complaint], *, like: Any = None) -> Any:  # noqa: ANN401
    """A parameter's value, with the estimators in it made. like: its default."""
    if is_nested(value):
        params = value.get("params")
        return _made(str(value["class"]), params if isinstance(params, Mapping) else {}, path, complaints)
    if isinstance(value, list):
        items = [_value(one, f"{path}.{at}", complaints) for at, one in enumerate(value)]
        # JSON has no tuples: a parameter takes one where its default is one, and a named step is one.
        step = len(value) > 1 and isinstance(value[0], str) and any(map(is_nested, value[1:]))
        return tuple(items) if step or isinstance(like, tuple) else items
    if isinstance(value, Mapping):
        return {key: _value(one, f"{path}.{key}", complaints) for key, one in value.items()}
    return value


def refusal(name: str, error: Exception, path: str) -> Complaint:
    """What the class itself said, on one line."""
    said = " ".join(str(error).split()) or type(error).__name__
    said = said if len(said) <= _LONGEST else f"{said[: _LONGEST - 1]}…"
    return Complaint(
        code="refused", path=path, what=f"{name} refused: {said}", hint="see the parameters in its documentation"
    )


_LONGEST = 400  # letters of another package's message


def parameters(found: type) -> dict[str, Any]:
    """A class's parameters with their defaults."""
    known = {
        name: None if one.default is one.empty else one.default
        for name, one in inspect.signature(found.__init__).parameters.items()  # type: ignore[misc]
        if name != "self" and one.kind in (one.POSITIONAL_OR_KEYWORD, one.KEYWORD_ONLY)
    }
    with suppress(Exception):  # it cannot be made of nothing: then the signature is all we know
        known |= found().get_params(deep=False)  # also those of its parents
    root = found.__module__.partition(".")[0]
    return {**dict.fromkeys(_LIGHTGBM if root == "lightgbm" else ()), **known}


def _class_of(name: str, path: str, *, regressor: bool) -> type:
    """The class; SpecError when it may not be imported, is absent or is no estimator."""

    def refused(code: str, what: str, hint: str) -> SpecError:
        return SpecError(Complaint(code=code, path=path, what=what, hint=hint))

    module_name, _, last = name.rpartition(".")
    root = name.partition(".")[0]
    if not _NAME.fullmatch(name) or not module_name:
        raise refused("bad-class", f"{show(name)} is no class of a package", "write it in full: lightgbm.LGBMRegressor")
    if root not in allowed_packages():
        what = f"a spec may not import from the package {show(root)}, but only from {', '.join(allowed_packages())}"
        own = ",".join((*allowed_packages()[len(PACKAGES) :], root))
        hint = did_you_mean(root, PACKAGES) if did_you_mean(root, PACKAGES).startswith("did") else ""
        raise refused(
            "package-not-allowed", what, hint or f"if you trust it, allow it yourself: export {SETTING}={own}"
        )
    if importlib.util.find_spec(root) is None:
        hint = f"install it with: pip install {_INSTALL.get(root, root)}"
        raise refused("missing-extra", f"the package {root} is not installed", hint)
    try:
        module = importlib.import_module(module_name)
    except Exception as error:  # a module runs when it is imported
        absent = error.name if isinstance(error, ModuleNotFoundError) and error.name else ""
        if absent and f"{module_name}.".startswith(f"{absent}."):
            near = did_you_mean(module_name, list(_modules(root)), otherwise="its modules")
            raise refused("unknown-class", f"there is no module {show(module_name)}", near) from None
        what = f"{module_name} cannot be imported: {error}"
        raise refused("bad-class", what, f"repair the package {root}") from error
    found = getattr(module, last, None)
    wanted = ("fit", "predict") if regressor else ("fit",)
    if found is None:
        offered = sorted(one for one in dir(module) if not one.startswith("_") and _fits(getattr(module, one), wanted))
        hint = did_you_mean(last, offered, otherwise="it has") or "name the module that has it: sklearn.svm.SVR"
        raise refused("unknown-class", f"{module_name} has no class {show(last)}", hint)
    if not _fits(found, wanted):
        lacks = [one for one in (*wanted, "get_params") if not hasattr(found, one)]
        why = f"it has no {', '.join(lacks)}" if isinstance(found, type) else "it is no class"
        kind = "regressor" if regressor else "estimator"
        raise refused("no-regressor", f"{name} is no {kind}: {why}", f"name a {kind} of {root}")
    other = _other_kind(cast("type", found))
    if regressor and other:
        raise refused("no-regressor", f"{name} is no regressor, but a {other}", f"name a regressor of {root}")
    return cast("type", found)


def _other_kind(found: type) -> str:
    """What a class that predicts is, if it is no regressor."""
    from sklearn.base import ClassifierMixin, ClusterMixin, OutlierMixin

    if getattr(found, "_estimator_type", None) == "classifier" or issubclass(found, ClassifierMixin):
        return "classifier"
    return "clusterer" if issubclass(found, ClusterMixin) else "detector" if issubclass(found, OutlierMixin) else ""


def _fits(found: object, wanted: tuple[str, ...]) -> bool:
    return isinstance(found, type) and all(hasattr(found, one) for one in (*wanted, "get_params"))


def _modules(root: str) -> Iterator[str]:
    """The public modules of a package, and it itself; none of them is imported."""
    yield root
    found = importlib.util.find_spec(root)
    for one in pkgutil.iter_modules(found.submodule_search_locations if found is not None else None):
        if not one.name.startswith("_"):
            yield f"{root}.{one.name}"
