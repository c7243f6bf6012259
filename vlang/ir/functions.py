"""The functions of the language as typed operators of the IR."""

from __future__ import annotations

from collections.abc import Callable

from vlang.check.tables.typing import concrete
from vlang.ir.conversions import fit, float_of, meet, seed, weak
from vlang.ir.forms import forms as f
from vlang.types import I64, U8, U64, Scalar, Type, Vector, scalar_named

__all__ = ["FUNCTIONS"]

Args = tuple[f.Expr, ...]
Builder = Callable[[str, Args, int], f.Expr]


def _least(name: str, args: Args, precision: int) -> f.Expr:
    """`min` or `max`: of several values, folded from the left, or of the components of one vector."""
    if len(args) == 1:
        return _folded(name, args, precision)
    type_ = args[0].type
    for arg in args[1:]:
        type_ = meet(type_, arg.type)
    if not weak(type_):
        args = tuple(fit(arg, type_) for arg in args)
    result = args[0]
    for arg in args[1:]:
        result = f.Op(type_, name, (result, arg))
    return result


def _folded(name: str, args: Args, precision: int) -> f.Expr:
    vector = fit(args[0], concrete(args[0].type, precision))
    assert isinstance(vector.type, Vector)
    return f.Op(vector.type.item, f"v{name}", (vector,))


def _absolute(name: str, args: Args, precision: int) -> f.Expr:
    return f.Op(args[0].type, name, args)


def _real(name: str, args: Args, precision: int) -> f.Expr:
    type_ = float_of(args[0].type, precision)
    if not weak(type_):
        return f.Op(type_, name, (fit(args[0], type_),))
    if isinstance(type_, Vector):
        type_ = concrete(type_, precision)
        return f.Op(type_, name, (fit(args[0], type_),))
    return f.Op(type_, name, args)


def _floor(name: str, args: Args, precision: int) -> f.Expr:
    (arg,) = args
    arg = fit(arg, concrete(arg.type, precision))
    item = arg.type.item if isinstance(arg.type, Vector) else arg.type
    assert isinstance(item, Scalar)
    if item.integral:
        return args[0]
    whole = scalar_named("int", precision)
    return f.Op(Vector(whole, arg.type.size) if isinstance(arg.type, Vector) else whole, name, (arg,))


def _dot(name: str, args: Args, precision: int) -> f.Expr:
    type_ = concrete(meet(args[0].type, args[1].type), precision)
    assert isinstance(type_, Vector)
    return f.Op(type_.item, name, tuple(fit(arg, type_) for arg in args))


def _reverse(name: str, args: Args, precision: int) -> f.Expr:
    vector = fit(args[0], concrete(args[0].type, precision))
    return f.Op(vector.type, name, (vector,))


def _bit(name: str, args: Args, precision: int) -> f.Expr:
    return f.Op(U64, name, (fit(args[0], I64),))


def _seeded(type_of: Callable[[int], Type]) -> Builder:
    """The builder of a function with two arguments: a seed, which is taken modulo 2^64, and a vertex."""

    def build(name: str, args: Args, precision: int) -> f.Expr:
        return f.Op(type_of(precision), name, (seed(args[0]), args[1]))

    return build


def _gives(word: str) -> Builder:
    """The builder of a function whose arguments need no conversion and whose result is an `int` or a `float`."""

    def build(name: str, args: Args, precision: int) -> f.Expr:
        return f.Op(scalar_named(word, precision), name, args)

    return build


FUNCTIONS: dict[str, Builder] = {
    "min": _least, "max": _least, "sum": _folded, "abs": _absolute, "floor": _floor, "dot": _dot,
    "reverse": _reverse, "bit": _bit,
    **dict.fromkeys(("sqrt", "exp", "log", "log1p", "tanh"), _real),
    "random": _seeded(lambda precision: scalar_named("float", precision)),
    "hll_unit": _seeded(lambda precision: Vector(U8, 64)),
    "position": _gives("int"), "common": _gives("int"), "hll_size": _gives("float"),
}  # fmt: skip
