"""Every policy, noise model, kind of teacher and draw: what is written is enough to compute every label again."""

import io
from itertools import product

import numpy as np
import pyarrow.parquet as pq
import pytest

from crda_spec.audit.tables import changed_cells, synthetic_table
from crda_spec.counterfactual.abduct import Additive, LocationScale, abduct
from crda_spec.counterfactual.act import act
from crda_spec.counterfactual.perturbation import Perturbation
from crda_spec.counterfactual.policies import POLICIES
from crda_spec.counterfactual.predict import LabelRule, predict_outcome
from crda_spec.records import Column, Table
from crda_spec.regressors import REGRESSORS, Fitter, Knn
from crda_spec.regressors.teachers import (
    BaggedTeacher,
    CommitteeTeacher,
    CrossfitTeacher,
    FoldContext,
    SingleTeacher,
    Student,
)

COLUMNS = (
    Column(name="area", type="continuous", minimum=20.0, maximum=150.0),
    Column(name="rooms", type="integer", minimum=1.0),
    Column(name="garage", type="category", labels=("none", "carport", "double")),
    Column(name="heated", type="boolean"),
    Column(name="kept", type="continuous"),
)
MOVED = ("area", "rooms", "garage", "heated")
TEACHERS = {
    "single": SingleTeacher(),
    "crossfit": CrossfitTeacher(folds=3),
    "bagged": BaggedTeacher(members=3),
    "committee": CommitteeTeacher(members=(Student(), Knn()), folds=3),
}
GRIDS = {"area": (30.0, 60.0), "rooms": (2, 4), "garage": ("none", "double"), "heated": (True, False)}


def houses(rows=60):
    rng = np.random.default_rng(5)
    x = np.column_stack(
        [
            rng.uniform(20, 150, rows),
            rng.integers(1, 7, rows),
            rng.integers(0, 3, rows),
            rng.integers(0, 2, rows),
            rng.normal(size=rows),
        ]
    ).astype(float)
    y = 3 * x[:, 0] + 20 * x[:, 1] + 30 * (x[:, 2] == 2) + rng.normal(0, 20, rows) * np.exp(0.3 * x[:, 4])
    target = Column(name="price", type="continuous")
    return Table(features=COLUMNS, target=target, row_ids=np.arange(rows), x=x, y=y)


TRAIN = houses()


@pytest.fixture(scope="module", params=TEACHERS)
def taught(request):
    fitter = Fitter(REGRESSORS["ridge"]())
    plain = fitter.fit(TRAIN, seed=1)
    return TEACHERS[request.param].teach(TRAIN, fitter, plain, FoldContext(seed=3))


def perturbation(kind):
    """Each feature by this policy where it suits; else resampled."""
    if kind == "grid":
        return Perturbation(features={name: POLICIES["grid"](values=values) for name, values in GRIDS.items()})
    return Perturbation(features=dict.fromkeys(MOVED, POLICIES[kind]()))


@pytest.mark.parametrize(("policy", "noise"), list(product(sorted(POLICIES), [Additive(), LocationScale()])))
def test_labels_follow_from_the_written_ledger_to_the_last_bit(taught, policy, noise):
    if noise.needs_unseen and taught.out_of_fold is None:
        pytest.skip("a teacher that has seen every row has no size of noise to learn from")
    residuals = "in_sample" if taught.out_of_fold is None else "out_of_fold"
    abduction = abduct(TRAIN, taught, residuals=residuals, noise=noise)
    action = act(TRAIN, MOVED, perturbation(policy), factor=1.5, seed=2, index=(0,))
    for draw, retention in (("own", 0.3), ("matched", 1.0), ("none", 0.0)):
        made = predict_outcome(
            taught,
            action,
            abduction,
            TRAIN,
            LabelRule(retention=retention, weight=0.5, draw=draw),
            rng=np.random.default_rng(0),
        )
        check(made, abduction, taught)


def check(made, abduction, teacher):
    numbers = TRAIN.row_ids + 1
    file = io.BytesIO()
    pq.write_table(synthetic_table(made, TRAIN, source_numbers=numbers, noise_numbers=numbers), file)
    rows = pq.read_table(file).to_pydict()
    prediction, scale, noise, retention = (
        np.array(rows[f"_crda_{name}"], dtype=float) for name in ("prediction", "scale", "noise", "retention")
    )
    assert np.array(rows["price"]).tobytes() == (prediction + retention * (scale * noise)).tobytes()
    assert teacher.predict(made.action.x).tobytes() == prediction.tobytes()
    lender = [None if number is None else number - 1 for number in rows["_crda_noise_row"]]
    lent = np.array([0.0 if row is None else abduction.noise[row] for row in lender])
    assert lent.tobytes() == noise.tobytes()
    assert {rows["_crda_basis"][0]} == set(rows["_crda_basis"]) == {made.basis}
    source = np.array(rows["_crda_source_row"]) - 1
    row, column, (_, new) = changed_cells(made.action, TRAIN.x)
    again = TRAIN.x[source]
    again[row, column] = new
    assert again.tobytes() == made.action.x.tobytes()
    assert made.action.x[:, 4].tobytes() == TRAIN.x[source, 4].tobytes()
    assert len(row) > len(made)  # something moved
