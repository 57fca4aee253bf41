"""The gate's tests on the paired losses of the two arms; `AnyGate` is what a spec may say."""

from typing import Annotated

from pydantic import Field

from crda_spec.gate.tests._protocol import Alternative, Arms, Gate, Paired, folds_needed, p_value
from crda_spec.gate.tests.bootstrap import Bootstrap
from crda_spec.gate.tests.student import Clustered, CorrectedT, FiveByTwo
from crda_spec.gate.tests.wilcoxon import Sign, Wilcoxon, wilcoxon_p_value

TESTS: dict[str, type[Gate]] = {
    "wilcoxon": Wilcoxon,
    "clustered": Clustered,
    "corrected_t": CorrectedT,
    "sign": Sign,
    "bootstrap": Bootstrap,
    "five_by_two": FiveByTwo,
}
AnyGate = Annotated[Wilcoxon | Clustered | CorrectedT | Sign | Bootstrap | FiveByTwo, Field(discriminator="kind")]
