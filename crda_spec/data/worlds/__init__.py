"""Named worlds: invented tables whose structural equations, and so whose counterfactuals, are known.

A family: one file a world, all of them in `DECLARED`. This is text without numpy, for `crda-spec validate`;
`worlds.world` turns it into worlds that draw rows and answer what would have been (`WORLDS`).
"""

from collections.abc import Mapping

from crda_spec.data.worlds._declared import DeclaredWorld
from crda_spec.data.worlds.bidding_war import BIDDING_WAR
from crda_spec.data.worlds.clinical_recovery import CLINICAL_RECOVERY
from crda_spec.data.worlds.crop_yield import CROP_YIELD
from crda_spec.data.worlds.home_energy import HOME_ENERGY
from crda_spec.data.worlds.paper_synthetic import PAPER_SYNTHETIC

DECLARED: Mapping[str, DeclaredWorld] = {
    world.name: world for world in (BIDDING_WAR, CLINICAL_RECOVERY, CROP_YIELD, HOME_ENERGY, PAPER_SYNTHETIC)
}

__all__ = ["DECLARED", "DeclaredWorld"]
