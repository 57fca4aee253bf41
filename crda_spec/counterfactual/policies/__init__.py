"""What may be done to a feature: a family, one member a file."""

from crda_spec.counterfactual.policies._protocol import Feature, Policy, RowDraws
from crda_spec.counterfactual.policies.jitter import Jitter
from crda_spec.counterfactual.policies.resample import Resample
from crda_spec.counterfactual.policies.scale import Scale

POLICIES = {member.kind: member for member in (Jitter, Resample, Scale)}

__all__ = ["POLICIES", "Feature", "Jitter", "Policy", "Resample", "RowDraws", "Scale"]
