"""Real runs, and their files read back as a stranger would: from the folder alone."""

import json
from contextlib import contextmanager

import numpy as np
import pandas as pd
import pyarrow.parquet as pq

from crda_spec.audit.files import finish_run
from crda_spec.audit.models import load_model
from crda_spec.pipeline import run
from crda_spec.spec.build import build_plan
from crda_spec.spec.check import load_spec


class Nobody:
    """Who watches a run that nobody watches."""

    @contextmanager
    def stage(self, name, total):
        del name, total
        yield self

    def advance(self):
        return None


def ran(folder, text):
    """The spec, run and written to `folder`/run."""
    (folder / "spec.yaml").write_text(text)
    spec, draft = load_spec(folder / "spec.yaml")
    result = run(build_plan(spec, draft), progress=Nobody())
    return finish_run(result, spec=spec, draft=draft, folder=folder / "run")


def record_of(finished):
    return json.loads((finished.folder / "record.json").read_text())


def ledger_of(finished):
    return pq.read_table(finished.folder / "augmented.parquet").to_pandas()


def rows_of(finished):
    return pd.read_csv(finished.folder / "rows.csv")


def teachers_of(finished):
    """The saved members of the teacher, in the order of their numbers."""
    folders = sorted((finished.folder / "teacher").iterdir(), key=lambda folder: int(folder.name))
    return [load_model(folder) for folder in folders]


def encoded(frame, record):
    """The features as the models take them: a category is the index of its label in the record."""
    columns = []
    for feature in record["data"]["features"]:
        values = frame[feature["name"]]
        if feature["type"] == "category":
            values = values.map({label: code for code, label in enumerate(feature["labels"])})
        columns.append(values.to_numpy(dtype=np.float64))
    return np.column_stack(columns)
