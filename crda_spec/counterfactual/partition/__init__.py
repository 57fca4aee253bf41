"""The partition (X_P, X_R): which features move while the noise is carried over, and why.

Two ways lead to it. With a declared graph, d-separation decides and the empirical checks only warn. Without one, a
search and a screen decide, as in the paper. Either way the survivors are ranked, at most `max_features` are taken, and
the chosen ones are checked together; everything is computed from training rows.
"""

from crda_spec.counterfactual.partition.choice import Partition, Partitioner
from crda_spec.counterfactual.partition.declared import DeclaredPartitioner
from crda_spec.counterfactual.partition.discovered import DiscoveredPartitioner

__all__ = ["DeclaredPartitioner", "DiscoveredPartitioner", "Partition", "Partitioner"]
