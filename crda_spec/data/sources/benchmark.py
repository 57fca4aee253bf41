"""One of the nine tables of the paper's evaluation."""

from __future__ import annotations

from dataclasses import dataclass

from crda_spec.data.catalogue import BENCHMARKS, benchmark_folders, cache_folder
from crda_spec.data.files import read_bytes
from crda_spec.data.raw import RawTable, sha256_of
from crda_spec.data.sources.csv import text_to_raw
from crda_spec.data.textfile import Dialect
from crda_spec.errors import Complaint, DataError, Place


@dataclass(frozen=True, slots=True, kw_only=True)
class Benchmark:
    """A table by name, from CRDA_DATA_DIR or the user's cache, accepted only if its bytes are the pinned ones."""

    name: str

    def describe(self) -> str:
        """`benchmark` and the table's name."""
        return f"benchmark {self.name}"

    def read(self) -> RawTable:
        """The first copy found, if it is the right one."""
        table = BENCHMARKS[self.name]
        for folder in benchmark_folders():
            path = folder / table.file
            if path.is_file():
                data = read_bytes(path)
                self._check_hash(data, str(path))
                return text_to_raw(data, Dialect(description=self.describe()))
        looked = " or ".join(f"'{folder}'" for folder in benchmark_folders())
        where = f"put it into '{cache_folder()}', or into a folder of your own and name that in CRDA_DATA_DIR"
        complaint = Complaint(
            code="benchmark-absent",
            path="dataset.source.name",
            what=f"the table {table.title} ({table.file}) is not in {looked}",
            hint=f"its public home is {table.home}; {where}",
        )
        raise DataError(complaint)

    def _check_hash(self, data: bytes, path: str) -> None:
        expected, found = BENCHMARKS[self.name].sha256, sha256_of(data)
        if found == expected:
            return
        what = f"'{path}' is not the table of the paper: its sha256 is {found[:12]}…, not {expected[:12]}…"
        hint = f"replace it by the original ({BENCHMARKS[self.name].home}), or read your own version as kind: csv"
        complaint = Complaint(
            code="benchmark-changed",
            path="dataset.source.name",
            place=Place(file=self.describe()),
            what=what,
            hint=hint,
        )
        raise DataError(complaint)
