"""The `dataset` section about a table that is at hand already."""

from crda_spec.data.dataset import (
    Dataset,
    DuplicatesDrop,
    DuplicatesError,
    DuplicatesKeep,
    Missing,
)
from crda_spec.data.sources import Csv
from crda_spec.data.split import ColumnSplit

DUPLICATES = {"error": DuplicatesError(), "keep": DuplicatesKeep(), "drop": DuplicatesDrop()}


def dataset_of(target="y", *, missing="error", duplicates="error", split_column=None, **settings) -> Dataset:
    """Its source is never read."""
    if split_column is not None:
        settings["split"] = ColumnSplit(column=split_column, test=("test",))
    return Dataset(
        source=Csv(path="t"),
        target=target,
        missing=Missing(kind=missing) if isinstance(missing, str) else missing,
        duplicates=DUPLICATES[duplicates],
        **settings,
    )
