"""Names, file numbers and remarks: categories that tell rows apart stay where they are, and the run says why."""

import numpy as np
import pytest
from counterfactual_parts import declared, table

from crda_spec.counterfactual.perturbation import Perturbation, row_labels
from crda_spec.counterfactual.policies import Resample
from crda_spec.counterfactual.procedure import Procedure, augment
from crda_spec.records import Column
from crda_spec.regressors import Ridge
from crda_spec.regressors.teachers import FoldContext, SingleTeacher
from crda_spec.report.words.causal import movement_sentence


def people(rows, labels):
    """Doses, wards, and names of which so many are different."""
    rng = np.random.default_rng(0)
    names = Column(name="person", type="category", labels=tuple(f"p{number}" for number in range(rows)))
    columns = [Column(name="dose", type="continuous"), Column(name="ward", type="category", labels=("n", "s")), names]
    x = np.column_stack([rng.normal(size=rows), rng.integers(0, 2, rows), np.arange(rows) % labels])
    return table(x, x[:, 0] + 0.1 * rng.normal(size=rows), columns)


def augmented(train, **policies):
    procedure = Procedure(
        regressor=Ridge(),
        fill="median",
        search=None,
        teacher=SingleTeacher(),
        residuals="in_sample",
        partitioner=declared(["{dose ward person} -> y"], train.names),
        perturbation=Perturbation(**policies),
        factor=1.0,
        retention=1.0,
        weight=1.0,
    )
    return augment(procedure, train, FoldContext(seed=1))


@pytest.mark.parametrize(
    ("rows", "labels", "found"),
    [(40, 40, ("person",)), (40, 21, ("person",)), (40, 20, ()), (40, 2, ()), (20, 20, ("person",)), (19, 19, ())],
)
def test_more_labels_than_half_the_rows_tell_rows_apart(rows, labels, found):
    assert row_labels(people(rows, labels)) == found


def test_such_a_column_stays_by_default_and_the_run_says_why():
    made = augmented(people(40, 40))
    assert made.moved == ("dose", "ward")
    (movement,) = (one for one in made.movements if one.name == "person")
    assert movement.moves == "stays"
    assert movement_sentence(movement).endswith(
        "it has more labels than half the rows: such a column tells rows apart, or is free text, and moves only by a "
        "policy of its own under perturbation.features"
    )
    train, action = people(40, 40), made.counterfactuals.action
    assert (action.x[:, 2] == train.x[action.source, 2]).all()


def test_what_moves_together_with_it_stays_too():
    made = augmented(people(40, 40), together=(("ward", "person"),), default=Resample())
    assert made.moved == ("dose",)


def test_a_policy_of_its_own_moves_it():
    assert augmented(people(40, 40), features={"person": Resample()}).moved == ("dose", "ward", "person")
    assert augmented(people(40, 20)).moved == ("dose", "ward", "person")
