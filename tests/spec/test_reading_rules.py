"""What a spec may say of dates, dirty cells and gaps, and what of it does not move."""

import json

import numpy as np
import pandas as pd
import pytest

from crda_spec.errors import SpecError
from crda_spec.spec.build import build_plan
from crda_spec.spec.check import known_graph, load_spec, partition_of


@pytest.fixture
def place(tmp_path):
    rng = np.random.default_rng(4)
    days = pd.date_range("2021-01-01", periods=60, freq="11D").strftime("%Y-%m-%d")
    frame = pd.DataFrame({"day": days, "dose": rng.uniform(1, 9, 60).round(2), "age": rng.integers(20, 80, 60)})
    frame["y"] = (frame["dose"] + frame["age"] / 10 + rng.normal(size=60)).round(2)
    frame.loc[[3, 8], "age"] = None
    frame.to_csv(tmp_path / "t.csv", index=False)
    return tmp_path


DATE = {"day": {"type": "date", "as": ["year", "day_of_year"]}}


def spec_of(place, *, dataset=None, **sections):
    own = {"missing": {"kind": "impute"}, "columns": DATE, **(dataset or {})}
    content = {"source": {"kind": "csv", "path": "t.csv"}, "target": "y", **own}
    file = place / "spec.yaml"
    file.write_text(json.dumps({"version": 1, "name": "t", "dataset": content, **sections}))
    return load_spec(file)


@pytest.mark.parametrize(
    ("dataset", "expected"),
    [
        pytest.param(
            {"columns": {"dose": {"type": "continuous", "as": ["year"]}}},
            "dataset.columns.dose.as: only a date has this key, and the column is continuous; "
            "write type: date, or remove the key",
            id="parts-of-a-number",
        ),
        pytest.param(
            {"columns": {"day": {"format": "%Y"}}},
            "dataset.columns.day.format: only a date has this key, and the column is not declared one; "
            "write type: date, or remove the key",
            id="form-of-no-date",
        ),
        pytest.param(
            {"columns": {"day": {"type": "date", "as": ["year", "year"], "min": 3}}},
            "dataset.columns.day.min: a date column has no bounds, got 3; "
            "give them to its parts, e.g. a contract of `signup.year`",
            id="bounds-of-a-date",
        ),
        pytest.param(
            {"columns": {"day": {"type": "date", "as": ["yaer"]}}},
            "dataset.columns.day.as.0: unknown value 'yaer'; did you mean 'year'?",
            id="unknown-part",
        ),
        pytest.param(
            {"columns": {"day": {"type": "date", "ass": ["year"]}}},
            "dataset.columns.day.ass: unknown key 'ass'; did you mean 'as'?",
            id="unknown-key",
        ),
        pytest.param(
            {"columns": {"dose": {"type": "continuous", "cells": {"low": "small"}}}},
            "dataset.columns.dose.cells: 'low' cannot mean 'small' in a continuous column; write a number, or missing",
            id="a-number-that-is-a-word",
        ),
        pytest.param(
            {"columns": {"dose": {"type": "category", "thousands": ","}}},
            "dataset.columns.dose.thousands: a category column has no thousands; "
            "remove the key, or declare the column continuous",
            id="thousands-of-labels",
        ),
        pytest.param(
            {"missing": {"kind": "impute", "columns": {"y": "drop"}}},
            "dataset.missing.columns.y: 'y' is the target, whose rule has a key of its own; "
            "write missing.target: drop, or error",
            id="target-among-the-columns",
        ),
        pytest.param(
            {"missing": {"kind": "drop", "numbers": "mean"}},
            "dataset.missing.numbers: nothing is imputed (kind: drop), so nothing is filled with the mean; "
            "write kind: impute, or remove the key",
            id="nothing-is-filled",
        ),
        pytest.param(
            {"missing": {"kind": "drop", "indicator": ["age"]}},
            "dataset.missing.indicator.0: missing cells of 'age' are not imputed (drop); "
            "remove it from the list, or write kind: impute",
            id="mark-of-no-gap",
        ),
        pytest.param(
            {"missing": {"kind": "impute", "columns": {"agee": "drop"}}},
            "dataset.missing.columns.agee: the data have no column 'agee'; did you mean 'age'?",
            id="unknown-column",
        ),
        pytest.param(
            {"missing": {"kind": "impute", "target": "impute"}},
            "dataset.missing.target: unknown value 'impute'; choose one of: error, drop",
            id="a-target-is-not-imputed",
        ),
        pytest.param(
            {"target": "day"},
            "dataset.columns.day.type: a regression target cannot be a date; declare it continuous or integer",
            id="a-date-as-target",
        ),
        pytest.param(
            {"features": ["day.yeer", "age"]},
            "dataset.features.0: the data have no column 'day.yeer'; did you mean 'day.year'?",
            id="unknown-part-as-feature",
        ),
    ],
)
def test_rules_that_cannot_hold(place, dataset, expected):
    with pytest.raises(SpecError) as caught:
        spec_of(place, dataset=dataset)
    assert expected in [f"{one.path}: {one.what}; {one.hint}" for one in caught.value.complaints]


def movers(place, **sections):
    spec, draft = spec_of(place, dataset={"missing": {"kind": "impute", "indicator": ["age"]}}, **sections)
    result = build_plan(spec, draft).procedure.partitioner.choice
    return [name for name in ("day.year", "day.day_of_year", "dose", "age", "age.missing") if not result.leaves(name)]


GRAPH = {"kind": "edges", "edges": ["day.day_of_year -> y", "dose -> y", "age -> y"]}


@pytest.mark.parametrize(
    ("sections", "expected"),
    [
        pytest.param({}, ["dose", "age"], id="by-default"),
        pytest.param({"causal": {"graph": GRAPH}}, ["day.day_of_year", "dose", "age"], id="drawn"),
        pytest.param({"partition": {"perturb": ["day.year", "age"]}}, ["day.year", "age"], id="asked-for"),
        pytest.param(
            {"perturbation": {"features": {"day.year": {"kind": "resample"}}}},
            ["day.year", "dose", "age"],
            id="with-a-policy",
        ),
    ],
)
def test_dates_and_marks_of_gaps_move_only_where_somebody_says_so(place, sections, expected):
    assert movers(place, **sections) == expected


def test_a_graph_says_why_a_part_stays(place):
    spec, draft = spec_of(place, causal={"graph": {"kind": "edges", "edges": ["dose -> y"], "unrelated": ["age"]}})
    verdicts = {one.name: one for one in known_graph(spec, draft).verdicts}
    assert verdicts["day.year"].status == "blocked"
    assert partition_of(spec, known_graph(spec, draft).graph).leaves("day.year").code == "derived"


def test_a_graph_draws_the_parts_of_a_date(place):
    with pytest.raises(SpecError) as caught:
        spec_of(place, causal={"graph": {"kind": "edges", "edges": ["day -> y", "dose -> y"]}})
    (complaint,) = caught.value.complaints
    assert complaint.what == "character 1: 'day' is neither a column of the data nor a latent node"
    assert complaint.hint.startswith("the nodes are: day.year, day.day_of_year, dose")


def test_a_spec_with_rules_reads_back_as_itself(place):
    from crda_spec.spec.render import render

    dose = {"type": "continuous", "unit": "mg", "thousands": ",", "cells": {"n/a": "missing", "<1": 0.5}}
    spec, draft = spec_of(place, dataset={"columns": {**DATE, "dose": dose}})
    again = place / "again.yaml"
    again.write_text(render(spec, draft))
    assert load_spec(again)[0] == spec
    assert "as:" in again.read_text()
