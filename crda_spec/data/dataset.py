"""`dataset`: where the rows come from, what the columns promise, and how rows are set aside for the test."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Annotated, Literal

from pydantic import Discriminator, Field, Tag

from crda_spec.data.contract import ColumnContract
from crda_spec.data.sources import Source, Synthetic
from crda_spec.data.split import ColumnSplit, FractionSplit, SourceSplit, SplitRule
from crda_spec.errors import Complaint, inconsistent, repeated, show
from crda_spec.strict import LIST, TEXT, ColumnName, Strict


class MissingError(Strict):
    """Missing values are an error."""

    kind: Literal["error"] = Field("error", description="A missing value is an error that names its rows.")


class MissingDrop(Strict):
    """Rows with missing values are left out and counted."""

    kind: Literal["drop"] = Field("drop", description="Rows with a missing value are left out; the count is recorded.")


class MissingImpute(Strict):
    """Missing feature values are filled inside the model's own pipeline, from its training rows only."""

    kind: Literal["impute"] = Field(
        "impute", description="Missing feature values are filled inside the model, from its training rows only."
    )
    numbers: Literal["median", "mean"] = Field("median", description="What fills a missing number.")


MissingRule = Annotated[MissingError | MissingDrop | MissingImpute, Field(discriminator="kind")]


class DuplicatesError(Strict):
    """Repeated rows are an error."""

    kind: Literal["error"] = Field(
        "error", description="Two rows that agree in every feature and the target are an error."
    )


class DuplicatesKeep(Strict):
    """Repeated rows stay, and stay together."""

    kind: Literal["keep"] = Field(
        "keep", description="Repeated rows stay, and copies of one row never straddle a split or a fold."
    )


class DuplicatesDrop(Strict):
    """All but the first of repeated rows are left out and counted."""

    kind: Literal["drop"] = Field("drop", description="All but the first copy are left out; the count is recorded.")


DuplicatesRule = Annotated[DuplicatesError | DuplicatesKeep | DuplicatesDrop, Field(discriminator="kind")]


_Ids = Annotated[
    Annotated[ColumnName, Tag(TEXT)] | Annotated[tuple[ColumnName, ...], Tag(LIST), Field(min_length=1)],
    Discriminator(lambda value: LIST if isinstance(value, list | tuple) else TEXT),
]
PREDICTED = ("prediction", "low", "high")  # columns that `crda-spec predict` writes beside the ids


class Dataset(Strict):
    """The rows, their columns' contracts, and the split."""

    source: Source = Field(description="Where the rows come from.")
    target: ColumnName = Field(description="The column to predict.")
    features: tuple[ColumnName, ...] | None = Field(
        None,
        min_length=1,
        description=(
            "The columns to predict from; when left out, all but the target, the id, the groups, the weights, the time "
            "and the split column."
        ),
    )
    id: _Ids | None = Field(
        None,
        description=(
            "A column, or a list of columns, that tell rows apart: they stand beside the predictions of `crda-spec "
            "predict` as they are written, and are never a feature, never moved. They may be the groups or the time."
        ),
    )
    columns: dict[str, ColumnContract] = Field(
        default_factory=dict, description="Contracts of columns, by name; what is left out is inferred and recorded."
    )
    missing: MissingRule = Field(MissingError(), description="What to do about missing values.")
    duplicates: DuplicatesRule = Field(DuplicatesError(), description="What to do about repeated rows.")
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
    split: SplitRule = Field(FractionSplit(), description="How the test rows are set aside.")

    @property
    def split_column(self) -> str | None:
        """The column that tells test rows from training rows, where there is one."""
        return self.split.column if isinstance(self.split, ColumnSplit) else None

    @property
    def ids(self) -> tuple[str, ...]:
        """The columns that tell rows apart, in the order of the spec."""
        return () if self.id is None else (self.id,) if isinstance(self.id, str) else self.id

    def feature_names(self, header: Sequence[str]) -> tuple[str, ...]:
        """The declared features, or all columns that have no other role."""
        if self.features is not None:
            return self.features
        other = {self.target, *self.ids, self.groups, self.weights, self.time, self.split_column}
        return tuple(name for name in header if name not in other)

    def column_names(self) -> list[tuple[str, str]]:
        """Every name that should be a column, after the path at which it stands in the spec."""
        roles = {"groups": self.groups, "weights": self.weights, "time": self.time, "split.column": self.split_column}
        return [
            ("dataset.target", self.target),
            *((f"dataset.features.{position}", name) for position, name in enumerate(self.features or ())),
            *((f"dataset.columns.{name}", name) for name in self.columns),
            *((f"dataset.{role}", name) for role, name in roles.items() if name is not None),
            *self._placed_ids(),
        ]

    def _placed_ids(self) -> list[tuple[str, str]]:
        return [(f"dataset.id.{at}" if self.id != name else "dataset.id", name) for at, name in enumerate(self.ids)]

    def complaints(self) -> Iterator[Complaint]:
        """Parts of the section that contradict each other, whatever the data."""
        features = self.features or ()
        if self.target in features:
            where = f"dataset.features.{features.index(self.target)}"
            what = f"the target {show(self.target)} is among the features"
            yield inconsistent(where, what, "remove it from the list")
        yield from repeated("dataset.features", features)
        weights, others = self.weights, [(self.groups, "dataset.groups"), (self.split_column, "dataset.split.column")]
        for name, path in (*others, (weights, "dataset.weights")):
            if name == self.target:
                yield inconsistent(path, f"{show(name)} is the target", "name another column")
            if name is not None and name in features:
                yield inconsistent(path, f"{show(name)} is among the features", "remove it from dataset.features")
        for name, path in others:
            if name is not None and name == weights:
                yield inconsistent("dataset.weights", f"{show(name)} is also {path}", "name another column")
        yield from self._type_complaints(weights, "row weights cannot be", "declare them")
        # The column that orders the rows plays no second part, but for that of a feature.
        for name, part, hint in (
            (self.target, "the target", "name another column"),
            (self.groups, "also dataset.groups", "remove dataset.groups: rows of equal time are never torn apart"),
            (self.split_column, "also dataset.split.column", "name another column in one of them"),
        ):
            if name is not None and name == self.time:
                yield inconsistent("dataset.time", f"{show(name)} is {part}", hint)
        yield from self._id_complaints()
        for name, contract in self.columns.items():
            yield from contract.complaints(f"dataset.columns.{name}")
        yield from self._type_complaints(self.target, "a regression target cannot be", "declare it")
        second = self.split.source if isinstance(self.split, SourceSplit) else None
        for source, path in ((self.source, "dataset.source"), (second, "dataset.split.source")):
            if isinstance(source, Synthetic):
                yield from source.complaints(path)

    def _id_complaints(self) -> Iterator[Complaint]:
        """An id that is a number of the model, or has the name of a column that stands beside it."""
        if not isinstance(self.id, str):
            yield from repeated("dataset.id", self.ids)
        parts = (
            ((self.target,), "the target", "name another column"),
            (self.features or (), "among the features", "remove it from dataset.features, or from dataset.id"),
            ((self.weights,), "also dataset.weights", "name another column"),
            ((self.split_column,), "also dataset.split.column", "name another column"),
            (PREDICTED, "what crda-spec predict calls a column of its own", "rename the column"),
        )
        for path, name in self._placed_ids():
            for names, part, hint in parts:
                if name in names:
                    yield inconsistent(path, f"{show(name)} is {part}", hint)

    def _type_complaints(self, name: str | None, what: str, hint: str) -> Iterator[Complaint]:
        """A column that has to be of numbers, declared to be of labels."""
        contract = None if name is None else self.columns.get(name)
        if contract is not None and contract.type in ("category", "boolean"):
            where = f"dataset.columns.{name}.type"
            yield inconsistent(where, f"{what} a {contract.type}", f"{hint} continuous or integer")
