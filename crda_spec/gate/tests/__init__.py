"""The gate's tests on the paired losses of the two arms, one file each; `AnyGate` is what a spec may say."""

from typing import Annotated

from pydantic import Field

from crda_spec.gate.tests._protocol import Alternative, Gate, Paired, folds_needed, p_value
from crda_spec.gate.tests.bootstrap import Bootstrap
from crda_spec.gate.tests.clustered import Clustered
from crda_spec.gate.tests.corrected_t import CorrectedT
from crda_spec.gate.tests.five_by_two import FiveByTwo
from crda_spec.gate.tests.sign import Sign
from crda_spec.gate.tests.wilcoxon import Wilcoxon, wilcoxon_p_value

TESTS: dict[str, type[Gate]] = {
    "wilcoxon": Wilcoxon,
    "clustered": Clustered,
    "corrected_t": CorrectedT,
    "sign": Sign,
    "bootstrap": Bootstrap,
    "five_by_two": FiveByTwo,
}
AnyGate = Annotated[
    Wilcoxon | Clustered | CorrectedT | Sign | Bootstrap | FiveByTwo,
    Field(discriminator="kind"),
]
