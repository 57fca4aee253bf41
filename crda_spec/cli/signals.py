"""Ctrl-C and SIGTERM end a command: an exception unwinds it, so that nothing half-written is left behind."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager

INTERRUPTED, TERMINATED = 130, 143  # 128 and the number of the signal, as shells count
_AGAIN = 1.0  # seconds


class _Stop:
    """The signal that came, if one did.

    What is raised in a library's callback or in a finaliser is swallowed there, so the signal is also kept: it is
    raised again every second until the command ends, and `check` asks for it before a result is written.
    """

    def __init__(self) -> None:
        self.signal: int | None = None

    def __call__(self, number: int, _: object = None) -> None:
        for ours in (signal.SIGINT, signal.SIGTERM):
            signal.signal(ours, signal.SIG_IGN)  # an impatient sender must not disturb the tidying up
        self.signal = number if self.signal is None else self.signal
        if hasattr(signal, "setitimer"):
            signal.signal(signal.SIGALRM, self)
            signal.setitimer(signal.ITIMER_REAL, _AGAIN)
        self.check()

    def check(self) -> None:
        if self.signal == signal.SIGINT:
            raise KeyboardInterrupt
        if self.signal is not None:
            raise SystemExit(TERMINATED)


_stop = _Stop()


@contextmanager
def stoppable() -> Iterator[None]:
    """Inside, SIGTERM and Ctrl-C raise. A Ctrl-C that whoever started us ignores (a background job) stays ignored."""
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
    for number, handler in before.items():
        if number == signal.SIGTERM or handler is signal.default_int_handler:
            signal.signal(number, _stop)
    try:
        yield
    finally:
        if hasattr(signal, "setitimer"):
            signal.setitimer(signal.ITIMER_REAL, 0.0)
        for number, handler in before.items():
            signal.signal(number, handler or signal.SIG_DFL)
        _stop.signal = None


def check_stopped() -> None:
    """Raises what a signal would have raised, if one came and a library swallowed it."""
    _stop.check()
