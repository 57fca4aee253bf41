"""A finished run as a run of MLflow: parameters, metrics, the folder with its figures, and the model."""

from __future__ import annotations

import importlib.util
import math
from collections.abc import Iterator, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from crda_spec.audit.exported import contract, fitted_only, onnx_bytes, pipeline_of, skops_bytes
from crda_spec.audit.record import special_packages
from crda_spec.errors import Complaint, CrdaError, MissingExtraError
from crda_spec.records import Array, Predictor, mean_prediction

_BATCH = 100  # parameters that MLflow takes at a time
_LONGEST = 500  # letters of a parameter, in its oldest versions
_SECTIONS = ("falsify", "partition", "regressor", "counterfactual", "perturbation", "gate", "tune")


def log_run(record: Mapping[str, Any], folder: Path, models: Sequence[Predictor], rows: Array) -> str:
    """Logs the run to the tracking server that MLflow is set to, in its active run or a new one; returns the run's id.

    record: as in record.json.  rows: (n, d) real training rows, about which an exported model is asked.
    """
    if importlib.util.find_spec("mlflow") is None:
        what, hint = "the package mlflow is not installed", 'install it with: pip install "crda-spec[mlflow]"'
        raise MissingExtraError(Complaint(code="missing-extra", what=what, hint=hint))
    import mlflow

    active = mlflow.active_run()
    run = active or mlflow.start_run(run_name=record["name"])
    try:
        told = dict(_parameters(record))
        names = list(told)
        for start in range(0, len(names), _BATCH):
            mlflow.log_params({name: told[name] for name in names[start : start + _BATCH]})
        mlflow.log_metrics(dict(_metrics(record)))
        mlflow.set_tags(
            {
                "crda.decision": record["verdict"]["decision"],
                "crda.final_model": record["final_model"],
                "crda.record_sha256": record["sha256"],
            }
        )
        mlflow.log_artifacts(str(folder), "run")
        flavour = _log_model(mlflow, record, models, rows)
        mlflow.set_tag("crda.model", flavour)
    finally:
        if active is None:
            mlflow.end_run()
    return str(run.info.run_id)


def _parameters(record: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """What the run was asked to do, by the spec's own paths."""
    spec = record["spec"]["resolved"]
    for name in ("recipe", "goal", "seed"):
        yield name, str(spec[name])
    yield "data.sha256", str(record["data"]["sha256"])
    for section in _SECTIONS:
        for name, value in _leaves(spec[section], section):
            yield name, str(value)[:_LONGEST]


def _leaves(value: Any, path: str) -> Iterator[tuple[str, Any]]:  # noqa: ANN401 - any value of a spec
    if isinstance(value, Mapping) and value:
        for key, inner in value.items():
            yield from _leaves(inner, f"{path}.{_name(key)}")
    else:
        yield path, value


def _name(key: str) -> str:
    """A column's name as MLflow takes it."""
    return "".join(one if one.isalnum() or one in "_- ./" else "_" for one in key)


def _metrics(record: Mapping[str, Any]) -> Iterator[tuple[str, float]]:
    """What came of it."""
    parts = {"test": record["test"], "gate": record["verdict"]}
    parts |= {} if record["ensemble"] is None else {"ensemble": record["ensemble"]}
    for part, found in parts.items():
        for name, value in found.items():
            if isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value):
                yield f"{part}.{name}", float(value)
    yield "fits", float(record["fits"])


def _log_model(mlflow: Any, record: Mapping[str, Any], models: Sequence[Predictor], rows: Array) -> str:  # noqa: ANN401
    """As a pipeline of scikit-learn (by skops, no pickle), else as a graph; says which, or why neither."""
    members, signature = fitted_only(models), mlflow.models.infer_signature(rows, mean_prediction(models, rows))
    expected = mean_prediction(members, rows)
    others = special_packages(record["regressor"], searched=False)
    try:
        data = skops_bytes(members, rows, expected)
    except CrdaError:
        pass
    else:
        import skops.io
        from mlflow.sklearn import log_model as log_pipeline

        needs = [f"{name}=={version(name)}" for name in ("scikit-learn", "skops", "numpy", "xgboost", *others)]
        log_pipeline(
            pipeline_of(members, rows.shape[1]),
            name="model",
            signature=signature,
            serialization_format="skops",
            skops_trusted_types=skops.io.get_untrusted_types(data=data),
            pip_requirements=needs,
            metadata={"contract": contract(record, "skops")},
        )
        return "sklearn"
    try:
        graph = onnx_bytes(members, rows, expected)
    except CrdaError as error:
        return f"none: {error.complaints[0].what}"[:_LONGEST]
    import onnx
    from mlflow.onnx import log_model as log_graph

    log_graph(
        onnx.load_model_from_string(graph),
        name="model",
        signature=signature,
        pip_requirements=[f"{name}=={version(name)}" for name in ("onnx", "onnxruntime", "numpy")],
        metadata={"contract": contract(record, "onnx")},
    )
    return "onnx"
