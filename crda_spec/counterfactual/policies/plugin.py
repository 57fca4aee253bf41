"""Policies of other packages, joined through the entry-point group `crda_spec.policies`."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any, Literal

import numpy as np
from pydantic import Field

from crda_spec.counterfactual.policies._protocol import BasePolicy, Feature, Proposal, Rows
from crda_spec.errors import Complaint, SpecError, show
from crda_spec.plugins import load_plugin, refused
from crda_spec.records import Array, Column

GROUP = "crda_spec.policies"
_PATH = "perturbation.default"  # where a plugin is written, until somebody knows better


class PluginPolicy(BasePolicy):
    """A policy of another package: a class derived from `BasePolicy`, found by its entry point."""

    kind: Literal["plugin"] = Field(
        "plugin", description="A policy of another package (entry-point group crda_spec.policies)."
    )
    name: str = Field(min_length=1, description="The entry point's name.")
    settings: dict[str, Any] = Field(
        default_factory=dict, description="Keyword arguments for the plugin's class; the plugin checks them."
    )

    @cached_property
    def member(self) -> BasePolicy:
        """The plugin's own policy; a SpecError when there is none."""
        member = load_plugin(GROUP, self.name, self.settings, noun="policy", path=_PATH)
        if not isinstance(member, BasePolicy):
            what = f"the plugin {show(self.name)} is no policy: its class does not derive from BasePolicy"
            raise refused(f"{_PATH}.name", what, "see crda_spec/counterfactual/policies/_protocol.py")
        return member

    @property
    def label(self) -> str:
        """Its own name too: two plugins share no draws."""
        return f"plugin {self.name}"

    def suits(self, column: Column) -> bool:
        """As the plugin says."""
        return self.member.suits(column)

    @property
    def needs_spread(self) -> bool:
        """As the plugin says."""
        return self.member.needs_spread

    @property
    def needs_neighbours(self) -> bool:
        """As the plugin says."""
        return self.member.needs_neighbours

    @property
    def needs_fixed(self) -> bool:
        """As the plugin says."""
        return self.member.needs_fixed

    def complaints(self, path: str) -> Iterator[Complaint]:
        """Why it cannot be loaded, or what it complains about itself."""
        try:
            yield from self.member.complaints(f"{path}.settings")
        except SpecError as error:
            yield from (one.moved(_PATH, path) for one in error.complaints)

    def misfits(self, path: str, column: Column) -> Iterator[Complaint]:
        """As the plugin says."""
        return self.member.misfits(f"{path}.settings", column)

    def describe(self, column: Column) -> str:
        """As the plugin says."""
        return self.member.describe(column)

    def propose(self, x: Array, feature: Feature, rows: Rows, *, rng: np.random.Generator) -> Proposal:
        """As the plugin does."""
        return self.member.propose(x, feature, rows, rng=rng)
