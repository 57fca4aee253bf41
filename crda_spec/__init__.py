"""crda-spec: declared, certified and gated counterfactual residual data augmentation for tabular regression.

``crda_spec.run(spec, data=frame)`` runs a spec; ``Run`` is what it returns. Names are imported when they are first
asked for, so that ``import crda_spec`` costs nothing.
"""

from typing import TYPE_CHECKING

__version__ = "0.1.0"

if TYPE_CHECKING:
    from crda_spec.api import Run, run
    from crda_spec.errors import (
        CrdaError,
        DataError,
        GraphError,
        NotAugmentedWarning,
        OutputError,
        SpecError,
        TamperedError,
    )
    from crda_spec.estimators import CRDARegressor, CRDASampler
    from crda_spec.graphs import CausalGraph

__all__ = [
    "CRDARegressor",
    "CRDASampler",
    "CausalGraph",
    "CrdaError",
    "DataError",
    "GraphError",
    "NotAugmentedWarning",
    "OutputError",
    "Run",
    "SpecError",
    "TamperedError",
    "__version__",
    "run",
]

_HOMES = {
    "crda_spec.api": ("Run", "run"),
    "crda_spec.errors": (
        *("CrdaError", "DataError", "GraphError", "NotAugmentedWarning"),
        *("OutputError", "SpecError", "TamperedError"),
    ),
    "crda_spec.estimators": ("CRDARegressor", "CRDASampler"),
    "crda_spec.graphs": ("CausalGraph",),
}


def __getattr__(name: str) -> object:
    """A public name, from the module that has it."""
    from importlib import import_module

    for home, names in _HOMES.items():
        if name in names:
            return getattr(import_module(home), name)
    raise AttributeError(f"module 'crda_spec' has no attribute {name!r}")


def __dir__() -> list[str]:
    """The public names."""
    return __all__
