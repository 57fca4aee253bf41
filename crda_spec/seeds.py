"""One seed, many independent random streams, each known by its name.

A stage asks for the stream of its own name (and fold), so a new stage, or a different order of work,
shifts no other stage's draws. Nothing in this package touches a global random state.
"""

from __future__ import annotations

import zlib

import numpy as np


def _sequence(seed: int, stage: str, index: tuple[int, ...]) -> np.random.SeedSequence:
    return np.random.SeedSequence(seed, spawn_key=(zlib.crc32(stage.encode()), *index))


def stream(seed: int, stage: str, *index: int) -> np.random.Generator:
    """The generator of one stage (and fold)."""
    return np.random.default_rng(_sequence(seed, stage, index))


def integer_seed(seed: int, stage: str, *index: int) -> int:
    """A 31-bit seed for libraries that take an integer instead of a Generator."""
    return int(_sequence(seed, stage, index).generate_state(1, np.uint32)[0] >> 1)
