"""Searches for structure in the data, for when no graph is known."""

from crda_spec.scm.discovery.pc import Neighbours, Skeleton, neighbours, pc_skeleton

__all__ = ["Neighbours", "Skeleton", "neighbours", "pc_skeleton"]
