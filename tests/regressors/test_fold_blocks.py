"""Blocks of folds: any two folds together in one of them, so that few models serve every outer fold."""

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crda_spec.data.folds import Division
from crda_spec.regressors.teachers import CommitteeTeacher, Student
from crda_spec.regressors.teachers._protocol import fold_blocks
from crda_spec.regressors.teachers.fold_models import FoldLayout, fold_context


@given(st.integers(2, 50))
def test_any_two_folds_lie_together_in_some_block(folds):
    together = {pair for block in fold_blocks(folds) for pair in combinations(block, 2)}
    assert together == set(combinations(range(1, folds + 1), 2))


@given(st.integers(3, 50), st.data())
def test_the_blocks_around_a_fold_hold_all_others_and_leave_enough_rows(folds, data):
    outer = data.draw(st.integers(1, folds))
    held = [[number] for number in range(folds)]
    context = fold_context(Division(held=held, seed=0), folds, outer, in_blocks=True)
    assert {number for part in context.parts for number in part} == {k for k in range(1, folds + 1) if k != outer}
    assert all(outer in context.left_out(part) for part in context.parts)
    if folds > 3:
        assert all(folds - len(context.left_out(part)) >= 0.5 * (folds - 1) for part in context.parts)


@pytest.mark.parametrize(("folds", "count"), [(3, 3), (5, 10), (6, 15), (7, 10), (9, 10), (10, 10), (13, 10), (50, 10)])
def test_ten_models_of_a_kind_are_enough_for_any_number_of_folds(folds, count):
    assert len(fold_blocks(folds)) == count
    learners = CommitteeTeacher(members=(Student(),) * 4).learners
    layout = FoldLayout(learners=learners, folds=folds, in_blocks=True)
    assert len(layout.pairs(range(1, folds + 1))) == 4 * count


def test_ten_folds_are_left_out_four_at_a_time():
    assert {len(block) for block in fold_blocks(10)} == {4}
