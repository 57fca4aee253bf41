"""What is written of finished runs beside their folders: pages made again, figures, answers to what-ifs."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from crda_spec.audit.canonical import plain, sha256_of
from crda_spec.audit.files import page_of
from crda_spec.audit.open_run import ReopenedRun, open_run, readable, reopen
from crda_spec.audit.runfolder import check_new_file, whole_file, writing
from crda_spec.audit.tables import answers_csv
from crda_spec.errors import Complaint, OutputError, Place, SpecError, show
from crda_spec.records import WhatIf
from crda_spec.report.compare import ComparedRun, render_comparison
from crda_spec.report.figures import run_figures, sweep_figure
from crda_spec.report.words.whatif import ground_sentences

_PAGE = "report.html"
_ELSEWHERE = "choose another place with"


def write_page(runs: Sequence[Path], *, out: Path | None = None, png: Path | None = None) -> tuple[Path, int]:
    """Where it was written, and how many bytes.

    out: a new file; else the run's own page, or compare.html.  png: a new folder for the figures, and no page.
    """
    several = len(runs) > 1
    if png is not None and (several or out is not None):
        what, hint = "the figures are those of one run, without a page", "write crda-spec report RUN --png NEW_FOLDER"
        raise OutputError(Complaint(code="contradiction", path="--png", what=what, hint=hint))
    option = "--out" if png is None else "--png"
    target = png or out or (Path("compare.html") if several else runs[0] / _PAGE)
    if png or out or several:
        check_new_file(target, f"{_ELSEWHERE} {option}", option=option)
    opened = [reopen(open_run(folder, lost=(_PAGE,))) for folder in runs]
    with readable(runs[0]):
        if png is not None:
            files = {png / f"{name}.png": picture.png for name, picture in run_figures(opened[0].result).items()}
        else:
            files = {target: _comparison(opened) if several else page_of(opened[0])}
    # The record names the hash of its page: another page may not take its place unseen.
    if not (png or out or several) and sha256_of(files[target]) != opened[0].record["files"].get(_PAGE):
        what = "this crda-spec makes another page than the one whose hash the record holds"
        hint = "write it elsewhere with --out FILE; crda-spec verify tells whether the folder was changed"
        raise OutputError(Complaint(code="other-page", place=Place(file=str(runs[0])), what=what, hint=hint))
    with writing(target, f"{_ELSEWHERE} {option}", option):
        if png is not None:
            png.mkdir()
        for file, data in files.items():
            file.write_bytes(data)
    return target, sum(map(len, files.values()))


def _comparison(runs: Sequence[ReopenedRun]) -> bytes:
    compared = [
        ComparedRun(name=run.name, folder=str(run.folder), result=run.result, record=run.record) for run in runs
    ]
    return render_comparison(compared).encode()


_KEPT, _DRAWN = (".json", ".csv"), (".svg", ".png")


def check_answers(out: Path | None, plot: Path | None, *, swept: bool) -> None:
    """Complains of files that answers cannot be written to, before anything is asked."""
    wrong = []
    for option, file, endings in (("--out", out, _KEPT), ("--plot", plot, _DRAWN)):
        if file is not None and file.suffix.casefold() not in endings:
            what = f"the ending of {show(file.name)} tells no format"
            wrong.append(Complaint(code="unknown-ending", path=option, what=what, hint=f"use {' or '.join(endings)}"))
    if plot is not None and not swept:
        what, hint = "there is no curve to draw", "ask for one: --sweep COLUMN=LOW:HIGH"
        wrong.append(Complaint(code="idle-option", path="--plot", what=what, hint=hint))
    if wrong:
        raise SpecError(wrong)
    for option, file in (("--out", out), ("--plot", plot)):
        if file is not None:
            check_new_file(file, "choose another file", option=option)


def answers_json(found: WhatIf) -> dict[str, Any]:
    """All that was found, with the run's seal and its ground in words."""
    content = plain(found)
    asked = [{"column": name, "class": status} for name, status in found.asked]
    return {**content, "asked": asked, "ground": list(ground_sentences(found))}


def write_answers(found: WhatIf, out: Path | None, plot: Path | None) -> None:
    """The answers by the file's ending, and the curves of a sweep."""
    if out is not None:
        with whole_file(out) as partial:
            text = answers_csv(found) if out.suffix.casefold() == ".csv" else None
            partial.write_text(text or json.dumps(answers_json(found), indent=2) + "\n", encoding="utf-8")
    if plot is not None:
        picture = sweep_figure(found)
        with whole_file(plot) as partial:
            partial.write_bytes(picture.png if plot.suffix.casefold() == ".png" else picture.svg.encode())
