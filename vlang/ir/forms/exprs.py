"""Expressions of the intermediate representation, and functions that walk through expressions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field, replace

from vlang.records import dataclass
from vlang.reductions import REDUCTIONS, operator_of
from vlang.syntax.tree import Span
from vlang.types import VERTEX, Type

__all__ = [
    "Accumulator", "Const", "Degree", "Domain", "EdgeState", "EdgeValue", "Expr", "Field", "GraphValue", "GroupKey",
    "Keep", "Op", "Reduce",
    "THIRD", "Text", "Vertex", "children", "pairs", "rebuild", "reductions", "walk",
]


@dataclass(frozen=True)
class Expr:
    """An expression; `type` is the type of its value.

    `span` is the place of the expression in the text, for messages. The span is None if the text does not contain the
    expression. Expressions that differ only in their places are equal.
    """

    type: Type
    span: Span | None = field(default=None, compare=False, repr=False, kw_only=True)


@dataclass(frozen=True)
class Const(Expr):
    """A constant: bool, int, float (also inf), or None for `none`. For an integer type, `inf` is the largest value of
    the type.
    """

    value: bool | int | float | None


@dataclass(frozen=True)
class Text(Expr):
    """A text, which exists only during lowering.

    The type of the text is TEXT, or CATEGORY for the name of a category.
    """

    text: str


@dataclass(frozen=True)
class GraphValue(Expr):
    """A graph-level value: one value for the whole graph.

    Attributes:
        kind: "parameter", "global", "let", "loop" (the variable of a `for`), or "builtin" (N, M or iteration).
    """

    name: str
    kind: str


@dataclass(frozen=True)
class Field(Expr):
    """A read of a vertex field.

    Attributes:
        of: "self" (also the v of `for v in vertices`), "other" (the neighbour u), or an expression of type vertex
            (`label.label`).
        time: "now", "old" (at the start of the superstep), or "change" (present value minus the value last sent).
    """

    name: str
    of: str | Expr
    time: str = "now"


@dataclass(frozen=True)
class EdgeValue(Expr):
    """An edge field at the current edge."""

    name: str


@dataclass(frozen=True)
class EdgeState(Expr):
    """The value of an edge state before the statement, at the current edge or at the opposite edge.

    Attributes:
        name: the name, which is unique in the program.
        opposite: whether the state of the opposite edge is read.
        ends: for an edge of the common neighbour, the tail and the head of this edge; () for the current edge or its
            opposite edge.
    """

    name: str
    opposite: bool = False
    ends: tuple[Expr, ...] = ()


@dataclass(frozen=True)
class Keep(Expr):
    """Store a value in an edge state at the current edge. The expression is true if the new value differs from the old
    value.

    A Keep may only be the whole body of a gather over in-edges (`Gather.keeps`).
    """

    name: str
    value: Expr


@dataclass(frozen=True)
class Vertex(Expr):
    """The id of a vertex.

    Attributes:
        of: "self", "other", or "third" (the w of `for w in common(self, u)`).
    """

    of: str


THIRD = Vertex(VERTEX, "third")
"""The common neighbour in a reduction over common neighbours."""


@dataclass(frozen=True)
class Degree(Expr):
    """The degree of a vertex.

    Attributes:
        kind: "in", "out" or "all".
        of: "self", "other", or an expression of type vertex.
    """

    kind: str
    of: str | Expr


@dataclass(frozen=True)
class Accumulator(Expr):
    """The value of an accumulator at this vertex: the result of an earlier gather of the block."""

    name: str


@dataclass(frozen=True)
class GroupKey(Expr):
    """The key of the current group, in a grouped gather.

    Attributes:
        name: its name in the text.
    """

    name: str


@dataclass(frozen=True)
class Op(Expr):
    """An operator or function.

    Arithmetic: add sub mul div floordiv mod pow neg; an integer result is exact, or infinite if its type cannot hold
    it. Inside `wrap`: wrapadd wrapsub wrapmul wrappow wrapneg. In the body of a declared reduction: exactadd exactsub
    exactmul exactpow exactneg, which also report results that do not fit in 64 bits. A cast with data "wrap" reduces an
    integer modulo 2^bits of its type. On bits: shl shr bitor bitand bitxor. Comparisons: eq ne lt le gt ge differs
    (`changed(f)` on the present and the old value; two NaN are equal). Logic: not and or.
    Others: select (test, yes, no), cast, min max (of two operands; more are folded from the left), abs sign, the
    functions of `vlang.maths`.

    Tuples and vectors: tuple, item (index in `data`), vector (from components), component (vector, index), part
    (consecutive components of a vector, beginning with component `data`), vsum vmin vmax vargmin vargmax dot reverse
    (of vectors), broadcast (scalar to vector). Functions: bit, position (vertex, set), len (set), random and mix (seed,
    key), waiting (hash, weight), common (vertex, vertex), hll_unit hll_size, user (a declared reduction as a function;
    its name in `data`). ordinal (neighbour, self): the number of the current edge among the parallel edges, from 0;
    with data "place", the number of this edge among the edges of both directions between the two vertices. between
    (from, to): the sum of the edge field `data` over the edges between two vertices, or the number of these edges
    without `data`.

    Operands of arithmetic have the type of the result, with two exceptions. A literal exponent is an i64 constant, and
    the distance of a shift has its own integer type. The body of `count` is a bool, and the body of `mean` is an f64.
    """

    op: str
    args: tuple[Expr, ...]
    data: str | int | None = None


@dataclass(frozen=True)
class Domain:
    """The edges or vertices of a reduction.

    Attributes:
        kind: "in", "out", "both" (over edges), "group" (over the edges of the current group), "pointing" (over the
            vertices whose `key` is this vertex), "common" (over the common neighbours of the two ends of an edge, the
            pair `key`), "vertices" or "set".
        set_name: the parameter that holds the vertices of a "set".
    """

    kind: str
    set_name: str | None = None

    @property
    def edges(self) -> bool:
        """Whether a reduction has a value per vertex: a reduction over edges, or over the vertices that point to this
        vertex.
        """
        return self.kind in ("in", "out", "both", "group", "common", "pointing")

    @property
    def stored(self) -> bool:
        """Whether the reduction ranges over edges of the graph."""
        return self.kind in ("in", "out", "both", "group", "common")


@dataclass(frozen=True)
class Reduce(Expr):
    """A reduction.

    In a grouped gather, `cond` and `key` are evaluated at each edge of the domain. `body` and `having` are evaluated
    for each group of edges with one key, and may contain reductions over the domain "group".

    Attributes:
        name: The name of a built-in or declared reduction.
        body: The contribution.
        domain: The edges or vertices that contribute.
        cond: The condition under which an edge or vertex contributes; None means always.
        default: The value if there are no contributions; None means the identity.
        user: Whether the program declares the reduction.
        key: In the domain "pointing", the field of the other vertex that points to this vertex. In a grouped gather,
            the key of an edge. Otherwise None.
        group: In a grouped gather, the name of the key in the text; otherwise None.
        having: The condition under which a group contributes; None means always.
        part: The number of the item of the resulting tuple that is the value; None if the whole result is the value.
    """

    name: str
    body: Expr
    domain: Domain
    cond: Expr | None
    default: Expr | None
    user: bool = False
    key: Expr | None = None
    group: str | None = None
    having: Expr | None = None
    part: int | None = None

    @property
    def operator(self) -> str | None:
        """The operator of `vlang.reductions` that combines contributions to the value, such as "+". The result is None
        for a declared reduction, and for a value that is more than the combined contributions (`count`, `mean`,
        `mode`).
        """
        return None if self.user else operator_of(self.name)

    @property
    def counts(self) -> bool:
        """Whether the value is the number of contributions that are true, as for `count`."""
        rule = REDUCTIONS.get(self.name)
        return rule is not None and rule.result == "int" and not rule.holistic

    @property
    def pairs(self) -> bool:
        """Whether a contribution reads whole neighbour lists of the two ends of an edge."""
        return any(map(pairs, children(self)))

    @property
    def over(self) -> str:
        """The domain of the pass that computes the reduction.

        The name of this domain is the kind of the reduction's domain, or "pointing:FIELD" for a pointer FIELD.
        """
        pointer = self.key if self.domain.kind == "pointing" else None
        return f"pointing:{pointer.name}" if isinstance(pointer, Field) else self.domain.kind

    def alike(self, type_: Type, name: str, body: Expr, cond: Expr | None) -> Reduce:
        """Return a built-in reduction without `default` over the same edges or vertices as this reduction.

        Args:
            type_: The type of its value.
            name: Its name.
            body: The contribution.
            cond: The condition under which an edge or vertex contributes; None means always.
        """
        return replace(self, type=type_, name=name, body=body, cond=cond, default=None, user=False, part=None)


def children(expr: Expr) -> tuple[Expr, ...]:
    """The expressions directly inside an expression."""
    if isinstance(expr, Op):
        return expr.args
    if isinstance(expr, (Field, Degree)) and isinstance(expr.of, Expr):
        return (expr.of,)
    if isinstance(expr, Keep):
        return (expr.value,)
    if isinstance(expr, EdgeState):
        return expr.ends
    if isinstance(expr, Reduce):
        return tuple(e for e in (expr.body, expr.cond, expr.default, expr.key, expr.having) if e is not None)
    return ()


def walk(expr: Expr) -> Iterator[Expr]:
    """The expression and all expressions inside it, outermost first."""
    yield expr
    for child in children(expr):
        yield from walk(child)


def pairs(expr: Expr) -> bool:
    """Return whether an expression reads whole neighbour lists of the two ends of an edge."""
    return any((isinstance(e, Reduce) and e.domain.kind == "common") or (isinstance(e, Op) and e.op == "between")
               for e in walk(expr))


def reductions(expr: Expr) -> Iterator[Reduce]:
    """The reductions in an expression, except reductions inside a grouped gather."""
    if isinstance(expr, Reduce):
        yield expr
        return
    for child in children(expr):
        yield from reductions(child)


def rebuild(expr: Expr, new: tuple[Expr, ...]) -> Expr:
    """A copy of an expression with new children, which are given in the order of `children`."""
    if isinstance(expr, Op):
        return replace(expr, args=new)
    if isinstance(expr, (Field, Degree)) and new:
        return replace(expr, of=new[0])
    if isinstance(expr, Keep):
        return replace(expr, value=new[0])
    if isinstance(expr, EdgeState):
        return replace(expr, ends=new)
    if isinstance(expr, Reduce):
        rest = iter(new)
        return replace(
            expr,
            body=next(rest),
            cond=next(rest) if expr.cond is not None else None,
            default=next(rest) if expr.default is not None else None,
            key=next(rest) if expr.key is not None else None,
            having=next(rest) if expr.having is not None else None,
        )
    return expr
