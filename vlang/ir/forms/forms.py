"""The intermediate representation: a program with every name resolved and every type known.

`vlang.ir.lower` has done the following: functions of the program are inlined, updates (`x += e`) written out, names
unique in the program, literals of the type of their place, conversions explicit (`cast`). `changed(f)` is the operator
`differs`. Expressions compare by value, statements by identity. The IR covers the whole language; the writer of a
target refuses programs that the target cannot run yet.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from vlang.syntax.tree import Span
from vlang.types import Scalar, Type

__all__ = [
    "Accumulator", "Activate", "Apply", "Const", "Degree", "Domain", "EdgeValue", "Expr", "Field", "FieldDecl",
    "ForRange", "ForVertices", "Gather", "GlobalDecl", "GraphValue", "InitField", "InitGlobal", "Let", "Op",
    "ParamDecl", "EdgeDecl", "Need", "Program", "Reduce", "Repeat", "Require", "Statement", "Sweep", "UserReduction",
    "Vertex", "Where", "walk", "rebuild", "children",
]


@dataclass(frozen=True)
class Expr:
    """An expression; `type` is the type of its value.

    `span` is its place in the text, for messages; None for what is written nowhere. Expressions that differ only in
    their places are equal.
    """

    type: Type
    span: Span | None = field(default=None, compare=False, repr=False, kw_only=True)


@dataclass(frozen=True)
class Const(Expr):
    """A constant: bool, int, float (also inf), or None for `none`. In integers, `inf` is the type's largest value."""

    value: bool | int | float | None


@dataclass(frozen=True)
class GraphValue(Expr):
    """One value for the whole graph.

    kind: "parameter", "global", "let", "loop" (variable of a `for`), or "builtin" (name N, M or iteration).
    """

    name: str
    kind: str


@dataclass(frozen=True)
class Field(Expr):
    """A vertex field.

    of: "self" (also the v of `for v in vertices`), "other" (the neighbour u), or an expression of type vertex
    (`label.label`). time: "now", "old" (start of the superstep), or "change" (present value minus the value last
    sent).
    """

    name: str
    of: str | Expr
    time: str = "now"


@dataclass(frozen=True)
class EdgeValue(Expr):
    """An edge field at the current edge."""

    name: str


@dataclass(frozen=True)
class Vertex(Expr):
    """The id of a vertex; of: "self" or "other"."""

    of: str


@dataclass(frozen=True)
class Degree(Expr):
    """A degree. kind: "in", "out" or "all"; of: "self", "other", or an expression of type vertex."""

    kind: str
    of: str | Expr


@dataclass(frozen=True)
class Accumulator(Expr):
    """The result of an earlier gather of the block, for this vertex."""

    name: str


@dataclass(frozen=True)
class Op(Expr):
    """An operator or function.

    Operators of arithmetic: add sub mul div floordiv mod pow neg; of integers they are exact, and infinite where the
    result does not fit. Inside `wrap`: wrapadd wrapsub wrapmul wrappow wrapneg. In the body of a declared reduction:
    exactadd exactsub exactmul exactpow exactneg, which also report results that leave 64 bits. A cast with data "wrap"
    takes an integer modulo the width of its type. Of bits: shl shr bitor bitand bitxor. Comparisons:
    eq ne lt le gt ge differs (`changed(f)`: now, old; two NaN are equal). Logic: not and or. Others: select (test,
    yes, no), cast, min max (of two operands; more are folded from the left), abs sqrt exp log log1p tanh floor.

    Tuples and vectors: tuple, item (index in `data`), vector (from components), component (vector, index), vsum vmin
    vmax dot reverse (of vectors), broadcast (scalar to vector). Functions: bit, position (vertex, set), random (seed,
    vertex), common (vertex, vertex), hll_unit hll_size, user (a declared reduction as a function; its name in `data`).

    Operands of arithmetic have the type of the result, with two exceptions: a literal exponent is an i64 constant, and
    the distance of a shift has its own integer type. The body of `count` is a bool, that of `mean` f64.
    """

    op: str
    args: tuple[Expr, ...]
    data: str | int | None = None


@dataclass(frozen=True)
class Domain:
    """The edges or vertices of a reduction.

    kind: "in", "out", "both" (over edges), "vertices" or "set". set_name: the parameter of a "set".
    """

    kind: str
    set_name: str | None = None

    @property
    def edges(self) -> bool:
        """Whether it ranges over edges."""
        return self.kind in ("in", "out", "both")


@dataclass(frozen=True)
class Reduce(Expr):
    """A reduction.

    Attributes:
        name: Of a built-in reduction, or of a declared one.
        body: The contribution.
        domain: The edges or vertices that contribute.
        cond: The condition of a contribution; None means always.
        default: The value without contributions; None means the identity.
        user: Whether the program declares the reduction.
    """

    name: str
    body: Expr
    domain: Domain
    cond: Expr | None
    default: Expr | None
    user: bool = False


# ----------------------------------------------------------------- declarations


@dataclass(frozen=True)
class ParamDecl:
    """A parameter.

    Attributes:
        name: Unique in the program.
        type: Of its value.
        default: An expression over constants and earlier parameters; None if the caller must pass a value.
        span: Of the declaration.
    """

    name: str
    type: Type
    default: Expr | None
    span: Span


@dataclass(frozen=True)
class EdgeDecl:
    """An edge field.

    Attributes:
        name: Unique in the program.
        type: Of its values.
        default: A graph-level expression; None if the graph must have the field.
        span: Of the declaration.
    """

    name: str
    type: Scalar
    default: Expr | None
    span: Span


@dataclass(frozen=True)
class FieldDecl:
    """A vertex field.

    Attributes:
        name: Unique in the program.
        type: Of its values.
        output: It is declared at top level.
        required: It has no initializer: the caller passes an array.
        span: Of the declaration.
    """

    name: str
    type: Type
    output: bool
    required: bool
    span: Span


@dataclass(frozen=True)
class GlobalDecl:
    """A graph-level output."""

    name: str
    type: Type
    span: Span


@dataclass(frozen=True)
class UserReduction:
    """`reduction f(a, b)`, declared by the program.

    Attributes:
        name: f.
        left: The name of a: the body reads Accumulator(left).
        right: The name of b.
        type: Of the operands and the result.
        wide: The type of the accumulators, of the two values in the body, and of the body. Where the body computes with
            integers, these have 64 bits, and what leaves them ends the run.
        body: The result.
        identity: The result of nothing, of the wide type.
        span: Of the declaration.
    """

    name: str
    left: str
    right: str
    type: Type
    wide: Type
    body: Expr
    identity: Expr
    span: Span

    @property
    def exact(self) -> bool:
        """Whether the body computes with integers, exactly."""
        return any(isinstance(e, Op) and e.op.startswith("exact") for e in walk(self.body))


@dataclass(frozen=True)
class Require:
    """A contract: `cond` is an expression of edge level or below. `text` is the source of the condition."""

    cond: Expr
    span: Span
    text: str


@dataclass(frozen=True)
class Need:
    """What the graph must be: a word of `vlang.syntax.needs.NEEDS`."""

    word: str
    span: Span


# ------------------------------------------------------------------- statements


@dataclass(frozen=True, eq=False)
class Statement:
    """A statement; `span` is its place in the text."""

    span: Span


@dataclass(frozen=True, eq=False)
class InitField(Statement):
    """Evaluate an initializer for all vertices; `value` has at most one Reduce over edges, any number over vertices."""

    name: str
    value: Expr


@dataclass(frozen=True, eq=False)
class InitGlobal(Statement):
    """Evaluate a `global`."""

    name: str
    value: Expr


@dataclass(frozen=True, eq=False)
class Gather(Statement):
    """`name` = `reduce`, for every selected vertex."""

    name: str
    reduce: Reduce


@dataclass(frozen=True, eq=False)
class Apply(Statement):
    """Write fields; for several, `value` is a tuple."""

    fields: tuple[str, ...]
    value: Expr


@dataclass(frozen=True, eq=False)
class Let(Statement):
    """Name a graph-level value."""

    name: str
    value: Expr


@dataclass(frozen=True, eq=False)
class Activate(Statement):
    """`activate when cond`."""

    cond: Expr


@dataclass(frozen=True, eq=False)
class Where(Statement):
    """Run `body` for the vertices where `cond` holds on entry."""

    cond: Expr
    body: tuple[Statement, ...]


@dataclass(frozen=True, eq=False)
class Repeat(Statement):
    """A loop of supersteps.

    Attributes:
        limit: A graph-level count, or None.
        exact: `n times` rather than `at most n times`.
        until: The condition that ends the loop, or None.
        body: Its statements; the Activate comes last, if there is one.
    """

    limit: Expr | None
    exact: bool
    until: Expr | None
    body: tuple[Statement, ...]

    @property
    def activate(self) -> Activate | None:
        """The `activate when` of the loop, if written."""
        last = self.body[-1] if self.body else None
        return last if isinstance(last, Activate) else None


@dataclass(frozen=True, eq=False)
class Sweep(Statement):
    """`sweep field up|down`."""

    field: str
    up: bool
    body: tuple[Statement, ...]


@dataclass(frozen=True, eq=False)
class ForVertices(Statement):
    """`for name in set_name`."""

    name: str
    set_name: str
    body: tuple[Statement, ...]


@dataclass(frozen=True, eq=False)
class ForRange(Statement):
    """`for name from low to high until until`.

    Attributes:
        name: The variable.
        low: The first value.
        high: The last value.
        until: The condition that ends the loop early, or None.
        body: Its statements.
    """

    name: str
    low: Expr
    high: Expr
    until: Expr | None
    body: tuple[Statement, ...]


@dataclass(frozen=True, eq=False)
class Program:
    """A whole program.

    Attributes:
        name: Of the program.
        doc: Its description.
        params: Its parameters, in order.
        edges: Its edge fields.
        fields: Its vertex fields, those of blocks included.
        globals: Its graph-level outputs.
        reductions: The reductions that it declares.
        requires: Its contracts about values.
        body: Its statements.
        source: The text, for messages.
        filename: The file, for messages.
        names: For each unique name the name in the text.
        precision: The bits of `int` and `float`: 32 or 64.
        needs: Its contracts about the graph.
    """

    name: str
    doc: str
    params: tuple[ParamDecl, ...]
    edges: tuple[EdgeDecl, ...]
    fields: tuple[FieldDecl, ...]
    globals: tuple[GlobalDecl, ...]
    reductions: tuple[UserReduction, ...]
    requires: tuple[Require, ...]
    body: tuple[Statement, ...]
    source: str
    filename: str
    names: dict[str, str]
    precision: int = 32
    needs: tuple[Need, ...] = ()


# -------------------------------------------------------------------- traversal


def children(expr: Expr) -> tuple[Expr, ...]:
    """The expressions directly inside an expression."""
    if isinstance(expr, Op):
        return expr.args
    if isinstance(expr, (Field, Degree)) and isinstance(expr.of, Expr):
        return (expr.of,)
    if isinstance(expr, Reduce):
        return tuple(e for e in (expr.body, expr.cond, expr.default) if e is not None)
    return ()


def walk(expr: Expr) -> Iterator[Expr]:
    """The expression and all expressions inside it, outermost first."""
    yield expr
    for child in children(expr):
        yield from walk(child)


def rebuild(expr: Expr, new: tuple[Expr, ...]) -> Expr:
    """The same expression with other children, in the order of `children`."""
    if isinstance(expr, Op):
        return replace(expr, args=new)
    if isinstance(expr, (Field, Degree)) and new:
        return replace(expr, of=new[0])
    if isinstance(expr, Reduce):
        rest = iter(new)
        return replace(
            expr,
            body=next(rest),
            cond=next(rest) if expr.cond is not None else None,
            default=next(rest) if expr.default is not None else None,
        )
    return expr
