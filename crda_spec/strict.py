"""What every model of the spec shares: closed, frozen, strict."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, GetJsonSchemaHandler, StringConstraints
from pydantic_core import CoreSchema

# Names of the two ways to write values to choose from. Pydantic mixes them into the place of an error.
LIST, RANGE = "(list)", "(range)"


class Strict(BaseModel):
    """A section of the spec: unknown keys are errors, values are never coerced, nothing changes after loading."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, defer_build=True)

    @classmethod
    def __get_pydantic_json_schema__(cls, core_schema: CoreSchema, handler: GetJsonSchemaHandler, /) -> dict[str, Any]:
        """In a spec `kind` is always written, although Python may leave it out."""
        schema = handler(core_schema)
        own = handler.resolve_ref_schema(schema)
        if "default" in own.get("properties", {}).get("kind", {}):
            del own["properties"]["kind"]["default"]
            own["required"] = ["kind", *own.get("required", ())]
        return schema


ColumnName = Annotated[str, StringConstraints(min_length=1), Field(description="The name of a column of the data.")]
FilePath = Annotated[
    str, StringConstraints(min_length=1), Field(description="A file; a relative path starts at the spec's folder.")
]
Fraction = Annotated[float, Field(gt=0, lt=1, allow_inf_nan=False)]
Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]
NonNegative = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Finite = Annotated[float, Field(allow_inf_nan=False)]
