"""One sheet of an Excel workbook."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from crda_spec.data import workbook
from crda_spec.data.raw import RawTable, sha256_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Excel:
    """One sheet of a workbook, its first row the header. `written` is the path as the spec writes it."""

    path: Path
    sheet: str | int = 0
    written: str = ""

    def describe(self) -> str:
        """The file's name."""
        return self.path.name

    def read(self) -> RawTable:
        """The cells as the workbook types them; a formula counts as the value that was stored with it."""
        data, names, rows = workbook.read_sheet(self.path, self.sheet, self.written)
        columns = {
            name: pd.Series([row[position] for row in rows], dtype=object) for position, name in enumerate(names)
        }
        return RawTable(frame=pd.DataFrame(columns), sha256=sha256_of(data), description=self.describe())
