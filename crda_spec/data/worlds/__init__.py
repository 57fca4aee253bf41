"""Named worlds: invented tables whose structural equations, and so whose counterfactuals, are known.

A family: one file a world, all of them in `DECLARED`. This is text without numpy, for `crda-spec validate`;
`worlds.world` turns it into worlds that draw rows and answer what would have been (`WORLDS`).
"""

from collections.abc import Mapping

from crda_spec.data.worlds.named import (
    BIDDING_WAR,
    CLINICAL_RECOVERY,
    CROP_YIELD,
    HOME_ENERGY,
    PAPER_SYNTHETIC,
    DeclaredWorld,
)

DECLARED: Mapping[str, DeclaredWorld] = {
    world.name: world for world in (BIDDING_WAR, CLINICAL_RECOVERY, CROP_YIELD, HOME_ENERGY, PAPER_SYNTHETIC)
}

__all__ = ["DECLARED", "DeclaredWorld"]
