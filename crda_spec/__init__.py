"""crda-spec: declared, certified and gated counterfactual residual data augmentation for tabular regression.

``crda_spec.run(spec, data=frame)`` runs a spec; ``Run`` is what it returns. Names are imported when they are first
asked for, so that ``import crda_spec`` costs nothing.
"""

from typing import TYPE_CHECKING

__version__ = "0.2.0"

if TYPE_CHECKING:
    from crda_spec.api import certify, discover, init, load_spec, open_run, plan, run, validate, verify
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
    from crda_spec.runs import Run
    from crda_spec.spec.run import RunSpec

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
    "RunSpec",
    "SpecError",
    "TamperedError",
    "__version__",
    "certify",
    "discover",
    "init",
    "load_spec",
    "open_run",
    "plan",
    "run",
    "validate",
    "verify",
]

_HOMES = {
    "crda_spec.api": (
        *("certify", "discover", "init", "load_spec", "open_run"),
        *("plan", "run", "validate", "verify"),
    ),
    "crda_spec.errors": (
        *("CrdaError", "DataError", "GraphError", "NotAugmentedWarning"),
        *("OutputError", "SpecError", "TamperedError"),
    ),
    "crda_spec.estimators": ("CRDARegressor", "CRDASampler"),
    "crda_spec.graphs": ("CausalGraph",),
    "crda_spec.runs": ("Run",),
    "crda_spec.spec.run": ("RunSpec",),
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
