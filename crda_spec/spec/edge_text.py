"""The text of an edge, as every section writes it."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, StringConstraints

EdgeText = Annotated[
    str,
    StringConstraints(min_length=1, max_length=2000),
    Field(description="a -> b, a <-> b (hidden common cause), chains a -> b -> c, fan-out {a b} -> c."),
]
