"""What was measured and concluded, computed again: losses of rows and folds, certificate, verdict, score, ensemble."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from crda_spec import records
from crda_spec.audit.canonical import plain, read_as
from crda_spec.audit.models import load_models
from crda_spec.audit.open_run import Finding
from crda_spec.audit.tables import TIME, folds_csv
from crda_spec.audit.verify.checks import Tolerance, compared, differing
from crda_spec.data.folds import folds, forward_folds
from crda_spec.data.timestamps import time_codes
from crda_spec.errors import show
from crda_spec.gate.cross_validate import FoldOutcome, division_seeds, fold_numbers
from crda_spec.gate.ensemble import ensemble_fits
from crda_spec.gate.intervals import errors_by_arm
from crda_spec.gate.score import LEVEL, accuracy, change_interval, units_of
from crda_spec.gate.tests import Gate
from crda_spec.gate.verdict import abstain, conclude, mean_losses, measure, paired_losses, percent_change
from crda_spec.records import Array, FoldResult, FoldRows, IntArray, RowErrors, RowLosses, Table
from crda_spec.regressors.fit import MeanModel
from crda_spec.regressors.metrics import HeldOutErrors, charged, named_metric
from crda_spec.seeds import stream

_ROWS = "rows.csv"
_REPEATS = "repeats.csv"
_ROUNDED = Tolerance(1e-9)  # of a ratio whose common factor is not in the folder
_ARMS: tuple[records.Arm, ...] = ("plain", "augmented")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ScoredRows:
    """The rows of one part."""

    number: IntArray  # of the row in its source, from 1
    fold: IntArray  # 0 where there is none
    groups: IntArray | None  # numbered from 1
    losses: RowLosses
    errors: RowErrors
    weights: Array | None  # None where the file tells none
    timestamps: tuple[str, ...] = ()  # when each row was, where the file says so
    times: IntArray | None = None  # (n,) numbers that grow with them


def read_tested(folder: Path, record: Mapping[str, Any]) -> ScoredRows | None:
    """The test rows; None where the record has no test score. A ValueError when rows.csv says otherwise."""
    test = read_scored(folder, "test")
    if (record["test"] is None) == (len(test.number) == 0):
        return None if record["test"] is None else test
    told = "lists test rows, but the record has no test score" if record["test"] is None else "lists no test row"
    raise ValueError(f"{_ROWS}: {told}")


def scored_arms(record: Mapping[str, Any]) -> tuple[records.Arm, ...]:
    """The models that the run fitted on all rows."""
    return _ARMS if record["counterfactuals"] is not None else ("plain",)


def read_scored(folder: Path, part: str) -> ScoredRows:
    """The rows of a part (`train`, `test`), as rows.csv lists them."""
    with (folder / _ROWS).open(encoding="utf-8", newline="") as file:
        lines = [line for line in csv.DictReader(file) if line["part"] == part]
    groups = [line["group"] for line in lines]
    moments = tuple(line[TIME] for line in lines if TIME in line)
    return ScoredRows(
        number=np.array([int(line["row"]) for line in lines], dtype=np.int64),
        fold=np.array([int(line["gate_fold"] or 0) for line in lines], dtype=np.int64),
        groups=np.array([int(one) for one in groups], dtype=np.int64) if any(groups) else None,
        losses=RowLosses(plain=_numbers(lines, "plain_loss"), augmented=_numbers(lines, "augmented_loss")),
        errors=RowErrors(plain=_numbers(lines, "plain_error"), augmented=_numbers(lines, "augmented_error")),
        weights=_weights(lines),
        timestamps=moments,
        times=time_codes(moments) if any(moments) else None,
    )


def _weights(lines: Sequence[Mapping[str, str]]) -> Array | None:
    """The weights; a ValueError names the first that is none."""
    if not lines or "weight" not in lines[0]:
        return None
    weights = _numbers(lines, "weight")
    wrong = np.flatnonzero(~(np.isfinite(weights) & (weights > 0.0)))
    if len(wrong):
        line = lines[int(wrong[0])]
        raise ValueError(f"{_ROWS}: {line['part']} row {line['row']} has the weight {show(line['weight'])}")
    return weights


def _numbers(lines: Sequence[Mapping[str, str]], name: str) -> Array:
    return np.array([float(line[name] or "nan") for line in lines], dtype=np.float64)


def check_losses(
    folder: Path, record: Mapping[str, Any], rows: Table | None, tolerance: Tolerance
) -> Iterator[Finding]:
    """The gate's folds as the seed draws them, their losses, both test losses and the interval between them.

    rows: the training rows of augmented.parquet, for their weights and for a metric that is relative to the variance of
    their outcomes; None: not at hand.
    """
    train = read_scored(folder, "train")
    test = read_tested(folder, record)
    yield from _weighted(record, train, test, rows)
    yield from _drawn(record, train)
    yield from _spans(folder, record, train)
    scored = scored_folds(folder, record, train)
    yield from _repeated(record, train, scored, tolerance)
    yield from _fold_losses(record, train, scored, None if rows is None else rows.y, tolerance)
    if test is not None:
        yield from _test_losses(record, test, tolerance)
        yield from _accuracy(record, test, tolerance)
        yield from _test_errors(record, test, errors_by_arm(train.errors if scored else None, train.weights), tolerance)
    yield from _held_errors(record, train, scored, tolerance)


_COSTS = "costs {:.17g}, by its error {:.17g}"


def _test_errors(
    record: Mapping[str, Any],
    test: ScoredRows,
    held_out: Mapping[records.Arm, HeldOutErrors] | None,
    tolerance: Tolerance,
) -> Iterator[Finding]:
    """What a test row cost follows from its error. held_out: the errors of the rows that the gate held out."""
    metric = named_metric(record["test"]["metric"]).given(held_out)
    for arm in _ARMS:
        errors, losses = (getattr(one, arm) for one in (test.errors, test.losses))
        if record["test"][arm] is not None:
            expected = metric.row_losses(errors, arm)
            yield from differing(f"{_ROWS}, test row", f"{arm}_loss", losses, expected, _COSTS, tolerance)


def _accuracy(record: Mapping[str, Any], test: ScoredRows, tolerance: Tolerance) -> Iterator[Finding]:
    """RMSE and MAE from the errors of the test rows; R2 as far as it follows from them.

    The variance of the outcomes is not in the folder. Each R2 tells it, and all must tell the same; that of the mean
    and the variance itself are computed from the data, where they are at hand (`rows.check_model`).
    """
    recorded = {one.forecaster: one for one in (read_as(records.Accuracy, one) for one in record["test"]["accuracy"])}
    arms = tuple(arm for arm in _ARMS if record["test"][arm] is not None)
    where = "record.json, test.accuracy"
    if list(recorded) != [*arms, "mean"] or len(recorded) != len(record["test"]["accuracy"]):
        yield Finding(where, f"must be of {show([*arms, 'mean'])}, in this order")
        return
    told = recorded["mean"]
    spread = told.rmse**2 / (1.0 - told.r2) if told.r2 is not None and told.r2 < 1.0 else 0.0
    for arm, found in zip(
        arms, accuracy({arm: test.errors.of(arm) for arm in arms}, spread=spread, weights=test.weights), strict=True
    ):
        said, true = plain(recorded[arm]), plain(found)
        yield from compared(f"{where}.{arm}.r2", said.pop("r2"), true.pop("r2"), tolerance=_ROUNDED)
        yield from compared(f"{where}.{arm}", said, true, tolerance=tolerance)


def _held_errors(
    record: Mapping[str, Any], train: ScoredRows, scored: Sequence[FoldRows], tolerance: Tolerance
) -> Iterator[Finding]:
    """The same of a row that the gate held out, where each was scored once."""
    if not scored or record["verdict"]["restarts"] > 1:
        return
    first = scored[: len(scored) // record["verdict"]["repeats"]]
    rows = np.concatenate([fold.held for fold in first])
    fold = np.repeat(np.arange(len(first)), [len(one.held) for one in first])
    gate_metric, own = named_metric(record["verdict"]["metric"]), None if train.weights is None else train.weights[rows]
    for arm in _ARMS:
        errors, losses = getattr(train.errors, arm)[rows], np.concatenate([getattr(one, arm) for one in first])
        needs = gate_metric.needs_errors
        expected = gate_metric.cross_losses(errors, fold, own) if needs else gate_metric.row_losses(errors)
        yield from differing(f"{_ROWS}, held-out row", f"{arm}_loss", losses, expected, _COSTS, tolerance)


def _weighted(
    record: Mapping[str, Any], train: ScoredRows, test: ScoredRows | None, rows: Table | None
) -> Iterator[Finding]:
    """The file tells weights if the record says that there are any, the same as the rows themselves."""
    declared = record["data"].get("weights") is not None
    if any((part.weights is not None) != declared for part in (train, test) if part is not None):
        yield Finding(_ROWS, "lacks the rows' weights" if declared else "tells weights, but there are none")
        return
    if train.weights is None or rows is None or rows.weights is None or len(rows) != len(train.weights):
        return
    says = "says {:.17g}, augmented.parquet says {:.17g}"
    yield from differing(f"{_ROWS}, line", "weight", train.weights, rows.weights, says, first=2)


def _drawn(record: Mapping[str, Any], train: ScoredRows) -> Iterator[Finding]:
    """Every row is held out in the fold that the seed, or time, gives it."""
    expected = fold_numbers(len(train.fold), [held for _, held in _division(record, train)])
    wrong = np.flatnonzero(train.fold != expected)
    if len(wrong):
        first, whose = int(wrong[0]), "the seed" if train.times is None else "time"
        what = f"holds {len(wrong)} training rows out in another fold than {whose} does, first that of line {first + 2}"
        yield Finding(_ROWS, what)


def _division(record: Mapping[str, Any], train: ScoredRows) -> Sequence[tuple[IntArray, IntArray]]:
    """For each fold of the gate the rows it trains on and those it holds out; none when nothing was gated."""
    recorded, rows = record["verdict"], len(train.fold)
    if not recorded["planned_folds"]:
        return ()
    count, rest = divmod(recorded["planned_folds"], max(1, recorded["repeats"]))
    if not (2 <= count <= rows and 1 <= recorded["repeats"] <= rows and rest == 0):  # no gate divides rows like this
        raise ValueError(f"{recorded['planned_folds']} folds in {recorded['repeats']} repeats of {rows} rows")
    rng = stream(record["seed"], "gate-folds")
    if train.times is not None:
        return forward_folds(train.times, count, train.groups)
    return [(np.setdiff1d(np.arange(rows), fold), fold) for fold in folds(rows, count, rng=rng, groups=train.groups)]


def _spans(folder: Path, record: Mapping[str, Any], train: ScoredRows) -> Iterator[Finding]:
    """Which time each part and each fold covers, from the rows' own."""
    recorded = record.get("time")
    if (recorded is not None) != bool(train.timestamps):
        yield Finding(_ROWS, "tells the rows' times, or does not, and the record does otherwise")
    if recorded is None or not train.timestamps:
        return
    for part in ("train", "test", "tuning"):
        rows = read_scored(folder, part)
        expected = None if rows.times is None else _span(rows, np.arange(len(rows.fold)))
        yield from compared(f"record.json, time.{part}", recorded[part], expected)
    folds_ = [
        {"fold": number, "trained": _span(train, seen), "held_out": _span(train, held)}
        for number, (seen, held) in enumerate(_division(record, train), start=1)
    ]
    yield from compared("record.json, time.folds", recorded["folds"], folds_)


def _span(rows: ScoredRows, chosen: IntArray) -> dict[str, str]:
    times = rows.times
    assert times is not None  # noqa: S101 - who asks has looked
    first, last = (int(chosen[pick(times[chosen])]) for pick in (np.argmin, np.argmax))
    return {"first": rows.timestamps[first], "last": rows.timestamps[last]}


def scored_folds(folder: Path, record: Mapping[str, Any], train: ScoredRows) -> tuple[FoldRows, ...]:
    """What the rows of each fold cost that was run: from rows.csv, or with repeats from repeats.csv."""
    recorded, losses = record["verdict"], train.losses
    ran = [fold["fold"] for fold in recorded["folds"]]
    if recorded["repeats"] == 1:
        held = [np.flatnonzero(train.fold == number) for number in ran]
        return tuple(FoldRows(held=rows, plain=losses.plain[rows], augmented=losses.augmented[rows]) for rows in held)
    if not (folder / _REPEATS).is_file():
        message = f"{_REPEATS}: is missing, and tells what each row cost in each of {recorded['repeats']} repeats"
        raise ValueError(message)
    position = {number: at for at, number in enumerate(train.number.tolist())}
    by_fold: dict[int, list[Mapping[str, str]]] = {number: [] for number in ran}
    with (folder / _REPEATS).open(encoding="utf-8", newline="") as file:
        for line in csv.DictReader(file):
            if int(line["gate_fold"]) not in by_fold or int(line["row"]) not in position:
                raise ValueError(f"{_REPEATS}: there is no row {line['row']} in gate fold {line['gate_fold']}")
            by_fold[int(line["gate_fold"])].append(line)
    for number, lines in by_fold.items():
        if not lines:
            raise ValueError(f"{_REPEATS}: has no row of gate fold {number}")
    return tuple(
        FoldRows(
            held=np.array([position[int(line["row"])] for line in lines], dtype=np.int64),
            plain=_numbers(lines, "plain_loss"),
            augmented=_numbers(lines, "augmented_loss"),
        )
        for lines in by_fold.values()
    )


def _repeated(
    record: Mapping[str, Any], train: ScoredRows, scored: Sequence[FoldRows], tolerance: Tolerance
) -> Iterator[Finding]:
    """With repeats: every division is the one that its seed draws, and rows.csv has the means over them."""
    recorded, rows = record["verdict"], len(train.fold)
    if recorded["repeats"] == 1:
        return
    each = recorded["planned_folds"] // recorded["repeats"]
    for repeat, seed in enumerate(division_seeds(record["seed"], recorded["repeats"])):
        drawn = folds(rows, each, rng=stream(seed, "gate-folds"), groups=train.groups)
        mine = scored[repeat * each : (repeat + 1) * each]
        if any(not np.array_equal(np.sort(fold.held), held) for fold, held in zip(mine, drawn, strict=False)):
            yield Finding(_REPEATS, f"holds rows out in other folds of repeat {repeat + 1} than the seed does")
    means = mean_losses(scored, rows)
    for arm in _ARMS:
        kept, mean = getattr(train.losses, arm), getattr(means, arm)
        says = "says {:.17g}, the mean over the repeats is {:.17g}"
        yield from differing(f"{_ROWS}, line", f"{arm}_loss", kept, mean, says, tolerance, first=2)


def _fold_losses(
    record: Mapping[str, Any], train: ScoredRows, scored: Sequence[FoldRows], y: Array | None, tolerance: Tolerance
) -> Iterator[Finding]:
    recorded = record["verdict"]
    ran = {fold["fold"] for fold in recorded["folds"]}
    if recorded["metric"] == "1-r2" and y is None:
        return
    if recorded["repeats"] == 1:
        for at in np.flatnonzero(np.isnan(train.losses.plain) == np.isin(train.fold, sorted(ran))).tolist():
            yield Finding(f"{_ROWS}, line {at + 2}", "has a loss that no fold measured, or lacks one")
    for fold, rows in zip(recorded["folds"], scored, strict=True):
        if not len(rows.plain):
            yield Finding(_ROWS, f"has no row of fold {fold['fold']}")
            continue
        weights = None if train.weights is None else train.weights[rows.held]
        spread = records.spread_of(y[rows.held], weights) if y is not None else 1.0
        for arm in _ARMS:
            loss = named_metric(recorded["metric"]).mean(getattr(rows, arm), spread=spread, weights=weights)
            where = f"record.json, verdict.folds.{fold['fold'] - 1}.{arm}"
            yield from compared(where, fold[arm], plain(loss), tolerance=tolerance)


def _test_losses(record: Mapping[str, Any], test: ScoredRows, tolerance: Tolerance) -> Iterator[Finding]:
    recorded, losses = record["test"], test.losses
    metric = named_metric(recorded["metric"])
    before, after = (metric.mean(getattr(losses, arm), spread=1.0, weights=test.weights) for arm in _ARMS)
    if recorded["augmented"] is None:
        after = float("nan")
    elif metric.kind == "r2":  # the variance of the test rows is not in the folder: their ratio is
        change = plain(percent_change(before, after))
        yield from compared("record.json, test.change_percent", recorded["change_percent"], change, tolerance=_ROUNDED)
    if metric.kind != "r2":
        for arm, found in zip(_ARMS, (before, after), strict=True):
            if recorded[arm] is not None:
                yield from compared(f"record.json, test.{arm}", recorded[arm], plain(found), tolerance=tolerance)
    interval = None
    if recorded["augmented"] is not None:
        units, rng = units_of(len(losses.plain), test.groups), stream(record["seed"], "bootstrap")
        both = (charged(losses.plain, test.weights), charged(losses.augmented, test.weights))
        interval = change_interval(*both, units, metric, level=LEVEL, rng=rng)
    said = recorded["interval_percent"]
    yield from compared("record.json, test.interval_percent", said, plain(interval), tolerance=tolerance)


def fold_results(record: Mapping[str, Any]) -> tuple[FoldResult, ...]:
    """The folds that the record tells."""
    return tuple(read_as(FoldResult, recorded) for recorded in record["verdict"]["folds"])


def check_folds(folder: Path, record: Mapping[str, Any]) -> Iterator[Finding]:
    """folds.csv against the record."""
    lines = (folder / "folds.csv").read_text(encoding="utf-8").splitlines()
    recorded = record.get("time")
    order = None if recorded is None else read_as(records.TimeOrder, recorded)
    expected = folds_csv(fold_results(record), order).splitlines()
    if len(lines) != len(expected):
        yield Finding("folds.csv", f"has {len(lines)} lines, the record makes {len(expected)}")
    for number, (one, other) in enumerate(zip(lines, expected, strict=False), start=1):
        if one != other:
            yield Finding(f"folds.csv, line {number}", f"says {show(one)}, the record says {show(other)}")


def check_verdict(
    gate: Gate, folder: Path, record: Mapping[str, Any], rows: Table | None, tolerance: Tolerance
) -> Iterator[Finding]:
    """The verdict, judged anew by the gate of the run's spec from the recorded fold losses. rows: see `_rejudged`."""
    recorded, verdict = record["verdict"], _rejudged(gate, folder, record, fold_results(record), rows)
    expected = {**plain(verdict), "accepted": verdict.accepted}
    for name in sorted(set(expected) - {"fits", "reused_fits", "folds"}):
        yield from compared(f"record.json, verdict.{name}", recorded.get(name), expected[name], tolerance=tolerance)
    final = "augmented" if verdict.uses_augmented else "plain"
    yield from compared("record.json, final_model", record["final_model"], final)


def check_score(record: Mapping[str, Any]) -> Iterator[Finding]:
    """The test score against itself: its change follows from the two losses; none where the spec holds no row back."""
    recorded, untested = record["test"], record["spec"]["resolved"]["dataset"]["split"]["kind"] == "none"
    if recorded is None and not untested:
        yield Finding("record.json, test", "is missing, but the spec holds rows back")
    elif recorded is not None and untested:
        yield Finding("record.json, test", "tells of test rows, but the spec holds none back")
    if recorded is None:
        yield from compared("record.json, data.test_rows", record["data"]["test_rows"], 0)
        yield from compared("record.json, controls", record["controls"], None)
        return
    if (recorded["augmented"] is None) != (record["counterfactuals"] is None):
        yield Finding("record.json, test.augmented", "a model was scored that the run cannot have fitted")
    change = None if recorded["augmented"] is None else percent_change(recorded["plain"], recorded["augmented"])
    yield from compared("record.json, test.change_percent", recorded["change_percent"], plain(change))
    yield from compared("record.json, test.rows", recorded["rows"], record["data"]["test_rows"])


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Scored:
    """What the folder tells of the training rows."""

    y: Array
    groups: IntArray | None
    weights: Array | None


def _rejudged(
    gate: Gate, folder: Path, record: Mapping[str, Any], folds: Sequence[FoldResult], rows: Table | None
) -> records.Verdict:
    """What this gate says of these folds; without folds, why there was nothing to test.

    rows: the training rows of augmented.parquet, for a metric that is relative to the variance of their outcomes.
    """
    if folds:
        train = read_scored(folder, "train")
        if rows is None and gate.loss.kind == "r2":
            raise ValueError("augmented.parquet: cannot be read, and its outcomes are needed for r2")
        recorded, seed = record["verdict"], record["seed"]
        table = _Scored(
            y=np.zeros(len(train.fold)) if rows is None else rows.y, groups=train.groups, weights=train.weights
        )
        scored = [
            FoldOutcome(result=fold, held=one.held, plain=one.plain, augmented=one.augmented)
            for fold, one in zip(folds, scored_folds(folder, record, train), strict=True)
        ]
        seen = measure(gate, paired_losses(scored, table, gate.loss), folds, seed=seed)
        return conclude(
            gate, tuple(folds), seen, rows=record["data"]["train_rows"], stopped_fits=recorded["stopped_fits"]
        )
    falsified = record["falsification"]
    forbidden = falsified is not None and (falsified["outcome"], falsified["on_falsified"]) == ("falsified", "abstain")
    repair = record["certificate"]["repair"]
    forbidden = forbidden or (repair is not None and repair["stops"])
    reason: records.VerdictReason = record["verdict"]["reason"]
    if forbidden or reason == "graph_falsified":
        return abstain(gate, "graph_falsified" if forbidden else "no_perturbable_features")
    return abstain(gate, reason)


_WHERE = "record.json, ensemble"


def has_ensemble(record: Mapping[str, Any]) -> bool:
    """Whether the spec asks for several models, or the record tells of several."""
    return record.get("ensemble") is not None or _asked(record) > 1


def _asked(record: Mapping[str, Any]) -> int:
    return int(record["spec"]["resolved"].get("output", {}).get("ensemble", 1))


def check_ensemble(record: Mapping[str, Any]) -> Iterator[Finding]:
    """Who was compared with whom, and every change from its two losses."""
    if record.get("ensemble") is None:
        yield Finding(_WHERE, f"is missing, but the spec asks for {_asked(record)} models")
        return
    ensemble = read_as(records.Ensemble, record["ensemble"])
    arms: tuple[records.Arm, ...] = ("plain", "augmented") if record["final_model"] == "augmented" else ("plain",)
    arms = () if record["test"] is None else arms
    recorded = {
        "models": _asked(record),
        "arm": record["final_model"],
        "fits": ensemble_fits(_asked(record), both=len(arms) > 1),
    }
    for name, value in recorded.items():
        yield from compared(f"{_WHERE}.{name}", getattr(ensemble, name), value)
    expected = [(arm, count) for count in (1, _asked(record)) for arm in arms]
    if [(one.arm, one.models) for one in ensemble.scores] != expected:
        yield Finding(f"{_WHERE}.scores", f"must be of {expected}, in this order")
        return
    if arms:
        yield from _changes(ensemble)
        yield from _single(ensemble, record["test"])


def _changes(found: records.Ensemble) -> Iterator[Finding]:
    loss = {(one.arm, one.models): one.loss for one in found.scores}
    for at, one in enumerate(found.scores):
        where, first = f"{_WHERE}.scores.{at}", (one.arm, one.models) == ("plain", 1)
        change = None if first else percent_change(loss["plain", 1], one.loss)
        gain = None if one.arm == "plain" else percent_change(loss["plain", one.models], one.loss)
        yield from compared(f"{where}.change_percent", plain(one.change_percent), plain(change))
        yield from compared(f"{where}.augmentation_percent", plain(one.augmentation_percent), plain(gain))
        if len(one.singles) != one.models:
            yield Finding(f"{where}.singles", f"tells of {len(one.singles)} models, not of {one.models}")
        elif one.singles[0] != loss[one.arm, 1]:
            yield Finding(f"{where}.singles.0", f"is not the loss of one {one.arm} model")


def _single(found: records.Ensemble, test: Mapping[str, Any]) -> Iterator[Finding]:
    """One model against one is the test score itself."""
    for one in found.scores:
        if one.models == 1:
            yield from compared(f"{_WHERE}, one {one.arm} model", plain(one.loss), test[one.arm])
        if one.models == 1 and one.arm == "augmented":
            said = {"change_percent": one.change_percent, "interval_percent": one.interval_percent}
            for name, value in said.items():
                where = f"{_WHERE}, one augmented model, {name}"
                yield from compared(where, plain(value), test[name])


def check_ensemble_models(
    folder: Path, record: Mapping[str, Any], split: records.Split, *, tolerance: Tolerance
) -> Iterator[Finding]:
    """The saved models on the test rows, if any: do they score what the record says, alone and together?"""
    ensemble = read_as(records.Ensemble, record["ensemble"])
    members = load_models(folder / "ensemble")
    if len(members) != ensemble.models:
        yield Finding("ensemble/", f"holds {len(members)} models, the record says {ensemble.models}")
        return
    for name in sorted(path.name for path in (folder / "model").iterdir()):
        if (folder / "model" / name).read_bytes() != (folder / "ensemble" / "1" / name).read_bytes():
            yield Finding(f"ensemble/1/{name}", f"is not the same as model/{name}")
    known, test = read_scored(folder, "train"), split.test
    if test is None:
        return
    metric = named_metric(record["test"]["metric"]).given(errors_by_arm(known.errors, known.weights))
    last = ensemble.scores[-1]  # as many models as asked for, of the arm that was chosen
    together = metric.loss(test.errors(MeanModel(members)), spread=test.spread, weights=test.weights, arm=last.arm)
    yield from compared(f"{_WHERE}, {last.models} {last.arm} models", last.loss, together, tolerance=tolerance)
    for number, (recorded, member) in enumerate(zip(last.singles, members, strict=True), start=1):
        alone = metric.loss(test.errors(member), spread=test.spread, weights=test.weights, arm=last.arm)
        yield from compared(f"{_WHERE}, model {number} alone", recorded, alone, tolerance=tolerance)
