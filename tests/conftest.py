"""Property tests explore at a developer's desk and repeat themselves in CI; nowhere do they fail for being slow."""

import os

from hypothesis import settings

settings.register_profile("explore", deadline=None)
settings.register_profile("repeat", deadline=None, derandomize=True)
settings.load_profile("repeat" if os.environ.get("CI") else "explore")
