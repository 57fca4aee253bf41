"""Any regressor with the interface of scikit-learn: by the name of its class, or as an object from Python.

Its fits are those of every other member: encoded and standardised features, one thread, our seed.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator, Mapping
from typing import Any, Literal, Self

import numpy as np
from pydantic import Field, PrivateAttr, SerializerFunctionWrapHandler, model_serializer

from crda_spec.errors import Complaint, CrdaError, SpecError, show
from crda_spec.regressors._protocol import BaseRegressor, Design, Estimator
from crda_spec.regressors.classes import (
    SEEDS,
    THREADS,
    build,
    is_allowed,
    is_estimator,
    parameters,
    refusal,
)

# Their predictions are steps. By name, so that no library is imported to ask.
_TREES = frozenset({
    "DecisionTreeRegressor", "ExtraTreeRegressor", "RandomForestRegressor", "ExtraTreesRegressor",
    "GradientBoostingRegressor", "HistGradientBoostingRegressor", "AdaBoostRegressor", "BaggingRegressor", "XGBModel",
    "LGBMModel", "CatBoost",
})  # fmt: skip
_BASES = ("AdaBoostRegressor", "BaggingRegressor")  # trees, unless they are given something else
_PACKAGES = ("sklearn", "xgboost", "lightgbm", "catboost")


class _AnyEstimator(BaseRegressor):
    """What both ways to name one share."""

    class_: str = Field(
        alias="class", min_length=1, description="The class with its module, e.g. lightgbm.LGBMRegressor."
    )
    params: dict[str, Any] = Field(
        default_factory=dict,
        description=(
            "Its parameters, under its own names. An estimator inside another one is {class: ..., params: {...}}. The "
            "seed and the number of threads are set by the run."
        ),
    )
    _where: str = PrivateAttr(default="regressor")

    @model_serializer(mode="wrap")
    def _under_its_key(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """A field of Python cannot be called `class`."""
        return {"class" if name == "class_" else name: value for name, value in handler(self).items()}

    def estimator(self) -> Any:  # noqa: ANN401 - an object of any library
        """One that is not fitted yet; SpecError when there is none."""
        raise NotImplementedError

    def _asked(self) -> Any:  # noqa: ANN401
        """The estimator for a question about its class; None where it cannot be made, which is complained about."""
        try:
            return self.estimator()
        except CrdaError:
            return None

    @property
    def takes_weights(self) -> bool:  # type: ignore[override]
        """Whether its fit passes row weights on to where they matter."""
        model = self._asked()
        return model is None or _weight_key(model) is not None

    @property
    def seedless(self) -> bool:  # type: ignore[override]
        """Whether nothing in it takes a seed."""
        model = self._asked()
        return model is not None and not any(_seed_name(one) for one in _parts(model))

    def placed(self, path: str) -> Self:
        """The same; what its class refuses at the fit is reported at this place of the spec."""
        copy = self.model_copy()
        copy._where = path  # noqa: SLF001 - our own copy
        return copy

    def train(self, design: Design, *, seed: int) -> Estimator:
        """Fits a fresh one; a class that refuses its parameters, or these rows, is an error at its place."""
        model = seeded(self.estimator(), seed)
        key = None if design.weight is None else _weight_key(model)
        try:
            with warnings.catch_warnings(action="ignore"):  # of its own affairs, a hundred times a run
                model.fit(design.x, design.y, **({} if key is None else {key: design.weight}))
        except Exception as error:  # whatever a class of another package raises
            raise SpecError(refusal(self.class_, error, f"{self._where}.params")) from error
        for part in _parts(model):
            if _is_catboost(part):
                _forget_the_clock(part)
        fitted: Estimator = model
        return fitted


class SklearnEstimator(_AnyEstimator):
    """A class of scikit-learn, XGBoost, LightGBM, CatBoost, or of a package that the user allows."""

    kind: Literal["sklearn"] = Field(
        "sklearn", description="Any regressor with scikit-learn's interface, by the name of its class."
    )

    def estimator(self) -> Any:  # noqa: ANN401
        """A new object of the class."""
        return build(self.class_, self.params, "regressor")

    @property
    def grows_trees(self) -> bool:  # type: ignore[override]
        """Whether its predictions are steps."""
        return _grows_trees(self._asked())

    def complaints(self, path: str) -> Iterator[Complaint]:
        """Everything that is wrong with class and parameters. path: where the spec writes them."""
        try:
            self.estimator()
        except SpecError as error:
            yield from (one.moved("regressor", path) for one in error.complaints)

    def load(self) -> Self:
        """Itself, if its class can be had."""
        self.estimator()
        return self


class GivenEstimator(_AnyEstimator):
    """An object that Python handed over and no spec can express."""

    kind: Literal["object"] = Field(
        "object", description="An object from Python, not reproducible from a spec: crda_spec.run(spec, estimator=...)."
    )
    trees: bool = Field(default=False, description="Whether its predictions are steps, as those of trees are.")
    _given: Any = PrivateAttr(default=None)

    def holding(self, estimator: object) -> Self:
        """The same with the object itself."""
        copy = self.model_copy()
        copy._given = estimator  # noqa: SLF001 - our own copy
        return copy

    def estimator(self) -> Any:  # noqa: ANN401
        """A copy of the object, not fitted."""
        from sklearn.base import clone

        if self._given is None:
            raise SpecError(self.complaints(self._where))
        return clone(self._given, safe=False)

    @property
    def grows_trees(self) -> bool:  # type: ignore[override]
        """As the object said when it was handed over."""
        return self.trees

    def complaints(self, path: str) -> Iterator[Complaint]:
        """Nobody handed an object over."""
        if self._given is None:
            what = f"the regressor is an object of {self.class_} that Python handed over, and a spec cannot make it"
            hint = "pass it again: crda_spec.run(spec, estimator=...), or name another regressor"
            yield Complaint(code="no-estimator", path=path, what=what, hint=hint)


def spec_complaint(regressor: object) -> Complaint | None:
    """Why a spec cannot express this regressor; None when it can."""
    if not isinstance(regressor, GivenEstimator):
        return None
    what = f"not reproducible from a spec: the regressor is an object of {regressor.class_} from Python"
    hint = "use a class of an allowed package whose parameters are plain values (regressor: {kind: sklearn, ...})"
    return Complaint(code="no-spec", path="regressor", what=what, hint=hint)


def section_of(estimator: object) -> dict[str, Any]:
    """The spec's section `regressor` for an object: kind sklearn where a spec can make it again, else kind object."""
    # Of its class: a stack that is not fitted yet does not say that it will predict.
    missing = [name for name in ("fit", "predict", "get_params") if not hasattr(type(estimator), name)]
    if missing or isinstance(estimator, type):
        what = f"estimator= takes an object with fit, predict and get_params, got {show(estimator)}"
        hint = "call the class: Ridge()" if isinstance(estimator, type) else f"it has no {', '.join(missing)}"
        raise SpecError(Complaint(code="no-regressor", path="regressor", what=what, hint=hint))
    written = _written(estimator)
    if written is not None:
        return {"kind": "sklearn", **written}
    return {
        "kind": "object",
        "class": _name_of(estimator),
        "params": {name: _described(value) for name, value in _changed(estimator).items()},
        "trees": _grows_trees(estimator),
    }


def grows_trees(section: object) -> bool:
    """Whether the section `regressor` of a spec, as written, names an estimator whose predictions are steps."""
    if not isinstance(section, Mapping):
        return False
    name, params = section.get("class"), section.get("params", {})
    if section.get("kind") == "object":
        return section.get("trees") is True
    if section.get("kind") != "sklearn" or not isinstance(name, str) or not isinstance(params, Mapping):
        return False
    return SklearnEstimator.model_validate({"class": name, "params": params}).grows_trees


def _written(estimator: Any) -> dict[str, Any] | None:  # noqa: ANN401
    """Class and parameters as a spec writes them, None where it cannot: a class or a value that it does not know."""
    if not is_allowed(type(estimator).__module__):
        return None
    try:
        params = {name: _plain(value) for name, value in _changed(estimator).items()}
        name = _name_of(estimator)
        made = build(name, params, "regressor")
    except (CrdaError, _NotPlainError):
        return None
    if type(made) is not type(estimator) or not _same(made, estimator):
        return None
    return {"class": name, **({"params": params} if params else {})}


class _NotPlainError(Exception):
    """A value that is no JSON."""


def _plain(value: Any) -> Any:  # noqa: ANN401
    """A parameter's value as JSON has it."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool | int | str) or (isinstance(value, float) and np.isfinite(value)):
        return value
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    if isinstance(value, dict) and all(isinstance(key, str) for key in value):
        return {key: _plain(one) for key, one in value.items()}
    if is_estimator(value) and (written := _written_inside(value)) is not None:
        return written
    raise _NotPlainError


def _written_inside(estimator: Any) -> dict[str, Any] | None:  # noqa: ANN401
    if not is_allowed(type(estimator).__module__):
        return None
    params = {name: _plain(value) for name, value in _changed(estimator).items()}
    return {"class": _name_of(estimator), **({"params": params} if params else {})}


def _same(one: Any, other: Any) -> bool:  # noqa: ANN401
    """Whether two parameters are the same, estimators by theirs."""
    if is_estimator(one):
        return type(one) is type(other) and _same(_changed(one), _changed(other))
    if isinstance(one, list | tuple):
        return type(one) is type(other) and len(one) == len(other) and all(map(_same, one, other))
    if isinstance(one, dict):
        return isinstance(other, dict) and one.keys() == other.keys() and all(_same(one[k], other[k]) for k in one)
    return bool(one == other) and isinstance(one, bool) == isinstance(other, bool | np.bool_)


def _described(value: object) -> Any:  # noqa: ANN401
    """A parameter for the record: itself where it is JSON, else what it is. No memory address, so no repr."""
    if isinstance(value, list | tuple):
        return [_described(one) for one in value]
    if is_estimator(value):
        params = {name: _described(one) for name, one in _changed(value).items()}
        return {"class": _name_of(value), **({"params": params} if params else {})}
    try:
        return _plain(value)
    except _NotPlainError:
        return f"<{getattr(value, '__name__', None) or _name_of(value)}>"


def _changed(estimator: Any) -> dict[str, Any]:  # noqa: ANN401
    """The parameters that are not at their defaults, without the seed and the threads, which the run sets."""
    known = parameters(type(estimator))
    return {
        name: value
        for name, value in sorted(estimator.get_params(deep=False).items())
        if name not in (*SEEDS, *THREADS) and not (name in known and _is_default(value, known[name]))
    }


def _is_default(value: Any, default: Any) -> bool:  # noqa: ANN401
    if isinstance(value, float) and isinstance(default, float) and np.isnan(value) and np.isnan(default):
        return True
    return value is default or (type(value) is type(default) and not is_estimator(value) and _equal(value, default))


def _equal(value: Any, default: Any) -> bool:  # noqa: ANN401
    try:
        return bool(value == default)
    except ValueError:  # arrays
        return False


def _name_of(value: object) -> str:
    """The class where people import it from: the shortest public module that has it."""
    kind = type(value)
    parts = kind.__module__.split(".")
    for length in range(1, len(parts) + 1):
        module = sys.modules.get(".".join(parts[:length]))
        private = any(part.startswith("_") for part in parts[:length])
        if not private and getattr(module, kind.__name__, None) is kind:
            return f"{'.'.join(parts[:length])}.{kind.__name__}"
    return f"{kind.__module__}.{kind.__qualname__}"


def _parts(model: Any) -> Iterator[Any]:  # noqa: ANN401
    """The estimator and all inside it, in an order that depends on their names alone."""
    yield model
    inside = model.get_params(deep=True) if hasattr(model, "get_params") else {}
    for _, value in sorted(inside.items()):
        if is_estimator(value):
            yield value


def _is_catboost(model: object) -> bool:
    return _root(model) == "catboost"


def _root(value: object) -> str:
    return type(value).__module__.partition(".")[0]


def _seed_name(model: Any) -> str | None:  # noqa: ANN401
    if _is_catboost(model):
        return "random_seed"
    return "random_state" if "random_state" in model.get_params(deep=False) else None


def seeded(model: Any, seed: int) -> Any:  # noqa: ANN401
    """The same, with the seed, and one thread, in every part of it; each part has a seed of its own."""
    for number, part in enumerate(_parts(model)):
        known = part.get_params(deep=False)
        # To scikit-learn None is one thread, to others it is all of them.
        threads = "n_jobs" in known and not (known["n_jobs"] is None and _root(part) == "sklearn")
        own: dict[str, Any] = {"n_jobs": 1} if threads else {}
        name = _seed_name(part)
        if name is not None:
            own[name] = (seed + number) % 2**31
        if _is_catboost(part):
            own |= {"thread_count": 1, "allow_writing_files": False}
            own |= {} if {"verbose", "silent", "logging_level", "verbose_eval"} & known.keys() else {"verbose": False}
            part._init_params.pop("random_state", None)  # noqa: SLF001 - the other name of the same
        if _root(part) == "lightgbm" and not {"verbose", "verbosity"} & known.keys():
            own["verbose"] = -1
        part.set_params(**own)
    return model


def _inner(model: Any) -> Any:  # noqa: ANN401
    """What does the predicting: a pipeline's last step, what a wrapper wraps; None where it is the model itself."""
    names = {one.__name__ for one in type(model).__mro__}
    if "Pipeline" in names:
        return model.steps[-1][1]
    if "TransformedTargetRegressor" in names:
        return model.regressor
    if "BaseSearchCV" in names:
        return model.estimator
    return None


def _weight_key(model: Any) -> str | None:  # noqa: ANN401
    """Under which keyword its fit takes row weights; None where it takes none."""
    from sklearn.utils.validation import has_fit_parameter

    names = {one.__name__ for one in type(model).__mro__}
    inner = _inner(model)
    if inner is not None:
        key = None if isinstance(inner, str) else _weight_key(inner)
        return f"{model.steps[-1][0]}__{key}" if key is not None and "Pipeline" in names else key
    together = [one for one in _members(model) if is_estimator(one)]
    if together:  # which pass on what they are given
        return None if any(_weight_key(one) is None for one in together) else "sample_weight"
    if "TransformedTargetRegressor" in names:
        return "sample_weight"  # to its default, least squares
    return "sample_weight" if has_fit_parameter(model, "sample_weight") else None


def _members(model: Any) -> list[Any]:  # noqa: ANN401
    """The models that a vote or a stack is made of."""
    names = {one.__name__ for one in type(model).__mro__}
    if not {"VotingRegressor", "StackingRegressor"} & names:
        return []
    return [one[1] for one in model.estimators]


def _grows_trees(model: Any) -> bool:  # noqa: ANN401
    if model is None:
        return False
    inner = _inner(model)
    if inner is not None:
        return _grows_trees(inner)
    names = {one.__name__ for one in type(model).__mro__ if one.__module__.partition(".")[0] in _PACKAGES}
    if names & set(_BASES) and getattr(model, "estimator", None) is not None:
        return _grows_trees(model.estimator)
    if getattr(model, "booster", None) == "gblinear":
        return False
    members = _members(model)
    return bool(names & _TREES) or (bool(members) and all(map(_grows_trees, members)))


def _forget_the_clock(model: Any) -> None:  # noqa: ANN401
    """CatBoost writes the moment of training and a random identifier into every model."""
    about = model.get_metadata()
    for name in ("model_guid", "train_finish_time"):
        about[name] = ""
