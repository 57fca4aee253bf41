"""The named worlds: invented tables whose structural equations, and so whose counterfactuals, are known."""

from __future__ import annotations

from collections.abc import Mapping

from crda_spec.data.worlds.world import World, declare

BIDDING_WAR = declare(
    name="bidding_war",
    description=(
        "Prices of houses that were sold. Now and then a buyer in a hurry drives the price up, and the table does not "
        "record it: buyer_urgency is hidden and adds to the price, most of all at the harbour, where buyers queue. "
        "Perturbable: area, rooms, age, garage and station_distance; a different garage finish changes what the house "
        "is worth, and leaves this buyer's urgency as it was. Not perturbable: neighbourhood, because the same house "
        "in another neighbourhood would have met other buyers (neighbourhood -> buyer_urgency -> price)."
    ),
    target="price",
    equations={
        "neighbourhood": "choice('harbour', 'hills', 'old town', 'suburb')",
        "area": (
            "lognormal(4.65 + 0.2 * (neighbourhood == 'hills') + 0.1 * (neighbourhood == 'suburb')"
            " - 0.15 * (neighbourhood == 'old town'), 0.25)"
        ),
        "rooms": "clip(round(area / 26 + normal(0, 0.7)), 1, 12)",
        "age": "clip(round(exponential(25 + 30 * (neighbourhood == 'old town'))), 0, 150)",
        "garage": "choice('none', 'unfinished', 'finished')",
        "station_distance": "lognormal(0.2, 0.6)",
        "buyer_urgency": "exponential(18 + 22 * (neighbourhood == 'harbour'))",
        "price": (
            "40 + 2.4 * area + 9 * rooms + 70 * exp(-age / 35) - 12 * log(1 + station_distance)"
            " + 18 * (garage == 'unfinished') + 38 * (garage == 'finished')"
            " + (0.8 * area + 30) * (neighbourhood == 'harbour') + 0.5 * area * (neighbourhood == 'hills')"
            " + buyer_urgency + normal(0, 12)"
        ),
    },
    hidden=("buyer_urgency",),
    units={
        "area": "m2",
        "age": "years",
        "station_distance": "km",
        "buyer_urgency": "thousand euro",
        "price": "thousand euro",
    },
)

CLINICAL_RECOVERY = declare(
    name="clinical_recovery",
    description=(
        "A recovery score of patients in rehabilitation. The doctor gives severe cases a higher dose, and severity "
        "also slows recovery; it is not in the table, so it confounds the dose (dose <- severity -> recovery): the "
        "drug helps, yet patients on high doses recover less. Perturbable: therapy_hours, age, comorbidities and bmi, "
        "which have nothing to do with severity. Not perturbable: dose, because a changed dose with an unchanged "
        "residual would describe a patient who does not exist."
    ),
    target="recovery",
    equations={
        "severity": "normal(0, 1)",
        "age": "uniform(20, 85)",
        "bmi": "lognormal(3.28, 0.14)",
        "comorbidities": "poisson(0.2 + 0.02 * age)",
        "therapy_hours": "uniform(1, 12)",
        "dose": "lognormal(3.6 + 0.3 * severity, 0.2)",
        "recovery": (
            "40 + 32 * (1 - exp(-therapy_hours / 5)) + 25 * (1 - exp(-dose / 40)) - 8 * severity"
            " - 0.004 * (age - 20) ** 2 - 2.5 * comorbidities - 0.04 * (bmi - 25) ** 2 + normal(0, 2.5)"
        ),
    },
    hidden=("severity",),
    units={
        "age": "years",
        "bmi": "kg/m2",
        "therapy_hours": "hours/week",
        "dose": "mg/day",
        "recovery": "points",
    },
)

CROP_YIELD = declare(
    name="crop_yield",
    description=(
        "Yield of wheat fields. Pests eat a part of it; they thrive in wet seasons, and nobody counted them: "
        "pest_pressure is hidden, depends on rain and lowers the yield. Perturbable: fertilizer, soil, soil_ph, "
        "sunshine and seed_density; the farmer's choices and the soil do not change how many pests the season "
        "brought. Not perturbable: rain, because a drier season would have had fewer pests (rain -> pest_pressure -> "
        "grain_yield), so the residual of a wet season does not belong to a dry one."
    ),
    target="grain_yield",
    equations={
        "rain": "clip(normal(430, 90), 120, 800)",
        "sunshine": "clip(1500 - 0.9 * (rain - 430) + normal(0, 90), 900, 2200)",
        "soil": "choice('clay', 'loam', 'sand')",
        "soil_ph": "6.4 + 0.3 * (soil == 'clay') - 0.4 * (soil == 'sand') + normal(0, 0.4)",
        "fertilizer": "clip(normal(95 + 35 * (soil == 'sand'), 45), 0, 240)",
        "seed_density": "uniform(180, 420)",
        "pest_pressure": "exponential(0.1 + 0.0012 * rain)",
        "grain_yield": (
            "4.2 + 4.2 * (1 - exp(-fertilizer / 70)) - 0.9 * ((rain - 480) / 160) ** 2"
            " + 0.9 * (soil == 'loam') - 0.7 * (soil == 'sand') - 0.9 * (soil_ph - 6.5) ** 2"
            " + 0.0015 * (sunshine - 1500) - 0.8 * ((seed_density - 310) / 120) ** 2"
            " - 0.7 * pest_pressure + normal(0, 0.25)"
        ),
    },
    hidden=("pest_pressure",),
    units={
        "rain": "mm/season",
        "sunshine": "hours/season",
        "soil_ph": "pH",
        "fertilizer": "kg/ha",
        "seed_density": "plants/m2",
        "grain_yield": "t/ha",
    },
)

HOME_ENERGY = declare(
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

PAPER_SYNTHETIC = declare(
    name="paper_synthetic",
    description=(
        "The paper's data-generating process, Y = X1^2 + X2 X3 + Z with Z independent of X1, X2 and X3. "
        "Perturbable: all three features, because nothing but chance makes Z. Not perturbable: none. "
        "The paper does not say how the features are spread; here they are uniform on [-2, 2], and Z is normal with "
        "a standard deviation of 0.5, so that about a thirteenth of the variance of Y is noise."
    ),
    target="y",
    equations={
        "x1": "uniform(-2, 2)",
        "x2": "uniform(-2, 2)",
        "x3": "uniform(-2, 2)",
        "y": "x1 ** 2 + x2 * x3 + normal(0, 0.5)",
    },
)

WORLDS: Mapping[str, World] = {
    world.name: world for world in (BIDDING_WAR, CLINICAL_RECOVERY, CROP_YIELD, HOME_ENERGY, PAPER_SYNTHETIC)
}
