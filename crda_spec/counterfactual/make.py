"""Action and prediction: the new rows of one set of training rows, once it is known what may move and who labels."""

from __future__ import annotations

from typing import TYPE_CHECKING

from crda_spec.counterfactual.act import act
from crda_spec.counterfactual.predict import predict_outcome
from crda_spec.seeds import stream

if TYPE_CHECKING:
    from crda_spec.counterfactual.procedure import Procedure
    from crda_spec.records import Abduction, Counterfactuals, Licensed, Table, Teacher


def new_rows(
    procedure: Procedure,
    train: Table,
    teacher: Teacher,
    abduction: Abduction,
    permit: Licensed,
    *,
    seed: int,
    index: tuple[int, ...],
) -> Counterfactuals | None:
    """None when nothing may move, or no row is left because all of them lie off the data."""
    if not permit.names:
        return None
    following = procedure.propagation
    mechanisms = None if following is None else following.mechanisms(train, permit.names)
    action = act(
        train, permit.names, procedure.acting, seed=seed, index=index, mechanisms=mechanisms, noise=abduction.noise
    )
    if not len(action.source):
        return None
    return predict_outcome(
        teacher,
        action,
        abduction,
        retention=procedure.carried,
        weight=procedure.weight,
        draw=procedure.draw,
        train=train,
        rng=stream(seed, "matched-noise", *index),
    )
