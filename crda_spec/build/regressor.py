"""A regressor of the spec, the run's own or a member of a committee."""

from __future__ import annotations

from typing import Any

from crda_spec.build.settings import settings_of
from crda_spec.regressors import REGRESSORS, Regressor, Stopping, load_plugin


def build_member(regressor: Any) -> Regressor:  # noqa: ANN401 - the spec's union
    """The member of the family with these settings."""
    if regressor.kind == "plugin":
        return load_plugin(regressor.name, regressor.settings)
    settings = settings_of(regressor)
    if "early_stopping" in settings:
        rule = settings.pop("early_stopping")
        settings["stopping"] = None if rule is None else Stopping(rounds=rule.rounds, validation=rule.validation)
    return REGRESSORS[regressor.kind](**settings)
