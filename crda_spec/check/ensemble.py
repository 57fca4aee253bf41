"""An ensemble whose models would all be the same."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from crda_spec.errors import Complaint, show
from crda_spec.spaces import SEEDLESS

_PATH = "output.ensemble"


def ensemble_complaints(parts: Mapping[str, Any]) -> Iterator[Complaint]:
    """Several models of a regressor whose fit draws nothing: the mean of equal models is one of them."""
    output, regressor = parts.get("output"), parts.get("regressor")
    if output is None or regressor is None or output.ensemble == 1:
        return
    why = ""
    if regressor.kind in SEEDLESS:
        why = f"{show(regressor.kind)} draws nothing"
    elif regressor.kind == "xgboost" and _draws_nothing(regressor, parts.get("tune"), in_time=_in_time(parts)):
        watched = "" if regressor.early_stopping is None else ", and of rows in the order of time it watches the latest"
        stops = " and no early stopping" if regressor.early_stopping is None else ""
        why = f"with subsample 1, colsample_bytree 1{stops} 'xgboost' draws nothing{watched}"
    if why:
        what = f"{output.ensemble} models on the same rows would be the same model: {why}"
        hint = "leave it at 1, or use a regressor that draws: catboost, mlp, random_forest, xgboost with subsample < 1"
        yield Complaint(code="same-models", path=_PATH, what=what, hint=hint)


def _in_time(parts: Mapping[str, Any]) -> bool:
    return "dataset" in parts and parts["dataset"].time is not None


def _draws_nothing(xgboost: Any, tune: Any, *, in_time: bool) -> bool:  # noqa: ANN401 - the spec's unions
    """Neither rows nor columns, and no rows to watch; a search may change what is written, so it is let pass.

    in_time: rows have an order, and the rows to watch are the latest, which nobody draws.
    """
    searched = tune is not None and tune.kind != "none"
    whole = xgboost.subsample == 1 and xgboost.colsample_bytree == 1
    return whole and (xgboost.early_stopping is None or in_time) and not searched
