"""One of the nine tables of the paper's evaluation, and what is known about each before it is opened."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from pydantic import Field

from crda_spec.data.raw import BaseSource, RawTable, read_bytes, read_catalogue, sha256_of
from crda_spec.data.sources.csv import Csv
from crda_spec.errors import Complaint, DataError

BenchmarkName = Literal[
    "concrete_strength",
    "cpu_performance",
    "energy_efficiency",
    "house_price",
    "parkinsons_monitoring",
    "satellite_image",
    "synthetic_regression",
    "wind_power",
    "wine_quality",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchmarkTable:
    """One table of the paper's evaluation, pinned by the hash of its bytes."""

    title: str
    home: str
    file: str
    sha256: str
    rows: int
    columns: tuple[str, ...]  # in the order of the file

    @property
    def target(self) -> str:
        """The last column."""
        return self.columns[-1]


BENCHMARKS: Mapping[str, BenchmarkTable] = {
    name: BenchmarkTable(**facts | {"columns": tuple(facts["columns"])})
    for name, facts in read_catalogue(Path(__file__).with_suffix(".yaml")).items()
}


def cache_folder() -> Path:
    """Where benchmark tables are kept when CRDA_DATA_DIR does not say otherwise."""
    base = os.environ.get("XDG_CACHE_HOME", "")
    return (Path(base) if base else Path.home() / ".cache") / "crda-spec"


def benchmark_folders() -> tuple[Path, ...]:
    """The folders in which a benchmark table is looked for, in this order."""
    declared = os.environ.get("CRDA_DATA_DIR", "")
    return (Path(declared), cache_folder()) if declared else (cache_folder(),)


class Benchmark(BaseSource):
    """A table by name, from CRDA_DATA_DIR or the user's cache, accepted only if its bytes are the pinned ones."""

    kind: Literal["benchmark"] = Field(
        "benchmark", description="A table of the paper's evaluation, from the folder CRDA_DATA_DIR or the user's cache."
    )
    name: BenchmarkName = Field(description="Which of the paper's nine tables.")

    def describe(self) -> str:
        """`benchmark` and the table's name."""
        return f"benchmark {self.name}"

    def header(self, base: Path = Path()) -> tuple[str, ...]:
        """The column names; the target is the last."""
        return BENCHMARKS[self.name].columns

    def read(self, base: Path = Path()) -> RawTable:
        """The first copy found, if it is the right one."""
        table = BENCHMARKS[self.name]
        for folder in benchmark_folders():
            path = folder / table.file
            if path.is_file():
                data = read_bytes(path)
                digest = sha256_of(data)
                if digest != table.sha256:
                    hashes = f"its sha256 is {digest[:12]}…, not {table.sha256[:12]}…"
                    what = f"'{path}' is not the table of the paper: {hashes}"
                    hint = f"replace it by the original ({table.home}), or read your own version as kind: csv"
                    raise self._error("benchmark-changed", what, hint, key="name")
                return replace(Csv(path=table.file).table(data), description=self.describe())
        looked = " or ".join(f"'{folder}'" for folder in benchmark_folders())
        where = f"put it into '{cache_folder()}', or into a folder of your own and name that in CRDA_DATA_DIR"
        what = f"the table {table.title} ({table.file}) is not in {looked}"
        hint = f"its public home is {table.home}; {where}"
        raise DataError(Complaint(code="benchmark-absent", path="dataset.source.name", what=what, hint=hint))
