"""What may be done to a feature: a family, one member a file."""

from crda_spec.counterfactual.policies._protocol import Feature, Policy, Proposal, Rows, Share
from crda_spec.counterfactual.policies.conditional import Conditional
from crda_spec.counterfactual.policies.flip import Flip
from crda_spec.counterfactual.policies.grid import Grid, cell
from crda_spec.counterfactual.policies.interpolate import Interpolate
from crda_spec.counterfactual.policies.jitter import Jitter
from crda_spec.counterfactual.policies.quantile import Quantile
from crda_spec.counterfactual.policies.resample import Resample
from crda_spec.counterfactual.policies.scale import Scale
from crda_spec.counterfactual.policies.shift import Shift

POLICIES = {
    member.kind: member for member in (Conditional, Flip, Grid, Interpolate, Jitter, Quantile, Resample, Scale, Shift)
}

__all__ = [
    "POLICIES",
    "Conditional",
    "Feature",
    "Flip",
    "Grid",
    "Interpolate",
    "Jitter",
    "Policy",
    "Proposal",
    "Quantile",
    "Resample",
    "Rows",
    "Scale",
    "Share",
    "Shift",
    "cell",
]
