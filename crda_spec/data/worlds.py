"""Worlds: structural equations that draw rows, and know what any row would have been under any action."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from crda_spec.data.equations import Equation, Values, evaluate, read_equations, uniforms
from crda_spec.data.raw import read_catalogue
from crda_spec.errors import Complaint, DataError, SpecError, did_you_mean, show
from crda_spec.records import Array, IntArray, read_only


def check_rows(rows: npt.ArrayLike | None, available: int) -> IntArray:
    """Positions of rows as an array (m,); all rows for None. Raises DataError for positions that do not exist."""
    if rows is None:
        return np.arange(available, dtype=np.int64)
    index = np.asarray(rows)
    if index.ndim != 1 or (index.size and not np.issubdtype(index.dtype, np.integer)):
        what = f"rows must be a list of whole numbers, but got {index.dtype} of shape {index.shape}"
        raise DataError(Complaint(code="action-rows", what=what, hint="pass positions, e.g. np.flatnonzero(mask)"))
    wrong = (index < 0) | (index >= available)
    if wrong.any():
        what = f"row {index[wrong.argmax()]} does not exist"
        raise DataError(Complaint(code="action-rows", what=what, hint=f"rows are counted from 0 to {available - 1}"))
    return index.astype(np.int64)


def check_action(
    action: Mapping[str, npt.ArrayLike], equations: Sequence[Equation], *, target: str, rows: int
) -> dict[str, Values]:
    """The values that variables are set to, (rows,) each; raises DataError with all that is wrong with them."""
    known = {equation.name: equation for equation in equations}
    settings: dict[str, Values] = {}
    complaints: list[Complaint] = []
    for name, given in action.items():
        if name not in known:
            hint = did_you_mean(name, tuple(known), otherwise="variables")
            what = f"'{name}' is no variable of this world"
            complaints.append(Complaint(code="unknown-variable", path=name, what=what, hint=hint))
        elif name == target:
            what = f"'{name}' is the outcome itself and cannot be set"
            complaints.append(Complaint(code="action-target", path=name, what=what, hint="set what causes it"))
        elif isinstance(found := _setting(known[name], given, rows), Complaint):
            complaints.append(found)
        else:  # a variable of whole numbers may be set between them: an equation knows no difference
            settings[name] = found
    if complaints:
        raise DataError(complaints)
    return settings


def _setting(equation: Equation, given: npt.ArrayLike, rows: int) -> Values | Complaint:
    """One variable's new values as a contiguous array: numpy may round a broadcast one differently."""
    name, is_category = equation.name, equation.type == "category"
    raw = np.asarray(given, dtype=object if is_category else None)
    if raw.ndim != 0 and raw.shape != (rows,):
        what = f"{rows} rows need {rows} values, but got an array of shape {raw.shape}"
        return Complaint(code="action-shape", path=name, what=what, hint="give one value a row, or a single one")
    column = np.array(np.broadcast_to(raw, (rows,)))
    if is_category:  # a label that its equation never gives would pass through it unnoticed
        for value in dict.fromkeys(column.tolist()):
            if value not in equation.labels:
                hint = did_you_mean(str(value), equation.labels, otherwise="its labels")
                what = f"{show(value)} is no label of '{name}'"
                return Complaint(code="unknown-label", path=name, what=what, hint=hint)
        return column
    hint = f"'{name}' is {equation.type}"
    if not (np.issubdtype(column.dtype, np.number) or column.dtype == np.bool_):
        what = f"the values must be numbers, but got {show(column.tolist()[0]) if rows else column.dtype}"
        return Complaint(code="action-value", path=name, what=what, hint=hint)
    numbers = column.astype(np.float64)
    is_truth = equation.type == "boolean"
    wrong = ~np.isin(numbers, (0.0, 1.0)) if is_truth else ~np.isfinite(numbers)
    if wrong.any():
        first, allowed = int(wrong.argmax()), "0 or 1" if is_truth else "finite numbers"
        what = f"the values must be {allowed}, but got {numbers[first]:g} for row {first + 1} of the action"
        return Complaint(code="action-value", path=name, what=what, hint=hint)
    return numbers


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """A structural causal model: equations in causal order, some of whose variables nobody measures."""

    name: str
    description: str
    target: str
    equations: tuple[Equation, ...]
    hidden: tuple[str, ...]  # the graph's nodes that are no columns, for `causal.graph.latent`
    units: Mapping[str, str]

    def draw(self, rows: int, *, seed: int) -> WorldSample:
        """A sample with all that nature knows about it. Its first rows are those of a smaller sample."""
        exogenous = {each.name: uniforms(each.name, each.draws, rows=rows, seed=seed) for each in self.equations}
        values: dict[str, Values] = {}
        for equation in self.equations:
            values[equation.name] = evaluate(equation, values, exogenous[equation.name], rows=rows)
        return WorldSample(world=self, rows=rows, values=values, exogenous=exogenous)

    def draw_columns(self, rows: int, *, seed: int) -> dict[str, Values]:
        """The observed columns, in the order of the equations: float64, int64, bool, or str in an object array."""
        values = self.draw(rows, seed=seed).values
        return {name: values[name].copy() for name in self.columns()}

    def edges(self) -> tuple[str, ...]:
        """The causal graph as arrows, e.g. `dose -> recovery`, for `causal.graph.edges`."""
        return tuple(f"{parent} -> {each.name}" for each in self.equations for parent in each.parents)

    def noise_parents(self) -> tuple[str, ...]:
        """The features that the size of the target's own noise depends on, for `causal.graph.noise`."""
        return tuple(name for name in self.equation(self.target).noise_parents if name not in self.hidden)

    def columns(self) -> tuple[str, ...]:
        """The observed variables, in the order of the equations, the target included."""
        return tuple(each.name for each in self.equations if each.name not in self.hidden)

    def features(self) -> tuple[str, ...]:
        """The columns to predict from."""
        return tuple(name for name in self.columns() if name != self.target)

    def equation(self, name: str) -> Equation:
        """The equation of a variable."""
        return next(each for each in self.equations if each.name == name)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class WorldSample:
    """Rows of a world, and what made them: every variable and every exogenous number."""

    world: World
    rows: int
    values: Mapping[str, Values]  # every variable, hidden ones too, (rows,) each
    exogenous: Mapping[str, tuple[Array, ...]]  # by variable: one (rows,) for each draw of its equation

    def __post_init__(self) -> None:
        for array in (*self.values.values(), *(u for draws in self.exogenous.values() for u in draws)):
            read_only(array)

    @property
    def y(self) -> Array:
        """The target, (rows,)."""
        return self.values[self.world.target].astype(np.float64)

    @property
    def systematic(self) -> Array:
        """The target's equation with its own draws at their medians, (rows,): that of normal(0, sd) is 0."""
        equation = self.world.equation(self.world.target)
        medians = [np.full(self.rows, 0.5) for _ in range(equation.draws)]
        return evaluate(equation, self.values, medians, rows=self.rows).astype(np.float64)

    @property
    def noise(self) -> Array:
        """The target's own noise, (rows,): y minus its systematic part, in which hidden parents keep their values."""
        return self.y - self.systematic

    def outcome(self, action: Mapping[str, npt.ArrayLike], rows: npt.ArrayLike | None = None) -> Array:
        """The true outcome (m,) of some rows under do(action): what the target would have been.

        action: by variable, the value it is set to: (m,), or one value for all.  rows: (m,) positions in this sample,
        which may repeat; all rows when left out. Every other variable follows its own equation with the row's own
        exogenous numbers, so effects of a set variable respond; set all features to hold the others still.
        """
        needed = {self.world.target}  # and its ancestors
        for equation in reversed(self.world.equations):
            if equation.name in needed:
                needed.update(equation.parents)
        equations = [equation for equation in self.world.equations if equation.name in needed]
        return self._respond(equations, action, rows)[self.world.target].astype(np.float64)

    def after(self, action: Mapping[str, npt.ArrayLike], rows: npt.ArrayLike | None = None) -> dict[str, Values]:
        """Every variable (m,) of some rows under do(action), hidden ones and the target too; see `outcome`."""
        return self._respond(self.world.equations, action, rows)

    def _respond(
        self, equations: Sequence[Equation], action: Mapping[str, npt.ArrayLike], rows: npt.ArrayLike | None
    ) -> dict[str, Values]:
        index = check_rows(rows, self.rows)
        values = check_action(action, self.world.equations, target=self.world.target, rows=len(index))
        changed = set(values)
        for equation in equations:
            name = equation.name
            if name in values:
                continue  # it is set
            if changed.intersection(equation.parents):
                draws = [u[index] for u in self.exogenous[name]]
                values[name] = evaluate(equation, values, draws, rows=len(index))
                changed.add(name)
            else:
                values[name] = self.values[name][index]
        return values


def check_hidden(variables: Sequence[str], hidden: Sequence[str], *, target: str) -> tuple[Complaint, ...]:
    """What is wrong with the list of hidden variables: unknown names, the target, nothing left to predict from."""
    complaints = []
    for position, name in enumerate(hidden):
        where = f"dataset.source.hidden.{position}"
        if name not in variables:
            what = f"'{name}' is no variable of the equations"
            hint = did_you_mean(name, variables, otherwise="variables")
            complaints.append(Complaint(code="unknown-variable", path=where, what=what, hint=hint))
        elif name == target:
            what, hint = f"'{name}' is the target and cannot be hidden", "take it out of hidden"
            complaints.append(Complaint(code="hidden-target", path=where, what=what, hint=hint))
    if not complaints and not set(variables) - set(hidden) - {target}:
        what, hint = "every variable but the target is hidden", "leave at least one in the table to predict from"
        complaints.append(Complaint(code="all-hidden", path="dataset.source.hidden", what=what, hint=hint))
    return tuple(complaints)


def declare(
    *,
    name: str,
    equations: Mapping[str, str],
    target: str,
    hidden: Sequence[str] = (),
    description: str = "",
    units: Mapping[str, str] | None = None,
) -> World:
    """A world from the text of its equations; raises one SpecError with all that is wrong with them."""
    parsed, (*complaints,) = read_equations(equations)
    complaints += check_hidden(tuple(equations), hidden, target=target)
    if target not in equations:
        hint = did_you_mean(target, tuple(equations), otherwise="variables")
        what = f"the target '{target}' has no equation"
        complaints.append(Complaint(code="unknown-column", path="dataset.target", what=what, hint=hint))
    for equation in parsed:
        if equation.name == target and equation.type in ("category", "boolean"):
            what = f"the target '{target}' is a {equation.type}, and a regression needs a number"
            hint = "choose another target"
            complaints.append(Complaint(code="target-type", path="dataset.target", what=what, hint=hint))
    if complaints:
        raise SpecError(complaints)
    return World(
        name=name, description=description, target=target, equations=parsed, hidden=tuple(hidden), units=units or {}
    )


# Invented tables whose structural equations, and so whose counterfactuals, are known.
WORLDS: Mapping[str, World] = {
    name: declare(name=name, **facts) for name, facts in read_catalogue(Path(__file__).with_suffix(".yaml")).items()
}
