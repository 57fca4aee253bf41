"""Several models that answer as one."""

from __future__ import annotations

from dataclasses import dataclass

from crda_spec.records import Array, Predictor


@dataclass(frozen=True, slots=True, eq=False)
class MeanModel:
    """The mean of the members' predictions, added up in their order, so that it is the same bits everywhere."""

    members: tuple[Predictor, ...]

    def predict(self, x: Array) -> Array:
        """x: (m, d). Returns (m,)."""
        total = self.members[0].predict(x)
        for member in self.members[1:]:
            total = total + member.predict(x)
        return total / len(self.members)
