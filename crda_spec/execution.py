"""Where work runs and who watches it: the one seam between the method and worker processes, progress and the clock."""

from __future__ import annotations

import gc
import os
import threading
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from functools import wraps
from operator import call
from typing import TYPE_CHECKING, Concatenate, ParamSpec, Protocol, TypeVar

if TYPE_CHECKING:
    from joblib import Parallel

T = TypeVar("T")
P = ParamSpec("P")
_LOOK = 0.5  # seconds between a worker's looks at its parent
_WORTH_WORKERS = 8.0  # seconds of fits, below which starting worker processes costs more than it saves


class Step(Protocol):
    """A stage under way."""

    def advance(self, steps: int = 1) -> None:
        """So many more of the stage's steps are done."""
        ...


class Progress(Protocol):
    """Tells a person which stage runs and how far it is. It changes nothing in the run."""

    def stage(self, name: str, total: int | None = None) -> AbstractContextManager[Step]:
        """Opens a stage of `total` steps (None: nobody knows); leaving the context ends it."""
        ...


@dataclass(slots=True)
class Clock:
    """Announces each stage and keeps its seconds."""

    progress: Progress
    seconds: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def stage(self, name: str, total: int | None = None) -> Iterator[Step]:
        """One stage of a run. Libraries keep to one thread: the same bytes on any machine, no fight between workers."""
        from threadpoolctl import threadpool_limits

        started = time.perf_counter()
        with self.progress.stage(name, total) as step, threadpool_limits(limits=1):
            yield step
        self.seconds[name] = time.perf_counter() - started


def stage(name: str) -> Callable[[Callable[P, T]], Callable[Concatenate[Clock, P], T]]:
    """Makes a function one stage of a run: it is then called with the clock first, which announces and times it."""

    def decorate(function: Callable[P, T]) -> Callable[Concatenate[Clock, P], T]:
        @wraps(function)
        def timed(clock: Clock, /, *args: P.args, **kwargs: P.kwargs) -> T:
            with clock.stage(name):
                return function(*args, **kwargs)

        return timed

    return decorate


@contextmanager
def no_collection() -> Iterator[None]:
    """Python looks for no cycles: for a moment's work that makes very many objects (a third of the time of drawing)."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def workers_for(jobs: int | None, tasks: int, expected: float) -> int:
    """As many as asked for; left to us, one unless there is enough work to pay for starting processes.

    expected: seconds of fits that are ahead.
    """
    from joblib import cpu_count

    if jobs is not None:
        return min(jobs, tasks)
    return int(min(cpu_count(), tasks)) if expected > _WORTH_WORKERS else 1


def in_order(tasks: Iterator[Callable[[], T]], *, workers: int) -> Iterator[T]:
    """What the tasks return, in their order, each as soon as it and all before it are done.

    Libraries keep to one thread inside a task; in this process the stage has seen to that, once for all tasks.
    """
    from joblib import delayed

    run = delayed(_in_one_thread if workers > 1 else call)
    yield from pool(workers, return_as="generator")(run(task) for task in tasks)


def as_done(tasks: Iterable[Callable[[], T]], *, workers: int) -> Iterator[T]:
    """What the tasks return, each as soon as it is done, in whatever order. The tasks are asked for one by one.

    Leaving it early, as Ctrl-C does, ends the workers.
    """
    from joblib import delayed

    run = delayed(_in_one_thread)
    # Few tasks are taken before a worker is free for them: whoever hands them out may stop at any time.
    how = pool(workers, return_as="generator_unordered", pre_dispatch="1.5*n_jobs", batch_size=1)
    results = how(map(run, tasks))
    try:
        for one in results:  # noqa: UP028 - `yield from` would close it first, and joblib warn
            yield one
    finally:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # joblib's, of tasks that nobody waits for any more
            results.close()


def _in_one_thread(task: Callable[[], T]) -> T:
    from threadpoolctl import threadpool_limits

    with threadpool_limits(limits=1):
        return task()


def pool(workers: int, **how: str | int) -> Parallel:
    """Worker processes that end with this one, however it ends."""
    from joblib import Parallel

    return Parallel(n_jobs=workers, initializer=_end_with_parent, initargs=(os.getpid(),), **how)


def _end_with_parent(parent: int) -> None:
    """In a worker: a thread that ends it when its parent is gone. A killed parent cannot tell it so.

    No death signal from the kernel: that would come when the thread that started the worker ends.
    """

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(_LOOK)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
