"""The intermediate representation: a program with every name resolved and every type known.

This module has declarations and statements, and passes on the expressions of `exprs`.

`vlang.ir.lower` has done the following: functions of the program are inlined, updates (`x += e`) written out, names
unique in the program, literals of the type of their place, conversions explicit (`cast`). `changed(f)` is the operator
`differs`. Expressions compare by value, statements by identity. The IR covers the whole language; the writer of a
target refuses programs that the target cannot run yet.
"""

from __future__ import annotations

from dataclasses import dataclass

from vlang.ir.forms.exprs import (
    Accumulator,
    Const,
    Degree,
    Domain,
    EdgeValue,
    Expr,
    Field,
    GraphValue,
    Op,
    Reduce,
    Vertex,
    children,
    rebuild,
    walk,
)
from vlang.syntax.tree import Span
from vlang.types import Scalar, Type

__all__ = [
    "Accumulator", "Activate", "Apply", "Const", "Degree", "Domain", "EdgeValue", "Expr", "Field", "FieldDecl",
    "ForRange", "ForVertices", "Gather", "GlobalDecl", "GraphValue", "InitField", "InitGlobal", "Let", "Op",
    "ParamDecl", "EdgeDecl", "Need", "Program", "Reduce", "Repeat", "Require", "Statement", "Sweep", "UserReduction",
    "Vertex", "Where", "walk", "rebuild", "children",
]


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
    """`for name in set_name`; without one, for all vertices."""

    name: str
    set_name: str | None
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
