"""Other ways to make new rows, to compare our own recipe with: a family; members of one idea share a file."""

from typing import Annotated, get_args

from pydantic import Field

from crda_spec.counterfactual.augmenters._protocol import BaseAugmenter, Given, NewRows
from crda_spec.counterfactual.augmenters.ablations import GlobalPerturbation, LabelInvariance
from crda_spec.counterfactual.augmenters.anchor import Ada
from crda_spec.counterfactual.augmenters.bootstrap import CausalBootstrap, ResidualBootstrap
from crda_spec.counterfactual.augmenters.ddpm import TabDdpm
from crda_spec.counterfactual.augmenters.distillation import AugmentedDistillation
from crda_spec.counterfactual.augmenters.generators import Ctgan, Tvae
from crda_spec.counterfactual.augmenters.graph import TeshimaSugiyama
from crda_spec.counterfactual.augmenters.mixing import CMixup, Mixup, RegMix
from crda_spec.counterfactual.augmenters.rare import Smogn, Smoter
from crda_spec.counterfactual.augmenters.rows import augmented_rows
from crda_spec.counterfactual.augmenters.simple import Duplicate, GaussianNoise, NoAugmenter

_Members = (
    NoAugmenter
    | Duplicate
    | GaussianNoise
    | Mixup
    | CMixup
    | Ada
    | RegMix
    | Smoter
    | Smogn
    | ResidualBootstrap
    | CausalBootstrap
    | TeshimaSugiyama
    | GlobalPerturbation
    | LabelInvariance
    | AugmentedDistillation
    | Tvae
    | Ctgan
    | TabDdpm
)

AnyAugmenter = Annotated[_Members, Field(discriminator="kind")]

# By kind.
AUGMENTERS: dict[str, type[BaseAugmenter]] = {
    member.model_fields["kind"].default: member for member in get_args(_Members)
}
