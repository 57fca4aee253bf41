"""The tables of docs/evidence and the figures of the README, rendered from benchmarks/results/*.json.

`TABLES` maps a name to what renders it. A page asks for one with `<!-- made by: the table NAME -->`, and `build.py`
writes it there. A figure that has not been measured is a dash, so that a benchmark may be repeated in part.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).resolve().parents[1] / "benchmarks" / "results"
Figures = Mapping[str, Any]
Say = Callable[[Figures, str], str]
DASH = "-"


def read(name: str) -> Figures:
    """The figures of a benchmark."""
    found: Figures = json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))["figures"]
    return found


def table(name: str, header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table, and below it where its figures come from."""
    lines = [_line(header), _line(["---"] * len(header)), *(_line(row) for row in rows)]
    return "\n".join([*lines, "", source(name), ""])


def source(name: str) -> str:
    """Which benchmark, when, and how to repeat it."""
    date = json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))["date"]
    return f"*`python benchmarks/{name}.py`, {date}.*"


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def change(figures: Figures, key: str, *, error: bool = False) -> str:
    """A change in percent; with its standard error where that was kept."""
    if figures.get(key) is None:
        return DASH
    spread = f" ± {figures[f'{key}_se']:.1f}" if error and f"{key}_se" in figures else ""
    return f"{figures[key]:+.1f}{spread} %"


def points(figures: Figures, key: str) -> str:
    """A difference of two changes, with its standard error."""
    return DASH if figures.get(key) is None else change(figures, key, error=True).removesuffix(" %")


def percent(figures: Figures, key: str) -> str:
    """A number that is in percent already."""
    return DASH if figures.get(key) is None else f"{figures[key]:.1f} %"


def share(figures: Figures, key: str) -> str:
    """A share, and its 95 % interval where that was kept."""
    if figures.get(key) is None:
        return DASH
    low, high = figures.get(f"{key}_interval", (None, None))
    between = "" if low is None else f" ({100 * low:.1f} to {100 * high:.1f})"
    return f"{100 * figures[key]:.1f} %{between}"


def number(figures: Figures, key: str, *, form: str = ".3g") -> str:
    """A plain number."""
    return DASH if figures.get(key) is None else format(figures[key], form)


def grid(name: str, say: Say, rows: Mapping[str, str], columns: Mapping[str, str], key: str, corner: str = "") -> str:
    """A cell for each row and column, where `key` puts the row's and the column's word into the figure's name."""
    figures = read(name)
    body = (
        [label, *(say(figures, key.format(row=row, column=column)) for column in columns)]
        for row, label in rows.items()
    )
    return table(name, [corner, *columns.values()], body)


KINDS = {"mlp": "mlp", "xgb": "xgboost"}
NINE = {
    "concrete_strength": "Concrete Strength",
    "cpu_performance": "CPU Performance",
    "energy_efficiency": "Energy Efficiency",
    "house_price": "House Price",
    "parkinsons_monitoring": "Parkinson's Monitoring",
    "satellite_image": "Satellite Image",
    "synthetic_regression": "Synthetic Regression",
    "wind_power": "Wind Power",
    "wine_quality": "Wine Quality",
}


# The README's three figures.


def readme() -> str:
    """Three reasons, with their figures."""
    recipes, known, real, asked = (read(name) for name in ("recipes", "known_graph", "real_graph", "whatif"))
    worse = sum(9 - recipes[f"{kind}_distilled_gated_better"] for kind in KINDS)
    kept = "no table gets worse on average" if not worse else f"{worse} of 18 cells get worse"
    gained = [-known[key] for kind in KINDS for key in known if key in _sizes(f"graph_points_{kind}")]
    nearly = [-real[key] for kind in KINDS for key in real if key in _sizes(f"graph_points_{kind}")]
    trees = change(recipes, "xgb_distilled_gated")
    helps = (
        "- **It helps, and you see when it does not.** The paper's nine tables, one gated model against one plain "
        f"model: test MSE {change(recipes, 'mlp_distilled_gated')} (mlp) and {trees} (XGBoost); {kept} "
        "([measured](docs/evidence/recipes.md))."
    )
    pays = (
        f"- **Your graph pays.** Where the true graph is known, a further {min(gained):.0f} to {max(gained):.0f} "
        f"points; on a real table whose graph is only nearly right, {min(nearly):.1f} to {max(nearly):.1f} "
        "([measured](docs/evidence/graph.md))."
    )
    checked = (
        f"- **Answers can be checked.** {100 * asked['coverage_90']:.0f} % of {asked['coverage_90_runs']} what-if "
        "intervals at 90 % hold the true difference ([measured](docs/evidence/what-if.md)); `crda-spec verify` "
        "recomputes a run."
    )
    lines = (helps, pays, checked)
    return "".join(f"{wrapped(line)}\n" for line in lines)


def _sizes(key: str) -> tuple[str, ...]:
    return tuple(f"{key}_{rows}" for rows in (100, 200, 400))


def wrapped(text: str, width: int = 120) -> str:
    """A list's item, its further lines indented; no line begins with what Markdown would read as a list."""
    lines, line = [], ""
    for word in text.split():
        if line and len(line) + 1 + len(word) > width:
            lines.append(line)
            line = f"  {word}"
        else:
            line = f"{line} {word}" if line else word
    return "\n".join([*lines, line])


# What the recipes give.

RECIPES = {
    "paper": "`paper`",
    "distilled": "**`distilled`**",
    "distilled_gated": "**the same, gated**",
    "distilled_expected": "expected of one model",
    "distilled_expected_gated": "the same, gated",
    "distilled_cv": "what the gate saw",
    "plain_ensemble": "ten plain models",
    "teacher": "the teacher (a committee)",
}


def recipes(kind: str) -> str:
    """One kind of student: mean, geometric mean and worst table."""
    figures = read("recipes")

    def row(key: str, label: str) -> list[str]:
        better = figures.get(f"{key}_better")
        return [
            label,
            change(figures, key, error=True),
            change(figures, f"{key}_geometric"),
            change(figures, f"{key}_worst_table"),
            DASH if better is None else f"{better} of 9",
        ]

    header = [KINDS[kind], "mean", "geometric mean", "worst table", "tables that gain"]
    return table("recipes", header, (row(f"{kind}_{one}", label) for one, label in RECIPES.items()))


def recipes_by_table() -> str:
    """The gated recipe and its teacher, table by table."""
    figures = read("recipes")
    keys = [f"{kind}_{what}" for kind in KINDS for what in ("paper", "distilled_gated", "teacher")]
    header = ["table", *(f"{KINDS[kind]}, {what}" for kind in KINDS for what in ("`paper`", "gated", "teacher"))]
    body = ([label, *(change(figures.get(f"{key}_tables", {}), one) for key in keys)] for one, label in NINE.items())
    return table("recipes", header, body)


def acceptance() -> str:
    """How often the gate accepted."""
    figures = read("recipes")
    rows = (
        [name, share(figures, f"{kind}_accepted"), str(figures.get(f"{kind}_gated_seeds", DASH))]
        for kind, name in KINDS.items()
    )
    return table("recipes", ["student", "accepted", "splits"], rows)


CERTIFIED = {
    "{kind}_plain_boundary_{rows}": "plain model of the columns that matter",
    "{kind}_distilled_{rows}": "`distilled`",
    "{kind}_certified_{rows}": "**`certified`**",
    "{kind}_teacher_{rows}": "the teacher",
    "graph_points_{kind}_{rows}": "`certified` minus `distilled`, points",
    "{kind}_wrong_lost_{rows}": "wrong graph, minus `distilled`: a cause lost",
    "{kind}_wrong_extra_{rows}": "an arrow too many",
    "{kind}_wrong_turned_{rows}": "a cause's arrow turned round",
    "{kind}_wrong_undrawn_{rows}": "a hidden cause not drawn",
}


def known_graph() -> str:
    """Worlds whose graph is known: right graphs and wrong ones."""
    figures = read("known_graph")
    sizes = [rows for rows in (100, 200, 400) if f"mlp_certified_{rows}" in figures]
    columns = [(kind, rows) for kind in KINDS for rows in sizes]

    def cell(key: str, kind: str, rows: int) -> str:
        name = key.format(kind=kind, rows=rows)
        return points(figures, name) if "points" in key or "wrong" in key else change(figures, name)

    body = ([label, *(cell(key, *one) for one in columns)] for key, label in CERTIFIED.items())
    seeds = [["seeds, right graph / wrong graphs", *(_seeds(figures, *one) for one in columns)]]
    return table("known_graph", ["", *(f"{KINDS[kind]}, {rows} rows" for kind, rows in columns)], [*body, *seeds])


def _seeds(figures: Figures, kind: str, rows: int) -> str:
    return f"{figures.get(f'seeds_{kind}_{rows}', DASH)} / {figures.get(f'wrong_seeds_{kind}_{rows}', DASH)}"


def known_graph_shift() -> str:
    """The same models where the irrelevant columns have lost their ties."""
    rows = {"plain_boundary": "plain model of the columns that matter", "distilled": "`distilled`"}
    return grid(
        "known_graph",
        change,
        rows | {"certified": "**`certified`**"},
        KINDS,
        "{column}_{row}_shift",
        "shuffled at test",
    )


def trusted() -> str:
    """How often the rows bear a graph out."""
    graphs = {
        "right": "right graph",
        "lost": "a cause lost",
        "extra": "an arrow too many",
        "turned": "an arrow turned round",
        "undrawn": "a hidden cause not drawn",
    }
    return grid("known_graph", percent, graphs, KINDS, "trusted_{column}_{row}", "trusted")


def real_graph() -> str:
    """Cells of Sachs et al., whose graph is only nearly right."""
    figures = read("real_graph")
    columns = [(kind, rows) for kind in KINDS for rows in (100, 200)]
    keys = {
        "{kind}_plain_boundary_{rows}": "plain model of the graph's columns",
        "{kind}_distilled_{rows}": "`distilled`",
        "{kind}_certified_{rows}": "**`certified`**",
        "graph_points_{kind}_{rows}": "`certified` minus `distilled`, points",
        "turned_points_{kind}_{rows}": "the same with every arrow turned round, points",
        "{kind}_committee_{rows}": "the teacher of `distilled`",
        "{kind}_hedged_{rows}": "the teacher of `certified`",
    }

    def cell(key: str, kind: str, rows: int) -> str:
        return (points if "points" in key else change)(figures, key.format(kind=kind, rows=rows))

    body = ([label, *(cell(key, *one) for one in columns)] for key, label in keys.items())
    return table("real_graph", ["", *(f"{KINDS[kind]}, {rows} rows" for kind, rows in columns)], body)


def added_columns() -> str:
    """The nine tables with columns added that are known to be irrelevant."""
    figures = read("added_columns")
    columns = [(kind, rows) for kind in KINDS for rows in (100, 200)]
    keys = {
        "{kind}_plain_boundary_{rows}": "plain model without the added columns",
        "{kind}_distilled_{rows}": "`distilled`",
        "{kind}_certified_{rows}": "**`certified`**",
        "graph_points_{kind}_{rows}": "`certified` minus `distilled`, points",
        "{kind}_worst_{rows}": "the same on the worst table, points",
        "{kind}_wrong_lost_{rows}": "wrong graph, a cause lost, minus `distilled`, points",
    }

    def cell(key: str, kind: str, rows: int) -> str:
        compared = any(part in key for part in ("points", "worst", "wrong"))
        return (points if compared else change)(figures, key.format(kind=kind, rows=rows))

    body = ([label, *(cell(key, *one) for one in columns)] for key, label in keys.items())
    return table("added_columns", ["", *(f"{KINDS[kind]}, {rows} rows" for kind, rows in columns)], body)


def quantiles() -> str:
    """The 0.9-quantile: pinball loss, and the share of rows below the prediction."""
    places = {
        "wide_100": "`wide`, 100 rows",
        "wide_300": "`wide`, 300",
        "skewed_100": "`skewed`, 100",
        "skewed_300": "`skewed`, 300",
        "concrete_strength": "Concrete Strength",
        "house_price": "House Price",
    }
    losses = {
        "goal": "**`goal: quantiles`**",
        "own": "the row's own noise (`residual_draw: own`)",
        "scaled": "`noise: {kind: location_scale}`",
        "half": "retention 0.5",
        "none": "retention 0",
    }
    figures = read("quantiles")
    body = [
        [label, *(change(figures, f"{place}_{key}", error=True) for place in places)] for key, label in losses.items()
    ]
    below = {"plain": "plain", "goal": "`goal: quantiles`", "none": "retention 0"}
    body += [
        [f"rows below: {label}", *(percent(figures, f"{place}_coverage_{key}") for place in places)]
        for key, label in below.items()
    ]
    return table("quantiles", ["", *places.values()], body)


PEERS = {
    "ours_committee": "our committee of 25 models",
    "ours": "our student: mlp or xgboost, whichever the gate preferred",
    "ours_mlp": "our mlp student, gated",
    "ours_xgboost": "our xgboost student, gated",
    "plain_xgboost": "our plain xgboost",
    "catboost": "CatBoost",
    "catboost_tuned": "CatBoost, tuned",
    "lightgbm": "LightGBM",
    "lightgbm_tuned": "LightGBM, tuned",
    "xgboost": "XGBoost",
    "xgboost_tuned": "XGBoost, tuned",
    "random_forest": "random forest",
}


def peers() -> str:
    """Other models people would pick, each size that was measured; the best first."""
    figures = read("peers")
    sizes = [rows for rows in (100, 300, 1000) if f"change_ours_{rows}" in figures]
    known = [one for one in PEERS if f"change_{one}_{sizes[0]}" in figures]
    rest = sorted(
        key.removeprefix("change_").removesuffix(f"_{sizes[0]}") for key in figures if _is_peer(key, sizes[0])
    )
    order = sorted({*known, *rest}, key=lambda one: float(figures[f"change_{one}_{sizes[0]}"]))
    words = ("ours against it", "ours is better on", "seconds")
    header = ["", *(word for rows in sizes for word in (f"{rows} rows", *words))]

    def cells(one: str, rows: int) -> list[str]:
        ahead = figures.get(f"ours_better_than_{one}_{rows}")
        return [
            change(figures, f"change_{one}_{rows}"),
            _against(figures, f"ours_vs_{one}_{rows}"),
            "" if ahead is None else f"{ahead} of {figures['cells'] // figures['splits'] // len(sizes)}",
            number(figures, f"seconds_{one}_{rows}", form=".1f"),
        ]

    body = (
        [PEERS.get(one, one.replace("_", " ")), *(cell for rows in sizes for cell in cells(one, rows))] for one in order
    )
    return table("peers", header, body)


def _against(figures: Figures, key: str) -> str:
    """A geometric mean of ratios; its error is one of logarithms, so in percent only about right."""
    return "" if figures.get(key) is None else f"{figures[key]:+.1f} ± {100 * figures[f'{key}_se']:.0f} %"


def _is_peer(key: str, rows: int) -> bool:
    return key.startswith("change_") and key.endswith(f"_{rows}")


def overhead() -> str:
    """Processor time of the recipes against the paper's."""
    columns = {"": "1000 rows, 20 features", "_4000": "4000 rows", "_40_features": "40 features"}
    rows = {"distilled": "`distilled`", "certified": "`certified`"}
    return grid("overhead", partial(number, form=".2f"), rows, columns, "cpu_{row}_vs_paper{column}", "times `paper`")


# How the recipes were chosen.

STUDY = {
    "teacher": "the teacher itself",
    "recipe": "**the recipe**",
    "factor_4": "factor 4",
    "factor_15": "factor 15",
    "weight_0.3": "weight 0.3",
    "weight_1": "weight 1",
    "watch_real": "early stopping watches real rows",
    "own_kind_teaches": "taught by ten models of its own kind",
    "all_move": "no row stays",
    "all_move_unguarded": "no row stays, no guard",
    "none_moves": "all rows stay: real rows, labelled again",
    "resampled": "one feature resampled",
    "resampled_guarded": "the same, guarded",
    "resampled_from_a_similar_row": "resampled from a similar row",
    "interpolated_near": "interpolated towards near rows",
    "interpolated_any": "interpolated towards any row",
    "interpolated_any_guarded": "guarded",
    "jittered_0.1": "all features jittered by 0.1 sd",
    "jittered_0.1_guarded": "the same, guarded",
}


def recipe_study(kind: str) -> str:
    """Each line changes one thing in the recipe."""
    figures = read("recipe_study")
    rows = (
        [
            label,
            change(figures, f"{kind}_{key}_nine"),
            change(figures, f"{kind}_{key}_nine_geometric"),
            str(figures[f"{kind}_{key}_nine_better"]),
        ]
        for key, label in STUDY.items()
        if f"{kind}_{key}_nine" in figures
    )
    return table("recipe_study", [KINDS[kind], "mean of nine tables", "geometric mean", "tables that gain"], rows)


COMMITTEES = {
    "mlp": "one plain mlp",
    "xgboost": "xgboost",
    "wide": "mlp, two wide layers, averaged",
    "ridge": "ridge",
    "svr": "svr",
    "random_forest": "random_forest",
    "gaussian_process": "gaussian_process",
    "xgboost_wide": "xgboost, wide mlp",
    "xgboost_wide_ridge": "xgboost, wide mlp, ridge",
    "xgboost_wide_svr": "xgboost, wide mlp, svr",
    "xgboost_wide_forest": "xgboost, wide mlp, random_forest",
    "usual": "**xgboost, wide mlp, gaussian_process**",
    "usual_matern": "the same, kernel matern",
    "usual_rbf": "the same, kernel rbf",
    "usual_and_ridge": "the same, and ridge",
    "usual_without_trees": "the same without xgboost",
    "usual_without_network": "the same without the mlp",
}


def committees() -> str:
    """Kinds of models and committees of them."""
    figures = read("committees")
    rows = (
        [
            label,
            change(figures, f"{key}_nine"),
            change(figures, f"{key}_others"),
            number(figures, f"{key}_seconds", form=".2f"),
        ]
        for key, label in COMMITTEES.items()
    )
    return table("committees", ["members", "nine tables", "eight others", "seconds"], rows)


def signs() -> str:
    """Declared signs, right ones and wrong ones."""
    rows = {
        "tree": "a plain tree model that holds the signs",
        "teacher": "the committee",
        "student": "a student that does not hold them",
        "student_held": "a student that holds them",
    }
    columns = {"right": "right signs", "wrong": "one sign the wrong way round"}
    return grid("signs", partial(change, error=True), rows, columns, "{row}_{column}")


# Labels and rows.


def labels() -> str:
    """What each rule for noise is good for."""
    rules = ("plain", "none", "half", "own", "matched", "own_scaled")
    columns = {
        "mean": "error of the mean",
        "quantile": "error of the 0.9-quantile",
        "coverage": "coverage of 0.1 to 0.9 (right: 0.8)",
        "simulation": "distance of the noise to the truth",
        "moved_simulation": "the same, size changes with a",
    }
    three = partial(number, form=".3f")
    return grid("labels", three, {rule: f"`{rule}`" for rule in rules}, columns, "{row}_{column}", "rule")


def generation() -> str:
    """What `crda-spec generate` costs."""
    rows = {
        "": "teacher of five XGBoost models",
        "_noise": "the same, noise carried",
        "_single": "one XGBoost model",
        "_guarded": "five models, with a support guard",
    }
    columns = {"generation_ratio": "in memory", "file_ratio": "from file to file"}
    text = grid(
        "generation", partial(number, form=".2f"), rows, columns, "{column}{row}", "times the teacher's own time"
    )
    figures = read("generation")
    return f"{text}\nMaking {figures['peak_rows']:,} rows takes {figures['peak_mb']:.0f} MB.\n"


# The gate.

GATES = {
    "wilcoxon": "`wilcoxon` (default), 10 folds",
    "clustered": "`clustered`, 6 folds, 2 repeats",
    "bootstrap": "`bootstrap`, 10 folds",
    "corrected_t": "`corrected_t`, 10 folds",
    "sign": "`sign`, 10 folds",
    "five_by_two": "`five_by_two`",
    "published_research": "the research code's gate",
    "published_package": "the package's gate",
}


def gate_tests() -> str:
    """All gates on the same runs of single trees."""
    figures = read("gate_calibration")["tests"]
    columns = {
        "false_accept": "accepts what cannot help",
        "harm_accept": "accepts what hurts",
        "power": "accepts a true gain, 1000 rows",
        "power_300": "a true gain, 300 rows",
    }
    body = ([label, *(share(figures[key], column) for column in columns)] for key, label in GATES.items())
    return table("gate_calibration", ["gate", *columns.values()], body)


def gate_truth() -> str:
    """What was asked of the gates: how many runs, and by how much the error truly changes."""
    figures = read("gate_calibration")
    words = {
        "halves_1000": "cannot help: two models drawn alike (`halves`)",
        "rerolled_1000": "cannot help: two models drawn alike (`rerolled`)",
        "break_even_1000": "cannot help: good and harm cancel (`break_even`)",
        "permuted_1000": "hurts: permuted noise",
        "noisy_labels_1000": "hurts: too much label noise",
        "wrong_labels_1000": "hurts: wrong labels",
        "ten_percent_1000": "helps, 1000 rows",
        "ten_percent_300": "helps, 300 rows",
    }
    body = (
        [
            label,
            str(figures["runs"][key]),
            f"{figures['true_change'][key][0]:+.1f} ± {figures['true_change'][key][1]:.1f} %",
        ]
        for key, label in words.items()
    )
    return table("gate_calibration", ["augmentation", "runs", "true change of the error"], body)


def gate_trade_off() -> str:
    """What more fits buy."""
    figures = read("gate_calibration")["trade_off"]
    gates = ("wilcoxon", "clustered", "bootstrap", "corrected_t", "every_fold", "first_division")

    def cell(gate: str, shape: str) -> str:
        found = figures.get(f"{gate} {shape}")
        return DASH if found is None else f"{100 * found['false_accept']:.1f} %, {100 * found['power']:.0f} %"

    shapes = ("10x1", "6x2", "10x2", "20x1", "10x3")
    body = (
        [shape.replace("x", " x "), str(figures[f"wilcoxon {shape}"]["fits"]), *(cell(gate, shape) for gate in gates)]
        for shape in shapes
    )
    named = [
        f"`{gate}`" if gate not in ("every_fold", "first_division") else f"*{gate.replace('_', ' ')}*" for gate in gates
    ]
    return table("gate_calibration", ["folds x repeats", "fits", *named], body)


def gate_levels(setting: str) -> str:
    """False acceptances and power of one setting of `gate_levels`."""
    gates = {key: f"`{key}`" for key in ("wilcoxon", "clustered", "corrected_t", "bootstrap")}
    columns = {"false_accept": "accepts what cannot help", "power": "sees the gain"}
    return grid("gate_levels", share, gates, columns, f"{{column}}_{setting}_{{row}}", "gate")


def gate_best_of_ten() -> str:
    """Ten candidates that cannot help."""
    rows = {
        "_naive": "the best of ten, believed on the gate's own folds",
        "": "the best of ten, chosen inside the folds",
    }
    return grid("gate_levels", share, rows, {"": "accepted"}, "false_accept_best_of_ten{row}{column}")


def linear_study() -> str:
    """Ordinary least squares on the nine tables."""
    figures = read("linear_study")
    body = (
        [name, decision, f"{figures['paper'][name][0]:+.2f}", f"{figures['paper'][name][1]:.3f}"]
        for name, (decision, _) in figures["decisions"].items()
    )
    return table("linear_study", ["table", "our gate", "the paper's change, %", "the paper's p-value"], body)


# Falsification.

GIVEN = {
    "linear": "a - b",
    "step": "a threshold",
    "wave_2": "sin(2a)",
    "larger_of_two": "max(a, b)",
    "cells": "4 x 4 cells",
    "square_by_label": "a slope by category times a²",
    "product_of_three": "a b c",
    "lognormal": "products and ratios, lognormal",
    "cauchy": "Cauchy cause and noise",
    "logit": "a boolean with the odds of a + b",
}
SHAPES = GIVEN | {
    "wave_3": "sin(3a)",
    "chance": "a boolean with the odds of a wave",
    "band": "abs(a - b) > 1",
    "sawtooth": "sawtooth",
    "and_of_two": "and of two thresholds",
    "floor": "floor(a)",
    "threshold_by_label": "a threshold by category",
    "saturating": "1 - exp(-4a)",
    "ring": "a ring",
    "wave_of_product": "sin(2ab)",
    "spike": "a narrow spike",
    "counts": "counts with the rate of a wave",
    "smaller_times_sign": "the smaller of two, signed",
    "exclusive_or": "exclusive or of two thresholds",
    "wedge": "max(a - abs(b), 0)",
    "two_waves": "sin(2a) + sin(3b)",
    "four_given": "and of two thresholds + c d (four given)",
}


def falsify_graphs() -> str:
    """Graphs of four to eight features: right ones refuted, wrong ones found."""
    figures = read("falsification")
    rows = {f"_{key}": label for key, label in GIVEN.items()} | {"": "**all**"}
    asked = ("within", "arrow", "hidden")
    body = [[label, *(share(figures, f"{what}{key}_300") for what in asked)] for key, label in rows.items()]
    body.append(["all, by the first test alone", *(share(figures, f"first_{what}_300") for what in asked)])
    header = ["both columns depend on", "right graph refuted", "missing arrow found", "hidden cause found"]
    return table("falsification", header, body)


def falsify_shapes() -> str:
    """Small right graphs whose ends share what splines cannot follow."""
    figures = read("falsification")
    body = (
        [label, *(share({"x": figures.get(f"{first}refuted_{key}_{rows}")}, "x") for rows, first in _FOUR)]
        for key, label in SHAPES.items()
        if f"refuted_{key}_300" in figures
    )
    header = ["both ends depend on", *(f"{rows} rows, {'first test' if first else 'both'}" for rows, first in _FOUR)]
    return table("falsification", header, body)


_FOUR = ((300, "first_"), (300, ""), (2000, "first_"), (2000, ""))


def falsify_worlds() -> str:
    """Wrong graphs of the built-in worlds."""
    columns = {"1000": "1000 rows", "200": "200 rows"}
    rows = {
        "first_found": "found by the first test",
        "found": "found by both tests",
        "explained": "of these: no longer contradicted with the suggested arrows",
    }
    return grid("falsification", share, rows, columns, "{row}_{column}", "wrong graphs")


def falsify_cost() -> str:
    """The dearest case."""
    figures = read("falsification")
    rows = [["50 features, a wrong graph", str(figures["statements_50"]), number(figures, "seconds_50")]]
    return table("falsification", ["", "statements", "seconds"], rows)


# Screens and searches.

SCREENS = {key: f"`{key}`" for key in ("pearson", "spearman", "distance", "hsic", "mutual_information")}


def screens() -> str:
    """False alarms, ties found, cost."""
    figures = read("screens")
    body = (
        [
            label,
            share(figures, f"level_{key}"),
            share(figures, f"level_worst_{key}"),
            *(share(figures, f"power_{key}_{tie}") for tie in ("linear", "square", "spread")),
            number(figures, f"milliseconds_{key}"),
        ]
        for key, label in (SCREENS | {"joint": "joint check"}).items()
    )
    return table("screens", ["screen", "false alarms", "worst", "linear", "square", "spread", "ms"], body)


def joint_check() -> str:
    """An unmeasured column changes an effect."""
    columns = {
        "level_joint_effect": "of a kept feature, s = 0.5 (allowed)",
        "power_joint_effect_0.25": "of one that moves, s = 0.25",
        "power_joint_effect_0.5": "s = 0.5",
        "power_joint_effect_1.0": "s = 1",
    }
    return grid("screens", share, {"200": "200", "1000": "1000"}, columns, "{column}_{row}", "rows")


def mixed_test() -> str:
    """The searches' test for numbers beside labels."""
    columns = {
        "level_mixed": "false alarms",
        "level_straight": "false alarms, straight line only",
        "power_mixed": "tie found",
        "power_straight": "tie found, straight line only",
    }
    return grid("screens", share, {"300": "300", "1000": "1000"}, columns, "{column}_{row}", "rows")


PAPER_TABLE_8 = {  # selected and rejected, as the paper prints them; then the number of features
    "house": ("House Price", "0.0056 / 0.0155", 7),
    "energy": ("Energy Efficiency", "0.0054 / 0.0160", 9),
    "parkinsons": ("Parkinson's Monitoring", "0.0054 / 0.0103", 20),
    "synthetic": ("Synthetic Regression", "0.0073 / 0.0136", 10),
    "concrete": ("Concrete Strength", "0.0203 / 0.0320", 8),
    "cpu": ("CPU Performance", "0.0136 / 0.0144", 12),
    "wine": ("Wine Quality", "0.0110 / 0.0136", 11),
    "wind": ("Wind Power", "0.0065 / 0.0084", 14),
    "satellite": ("Satellite Image", "0.1031 / 0.1149", 36),
}


def table8() -> str:
    """The paper's Table 8, and what each screen lets pass."""
    figures = read("table8")
    four = partial(number, form=".4f")
    body = (
        [
            name,
            printed,
            f"{four(figures, f'mi_selected_out_{key}')} / {four(figures, f'mi_rejected_out_{key}')}",
            *(number(figures, f"passed_{one}_{key}") for one in ("pearson", "spearman", "distance", "hsic")),
            str(features),
            number(figures, f"joint_p_{key}", form=".1g"),
        ]
        for key, (name, printed, features) in PAPER_TABLE_8.items()
    )
    passes = [f"`{one}` lets pass" for one in ("pearson", "spearman", "distance", "hsic")]
    header = ["table", "paper: selected / rejected", "ours: selected / rejected", *passes, "of", "joint check, p"]
    return table("table8", header, body)


def pc_speed() -> str:
    """Our PC beside two others."""
    figures = read("pc_speed")
    rows = [
        ["38 columns of the satellite table", f"{number(figures, 'seconds_ours_38')} s"],
        ["against causal-learn", f"{number(figures, 'speedup_causal_learn_38', form='.0f')} times as fast"],
        ["against pgmpy", f"{number(figures, 'speedup_pgmpy_38', form='.0f')} times as fast"],
        ["1000 columns, a random sparse graph, median", f"{number(figures, 'seconds_full_1000')} s"],
        ["the slowest of five", f"{number(figures, 'seconds_full_1000_slowest')} s"],
        ["one column's neighbours among 1000", f"{number(figures, 'seconds_local_1000')} s"],
    ]
    return table("pc_speed", ["", ""], rows)


def certificate() -> str:
    """What certifying a graph of 1000 nodes costs."""
    rows = {
        "": "plain",
        "_confounded": "confounded",
        "_latent": "many latents",
        "_effects": "effects follow",
        "_tied_effects": "tied effects follow",
        "_chain": "one long chain",
    }
    columns = {"seconds": "seconds", "peak_mb": "MB"}
    return grid("certificate", number, rows, columns, "{column}_1000{row}", "graph of 1000 nodes")


# Intervals and what-ifs.


def intervals_tables() -> str:
    """The nine tables."""
    figures = read("intervals")
    rows = [
        ["cells in which the run chooses the augmented model", share(figures, "accepted")],
        ["rows inside: ours", percent(figures, "coverage_90")],
        ["rows inside: crepes", percent(figures, "coverage_90_crepes")],
        ["rows inside: mapie", percent(figures, "coverage_90_mapie")],
        ["rows inside: ours, the worst table", percent(figures, "coverage_90_worst_table")],
        ["interval score against crepes (the best of three ways to use it)", change(figures, "score_vs_crepes")],
        ["against mapie (CV+)", change(figures, "score_vs_mapie")],
        ["against the better of the two on each table and split", change(figures, "score_vs_better_peer")],
        ["around the same plain model: against crepes", change(figures, "same_model_vs_crepes")],
        ["around the same plain model: against mapie", change(figures, "same_model_vs_mapie")],
    ]
    return table("intervals", ["nine tables, `distilled`", ""], rows)


def intervals_worlds() -> str:
    """Worlds with declared noise parents, and the two forms."""
    figures = read("intervals")
    rows = [
        ["rows inside", percent(figures, "coverage_worlds")],
        ["interval score against one width around the same model", change(figures, "score_vs_constant")],
        ["rows inside where the noise is largest (a third of the rows)", percent(figures, "coverage_large_noise")],
        ["the same with one width", percent(figures, "coverage_large_noise_constant")],
        ["tables and worlds: rows inside, `residuals`", percent(figures, "coverage_90_residuals")],
        ["tables and worlds: rows inside, `cv_plus`", percent(figures, "coverage_90_cv_plus")],
        ["width of `cv_plus` against `residuals`", change(figures, "width_cv_plus_vs_residuals")],
        ["interval score of `cv_plus` against `residuals`", change(figures, "score_cv_plus_vs_residuals")],
    ]
    return table("intervals", ["four worlds with declared noise parents, `certified`", ""], rows)


def whatif() -> str:
    """Known worlds, true graph."""
    figures = read("whatif")
    rows = [
        ["90 % intervals that hold the true difference", *(share(figures, f"coverage_90_{n}") for n in (100, 400))],
        ["error, as a part of the true differences' size", *(number(figures, f"error_{n}") for n in (100, 400))],
        ["the same with `--follow`", *(number(figures, f"error_follow_{n}") for n in (100, 400))],
    ]
    together = [
        [f"both sizes: {figures['coverage_90_runs']} intervals hold", share(figures, "coverage_90")],
        [f"with `--follow`: {figures['coverage_90_follow_runs']} intervals hold", share(figures, "coverage_90_follow")],
        [f"{figures['refused_runs']} questions about a confounded column: refused", share(figures, "refused")],
        ["10,000 rows, times the teacher's own time", number(figures, "seconds_ratio")],
    ]
    return table("whatif", ["", "100 rows", "400 rows"], rows) + "\n" + table("whatif", ["", ""], together)


TABLES: dict[str, Callable[[], str]] = {
    "readme": readme,
    **{f"recipes_{kind}": partial(recipes, kind) for kind in KINDS},
    **{f"recipe_study_{kind}": partial(recipe_study, kind) for kind in KINDS},
    **{f"gate_levels_{one}": partial(gate_levels, one) for one in ("boosted", "starts", "weighted", "in_time")},
    **{
        made.__name__: made
        for made in (
            *(
                recipes_by_table,
                acceptance,
                known_graph,
                known_graph_shift,
                trusted,
                real_graph,
                added_columns,
                quantiles,
                peers,
            ),
            *(overhead, committees, signs, labels, generation, gate_tests, gate_truth, gate_trade_off),
            *(gate_best_of_ten, linear_study, falsify_graphs, falsify_shapes, falsify_worlds, falsify_cost),
            *(screens, joint_check, mixed_test, table8, pc_speed, certificate),
            *(intervals_tables, intervals_worlds, whatif),
        )
    },
}
