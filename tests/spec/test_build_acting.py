"""From the spec's `perturbation` to `Acting`: the same settings, the same defaults, nothing lost on the way."""

from dataclasses import fields

import pytest

from crda_spec.counterfactual.act import Acting
from crda_spec.counterfactual.policies import POLICIES, Conditional, Flip, Grid, Interpolate, Scale
from crda_spec.counterfactual.support import Guard
from crda_spec.data.dataset import Dataset
from crda_spec.data.sources import Csv
from crda_spec.spec.build import build_acting
from crda_spec.spec.counterfactual import Counterfactual
from crda_spec.spec.perturbation import (
    ConditionalPolicy,
    FlipPolicy,
    GridPolicy,
    InterpolatePolicy,
    JitterPolicy,
    MahalanobisSupport,
    NeighbourSupport,
    Perturbation,
    QuantilePolicy,
    ResamplePolicy,
    ScalePolicy,
    ShiftPolicy,
    Sources,
    perturbation_complaints,
)
from crda_spec.spec.run import RunSpec

SPECS = {
    "conditional": ConditionalPolicy,
    "flip": FlipPolicy,
    "grid": GridPolicy,
    "interpolate": InterpolatePolicy,
    "jitter": JitterPolicy,
    "quantile": QuantilePolicy,
    "resample": ResamplePolicy,
    "scale": ScalePolicy,
    "shift": ShiftPolicy,
}


def acting(perturbation, **counterfactual):
    dataset = Dataset(source=Csv(path="a.csv"), target="y")
    return build_acting(
        RunSpec(
            version=1,
            name="a",
            dataset=dataset,
            perturbation=perturbation,
            counterfactual=Counterfactual(**counterfactual),
        )
    )


def test_every_member_of_the_family_can_be_said():
    assert SPECS.keys() == POLICIES.keys()


@pytest.mark.parametrize("kind", SPECS)
def test_what_is_left_out_means_the_same_on_both_sides(kind):
    needed = {"values": (1, 2)} if kind == "grid" else {}
    said, member = SPECS[kind](kind=kind, **needed), POLICIES[kind](**needed)
    assert {name: getattr(member, name) for name in (field.name for field in fields(member))} == {
        name: getattr(said, name) for name in type(said).model_fields if name != "kind"
    }


def test_the_defaults_are_the_papers():
    assert acting(Perturbation(), factor=1.25) == Acting(default=Scale(), factor=1.25)


def test_all_that_is_said_arrives():
    said = Perturbation(
        default=ConditionalPolicy(kind="conditional", neighbours=4),
        features={
            "a": InterpolatePolicy(kind="interpolate", partner="near", neighbours=7, reach=0.25),
            "f": FlipPolicy(kind="flip", probability=0.1),
            "g": GridPolicy(kind="grid", values=("x", "y")),
        },
        together=(("b", "c"),),
        features_per_row=1,
        on_violation="redraw",
        sources=Sources(kind="leverage"),
        support=NeighbourSupport(kind="neighbours", quantile=0.8, on_outside="redraw"),
    )
    assert acting(said, factor=4.0) == Acting(
        default=Conditional(neighbours=4),
        features={
            "a": Interpolate(partner="near", neighbours=7, reach=0.25),
            "f": Flip(probability=0.1),
            "g": Grid(values=("x", "y")),
        },
        factor=4.0,
        together=(("b", "c"),),
        per_row=1,
        on_violation="redraw",
        sources="leverage",
        support=Guard(kind="neighbours", quantile=0.8, on_outside="redraw"),
    )
    assert acting(Perturbation(support=MahalanobisSupport(kind="mahalanobis"))).support == Guard(kind="mahalanobis")


def test_a_value_listed_twice_is_told_and_true_is_not_one():
    def told(*values):
        said = Perturbation(features={"a": GridPolicy(kind="grid", values=values)})
        return [complaint.headline() for complaint in perturbation_complaints(said)]

    assert told(1, 2.5, 1) == ["perturbation.features.a.values: 1 is listed 2 times; list it once"]
    assert told(1, True, "1") == []
