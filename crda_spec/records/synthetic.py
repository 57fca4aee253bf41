"""New rows, their labels, and the licence that each of them stands on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from crda_spec.records.rows import Array, IntArray

if TYPE_CHECKING:  # `crda-spec validate` needs these records, and must not wait for numpy
    import numpy as np
    import numpy.typing as npt

# certificate: the row carries noise of a real row, so only features that are separated from the noise may have moved.
# support: it carries none and claims no invariance; any feature may have moved, within the support of the data.
Licence = Literal["certificate", "support"]

# Whose noise a new row carries: its own source row's, nobody's, or that of a training row with similar X_R.
ResidualDraw = Literal["own", "none", "matched"]

NOBODY = -1  # stands for a row where a synthetic row has none: no noise carried, no partner


@dataclass(frozen=True, slots=True, kw_only=True)
class Licensed:
    """What moves, and on which licence. The certificate says what may carry noise; this says what is done."""

    licence: Licence
    names: tuple[str, ...]  # in the table's order
    uncertified: tuple[str, ...] = ()  # of these, the ones that the certificate holds fixed: under `support` only
    stuck: Mapping[str, str] = field(default_factory=dict)  # wanted, but its effects cannot follow: name -> why
    left: Mapping[str, str] = field(default_factory=dict)  # this licence would let it move, but: name -> why not


@dataclass(frozen=True, slots=True, kw_only=True)
class Movement:
    """What becomes of one feature in a run, beside what the certificate says of it."""

    name: str
    certified: bool  # in X_P, or it could have been: no tie to the noise is known
    moves: Literal["moves", "follows", "stays"]
    licence: Licence | None  # None when it stays
    sentence: str  # why it moves, or why it stays


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Action:
    """New rows in which only X_P moved."""

    x: Array  # (m, d)
    source: IntArray  # (m,) position of the training row each came from
    moved: tuple[str, ...]
    policies: Mapping[str, str]  # what was done to each moved feature, in words
    clipped: Mapping[str, int]  # how many proposals had to be brought back inside the column's contract
    propagated: Mapping[str, str] = field(default_factory=dict)  # what followed the moved ones, and by which equation
    unmoved: int = 0  # rows that came out as their source: missing cells stay missing, and some draws change nothing
    dropped: int = 0  # rows that were left out because they lay off the data's support
    redrawn: int = 0  # rows that were drawn again, because of that or because they broke a column's contract
    astray: int = 0  # source rows from elsewhere that lie off the training rows themselves
    partner: IntArray | None = None  # (m,) the second row each was made from, NOBODY where there was none


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Counterfactuals:
    """The synthetic rows and, for each, all that is needed to recompute it.

    y = prediction + retention * (scale * noise), computed in this order, to the last bit.
    """

    action: Action
    prediction: Array  # (m,) the teacher's word at the new x
    noise: Array  # (m,) the noise the row carries, 0 under the licence `support`
    retention: float
    y: Array  # (m,)
    weight: float
    licence: Licence = "certificate"
    draw: ResidualDraw = "own"
    scale: Array | None = None  # (m,) the noise's scale at the new x; None means 1 in every row
    noise_source: IntArray | None = None  # (m,) whose noise it is, NOBODY for none; None means the source row's
    scale_clipped: int = 0  # rows at whose x the fitted scale had to be brought back into its range

    def __len__(self) -> int:
        return len(self.y)

    @property
    def noise_rows(self) -> IntArray:
        """(m,) position of the training row whose noise each row carries, NOBODY where it carries none."""
        return self.action.source if self.noise_source is None else self.noise_source

    def stems_from(self, rows: npt.NDArray[np.bool_]) -> npt.NDArray[Any]:
        """Which synthetic rows contain something of these training rows: their features, or the noise of their outcome.

        rows: (n,) a mask. Returns (m,), a mask. Early stopping asks: no model may be trained on a row that was made
        from one it is watched on.
        """
        made = rows[self.action.source] | ((self.noise_rows >= 0) & rows[self.noise_rows])
        partner = self.action.partner
        return made if partner is None else made | ((partner >= 0) & rows[partner])
