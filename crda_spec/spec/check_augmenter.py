"""What a spec with `augmenter` asks for that such a run has no use for, or cannot have."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from crda_spec.counterfactual.partition import Partition
from crda_spec.counterfactual.perturbation import Perturbation
from crda_spec.errors import Complaint, inconsistent, show
from crda_spec.scm.graph import CausalGraph
from crda_spec.spec.recipes import preset_of
from crda_spec.spec.run import Counterfactual

_LICENCES = {"ctgan": " (ctgan is under the Business Source License 1.1: read it before any use in production)"}
_LABELS = ("retention", "noise", "residual_draw", "invariance", "watch", "residuals")  # how our own rows are labelled


def augmenter_complaints(parts: Mapping[str, Any]) -> Iterator[Complaint]:
    """Everything about `augmenter`; a section that could not be read is absent from `parts`."""
    augmenter, recipe = parts.get("augmenter"), parts.get("recipe")
    if augmenter is None:
        if recipe == "augmenter" and "augmenter" in parts:
            what, hint = "augmenter is for specs with the key augmenter", "write that key, or another recipe"
            yield inconsistent("recipe", what, hint)
        return
    who = show(augmenter.label)
    if recipe not in (None, "augmenter"):
        what = f"{recipe} is a way of our own to make rows, but the augmenter {who} makes them"
        yield inconsistent("recipe", what, "leave out recipe, or leave out augmenter")
        return
    yield from augmenter.complaints()
    if augmenter.package and importlib.util.find_spec(augmenter.package) is None:
        what = f"the package {augmenter.package} is not installed, which the augmenter {who} needs"
        hint = f'install it with: pip install "crda-spec[rivals]"{_LICENCES.get(augmenter.package, "")}'
        yield Complaint(code="missing-extra", path="augmenter.kind", what=what, hint=hint)
    if augmenter.asks_graph and "causal" in parts and parts["causal"].graph is None:
        what = f"the augmenter {who} makes rows along a causal graph, and none is declared"
        yield inconsistent("augmenter.kind", what, "declare one under causal.graph, or use another augmenter")
    yield from _idle(augmenter, parts)


def undrawn_complaints(augmenter: Any, graph: CausalGraph, features: Sequence[str]) -> Iterator[Complaint]:  # noqa: ANN401
    """Features of which the graph says nothing, where rows are made along it."""
    undrawn = [name for name in features if name not in graph.named]
    if augmenter is not None and augmenter.asks_graph and undrawn:
        who, names = show(augmenter.label), ", ".join(map(show, undrawn[:5]))
        what = f"the augmenter {who} makes rows along the graph, which does not draw {names}"
        hint = "draw what is missing, or name it under causal.graph.unrelated, or leave it out of dataset.features"
        yield inconsistent("causal.graph", what, hint)


def _idle(augmenter: Any, parts: Mapping[str, Any]) -> Iterator[Complaint]:  # noqa: ANN401 - the spec's union
    """What is written for our own rows. By value, not by who wrote it: a run's own spec.yaml writes every value out."""
    hint, makes = "leave it out, or leave out augmenter", f"the augmenter {show(augmenter.label)} makes the rows"
    preset = preset_of("augmenter", "ridge", augmenter=augmenter.kind)
    assert preset is not None  # noqa: S101 - the name is one of ours
    if parts.get("perturbation", Perturbation()) != Perturbation():
        yield inconsistent("perturbation", f"{makes}, so this has nothing to do", hint)
    usual_partition = Partition(**preset["partition"])
    if not augmenter.asks_partition and parts.get("partition", usual_partition) != usual_partition:
        yield inconsistent("partition", f"{makes}, so nothing is chosen here", hint)
    labels = parts.get("counterfactual")
    if labels is None:
        return
    usual = Counterfactual.model_validate(preset["counterfactual"])
    own = [name for name in _LABELS if getattr(labels, name) != getattr(usual, name)]
    # Whose residuals are a row's noise is a question where there is a teacher to choose.
    own = [name for name in own if name != "residuals" or not augmenter.asks_teacher]
    for name in own:
        yield inconsistent(f"counterfactual.{name}", f"{makes} and their labels, so this has nothing to do", hint)
    if not augmenter.asks_teacher and labels.teacher.kind != "single":
        yield inconsistent("counterfactual.teacher", f"{makes} and asks no teacher", hint)
