"""From a spec's model to keyword arguments."""

from __future__ import annotations

from typing import Any

from crda_spec.spec.base import Strict


def settings_of(model: Strict, *without: str) -> dict[str, Any]:
    """A model's fields, but for its kind."""
    return {name: getattr(model, name) for name in type(model).model_fields if name not in ("kind", *without)}
