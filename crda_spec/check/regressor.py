"""What the regressor's section asks that cannot be."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator, Mapping
from typing import Any

from crda_spec.errors import Complaint, show
from crda_spec.spaces import SPACES, TAKES_NO_WEIGHTS, Space
from crda_spec.spec.load import Draft


def searched_space(kind: str, draft: Draft) -> Space:
    """What tuning searches: the regressor's space without the settings that the user wrote."""
    written = draft.tree.value.get("regressor", {})
    return {name: prior for name, prior in SPACES[kind].items() if name not in written}


def regressor_complaints(draft: Draft, parts: Mapping[str, Any]) -> Iterator[Complaint]:
    """A search without a space, weights that the regressor cannot use, a package that is not there."""
    regressor, tune = parts.get("regressor"), parts.get("tune")
    counterfactual = parts.get("counterfactual")
    if regressor is None:
        return
    if tune is not None and tune.kind != "none" and regressor.kind not in SPACES:
        what = f"the regressor {show(regressor.kind)} has no search space"
        yield Complaint(code="nothing-to-tune", path="tune.kind", what=what, hint="use tune: {kind: none}")
    elif tune is not None and tune.kind != "none" and not searched_space(regressor.kind, draft):
        what = "every setting that could be searched is written in the spec"
        hint = "remove one from `regressor`, or use tune: {kind: none}"
        yield Complaint(code="nothing-to-tune", path="tune.kind", what=what, hint=hint)
    if counterfactual is not None and counterfactual.weight != 1 and regressor.kind in TAKES_NO_WEIGHTS:
        what = f"the regressor {show(regressor.kind)} takes no row weights, got {counterfactual.weight:g}"
        yield Complaint(code="no-weights", path="counterfactual.weight", what=what, hint="use weight: 1")
    dataset = parts.get("dataset")
    if dataset is not None and dataset.weights is not None and regressor.kind in TAKES_NO_WEIGHTS:
        what = f"the regressor {show(regressor.kind)} takes no row weights, got the column {show(dataset.weights)}"
        hint = "use another regressor, or remove dataset.weights"
        yield Complaint(code="no-weights", path="dataset.weights", what=what, hint=hint)
    if regressor.kind == "catboost" and importlib.util.find_spec("catboost") is None:
        what, hint = "the package catboost is not installed", 'install it with: pip install "crda-spec[catboost]"'
        yield Complaint(code="missing-extra", path="regressor.kind", what=what, hint=hint)
