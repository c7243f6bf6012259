"""The functions of the language as typed operators of the IR."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce as fold

from vlang.check.tables.typing import concrete
from vlang.ir.forms import forms as f
from vlang.ir.lowering.conversions import fit, float_of, meet, seed, weak
from vlang.maths import MATHS
from vlang.types import BOOL, CONVERSIONS, I64, U8, U64, VERTEX, Scalar, Type, Vector, scalar_named

__all__ = ["FUNCTIONS", "hashed"]

Args = tuple[f.Expr, ...]
Builder = Callable[[str, Args, int], f.Expr]


def _least(name: str, args: Args, precision: int) -> f.Expr:
    """Lower `min` or `max` of several values (folded from the left), or of the components of one vector."""
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
    """Lower `abs` or `sign`; the result has the type of the operand."""
    return f.Op(args[0].type, name, args)


def _real(name: str, args: Args, precision: int) -> f.Expr:
    """A function with a float result; its arguments are converted to one float type."""
    type_ = float_of(fold(meet, (arg.type for arg in args)), precision)
    if weak(type_) and not isinstance(type_, Vector):
        return f.Op(type_, name, args)
    type_ = concrete(type_, precision)
    return f.Op(type_, name, tuple(fit(arg, type_) for arg in args))


def _item(type_: Type) -> Scalar:
    """A scalar type itself, or the component type of a vector type."""
    item = type_.item if isinstance(type_, Vector) else type_
    assert isinstance(item, Scalar)
    return item


def _with_item(type_: Type, item: Scalar) -> Type:
    return Vector(item, type_.size) if isinstance(type_, Vector) else item


def _whole(name: str, args: Args, precision: int) -> f.Expr:
    """Round a float to an `int`; an integer stays unchanged."""
    arg = fit(args[0], concrete(args[0].type, precision))
    if _item(arg.type).integral:
        return args[0]
    return f.Op(_with_item(arg.type, scalar_named("int", precision)), name, (arg,))


def _converted(name: str, args: Args, precision: int) -> f.Expr:
    """A number or bool converted to the type with this name; a float loses its fraction."""
    (arg,), target = args, scalar_named(name, precision)
    place = _with_item(arg.type, target)
    if _item(arg.type) == BOOL:
        one, zero = (f.Const(target, float(number) if target.floating else number) for number in (1, 0))
        if not isinstance(arg.type, Vector):
            return f.Op(target, "select", (arg, one, zero))
        parts = (f.Op(BOOL, "component", (arg, f.Const(I64, k))) for k in range(arg.type.size))
        return f.Op(place, "vector", tuple(f.Op(target, "select", (part, one, zero)) for part in parts))
    if target.integral and not _item(arg.type).integral:
        return f.Op(place, "trunc", (fit(arg, concrete(arg.type, precision)),))
    return fit(arg, place)


def _clamp(name: str, args: Args, precision: int) -> f.Expr:
    """`min(max(x, low), high)`."""
    value, low, high = args
    type_ = meet(meet(value.type, low.type), high.type)
    if not weak(type_):
        value, low, high = (fit(arg, type_) for arg in args)
    return f.Op(type_, "min", (f.Op(type_, "max", (value, low)), high))


def _undefined(name: str, args: Args, precision: int) -> f.Expr:
    """Return a test whether a number is NaN: the number differs from itself."""
    (arg,) = args
    arg = fit(arg, concrete(arg.type, precision))
    return f.Op(BOOL, "ne", (arg, arg)) if _item(arg.type).floating else f.Const(BOOL, False)


def _mean(name: str, args: Args, precision: int) -> f.Expr:
    """Lower the mean of the components of a vector: the sum of the components (added from the left), divided by the
    number of components.
    """
    vector = fit(args[0], float_of(concrete(args[0].type, precision), precision))
    assert isinstance(vector.type, Vector)
    item = vector.type.item
    return f.Op(item, "div", (f.Op(item, "vsum", (vector,)), f.Const(item, float(vector.type.size))))


def _place(name: str, args: Args, precision: int) -> f.Expr:
    """Lower `argmin` or `argmax` of the components of a vector."""
    return f.Op(scalar_named("int", precision), f"v{name}", (fit(args[0], concrete(args[0].type, precision)),))


def _dot(name: str, args: Args, precision: int) -> f.Expr:
    type_ = concrete(meet(args[0].type, args[1].type), precision)
    assert isinstance(type_, Vector)
    return f.Op(type_.item, name, tuple(fit(arg, type_) for arg in args))


def _reverse(name: str, args: Args, precision: int) -> f.Expr:
    vector = fit(args[0], concrete(args[0].type, precision))
    return f.Op(vector.type, name, (vector,))


def _bit(name: str, args: Args, precision: int) -> f.Expr:
    return f.Op(U64, name, (fit(args[0], I64),))


def _unit(name: str, args: Args, precision: int) -> f.Expr:
    """`hll_unit(seed, v)`; the seed is taken modulo 2^64."""
    return f.Op(Vector(U8, 64), name, (seed(args[0]), args[1]))


def _random(name: str, args: Args, precision: int) -> f.Expr:
    """Lower `random(seed, key, ...)`: all keys except the last key are hashed into the seed."""
    return hashed(args, scalar_named("float", precision), name)


def hashed(args: Args, type_: Type, op: str) -> f.Expr:
    """Hash a seed and keys, one key after another.

    Args:
        args: The seed and at least one key. Each is an integer or a vertex.
        type_: The type of the result.
        op: The operator that hashes the last key: "mix" or "random".
    """
    state, keys = seed(args[0]), [key if key.type == VERTEX else seed(key) for key in args[1:]]
    for key in keys[:-1]:
        state = f.Op(U64, "mix", (state, key))
    return f.Op(type_, op, (state, keys[-1]))


def _gives(word: str) -> Builder:
    """Return the builder of a function with an `int` or `float` result and arguments that need no conversion."""

    def build(name: str, args: Args, precision: int) -> f.Expr:
        return f.Op(scalar_named(word, precision), name, args)

    return build


FUNCTIONS: dict[str, Builder] = {
    "min": _least, "max": _least, "sum": _folded, "mean": _mean, "argmin": _place,
    "argmax": _place, "abs": _absolute, "dot": _dot, "reverse": _reverse, "bit": _bit,
    "sign": _absolute, "clamp": _clamp, "isnan": _undefined,
    **{name: _whole if rule.whole else _real for name, rule in MATHS.items()},
    **dict.fromkeys(sorted(CONVERSIONS), _converted),
    "random": _random, "hll_unit": _unit,
    "position": _gives("int"), "len": _gives("int"), "common": _gives("int"), "hll_size": _gives("float"),
}  # fmt: skip
