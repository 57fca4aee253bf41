"""Regressors of other packages: what can go wrong, and what the message says then."""

import pytest

from crda_spec.errors import SpecError
from crda_spec.regressors import load_plugin
from crda_spec.regressors.plugin import plugin_names

pytestmark = pytest.mark.usefixtures("installed_plugin")


def message(name, settings=None):
    with pytest.raises(SpecError) as caught:
        load_plugin(name, settings or {})
    return str(caught.value)


def test_installed_plugins_are_found_by_name():
    assert plugin_names() == ("absent", "normal_equations", "plain", "useless")
    assert load_plugin("normal_equations", {"penalty": 2.5}).penalty == 2.5


def test_a_misspelt_plugin():
    assert message("normal_equation") == (
        "regressor.name: no installed package offers the regressor 'normal_equation'; did you mean 'normal_equations'?"
    )
    assert message("zzz") == (
        "regressor.name: no installed package offers the regressor 'zzz'; "
        "installed: absent, normal_equations, plain, useless"
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
