"""The intermediate representation: a program in which every name is resolved and every type is known.

This module defines declarations and statements, and re-exports the expressions of `exprs`.

After `vlang.ir.lower`, functions of the program are inlined, updates have the form `x = x + e`, and names are unique in
the program. Literals have the type that their context requires, and conversions are explicit (`cast`). `changed(f)` is
the operator `differs`. Expressions compare by value, statements by identity. The IR covers the whole language; `refuse`
reports a program that a target cannot run yet.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from vlang.ir.forms.exprs import (
    THIRD,
    Accumulator,
    Const,
    Degree,
    Domain,
    EdgeState,
    EdgeValue,
    Expr,
    Field,
    GraphValue,
    GroupKey,
    Keep,
    Op,
    Reduce,
    Text,
    Vertex,
    children,
    pairs,
    rebuild,
    reductions,
    walk,
)
from vlang.records import dataclass
from vlang.syntax.tree import Span
from vlang.types import Matrix, Scalar, Type, Vector

__all__ = [
    "Decl",
    "Accumulator", "Activate", "Apply", "Const", "Degree", "Domain", "EdgeState", "EdgeValue", "Expr", "Field",
    "FieldDecl", "Keep", "StateDecl",
    "ForRange", "ForVertices", "Gather", "GlobalDecl", "GraphValue", "GroupKey", "InitField", "InitGlobal", "Let", "Op",
    "ParamDecl", "EdgeDecl", "Need", "Program", "Reduce", "Repeat", "Require", "Statement", "Sweep", "UserReduction",
    "THIRD", "Text", "Vertex", "Where", "walk", "pairs", "rebuild", "reductions", "children",
]


# ----------------------------------------------------------------- declarations


@dataclass(frozen=True)
class ParamDecl:
    """A parameter.

    Attributes:
        name: The name, which is unique in the program.
        type: The type of its value.
        default: An expression over constants and earlier parameters; None if the caller must pass a value.
        span: The place of the declaration.
        shape: The numbers of rows and columns of a matrix; else None. The `type` of a matrix is the vector of all rows.
    """

    name: str
    type: Type
    default: Expr | None
    span: Span
    shape: tuple[int, int] | None = None

    @property
    def declared(self) -> Type:
        """The type in the program."""
        return Matrix(self.type.item, *self.shape) if self.shape and isinstance(self.type, Vector) else self.type


@dataclass(frozen=True)
class EdgeDecl:
    """An edge field.

    Attributes:
        name: The name, which is unique in the program.
        type: The type of its values.
        default: A graph-level expression; None if the graph must have the field.
        span: The place of the declaration.
    """

    name: str
    type: Scalar
    default: Expr | None
    span: Span


@dataclass(frozen=True)
class FieldDecl:
    """A vertex field.

    Attributes:
        name: The name, which is unique in the program.
        type: The type of its values.
        output: Whether it is declared at top level.
        required: Whether it has no initializer, so that the caller must pass an array.
        span: The place of the declaration.
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
class StateDecl:
    """An edge state.

    Attributes:
        name: The name, which is unique in the program.
        type: The type of its values.
        rows: A vertex field with the number of statements that changed a value in the row of the vertex. The field
            makes the receivers of changed edges active, and is not an output.
        span: The place of the declaration.
    """

    name: str
    type: Scalar
    rows: str
    span: Span


Decl = ParamDecl | EdgeDecl | FieldDecl | GlobalDecl


@dataclass(frozen=True)
class UserReduction:
    """The declaration of a reduction, `reduction f(a, b)`.

    Attributes:
        name: The name f.
        left: The name of the operand a, which the body reads as Accumulator(left).
        right: The name of b.
        type: The type of the operands and the result.
        wide: The type of the accumulators, of a and b in the body, and of the body itself. If the body computes with
            integers, this type has 64-bit integers, and a result that does not fit ends the run.
        body: The expression of the result.
        identity: The result, of type `wide`, of a reduction of no values.
        span: The place of the declaration.
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
        """Whether the body computes with integers, so that the results are exact."""
        return any(isinstance(e, Op) and e.op.startswith("exact") for e in walk(self.body))


@dataclass(frozen=True)
class Require:
    """A contract.

    Attributes:
        cond: an expression of graph, vertex or edge level.
        text: the source of the condition.
    """

    cond: Expr
    span: Span
    text: str


@dataclass(frozen=True)
class Need:
    """A property that the graph must have. The name of the property is a word of `vlang.syntax.needs.NEEDS`."""

    word: str
    span: Span


# ------------------------------------------------------------------- statements


@dataclass(frozen=True, eq=False)
class Statement:
    """A statement; `span` is its place in the text."""

    span: Span


@dataclass(frozen=True, eq=False)
class InitField(Statement):
    """Evaluate an initializer for all vertices; `value` has at most one Reduce over edges."""

    name: str
    value: Expr


@dataclass(frozen=True, eq=False)
class InitGlobal(Statement):
    """Evaluate the value of a `global`."""

    name: str
    value: Expr


@dataclass(frozen=True, eq=False)
class Gather(Statement):
    """Compute the accumulator `name` by `reduce`, for every selected vertex."""

    name: str
    reduce: Reduce

    @property
    def keeps(self) -> str | None:
        """The edge state that the gather writes; None for a gather that only reads."""
        return self.reduce.body.name if isinstance(self.reduce.body, Keep) else None

    @property
    def states(self) -> frozenset[str]:
        """The edge states that the gather reads."""
        return frozenset(e.name for e in walk(self.reduce) if isinstance(e, EdgeState))


@dataclass(frozen=True, eq=False)
class Apply(Statement):
    """Write one or several fields; for several fields, `value` is a tuple."""

    fields: tuple[str, ...]
    value: Expr


@dataclass(frozen=True, eq=False)
class Let(Statement):
    """Name a graph-level value."""

    name: str
    value: Expr


@dataclass(frozen=True, eq=False)
class Activate(Statement):
    """The statement `activate when cond`."""

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
        exact: Whether the text says `n times` rather than `at most n times`.
        until: The condition that ends the loop, or None.
        body: Its statements. If there is an Activate, it is the last statement.
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
    """The statement `sweep field up|down`."""

    field: str
    up: bool
    body: tuple[Statement, ...]


@dataclass(frozen=True, eq=False)
class ForVertices(Statement):
    """The statement `for name in set_name`. If `set_name` is None, the loop ranges over all vertices."""

    name: str
    set_name: str | None
    body: tuple[Statement, ...]


@dataclass(frozen=True, eq=False)
class ForRange(Statement):
    """The statement `for NAME from LOW to HIGH until UNTIL`.

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
        name: The name of the program.
        doc: Its description.
        params: Its parameters, in order.
        edges: Its edge fields.
        fields: Its vertex fields, including those declared in blocks.
        globals: Its graph-level outputs.
        reductions: The reductions that it declares.
        requires: Its contracts about values.
        body: Its statements.
        source: The text, for messages.
        filename: The file, for messages.
        names: For each unique name, the name in the text.
        precision: The bits of `int` and `float`: 32 or 64.
        needs: Its contracts about the graph.
        shown: The category and time types of parameters, fields and globals, by name. The integers of these types are
            shown as names or times.
        texts: The parameters that replace category names of the text: name of the parameter -> category name. Binding
            sets their values.
        later: The contracts about values that the program computes. Each key is the name of a `let` in `body` that
            holds the value of the condition. A contract is checked when its `let` is computed.
        states: Its edge states.
        compared: The parameters in `texts` or of type category that the program only compares by == and !=.
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
    shown: Mapping[str, Scalar] = field(default_factory=dict)
    texts: Mapping[str, str] = field(default_factory=dict)
    compared: frozenset[str] = frozenset()
    later: Mapping[str, Require] = field(default_factory=dict)
    states: tuple[StateDecl, ...] = ()
