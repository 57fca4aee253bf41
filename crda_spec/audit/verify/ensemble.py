"""The ensemble of a run: its scores against each other, and its saved models against its scores."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from crda_spec.audit.canonical import plain
from crda_spec.audit.predicted import load_members
from crda_spec.audit.revive import revived
from crda_spec.audit.verify.checks import Check, Finding, Tolerance, checked, compared
from crda_spec.gate.ensemble import ensemble_fits
from crda_spec.gate.metrics import named_metric
from crda_spec.gate.verdict import percent_change
from crda_spec.records import Arm, Ensemble, Split
from crda_spec.regressors.mean import MeanModel

_EXACT = Tolerance()
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
            yield from compared(f"{_WHERE}.{name}", getattr(found, name), value, tolerance=_EXACT)
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
        yield from compared(f"{where}.change_percent", plain(one.change_percent), plain(change), tolerance=_EXACT)
        said = plain(one.augmentation_percent)
        yield from compared(f"{where}.augmentation_percent", said, plain(gain), tolerance=_EXACT)
        if len(one.singles) != one.models:
            yield Finding(where=f"{where}.singles", what=f"tells of {len(one.singles)} models, not of {one.models}")
        elif one.singles[0] != loss[one.arm, 1]:
            yield Finding(where=f"{where}.singles.0", what=f"is not the loss of one {one.arm} model")


def _single(found: Ensemble, test: Mapping[str, Any]) -> Iterator[Finding]:
    """One model against one is the test score itself."""
    for one in found.scores:
        if one.models == 1:
            yield from compared(f"{_WHERE}, one {one.arm} model", plain(one.loss), test[one.arm], tolerance=_EXACT)
        if one.models == 1 and one.arm == "augmented":
            said = {"change_percent": one.change_percent, "interval_percent": one.interval_percent}
            for name, value in said.items():
                where = f"{_WHERE}, one augmented model, {name}"
                yield from compared(where, plain(value), test[name], tolerance=_EXACT)


def check_ensemble_models(folder: Path, record: Mapping[str, Any], split: Split, *, tolerance: Tolerance) -> Check:
    """The saved models on the test rows: do they score what the record says, alone and together?"""

    def look() -> Iterator[Finding]:
        found = revived(Ensemble, record["ensemble"])
        members = load_members(folder)
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
