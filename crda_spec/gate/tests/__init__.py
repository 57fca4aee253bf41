"""Paired tests on the losses of the two arms, one file each."""

from collections.abc import Mapping
from types import MappingProxyType

from crda_spec.gate.tests._protocol import Alternative, Paired, PairedTest, p_value
from crda_spec.gate.tests.bootstrap import Bootstrap
from crda_spec.gate.tests.clustered import Clustered
from crda_spec.gate.tests.corrected_t import CorrectedT
from crda_spec.gate.tests.five_by_two import FiveByTwo
from crda_spec.gate.tests.sign import Sign
from crda_spec.gate.tests.wilcoxon import Wilcoxon, wilcoxon_p_value

TESTS: Mapping[str, type[PairedTest]] = MappingProxyType(
    {test.kind: test for test in (Wilcoxon, Clustered, CorrectedT, Sign, Bootstrap, FiveByTwo)}
)

__all__ = [
    "TESTS",
    "Alternative",
    "Bootstrap",
    "Clustered",
    "CorrectedT",
    "FiveByTwo",
    "Paired",
    "PairedTest",
    "Sign",
    "Wilcoxon",
    "p_value",
    "wilcoxon_p_value",
]
