"""`CRDARegressor`: the run behind it, scikit-learn around it, and what it refuses."""

import io
import json
import pickle
import subprocess
import sys
from typing import ClassVar

import joblib
import networkx as nx
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import sklearn
from houses import GRAPH, ROWS
from pgmpy.base import DAG
from scipy import sparse
from sklearn.base import clone
from sklearn.compose import TransformedTargetRegressor
from sklearn.ensemble import StackingRegressor, VotingRegressor
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_val_score
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from typer.testing import CliRunner
from xgboost import XGBRegressor

import crda_spec
from crda_spec import CausalGraph, CRDARegressor
from crda_spec.cli.app import run_app

FEW = {"kind": "corrected_t", "folds": 3}


def quick(estimator=None, **more):
    """A student whose fits take no time, the teacher of `paper`, and no gate unless asked for."""
    return CRDARegressor(estimator or Ridge(), **{"recipe": "paper", "gate": False, **more})


@pytest.fixture(scope="module")
def gated(houses):
    return quick(graph=GRAPH, gate=FEW).fit(*houses)


# --- the run behind it


def test_the_same_run_as_the_command_line(houses, tmp_path):
    student = XGBRegressor(n_estimators=10, max_depth=2)
    model = quick(student, graph=GRAPH, gate={"folds": 5}, random_state=3)
    model.fit(*houses, sample_weight=np.linspace(1, 2, ROWS), groups=np.arange(ROWS) // 2)
    own = model.run_.save(tmp_path / "own")
    model.run_.to_spec(tmp_path / "spec.yaml", data=tmp_path / "rows.parquet")
    commanded = tmp_path / "commanded"
    done = CliRunner().invoke(run_app, [str(tmp_path / "spec.yaml"), "--out", str(commanded)])
    assert done.exit_code == 0, done.output
    same = ["augmented.parquet", "ledger.parquet", "folds.csv", "certificate.json", "intervals.json"]
    models = sorted(str(file.relative_to(own)) for file in own.glob("model/*"))
    assert len(models) == 2
    assert [name for name in (*same, *models) if (own / name).read_bytes() != (commanded / name).read_bytes()] == []
    records = [json.loads((folder / "record.json").read_text()) for folder in (own, commanded)]
    for part in ("verdict", "final_model", "intervals", "seed"):
        assert records[0][part] == records[1][part]
    assert records[0]["test"] is None
    assert records[0]["data"]["train_rows"] == ROWS


def test_what_a_fit_leaves(gated, houses):
    frame, price = houses
    assert gated.verdict_ == gated.run_.verdict
    assert [one.status for one in gated.certificate_.features] == ["cause"] * 4
    assert gated.n_features_in_ == 4
    assert gated.feature_names_in_.tolist() == list(frame.columns)
    assert len(gated.augmented_) == ROWS + gated.augmented_["_crda_synthetic"].sum()
    assert isinstance(gated.estimator_.estimator, Ridge)
    numbers = gated.run_.result.split.train.x
    assert gated.estimator_.predict(numbers).tolist() == gated.predict(frame).tolist()
    assert gated.plain_estimator_.predict(numbers).shape == (ROWS,)
    assert gated.score(frame, price) > 0.9
    assert not hasattr(CRDARegressor(), "augmented_")


def test_an_ungated_student_is_augmented(houses):
    model = quick().fit(*houses)
    assert model.verdict_.decision == "ungated"
    train = model.run_.result.split.train.x
    assert not np.array_equal(model.estimator_.predict(train), model.plain_estimator_.predict(train))


class Counted(Ridge):
    """A student that counts; the same number of calls is the same work."""

    calls: ClassVar[list[str]] = []

    def fit(self, *args, **more):
        self.calls.append("fit")
        return super().fit(*args, **more)

    def predict(self, X):
        self.calls.append("predict")
        return super().predict(X)


@pytest.mark.parametrize(("gate", "fits"), [(False, 2), (FEW, 2 + 2 * 3)])
def test_the_class_adds_no_work(houses, gate, fits):
    Counted.calls.clear()
    model = quick(Counted(), gate=gate).fit(*houses)
    assert Counted.calls.count("fit") == fits == model.run_.result.cost.fits
    Counted.calls.clear()
    model.predict(houses[0])
    assert Counted.calls == ["predict"]


def test_intervals(gated, houses):
    narrow, wide = (gated.predict_interval(houses[0], level=level) for level in (0.5, 0.9))
    assert narrow.shape == (ROWS, 2)
    assert (wide[:, 0] <= narrow[:, 0]).all()
    assert (narrow[:, 1] <= wide[:, 1]).all()
    told = complaint(lambda: quick().fit(*houses).predict_interval(houses[0]))
    assert told == (
        "the run has no intervals: its gate held out no rows, or output.intervals is null; "
        "enable the gate, leave output.intervals out, and run again"
    )


@pytest.mark.parametrize(
    "convert",
    [pl.from_pandas, lambda one: pa.Table.from_pandas(one, preserve_index=False)],
    ids=["polars", "arrow"],
)
def test_every_kind_of_frame_gives_the_same_model(gated, houses, convert):
    frame, price = houses
    model = clone(gated).fit(convert(frame), price.to_numpy())
    assert model.predict(convert(frame)).tolist() == gated.predict(frame).tolist()


def test_an_array_is_numbers(numbers):
    x, y = numbers
    model = quick(graph="{x0 x1} -> y").fit(x, y)
    assert [one.name for one in model.certificate_.features] == ["x0", "x1"]
    assert not hasattr(model, "feature_names_in_")
    numbered = pd.DataFrame(x)
    assert quick(graph="{x0 x1} -> y").fit(numbered, y).predict(numbered).tolist() == model.predict(x).tolist()
    # Ages are whole; that no other number may follow is for frames of whole numbers to say.
    assert np.isfinite(model.predict([[100.0, 3.5]])).all()


def test_rows_of_weight_zero_are_left_out(numbers):
    x, y = numbers
    weight = np.where(np.arange(ROWS) % 3 == 0, 0.0, 1.0)
    left = quick().fit(x, y, sample_weight=weight)
    assert left.predict(x).tolist() == quick().fit(x[weight > 0], y[weight > 0]).predict(x).tolist()


def test_groups_stay_whole(houses):
    frame, price = houses
    model = quick(gate=FEW).fit(frame, price, groups=frame.quarter)
    train, fold = model.run_.result.split.train, model.run_.result.gate_fold
    assert all(len(np.unique(fold[train.groups == group])) == 1 for group in np.unique(train.groups))


def test_the_arguments_win_over_the_spec(houses):
    spec = {
        "seed": 5,
        "recipe": "distilled",
        "dataset": {"split": {"test": 0.5}, "source": {"kind": "csv", "path": "no.csv"}, "target": "other"},
        "causal": {"discovery": {"kind": "pc"}},
        "counterfactual": {"factor": 0.5},
        "gate": {"folds": 7},
    }
    model = quick(graph=GRAPH, spec=spec, gate={"enabled": False}, random_state=8, n_jobs=2).fit(*houses)
    found = model.run_.spec
    assert (found.seed, found.recipe, found.dataset.target, found.execution.jobs) == (8, "paper", "price", 2)
    assert (found.counterfactual.factor, found.gate.folds, found.dataset.split.kind) == (0.5, 7, "none")
    again = quick(graph=GRAPH, spec=spec).fit(*houses)
    assert (again.run_.spec.seed, again.run_.spec.execution.jobs) == (5, 1)
    assert quick(random_state=np.random.RandomState(1)).fit(*houses).run_.spec.seed == 1791095845


def test_the_recipe_follows_the_graph(houses):
    cheap = {"counterfactual": {"teacher": {"kind": "crossfit"}, "factor": 0.1}}
    assert quick(recipe=None, spec=cheap).fit(*houses).run_.spec.recipe == "distilled"
    assert quick(recipe=None, spec=cheap, graph=GRAPH).fit(*houses).run_.spec.recipe == "certified"


@pytest.mark.parametrize("signs", [{"area": 1, "age": "decreasing", "new": 0}, [1, -1, 0, 0]])
def test_signs(houses, signs):
    model = quick(monotone=signs).fit(*houses)
    assert dict(model.run_.spec.causal.monotone) == {"area": "increasing", "age": "decreasing"}


GRAPHS = {
    "edges": "{area age} -> price",
    "list": ["area -> price", ("age", "price")],
    "dagitty": "dag { area -> price; age -> price; price [outcome] }",
    "networkx": nx.DiGraph([("area", "price"), ("age", "price")]),
    "pgmpy": DAG([("area", "price"), ("age", "price")]),
    "causal graph": CausalGraph.from_edges("{area age} -> price", target="price"),
}


@pytest.mark.parametrize("kind", GRAPHS)
@pytest.mark.parametrize("named", [True, False])
def test_a_graph_in_any_form(houses, kind, named):
    frame, price = houses
    model = quick(graph=GRAPHS[kind]).fit(frame, price if named else price.to_numpy())
    found = {one.name: one.status for one in model.certificate_.features}
    assert found == {"area": "cause", "age": "cause", "quarter": "blocked", "new": "blocked"}
    assert model.run_.spec.dataset.target == "price"


def test_a_hidden_cause(houses):
    graph = CausalGraph.from_edges("{area age} -> price", "u -> {age price}", target="price", latent=["u"])
    found = {one.name: one.status for one in quick(graph=graph).fit(*houses).certificate_.features}
    assert found == {"area": "cause", "age": "blocked", "quarter": "blocked", "new": "blocked"}


# --- scikit-learn around it


def test_parameters_are_cloned_and_nested(gated):
    copy = clone(gated).set_params(estimator__alpha=3.0, recipe="distilled")
    assert (copy.estimator.alpha, copy.recipe, gated.estimator.alpha) == (3.0, "distilled", 1.0)
    assert not hasattr(copy, "run_")
    assert "estimator__alpha" in CRDARegressor(Ridge()).get_params()


def test_it_survives_a_pickle(gated, houses):
    dumped = io.BytesIO()
    joblib.dump(gated, dumped)
    dumped.seek(0)
    for again in (pickle.loads(pickle.dumps(gated)), joblib.load(dumped)):  # noqa: S301 - our own
        assert again.predict(houses[0]).tolist() == gated.predict(houses[0]).tolist()
        assert again.verdict_ == gated.verdict_
        assert len(again.augmented_) == len(gated.augmented_)


def test_in_a_pipeline_and_a_search(numbers):
    x, y = numbers
    pipeline = make_pipeline(StandardScaler(), quick())
    assert cross_val_score(pipeline, x, y, cv=3).min() > 0.9
    search = GridSearchCV(quick(), {"estimator__alpha": [0.1, 100.0]}, cv=3).fit(x, y)
    assert search.best_params_ == {"estimator__alpha": 0.1}


def test_inside_other_regressors(houses, numbers):
    frame, price = houses
    logs = TransformedTargetRegressor(quick(graph=GRAPH), func=np.log, inverse_func=np.exp).fit(frame, price)
    assert logs.regressor_.run_.spec.dataset.target == "price"  # though y arrives without its name
    x, y = numbers
    two = [("crda", quick()), ("ridge", Ridge())]
    for model in (logs, StackingRegressor(two, cv=3).fit(x, y), VotingRegressor(two).fit(x, y)):
        assert model.score(frame if model is logs else x, y) > 0.9


def test_metadata_reach_the_fit(numbers):
    x, y = numbers
    metadata = {"sample_weight": np.linspace(1, 2, ROWS), "groups": np.arange(ROWS) // 4}
    with sklearn.config_context(enable_metadata_routing=True):
        model = quick().set_fit_request(sample_weight=True, groups=True).set_score_request(sample_weight=False)
        routed = cross_val_score(model, x, y, cv=GroupKFold(3), params=metadata)
    assert routed.min() > 0.9


def test_tags():
    impute = CRDARegressor(spec={"dataset": {"missing": {"kind": "impute"}}})
    assert impute.__sklearn_tags__().input_tags.allow_nan
    assert not CRDARegressor().__sklearn_tags__().input_tags.allow_nan
    assert sklearn.base.is_regressor(impute)


def test_a_notebook_shows_parameters_and_graph(gated):
    shown = gated._repr_html_()
    assert "estimator" in shown
    assert "quarter" in shown[shown.rindex("<svg") :]
    hidden = CausalGraph.from_edges("{area age} -> price", "u -> {age price}", target="price", latent=["u"])
    for graph in (GRAPH, hidden, GRAPHS["networkx"], GRAPHS["dagitty"]):
        assert "crda-graph" in CRDARegressor(graph=graph)._repr_html_()
    for graph in (None, "area -> -> price", "{area age} -> {price cost}"):
        assert "crda-graph" not in CRDARegressor(graph=graph)._repr_html_()


# --- what it refuses


def complaint(call, kind=ValueError):
    with pytest.raises(kind) as raised:
        call()
    return str(raised.value)


def with_gaps(frame):
    return frame.assign(area=frame.area.mask(frame.age > 60))


def test_missing_cells_by_rule(houses):
    frame, price = houses
    gaps = with_gaps(frame)
    told = (
        "Input X contains NaN: missing cells in 'area'. To fill them inside the model, say "
        "spec={'dataset': {'missing': {'kind': 'impute'}}}; {'kind': 'drop'} leaves such rows out of the fit."
    )
    assert complaint(lambda: quick().fit(gaps, price)) == told
    fill = quick(spec={"dataset": {"missing": {"kind": "impute"}}}).fit(gaps, price)
    assert np.isfinite(fill.predict(gaps)).all()
    drop = quick(spec={"dataset": {"missing": {"kind": "drop"}}}).fit(gaps, price)
    assert len(drop.run_.result.split.train) == gaps.area.notna().sum()
    assert complaint(lambda: drop.predict(gaps)) == told


BAD = {
    "other lengths": (lambda x, y: (x, y[:-1]), "inconsistent numbers of samples: [60, 59]"),
    "no y": (lambda x, _: (x, None), "requires y to be passed"),
    "a gap in y": (lambda x, y: (x, y.mask(y > 300)), "Input y contains NaN."),
    "infinite": (
        lambda x, y: (x.assign(area=np.inf), y),
        (
            "Input X contains infinity or a value too large for dtype('float64'): column 'area', row 0 "
            "(counted from 0); repair it, or leave the row out."
        ),
    ),
    "infinite array": (lambda _, y: (np.full((ROWS, 2), np.inf), y), "Input X contains infinity"),
    "complex": (
        lambda x, y: (x.assign(area=1j), y),
        "Complex data not supported; give real and imaginary parts as columns of their own.",
    ),
    "text in an array": (
        lambda x, y: (np.asarray(x.astype(str)), y),
        "; give columns of labels as a DataFrame",
    ),
    "a name twice": (
        lambda x, y: (x[["age", "area", "age"]], y),
        "Column names of X must be unique, but 'age' is there twice; rename one of them.",
    ),
    "a column alone": (lambda x, y: (x.area.to_numpy(), y), "Expected 2D array, got 1D array instead"),
    "a row number": (lambda x, y: (x.assign(row=range(ROWS)), y), "column 'row' looks like a row number"),
    "an identifier": (lambda x, y: (x.assign(name=x.index), y), "column 'name' looks like an identifier"),
    "no rows": (lambda x, y: (x[:0], y[:0]), "Found array with 0 sample(s)"),
    "one row": (lambda x, y: (x[:1], y[:1]), "1 row of 1 can be used, but at least 2 are needed"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_rows(houses, name):
    rows, told = BAD[name]
    assert told in complaint(lambda: quick().fit(*rows(*houses)))


def test_sparse_rows_are_no_table(houses):
    told = complaint(lambda: quick().fit(sparse.eye(ROWS).tocsr(), houses[1]), TypeError)
    assert told.startswith("Sparse data was passed for X, but dense data is required.")


def test_three_rows_fill_no_folds(houses):
    assert complaint(lambda: quick(gate=True).fit(houses[0][:3], houses[1][:3])) == (
        "spec: gate.folds: 10 folds cannot be made: the training set has 3 rows; "
        "more rows are needed: this gate cannot accept with fewer than 5 folds"
    )


OPTIONS = {
    "graph: other columns": (
        {"graph": "{area ages} -> price"},
        (
            "graph.0: character 7: 'ages' is neither a column of the data nor a latent node; did you mean 'age'? "
            "if nobody measured it, list it under latent"
        ),
    ),
    "graph: which is y": (
        {"graph": "{area u} -> v"},
        (
            "graph: which node is y? X has no column for one of 'u', 'v'; give y a name: pd.Series(y, name=\"...\"), "
            'or CausalGraph.from_edges(..., target="...", latent=[...])'
        ),
    ),
    "graph: y in X": (
        {"graph": CausalGraph.from_edges("age -> area", target="area")},
        "graph: the target 'area' is a column of X, too; leave it out of X",
    ),
    "graph: no graph": (
        {"graph": 3},
        (
            "int is no causal graph; give a CausalGraph, edges, DAGitty, DOT or GML text, a networkx DiGraph, "
            "or a pgmpy DAG or ADMG"
        ),
    ),
    "recipe": ({"recipe": "papers", "gate": True}, "spec: recipe: unknown value 'papers'; did you mean 'paper'?"),
    "gate": ({"gate": {"fold": 3}}, "spec: gate.fold: unknown key 'fold'; did you mean 'folds'?"),
    "spec": (
        {"spec": {"pertubation": {}}},
        "spec: pertubation: unknown key 'pertubation'; did you mean 'perturbation'?",
    ),
    "monotone": ({"monotone": {"areas": 1}}, "monotone.areas: there is no feature 'areas'; did you mean 'area'?"),
    "random_state": ({"random_state": -1}, "random_state: must be at least 0, got -1"),
}


@pytest.mark.parametrize("name", OPTIONS)
def test_bad_parameters_are_named(houses, name):
    options, told = OPTIONS[name]
    assert complaint(lambda: quick(**options).fit(*houses)) == told


def test_parameters_of_another_type(houses):
    assert complaint(lambda: quick(gate="yes").fit(*houses), TypeError) == (
        "gate must be True, False or a mapping with its keys, got 'yes'."
    )
    assert complaint(lambda: quick(spec=["a"]).fit(*houses), TypeError) == (
        "spec must be a mapping with keys of a spec, got ['a']."
    )


def test_weights_that_cannot_be_used(numbers):
    fit = quick().fit
    assert "Negative values" in complaint(lambda: fit(*numbers, sample_weight=np.full(ROWS, -1.0)))
    assert "zero" in complaint(lambda: fit(*numbers, sample_weight=np.zeros(ROWS)))
    nearest = quick(KNeighborsRegressor())
    told = complaint(lambda: nearest.fit(*numbers, sample_weight=np.linspace(1, 2, ROWS)))
    assert told.startswith("sample_weight: the regressor 'sklearn' takes no row weights")
    assert nearest.fit(*numbers, sample_weight=np.full(ROWS, 2.0)).verdict_.decision == "ungated"


def test_changed_columns_at_predict(gated, houses):
    frame, _ = houses
    assert "must be in the same order" in complaint(lambda: gated.predict(frame[frame.columns[::-1]]))
    assert "yet now missing:\n- age" in complaint(lambda: gated.predict(frame.drop(columns="age")))
    assert "'moon'" in complaint(lambda: gated.predict(frame.assign(quarter="moon")))
    assert "are not whole: row 1: 3.5" in complaint(lambda: gated.predict(frame.assign(age=3.5)))
    assert complaint(lambda: gated.predict_interval(frame, level=2)) == (
        "level must lie between 0 and 1, got 2; 0.9 covers nine rows in ten."
    )


def test_what_was_not_fitted(houses):
    for ask in (CRDARegressor().predict, CRDARegressor().predict_interval):
        assert "is not fitted yet" in complaint(lambda ask=ask: ask(houses[0]), NotFittedError)


def test_importing_the_package_imports_no_estimator():
    code = "import sys, crda_spec; print(sorted({'numpy', 'sklearn', 'joblib'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
    assert crda_spec.CRDARegressor is CRDARegressor
