"""The final model of a run for other tools: raw features in, predictions in the target's unit out, a contract beside.

As skops it is a pipeline of scikit-learn; as ONNX one graph, in which our encoding is computed in double precision and
most libraries' models in single precision. Each is asked about the training rows before it is written.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np

from crda_spec.audit.canonical import canonical_json, plain, sha256_of
from crda_spec.audit.runfolder import whole_file
from crda_spec.errors import Complaint, MissingExtraError, OutputError, Place, did_you_mean, show
from crda_spec.records import Array, Predictor, mean_prediction
from crda_spec.regressors import FittedModel
from crda_spec.regressors.boosting import Booster
from crda_spec.regressors.fit import Encoder
from crda_spec.regressors.gaussian_process import Process
from crda_spec.regressors.mlp import Network

Format = Literal["skops", "onnx"]
FORMATS: tuple[Format, ...] = ("skops", "onnx")
INPUT, OUTPUT = "rows", "prediction"
_SINGLE = 1e-4  # of the predictions' spread: what single precision may differ by
_CLOSE = 1e-6  # XGBoost answers in single precision, which scikit-learn then keeps
# A row that lies on a tree's cut to seven digits may fall on its other side in single precision.
_ASTRAY = 0.01  # part of the rows at most


def format_of(path: Path, wanted: str | None) -> Format:
    """What is asked for, or what the file's ending says."""
    name = wanted or path.suffix.removeprefix(".")
    for known in FORMATS:
        if name == known:
            return known
    what = f"{show(name)} is no format of a model" if name else "nothing says in which format"
    hint = did_you_mean(name, FORMATS, otherwise="use --format, or an ending")
    raise OutputError(Complaint(code="unknown-format", place=Place(str(path)), what=what, hint=hint))


def contract(record: Mapping[str, Any], form: Format) -> dict[str, Any]:
    """What must be known of the model's input and output, as JSON. record: of the run, sealed."""
    data = record["data"]
    where = {"input": INPUT, "output": OUTPUT} if form == "onnx" else {}
    return {
        "contract_version": 1,
        "run": record["name"],
        "record_sha256": record["sha256"],
        "format": form,
        "model": record["final_model"],
        "models": 1 if record["ensemble"] is None else record["ensemble"]["models"],
        "regressor": record["regressor"],
        **where,
        # One number a column, in this order; missing: NaN, which the model fills.
        "columns": [
            {
                "name": column["name"],
                "type": column["type"],
                "unit": column["unit"],
                "minimum": column["minimum"],
                "maximum": column["maximum"],
                "allowed": column["allowed"],
                "codes": None
                if column["labels"] is None
                else {label: code for code, label in enumerate(column["labels"])},
            }
            for column in data["features"]
        ],
        "target": {"name": data["target"]["name"], "unit": data["target"]["unit"]},
    }


def write_exported(
    path: Path, models: Sequence[Predictor], record: Mapping[str, Any], form: Format, rows: Array
) -> tuple[Path, Path]:
    """Writes the model and its contract, `FILE.json`; both appear whole or not at all.

    models: one, or the members of an ensemble.  rows: (n, d) as in a Table, about which both forms are asked.
    """
    members = fitted_only(models)
    expected = mean_prediction(members, rows)
    data = skops_bytes(members, rows, expected) if form == "skops" else onnx_bytes(members, rows, expected)
    beside = path.with_name(f"{path.name}.json")
    about = {**contract(record, form), "sha256": sha256_of(data)}
    with whole_file(beside) as partial:
        partial.write_text(canonical_json(plain(about)), encoding="utf-8")
    with whole_file(path) as partial:
        partial.write_bytes(data)
    return path, beside


def fitted_only(models: Sequence[Predictor]) -> list[FittedModel]:
    """The models, if they are such as this package fits."""
    members = [one for one in models if isinstance(one, FittedModel)]
    if not members or len(members) < len(models):
        raise _refused("the run's model is none that was fitted here", "run the spec again")
    return members


def _refused(what: str, hint: str) -> OutputError:
    return OutputError(Complaint(code="no-export", what=what, hint=hint))


# --- skops: a pipeline of scikit-learn


def skops_bytes(models: Sequence[FittedModel], rows: Array, expected: Array) -> bytes:
    """A fitted pipeline of scikit-learn: fill, encode, predict, scale back."""
    import skops.io

    from crda_spec.audit.models import settled

    pipeline = pipeline_of(models, rows.shape[1])
    data = settled(skops.io.dumps(pipeline))
    again = skops.io.loads(data, trusted=skops.io.get_untrusted_types(data=data))  # of what we have just written
    if not np.allclose(again.predict(rows), expected, rtol=_CLOSE, atol=_CLOSE * float(np.ptp(expected) or 1.0)):
        raise _refused("the exported pipeline predicts something else than the run", "export it as onnx")
    return data


def pipeline_of(models: Sequence[FittedModel], width: int) -> Any:  # noqa: ANN401
    """The pipeline itself. width: the number of columns of its input."""
    from sklearn.compose import TransformedTargetRegressor
    from sklearn.ensemble import VotingRegressor
    from sklearn.pipeline import Pipeline
    from sklearn.preprocessing import StandardScaler

    made = []
    for model in models:
        inner, encoder = _as_scikit(model), model.encoder
        target = _fitted(
            StandardScaler(),
            mean_=np.array([encoder.target_center]),
            scale_=np.array([encoder.target_scale]),
            var_=np.array([encoder.target_scale**2]),
            n_features_in_=1,
        )
        whole = _fitted(
            TransformedTargetRegressor(regressor=inner, transformer=target), regressor_=inner, transformer_=target
        )
        whole._training_dim = 1  # noqa: SLF001 - it predicts vectors
        made.append(Pipeline([("encode", _encoding(model, width)), ("predict", whole)]))
    if len(made) == 1:
        return made[0]
    names = [f"model {number}" for number in range(1, len(made) + 1)]
    return _fitted(VotingRegressor(list(zip(names, made, strict=True))), estimators_=made)


def _fitted(estimator: Any, **learnt: Any) -> Any:  # noqa: ANN401
    """The estimator with what it would have learnt."""
    vars(estimator).update(learnt)
    return estimator


def _encoding(model: FittedModel, width: int) -> Any:  # noqa: ANN401
    """One small pipeline for each column that the model looks at, in their order."""
    from sklearn.compose import ColumnTransformer
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import Pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    encoder, parts = model.encoder, []
    for position, codes in enumerate(encoder.labels):
        column = position if model.columns is None else model.columns[position]
        fill = float(encoder.fill[position])
        row = np.zeros((1, 1))
        filler = SimpleImputer(strategy="constant", fill_value=fill, keep_empty_features=True).fit(row)
        if codes:
            scale: Any = OneHotEncoder(
                categories=[np.array(codes, dtype=np.float64)], handle_unknown="ignore", sparse_output=False
            ).fit(np.array(codes, dtype=np.float64)[:, None])
        else:
            scale = _fitted(
                StandardScaler(),
                mean_=encoder.center[[position]],
                scale_=encoder.scale[[position]],
                var_=encoder.scale[[position]] ** 2,
                n_features_in_=1,
            )
        parts.append((f"column {column + 1}", Pipeline([("fill", filler), ("scale", scale)]), [column]))
    # Its parts are set after a fit that counts columns and lays out the output.
    before = ColumnTransformer([(name, "passthrough", columns) for name, _, columns in parts]).fit(np.zeros((2, width)))
    start, slices = 0, {}
    for (name, _, _), codes in zip(parts, encoder.labels, strict=True):
        slices[name] = slice(start, start + (len(codes) or 1))
        start = slices[name].stop
    slices["remainder"] = slice(0, 0)
    before.transformers, before.output_indices_ = parts, slices
    before.transformers_ = parts
    return before


def _as_scikit(model: FittedModel) -> Any:  # noqa: ANN401
    """The trained part as an estimator with scikit-learn's interface."""
    trained = model.estimator
    if isinstance(trained, Booster):
        from xgboost import XGBRegressor

        regressor = XGBRegressor(n_jobs=1)
        regressor.load_model(bytearray(trained.trees.save_raw("json")))
        return regressor
    if isinstance(trained, Network):
        from sklearn.neural_network import MLPRegressor

        return _fitted(
            MLPRegressor(hidden_layer_sizes=tuple(layer.shape[1] for layer in trained.weights[:-1])),
            coefs_=list(trained.weights),
            intercepts_=list(trained.biases),
            n_layers_=len(trained.weights) + 1,
            n_outputs_=1,
            out_activation_="identity",
            n_features_in_=trained.weights[0].shape[0],
        )
    if isinstance(trained, Process):
        what = "a gaussian_process of ours is no estimator of scikit-learn, so it has no skops archive"
        raise _refused(what, "use --format onnx")
    return trained


# --- ONNX: one graph

_OPSETS = {"": 13, "ai.onnx.ml": 3}
_EXTRA = ("onnx", "onnxruntime", "skl2onnx", "onnxmltools")


def onnx_bytes(models: Sequence[FittedModel], rows: Array, expected: Array) -> bytes:
    """A graph of double precision around each model, and the mean of their predictions."""
    missing = [name for name in _EXTRA if importlib.util.find_spec(name) is None]
    if missing:
        what, hint = f"ONNX needs {', '.join(missing)}", 'install them with: pip install "crda-spec[export]"'
        raise MissingExtraError(Complaint(code="missing-extra", what=what, hint=hint))
    import onnx
    from onnx import TensorProto, helper

    graph = _Graph()
    outputs = [graph.member(model, f"m{number}_") for number, model in enumerate(models)]
    total = outputs[0]
    for one in outputs[1:]:  # onnxruntime knows no Mean of doubles
        total = graph.node("Add", [total, one])
    mean = total if len(outputs) == 1 else graph.node("Div", [total, graph.constant(np.float64(len(outputs)))])
    graph.node("Reshape", [mean, graph.constant(np.array([-1], dtype=np.int64))], OUTPUT)
    made = helper.make_model(
        helper.make_graph(
            graph.nodes,
            "crda-spec",
            [helper.make_tensor_value_info(INPUT, TensorProto.DOUBLE, [None, rows.shape[1]])],
            [helper.make_tensor_value_info(OUTPUT, TensorProto.DOUBLE, [None])],
            graph.initializers,
        ),
        opset_imports=[helper.make_opsetid(domain, version) for domain, version in _OPSETS.items()],
        producer_name="crda-spec",
        ir_version=8,
    )
    onnx.checker.check_model(made)
    data: bytes = made.SerializeToString(deterministic=True)
    _check_onnx(data, rows, expected)
    return data


def _check_onnx(data: bytes, rows: Array, expected: Array) -> None:
    """What the graph says of rows that the run has predicted too."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    try:
        session = onnxruntime.InferenceSession(data, options, providers=["CPUExecutionProvider"])
        found = session.run([OUTPUT], {INPUT: rows})[0]
    except Exception as error:  # whatever onnxruntime raises
        what = f"onnxruntime cannot run the graph: {' '.join(str(error).split())[:200]}"
        raise _refused(what, "export it as skops") from error
    apart = np.abs(found - expected) > _SINGLE * float(np.ptp(expected) or 1.0)
    if apart.mean() > _ASTRAY:
        what = f"the graph predicts {int(apart.sum())} of {len(rows)} training rows otherwise than the run"
        raise _refused(what, "export it as skops")


class _Graph:
    """Nodes and numbers on their way into a graph."""

    def __init__(self) -> None:
        self.nodes: list[Any] = []
        self.initializers: list[Any] = []

    def node(self, kind: str, inputs: Sequence[str], output: str = "", **attributes: Any) -> str:  # noqa: ANN401
        """Adds a node and returns the name of its output."""
        from onnx import helper

        output = output or f"n{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, list(inputs), [output], name=f"node {output}", **attributes))
        return output

    def constant(self, value: Any) -> str:  # noqa: ANN401 - an array or a number
        """Adds numbers and returns their name."""
        from onnx import numpy_helper

        name = f"c{len(self.initializers)}"
        self.initializers.append(numpy_helper.from_array(np.asarray(value), name))
        return name

    def cast(self, value: str, kind: str) -> str:
        """kind: FLOAT or DOUBLE."""
        from onnx import TensorProto

        return self.node("Cast", [value], to=getattr(TensorProto, kind))

    def member(self, model: FittedModel, prefix: str) -> str:
        """One model, from raw rows to the target's unit, (n, 1)."""
        rows = INPUT
        if model.columns is not None:
            rows = self.node("Gather", [INPUT, self.constant(np.array(model.columns, dtype=np.int64))], axis=1)
        x = self._encoded(model.encoder, rows)
        width = sum(len(codes) or 1 for codes in model.encoder.labels)
        trained = _kernel_machine(model.estimator)
        if isinstance(trained, Network):
            y = self._network(trained, x)
        elif isinstance(trained, Process):
            y = self._process(trained, x)
        else:
            y = self._foreign(trained, x, width, prefix)
        scaled = self.node("Mul", [y, self.constant(np.float64(model.encoder.target_scale))])
        return self.node("Add", [scaled, self.constant(np.float64(model.encoder.target_center))])

    def _encoded(self, encoder: Encoder, rows: str) -> str:
        """As `Encoder.encode` does it."""
        filled = self.node("Where", [self.node("IsNaN", [rows]), self.constant(encoder.fill[None, :]), rows])
        centered = self.node("Sub", [filled, self.constant(encoder.center[None, :])])
        scaled = self.node("Div", [centered, self.constant(encoder.scale[None, :])])
        if not any(encoder.labels):
            return scaled
        parts = []
        for position, codes in enumerate(encoder.labels):
            at = self.constant(np.array([position], dtype=np.int64))
            if codes:
                column = self.node("Gather", [filled, at], axis=1)
                same = self.node("Equal", [column, self.constant(np.array([codes], dtype=np.float64))])
                parts.append(self.cast(same, "DOUBLE"))
            else:
                parts.append(self.node("Gather", [scaled, at], axis=1))
        return self.node("Concat", parts, axis=1)

    def _network(self, network: Network, x: str) -> str:
        for layer, (weights, bias) in enumerate(zip(network.weights, network.biases, strict=True)):
            x = self.node("Add", [self.node("MatMul", [x, self.constant(weights)]), self.constant(bias)])
            if layer < len(network.weights) - 1:
                x = self.node("Max", [x, self.constant(np.float64(0.0))])  # Relu knows no doubles here
        return x

    def _process(self, process: Process, x: str) -> str:
        """A linear part, and bumps around points."""
        scaled = self.node("Div", [x, self.constant(process.lengths[None, :])])
        axis = self.constant(np.array([1], dtype=np.int64))
        own = self.node("ReduceSum", [self.node("Mul", [scaled, scaled]), axis])
        points = np.ascontiguousarray(process.points.T)
        cross = self.node("MatMul", [scaled, self.constant(-2.0 * points)])
        squared = self.node("Add", [own, self.constant((points * points).sum(axis=0)[None, :])])
        squared = self.node("Max", [self.node("Add", [squared, cross]), self.constant(np.float64(0.0))])
        bumps = self._bumps(process.kernel, squared)
        heights = self.node("MatMul", [bumps, self.constant(process.heights[:, None])])
        linear = self.node("MatMul", [x, self.constant(process.slopes[:, None])])
        return self.node("Add", [self.node("Add", [heights, linear]), self.constant(np.float64(process.level))])

    def _bumps(self, kernel: str, squared: str) -> str:
        """As `gaussian_process.SHAPES` have it."""
        if kernel == "rbf":
            return self.node("Exp", [self.node("Mul", [squared, self.constant(np.float64(-0.5))])])
        one = self.constant(np.float64(1.0))
        if kernel == "rational_quadratic":
            half = self.node("Mul", [squared, self.constant(np.float64(0.5))])
            return self.node("Div", [one, self.node("Add", [one, half])])
        r = self.node("Sqrt", [self.node("Mul", [squared, self.constant(np.float64(5.0))])])
        r = self.node("Min", [r, self.constant(np.float64(1e3))])
        third = self.node("Div", [self.node("Mul", [r, r]), self.constant(np.float64(3.0))])
        rise = self.node("Add", [self.node("Add", [one, r]), third])
        return self.node("Mul", [rise, self.node("Exp", [self.node("Neg", [r])])])

    def _foreign(self, trained: Any, x: str, width: int, prefix: str) -> str:  # noqa: ANN401
        """A library's model, in single precision, as its converter writes it."""
        from onnx import compose

        inner = compose.add_prefix(_converted(trained, width), prefix).graph
        self.node("Cast", [x], inner.input[0].name, to=1)  # FLOAT
        self.nodes.extend(inner.node)
        self.initializers.extend(inner.initializer)
        flat = self.node("Reshape", [inner.output[0].name, self.constant(np.array([-1, 1], dtype=np.int64))])
        return self.cast(flat, "DOUBLE")


def _kernel_machine(trained: Any) -> Any:  # noqa: ANN401
    """Kernel ridge with a Gaussian kernel is a process without a linear part; all else stays what it is."""
    if type(trained).__name__ != "KernelRidge" or trained.kernel != "rbf":
        return trained
    width = trained.X_fit_.shape[1]
    gamma = 1.0 / width if trained.gamma is None else trained.gamma
    lengths = np.full(width, np.sqrt(0.5 / gamma))
    return Process("rbf", lengths, np.zeros(width), trained.X_fit_ / lengths, np.ravel(trained.dual_coef_))


def _converted(trained: Any, width: int) -> Any:  # noqa: ANN401 - ONNX has no types
    """By skl2onnx, onnxmltools or CatBoost itself."""
    import warnings

    name = type(trained).__name__
    try:
        with warnings.catch_warnings(action="ignore"):
            return _convert(trained, width)
    except Exception as error:  # whatever the converters raise
        what = f"no converter writes {name} as ONNX: {' '.join(str(error).split())[:200]}"
        raise _refused(what, "export it as skops") from error


def _convert(trained: Any, width: int) -> Any:  # noqa: ANN401 - ONNX has no types
    import onnx
    from skl2onnx import to_onnx
    from skl2onnx.common.data_types import FloatTensorType

    root, types = type(trained).__module__.partition(".")[0], [("x", FloatTensorType([None, width]))]
    if isinstance(trained, Booster):
        from onnxmltools import convert_xgboost

        return convert_xgboost(trained.trees, initial_types=types, target_opset=_OPSETS[""])
    if root == "catboost":
        import tempfile

        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "model.onnx"
            trained.save_model(file, format="onnx")
            return onnx.load(file)
    if type(trained).__name__ == "HistGradientBoostingRegressor":
        return _histograms(trained, width)
    if type(trained).__name__ == "TransformedTargetRegressor" and trained.func is None and trained.transformer is None:
        return _convert(trained.regressor_, width)
    _register()
    return to_onnx(trained, initial_types=types, target_opset=dict(_OPSETS))


def _register() -> None:
    """So that models of LightGBM and XGBoost are known inside pipelines too."""
    from onnxmltools.convert.lightgbm.operator_converters.LightGbm import convert_lightgbm
    from onnxmltools.convert.xgboost.operator_converters.XGBoost import convert_xgboost
    from skl2onnx import update_registered_converter
    from skl2onnx.common.shape_calculator import calculate_linear_regressor_output_shapes as shapes

    if importlib.util.find_spec("lightgbm") is not None:
        from lightgbm import LGBMRegressor

        update_registered_converter(
            LGBMRegressor, "LightGbmLGBMRegressor", shapes, convert_lightgbm, options={"split": None}
        )
    from xgboost import XGBRegressor

    update_registered_converter(XGBRegressor, "XGBoostXGBRegressor", shapes, convert_xgboost)


def _histograms(trained: Any, width: int) -> Any:  # noqa: ANN401 - ONNX has no types
    """scikit-learn's histogram boosting, tree by tree: skl2onnx 1.20 hands onnx 1.23 booleans, which it refuses."""
    from onnx import TensorProto, helper

    told: dict[str, list[Any]] = {name: [] for name in _NODE}
    leaves: dict[str, list[Any]] = {name: [] for name in ("treeids", "nodeids", "ids", "weights")}
    for tree, (one,) in enumerate(trained._predictors):  # noqa: SLF001
        for number, node in enumerate(one.nodes):
            leaf = bool(node["is_leaf"])
            row = {
                "treeids": tree,
                "nodeids": number,
                "featureids": 0 if leaf else int(node["feature_idx"]),
                "modes": "LEAF" if leaf else "BRANCH_LEQ",
                "values": 0.0 if leaf else _below(float(node["num_threshold"])),
                "truenodeids": 0 if leaf else int(node["left"]),
                "falsenodeids": 0 if leaf else int(node["right"]),
                "missing_value_tracks_true": int(node["missing_go_to_left"]),
                "hitrates": 1.0,
            }
            for name, value in row.items():
                told[name].append(value)
            if leaf:
                for name, value in zip(leaves, (tree, number, 0, float(node["value"])), strict=True):
                    leaves[name].append(value)
    made = helper.make_node(
        "TreeEnsembleRegressor",
        ["x"],
        ["y"],
        domain="ai.onnx.ml",
        n_targets=1,
        base_values=np.ravel(trained._baseline_prediction).astype(float).tolist(),  # noqa: SLF001
        **{f"nodes_{name}": values for name, values in told.items()},
        **{f"target_{name}": values for name, values in leaves.items()},
    )
    x, y = (
        helper.make_tensor_value_info(name, TensorProto.FLOAT, [None, size]) for name, size in (("x", width), ("y", 1))
    )
    return helper.make_model(helper.make_graph([made], "histograms", [x], [y]))


_NODE = (
    "treeids", "nodeids", "featureids", "modes", "values", "truenodeids", "falsenodeids", "missing_value_tracks_true",
    "hitrates",
)  # fmt: skip


def _below(threshold: float) -> float:
    """The largest number of single precision that is not above it: x <= it means the same for such numbers."""
    single = np.float32(threshold)
    return float(single if float(single) <= threshold else np.nextafter(single, np.float32(-np.inf)))
