"""The result of one query that can only read, with errors that say what to try and never show a password.

A spec may come from somebody else, and `validate` runs its query too. So a statement that could write is refused before
it reaches the database, and the database is asked to refuse as well: SQLite files are opened read-only, PostgreSQL and
MySQL run in a read-only transaction.
"""

from __future__ import annotations

import re
import sqlite3
from pathlib import Path
from typing import TYPE_CHECKING, Literal
from urllib.parse import quote

from pydantic import Field

from crda_spec.data.raw import BaseSource, RawTable, check_names, require_file, table_of_rows

if TYPE_CHECKING:
    import sqlalchemy as sa

# A comment, or a text or name in quotes of any dialect: what stands inside is not a keyword.
_QUOTED = re.compile(r"--[^\n]*|/\*.*?\*/|'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"|`[^`]*`|\[[^\]]*\]", re.DOTALL)
_READS = ("select", "with", "values", "table", "from", "(")
_WRITES = re.compile(
    r"\b(insert|update|delete|drop|alter|create|truncate|merge|grant|revoke|into|call|exec|execute|vacuum|attach|copy)\b"
)
_FORBID_WRITING = {
    "sqlite": "PRAGMA query_only = ON",
    "postgresql": "SET TRANSACTION READ ONLY",
    "mysql": "SET SESSION TRANSACTION READ ONLY",
    "mariadb": "SET SESSION TRANSACTION READ ONLY",
}


class Sql(BaseSource):
    """The result of a query. The file of a relative SQLite URL is looked for in the spec's folder."""

    kind: Literal["sql"] = Field("sql", description="The result of a query on a database.")
    url: str = Field(
        min_length=1,
        description="A SQLAlchemy URL, e.g. sqlite:///houses.db; keep secrets out of the file with ${NAME}.",
    )
    query: str = Field(min_length=1, description="One SELECT statement; ORDER BY makes the row order reproducible.")

    def describe(self) -> str:
        """The URL without its password, its options, and the folders before a SQLite file."""
        import sqlalchemy as sa

        try:
            url = sa.make_url(self.url)
        except sa.exc.ArgumentError:
            return "sql"
        if _is_sqlite_file(url):
            url = url.set(database=Path(str(url.database)).name)
        return url.set(query={}).render_as_string(hide_password=True)

    def header(self, base: Path) -> tuple[str, ...]:
        """The names of the query's columns, without fetching a row."""
        return self._run(base, fetch=False)[0]

    def read(self, base: Path) -> RawTable:
        """The cells as the database types them."""
        names, rows = self._run(base, fetch=True)
        if not rows:
            raise self._error("no-rows", "the query returned no row", "check its WHERE clause", key="query")
        return table_of_rows(names, rows, description=self.describe())

    def _run(self, base: Path, *, fetch: bool) -> tuple[tuple[str, ...], list[tuple[object, ...]]]:
        """Runs the query in a transaction that may only read and is never committed."""
        import sqlalchemy as sa

        self._require_reading()
        engine = self._engine(base)
        try:
            with engine.connect() as connection:
                # Has the database refuse what our own reading of the query may have missed.
                if engine.dialect.name in _FORBID_WRITING:
                    connection.exec_driver_sql(_FORBID_WRITING[engine.dialect.name])
                # Straight to the driver: SQLAlchemy's text() would take ':x' inside the query for a parameter.
                result = connection.execution_options(stream_results=True).exec_driver_sql(self.query)
                names = tuple(map(str, result.keys()))
                rows = [tuple(row) for row in result] if fetch else []
                result.close()
        except sa.exc.SQLAlchemyError as error:
            what = f"the query failed: {str(getattr(error, 'orig', None) or error).strip().splitlines()[0]}"
            raise self._error("sql-error", what, "try it in the database's own shell", key="query") from error
        finally:
            engine.dispose()
        check_names(names, self.describe())
        return names, rows

    def _require_reading(self) -> None:
        """Refuses a statement that could change the database; a column of such a name can be put in quotes."""
        bare = _QUOTED.sub(" ", self.query).strip().lower()
        writes = _WRITES.search(bare)
        if bare.startswith(_READS) and writes is None and ";" not in bare.rstrip("; \n\t"):
            return
        what = "the query is not a single SELECT" + (f": it says {writes.group().upper()}" if writes else "")
        hint = "a source only reads; put a column of such a name in double quotes"
        raise self._error("not-a-select", what, hint, key="query")

    def _engine(self, base: Path) -> sa.Engine:
        import sqlalchemy as sa

        try:
            url = sa.make_url(self.url)
            if _is_sqlite_file(url):
                written = str(url.database)
                file = base / written
                require_file(file, written, key="dataset.source.url")  # SQLite would create an empty database
                address = f"file:{quote(str(file.resolve()))}?mode=ro"
                return sa.create_engine("sqlite://", creator=lambda: sqlite3.connect(address, uri=True))
            return sa.create_engine(url)
        except (sa.exc.ArgumentError, sa.exc.NoSuchModuleError) as error:
            what = "this is no database URL that SQLAlchemy understands"
            hint = "write dialect://user:password@host/database, or sqlite:///file.db"
            raise self._error("bad-url", what, hint, key="url") from error
        except ModuleNotFoundError as error:
            what = f"the driver '{error.name}' is not installed"
            raise self._error("missing-driver", what, f"pip install {error.name}", key="url") from error


def _is_sqlite_file(url: sa.URL) -> bool:
    database = url.database or ":memory:"
    return url.get_backend_name() == "sqlite" and database != ":memory:" and not database.startswith("file:")
