"""What a user may say: typed models of the spec and the loader that reads them."""

from crda_spec.spec.recipes import preset_of
from crda_spec.spec.run import RunSpec
