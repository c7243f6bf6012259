"""Literals, components and products of vectors and matrices (language.md sections 6 and 8)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from vlang.check.advice.proposals import operand
from vlang.check.foreign.foreign_calls import foreign_index
from vlang.check.sizes import MOST_COMPONENTS, too_long
from vlang.check.tables.scope import Sight, Value, joined
from vlang.check.tables.typing import a, spoken, unified
from vlang.syntax import rewrite
from vlang.syntax import tree as t
from vlang.syntax.codes import Code
from vlang.types import BOOL, INTEGER, Matrix, Scalar, Tuple, Type, Vector, common

if TYPE_CHECKING:
    from vlang.check.expressions import Expressions

__all__ = ["component", "product", "vector_literal"]


def vector_literal(x: Expressions, node: t.VectorExpr, at: Sight) -> Value:
    """The type and level of `[a, b]`, or of a matrix `[[a, b], [c, d]]`."""
    if len(node.items) > MOST_COMPONENTS:
        too_long(x.run, node.span)
        return Value(None)
    values = [x.value(part, at) for part in node.items]
    if any(v.type is None for v in values):
        return joined(None, *values)
    result: Type | None = values[0].type
    rows = isinstance(result, Vector)
    for part, value in zip(node.items, values, strict=True):
        both = unified(result, value.type) if result is not None and value.type is not None else None
        fits = isinstance(value.type, Vector) if rows else \
            isinstance(value.type, Scalar) and (value.type.numeric or value.type == BOOL)
        if both is None or not fits:
            title = "the rows of a matrix are vectors of one length" if rows else \
                "a vector holds numbers, or bools, of one type"
            x.run.report(Code.WRONG_TYPE, title, part.span, "" if value.type is None else f"this is {a(value.type)}")
            return joined(None, *values)
        result = both
    if isinstance(result, Vector):
        return joined(Matrix(result.item, len(values), result.size), *values)
    return joined(Vector(result, len(values)) if isinstance(result, Scalar) else None, *values)


def product(x: Expressions, node: t.Binary, left: Type, right: Type) -> Type | None:
    """The type of `A @ x`, a matrix times a vector. Reports V106 for other types, and then returns None.

    Args:
        x: the checker of expressions.
        node: the expression.
        left: the type of its left operand.
        right: the type of its right operand.
    """
    if isinstance(left, Matrix) and isinstance(right, Vector) and left.columns == right.size:
        item = common(left.item, right.item)
        if isinstance(item, Scalar):
            return Vector(item, left.rows)
    texts = [operand(x.run, side) for side in (node.left, node.right)]
    help_, write = "", ""
    if isinstance(left, Vector) and left == right:
        help_ = "the inner product of two vectors:"
        write = f"dot({', '.join(rewrite.one_line(x.run.text(side)) for side in (node.left, node.right))})"
    elif isinstance(right, Matrix) and isinstance(left, Vector) and right.rows == left.size:
        named = x.run.text(node.right) if isinstance(node.right, t.Name) else "W"
        help_ = f"the matrix is on the left, `{named} @ x`, so it is the transpose of another language's: declare " \
            f"`{named}: {spoken(Matrix(right.item, right.columns, right.rows))}`, and pass `{named}.T`"
    elif isinstance(right, Matrix) and isinstance(left, Vector) and right.columns == left.size:
        help_, write = "the matrix is on the left:", f"{texts[1]} @ {texts[0]}"
    elif isinstance(left, Scalar) or isinstance(right, Scalar):
        help_, write = "a product with a number:", f"{texts[0]} * {texts[1]}"
    elif isinstance(left, Matrix) and isinstance(right, Matrix):
        help_ = "a product of matrices is applied from the right: `A @ (B @ x)`"
    else:
        help_ = "the vector has as many components as the matrix has columns"
    x.run.report(Code.WRONG_TYPE, "`@` multiplies a matrix by a vector", node.span,
                 f"{spoken(left)} @ {spoken(right)}", help=help_, write=write or (),
                 replaces=node.span if write else None)
    return None


def component(x: Expressions, node: t.Index, at: Sight) -> Value:
    """The type and level of `v[i]`, a component of a vector or tuple."""
    if foreign_index(x.run, node, at):
        return Value(None)
    value, index = x.value(node.value, at), x.value(node.index, at)
    if value.type is None or index.type is None:
        return joined(None, value, index)
    size = value.type.size if isinstance(value.type, Vector) else 0
    size = len(value.type.items) if isinstance(value.type, Tuple) else size
    literal = node.index.value if isinstance(node.index, t.Literal) and index.type == INTEGER else None
    if not isinstance(value.type, (Vector, Tuple)):
        x.run.report(Code.WRONG_TYPE, f"`{rewrite.short(x.run.text(node.value))}` has no components",
                     node.span, f"this is {a(value.type)}")
    elif not (isinstance(index.type, Scalar) and index.type.integral):
        x.run.report(Code.WRONG_TYPE, "an index is an integer", node.index.span, f"this is {a(index.type)}")
    elif (isinstance(literal, (int, float)) and not 0 <= literal < size) or isinstance(node.index, t.Unary):
        x.run.report(Code.WRONG_TYPE, f"{a(value.type)} has the components 0 to {size - 1}", node.index.span)
    elif isinstance(value.type, Vector):
        return joined(value.type.item, value, index)
    elif isinstance(literal, int):
        return joined(value.type.items[literal], value, index)
    else:
        x.run.report(Code.WRONG_TYPE, "the index of a tuple is a literal", node.index.span,
                     "components may differ in type", write="0")
    return joined(None, value, index)
