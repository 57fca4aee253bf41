"""Searches for structure in the data, for when no graph is known, and expert knowledge that binds them."""

from typing import Annotated

from pydantic import Field

from crda_spec.discovery._protocol import DiscoveredGraph, FoundEdge, ResidualNeighbours, Search, Stability
from crda_spec.discovery.consensus import Consensus
from crda_spec.discovery.fci import Fci
from crda_spec.discovery.ges import Ges
from crda_spec.discovery.knowledge import Knowledge
from crda_spec.discovery.pc import Pc

Discovery = Annotated[Pc | Fci | Ges | Consensus, Field(discriminator="kind")]
