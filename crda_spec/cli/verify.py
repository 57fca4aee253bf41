"""`crda-spec verify RUN`: is the folder what a run wrote, and do its numbers follow from each other?"""

from __future__ import annotations

import json
import re
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from crda_spec import __version__
from crda_spec.cli.options import AsJson, RunFolder, print_json, say
from crda_spec.errors import Complaint, SpecError, show

if TYPE_CHECKING:
    from crda_spec.api import KeptSpec
    from crda_spec.audit.open_run import Finding, Ledger
    from crda_spec.audit.verify.checks import Check, Tolerance
    from crda_spec.records import NoiseScale, Teacher

_CODES = {"ok": 0, "skipped": 5, "failed": 4}
_WORSE = (0, 5, 4)
Loaded = TypeVar("Loaded")
Depth = StrEnum("Depth", ["files", "rows", "full"])


def verify(
    run: RunFolder,
    depth: Annotated[
        Depth,
        typer.Option(
            "--depth",
            help="files: hashes. rows: also every row, label, certificate and verdict, without fitting. "
            "full: also the whole run again.",
        ),
    ] = Depth.rows,
    base: Annotated[
        Path | None, typer.Option("--base", metavar="DIR", help="Where the spec's relative paths start.")
    ] = None,
    tolerance: Annotated[
        float,
        typer.Option(
            "--tolerance",
            help="On another platform: how far numbers may differ, as a part of their column's largest; 0 is bits.",
        ),
    ] = 0.0,
    seal: Annotated[
        str | None,
        typer.Option("--seal", metavar="HASH", help="The record's sha256 as you noted it, 12 digits at least."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Check a run's folder: hashes, every synthetic row, the certificate, the verdict, or the whole run again.

    Exit codes: 0 all that the depth covers is as it should be, 2 the folder cannot be read, 4 something was changed,
    5 part of what the depth covers could not be checked. What the depth does not cover is listed.
    """
    from threadpoolctl import threadpool_limits

    from crda_spec.audit.open_run import read_record
    from crda_spec.audit.verify.again import uncovered
    from crda_spec.audit.verify.checks import Tolerance

    if not 0 <= tolerance < 1:
        what = f"--tolerance {tolerance:g} is not between 0 and 1"
        raise SpecError(Complaint(code="out-of-range", what=what, hint="use 0 for bits, or 1e-6"))
    if seal is not None and not re.fullmatch(r"[0-9a-f]{12,64}", seal):
        what = f"--seal {show(seal)} is no hash: 12 to 64 of the digits 0-9 and a-f"
        raise SpecError(Complaint(code="bad-seal", what=what, hint="crda-spec runs shows a run's first 12"))
    checks: list[Check] = []
    with threadpool_limits(limits=1):  # as the run itself computed
        for check in _checks(run, depth, base, Tolerance(tolerance), seal):
            checks.append(check)
            if not as_json:
                _print(check)
    code = max((_CODES[check.state] for check in checks), key=_WORSE.index)
    _report(run, depth, checks, code, uncovered(depth.value, read_record(run)), as_json=as_json)
    raise typer.Exit(code)


def _checks(run: Path, depth: Depth, base: Path | None, tolerance: Tolerance, seal: str | None) -> Iterator[Check]:
    from crda_spec.audit.open_run import read_record
    from crda_spec.audit.verify.checks import check_files, check_record, checked, skipped

    record = read_record(run)
    first = (check_record(run, record, noted=seal), check_files(run, record))
    yield from first
    if depth is Depth.files:
        return
    if any(check.state == "failed" for check in first):
        yield skipped("numbers", "nothing is loaded from a folder whose seal or hashes are wrong")
        return
    kept: list[KeptSpec] = []
    yield checked("spec", "the record's spec against spec.yaml", lambda: _spec_findings(run, base, record, kept))
    yield from _row_checks(run, record, kept[0] if kept else None, tolerance)
    if depth is Depth.full:
        absent = kept[0].absent if kept else "spec.yaml cannot be loaded"
        yield skipped("run again", absent) if absent else _again(run, record, kept[0], tolerance)


def _spec_findings(run: Path, base: Path | None, record: dict[str, Any], kept: list[KeptSpec]) -> Sequence[Any]:
    """Loads the spec for all that follows, and compares it with the record's copy of it."""
    from crda_spec.api import kept_spec, origins_again, somebody
    from crda_spec.audit.canonical import sha256_of
    from crda_spec.audit.verify.checks import Finding, Tolerance, compared
    from crda_spec.spec.render import resolved

    found = []
    if sha256_of((run / "spec.yaml").read_bytes()) != record["spec"]["sha256"]:
        found.append(Finding(where="spec.yaml", what="is not the spec whose hash the record names"))
    kept.append(kept_spec(run, base, record))
    written = json.loads(json.dumps(resolved(kept[0].spec, kept[0].draft)))
    found += compared("spec.yaml", written, record["spec"]["resolved"], tolerance=Tolerance())
    told = {"resolved": record["spec"]["resolved"], "origins": somebody(record["spec"]["origins"])}
    found += compared("record.json, spec", told, origins_again(run, record))
    if kept[0].spec.seed != record["seed"]:
        found.append(Finding(where="record.json, seed", what=f"is {record['seed']}, the spec says {kept[0].spec.seed}"))
    return found


def _row_checks(run: Path, record: dict[str, Any], kept: KeptSpec | None, tolerance: Tolerance) -> Iterator[Check]:
    """All that can be computed again without fitting a model."""
    from crda_spec.audit.open_run import load_scale, load_teacher, read_ledger
    from crda_spec.audit.verify import checks, rows, verdict

    what = "augmented.parquet obeys the columns' contracts"
    check, ledger = _loaded("table", what, lambda: read_ledger(run, record))
    yield check
    what = "the saved teacher, loaded without executing anything"
    check, teacher = _loaded("teacher", what, lambda: (load_teacher(run, record), load_scale(run)))
    yield check
    model, scale = teacher or (None, None)
    if ledger is not None:
        yield rows.check_real_rows(ledger, record, model, tolerance)
        yield rows.check_made_rows(ledger, record)
        yield rows.check_cells(run, ledger, record)
        if record["counterfactuals"] is not None and model is not None:
            yield rows.check_labels(ledger, record, model, scale, tolerance)
        elif record["counterfactuals"] is not None:
            yield checks.skipped("labels", "the run saved no teacher (output.model: false)")
    yield verdict.check_folds(run, record)
    trained = None if ledger is None else ledger.train
    yield verdict.check_losses(run, record, trained, tolerance)
    yield verdict.check_score(record)
    if verdict.has_ensemble(record):
        yield verdict.check_ensemble(record)
    wrote = record["versions"]["crda-spec"]
    if wrote == __version__:
        what = "report.html and graph.svg, drawn again from the record and the rows"
        yield checks.checked("page", what, lambda: _pages(run))
    else:
        yield checks.skipped("page", f"it was drawn by crda-spec {wrote}")
    if kept is None:
        yield checks.check_certificate(run, record)
        return
    gate = kept.spec.gate
    yield verdict.check_verdict(
        record, lambda folds: verdict.rejudged(gate, run, record, folds, trained), tolerance=tolerance
    )
    yield from _data_checks(run, record, kept, ledger, teacher, tolerance)


def _loaded(name: str, what: str, load: Callable[[], Loaded]) -> tuple[Check, Loaded | None]:
    """Loads something: the check that it can be loaded, and the thing itself."""
    from crda_spec.audit.verify.checks import checked

    things: list[Loaded] = []

    def look() -> Sequence[Any]:
        things.append(load())
        return ()

    return checked(name, what, look), things[0] if things else None


def _pages(run: Path) -> Iterator[Finding]:
    """What a person sees, against what the folder holds: the page and the picture are made again."""
    from crda_spec.audit.open_run import Finding, open_run, reopen
    from crda_spec.cli.report import page_of
    from crda_spec.report.graph_draw import run_graph_svg

    opened = reopen(open_run(run))
    made = {
        "report.html": page_of(opened),
        "graph.svg": run_graph_svg(opened.result).encode(),
    }
    for name, data in made.items():
        if (run / name).read_bytes() != data:
            yield Finding(where=name, what="is not what this crda-spec draws from the record and the rows")


def _data_checks(
    run: Path,
    record: dict[str, Any],
    kept: KeptSpec,
    ledger: Ledger | None,
    taught: tuple[Teacher | None, NoiseScale | None] | None,
    tolerance: Tolerance,
) -> Iterator[Check]:
    """What the run's data and graph say of it, where they are at hand."""
    from crda_spec.api import graph_of
    from crda_spec.audit.open_run import open_run, reopen
    from crda_spec.audit.verify import again, checks, rows, verdict
    from crda_spec.spec.build import build_plan

    def load() -> tuple[Any, ...]:
        plan = build_plan(kept.spec, kept.draft)
        return (plan, *plan.load())

    check, loaded = checks.skipped("data", kept.absent), None
    if not kept.absent:
        check, loaded = _loaded("data", "the data can be read", load)
    if loaded is None or ledger is None:
        yield check
        yield checks.check_certificate(run, record)
        return
    plan, split, report = loaded
    yield rows.check_source(run, ledger, record, split, report)
    whole = checks.certificate_again(plan, split.train, ledger.real["noise"])
    yield checks.check_certificate(run, record, proven=_proven(kept), whole=whole, tolerance=tolerance)
    if taught is not None:
        teacher, scale = taught
        yield again.check_again(
            lambda: again.Known(
                run=reopen(open_run(run)),
                ledger=ledger,
                teacher=teacher,
                scale=scale,
                plan=plan,
                split=split,
                report=report,
            ),
            graph=lambda drawn: graph_of(kept.spec, kept.draft, drawn),
            tolerance=tolerance,
        )
    if "model/model.json" in record["files"]:
        yield rows.check_model(run, record, split, tolerance=tolerance)
        if record.get("ensemble") is not None:
            yield verdict.check_ensemble_models(run, record, split, tolerance=tolerance)


def _proven(kept: KeptSpec) -> dict[str, Any] | None:
    """What the declared graph proves by itself; None when there is none."""
    from crda_spec.audit.record import known_record
    from crda_spec.spec.check import known_graph

    if kept.spec.causal.graph is None:
        return None
    known = known_graph(kept.spec, kept.draft)
    return known_record(known.graph, [verdict.name for verdict in known.verdicts])


def _again(run: Path, record: dict[str, Any], kept: KeptSpec, tolerance: Tolerance) -> Check:
    """The whole run once more, in a folder of its own, compared with the one at hand."""
    from rich.console import Console

    from crda_spec.api import finish_run
    from crda_spec.audit.verify.rows import check_folders
    from crda_spec.pipeline import run as run_plan
    from crda_spec.report.progress import progress_for
    from crda_spec.spec.build import build_plan

    kept.draft.origins = dict(record["spec"]["origins"])  # who wrote each value then: the kept spec writes them all
    result = run_plan(build_plan(kept.spec, kept.draft), progress=progress_for(Console(stderr=True), quiet=False))
    with tempfile.TemporaryDirectory(prefix="crda-verify-") as folder:
        made = finish_run(result, spec=kept.spec, draft=kept.draft, folder=Path(folder) / "run")
        return check_folders(run, made.folder, tolerance=tolerance)


def _print(check: Check) -> None:
    say(f"  {check.state:<8} {check.name}: {check.sentence}\n")
    for one in check.findings:
        say(f"           - {one}\n")
    sys.stdout.flush()  # a run made again takes a while; what is known so far is seen


def _report(
    run: Path, depth: Depth, checks: Sequence[Check], code: int, taken: Sequence[str], *, as_json: bool
) -> None:
    if as_json:
        listed = [
            {"name": one.name, "state": one.state, "what": one.sentence, "findings": [*map(asdict, one.findings)]}
            for one in checks
        ]
        verified = {0: True, 5: "in part", 4: False}[code]
        told = {"run": str(run), "depth": depth.value, "verified": verified, "checks": listed}
        print_json({**told, "taken_as_recorded": list(taken)})
        return
    say("Depth " + depth.value + " takes as recorded:\n" + "".join(f"  - {one}\n" for one in taken))
    left = ", ".join(f"{check.name} ({check.sentence})" for check in checks if check.state == "skipped")
    aside = f"; not looked at: {left}" if left else ""
    if code == _CODES["failed"]:
        failed = ", ".join(check.name for check in checks if check.state == "failed")
        say(f"NOT VERIFIED: {failed} (depth {depth.value}){aside}\n")
    elif left:
        say(f"Verified in part (depth {depth.value}){aside}.\n")
    else:
        say(f"Verified: the run is as it was written (depth {depth.value}).\n")
