"""The scikit-learn face of a run: `CRDARegressor` predicts, `CRDASampler` hands the synthetic rows over.

Both write a spec from their parameters, put X and y into one table, and call `crda_spec.run`. Nothing is computed here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, Self
from warnings import warn

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from joblib import effective_n_jobs
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils import _safe_indexing, check_random_state, estimator_html_repr
from sklearn.utils.validation import (
    _check_sample_weight,
    _num_samples,
    check_array,
    check_consistent_length,
    check_is_fitted,
    column_or_1d,
    validate_data,
)

from crda_spec.api import run
from crda_spec.data.sources.frame import arrow_table, column_like, frame_like, joined
from crda_spec.errors import Complaint, CrdaError, GraphError, NotAugmentedWarning, show
from crda_spec.graphs import CausalGraph
from crda_spec.records import Array, Column, Counterfactuals, IntArray, Table
from crda_spec.report.words.gate import verdict_sentence
from crda_spec.scm.formats.python import read_any

if TYPE_CHECKING:
    import pandas as pd

    from crda_spec.graphs import GraphLike
    from crda_spec.runs import Run
    from crda_spec.scm.formats import ReadGraph
    from crda_spec.spec.recipes import RecipeName

# What a spec calls the parameters, for complaints: whoever wrote `graph=` should read of `graph`.
_ARGUMENTS = {
    "causal.graph": "graph",
    "causal.monotone": "monotone",
    "regressor": "estimator",
    "dataset.weights": "sample_weight",
    "dataset.groups": "groups",
    "edges": "graph",
    "seed": "random_state",
    "execution.jobs": "n_jobs",
}
_SIGNS = {1: "increasing", -1: "decreasing"}
_SEEDS = 2**31 - 1


class _RunEstimator(BaseEstimator):  # type: ignore[misc] # scikit-learn is not typed
    """What both share: parameters that write a spec, and rows that become its table."""

    def __init__(
        self,
        estimator: Any = None,  # noqa: ANN401 - a regressor of any library
        *,
        graph: GraphLike | None = None,
        spec: Mapping[str, Any] | None = None,
        recipe: RecipeName | None = None,
        gate: bool | Mapping[str, Any] = True,
        monotone: Mapping[str, int | str] | Sequence[int] | None = None,
        random_state: Any = None,  # noqa: ANN401 - a number or a generator of numpy
        n_jobs: int | None = None,
    ) -> None:
        self.estimator = estimator
        self.graph = graph
        self.spec = spec
        self.recipe = recipe
        self.gate = gate
        self.monotone = monotone
        self.random_state = random_state
        self.n_jobs = n_jobs

    _keeps_integers: ClassVar[bool] = False  # whether an array of integers has integers for good

    def _run(
        self,
        X: Any,  # noqa: ANN401 - any table
        y: Any,  # noqa: ANN401 - any column
        sample_weight: Any,  # noqa: ANN401
        groups: Any,  # noqa: ANN401
    ) -> tuple[Run, IntArray]:
        """The run of these rows, and the positions of those that have weight: (n,)."""
        missing = self._missing_rule()
        table, labels = self._checked(X, y, missing=missing != "error", reset=True)
        columns = {name: table.column(name) for name in table.column_names}
        with _conventional():
            graph = None if self.graph is None else _graph(self.graph, _name_of(y), table.column_names)
        target = (_name_of(y) or "y") if graph is None else graph.target
        target = _free_name("y", columns) if target in columns else target
        columns[target] = pa.array(labels)
        kept = np.arange(len(labels))
        roles: dict[str, Any] = {}
        if sample_weight is not None:
            weight = _check_sample_weight(sample_weight, labels, dtype=np.float64, ensure_non_negative=True)
            kept = np.flatnonzero(weight)
            if not len(kept):
                raise ValueError("Every sample weight is zero, so no row is left to fit; give some rows a weight.")
            if np.ptp(weight[kept]):  # only proportions count, and not every student takes weights
                roles["weights"] = _free_name("sample_weight", columns)
                columns[roles["weights"]] = pa.array(weight)
        if groups is not None:
            groups = column_or_1d(groups)
            check_consistent_length(labels, groups)
            roles["groups"] = _free_name("groups", columns)
            columns[roles["groups"]] = pa.array(groups.tolist())
        with _conventional():
            spec = self._spec(roles, target, graph, table)
            return run(spec, pa.table(columns).take(kept), estimator=self.estimator), kept

    def _spec(
        self, roles: Mapping[str, str], target: str, graph: CausalGraph | None, table: pa.Table
    ) -> dict[str, Any]:
        """The spec that the parameters say, over the one that `spec` gives."""
        below = _without(_section(self.spec, "spec"), "dataset", "source", "split")
        below = below if graph is None else _without(below, "causal", "graph", "discovery")
        causal: dict[str, Any] = {} if graph is None else {"graph": graph}
        if self.monotone is not None:
            causal["monotone"] = _signs(self.monotone, table.column_names)
        dataset = {"target": target, **roles, "split": {"kind": "none"}, "columns": _contracts(table, target, below)}
        said: dict[str, Any] = {"dataset": dataset}
        said |= {"causal": causal} if causal else {}
        said |= {} if self.recipe is None else {"recipe": self.recipe}
        if not isinstance(self.gate, bool | np.bool_):
            said["gate"] = _section(self.gate, "gate")
        elif not self.gate:
            said["gate"] = {"enabled": False}
        if isinstance(self.random_state, int | np.integer):
            said["seed"] = int(self.random_state)
        elif self.random_state is not None:
            said["seed"] = int(check_random_state(self.random_state).randint(_SEEDS))
        if self.n_jobs is not None or "jobs" not in (below.get("execution") or ()):
            said["execution"] = {"jobs": effective_n_jobs(self.n_jobs)}
        # What looks at the new rows by fits more is for reports.
        usual = {
            "version": 1,
            "name": type(self).__name__,
            "dataset": {"duplicates": {"kind": "keep"}},
            "output": {"diagnostics": False, "plots": False},
        }
        merged: dict[str, Any] = _merged(_merged(usual, below), said)
        return merged

    def _missing_rule(self) -> str:
        """What the spec does about missing cells."""
        dataset = self.spec.get("dataset") if isinstance(self.spec, Mapping) else None
        rule = dataset.get("missing") if isinstance(dataset, Mapping) else None
        kind = rule.get("kind") if isinstance(rule, Mapping) else None
        return kind if isinstance(kind, str) else "error"

    def _checked(
        self,
        X: Any,  # noqa: ANN401
        y: Any = None,  # noqa: ANN401
        *,
        missing: bool,
        reset: bool,
    ) -> tuple[pa.Table, Array]:
        """The features as a table, and y; scikit-learn's errors for what is neither. missing: whether cells may be."""
        labels = np.empty(0)
        if _is_frame(X):
            _check_columns(X)
            validate_data(self, X, reset=reset, skip_check_array=True, **({"y": y} if reset else {}))
            with _conventional():
                table = arrow_table(_with_text_names(X, getattr(self, "feature_names_in_", None)))
            if reset:
                labels = column_or_1d(y, warn=True)
                labels = check_array(labels, ensure_2d=False, dtype=np.float64, input_name="y", estimator=self)
                check_consistent_length(X, labels)
        else:
            rules = {"dtype": np.float64, "ensure_all_finite": "allow-nan", "reset": reset}
            try:
                if reset:
                    x, labels = validate_data(self, X, y, ensure_min_samples=2, y_numeric=True, **rules)
                else:
                    x = validate_data(self, X, **rules)
            except ValueError as error:
                if not str(error).startswith("could not convert string"):
                    raise
                raise ValueError(f"{error}; give columns of labels as a DataFrame") from error
            names = _names(x.shape[1], getattr(self, "feature_names_in_", None))
            kind = np.asarray(X).dtype if self._keeps_integers else x.dtype
            columns = x.astype(np.int64) if np.issubdtype(kind, np.integer) else x
            table = pa.table({name: pa.array(columns[:, at], from_pandas=True) for at, name in enumerate(names)})
        _check_cells(table, missing=missing)
        return table, labels

    def __sklearn_tags__(self) -> Any:  # noqa: ANN401 - scikit-learn's own class
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self._missing_rule() == "impute"
        tags.target_tags.required = True
        return tags

    def _html_repr(self) -> str:
        """The parameters, and below them the graph."""
        return f"{estimator_html_repr(self)}{self._drawn()}"

    def _drawn(self) -> str:
        if self.graph is None:
            return ""
        try:
            read = read_any(self.graph)
            target = read.outcomes[0] if read.outcomes else _only_sink(read)
            features = [name for name in read.nodes if name != target and name not in read.latents]
            return _graph(self.graph, target, features)._repr_html_()
        except CrdaError:
            return ""  # a picture is no place for complaints: fit makes them


class CRDARegressor(RegressorMixin, _RunEstimator):  # type: ignore[misc]
    """A regressor that is trained on certified synthetic rows as well, if a gate finds that they help.

    ``fit`` certifies with the causal graph which features may move, generates counterfactual rows, tests on held-out
    folds whether a student trained on them predicts better, and keeps the better of two students. No row is held back
    for a test: use scikit-learn's ``cross_val_score`` for that.

    Parameters
    ----------
    estimator : object, optional
        The student: any scikit-learn regressor, also a pipeline. The spec's when left out, which is XGBoost.
    graph : CausalGraph, str, list, networkx.DiGraph or pgmpy DAG, optional
        What causes what: a graph, edges as text or in a list, DAGitty text. Its names are the columns of X, and y's.
    spec : mapping, optional
        Further keys of a spec (``{"perturbation": {...}}``). What the other parameters say wins.
    recipe : {"certified", "distilled", "paper"}, optional
        Presets. When left out, ``certified`` with a graph and ``distilled`` without.
    gate : bool or mapping
        Whether the rows have to pass the test; or its keys (``{"folds": 5}``). Without it fits are cheap, the augmented
        student is used in any case, and there are no intervals.
    monotone : mapping or sequence, optional
        Known signs, by column (``{"dose": 1}``), or one for each column: 1 increasing, -1 decreasing, 0 unknown.
    random_state : int or RandomState, optional
        The seed. When left out, the spec's, which is 0: a second fit gives the same model.
    n_jobs : int, optional
        Processes for the gate's folds; -1: one per core. It changes no number.

    Attributes
    ----------
    run_ : Run
        All that the run found out; ``run_.save(folder)`` writes the folder that ``crda-run`` leaves.
    verdict_ : Verdict
        What the gate decided, and the numbers it decided on.
    certificate_ : Certificate
        Each feature's class: irrelevant, cause or blocked, with the reason.
    augmented_ : pandas.DataFrame
        The real rows, then the synthetic ones, with their ledger.
    estimator_ : FittedModel
        The student that predicts. Its rows are numbers, labels their codes; ``estimator_.estimator`` is the fitted
        object itself, which sees standardised columns.
    plain_estimator_ : FittedModel
        The student trained on real rows alone; the same where the gate did not accept.
    n_features_in_ : int
        How many columns X had.
    feature_names_in_ : ndarray of str
        Their names, where X had names.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import Ridge
    >>> from crda_spec import CRDARegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(60, 3))
    >>> y = X @ [2.0, 1.0, 0.0] + rng.normal(size=60)
    >>> model = CRDARegressor(Ridge(), recipe="paper", gate={"folds": 5}).fit(X, y)
    >>> model.predict(X[:4]).shape, model.predict_interval(X[:4], level=0.8).shape
    ((4,), (4, 2))
    """

    def fit(
        self,
        X: Any,  # noqa: ANN401 - any table
        y: Any,  # noqa: ANN401 - any column
        sample_weight: Any = None,  # noqa: ANN401
        groups: Any = None,  # noqa: ANN401
    ) -> Self:
        """Certifies, augments and gates.

        Parameters
        ----------
        X : array-like or frame of shape (n, d)
            The features. A frame's columns may hold labels, an array's are numbers called x0, x1, ...
        y : array-like of shape (n,)
            The target. The name of a Series is its name in the graph.
        sample_weight : array-like of shape (n,), optional
            How much each row counts; rows of weight zero are left out.
        groups : array-like of shape (n,), optional
            Rows of one value are never torn apart by a fold.

        Returns
        -------
        CRDARegressor
            Itself.

        Raises
        ------
        ValueError
            All that is wrong with rows, graph or parameters.
        """
        self.run_, _ = self._run(X, y, sample_weight, groups)
        self.verdict_, self.certificate_ = self.run_.verdict, self.run_.certificate
        self.estimator_, self.plain_estimator_ = self.run_.model, self.run_.result.plain
        return self

    def predict(self, X: Any) -> Array:  # noqa: ANN401
        """The final student on new rows: (n, d) -> (n,)."""
        return self._predicted(X)["prediction"].to_numpy()

    def predict_interval(self, X: Any, level: float = 0.9) -> Array:  # noqa: ANN401
        """Prediction intervals from the rows that the gate held out.

        Parameters
        ----------
        X : array-like or frame of shape (n, d)
            The rows.
        level : float
            The share of rows that should lie inside.

        Returns
        -------
        ndarray of shape (n, 2)
            Lower and upper bounds.
        """
        if not 0 < level < 1:
            raise ValueError(f"level must lie between 0 and 1, got {level!r}; 0.9 covers nine rows in ten.")
        return self._predicted(X, level)[["low", "high"]].to_numpy()

    @property
    def augmented_(self) -> pd.DataFrame:
        """The real rows, then the synthetic ones, with their ledger."""
        check_is_fitted(self)
        return self.run_.augmented

    def _predicted(self, X: Any, level: float | None = None) -> pd.DataFrame:  # noqa: ANN401
        check_is_fitted(self)
        table, _ = self._checked(X, missing=self.run_.spec.dataset.missing.kind == "impute", reset=False)
        with _conventional():
            return self.run_.predict(table, interval=level)


class CRDASampler(_RunEstimator):
    """Adds certified synthetic rows to a training set, if a gate finds that they help: imbalanced-learn's interface.

    It works as a step of imbalanced-learn's ``Pipeline``, also where the target is a number, which samplers of
    imbalanced-learn refuse. Where the gate does not accept, the rows stay as they came, with a `NotAugmentedWarning`.

    A pipeline passes on rows and nothing else, so that the next step weighs all rows alike: ``weights_`` cannot reach
    it. `CRDARegressor` uses them.

    Parameters
    ----------
    estimator : object, optional
        The student that the gate judges with: best the one that the rows are for. XGBoost when left out.
    graph, spec, recipe, gate, monotone, random_state, n_jobs
        As for `CRDARegressor`.

    Attributes
    ----------
    sample_indices_ : ndarray of shape (m,)
        For each row that is returned, the position in X of the row itself, or of the one that it was made from.
    weights_ : ndarray of shape (m,)
        How much each row weighs in training the student.
    ledger_ : pandas.DataFrame
        For each synthetic row what it was made of: source row, prediction, noise, basis.
    run_ : Run
        All that the run found out.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import Ridge
    >>> from crda_spec import CRDASampler
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(60, 3))
    >>> y = X @ [2.0, 1.0, 0.0] + rng.normal(size=60)
    >>> sampler = CRDASampler(Ridge(), recipe="distilled", gate=False, spec={"counterfactual": {"factor": 0.5}})
    >>> X_more, y_more = sampler.fit_resample(X, y)
    >>> X_more.shape, y_more.shape
    ((90, 3), (90,))
    """

    _keeps_integers: ClassVar[bool] = True

    def fit_resample(
        self,
        X: Any,  # noqa: ANN401
        y: Any,  # noqa: ANN401
        sample_weight: Any = None,  # noqa: ANN401
        groups: Any = None,  # noqa: ANN401
    ) -> tuple[Any, Any]:
        """The rows with the synthetic ones below them.

        Parameters
        ----------
        X : array-like or frame of shape (n, d)
            The features.
        y : array-like of shape (n,)
            The target.
        sample_weight : array-like of shape (n,), optional
            How much each row counts; rows of weight zero are left out.
        groups : array-like of shape (n,), optional
            Rows of one value are never torn apart by a fold.

        Returns
        -------
        X, y
            Of the types that came in. A synthetic row has the index of its source. Synthetic targets are no whole
            numbers, so y of whole numbers becomes y of floats.
        """
        self.run_, kept = self._run(X, y, sample_weight, groups)
        result = self.run_.result
        made, train = result.counterfactuals, result.split.train
        if made is None or not result.verdict.uses_augmented:
            self.sample_indices_ = np.arange(_num_samples(X))
            self.weights_ = (
                np.ones(_num_samples(X)) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
            )
            self.ledger_ = self.run_.augmented.filter(like="_crda_").iloc[:0]
            warn(f"No row was added. {verdict_sentence(result.verdict)}", NotAugmentedWarning, stacklevel=2)
            return X, y
        rows = kept[train.row_ids]
        source = rows[made.action.source]
        self.sample_indices_ = np.concatenate([rows, source])
        ledger = self.run_.augmented.filter(like="_crda_")
        self.weights_ = ledger["_crda_weight"].to_numpy()
        self.ledger_ = ledger[ledger["_crda_synthetic"]].reset_index(drop=True)
        labels = column_like(made.y, y, source)
        return joined(_safe_indexing(X, rows), _synthetic(X, rows, made, train)), joined(
            _safe_indexing(y, rows), labels
        )

    def __sklearn_tags__(self) -> Any:  # noqa: ANN401
        tags = super().__sklearn_tags__()
        tags.estimator_type = "sampler"
        return tags


@contextmanager
def _conventional() -> Iterator[None]:
    """A complaint of ours as scikit-learn would raise it, which speaks of the parameter that the user wrote."""
    try:
        yield
    except CrdaError as error:
        raise ValueError(CrdaError(map(_about_argument, error.complaints)).render()) from error


def _about_argument(complaint: Complaint) -> Complaint:
    for path, argument in _ARGUMENTS.items():
        if complaint.path == path or complaint.path.startswith(f"{path}."):
            return replace(complaint.moved(path, argument), place=None)
    return complaint


def _section(value: object, name: str) -> dict[str, Any]:
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        kinds = "a mapping with keys of a spec" if name == "spec" else "True, False or a mapping with its keys"
        raise TypeError(f"{name} must be {kinds}, got {show(value)}.")
    return dict(value)


def _without(spec: dict[str, Any], section: str, *keys: str) -> dict[str, Any]:
    """The spec without keys of a section."""
    there = spec.get(section)
    kept = {key: one for key, one in there.items() if key not in keys} if isinstance(there, Mapping) else there
    return {**spec, section: kept} if section in spec else spec


def _merged(below: Any, above: Any) -> Any:  # noqa: ANN401 - any value of a spec
    """Both, key by key; what is above wins, and another kind takes all of its place."""
    if not isinstance(below, Mapping) or not isinstance(above, Mapping):
        return above
    if "kind" in above and below.get("kind", above["kind"]) != above["kind"]:
        return dict(above)
    return {**below, **{key: _merged(below.get(key), one) for key, one in above.items()}}


def _free_name(wanted: str, taken: Mapping[str, object]) -> str:
    while wanted in taken:
        wanted += "_"
    return wanted


def _name_of(y: object) -> str | None:
    """What y calls itself."""
    columns: Sequence[object] = getattr(y, "columns", ())
    name = columns[0] if len(columns) == 1 else getattr(y, "name", None)
    return name if isinstance(name, str) and name else None


def _only_sink(read: ReadGraph) -> str | None:
    """The one node that causes nothing, for a drawing."""
    sinks = set(read.nodes) - {edge.tail for edge in read.edges}
    return sinks.pop() if len(sinks) == 1 else None


def _graph(graph: GraphLike, called: str | None, columns: Sequence[str]) -> CausalGraph:
    """The graph over these features; its target is what it says, or y's name, or the only name that X has not."""
    read = read_any(graph)
    others = sorted(set(read.nodes) - {*columns, *read.latents})
    if read.complaints:
        raise GraphError(read.complaints)
    target = called if called in read.nodes else others[0] if len(others) == 1 else None
    target = read.outcomes[0] if len(read.outcomes) == 1 else target
    if target is None:
        names = f"one of {', '.join(map(show, others))}" if others else "none of its names"
        what = f"which node is y? X has no column for {names}" if others else f"no node is y: X has {names}"
        hint = 'give y a name: pd.Series(y, name="..."), or CausalGraph.from_edges(..., target="...", latent=[...])'
        raise GraphError(Complaint(code="no-target", path="graph", what=what, hint=hint))
    if target in columns:
        what = f"the target {show(target)} is a column of X, too"
        raise GraphError(Complaint(code="target-in-x", path="graph", what=what, hint="leave it out of X"))
    return CausalGraph._of(read.graph(columns=(*columns, target), target=target))  # noqa: SLF001 - our own


def _signs(monotone: Mapping[str, int | str] | Sequence[int], columns: Sequence[str]) -> dict[str, str]:
    """As a spec writes them."""
    if not isinstance(monotone, Mapping):
        check_consistent_length(columns, monotone)
        monotone = dict(zip(columns, monotone, strict=True))
    signs = {name: _SIGNS.get(sign, sign) if isinstance(sign, int) else sign for name, sign in monotone.items()}
    return {name: str(sign) for name, sign in signs.items() if sign != 0}


def _contracts(table: pa.Table, target: str, spec: Mapping[str, Any]) -> dict[str, Any]:
    """What types say of their columns: floats are continuous, also where all are whole; but 0 and 1 are two labels."""
    dataset = spec.get("dataset")
    known = dataset.get("columns") if isinstance(dataset, Mapping) else None
    known = known if isinstance(known, Mapping) else {}
    floats = [field.name for field in table.schema if pa.types.is_floating(field.type)]
    numbers = [name for name in floats if not np.isin(table.column(name).drop_null().to_numpy(), (0.0, 1.0)).all()]
    return {name: {"type": "continuous"} for name in (*numbers, target) if name not in known}


def _is_frame(X: object) -> bool:
    """A table with columns of their own types: of pandas, polars, Arrow."""
    return hasattr(X, "__arrow_c_stream__") and len(getattr(X, "shape", ())) == 2


def _check_columns(X: Any) -> None:  # noqa: ANN401
    """Columns of a frame that neither scikit-learn nor Arrow would refuse in words that help."""
    if any(getattr(kind, "kind", "") == "c" for kind in getattr(X, "dtypes", ())):
        raise ValueError("Complex data not supported; give real and imaginary parts as columns of their own.")
    names = list(X.column_names if isinstance(X, pa.Table) else X.columns)
    twice = [name for name, times in Counter(names).items() if times > 1]
    if twice:
        raise ValueError(f"Column names of X must be unique, but {show(twice[0])} is there twice; rename one of them.")


def _names(count: int, fitted: Any) -> list[str]:  # noqa: ANN401
    """The names of columns that bring none. fitted: those that were fitted; None: nor did they."""
    return [f"x{at}" for at in range(count)] if fitted is None else list(fitted)


def _with_text_names(X: Any, fitted: Any) -> Any:  # noqa: ANN401
    """A frame of pandas whose columns are merely numbered is an array with an index."""
    columns = list(X.columns)
    if hasattr(X, "set_axis") and columns and not any(isinstance(name, str) for name in columns):
        return X.set_axis(_names(len(columns), fitted), axis=1)
    return X


def _check_cells(table: pa.Table, *, missing: bool) -> None:
    """Infinite numbers, and missing cells where nothing says what to do about them."""
    absent = []
    for name in table.column_names:
        column = table.column(name)
        gaps = column.null_count > 0
        if pa.types.is_floating(column.type):
            values = column.to_numpy()
            gaps = bool(np.isnan(values).any())
            if np.isinf(values).any():
                rows = np.flatnonzero(np.isinf(values))
                raise ValueError(
                    f"Input X contains infinity or a value too large for {values.dtype!r}: column {show(name)}, row "
                    f"{rows[0]} (counted from 0); repair it, or leave the row out."
                )
        if gaps:
            absent.append(name)
    if absent and not missing:
        raise ValueError(
            f"Input X contains NaN: missing cells in {', '.join(map(show, absent[:5]))}. "
            "To fill them inside the model, say spec={'dataset': {'missing': {'kind': 'impute'}}}; "
            "{'kind': 'drop'} leaves such rows out of the fit."
        )


def _synthetic(X: Any, rows: IntArray, made: Counterfactuals, train: Table) -> Any:  # noqa: ANN401 - rows as they came
    """The synthetic rows, of X's own type: what did not change is as in the source. rows: (n,) training rows in X."""
    sources, old, new = rows[made.action.source], train.x[made.action.source], made.action.x
    moved = (new != old) & ~(np.isnan(new) & np.isnan(old))
    if not _is_frame(X):
        cells = np.asarray(X)[sources]
        places = [int(name[1:]) for name in train.names]  # x0, x1, ...
        whole = np.issubdtype(cells.dtype, np.floating) or bool((new[moved] % 1 == 0).all())
        cells = cells if whole else cells.astype(np.float64)
        for place, column, changed in zip(places, new.T, moved.T, strict=True):
            cells[changed, place] = column[changed]
        return cells.tolist() if isinstance(X, list) else cells
    before = arrow_table(_with_text_names(X, None))
    after = before.take(sources)
    for column, values, then, changed in zip(train.features, new.T, train.x.T, moved.T, strict=True):
        if changed.any():
            at = after.column_names.index(column.name)
            cells = _cells(column, before.column(column.name), values, then, changed, rows, sources)
            after = after.set_column(at, column.name, cells)
    return frame_like(after, X, sources)


def _cells(
    column: Column,
    cells: pa.ChunkedArray,
    values: Array,
    then: Array,
    changed: npt.NDArray[np.bool_],
    rows: IntArray,
    sources: IntArray,
) -> pa.Array | pa.ChunkedArray:
    """One column of the synthetic rows. A label is written as in a row that has it, which knows its own type."""
    if not column.is_numeric:
        codes, first = np.unique(then, return_index=True)
        place = np.searchsorted(codes, values[changed])
        at = sources.copy()
        at[changed] = rows[first[place]]
        return cells.take(at)
    kind = cells.type
    numbers = np.where(changed, values, cells.take(sources).to_numpy(zero_copy_only=False).astype(np.float64))
    if pa.types.is_integer(kind) and (values[changed] % 1).any():
        kind = pa.float64()  # whoever declares a column of whole numbers continuous means it
    return pa.array(numbers, from_pandas=True).cast(kind)
