"""Blocks of folds: any two folds together in exactly one, so that few models serve every outer fold."""

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crda_spec.regressors.teachers import CommitteeTeacher
from crda_spec.regressors.teachers.blocks import fold_blocks
from crda_spec.regressors.teachers.sharing import gate_folds, shared_fits


@given(st.integers(2, 50))
def test_any_two_folds_lie_together_in_exactly_one_block(folds):
    blocks = fold_blocks(folds)
    together = [pair for block in blocks for pair in combinations(block, 2)]
    assert sorted(together) == sorted(combinations(range(1, folds + 1), 2))


@given(st.integers(3, 50), st.data())
def test_the_blocks_around_a_fold_part_the_others_and_leave_enough_rows(folds, data):
    outer = data.draw(st.integers(1, folds))
    held = [[number] for number in range(folds)]
    around = gate_folds(held, folds, outer, in_blocks=True)
    assert sorted(number for part in around.parts for number in part) == [k for k in range(1, folds + 1) if k != outer]
    assert all(outer in around.left_out(part) for part in around.parts)
    if folds > 3:
        assert all(folds - len(around.left_out(part)) >= 0.5 * (folds - 1) for part in around.parts)


@pytest.mark.parametrize(("folds", "count"), [(3, 3), (5, 10), (6, 15), (7, 7), (9, 12), (10, 12), (13, 13), (20, 29)])
def test_planes_need_far_fewer_models_than_pairs(folds, count):
    assert len(fold_blocks(folds)) == count
    seats = CommitteeTeacher((None, None, None, None)).seats
    assert shared_fits(seats, folds, in_blocks=True)[1] == 4 * count
