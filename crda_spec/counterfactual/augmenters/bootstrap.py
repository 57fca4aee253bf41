"""Labels from a model plus residuals drawn anew: the residual bootstrap, and its causal kin on a whole graph."""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np
from pydantic import Field

from crda_spec.counterfactual.augmenters._protocol import BaseAugmenter, Given, NewRows, sources_of
from crda_spec.counterfactual.augmenters.graph import Admg, columns_of
from crda_spec.records import Array, Column, IntArray
from crda_spec.scm.mechanisms import Inputs, fit_label_shares, fit_mean


class ResidualBootstrap(BaseAugmenter):
    """x' = x, y' = g(x) + z_j, j any row (Efron 1979; Freedman 1981, fixed design).

    g is the teacher. The residuals are not centred: the ledger names the row that lent each.
    """

    kind: Literal["residual_bootstrap"] = Field(
        "residual_bootstrap", description="Rows as they are, their outcomes the prediction plus another row's residual."
    )

    asks_teacher: ClassVar[bool] = True

    def describe(self) -> str:
        """See `BaseAugmenter.describe`."""
        return "kept; the outcome gets the residual of a row drawn at random"

    def make(self, given: Given, count: int, *, rng: np.random.Generator) -> NewRows:
        """See `BaseAugmenter.make`."""
        source = sources_of(len(given.train), count, rng=rng)
        lent = rng.integers(0, len(given.train), size=count, dtype=np.int64)
        return NewRows(x=given.train.x[source], label=None, source=source, noise_source=lent)


class CausalBootstrap(BaseAugmenter):
    """Every node anew from its causes: its fitted mean plus a residual drawn independently of the other nodes'.

    Gajewski, Xiao and Mazaheri 2026, "Data augmentation via causal-residual bootstrapping" (arXiv 2603.15335), for
    additive noise. Added here: nodes that a hidden cause joins draw their residuals from one row, and a label is drawn
    from its fitted shares. The means are kernel ridge regressions. Rows with a missing cell are not used.
    """

    kind: Literal["causal_bootstrap"] = Field(
        "causal_bootstrap", description="Each node of the graph from its causes plus a residual drawn for it alone."
    )

    asks_graph: ClassVar[bool] = True
    learns: ClassVar[bool] = True
    streams: ClassVar[bool] = False

    def describe(self) -> str:
        """See `BaseAugmenter.describe`."""
        return "drawn from its causes in the graph by a fitted mean and a residual of its own"

    def make(self, given: Given, count: int, *, rng: np.random.Generator) -> NewRows:
        """See `BaseAugmenter.make`."""
        admg, columns, values = Admg.of(given), *columns_of(given)
        values = values[~np.isnan(values).any(axis=1)]
        made = np.empty((count if len(values) > 1 else 0, values.shape[1]))
        # One draw for all nodes of a district: the hidden causes of a row act on all of them.
        draws = {district: rng.integers(0, max(1, len(values)), size=len(made)) for district in admg.districts}
        for node in admg.order if len(made) else ():
            (lent,) = (draw for district, draw in draws.items() if node in district)
            made[:, node] = _drawn(node, sorted(admg.parents[node]), columns, values, made, lent, rng=rng)
        return NewRows(x=made[:, :-1], label=made[:, -1], source=None)


def _drawn(
    node: int,
    parents: list[int],
    columns: tuple[Column, ...],
    values: Array,
    made: Array,
    lent: IntArray,
    *,
    rng: np.random.Generator,
) -> Array:
    """(m,) one node of the new rows, its parents drawn already. lent: (m,) whose residual each row gets."""
    known = values[:, node]
    if not parents:
        return known[lent]
    inputs = Inputs.learn(values[:, parents], [columns[one] for one in parents])
    if columns[node].is_numeric:
        mean = fit_mean(inputs, values[:, parents], known)
        residual = known - mean.predict(values[:, parents])
        return np.asarray(mean.predict(made[:, parents]) + residual[lent], dtype=np.float64)
    codes = np.unique(known)
    if len(codes) == 1:
        return np.full(len(made), codes[0])
    shares = fit_label_shares(inputs, values[:, parents], known)
    summed = np.cumsum(shares.predict(made[:, parents]), axis=1)
    pick = (summed < rng.random((len(made), 1)) * summed[:, -1:]).sum(axis=1)
    return np.asarray(shares.codes[np.minimum(pick, len(shares.codes) - 1)], dtype=np.float64)
