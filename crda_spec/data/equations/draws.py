"""Random draws as functions of one uniform number: inverse distribution functions.

A draw never decreases when its uniform number grows, and nothing else is random. So a row keeps its luck when its
circumstances change: under an action the uniform numbers stay, and only the arguments of the draws move.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import numpy.typing as npt
from scipy import special

from crda_spec.records import Array
from crda_spec.seeds import stream

# rng.random() can be 0, where an inverse distribution function may be infinite; it is never 1.
_SMALLEST = 2.0**-54
MEDIAN = 0.5


def uniforms(variable: str, draws: int, *, rows: int, seed: int) -> tuple[Array, ...]:
    """The exogenous numbers of a variable: one array (rows,) in (0, 1) for each of its draws.

    Each draw has a stream of its own, so the first rows of a larger sample are those of a smaller one.
    """
    return tuple(np.maximum(stream(seed, f"world:{variable}", index).random(rows), _SMALLEST) for index in range(draws))


def _normal(u: Array, mean: Array, sd: Array) -> Array:
    return mean + sd * special.ndtri(u)


def _uniform(u: Array, low: Array, high: Array) -> Array:
    return low + (high - low) * u


def _exponential(u: Array, scale: Array) -> Array:
    return -scale * np.log1p(-u)


def _lognormal(u: Array, mean: Array, sd: Array) -> Array:
    """The mean and sd are those of the logarithm."""
    return np.asarray(np.exp(_normal(u, mean, sd)))


def _bernoulli(u: Array, p: Array) -> Array:
    return (u >= 1.0 - p).astype(np.float64)


def _integers(u: Array, low: Array, high: Array) -> Array:
    """Both ends belong to the range."""
    return np.minimum(low + np.floor((high - low + 1.0) * u), high)


def _poisson(u: Array, rate: Array) -> Array:
    """The smallest count whose distribution function reaches u.

    A normal approximation (Cornish and Fisher's first correction) guesses the count, then single steps with the exact
    distribution function put it right: at most a handful, because the guess is off by a few at worst.
    """
    u, rate = np.broadcast_arrays(u, rate)
    z = special.ndtri(u)
    count = np.maximum(np.floor(rate + np.sqrt(rate) * z + (z * z - 1.0) / 6.0), 0.0)
    while np.any(short := special.pdtr(count, rate) < u):
        count = count + short
    while np.any(beyond := (count > 0.0) & (special.pdtr(np.maximum(count - 1.0, 0.0), rate) >= u)):
        count = count - beyond
    return np.asarray(count, dtype=np.float64)


INVERSES: Mapping[str, Callable[..., Array]] = {
    "normal": _normal,
    "uniform": _uniform,
    "exponential": _exponential,
    "lognormal": _lognormal,
    "bernoulli": _bernoulli,
    "poisson": _poisson,
    "integers": _integers,
}


def choose(u: Array, labels: tuple[str, ...]) -> npt.NDArray[np.object_]:
    """One of the labels, each as likely as it is often listed."""
    index = np.minimum(np.floor(u * len(labels)), len(labels) - 1).astype(np.int64)
    return np.array(labels, dtype=object)[index]
