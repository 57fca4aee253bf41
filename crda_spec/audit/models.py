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
import skops.io
import xgboost

from crda_spec.audit.canonical import canonical_json, plain
from crda_spec.errors import Complaint, OutputError, show
from crda_spec.regressors import REGRESSORS, FittedModel
from crda_spec.regressors.catboost import load_catboost
from crda_spec.regressors.fit import Encoder
from crda_spec.regressors.gaussian_process import SHAPES, Process
from crda_spec.regressors.mlp import Network
from crda_spec.regressors.xgboost import Booster

_TRUSTED = [name for member in REGRESSORS.values() for name in member.saved_types]
_ESTIMATORS = ("estimator.json", "estimator.skops")


def model_files(model: FittedModel) -> dict[str, bytes]:
    """File name -> bytes."""
    head: dict[str, Any] = {"model_version": 1, "kind": model.kind, "encoder": plain(model.encoder)}
    estimator = model.estimator
    if isinstance(estimator, Network | Process):
        head["network" if isinstance(estimator, Network) else "process"] = plain(estimator)
        return {"model.json": canonical_json(head).encode()}
    if isinstance(estimator, Booster):
        name, data = "estimator.json", bytes(estimator.trees.save_raw("json"))
    elif model.kind == "catboost":
        name, data = "estimator.json", _catboost_json(estimator)
    else:
        name, data = "estimator.skops", _settled(skops.io.dumps(estimator))
    head["estimator"] = name
    return {"model.json": canonical_json(head).encode(), name: data}


def load_model(folder: Path) -> FittedModel:
    """The model that `model_files` wrote to this folder."""
    head = json.loads((folder / "model.json").read_text(encoding="utf-8"))
    raw = head["encoder"]
    encoder = Encoder(
        **{name: np.array(raw[name]) for name in ("fill", "center", "scale")},
        labels=tuple(tuple(codes) for codes in raw["labels"]),
        target_center=raw["target_center"],
        target_scale=raw["target_scale"],
    )
    return FittedModel(head["kind"], encoder, _load_estimator(folder, head))


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
        _require(folder, sound=sound and len(weights) == len(biases))
        return Network(weights, biases)
    if "process" in head:
        saved = head["process"]
        parts = {name: np.array(saved[name], dtype=np.float64) for name in ("lengths", "slopes", "points", "heights")}
        shapes = [(width,), (width,), (len(parts["heights"]), width), (len(parts["heights"]),)]
        sound = [part.shape for part in parts.values()] == shapes and bool((parts["lengths"] > 0).all())
        _require(folder, sound=sound and saved["kernel"] in SHAPES)
        return Process(saved["kernel"], **parts, level=float(saved["level"]))
    if head["estimator"] not in _ESTIMATORS:  # a name from a file must not lead out of the folder
        raise _untrusted(f"{folder.name}/model.json names the estimator's file {show(head['estimator'])}")
    data = (folder / head["estimator"]).read_bytes()
    if head["kind"] == "xgboost":
        trees = xgboost.Booster({"nthread": 1})
        trees.load_model(bytearray(data))
        return Booster(trees)
    if head["kind"] == "catboost":
        model = load_catboost()()
        model.load_model(folder / head["estimator"], format="json")
        # CatBoost's own reader rounds the last bit of a leaf; Python's does not.
        leaves = [value for tree in json.loads(data)["oblivious_trees"] for value in tree["leaf_values"]]
        model.set_leaf_values(np.array(leaves, dtype=np.float64))
        return model
    name = f"{folder.name}/{head['estimator']}"
    if not zipfile.is_zipfile(io.BytesIO(data)):  # a pickle, say: it is not even looked into
        raise _untrusted(f"{name} is not the archive that a run writes")
    foreign = [one for one in skops.io.get_untrusted_types(data=data) if one not in _TRUSTED]
    if foreign and head["kind"] not in REGRESSORS:
        what = f"{name} is a model of the plugin {show(head['kind'])}, whose types are not loaded: {', '.join(foreign)}"
        hint = "only models of built-in kinds can be read back; fit it again with crda-run"
        raise OutputError(Complaint(code="plugin-model", what=what, hint=hint))
    if foreign:
        raise _untrusted(f"{name} contains unexpected types: {', '.join(foreign)}")
    return skops.io.loads(data, trusted=_TRUSTED)


def _untrusted(what: str) -> OutputError:
    return OutputError(Complaint(code="untrusted-model", what=what, hint="do not load this model"))


def _require(folder: Path, *, sound: bool) -> None:
    """Numbers of our own that do not fit together were not written by a run."""
    if not sound:
        raise _untrusted(f"{folder.name}/model.json holds numbers that do not fit together")


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


def _settled(data: bytes) -> bytes:
    """A skops archive whose bytes depend on the estimator only: memory addresses and clock times taken out."""
    source = zipfile.ZipFile(io.BytesIO(data))
    numbers: dict[str, str] = {}

    def number(match: re.Match[str]) -> str:
        return match.group(1) + numbers.setdefault(match.group(2), str(len(numbers) + 1)) + match.group(3)

    schema = source.read("schema.json").decode()
    schema = re.sub(r'("__id__": )(\d+)()', number, schema)
    schema = re.sub(r'("file": ")(\d+)(\.\w+")', number, schema)
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
