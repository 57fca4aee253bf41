"""Text -> `Equation`, with every problem found in one pass. No numpy: `crda-spec validate` uses this.

Python's own parser reads the text; `Reader` copies what is on its list into our tree and refuses everything else.
Nothing is ever evaluated as Python.
"""

from __future__ import annotations

import ast
import keyword
import unicodedata
import warnings
from collections.abc import Mapping, Sequence

from crda_spec.data.equations.kinds import Kind, check_kinds
from crda_spec.data.equations.reader import MAX_DEPTH, Reader, Scope
from crda_spec.data.equations.tree import DRAWS, FUNCTIONS, Equation, Node, names_in
from crda_spec.errors import Complaint, SpecError, did_you_mean, show

MAX_LENGTH = 2000
PATH = "dataset.source.equations"


def parse_equations(equations: Mapping[str, str], *, path: str = PATH) -> tuple[Equation, ...]:
    """The equations, in causal order; raises one SpecError with all that is wrong with them."""
    parsed, complaints = read_equations(equations, path=path)
    if complaints:
        raise SpecError(complaints)
    return parsed


def read_equations(
    equations: Mapping[str, str], *, path: str = PATH
) -> tuple[tuple[Equation, ...], tuple[Complaint, ...]]:
    """The equations that can be read, and the complaints about those that cannot.

    A variable whose own equation is broken still counts as known, so that one mistake is reported once.
    """
    if not equations:
        what, hint = "there are no equations", "write one for each variable, such as x: normal(0, 1)"
        return (), (Complaint(code="equations-empty", path=path, what=what, hint=hint),)
    order = tuple(equations)
    known: dict[str, Kind | None] = {}
    parsed: list[Equation] = []
    complaints: list[Complaint] = []
    for position, (name, text) in enumerate(equations.items()):
        scope = Scope(name=name, earlier=order[:position], later=order[position + 1 :], path=f"{path}.{name}")
        equation, found = _read_one(text, scope, known)
        complaints.extend(found)
        known[name] = Kind(equation.type, equation.labels) if equation else None
        if equation is not None:
            parsed.append(equation)
    return tuple(parsed), tuple(complaints)


def check_hidden(
    variables: Sequence[str], hidden: Sequence[str], *, target: str, path: str = "dataset.source"
) -> tuple[Complaint, ...]:
    """What is wrong with the list of hidden variables: unknown names, the target, nothing left to predict from."""
    complaints = []
    for position, name in enumerate(hidden):
        where = f"{path}.hidden.{position}"
        if name not in variables:
            what, hint = (
                f"'{name}' is no variable of the equations",
                did_you_mean(name, variables, otherwise="variables"),
            )
            complaints.append(Complaint(code="unknown-variable", path=where, what=what, hint=hint))
        elif name == target:
            what, hint = f"'{name}' is the target and cannot be hidden", "take it out of hidden"
            complaints.append(Complaint(code="hidden-target", path=where, what=what, hint=hint))
    if not complaints and not set(variables) - set(hidden) - {target}:
        what, hint = "every variable but the target is hidden", "leave at least one in the table to predict from"
        complaints.append(Complaint(code="all-hidden", path=f"{path}.hidden", what=what, hint=hint))
    return tuple(complaints)


def _read_one(
    text: str, scope: Scope, known: Mapping[str, Kind | None]
) -> tuple[Equation | None, tuple[Complaint, ...]]:
    """One equation: first its outer form, then what it says, then whether numbers and labels are kept apart."""
    outer = _name_complaints(scope) + _text_complaints(text, scope)
    if outer:
        return None, outer
    shift = len(text) - len(text.lstrip())
    parsed = _python_tree(text.strip(), shift, scope)
    if isinstance(parsed, Complaint):
        return None, (parsed,)
    reader = Reader(text=text.strip(), shift=shift, scope=scope)
    tree = reader.read(parsed)
    if scope.too_deep() in reader.complaints:
        return None, (scope.too_deep(),)
    if tree is None or reader.complaints:
        return None, tuple(reader.complaints)
    return _finish(text.strip(), tree, reader.draws, scope, known)


def _finish(
    text: str, tree: Node, draws: int, scope: Scope, known: Mapping[str, Kind | None]
) -> tuple[Equation | None, tuple[Complaint, ...]]:
    """The equation of a tree that was read whole, once its kinds agree."""
    kind, complaints = check_kinds(tree, known, path=scope.path)
    if complaints or kind is None:
        return None, complaints
    parents = names_in(tree)
    return Equation(
        name=scope.name, text=text, tree=tree, parents=parents, draws=draws, type=kind.type, labels=kind.labels
    ), ()


def _name_complaints(scope: Scope) -> tuple[Complaint, ...]:
    """A variable's name must be one word that the language can tell from its functions."""
    name = scope.name
    if name in FUNCTIONS or name in DRAWS:
        return (scope.complain("equation-name", f"'{name}' is the name of a function", "choose another name"),)
    # Python's parser reads names in their NFKC form, so another spelling could never be referred to.
    if not name.isidentifier() or keyword.iskeyword(name) or unicodedata.normalize("NFKC", name) != name:
        what = f"{show(name)} cannot name a variable"
        hint = "use one word of letters, digits and underscores that starts with a letter and is no Python keyword"
        return (scope.complain("equation-name", what, hint),)
    return ()


def _text_complaints(text: str, scope: Scope) -> tuple[Complaint, ...]:
    """Limits that are checked before Python's parser sees the text."""
    if not text.strip():
        hint = "write a draw such as normal(0, 1), or an expression of the variables above"
        return (scope.complain("equation-empty", "the equation is empty", hint),)
    if len(text) > MAX_LENGTH:
        what = f"the equation has {len(text)} characters, and {MAX_LENGTH} are allowed"
        return (scope.complain("equation-too-long", what, "split it over several variables, and hide the helpers"),)
    for position, character in enumerate(text):
        # A comment would swallow the rest of a folded YAML text; escapes and control characters hide what is meant.
        if character in "#\\" or (not character.isprintable() and character not in "\n\t"):
            what = f"{show(character)} (column {position + 1}) cannot stand in an equation"
            hint = "put comments on YAML lines of their own" if character == "#" else "take it out"
            return (scope.complain("equation-character", what, hint),)
    if _bracket_depth(text) > MAX_DEPTH:
        return (scope.too_deep(),)
    return ()


def _bracket_depth(text: str) -> int:
    """How deep the brackets go; those inside labels count too, which no honest label notices."""
    depth = deepest = 0
    for character in text:
        depth += (character in "([{") - (character in ")]}")
        deepest = max(deepest, depth)
    return deepest


def _python_tree(text: str, shift: int, scope: Scope) -> ast.expr | Complaint:
    """The text as Python's parser sees it. Line breaks of YAML blocks are spaces."""
    flat = text.replace("\n", " ").replace("\t", " ")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SyntaxWarning)  # such as 1if: refused below in our own words
            return ast.parse(flat, mode="eval").body
    except SyntaxError as error:
        where = f" at column {error.offset + shift}" if error.offset else ""
        what = f"{show(flat)} cannot be read{where}"
        return scope.complain("equation-syntax", what, "write it like 2 * x + normal(0, 1)")
    except (MemoryError, RecursionError, ValueError):  # nesting without brackets: ---...x, x ** x ** ...
        return scope.too_deep()
