"""One thing that was looked at, and what was found wrong with it; so looked at: record, files and certificate."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, TypeVar

import numpy as np
import numpy.typing as npt

from crda_spec.audit.canonical import canonical_json, plain
from crda_spec.audit.compare import ABSENT, changes
from crda_spec.audit.export import CRATE, crate_json
from crda_spec.audit.open_run import UNREADABLE, Finding, file_findings, present_files, seal_findings
from crda_spec.audit.record import certificate_record, known_record
from crda_spec.counterfactual.basis import restated
from crda_spec.counterfactual.partition import DeclaredPartitioner
from crda_spec.errors import CrdaError, show
from crda_spec.pipeline import Plan
from crda_spec.records import Array, Table

Loaded = TypeVar("Loaded")
_MOST_NAMED = 5  # findings of one kind that are spelt out; the rest is counted


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One question, and its answer."""

    name: str
    state: Literal["ok", "failed", "skipped"]
    sentence: str  # what was compared; of a skipped check, why
    findings: tuple[Finding, ...] = ()


@dataclass(frozen=True, slots=True)
class Tolerance:
    """How far two numbers may lie apart: 0 means the same bits."""

    relative: float = 0.0

    def differ(self, found: Array, expected: Array) -> npt.NDArray[np.bool_]:
        """Which numbers differ. Beside a tolerance, a column's own size counts: rounding errors are of that size."""
        nan = np.isnan(found) & np.isnan(expected)
        if self.relative == 0.0:
            bits = np.ascontiguousarray(found).view(np.int64) != np.ascontiguousarray(expected).view(np.int64)
            return np.asarray(bits & ~nan, dtype=np.bool_)
        known = expected[np.isfinite(expected)]
        size = float(np.max(np.abs(known))) if len(known) else 0.0
        with np.errstate(invalid="ignore"):
            near = np.abs(found - expected) <= self.relative * size
        return np.asarray(~(near | nan | (found == expected)), dtype=np.bool_)

    def differs(self, found: float, expected: float) -> bool:
        """The same for two numbers."""
        return bool(self.differ(np.array([found]), np.array([expected]))[0])

    def __str__(self) -> str:
        return "bit for bit" if self.relative == 0.0 else f"within {self.relative:g} of the column's largest value"


EXACT = Tolerance()


def loaded(name: str, sentence: str, load: Callable[[], Loaded]) -> tuple[Check, Loaded | None]:
    """Loads something, and turns whatever cannot be read into a finding: the check, and the thing itself."""
    try:
        return Check(name=name, state="ok", sentence=sentence), load()
    except CrdaError as error:
        findings = tuple(Finding(str(one.place or name), one.what) for one in error.complaints)
    except UNREADABLE as error:
        reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        findings = (Finding(name, f"cannot be read ({type(error).__name__}: {reason})"),)
    return Check(name=name, state="failed", sentence=sentence, findings=findings), None


def checked(name: str, sentence: str, findings: Iterable[Finding]) -> Check:
    """Looks for the findings; what cannot even be read is one."""
    check, found = loaded(name, sentence, lambda: tuple(findings))
    return replace(check, state="failed", findings=found) if found else check


def skipped(name: str, why: str) -> Check:
    """A question that could not be asked."""
    return Check(name=name, state="skipped", sentence=why)


def named(findings: Iterable[Finding]) -> Iterator[Finding]:
    """The first findings, and how many more there are."""
    listed = list(findings)
    yield from listed[:_MOST_NAMED]
    if len(listed) > _MOST_NAMED:
        yield Finding(listed[_MOST_NAMED].where.split(",")[0], f"{len(listed) - _MOST_NAMED} more of this kind")


def differing(
    where: str, column: str, found: Array, expected: Array, says: str, tolerance: Tolerance = EXACT, *, first: int = 1
) -> Iterator[Finding]:
    """Where two columns of numbers differ. where: what the rows are counted in, from `first` on."""
    for at in np.flatnonzero(tolerance.differ(found, expected)).tolist():
        yield Finding(f"{where} {first + at}, {show(column)}", says.format(found[at], expected[at]))


def compared(where: str, found: Any, expected: Any, *, tolerance: Tolerance = EXACT) -> list[Finding]:  # noqa: ANN401
    """Where two JSON values differ, each by its path."""

    def number(value: object) -> bool:
        return isinstance(value, int | float) and not isinstance(value, bool)

    def same(one: Any, other: Any) -> bool:  # noqa: ANN401
        if number(one) and number(other):
            return not tolerance.differs(float(one), float(other))
        return type(one) is type(other) and one == other

    def shown(value: object) -> str:
        return "nothing" if value is ABSENT else show(value, 80)

    return [
        Finding(path, f"says {shown(one)}, should be {shown(other)}")
        for path, one, other in changes(found, expected, where, same=same, order=sorted)
    ]


def check_record(folder: Path, record: Mapping[str, Any], *, noted: str | None = None) -> Iterator[Finding]:
    """The record against its seals; `noted` is a seal, or its beginning, that somebody wrote down at the time."""
    yield from seal_findings(record)
    if (folder / "record.json").read_text(encoding="utf-8") != canonical_json(record):
        yield Finding("record.json", "is not in the form in which a run writes it")
    if noted is not None and not record["sha256"].startswith(noted):
        yield Finding("record.json", f"has the seal {record['sha256']}, not the one you noted")


def check_files(folder: Path, record: Mapping[str, Any]) -> Iterator[Finding]:
    """Every file against the hash that the record names, and no file more."""
    yield from file_findings(folder, record, others=True)
    # The crate tells the day, so the record holds no hash of it; but it follows from the record and the files.
    crate, others = folder / CRATE, present_files(folder) - {CRATE}
    files = {name: (folder / name).read_bytes() for name in others if not (folder / name).is_symlink()}
    if crate.is_symlink() or not crate.is_file():
        yield Finding(CRATE, "is a link, not a file" if crate.is_symlink() else "is missing")
    elif crate.read_bytes() != crate_json(record, files).encode():
        yield Finding(CRATE, "does not tell what the record and the files do")


PROVEN = (
    "graph",
    "noise_side",
    "largest",
    "irrelevant",
    "lemma_holds",
)  # what a declared graph settles without any row


def check_certificate(
    folder: Path,
    record: Mapping[str, Any],
    *,
    proven: Mapping[str, Any] | None = None,
    whole: Mapping[str, Any] | None = None,
    tolerance: Tolerance = EXACT,
) -> Iterator[Finding]:
    """The certificate's two copies against each other, the graph, and what moved.

    proven: what the declared graph proves by itself.  whole: the certificate made anew from graph and residuals.
    """
    recorded = record["certificate"]
    copy = json.loads((folder / "certificate.json").read_text(encoding="utf-8"))
    yield from compared("certificate.json", copy, recorded)
    if whole is not None:
        yield from compared("record.json, certificate", recorded, plain(whole), tolerance=tolerance)
    elif proven is not None:
        for key in PROVEN:
            yield from compared(f"record.json, certificate.{key}", recorded[key], plain(proven)[key])
        # Which causes would have moved, and so were lost, only the residuals tell.
        said, repair = recorded["repair"], plain(proven["repair"])
        keys = ("edges", "explained", "changed") if said is not None and repair is not None else ()
        yield from compared("record.json, certificate.repair", said is None, repair is None)
        for key in keys:
            yield from compared(f"record.json, certificate.repair.{key}", said[key], repair[key])
    yield from _moved(record)


def _moved(record: Mapping[str, Any]) -> Iterator[Finding]:
    """Nothing carries noise but what the certificate frees."""
    certificate, made = record["certificate"], record["counterfactuals"]
    allowed = [one["name"] for one in certificate["features"] if one["status"] != "blocked"]
    free = [one["name"] for one in certificate["features"] if one["name"] in allowed and not one["held"]]
    yield from compared("record.json, certificate.perturbed", certificate["perturbed"], free)
    yield from compared("record.json, certificate.may_move", certificate["may_move"], allowed)
    classes = {one["name"]: one["status"] for one in certificate["features"]}
    for name in allowed:
        if certificate["basis"] == "declared" and name not in certificate["largest"]:
            what = f"{show(name)} may move, but is not among the features that the graph frees"
            yield Finding("record.json, certificate.features", what)
        if (classes[name] == "irrelevant") != (name in certificate["irrelevant"]):
            what = f"{show(name)} is called {classes[name]}, which certificate.irrelevant contradicts"
            yield Finding("record.json, certificate.features", what)
    if made is not None and made["basis"] == "certificate":
        for name in made["moved"]:
            if name not in free:
                what = f"{show(name)} moved and carries noise, but the certificate does not free it"
                yield Finding("record.json, counterfactuals.moved", what)


def proven_again(plan: Plan, train: Table) -> dict[str, Any] | None:
    """What the declared graph proves by itself, with the edges that the rows suggest; None when there is none."""
    partitioner = plan.procedure.partitioner.on(train)
    if not isinstance(partitioner, DeclaredPartitioner):
        return None
    return {**known_record(partitioner.deciding, train.names), "repair": partitioner.suggested(train.names)}


def certificate_again(plan: Plan, train: Table, noise: Array) -> dict[str, Any] | None:
    """The certificate made anew from the noise in the ledger; None when that noise is not what decided.

    So it is when the screen looked at other residuals, and when a search chose how many features may move.

    train: the training rows as the data have them, with their groups.
    """
    procedure = plan.procedure.on(train)
    if procedure.screened != procedure.residuals or procedure.tuner is not None:
        return None
    certificate = procedure.certify(train, noise, seed=plan.seed, index=(0,))
    return certificate_record(restated(certificate, procedure.movable(certificate)))
