"""One of the nine tables of the paper's evaluation, and what is known about each before it is opened."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Literal

from pydantic import Field

from crda_spec.data.raw import RawTable, read_bytes, sha256_of
from crda_spec.data.sources.csv import Csv
from crda_spec.errors import Complaint, DataError, Place
from crda_spec.strict import Strict

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
    """One table of the paper's evaluation, pinned by the hash of its bytes. The target is the last column."""

    file: str
    sha256: str
    home: str
    title: str
    rows: int
    features: tuple[str, ...]
    target: str

    @property
    def columns(self) -> tuple[str, ...]:
        """All columns, in the order of the file."""
        return (*self.features, self.target)


BENCHMARKS: Mapping[str, BenchmarkTable] = MappingProxyType(
    {
        "concrete_strength": BenchmarkTable(
            file="ConcreteCompressiveStrength.csv",
            sha256="9051648636a8bb3fe7c278f3b4e60724de6a7d09674443c341d47376c6b01286",
            home="UCI 165 (duplicates dropped)",
            title="Concrete Strength",
            rows=1005,
            features=(
                "Cement",
                "Blast Furnace Slag",
                "Fly Ash",
                "Water",
                "Superplasticizer",
                "Coarse Aggregate",
                "Fine Aggregate",
                "Age",
            ),
            target="Concrete compressive strength",
        ),
        "cpu_performance": BenchmarkTable(
            file="227_cpu_small.csv",
            sha256="cb1cf863ba6e8d571ff25edae655b67e1c436c86499df4f780898efc247da5d6",
            home="PMLB 227_cpu_small",
            title="CPU Performance",
            rows=8192,
            features=(
                *("lread", "lwrite", "scall", "sread", "swrite", "fork"),
                *("exec", "rchar", "wchar", "runqsz", "freemem", "freeswap"),
            ),
            target="target",
        ),
        "energy_efficiency": BenchmarkTable(
            file="EnergyEfficiency.csv",
            sha256="0f062b786033cf3f9c9f30ee935b97e8b3066f9f6bf6a3ca38df69e948754ad6",
            home="UCI 242 (target Y2; Y1 is a feature)",
            title="Energy Efficiency",
            rows=768,
            features=("X1", "X2", "X3", "X4", "X5", "X6", "X7", "X8", "Y1"),
            target="Y2",
        ),
        "house_price": BenchmarkTable(
            file="HousePrice.csv",
            sha256="f5f5a3e551d958091c4efd6983f443f029327638cc37bdc73731d771034384d0",
            home="Kaggle, house price regression (2024)",
            title="House Price",
            rows=1000,
            features=(
                "Square_Footage",
                "Num_Bedrooms",
                "Num_Bathrooms",
                "Year_Built",
                "Lot_Size",
                "Garage_Size",
                "Neighborhood_Quality",
            ),
            target="House_Price",
        ),
        "parkinsons_monitoring": BenchmarkTable(
            file="ParkinsonsTelemonitoring.csv",
            sha256="3a1ada6ba03bc74fecd0342c3026aede0f60785af47c8227a3e0ad477b4a2db6",
            home="UCI 189 (target total_UPDRS; motor_UPDRS is a feature)",
            title="Parkinson's Monitoring",
            rows=5875,
            features=(
                *("age", "test_time", "Jitter(%)", "Jitter(Abs)", "Jitter:RAP", "Jitter:PPQ5", "Jitter:DDP"),
                *("Shimmer", "Shimmer(dB)", "Shimmer:APQ3", "Shimmer:APQ5", "Shimmer:APQ11", "Shimmer:DDA"),
                *("NHR", "HNR", "RPDE", "DFA", "PPE", "sex", "motor_UPDRS"),
            ),
            target="total_UPDRS",
        ),
        "satellite_image": BenchmarkTable(
            file="294_satellite_image.csv",
            sha256="35a24ac97600e8e456b15ce2d3dd7eb3743a25673cb69d0ef2f5e4fec71f41a6",
            home="PMLB 294_satellite_image",
            title="Satellite Image",
            rows=6435,
            features=tuple(f"attr{number}" for number in range(1, 37)),
            target="target",
        ),
        "synthetic_regression": BenchmarkTable(
            file="623_fri_c4_1000_10.csv",
            sha256="0b346102db26497c9012d9d6cafeda316717f31334ba7b1adda5b2ac85539f01",
            home="PMLB 623_fri_c4_1000_10",
            title="Synthetic Regression",
            rows=1000,
            features=tuple(f"oz{number}" for number in range(1, 11)),
            target="target",
        ),
        "wind_power": BenchmarkTable(
            file="503_wind.csv",
            sha256="e863cdfefed6dc042d4748c12656eaaaf0ada7a360c7e663608360d325268441",
            home="PMLB 503_wind",
            title="Wind Power",
            rows=6574,
            features=(
                *("year", "month", "day", "RPT", "VAL", "ROS", "KIL"),
                *("SHA", "BIR", "DUB", "CLA", "MUL", "CLO", "BEL"),
            ),
            target="target",
        ),
        "wine_quality": BenchmarkTable(
            file="WineQuality.csv",
            sha256="606ed9b3745115ee08e85f4690c080eeea0c2d8a33201ec1f659091524f74bb2",
            home="UCI 186 (red and white, duplicates dropped)",
            title="Wine Quality",
            rows=5318,
            features=(
                *("fixed_acidity", "volatile_acidity", "citric_acid", "residual_sugar", "chlorides"),
                *("free_sulfur_dioxide", "total_sulfur_dioxide", "density", "pH", "sulphates", "alcohol"),
            ),
            target="quality",
        ),
    }
)


def cache_folder() -> Path:
    """Where benchmark tables are kept when CRDA_DATA_DIR does not say otherwise."""
    base = os.environ.get("XDG_CACHE_HOME", "")
    return (Path(base) if base else Path.home() / ".cache") / "crda-spec"


def benchmark_folders() -> tuple[Path, ...]:
    """The folders in which a benchmark table is looked for, in this order."""
    declared = os.environ.get("CRDA_DATA_DIR", "")
    return (Path(declared), cache_folder()) if declared else (cache_folder(),)


class Benchmark(Strict):
    """A table by name, from CRDA_DATA_DIR or the user's cache, accepted only if its bytes are the pinned ones."""

    kind: Literal["benchmark"] = Field(
        "benchmark",
        description="A table of the paper's evaluation, from the folder CRDA_DATA_DIR or the user's cache.",
    )
    name: BenchmarkName = Field(description="Which of the paper's nine tables.")

    def describe(self) -> str:
        """`benchmark` and the table's name."""
        return f"benchmark {self.name}"

    def header(self, base: Path = Path()) -> tuple[str, ...]:  # noqa: ARG002 - known without a file
        """The column names; the target is the last."""
        return BENCHMARKS[self.name].columns

    def read(self, base: Path = Path()) -> RawTable:  # noqa: ARG002 - its folders are the user's, not the spec's
        """The first copy found, if it is the right one."""
        table = BENCHMARKS[self.name]
        for folder in benchmark_folders():
            path = folder / table.file
            if path.is_file():
                data = read_bytes(path)
                self._check_hash(data, str(path))
                return replace(Csv(path=table.file).table(data), description=self.describe())
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
        expected, actual = BENCHMARKS[self.name].sha256, sha256_of(data)
        if actual == expected:
            return
        what = f"'{path}' is not the table of the paper: its sha256 is {actual[:12]}…, not {expected[:12]}…"
        hint = f"replace it by the original ({BENCHMARKS[self.name].home}), or read your own version as kind: csv"
        complaint = Complaint(
            code="benchmark-changed",
            path="dataset.source.name",
            place=Place(file=self.describe()),
            what=what,
            hint=hint,
        )
        raise DataError(complaint)
