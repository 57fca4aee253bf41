"""A spec against what it names: the data's header, the graph, the installed packages. Fits nothing, reads no row.

`load_spec` is the one door through which a spec enters: it raises every complaint at once, or returns a spec that
can be built. It stays light (no pandas, no scikit-learn), so that `crda-spec validate` answers at once.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from crda_spec.data.dataset import Dataset
from crda_spec.data.split import SourceSplit
from crda_spec.errors import Complaint, SpecError
from crda_spec.spec.candidates import CANDIDATES, candidate_specs
from crda_spec.spec.check_data import (
    LEDGER_PREFIX,
    check_second_source,
    feature_complaints,
    header_or_complaints,
    name_complaints,
)
from crda_spec.spec.check_graph import (
    KnownGraph,
    check_graph,
    declared_graph,
    knowledge_complaints,
    known_graph,
    undrawn_notes,
)
from crda_spec.spec.check_models import (
    ensemble_complaints,
    regressor_complaints,
    searched_knobs,
    searched_paths,
    teacher_complaints,
    tuning_complaints,
)
from crda_spec.spec.load import Draft, read_draft
from crda_spec.spec.run import RunSpec

__all__ = [
    "LEDGER_PREFIX",
    "KnownGraph",
    "declared_graph",
    "known_graph",
    "load_spec",
    "searched_knobs",
    "searched_paths",
    "undrawn_notes",
]


def load_spec(
    file: Path,
    *,
    overrides: Sequence[str] = (),
    environ: Mapping[str, str] | None = None,
    base: Path | None = None,
) -> tuple[RunSpec, Draft]:
    """The spec, checked against its data's header and its graph; SpecError with all complaints otherwise.

    base: where its relative paths start, when that is not the file's own folder.
    """
    draft = read_draft(file, overrides=overrides, environ=os.environ if environ is None else environ)
    if base is not None:
        draft.file = base / file.name
    parts = draft.parts
    for complaint in (
        *regressor_complaints(parts),
        *teacher_complaints(parts),
        *ensemble_complaints(parts),
        *tuning_complaints(draft, parts),
    ):
        draft.complain(complaint)
    if "dataset" in parts:
        _check_data(draft, parts["dataset"], parts)
    if draft.spec is not None:
        for complaint in _candidates(draft.spec):
            draft.complain(complaint)
    if draft.complaints or draft.spec is None:
        raise SpecError(draft.complaints)
    return draft.spec, draft


def _candidates(spec: RunSpec) -> Iterator[Complaint]:
    """Candidates that are no specs."""
    for name, found in candidate_specs(spec):
        if name == "declared":
            what, hint = "'declared' is the name of the spec as it stands", "choose another name"
            yield Complaint(code="inconsistent", path=f"{CANDIDATES}.declared", what=what, hint=hint)
        if not isinstance(found, RunSpec):
            yield from found
            continue
        parts = {section: getattr(found, section) for section in RunSpec.model_fields}
        for one in teacher_complaints(parts):
            if one not in tuple(teacher_complaints({key: getattr(spec, key) for key in RunSpec.model_fields})):
                yield replace(one, path=f"{CANDIDATES}.{name}.{one.path}")


def _check_data(draft: Draft, dataset: Dataset, parts: Mapping[str, Any]) -> None:
    if any(complaint.path == "dataset.source" for complaint in draft.complaints):
        return  # a source that contradicts itself has no header to check against
    header = header_or_complaints(draft, dataset.source, dataset.target, "dataset.source")
    if header is None:
        return
    for complaint in name_complaints(dataset, header):
        draft.complain(complaint)
    features = dataset.feature_names(header)
    if dataset.target not in header:
        return  # every further complaint would only repeat this one
    if not features:
        what = "no column is left to predict from"
        draft.complain(Complaint(code="no-features", path="dataset", what=what, hint="the data need a second column"))
    if isinstance(dataset.split, SourceSplit):
        check_second_source(draft, dataset, features)
    for complaint in feature_complaints(parts, features):
        draft.complain(complaint)
    if "causal" in parts and parts["causal"].discovery is not None:
        for complaint in knowledge_complaints(parts["causal"].discovery, (*features, dataset.target)):
            draft.complain(complaint)
    if "causal" in parts:
        check_graph(draft, dataset, parts, header)
