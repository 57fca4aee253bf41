"""A busy machine is no failure."""

from hypothesis import settings

settings.register_profile("house", deadline=None)
settings.load_profile("house")
