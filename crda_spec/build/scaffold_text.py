"""A first spec as commented YAML: what `crda-spec init` writes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from crda_spec.build.scaffold import Scaffold
from crda_spec.errors import printable
from crda_spec.spec.gate import folds_needed
from crda_spec.spec.render import scalar_text

_FOLDS = 10
_TEST = 0.2
_WIDTH = 110


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphPart:
    """The `causal.graph` of a first spec, as lines, and what stands before it."""

    settings: dict[str, Any]
    latent: tuple[str, ...] = ()
    said: tuple[str, ...] = ()  # the certificate's result, a comment each


def spec_text(table: Scaffold, *, name: str, schema: str, graph: GraphPart | None) -> str:
    """The whole file. schema: where the JSON Schema lies, for editors."""
    return "\n".join([*_head(table, name, schema), *_dataset(table), *_causal(graph), *_rest(table), ""])


def _head(table: Scaffold, name: str, schema: str) -> Iterator[str]:
    yield f"# yaml-language-server: $schema={schema}"
    yield f"# $schema: {schema}"
    yield "# Written by crda-spec init. It runs as it is; what is yours to decide is marked with <-."
    yield "version: 1"
    yield f"name: {name}"
    yield "seed: 0"
    yield "recipe: distilled  # <- a committee labels the new rows. paper: Algorithm 1, they keep their own row's noise"
    if table.rows < 100:
        yield f"# {table.rows} rows are few: the gate will accept only a large gain."


def _dataset(table: Scaffold) -> Iterator[str]:
    yield "dataset:"
    yield f"  source: {_flow(table.source)}"
    yield f"  target: {scalar_text(table.target.name)}"
    if table.left_out:
        for name, why in table.left_out.items():
            yield from _comment(f"left out: {name}: {why}", "  ")
        yield "  features:"
        yield from (f"    - {scalar_text(one.name)}" for one in table.features)
    yield "  columns:  # <- correct what was inferred; a unit (unit: mg/day) makes reports readable"
    for contract in (*table.features, table.target):
        yield f"    {_key(contract.name)}: {_flow(contract.settings)}  # {printable(contract.note)}"
    if table.missing != "error":
        yield f"  # Missing cells: {table.missing_cells}. <- drop leaves their rows out, impute fills them in the model"
        yield f"  missing: {{kind: {table.missing}}}"
    if table.duplicates != "error":
        yield "  # Some rows agree in every column. <- keep binds copies together, drop leaves them out"
        yield f"  duplicates: {{kind: {table.duplicates}}}"
    yield "  # groups: patient_id  # <- if rows belong together, name the column that says so"
    yield f"  split: {{kind: fraction, test: {_TEST}}}"


def _causal(graph: GraphPart | None) -> Iterator[str]:
    yield "causal:"
    if graph is None:
        yield "  # <- No graph was given, so one is searched for, and the features that look safe are moved."
        yield "  # What you know is worth more: crda-spec discover writes a draft to correct, then use"
        yield "  # graph: {kind: dagitty, path: graph.dag}"
        yield "  discovery: {kind: pc}"
        return
    if graph.latent:
        yield from _comment(
            "these nodes of the graph are no columns, so nobody measured them; <- a misspelt column would be here too: "
            + ", ".join(graph.latent),
            "  ",
        )
    yield "  graph:"
    for key, value in graph.settings.items():
        if isinstance(value, list):
            yield f"    {key}:"
            yield from (f"      - {scalar_text(one)}" for one in value)
        else:
            yield f"    {key}: {scalar_text(value)}"
    for sentence in graph.said:
        yield from _comment(sentence, "  ")


def _rest(table: Scaffold) -> Iterator[str]:
    folds = folds_for(table)
    yield "regressor: {kind: xgboost}  # <- or mlp, catboost, gaussian_process, ridge, ...: what you would use anyway"
    yield f"gate: {{kind: wilcoxon, folds: {folds}}}  # augmented rows are used only if held-out errors fall"


def folds_for(table: Scaffold) -> int:
    """Ten folds, or as many as the training rows allow; too few to ever accept is for `init` to say."""
    training = table.units - max(1, round(_TEST * table.units))
    return max(min(_FOLDS, training), folds_needed(0.05, "less"))


def _comment(text: str, indent: str) -> Iterator[str]:
    """A comment of any length on lines of its own; nothing in the text can end it."""
    line = ""
    for word in printable(text).split(" "):
        if line and len(indent) + len(line) + len(word) > _WIDTH:
            yield f"{indent}# {line}"
            line = f"  {word}"
        else:
            line = f"{line} {word}" if line else word
    yield f"{indent}# {line}"


def _flow(settings: dict[str, Any]) -> str:
    return "{" + ", ".join(f"{key}: {_inline(value)}" for key, value in settings.items()) + "}"


def _inline(value: Any) -> str:  # noqa: ANN401 - any value of a spec
    if isinstance(value, list | tuple):
        return f"[{', '.join(_inline(one) for one in value)}]"
    return scalar_text(value)


def _key(name: str) -> str:
    return scalar_text(name, key=True)
