from __future__ import annotations

import io
import threading
from itertools import count

import pytest
from rich.console import Console
from rich.progress import ProgressSample, TaskID
from rich.progress import Task as RichTask

from crda_spec.report.progress import Bars, Lines, Progress, Silent, _TimeLeft, progress_for


def ticking():
    """A clock that moves half a second at every look."""
    ticks = count()
    return lambda: next(ticks) / 2


def lines():
    stream = io.StringIO()
    return stream, Lines(stream, clock=ticking())


def bars():
    stream = io.StringIO()
    return stream, Bars(Console(file=stream, force_terminal=True, width=80))


MEMBERS = [
    pytest.param(lambda: (io.StringIO(), Silent()), id="silent"),
    pytest.param(lines, id="lines"),
    pytest.param(bars, id="bars"),
]


@pytest.mark.parametrize("make", MEMBERS)
def test_stages_nest_and_advance_from_threads(make):
    _, progress = make()
    shown: Progress = progress
    with shown.stage("gate", 8) as outer, shown.stage("tune", None) as inner:
        workers = [threading.Thread(target=outer.advance) for _ in range(7)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        inner.advance(3)
        outer.advance()
    with shown.stage("again", 1) as later:
        later.advance()


@pytest.mark.parametrize("make", MEMBERS)
def test_an_error_passes_through_and_the_next_stage_works(make):
    _, progress = make()
    with pytest.raises(RuntimeError, match=r"^broken$"), progress.stage("gate", 8):
        raise RuntimeError("broken")
    with progress.stage("score", 1) as stage:
        stage.advance()


def test_silence_is_silent(capsys):
    with Silent().stage("gate", 2) as stage:
        stage.advance()
    assert capsys.readouterr() == ("", "")


def test_lines_say_each_stage_once_when_done():
    stream, progress = lines()
    with progress.stage("read data", None):
        assert stream.getvalue() == ""
    with progress.stage("gate", 10) as gate:
        gate.advance(7)
        gate.advance(3)
    assert stream.getvalue() == "read data: 0.5 s\ngate: 10 of 10, 0.5 s\n"


def test_lines_count_every_step_of_every_thread():
    stream, progress = lines()
    with progress.stage("gate", 400) as gate:
        workers = [threading.Thread(target=lambda: [gate.advance() for _ in range(100)]) for _ in range(4)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
    assert stream.getvalue() == "gate: 400 of 400, 0.5 s\n"


def test_lines_say_where_a_stage_stopped():
    stream, progress = lines()

    def interrupted():
        with progress.stage("gate", 10) as gate:
            gate.advance(4)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert stream.getvalue() == "gate: stopped, 4 of 10, 0.5 s\n"


def test_lines_go_to_standard_error_by_default(capsys):
    with Lines(clock=ticking()).stage("gate", None):
        pass
    assert capsys.readouterr() == ("", "gate: 0.5 s\n")


def test_bars_show_the_name_as_it_is_and_leave_the_cursor_on():
    stream, progress = bars()
    with progress.stage("[red]gate[/red]", 2) as stage:
        stage.advance()
    text = stream.getvalue()
    assert "[red]gate[/red]" in text
    assert text.rindex("\x1b[?25h") > text.rindex("\x1b[?25l")


def test_bars_say_how_much_time_is_left_once_they_know_a_pace():
    now = [0.0]
    column, task = (
        _TimeLeft(),
        RichTask(id=TaskID(0), description="gate", total=10, completed=0, _get_time=lambda: now[0]),
    )
    assert str(column.render(task)) == ""
    task.start_time = 0.0
    task._progress.extend([ProgressSample(0.0, 1), ProgressSample(20.0, 2)])
    task.completed = 3
    now[0] = 20.0
    assert str(column.render(task)) == "1:10 left"
    task.completed, task.finished_time = 10, 20.0
    assert str(column.render(task)) == ""


def test_the_console_decides():
    assert isinstance(progress_for(Console(file=io.StringIO()), quiet=True), Silent)
    assert isinstance(progress_for(Console(file=io.StringIO())), Lines)
    assert isinstance(progress_for(Console(file=io.StringIO(), force_terminal=True)), Bars)
