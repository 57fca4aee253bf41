"""Structural equations as text: a closed language that Python's parser reads and numpy computes.

`read_equations` checks Python's syntax tree against a white list, keeps numbers and labels apart, and finds all that is
wrong before a row is drawn; `evaluate` computes a variable. Nothing is ever evaluated as Python.

A draw never falls when its one uniform number grows, and nothing else is random. So a row keeps its luck when its
circumstances change: under an action the uniform numbers stay, and only the arguments of the draws move.
"""

from __future__ import annotations

import ast
import keyword
import math
import re
import sys
import unicodedata
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from crda_spec.errors import Complaint, DataError, did_you_mean, show
from crda_spec.records import Array
from crda_spec.seeds import stream

Values = npt.NDArray[Any]
ValueType = Literal["continuous", "integer", "boolean", "category"]
Kind = ValueType | tuple[str, ...] | None  # of a part: a category is the tuple of its labels; None: it is broken

MAX_LENGTH, MAX_DEPTH, MAX_EXPONENT, MAX_DIGITS, MAX_LABEL = 2000, 50, 100, 12, 100


def uniforms(variable: str, draws: int, *, rows: int, seed: int) -> tuple[Array, ...]:
    """The exogenous numbers of a variable: one array (rows,) in (0, 1) for each of its draws.

    Each draw has a stream of its own, so the first rows of a larger sample are those of a smaller one. A generator may
    give 0, where an inverse distribution function can be infinite; it never gives 1.
    """
    return tuple(np.maximum(stream(seed, f"world:{variable}", index).random(rows), 2.0**-54) for index in range(draws))


def _normal(u: Array, mean: Array, sd: Array) -> Array:
    from scipy.special import ndtri

    return mean + sd * ndtri(u)


def _poisson(u: Array, rate: Array) -> Array:
    """The smallest count whose distribution function reaches u: a guess (Cornish and Fisher), then single steps."""
    from scipy.special import ndtri, pdtr

    z = ndtri(u)
    count = np.maximum(np.floor(rate + np.sqrt(rate) * z + (z * z - 1.0) / 6.0), 0.0)
    while np.any(short := pdtr(count, rate) < u):
        count = count + short
    while np.any(beyond := (count > 0.0) & (pdtr(np.maximum(count - 1.0, 0.0), rate) >= u)):
        count = count - beyond
    return count


def _choice(u: Array, *labels: str) -> Values:
    """One of the labels, each as likely as it is often listed."""
    return np.array(labels, dtype=object)[np.minimum(np.floor(u * len(labels)), len(labels) - 1).astype(np.int64)]


def _where(condition: Any, *branches: Any) -> Values:  # noqa: ANN401 - scalars or columns, of numbers or of labels
    """Labels are chosen as objects: numpy would cut or pad plain text to one width."""
    a, b = (np.asarray(branch, dtype=object) if isinstance(branch, str) else branch for branch in branches)
    return np.where(np.asarray(condition) != 0.0, a, b)


@dataclass(frozen=True, slots=True)
class Function:
    """A function or draw: its arguments, what computes it, and the type of what it gives (None: of its arguments)."""

    arguments: str
    compute: Callable[..., Any]
    gives: ValueType | None = "continuous"
    limits: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    whole: bool = False

    def takes(self, count: int) -> bool:
        """Whether it can be called with so many arguments."""
        most = self.arguments.count(",") + 1
        return count >= 2 if "..." in self.arguments else most - self.arguments.count("[") <= count <= most


_NOT_NEGATIVE, _WHOLE = (0.0, math.inf), (-(2.0**52), 2.0**52)
FUNCTIONS: Mapping[str, Function] = {
    **{name: Function("x", getattr(np, name)) for name in ("exp", "log", "sqrt", "sin", "cos", "tanh")},
    "abs": Function("x", np.abs, None),
    "minimum": Function("a, b", np.minimum, None),
    "maximum": Function("a, b", np.maximum, None),
    "clip": Function("x, low, high", lambda x, low, high: np.minimum(np.maximum(x, low), high), None),
    "where": Function("condition, a, b", _where),
    "round": Function("x[, digits]", lambda x, digits=0: np.round(x, int(digits))),
}
DRAWS: Mapping[str, Function] = {  # inverse distribution functions; lognormal takes the mean and sd of the logarithm
    "normal": Function("mean, sd", _normal, limits={"sd": _NOT_NEGATIVE}),
    "uniform": Function("low, high", lambda u, low, high: low + (high - low) * u),
    "exponential": Function("scale", lambda u, scale: -scale * np.log1p(-u), limits={"scale": _NOT_NEGATIVE}),
    "lognormal": Function("mean, sd", lambda u, mean, sd: np.exp(_normal(u, mean, sd)), limits={"sd": _NOT_NEGATIVE}),
    "bernoulli": Function("p", lambda u, p: (u >= 1.0 - p).astype(np.float64), "boolean", {"p": (0.0, 1.0)}),
    "poisson": Function("rate", _poisson, "integer", {"rate": (0.0, 1e6)}),
    "choice": Function("'a', 'b', ...", _choice),
    "integers": Function(
        "low, high",
        lambda u, low, high: np.minimum(low + np.floor((high - low + 1.0) * u), high),
        "integer",
        {"low": _WHOLE, "high": _WHOLE},
        whole=True,
    ),
}
_CALLS = {**FUNCTIONS, **DRAWS}
_OPERATORS: Mapping[type[ast.AST], tuple[str, Callable[[Any, Any], Any]]] = {
    ast.Add: ("+", np.add),
    ast.Sub: ("-", np.subtract),
    ast.Mult: ("*", np.multiply),
    ast.Div: ("/", np.divide),
    ast.Pow: ("**", np.power),
    ast.Eq: ("==", np.equal),
    ast.NotEq: ("!=", np.not_equal),
    ast.Lt: ("<", np.less),
    ast.LtE: ("<=", np.less_equal),
    ast.Gt: (">", np.greater),
    ast.GtE: (">=", np.greater_equal),
}
# What to write instead of Python, and of what other languages call by another name.
_INSTEAD: Mapping[type[ast.AST] | str, str] = {
    ast.BoolOp: "multiply comparisons for 'and': (x > 0) * (x < 1)",
    ast.Compare: "multiply two comparisons: (0 < x) * (x < 1)",
    ast.Constant: f"write a finite number (1 or 0 for true or false), or a label of up to {MAX_LABEL} characters",
    ast.IfExp: "write where(condition, a, b)",
    ast.NamedExpr: "give the value an equation of its own",
    ast.JoinedStr: "write a plain label in quotes",
    ast.Tuple: "a decimal mark is a point: 0.5",
    ast.Not: "write 1 - x, or turn the comparison round",
    ast.BitXor: "for a power write **",
    "pow": "write x ** 2",
    "ln": "did you mean 'log'?",
    "ifelse": "did you mean 'where'?",
}
_LANGUAGE = "use + - * / **, one of == != < <= > >=, the functions and the draws"
_TOO_LARGE = (
    f"the equation has more than {MAX_LENGTH} characters, or is nested more than {MAX_DEPTH} levels deep",
    "split it over several variables, and hide the helpers",
)
_PATH = "dataset.source.equations"


class Part(NamedTuple):
    """A part of an equation: what kind of values it has, and the values, (rows,) or one for all rows."""

    kind: Kind
    value: Any


def _unseen(kind: Kind) -> Part:
    """A part whose rows are not drawn yet."""
    return Part(kind, np.empty(0, dtype=object if isinstance(kind, tuple) else np.float64))


_BROKEN = _unseen(None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Equation:
    """One variable: how its value follows from its parents and its own draws."""

    name: str
    text: str
    kinds: Mapping[str, Kind]  # of its parents, in the order of their first use
    draws: int
    kind: ValueType | tuple[str, ...]

    @property
    def parents(self) -> tuple[str, ...]:
        """Its direct causes, in the order of their first use."""
        return tuple(self.kinds)

    @property
    def labels(self) -> tuple[str, ...]:
        """Of a category: every value that the equation can give."""
        return self.kind if isinstance(self.kind, tuple) else ()

    @property
    def type(self) -> ValueType:
        """What the values are."""
        return "category" if isinstance(self.kind, tuple) else self.kind

    @property
    def noise_parents(self) -> tuple[str, ...]:
        """The parents that the noise depends on (heteroscedastic noise)."""
        return _noise_variables(_parse(self.text))


def read_equations(equations: Mapping[str, str]) -> tuple[tuple[Equation, ...], tuple[Complaint, ...]]:
    """The equations that can be read, in causal order, and the complaints about those that cannot.

    A variable whose own equation is broken still counts as known, so that one mistake is reported once.
    """
    if not equations:
        what, hint = "there are no equations", "write one for each variable, such as x: normal(0, 1)"
        return (), (Complaint(code="equations-empty", path=_PATH, what=what, hint=hint),)
    above: dict[str, Part] = {}
    parsed: list[Equation] = []
    complaints: list[Complaint] = []
    for name, text in equations.items():
        walk = _Walk(name, text.replace("\n", " ").replace("\t", " "), above, below=tuple(equations)[len(above) :])
        equation = walk.read()
        above[name] = _BROKEN if equation is None else _unseen(equation.kind)
        parsed += [] if equation is None else [equation]
        complaints += walk.complaints
    return tuple(parsed), tuple(complaints)


def evaluate(equation: Equation, values: Mapping[str, Values], uniforms: Sequence[Array], *, rows: int) -> Values:
    """The variable's values (rows,): float64, int64, bool or, for a category, str in an object array.

    values: its parents, (rows,) each.  uniforms: one array (rows,) for each of its draws.
    Raises DataError when a row has no finite value, or a draw gets arguments that make no sense.
    """
    parents = {name: Part(kind, values[name]) for name, kind in equation.kinds.items()}
    walk = _Walk(equation.name, equation.text, parents, uniforms=iter(uniforms))
    result = walk.run().value
    if equation.type == "category":
        return np.full(rows, result, dtype=object)
    full = np.full(rows, result, dtype=np.float64)
    walk.check("the value must be a finite number", ~np.isfinite(full), full)
    if equation.type == "integer":  # beyond 2**53 a float no longer tells whole numbers apart
        walk.check("the value must be a whole number up to 2**53", np.abs(full) > 2.0**53, full)
    return full.astype({"continuous": np.float64, "integer": np.int64, "boolean": np.bool_}[equation.type])


class _Walk:
    """One walk over an equation, from the left: checks each part, tells its kind and computes it.

    An equation is read by a walk over no rows, which finds all that is wrong; what is the same for all rows is already
    known then. `uniforms` are the numbers of its draws, in the order in which they are written; None to read.
    """

    def __init__(
        self,
        name: str,
        text: str,
        above: Mapping[str, Part],
        *,
        below: Sequence[str] = (),
        uniforms: Iterator[Array] | None = None,
    ) -> None:
        self.name, self.text, self.above, self.below, self.uniforms = name, text, above, below, uniforms
        self.complaints: list[Complaint] = []
        self._depth = 0

    def read(self) -> Equation | None:
        """The equation; None when something is wrong with it, or with what it hangs on."""
        self._check_form()
        if self.complaints:
            return None
        try:
            kind = self.run().kind
        except SyntaxError as error:
            where = f" at column {error.offset + len(self.text) - len(self.text.lstrip())}" if error.offset else ""
            hint = "write it like 2 * x + normal(0, 1)"
            self._complain("equation-syntax", f"{show(self.text.strip())} cannot be read{where}", hint)
        except (MemoryError, RecursionError):  # nesting without brackets: ---...x, x ** x ** ...
            self.complaints = []
            self._complain("equation-too-large", *_TOO_LARGE)
        if self.complaints or kind is None:
            return None
        tree = _parse(self.text)
        kinds = {name: self.above[name].kind for name in _variables(tree)}
        return Equation(name=self.name, text=self.text, kinds=kinds, draws=_draws(tree), kind=kind)

    def run(self) -> Part:
        """The kind and the values of the whole equation."""
        # A branch of where() that no row takes may divide by zero: only what comes out has to be finite.
        with np.errstate(all="ignore"):
            return self._part(_parse(self.text))

    def check(self, what: str, wrong: Values, *columns: Values, hint: str = "") -> None:
        """Complains about the rows marked in `wrong`; raises DataError unless the equation is only read."""
        if not wrong.any():
            return
        count, row = int(wrong.sum()), int(wrong.argmax())
        what += ", but got " + " and ".join(f"{np.broadcast_to(column, wrong.shape)[row]:g}" for column in columns)
        if self.uniforms is None:
            self._complain("draw-argument", what, hint)
            return
        what += f" in row {row + 1}" if count == 1 else f" in {count} of {len(wrong)} rows, first row {row + 1}"
        self._complain("equation-value", what, "keep it in range with clip, minimum, maximum or abs")
        raise DataError(self.complaints)

    def _complain(self, code: str, what: str, hint: str) -> None:
        self.complaints.append(Complaint(code=code, path=f"{_PATH}.{self.name}", what=what, hint=hint))

    def _wrong(self, node: ast.expr, code: str, what: str, hint: str) -> Part:
        self._complain(code, f"{self._quote(node)} {what}", hint)
        return _BROKEN

    def _quote(self, node: ast.expr) -> str:
        return _quote(self.text, node)

    def _check_name(self) -> None:
        """A variable is referred to by its name, so that must be one word."""
        name = self.name
        # Python's parser reads names in their NFKC form, so another spelling could never be referred to.
        taken = name in _CALLS or keyword.iskeyword(name)
        if taken or not name.isidentifier() or unicodedata.normalize("NFKC", name) != name:
            hint = "use one word of letters, digits and underscores that is no function and no Python keyword"
            self._complain("equation-name", f"{show(name)} cannot name a variable", hint)

    def _check_form(self) -> None:
        """What must hold before Python's parser sees the text."""
        self._check_name()
        text = self.text
        # A comment would swallow the rest of a folded YAML text; escapes and control characters hide what is meant.
        strange = [place for place, one in enumerate(text) if one in "#\\" or not one.isprintable()]
        depths = accumulate((one in "([{") - (one in ")]}") for one in text)  # brackets in labels count too
        if len(text) > MAX_LENGTH or max(depths, default=0) > MAX_DEPTH:
            self._complain("equation-too-large", *_TOO_LARGE)
        elif strange:
            what = f"{show(text[strange[0]])} (column {strange[0] + 1}) cannot stand in an equation"
            hint = "put comments on YAML lines of their own" if text[strange[0]] == "#" else "take it out"
            self._complain("equation-character", what, hint)

    def _part(self, node: ast.expr) -> Part:
        """The white list: what no case lets pass is refused."""
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise RecursionError
        match node:
            case ast.Constant(value=str() as label) if label.strip() and len(label) <= MAX_LABEL:
                part = Part((label,), label)
            case ast.Constant(value=float() as number) if number <= sys.float_info.max:
                part = Part("continuous", np.float64(number))
            case ast.Constant(value=int() as number) if number <= sys.float_info.max and not isinstance(number, bool):
                part = Part("integer", np.float64(float(number)))
            case ast.Name(id=name):
                part = self._variable(node, name)
            case ast.UnaryOp(op=ast.UAdd(), operand=operand):
                part = self._part(operand)
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                kind, value = self._number(operand, "-")
                part = Part(_widest(kind), -value)
            case ast.BinOp(op=operator) if type(operator) in _OPERATORS:
                part = self._arithmetic(node)
            case ast.Compare(left=left, ops=[operator], comparators=[right]) if type(operator) in _OPERATORS:
                part = self._comparison(node, self._part(left), self._part(right))
            case ast.Call(func=ast.Name(id=name)):
                part = self._call(node, name)
            case _:
                part = self._refuse(node)
        self._depth -= 1
        return part

    def _refuse(self, node: ast.expr) -> Part:
        match node:
            case ast.Attribute(attr=name) | ast.Call(func=ast.Attribute(attr=name)) if name in _CALLS:
                hint = f"write {name}(...)"
            case ast.UnaryOp(op=part) | ast.BinOp(op=part) | ast.Compare(ops=[part]):
                hint = _INSTEAD.get(type(part), _LANGUAGE)
            case _:
                hint = _INSTEAD.get(type(node), _LANGUAGE)
        return self._wrong(node, "equation-foreign", "is not part of the equation language", hint)

    def _variable(self, node: ast.Name, name: str) -> Part:
        if name in self.above:
            kind, value = self.above[name]
            return Part(kind, value if isinstance(kind, tuple) else value.astype(np.float64))
        if name in self.below:
            order = "is defined further down, and equations are read in causal order"
            what = "is defined by itself" if name == self.name else order
            return self._wrong(node, "later-variable", what, f"use only variables above '{self.name}'")
        hint = did_you_mean(name, tuple(self.above), otherwise="variables above") or "no variable stands above"
        hint = f"call the function: {_usage(name)}" if name in _CALLS else hint
        return self._wrong(node, "unknown-variable", "is no variable of the equations", hint)

    def _number(self, node: ast.expr, where: str) -> Part:
        """A part that has to be a number."""
        part = self._part(node)
        if not isinstance(part.kind, tuple):
            return part
        hint = "compare it with a label: (x == 'a')"
        return self._wrong(node, "label-as-number", f"is a category, and {where} needs a number", hint)

    def _arithmetic(self, node: ast.BinOp) -> Part:
        first, rest = _operands(node)
        kind, value = self._number(first, _OPERATORS[type(rest[0][0])][0])
        for operator, operand in rest:
            symbol, compute = _OPERATORS[type(operator)]
            other = self._number(operand, symbol)
            if symbol == "**" and np.ndim(other.value) == 0 and not abs(other.value) <= MAX_EXPONENT:
                what = f"is an exponent beyond {MAX_EXPONENT}"
                self._wrong(operand, "equation-power", what, "rescale the variable, or use exp")
            if not (symbol == "*" and kind == other.kind == "boolean"):  # `*` of comparisons is the language's `and`
                kind = _widest(kind, other.kind, "continuous" if symbol in ("/", "**") else "integer")
            value = compute(value, other.value)
        return Part(kind, value)

    def _comparison(self, node: ast.Compare, left: Part, right: Part) -> Part:
        a, b, (symbol, compute) = left.kind, right.kind, _OPERATORS[type(node.ops[0])]
        if a is None or b is None:
            return _BROKEN
        if isinstance(a, tuple) and isinstance(b, tuple):
            if symbol not in ("==", "!="):
                return self._wrong(node, "label-order", "asks for an order, and labels have none", "use == or !=")
            if not set(a) & set(b):
                label, labels = (a, b) if isinstance(node.left, ast.Constant) else (b, a)
                hint = did_you_mean(label[0], labels, otherwise="its labels")
                return self._wrong(node, "unknown-label", "compares labels that are never equal", hint)
        elif isinstance(a, tuple) or isinstance(b, tuple):
            hint = "compare a category with a quoted label"
            return self._wrong(node, "label-as-number", "compares a label with a number", hint)
        return Part("boolean", np.asarray(compute(left.value, right.value)).astype(np.float64))

    def _call(self, node: ast.Call, name: str) -> Part:
        function = _CALLS.get(name)
        starred = any(isinstance(argument, ast.Starred) for argument in node.args)
        if function is None or starred or node.keywords or not function.takes(len(node.args)):
            for argument in node.args:
                self._part(argument.value if isinstance(argument, ast.Starred) else argument)
            return self._wrong_call(node, name)
        u = next(self.uniforms) if self.uniforms and name in DRAWS else None  # before those of its arguments
        if name in ("where", "choice"):
            parts = [self._part(argument) for argument in node.args]
        else:
            parts = [self._number(argument, f"{name}(...)") for argument in node.args]
        kind, values = self._kind_of_call(node, name, parts), [part.value for part in parts]
        if name in FUNCTIONS:
            return _BROKEN if kind is None else Part(kind, function.compute(*values))
        if name != "choice":
            self._check_arguments(node, name, values)
        if u is None:
            return _unseen(kind)
        # Full, contiguous columns: numpy may round a broadcast column differently from a real one.
        columns = values if name == "choice" else [np.array(np.broadcast_to(value, u.shape)) for value in values]
        return Part(kind, function.compute(u, *columns))

    def _wrong_call(self, node: ast.Call, name: str) -> Part:
        if name in _CALLS:
            what = f"has other arguments than {name} takes"
            return self._wrong(node, "equation-arguments", what, f"call it as {_usage(name)}")
        hint = _INSTEAD.get(name) or did_you_mean(name, tuple(_CALLS))
        if name in self.above or name in self.below:
            hint = f"for a product write {name} * (...)"
        return self._wrong(node.func, "unknown-function", "is no function of the equation language", hint)

    def _kind_of_call(self, node: ast.Call, name: str, parts: Sequence[Part]) -> Kind:
        kinds = [part.kind for part in parts]
        match name, kinds:
            case "choice", _:
                if not all(isinstance(part.value, str) for part in parts):
                    hint = "for whole numbers use integers(low, high)"
                    return self._wrong(node, "choice-labels", "takes quoted labels only", hint).kind
                return tuple(dict.fromkeys(part.value for part in parts))
            case "where", [condition, *_] if condition not in ("boolean", None):
                hint = "write a comparison, such as x > 0"
                return self._wrong(node.args[0], "where-condition", "is no condition", hint).kind
            case "where", [_, tuple() as a, tuple() as b]:
                return tuple(dict.fromkeys(a + b))
            case ("where", [_, tuple(), str()]) | ("where", [_, str(), tuple()]):
                hint = "make both of them labels, or both numbers"
                return self._wrong(node, "label-as-number", "chooses between a label and a number", hint).kind
            case "where", [_, a, b]:
                return a if a == b else _widest(a, b)
            case "round", _:
                digits = 0.0 if len(parts) == 1 else parts[1].value
                if np.ndim(digits) > 0 or digits not in range(-MAX_DIGITS, MAX_DIGITS + 1):
                    what = f"is no whole number of digits from -{MAX_DIGITS} to {MAX_DIGITS}"
                    return self._wrong(node.args[1], "round-digits", what, "write it out: round(x, 2)").kind
                return "continuous" if digits > 0 else "integer"
        return _CALLS[name].gives or _widest(*kinds)

    def _check_arguments(self, node: ast.Call, name: str, values: Sequence[Any]) -> None:
        """Checks what a draw is given: row by row, or once where it is the same for all rows."""
        draw, place, hint = DRAWS[name], self._quote(node), f"call it as {_usage(name)}"
        for argument, value in zip(draw.arguments.split(", "), values, strict=True):
            low, high = draw.limits.get(argument, (-math.inf, math.inf))
            column = np.atleast_1d(value)
            wrong = ~((column >= low) & (column <= high) & np.isfinite(column))
            wrong |= draw.whole & (column != np.floor(column))
            number = "a whole number" if draw.whole else "a finite number"
            limits = f" in [{low:g}, {high:g}]" if argument in draw.limits else ""
            self.check(f"{place}: {argument} must be {number}{limits}", wrong, column, hint=hint)
        if draw.arguments == "low, high":
            self.check(f"{place}: low <= high must hold", np.atleast_1d(values[0] > values[1]), *values, hint=hint)


_ROUNDING = 1e-9  # of the larger side: sums of decimals are never equal to the last bit
_TICKED = re.compile(r"`([^`]+)`")


@dataclass(frozen=True, slots=True, kw_only=True)
class Condition:
    """A comparison among columns that a row keeps or breaks, in the language of equations but without draws.

    A column whose name is no single word stands in backticks. `==`, `<=` and `>=` forgive so much in the unit of their
    sides, and rounding.
    """

    text: str
    tolerance: float = 0.0

    @property
    def names(self) -> tuple[str, ...]:
        """The columns, each once; none where the text cannot be read."""
        plain, ticked = _unticked(self.line)
        try:
            return tuple(dict.fromkeys(ticked.get(name, name) for name in _variables(_parse(plain))))
        except (SyntaxError, ValueError, MemoryError, RecursionError):
            return ()

    @property
    def line(self) -> str:
        """The text as one line."""
        return self.text.replace("\n", " ").replace("\t", " ")

    def complaints(self, kinds: Mapping[str, Kind], path: str) -> tuple[Complaint, ...]:
        """All that is wrong with it. kinds: of the columns that it may name; None where that is not known yet."""
        walk = _ConditionWalk(self, {name: _unseen(kind) for name, kind in kinds.items()}, path)
        walk.read()
        return tuple(walk.complaints)

    def kept(self, columns: Mapping[str, tuple[Kind, Values]], *, rows: int) -> npt.NDArray[np.bool_]:
        """(rows,) which rows keep it. columns: kind and values of each that it names, labels as text."""
        parts = {name: Part(kind, values) for name, (kind, values) in columns.items()}
        value = _ConditionWalk(self, parts, "").run().value
        return np.asarray(np.broadcast_to(value, (rows,)) != 0.0)


def _unticked(text: str) -> tuple[str, dict[str, str]]:
    """The text with a word of the same length for each name in backticks, and which word stands for which name."""
    words: dict[str, str] = {}

    def word(match: re.Match[str]) -> str:
        found = f"_{len(words)}".ljust(len(match[0]), "_")[: len(match[0])]
        words[found] = match[1]
        return found

    return _TICKED.sub(word, text), words


class _ConditionWalk(_Walk):
    """One walk over a condition."""

    def __init__(self, condition: Condition, columns: Mapping[str, Part], path: str) -> None:
        text, self.ticked = _unticked(condition.line)
        super().__init__("", text, columns)
        self.shown, self.path, self.tolerance = condition.line, path, condition.tolerance

    def read(self) -> Equation | None:
        """Complains about all that is wrong; a condition is no equation."""
        self._check_form()
        if self.complaints:
            return None
        try:
            tree = _parse(self.text)
            kind = self.run().kind
        except (SyntaxError, ValueError) as error:
            place = getattr(error, "offset", None)
            where = f" at column {place + len(self.text) - len(self.text.lstrip())}" if place else ""
            what = f"{show(self.shown.strip())} cannot be read{where}"
            self._complain("equation-syntax", what, "write it like start <= end; a name of several words in backticks")
        except (MemoryError, RecursionError):
            self.complaints = []
            self._complain("equation-too-large", *_TOO_LARGE)
        else:
            if not self.complaints and kind not in ("boolean", None):
                what, hint = "is no comparison", "compare it: start <= end, bmi < 60, a + b == 100"
                self._wrong(tree, "rule-condition", what, hint)
            elif not self.complaints and not _variables(tree):
                self._wrong(tree, "rule-condition", "names no column", "compare columns: start <= end")
        return None

    def _check_name(self) -> None:
        """A condition has no name."""

    def _quote(self, node: ast.expr) -> str:
        return _quote(self.text, node, self.shown)

    def _complain(self, code: str, what: str, hint: str) -> None:
        self.complaints.append(Complaint(code=code, path=self.path, what=what, hint=hint))

    def _variable(self, node: ast.Name, name: str) -> Part:
        name = self.ticked.get(name, name)
        if name in self.above:
            return self.above[name]
        if name in ("true", "false"):
            hint = f"write {int(name == 'true')}"
        elif name in _CALLS:
            hint = f"call the function: {_usage(name)}"
        else:
            hint = did_you_mean(name, tuple(self.above), otherwise="features")
        return self._wrong(node, "unknown-variable", "is no feature", hint)

    def _call(self, node: ast.Call, name: str) -> Part:
        if name in DRAWS:
            return self._wrong(node, "rule-draw", "is a draw, and a rule has no chance in it", "compare columns only")
        return super()._call(node, name)

    def _comparison(self, node: ast.Compare, left: Part, right: Part) -> Part:
        part = super()._comparison(node, left, right)
        operator, labels = type(node.ops[0]), isinstance(left.kind, tuple) or isinstance(right.kind, tuple)
        if part.kind is None or labels or operator not in (ast.Eq, ast.LtE, ast.GtE):
            return part
        slack = self.tolerance + _ROUNDING * np.maximum(np.abs(left.value), np.abs(right.value))
        return Part("boolean", np.asarray((part.value != 0.0) | (np.abs(left.value - right.value) <= slack)) * 1.0)


def _usage(name: str) -> str:
    return f"{name}({_CALLS[name].arguments})"


def _parse(text: str) -> ast.expr:
    """Python's syntax tree of an equation. No record keeps it: that of a long sum is too deep to be pickled."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SyntaxWarning)  # such as 1if, which is refused
        return ast.parse(text.strip(), mode="eval").body


def _quote(text: str, node: ast.expr, shown: str | None = None) -> str:
    """A part of an equation as it is written, shortened, and its column in characters (Python counts bytes).

    shown: as the user wrote the text, where names in it were replaced by words of the same length.
    """
    blanks, raw = len(text) - len(text.lstrip()), text.strip().encode()
    start = blanks + len(raw[: node.col_offset].decode())
    end, column = start + len(raw[node.col_offset : node.end_col_offset].decode()), start + 1
    written = (text if shown is None else shown)[start:end]
    return f"{written if len(written) <= 40 else written[:39] + '…'} (column {column})"


def _operands(node: ast.BinOp) -> tuple[ast.expr, list[tuple[ast.operator, ast.expr]]]:
    """A sum, product or power: its first operand, then each (operator, operand). Python's tree of it may be deep."""
    group = next(each for each in ((ast.Add, ast.Sub), (ast.Mult, ast.Div), (ast.Pow,)) if isinstance(node.op, each))
    first: ast.expr = node
    rest: list[tuple[ast.operator, ast.expr]] = []
    while isinstance(first, ast.BinOp) and isinstance(first.op, group):
        rest.append((first.op, first.right))
        first = first.left
    return first, rest[::-1]


def _variables(node: ast.expr) -> tuple[str, ...]:
    """The variables of an expression, each once, in the order of their first use."""
    names = [part for part in ast.walk(node) if isinstance(part, ast.Name) and part.id not in _CALLS]
    return tuple(dict.fromkeys(part.id for part in sorted(names, key=lambda part: part.col_offset)))


def _draws(node: ast.expr) -> int:
    return sum(isinstance(part, ast.Name) and part.id in DRAWS for part in ast.walk(node))


def _widest(*kinds: Kind) -> Kind:
    """The kind of a sum of such numbers: continuous if one is, else whole; None if one is broken."""
    return None if None in kinds else "continuous" if "continuous" in kinds else "integer"


def _noise_variables(node: ast.expr) -> tuple[str, ...]:
    """The variables that the noise of an outcome depends on, read off its equation.

    The outcome is a sum; a term without a draw is systematic. A term with a draw makes its variables part of the
    noise, except those in the mean of a plain `normal(mean, sd)`, which only shift it. The answer errs on the side of
    caution: a variable that is not listed cannot change the noise.
    """
    match node:
        case _ if not _draws(node):
            return ()
        case ast.UnaryOp(operand=operand):
            return _noise_variables(operand)
        case ast.BinOp(op=ast.Add() | ast.Sub()):
            first, rest = _operands(node)
            terms = (first, *(term for _, term in rest))
            return tuple(dict.fromkeys(name for term in terms for name in _noise_variables(term)))
        case ast.Call(func=ast.Name(id="normal"), args=[mean, sd]) if not _draws(mean):
            return _variables(sd)
    return _variables(node)
