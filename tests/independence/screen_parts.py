"""Tables whose dependence between features and residual is known, for every test of the screens."""

from __future__ import annotations

import numpy as np

from crda_spec.independence import Distance, Hsic, MutualInformation, Pearson, Screen, Spearman

# Fewer shuffles than by default: a test must be quick, and the level of a shuffled p-value does not hang on them.
SCREENS: tuple[Screen, ...] = (Pearson(), Spearman(), Distance(), Hsic(), MutualInformation(permutations=19))
NAMES = [screen.kind for screen in SCREENS]
SEES_ANYTHING = tuple(screen for screen in SCREENS if screen.kind not in ("pearson", "spearman"))


def null(kind: str, n: int, d: int, *, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Features (n, d) and a residual (n,) that have nothing to do with each other."""
    x, z = rng.normal(size=(n, d)), rng.normal(size=n)
    return {
        "normal": lambda: (x, z),
        "heavy": lambda: (rng.standard_t(2.0, size=(n, d)), rng.standard_t(2.0, size=n)),
        "boolean": lambda: ((x > 1.0).astype(float), z),
        "integer": lambda: (rng.poisson(2.0, size=(n, d)).astype(float), z.round()),
        "uniform": lambda: (rng.uniform(size=(n, d)), rng.exponential(size=n)),
    }[kind]()


NULLS = ("normal", "heavy", "boolean", "integer", "uniform")


def dependent(kind: str, n: int, d: int, *, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """A residual (n,) that depends on the first of d features alone."""
    x, noise = rng.normal(size=(n, d)), rng.normal(size=n)
    z = {"linear": 0.6 * x[:, 0] + noise, "square": x[:, 0] ** 2 + noise, "spread": np.exp(x[:, 0]) * noise}[kind]
    return x, z
