"""Members of a family that other packages offer, each under an entry point of the family's group."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from importlib.metadata import entry_points
from typing import Any

from pydantic import BaseModel, ValidationError

from crda_spec.errors import Complaint, SpecError, did_you_mean, show


def plugin_names(group: str) -> tuple[str, ...]:
    """What installed packages offer in this group."""
    return tuple(sorted(point.name for point in entry_points(group=group)))


def load_plugin(group: str, name: str, settings: Mapping[str, Any], *, noun: str, path: str) -> Any:  # noqa: ANN401 - whatever the package offers
    """The plugin's class, called with the settings.

    noun: what it should be, in messages.  path: where the spec writes its name and settings.
    """
    offered = [point for point in entry_points(group=group) if point.name == name]
    if not offered:
        hint = did_you_mean(name, plugin_names(group), otherwise="installed")
        what = f"no installed package offers the {noun} {show(name)}"
        raise refused(f"{path}.name", what, hint or f"no package offers one in the group {group}")
    try:
        member = offered[0].load()
    except (ImportError, AttributeError) as error:
        what = f"the plugin {show(name)} cannot be loaded from {show(offered[0].value)}: {error}"
        raise refused(f"{path}.name", what, "reinstall the package that offers it") from error
    what, hint = f"the plugin {show(name)} refused its settings", "see the plugin's documentation"
    try:
        if isinstance(member, type) and issubclass(member, BaseModel):
            # Through JSON, as the spec itself is read: strict mode then takes a list for a tuple.
            return member.model_validate_json(json.dumps(settings))
        return member(**settings)
    except ValidationError as error:
        raise SpecError(
            _complaint((path, "settings", *one["loc"]), f"{what}: {one['msg']}", hint)
            for one in error.errors(include_url=False)
        ) from error
    except (TypeError, ValueError) as error:
        raise refused(f"{path}.settings", f"{what}: {error}", hint) from error


def refused(path: str, what: str, hint: str) -> SpecError:
    """A plugin that cannot be used."""
    return SpecError(_complaint((path,), what, hint))


def _complaint(path: Iterable[str | int], what: str, hint: str) -> Complaint:
    return Complaint(code="bad-plugin", path=".".join(map(str, path)), what=what, hint=hint)
