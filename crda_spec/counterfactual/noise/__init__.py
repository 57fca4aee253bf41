"""How noise enters the outcome: a family, one member a file."""

from crda_spec.counterfactual.noise._protocol import NoiseModel
from crda_spec.counterfactual.noise.additive import Additive
from crda_spec.counterfactual.noise.location_scale import LocationScale, SmoothScale

NOISE_MODELS: dict[str, type[Additive] | type[LocationScale]] = {
    member.kind: member for member in (Additive, LocationScale)
}

__all__ = ["NOISE_MODELS", "Additive", "LocationScale", "NoiseModel", "SmoothScale"]
