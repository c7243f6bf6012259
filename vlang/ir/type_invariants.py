"""The type rules of operators: the operand types that an operator takes, and the type of its result."""

from __future__ import annotations

from collections.abc import Mapping

from vlang.ir.forms import forms as f
from vlang.maths import MATHS, REAL, WHOLE
from vlang.reductions import REDUCTIONS
from vlang.types import BOOL, F16, F64, I64, U8, U64, VERTEX, Scalar, Tuple, Type, Vector, VertexSet

__all__ = ["broken_type"]

_SAME = frozenset({"add", "sub", "mul", "div", "floordiv", "mod", "neg", "bitor", "bitand", "bitxor", "min", "max",
                   "abs", "sign", "reverse", "wrapadd", "wrapsub", "wrapmul", "wrapneg", "exactadd", "exactsub",
                   "exactmul", "exactneg"}) | REAL
_COMPARED = frozenset({"eq", "ne", "lt", "le", "gt", "ge", "differs"})
_COUNTS = {"neg": 1, "wrapneg": 1, "exactneg": 1, "abs": 1, "sign": 1, "reverse": 1, "not": 1, "cast": 1, "item": 1,
           "broadcast": 1, "vsum": 1, "vmin": 1, "vmax": 1, "vargmin": 1, "vargmax": 1, "part": 1, "bit": 1, "len": 1,
           "hll_size": 1, "select": 3,
           **{name: rule.operands for name, rule in MATHS.items()}}
"""The number of operands; 2 for operators not listed, any number for `tuple`, `vector`, `and` and `or`."""


def broken_type(expr: f.Expr, outer: f.Expr | None, reductions: Mapping[str, Type]) -> str:
    """Return a description of the wrong types in an expression; "" if the types are correct.

    Args:
        expr: The expression.
        outer: The expression directly around it, or None.
        reductions: The types of declared reductions, by name.
    """
    if any(item.weak for item in _items(expr.type)):
        return "the type is left to the context"
    if isinstance(expr, f.Const):
        return _constant(expr)
    if isinstance(expr, (f.Field, f.EdgeValue)):
        stored = F16 in _items(expr.type)
        cast = isinstance(outer, f.Op) and outer.op == "cast"
        return "f16 is read without a conversion" if stored and not cast else ""
    if isinstance(expr, (f.Vertex, f.Degree)):
        whole = isinstance(expr.type, Scalar) and (expr.type == VERTEX or expr.type.integral)
        return "" if whole else f"the type is {expr.type}"
    if isinstance(expr, f.Reduce):
        return _reduced(expr, reductions)
    return _operator(expr, reductions) if isinstance(expr, f.Op) else ""


def _items(type_: Type) -> tuple[Scalar, ...]:
    """The scalars of a type."""
    if isinstance(type_, VertexSet):
        return ()
    return type_.items if isinstance(type_, Tuple) else (type_,) if isinstance(type_, Scalar) else (type_.item,)


def _item(type_: Type) -> Scalar | None:
    """A scalar type itself, or the component type of a vector."""
    return type_.item if isinstance(type_, Vector) else type_ if isinstance(type_, Scalar) else None


def _constant(expr: f.Const) -> str:
    type_, value = expr.type, expr.value
    if not isinstance(type_, Scalar):
        return "a constant is a scalar"
    if type_ in (BOOL, VERTEX):
        return "" if isinstance(value, bool if type_ == BOOL else type(None)) else f"the value is no {type_}"
    if isinstance(value, bool) or not isinstance(value, float if type_.floating else int):
        return f"the value is no {type_}"
    return "" if type_.floating or type_.lowest <= value <= type_.highest else f"the value does not fit {type_}"


def _operator(expr: f.Op, reductions: Mapping[str, Type]) -> str:
    op, type_, args = expr.op, expr.type, tuple(arg.type for arg in expr.args)
    if op not in ("tuple", "vector", "and", "or") and len(args) != _COUNTS.get(op, 2):
        return f"{len(args)} operands"
    good = True
    if op in _SAME:
        good = all(arg == type_ for arg in args)
    elif op == "user":
        good = type_ == reductions.get(str(expr.data)) and all(arg == type_ for arg in args)
    elif op in ("pow", "wrappow", "exactpow"):
        good = args[0] == type_ and (args[1] == type_ or (isinstance(expr.args[1], f.Const) and args[1] == I64))
    elif op in ("shl", "shr"):
        good = args[0] == type_ and all(item is not None and item.integral for item in map(_item, args)) and \
            isinstance(args[0], Vector) == isinstance(args[1], Vector)
    elif op in _COMPARED:
        good = type_ == BOOL and args[0] == args[1]
    elif op in ("not", "and", "or"):
        good = type_ == BOOL and all(arg == BOOL for arg in args)
    elif op == "select":
        good = args == (BOOL, type_, type_)
    else:
        good = _shape(expr, args)
    return "" if good else f"`{op}` of {', '.join(map(str, args))} gives {type_}"


def _shape(expr: f.Op, args: tuple[Type, ...]) -> bool:
    """Return whether the operands of an operator have correct types, if the result type differs from the operand types.
    """
    op, type_, first = expr.op, expr.type, args[0]
    if op == "cast":
        here, there = _item(first), _item(type_)
        return first != type_ and here is not None and there is not None and \
            (first.size if isinstance(first, Vector) else 0) == (type_.size if isinstance(type_, Vector) else 0)
    if op == "tuple":
        return type_ == Tuple(tuple(arg for arg in args if isinstance(arg, Scalar))) and len(args) > 1
    if op == "item":
        return isinstance(first, Tuple) and isinstance(expr.data, int) and 0 <= expr.data < len(first.items) and \
            first.items[expr.data] == type_
    if op == "vector":
        return isinstance(type_, Vector) and args == (type_.item,) * type_.size
    if op == "broadcast":
        return isinstance(type_, Vector) and first == type_.item
    if op == "component":
        return isinstance(first, Vector) and first.item == type_ and isinstance(args[1], Scalar) and args[1].integral
    if op in ("vsum", "vmin", "vmax"):
        return isinstance(first, Vector) and first.item == type_
    if op in ("vargmin", "vargmax"):
        return isinstance(first, Vector) and first.item.numeric and isinstance(type_, Scalar) and type_.integral
    if op == "part":
        return isinstance(first, Vector) and isinstance(type_, Vector) and isinstance(expr.data, int) and \
            first.item == type_.item and 0 <= expr.data <= first.size - type_.size
    if op == "dot":
        return isinstance(first, Vector) and first.item == type_ and args[1] == first
    if op in WHOLE:
        here, there = _item(first), _item(type_)
        return here is not None and there is not None and here.floating and there.integral
    if op == "bit":
        return type_ == U64 and first == I64
    if op in ("random", "mix"):
        return first == U64 and args[1] in (VERTEX, U64) and (type_ == U64) == (op == "mix")
    if op == "waiting":
        return args == (U64, F64) and type_ == F64
    if op == "ordinal":
        return args == (VERTEX, VERTEX) and type_ == U64 and expr.data in (None, "place")
    if op == "hll_unit":
        return args == (U64, VERTEX) and type_ == Vector(U8, 64)
    if op == "position":
        return first == VERTEX and isinstance(args[1], VertexSet)
    if op == "len":
        return isinstance(first, VertexSet) and isinstance(type_, Scalar) and type_.integral
    if op == "between":
        return args == (VERTEX, VERTEX) and isinstance(type_, Scalar) and type_.numeric
    if op == "common":
        return args == (VERTEX, VERTEX)
    return op == "hll_size" and first == Vector(U8, 64)


def _reduced(expr: f.Reduce, reductions: Mapping[str, Type]) -> str:
    body, type_ = expr.body.type, expr.type
    if expr.part is not None:
        if not isinstance(body, Tuple) or not 0 <= expr.part < len(body.items) or body.items[expr.part] != type_:
            return f"item {expr.part} of {body} is no {type_}"
        type_ = body
    if any(test is not None and test.type != BOOL for test in (expr.having,)):
        return "the condition of groups is no bool"
    if expr.cond is not None and expr.cond.type != BOOL:
        return f"the condition is {expr.cond.type}"
    if expr.default is not None and expr.default.type != type_:
        return f"the default is {expr.default.type}, not {type_}"
    if expr.user:
        return "" if body == type_ == reductions.get(expr.name) else f"`{expr.name}` of {body} gives {type_}"
    if expr.name not in REDUCTIONS:
        return f"there is no reduction `{expr.name}`"
    rule = REDUCTIONS[expr.name]
    scalar = isinstance(type_, Scalar)
    if rule.result == "int":
        good = isinstance(body, Scalar) and (body.integral if rule.holistic else body == BOOL) and scalar
    elif rule.result == "float":
        good = body == F64 and isinstance(type_, Scalar) and type_.floating
    else:
        good = body == type_
    if rule.holistic and not expr.domain.edges:
        return f"`{expr.name}` is for edges only"
    return "" if good else f"`{expr.name}` of {body} gives {type_}"
