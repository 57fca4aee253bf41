"""What every source promises."""

from __future__ import annotations

from typing import Protocol

from crda_spec.data.raw import RawTable


class Source(Protocol):
    """Somewhere rows come from. Reading twice gives the same table, unless the outside world changed."""

    def describe(self) -> str:
        """A short name for messages and records: no folders, no passwords."""
        ...

    def read(self) -> RawTable:
        """The rows, or a DataError with all that is wrong with the source."""
        ...
