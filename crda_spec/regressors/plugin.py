"""Regressors of other packages, joined through the entry-point group `crda_spec.regressors`."""

from __future__ import annotations

import json
from dataclasses import is_dataclass
from importlib.metadata import entry_points
from typing import Any, Literal

from pydantic import BaseModel, Field, ValidationError

from crda_spec.errors import Complaint, SpecError, did_you_mean, show
from crda_spec.regressors._protocol import BaseRegressor, Design, EarlyStopping, Estimator, Regressor

GROUP = "crda_spec.regressors"


def plugin_names() -> tuple[str, ...]:
    """The regressors that installed packages offer."""
    return tuple(sorted(point.name for point in entry_points(group=GROUP)))


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
        regressor = self._built(self._class())
        missing = [part for part in ("kind", "stopping", "train") if not hasattr(regressor, part)]
        if missing:
            what = f"the plugin {show(self.name)} is no regressor: it has no {', '.join(missing)}"
            raise _refused("name", what, "see crda_spec/regressors/_protocol.py")
        if not is_dataclass(type(regressor)) and not isinstance(regressor, BaseModel):
            what = f"the plugin {show(self.name)} is no dataclass, so its settings cannot be recorded"
            raise _refused("name", what, "see crda_spec/regressors/_protocol.py")
        return regressor

    @property
    def stopping(self) -> EarlyStopping | None:
        """As the plugin stops."""
        return self.load().stopping

    def train(self, design: Design, *, seed: int) -> Estimator:
        """As the plugin trains."""
        return self.load().train(design, seed=seed)

    def _class(self) -> Any:  # noqa: ANN401 - whatever the package offers
        found = [point for point in entry_points(group=GROUP) if point.name == self.name]
        if not found:
            what = f"no installed package offers the regressor {show(self.name)}"
            hint = did_you_mean(self.name, plugin_names(), otherwise="installed")
            raise _refused("name", what, hint or f"no package offers one in the group {GROUP}")
        try:
            return found[0].load()
        except (ImportError, AttributeError) as error:
            what = f"the plugin {show(self.name)} cannot be loaded from {show(found[0].value)}: {error}"
            raise _refused("name", what, "reinstall the package that offers it") from error

    def _built(self, member: Any) -> Regressor:  # noqa: ANN401 - whatever the package offers
        what, hint = f"the plugin {show(self.name)} refused its settings", "see the plugin's documentation"
        built: Regressor
        try:
            if isinstance(member, type) and issubclass(member, BaseModel):
                # Through JSON, as the spec itself is read: strict mode then takes a list for a tuple.
                built = member.model_validate_json(json.dumps(self.settings))  # type: ignore[assignment]
            else:
                built = member(**self.settings)
        except ValidationError as error:
            raise SpecError(
                _complaint(".".join(("settings", *map(str, one["loc"]))), f"{what}: {one['msg']}", hint)
                for one in error.errors(include_url=False)
            ) from error
        except (TypeError, ValueError) as error:
            raise _refused("settings", f"{what}: {error}", hint) from error
        return built


def _refused(field: str, what: str, hint: str) -> SpecError:
    return SpecError(_complaint(field, what, hint))


def _complaint(field: str, what: str, hint: str) -> Complaint:
    return Complaint(code="bad-plugin", path=f"regressor.{field}", what=what, hint=hint)
