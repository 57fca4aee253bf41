"""`falsify`: does the data refute the declared graph, and what follows if it does?"""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from crda_spec.spec.base import Fraction, Strict


class Falsify(Strict):
    """The test of a declared graph: the conditional independencies that it implies, on the training rows."""

    on_falsified: Literal["abstain", "warn", "ignore"] = Field(
        "abstain",
        description=(
            "What a refuted graph leads to. abstain: nothing is augmented. warn: the run goes on and says so. "
            "ignore: the run goes on, and only the record says so."
        ),
    )
    alpha: Fraction = Field(
        0.05, description="The chance of refuting a right graph, over all its statements together (Holm)."
    )
    permutations: int = Field(
        100, ge=0, le=10_000, description="Graphs with permuted nodes that the declared one is compared with; 0: none."
    )
