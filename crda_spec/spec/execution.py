"""`execution` and `output`: how the work is done, where its results go, and how many models there are to hand over.

Neither changes a number of the augmentation or of its gate.
"""

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
    """Where a run is written, and what it hands over."""

    dir: FilePath = Field(
        "runs", description="The folder that receives <name>/<run id>/; a relative path starts where the command runs."
    )
    model: bool = Field(default=True, description="Whether the final model is saved.")
    ensemble: int = Field(
        1,
        ge=1,
        le=100,
        description=(
            "How many models are handed over, each with a seed of its own; from 2 on their mean is what predicts. The "
            "gate still judges one model against one, and the report tells what is the ensemble's gain."
        ),
    )
    diagnostics: bool = Field(
        default=True,
        description=(
            "Whether the report looks at the new rows: where they lie, how far they moved, what the teacher does "
            "there, and, by one fit more, how much of the gain needs no new place."
        ),
    )
    plots: bool = Field(default=True, description="Whether the report's figures are also saved as SVG and PNG files.")
