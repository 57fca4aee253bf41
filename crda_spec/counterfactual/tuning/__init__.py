"""The augmentation's knobs, found inside the rows at hand. Importing this imports Optuna, so only a tuned run does."""

from crda_spec.counterfactual.tuning.knobs import Counts, KnobSpace, Numbers, Options, Prior
from crda_spec.counterfactual.tuning.search import KnobSearch

__all__ = ["Counts", "KnobSearch", "KnobSpace", "Numbers", "Options", "Prior"]
