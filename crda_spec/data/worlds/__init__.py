"""Worlds: structural equations that draw rows, and know what any row would have been under any action."""

from crda_spec.data.worlds.named import WORLDS
from crda_spec.data.worlds.world import World, WorldSample, check_hidden, declare

__all__ = ["WORLDS", "World", "WorldSample", "check_hidden", "declare"]
