"""`dataset`: where the rows come from, what the columns promise, and how rows are set aside for the test."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Annotated, Literal

from pydantic import Discriminator, Field, Tag

from crda_spec.data.contract import ColumnContract
from crda_spec.data.reading import GAP, Derived, Reading
from crda_spec.data.sources import Source, Synthetic
from crda_spec.data.split import ColumnSplit, FractionSplit, SourceSplit, SplitRule
from crda_spec.errors import Complaint, inconsistent, repeated, show
from crda_spec.strict import LIST, TEXT, ColumnName, Strict

MissingKind = Literal["error", "drop", "impute"]


class Missing(Strict):
    """What happens to missing values: one rule for all columns, and others for the target and for some columns.

    Examples
    --------
    >>> rule = Missing(kind="impute", target="drop", columns={"dose": "drop"})
    >>> [rule.of(name, target="recovery") for name in ("age", "dose", "recovery")]
    ['impute', 'drop', 'drop']
    """

    kind: MissingKind = Field(
        "error",
        description=(
            "error: a missing value is an error that names its rows. drop: its row is left out and counted. impute: "
            "a missing feature is filled inside the model, from its training rows only."
        ),
    )
    target: Literal["error", "drop"] | None = Field(
        None, description="The rule for the target, which is never imputed; null: drop if kind is drop, else error."
    )
    columns: dict[ColumnName, MissingKind] = Field(
        default_factory=dict, description="Rules for single columns, by name, in place of `kind`."
    )
    numbers: Literal["median", "mean"] = Field("median", description="What fills a missing number.")
    indicator: tuple[ColumnName, ...] = Field(
        (),
        description=(
            "Imputed features whose gaps tell something: `dose` gets a second feature, `dose.missing`, that is true "
            "where the cell was missing. It does not move unless you ask for it."
        ),
    )

    @property
    def imputes(self) -> bool:
        """Whether any column may be filled."""
        return "impute" in (self.kind, *self.columns.values())

    def of(self, name: str, *, target: str) -> MissingKind:
        """The rule for this column."""
        if name == target:
            return self.target or ("drop" if self.kind == "drop" else "error")
        return self.columns.get(name, self.kind)


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
    missing: Missing = Field(Missing(), description="What to do about missing values.")
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

    @property
    def reading(self) -> Reading:
        """How the columns are read: cells by rule, parts of dates, marks of gaps."""
        dates = (Derived(column=name, part=part) for name, one in self.columns.items() for part in one.parts)
        gaps = (Derived(column=name, part=GAP) for name in self.missing.indicator)
        return Reading(contracts=self.columns, derived=(*dates, *gaps))

    def contract(self, name: str) -> ColumnContract:
        """What a column promises; a part of a date promises what it is, unless the spec says more."""
        made = {one.name: one.contract for one in self.reading.derived}
        return self.columns.get(name) or made.get(name) or ColumnContract()

    def missing_rule(self, name: str) -> MissingKind:
        """What happens where this column is missing; a date's part goes by the rule for the date."""
        made = {one.name: one.column for one in self.reading.derived}
        known = name in self.missing.columns or name not in made
        return self.missing.of(name if known else made[name], target=self.target)

    def feature_names(self, header: Sequence[str]) -> tuple[str, ...]:
        """The declared features, or all columns that have no other role; a date stands for its parts.

        A column whose gaps are marked brings the mark along.
        """
        made = self.reading.derived
        dates = {name for name, contract in self.columns.items() if contract.type == "date"}
        names = self.features
        if names is None:
            roles = {self.target, *self.ids, self.groups, self.weights, self.time, self.split_column}
            # The time as such is no feature. Parts of it are, where the spec asks for them.
            taken = (roles - (dates & {self.time})) | {one.name for one in made}
            names = tuple(name for name in header if name not in taken)
        parts = {name: [one.name for one in made if one.column == name] for name in names}
        chosen = [one for name in names for one in (*(() if name in dates else (name,)), *parts[name])]
        return tuple(dict.fromkeys(chosen))

    def column_names(self) -> list[tuple[str, str]]:
        """Every name that should be a column, after the path at which it stands in the spec."""
        roles = {"groups": self.groups, "weights": self.weights, "time": self.time, "split.column": self.split_column}
        return [
            ("dataset.target", self.target),
            *((f"dataset.features.{position}", name) for position, name in enumerate(self.features or ())),
            *((f"dataset.columns.{name}", name) for name in self.columns),
            *((f"dataset.{role}", name) for role, name in roles.items() if name is not None),
            *((f"dataset.missing.columns.{name}", name) for name in self.missing.columns),
            *((f"dataset.missing.indicator.{at}", name) for at, name in enumerate(self.missing.indicator)),
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
        yield from self._missing_complaints()
        second = self.split.source if isinstance(self.split, SourceSplit) else None
        for source, path in ((self.source, "dataset.source"), (second, "dataset.split.source")):
            if isinstance(source, Synthetic):
                yield from source.complaints(path)

    def _missing_complaints(self) -> Iterator[Complaint]:
        """Rules for missing cells that no cell could meet."""
        rule, path = self.missing, "dataset.missing"
        if self.target in rule.columns:
            what = f"{show(self.target)} is the target, whose rule has a key of its own"
            yield inconsistent(f"{path}.columns.{self.target}", what, "write missing.target: drop, or error")
        if rule.numbers != "median" and not rule.imputes:
            what = f"nothing is imputed (kind: {rule.kind}), so nothing is filled with the {rule.numbers}"
            yield inconsistent(f"{path}.numbers", what, "write kind: impute, or remove the key")
        others = {self.groups: "the groups", self.split_column: "the split column", self.time: "the time"}
        for name, part in others.items():
            if name is not None and rule.columns.get(name) == "impute" and name not in (self.features or ()):
                what = f"{show(name)} is {part}, which is never imputed"
                yield inconsistent(f"{path}.columns.{name}", what, "write drop or error")
        for at, name in enumerate(rule.indicator):
            if name == self.target:
                what = f"{show(name)} is the target, which is never imputed"
                yield inconsistent(f"{path}.indicator.{at}", what, "name features")
            elif self.missing_rule(name) != "impute":
                what = f"missing cells of {show(name)} are not imputed ({self.missing_rule(name)})"
                hint = "remove it from the list, or write kind: impute"
                yield inconsistent(f"{path}.indicator.{at}", what, hint)
        yield from repeated(f"{path}.indicator", rule.indicator)

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
        if contract is not None and contract.type in ("category", "boolean", "date"):
            where = f"dataset.columns.{name}.type"
            yield inconsistent(where, f"{what} a {contract.type}", f"{hint} continuous or integer")
