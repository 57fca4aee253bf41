"""A run from Python: a spec as values, rows as a data frame, and the same bytes as from the command line."""

import doctest
import subprocess
import sys

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import crda_spec
from crda_spec import api
from crda_spec.errors import CrdaError

ROWS = 60


@pytest.fixture(scope="module")
def houses():
    rng = np.random.default_rng(4)
    area, age = rng.uniform(50, 200, ROWS), rng.integers(0, 80, ROWS)
    quarter = np.array(["north", "south", "hill"])[rng.integers(0, 3, ROWS)]
    price = 3 * area - age + 20.0 * (quarter == "hill") + rng.normal(0, 5, ROWS)
    frame = pd.DataFrame({"area": area.round(2), "age": age, "quarter": quarter, "price": price.round(3)})
    frame.loc[3, "area"] = np.nan
    return frame


def spec_of(**more):
    dataset = {"target": "price", "missing": {"kind": "impute"}}
    graph = {"kind": "edges", "edges": ["{area age quarter} -> price"]}
    return {
        "version": 1,
        "name": "houses",
        "recipe": "paper",
        "dataset": dataset,
        "causal": {"graph": graph},
        "falsify": {"on_falsified": "warn"},
        "regressor": {"kind": "ridge"},
        "gate": {"kind": "wilcoxon", "folds": 5},
        **more,
    }


@pytest.fixture(scope="module")
def run(houses):
    return crda_spec.run(spec_of(), data=houses)


def same_numbers(one, other):
    """The files that hold rows, models and verdicts; spec, record and page also name where the rows came from."""
    names = ["augmented.parquet", "ledger.parquet", "folds.csv", "certificate.json", "model/model.json"]
    rows = [pd.read_csv(folder / "rows.csv").drop(columns="source") for folder in (one, other)]
    pd.testing.assert_frame_equal(*rows)
    return [name for name in names if (one / name).read_bytes() != (other / name).read_bytes()]


def test_a_frame_gives_the_numbers_of_its_file(run, houses, tmp_path):
    houses.to_csv(tmp_path / "houses.csv", index=False)
    written = spec_of()
    written["dataset"] = {**written["dataset"], "source": {"kind": "csv", "path": str(tmp_path / "houses.csv")}}
    from_file = crda_spec.run(written).save(tmp_path / "from_file")
    assert same_numbers(run.save(tmp_path / "from_frame"), from_file) == []


@pytest.mark.parametrize("kind", [pl.from_pandas, pa.Table.from_pandas, lambda one: one.set_index(one.index + 7)])
def test_every_kind_of_frame_gives_the_same_run(run, houses, kind):
    again = crda_spec.run(spec_of(), data=kind(houses))
    pd.testing.assert_frame_equal(again.augmented, run.augmented)
    assert again.verdict == run.verdict


def test_what_a_run_offers(run, tmp_path):
    assert run.verdict.decision in ("accepted", "rejected", "inconclusive")
    assert [one.status for one in run.certificate.features] == ["cause"] * 3
    assert run.score.rows == 12
    made = run.augmented["_crda_synthetic"]
    assert (len(run.augmented), int((~made).sum())) == (48 + made.sum(), 48)
    assert run.model.predict(np.zeros((2, 3))).shape == (2,)
    page = run.report(tmp_path / "page.html").read_text()
    assert run.verdict.sentence.split(":")[0] in page
    assert page == (run.save(tmp_path / "run") / "report.html").read_text()
    glance = run._repr_html_()
    assert "<svg" in glance
    assert "<script" not in glance
    assert all(name in glance for name in ("area", "age", "quarter"))


def test_a_saved_run_is_verified_as_far_as_its_rows_allow(run, tmp_path):
    folder = run.save(tmp_path / "run")
    done = subprocess.run(
        [sys.executable, "-m", "crda_spec", "verify", str(folder)], capture_output=True, text=True, check=False
    )
    assert "none was handed over" in done.stdout + done.stderr
    assert done.returncode in (0, 5)


def test_predictions_go_by_the_names_of_columns(run, houses):
    new = houses.tail(9).drop(columns="price")
    found = run.predict(new, interval=0.8)
    assert list(found.columns) == ["prediction", "low", "high"]
    assert found.index.equals(new.index)
    assert (found.low < found.prediction).all()
    assert (found.prediction < found.high).all()
    backwards = pl.from_pandas(new[new.columns[::-1]].assign(noise=1.0))
    assert run.predict(backwards).prediction.tolist() == found.prediction.tolist()
    train = run.result.split.train
    asked = train.take(np.arange(5))
    rows = houses.iloc[asked.row_ids].drop(columns="price")
    assert run.predict(rows).prediction.tolist() == run.model.predict(asked.x).tolist()


def test_rows_that_do_not_fit_are_refused(run, houses):
    assert "area" in complaint_of(lambda: run.predict(houses.drop(columns="area")))
    strange = houses.assign(quarter="moon")
    assert "moon" in complaint_of(lambda: run.predict(strange))
    assert "between 0 and 1" in complaint_of(lambda: run.predict(houses, interval=1.0))


def test_what_if_by_number_and_by_row(run, houses):
    number = int(run.augmented["_crda_source_row"][0])
    asked = run.whatif(number, area="+10", refits=4)
    assert asked.loc[number, "outcome"] - asked.loc[number, "observed"] == asked.loc[number, "difference"]
    assert asked.loc[number, "low"] < asked.loc[number, "difference"] < asked.loc[number, "high"]
    assert asked.loc[number, "basis"] == "certificate"
    area = houses.iloc[number - 1]["area"]
    by_row = run.whatif(houses.iloc[[number - 1]], area=float(area) + 10, refits=0)
    assert by_row["difference"].iloc[0] == pytest.approx(asked.loc[number, "difference"])
    assert by_row["low"].isna().all()
    assert "change" in complaint_of(lambda: run.whatif(number))
    assert "did you mean 'area'" in complaint_of(lambda: run.whatif(number, areas=3))


def complaint_of(call):
    with pytest.raises(CrdaError) as raised:
        call()
    return str(raised.value)


def test_errors_name_the_place_in_the_values(houses):
    wrong = spec_of(gate={"kind": "wilcoxon", "folds": 0}, seed="one")
    wrong["dataset"] = {"target": "prize"}
    assert complaint_of(lambda: crda_spec.run(wrong, data=houses)).splitlines() == [
        "spec: seed: expected a whole number, got 'one' (text)",
        "spec: gate.folds: must be at least 2, got 0",
        "spec: dataset.target: the data have no column 'prize'; did you mean 'price'?",
        "3 problems",
    ]


def test_what_cannot_stand_in_a_spec_is_named(houses):
    told = complaint_of(lambda: crda_spec.run(spec_of(meta={"when": {1, 2}}), data=houses))
    assert told == (
        "spec: meta.when: a value of type set cannot stand in a spec; use text, numbers, lists and mappings"
    )


BAD_FRAMES = {
    "mixed": pd.DataFrame({"price": [1, "x", 3], "area": [1, 2, 3]}),
    "numbered": pd.DataFrame([[1, 2]]),
    "array": np.zeros((3, 2)),
    "empty": pd.DataFrame({"price": [], "area": []}),
    "repeated": pd.DataFrame([[1, 2, 3]], columns=["area", "price", "area"]),
}
COMPLAINTS = """
data: column 'price' mixes int with other kinds of cells (row 2: 'x'); give every cell of a column the same type
data: the frame's column names must be text, but got 0, 1; name them: frame.columns = ['area', 'age', ...]
data: data is of type ndarray, not a table with named columns; give a pandas or polars DataFrame or an Arrow table; \
of an array, make one
data: the frame has columns but no row
data frame: the name 'area' heads 2 columns (1 and 3); give each column its own name
"""


@pytest.mark.parametrize(("name", "message"), list(zip(BAD_FRAMES, COMPLAINTS.strip().splitlines(), strict=True)))
def test_a_bad_frame_is_an_error_that_says_what_to_do(name, message):
    assert complaint_of(lambda: crda_spec.run(spec_of(), data=BAD_FRAMES[name])) == message


def test_a_frame_that_nobody_hands_over_is_missed():
    written = spec_of()
    written["dataset"] = {**written["dataset"], "source": {"kind": "frame"}}
    assert complaint_of(lambda: crda_spec.run(written)) == (
        "spec: dataset.source: the rows are a data frame, and none was handed over; "
        "call crda_spec.run(spec, data=frame), or name a file: source: {kind: csv, path: ...}"
    )


def test_the_example_in_the_docstring():
    assert doctest.run_docstring_examples(api.run, {}, name="run") is None
    finder = doctest.DocTestFinder().find(api.run, "run")
    results = [doctest.DocTestRunner(verbose=False).run(one) for one in finder if one.examples]
    assert [(one.failed, one.attempted) for one in results] == [(0, 3)]


def test_importing_the_package_imports_no_library():
    code = "import sys, crda_spec; print(sorted({'numpy', 'pandas', 'pydantic', 'yaml'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"
