"""A run from Python: a spec as values, rows as a data frame, and the same bytes as from the command line."""

import subprocess
import sys

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import yaml

import crda_spec
from crda_spec.audit.canonical import plain
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
    assert run.verdict.sentence
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
    asked = run.whatif(number, area="+10", refits=5)
    assert asked.loc[number, "outcome"] - asked.loc[number, "observed"] == asked.loc[number, "difference"]
    assert asked.loc[number, "low"] < asked.loc[number, "difference"] < asked.loc[number, "high"]
    assert asked.loc[number, "basis"] == "certificate"
    area = houses.iloc[number - 1]["area"]
    by_row = run.whatif(houses.iloc[[number - 1]], area=float(area) + 10, refits=0)
    assert by_row["difference"].iloc[0] == pytest.approx(asked.loc[number, "difference"])
    assert by_row["low"].isna().all()
    assert "change" in complaint_of(lambda: run.whatif(number))
    assert complaint_of(lambda: run.whatif(number, area=9, refits=2, level=2)).splitlines() == [
        "refits: must be 0, or from 5 to 1000, got 2; use 20, or 0 for no interval",
        "level: must be at least 0.5 and below 1, got 2; use 0.9",
        "2 problems",
    ]
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


def test_importing_the_package_imports_no_library():
    code = "import sys, crda_spec; print(sorted({'numpy', 'pandas', 'pydantic', 'yaml'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


@pytest.fixture(scope="module")
def opened(run, tmp_path_factory):
    return crda_spec.open_run(run.save(tmp_path_factory.mktemp("runs") / "run"))


def test_a_run_answers_in_memory_as_from_its_folder_bit_for_bit(run, opened, houses):
    new = houses.drop(columns="price")
    for level in (None, 0.8):
        pd.testing.assert_frame_equal(run.predict(new, interval=level), opened.predict(new, interval=level))
    number = int(run.augmented["_crda_source_row"][0])
    for asked in ({"area": "+10", "quarter": "hill"}, {"age": 30, "follow": True}):
        one, other = (each.whatif([number], refits=5, **asked) for each in (run, opened))
        pd.testing.assert_frame_equal(one, other, check_exact=True)
    new = houses.iloc[5:9]
    pd.testing.assert_frame_equal(
        run.whatif(new, area=99, refits=5), opened.whatif(new, area=99, refits=5), check_exact=True
    )
    for follow in (False, True):
        pd.testing.assert_frame_equal(run.effects(follow=follow), opened.effects(follow=follow), check_exact=True)
    pd.testing.assert_frame_equal(run.augmented, opened.augmented, check_exact=True)
    assert (run.verdict, run.score) == (opened.verdict, opened.score)
    assert plain(run.certificate) == plain(opened.certificate)
    assert run.intervals == opened.intervals
    assert run._repr_html_() == opened._repr_html_()
    assert repr(run) == repr(opened) == f"<crda_spec.Run houses: {run.verdict.sentence}>"
    x = run.result.split.train.x
    assert run.model.predict(x).tolist() == opened.model.predict(x).tolist()
    assert run.teacher.predict(x).tolist() == opened.teacher.predict(x).tolist()


def test_what_a_run_is_asked_renders_nothing(houses, monkeypatch):
    """A figure takes longer than a thousand predictions."""

    def never(*_, **__):
        raise AssertionError

    run = crda_spec.run(spec_of(), data=houses)
    monkeypatch.setattr("crda_spec.audit.held_run.run_files", never)
    run.predict(houses, interval=0.9)
    run.whatif(int(run.augmented["_crda_source_row"][0]), area="+10", refits=0)
    run.effects()


def test_an_opened_run_is_written_again_as_it_was(run, opened, tmp_path):
    again = opened.save(tmp_path / "again")
    assert crda_spec.open_run(again).verify(depth="files").exit_status == 0
    assert opened.report(tmp_path / "page.html").read_bytes() == (again / "report.html").read_bytes()
    assert run.verify(depth="files").exit_status == 0


def test_the_intervals_and_their_scores(run):
    assert (run.intervals.form, run.intervals.rows) == ("residuals", 48)
    assert {(one.arm, one.level) for one in run.intervals.scores} >= {("plain", 0.9)}


def test_effects_of_each_cause(run):
    found = run.effects()
    assert found.loc["area", "effect"] == pytest.approx(3, abs=0.2)
    assert found.loc["age", "effect"] == pytest.approx(-1, abs=0.3)
    assert set(found.loc["quarter", "label"]) == {"hill", "north", "south"} - set(found.loc["quarter", "against"])
    assert set(found["reason"]) == {""}


def test_rows_are_a_table_with_names(run, houses):
    array = houses.drop(columns="price").to_numpy()
    assert complaint_of(lambda: run.predict(array)) == (
        "data: data is of type ndarray, not a table with named columns; "
        "give a pandas or polars DataFrame or an Arrow table; of an array, make one"
    )
    assert complaint_of(lambda: run.predict(houses.iloc[:0])) == "data: the frame has columns but no row"
    assert complaint_of(lambda: run.predict(houses.assign(area=["wide", *[1.0] * 59]).astype({"area": str}))) == (
        "data: 1 value of 'area' is not a number: row 1: 'wide'; "
        "repair the cells: the run's contract holds for the new rows too"
    )


@pytest.mark.parametrize("ending", ["parquet", "csv"])
def test_the_spec_of_a_run_makes_the_same_run(run, houses, ending, tmp_path):
    text = run.to_spec(tmp_path / "specs.yaml", data=tmp_path / f"rows.{ending}")
    assert (tmp_path / "specs.yaml").read_text() == text
    assert f"path: {tmp_path / 'rows'}.{ending}" in text
    line = [sys.executable, "-m", "crda_spec", "run", "specs.yaml", "--out", "again", "-q"]
    done = subprocess.run(line, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert same_numbers(run.save(tmp_path / "run"), tmp_path / "again") == []
    assert crda_spec.open_run(tmp_path / "again").verdict == run.verdict


def test_a_spec_is_written_as_it_was(run, houses, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "deep").mkdir()
    text = run.to_spec("deep/spec.yaml", data="rows.parquet")
    assert yaml.safe_load(text) == {
        **spec_of(),
        "dataset": {**spec_of()["dataset"], "source": {"kind": "parquet", "path": "../rows.parquet"}},
    }
    assert complaint_of(run.to_spec) == (
        "data: the run's rows are a data frame, which no spec can name; "
        'say where to write them: to_spec("spec.yaml", data="rows.parquet")'
    )
    assert "'rows.parquet' already exists" in complaint_of(lambda: run.to_spec(data="rows.parquet"))
    assert "tells no kind of table" in complaint_of(lambda: run.to_spec(data="rows.txt"))
    again = crda_spec.run(tmp_path / "deep" / "spec.yaml")
    assert yaml.safe_load(again.to_spec())["dataset"]["source"]["path"] == "rows.parquet"
    assert "the run's rows are no data frame" in complaint_of(lambda: again.to_spec(data="more.parquet"))
    kept = crda_spec.open_run(again.save("kept"))
    assert yaml.safe_load(kept.to_spec())["regressor"] == {"kind": "ridge"}


def test_text_that_would_not_come_back_is_written_as_parquet_alone(houses, tmp_path):
    strange = houses.assign(quarter=houses["quarter"].replace("hill", " NA"))
    run = crda_spec.run(spec_of(), data=strange)
    assert complaint_of(lambda: run.to_spec(data=tmp_path / "rows.csv")) == (
        "data: 'rows.csv' would be read as other rows: text cannot hold all that the frame's types say; write .parquet"
    )
    assert not (tmp_path / "rows.csv").exists()
    run.to_spec(data=tmp_path / "rows.parquet")
