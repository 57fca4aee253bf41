"""Propagation: when features move, what they cause follows.

The graph's side, with the mathematics, is `scm.propagation`; the fitted equations are `scm.mechanisms`. Here they meet
the certificate and the training rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from crda_spec.records import FeatureVerdict, Table
from crda_spec.scm.graph import CausalGraph
from crda_spec.scm.mechanisms import Mechanisms, fit_mechanisms
from crda_spec.scm.propagation import follower_inputs, followers, propagable


@dataclass(frozen=True, slots=True, kw_only=True)
class Propagation:
    """Lets the effects of moved features follow, as the declared graph says."""

    graph: CausalGraph
    keep: tuple[str, ...] = ()  # features that never move, not even as an effect

    def followers(self, features: Sequence[str], moved: Sequence[str]) -> tuple[str, ...]:
        """The features that follow when these are moved, causes before effects."""
        return followers(self.graph, features, moved)

    def restrict(self, verdicts: Sequence[FeatureVerdict]) -> tuple[FeatureVerdict, ...]:
        """The same verdicts, but a feature whose effects cannot follow is blocked, and the reason says which and why.

        Ask again after a choice among the features that may move: one that cannot *follow* may yet move by a policy of
        its own beside its cause, and when the choice drops it, its cause has to stay as well. The verdicts of kept
        features are the choice's business and left as they are.
        """
        names = [verdict.name for verdict in verdicts]
        wanted = [verdict.name for verdict in verdicts if verdict.perturbable and verdict.name not in self.keep]
        obstacles = propagable(self.graph, names, wanted, keep=self.keep).obstacles
        return tuple(
            replace(
                verdict,
                status="blocked",
                reason=obstacles[verdict.name].reason,
                witness=obstacles[verdict.name].witness,
                lines=(),
                blockers=(),
                lemma="",
                warning="",
            )
            if verdict.name in obstacles
            else verdict
            for verdict in verdicts
        )

    def mechanisms(self, train: Table, moved: Sequence[str]) -> Mechanisms:
        """The equations of all that follows these features; a GraphError when something cannot follow."""
        return fit_mechanisms(train, follower_inputs(self.graph, train.names, moved, keep=self.keep))
