"""Heat that homes use in a day; windows left open are not in the table."""

from __future__ import annotations

from crda_spec.data.worlds._declared import DeclaredWorld

HOME_ENERGY = DeclaredWorld(
    name="home_energy",
    description=(
        "Energy that a home uses on one day of the heating season. A window left open wastes some of it, the more the "
        "colder it is outside, and nobody writes it down: window_loss is hidden and depends on outside_temperature. "
        "The meter's own error grows on cold days too, so the noise is heteroscedastic in outside_temperature. "
        "Perturbable: setpoint, insulation, floor_area, occupants and solar_gain; another thermostat setting changes "
        "the demand, and not whether a window stood open. Not perturbable: outside_temperature, which drives both the "
        "hidden loss and the size of the noise."
    ),
    target="energy",
    equations={
        "outside_temperature": "clip(normal(4, 5), -18, 18)",
        "solar_gain": "exponential(exp(0.9 + 0.05 * outside_temperature))",
        "insulation": "choice('poor', 'fair', 'good')",
        "floor_area": "uniform(50, 180)",
        "occupants": "1 + poisson(1.4)",
        "setpoint": "clip(normal(20.5 + 0.2 * occupants, 1.2), 16, 25)",
        "window_loss": "exponential(2 + 5 * exp(-outside_temperature / 8))",
        "energy": (
            "5 + 2.2 * occupants - 6 * tanh(solar_gain / 8)"
            " + (0.014 + 0.012 * (insulation == 'fair') + 0.024 * (insulation == 'poor')) * floor_area"
            " * log(1 + exp((setpoint - outside_temperature) / 4)) * 4"
            " + window_loss + normal(0, 1 + 1.5 * exp(-outside_temperature / 8))"
        ),
    },
    hidden=("window_loss",),
    units={
        "outside_temperature": "degC",
        "solar_gain": "kWh/day",
        "floor_area": "m2",
        "setpoint": "degC",
        "window_loss": "kWh/day",
        "energy": "kWh/day",
    },
)
