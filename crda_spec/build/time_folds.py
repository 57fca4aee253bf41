"""What time asks of the rows: enough different times for all folds that will be made of them, counted beforehand."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from crda_spec.data.rows import counted
from crda_spec.data.timeorder import count_pieces, time_blocks
from crda_spec.errors import Complaint
from crda_spec.records import DataReport, Split, Table
from crda_spec.spec.gate import fewest_folds
from crda_spec.spec.run import RunSpec


@dataclass(frozen=True, slots=True)
class _Part:
    """Some rows, and what they are called."""

    rows: Table
    name: str

    @property
    def times(self) -> int:
        """Into how many parts they could be cut."""
        return 0 if self.rows.times is None else count_pieces(self.rows.times, self.rows.groups)

    def first(self, folds: int, name: str) -> _Part:
        """The earliest rows of forward folds: what the first fold trains on, and so has the fewest times."""
        blocks = () if self.rows.times is None else time_blocks(self.rows.times, folds + 1, self.rows.groups)
        return _Part(self.rows.take(blocks[0]), name)


def time_complaints(spec: RunSpec, train: Table, tuning: Table | None) -> list[Complaint]:
    """Folds and blocks for which there are too few different times, at whatever depth."""
    whole, gate = _Part(train, "the training rows have"), spec.gate.folds
    if whole.times <= gate:
        return [
            _too_few(f"{gate} folds that run forward in time", gate + 1, whole, "gate.folds", _gate_hint(spec, whole))
        ]
    first = whole.first(gate, "the first gate fold trains on")
    searched = first if tuning is None else _Part(tuning, "the rows set aside for tuning have")
    return [*_teacher(spec, first), *_searches(spec, searched)]


def _gate_hint(spec: RunSpec, whole: _Part) -> str:
    most, fewest = whole.times - 1, fewest_folds(spec.gate)
    if most >= fewest:
        return f"use at most {most} folds"
    return f"more times are needed: this gate cannot do with fewer than {fewest} folds"


def _teacher(spec: RunSpec, first: _Part) -> Iterator[Complaint]:
    """A teacher, or a screen, that leaves out blocks of the rows it is given."""
    teacher = spec.counterfactual.teacher
    if teacher.kind in ("crossfit", "committee"):
        needed, path = 2 if isinstance(teacher.folds, str) else teacher.folds, "counterfactual.teacher.folds"
        who = f"a {teacher.kind} teacher"
    elif teacher.kind == "single" and spec.partition.residuals == "out_of_fold":
        needed, path, who = 2, "partition.residuals", "a screen of out_of_fold residuals"
    else:
        return
    if first.times < needed:
        hint, more = "use fewer gate folds", " or more" if needed == 2 else ""
        hint += f", or at most {first.times} teacher folds" if 2 <= first.times < needed else ""
        yield _too_few(f"{who}, which leaves out {needed} blocks of time{more} in turn,", needed, first, path, hint)


def _searches(spec: RunSpec, part: _Part) -> Iterator[Complaint]:
    """The inner folds of the searches, which run forward too; one search is repeated inside the folds of the other."""
    tune, gate = spec.tune, spec.gate
    wanted = [("gate.candidate_folds", gate.candidate_folds)] if gate.candidates else []
    wanted += [("tune.augmentation.folds", tune.augmentation.folds)] if tune.augmentation is not None else []
    wanted += [("tune.folds", tune.folds)] if tune.kind != "none" else []
    for path, folds in wanted:
        if part.times <= folds:
            most = part.times - 1
            hint = f"use at most {most} of them, or fewer gate folds" if most >= 2 else "use fewer gate folds"
            yield _too_few(f"{folds} inner folds that run forward in time", folds + 1, part, path, hint)
            return
        part = part.first(folds, f"the first fold of {path} trains on")


def _too_few(who: str, needed: int, part: _Part, path: str, hint: str) -> Complaint:
    verb = "needs" if who.startswith("a ") else "need"
    whole = "" if part.rows.groups is None else " at which no group is torn"
    what = f"{who} {verb} {needed} different times, but {part.name} {counted(part.times, 'time')}{whole}"
    return Complaint(code="too-few-times", path=path, what=what, hint=hint)


def with_time_notes(split: Split, report: DataReport) -> DataReport:
    """A note when a declared split tests on rows that are not later than all training rows. Nobody forbids it."""
    train, test = split.train.times, split.test.times
    if train is None or test is None:
        return report
    early = int(np.count_nonzero(test <= train.max()))
    if not early:
        return report
    verb = "is" if early == 1 else "are"
    note = f"{early} of {counted(len(test), 'test row')} {verb} not later than every training row"
    return replace(report, notes=(*report.notes, note))
