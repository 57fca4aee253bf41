"""What an equation is made of: its tree, and the functions and draws it may call.

The tree is closed: seven kinds of node, none of which can name a Python object. No numpy here.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal

ValueType = Literal["continuous", "integer", "boolean", "category"]


@dataclass(frozen=True, slots=True)
class Number:
    """A number as written; `whole` tells 2 from 2.0."""

    value: float
    whole: bool
    col: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class Label:
    """A quoted label of a category."""

    text: str
    col: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class Name:
    """Another variable."""

    name: str
    col: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class Negative:
    """-operand."""

    operand: Node
    col: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class Chain:
    """A sum, a product or a power: `first`, then each (operator, operand) in turn, from the left.

    One node for the whole of `a + b - c` keeps the tree as deep as the brackets and no deeper.
    """

    first: Node
    rest: tuple[tuple[str, Node], ...]
    col: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class Compare:
    """left operator right, with an operator of `==  !=  <  <=  >  >=`."""

    operator: str
    left: Node
    right: Node
    col: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class Call:
    """A function of numbers, or a random draw; `draw` is the draw's number in its equation, None of a function."""

    function: str
    arguments: tuple[Node, ...]
    draw: int | None = None
    col: int = field(default=0, compare=False)


Node = Number | Label | Name | Negative | Chain | Compare | Call


@dataclass(frozen=True, slots=True, kw_only=True)
class Equation:
    """One variable: how its value follows from its parents and its own draws."""

    name: str
    text: str
    tree: Node
    parents: tuple[str, ...]  # in the order of their first use
    draws: int
    type: ValueType
    labels: tuple[str, ...] = ()  # of a category: every value the equation can give


@dataclass(frozen=True, slots=True, kw_only=True)
class Signature:
    """How a function or draw is called, and what its arguments must satisfy.

    bounds: the least and largest value of an argument.  ordered: the first argument must not exceed the second.
    whole: arguments must be whole numbers.
    """

    arguments: tuple[str, ...]
    optional: int = 0  # how many of the last arguments may be left out
    bounds: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    ordered: bool = False
    whole: bool = False

    @property
    def fewest(self) -> int:
        """The number of arguments that must be given."""
        return len(self.arguments) - self.optional

    def usage(self, name: str) -> str:
        """The call as it is written, e.g. `normal(mean, sd)`."""
        must = ", ".join(self.arguments[: self.fewest])
        may = "".join(f"[, {argument}]" for argument in self.arguments[self.fewest :])
        return f"{name}({must}{may})"


FUNCTIONS: Mapping[str, Signature] = {
    "exp": Signature(arguments=("x",)),
    "log": Signature(arguments=("x",)),
    "sqrt": Signature(arguments=("x",)),
    "abs": Signature(arguments=("x",)),
    "sin": Signature(arguments=("x",)),
    "cos": Signature(arguments=("x",)),
    "tanh": Signature(arguments=("x",)),
    "minimum": Signature(arguments=("a", "b")),
    "maximum": Signature(arguments=("a", "b")),
    "clip": Signature(arguments=("x", "low", "high")),
    "where": Signature(arguments=("condition", "a", "b")),
    "round": Signature(arguments=("x", "digits"), optional=1),
}

# Rates above a million and ranges beyond 2**53 leave the whole numbers that a float can hold apart.
DRAWS: Mapping[str, Signature] = {
    "normal": Signature(arguments=("mean", "sd"), bounds={"sd": (0.0, math.inf)}),
    "uniform": Signature(arguments=("low", "high"), ordered=True),
    "exponential": Signature(arguments=("scale",), bounds={"scale": (0.0, math.inf)}),
    "lognormal": Signature(arguments=("mean", "sd"), bounds={"sd": (0.0, math.inf)}),
    "bernoulli": Signature(arguments=("p",), bounds={"p": (0.0, 1.0)}),
    "poisson": Signature(arguments=("rate",), bounds={"rate": (0.0, 1e6)}),
    "choice": Signature(arguments=("'a'", "'b'", "...")),
    "integers": Signature(
        arguments=("low", "high"),
        bounds={"low": (-(2.0**52), 2.0**52), "high": (-(2.0**52), 2.0**52)},
        ordered=True,
        whole=True,
    ),
}


def children(node: Node) -> tuple[Node, ...]:
    """The nodes directly below, from the left."""
    match node:
        case Negative(operand):
            return (operand,)
        case Chain(first, rest):
            return (first, *(operand for _, operand in rest))
        case Compare(_, left, right):
            return (left, right)
        case Call(_, arguments):
            return arguments
        case _:
            return ()


def walk(node: Node) -> Iterator[Node]:
    """The node and all nodes below it, from the left."""
    yield node
    for child in children(node):
        yield from walk(child)


def names_in(node: Node) -> tuple[str, ...]:
    """The variables that a tree uses, each once, in the order of their first use."""
    return tuple(dict.fromkeys(part.name for part in walk(node) if isinstance(part, Name)))


def has_draw(node: Node) -> bool:
    """Whether anything random happens in the tree."""
    return any(isinstance(part, Call) and part.draw is not None for part in walk(node))


def noise_names(node: Node) -> tuple[str, ...]:
    """The variables that the noise of an outcome depends on (heteroscedastic noise), read off its equation.

    The outcome is a sum; a term without a draw is systematic. A term with a draw makes its variables part of the
    noise, except those in the mean of a plain `normal(mean, sd)`, which only shift it. The answer errs on the side of
    caution: a variable that is not listed cannot change the noise.
    """
    if not has_draw(node):
        return ()
    if isinstance(node, Negative):
        return noise_names(node.operand)
    if isinstance(node, Chain) and all(operator in "+-" for operator, _ in node.rest):
        return tuple(dict.fromkeys(name for term in children(node) for name in noise_names(term)))
    if isinstance(node, Call) and node.function == "normal" and not has_draw(node.arguments[0]):
        return names_in(node.arguments[1])
    return names_in(node)
