"""`dataset`: where the rows come from, what the columns promise, and how rows are set aside for the test."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from crda_spec.strict import ColumnName, FilePath, Finite, Fraction, Strict


class CsvSource(Strict):
    """A text table with a header line."""

    kind: Literal["csv"] = Field(description="A delimited text file with a header line.")
    path: FilePath = Field(description="The file; a relative path starts at the spec's folder.")
    delimiter: str = Field(",", min_length=1, max_length=1, description="The character between two cells.")
    encoding: str = Field("utf-8", description="The file's text encoding, as Python names it.")
    decimal: Literal[".", ","] = Field(".", description="The decimal mark of numbers.")


class ParquetSource(Strict):
    """A Parquet file."""

    kind: Literal["parquet"] = Field(description="A Parquet file.")
    path: FilePath = Field(description="The file; a relative path starts at the spec's folder.")


class ExcelSource(Strict):
    """One sheet of a workbook."""

    kind: Literal["excel"] = Field(description="One sheet of an Excel workbook (.xlsx), first row the header.")
    path: FilePath = Field(description="The file; a relative path starts at the spec's folder.")
    sheet: str | int = Field(0, description="The sheet's name, or its position counted from 0.")


class SqlSource(Strict):
    """The result of a query."""

    kind: Literal["sql"] = Field(description="The result of a query on a database.")
    url: str = Field(
        min_length=1,
        description="A SQLAlchemy URL, e.g. sqlite:///houses.db; keep secrets out of the file with ${NAME}.",
    )
    query: str = Field(min_length=1, description="One SELECT statement; ORDER BY makes the row order reproducible.")


SklearnName = Literal["breast_cancer", "diabetes", "iris", "linnerud", "wine"]


class SklearnSource(Strict):
    """A table that comes with scikit-learn."""

    kind: Literal["sklearn"] = Field(description="A table bundled with scikit-learn; needs no file and no network.")
    name: SklearnName = Field(description="Which of scikit-learn's bundled tables.")


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


class BenchmarkSource(Strict):
    """One of the nine tables of the paper."""

    kind: Literal["benchmark"] = Field(
        description="A table of the paper's evaluation, from the folder CRDA_DATA_DIR or the user's cache."
    )
    name: BenchmarkName = Field(description="Which of the paper's nine tables.")


WorldName = Literal["bidding_war", "clinical_recovery", "crop_yield", "home_energy", "paper_synthetic"]


class SyntheticSource(Strict):
    """Rows drawn from declared structural equations, or from a named world whose equations are known."""

    kind: Literal["synthetic"] = Field(description="Rows drawn from structural equations; the truth is known.")
    rows: int = Field(500, ge=1, le=10_000_000, description="How many rows to draw.")
    world: WorldName | None = Field(None, description="A named world; give either this or equations.")
    equations: dict[str, str] | None = Field(
        None,
        description=(
            "Structural equations, one per variable, in causal order: each may use the variables above it and draws "
            "such as normal(0, 1), uniform(0, 1), bernoulli(0.3), choice('a', 'b')."
        ),
    )
    hidden: tuple[ColumnName, ...] = Field((), description="Variables of the equations that the table does not show.")


Source = Annotated[
    CsvSource | ParquetSource | ExcelSource | SqlSource | SklearnSource | BenchmarkSource | SyntheticSource,
    Field(discriminator="kind"),
]


class ColumnContract(Strict):
    """What one column promises. What is left out is inferred from the data and recorded."""

    type: Literal["continuous", "integer", "category", "boolean"] | None = Field(
        None, description="What the values are; inferred when left out."
    )
    unit: str | None = Field(None, description="The unit of the values, for reports, e.g. mg/day.")
    min: Finite | None = Field(None, description="The smallest value allowed (numbers only).")
    max: Finite | None = Field(None, description="The largest value allowed (numbers only).")
    values: tuple[bool | int | float | str, ...] | None = Field(
        None, min_length=1, description="The only values allowed."
    )


class MissingError(Strict):
    """Missing values are an error."""

    kind: Literal["error"] = Field(description="A missing value is an error that names its rows.")


class MissingDrop(Strict):
    """Rows with missing values are left out and counted."""

    kind: Literal["drop"] = Field(description="Rows with a missing value are left out; the count is recorded.")


class MissingImpute(Strict):
    """Missing feature values are filled inside the model's own pipeline, from its training rows only."""

    kind: Literal["impute"] = Field(
        description="Missing feature values are filled inside the model, from its training rows only."
    )
    numbers: Literal["median", "mean"] = Field("median", description="What fills a missing number.")


MissingRule = Annotated[MissingError | MissingDrop | MissingImpute, Field(discriminator="kind")]


class DuplicatesError(Strict):
    """Repeated rows are an error."""

    kind: Literal["error"] = Field(description="Two rows that agree in every feature and the target are an error.")


class DuplicatesKeep(Strict):
    """Repeated rows stay, and stay together."""

    kind: Literal["keep"] = Field(
        description="Repeated rows stay, and copies of one row never straddle a split or a fold."
    )


class DuplicatesDrop(Strict):
    """All but the first of repeated rows are left out and counted."""

    kind: Literal["drop"] = Field(description="All but the first copy are left out; the count is recorded.")


DuplicatesRule = Annotated[DuplicatesError | DuplicatesKeep | DuplicatesDrop, Field(discriminator="kind")]


class FractionSplit(Strict):
    """A random part of the rows (or groups) is the test set; with `dataset.time`, the latest part."""

    kind: Literal["fraction"] = Field(
        description="A seeded random part of the rows (or groups) is the test set; with dataset.time, the latest part."
    )
    test: Fraction = Field(0.2, description="The part of the rows that is held out.")


class ColumnSplit(Strict):
    """A column says which rows are the test set."""

    kind: Literal["column"] = Field(description="A column says which rows are the test set; it is no feature.")
    column: ColumnName = Field(description="The column that tells training rows from test rows.")
    test: tuple[bool | int | float | str, ...] = Field(min_length=1, description="The values that mark a test row.")


class SourceSplit(Strict):
    """The test rows are another table."""

    kind: Literal["source"] = Field(description="The test rows come from a second source with the same columns.")
    source: Source = Field(description="Where the test rows come from.")


SplitRule = Annotated[FractionSplit | ColumnSplit | SourceSplit, Field(discriminator="kind")]


class Dataset(Strict):
    """The rows, their columns' contracts, and the split."""

    source: Source = Field(description="Where the rows come from.")
    target: ColumnName = Field(description="The column to predict.")
    features: tuple[ColumnName, ...] | None = Field(
        None,
        min_length=1,
        description=(
            "The columns to predict from; when left out, all but the target, the groups, the weights, the time and the "
            "split column."
        ),
    )
    columns: dict[str, ColumnContract] = Field(
        default_factory=dict, description="Contracts of columns, by name; what is left out is inferred and recorded."
    )
    missing: MissingRule = Field(MissingError(kind="error"), description="What to do about missing values.")
    duplicates: DuplicatesRule = Field(DuplicatesError(kind="error"), description="What to do about repeated rows.")
    groups: ColumnName | None = Field(
        None, description="A column whose equal values bind rows together: a group never straddles a split or a fold."
    )
    weights: ColumnName | None = Field(
        None,
        description=(
            "A column of positive numbers that say how much each row counts, when models are fitted and when they are "
            "scored; only their proportions matter. It is no feature."
        ),
    )
    time: ColumnName | None = Field(
        None,
        description=(
            "A column that orders the rows: numbers, or ISO dates and timestamps. A fraction split then holds out the "
            "latest rows, and every fold of the gate is scored on rows later than all it was fitted on. It is no "
            "feature unless it is listed in `features`, and then it has to be numeric."
        ),
    )
    sample: int | None = Field(None, ge=2, description="Use only a seeded random sample of this many rows.")
    split: SplitRule = Field(FractionSplit(kind="fraction"), description="How the test rows are set aside.")
