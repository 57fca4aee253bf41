"""Regressors of other packages, joined through the entry-point group `crda_spec.regressors`."""

from __future__ import annotations

from dataclasses import is_dataclass
from typing import Any, Literal

from pydantic import BaseModel, Field

from crda_spec.errors import show
from crda_spec.plugins import load_plugin, refused
from crda_spec.regressors._protocol import BaseRegressor, Design, EarlyStopping, Estimator, Regressor

GROUP = "crda_spec.regressors"


class Plugin(BaseRegressor):
    """A regressor of another package: one class that follows `_protocol.Regressor`, found by its entry point."""

    kind: Literal["plugin"] = Field(
        "plugin", description="A regressor of another package (entry-point group crda_spec.regressors)."
    )
    name: str = Field(min_length=1, description="The entry point's name.")
    settings: dict[str, Any] = Field(
        default_factory=dict, description="Keyword arguments for the plugin's class; the plugin checks them."
    )

    def load(self) -> Regressor:
        """The plugin's class, called with the settings; its records carry its own kind."""
        regressor: Regressor = load_plugin(GROUP, self.name, self.settings, noun="regressor", path="regressor")
        missing = [part for part in ("kind", "stopping", "train") if not hasattr(regressor, part)]
        if missing:
            what = f"the plugin {show(self.name)} is no regressor: it has no {', '.join(missing)}"
            raise refused("regressor.name", what, "see crda_spec/regressors/_protocol.py")
        if not is_dataclass(type(regressor)) and not isinstance(regressor, BaseModel):
            what = f"the plugin {show(self.name)} is no dataclass, so its settings cannot be recorded"
            raise refused("regressor.name", what, "see crda_spec/regressors/_protocol.py")
        return regressor

    @property
    def stopping(self) -> EarlyStopping | None:
        """As the plugin stops."""
        return self.load().stopping

    def train(self, design: Design, *, seed: int) -> Estimator:
        """As the plugin trains."""
        return self.load().train(design, seed=seed)
