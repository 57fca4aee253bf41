"""One page that explains a run to someone who was not there: no network, light and dark, no script but our own."""

from __future__ import annotations

import base64
import hashlib
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from importlib import resources

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from crda_spec.records import Column, FeatureVerdict, Movement, RunResult, Study
from crda_spec.report.figures import Picture, ensemble_figure, run_figures, sensitivity_figure, trials_figure
from crda_spec.report.graph_draw import anchors, run_graph_svg
from crda_spec.report.svg import FONT, palette
from crda_spec.report.words import brief, causal, gate, numbers, run
from crda_spec.report.words.numbers import in_unit, number, percent, setting, share, shown

MOST_STATEMENTS = 12
MOST_MAPS = 12

# By name of the figure (several share one up to their number): what to see in it.
CAPTIONS = {
    "rows_plane": "rings far from every grey dot are rows where no real row is, and where the teacher guesses. In "
    "brackets, the share of the variance of the standardised features.",
    "rows_pair": "whether the rings keep to the shape of the grey cloud, or break a tie that the data have.",
    "teacher_effects": "the teacher's mean word along each moved feature. A feature called irrelevant should be a flat "
    "line; the number also counts effects that differ from row to row.",
    "average_effects": "if the column alone were set, given the graph: the teacher's mean change of the target for one "
    "standard deviation more, or one label instead of another. The bar holds 8 of 10 rows. It is no statement about "
    "prediction.",
    "noise_quantiles": "on the line, the new rows carry noise like the real ones; flatter, they carry less.",
    "error_quantiles": "flatter than the line means smaller errors; a bend at an end means that the largest errors "
    "changed.",
}


def rendered(template: str, *, script: str = "", **values: object) -> str:
    """A page from its template; `script` names a file beside it, and the page forbids every other script."""
    files = resources.files("crda_spec.report") / "templates"
    text = "\n" + (files / script).read_text(encoding="utf-8") if script else ""
    digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
    return (
        _environment()
        .get_template(template)
        .render(colours=palette(":root"), font=FONT, script=text, script_hash=f"sha256-{digest}", **values)
    )


@cache
def _environment() -> Environment:
    """Templates ask the modules of words for their sentences."""
    environment = Environment(
        loader=PackageLoader("crda_spec.report", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        finalize=_finalize,
    )
    environment.globals |= {"brief": brief, "causal": causal, "gate": gate, "numbers": numbers, "run": run}
    environment.filters |= {"shown": shown, "coded": _coded}
    return environment


def _finalize(value: object) -> object:
    """What every value of the template passes before it is escaped: unseen characters become visible.

    Line breaks and tabs stay, for the spec and the record. Markup (a subclass of str) is our own and stays as it is.
    """
    return shown(value, keep="\n\t") if type(value) is str else value


def _coded(text: str) -> Markup:
    """A sentence as markup: what stands between two backticks is code."""
    parts = shown(text).split("`")
    if len(parts) % 2 == 0:  # a lone one belongs to somebody's name
        return escape(shown(text))
    marked = (Markup("<code>{}</code>").format(part) if at % 2 else escape(part) for at, part in enumerate(parts))
    return Markup("").join(marked)


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
    return rendered(
        "report.html.j2",
        script="report.js",
        name=name,
        description=description,
        record_json=record_json,
        spec_yaml=spec_yaml,
        result=result,
        figures=figures,
        svg=run_graph_svg(result, linked=True),
        contradicted=causal.is_contradicted(result),
        facts=tuple(_facts(result, record_json)),
        accuracy=brief.accuracy_table(result) if result.score is not None else (),
        bars=tuple(_bars(result)),
        groups=brief.feature_groups(result),
        checks=brief.checks(result),
        features=tuple(_features(result)),
        most_statements=MOST_STATEMENTS,
        moves=tuple(_moves(result, figures)),
        moved_rows=tuple(_moved_rows(result)),
        captioned=tuple(
            (picture.svg, CAPTIONS[kind])
            for title, picture in figures.items()
            if (kind := title.rstrip("_0123456789")) in CAPTIONS
        ),
        sensitivity=tuple(_sensitivity(result)),
        trials_figure=tuning_figure(result.studies) if result.studies else "",
        ensemble_figure=_ensemble_figure(result),
        columns=tuple(_columns(result)),
    )


def _bars(result: RunResult) -> Iterator[tuple[str, float, str]]:
    """Of each control, then of the whole recipe: who it is, its change, and its bar's length in percent of the room."""
    changes = run.control_changes(result)
    longest = max((abs(change) for _, change in changes if math.isfinite(change)), default=0.0)
    for words, change in changes:
        length = 100.0 if not math.isfinite(change) else 100.0 * abs(change) / longest if longest else 0.0
        yield words, change, f"{length:.1f}"


_SHORT = 16  # letters of a hash that are enough to compare by eye; the folded record has it whole


def _facts(result: RunResult, record_json: str) -> Iterator[tuple[str, str]]:
    """The box at the top: what was run on what, by label.

    The record that this page holds is complete but for the hashes of files, the page's own among them, and its volatile
    part. So the seal is that of the text below: whoever draws the page again from the folder, as `verify` does, gets
    the same one. What is known only once the page is written, its folder and the day, is no part of its bytes: its
    script reads both from the place where the page lies.
    """
    record, target = json.loads(record_json), result.split.train.target
    models = "" if result.ensemble is None else f", mean of {result.ensemble.models}"
    yield "Target", in_unit(target.name, target.unit)
    yield "Model", f"{result.settings.get('kind', '')}{models}"
    if "spec" in record:
        resolved = record["spec"]["resolved"]
        maker = (resolved.get("augmenter") or {}).get("kind")
        yield "Recipe", f"{run.recipe_words(resolved.get('recipe') or 'none', maker)}, seed {record['seed']}"
        yield "Version", f"crda-spec {record['versions']['crda-spec']}"
    test = "no" if result.score is None else f"{result.score.rows:,}"
    yield "Rows", f"{len(result.split.train):,} training, {test} test"
    yield "Data SHA-256", result.data.sha256[:_SHORT]
    yield "Seal of the record", hashlib.sha256(record_json.encode()).hexdigest()[:_SHORT]


def run_glance(result: RunResult) -> str:
    """A run at a glance, for notebooks: a piece of a page, without scripts."""
    return rendered("glance.html.j2", result=result, tiles=tuple(_tiles(result)), svg=run_graph_svg(result))


def _tiles(result: RunResult) -> Iterator[tuple[str, str]]:
    """The figures that a reader in a hurry wants: (value, label)."""
    verdict, score = result.verdict, result.score
    gated: tuple[tuple[str, str], ...] = ()
    if verdict.effect_percent is not None:
        gated = ((f"{percent(verdict.effect_percent)} %", f"mean fold {verdict.metric.upper()} in the gate"),)
    if score is None:  # only the gate's estimate stands
        yield from gated
    yield run.rows_tile(result)
    moved = sum(movement.moves == "moves" for movement in result.movements)
    noise = ", without noise" if causal.moved_without_noise(result) else ""
    yield f"{moved} of {len(result.certificate.features)}", f"features move{noise}"
    yield str(0 if result.counterfactuals is None else len(result.counterfactuals)), "synthetic rows"
    if score is None:
        return
    yield from gated
    if score.change_percent is not None:
        used = "" if verdict.uses_augmented else " (not used)"
        yield f"{percent(score.change_percent)} %", f"test {score.metric.upper()}, augmented{used}"
    else:
        yield number(score.plain), f"test {score.metric.upper()}, plain model"


def _features(result: RunResult) -> Iterator[tuple[str, FeatureVerdict, Movement, str, str]]:
    """Place in the page, verdict, movement, unit, reason; those that move come first, as on the terminal.

    A reason that is the same but for the feature's name is written once.
    """
    first: dict[str, str] = {}
    units = {column.name: column.unit or "" for column in result.split.train.features}
    places = anchors(result.certificate.features)
    movements = {movement.name: movement for movement in result.movements}
    for verdict in causal.moving_first(result):
        reason = shown(causal.reason_sentence(verdict.reason))
        same = first.setdefault(reason.replace(shown(verdict.name), ""), verdict.name)
        reason = reason if same == verdict.name else f"as for {shown(same)}"
        yield places[verdict.name], verdict, movements[verdict.name], units.get(verdict.name, ""), reason


def _moves(result: RunResult, figures: Mapping[str, Picture]) -> Iterator[tuple[str, str, str]]:
    """The moved features, then those that followed them: name, what was done, and a picture ("" past the limit)."""
    made = result.counterfactuals
    if made is None:
        return
    train, action = result.split.train, made.action
    sentences = {name: run.policy_sentence(made, name) for name in action.moved}
    sentences |= {name: run.propagation_sentence(made, name) for name in action.propagated if name not in sentences}
    for place, (name, sentence) in enumerate(sentences.items(), start=1):
        drawn = figures.get(f"feature_{place}")
        unit = train.features[train.names.index(name)].unit
        yield in_unit(name, unit), sentence[:1].upper() + sentence[1:], "" if drawn is None else drawn.svg


def _moved_rows(result: RunResult) -> Iterator[tuple[str, ...]]:
    """Name, rows changed, median and far move, move in standard deviations, the teacher's change."""
    units = {column.name: column.unit for column in result.split.train.features}
    for one in () if result.diagnostics is None else result.diagnostics.moved:
        moves = ("" if value is None else number(value, 3) for value in (one.median, one.far, one.in_sd))
        yield in_unit(one.name, units[one.name]), share(one.changed), *moves, share(one.effect)


def _sensitivity(result: RunResult) -> Iterator[tuple[str, str, str, str, str]]:
    """Moved feature, how far, what a hidden cause must explain, its yardstick, and a map ("" where there is none)."""
    target = result.split.train.target.name
    units = {column.name: column.unit for column in result.split.train.features}
    found = () if result.sensitivity is None else result.sensitivity.features
    if not any(math.isfinite(feature.limit) for feature in found):
        return  # nothing that moved can spoil a label, so that there is no number to list
    for index, feature in enumerate(found):
        drawn = 0 < feature.limit < math.inf and index < MOST_MAPS
        yield (
            in_unit(feature.name, units.get(feature.name)),
            number(feature.moved_sd),
            share(feature.robustness) if math.isfinite(feature.limit) else "",
            causal.yardstick_words(feature, target),
            sensitivity_figure(feature, target).svg if drawn else "",
        )


def _ensemble_figure(result: RunResult) -> str:
    """What the ensemble gives; "" without one, or without test rows to compare it on."""
    if result.ensemble is None or result.score is None:
        return ""
    return ensemble_figure(result.ensemble, result.score.metric).svg


def tuning_figure(studies: Sequence[Study]) -> str:
    """The trials of the search on all rows."""
    return trials_figure(run.shown_study(studies)).svg


def _columns(result: RunResult) -> Iterator[tuple[str, ...]]:
    """Of each column: name, role, type, unit, values, who says so, and the missing cells of those that were read."""
    train, data = result.split.train, result.data
    for column in (train.target, *train.features):
        role, origin = "target" if column is train.target else "feature", "inferred" if column.inferred else "declared"
        cells = data.missing.get(column.name, 0)
        missing = f"{cells} ({share(cells / data.rows_read)})" if cells else ""
        yield shown(column.name), role, column.type, shown(column.unit or ""), _promise(column), origin, missing


def _promise(column: Column) -> str:
    """What a column's values may be, in words."""
    if column.labels is not None:
        labels = ", ".join(shown(label) for label in column.labels[:12])
        return f"one of {labels}" + (f" and {len(column.labels) - 12} more" if len(column.labels) > 12 else "")
    if column.allowed is not None:
        return "one of " + ", ".join(setting(value) for value in column.allowed[:12])
    bounds = (("at least", column.minimum), ("at most", column.maximum))
    return ", ".join(f"{word} {setting(value)}" for word, value in bounds if value is not None)
