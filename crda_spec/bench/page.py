"""What the results show, once as sections: for the page, for Markdown, and, the short of it, for the terminal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pandas as pd

from crda_spec.bench.results import AUGMENTED, GATED, Mean, means, named, overall, paper_caption, paper_fact, ranking
from crda_spec.bench.run import Outcome
from crda_spec.bench.statistics import Ranking, mean_and_error
from crda_spec.bench.suite import ReadSuites, Suite
from crda_spec.report.figures import Picture
from crda_spec.report.page import rendered
from crda_spec.report.suite_figures import Bar, bars_figure, curves_figure, p_value_figure, rank_figure
from crda_spec.report.words.numbers import count, p_number, percent, shorten

PROTOCOLS = {
    "matched": (
        "Protocol matched: one model against one, on the same rows with the same seeds and settings; no test row is "
        "seen before the models are scored."
    ),
    "published": (
        "Protocol PUBLISHED: the published code's way, leaks included (test rows scale the features and take part in "
        "the screen), and the mean of 10 augmented models against 1 plain model. Its figures are no claim of ours."
    ),
}
_OURS = ("certified", "distilled")
_MOST_CURVES = 7


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """A heading, what is said, what is drawn, and a table whose first `words` columns are words."""

    title: str
    level: int = 2
    text: tuple[str, ...] = ()
    pictures: tuple[Picture, ...] = ()
    heads: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()
    words: int = 1


def sections(suites: ReadSuites, outcome: Outcome, frame: pd.DataFrame) -> list[Section]:
    """Suite by suite: all methods over all tables, ranks, tests, curves, every table, and the paper beside it."""
    found: list[Section] = []
    for read in suites.parts:
        suite = read.suite
        mine = frame[frame["suite"] == suite.name]
        about = suite.description if len(suites.parts) > 1 else ""  # of a single suite, the page's head has it
        found.append(Section(title=suite.name, text=tuple(filter(None, (about, _extent(mine))))))
        if suite.measure == "information":
            found += _information(suite, mine)
        else:
            for protocol in suite.protocols:
                found += _losses(suite, protocol, mine[mine["protocol"] == protocol])
    if outcome.failed:
        rows = tuple((one.cell.label, shorten(one.error, 200)) for one in outcome.failed)
        found.append(Section(title="Cells that failed", heads=("cell", "error"), rows=rows, words=2))
    return found


def cautions(outcome: Outcome, frame: pd.DataFrame) -> list[str]:
    """What a reader must know before the figures."""
    said = []
    missing = outcome.total - len(outcome.cells)
    if missing:
        said.append(f"{missing} of {count(outcome.total, 'cell')} are still to be run: these results are not complete.")
    states = Counter(one.volatile.get("code") for one in outcome.cells if one.figures is not None)
    if len(states) > 1:
        said.append(f"The cells were computed by {len(states)} states of the code (timings.csv names them).")
    if (frame["protocol"] == "published").any():
        said.append(PROTOCOLS["published"])
    if not _one_plain(frame):
        said.append("Arms were not compared with the same plain model: look at the column plain of results.csv.")
    return said


def _one_plain(frame: pd.DataFrame) -> bool:
    """Whether every plain model of a table, size, seed and regressor is the same one, as `matched` promises."""
    same = ["suite", "table", "rows", "seed", "regressor"]
    mine = frame[(frame["protocol"] == "matched") & (frame["measure"] == "loss") & (frame["knob"] == "")]
    return bool((mine.groupby(same)["plain"].agg(lambda plain: plain.max() - plain.min()) == 0).all())


def _extent(frame: pd.DataFrame) -> str:
    cells = frame["key"].nunique()
    return (
        f"{count(frame['table'].nunique(), 'table')}, {count(frame['seed'].nunique(), 'seed')}, "
        f"{count(cells, 'cell')} computed."
    )


def _losses(suite: Suite, protocol: str, frame: pd.DataFrame) -> Iterator[Section]:
    whole, wide = means(frame), named(frame)
    for regressor in dict.fromkeys(one.regressor for one in whole):
        mine = [one for one in whole if one.regressor == regressor]
        about = f"{suite.name}, {regressor}, {protocol}"
        yield _overall(about, protocol, mine)
        if protocol == "matched":
            yield from _ranked(about, mine, wide[wide["regressor"] == regressor])
        yield from _graphs(about, mine)
        if suite.knobs:
            yield from _sweeps(about, mine)
        elif len({one.rows for one in mine if one.table == mine[0].table}) > 1:
            yield _sizes(about, mine)
        yield _tables(about, mine)
        yield from _gates(about, mine)
        if suite.paper is not None:
            yield from _beside_paper(suite, about, mine)


def _overall(about: str, protocol: str, mine: Sequence[Mean]) -> Section:
    lines = overall(mine)
    rows = tuple(
        (
            one.method,
            percent(one.mean),
            "" if one.error is None else f"{one.error:.1f}",
            percent(one.geometric),
            percent(one.worst),
            f"{one.better} of {one.tables}",
            str(one.seeds),
        )
        for one in lines
    )
    picture = bars_figure(
        [Bar(name=one.method, change=one.mean, error=one.error) for one in lines],
        title=f"{about}: mean over tables and sizes, one standard error to each side",
    )
    heads = ("method", "mean change, %", "s.e.", "geometric, %", "worst table, %", "better on", "seeds")
    return Section(title=about, level=3, text=(PROTOCOLS[protocol],), pictures=(picture,), heads=heads, rows=rows)


def _ranked(about: str, mine: Sequence[Mean], frame: pd.DataFrame) -> Iterator[Section]:
    """The methods against each other; where there are several graphs, one graph at a time, beside those without."""
    for graph in dict.fromkeys(one.graph for one in mine if one.graph != "none") or ("none",):
        some = [one for one in mine if one.graph in (graph, "none")]
        ranked = ranking(some, frame)
        if ranked is not None:
            yield _ranks(about if graph in ("none", "right") else f"{about}, graph {graph}", ranked)


def _graphs(about: str, mine: Sequence[Mean]) -> Iterator[Section]:
    """What a wrong graph costs: its change minus that of the right one, and minus that of who has none, in points.

    Differences are taken on the tables and sizes that both have, so that no graph is judged by easier worlds.
    """
    graphs = [graph for graph in dict.fromkeys(one.graph for one in mine) if graph != "none"]
    if len(graphs) < 2:
        return
    blocks: dict[tuple[str, str], dict[tuple[str, int], float]] = {}
    for one in mine:
        blocks.setdefault((one.augmenter, one.graph), {})[one.table, one.rows] = one.change
    free = next((key for key in blocks if key[1] == "none" and (key[0], "right") not in blocks), None)
    whom = {"the right graph": None} if free is None else {"the right graph": None, f"{free[0]} without a graph": free}
    for words, other in whom.items():
        rows = []
        for name in dict.fromkeys(name for name, graph in blocks if graph == "right"):
            line = []
            for graph in graphs:
                own, theirs = blocks.get((name, graph), {}), blocks[other or (name, "right")]
                points = [own[block] - theirs[block] for block in own if block in theirs]
                mean, error = mean_and_error(points) if points else (0.0, None)
                line.append(f"{mean:+.1f}" + ("" if error is None else f" ± {error:.1f}") if points else "")
            rows.append((name, *line))
        title, text = f"{about}: graphs, against {words}", "Points of percent; above 0 it does harm."
        yield Section(title=title, level=3, text=(text,), heads=("method", *graphs), rows=tuple(rows))


def _ranks(about: str, ranked: Ranking) -> Section:
    best = ranked.names[0]
    ours = [name for name in ranked.names if name.split(",")[0].split(" ")[0] in _OURS]
    said = [f"{best} has the best mean rank ({ranked.ranks[0]:.2f} of {len(ranked.names)})."]
    if ours and best not in ours:
        place = ranked.names.index(ours[0])
        said.append(f"Our best recipe, {ours[0]}, has rank {ranked.ranks[place]:.2f}: it is not the best.")
    if ranked.friedman_p is not None and ranked.critical_difference is not None:
        said.append(
            f"Friedman's test over {count(ranked.blocks, 'table')}: {p_number(ranked.friedman_p, 2)}. Mean ranks that "
            f"differ by less than {ranked.critical_difference:.2f} cannot be told apart (Nemenyi, 0.05)."
        )
    else:
        said.append("Too few methods or tables for Friedman's test.")
    pictures = [
        rank_figure(
            ranked.names,
            ranked.ranks,
            groups=ranked.groups,
            critical=ranked.critical_difference,
            title=f"{about}: mean ranks",
        )
    ]
    if ranked.blocks > 1:
        title = f"{about}: p-values of Wilcoxon's test over tables, adjusted by Holm; bold below 0.05"
        numbers = [f"{at}" for at in range(1, len(ranked.names) + 1)]
        names = [f"{name} ({at})" for name, at in zip(ranked.names, numbers, strict=True)]
        pictures.append(p_value_figure(names, numbers, ranked.p_values, title=title))
    rows = tuple((name, f"{rank:.2f}") for name, rank in zip(ranked.names, ranked.ranks, strict=True))
    return Section(
        title=f"{about}: ranks",
        level=3,
        text=tuple(said),
        pictures=tuple(pictures),
        heads=("method", "rank"),
        rows=rows,
    )


def _sizes(about: str, mine: Sequence[Mean]) -> Section:
    """One picture a table; many methods would be a thicket, so the best few are drawn."""
    best = [one.method for one in sorted(overall(mine), key=lambda one: one.mean)][:_MOST_CURVES]
    pictures = []
    for table in dict.fromkeys(one.table for one in mine):
        curves = {
            name: [(float(one.rows), one.change, one.error) for one in mine if (one.table, one.method) == (table, name)]
            for name in best
        }
        pictures.append(curves_figure(curves, title=f"{about}, {table}: change by size", across="rows"))
    return Section(title=f"{about}: sizes", level=3, pictures=tuple(pictures))


def _sweeps(about: str, mine: Sequence[Mean]) -> Iterator[Section]:
    """One picture a knob; values that are no numbers stand at 1, 2, 3, ..."""
    pictures = []
    for knob in dict.fromkeys(one.knob for one in mine):
        values = list(dict.fromkeys(one.value for one in mine if one.knob == knob))
        place = {value: float(at) for at, value in enumerate(values, start=1)}
        if all(_is_number(value) for value in values):
            place = {value: float(value) for value in values}
        curves: dict[str, list[tuple[float, float, float | None]]] = {}
        for one in mine:
            if one.knob == knob:
                name = f"{one.augmenter}, {one.table}"
                curves.setdefault(name, []).append((place[one.value], one.change, one.error))
        few = dict(list(curves.items())[:_MOST_CURVES])
        pictures.append(curves_figure(few, title=f"{about}: {knob}", across=knob))
    yield Section(title=f"{about}: knobs", level=3, pictures=tuple(pictures))


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _tables(about: str, mine: Sequence[Mean]) -> Section:
    """A line a table and size, a column a method."""
    names = list(dict.fromkeys(one.method for one in mine))
    cells = {(one.table, one.rows, one.method): one for one in mine}
    rows = []
    for table, size in dict.fromkeys((one.table, one.rows) for one in mine):
        line = [cells.get((table, size, name)) for name in names]
        rows.append((f"{table}, {size}", *("" if one is None else _change(one) for one in line)))
    text = ("Change of the test error in percent, mean over seeds ± one standard error; negative is better.",)
    return Section(title=f"{about}: every table", level=3, text=text, heads=("table, rows", *names), rows=tuple(rows))


def _gates(about: str, mine: Sequence[Mean]) -> Iterator[Section]:
    """Where the gate was asked: its mean p-value on every table and size, and how often it accepted."""
    asked = [one for one in mine if one.p_value is not None and one.arm in (AUGMENTED, "published")]
    if not asked:
        return
    pictures, rows = [], []
    for method in dict.fromkeys(one.method for one in asked):
        cells = {(one.table, one.rows): one for one in asked if one.method == method}
        tables = list(dict.fromkeys(table for table, _ in cells))
        sizes = {table: sorted(rows for one, rows in cells if one == table) for table in tables}
        most = max(map(len, sizes.values()))
        values = [
            [cells[table, size].p_value for size in sizes[table]] + [None] * (most - len(sizes[table]))
            for table in tables
        ]
        names = [f"{table}, {', '.join(map(str, sizes[table]))}" for table in tables]
        title = f"{about}, {method}: mean p-value of the gate by table, its sizes from left to right"
        pictures.append(p_value_figure(names, [f"size {at + 1}" for at in range(most)], values, title=title))
        rows += [
            (f"{one.table}, {one.rows}", method, f"{one.p_value:.3f}", f"{100 * (one.accepted or 0.0):.0f} %")
            for one in cells.values()
        ]
    heads = ("table, rows", "method", "mean p-value", "accepted")
    title = f"{about}: the gate"
    yield Section(title=title, level=3, pictures=tuple(pictures), heads=heads, rows=tuple(rows), words=2)


def _change(one: Mean) -> str:
    return percent(one.change) + ("" if one.error is None else f" ± {one.error:.1f}")


def _beside_paper(suite: Suite, about: str, mine: Sequence[Mean]) -> Iterator[Section]:
    """The paper's figures beside ours, line by line, and how often they agree within two standard errors."""
    which = suite.paper
    assert which is not None  # noqa: S101 - asked before
    rows, bars, agree, known = [], [], 0, 0
    for one in mine:
        fact = paper_fact(which, table=one.table, rows=one.rows, regressor=one.regressor, augmenter=one.augmenter)
        if fact is None or fact.change is None or one.arm not in (AUGMENTED, GATED, "published"):
            continue
        near = ""
        if one.error is not None and fact.se is not None:
            known += 1
            apart = abs(one.change - fact.change) / (one.error**2 + fact.se**2) ** 0.5 if one.error or fact.se else 0.0
            agree += apart <= 2
            near = f"{apart:.1f}"
        theirs = f"{fact.change:+.1f}" + ("" if fact.se is None else f" ± {fact.se:.1f}")
        rows.append((f"{one.table}, {one.rows}", one.method, _change(one), theirs, near))
        bars.append(
            Bar(name=f"{one.table}, {one.rows}: {one.augmenter}", change=one.change, error=one.error, other=fact.change)
        )
    if not rows:
        return
    said = [paper_caption(which) + "."]
    if known:
        said.append(f"{agree} of {known} within two standard errors of the difference.")
    picture = bars_figure(bars, title=f"{about}: beside the paper", other="the paper")
    heads = ("table, rows", "method", "ours, %", "paper, %", "standard errors apart")
    yield Section(
        title=f"{about}: beside the paper",
        level=3,
        text=tuple(said),
        pictures=(picture,),
        heads=heads,
        rows=tuple(rows),
        words=2,
    )


def _information(suite: Suite, frame: pd.DataFrame) -> Iterator[Section]:
    """The mean information of selected and rejected features with the residual, in nats."""
    rows = []
    for _, part in frame.groupby(["table", "rows", "regressor", "augmenter"], sort=False):
        first = part.iloc[0]
        table, size, regressor = str(first["table"]), int(first["rows"]), str(first["regressor"])
        chosen, left = (float(part[name].astype(float).mean()) for name in ("selected", "rejected"))
        fact = None
        if suite.paper is not None:
            name = str(first["augmenter"])
            fact = paper_fact(suite.paper, table=table, rows=size, regressor=regressor, augmenter=name)
        theirs = ["", ""] if fact is None else [f"{fact.facts[name]:.4f}" for name in ("selected", "rejected")]
        ratio = f"{left / chosen:.2f}" if chosen > 0 else ""
        rows.append(
            (f"{table}, {size}", regressor, f"{chosen:.4f}", f"{left:.4f}", ratio, *theirs, str(part["seed"].nunique()))
        )
    heads = ("table, rows", "regressor", "selected", "rejected", "ratio", "paper: selected", "paper: rejected", "seeds")
    yield Section(title=f"{suite.name}: information", level=3, heads=heads, rows=tuple(rows), words=2)


def page(suites: ReadSuites, found: Sequence[Section], said: Sequence[str]) -> str:
    """The page: complete in itself, nothing fetched, no script."""
    about = tuple(filter(None, (suites.description, "Each figure comes from results.csv beside this page.")))
    return rendered("suite.html.j2", title=f"Benchmark: {suites.name}", about=about, cautions=said, sections=found)


def markdown(suites: ReadSuites, found: Sequence[Section], said: Sequence[str]) -> str:
    """The same without pictures."""
    parts = [f"# Benchmark: {suites.name}", *([suites.description] if suites.description else [])]
    parts += [f"> {line}" for line in said]
    for section in found:
        parts.append(f"{'#' * section.level} {section.title}")
        parts += section.text
        if section.rows:
            marks = ["---" if at < section.words else "---:" for at in range(len(section.heads))]
            lines = [section.heads, marks, *section.rows]
            parts.append("\n".join(f"| {' | '.join(cell.replace('|', '/') for cell in line)} |" for line in lines))
    return "\n\n".join(parts) + "\n"
