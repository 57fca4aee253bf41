"""A gate with repeats leaves what each row cost in each of them, and its p-value is computed again from that."""

import csv

import numpy as np
import pandas as pd
import pytest
import tampering as by
from audit_runs import ran, record_of
from test_ledger_recomputed import SPEC, TEACHER, houses
from test_verify_tampering import tampered

GATES = {
    "clustered": "{kind: clustered, folds: 4}",
    "clustered, one division": "{kind: clustered, folds: 6, repeats: 1}",
    "wilcoxon": "{kind: wilcoxon, folds: 6, repeats: 3}",
    "wilcoxon, r2": "{kind: wilcoxon, folds: 6, repeats: 2, metric: r2}",
    "corrected_t, mae": "{kind: corrected_t, folds: 4, repeats: 2, metric: mae}",
    "five_by_two": "{kind: five_by_two}",
    "restarts": "{kind: wilcoxon, folds: 5, restarts: 2}",
    "starts and repeats, rmse": "{kind: clustered, folds: 4, restarts: 2, metric: rmse}",
}


def gated(folder, gate):
    houses(90).to_csv(folder / "houses.csv", index=False)
    text = SPEC.format(regressor="{kind: ridge}", teacher=TEACHER["single"])
    declared = next(line for line in text.splitlines() if line.startswith("gate:"))
    return ran(folder, text.replace(declared, f"gate: {GATES[gate]}"))


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    runs = {}

    def of(gate):
        if gate not in runs:
            runs[gate] = gated(tmp_path_factory.mktemp("gated"), gate)
        return runs[gate]

    return of


@pytest.mark.parametrize("gate", GATES)
def test_an_untouched_run_is_verified_and_another_p_value_is_found(finished, gate, verify, tmp_path):
    run = finished(gate).folder
    code, said = verify(run)
    assert code == 0, said
    code, said = verify(tampered(run, tmp_path, by.told("verdict", "p_value", value=0.0123)))
    assert code == 4
    assert "record.json, verdict.p_value: says 0.0123, should be " in said


@pytest.mark.parametrize("gate", ["wilcoxon", "five_by_two"])
def test_every_row_is_listed_once_a_repeat_and_rows_csv_has_the_means(finished, gate):
    run = finished(gate)
    repeats, rows = pd.read_csv(run.folder / "repeats.csv"), pd.read_csv(run.folder / "rows.csv")
    told = record_of(run)["verdict"]
    train = rows[rows["part"] == "train"].set_index("row")
    assert (repeats.groupby("row").size() == told["repeats"]).all()
    means = repeats.groupby("row")[["plain_loss", "augmented_loss"]].mean().loc[train.index]
    np.testing.assert_allclose(means, train[["plain_loss", "augmented_loss"]], rtol=1e-12)
    first = repeats[repeats["gate_fold"] <= told["planned_folds"] // told["repeats"]].set_index("row")["gate_fold"]
    assert first.loc[train.index].tolist() == train["gate_fold"].tolist()
    for fold in told["folds"]:
        mine = repeats[repeats["gate_fold"] == fold["fold"]]
        assert mine["plain_loss"].mean() == pytest.approx(fold["plain"], rel=1e-12)


def test_one_division_needs_no_file_more(finished):
    assert not (finished("clustered, one division").folder / "repeats.csv").exists()


def lines_changed(change):
    """Changes the lines of repeats.csv, and mends every hash."""

    def tamper(run):
        file = run / "repeats.csv"
        head, *lines = list(csv.reader(file.read_text().splitlines()))
        file.write_text("\n".join(",".join(line) for line in [head, *change(lines)]) + "\n")
        by.reseal(run)

    return tamper


def other_loss(lines):
    lines[3][2] = repr(float(lines[3][2]) * 1.5)
    return lines


def swapped_folds(lines):
    """Two rows of the last repeat's folds change places, with what they cost."""
    first, last = lines[-1], next(line for line in reversed(lines) if line[0] != lines[-1][0])
    first[1], last[1] = last[1], first[1]
    return lines


def without_a_fold(lines):
    return [line for line in lines if line[0] != "1"]


def with_a_quote(lines):
    """All that follows is one cell, and larger than a reader takes."""
    lines[0][0] = '"'
    return [*lines, *([["1", "1", "0" * 1000, "1"]] * 200)]


def stranger(lines):
    lines[0][1] = "987654"
    return lines


@pytest.mark.parametrize(
    ("change", "named"),
    [
        (other_loss, "record.json, verdict.folds.0.plain: says "),
        (other_loss, "rows.csv, line "),
        (without_a_fold, "repeats.csv: has no row of gate fold 1"),
        (with_a_quote, "field larger than field limit"),
        (swapped_folds, "repeats.csv: holds rows out in other folds of repeat 3 than the seed does"),
        (stranger, "repeats.csv: there is no row 987654 in gate fold 1"),
    ],
)
def test_a_change_with_every_hash_mended_is_found(finished, verify, tmp_path, change, named):
    code, said = verify(tampered(finished("wilcoxon").folder, tmp_path, lines_changed(change)))
    assert code == 4, said
    assert named in said


def test_a_lost_file_is_named(finished, verify, tmp_path):
    def lose(run):
        record = by.read(run)
        del record["files"]["repeats.csv"]
        (run / "repeats.csv").unlink()
        by.write(run, record)

    code, said = verify(tampered(finished("wilcoxon").folder, tmp_path, lose))
    assert code == 4
    assert "repeats.csv: is missing, and tells what each row cost in each of 3 repeats" in said


def test_a_row_number_beyond_all_numbers_is_a_finding(finished, verify, tmp_path):
    def number(run):
        file = run / "rows.csv"
        head, first, *rest = file.read_text().splitlines()
        cells = first.split(",")
        cells[1] = "9" * 20
        file.write_text("\n".join([head, ",".join(cells), *rest]) + "\n")
        by.reseal(run)

    code, said = verify(tampered(finished("wilcoxon").folder, tmp_path, number))
    assert code == 4
    assert "OverflowError" in said
