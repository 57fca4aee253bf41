"""The words that our published schemas are written in."""

from __future__ import annotations

from typing import Any

Schema = dict[str, Any]


def closed_object(description: str, **properties: Schema) -> Schema:
    """An object with these members, all of them, and no others."""
    return {
        "type": "object",
        "description": description,
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def text(description: str) -> Schema:
    """A string."""
    return {"type": "string", "description": description}
