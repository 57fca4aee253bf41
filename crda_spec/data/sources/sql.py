"""The result of a query on a database."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from crda_spec.data import database
from crda_spec.data.raw import RawTable, canonical_bytes, sha256_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Sql:
    """The result of a query. The file of a relative SQLite URL is looked for in `folder`, the spec's own."""

    url: str
    query: str
    folder: Path = Path()

    def describe(self) -> str:
        """The URL without its password."""
        return database.describe_url(self.url)

    def read(self) -> RawTable:
        """The cells as the database types them."""
        names, rows = database.read_rows(self.url, self.query, self.folder)
        columns = {
            name: pd.Series([row[position] for row in rows], dtype=object) for position, name in enumerate(names)
        }
        frame = pd.DataFrame(columns)
        return RawTable(frame=frame, sha256=sha256_of(canonical_bytes(frame)), description=self.describe())
