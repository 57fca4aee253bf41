"""A suite is run cell by cell: each once, resumable, the same bytes with any number of workers."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pandas as pd
import pytest

import crda_spec
from crda_spec.bench import run as running
from crda_spec.bench.bench import CSV, MARKDOWN, PAGE, PARQUET, TIMINGS
from crda_spec.bench.cells import in_order
from crda_spec.bench.suite import read_suites
from crda_spec.errors import SpecError

FIGURES = (CSV, PARQUET, MARKDOWN, PAGE)
SLOW = """version: 1
name: slow
tables: [crop_yield]
sizes: [60]
seeds: 8
regressors: [xgboost]
augmenters: [none, mixup, gaussian_noise]
"""


def test_every_cell_is_computed_once_and_kept(run, computed):
    first = run()
    assert len(computed) == len(set(computed)) == 2 * 2 * 3
    assert (first.outcome.computed, first.outcome.total, first.exit_status) == (12, 12, 0)
    again = run()
    assert len(computed) == 12
    assert again.outcome.computed == 0
    assert all(one.kept for one in again.outcome.cells)
    pd.testing.assert_frame_equal(first.frame, again.frame)


def test_the_first_seed_of_all_comes_before_the_second_of_any(run, computed):
    run()
    assert [label.split("/")[3] for label in computed] == ["1"] * 6 + ["2"] * 6


def test_a_cell_is_a_spec_that_runs_by_itself_with_the_same_figures(run, tmp_path):
    done = run()
    for file in sorted((tmp_path / "out" / "cells").iterdir())[:4]:
        kept = json.loads(file.read_text(encoding="utf-8"))
        spec = tmp_path / "spec.yaml"
        spec.write_text(json.dumps(kept["spec"]), encoding="utf-8")
        score = crda_spec.run(spec).score
        assert score.plain == kept["figures"]["plain"]
        if kept["figures"]["made"]:
            assert score.augmented == kept["figures"]["augmented"]
        assert kept["key"] == file.stem
        assert (done.frame["key"] == file.stem).any()


ONE = "version: 1\nname: other\ntables: [crop_yield]\nsizes: [60]\nseeds: 1\nregressors: [linear]\naugmenters:\n"


def test_another_size_or_setting_is_another_cell(run, computed):
    run()
    run(ONE + "  - none")
    assert len(computed) == 12  # the same cell under another suite's name
    run(ONE.replace("60", "61") + "  - none")
    assert len(computed) == 13
    run(ONE + "  - {name: paper, recipe: paper, counterfactual: {factor: 1.0}}")
    assert len(computed) == 14


def test_cells_that_are_one_computation_are_computed_once(run, computed):
    done = run(ONE + "  - paper\n  - {name: algorithm_1, recipe: paper}")
    assert len(computed) == 1
    assert list(done.frame["augmenter"]) == ["paper", "algorithm_1"]
    assert len(set(done.frame["key"])) == 1


def test_workers_change_no_byte(run, tmp_path):
    run(out="one")
    run(out="two", jobs=2)
    for name in FIGURES:
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes(), name

    def cells(folder):
        found = {file.name: json.loads(file.read_text()) for file in (tmp_path / folder / "cells").iterdir()}
        return {name: {key: value for key, value in one.items() if key != "volatile"} for name, one in found.items()}

    assert cells("one") == cells("two")
    assert len(pd.read_csv(tmp_path / "one" / TIMINGS)) == 12


def test_a_budget_stops_new_cells_and_a_second_run_goes_on(run, computed, monkeypatch):
    now = [0.0]
    monkeypatch.setattr(running.time, "monotonic", lambda: now.__setitem__(0, now[0] + 1.0) or now[0])
    stopped = run(budget="9s")
    assert stopped.outcome.stopped
    assert 0 < stopped.outcome.computed < 12
    assert stopped.missing == 12 - stopped.outcome.computed
    whole = run()
    assert (whole.missing, whole.outcome.computed) == (0, 12 - stopped.outcome.computed)
    assert len(computed) == len(set(computed)) == 12


def test_only_some_cells_and_the_tables_show_all_that_is_there(run, computed):
    some = run(only="crop*/2/*mixup")
    assert computed == ["tiny/crop_yield/60/2/linear/mixup/matched"]
    assert some.missing == 11
    more = run(only="paper")
    assert len(computed) == 1 + 4
    assert sorted(set(more.frame["augmenter"])) == ["mixup", "paper"]


def test_a_cell_that_fails_costs_no_other_and_is_tried_again(run, computed, monkeypatch):
    known = running.plain

    def sometimes(figures):
        if figures["synthetic_rows"] == 0:
            raise RuntimeError("out of luck")
        return known(figures)

    monkeypatch.setattr(running, "plain", sometimes)
    done = run()
    assert done.exit_status == 5
    assert {one.cell.augmenter for one in done.outcome.failed} >= {"none"}
    assert "out of luck" in (done.folder / MARKDOWN).read_text()
    monkeypatch.setattr(running, "plain", known)
    before = len(computed)
    assert run().exit_status == 0
    assert len(computed) == before + len(done.outcome.failed)


def test_a_cell_that_cannot_be_read_is_computed_anew(run, computed, tmp_path):
    run()
    for file, text in zip(sorted((tmp_path / "out" / "cells").iterdir()), ("", "{}", '{"key": "x"}'), strict=False):
        file.write_text(text)
    run()
    assert len(computed) == 15


def test_quick_is_one_seed_and_few_rows(run, computed):
    run(quick=True)
    assert {tuple(label.split("/")[2:4]) for label in computed} == {("120", "1")}


def test_the_watcher_hears_of_every_cell(run, heard):
    run(watch=heard)
    assert [one.kept for one in heard.news] == [False] * 12
    assert heard.left[-1] == 0.0
    assert {one.column for one in heard.news} == {"linear"}


def _start(folder: Path, jobs: int) -> subprocess.Popen:
    line = [str(Path(sys.executable).parent / "crda-spec"), "bench", "suite.yaml", "--out", "out", "--jobs", str(jobs)]
    return subprocess.Popen(line, cwd=folder, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def _wait_for_cells(folder: Path, count: int, process: subprocess.Popen) -> int:
    for _ in range(600):
        done = len(list(folder.glob("[!.]*.json"))) if folder.is_dir() else 0
        if done >= count or process.poll() is not None:
            return done
        time.sleep(0.05)
    raise AssertionError("no cell was finished within 30 seconds")


def _children(parent: int) -> set[int]:
    found = set()
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[1]) == parent:
            found.add(int(stat.parent.name))
    return found


@pytest.mark.parametrize(("jobs", "how"), [(1, signal.SIGKILL), (2, signal.SIGKILL), (2, signal.SIGINT)])
@pytest.mark.usefixtures("interruptible")
def test_a_killed_suite_goes_on_without_computing_a_finished_cell(jobs, how, tmp_path, run, computed):
    (tmp_path / "suite.yaml").write_text(SLOW, encoding="utf-8")
    process = _start(tmp_path, jobs)
    cells = tmp_path / "out" / "cells"
    _wait_for_cells(cells, 3, process)
    workers = _children(process.pid)
    os.kill(process.pid, how)
    out, err = process.communicate(timeout=60)
    finished = {file.stem for file in cells.glob("[!.]*.json")}
    assert 3 <= len(finished) < 24, (out, err)
    if how == signal.SIGINT:
        assert process.returncode == 130
        assert "interrupted" in err
    for _ in range(200):  # orphans end themselves as soon as they look
        if not any(Path(f"/proc/{worker}").exists() for worker in workers):
            break
        time.sleep(0.05)
    assert not any(Path(f"/proc/{worker}").exists() for worker in workers)
    done = run(SLOW)
    assert len(computed) == done.outcome.computed == 24 - len(finished)
    assert {one.key for one in done.outcome.cells if one.kept} == finished
    assert list((tmp_path / "out").glob(".*")) == []


def test_the_suites_of_the_repository_can_be_laid_out(monkeypatch):
    """Names, sections, protocols: all but the data, which need not be here."""
    monkeypatch.setattr("crda_spec.bench.tables.BenchTable.facts", (1000, "0" * 64))
    monkeypatch.setattr("crda_spec.bench.cells.load_rows", lambda *_: None)
    folder = Path(__file__).parents[2] / "specs" / "suites"
    for file in sorted(folder.glob("*.yaml")):
        for quick in (False, True):
            count, cells = in_order(read_suites(file, quick=quick))
            assert 0 < len(list(cells)) <= count, file.name


@pytest.mark.parametrize(
    "section", ["gate: 3", "output: [1]", "gate: {folds: none}", "regressor: x, seed: 3", "tables: {}"]
)
def test_a_section_for_all_cells_that_is_none(section, run, computed):
    with pytest.raises(SpecError) as wrong:
        run(ONE + f"  - none\nspec: {{{section}}}\n")
    assert all(one.path.startswith("spec.") for one in wrong.value.complaints)
    assert computed == []


def test_the_gate_is_off_unless_it_is_turned_on(run):
    assert run(ONE + "  - paper\nspec: {gate: {folds: 6}}\n").frame["accepted"].isna().all()
    gated = run(ONE + "  - paper\n  - {name: more, recipe: paper, gate: {enabled: true, folds: 7}}\n").frame
    assert [(row.augmenter, row.arm) for row in gated.itertuples()] == [
        ("paper", "augmented"),
        ("more", "augmented"),
        ("more", "gated"),
    ]
