"""Computes the values of a variable, for all rows at once, from its parents and its exogenous numbers.

Numbers are float64 inside an equation, whatever the variable's type. The result is float64, int64, bool or, for a
category, an object array of str.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from crda_spec.data.equations.draws import INVERSES, choose
from crda_spec.data.equations.kinds import argument_trouble
from crda_spec.data.equations.parse import PATH
from crda_spec.data.equations.tree import (
    DRAWS,
    Call,
    Chain,
    Compare,
    Equation,
    Label,
    Name,
    Negative,
    Node,
    Number,
    Signature,
)
from crda_spec.errors import Complaint, DataError
from crda_spec.records import Array

Values = npt.NDArray[Any]

_LARGEST_WHOLE = 2.0**53

_OPERATORS: Mapping[str, Callable[[Any, Any], Any]] = {
    "+": np.add,
    "-": np.subtract,
    "*": np.multiply,
    "/": np.divide,
    "**": np.power,
    "==": np.equal,
    "!=": np.not_equal,
    "<": np.less,
    "<=": np.less_equal,
    ">": np.greater,
    ">=": np.greater_equal,
}
_FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    "exp": np.exp,
    "log": np.log,
    "sqrt": np.sqrt,
    "abs": np.abs,
    "sin": np.sin,
    "cos": np.cos,
    "tanh": np.tanh,
    "minimum": np.minimum,
    "maximum": np.maximum,
}


def evaluate(equation: Equation, values: Mapping[str, Values], uniforms: Sequence[Array], *, rows: int) -> Values:
    """The variable's values (rows,).

    values: its parents, (rows,) each.  uniforms: one array (rows,) for each of its draws.
    Raises DataError when a row has no finite value, or a draw gets arguments that make no sense.
    """
    # A branch of where() that no row takes may divide by zero: only what comes out has to be finite.
    with np.errstate(all="ignore"):
        result = _Evaluation(equation.name, values, uniforms, rows).value(equation.tree)
    full = np.empty(rows, dtype=object if equation.type == "category" else np.float64)
    full[:] = result
    if equation.type == "category":
        return full
    _check_values(equation, full)
    if equation.type == "continuous":
        return full
    return full.astype(np.int64 if equation.type == "integer" else np.bool_)


class _Evaluation:
    """One pass over an equation's tree; a part's value is a scalar where it is the same for all rows."""

    __slots__ = ("_name", "_rows", "_uniforms", "_values")

    def __init__(self, name: str, values: Mapping[str, Values], uniforms: Sequence[Array], rows: int) -> None:
        self._name, self._values, self._uniforms, self._rows = name, values, uniforms, rows

    def value(self, node: Node) -> Any:  # noqa: ANN401 - a scalar or an array, of numbers or of labels
        """The value of one part."""
        match node:
            case Number(number):
                found: Any = np.float64(number)
            case Label(text):
                found = text
            case Name(name):
                column = self._values[name]
                found = column if column.dtype == object else column.astype(np.float64)
            case Negative(operand):
                found = -self.value(operand)
            case Chain(first, rest):
                found = self.value(first)
                for operator, operand in rest:
                    found = _OPERATORS[operator](found, self.value(operand))
            case Compare(operator, left, right):
                found = np.asarray(_OPERATORS[operator](self.value(left), self.value(right))).astype(np.float64)
            case Call():
                found = self._call(node)
        return found

    def _call(self, node: Call) -> Any:  # noqa: ANN401 - as above
        if node.draw is not None:
            return self._draw(node, self._uniforms[node.draw])
        arguments = [self.value(argument) for argument in node.arguments]
        match node.function:
            case "where":
                found = np.where(np.asarray(arguments[0]) != 0.0, *_objects(arguments[1:]))
            case "clip":
                found = np.minimum(np.maximum(arguments[0], arguments[1]), arguments[2])
            case "round":
                digits = int(arguments[1]) if len(arguments) > 1 else 0
                found = np.round(arguments[0], digits)
            case name:
                found = _FUNCTIONS[name](*arguments)
        return found

    def _draw(self, node: Call, u: Array) -> Values:
        if node.function == "choice":
            return choose(u, tuple(argument.text for argument in node.arguments if isinstance(argument, Label)))
        # Full, contiguous columns: numpy may round a broadcast column differently from a real one.
        arguments = [np.array(np.broadcast_to(self.value(each), self._rows), np.float64) for each in node.arguments]
        self._check_arguments(node, DRAWS[node.function], arguments)
        return INVERSES[node.function](u, *arguments)

    def _check_arguments(self, node: Call, signature: Signature, arguments: list[Array]) -> None:
        complaints = []
        place = f"{node.function}(...) (column {node.col})"
        for position, (argument, column) in enumerate(zip(signature.arguments, arguments, strict=True)):
            low, high = signature.bounds.get(argument, (-math.inf, math.inf))
            wrong = ~((column >= low) & (column <= high) & np.isfinite(column))
            if signature.whole:
                wrong |= column != np.floor(column)
            if wrong.any():
                value = float(column[wrong.argmax()])
                finite = f"{argument} must be a finite number"
                trouble = (argument_trouble(signature, position, value) if math.isfinite(value) else "") or finite
                complaints.append(_row_complaint(self._name, f"{place}: {trouble}", wrong, f"{value:g}"))
        if signature.ordered and not complaints and (wrong := arguments[0] > arguments[1]).any():
            low, high = (float(column[wrong.argmax()]) for column in arguments)
            got = f"low={low:g}, high={high:g}"
            complaints.append(_row_complaint(self._name, f"{place}: low <= high must hold", wrong, got))
        if complaints:
            raise DataError(complaints)


def _objects(branches: Sequence[Any]) -> list[Any]:
    """Labels as objects: numpy would cut or pad plain text to one width."""
    return [np.asarray(branch, dtype=object) if isinstance(branch, str) else branch for branch in branches]


def _check_values(equation: Equation, values: Array) -> None:
    """Every row needs a finite number, and a whole number must be one that a float holds exactly."""
    wrong = ~np.isfinite(values)
    what = "the value is not a finite number"
    if not wrong.any() and equation.type == "integer":
        wrong = np.abs(values) > _LARGEST_WHOLE
        what = "the value is too large for a whole number"
    if wrong.any():
        raise DataError(_row_complaint(equation.name, what, wrong, f"{float(values[wrong.argmax()]):g}"))


def _row_complaint(name: str, what: str, wrong: npt.NDArray[np.bool_], got: str) -> Complaint:
    """A complaint about the rows marked in `wrong`: how many, and the first of them with its value."""
    count, row = int(wrong.sum()), int(wrong.argmax()) + 1
    rows = f"row {row}" if count == 1 else f"{count} of {len(wrong)} rows, first row {row}"
    return Complaint(
        code="equation-value",
        path=f"{PATH}.{name}",
        what=f"{what}, but got {got} in {rows}",
        hint="keep it in range with clip, minimum, maximum or abs",
    )
