"""Where work runs: what a task may count on, and what is left behind it."""

import gc

import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from crda_spec.execution import in_order, no_collection


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
