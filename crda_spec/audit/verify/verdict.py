"""What was concluded, drawn again from what was measured: certificate, verdict and score."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from crda_spec.audit.canonical import plain, revived
from crda_spec.audit.models import load_models
from crda_spec.audit.record import certificate_record
from crda_spec.audit.tables import folds_csv
from crda_spec.audit.verify.checks import EXACT, Check, Finding, Tolerance, checked, compared, named
from crda_spec.audit.verify.losses import read_scored, scored_folds
from crda_spec.counterfactual.licence import restated
from crda_spec.errors import show
from crda_spec.gate.cross_validate import FoldOutcome
from crda_spec.gate.ensemble import ensemble_fits
from crda_spec.gate.tests import Gate
from crda_spec.gate.verdict import abstain, conclude, measure, paired_losses, percent_change
from crda_spec.pipeline import Plan
from crda_spec.records import (
    Arm,
    Array,
    Ensemble,
    FoldResult,
    IntArray,
    Split,
    Table,
    TimeOrder,
    Verdict,
    VerdictReason,
)
from crda_spec.regressors.fit import MeanModel
from crda_spec.regressors.metrics import named_metric

_MOVES = ("direct_cause", "irrelevant", "screened")
PROVEN = ("graph", "noise_side", "largest", "lemma_holds")  # what a declared graph settles without any row


def check_certificate(
    folder: Path,
    record: Mapping[str, Any],
    *,
    proven: Mapping[str, Any] | None = None,
    whole: Mapping[str, Any] | None = None,
    tolerance: Tolerance = EXACT,
) -> Check:
    """The certificate's two copies against each other, the graph, and what moved.

    proven: what the declared graph proves by itself.  whole: the certificate made anew from graph and residuals.
    """
    told = record["certificate"]

    def look() -> Iterator[Finding]:
        copy = json.loads((folder / "certificate.json").read_text(encoding="utf-8"))
        yield from compared("certificate.json", copy, told, tolerance=EXACT)
        if whole is not None:
            yield from compared("record.json, certificate", told, plain(whole), tolerance=tolerance)
        elif proven is not None:
            for key in PROVEN:
                yield from compared(f"record.json, certificate.{key}", told[key], plain(proven)[key], tolerance=EXACT)
        yield from _moved(record)

    source = "graph and residuals" if whole is not None else "the graph" if proven is not None else "what moved"
    return checked("certificate", f"the certificate from {source}", lambda: named(look()))


def _moved(record: Mapping[str, Any]) -> Iterator[Finding]:
    """Nothing carries noise but what the certificate frees."""
    certificate, made = record["certificate"], record["counterfactuals"]
    free = [one["name"] for one in certificate["features"] if one["status"] in _MOVES]
    yield from compared("record.json, certificate.perturbed", certificate["perturbed"], free, tolerance=EXACT)
    if certificate["basis"] == "declared":
        for name in free:
            if name not in certificate["largest"]:
                what = f"{show(name)} may move, but is not among the features that the graph frees"
                yield Finding(where="record.json, certificate.features", what=what)
    if made is not None and made["licence"] == "certificate":
        for name in made["moved"]:
            if name not in free:
                what = f"{show(name)} moved and carries noise, but the certificate does not free it"
                yield Finding(where="record.json, counterfactuals.moved", what=what)


def fold_results(record: Mapping[str, Any]) -> tuple[FoldResult, ...]:
    """The folds that the record tells."""
    return tuple(revived(FoldResult, told) for told in record["verdict"]["folds"])


def check_folds(folder: Path, record: Mapping[str, Any]) -> Check:
    """folds.csv against the record."""

    def look() -> Iterator[Finding]:
        found = (folder / "folds.csv").read_text(encoding="utf-8").splitlines()
        told = record.get("time")
        expected = folds_csv(fold_results(record), None if told is None else revived(TimeOrder, told)).splitlines()
        if len(found) != len(expected):
            yield Finding(where="folds.csv", what=f"has {len(found)} lines, the record makes {len(expected)}")
        for number, (one, other) in enumerate(zip(found, expected, strict=False), start=1):
            if one != other:
                yield Finding(
                    where=f"folds.csv, line {number}", what=f"says {show(one)}, the record says {show(other)}"
                )

    return checked("folds", "folds.csv against the record", lambda: named(look()))


def check_verdict(
    record: Mapping[str, Any], rejudged: Callable[[Sequence[FoldResult]], Verdict], *, tolerance: Tolerance = EXACT
) -> Check:
    """The verdict, judged anew from the recorded fold losses. rejudged: the gate of the run's spec."""
    told = record["verdict"]

    def look() -> Iterator[Finding]:
        verdict = rejudged(fold_results(record))
        expected = {**plain(verdict), "accepted": verdict.accepted}
        for name in sorted(set(expected) - {"fits", "spared_fits", "folds"}):
            yield from compared(f"record.json, verdict.{name}", told.get(name), expected[name], tolerance=tolerance)
        final = "augmented" if verdict.uses_augmented else "plain"
        yield from compared("record.json, final_model", record["final_model"], final, tolerance=EXACT)

    return checked("verdict", "p-value, interval and verdict from the losses of folds and rows", look)


def check_score(record: Mapping[str, Any]) -> Check:
    """The test score against itself: the change follows from the two losses."""
    told = record["test"]

    def look() -> Iterator[Finding]:
        if (told["augmented"] is None) != (record["counterfactuals"] is None):
            yield Finding(
                where="record.json, test.augmented", what="a model was scored that the run cannot have fitted"
            )
        change = None if told["augmented"] is None else percent_change(told["plain"], told["augmented"])
        yield from compared("record.json, test.change_percent", told["change_percent"], plain(change), tolerance=EXACT)
        yield from compared("record.json, test.rows", told["rows"], record["data"]["test_rows"], tolerance=EXACT)

    return checked("score", "the change of the test score from its two losses", look)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Scored:
    """What the folder tells of the training rows."""

    y: Array
    groups: IntArray | None
    weights: Array | None


def rejudged(
    gate: Gate, folder: Path, record: Mapping[str, Any], folds: Sequence[FoldResult], rows: Table | None
) -> Verdict:
    """What this gate says of these folds; without folds, why there was nothing to test.

    rows: the training rows of augmented.parquet, for a metric that is relative to the variance of their outcomes.
    """
    if folds:
        train = read_scored(folder, "train")
        if rows is None and gate.loss.kind == "r2":
            message = "augmented.parquet: cannot be read, and its outcomes are needed for r2"
            raise ValueError(message)
        told, seed = record["verdict"], record["seed"]
        table = _Scored(
            y=np.zeros(len(train.fold)) if rows is None else rows.y, groups=train.groups, weights=train.weights
        )
        scored = [
            FoldOutcome(result=fold, held=one.held, plain=one.plain, augmented=one.augmented)
            for fold, one in zip(folds, scored_folds(folder, record, train), strict=True)
        ]
        seen = measure(gate, paired_losses(scored, table, gate.loss), folds, seed=seed)
        return conclude(gate, tuple(folds), seen, rows=record["data"]["train_rows"], stopped_fits=told["stopped_fits"])
    told = record["falsification"]
    forbidden = told is not None and (told["outcome"], told["on_falsified"]) == ("falsified", "abstain")
    reason: VerdictReason = record["verdict"]["reason"]
    if forbidden or reason == "graph_falsified":
        return abstain(gate, "graph_falsified" if forbidden else "no_perturbable_features")
    return abstain(gate, reason)


def certificate_again(plan: Plan, train: Table, noise: Array) -> dict[str, Any] | None:
    """The certificate made anew from the noise in the ledger; None when that noise is not what decided.

    So it is when the screen looked at other residuals, and when a search chose how many features may move.

    train: the training rows as the data have them, with their groups.
    """
    procedure = plan.procedure
    if procedure.screened != procedure.residuals or procedure.tuner is not None:
        return None
    found = procedure.partitioner.partition(train, noise, seed=plan.seed, index=(0,))
    return certificate_record(restated(found, procedure.movable(found)))


_WHERE = "record.json, ensemble"


def has_ensemble(record: Mapping[str, Any]) -> bool:
    """Whether the spec asks for several models, or the record tells of several."""
    return record.get("ensemble") is not None or _asked(record) > 1


def _asked(record: Mapping[str, Any]) -> int:
    return int(record["spec"]["resolved"].get("output", {}).get("ensemble", 1))


def check_ensemble(record: Mapping[str, Any]) -> Check:
    """Who was compared with whom, and every change from its two losses."""

    def look() -> Iterator[Finding]:
        if record.get("ensemble") is None:
            yield Finding(where=_WHERE, what=f"is missing, but the spec asks for {_asked(record)} models")
            return
        found = revived(Ensemble, record["ensemble"])
        arms: tuple[Arm, ...] = ("plain", "augmented") if record["final_model"] == "augmented" else ("plain",)
        told = {
            "models": _asked(record),
            "arm": record["final_model"],
            "fits": ensemble_fits(_asked(record), augmented=len(arms) > 1),
            **{name: record["test"][name] for name in ("metric", "rows", "level", "resamples")},
        }
        for name, value in told.items():
            yield from compared(f"{_WHERE}.{name}", getattr(found, name), value, tolerance=EXACT)
        expected = [(arm, count) for count in (1, _asked(record)) for arm in arms]
        if [(one.arm, one.models) for one in found.scores] != expected:
            yield Finding(where=f"{_WHERE}.scores", what=f"must be of {expected}, in this order")
            return
        yield from _changes(found)
        yield from _single(found, record["test"])

    return checked("ensemble", "each change of the ensemble's score from its two losses", look)


def _changes(found: Ensemble) -> Iterator[Finding]:
    loss = {(one.arm, one.models): one.loss for one in found.scores}
    for at, one in enumerate(found.scores):
        where, first = f"{_WHERE}.scores.{at}", (one.arm, one.models) == ("plain", 1)
        change = None if first else percent_change(loss["plain", 1], one.loss)
        gain = None if one.arm == "plain" else percent_change(loss["plain", one.models], one.loss)
        yield from compared(f"{where}.change_percent", plain(one.change_percent), plain(change), tolerance=EXACT)
        said = plain(one.augmentation_percent)
        yield from compared(f"{where}.augmentation_percent", said, plain(gain), tolerance=EXACT)
        if len(one.singles) != one.models:
            yield Finding(where=f"{where}.singles", what=f"tells of {len(one.singles)} models, not of {one.models}")
        elif one.singles[0] != loss[one.arm, 1]:
            yield Finding(where=f"{where}.singles.0", what=f"is not the loss of one {one.arm} model")


def _single(found: Ensemble, test: Mapping[str, Any]) -> Iterator[Finding]:
    """One model against one is the test score itself."""
    for one in found.scores:
        if one.models == 1:
            yield from compared(f"{_WHERE}, one {one.arm} model", plain(one.loss), test[one.arm], tolerance=EXACT)
        if one.models == 1 and one.arm == "augmented":
            said = {"change_percent": one.change_percent, "interval_percent": one.interval_percent}
            for name, value in said.items():
                where = f"{_WHERE}, one augmented model, {name}"
                yield from compared(where, plain(value), test[name], tolerance=EXACT)


def check_ensemble_models(folder: Path, record: Mapping[str, Any], split: Split, *, tolerance: Tolerance) -> Check:
    """The saved models on the test rows: do they score what the record says, alone and together?"""

    def look() -> Iterator[Finding]:
        found = revived(Ensemble, record["ensemble"])
        members = load_models(folder / "ensemble")
        if len(members) != found.models:
            yield Finding(where="ensemble/", what=f"holds {len(members)} models, the record says {found.models}")
            return
        for name in sorted(path.name for path in (folder / "model").iterdir()):
            if (folder / "model" / name).read_bytes() != (folder / "ensemble" / "1" / name).read_bytes():
                yield Finding(where=f"ensemble/1/{name}", what=f"is not the same as model/{name}")
        metric, test = named_metric(found.metric), split.test
        last = found.scores[-1]  # as many models as asked for, of the arm that was chosen
        together = metric.loss(test.errors(MeanModel(members)), spread=test.spread, weights=test.weights)
        yield from compared(f"{_WHERE}, {last.models} {last.arm} models", last.loss, together, tolerance=tolerance)
        for number, (told, member) in enumerate(zip(last.singles, members, strict=True), start=1):
            alone = metric.loss(test.errors(member), spread=test.spread, weights=test.weights)
            yield from compared(f"{_WHERE}, model {number} alone", told, alone, tolerance=tolerance)

    return checked("ensemble's models", f"the saved models of the ensemble on {len(split.test)} test rows", look)
