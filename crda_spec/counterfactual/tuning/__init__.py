"""The augmentation's knobs, found inside the rows at hand. Importing this imports Optuna, so only a tuned run does."""

from crda_spec.counterfactual.tuning.search import Counts, KnobSearch, KnobSpace, Numbers, Options, Prior

__all__ = ["Counts", "KnobSearch", "KnobSpace", "Numbers", "Options", "Prior"]
