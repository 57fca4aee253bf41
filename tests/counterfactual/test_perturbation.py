"""The section `perturbation`: its defaults, and what it complains about before it sees any data."""

import pytest
from pydantic import ValidationError

from crda_spec.counterfactual.perturbation import Perturbation, Sources
from crda_spec.counterfactual.policies import POLICIES, Conditional, Grid, Interpolate, Resample, Scale
from crda_spec.counterfactual.rules import Rules
from crda_spec.counterfactual.support import NoSupport


def complaints(**settings):
    return [complaint.headline() for complaint in Perturbation(**settings).complaints()]


def test_the_defaults_are_the_papers():
    assert Perturbation() == Perturbation(
        default=Scale(reach=0.7, around="mean", share="row"),
        sources=Sources(kind="every"),
        support=NoSupport(),
        rules=Rules(),
    )
    assert Perturbation().model_dump(exclude={"default", "sources", "support", "rules"}) == {
        "features": {},
        "blocked": None,
        "together": (),
        "features_per_row": "all",
        "copy_fraction": 0.0,
        "on_violation": "clip",
        "propagate": False,
    }


@pytest.mark.parametrize("kind", POLICIES)
def test_python_may_leave_out_the_kind_and_a_spec_may_not(kind):
    needed = {"values": (1, 2)} if kind == "grid" else {}
    policy = POLICIES[kind](**needed)
    assert policy.kind == kind
    assert Perturbation.model_validate({"features": {"a": {"kind": kind, **needed}}}).features["a"] == policy
    with pytest.raises(ValidationError, match="Unable to extract tag using discriminator 'kind'"):
        Perturbation.model_validate({"features": {"a": needed}})


def test_a_value_listed_twice_is_told_and_true_is_not_one():
    def told(*values):
        return complaints(features={"a": Grid(values=values)})

    assert told(1, 2.5, 1) == ["perturbation.features.a.values: 1 is listed 2 times; list it once"]
    assert told(1, True, "1") == []


def test_settings_that_nobody_reads_and_draws_that_nobody_can_make():
    assert complaints(default=Interpolate(neighbours=3), features={"a": Resample(neighbours=2)}) == [
        (
            "perturbation.default.neighbours: neighbours is read only with partner: near; "
            "remove the key, or use partner: near"
        ),
        (
            "perturbation.features.a.neighbours: neighbours is read only with weights: neighbour; "
            "remove the key, or use weights: neighbour"
        ),
    ]
    assert complaints(default=Conditional(), features_per_row=2) == [
        (
            "perturbation.features_per_row: a conditional draw has to know what stays fixed, which changes with any 2 "
            "features of a row; use all or 1, or another policy"
        )
    ]
