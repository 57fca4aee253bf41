"""Python's syntax tree -> our tree, by a list of what is allowed; everything else is a complaint. No numpy."""

from __future__ import annotations

import ast
import math
from dataclasses import dataclass, field

from crda_spec.data.equations.tree import (
    DRAWS,
    FUNCTIONS,
    Call,
    Chain,
    Compare,
    Label,
    Name,
    Negative,
    Node,
    Number,
    has_draw,
    names_in,
)
from crda_spec.errors import Complaint, did_you_mean

MAX_DEPTH = 50
MAX_EXPONENT = 100
MAX_LABEL = 100

_SUM = {ast.Add: "+", ast.Sub: "-"}
_PRODUCT = {ast.Mult: "*", ast.Div: "/"}
_COMPARISONS: dict[type[ast.cmpop], str] = {
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
}

# What people write in other languages for what this one has under another name.
_OTHER_NAMES = {"pow": "write x ** 2", "ln": "did you mean 'log'?", "ifelse": "did you mean 'where'?"}
_FOREIGN: dict[type[ast.expr], tuple[str, str]] = {
    ast.BoolOp: ("'and' and 'or' are", "multiply comparisons for 'and': (x > 0) * (x < 1)"),
    ast.IfExp: ("'if ... else' is", "write where(condition, a, b)"),
    ast.Lambda: ("a lambda is", ""),
    ast.Subscript: ("an index in brackets is", ""),
    ast.NamedExpr: ("an assignment is", "give the value an equation of its own"),
    ast.JoinedStr: ("an f-string is", "write a plain label in quotes"),
    ast.List: ("a list is", ""),
    ast.Tuple: ("a list of values is", "a decimal mark is a point: 0.5"),
    ast.Set: ("a set is", ""),
    ast.Dict: ("a dictionary is", ""),
    ast.ListComp: ("a comprehension is", ""),
    ast.SetComp: ("a comprehension is", ""),
    ast.DictComp: ("a comprehension is", ""),
    ast.GeneratorExp: ("a comprehension is", ""),
    ast.Starred: ("a starred argument is", "write the arguments one by one"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """Which variable is being defined, and which stand above and below it."""

    name: str
    earlier: tuple[str, ...]
    later: tuple[str, ...]
    path: str

    def complain(self, code: str, what: str, hint: str = "") -> Complaint:
        """A complaint about this variable's equation."""
        return Complaint(code=code, path=self.path, what=what, hint=hint)

    def too_deep(self) -> Complaint:
        """The complaint about an equation that is nested too deep to be read by people either."""
        what = f"the equation is nested more than {MAX_DEPTH} levels deep"
        return self.complain("equation-too-deep", what, "split it over several variables, and hide the helpers")


@dataclass(slots=True, kw_only=True)
class Reader:
    """Reads one equation. Goes on after a problem, so that all of them are found; a part that is refused is None."""

    text: str
    shift: int  # blanks that were cut off before the text, so that columns are those of the spec
    scope: Scope
    draws: int = 0
    complaints: list[Complaint] = field(default_factory=list)

    def read(self, node: ast.expr, depth: int = 1) -> Node | None:
        """Our tree of one Python expression."""
        if depth > MAX_DEPTH:
            self.complaints.append(self.scope.too_deep())
            return None
        found: Node | None = None
        match node:
            case ast.Constant():
                found = self._constant(node)
            case ast.Name():
                found = self._name(node)
            case ast.UnaryOp():
                found = self._unary(node, depth)
            case ast.BinOp():
                found = self._binary(node, depth)
            case ast.Compare():
                found = self._compare(node, depth)
            case ast.Call():
                found = self._call(node, depth)
            case ast.Attribute():
                hint = f"write {node.attr}(...)" if node.attr in (*FUNCTIONS, *DRAWS) else ""
                self._refuse(node, "equation-attribute", "the dot of an attribute is not", hint)
            case _:
                what, hint = _FOREIGN.get(type(node), ("this is", ""))
                self._refuse(node, "equation-foreign", f"{what} not", hint)
        return found

    def column(self, node: ast.expr) -> int:
        """Where a part begins in the text, in characters counted from 1 (Python counts bytes)."""
        return len(self.text.encode()[: node.col_offset].decode()) + self.shift + 1

    def _quote(self, node: ast.expr) -> str:
        """A part as it was written, shortened, with its column."""
        raw = self.text.encode()[node.col_offset : node.end_col_offset].decode()
        short = raw if len(raw) <= 40 else raw[:39] + "…"
        return f"{short} (column {self.column(node)})"

    def _complain(self, code: str, what: str, hint: str = "") -> None:
        self.complaints.append(self.scope.complain(code, what, hint))

    def _refuse(self, node: ast.expr, code: str, what: str, hint: str = "") -> None:
        self._complain(code, f"{self._quote(node)}: {what} part of the equation language", hint)

    def _constant(self, node: ast.Constant) -> Node | None:
        value = node.value
        if isinstance(value, bool):
            self._refuse(node, "equation-constant", "True and False are not", "write 1 or 0")
            return None
        if isinstance(value, str):
            if value.strip() and len(value) <= MAX_LABEL:
                return Label(value, self.column(node))
            what = f"{self._quote(node)}: a label has 1 to {MAX_LABEL} characters, and not only blanks"
            self._complain("equation-label", what)
            return None
        if not isinstance(value, int | float):
            self._refuse(node, "equation-constant", "this constant is not", "write a number or a quoted label")
            return None
        try:
            number = float(value)
        except OverflowError:
            number = math.inf
        if math.isinf(number):
            self._complain("equation-number", f"{self._quote(node)} is too large for a number")
            return None
        return Number(number, isinstance(value, int), self.column(node))

    def _name(self, node: ast.Name) -> Node | None:
        name, scope = node.id, self.scope
        if name in scope.earlier:
            return Name(name, self.column(node))
        quoted = f"'{name}' (column {self.column(node)})"
        if name == scope.name:
            hint = "a variable may use only the variables above it"
            self._complain("self-reference", f"{quoted} is defined by itself", hint)
            return None
        if name in scope.later:
            what = f"{quoted} is defined further down, and equations are read in causal order"
            self._complain("later-variable", what, f"move '{name}' above '{scope.name}', or do without it")
            return None
        if name in FUNCTIONS or name in DRAWS:
            usage = (FUNCTIONS.get(name) or DRAWS[name]).usage(name)
            self._complain("function-without-call", f"{quoted} is a function", f"call it: {usage}")
            return None
        hint = did_you_mean(name, scope.earlier, otherwise="variables above") or "no variable stands above"
        self._complain("unknown-variable", f"{quoted} is no variable of the equations", hint)
        return None

    def _unary(self, node: ast.UnaryOp, depth: int) -> Node | None:
        operand = self.read(node.operand, depth + 1)
        if isinstance(node.op, ast.USub):
            return None if operand is None else Negative(operand, self.column(node))
        if isinstance(node.op, ast.UAdd):
            return operand
        hint = "write 1 - x, or turn the comparison round" if isinstance(node.op, ast.Not) else ""
        self._refuse(node, "equation-operator", "this operator is not", hint)
        return None

    def _binary(self, node: ast.BinOp, depth: int) -> Node | None:
        if isinstance(node.op, ast.Pow):
            return self._power(node, depth)
        group = _SUM if type(node.op) in _SUM else _PRODUCT if type(node.op) in _PRODUCT else None
        if group is None:
            self.read(node.left, depth + 1)
            self.read(node.right, depth + 1)
            hint = "for a power write **" if isinstance(node.op, ast.BitXor) else "operators: + - * / **"
            self._refuse(node, "equation-operator", "this operator is not", hint)
            return None
        # A long sum leans to the left in Python's tree: walk down its spine instead of recursing.
        spine: list[tuple[str, ast.expr]] = []
        first: ast.expr = node
        while isinstance(first, ast.BinOp) and type(first.op) in group:
            spine.append((group[type(first.op)], first.right))
            first = first.left
        parts = [self.read(first, depth + 1)]
        rest = []
        for operator, operand in reversed(spine):
            parts.append(self.read(operand, depth + 1))
            rest.append(operator)
        good = [part for part in parts if part is not None]
        if len(good) < len(parts):
            return None
        return Chain(good[0], tuple(zip(rest, good[1:], strict=True)), self.column(node))

    def _power(self, node: ast.BinOp, depth: int) -> Node | None:
        base, exponent = self.read(node.left, depth + 1), self.read(node.right, depth + 1)
        if base is None or exponent is None:
            return None
        plain = exponent.operand if isinstance(exponent, Negative) else exponent
        if isinstance(plain, Number):
            if plain.value > MAX_EXPONENT:
                what = f"the exponent {self._quote(node.right)} is beyond {MAX_EXPONENT}"
                self._complain("equation-power", what, "rescale the variable, or use exp")
                return None
        elif not names_in(exponent) and not has_draw(exponent):
            what = f"the exponent {self._quote(node.right)} is a computation without variables"
            self._complain("equation-power", what, "write its value")
            return None
        return Chain(base, (("**", exponent),), self.column(node))

    def _compare(self, node: ast.Compare, depth: int) -> Node | None:
        parts = [self.read(part, depth + 1) for part in (node.left, *node.comparators)]
        if len(node.ops) > 1:
            what = f"{self._quote(node)} compares more than two values"
            self._complain("equation-operator", what, "multiply two comparisons: (0 < x) * (x < 1)")
            return None
        operator = _COMPARISONS.get(type(node.ops[0]))
        if operator is None:
            self._refuse(node, "equation-operator", "this operator is not", "comparisons: == != < <= > >=")
            return None
        left, right = parts
        return None if left is None or right is None else Compare(operator, left, right, self.column(node))

    def _call(self, node: ast.Call, depth: int) -> Node | None:
        if not isinstance(node.func, ast.Name):
            self.read(node.func, depth + 1)
            if not isinstance(node.func, ast.Attribute):
                self._refuse(node, "equation-foreign", "this call is not")
            return None
        name = node.func.id
        draw = self.draws if name in DRAWS else None
        self.draws += draw is not None
        fits = self._arguments_fit(node, name)
        arguments = [self.read(argument, depth + 1) for argument in node.args]
        good = [argument for argument in arguments if argument is not None]
        return Call(name, tuple(good), draw, self.column(node)) if fits and len(good) == len(arguments) else None

    def _unknown_function(self, name: str, column: int) -> None:
        quoted = f"'{name}' (column {column})"
        if name in (*self.scope.earlier, *self.scope.later, self.scope.name):
            what, hint = f"{quoted} is a variable, not a function", f"for a product write {name} * (...)"
        else:
            what = f"{quoted} is no function of the equation language"
            hint = _OTHER_NAMES.get(name) or did_you_mean(name, (*FUNCTIONS, *DRAWS))
        self._complain("unknown-function", what, hint)

    def _arguments_fit(self, node: ast.Call, name: str) -> bool:
        """Whether there is such a function, called with plain arguments, and as many as it takes."""
        if name not in FUNCTIONS and name not in DRAWS:
            self._unknown_function(name, self.column(node))
            return False
        signature = FUNCTIONS.get(name) or DRAWS[name]
        usage = f"call it as {signature.usage(name)}"
        if node.keywords:
            given = ", ".join(f"{word.arg}=" if word.arg else "**" for word in node.keywords)
            what = f"{name}(...) (column {self.column(node)}) takes no named arguments, but got {given}"
            self._complain("equation-keyword", what, usage)
            return False
        count, most = len(node.args), math.inf if name == "choice" else len(signature.arguments)
        fewest = 2 if name == "choice" else signature.fewest
        starred = any(isinstance(argument, ast.Starred) for argument in node.args)  # refused on its own
        if fewest <= count <= most or starred:
            return not starred
        need = f"{fewest} or more" if name == "choice" else str(fewest) if most == fewest else f"{fewest} or {most}"
        plural = "" if need == "1" else "s"
        what = f"{name}(...) (column {self.column(node)}) takes {need} argument{plural}, but got {count}"
        self._complain("equation-arguments", what, usage)
        return False
