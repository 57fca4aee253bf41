"""The summary of a run on the terminal: colours for a person, stable plain text for a pipe.

A pipe gets our words in ASCII, 100 columns wide whatever the console believes its width to be, so that two runs can
be compared with diff. Names and units stay as the data spell them, where the console's encoding can write them.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence

from rich import box
from rich.cells import cell_len, chop_cells
from rich.console import Console
from rich.padding import Padding
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

from crda_spec.records import RunResult
from crda_spec.report.blocks import Grid, Line, Section
from crda_spec.report.summary import closing, sections
from crda_spec.report.words.numbers import shorten, shown

PLAIN_WIDTH = 100
_LONGEST_NAME = 28
_STYLES = {"": "", "good": "bold green", "bad": "bold yellow", "strong": "bold", "soft": "dim"}


def print_summary(result: RunResult, *, name: str, files: str | None, console: Console) -> None:
    """Prints what the run found: data, partition, action, gate, test, decision.

    files: where the run was written; None when it was not.
    """
    print_sections(f"crda-spec run: {shown(name)}", sections(result), closing(result, files), console=console)


def print_sections(title: str, parts: Sequence[Section], last: Sequence[Line], *, console: Console) -> None:
    """Prints a title, the sections below it and the closing lines."""
    if console.is_terminal:
        _print_rich(title, parts, last, console)
        return
    text = "\n".join(_plain_lines(title, parts, last)) + "\n"
    encoded = text.encode(console.encoding, "backslashreplace").decode(console.encoding)
    console.out(encoded, end="", highlight=False)


def _plain_lines(title: str, parts: Sequence[Section], last: Sequence[Line]) -> Iterator[str]:
    """The summary as lines of plain text."""
    yield title
    yield "=" * cell_len(title)
    for section in parts:
        yield ""
        yield section.title
        for block in section.blocks:
            if isinstance(block, Line):
                yield from _wrapped(block.text, 2 + block.indent)
            else:
                yield from _plain_grid(block)
    if last:
        yield ""
    yield from (line.text for line in last)  # unbroken: the path is there to be copied


def _wrapped(text: str, indent: int, width: int = PLAIN_WIDTH) -> list[str]:
    """Lines of at most `width` columns; a path or name that does not fit stays whole, so that it can be copied."""
    margin = " " * indent
    return textwrap.wrap(
        text,
        width,
        initial_indent=margin,
        subsequent_indent=margin,
        break_long_words=False,
        break_on_hyphens=False,
    )


def _plain_grid(grid: Grid) -> Iterator[str]:
    """Columns parted by two spaces; the last one wraps under itself."""
    rows = [(*(shorten(cell, _LONGEST_NAME, gap="...") for cell in row[:-1]), row[-1]) for row in grid.rows]
    widths = [max(cell_len(row[column]) for row in (grid.headers, *rows)) for column in range(len(grid.headers))]
    start = 2 + sum(width + 2 for width in widths[:-1])
    ruled = (*("-" * width for width in widths[:-1]), "-" * min(widths[-1], PLAIN_WIDTH - start))
    for row in (grid.headers, ruled, *rows):
        cells = [_aligned(cell, widths[i], right=i in grid.numeric) for i, cell in enumerate(row[:-1])]
        tail = _tail(row[-1], widths[-1], start, right=len(row) - 1 in grid.numeric)
        yield ("  " + "".join(cell + "  " for cell in cells) + tail[0]).rstrip()
        yield from (" " * start + more for more in tail[1:])
    if grid.more:
        yield f"  {grid.more}"


def _aligned(cell: str, width: int, *, right: bool) -> str:
    space = " " * (width - cell_len(cell))
    return space + cell if right else cell + space


def _tail(cell: str, width: int, start: int, *, right: bool) -> list[str]:
    """The last cell of a row, over as many lines as it needs."""
    if right:
        return [_aligned(cell, width, right=True)]
    room = PLAIN_WIDTH - start
    words = textwrap.wrap(cell, room, break_long_words=False, break_on_hyphens=False) or [""]
    return [piece for line in words for piece in (chop_cells(line, room) or [""])]


def _print_rich(title: str, parts: Sequence[Section], last: Sequence[Line], console: Console) -> None:
    console.print()
    console.print(Rule(Text(title, style="bold"), align="left", style="cyan"))
    for section in parts:
        console.print(Text(section.title, style="bold cyan"))
        for block in section.blocks:
            if isinstance(block, Line):
                console.print(Padding(Text(block.text, style=_STYLES[block.tone]), (0, 0, 0, 2 + block.indent)))
            else:
                console.print(Padding(_rich_grid(block), (0, 0, 0, 2)))
        console.print()
    for line in last:
        console.print(Text(line.text, style=_STYLES[line.tone]), soft_wrap=True)


def _rich_grid(grid: Grid) -> Table:
    drawn = Table(box=box.SIMPLE_HEAD, pad_edge=False, header_style="dim", show_edge=False)
    for index, header in enumerate(grid.headers):
        right = index in grid.numeric
        longest = max((cell_len(row[index]) for row in grid.rows), default=0)
        wraps = index == len(grid.headers) - 1 or longest > _LONGEST_NAME
        drawn.add_column(Text(header), justify="right" if right else "left", overflow="fold", no_wrap=not wraps)
    for row, tone in zip(grid.rows, grid.tones, strict=True):
        cells = [shorten(cell, _LONGEST_NAME, gap="...") for cell in row[:-1]] + [row[-1]]
        drawn.add_row(*(Text(cell, style=_STYLES[tone] if i == grid.toned else "") for i, cell in enumerate(cells)))
    if grid.more:
        drawn.caption = Text(grid.more)
        drawn.caption_justify = "left"
    return drawn
