"""From statements to a draft: chains become edges, groups fan out. What attributes mean is the format's to say."""

from __future__ import annotations

from abc import ABC, abstractmethod
from itertools import pairwise

from crda_spec.errors import did_you_mean, show
from crda_spec.scm.edge import Mark
from crda_spec.scm.formats._draft import Draft
from crda_spec.scm.formats._statements import Attribute, Chain, Group, Setting, Statement
from crda_spec.scm.formats._tokens import Token

Names = dict[str, int]  # each name with the offset at which it stands


class Walker(ABC):
    """Walks over the statements in order and fills the draft."""

    def __init__(self, draft: Draft) -> None:
        """Starts with an empty draft."""
        self.draft = draft

    @abstractmethod
    def node(self, name: Token, attributes: tuple[Attribute, ...]) -> None:
        """Notes a node that is not yet, or is again, mentioned, with what is said about it."""

    @abstractmethod
    def edge(self, arrow: Token, attributes: tuple[Attribute, ...]) -> tuple[bool, Mark] | None:
        """Whether the edges of this arrow run from right to left, and their mark; None when they are refused."""

    @abstractmethod
    def setting(self, setting: Setting) -> None:
        """A statement that names no node."""

    def enter(self) -> None:  # noqa: B027 - only DOT has something to do here
        """Called before a group's statements."""

    def leave(self) -> None:  # noqa: B027
        """Called after a group's statements."""

    def walk(self, statements: tuple[Statement, ...]) -> Names:
        """All statements; returns the names that they mention."""
        found: Names = {}
        for statement in statements:
            if isinstance(statement, Setting):
                self.setting(statement)
            else:
                for names in self._chain(statement):
                    for name, at in names.items():
                        found.setdefault(name, at)
        return found

    def _chain(self, chain: Chain) -> list[Names]:
        lone = not chain.arrows
        sides = [self._side(operand, chain.attributes if lone else ()) for operand in chain.operands]
        first = next(iter(sides[0].values()), None)
        for (left, right), arrow in zip(pairwise(sides), chain.arrows, strict=False):
            kind = self.edge(arrow, chain.attributes)
            if kind is None or not self.draft.has_room(len(left) * len(right), first):
                continue
            turned, mark = kind
            for a, a_at in left.items():
                for b, b_at in right.items():
                    tail, head = (b, a) if turned else (a, b)
                    self.draft.edge(tail, head, mark, min(a_at, b_at))
        return sides

    def _side(self, operand: Token | Group, attributes: tuple[Attribute, ...]) -> Names:
        if isinstance(operand, Token):
            self.node(operand, attributes)
            return {operand.text: operand.at} if operand.text else {}
        for attribute in attributes:
            what = f"{show(attribute.key.text)} is said of a group"
            self.complain(attribute.key, what, "write it after each node, or after an edge")
        self.enter()
        names = self.walk(operand.members)
        self.leave()
        return names

    def complain(self, token: Token, what: str, hint: str) -> None:
        """About an attribute."""
        self.draft.source.complain("graph-attribute", token.at, what, hint)

    def unknown(self, token: Token, of: str, known: tuple[str, ...]) -> None:
        """An attribute that the format gives no meaning."""
        self.complain(
            token, f"{show(token.text)} is no attribute of {of}", did_you_mean(token.text, known, otherwise="known are")
        )
