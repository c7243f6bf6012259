"""The syntax tree of a `.vp` text, as frozen dataclasses with spans.

Nodes compare by identity, so that they can be keys in tables of later stages (types, levels, declarations). A field
`x_span` is the span of `x`. The nodes of expressions are in `vlang.syntax.expression_tree`. `dump` returns the
structure of a tree as text without spans. Tests and `vlang explain --stage tree` use this text.
"""

from __future__ import annotations

from vlang.records import dataclass
from vlang.syntax.expression_tree import (
    CONTAINED,
    Binary,
    Call,
    Compare,
    Conditional,
    Domain,
    EdgeKey,
    Expr,
    Grouping,
    Index,
    Literal,
    Logical,
    Member,
    Name,
    Node,
    Reduce,
    Self,
    Span,
    Statement,
    TupleExpr,
    Unary,
    VectorExpr,
)

__all__ = [
    "CONTAINED", "Activate", "Apply", "Binary", "Block", "Call", "Compare", "Conditional", "Contract", "Domain",
    "EdgeField", "EdgeKey", "EdgeState", "Expr", "File", "ForRange", "ForVertices", "Function", "Gather", "GlobalValue",
    "Grouping", "Index", "Let", "Limit", "Literal", "Logical", "Member", "Name", "Node", "Param",
    "Reduce", "Reduction", "Repeat", "Self", "Span", "Statement", "Sweep", "Target", "TupleExpr",
    "TypeExpr", "Unary", "VectorExpr", "VertexField", "Where",
]


@dataclass(frozen=True, eq=False)
class TypeExpr(Node):
    """A type as written in the program.

    Attributes:
        kind: "scalar", "vertex", "vertices", "array", "tuple" or "const" (of a parameter).
        name: the name of a scalar type, or of the type of an array's components.
        size: the number of components of an array, or the number of rows of a matrix.
        columns: the number of columns of a matrix; None for other types.
        items: the types of a tuple.
    """

    kind: str
    name: str = ""
    size: Expr | None = None
    columns: Expr | None = None
    items: tuple[TypeExpr, ...] = ()


@dataclass(frozen=True, eq=False)
class Param(Node):
    """A parameter of the program or of a function.

    Attributes:
        name: the name of the parameter.
        name_span: the place of `name`.
        type: its type as written; None if it is left out.
        default: its default value; None for a required parameter.
    """

    name: str
    name_span: Span
    type: TypeExpr | None
    default: Expr | None


@dataclass(frozen=True, eq=False)
class VertexField(Statement):
    """`vertex a, b: T = e`.

    Attributes:
        names: the names of the fields, one or more.
        name_spans: the place of each name.
        type: the type of the fields.
        init: the initial value of the fields; None for fields that the caller passes.
    """

    names: tuple[str, ...]
    name_spans: tuple[Span, ...]
    type: TypeExpr
    init: Expr | None


@dataclass(frozen=True, eq=False)
class EdgeField(Statement):
    """`edge a, b: T = e`.

    Attributes:
        names: the names of the edge fields, one or more.
        name_spans: the place of each name.
        type: the type of the fields.
        init: the default of the fields; None for columns that the graph must have.
    """

    names: tuple[str, ...]
    name_spans: tuple[Span, ...]
    type: TypeExpr
    init: Expr | None


@dataclass(frozen=True, eq=False)
class EdgeState(Statement):
    """`edge state a, b: T = e`.

    Attributes:
        names: the names of the edge states, one or more.
        name_spans: the place of each name.
        type: the type of their values.
        init: the start value of every edge; None if the value is left out, which is a mistake.
    """

    names: tuple[str, ...]
    name_spans: tuple[Span, ...]
    type: TypeExpr
    init: Expr | None


@dataclass(frozen=True, eq=False)
class GlobalValue(Statement):
    """`global a: T = e`.

    Attributes:
        name: the name of the global.
        name_span: the place of `name`.
        type: its type as written; None if it is left out.
        value: its value.
    """

    name: str
    name_span: Span
    type: TypeExpr | None
    value: Expr


@dataclass(frozen=True, eq=False)
class Function(Statement):
    """`fn f(x: T, ...): T = e`.

    Attributes:
        name: the name of the function.
        name_span: the place of `name`.
        params: its parameters, in order.
        type: the type of the result as written; None if it is left out.
        value: the body.
    """

    name: str
    name_span: Span
    params: tuple[Param, ...]
    type: TypeExpr | None
    value: Expr


@dataclass(frozen=True, eq=False)
class Reduction(Statement):
    """`reduction f(a, b): T = e, identity i`.

    Attributes:
        name: the name of the reduction.
        name_span: the place of `name`.
        left: the name of the first operand.
        left_span: the place of `left`.
        right: the name of the second operand.
        right_span: the place of `right`.
        type: the type of operands and result as written; None if it is left out.
        value: the body.
        identity: the identity element.
    """

    name: str
    name_span: Span
    left: str
    left_span: Span
    right: str
    right_span: Span
    type: TypeExpr | None
    value: Expr
    identity: Expr


@dataclass(frozen=True, eq=False)
class Contract(Statement):
    """`require e`."""

    cond: Expr


# ------------------------------------------------------------------- statements


@dataclass(frozen=True, eq=False)
class Target(Node):
    """The target of an `apply`.

    Attributes:
        names: the names of the fields, one or more.
        name_spans: the place of each name.
        many: whether the names are in parentheses.
        owner: the name `u` if the program writes to `u.f`, which is a mistake; else None.
    """

    names: tuple[str, ...]
    name_spans: tuple[Span, ...]
    many: bool = False
    owner: str | None = None


@dataclass(frozen=True, eq=False)
class Block(Node):
    """The statements of a block, which follows a `:`."""

    items: tuple[Statement, ...]


@dataclass(frozen=True, eq=False)
class Gather(Statement):
    """`gather name = value`. In a correct program the value is a Reduce."""

    name: str
    name_span: Span
    value: Expr


@dataclass(frozen=True, eq=False)
class Apply(Statement):
    """`apply target op value`, or `apply target op value for domain if cond`, which writes an edge state.

    Two kinds of wrong statements are also parsed as `Apply`, so that the checker can explain them: an assignment
    without the word `apply`, and an assignment to a vertex field with a domain.

    Attributes:
        target: the fields that are written.
        op: "=" or an update operator ("+=", ...).
        value: the new value, or the operand of the update.
        keyword: whether the statement has the word `apply`. A statement without this word is a mistake.
        domain: the edges whose values are written; None for vertex fields.
        cond: the condition under which an edge gets a new value; None if all edges of the domain get a new value.
    """

    target: Target
    op: str
    value: Expr
    keyword: bool = True
    domain: Domain | None = None
    cond: Expr | None = None


@dataclass(frozen=True, eq=False)
class Let(Statement):
    """`let name = value`.

    `let (a, b) = value` is parsed as several `let`s: one `let` of the tuple, with the name "a, b", and one `let` of
    each component.

    Attributes:
        name: the name of the value.
        name_span: the place of `name`.
        value: the expression.
        parts: the number of components that the tuple must have; 0 for a `let` of one name.
    """

    name: str
    name_span: Span
    value: Expr
    parts: int = 0


@dataclass(frozen=True, eq=False)
class Activate(Statement):
    """`activate when cond`."""

    cond: Expr


@dataclass(frozen=True, eq=False)
class Where(Statement):
    """`where cond: block`."""

    cond: Expr
    block: Block


@dataclass(frozen=True, eq=False)
class Limit(Node):
    """`count times` (exact) or `at most count times`."""

    count: Expr
    exact: bool


@dataclass(frozen=True, eq=False)
class Repeat(Statement):
    """`repeat [limit] [until until]: block`.

    Attributes:
        limit: the limit on the number of supersteps; None if there is none.
        until: the condition that ends the loop; None if there is none.
        block: the statements.
        head: the place of the header, without the colon.
    """

    limit: Limit | None
    until: Expr | None
    block: Block
    head: Span


@dataclass(frozen=True, eq=False)
class Sweep(Statement):
    """`sweep field up|down: block`.

    Attributes:
        field: the name of the field whose values are the levels.
        field_span: the place of `field`.
        up: whether the levels are visited in increasing order.
        block: the statements.
    """

    field: str
    field_span: Span
    up: bool
    block: Block


@dataclass(frozen=True, eq=False)
class ForVertices(Statement):
    """`for name in set_name: block`.

    Attributes:
        name: the name of the variable, a vertex.
        name_span: the place of `name`.
        set_name: the name of the parameter that lists the vertices, or "vertices" for all vertices.
        set_span: the place of `set_name`.
        block: the statements.
    """

    name: str
    name_span: Span
    set_name: str
    set_span: Span
    block: Block


@dataclass(frozen=True, eq=False)
class ForRange(Statement):
    """`for name from low to high [until until]: block`.

    Attributes:
        name: the name of the variable, an integer.
        name_span: the place of `name`.
        low: the first value of the variable.
        high: the last value of the variable.
        until: the condition that ends the loop early; None if there is none.
        block: the statements.
    """

    name: str
    name_span: Span
    low: Expr
    high: Expr
    until: Expr | None
    block: Block


@dataclass(frozen=True, eq=False)
class File(Node):
    """One program: its header, and its declarations and statements.

    Attributes:
        name: the name of the program.
        name_span: the place of `name`.
        params: the parameters, in order.
        items: the declarations and statements, in order.
        text: the text of the program.
        filename: the name of the file, for messages.
        doc: the text of the comment lines above the header.
    """

    name: str
    name_span: Span
    params: tuple[Param, ...]
    items: tuple[Statement, ...]
    text: str
    filename: str
    doc: str
