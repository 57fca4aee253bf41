"""Finished cells -> tidy rows, means over seeds, and the ranks of methods."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from crda_spec.bench.published import STEPS
from crda_spec.bench.run import Finished
from crda_spec.bench.statistics import Ranking, geometric_mean, mean_and_error, rank_methods
from crda_spec.data.raw import read_catalogue

AUGMENTED, GATED = "augmented", "gated"  # arms of a matched cell
COLUMNS = (
    *("suite", "protocol", "measure", "table", "rows", "train_rows", "test_rows", "regressor", "augmenter", "arm"),
    *("graph", "knob", "value", "seed", "metric", "plain", "loss", "change_percent", "made", "accepted", "p_value"),
    *("synthetic_rows", "fits", "selected", "rejected", "features_selected", "features_rejected", "key"),
)
_FLAT = 1e-12  # a loss below it is none


def tidy(cells: Sequence[Finished]) -> pd.DataFrame:
    """One row a cell and arm, in the order of the suites."""
    rows = [row for one in cells if one.figures is not None for row in _rows(one, one.figures)]
    return pd.DataFrame(rows, columns=list(COLUMNS))


def _rows(one: Finished, figures: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    names = ("suite", "protocol", "measure", "table", "rows", "regressor", "augmenter", "graph", "knob", "value")
    cell = {name: getattr(one.cell, name) for name in (*names, "seed")}
    cell |= {name: figures[name] for name in COLUMNS if name in figures and name not in cell}
    cell["key"] = one.key
    if one.cell.measure == "information":
        yield {**cell, "arm": AUGMENTED}
        return
    for arm, plain, loss in _arms(one, figures):
        change = 100.0 * (loss / plain - 1.0) if plain > _FLAT else None
        yield {**cell, "arm": arm, "plain": plain, "loss": loss, "change_percent": change}


def _arms(one: Finished, figures: Mapping[str, Any]) -> Iterator[tuple[str, float, float]]:
    """Each arm with what it is compared with."""
    plain, augmented = figures["plain"], figures["augmented"]
    if one.cell.protocol == "published":
        ten = figures["ten_plain"]
        pairs = {"published": (plain, augmented), "ten_plain": (plain, ten), "ten_ten": (ten, augmented)}
        pairs["one_one"] = (plain, figures["one_augmented"])
        yield from ((arm, *pairs[arm]) for arm in STEPS)
        return
    yield AUGMENTED, plain, augmented
    if "used" in figures:
        yield GATED, plain, figures["used"]


def timings(cells: Sequence[Finished]) -> pd.DataFrame:
    """What each cell cost where it was computed; apart, for no two machines agree on it."""
    columns = ["key", "label", "seconds", "cpu_seconds", "code"]
    rows = [
        {"key": one.key, "label": one.cell.label, **{name: one.volatile.get(name) for name in columns[2:]}}
        for one in cells
        if one.figures is not None
    ]
    return pd.DataFrame(rows, columns=columns)


def method(row: Mapping[str, Any]) -> str:
    """What a line of a table is called: the augmenter, and what is not as usual about it."""
    name = str(row["augmenter"])
    if row["arm"] in STEPS:
        name = f"{name}: {STEPS[row['arm']]}"
    elif row["arm"] == GATED:
        name += ", gated"
    if row["graph"] not in ("none", "right"):
        name += f", graph {row['graph']}"
    if row["graph"] == "none" and row.get("drawn"):
        name += ", no graph"
    return name + (f", {row['knob']} = {row['value']}" if row["knob"] else "")


_BLOCK = ["suite", "protocol", "regressor", "method", "table", "rows"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Mean:
    """One method on one table at one size, over seeds."""

    suite: str
    protocol: str
    regressor: str
    method: str
    augmenter: str
    arm: str
    graph: str
    knob: str
    value: str
    table: str
    rows: int
    seeds: tuple[int, ...]
    change: float
    error: float | None
    plain: float
    loss: float
    accepted: float | None  # the share of seeds
    p_value: float | None  # of the gate, the mean over seeds


def means(frame: pd.DataFrame) -> list[Mean]:
    """Of the changes over seeds, in the order of the suites."""
    frame = named(frame[frame["measure"] == "loss"])
    found = []
    for _, part in frame.groupby(_BLOCK, sort=False):
        first, known = part.iloc[0], part.dropna(subset=["change_percent"])
        if known.empty:
            continue
        change, error = mean_and_error(map(float, known["change_percent"]))
        verdicts, p_values = part["accepted"].dropna(), part["p_value"].dropna()
        found.append(
            Mean(
                **{name: first[name] for name in (*_BLOCK[:-1], "augmenter", "arm", "graph", "knob", "value")},
                rows=int(first["rows"]),
                seeds=tuple(int(seed) for seed in known["seed"]),
                change=change,
                error=error,
                plain=float(known["plain"].mean()),
                loss=float(known["loss"].mean()),
                accepted=None if verdicts.empty else float(verdicts.astype(float).mean()),
                p_value=None if p_values.empty else float(p_values.astype(float).mean()),
            )
        )
    return found


def named(frame: pd.DataFrame) -> pd.DataFrame:
    """With a column `method`."""
    drawn = set(frame.loc[frame["graph"] != "none", "table"])
    rows: list[dict[str, Any]] = [
        {**{str(key): value for key, value in row.items()}, "drawn": row["table"] in drawn}
        for row in frame.to_dict("records")
    ]
    return frame.assign(method=[method(row) for row in rows])


@dataclass(frozen=True, slots=True, kw_only=True)
class Overall:
    """One method over all tables and sizes of a suite."""

    method: str
    tables: int
    seeds: int  # the fewest of any table
    mean: float
    error: float | None  # over tables
    geometric: float
    worst: float
    better: int  # tables on which it is better than no augmentation


def overall(found: Sequence[Mean]) -> list[Overall]:
    """By method, in the order of the suite. found: of one suite, protocol and regressor."""
    lines = []
    for name in dict.fromkeys(one.method for one in found):
        mine = [one for one in found if one.method == name]
        changes = [one.change for one in mine]
        mean, error = mean_and_error(changes)
        lines.append(
            Overall(
                method=name,
                tables=len(mine),
                seeds=min(len(one.seeds) for one in mine),
                mean=mean,
                error=error,
                geometric=geometric_mean(changes),
                worst=max(changes),
                better=sum(change < 0 for change in changes),
            )
        )
    return lines


def ranking(found: Sequence[Mean], frame: pd.DataFrame) -> Ranking | None:
    """Of the methods of one suite, protocol and regressor, on the tables and seeds that all of them have.

    None where there is no such table, or only one method. found, frame: of these, the frame with its `method`.
    """
    names = list(dict.fromkeys(one.method for one in found))
    wide = frame[frame["method"].isin(names)].pivot_table(
        index=["table", "rows", "seed"], columns="method", values="loss", sort=False
    )
    whole = wide.reindex(columns=names).dropna()
    losses = whole.groupby(level=["table", "rows"], sort=False).mean().to_numpy(dtype=np.float64)
    if len(names) < 2 or not len(losses):
        return None
    return rank_methods(names, np.maximum(losses, _FLAT))


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """A figure of the paper."""

    change: float | None
    se: float | None
    facts: Mapping[str, Any]


def paper_fact(which: str, *, table: str, rows: int, regressor: str, augmenter: str) -> Fact | None:
    """What the paper's table says; its sizes are rounded otherwise than ours, so that 1 % off counts as the same."""
    for line in _paper()[which]:
        named = line["table"] == table and line["regressor"] == regressor and line["augmenter"] == augmenter
        if named and (line["rows"] is None or abs(line["rows"] - rows) <= 0.01 * rows):
            return Fact(change=line.get("change"), se=line.get("se"), facts=line)
    return None


def paper_caption(which: str) -> str:
    """What the table of the paper shows."""
    return str(read_catalogue(_FACTS)[which]["caption"])


_FACTS = Path(__file__).with_name("paper.yaml")


@cache
def _paper() -> Mapping[str, list[dict[str, Any]]]:
    return {
        name: [dict(zip(facts["columns"], row, strict=True)) for row in facts["rows"]]
        for name, facts in read_catalogue(_FACTS).items()
    }
