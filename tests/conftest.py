"""Property tests explore at a developer's desk and repeat themselves in CI; nowhere do they fail for being slow."""

import os
import signal

import pytest
from hypothesis import settings

settings.register_profile("explore", deadline=None)
settings.register_profile("repeat", deadline=None, derandomize=True)
settings.load_profile("repeat" if os.environ.get("CI") else "explore")


@pytest.fixture
def interruptible():
    """A shell's background job ignores Ctrl-C, and so does all it starts: not what we start here."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)
