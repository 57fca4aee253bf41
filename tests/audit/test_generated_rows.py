"""New rows for tables of any size: the same bytes however the work is spread, and every label recomputable."""

import shutil
from dataclasses import replace

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
import tampering as by
from audit_runs import encoded, ran, record_of, teachers_of
from joblib import parallel_config

from crda_spec.audit.files import finish_run
from crda_spec.audit.new_rows import generate, prepare
from crda_spec.audit.open_run import open_run, saved_run
from crda_spec.audit.tables import LEDGER
from crda_spec.counterfactual.abduct import LocationScale, abduct
from crda_spec.counterfactual.policies import Grid, Interpolate
from crda_spec.counterfactual.predict import LabelRule, predict_outcome
from crda_spec.counterfactual.support import NeighbourSupport, NoSupport
from crda_spec.errors import DataError, OutputError, SpecError
from crda_spec.spec.check import load_spec

SPEC = """
version: 1
recipe: paper
name: streamed
seed: 5
dataset:
  source: {{kind: csv, path: houses.csv}}
  target: price
  missing: {{kind: {missing}}}
causal:
  graph:
    kind: edges
    edges: ["{{area rooms garage}} -> price", "age <- care -> price"]
    latent: [care]
partition: {{basis: support, max_features: null, residuals: in_sample, joint: null}}
regressor: {{kind: ridge}}
counterfactual:
  teacher: {{kind: crossfit, folds: 3}}
  residuals: out_of_fold
  retention: {retention}
  factor: 1.25
  weight: 0.5
perturbation: {{features: {{rooms: {{kind: jitter}}, garage: {{kind: resample}}}}}}
gate: {{kind: wilcoxon, folds: 5}}
execution: {{jobs: 1}}
"""
FEATURES = ["area", "rooms", "age", "garage"]


def houses(rows, seed=8):
    rng = np.random.default_rng(seed)
    area, age = rng.uniform(30, 150, rows).round(1), rng.integers(0, 90, rows)
    rooms, garage = rng.integers(1, 7, rows), rng.choice(["none", "carport", "double"], rows)
    price = 3 * area + 20 * rooms + 30 * (garage == "double") - age + area * rng.normal(0, 0.3, rows)
    return pd.DataFrame({"area": area, "rooms": rooms, "age": age, "garage": garage, "price": price})


def finished_run(folder, retention=0.75, missing="error"):
    houses(120).to_csv(folder / "houses.csv", index=False)
    return ran(folder, SPEC.format(retention=retention, missing=missing))


def job_of(run_folder, data, *, missing="error", **amount):
    spec, _ = load_spec(run_folder.parent / "spec.yaml", overrides=[f"dataset.missing.kind={missing}"])
    return prepare(saved_run(open_run(run_folder)), spec, data, **amount)


def towards_others(folder, **changes):
    """The run's spec, had every feature been moved towards another row."""
    spec, _ = load_spec(folder.parent / "spec.yaml")
    changed = spec.perturbation.model_copy(update={"default": Interpolate(reach=0.5), "features": {}, **changes})
    return spec.model_copy(update={"perturbation": changed})


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    return tmp_path_factory.mktemp("streamed")


@pytest.fixture(scope="module")
def finished(place):
    return finished_run(place)


@pytest.fixture(scope="module")
def data(place):
    """Three blocks of rows that the run has never seen."""
    houses(70_000, seed=1).to_parquet(place / "data.parquet", row_group_size=9_999)
    return place / "data.parquet"


@pytest.fixture(scope="module")
def generated(finished, data, place):
    done = generate(job_of(finished.folder, data), place / "new.parquet")
    assert (done.counts.rows, done.source_rows, done.counts.left_out) == (87_500, 70_000, 0)
    return place / "new.parquet"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("batch", "workers", "backend"),
    [(1, 1, None), (10**9, 1, None), (1, 2, "threading"), (40_000, 3, "threading"), (1, 2, "loky")],
)
def test_the_bytes_do_not_depend_on_how_work_is_spread(finished, data, generated, tmp_path, batch, workers, backend):
    out, seen = tmp_path / "again.parquet", []
    job = job_of(finished.folder, data)
    with parallel_config(backend=backend) if backend else parallel_config(n_jobs=1):
        done = generate(job, out, batch=batch, workers=workers, advance=lambda: seen.append(1))
    assert out.read_bytes() == generated.read_bytes()
    assert len(seen) == job.quota.blocks == 3
    assert done.counts.clipped == {"area": 0, "rooms": 0, "garage": 0}
    assert list(tmp_path.iterdir()) == [out]


def test_a_text_file_with_the_same_rows_gives_the_same_bytes(finished, data, generated, tmp_path):
    pd.read_parquet(data).to_csv(tmp_path / "data.csv", index=False)
    generate(job_of(finished.folder, tmp_path / "data.csv"), tmp_path / "again.parquet")
    assert (tmp_path / "again.parquet").read_bytes() == generated.read_bytes()


def test_every_row_can_be_recomputed_from_data_and_run_folder(finished, data, generated):
    file = pq.ParquetFile(generated)
    assert [file.metadata.row_group(at).num_rows for at in range(3)] == [32767, 32768, 21965]
    made, source = file.read().to_pandas(), pd.read_parquet(data)
    assert list(made.columns) == [*FEATURES, "price", *LEDGER[:-1]]
    assert made["_crda_synthetic"].all()
    source = source.iloc[made["_crda_source_row"].to_numpy() - 1].reset_index(drop=True)
    times = made["_crda_source_row"].value_counts()
    assert (len(times), set(times)) == (70_000, {1, 2})
    assert made["age"].tolist() == source["age"].tolist()
    for name in ("area", "rooms", "garage"):
        assert 0.25 < (made[name] != source[name]).mean() <= 1
    assert set(made["rooms"]) == set(range(1, 7))  # those of the run's training rows
    carried = made["_crda_retention"] * (made["_crda_scale"] * made["_crda_noise"])
    assert made["price"].to_numpy().tobytes() == (made["_crda_prediction"] + carried).to_numpy().tobytes()
    record, members = record_of(finished), teachers_of(finished)

    def said(rows):
        return np.mean([member.predict(encoded(rows, record)) for member in members], axis=0)

    np.testing.assert_allclose(made["_crda_prediction"], said(made), rtol=1e-12)
    np.testing.assert_allclose(made["_crda_noise"], source["price"] - said(source), rtol=1e-8, atol=1e-9)
    assert (made["_crda_noise_row"] == made["_crda_source_row"]).all()
    constant = made[["_crda_retention", "_crda_scale", "_crda_weight", "_crda_basis"]].drop_duplicates()
    assert constant.to_numpy().tolist() == [[0.75, 1.0, 0.5, "certificate"]]
    assert made["_crda_partner_row"].isna().all()


@pytest.mark.slow
def test_rows_that_move_towards_training_rows_name_them(finished, data, tmp_path):
    """The `distilled` recipe does this with trees: the partner is a row of the run, the source one of the file."""
    job = prepare(saved_run(open_run(finished.folder)), towards_others(finished.folder), data, factor=1.0)
    assert generate(job, tmp_path / "one.parquet").counts.rows == 70_000
    generate(job, tmp_path / "two.parquet", batch=1, workers=2)
    assert (tmp_path / "one.parquet").read_bytes() == (tmp_path / "two.parquet").read_bytes()
    made, source = pd.read_parquet(tmp_path / "one.parquet"), pd.read_parquet(data)
    train = finished.result.split.train
    assert set(made["_crda_partner_row"]) == set(train.row_ids + 1)
    before = source["area"].to_numpy()[made["_crda_source_row"] - 1]
    end = houses(120)["area"].to_numpy()[made["_crda_partner_row"] - 1]
    moved = made["area"].to_numpy()
    assert ((moved - before) * (end - before) >= -1e-9).all()
    assert (abs(moved - before) <= 0.5 * abs(end - before) + 1e-9).all()
    assert (made["age"].to_numpy() == source["age"].to_numpy()[made["_crda_source_row"] - 1]).all()


def guarded_job(finished, data, guard, **amount):
    return prepare(saved_run(open_run(finished.folder)), towards_others(finished.folder, support=guard), data, **amount)


@pytest.mark.slow
def test_the_support_guard_drops_or_redraws_block_by_block_and_the_bytes_stay_the_same(finished, data, tmp_path):
    """The `distilled` recipe guards the rows of networks; where the data are is what the run's training rows say."""
    strict = NeighbourSupport(quantile=0.5)
    free = generate(guarded_job(finished, data, NoSupport(), rows=40_000), tmp_path / "free.parquet").counts
    dropping = generate(guarded_job(finished, data, strict, rows=40_000), tmp_path / "one.parquet").counts
    assert (free.rows, free.dropped, free.redrawn) == (40_000, 0, 0)
    assert (dropping.rows + dropping.dropped, dropping.redrawn) == (40_000, 0)
    assert 400 < dropping.dropped < 20_000
    assert pq.ParquetFile(tmp_path / "one.parquet").metadata.num_rows == dropping.rows
    again = guarded_job(finished, data, strict.model_copy(update={"on_outside": "redraw"}), rows=40_000)
    done = generate(again, tmp_path / "two.parquet").counts
    assert done.rows + done.dropped == 40_000
    assert done.dropped < dropping.dropped < done.redrawn + done.dropped + 1
    generate(again, tmp_path / "three.parquet", batch=1, workers=2)
    assert (tmp_path / "two.parquet").read_bytes() == (tmp_path / "three.parquet").read_bytes()


def test_a_guard_that_keeps_nothing_says_so(finished, data, tmp_path):
    job = guarded_job(finished, data, NeighbourSupport(), rows=62)
    perturbation = job.generation.perturbation.model_copy(update={"default": Grid(values=(1e6,))})
    away = replace(job.generation, moved=("area",), perturbation=perturbation)
    with pytest.raises(DataError) as caught:
        generate(replace(job, generation=away), tmp_path / "new.parquet")
    assert str(caught.value) == (
        "no row can be made: the support guard calls all 62 new rows off the run's training data; "
        "use rows like those of the run, or run again with a weaker guard"
    )
    assert not (tmp_path / "new.parquet").exists()


@pytest.mark.parametrize(("amount", "rows"), [({"rows": 11}, 11), ({"factor": 0.001}, 70), ({"factor": 0.3}, 21_000)])
def test_so_many_rows_as_asked_for(finished, data, tmp_path, amount, rows):
    job = job_of(finished.folder, data, **amount)
    assert generate(job, tmp_path / "new.parquet").counts.rows == rows
    sources = pq.read_table(tmp_path / "new.parquet")["_crda_source_row"].to_numpy()
    assert len(set(sources)) == rows
    assert sources.max() > 0.5 * 70_000


def variant(finished, folder, *, draw="own", noise=None):
    """The same run, had it been asked for another noise model or draw."""
    result = finished.result
    abduction = result.abduction
    if noise is not None:
        abduction = abduct(result.split.train, result.teacher, residuals="out_of_fold", noise=noise)
    made = predict_outcome(
        result.teacher,
        result.counterfactuals.action,
        abduction,
        result.split.train,
        LabelRule(retention=0.75, weight=0.5, draw=draw),
        rng=np.random.default_rng(0),
    )
    spec, draft = load_spec(finished.folder.parent / "spec.yaml")
    other = replace(result, abduction=abduction, counterfactuals=made)
    (folder / "spec.yaml").write_text((finished.folder.parent / "spec.yaml").read_text())
    (folder / "houses.csv").write_text((finished.folder.parent / "houses.csv").read_text())
    return finish_run(other, spec=spec, draft=draft, folder=folder / "run")


def test_the_noises_size_is_saved_and_read_back_to_the_last_bit(finished, data, tmp_path):
    """Larger houses have larger errors: noise that moves to a smaller house shrinks."""
    other = variant(finished, tmp_path, noise=LocationScale())
    saved, scale = saved_run(open_run(other.folder)), other.result.abduction.scale_model
    x = finished.result.split.train.x
    assert saved.scale.at(x)[0].tobytes() == scale.at(x)[0].tobytes()
    assert saved.noise.tobytes() == other.result.abduction.noise.tobytes()
    assert saved.train.x.tobytes() == x.tobytes()
    record = record_of(other)
    assert record["abduction"]["model"] == "location_scale"
    assert record["abduction"]["scale"]["clipped"] == other.result.abduction.scale_clipped > 0
    assert record["counterfactuals"]["scale_clipped"] == other.result.counterfactuals.scale_clipped
    job = job_of(other.folder, data, rows=5000)
    generate(job, tmp_path / "new.parquet")
    made = pq.read_table(tmp_path / "new.parquet").to_pandas()
    source = pd.read_parquet(data).iloc[made["_crda_source_row"].to_numpy() - 1]
    np.testing.assert_allclose(made["_crda_scale"], scale.at(encoded(made, record))[0], rtol=1e-9)
    residual = source["price"].to_numpy() - saved.teacher.predict(encoded(source, record))
    wanted = residual / scale.at(encoded(source, record))[0]
    np.testing.assert_allclose(made["_crda_noise"], wanted, rtol=1e-6, atol=1e-9)
    assert np.corrcoef(made["_crda_scale"], made["area"])[0, 1] > 0.5


def test_matched_noise_names_the_training_row_that_lent_it(finished, data, tmp_path):
    other = variant(finished, tmp_path, draw="matched")
    generate(job_of(other.folder, data, rows=500), tmp_path / "new.parquet")
    made = pq.read_table(tmp_path / "new.parquet").to_pandas()
    ledger = pq.read_table(other.folder / "augmented.parquet").to_pandas()
    lent = ledger[~ledger["_crda_synthetic"]].set_index("_crda_source_row")["_crda_noise"]
    assert made["_crda_noise"].tolist() == lent.loc[made["_crda_noise_row"]].tolist()
    assert len(set(made["_crda_noise_row"])) > 50


def test_without_noise_rows_need_no_outcome(data, tmp_path):
    finished = finished_run(tmp_path, retention=0.0)
    pd.read_parquet(data).drop(columns="price").to_parquet(tmp_path / "unlabelled.parquet")
    generate(job_of(finished.folder, tmp_path / "unlabelled.parquet", rows=100), tmp_path / "new.parquet")
    made = pq.read_table(tmp_path / "new.parquet").to_pandas()
    assert set(made["_crda_basis"]) == {"support"}
    assert made["_crda_noise_row"].isna().all()
    assert made["price"].tolist() == made["_crda_prediction"].tolist()


def gappy(folder):
    rows = houses(100, seed=2)
    rows.loc[[3, 50], "area"] = np.nan
    rows.loc[7, "price"] = np.nan
    rows.to_parquet(folder / "gappy.parquet")
    return folder / "gappy.parquet"


def test_missing_cells_follow_the_runs_own_rule(finished, tmp_path):
    data, out = gappy(tmp_path), tmp_path / "new.parquet"
    with pytest.raises(DataError) as strict:
        generate(job_of(finished.folder, data), out)
    hint = "fill the cell, or leave the row out"
    assert str(strict.value) == (
        f"gappy.parquet: 'area' is missing in row 4; {hint}\n"
        f"gappy.parquet: 'price' is missing in row 8; {hint}\n2 problems"
    )
    with pytest.raises(DataError) as imputed:
        generate(job_of(finished.folder, data, missing="impute"), out)
    assert str(imputed.value) == f"gappy.parquet: 'price' is missing in row 8; {hint}"
    assert not out.exists()
    done = generate(job_of(finished.folder, data, missing="drop"), out)
    assert (done.counts.rows, done.counts.left_out) == (125, 3)
    assert not {4, 8, 51} & set(pq.read_table(out)["_crda_source_row"].to_pylist())


def test_data_without_a_usable_row_leave_no_file(finished, tmp_path):
    houses(3).assign(area=np.nan).to_parquet(tmp_path / "none.parquet")
    with pytest.raises(DataError) as caught:
        generate(job_of(finished.folder, tmp_path / "none.parquet", missing="drop"), tmp_path / "new.parquet")
    assert str(caught.value) == (
        "no row can be made: every row of the data has a missing cell; fill the cells, or leave such rows out"
    )
    assert [path.name for path in tmp_path.iterdir()] == ["none.parquet"]


def test_what_stops_before_any_work(finished, data, tmp_path):
    houses(5).drop(columns=["area", "price"]).to_parquet(tmp_path / "less.parquet")
    with pytest.raises(DataError) as lacking:
        job_of(finished.folder, tmp_path / "less.parquet")
    assert str(lacking.value).endswith("2 problems")
    with pytest.raises(DataError) as none:
        job_of(finished.folder, data, factor=1e-6)
    assert str(none.value) == ("--factor: 1e-06 new rows for each of 70000 rows make none; ask for more, or use --rows")
    followed = saved_run(open_run(finished.folder))
    followed.record["counterfactuals"]["propagated"] = {"rooms": "by its equation"}
    spec, _ = load_spec(finished.folder.parent / "spec.yaml")
    with pytest.raises(SpecError) as propagated:
        prepare(followed, spec, data)
    assert str(propagated.value) == (
        "perturbation.propagate: effects of moved features followed by fitted equations; set it to false, and run again"
    )


def test_folders_from_which_nothing_can_be_made(finished, tmp_path):
    def message(folder):
        with pytest.raises(OutputError) as caught:
            saved_run(open_run(folder))
        return str(caught.value).replace(str(tmp_path), "HERE")

    assert message(tmp_path) == (
        "'HERE' is not the folder of a finished run; name the folder that crda-run wrote, runs/<name>/<id>"
    )
    bare = by.copy_of(finished.folder, tmp_path)
    shutil.rmtree(bare / "teacher")
    record = by.read(bare)
    record["files"] = {name: one for name, one in record["files"].items() if not name.startswith("teacher/")}
    by.write(bare, record)
    assert message(bare).endswith(
        ": the run saved no teacher, so nobody can label new rows; set output.model: true, and run again"
    )
    by.write(bare, {**by.read(bare), "counterfactuals": None})
    assert "this run made no new rows: " in message(bare)
