"""Keeps numbers and labels apart, and finds what a variable's values are: the static check of an equation's tree.

Also refuses what can be seen to be wrong before any row is drawn: a label that a category never takes, a draw whose
written arguments make no sense. No numpy here.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from crda_spec.data.equations.tree import (
    DRAWS,
    Call,
    Chain,
    Compare,
    Label,
    Name,
    Negative,
    Node,
    Number,
    Signature,
    ValueType,
)
from crda_spec.errors import Complaint, did_you_mean

_MAX_DIGITS = 12
_DRAWN_TYPES: Mapping[str, ValueType] = {"bernoulli": "boolean", "poisson": "integer", "integers": "integer"}


@dataclass(frozen=True, slots=True)
class Kind:
    """What the values of an expression are; of a category also which labels can occur."""

    type: ValueType
    labels: tuple[str, ...] = ()


_BOOLEAN, _INTEGER, _CONTINUOUS = Kind("boolean"), Kind("integer"), Kind("continuous")


def check_kinds(
    tree: Node, known: Mapping[str, Kind | None], *, path: str
) -> tuple[Kind | None, tuple[Complaint, ...]]:
    """The kind of a tree's values and all complaints about it.

    known: the kinds of the variables above; None for one whose own equation is broken. The kind is None when it hangs
    on such a variable.
    """
    checker = _Checker(known=known, path=path)
    return checker.kind(tree), tuple(checker.complaints)


def argument_trouble(signature: Signature, position: int, value: float) -> str:
    """What is wrong with the value of one argument on its own; empty when nothing is."""
    argument = signature.arguments[position]
    low, high = signature.bounds.get(argument, (-math.inf, math.inf))
    if signature.whole and value != math.floor(value):
        return f"{argument} must be a whole number"
    if low <= value <= high:
        return ""
    return f"{argument} must be at least {low:g}" if math.isinf(high) else f"{argument} must be in [{low:g}, {high:g}]"


@dataclass(slots=True, kw_only=True)
class _Checker:
    """Goes through a tree from the leaves up. A part that was complained about has no kind, and is quiet above."""

    known: Mapping[str, Kind | None]
    path: str
    complaints: list[Complaint] = field(default_factory=list)

    def kind(self, node: Node) -> Kind | None:
        """The kind of one part's values."""
        found: Kind | None
        match node:
            case Number():
                found = _INTEGER if node.whole else _CONTINUOUS
            case Label():
                found = Kind("category", (node.text,))
            case Name():
                found = self.known.get(node.name)
            case Negative():
                operand = self._number(node.operand, "-")
                found = _INTEGER if operand == _BOOLEAN else operand
            case Chain():
                found = self._chain(node)
            case Compare():
                found = self._compare(node)
            case Call():
                found = self._call(node)
        return found

    def _complain(self, code: str, what: str, hint: str = "") -> None:
        self.complaints.append(Complaint(code=code, path=self.path, what=what, hint=hint))

    def _number(self, node: Node, where: str) -> Kind | None:
        """The kind of a part that has to be a number."""
        kind = self.kind(node)
        if kind is not None and kind.type == "category":
            what = f"{_words(node)} is a category, and {where} needs a number"
            self._complain("label-as-number", what, "compare it with a label: (x == 'a')")
            return None
        return kind

    def _chain(self, node: Chain) -> Kind | None:
        operators = {operator for operator, _ in node.rest}
        kinds = [self._number(node.first, node.rest[0][0])]
        kinds += [self._number(operand, operator) for operator, operand in node.rest]
        if None in kinds:
            return None
        if operators == {"*"} and set(kinds) == {_BOOLEAN}:
            return _BOOLEAN  # `*` of comparisons is the language's `and`
        return _CONTINUOUS if operators & {"/", "**"} else _widest(kinds)

    def _compare(self, node: Compare) -> Kind | None:
        left, right = self.kind(node.left), self.kind(node.right)
        if left is None or right is None:
            return None
        categories = (left.type == "category") + (right.type == "category")
        written = f"{_words(node.left)} {node.operator} {_words(node.right)}"
        if categories == 1:
            what = f"{written} compares a label with a number"
            self._complain("label-as-number", what, "compare a category with a quoted label")
            return None
        if categories and node.operator not in ("==", "!="):
            what = f"{written} asks for an order, and labels have none"
            self._complain("label-order", what, "use == or !=")
            return None
        if categories and not set(left.labels) & set(right.labels):
            literal, other, kind = (
                (node.left, node.right, right) if isinstance(node.left, Label) else (node.right, node.left, left)
            )
            what = f"{_words(literal)} is never equal to {_words(other)}"
            word = literal.text if isinstance(literal, Label) else ""
            self._complain("unknown-label", what, did_you_mean(word, kind.labels, otherwise="its labels"))
            return None
        return _BOOLEAN

    def _call(self, node: Call) -> Kind | None:
        if node.function == "choice":
            return self._choice(node)
        if node.function == "where":
            return self._where(node)
        kinds = [self._number(argument, f"{node.function}(...)") for argument in node.arguments]
        if node.draw is not None:
            self._check_written_arguments(node)
            return Kind(_DRAWN_TYPES.get(node.function, "continuous"))
        if node.function == "round":
            return self._round(node)
        if node.function in ("abs", "minimum", "maximum", "clip"):
            return _widest(kinds)
        return _CONTINUOUS

    def _choice(self, node: Call) -> Kind | None:
        labels = [argument.text for argument in node.arguments if isinstance(argument, Label)]
        if len(labels) < len(node.arguments):
            what = f"choice(...) (column {node.col}) takes quoted labels only"
            self._complain("choice-labels", what, "for whole numbers use integers(low, high)")
            return None
        return Kind("category", tuple(dict.fromkeys(labels)))

    def _where(self, node: Call) -> Kind | None:
        condition, first, second = (self.kind(argument) for argument in node.arguments)
        if condition is not None and condition.type != "boolean":
            what = f"the condition of where(...) (column {node.col}) is no comparison"
            self._complain("where-condition", what, "write one, such as x > 0")
            return None
        if first is None or second is None:
            return None
        if (first.type == "category") != (second.type == "category"):
            what = f"where(...) (column {node.col}) chooses between a label and a number"
            self._complain("label-as-number", what, "make both of them labels, or both numbers")
            return None
        if first.type == "category":
            return Kind("category", tuple(dict.fromkeys(first.labels + second.labels)))
        return first if first == second else _widest([first, second])

    def _round(self, node: Call) -> Kind | None:
        if len(node.arguments) == 1:
            return _INTEGER
        digits = _literal(node.arguments[1])
        if digits is None or digits != math.floor(digits) or abs(digits) > _MAX_DIGITS:
            allowed = f"a whole number from -{_MAX_DIGITS} to {_MAX_DIGITS}"
            what = f"the digits of round(...) (column {node.col}) must be {allowed}"
            self._complain("round-digits", what, "write it out: round(x, 2)")
            return None
        return _CONTINUOUS if digits > 0 else _INTEGER

    def _check_written_arguments(self, node: Call) -> None:
        """Complains about numbers that are wrong for every row; what hangs on a variable is checked row by row."""
        signature = DRAWS[node.function]
        values = [_literal(argument) for argument in node.arguments]
        place = f"{node.function}(...) (column {node.col})"
        for position, value in enumerate(values):
            trouble = "" if value is None else argument_trouble(signature, position, value)
            if trouble:
                hint = f"call it as {signature.usage(node.function)}"
                self._complain("draw-argument", f"{place}: {trouble}, but got {value:g}", hint)
        if signature.ordered and values[0] is not None and values[1] is not None and values[0] > values[1]:
            what = f"{place}: low <= high must hold, but got low={values[0]:g}, high={values[1]:g}"
            self._complain("draw-argument", what, "swap them")


def _literal(node: Node) -> float | None:
    """The value of a written number, with its sign; None of anything else."""
    if isinstance(node, Negative) and isinstance(node.operand, Number):
        return -node.operand.value
    return node.value if isinstance(node, Number) else None


def _widest(kinds: list[Kind | None]) -> Kind | None:
    """The kind of a sum of such values: continuous if one is, else whole numbers; None if one is not known."""
    if None in kinds:
        return None
    return _CONTINUOUS if _CONTINUOUS in kinds else _INTEGER


def _words(node: Node) -> str:
    """A short name for a part of an equation, with its column."""
    match node:
        case Name():
            return f"'{node.name}' (column {node.col})"
        case Label():
            return f"the label '{node.text}' (column {node.col})"
        case Number():
            return f"the number {node.value:g} (column {node.col})"
        case Call():
            return f"{node.function}(...) (column {node.col})"
        case _:
            return f"the expression at column {node.col}"
