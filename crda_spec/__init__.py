"""crda-spec: declared, certified and gated counterfactual residual data augmentation for tabular regression."""

__version__ = "0.1.0"

__all__ = ["__version__"]
