"""`CRDASampler`: rows of the type that came, each with its source, in imbalanced-learn's pipeline too."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from houses import GRAPH, ROWS
from imblearn.pipeline import Pipeline, make_pipeline
from sklearn.base import clone
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.preprocessing import StandardScaler

from crda_spec import CRDASampler, NotAugmentedWarning

SPEC = {"falsify": {"on_falsified": "warn"}, "counterfactual": {"factor": 1.5}}
MADE = int(1.5 * ROWS)


def sampler(**more):
    return CRDASampler(Ridge(), **{"graph": GRAPH, "recipe": "paper", "gate": False, "spec": SPEC, **more})


def array_sampler():
    return sampler(graph="{x0 x1} -> y")


def test_frames_keep_types_and_index(houses):
    frame, price = houses
    one = sampler()
    x, y = one.fit_resample(frame, price)
    assert (len(x), len(y)) == (ROWS + MADE, ROWS + MADE)
    pd.testing.assert_frame_equal(x[:ROWS], frame)
    pd.testing.assert_series_equal(y[:ROWS], price)
    assert x.dtypes.equals(frame.dtypes)
    assert (y.name, y.dtype) == (price.name, price.dtype)
    assert x.index.equals(frame.index[one.sample_indices_])
    assert y.index.equals(x.index)


def test_each_row_has_its_source_its_weight_and_its_ledger(houses):
    frame, price = houses
    one = sampler(spec={**SPEC, "counterfactual": {"factor": 1.5, "weight": 0.5}})
    x, y = one.fit_resample(frame, price)
    assert one.sample_indices_[:ROWS].tolist() == list(range(ROWS))
    assert one.weights_.tolist() == [1.0] * ROWS + [0.5] * MADE
    assert (one.ledger_["_crda_source_row"] - 1).tolist() == one.sample_indices_[ROWS:].tolist()
    assert one.ledger_["_crda_synthetic"].all()
    # The rows are those of the run, cell by cell.
    made = one.run_.augmented[lambda rows: rows["_crda_synthetic"]]
    for name in frame:
        assert x[name][ROWS:].astype(str).tolist() == made[name].astype(x[name].dtype).astype(str).tolist()
    assert y[ROWS:].tolist() == made["price"].tolist()


@pytest.mark.parametrize(
    "convert",
    [pl.from_pandas, lambda one: pa.Table.from_pandas(one, preserve_index=False)],
    ids=["polars", "arrow"],
)
def test_other_frames(houses, convert):
    frame, price = houses
    x, y = sampler().fit_resample(convert(frame), pl.Series("price", price.to_numpy()))
    like, labels = sampler().fit_resample(frame, price)
    assert type(x) is type(convert(frame))
    assert x.schema == convert(frame).schema
    assert y.to_list() == labels.tolist()
    rows = x.to_pandas()
    assert rows.astype(str).to_numpy().tolist() == like.astype(str).to_numpy().tolist()


@pytest.mark.parametrize(
    ("convert", "kind"),
    [
        (lambda x: x, np.ndarray),
        (lambda x: x.astype(np.float32), np.ndarray),
        (lambda x: x.round().astype(np.int64), np.ndarray),
        (lambda x: x.tolist(), list),
    ],
    ids=["float64", "float32", "int64", "list"],
)
def test_arrays_keep_their_type(numbers, convert, kind):
    rows = convert(numbers[0])
    one = array_sampler()
    x, y = one.fit_resample(rows, kind(numbers[1]) if kind is list else numbers[1])
    assert (type(x), len(x), type(y), len(y)) == (kind, ROWS + MADE, kind, ROWS + MADE)
    assert getattr(x, "dtype", None) == getattr(rows, "dtype", None)
    assert np.array_equal(x[:ROWS], rows)
    assert not np.array_equal(x[ROWS:], np.asarray(rows)[one.sample_indices_[ROWS:]])


def test_whole_targets_become_fractions(numbers):
    x, y = numbers
    _, labels = array_sampler().fit_resample(x, y.round().astype(int))
    assert labels.dtype == np.float64
    assert labels[:ROWS].tolist() == y.round().tolist()


def test_rows_that_are_not_trained_on_are_left_out(houses):
    frame, price = houses
    weight = np.where(np.arange(ROWS) < 10, 0.0, 1.0)
    gaps = frame.assign(area=frame.area.mask(np.arange(ROWS) == 20))
    one = sampler(spec={**SPEC, "dataset": {"missing": {"kind": "drop"}}})
    x, y = one.fit_resample(gaps, price, sample_weight=weight)
    kept = [*range(10, 20), *range(21, ROWS)]
    assert one.sample_indices_[: len(kept)].tolist() == kept
    assert not set(one.sample_indices_) - set(kept)
    assert x.index.equals(frame.index[one.sample_indices_])
    assert x.area.notna().all()
    assert y[: len(kept)].tolist() == price.iloc[kept].tolist()


def test_it_abstains_with_a_warning(houses):
    frame, price = houses
    one = sampler(graph="area <-> price", gate={"kind": "corrected_t", "folds": 3})
    with pytest.warns(NotAugmentedWarning, match=r"^No row was added\. "):
        x, y = one.fit_resample(frame, price)
    assert x is frame
    assert y is price
    assert one.sample_indices_.tolist() == list(range(ROWS))
    assert one.weights_.tolist() == [1.0] * ROWS
    assert len(one.ledger_) == 0
    assert "_crda_source_row" in one.ledger_


def test_in_a_pipeline_of_imbalanced_learn(houses, numbers):
    x, y = numbers
    steps = make_pipeline(StandardScaler(), array_sampler(), Ridge())
    assert cross_val_score(steps, x, y, cv=3).min() > 0.9
    fitted = clone(steps).fit(x, y)
    assert len(fitted[1].sample_indices_) == ROWS + MADE
    assert fitted.predict(x).shape == (ROWS,)  # only a fit is resampled
    frame, price = houses
    named = Pipeline([("rows", sampler()), ("model", sampler_student())])
    assert cross_val_score(named, frame[["area", "age", "quarter", "new"]], price, cv=3).min() > 0.9
    search = GridSearchCV(steps, {"crdasampler__spec": [SPEC, {**SPEC, "counterfactual": {"factor": 0.5}}]}, cv=3)
    assert search.fit(x, y).best_score_ > 0.9


def sampler_student():
    """What takes frames with labels."""
    from crda_spec import CRDARegressor

    return CRDARegressor(Ridge(), recipe="paper", gate=False)


def test_no_sampler_warns_where_rows_are_added(numbers):
    with warnings.catch_warnings(action="error"):
        array_sampler().fit_resample(*numbers)
