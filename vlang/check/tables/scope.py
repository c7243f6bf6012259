"""Nested scopes of names, and the context of an expression."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field
from enum import IntEnum

from vlang.check.tables.checked import Symbol
from vlang.records import dataclass
from vlang.syntax import tree as t
from vlang.types import Type

__all__ = ["EDGE", "GRAPH", "VERTEX_LEVEL", "Level", "Loop", "Scope", "Sight", "Value", "joined"]


class Level(IntEnum):
    """Whether an expression has one value per graph, per vertex or per edge (language.md section 7)."""

    GRAPH = 0
    VERTEX = 1
    EDGE = 2


GRAPH, VERTEX_LEVEL, EDGE = Level.GRAPH, Level.VERTEX, Level.EDGE


@dataclass(frozen=True)
class Value:
    """The type and level of an expression.

    Attributes:
        type: its type; None if the expression is wrong and has been reported.
        level: its level.
        cause: the first part of the expression that has this level.
    """

    type: Type | None
    level: Level = GRAPH
    cause: t.Expr | None = None


def joined(type_: Type | None, *parts: Value) -> Value:
    """Return a value of `type_` that depends on `parts`; its level is the highest level of the parts."""
    best = Value(None)
    for part in parts:
        if part.level > best.level:
            best = part
    return Value(type_, best.level, best.cause)


@dataclass(eq=False)
class Scope:
    """The names of one block.

    Attributes:
        ended: accumulators of inner blocks that have ended.
    """

    parent: Scope | None = None
    names: dict[str, Symbol] = field(default_factory=dict)
    ended: dict[str, Symbol] = field(default_factory=dict)

    def find(self, name: str) -> Symbol | None:
        """The symbol of a name that is visible here."""
        scope: Scope | None = self
        while scope is not None:
            if name in scope.names:
                return scope.names[name]
            scope = scope.parent
        return None

    def past(self, name: str) -> Symbol | None:
        """An accumulator of this name in an inner block that has ended."""
        scope: Scope | None = self
        while scope is not None:
            if name in scope.ended:
                return scope.ended[name]
            scope = scope.parent
        return None

    def visible(self) -> Iterator[Symbol]:
        """All visible symbols, innermost first."""
        scope: Scope | None = self
        while scope is not None:
            yield from scope.names.values()
            scope = scope.parent

    def close(self) -> None:
        """End the block. The enclosing scope records the accumulators of this block in `ended`."""
        if self.parent is not None:
            gone = {n: s for n, s in self.names.items() if s.kind == "accumulator"}
            self.parent.ended |= self.ended | gone


@dataclass(eq=False)
class Loop:
    """A `repeat` while its block is checked.

    Attributes:
        node: the loop.
        parent: the enclosing loop; None if there is none.
        will_apply: the names of all fields that the loop writes.
        applied: the first `apply` of each field among the statements checked so far.
        local: the fields declared in its block.
    """

    node: t.Repeat
    parent: Loop | None
    will_apply: frozenset[str]
    applied: dict[Symbol, t.Apply] = field(default_factory=dict)
    local: set[Symbol] = field(default_factory=set)


@dataclass(frozen=True)
class Sight:
    """The context of an expression.

    Attributes:
        scope: the visible names.
        place: the kind of statement: "gather", "apply", "where", "activate", "let", "global", "until", "limit", "init",
            "require", "edge" (default of an edge field), "param" (default of a parameter), "fn" or "reduction" (body).
        item: the statement.
        loop: the innermost `repeat`; None outside of loops.
        inside: "edges" or "vertices" inside a reduction, "groups" inside a grouped gather; else None.
        grouping: the grouped gather around the expression; None if there is none.
        pair: the reduction over common neighbours around the expression; None if there is none.
        here: the text `v.f` inside a reduction over the vertices v whose pointer `v.f` is this vertex; else "".
    """

    scope: Scope
    place: str
    item: t.Node
    loop: Loop | None = None
    inside: str | None = None
    here: str = ""
    grouping: t.Reduce | None = None
    pair: t.Reduce | None = None

    @property
    def highest(self) -> Level:
        """The highest level that an expression may have in this context."""
        if self.place == "require":
            return EDGE
        return VERTEX_LEVEL if self.place in ("gather", "apply", "where", "activate", "init") else GRAPH
