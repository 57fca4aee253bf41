"""Ways to change a run's folder after it was written: clumsily, or with every hash and seal mended afterwards."""

import hashlib
import json
import pickle
import shutil

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from crda_spec.audit.canonical import canonical_json, sealed
from crda_spec.audit.export import CRATE, crate_json

TABLE = "augmented.parquet"


def read(run):
    return json.loads((run / "record.json").read_text())


def write(run, record):
    """The record, sealed again, with the hashes of the files as they are now; the crate is made to agree with it."""
    record["files"] = {name: hashlib.sha256((run / name).read_bytes()).hexdigest() for name in record["files"]}
    record["spec"]["sha256"] = hashlib.sha256((run / "spec.yaml").read_bytes()).hexdigest()
    body = {name: part for name, part in record.items() if name not in ("sha256", "volatile")}
    volatile = {name: part for name, part in record["volatile"].items() if name != "sha256"}
    whole = sealed(body, volatile)
    (run / "record.json").write_text(canonical_json(whole))
    files = {path.relative_to(run).as_posix(): path.read_bytes() for path in run.rglob("*") if path.is_file()}
    files.pop(CRATE)
    (run / CRATE).write_text(crate_json(whole, files))


def reseal(run):
    write(run, read(run))


def told(*path, value):
    """Changes one value of the record, and seals it again."""

    def tamper(run):
        record = read(run)
        inner = record
        for part in path[:-1]:
            inner = inner[part]
        inner[path[-1]] = value(inner[path[-1]]) if callable(value) else value
        write(run, record)

    return tamper


def clumsily(*path, value):
    """Changes one value of the record, as with an editor."""

    def tamper(run):
        record = read(run)
        inner = record
        for part in path[:-1]:
            inner = inner[part]
        inner[path[-1]] = value
        (run / "record.json").write_text(canonical_json(record))

    return tamper


def cell(column, row, change, *, file=TABLE):
    """Changes one cell of a table (rows from 0, negative ones from the end), and seals all again."""

    def tamper(run):
        table = pq.read_table(run / file)
        values = table[column].to_pylist()
        values[row] = change(values[row])
        assert values != table[column].to_pylist()
        position = table.column_names.index(column)
        table = table.set_column(position, table.schema.field(position), pa.array(values, table.schema.types[position]))
        pq.write_table(table, run / file)
        reseal(run)

    return tamper


def without_last_row(file):
    def tamper(run):
        table = pq.read_table(run / file)
        pq.write_table(table.slice(0, table.num_rows - 1), run / file)
        reseal(run)

    return tamper


def without_last_line(file):
    def tamper(run):
        lines = (run / file).read_text().splitlines(keepends=True)
        (run / file).write_text("".join(lines[:-1]))
        reseal(run)

    return tamper


def last_row_twice(run):
    table = pq.read_table(run / TABLE)
    pq.write_table(pa.concat_tables([table, table.slice(table.num_rows - 1)]), run / TABLE)
    reseal(run)


def consistent_label(run):
    """A label and the prediction that it follows from, together."""
    cell("_crda_prediction", -1, lambda value: value + 1)(run)
    cell("price", -1, lambda value: value + 1)(run)


def rows_changed(change):
    """Changes the lines of rows.csv, each a list of cells, and seals all again."""

    def tamper(run):
        cells = [line.split(",") for line in (run / "rows.csv").read_text().splitlines()]
        change(cells[0], cells[1:])
        (run / "rows.csv").write_text("".join(",".join(line) + "\n" for line in cells))
        reseal(run)

    return tamper


def row_loss(part, arm):
    """A little less loss for the first row of a part."""

    def change(head, lines):
        line = next(line for line in lines if line[head.index("part")] == part)
        at = head.index(f"{arm}_loss")
        line[at] = repr(0.999 * float(line[at]))

    return rows_changed(change)


@rows_changed
def swapped_folds(head, lines):
    """Two rows of different folds take each other's place; every fold keeps its size."""
    at = head.index("gate_fold")
    first = lines[0]
    other = next(line for line in lines if line[at] != first[at])
    first[at], other[at] = other[at], first[at]


def better_loser(run):
    """The model that was not used is said to be better than it was, and the change agrees."""
    record = read(run)
    test = record["test"]
    loser = "plain" if record["final_model"] == "augmented" else "augmented"
    test[loser] *= 0.9
    test["change_percent"] = 100.0 * (test["augmented"] - test["plain"]) / test["plain"]
    write(run, record)


def text(name, old, new):
    """Replaces text in a file, and seals all again."""

    def tamper(run):
        file = run / name
        before = file.read_text()
        assert old in before
        file.write_text(before.replace(old, new, 1))
        reseal(run)

    return tamper


def fold_loss(run):
    """A better augmented loss in the record and in folds.csv alike."""
    record = read(run)
    fold = record["verdict"]["folds"][0]
    before, fold["augmented"] = fold["augmented"], fold["augmented"] * 0.01
    file = run / "folds.csv"
    assert repr(before) in file.read_text()
    file.write_text(file.read_text().replace(repr(before), repr(fold["augmented"])))
    write(run, record)


def certificate_both(run):
    """A blocked feature that is declared free in both copies of the certificate."""
    record = read(run)
    certificate = record["certificate"]
    blocked = next(one for one in certificate["features"] if one["status"] == "blocked")
    blocked["status"] = "cause"
    certificate["perturbed"] = [
        one["name"] for one in certificate["features"] if one["status"] == "cause" and not one["held"]
    ]
    certificate["kept"].remove(blocked["name"])
    certificate["largest"].append(blocked["name"])
    (run / "certificate.json").write_text(canonical_json(certificate))
    write(run, record)


def verdict_both(name, **changes):
    """What is said of a feature, changed in both copies of the certificate."""

    def tamper(run):
        record = read(run)
        next(one for one in record["certificate"]["features"] if one["name"] == name).update(changes)
        (run / "certificate.json").write_text(canonical_json(record["certificate"]))
        write(run, record)

    return tamper


def arrow_removed(run):
    """The arrow that blocks a feature, erased from the record's graph, the certificate and the spec."""
    record = read(run)
    for graph in (record["certificate"]["graph"],):
        graph["edges"] = [edge for edge in graph["edges"] if edge[:2] != ["care", "age"]]
    (run / "certificate.json").write_text(canonical_json(record["certificate"]))
    write(run, record)


def other_model(name):
    """A model whose numbers were turned a little."""

    def tamper(run):
        file = run / name / "model.json"
        head = json.loads(file.read_text())
        head["encoder"]["target_center"] += 1.0
        file.write_text(canonical_json(head))
        reseal(run)

    return tamper


def planted_pickle(marker):
    """Bytes that, unpickled, leave a marker."""

    class Bomb:
        def __reduce__(self):
            return (open, (str(marker), "w"))

    return pickle.dumps(Bomb())


def copy_of(run, folder):
    target = folder / "run"
    shutil.copytree(run, target)
    return target


def nearly(value):
    """The next number."""
    return float(np.nextafter(value, np.inf))
