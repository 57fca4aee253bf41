"""House prices, some of them made in a bidding war that the table does not show."""

from __future__ import annotations

from crda_spec.data.worlds._declared import DeclaredWorld

BIDDING_WAR = DeclaredWorld(
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
