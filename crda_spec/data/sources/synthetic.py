"""Rows drawn from structural equations whose truth is known."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import numpy as np
from pydantic import Field

from crda_spec.data.equations import read_equations
from crda_spec.data.raw import BaseSource, RawTable, canonical_bytes, sha256_of
from crda_spec.data.worlds import WORLDS, World, check_hidden, declare
from crda_spec.errors import Complaint, SpecError, inconsistent
from crda_spec.strict import ColumnName

WorldName = Literal["bidding_war", "house_listing", "clinical_recovery", "crop_yield", "home_energy", "paper_synthetic"]


class Synthetic(BaseSource):
    """Rows drawn from declared structural equations, or from a named world whose equations are known."""

    kind: Literal["synthetic"] = Field(
        "synthetic", description="Rows drawn from structural equations; the truth is known."
    )
    rows: int = Field(500, ge=1, le=10_000_000, description="How many rows to draw.")
    world: WorldName | None = Field(None, description="A named world; give either this or equations.")
    equations: dict[str, str] | None = Field(
        None,
        description=(
            "Structural equations, one per variable, in causal order: each may use the variables above it and draws "
            "such as normal(0, 1), uniform(0, 1), bernoulli(0.3), choice('a', 'b')."
        ),
    )
    hidden: tuple[ColumnName, ...] = Field((), description="Variables of the equations that the table does not show.")

    def describe(self) -> str:
        """`synthetic` and the world's name."""
        return f"synthetic {self.world or 'equations'}"

    def complaints(self, path: str) -> Iterator[Complaint]:
        """Settings that contradict each other. path: where the source stands in the spec."""
        if (self.world is None) == (self.equations is None):
            what = "both world and equations are given" if self.world else "neither world nor equations is given"
            yield inconsistent(path, what, "give exactly one of them")
        if self.hidden and self.equations is None:
            yield inconsistent(f"{path}.hidden", "a named world knows its own hidden variables", "remove the key")

    def header(self, base: Path = Path(), *, target: str = "") -> tuple[str, ...]:
        """The variables that the table shows; all that is wrong with the equations, and with hiding the target."""
        if self.world is not None:
            return WORLDS[self.world].columns()
        equations = self.equations or {}
        complaints = [*read_equations(equations)[1], *check_hidden(tuple(equations), self.hidden, target=target)]
        if complaints:
            raise SpecError(complaints)
        return tuple(name for name in equations if name not in self.hidden)

    def read(self, base: Path = Path(), *, target: str = "", seed: int = 0) -> RawTable:
        """Draws the rows; the same seed draws the same ones. target: which variable has to be a number."""
        world = WORLDS.get(self.world or "")
        if world is None:
            world = declare(name="equations", equations=self.equations or {}, target=target, hidden=self.hidden)
        return draw_table(world, self.rows, seed=seed)


def draw_table(world: World, rows: int, *, seed: int) -> RawTable:
    """`rows` rows of a world; the same seed draws the same rows."""
    import pandas as pd

    columns = {
        name: pd.Series(values.astype(object) if values.dtype.kind in "OU" else np.asarray(values))
        for name, values in world.draw_columns(rows, seed=seed).items()
    }
    frame = pd.DataFrame(columns)
    return RawTable(frame=frame, sha256=sha256_of(canonical_bytes(frame)), description=f"synthetic {world.name}")
