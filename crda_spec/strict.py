"""What every model of the spec shares: closed, frozen, strict."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, GetJsonSchemaHandler, StringConstraints
from pydantic_core import CoreSchema

# Names of the ways to write several values. Pydantic mixes them into the place of an error.
LIST, RANGE, MAPPING, TEXT = "(list)", "(range)", "(mapping)", "(text)"


class Strict(BaseModel):
    """A section of the spec: unknown keys are errors, values are never coerced, nothing changes after loading."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, defer_build=True)

    @classmethod
    def __get_pydantic_json_schema__(cls, core_schema: CoreSchema, handler: GetJsonSchemaHandler, /) -> dict[str, Any]:
        """What an editor shows of a spec: the docstring's first paragraph; and `kind` is required.

        `kind` has a default for whoever writes Python; in a spec it tells the members of a family apart.
        """
        reference = handler(core_schema)
        schema = handler.resolve_ref_schema(reference)
        schema["description"] = schema.get("description", "").partition("\n\n")[0]
        properties = schema.get("properties", {})
        if "default" in properties.get("kind", {}):
            del properties["kind"]["default"]
            required = {"kind", *schema.get("required", ())}
            schema["required"] = [name for name in properties if name in required]
        return reference


ColumnName = Annotated[str, StringConstraints(min_length=1), Field(description="The name of a column of the data.")]
FilePath = Annotated[
    str, StringConstraints(min_length=1), Field(description="A file; a relative path starts at the spec's folder.")
]
EdgeText = Annotated[
    str,
    StringConstraints(min_length=1, max_length=2000),
    Field(description="a -> b, a <-> b (hidden common cause), chains a -> b -> c, fan-out {a b} -> c."),
]
Fraction = Annotated[float, Field(gt=0, lt=1, allow_inf_nan=False)]
Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]
NonNegative = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Finite = Annotated[float, Field(allow_inf_nan=False)]
