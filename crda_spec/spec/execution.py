"""`execution` and `output`: how the work is done and where its results go. Neither changes a number."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from crda_spec.spec.base import FilePath, Strict


class Execution(Strict):
    """How the work is spread. The results are the same bytes for every choice."""

    jobs: int | Literal["auto"] = Field(
        "auto", description="Worker processes for the gate's folds; auto takes one per core."
    )


class Output(Strict):
    """Where a run is written."""

    dir: FilePath = Field(
        "runs", description="The folder that receives <name>/<run id>/; a relative path starts where the command runs."
    )
    model: bool = Field(default=True, description="Whether the final model is saved.")
    diagnostics: bool = Field(
        default=True,
        description=(
            "Whether the report looks at the new rows: where they lie, how far they moved, what the teacher does "
            "there, and, by one fit more, how much of the gain needs no new place."
        ),
    )
    plots: bool = Field(default=True, description="Whether the report's figures are also saved as SVG and PNG files.")
