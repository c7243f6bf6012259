"""The nodes of expressions in the syntax tree, and the base classes of nodes. Import the nodes from vlang.syntax.tree.
"""

from __future__ import annotations

from vlang.records import dataclass

__all__ = [
    "CONTAINED", "Binary", "Call", "Compare", "Conditional", "Domain", "EdgeKey", "Expr", "Grouping", "Index",
    "Literal", "Logical", "Member", "Name", "Node", "Reduce", "Self", "Span", "Statement", "TupleExpr", "Unary",
    "VectorExpr",
]


CONTAINED = "v in S"
"""The name of the call that `v in S` is; no text can call it, as it is no identifier."""


@dataclass(frozen=True)
class Span:
    """A piece of the text.

    Attributes:
        start: the offset of the first character.
        end: the offset after the last character.
        line: the line of the start, from 1.
        column: the column of the start, from 1.
    """

    start: int
    end: int
    line: int
    column: int


@dataclass(frozen=True, eq=False)
class Node:
    """A node of the syntax tree, with its place in the text."""

    span: Span


class Expr(Node):
    """An expression."""


class Statement(Node):
    """An item of a block: a statement proper or a declaration."""


@dataclass(frozen=True, eq=False)
class Literal(Expr):
    """`1`, `0.5`, `true`, `inf` (value float inf), `none` (value None), `"road"` (value without the quotes)."""

    value: bool | int | float | str | None
    text: str


@dataclass(frozen=True, eq=False)
class Self(Expr):
    """`self`."""


@dataclass(frozen=True, eq=False)
class EdgeKey(Expr):
    """`edge`, as a key of `random`."""


@dataclass(frozen=True, eq=False)
class Name(Expr):
    """A name that is an expression by itself."""

    name: str


@dataclass(frozen=True, eq=False)
class Member(Expr):
    """`value.name`."""

    value: Expr
    name: str
    name_span: Span


@dataclass(frozen=True, eq=False)
class Index(Expr):
    """`value[index]`."""

    value: Expr
    index: Expr


@dataclass(frozen=True, eq=False)
class Unary(Expr):
    """`-x` (op "-") and `not x` (op "not")."""

    op: str
    value: Expr


@dataclass(frozen=True, eq=False)
class Binary(Expr):
    """`left op right` with op one of + - * / // % ** << >> | & ^."""

    op: str
    left: Expr
    right: Expr


@dataclass(frozen=True, eq=False)
class Compare(Expr):
    """`left op right` with op one of == != < <= > >=."""

    op: str
    left: Expr
    right: Expr


@dataclass(frozen=True, eq=False)
class Logical(Expr):
    """`left and right`, `left or right`."""

    op: str
    left: Expr
    right: Expr


@dataclass(frozen=True, eq=False)
class Conditional(Expr):
    """`yes if test else no`."""

    yes: Expr
    test: Expr
    no: Expr


@dataclass(frozen=True, eq=False)
class Call(Expr):
    """`name(args)`; `v in S` is a call of CONTAINED."""

    name: str
    name_span: Span
    args: tuple[Expr, ...]


@dataclass(frozen=True, eq=False)
class TupleExpr(Expr):
    """`(a, b, ...)`."""

    items: tuple[Expr, ...]


@dataclass(frozen=True, eq=False)
class VectorExpr(Expr):
    """`[a, b, ...]`."""

    items: tuple[Expr, ...]


@dataclass(frozen=True, eq=False)
class Domain(Node):
    """The domain of a reduction: edges or vertices.

    Attributes:
        kind: "in" (`u -> self`), "out" (`self -> u`), "both" (`u -- self`), "vertices" (`v in vertices`) or "set" (`v
            in S`); "group" (`u` alone) for the edges of one group, inside a grouped gather; "common"
            (`w in common(self, u)`) for the common neighbours of the two ends of an edge.
        name: the name of the neighbour or vertex: `u` or `v`.
        name_span: the place of `name`.
        set_name: the name `S`; None for other kinds of domains.
        set_span: the place of `set_name`.
        called: in the domain "common", the name of the function as written; else "".
        ends: in the domain "common", the two vertices; else ().
    """

    kind: str
    name: str
    name_span: Span
    set_name: str | None = None
    set_span: Span | None = None
    called: str = ""
    ends: tuple[Expr, ...] = ()


@dataclass(frozen=True, eq=False)
class Grouping(Node):
    """`by name = key if cond` in a grouped gather.

    Attributes:
        name: the name of the key.
        name_span: the place of `name`.
        key: the key of an edge.
        cond: the condition under which a group contributes; None if all groups contribute.
    """

    name: str
    name_span: Span
    key: Expr
    cond: Expr | None


@dataclass(frozen=True, eq=False)
class Reduce(Expr):
    """`name(body for domain if cond by grouping, keys, weight = weight, default = default)`.

    Attributes:
        name: the name of the reduction.
        name_span: the place of `name`.
        body: the value that an edge or vertex contributes.
        domain: the edges or vertices.
        cond: the condition under which an edge or vertex contributes; None if all contribute.
        default: the result if nothing contributes; None for the identity.
        group: the grouping of the edges; None if the edges are not grouped.
        weight: the weight of a contribution of `mode` or `pick`; None means 1.
        keys: the seed and the keys of a `pick`; () for other reductions.
    """

    name: str
    name_span: Span
    body: Expr
    domain: Domain
    cond: Expr | None
    default: Expr | None
    group: Grouping | None = None
    weight: Expr | None = None
    keys: tuple[Expr, ...] = ()
