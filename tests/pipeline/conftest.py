"""One thread for all."""

import pytest
from hypothesis import settings
from threadpoolctl import threadpool_limits

settings.register_profile("house", deadline=None)  # a busy machine is no failure
settings.load_profile("house")


@pytest.fixture(autouse=True, scope="session")
def one_thread():
    with threadpool_limits(limits=1):
        yield
