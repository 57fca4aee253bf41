"""Wheat yield of fields whose pests nobody counted; wet years have more of them."""

from __future__ import annotations

from crda_spec.data.worlds._declared import DeclaredWorld

CROP_YIELD = DeclaredWorld(
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
