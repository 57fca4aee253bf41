"""The result of one query that can only read, with errors that say what to try and never show a password.

A spec may come from somebody else, and `validate` runs its query too. So a statement that could write is refused before
it reaches the database, and the database is asked to refuse as well: a SQLite file is opened read-only, the others run
in a read-only transaction of a read-only session. A database that knows neither is refused.
"""

from __future__ import annotations

import re
import sqlite3
from pathlib import Path
from typing import TYPE_CHECKING, Literal
from urllib.parse import quote

from pydantic import Field

from crda_spec.data.raw import MAX_OBJECTS, BaseSource, RawTable, check_names, require_file, table_of_rows
from crda_spec.errors import printable, redact_url, show

if TYPE_CHECKING:
    import sqlalchemy as sa

# A comment, or a text or name in quotes, as every dialect reads it: what stands inside is not a keyword.
_QUOTED = re.compile(r"--[^\n]*|/\*.*?\*/|'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"|`[^`]*`|\[[^\]]*\]", re.DOTALL)
# What dialects read differently, so that a quote or comment may end elsewhere than it seems: an escape, a comment that
# MySQL runs or that PostgreSQL nests, a line comment that is none, other quotes. Then nothing counts as quoted.
_AMBIGUOUS = re.compile(r"\\|/\*M?!|/\*(?:(?!\*/).)*/\*|--(?!\s|$)|#|\$\w*\$|q'", re.DOTALL | re.IGNORECASE)
_OWN_QUOTES = {"sqlite": "", "mysql": r"|\[", "mariadb": r"|\["}  # elsewhere neither [ nor ` quotes
_READS = ("select", "with", "values", "table", "from", "(")
_WRITES = re.compile(
    r"\b(insert|update|delete|drop|alter|create|truncate|merge|grant|revoke|into|call|exec|execute|vacuum|attach|copy|"
    r"commit|rollback|outfile|dumpfile|lo_export|lo_import|dblink\w*)\b"
)
_FORBID_WRITING = {
    "sqlite": ("PRAGMA query_only = ON",),
    "postgresql": ("SET SESSION CHARACTERISTICS AS TRANSACTION READ ONLY", "SET TRANSACTION READ ONLY"),
    "mysql": ("SET SESSION TRANSACTION READ ONLY",),
    "mariadb": ("SET SESSION TRANSACTION READ ONLY",),
    "oracle": ("SET TRANSACTION READ ONLY",),
}
_BAD_URL = "this is no database URL that SQLAlchemy understands"
_URL_HINT = "write dialect://user:password@host/database, or sqlite:///file.db"


class Sql(BaseSource):
    """The result of a query. The file of a relative SQLite URL is looked for in the spec's folder."""

    kind: Literal["sql"] = Field("sql", description="The result of a query on a database.")
    url: str = Field(
        min_length=1,
        description="A SQLAlchemy URL, e.g. sqlite:///houses.db; keep secrets out of the file with ${NAME}.",
    )
    query: str = Field(min_length=1, description="One SELECT statement; ORDER BY makes the row order reproducible.")

    def describe(self) -> str:
        """The URL with its user and password masked, without its options and the folders before a SQLite file."""
        url = self._url()
        if url is None:
            return "sql"
        if url.get_backend_name() == "sqlite":
            return f"{url.drivername}:///{Path(str(url.database or '')).name}"
        return redact_url(url.set(query={}).render_as_string(hide_password=False), users=True)

    def _url(self) -> sa.URL | None:
        """The URL in its parts; None when it has none, or when a part of a password may stand in another."""
        import sqlalchemy as sa

        try:
            url = sa.make_url(self.url)
        except (sa.exc.ArgumentError, ValueError):  # a port that is no number
            return None
        written = self.url.partition("://")[2].rpartition("@")[0]
        return None if url.get_backend_name() != "sqlite" and re.search(r"[@/?#\s]", written) else url

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

        engine = self._engine(base)
        self._require_reading(engine.dialect.name)
        rows: list[tuple[object, ...]] = []
        try:
            with engine.connect() as connection:
                # Has the database refuse what our own reading of the query may have missed.
                for statement in _FORBID_WRITING[engine.dialect.name]:
                    connection.exec_driver_sql(statement)
                # Straight to the driver: SQLAlchemy's text() would take ':x' inside the query for a parameter.
                result = connection.execution_options(stream_results=True).exec_driver_sql(self.query)
                names = tuple(map(str, result.keys()))
                for row in result if fetch else ():
                    rows.append(tuple(row))
                    if len(rows) * len(names) > MAX_OBJECTS:
                        what = f"the query returns more than {MAX_OBJECTS:,} cells"
                        hint = "select fewer columns, or limit the rows in the query"
                        raise self._error("too-large", what, hint, key="query")
                result.close()
        except (sa.exc.SQLAlchemyError, UnicodeError) as error:
            message = str(getattr(error, "orig", None) or error).strip().splitlines()[0]
            what = f"the query failed: {self._without_secrets(message)}"
            raise self._error("sql-error", what, "try it in the database's own shell", key="query") from error
        finally:
            engine.dispose()
        check_names(names, self.describe())
        return names, rows

    def _require_reading(self, dialect: str) -> None:
        """Refuses a statement that could change the database; a column of such a name can be put in quotes."""
        marks = re.compile(f"{_AMBIGUOUS.pattern}{_OWN_QUOTES.get(dialect, r'|[`[]')}", _AMBIGUOUS.flags)
        odd = marks.search(self.query)
        bare = _QUOTED.sub(" ", self.query).strip().lower()
        checked = self.query.strip().lower() if odd else bare
        writes = _WRITES.search(checked)
        if bare.startswith(_READS) and writes is None and ";" not in checked.rstrip("; \n\t"):
            return
        what = "the query is not a single SELECT" + (f": it says {writes.group().upper()}" if writes else "")
        hint = "a source only reads; put a column of such a name in double quotes"
        if odd:
            hint = f"a source only reads, and with {show(odd.group()[:3])} in it the query cannot be read for sure"
        raise self._error("not-a-select", what, hint, key="query")

    def _without_secrets(self, text: str) -> str:
        """A driver's message without the user and the password that it may repeat."""
        url = self._url()
        for secret in (url.password, url.username) if url is not None else ():
            if secret:
                text = re.sub(rf"(?<!\w){re.escape(str(secret))}(?!\w)", "***", text)
        return printable(text)

    def _engine(self, base: Path) -> sa.Engine:
        import sqlalchemy as sa

        url = self._url()
        if url is None:
            hint = _URL_HINT
            if "://" in self.url:
                hint += "; in a user or password write @ as %40, : as %3A, / as %2F, ? as %3F"
            raise self._error("bad-url", _BAD_URL, hint, key="url")
        try:
            if url.get_backend_name() == "sqlite":
                address = self._sqlite_address(url, base)
                return sa.create_engine("sqlite://", creator=lambda: sqlite3.connect(address, uri=True))
            url.get_dialect()
            if url.get_backend_name() not in _FORBID_WRITING:
                what = f"a connection to {url.get_backend_name()} cannot be made read-only, and a source only reads"
                known = f"databases that can be read: {', '.join(_FORBID_WRITING)}"
                hint = f"write the query's result to a Parquet or CSV file, and name that; {known}"
                raise self._error("not-read-only", what, hint, key="url")
            return sa.create_engine(url)
        except (sa.exc.ArgumentError, sa.exc.NoSuchModuleError, TypeError, ValueError) as error:
            raise self._error("bad-url", _BAD_URL, _URL_HINT, key="url") from error
        except ModuleNotFoundError as error:
            what = f"the driver '{error.name}' is not installed"
            raise self._error("missing-driver", what, f"pip install {error.name}", key="url") from error

    def _sqlite_address(self, url: sa.URL, base: Path) -> str:
        """What SQLite opens: a file that is there, read-only, or an empty database in memory."""
        written = str(url.database or ":memory:")
        if written == ":memory:":
            return ":memory:"
        if written.startswith("file:"):
            what = "a SQLite file is named by its path, not by a URI of its own, which could create it"
            raise self._error("bad-url", what, "write sqlite:///file.db", key="url")
        file = base / written
        require_file(file, written, key="dataset.source.url")  # SQLite would create an empty database
        with file.open("rb") as opened:
            logs = opened.read(20)[18:] == b"\2\2"  # its changes go to a file beside it
        log = Path(f"{file}-wal")  # without one the database is whole, and to read it SQLite need not make one
        still = "&immutable=1" if logs and not (log.exists() and log.stat().st_size) else ""
        return f"file:{quote(str(file.resolve()))}?mode=ro{still}"
