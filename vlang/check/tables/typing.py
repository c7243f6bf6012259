"""Functions on types for the checker, and the texts of types in messages."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from operator import add, and_, floordiv, lshift, mod, mul, or_, pow, rshift, sub, xor

from vlang.syntax import tree as t
from vlang.times import time_of
from vlang.types import (
    BOOL,
    CATEGORY,
    F16,
    F32,
    INTEGER,
    TEXT,
    VERTEX,
    Matrix,
    Scalar,
    Tuple,
    Type,
    Vector,
    VertexSet,
    common,
    converts,
    defaulted,
)

__all__ = [
    "a", "as_read", "comparable", "concrete", "holds", "item", "kind_of", "kinds_spoken", "misfit", "numeric",
    "parts_that_fit",
    "spoken", "unified", "with_item",
]

_EXACT = {"+": add, "-": sub, "*": mul, "//": floordiv, "%": mod, "**": pow, "<<": lshift, ">>": rshift,
          "&": and_, "|": or_, "^": xor}
_FAR = 1 << 200  # beyond this, literals are not computed with
_LONGEST = 200  # the largest exponent, and the longest shift

_SPOKEN = {"int": "integers", "float": "floats", "bool": "bools", "vertex": "vertices", "category": "categories",
           "time": "times", "vector": "vectors", "tuple": "tuples"}


def a(type_: Type) -> str:
    """The text of a type with its article: "a float", "an int", "a vertex"."""
    if isinstance(type_, Tuple):
        return f"a tuple {spoken(type_)}"
    if isinstance(type_, VertexSet):
        return "a list of vertices"
    name = spoken(type_)
    return f"{'an' if name[0] == 'i' else 'a'} {name}"


def spoken(type_: Type) -> str:
    """The text of a type as programs write it."""
    return str(type_).replace("i32", "int").replace("f32", "float")


def kind_of(type_: Type) -> str:
    """The kind of a type as `ReductionRule.accepts` names it."""
    if isinstance(type_, Vector):
        return "vector"
    if isinstance(type_, Tuple):
        return "tuple"
    if isinstance(type_, Scalar):
        return {"integer": "int", "number": "float"}.get(type_.kind, type_.kind)
    return "vertices"


def kinds_spoken(kinds: frozenset[str]) -> str:
    """The kinds of types that a reduction accepts, as text."""
    words = [w for k, w in _SPOKEN.items() if k in kinds]
    return " or ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


def item(type_: Type) -> Scalar | None:
    """Return the scalar type on which elementwise operations act: the type itself, or the component type of a vector.
    """
    if isinstance(type_, Vector):
        return type_.item
    return type_ if isinstance(type_, Scalar) else None


def with_item(type_: Type, new: Scalar) -> Type:
    """The scalar type `new` or, if `type_` is a vector type, a vector type of the same size with components `new`."""
    return Vector(new, type_.size) if isinstance(type_, Vector) else new


def numeric(type_: Type) -> bool:
    """Return whether the type is a number or a vector of numbers."""
    scalar = item(type_)
    return scalar is not None and scalar.numeric


def holds(type_: Type | None, part: Scalar) -> bool:
    """Return whether a type is `part`, or a tuple with a component of type `part`."""
    return type_ == part or (isinstance(type_, Tuple) and part in type_.items)


def as_read(type_: Type | None) -> Type | None:
    """Return the type that a stored value has after a read: an f16 is read as f32."""
    if type_ == F16:
        return F32
    if isinstance(type_, (Vector, Matrix)) and type_.item == F16:
        return replace(type_, item=F32)
    return type_


def concrete(type_: Type, precision: int) -> Type:
    """The type with `int` and `float` in place of the types of literals, inside vectors and tuples as well."""
    if isinstance(type_, Tuple):
        return Tuple(tuple(s for s in (defaulted(i, precision) for i in type_.items) if isinstance(s, Scalar)))
    if isinstance(type_, Matrix):
        inner = defaulted(type_.item, precision)
        return Matrix(inner, type_.rows, type_.columns) if isinstance(inner, Scalar) else type_
    if isinstance(type_, Vector):
        inner = defaulted(type_.item, precision)
        return Vector(inner, type_.size) if isinstance(inner, Scalar) else type_
    return defaulted(type_, precision)


def unified(left: Type, right: Type) -> Type | None:
    """The common type of two alternatives; None if they have no common type."""
    if left == right:
        return left
    if isinstance(left, Tuple) and isinstance(right, Tuple):
        if len(left.items) != len(right.items):
            return None
        items = [unified(x, y) for x, y in zip(left.items, right.items, strict=True)]
        scalars = tuple(i for i in items if isinstance(i, Scalar))
        return Tuple(scalars) if len(scalars) == len(items) else None
    return _named_type(left, right) or common(left, right)


def _named_type(left: Type, right: Type) -> Scalar | None:
    """Return the category or time type that a literal takes from the other operand. The result is TEXT if the operands
    are a text and `inf`, otherwise None.
    """
    for one, other in ((left, right), (right, left)):
        if isinstance(one, Scalar) and one.named and converts(other, one):
            return one
        if one == TEXT and other == INTEGER:
            return TEXT
    return None


def misfit(expr: t.Expr, source: Type, target: Type) -> tuple[t.Expr, str] | None:
    """Return the part of an expression that does not fit the type `target`, and the reason; None if the whole
    expression fits.
    """
    if isinstance(expr, t.TupleExpr) and isinstance(source, Tuple) and isinstance(target, Tuple) \
            and len(source.items) == len(target.items):
        parts = map(misfit, expr.items, source.items, target.items)
        return next((part for part in parts if part is not None), None)
    if not converts(source, target):
        return expr, f"this is {a(source)}"
    if isinstance(target, Scalar) and target.kind == "time" and source == INTEGER and not _infinite(expr):
        return expr, "this is an integer: `inf` and texts, such as \"2024-05-01\", are times"
    for literal, negative, goal in _literals(expr, target, False):
        reason = _unfit(literal, negative, goal)
        if reason is not None:
            return literal, reason
    return None


def parts_that_fit(source: Type, target: Type) -> list[int]:
    """The indices of the parts of a tuple type that have the type `target`; none for other types."""
    return [k for k, part in enumerate(source.items) if part == target] if isinstance(source, Tuple) else []


def _infinite(expr: t.Expr) -> bool:
    """Return whether an expression is a choice among `inf`, `-inf` and texts."""
    if isinstance(expr, t.Unary):
        return expr.op == "-" and _infinite(expr.value)
    if isinstance(expr, t.Conditional):
        return _infinite(expr.yes) and _infinite(expr.no)
    return isinstance(expr, t.Literal) and (expr.text == "inf" or isinstance(expr.value, str))


def _literals(expr: t.Expr, target: Type, negative: bool) -> Iterator[tuple[t.Literal | t.Binary, bool, Scalar]]:
    """Yield the literals of an expression that are converted to `target`, and the operations on integer literals alone.
    Each item has the expression, whether it is negated, and the type to which it is converted.
    """
    if isinstance(expr, t.TupleExpr) and isinstance(target, Tuple):
        for part, goal in zip(expr.items, target.items, strict=False):
            yield from _literals(part, goal, negative)
        return
    scalar = item(target)
    if scalar is None:
        return
    if isinstance(expr, t.Literal) or (isinstance(expr, t.Binary) and _exact(expr) is not None):
        yield expr, negative, scalar
    elif isinstance(expr, t.Unary) and expr.op == "-":
        yield from _literals(expr.value, target, not negative)
    elif isinstance(expr, t.Conditional):
        yield from _literals(expr.yes, target, negative)
        yield from _literals(expr.no, target, negative)
    elif isinstance(expr, t.VectorExpr):
        for part in expr.items:
            yield from _literals(part, scalar, negative)
    elif isinstance(expr, t.Call) and expr.name in ("min", "max") and len(expr.args) > 1:
        for part in expr.args:
            yield from _literals(part, target, negative)


def _exact(expr: t.Expr) -> int | None:
    """The exact value of an operation on integer literals alone; None for other expressions and for `1 // 0`."""
    if isinstance(expr, t.Literal):
        return expr.value if isinstance(expr.value, int) and not isinstance(expr.value, bool) else None
    if isinstance(expr, t.Unary):
        value = _exact(expr.value) if expr.op == "-" else None
        return None if value is None else -value
    if not isinstance(expr, t.Binary) or expr.op not in _EXACT:
        return None
    left, right = _exact(expr.left), _exact(expr.right)
    if left is None or right is None or abs(left) > _FAR or abs(right) > _FAR:
        return None
    if expr.op in ("**", "<<", ">>"):
        right = min(right, _LONGEST)  # the result is out of every type's range already
        if right < 0:
            return None
    return None if expr.op in ("//", "%") and right == 0 else _EXACT[expr.op](left, right)


def _unfit(literal: t.Literal | t.Binary, negative: bool, goal: Scalar) -> str | None:
    value = literal.value if isinstance(literal, t.Literal) else _exact(literal)
    if goal.named:
        return _unnamed(literal, goal) if isinstance(literal, t.Literal) else None
    if isinstance(value, str):
        return None
    if not goal.integral or goal.weak or isinstance(value, bool) or value is None:
        return None
    if isinstance(value, float):
        infinite = isinstance(literal, t.Literal) and literal.text == "inf"
        return f"{goal} has no `inf`" if goal.kind == "uint" and infinite else None
    signed = -value if negative else value
    if not goal.lowest <= signed <= goal.highest:
        return f"{signed} does not fit {goal} ({goal.lowest} to {goal.highest})"
    return None


def _unnamed(literal: t.Literal, goal: Scalar) -> str | None:
    """Return the reason why a literal is not a value of a category or time type; None if the literal is a value of the
    type.
    """
    if not isinstance(literal.value, str):
        if goal.kind == "time" and literal.text == "inf":
            return None
        return f"`{literal.text}` is no {'name' if goal == CATEGORY else 'time'}: write it in double quotes"
    if goal == CATEGORY:
        return None if literal.value else "a name has at least one character"
    try:
        time_of(literal.value, goal.name)
    except ValueError as error:
        return f"`{literal.text}` {error}"
    return None


def comparable(left: Type, right: Type, ordering: bool) -> bool:
    """Return whether two types can be compared by == and !=. With `ordering`, return whether they can be compared by <,
    <=, > and >=.
    """
    if isinstance(left, Tuple) and isinstance(right, Tuple):
        return len(left.items) == len(right.items) and all(
            (x == y == BOOL) or comparable(x, y, ordering) for x, y in zip(left.items, right.items, strict=True))
    if isinstance(left, Vector) or isinstance(right, Vector):
        return not ordering and (left == right or common(left, right) is not None)
    if left == right == VERTEX:
        return True
    if left == right == BOOL:
        return not ordering
    if isinstance(left, Scalar) and isinstance(right, Scalar) and (left.named or right.named):
        return left == right or _named_type(left, right) is not None
    return common(left, right) is not None


def zero(type_: Type | None) -> str:
    """A start value of a type as program text, for the lines that messages propose."""
    scalar = type_.item if isinstance(type_, Vector) else type_
    if scalar == VERTEX:
        return "none"
    if isinstance(scalar, Scalar) and scalar.named:
        return '"other"' if scalar == CATEGORY else "inf"
    return "false" if isinstance(scalar, Scalar) and scalar.kind == "bool" else "0"
