"""Everything that follows without a fit, made again: new rows drawn again, tests of the graph, the whole record."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from crda_spec import records
from crda_spec.audit.canonical import plain
from crda_spec.audit.export import croissant_json
from crda_spec.audit.open_run import ROWS_FILE, Finding, Ledger, ReopenedRun, open_run, reopen
from crda_spec.audit.record import make_record, tuning_files
from crda_spec.audit.tables import rows_csv
from crda_spec.audit.verify.checks import Tolerance, compared, differing
from crda_spec.audit.verify.verdict import read_scored
from crda_spec.counterfactual.augmenters import AUGMENTERS
from crda_spec.counterfactual.basis import movements, restated
from crda_spec.counterfactual.diagnostics import diagnose
from crda_spec.counterfactual.procedure import Procedure, act_and_predict
from crda_spec.data.folds import Division
from crda_spec.errors import show
from crda_spec.gate.controls import compare_controls
from crda_spec.gate.cross_validate import divisions, fold_numbers
from crda_spec.gate.describe import describe_sensitivity, describe_signs, describe_time
from crda_spec.gate.score import LEVEL, RESAMPLES
from crda_spec.pipeline import Plan
from crda_spec.records import NOBODY, NoiseScale, Teacher
from crda_spec.regressors._protocol import recorded_settings
from crda_spec.regressors.fit import student_seed, watched_rows, watches_synthetic
from crda_spec.regressors.teachers import FoldContext

_Taught = tuple[Teacher | None, NoiseScale | None]  # what labelled the rows, and the noise's size, where saved
_NOT_FACTS = ("files", "sha256", "unsaved", "volatile", "versions", "platform")
# What no depth but `full` can tell, by name; the clock and the machine not even that.
_FITS = (
    "fits, refits, reused_fits, verdict.fits, verdict.reused_fits, verdict.stopped_fits",
    "verdict.folds: perturbed, synthetic_rows",
    "teacher: members, weights, families, trust, signs",
)
_TESTED = (
    "rows.csv: the losses and errors of held-out rows, and on test rows those of the model that was not chosen",
    "diagnostics: errors",
    "controls: fits, models, and every loss",
)
_UNTESTED = (
    "rows.csv: the losses and errors of held-out rows",
    "the saved models, but for the teacher: no test row says what they predict",
)
_SEARCHED = ("regressor", "tuning.json", "counterfactuals", "movements", "certificate.features", "sensitivity")
_MACHINE = ("versions", "platform")
_CLOCK = ("volatile: created, seconds, jobs", "spec.origins of values that equal their default")


def uncovered(depth: str, record: Mapping[str, Any]) -> tuple[str, ...]:
    """What a depth takes as the record tells it."""
    if depth == "files":
        return ("every number",)
    if depth == "full":
        return _CLOCK
    residuals = record["abduction"]["residuals"] == "out_of_fold"
    augmenter = record["spec"]["resolved"].get("augmenter")  # older records know none
    trained = augmenter is not None and AUGMENTERS[augmenter["kind"]].trains
    tested = record["test"] is not None
    more = (
        *(_TESTED if tested else _UNTESTED),
        *(("augmented.parquet: _crda_prediction of the real rows",) if residuals else ()),
        *(("augmented.parquet: the synthetic rows, which a generator made that would be fitted again",) * trained),
        *(("noise.json",) if record["abduction"]["model"] == "location_scale" else ()),
        *(("ensemble.scores of the arm that was not chosen",) if record["ensemble"] is not None and tested else ()),
        *(("intervals.csv: the model that was not chosen",) if _cv_plus(record) and tested else ()),
        *(_SEARCHED if record["tuning"] is not None else ()),
    )
    return (*_FITS, *more, *_MACHINE, *_CLOCK)


def _cv_plus(record: Mapping[str, Any]) -> bool:
    return (record.get("intervals") or {}).get("form") == "cv_plus"


def check_again(
    folder: Path,
    ledger: Ledger,
    taught: _Taught,
    plan: Plan,
    data: tuple[records.Split, records.DataReport],
    *,
    graph: Callable[[records.DrawnGraph | None], Mapping[str, Any]],
    tolerance: Tolerance,
) -> Iterator[Finding]:
    """The record against one that is made from spec, data and files. graph: what `api.graph_of` says of a graph."""
    run, scale = reopen(open_run(folder)), taught[1]
    result, recorded = _without_fits(run, taught, plan, *data), run.record
    again = make_record(
        result,
        spec=recorded["spec"]["resolved"],
        spec_yaml=run.spec_yaml,
        origins=recorded["spec"]["origins"],
        seed=plan.seed,
        graph=graph(result.certificate.graph),
    )
    found, expected = ({k: v for k, v in one.items() if k not in _NOT_FACTS} for one in (recorded, plain(again)))
    yield from compared("record.json", found, expected, tolerance=tolerance)
    if result.counterfactuals is not None and run.result.counterfactuals is not None:
        yield from _drawn(ledger, result.counterfactuals, tolerance)
    if scale is not None:
        size, says = scale.at(data[0].train.x)[0], "is {:.17g}, noise.json makes it {:.17g}"
        yield from differing(f"{ROWS_FILE}, row", "_crda_scale", ledger.real["scale"], size, says, tolerance)
    table = (run.folder / ROWS_FILE).read_bytes()
    texts = {"rows.csv": rows_csv(result), "croissant.json": croissant_json(recorded, table)}
    texts |= {name: data.decode() for name, data in tuning_files(result.studies).items()}
    for name, text in texts.items():
        yield from _lines(name, (run.folder / name).read_text(encoding="utf-8"), text)


def _lines(name: str, kept: str, made: str) -> Iterator[Finding]:
    for number, (one, other) in enumerate(zip(kept.splitlines(), made.splitlines(), strict=False), start=1):
        if one != other:
            yield Finding(f"{name}, line {number}", f"says {show(one)}, should be {show(other)}")
            return
    if kept != made:
        yield Finding(name, f"has {len(kept)} letters, should have {len(made)}")


def _drawn(ledger: Ledger, made: records.Counterfactuals, tolerance: Tolerance) -> Iterator[Finding]:
    """The synthetic rows against those that the seed draws."""
    partner = np.full(len(made), NOBODY) if made.action.partner is None else made.action.partner
    if ledger.x.shape != made.action.x.shape:
        yield Finding(ROWS_FILE, f"has {len(ledger.y)} synthetic rows, the seed draws {len(made)}")
        return
    numbers = {"_crda_source_row": (ledger.source, made.action.source), "_crda_partner_row": (ledger.partner, partner)}
    numbers["_crda_noise_row"] = (ledger.noise_row, made.noise_rows)
    wrong = {name: found != drawn for name, (found, drawn) in numbers.items()}
    for column, name in enumerate(ledger.train.names):
        wrong[name] = tolerance.differ(ledger.x[:, column] + 0.0, made.action.x[:, column] + 0.0)  # no -0.0
    wrong[ledger.train.target.name] = tolerance.differ(ledger.y, made.y)
    for name, rows in wrong.items():
        for at in np.flatnonzero(rows).tolist()[:1]:
            yield Finding(ledger.place(at, name), "is not what the seed draws")


def _sized(fold: records.FoldResult, rows: int, parts: Sequence[Division]) -> records.FoldResult:
    """The fold with the rows that the seed, or time, gives it."""
    repeat, at = divmod(fold.fold - 1, len(parts[0].held))
    if not 0 <= repeat < len(parts):
        return replace(fold, fold=0)  # there is no such fold
    held, seen = parts[repeat].held[at], parts[repeat].seen
    return replace(fold, held_out_rows=len(held), train_rows=rows - len(held) if seen is None else len(seen[at]))


def _controls(
    said: records.Controls, score: records.TestScore, procedure: Procedure, train: records.Table
) -> records.Controls:
    """All that follows from the losses."""
    boundary, shift = procedure.partitioner.boundary(train.names), said.shift
    return compare_controls(
        score,
        {one.kind: one.loss for one in said.models},
        [name for name in train.names if name not in boundary],
        None if shift is None else (shift.plain, shift.augmented),
        fits=said.fits,
    )


def _test_metric(plan: Plan, *, tested: bool) -> str:
    """What the test rows are scored by: the gate's metric, unless that needs rows held out and there are none."""
    metric = plan.gate.loss
    return metric.name if tested else metric.given(None).name


def _without_fits(
    run: ReopenedRun, taught: _Taught, plan: Plan, split: records.Split, report: records.DataReport
) -> records.RunResult:
    """The run's result, with all made anew that needs no fit; the rest is as the record tells it."""
    said, (teacher, scale) = run.result, taught
    train, seed = split.train, plan.seed
    procedure = plan.procedure.on(train)
    tested, held = bool(said.verdict.folds), None if split.test is None else read_scored(run.folder, "test")
    parts = divisions(plan.gate, train, seed=seed) if tested else ()
    division = parts[0] if parts else None
    abduction = replace(said.abduction, model=procedure.noise.kind, residuals=procedure.residuals)
    if scale is not None:
        abduction = replace(abduction, scale_model=scale, scale_clipped=scale.at(train.x)[1])
    score = None
    if split.test is not None and said.score is not None:
        score = replace(said.score, metric=_test_metric(plan, tested=tested), level=LEVEL, resamples=RESAMPLES)
    result = replace(
        said,
        data=report,
        split=split,
        falsification=None if plan.falsify is None else plan.falsify(train),
        abduction=abduction,
        signs=describe_signs(train, procedure.signs),
        teacher=replace(said.teacher, kind=procedure.teacher.kind),
        gate_fold=fold_numbers(len(train), () if division is None else division.held),
        gate_losses=read_scored(run.folder, "train").losses if tested else None,
        gate_errors=read_scored(run.folder, "train").errors if tested else None,
        test_losses=None if held is None else held.losses,
        test_errors=None if held is None else held.errors,
        score=score,
        controls=None if said.controls is None or score is None else _controls(said.controls, score, procedure, train),
        verdict=replace(said.verdict, folds=tuple(_sized(one, len(train), parts) for one in said.verdict.folds)),
        time=describe_time(split, division),
    )
    if procedure.search is not None or procedure.tuner is not None or split.tuning is not None:
        return result  # only the searches know what was chosen
    result = replace(result, settings=recorded_settings(procedure.regressor))
    if procedure.screened != procedure.residuals:
        return result  # the screen looked at other residuals than those in the ledger
    partition = procedure.certify(train, abduction.noise, seed=seed, index=(0,))
    movable = procedure.movable(partition, said.teacher.trust)
    certificate = restated(partition, movable)
    falsified = partition.stops or (result.falsification is not None and result.falsification.forbids)
    made = None
    if procedure.augmenter is not None and procedure.augmenter.trains:
        return replace(result, certificate=certificate)  # its rows are a fit's, and no fit is made here
    if teacher is not None and not falsified:
        made = act_and_predict(procedure, train, teacher, abduction, movable, FoldContext(seed=seed))
    elif not falsified:
        return replace(result, certificate=certificate)  # nobody labels rows that are drawn again
    watched = watched_rows(train, procedure.regressor.stopping, seed=student_seed(seed, (0,)))
    synthetic = made is not None and watches_synthetic(made, watched, procedure.watch)
    figures = said.diagnostics
    if figures is not None and made is not None and teacher is not None:
        anew = diagnose(train, teacher, abduction, made, seed=seed, certificate=certificate)
        figures = replace(anew, errors=None if split.test is None else figures.errors)
    return replace(
        result,
        certificate=certificate,
        counterfactuals=made,
        movements=movements(certificate, movable, None if made is None else made.action),
        watch="synthetic" if synthetic else "real",
        sensitivity=describe_sensitivity(train, made, certificate, said.verdict),
        diagnostics=figures,
    )
