"""Where work runs: what a task may count on, and what is left behind it."""

import gc
import time
from functools import partial

import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from crda_spec.execution import as_done, in_order, no_collection


@pytest.mark.parametrize("on", [True, False])
def test_the_search_for_cycles_is_afterwards_as_it_was(on):
    before = gc.isenabled()
    try:
        gc.enable() if on else gc.disable()
        with no_collection():
            assert not gc.isenabled()
        assert gc.isenabled() == on
    finally:
        gc.enable() if before else gc.disable()


def threads():
    import numpy as np

    return np.linalg.norm(np.eye(2)) and {pool["num_threads"] for pool in threadpool_info()}


def test_a_task_in_a_worker_has_one_thread():
    with threadpool_limits(limits=2):
        assert all(found == {1} for found in in_order(iter([threads] * 3), workers=2))


def slowly(seconds):
    time.sleep(seconds)
    return seconds, threads()


@pytest.mark.parametrize("workers", [1, 2])
def test_results_come_as_they_are_done_and_each_on_one_thread(workers):
    with threadpool_limits(limits=2):
        found = list(as_done((partial(slowly, seconds) for seconds in (1.5, 0.0, 0.1)), workers=workers))
    assert sorted(seconds for seconds, _ in found) == [0.0, 0.1, 1.5]
    assert all(threads == {1} for _, threads in found)
    if workers == 2:
        assert found[-1][0] == 1.5


def test_tasks_are_asked_for_as_they_are_needed_and_ended_when_nobody_waits():
    asked = []

    def tasks():
        for number in range(100):
            asked.append(number)
            yield partial(slowly, 0.2)

    results = as_done(tasks(), workers=2)
    next(results)
    assert 2 <= len(asked) < 50
    started, so_far = time.monotonic(), len(asked)
    results.close()
    assert time.monotonic() - started < 10  # the other tasks would have taken as long
    assert len(asked) <= so_far + 4
