"""Paired tests on the losses of the two arms, one file each."""

from crda_spec.gate.tests.wilcoxon import Alternative, wilcoxon_p_value

__all__ = ["Alternative", "wilcoxon_p_value"]
