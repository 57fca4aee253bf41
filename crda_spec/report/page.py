"""One page that explains a run to someone who was not there: no network, light and dark, no script but our own."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources

from jinja2 import Environment, PackageLoader, StrictUndefined

from crda_spec.records import Column, DataReport, FoldResult, RunResult
from crda_spec.report.figures import Picture, ensemble_figure, feature_figure, run_figures
from crda_spec.report.graph_draw import page_graph
from crda_spec.report.page_parts import causal_parts, rows_part, tuning_parts
from crda_spec.report.svg import FONT, palette
from crda_spec.report.words.ensemble import ensemble_rows, ensemble_sentences, handed_over
from crda_spec.report.words.gate import loss_unit, p_value_sentence, turning_sentences, verdict_sentence
from crda_spec.report.words.numbers import change, in_unit, number, percent, setting, share, shown
from crda_spec.report.words.run import (
    DECISIONS,
    data_sentence,
    fold_spans,
    fold_time_sentences,
    gate_sentence,
    licence_sentence,
    nothing_sentence,
    partition_sentence,
    policy_sentence,
    propagation_sentence,
    rows_sentence,
    score_sentences,
    time_sentences,
)


def rendered(template: str, *, script: str = "", **values: object) -> str:
    """A page from its template; `script` names a file beside it, and the page forbids every other script."""
    text = _script(script) if script else ""
    digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
    return (
        _environment()
        .get_template(template)
        .render(colours=palette(":root"), font=FONT, script=text, script_hash=f"sha256-{digest}", **values)
    )


@cache
def _script(name: str) -> str:
    return "\n" + resources.files("crda_spec.report").joinpath("templates", name).read_text(encoding="utf-8")


@cache
def _environment() -> Environment:
    return Environment(
        loader=PackageLoader("crda_spec.report", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        finalize=_finalize,
    )


def _finalize(value: object) -> object:
    """What every value of the template passes before it is escaped: unseen characters become visible.

    Line breaks and tabs stay, for the spec and the record. Markup (a subclass of str) is our own and stays as it is.
    """
    return shown(value, keep="\n\t") if type(value) is str else value


_CONTENTS = "<!-- contents -->"
_HEADING = re.compile(r'<h2 id="(\w+)">([^<]+)</h2>')
MOST_FIGURES = 24  # of moved features; the others keep their sentence


@dataclass(frozen=True, slots=True)
class _Tile:
    """One of the figures at the top of the page."""

    value: str
    label: str


@dataclass(frozen=True, slots=True)
class _Move:
    """What was done to one feature, with a picture of it ("" past the limit)."""

    name: str
    policy: str
    figure: str


@dataclass(frozen=True, slots=True, kw_only=True)
class _ColumnRow:
    """A row of the data contract."""

    name: str
    role: str
    type: str
    unit: str
    promise: str
    origin: str
    missing: str  # of the cells that were read; empty when none is


def render_html(
    result: RunResult,
    *,
    name: str,
    description: str,
    record_json: str,
    spec_yaml: str,
    figures: Mapping[str, Picture] | None = None,
) -> str:
    """The report of a run; equal arguments give equal bytes.

    record_json and spec_yaml are shown as text, folded away. `figures` are those of `run_figures`, where they are drawn
    already.
    """
    figures = run_figures(result) if figures is None else figures
    made = result.counterfactuals
    folds, metric = result.verdict.folds, result.verdict.metric
    weighted, train_rows = result.data.weights is not None, len(result.split.train)
    page = rendered(
        "report.html.j2",
        script="report.js",
        contents_mark=_CONTENTS,
        name=name,
        description=description,
        svg=page_graph(result.certificate.graph, result.certificate.features),
        marks={mark for _, _, mark in result.certificate.graph.edges},
        circles=any("o" in mark for _, _, mark in result.certificate.graph.edges),
        record_json=record_json,
        spec_yaml=spec_yaml,
        result=result,
        decision=DECISIONS[result.verdict.decision],
        verdict_sentence=verdict_sentence(result.verdict),
        handed_over=handed_over(result),
        tiles=tuple(_tiles(result)),
        data_sentence=" ".join((data_sentence(result), *time_sentences(result.time))),
        partition_sentence=partition_sentence(result),
        licence_sentence=licence_sentence(result),
        nothing_made=nothing_sentence(result.verdict),
        rows_sentence="" if made is None else rows_sentence(made, train_rows, weighted=weighted),
        moves=tuple(_moves(result)),
        tuning=tuning_parts(result),
        gate_sentence=gate_sentence(result.verdict),
        p_value_sentence=p_value_sentence(result.verdict),
        turning=turning_sentences(result),
        loss=f"{'weighted ' if weighted else ''}{loss_unit(metric, result.split.train.target)}",
        gate_figure=figures["gate"].svg if folds else "",
        folds=tuple(_fold(fold) for fold in folds),
        mean=_mean(folds) if folds else (),
        fold_times=fold_time_sentences(result.time),
        fold_spans=fold_spans(result),
        score_sentences=score_sentences(result),
        score_figure="" if result.score.interval_percent is None else figures["test"].svg,
        ensemble_rows=() if result.ensemble is None else ensemble_rows(result.ensemble),
        ensemble_sentences=ensemble_sentences(result),
        ensemble_figure="" if result.ensemble is None else ensemble_figure(result.ensemble).svg,
        columns=tuple(_columns(result)),
        settings=tuple((key, str(value)) for key, value in sorted(result.settings.items())),
        rows=rows_part(result, figures),
        **causal_parts(result),
    )
    return page.replace(_CONTENTS, _contents(page), 1)


def _contents(page: str) -> str:
    """Links to the sections that this page has; their titles are the template's own words, never data."""
    links = "".join(f'<li><a href="#{place}">{title}</a></li>\n' for place, title in _HEADING.findall(page))
    return f'<nav class="contents" aria-label="On this page">\n<ul>\n{links}</ul>\n</nav>'


def _tiles(result: RunResult) -> Iterator[_Tile]:
    """The figures that a reader in a hurry wants."""
    certificate, verdict, score = result.certificate, result.verdict, result.score
    yield _Tile(f"{len(result.split.train)} + {len(result.split.test)}", "training + test rows")
    moved = sum(movement.moves == "moves" for movement in result.movements)
    carried = any(movement.licence == "support" for movement in result.movements)
    yield _Tile(
        f"{moved} of {len(certificate.features)}", "features move, without noise" if carried else "features move"
    )
    yield _Tile(str(0 if result.counterfactuals is None else len(result.counterfactuals)), "synthetic rows")
    if verdict.effect_percent is not None:
        yield _Tile(f"{percent(verdict.effect_percent)} %", f"mean fold {verdict.metric.upper()} in the gate")
    if score.change_percent is not None:
        used = "" if verdict.uses_augmented else " (not used)"
        yield _Tile(f"{percent(score.change_percent)} %", f"test {score.metric.upper()}, augmented{used}")
    else:
        yield _Tile(number(score.plain), f"test {score.metric.upper()}, plain model")


def _moves(result: RunResult) -> Iterator[_Move]:
    """The moved features, then those that followed them."""
    made = result.counterfactuals
    if made is None:
        return
    train, action = result.split.train, made.action
    told = {name: policy_sentence(made, name) for name in action.moved}
    told |= {name: propagation_sentence(made, name) for name in action.propagated if name not in told}
    for index, (name, sentence) in enumerate(told.items()):
        position = train.names.index(name)
        column = train.features[position]
        drawn = index < MOST_FIGURES
        figure = feature_figure(train.x[:, position], action.x[:, position], column).svg if drawn else ""
        yield _Move(in_unit(name, column.unit), _capital(sentence), figure)


def _capital(sentence: str) -> str:
    return sentence[:1].upper() + sentence[1:]


def _fold(fold: FoldResult) -> tuple[str, ...]:
    """fold, rows held out, synthetic rows, plain, augmented, change."""
    return (str(fold.fold), str(fold.held_out_rows), str(fold.synthetic_rows), *_losses(fold.plain, fold.augmented))


def _mean(folds: Sequence[FoldResult]) -> tuple[str, ...]:
    """The last row of the same table."""
    plain = sum(fold.plain for fold in folds) / len(folds)
    augmented = sum(fold.augmented for fold in folds) / len(folds)
    return ("mean", "", "", *_losses(plain, augmented))


def _losses(plain: float, augmented: float) -> tuple[str, str, str]:
    moved = change(plain, augmented)
    return number(plain), number(augmented), "n/a" if moved is None else percent(moved)


def _columns(result: RunResult) -> Iterator[_ColumnRow]:
    train = result.split.train
    for column, role in [(train.target, "target"), *((column, "feature") for column in train.features)]:
        yield _ColumnRow(
            name=shown(column.name),
            role=role,
            type=column.type,
            unit=shown(column.unit or ""),
            promise=_promise(column),
            origin="inferred" if column.inferred else "declared",
            missing=_missing(result.data, column.name),
        )


def _missing(data: DataReport, name: str) -> str:
    cells = data.missing.get(name, 0)
    return f"{cells} ({share(cells / data.rows_read)})" if cells else ""


def _promise(column: Column) -> str:
    """What a column's values may be, in words."""
    if column.labels is not None:
        labels = ", ".join(shown(label) for label in column.labels[:12])
        return f"one of {labels}" + (f" and {len(column.labels) - 12} more" if len(column.labels) > 12 else "")
    if column.allowed is not None:
        return "one of " + ", ".join(setting(value) for value in column.allowed[:12])
    bounds = [
        f"{word} {setting(value)}"
        for word, value in (("at least", column.minimum), ("at most", column.maximum))
        if value is not None
    ]
    return ", ".join(bounds)
