"""All that a depth asks of a run's folder, one check after the other."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal, get_args

from threadpoolctl import threadpool_limits

from crda_spec import __version__
from crda_spec.audit.canonical import sha256_of
from crda_spec.audit.files import finish_run, page_of
from crda_spec.audit.kept_spec import KeptSpec, kept_spec, origins_again, somebody
from crda_spec.audit.open_run import (
    Finding,
    Ledger,
    load_scale,
    load_teacher,
    open_run,
    read_ledger,
    read_record,
    reopen,
)
from crda_spec.audit.record import graph_of
from crda_spec.audit.verify import intervals, rows, verdict
from crda_spec.audit.verify.again import check_again, uncovered
from crda_spec.audit.verify.checks import (
    Check,
    Tolerance,
    certificate_again,
    check_certificate,
    check_files,
    check_record,
    checked,
    compared,
    loaded,
    named,
    proven_again,
    skipped,
)
from crda_spec.audit.verify.rows import check_folders
from crda_spec.errors import Complaint, SpecError, did_you_mean, show
from crda_spec.execution import Progress
from crda_spec.pipeline import run as run_plan
from crda_spec.records import NoiseScale, Teacher
from crda_spec.report.graph_draw import run_graph_svg
from crda_spec.report.progress import Silent
from crda_spec.spec.build import build_plan
from crda_spec.spec.render import resolved

Depth = Literal["files", "rows", "full"]


_CODES = {"ok": 0, "skipped": 5, "failed": 4}
_WORSE = (0, 5, 4)


@dataclass(frozen=True, slots=True, kw_only=True)
class Verification:
    """What was checked of a run's folder, and what was found.

    Attributes
    ----------
    checks : tuple of Check
        Each with its ``name``, its ``state`` (ok, failed or skipped), what was compared, and its findings.
    taken_as_recorded : tuple of str
        What the depth does not cover.

    """

    folder: Path
    depth: Depth
    checks: tuple[Check, ...]
    taken_as_recorded: tuple[str, ...]

    @property
    def findings(self) -> tuple[Finding, ...]:
        """All that is not as it should be: where, and what."""
        return tuple(finding for check in self.checks for finding in check.findings)

    @property
    def exit_status(self) -> int:
        """0: all is as it should be. 4: something was changed. 5: part of it could not be checked."""
        return max((_CODES[check.state] for check in self.checks), key=_WORSE.index)

    def __str__(self) -> str:
        skipped = [f"{check.name} ({check.sentence})" for check in self.checks if check.state == "skipped"]
        aside = f"; not looked at: {', '.join(skipped)}" if skipped else ""
        failed = ", ".join(check.name for check in self.checks if check.state == "failed")
        if failed:
            return f"NOT VERIFIED: {failed} (depth {self.depth}){aside}"
        if skipped:
            return f"Verified in part (depth {self.depth}){aside}."
        return f"Verified: the run is as it was written (depth {self.depth})."


def verify_folder(
    run: Path,
    depth: Depth,
    *,
    base: Path | None = None,
    tolerance: float = 0.0,
    seal: str | None = None,
    progress: Progress | None = None,
    told: Callable[[Check], None] = lambda _: None,
) -> Verification:
    """All checks of a depth.

    base: where the spec's relative paths start.  tolerance: how far numbers may differ; 0 is bits.
    seal: the record's hash as somebody noted it, or its beginning.  told: hears of each check as soon as it is done.
    """
    if depth not in get_args(Depth):
        hint = did_you_mean(depth, get_args(Depth), otherwise="depths")
        raise SpecError(
            Complaint(code="unknown-depth", path="depth", what=f"there is no depth {show(depth)}", hint=hint)
        )
    if not 0 <= tolerance < 1:
        what = f"--tolerance {tolerance:g} is not between 0 and 1"
        raise SpecError(Complaint(code="out-of-range", what=what, hint="use 0 for bits, or 1e-6"))
    if seal is not None and not re.fullmatch(r"[0-9a-f]{12,64}", seal):
        what = f"--seal {show(seal)} is no hash: 12 to 64 of the digits 0-9 and a-f"
        raise SpecError(Complaint(code="bad-seal", what=what, hint="crda-spec runs shows a run's first 12"))
    checks = []
    with threadpool_limits(limits=1):  # as the run itself computed
        for check in folder_checks(
            run, depth, base=base, tolerance=Tolerance(tolerance), seal=seal, progress=progress or Silent()
        ):
            checks.append(check)
            told(check)
    return Verification(
        folder=run, depth=depth, checks=tuple(checks), taken_as_recorded=uncovered(depth, read_record(run))
    )


def folder_checks(
    run: Path, depth: Depth, *, base: Path | None, tolerance: Tolerance, seal: str | None, progress: Progress
) -> Iterator[Check]:
    """One check after the other, as soon as each is done. base: where the spec's relative paths start."""
    record = read_record(run)
    first = (
        checked("record", "the record's schema, seal and form", check_record(run, record, noted=seal)),
        checked("files", f"{len(record['files'])} files by their hashes", check_files(run, record)),
    )
    yield from first
    if depth == "files":
        return
    if any(check.state == "failed" for check in first):
        yield skipped("numbers", "nothing is loaded from a folder whose seal or hashes are wrong")
        return
    kept: list[KeptSpec] = []
    yield checked("spec", "the record's spec against spec.yaml", _spec_findings(run, base, record, kept))
    yield from _row_checks(run, record, kept[0] if kept else None, tolerance)
    if depth == "full":
        absent = (kept[0].absent or kept[0].unfit) if kept else "spec.yaml cannot be loaded"
        yield skipped("run again", absent) if absent else _again(run, record, kept[0], tolerance, progress)


def _spec_findings(run: Path, base: Path | None, record: dict[str, Any], kept: list[KeptSpec]) -> Iterator[Finding]:
    """Loads the spec for all that follows, and compares it with the record's copy of it."""
    if sha256_of((run / "spec.yaml").read_bytes()) != record["spec"]["sha256"]:
        yield Finding("spec.yaml", "is not the spec whose hash the record names")
    kept.append(kept_spec(run, base, record))
    yield from compared("spec.yaml", resolved(kept[0].spec, kept[0].draft), record["spec"]["resolved"])
    recorded = {"resolved": record["spec"]["resolved"], "origins": somebody(record["spec"]["origins"])}
    yield from compared("record.json, spec", recorded, origins_again(run, record))
    if kept[0].spec.seed != record["seed"]:
        yield Finding("record.json, seed", f"is {record['seed']}, the spec says {kept[0].spec.seed}")


def _row_checks(run: Path, record: dict[str, Any], kept: KeptSpec | None, tolerance: Tolerance) -> Iterator[Check]:
    """All that can be computed again without fitting a model."""
    check, ledger = loaded("table", "augmented.parquet obeys the columns' contracts", lambda: read_ledger(run, record))
    yield check
    what = "the saved teacher, loaded without executing anything"
    check, teacher = loaded("teacher", what, lambda: (load_teacher(run, record), load_scale(run)))
    yield check
    model, scale = teacher or (None, None)
    if ledger is not None:
        what = f"the noise of {len(ledger.train)} real rows"
        yield checked("real rows", what, rows.check_real_rows(ledger, record, model, tolerance))
        what = f"the fixed features of {len(ledger.y)} synthetic rows, bit for bit"
        yield checked("synthetic rows", what, rows.check_made_rows(ledger, record))
        what = "the list of changed cells against the rows"
        yield checked("ledger", what, named(rows.check_cells(run, ledger, record)))
        if record["counterfactuals"] is not None and model is not None:
            what = f"{len(ledger.y)} labels from the saved teacher, {tolerance}"
            yield checked("labels", what, rows.check_labels(ledger, record, model, scale, tolerance))
        elif record["counterfactuals"] is not None:
            yield skipped("labels", "the run saved no teacher (output.model: false)")
    yield checked("folds", "folds.csv against the record", named(verdict.check_folds(run, record)))
    trained = None if ledger is None else ledger.train
    tested = record["test"] is not None
    what = f"fold losses{', test losses and interval' if tested else ''} from the losses of single rows"
    yield checked("losses", what, named(verdict.check_losses(run, record, trained, tolerance)))
    what = "the change of the test score from its two losses" if tested else "no test score, as the spec says"
    yield checked("score", what, verdict.check_score(record))
    if verdict.has_ensemble(record):
        what = "each change of the ensemble's score from its two losses" if tested else "who is in the ensemble"
        yield checked("ensemble", what, verdict.check_ensemble(record))
    if ledger is not None and intervals.has_intervals(record):
        what = f"the intervals from the errors of held-out rows{', and their scores' if tested else ''}"
        yield checked("intervals", what, named(intervals.check_intervals(run, record, ledger, tolerance)))
    wrote = record["versions"]["crda-spec"]
    if wrote == __version__:
        yield checked("page", "report.html and graph.svg, drawn again from the record and the rows", _pages(run))
    else:
        yield skipped("page", f"it was drawn by crda-spec {wrote}")
    if kept is None:
        yield _certificate_check(run, record)
        return
    what = "p-value, interval and verdict from the losses of folds and rows"
    yield checked("verdict", what, verdict.check_verdict(kept.spec.gate, run, record, trained, tolerance))
    yield from _data_checks(run, record, kept, ledger, teacher, tolerance)


def _certificate_check(run: Path, record: dict[str, Any], source: str = "what moved", **against: Any) -> Check:  # noqa: ANN401
    """against: what `check_certificate` holds the certificate against, which comes from the source."""
    findings = named(check_certificate(run, record, **against))
    return checked("certificate", f"the certificate from {source}", findings)


def _pages(run: Path) -> Iterator[Finding]:
    """What a person sees, against what the folder holds: the page and the picture are made again."""
    opened = reopen(open_run(run))
    for name, data in (("report.html", page_of(opened)), ("graph.svg", run_graph_svg(opened.result).encode())):
        if (run / name).read_bytes() != data:
            yield Finding(name, "is not what this crda-spec draws from the record and the rows")


def _data_checks(
    run: Path,
    record: dict[str, Any],
    kept: KeptSpec,
    ledger: Ledger | None,
    taught: tuple[Teacher | None, NoiseScale | None] | None,
    tolerance: Tolerance,
) -> Iterator[Check]:
    """What the run's data and graph say of it, where they are at hand."""

    def load() -> tuple[Any, ...]:
        plan = build_plan(kept.spec, kept.draft)
        return (plan, *plan.load())

    check, found = skipped("data", kept.absent), None
    if not kept.absent:
        check, found = loaded("data", "the data can be read", load)
    if found is None or ledger is None:
        yield check
        yield _certificate_check(run, record)
        return
    plan, split, report = found
    what = f"{report.source}: its hash, {len(split.train)} training rows cell by cell"
    yield checked("data", what, named(rows.check_source(run, ledger, record, split, report)))
    whole, proven = certificate_again(plan, split.train, ledger.real["noise"]), proven_again(plan, split.train)
    source = "graph and residuals" if whole is not None else "the graph" if proven is not None else "what moved"
    yield _certificate_check(run, record, source, proven=proven, whole=whole, tolerance=tolerance)
    if taught is not None:
        graph = partial(graph_of, kept.spec, kept.draft)
        again = check_again(run, ledger, taught, plan, (split, report), graph=graph, tolerance=tolerance)
        yield checked("again", "all of the record that needs no fit, made from spec, data and files", named(again))
    if "model/model.json" in record["files"]:
        if split.test is not None:
            what = f"the saved model on {len(split.test)} test rows"
            yield checked("model", what, named(rows.check_model(run, record, split.test, tolerance=tolerance)))
        if record.get("intervals") is not None:
            what = (
                "what the intervals' width may follow"
                if split.test is None
                else f"the intervals of {len(split.test)} test rows"
            )
            findings = intervals.check_interval_rows(run, record, ledger, plan, split, tolerance=tolerance)
            yield checked("intervals' rows", what, named(findings))
        if record.get("ensemble") is not None:
            where = "" if split.test is None else f" on {len(split.test)} test rows"
            what = f"the saved models of the ensemble{where}"
            findings = verdict.check_ensemble_models(run, record, split, tolerance=tolerance)
            yield checked("ensemble's models", what, findings)


def _again(run: Path, record: dict[str, Any], kept: KeptSpec, tolerance: Tolerance, progress: Progress) -> Check:
    """The whole run once more, in a folder of its own, compared with the one at hand."""
    kept.draft.origins = dict(record["spec"]["origins"])  # who wrote each value then: the kept spec writes them all
    result = run_plan(build_plan(kept.spec, kept.draft), progress=progress)
    with tempfile.TemporaryDirectory(prefix="crda-verify-") as folder:
        made = finish_run(result, spec=kept.spec, draft=kept.draft, folder=Path(folder) / "run")
        how = f"number by number, {tolerance}; not pictures and models" if tolerance.relative else "byte for byte"
        return checked("run again", f"the run made again, {how}", check_folders(run, made.folder, tolerance=tolerance))
