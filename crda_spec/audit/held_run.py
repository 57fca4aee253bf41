"""Where a finished run's facts are: in memory, or in its folder. Both answer the same questions."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from crda_spec.audit.canonical import canonical_json
from crda_spec.audit.files import page_of, plain_record, run_files
from crda_spec.audit.kept_spec import graph_folder, written_spec
from crda_spec.audit.open_run import (
    ROWS_FILE,
    OpenedRun,
    ReopenedRun,
    SavedRun,
    load_teacher,
    present_files,
    readable,
    reopen,
    taught_result,
    taught_run,
)
from crda_spec.audit.scoring import FinalModel, final_model, saved_model
from crda_spec.audit.tables import augmented_parquet
from crda_spec.audit.whatif import Effects, Question, answer, effects
from crda_spec.execution import Progress
from crda_spec.records import RunResult, Teacher, WhatIf
from crda_spec.spec.load import Draft
from crda_spec.spec.render import Written
from crda_spec.spec.run import RunSpec


@dataclass(frozen=True, kw_only=True, eq=False)
class MadeRun:
    """A run in memory."""

    spec: RunSpec
    draft: Draft
    result: RunResult

    @property
    def teacher(self) -> Teacher:
        """What labelled the synthetic rows, with its fitted members."""
        return self.result.teacher

    @cached_property
    def taught(self) -> SavedRun:
        """What single rows are asked of."""
        record = plain_record(self.result, spec=self.spec, draft=self.draft, spec_yaml="")
        # As JSON, so that both kinds of run read the same; there is no seal before there is a folder.
        return taught_result(self.result, {**json.loads(canonical_json(record)), "sha256": ""})

    @cached_property
    def augmented(self) -> bytes:
        """The real and the synthetic rows, as Parquet."""
        return augmented_parquet(self.result)

    @cached_property
    def files(self) -> Mapping[str, bytes]:
        """What the run's folder holds, by name."""
        return run_files(self.result, spec=self.spec, draft=self.draft)

    @property
    def record(self) -> Mapping[str, Any]:
        """The record, sealed."""
        record: dict[str, Any] = json.loads(self.files["record.json"])
        return record

    @property
    def page(self) -> bytes:
        """The page of the run."""
        return self.files["report.html"]

    @property
    def written(self) -> Written:
        """The spec as somebody wrote it, with its rows where they are a frame."""
        return Written.of(self.draft)

    def final(self, *, single: bool = False, level: float | None = None) -> FinalModel:
        """What predicts. See `scoring.final_model`."""
        return final_model(self.result, self.spec, single=single, level=level)

    def graph_folder(self, base: Path | None) -> Path | None:
        """Where the graph's file is, if it has one."""
        return base or self.draft.file.parent

    def reading(self) -> AbstractContextManager[None]:
        """What goes wrong inside is said of the run's folder, if it has one."""
        return nullcontext()


@dataclass(frozen=True, kw_only=True, eq=False)
class KeptRun:
    """A run in its folder; what is not asked for is not read."""

    opened: OpenedRun

    @property
    def spec(self) -> RunSpec:
        """The spec with everything that its recipe filled in."""
        return self.opened.spec

    @cached_property
    def reopened(self) -> ReopenedRun:
        """The result as far as the folder tells: without models and test rows."""
        return reopen(self.opened)

    @property
    def result(self) -> RunResult:
        """The result as far as the folder tells: without models and test rows."""
        return self.reopened.result

    @cached_property
    def teacher(self) -> Teacher:
        """What labelled the synthetic rows, with its fitted members."""
        with readable(self.opened.folder):
            loaded = load_teacher(self.opened.folder, self.opened.record)
        return self.result.teacher if loaded is None else replace(self.result.teacher, members=loaded.members)

    @cached_property
    def taught(self) -> SavedRun:
        """What single rows are asked of."""
        return taught_run(self.opened)

    @property
    def augmented(self) -> bytes:
        """The real and the synthetic rows, as Parquet."""
        return (self.opened.folder / ROWS_FILE).read_bytes()

    @property
    def files(self) -> Mapping[str, bytes]:
        """What the run's folder holds, by name."""
        folder = self.opened.folder
        return {name: (folder / name).read_bytes() for name in sorted(present_files(folder))}

    @property
    def record(self) -> Mapping[str, Any]:
        """The record, sealed."""
        return self.opened.record

    @property
    def page(self) -> bytes:
        """The page of the run."""
        return page_of(self.reopened)

    @property
    def written(self) -> Written:
        """The spec as somebody wrote it, with its rows where they are a frame."""
        return Written(values=written_spec(self.opened.folder, self.opened.record), folder=self.opened.folder)

    def final(self, *, single: bool = False, level: float | None = None) -> FinalModel:
        """What predicts. See `scoring.final_model`."""
        return saved_model(self.opened, single=single, level=level)

    def graph_folder(self, base: Path | None) -> Path | None:
        """Where the graph's file is, if it has one."""
        return graph_folder(self.opened.folder, self.spec, base)

    def reading(self) -> AbstractContextManager[None]:
        """What goes wrong inside is said of the run's folder, if it has one."""
        return readable(self.opened.folder)


def ask(held: MadeRun | KeptRun, question: Question, *, base: Path | None, progress: Progress) -> WhatIf:
    """What the outcomes of some rows would have been. base: where the spec's files are."""
    saved, spec = held.taught, held.spec
    with held.reading():
        return answer(saved, spec, question, folder=held.graph_folder(base), progress=progress)


def average_effects(held: MadeRun | KeptRun, *, follow: bool, base: Path | None) -> Effects:
    """What each certified cause does to the target on average."""
    saved, spec = held.taught, held.spec
    with held.reading():
        return effects(saved, spec, follow=follow, folder=held.graph_folder(base))
