"""Abduction: the noise of each training row, given what the teacher says of it."""

from __future__ import annotations

from crda_spec.records import Abduction, Residuals, Table, Teacher


def abduct(train: Table, teacher: Teacher, *, residuals: Residuals) -> Abduction:
    """z_i = y_i - g(x_i), by the teacher as fitted or by members that have not seen row i."""
    if residuals == "in_sample":
        return Abduction(noise=train.y - teacher.in_sample, residuals=residuals)
    if teacher.out_of_fold is None:
        message = f"a {teacher.kind} teacher has no out-of-fold predictions"
        raise ValueError(message)
    return Abduction(noise=train.y - teacher.out_of_fold, residuals=residuals)
