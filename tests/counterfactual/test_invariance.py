"""Irrelevant features: they move freely, no label depends on them, and the rows must bear the graph out first."""

from dataclasses import replace

import numpy as np
import pytest
from counterfactual_parts import declared, mixed, numbers

from crda_spec.counterfactual.abduct import abduct
from crda_spec.counterfactual.act import act
from crda_spec.counterfactual.basis import trusted_irrelevant
from crda_spec.counterfactual.perturbation import Perturbation
from crda_spec.counterfactual.policies import Jitter, Resample
from crda_spec.counterfactual.predict import LabelRule, predict_outcome
from crda_spec.counterfactual.procedure import Procedure, augment
from crda_spec.counterfactual.support import NeighbourSupport
from crda_spec.records import Teacher, Trust
from crda_spec.regressors import Fitter, Linear, Ridge
from crda_spec.regressors.teachers import CommitteeTeacher, FoldContext

EDGES = ["{a b} -> y", "a -> c", "b -> d"]  # c and d are effects of the causes, and irrelevant


class Everything:
    """A teacher that looks at every column."""

    def predict(self, x):
        return np.nan_to_num(x).sum(axis=1)


def sample(rows=60, seed=0, noise=0.5):
    rng = np.random.default_rng(seed)
    a, b = rng.normal(size=(2, rows))
    x = np.column_stack([a, b, a + 0.5 * rng.normal(size=rows), b + 0.5 * rng.normal(size=rows)])
    return numbers(x, 2.0 * a - b + noise * rng.normal(size=rows))


def made_of(train, *, moved=("a", "c", "d"), irrelevant=("c", "d"), retention=0.0, perturbation=None, factor=5.0):
    perturbation = Perturbation(default=Jitter(), copy_fraction=0.4) if perturbation is None else perturbation
    teacher = Teacher(kind="single", members=(Everything(),), in_sample=Everything().predict(train.x), out_of_fold=None)
    free = perturbation.free(irrelevant)
    action = act(train, moved, perturbation, factor=factor, seed=3, index=(0,), free=free)
    rule = LabelRule(retention=retention, weight=1.0, irrelevant=irrelevant)
    abduction = abduct(train, teacher, residuals="in_sample")
    return predict_outcome(teacher, action, abduction, train, rule, rng=np.random.default_rng(0))


def test_no_label_depends_on_how_irrelevant_features_moved():
    train = sample()
    made = made_of(train)
    source = train.x[made.action.source]
    assert (made.action.x[:, 2:] != source[:, 2:]).mean() > 0.9  # both, in nearly every row
    asked = np.column_stack([made.action.x[:, :2], source[:, 2:]])
    assert made.prediction.tobytes() == Everything().predict(asked).tobytes()
    assert made.y.tobytes() == made.prediction.tobytes()
    other = replace(made.action, x=np.column_stack([made.action.x[:, :2], -made.action.x[:, 2:]]))
    teacher = Teacher(kind="single", members=(Everything(),), in_sample=Everything().predict(train.x), out_of_fold=None)
    abduction = abduct(train, teacher, residuals="in_sample")
    rule = LabelRule(retention=0.0, weight=1.0, irrelevant=("c", "d"))
    again = predict_outcome(teacher, other, abduction, train, rule, rng=np.random.default_rng(0))
    assert again.y.tobytes() == made.y.tobytes()


def test_a_row_stands_on_invariance_where_only_irrelevant_features_changed():
    train = sample()
    made = made_of(train)
    still = (made.action.x[:, :2] == train.x[made.action.source][:, :2]).all(axis=1)
    assert [one == "invariance" for one in made.row_basis] == still.tolist()
    assert still.sum() == 120  # the copies, of 300
    assert set(made.row_basis) == {"invariance", "certificate"}


@pytest.mark.parametrize(("retention", "copied"), [(1.0, True), (0.9, False)])
def test_an_outcome_is_copied_not_computed_where_all_noise_is_kept(retention, copied):
    train = sample(seed=1)
    made = made_of(train, retention=retention)
    still = np.array([one == "invariance" for one in made.row_basis])
    own = train.y[made.action.source]
    assert (made.y[still].tobytes() == own[still].tobytes()) == copied
    np.testing.assert_allclose(
        made.y[~still], made.prediction[~still] + retention * made.noise[~still], rtol=0, atol=1e-12
    )


def test_irrelevant_features_are_resampled_each_by_itself_from_its_own_column():
    train = mixed(50, missing=0.1)
    irrelevant = ("count", "ward", "smoker")
    made = made_of(train, moved=("free", *irrelevant), irrelevant=irrelevant, factor=20.0)
    for name in irrelevant:
        (position,) = train.positions([name])
        before, after = train.x[:, position], made.action.x[:, position]
        values, counts = np.unique(before, return_counts=True)
        for value, count in zip(values, counts, strict=True):  # NaN counts as a value
            here = np.isnan(after) if np.isnan(value) else after == value
            assert abs(here.mean() - count / 50) < 0.07
        assert made.action.policies[name].startswith("resampled from its own column")
    first, second = (made.action.x[:, train.positions([name])[0]] for name in ("count", "smoker"))
    known = ~np.isnan(first) & ~np.isnan(second)
    assert abs(np.corrcoef(first[known], second[known])[0, 1]) < 0.1


def test_a_policy_of_its_own_moves_an_irrelevant_feature_and_the_rest_stays_free():
    own = Perturbation(default=Jitter(), features={"c": Resample()}, together=(("a", "b"),))
    assert own.free(("c", "d")) == ("d",)
    assert Perturbation(propagate=True).free(("c", "d")) == ()


def test_the_guard_looks_at_the_boundary_only():
    """c follows a closely: resampled alone it lies off the data, and yet no row is lost or drawn again."""
    rng = np.random.default_rng(0)
    a = rng.normal(size=80)
    train = numbers(np.column_stack([a, rng.normal(size=80), a + 1e-3 * rng.normal(size=80)]), a)
    guarded = Perturbation(default=Jitter(sd=0.05), support=NeighbourSupport(on_outside="drop"))
    free = act(train, ["c"], guarded, factor=3.0, seed=0, index=(0,), free=("c",))
    tied = act(train, ["c"], replace_policy(guarded), factor=3.0, seed=0, index=(0,))
    assert (len(free.source), free.dropped) == (240, 0)
    assert tied.dropped > 200


def replace_policy(perturbation):
    return perturbation.model_copy(update={"features": {"c": Resample()}})


def trust(passed):
    return Trust(everything=1.0, boundary=1.0, standard_error=0.1, margin=0.5, weight=0.5, passed=passed)


@pytest.mark.parametrize(
    ("invariance", "seen", "taken"),
    [
        ("off", trust(True), False),
        ("trusted", trust(True), True),
        ("trusted", trust(False), False),
        ("trusted", None, False),
        ("declared", None, True),
    ],
)
def test_the_graphs_word_is_taken_when_the_rows_bear_it_out_or_the_user_says_so(invariance, seen, taken):
    train = sample()
    certificate = declared(EDGES, train.names).partition(train, np.zeros(len(train)), seed=0, index=(0,))
    assert certificate.irrelevant == ("c", "d")
    assert trusted_irrelevant(certificate, seen, invariance) == (("c", "d") if taken else ())


def hedged(train, edges, **changes):
    procedure = Procedure(
        regressor=Linear(),
        fill="median",
        search=None,
        teacher=CommitteeTeacher(members=(Linear(), Ridge(alpha=5.0)), folds=5, hedge=True),
        residuals="out_of_fold",
        screened="out_of_fold",
        partitioner=declared(edges, train.names),
        perturbation=Perturbation(default=Jitter(), copy_fraction=0.3),
        factor=4.0,
        retention=0.0,
        weight=1.0,
        invariance="trusted",
    )
    return augment(replace(procedure, **changes), train, FoldContext(seed=0))


def test_a_hedged_committee_has_every_kind_twice_and_its_weights_sum_to_one():
    train = sample(120)
    made = hedged(train, EDGES)
    names = [family.name for family in made.teacher.families]
    assert names == ["linear", "ridge", "linear on the boundary", "ridge on the boundary"]
    assert sum(family.weight for family in made.teacher.families) == pytest.approx(1.0)
    graphs = sum(family.weight for family in made.teacher.families if family.name.endswith("boundary"))
    assert made.teacher.trust.weight == pytest.approx(graphs)
    bounded = [member for member in made.teacher.members if member.columns is not None]
    assert {member.columns for member in bounded} == {(0, 1)}
    spoiled = train.x.copy()
    spoiled[:, 2:] = 1e6
    for member in bounded:
        assert member.predict(spoiled).tobytes() == member.predict(train.x).tobytes()


def test_the_right_graph_is_trusted_and_its_irrelevant_features_move_freely():
    made = hedged(sample(120), EDGES)
    assert made.teacher.trust.passed
    assert made.movable.irrelevant == ("c", "d")
    assert "invariance" in made.counterfactuals.row_basis


def test_a_graph_that_lost_a_cause_is_not_trusted_and_nothing_counts_as_irrelevant():
    """b is drawn as an effect of a, so the boundary is a alone; the rows know better."""
    made = hedged(sample(120), ["a -> {y b c}", "b -> d"])
    assert made.certificate.irrelevant == ("b", "c", "d")
    assert not made.teacher.trust.passed
    assert made.teacher.trust.boundary > made.teacher.trust.everything
    assert made.movable.irrelevant == ()
    assert set(made.counterfactuals.row_basis) == {"certificate"}


def test_trust_is_settled_by_the_rows_at_hand_alone():
    """Inside a fold no held-out row has a say: the same rows, the same answer, whatever others there are."""
    train = sample(120)
    part = train.take(np.arange(80))
    changed = numbers(np.concatenate([train.x[:80], -train.x[80:]]), np.concatenate([train.y[:80], -train.y[80:]]))
    assert hedged(part, EDGES).teacher.trust == hedged(changed.take(np.arange(80)), EDGES).teacher.trust


def test_opposite_graphs_give_different_rows():
    train = sample(120)
    right, opposite = hedged(train, EDGES), hedged(train, ["{c d} -> y", "c -> a", "d -> b"])
    assert right.certificate.irrelevant == ("c", "d")
    assert opposite.certificate.irrelevant == ("a", "b")
    assert not opposite.teacher.trust.passed
    assert right.counterfactuals.y.tobytes() != opposite.counterfactuals.y.tobytes()


def test_where_nothing_of_the_boundary_may_move_the_irrelevant_features_still_do():
    """An effect of y among the features blocks every cause."""
    rng = np.random.default_rng(1)  # not the sample's own, which would make e - a equal y
    base = sample(100)
    train = numbers(np.column_stack([base.x, base.y + rng.normal(size=100)]), base.y)
    made = hedged(train, [*EDGES, "y -> e"])
    assert made.certificate.perturbed == ("c", "d")
    assert made.counterfactuals.action.moved == ("c", "d")
    assert set(made.counterfactuals.row_basis) == {"invariance"}


def test_a_model_of_some_columns_is_fitted_on_these_alone():
    train = sample(80)
    model = Fitter(Linear()).fit(train, seed=0, columns=(1, 3))
    alone = Fitter(Linear()).fit(train.select((1, 3)), seed=0)
    assert model.predict(train.x).tobytes() == alone.predict(np.ascontiguousarray(train.x[:, [1, 3]])).tobytes()


def test_where_no_cause_may_move_the_policy_for_blocked_features_moves_all_on_support():
    rng = np.random.default_rng(1)
    base = sample(100)
    train = numbers(np.column_stack([base.x, base.y + rng.normal(size=100)]), base.y)
    fallback = Perturbation(default=Jitter(), blocked=Resample())
    made = hedged(train, [*EDGES, "y -> e"], perturbation=fallback)
    assert made.movable.basis == "support"
    assert made.movable.uncertified == ("a", "b", "e")
    assert set(made.counterfactuals.row_basis) == {"support"}
    assert made.counterfactuals.action.policies["a"] == Resample().describe(train.features[0])
    allowed = hedged(train, EDGES, perturbation=fallback)  # e is not drawn and stays; a and b are causes
    assert (allowed.movable.basis, allowed.movable.uncertified) == ("certificate", ())
    assert allowed.counterfactuals.action.policies["a"] == Jitter().describe(train.features[0])
    noisy = hedged(train, [*EDGES, "y -> e"], perturbation=fallback, retention=0.5)
    assert noisy.counterfactuals.action.moved == ("c", "d")  # what carries noise needs the certificate
