"""What may be done to a feature: a family; members of one idea share a file."""

from typing import Annotated, get_args

from pydantic import Field

from crda_spec.counterfactual.policies._protocol import BasePolicy, Feature, Proposal, Rows, Share
from crda_spec.counterfactual.policies.formulas import Flip, Jitter, Quantile, Scale, Shift
from crda_spec.counterfactual.policies.grid import Grid, cell
from crda_spec.counterfactual.policies.other_rows import Conditional, Interpolate, Resample
from crda_spec.counterfactual.policies.plugin import PluginPolicy

_Anywhere = Scale | Shift | Jitter | Quantile | Resample | Interpolate | Conditional | PluginPolicy
_Single = Scale | Shift | Jitter | Quantile | Resample | Flip | Interpolate | Grid | Conditional | PluginPolicy

# A grid of values and a flip suit a feature of a known type, so they are no defaults.
DefaultPolicy = Annotated[_Anywhere, Field(discriminator="kind")]
Policy = Annotated[_Single, Field(discriminator="kind")]

# By kind, those of this package.
POLICIES: dict[str, type[BasePolicy]] = {
    member.model_fields["kind"].default: member for member in get_args(_Single) if member is not PluginPolicy
}
