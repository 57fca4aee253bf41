"""Does each screen keep its level, and what does it see?

    python benchmarks/screens.py [--quick]

Null tables (normal, heavy tails, skewed, boolean, whole numbers; 50, 200 and 1000 rows) and alternatives at 200 rows: a
linear tie, z ~ x^2 and a spread of z that changes with x. `level_<screen>`: the share of p-values at or below 0.05 over
all nulls; `level_worst_<screen>`: the same at the worst number of rows. `power_<screen>`: the share over all
alternatives; `power_<screen>_<alternative>`: over one. `milliseconds_<screen>`: for one feature of 1000 rows, nothing
to be found, in this run. The joint check is asked about four features given three, and answers once for all of them;
`level_joint_collinear`: where all seven are views of one number, and the kept ones bend and spread the residual, 200
rows. `power_joint_effect_<s>_<n>`: something unmeasured, u, changes the effect of one feature that moves (the residual
is s x u + noise, u and noise standard normal); `level_joint_effect_<n>`: the same of a kept feature, which is allowed.

The mixed test, as searches ask it (300 and 1000 rows): two numbers given a third, c, in a table with a boolean.
`level_mixed_<n>`: both are c^2 + noise, the worst of a normal, a uniform, a skewed and a heavy-tailed c;
`power_mixed_<n>`: both are c + noise, and the first adds 0.15 to the second. `..._straight_<n>`: the same with c held
fixed by a straight line only.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from _harness import arguments, publish, say

from crda_spec.independence import Distance, Hsic, JointCheck, MutualInformation, Pearson, Screen, Spearman
from crda_spec.independence.conditional import MixedTest
from crda_spec.records import Array
from crda_spec.seeds import stream

SCREENS: tuple[Screen, ...] = (Pearson(), Spearman(), Distance(), Hsic(), MutualInformation())
ROWS = (50, 200, 1000)
NULLS: dict[str, Callable[[np.random.Generator, Any], Array]] = {
    "normal": lambda rng, shape: rng.normal(size=shape),
    "heavy": lambda rng, shape: rng.standard_t(2.0, size=shape),
    "skewed": lambda rng, shape: np.exp(rng.normal(size=shape)),
    "boolean": lambda rng, shape: (rng.uniform(size=shape) < 0.2).astype(np.float64),
    "whole": lambda rng, shape: rng.poisson(2.0, size=shape).astype(np.float64),
}
ALTERNATIVES: dict[str, Callable[[Array, Array], Array]] = {
    "linear": lambda x, noise: 0.3 * x + noise,
    "square": lambda x, noise: 0.4 * x**2 + noise,
    "spread": lambda x, noise: np.exp(0.6 * x) * noise,
}
# Tables of one kind and size; the slower the screen, the fewer.
TABLES = {"pearson": 1000, "spearman": 1000, "distance": 200, "hsic": 200, "mutual_information": 60, "joint": 150}
FEATURES = 4  # independent ones beside one residual: a table gives as many p-values
KEPT = 3
CONFOUNDERS: dict[str, Callable[[np.random.Generator, int], Array]] = {
    "normal": lambda rng, n: rng.normal(size=n),
    "uniform": lambda rng, n: rng.uniform(-2.0, 2.0, size=n),
    "skewed": lambda rng, n: rng.exponential(size=n) - 1.0,
    "heavy": lambda rng, n: rng.standard_t(4.0, size=n),
}


def p_values(check: Screen | JointCheck, x: Array, z: Array, *, rng: np.random.Generator) -> Array:
    """Of each feature by itself, or of all but the kept ones together."""
    if isinstance(check, JointCheck):
        return np.array([check(x[:, KEPT:], x[:, :KEPT], z, rng=rng).joint_p_value])
    return check(x, z, rng=rng).p_value


def name_of(check: Screen | JointCheck) -> str:
    """What its figures are called."""
    return "joint" if isinstance(check, JointCheck) else check.kind


def columns_for(check: Screen | JointCheck) -> int:
    """The joint check has kept features as well."""
    return FEATURES + KEPT if isinstance(check, JointCheck) else FEATURES


def level(check: Screen | JointCheck, n: int, tables: int) -> tuple[float, float]:
    """The share of false alarms over all nulls, and the seconds of one table."""
    alarms, seconds = [], 0.0
    for kind, draw in NULLS.items():
        for number in range(tables):
            rng = stream(number, f"screens-null-{kind}", n)
            x = draw(rng, (n, columns_for(check)))
            # A residual is a number: a null where it has two values would be a table that nobody has.
            z = draw(rng, n) if kind not in ("boolean", "whole") else rng.normal(size=n).round(1)
            started = time.perf_counter()
            alarms.append(p_values(check, x, z, rng=rng) <= 0.05)
            seconds += time.perf_counter() - started
    return float(np.mean(alarms)), seconds / (tables * len(NULLS))


def power(check: Screen | JointCheck, kind: str, n: int, tables: int) -> float:
    """How often the one feature that matters is found, or the set that holds it."""
    found = []
    for number in range(tables):
        rng = stream(number, f"screens-power-{kind}", n)
        x = rng.normal(size=(n, columns_for(check)))
        z = ALTERNATIVES[kind](x[:, -1], rng.normal(size=n))
        asked = x if isinstance(check, JointCheck) else x[:, -1:]
        found.append(p_values(check, asked, z, rng=rng)[0] <= 0.05)
    return float(np.mean(found))


def collinear_level(tables: int) -> float:
    """The joint check's false alarms where moving and kept features say nearly the same, and the kept ones say much."""
    alarms = []
    for number in range(tables):
        rng = stream(number, "screens-collinear", 200)
        x = rng.normal(size=(200, 1)) + 0.4 * rng.normal(size=(200, FEATURES + KEPT))
        z = 0.4 * x[:, 0] ** 2 + np.exp(0.3 * x[:, 1]) * rng.normal(size=200)  # the first ones are kept
        alarms.append(p_values(JointCheck(), x, z, rng=rng)[0] <= 0.05)
    return float(np.mean(alarms))


def effect_alarms(n: int, strength: float, tables: int, *, moves: bool) -> float:
    """How often the joint check fails where something unmeasured changes the effect of a moving or a kept feature."""
    alarms = []
    for number in range(tables):
        rng = stream(number, f"screens-effect-{moves}", n)
        x = rng.normal(size=(n, FEATURES + KEPT))
        z = strength * x[:, -1 if moves else 0] * rng.normal(size=n) + rng.normal(size=n)
        alarms.append(p_values(JointCheck(), x, z, rng=rng)[0] <= 0.05)
    return round(float(np.mean(alarms)), 3)


def mixed_alarms(n: int, kind: str, tables: int, *, effect: float) -> Array:
    """How often two numbers are called dependent given c: by the mixed test, and with straight lines only.  (2,)

    Without an effect both follow c^2; with one, both follow c.
    """
    alarms = []
    for number in range(tables):
        rng = stream(number, f"screens-mixed-{kind}", n)
        c = CONFOUNDERS[kind](rng, n)
        first, noise = (c if effect else c**2) + rng.normal(size=n), rng.normal(size=n)
        second = (c if effect else c**2) + effect * first + noise
        x = np.column_stack([first, second, c, rng.uniform(size=n) < 0.5])
        test = MixedTest.of(x, ("continuous", "continuous", "continuous", "boolean"))
        alarms.append([one.p_value(0, 1, (2,))[1] <= 0.05 for one in (test, replace(test, curves=((),) * 4))])
    return np.mean(alarms, axis=0)


def measure_claims(share: int) -> dict[str, float]:
    """What stands behind the claims of the certificate and the search.  share: one in so many tables."""
    found: dict[str, float] = {}
    for n in (200, 1000):
        tables = (300 if n == 200 else 150) // share
        found[f"level_joint_effect_{n}"] = effect_alarms(n, 0.5, tables, moves=False)
        found |= {f"power_joint_effect_{s}_{n}": effect_alarms(n, s, tables, moves=True) for s in (0.25, 0.5, 1.0)}
    for n in (300, 1000):
        levels = np.max([mixed_alarms(n, kind, 2000 // share, effect=0.0) for kind in CONFOUNDERS], axis=0)
        powers = np.mean([mixed_alarms(n, kind, 500 // share, effect=0.15) for kind in CONFOUNDERS], axis=0)
        for place, name in enumerate(("mixed", "straight")):
            found[f"level_{name}_{n}"] = round(float(levels[place]), 4)
            found[f"power_{name}_{n}"] = round(float(powers[place]), 3)
    return found


def measure(check: Screen | JointCheck, tables: int) -> dict[str, float]:
    """All figures of one screen."""
    levels = {n: level(check, n, max(4, tables if n < 1000 else tables // 3)) for n in ROWS}
    powers = {kind: power(check, kind, 200, max(10, tables)) for kind in ALTERNATIVES}
    features = 1 if isinstance(check, JointCheck) else FEATURES
    name = name_of(check)
    return {
        f"level_{name}": round(float(np.mean([share for share, _ in levels.values()])), 4),
        f"level_worst_{name}": round(max(share for share, _ in levels.values()), 4),
        f"power_{name}": round(float(np.mean(list(powers.values()))), 3),
        **{f"power_{name}_{kind}": round(share, 3) for kind, share in powers.items()},
        f"milliseconds_{name}": round(1e3 * levels[1000][1] / features, 3),
    }


def main() -> None:
    """Measures, prints and keeps."""
    quick = arguments(__doc__ or "").quick
    figures: dict[str, float] = {}
    sys.stdout.write(f"{'screen':20s}{'level':>8s}{'worst':>8s}{'linear':>8s}{'square':>8s}{'spread':>8s}{'ms':>10s}\n")
    for check in (*SCREENS, JointCheck()):
        name = name_of(check)
        say(f"{name} ...")
        found = measure(check, TABLES[name] // (20 if quick else 1))
        shown = [f"level_{name}", f"level_worst_{name}"]
        shown += [f"power_{name}_{kind}" for kind in ALTERNATIVES]
        numbers = "".join(f"{found[key]:8.3f}" for key in shown)
        sys.stdout.write(f"{name:20s}{numbers}{found[f'milliseconds_{name}']:10.2f}\n")
        sys.stdout.flush()
        figures |= found
    figures["level_joint_collinear"] = round(collinear_level(50 if quick else 1000), 4)
    say("claims ...")
    claims = measure_claims(20 if quick else 1)
    sys.stdout.write("".join(f"{name:36s}{value:8.3f}\n" for name, value in claims.items()))
    figures |= claims
    publish("screens", figures, quick=quick)


if __name__ == "__main__":
    main()
