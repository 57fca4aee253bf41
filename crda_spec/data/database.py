"""Running one query that can only read, with errors that say what to try and never show a password.

A spec may come from somebody else, and `validate` runs its query too. So a statement that could write is refused before
it reaches the database, and the database is asked to refuse as well: SQLite files are opened read-only, PostgreSQL and
MySQL run in a read-only transaction. Imports SQLAlchemy, not pandas.
"""

from __future__ import annotations

import re
import sqlite3
from pathlib import Path
from urllib.parse import quote

import sqlalchemy as sa
from sqlalchemy.engine import URL
from sqlalchemy.exc import ArgumentError, NoSuchModuleError, SQLAlchemyError

from crda_spec.data.files import check_names, require_file
from crda_spec.errors import Complaint, DataError, Place


def describe_url(url: str) -> str:
    """The URL for messages and records: no password, no options, and no folders before a SQLite file."""
    try:
        parsed = sa.make_url(url)
    except ArgumentError:
        return "sql"
    if _is_sqlite_file(parsed):
        parsed = parsed.set(database=Path(str(parsed.database)).name)
    return parsed.set(query={}).render_as_string(hide_password=True)


def read_header(url: str, query: str, folder: Path) -> tuple[str, ...]:
    """The names of the query's columns, without fetching a row."""
    return _run(url, query, folder, fetch=False)[0]


def read_rows(url: str, query: str, folder: Path) -> tuple[tuple[str, ...], list[tuple[object, ...]]]:
    """The names of the query's columns and all its rows."""
    names, rows = _run(url, query, folder, fetch=True)
    if not rows:
        complaint = Complaint(
            code="no-rows",
            path="dataset.source.query",
            place=Place(file=describe_url(url)),
            what="the query returned no row",
            hint="check its WHERE clause",
        )
        raise DataError(complaint)
    return names, rows


def _run(url: str, query: str, folder: Path, *, fetch: bool) -> tuple[tuple[str, ...], list[tuple[object, ...]]]:
    """Runs the query in a transaction that may only read and is never committed."""
    description = describe_url(url)
    _require_reading(query, description)
    engine = _engine(url, folder)
    try:
        with engine.connect() as connection:
            _forbid_writing(connection)
            # Straight to the driver: SQLAlchemy's text() would take ':x' inside the query for a parameter.
            result = connection.execution_options(stream_results=True).exec_driver_sql(query)
            names = tuple(str(name) for name in result.keys())  # noqa: SIM118 - keys() is a result's only list of names
            rows = [tuple(row) for row in result] if fetch else []
            result.close()
    except SQLAlchemyError as error:
        reason = str(getattr(error, "orig", None) or error).strip().splitlines()[0]
        what = f"the query failed: {reason}"
        raise DataError(_complaint("sql-error", description, what, "try it in the database's own shell")) from error
    finally:
        engine.dispose()
    check_names(names, description)
    return names, rows


# A comment, or a text or name in quotes of any dialect: what stands inside is not a keyword.
_QUOTED = re.compile(r"--[^\n]*|/\*.*?\*/|'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"|`[^`]*`|\[[^\]]*\]", re.DOTALL)
_READS = ("select", "with", "values", "table", "from", "(")
_WRITES = re.compile(
    r"\b(insert|update|delete|drop|alter|create|truncate|merge|grant|revoke|into|call|exec|execute|vacuum|attach|copy)\b"
)


def _require_reading(query: str, description: str) -> None:
    """Refuses a statement that could change the database; a column of such a name can be put in quotes."""
    bare = _QUOTED.sub(" ", query).strip().lower()
    found = _WRITES.search(bare)
    if bare.startswith(_READS) and found is None and ";" not in bare.rstrip("; \n\t"):
        return
    what = "the query is not a single SELECT"
    if found is not None:
        what += f": it says {found.group().upper()}"
    hint = "a source only reads; put a column of such a name in double quotes"
    raise DataError(_complaint("not-a-select", description, what, hint))


def _forbid_writing(connection: sa.Connection) -> None:
    """Has the database refuse what our own reading of the query may have missed."""
    backend = connection.engine.dialect.name
    if backend == "sqlite":
        connection.exec_driver_sql("PRAGMA query_only = ON")
    elif backend == "postgresql":
        connection.exec_driver_sql("SET TRANSACTION READ ONLY")
    elif backend in ("mysql", "mariadb"):
        connection.exec_driver_sql("SET SESSION TRANSACTION READ ONLY")


def _complaint(code: str, description: str, what: str, hint: str, *, key: str = "query") -> Complaint:
    return Complaint(code=code, path=f"dataset.source.{key}", place=Place(file=description), what=what, hint=hint)


def _engine(url: str, folder: Path) -> sa.Engine:
    """An engine for the URL; the file of a relative SQLite URL is looked for in `folder`."""
    description = describe_url(url)
    try:
        parsed = sa.make_url(url)
        if _is_sqlite_file(parsed):
            written = str(parsed.database)
            file = folder / written
            require_file(file, written, key="dataset.source.url")  # SQLite would create an empty database
            address = f"file:{quote(str(file.resolve()))}?mode=ro"
            return sa.create_engine("sqlite://", creator=lambda: sqlite3.connect(address, uri=True))
        return sa.create_engine(parsed)
    except (ArgumentError, NoSuchModuleError) as error:
        what = "this is no database URL that SQLAlchemy understands"
        hint = "write dialect://user:password@host/database, or sqlite:///file.db"
        raise DataError(_complaint("bad-url", description, what, hint, key="url")) from error
    except ModuleNotFoundError as error:
        what = f"the driver '{error.name}' is not installed"
        raise DataError(
            _complaint("missing-driver", description, what, f"pip install {error.name}", key="url")
        ) from error


def _is_sqlite_file(url: URL) -> bool:
    database = url.database
    return (
        url.get_backend_name() == "sqlite"
        and bool(database)
        and database != ":memory:"
        and not str(database).startswith("file:")
    )
