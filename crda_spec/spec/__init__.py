"""What a user may say: typed models of the spec and the loader that reads them."""

from crda_spec.spec.run import RECIPES, RunSpec

__all__ = ["RECIPES", "RunSpec"]
