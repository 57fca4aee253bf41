"""Regressors of other packages, joined through the entry-point group `crda_spec.regressors`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import is_dataclass
from importlib.metadata import entry_points
from typing import Any

from crda_spec.errors import Complaint, SpecError, did_you_mean, show
from crda_spec.regressors._protocol import Regressor

GROUP = "crda_spec.regressors"


def plugin_names() -> tuple[str, ...]:
    """The regressors that installed packages offer."""
    return tuple(sorted(point.name for point in entry_points(group=GROUP)))


def load_plugin(name: str, settings: Mapping[str, Any]) -> Regressor:
    """The plugin's class, called with the settings; it must follow `_protocol.Regressor`."""
    found = [point for point in entry_points(group=GROUP) if point.name == name]
    if not found:
        hint = (
            did_you_mean(name, plugin_names(), otherwise="installed") or f"no package offers one in the group {GROUP}"
        )
        raise SpecError(_complaint("regressor.name", f"no installed package offers the regressor {show(name)}", hint))
    try:
        member = found[0].load()
    except (ImportError, AttributeError) as error:
        what = f"the plugin {show(name)} cannot be loaded from {show(found[0].value)}: {error}"
        raise SpecError(_complaint("regressor.name", what, "reinstall the package that offers it")) from error
    try:
        built: Any = member(**settings)
    except (TypeError, ValueError) as error:
        what = f"the plugin {show(name)} refused its settings: {error}"
        raise SpecError(_complaint("regressor.settings", what, "see the plugin's documentation")) from error
    missing = [part for part in ("kind", "stopping", "train") if not hasattr(built, part)]
    if missing:
        what = f"the plugin {show(name)} is no regressor: it has no {', '.join(missing)}"
        raise SpecError(_complaint("regressor.name", what, "see crda_spec/regressors/_protocol.py"))
    if not is_dataclass(type(built)):
        what = f"the plugin {show(name)} is no dataclass, so its settings cannot be recorded"
        raise SpecError(_complaint("regressor.name", what, "see crda_spec/regressors/_protocol.py"))
    regressor: Regressor = built
    return regressor


def _complaint(path: str, what: str, hint: str) -> Complaint:
    return Complaint(code="bad-plugin", path=path, what=what, hint=hint)
