"""Other ways to make new rows, to compare our own recipe with: a family; members of one idea share a file."""

from typing import Annotated, get_args

from pydantic import Field

from crda_spec.counterfactual.augmenters._protocol import BaseAugmenter, Given, NewRows
from crda_spec.counterfactual.augmenters.mixing import Mixup
from crda_spec.counterfactual.augmenters.rows import augmented_rows
from crda_spec.counterfactual.augmenters.simple import Duplicate, GaussianNoise, NoAugmenter

_Members = NoAugmenter | Duplicate | GaussianNoise | Mixup

AnyAugmenter = Annotated[_Members, Field(discriminator="kind")]

# By kind.
AUGMENTERS: dict[str, type[BaseAugmenter]] = {
    member.model_fields["kind"].default: member for member in get_args(_Members)
}
