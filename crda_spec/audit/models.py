"""Fitted models on disk and back, without pickle: what is read back can execute nothing.

`model.json` holds the encoding, and the numbers of a network or a Gaussian process, which are our own; the rest
is in the safe format of its library: XGBoost and CatBoost JSON, skops for scikit-learn. Equal models give equal bytes.
"""

from __future__ import annotations

import io
import json
import re
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import skops.io
import xgboost
from sklearn.neighbors import BallTree, KDTree
from sklearn.tree._tree import Tree as SavedTree

from crda_spec.audit.canonical import canonical_json, plain
from crda_spec.errors import Complaint, OutputError, show
from crda_spec.records import IntArray
from crda_spec.regressors import REGRESSORS, FittedModel
from crda_spec.regressors.boosting import Booster, load_catboost
from crda_spec.regressors.classes import SETTING, is_trusted
from crda_spec.regressors.fit import Encoder
from crda_spec.regressors.gaussian_process import SHAPES, Process
from crda_spec.regressors.mlp import Network

BoolArray = npt.NDArray[np.bool_]
_TRUSTED = [name for member in REGRESSORS.values() for name in member.saved_types]
_ANY = ("sklearn", "object")  # kinds that are any class: what may be read back depends on the user's list of packages
_ESTIMATORS = ("estimator.json", "estimator.skops")


def model_files(model: FittedModel) -> dict[str, bytes]:
    """File name -> bytes; OutputError when it is an estimator of another package that cannot be saved."""
    head: dict[str, Any] = {"model_version": 1, "kind": model.kind, "encoder": plain(model.encoder)}
    if model.columns is not None:
        head["columns"] = list(model.columns)
    estimator = model.estimator
    if isinstance(estimator, Network):
        numbers = {"network": {"weights": estimator.weights, "biases": estimator.biases}}
        return {"model.json": canonical_json(head | numbers).encode()}
    if isinstance(estimator, Process):
        return {"model.json": canonical_json(head | {"process": estimator}).encode()}
    if isinstance(estimator, Booster):
        name, data = "estimator.json", bytes(estimator.trees.save_raw("json"))
    elif model.kind == "catboost":
        name, data = "estimator.json", _catboost_json(estimator)
    else:
        name, data = "estimator.skops", _archive(model)
    head["estimator"] = name
    return {"model.json": canonical_json(head).encode(), name: data}


def _archive(model: FittedModel) -> bytes:
    """The estimator by skops. One of another package is read back at once: what nobody could load is not saved."""
    if model.kind not in _ANY:
        return settled(skops.io.dumps(model.estimator))
    name = type(model.estimator).__name__
    try:
        data = settled(skops.io.dumps(model.estimator))
        again = _load_any(data, name)
        x = np.zeros((2, sum(len(codes) or 1 for codes in model.encoder.labels)))
        same = np.array_equal(again.predict(x), model.estimator.predict(x))
    except OutputError:
        raise
    except Exception as error:  # whatever skops or a class of another package raises
        raise _unsaved(f"skops cannot save the {name}: {' '.join(str(error).split())[:200]}") from error
    if not same:
        raise _unsaved(f"the {name} predicts something else once skops has saved it")
    return data


def _load_any(data: bytes, name: str) -> Any:  # noqa: ANN401
    types = skops.io.get_untrusted_types(data=data)
    foreign = [one for one in types if not is_trusted(one)]
    if foreign:
        what = f"{name} holds types of packages that are not allowed, or no classes: {', '.join(foreign)}"
        hint = f"do not load this model, unless you trust these packages: export {SETTING}=..."
        raise OutputError(Complaint(code="untrusted-model", what=what, hint=hint))
    return skops.io.loads(data, trusted=types)


def _unsaved(what: str) -> OutputError:
    return OutputError(Complaint(code="unsaved-model", what=what, hint="predict with the Run in memory"))


def load_model(folder: Path) -> FittedModel:
    """The model that `model_files` wrote to this folder.

    Hashes can be mended, so its structure is checked too: a library that follows an index out of its arrays crashes.
    """
    head = json.loads((folder / "model.json").read_text(encoding="utf-8"))
    raw = head["encoder"]
    encoder = Encoder(
        **{name: np.array(raw[name], dtype=np.float64) for name in ("fill", "center", "scale")},
        labels=tuple(tuple(codes) for codes in raw["labels"]),
        target_center=float(raw["target_center"]),
        target_scale=float(raw["target_scale"]),
    )
    sizes = {getattr(encoder, name).shape for name in ("fill", "center", "scale")}
    _require(folder / "model.json", sound=sizes == {(len(encoder.labels),)})
    columns = None if "columns" not in head else tuple(int(one) for one in head["columns"])
    sound = columns is None or (len(columns) == len(encoder.labels) and min(columns) >= 0)
    _require(folder / "model.json", sound=sound)
    model = FittedModel(head["kind"], encoder, _load_estimator(folder, head), columns)
    width = len(encoder.labels) if columns is None else max(columns) + 1
    _require(folder / "model.json", sound=model.predict(np.zeros((2, width))).shape == (2,))
    return model


def load_models(folder: Path) -> tuple[FittedModel, ...]:
    """The models of an ensemble, or the members of a teacher, in the order of their numbers."""
    places = sorted(folder.glob("*/model.json"), key=lambda path: int(path.parent.name))
    return tuple(load_model(path.parent) for path in places)


def _load_estimator(folder: Path, head: dict[str, Any]) -> Any:  # noqa: ANN401 - any library's estimator
    width = sum(len(codes) or 1 for codes in head["encoder"]["labels"])
    if "network" in head:
        weights, biases = (tuple(map(np.array, head["network"][name])) for name in ("weights", "biases"))
        inner = [*(layer.shape[0] for layer in weights), 1]
        sound = inner[0] == width and all(
            layer.shape == (into, out) and bias.shape == (out,)
            for layer, bias, into, out in zip(weights, biases, inner, inner[1:], strict=False)
        )
        _require(folder / "model.json", sound=sound and len(weights) == len(biases) > 0)
        return Network(weights, biases)
    if "process" in head:
        saved = head["process"]
        parts = {name: np.array(saved[name], dtype=np.float64) for name in ("lengths", "slopes", "points", "heights")}
        shapes = [(width,), (width,), (len(parts["heights"]), width), (len(parts["heights"]),)]
        sound = [part.shape for part in parts.values()] == shapes and bool((parts["lengths"] > 0).all())
        _require(folder / "model.json", sound=sound and saved["kernel"] in SHAPES)
        return Process(saved["kernel"], **parts, level=float(saved["level"]))
    if head["estimator"] not in _ESTIMATORS:  # a name from a file must not lead out of the folder
        raise _untrusted(f"{folder.name}/model.json names the estimator's file {show(head['estimator'])}")
    file = folder / head["estimator"]
    data = file.read_bytes()
    if head["kind"] == "xgboost":
        _require(file, sound=_sound_xgboost(json.loads(data)["learner"], width))
        trees = xgboost.Booster({"nthread": 1})
        trees.load_model(bytearray(data))
        return Booster(trees)
    if head["kind"] == "catboost":
        _require(file, sound=_sound_catboost(json.loads(data), width))
        model = load_catboost()()
        model.load_model(file, format="json")
        # CatBoost's own reader rounds the last bit of a leaf; Python's does not.
        leaves = [value for tree in json.loads(data)["oblivious_trees"] for value in tree["leaf_values"]]
        model.set_leaf_values(np.array(leaves, dtype=np.float64))
        return model
    name = f"{folder.name}/{head['estimator']}"
    if not zipfile.is_zipfile(io.BytesIO(data)):  # a pickle, say: it is not even looked into
        raise _untrusted(f"{name} is not the archive that a run writes")
    if head["kind"] in _ANY:
        estimator = _load_any(data, name)
        _require(file, sound=_sound_parts(estimator) and getattr(estimator, "n_features_in_", 0) in (0, width))
        return estimator
    foreign = [one for one in skops.io.get_untrusted_types(data=data) if one not in _TRUSTED]
    if foreign and head["kind"] not in REGRESSORS:
        what = f"{name} is a model of the plugin {show(head['kind'])}, whose types are not loaded: {', '.join(foreign)}"
        hint = "only models of built-in kinds can be read back; fit it again with crda-run"
        raise OutputError(Complaint(code="plugin-model", what=what, hint=hint))
    if foreign:
        raise _untrusted(f"{name} contains unexpected types: {', '.join(foreign)}")
    estimator = skops.io.loads(data, trusted=_TRUSTED)
    wanted = getattr(REGRESSORS.get(head["kind"]), "estimator", ("", ""))[1]
    _require(file, sound=type(estimator).__name__ == wanted and _sound_scikit(estimator, width))
    # A search tree has indices of its own; the rows that it was built from build it again, to the last bit.
    return estimator.fit(estimator._fit_X, estimator._y) if head["kind"] == "knn" else estimator  # noqa: SLF001


def _grown(left: IntArray, right: IntArray, feature: IntArray, width: int, *, leaf: BoolArray) -> bool:
    """Whether nodes are one tree: each but the first has one parent, which stands before it, and asks a feature."""
    inner, numbers = ~leaf, np.arange(len(left))
    children = np.concatenate([left[inner], right[inner]])
    return (
        left.shape == right.shape == feature.shape == leaf.shape == (len(left),)
        and bool((np.minimum(left, right)[inner] > numbers[inner]).all())
        and np.array_equal(np.sort(children), numbers[1:])
        and bool(((feature >= 0) & (feature < width))[inner].all())
    )


def _sound_xgboost(learner: dict[str, Any], width: int) -> bool:
    booster, shape = learner["gradient_booster"], learner["learner_model_param"]
    model, trees = booster["model"], booster["model"]["trees"]
    count = len(trees)
    return (
        booster["name"] == "gbtree"
        and _sound_objective(learner["objective"])
        and [shape[name] for name in ("num_feature", "num_class", "num_target")] == [str(width), "0", "1"]
        and model["gbtree_model_param"] == {"num_parallel_tree": "1", "num_trees": str(count)}
        and model["iteration_indptr"] == list(range(count + 1))
        and model["tree_info"] == [0] * count
        and not any(model.get("cats", {}).values())
        and all(_sound_xgboost_tree(tree, at, width) for at, tree in enumerate(trees))
    )


def _sound_objective(objective: dict[str, Any]) -> bool:
    """Of the mean, or of one quantile."""
    if objective["name"] == "reg:squarederror":
        return True
    levels = json.loads(objective["quantile_loss_param"]["quantile_alpha"])
    return objective["name"] == "reg:quantileerror" and len(levels) == 1 and 0 < levels[0] < 1


_NODES = ("base_weights", "loss_changes", "sum_hessian", "split_conditions", "default_left", "split_type")


def _sound_xgboost_tree(tree: dict[str, Any], at: int, width: int) -> bool:
    names = ("left_children", "right_children", "split_indices", "parents")
    left, right, feature, parents = (np.array(tree[name], dtype=np.int64) for name in names)
    leaf = (left == -1) & (right == -1)
    size = {"num_deleted": "0", "num_feature": str(width), "num_nodes": str(len(left)), "size_leaf_vector": "1"}
    sound = (
        tree["id"] == at
        and {**tree["tree_param"], "size_leaf_vector": "1"} == size
        and tree["tree_param"]["size_leaf_vector"] in ("0", "1")
        and all(np.shape(tree[name]) == left.shape for name in _NODES)
        and not any(tree["split_type"])
        and not any(part for name, part in tree.items() if name.startswith("categories"))
        and _grown(left, right, feature, width, leaf=leaf)
    )
    inner = np.flatnonzero(~leaf)
    return sound and all(np.array_equal(parents[side[inner]], inner) for side in (left, right))


def _sound_catboost(model: dict[str, Any], width: int) -> bool:
    features = model["features_info"]["float_features"]
    borders = [feature["borders"] for feature in features]
    first = np.cumsum([0, *map(len, borders)]).tolist()

    def known(split: dict[str, Any]) -> bool:
        feature, at = split["float_feature_index"], split["split_index"]
        return (
            split["split_type"] == "FloatFeature"
            and feature in range(width)
            and at in range(first[-1])
            and first[feature] <= at < first[feature + 1]
            and borders[feature][at - first[feature]] == split["border"]
        )

    return (
        set(model["features_info"]) == {"float_features"}
        and all(one["feature_index"] == one["flat_feature_index"] == at for at, one in enumerate(features))
        and len(features) == width
        and all(
            len(tree["leaf_values"]) == len(tree["leaf_weights"]) == 2 ** len(tree["splits"])
            and all(map(known, tree["splits"]))
            for tree in model["oblivious_trees"]
        )
    )


def _sound_scikit(estimator: Any, width: int) -> bool:  # noqa: ANN401
    """What compiled code would follow without looking; a mistake elsewhere is an error that Python sees."""
    kind = type(estimator).__name__
    sound = bool(estimator.n_features_in_ == width)
    if kind == "RandomForestRegressor":
        trees = [one.tree_ for one in estimator.estimators_ if type(one).__name__ == "DecisionTreeRegressor"]
        sound = sound and len(trees) == len(estimator.estimators_) > 0
        for tree in trees:
            left, right = tree.children_left, tree.children_right
            sound = sound and (tree.n_features, tree.n_outputs, tree.value.shape[1:]) == (width, 1, (1, 1))
            sound = sound and _grown(left, right, tree.feature, width, leaf=(left == -1) & (right == -1))
    elif kind == "HistGradientBoostingRegressor":
        categories = estimator._bin_mapper.is_categorical_  # noqa: SLF001
        sound = sound and categories.shape == (width,) and not categories.any()
        for (tree,) in estimator._predictors:  # noqa: SLF001
            nodes, leaf = tree.nodes, tree.nodes["is_leaf"].astype(bool)
            left, right, feature = (nodes[name].astype(np.int64) for name in ("left", "right", "feature_idx"))
            sound = sound and not nodes["is_categorical"].any() and _grown(left, right, feature, width, leaf=leaf)
    elif kind == "KNeighborsRegressor":
        sound = sound and estimator._fit_X.shape == (len(estimator._y), width) and estimator._y.ndim == 1  # noqa: SLF001
    elif kind == "SVR":
        count = len(estimator.support_vectors_)
        shapes = {"support_": (count,), "support_vectors_": (count, width), "_dual_coef_": (1, count)}
        shapes |= {"_intercept_": (1,), "_n_support": (2,), "_probA": (0,), "_probB": (0,)}
        sound = sound and (isinstance(estimator.kernel, str), estimator._sparse) == (True, False)  # noqa: SLF001
        sound = sound and all(getattr(estimator, name).shape == shape for name, shape in shapes.items())
    return sound


def _sound_parts(value: Any, seen: set[int] | None = None) -> bool:  # noqa: ANN401
    """The same for everything of scikit-learn and XGBoost inside an estimator of any class."""
    seen = set() if seen is None else seen
    if id(value) in seen or isinstance(value, str | bytes | bytearray | int | float | None):
        return True
    seen.add(id(value))
    if isinstance(value, np.ndarray):
        return value.dtype != object or all(_sound_parts(one, seen) for one in value.flat)
    if isinstance(value, dict):
        return all(_sound_parts(one, seen) for one in value.values())
    if isinstance(value, list | tuple):
        return all(_sound_parts(one, seen) for one in value)
    if not is_trusted(f"{type(value).__module__}.{type(value).__qualname__}") or not hasattr(value, "__dict__"):
        return True
    width, sound = getattr(value, "n_features_in_", 0), True
    if isinstance(tree := getattr(value, "tree_", None), SavedTree):
        left, right = tree.children_left, tree.children_right
        sound = (tree.n_features, tree.n_outputs, tree.value.shape[1:]) == (width, 1, (1, 1))
        sound = sound and _grown(left, right, tree.feature, width, leaf=(left == -1) & (right == -1))
    elif isinstance(value, xgboost.Booster):
        learner = json.loads(bytes(value.save_raw("json")))["learner"]
        booster, count = learner["gradient_booster"], value.num_features()
        trees = booster.get("gbtree", booster).get("model", {}).get("trees", [])
        return all(_sound_xgboost_tree(tree, at, count) for at, tree in enumerate(trees))
    elif isinstance(getattr(value, "_tree", None), KDTree | BallTree):  # which the rows build again, to the last bit
        sound = value._fit_X.shape == (len(value._y), width)  # noqa: SLF001
        value.fit(value._fit_X, value._y)  # noqa: SLF001
    elif type(value).__name__ in ("HistGradientBoostingRegressor", "SVR") and width:
        sound = _sound_scikit(value, width)
    return sound and all(_sound_parts(one, seen) for one in vars(value).values())


def _untrusted(what: str) -> OutputError:
    return OutputError(Complaint(code="untrusted-model", what=what, hint="do not load this model"))


def _require(file: Path, *, sound: bool) -> None:
    """Numbers that do not fit together were not written by a run."""
    if not sound:
        raise _untrusted(f"{file.parent.name}/{file.name} holds numbers that do not fit together")


def _catboost_json(estimator: Any) -> bytes:  # noqa: ANN401
    """CatBoost's JSON without the moment of training and the random identifier it writes into every model."""
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.json"
        estimator.save_model(path, format="json")
        tree = json.loads(path.read_text(encoding="utf-8"))
    for name in ("model_guid", "train_finish_time", "output_options", "catboost_version_info"):
        tree.get("model_info", {}).pop(name, None)
    return json.dumps(tree, sort_keys=True).encode()


def settled(data: bytes) -> bytes:
    """A skops archive whose bytes depend on the estimator only: memory addresses, clock times and chance taken out."""
    source = zipfile.ZipFile(io.BytesIO(data))
    numbers: dict[str, str] = {}

    def number(match: re.Match[str]) -> str:
        return match.group(1) + numbers.setdefault(match.group(2), str(len(numbers) + 1)) + match.group(3)

    schema = source.read("schema.json").decode()
    schema = re.sub(r'("__id__": )(\d+)()', number, schema)
    schema = re.sub(r'("file": ")([0-9a-f-]+)(\.\w+")', number, schema)
    members = {"schema.json": schema.encode()}
    for name in source.namelist():
        if name != "schema.json":
            stem, _, ending = name.partition(".")
            members[f"{numbers.get(stem, stem)}.{ending}"] = source.read(name)
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w", zipfile.ZIP_DEFLATED) as target:
        for name in sorted(members):
            target.writestr(zipfile.ZipInfo(name, date_time=(1980, 1, 1, 0, 0, 0)), members[name])
    return sink.getvalue()
