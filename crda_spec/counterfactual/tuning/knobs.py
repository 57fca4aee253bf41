"""The knobs: which values each may take, and the procedure that a choice of values makes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from optuna.trial import Trial

from crda_spec.counterfactual.partition import Partitioner
from crda_spec.counterfactual.policies import Policy
from crda_spec.counterfactual.procedure import Procedure
from crda_spec.regressors.teachers import TeacherRule

Value = float | int | str
Values = Mapping[str, Value]

# What says how far a policy moves a value; the other policies have no such size.
SIZES = {"scale": "reach", "shift": "amount", "jitter": "sd", "quantile": "reach", "interpolate": "reach"}


@dataclass(frozen=True, slots=True)
class Options:
    """One of these values. Numbers are in ascending order, which the search makes use of; words have no order."""

    values: tuple[Value, ...]

    @property
    def ordered(self) -> bool:
        """Whether the values are numbers."""
        return not any(isinstance(value, str) for value in self.values)

    def suggest(self, name: str, trial: Trial) -> Value:
        """The search's next value."""
        if self.ordered:
            return self.values[trial.suggest_int(name, 0, len(self.values) - 1)]
        return self.values[self.values.index(trial.suggest_categorical(name, self.values))]

    def internal(self, value: Value) -> Value | None:
        """What the search knows this value as; None when it is not among them."""
        if value not in self.values:
            return None
        return self.values.index(value) if self.ordered else value


@dataclass(frozen=True, slots=True)
class Numbers:
    """Any number from low to high."""

    low: float
    high: float
    log: bool = False

    def suggest(self, name: str, trial: Trial) -> Value:
        """The search's next value."""
        return trial.suggest_float(name, self.low, self.high, log=self.log)

    def internal(self, value: Value) -> Value | None:
        """The value itself; None when it lies outside."""
        return value if not isinstance(value, str) and self.low <= value <= self.high else None


@dataclass(frozen=True, slots=True)
class Counts:
    """Any whole number from low to high."""

    low: int
    high: int

    def suggest(self, name: str, trial: Trial) -> Value:
        """The search's next value."""
        return trial.suggest_int(name, self.low, self.high)

    def internal(self, value: Value) -> Value | None:
        """The value itself; None when it lies outside."""
        return value if isinstance(value, int) and self.low <= value <= self.high else None


Prior = Options | Numbers | Counts


@dataclass(frozen=True, slots=True, kw_only=True)
class KnobSpace:
    """What is searched, and what the words among the values stand for."""

    priors: Mapping[str, Prior]
    teachers: Mapping[str, TeacherRule] = field(default_factory=dict)
    policies: Mapping[str, Policy] = field(default_factory=dict)

    def suggest(self, trial: Trial) -> dict[str, Value]:
        """The next values to try."""
        return {name: prior.suggest(name, trial) for name, prior in self.priors.items()}

    def declared(self, procedure: Procedure) -> dict[str, Value] | None:
        """The values that the procedure has as it stands; None when one of them is not among those searched."""
        found = {name: self._current(name, procedure) for name in self.priors}
        return None if self.internal(found) is None else {name: one for name, one in found.items() if one is not None}

    def internal(self, values: Mapping[str, Value | None]) -> dict[str, Value] | None:
        """The values as the search knows them; None when one lies outside."""
        known: dict[str, Value] = {}
        for name, prior in self.priors.items():
            value = values[name]
            inside = None if value is None else prior.internal(value)
            if inside is None:
                return None
            known[name] = inside
        return known

    def applied(self, procedure: Procedure, values: Values) -> Procedure:
        """The procedure with these values."""
        changes: dict[str, Any] = {name: values[name] for name in ("retention", "weight") if name in values}
        acting = procedure.acting
        if "factor" in values:
            acting = replace(acting, factor=float(values["factor"]))
        if "policy" in values:
            acting = replace(acting, default=self.policies[str(values["policy"])])
        if "reach" in values:
            size = {SIZES[acting.default.kind]: values["reach"]}
            acting = replace(acting, default=replace(acting.default, **size))  # type: ignore[type-var]
        if "teacher" in values:
            changes["teacher"] = self.teachers[str(values["teacher"])]
        if "max_features" in values:
            changes["choice"] = replace(procedure.choice, max_features=int(values["max_features"]))
            changes["partitioner"] = _with_choice(procedure.partitioner, **changes)
        return replace(procedure, acting=acting, **changes)

    def _current(self, name: str, procedure: Procedure) -> Value | None:
        acting = procedure.acting
        found: Any = None
        match name:
            case "retention" | "weight":
                found = getattr(procedure, name)
            case "factor":
                found = acting.factor
            case "max_features":
                found = procedure.choice.max_features
            case "reach":
                found = getattr(acting.default, SIZES[acting.default.kind])
            case "teacher":
                found = next((words for words, rule in self.teachers.items() if rule == procedure.teacher), None)
            case "policy":
                found = next((words for words, policy in self.policies.items() if policy == acting.default), None)
        return found  # type: ignore[no-any-return]


def _with_choice(partitioner: Partitioner, **changes: object) -> Partitioner:
    changed: Partitioner = replace(partitioner, choice=changes["choice"])  # type: ignore[type-var] # dataclasses, all
    return changed
