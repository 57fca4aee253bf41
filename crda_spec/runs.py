"""A finished run as Python meets it, made just now or opened from its folder: facts, predictions, what-ifs, files."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import replace
from numbers import Integral
from pathlib import Path
from typing import TYPE_CHECKING, Any

from crda_spec.audit.exported import format_of, write_exported
from crda_spec.audit.held_run import KeptRun, MadeRun, ask, average_effects
from crda_spec.audit.rewrite import write_spec
from crda_spec.audit.runfolder import check_destination, check_new_file, write_run
from crda_spec.audit.scoring import predict_rows
from crda_spec.audit.verify.folder import Depth, Verification, verify_folder
from crda_spec.audit.whatif import Question
from crda_spec.data.blocks import RowFile, frame_rows
from crda_spec.errors import SpecError
from crda_spec.records import Certificate, IntervalReport, Predictor, RunResult, Teacher, TestScore, Verdict
from crda_spec.regressors.fit import MeanModel
from crda_spec.report.page import run_glance
from crda_spec.report.progress import Silent
from crda_spec.report.words.gate import verdict_sentence
from crda_spec.spec.run import RunSpec

if TYPE_CHECKING:
    import pandas as pd


class Run:
    """A finished run: made by ``crda_spec.run``, or opened from its folder by ``crda_spec.open_run``.

    Both answer alike. A folder holds neither test rows nor what the spec's ``output`` left out, so ``result`` of an
    opened run has none, and a model that was not saved cannot predict.

    Attributes
    ----------
    spec : RunSpec
        The spec with everything that its recipe filled in.
    result : RunResult
        All that the run found out; the properties below are its most asked-for parts.

    Examples
    --------
    >>> import crda_spec
    >>> spec = {
    ...     "version": 1,
    ...     "name": "fields",
    ...     "dataset": {"source": {"kind": "synthetic", "world": "crop_yield", "rows": 60}, "target": "grain_yield"},
    ...     "regressor": {"kind": "ridge"},
    ...     "gate": {"enabled": False},
    ... }
    >>> run = crda_spec.run(spec)
    >>> run.verdict.decision
    'ungated'
    >>> fields = run.augmented.head(3)
    >>> run.predict(fields).columns.to_list()
    ['prediction']
    """

    __slots__ = ("_held",)

    def __init__(self, held: MadeRun | KeptRun) -> None:
        """Not to be called: ``run`` and ``open_run`` do."""
        self._held = held

    @property
    def spec(self) -> RunSpec:
        """The spec with everything that its recipe filled in."""
        return self._held.spec

    @property
    def result(self) -> RunResult:
        """All that the run found out."""
        return self._held.result

    @property
    def verdict(self) -> Verdict:
        """What the gate decided, the numbers it decided on, and the ``sentence`` that says what to do."""
        verdict = self.result.verdict
        return replace(verdict, sentence=verdict_sentence(verdict), train_rows=len(self.result.split.train))

    @property
    def certificate(self) -> Certificate:
        """Each feature's class: irrelevant, cause or blocked, with the reason."""
        return self.result.certificate

    @property
    def score(self) -> TestScore | None:
        """One plain against one augmented model on the test rows; None with ``dataset.split: {kind: none}``."""
        return self.result.score

    @property
    def intervals(self) -> IntervalReport | None:
        """How prediction intervals were calibrated, and their scores on the test rows; None without held-out rows.

        ``predict(frame, interval=0.9)`` gives the intervals themselves, at any level.
        """
        return self.result.intervals

    @property
    def model(self) -> Predictor:
        """The final model: augmented if the gate accepted, else plain. Its rows are arrays, as ``result`` has them."""
        return self._held.final(single=True).model

    @property
    def teacher(self) -> Teacher:
        """What labelled the synthetic rows."""
        return self._held.teacher

    @property
    def augmented(self) -> pd.DataFrame:
        """The real training rows, then the synthetic ones; the columns ``_crda_...`` say where each comes from."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        frame: pd.DataFrame = pq.read_table(pa.BufferReader(self._held.augmented)).to_pandas()
        return frame

    def predict(self, data: Any, *, interval: float | None = None) -> pd.DataFrame:  # noqa: ANN401 - any kind of frame
        """The final model on new rows.

        Parameters
        ----------
        data : pandas or polars DataFrame, or Arrow table
            Rows with the run's features, in any order of columns, under the contracts of the run's columns.
        interval : float, optional
            The level of prediction intervals: 0.9 adds the columns ``low`` and ``high``.

        Returns
        -------
        pandas.DataFrame
            The columns of ``dataset.id`` and ``prediction``, missing for a row that the run's rule for missing cells
            leaves out; in the rows' order, with their index.

        Raises
        ------
        DataError
            Every column that is missing and every cell that does not fit, each with its row.
        """
        final = self._held.final(level=interval)
        found = predict_rows(final, frame_rows(data), ids=self.spec.dataset.ids)
        frame: pd.DataFrame = found.table.to_pandas()
        if found.ids is None:
            frame = frame.drop(columns="row")
        return frame if getattr(data, "index", None) is None else frame.set_index(data.index)

    def whatif(
        self,
        rows: int | Sequence[int] | Any,  # noqa: ANN401 - or any kind of frame
        *,
        follow: bool = False,
        refits: int = 20,
        level: float = 0.9,
        **changes: float | str,
    ) -> pd.DataFrame:
        """What the outcomes would have been.

        Parameters
        ----------
        rows : int, sequence of int, or frame
            Numbers of training rows in the run's source, counted from 1; or rows with all features and the outcome.
        follow : bool
            Whether what a changed column causes follows, by equations fitted along the graph.
        refits : int
            How many teachers are fitted again for the interval; 0: there is none.
        level : float
            Of the interval.
        **changes : number or str
            New values by column: ``dose=40`` sets, ``dose="+2"`` adds, a category takes a label.

        Returns
        -------
        pandas.DataFrame
            For each row: as observed, as it would have been, the difference with its interval, the basis of the claim,
            and what a hidden cause would have to explain to turn the sign.

        Raises
        ------
        CrdaError
            When a changed feature is blocked, with the open path and the remedy, or a change makes no sense.
        """
        import pandas as pd

        numbers, file = _asked_rows(rows)
        question = Question(
            changes=tuple(f"{name}={_as_change(value)}" for name, value in changes.items()),
            rows=numbers,
            file=file,
            follow=follow,
            refits=refits,
            level=level,
        )
        if wrong := question.complaints():
            raise SpecError(wrong)
        found = ask(self._held, question, base=None, progress=Silent())
        return pd.DataFrame(
            {
                "row": one.row,
                "observed": one.observed,
                "outcome": one.outcome,
                "difference": one.difference,
                "low": None if one.interval is None else one.interval[0],
                "high": None if one.interval is None else one.interval[1],
                "basis": one.basis,
                "turns_at": one.robustness,
            }
            for one in found.answers
        ).set_index("row")

    def effects(self, *, follow: bool = False) -> pd.DataFrame:
        """What each certified cause does to the target on average, by the teacher; nothing is fitted.

        Parameters
        ----------
        follow : bool
            Whether what a column causes follows it; else all others are held fixed.

        Returns
        -------
        pandas.DataFrame
            By feature: the mean ``effect`` of one unit more, or of ``label`` instead of ``against``, its spread over
            the rows, and between what 8 of 10 rows lie. A feature that is no certified cause has the ``reason``.
        """
        import pandas as pd

        found = average_effects(self._held, follow=follow, base=None)
        rows = [(one.name, one.label, one.against, one.mean, one.spread, one.low, one.high, "") for one in found.found]
        nan = float("nan")
        rows += [(name, "", "", nan if why else 0.0, nan, nan, nan, why) for name, why in found.left.items()]
        columns = ["feature", "label", "against", "effect", "spread", "low", "high", "reason"]
        return pd.DataFrame(rows, columns=columns).set_index("feature")

    def save(self, folder: str | Path) -> Path:
        """Writes the folder that ``crda-run`` leaves; it must be new or empty."""
        check_destination(Path(folder))
        write_run(Path(folder), self._held.files)
        return Path(folder)

    def export(self, path: str | Path, *, form: str | None = None) -> Path:
        """Writes the final model for other tools, and its contract beside it, ``PATH.json``.

        Raw numbers of the run's columns go in, predictions in the target's unit come out.

        Parameters
        ----------
        path : path
            The file.
        form : {"skops", "onnx"}, optional
            A pipeline of scikit-learn, or an ONNX graph (``pip install "crda-spec[export]"``); left out, the file's
            ending tells.
        """
        for file in (Path(path), Path(f"{path}.json")):
            check_new_file(file, "choose another file", option="path")
        wanted, members = format_of(Path(path), form), self._members
        with self._held.reading():
            record, rows = self._held.record, self.result.split.train.x
        return write_exported(Path(path), members, record, wanted, rows)[0]

    def log_mlflow(self) -> str:
        """Logs the run to MLflow, in its active run or a new one, and returns that run's id.

        Parameters are the spec's, metrics those of test and gate; the folder with its figures is an artifact, and the
        model is logged as scikit-learn's flavour (by skops), or as ONNX. Needs ``pip install "crda-spec[mlflow]"``.
        """
        from crda_spec.audit.tracking import log_run

        rows = self.result.split.train.x
        if isinstance(self._held, KeptRun):
            return log_run(self._held.record, self._held.opened.folder, self._members, rows)
        with tempfile.TemporaryDirectory(prefix="crda-run-") as folder:
            return log_run(self._held.record, self.save(Path(folder) / "run"), self._members, rows)

    @property
    def _members(self) -> tuple[Predictor, ...]:
        """What predicts, by its mean."""
        model = self._held.final().model
        return model.members if isinstance(model, MeanModel) else (model,)

    def report(self, path: str | Path) -> Path:
        """Writes the page of the run, one HTML file."""
        Path(path).write_bytes(self._held.page)
        return Path(path)

    def to_spec(self, path: str | Path | None = None, *, data: str | Path | None = None) -> str:
        """The spec as it was written, as YAML: ``crda-run`` of it makes the same rows, model and verdict.

        Parameters
        ----------
        path : path, optional
            Where to write it, a new file; relative paths in the text start at its folder (else at the current one).
        data : path, optional
            Where to write the data frame that the run was made from, .parquet or .csv, a new file; the spec's source
            names it.

        Returns
        -------
        str
            The text.

        Raises
        ------
        SpecError
            When the regressor is an object that YAML cannot express.
        OutputError
            When the rows are a data frame and ``data`` is not given, when the run has no frame to write, or a file
            is there already.
        """
        spec, table = None if path is None else Path(path), None if data is None else Path(data)
        return write_spec(self._held.written, self.spec, spec, table)

    def verify(self, *, depth: Depth = "rows", base: str | Path | None = None) -> Verification:
        """Checks the run's folder; of a run in memory, one that is written for the purpose. See ``crda_spec.verify``.

        Parameters
        ----------
        depth : {"files", "rows", "full"}
            Hashes; also every row, label, certificate and verdict, without fitting; also the whole run again.
        base : path, optional
            Where the spec's relative paths start.
        """
        where = None if base is None else Path(base)
        if isinstance(self._held, KeptRun):
            return verify_folder(self._held.opened.folder, depth, base=where)
        with tempfile.TemporaryDirectory(prefix="crda-run-") as folder:
            return verify_folder(self.save(Path(folder) / "run"), depth, base=where)

    def __repr__(self) -> str:
        """The run's name and verdict."""
        return f"<crda_spec.Run {self.spec.name}: {self.verdict.sentence}>"

    def _repr_html_(self) -> str:
        """For notebooks: the verdict, the graph, the features and the scores."""
        return run_glance(self.result)


def _asked_rows(rows: Any) -> tuple[tuple[int, ...], RowFile | None]:  # noqa: ANN401 - numbers, or any kind of frame
    """Numbers of training rows, or rows from elsewhere."""
    if isinstance(rows, Integral):
        return (int(rows),), None
    if isinstance(rows, Sequence) and not isinstance(rows, str):
        return tuple(rows), None
    return (), frame_rows(rows)


def _as_change(value: float | str) -> str:
    """A new value as a question writes it; a negative number is set, not taken away."""
    return value if isinstance(value, str) else f"={value!r}" if value < 0 else repr(value)
