"""Regressors of other packages: what can go wrong, and what the message says then."""

import pytest

from crda_spec.errors import SpecError
from crda_spec.plugins import plugin_names
from crda_spec.regressors import EarlyStopping, Plugin
from crda_spec.regressors._protocol import recorded_settings
from crda_spec.regressors.plugin import GROUP

pytestmark = pytest.mark.usefixtures("installed_plugin")


def message(name, settings=None):
    with pytest.raises(SpecError) as caught:
        Plugin(name=name, settings=settings or {}).load()
    return str(caught.value)


def test_installed_plugins_are_found_by_name():
    assert plugin_names(GROUP) == ("absent", "layered", "normal_equations", "plain", "useless")
    assert Plugin(name="normal_equations", settings={"penalty": 2.5}).load().penalty == 2.5


def test_a_plugin_is_recorded_under_its_own_kind_with_its_own_settings():
    line = Plugin(name="normal_equations", settings={"penalty": 2.5}).load()
    assert recorded_settings(line) == {"kind": "normal_equations", "penalty": 2.5}
    layered = Plugin(name="layered", settings={"layers": [3, 2]}).load()
    assert layered.stopping == EarlyStopping(rounds=7)
    assert recorded_settings(layered) == {
        "kind": "layered",
        "layers": (3, 2),
        "stopping": {"rounds": 7, "validation": 0.1, "refit": False},  # it cannot
    }


def test_settings_that_the_plugins_own_model_refuses_are_all_named_at_their_places():
    assert message("layered", {"layers": [3, 0], "depth": 2}) == (
        "regressor.settings.layers.1: the plugin 'layered' refused its settings: Input should be greater than or equal "
        "to 1; see the plugin's documentation\n"
        "regressor.settings.depth: the plugin 'layered' refused its settings: Extra inputs are not permitted; "
        "see the plugin's documentation\n"
        "2 problems"
    )


def test_a_misspelt_plugin():
    assert message("normal_equation") == (
        "regressor.name: no installed package offers the regressor 'normal_equation'; did you mean 'normal_equations'?"
    )
    assert message("zzz") == (
        "regressor.name: no installed package offers the regressor 'zzz'; "
        "installed: absent, layered, normal_equations, plain, useless"
    )


def test_settings_that_the_plugin_refuses():
    assert message("normal_equations", {"penalty": -1}) == (
        "regressor.settings: the plugin 'normal_equations' refused its settings: "
        "penalty must be positive, got -1; see the plugin's documentation"
    )
    assert message("normal_equations", {"penality": 1}) == (
        "regressor.settings: the plugin 'normal_equations' refused its settings: NormalEquations.__init__() got an "
        "unexpected keyword argument 'penality'; see the plugin's documentation"
    )


def test_an_entry_point_that_leads_nowhere():
    assert message("absent") == (
        "regressor.name: the plugin 'absent' cannot be loaded from 'house_of_lines:Gone': "
        "module 'house_of_lines' has no attribute 'Gone'; reinstall the package that offers it"
    )


def test_a_class_that_is_no_regressor():
    assert message("useless") == (
        "regressor.name: the plugin 'useless' is no regressor: it has no stopping, train; "
        "see crda_spec/regressors/_protocol.py"
    )


def test_a_regressor_whose_settings_nobody_could_record():
    assert message("plain") == (
        "regressor.name: the plugin 'plain' is no dataclass, so its settings cannot be recorded; "
        "see crda_spec/regressors/_protocol.py"
    )
