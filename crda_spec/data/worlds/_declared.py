"""What a named world declares: text only, so that `crda-spec validate` can read it without numpy."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class DeclaredWorld:
    """A world as it is written down: its equations in causal order, and which variables nobody measures."""

    name: str
    description: str
    target: str
    equations: Mapping[str, str]
    units: Mapping[str, str]
    hidden: tuple[str, ...] = ()

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of the world's table, in the order of the equations, the target included."""
        return tuple(name for name in self.equations if name not in self.hidden)

    @property
    def features(self) -> tuple[str, ...]:
        """The columns to predict from."""
        return tuple(name for name in self.columns if name != self.target)
