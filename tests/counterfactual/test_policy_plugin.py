"""Policies of other packages: one file and an entry point, and what the message says when something is wrong."""

import sys

import numpy as np
import pytest
from counterfactual_parts import mixed

from crda_spec.counterfactual.act import act
from crda_spec.counterfactual.generation import cannot_stream
from crda_spec.counterfactual.perturbation import Perturbation
from crda_spec.counterfactual.policies import PluginPolicy, Resample
from crda_spec.counterfactual.policies.plugin import GROUP
from crda_spec.plugins import plugin_names

PACKAGE = """
from typing import ClassVar, Literal

import numpy as np
from pydantic import Field

from crda_spec.counterfactual.policies import BasePolicy, Proposal
from crda_spec.errors import inconsistent


class Mirror(BasePolicy):
    kind: Literal["mirror"] = "mirror"
    share: float = Field(1.0, gt=0, le=1)
    centers: tuple[float, ...] = (0.0,)

    @property
    def needs_spread(self):
        return False

    def complaints(self, path):
        if len(set(self.centers)) < len(self.centers):
            yield inconsistent(f"{path}.centers", "a center is listed twice", "list it once")

    def describe(self, column):
        return f"mirrored at one of {self.centers}"

    def propose(self, x, feature, rows, *, rng):
        center = np.array(self.centers)[rows.shared.integers(0, len(self.centers), size=len(x))]
        return Proposal(np.where(rng.random(len(x)) < self.share, 2 * center - x, x))


class Useless:
    pass
"""
POINTS = f"""[{GROUP}]
mirror = house_of_mirrors:Mirror
useless = house_of_mirrors:Useless
absent = house_of_mirrors:Gone
"""


@pytest.fixture(autouse=True, scope="module")  # not longer: a module that must see no plugin may follow in this process
def installed_plugin(tmp_path_factory):
    """What `pip install house-of-mirrors` would leave in site-packages."""
    folder = tmp_path_factory.mktemp("site")
    (folder / "house_of_mirrors.py").write_text(PACKAGE)
    info = folder / "house_of_mirrors-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: house-of-mirrors\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(POINTS)
    sys.path.insert(0, str(folder))
    yield
    sys.path.remove(str(folder))


def written(**plugin):
    """As a spec writes it."""
    return Perturbation.model_validate_json(Perturbation(features={"free": PluginPolicy(**plugin)}).model_dump_json())


def messages(name, **settings):
    return [complaint.headline() for complaint in written(name=name, settings=settings).complaints()]


def test_a_plugin_moves_features_like_any_policy():
    assert plugin_names(GROUP) == ("absent", "mirror", "useless")
    train, perturbation = mixed(40, missing=0.0), written(name="mirror", settings={"centers": [1.0, 3.0]})
    assert list(perturbation.complaints()) == list(perturbation.misfits(train)) == []
    action = act(train, ["free", "kept"], perturbation, factor=2.0, seed=3, index=(0,))
    before, after = train.x[action.source, 0], action.x[:, 0]
    assert action.policies["free"] == "mirrored at one of (1.0, 3.0)"
    np.testing.assert_allclose(np.where((before + after) < 4, 1.0, 3.0), (before + after) / 2)
    again = act(train, ["free", "kept"], perturbation, factor=2.0, seed=3, index=(0,))
    assert again.x.tobytes() == action.x.tobytes()


def test_it_says_itself_what_it_suits_and_what_it_needs():
    train, plugin = mixed(40), PluginPolicy(name="mirror")
    columns = {column.name: column for column in train.features}
    assert plugin.suits(columns["free"])
    assert not plugin.suits(columns["ward"])
    assert Perturbation(default=plugin).policy(columns["ward"]) == Resample()
    assert not plugin.needs_spread
    assert not plugin.needs_fixed
    assert list(cannot_stream(Perturbation(default=plugin), train, ("free",))) == []
    (wrong,) = Perturbation(features={"ward": plugin}).misfits(train)
    assert wrong.headline() == (
        "perturbation.features.ward.kind: 'ward' is a category, which cannot be moved by 'plugin mirror'; "
        "use kind: resample, or one of conditional, grid, interpolate"
    )


def test_a_misspelt_plugin():
    assert messages("miror") == [
        "perturbation.features.free.name: no installed package offers the policy 'miror'; did you mean 'mirror'?"
    ]
    assert messages("zzz") == [
        (
            "perturbation.features.free.name: no installed package offers the policy 'zzz'; "
            "installed: absent, mirror, useless"
        )
    ]


def test_settings_that_the_plugin_refuses():
    refused = "the plugin 'mirror' refused its settings"
    assert messages("mirror", share=2, reach=1) == [
        (
            f"perturbation.features.free.settings.share: {refused}: Input should be less than or equal to 1; "
            "see the plugin's documentation"
        ),
        (
            f"perturbation.features.free.settings.reach: {refused}: Extra inputs are not permitted; "
            "see the plugin's documentation"
        ),
    ]
    assert messages("mirror", centers=[1.0, 1.0]) == [
        "perturbation.features.free.settings.centers: a center is listed twice; list it once"
    ]


def test_an_entry_point_that_leads_nowhere_or_to_no_policy():
    assert messages("absent") == [
        (
            "perturbation.features.free.name: the plugin 'absent' cannot be loaded from 'house_of_mirrors:Gone': "
            "module 'house_of_mirrors' has no attribute 'Gone'; reinstall the package that offers it"
        )
    ]
    assert messages("useless") == [
        (
            "perturbation.features.free.name: the plugin 'useless' is no policy: its class does not derive from "
            "BasePolicy; see crda_spec/counterfactual/policies/_protocol.py"
        )
    ]
