"""Abduction: the noise of each training row, given what the teacher says of it."""

from __future__ import annotations

from crda_spec.counterfactual.noise import Additive, NoiseModel
from crda_spec.records import Abduction, Array, Residuals, Table, Teacher

_ADDITIVE = Additive()


def abduct(train: Table, teacher: Teacher, *, residuals: Residuals, noise: NoiseModel = _ADDITIVE) -> Abduction:
    """z_i = (y_i - g(x_i)) / s(x_i), g the teacher as fitted or members that have not seen row i.

    s is 1 for additive noise. A scale is always learnt from rows unseen: a flexible model has small residuals where it
    has learnt rows by heart, which says nothing of the noise there.
    """
    said = teacher.in_sample if residuals == "in_sample" else _unseen(teacher)
    residual = train.y - said
    scale_model = noise.fit(train, train.y - _unseen(teacher) if noise.needs_unseen else residual)
    if scale_model is None:
        return Abduction(noise=residual, residuals=residuals, model=noise.kind)
    scale, clipped = scale_model.at(train.x)
    return Abduction(
        noise=residual / scale,
        residuals=residuals,
        model=noise.kind,
        scale=scale,
        scale_model=scale_model,
        scale_clipped=clipped,
    )


def _unseen(teacher: Teacher) -> Array:
    if teacher.out_of_fold is None:
        message = f"a {teacher.kind} teacher has no out-of-fold predictions"
        raise ValueError(message)
    return teacher.out_of_fold
