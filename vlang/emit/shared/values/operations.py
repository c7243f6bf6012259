"""The code of operations on scalars, by the name of the operator."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from vlang.emit.shared.values import integers
from vlang.ir.forms import forms as f
from vlang.ir.forms.range_arithmetic import product as product_range
from vlang.maths import MATHS
from vlang.types import BOOL, F64, U32, U64, Scalar

if TYPE_CHECKING:
    from vlang.emit.shared.values.formulas import Writer

__all__ = ["COMPARE", "WRITERS"]

_INFIX = {"add": "+", "sub": "-", "mul": "*", "bitor": "|", "bitand": "&", "bitxor": "^"}
COMPARE = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}


def _kind(expr: f.Expr) -> str:
    assert isinstance(expr.type, Scalar)
    return expr.type.kind


def _args(writer: Writer, expr: f.Op) -> tuple[str, ...]:
    return tuple(writer.value(arg) for arg in expr.args)


def _infix(writer: Writer, expr: f.Op) -> str:
    a, b = _args(writer, expr)
    if _kind(expr) not in ("int", "uint") or expr.op not in ("add", "sub", "mul"):
        return writer.d.arithmetic(_INFIX[expr.op], expr.type, a, b)
    assert isinstance(expr.type, Scalar)
    left, right = (writer.range(arg) for arg in expr.args)
    if expr.op == "mul":
        return integers.multiplied(writer, expr.type, a, b, left, right)
    finite = _finite(expr.args[0]), _finite(expr.args[1])
    combine = integers.added if expr.op == "add" else integers.subtracted
    return combine(writer, expr.type, a, b, left, right, finite)


def _finite(expr: f.Expr) -> bool:
    """Return whether an operand is finite by its form, so that no test for infinities is written."""
    if isinstance(expr, f.Const):
        assert isinstance(expr.type, Scalar)
        return not (expr.value in (expr.type.highest, expr.type.lowest) or isinstance(expr.value, float))
    return isinstance(expr, f.Degree) or expr == f.GraphValue(expr.type, "iteration", "builtin")


def _exact(writer: Writer, expr: f.Op) -> str:
    """Write arithmetic for a declared reduction. The code records whether a finite result does not fit in 64 bits."""
    plain = f.Op(expr.type, expr.op.removeprefix("exact"), expr.args)
    value = writer.name(WRITERS[plain.op](writer, plain))
    assert isinstance(expr.type, Scalar)
    d, ends = writer.d, writer.bounds(expr.type)
    names = [writer.value(arg) for arg in expr.args if arg.type == expr.type]
    if expr.type.kind == "uint":
        left = f"{names[0]} < {names[1]}" if plain.op == "sub" else f"{value} == {ends[0]}"
    else:
        tests = [d.disjunction(*(f"{value} == {end}" for end in ends))]
        tests += [d.conjunction(*(f"{name} != {end}" for end in ends)) for name in names]
        left = d.conjunction(*(f"({test})" for test in tests))
    writer.left.append(writer.name(left))
    return value


def _wrapping(writer: Writer, expr: f.Op) -> str:
    a, b = _args(writer, expr)
    return writer.d.arithmetic(_INFIX[expr.op.removeprefix("wrap")], expr.type, a, b)


def _wrapping_negative(writer: Writer, expr: f.Op) -> str:
    (a,) = _args(writer, expr)
    return writer.d.arithmetic("-", expr.type, writer.d.constant(0, expr.type), a)


def _negate(writer: Writer, expr: f.Op) -> str:
    (a,) = _args(writer, expr)
    if _kind(expr) in ("int", "uint"):
        assert isinstance(expr.type, Scalar)
        return integers.negated(writer, expr.type, a)
    return writer.d.negative(expr.type, a)


def _divide(writer: Writer, expr: f.Op) -> str:
    a, b = _args(writer, expr)
    return writer.d.convert(expr.type, f"{a} / {b}")


def _floor_divide(writer: Writer, expr: f.Op) -> str:
    a, b = _args(writer, expr)
    kind = _kind(expr)
    if kind == "float":
        if expr.op == "mod":
            return f"float_mod({a}, {b})"
        return writer.d.convert(expr.type, writer.d.function("floor", expr.type, f"{a} / {b}"))
    if expr.op == "floordiv":
        assert isinstance(expr.type, Scalar)
        left, right = (writer.range(arg) for arg in expr.args)
        return integers.quotient(writer, expr.type, a, b, left, right)
    return writer.d.convert(expr.type, f"{kind}_mod({a}, {b})")


def _power(writer: Writer, expr: f.Op) -> str:
    base, exponent = expr.args
    a = writer.value(base)
    if isinstance(exponent, f.Const) and isinstance(exponent.value, (int, float)) and exponent.value in (1, 2, 3, 4):
        return _repeated(writer, expr, a, int(exponent.value))
    b = writer.value(exponent)
    if _kind(expr) == "float":
        return writer.d.convert(expr.type, writer.d.power(expr.type, a, exponent.type, b))
    one = writer.d.constant(1, expr.type)
    if expr.op == "wrappow":
        return writer.d.convert(expr.type, f"int_power({a}, {b}, {one})")
    return writer.d.convert(expr.type, f"saturated_power({writer.d.convert(expr.type, a)}, {b}, {one})")


def _repeated(writer: Writer, expr: f.Op, a: str, times: int) -> str:
    """A power written as a product of 1 to 4 factors."""
    text, base = a, expr.args[0]
    known = before = writer.range(base) if _kind(expr) in ("int", "uint") and expr.op == "pow" else None
    for _ in range(times - 1):
        if known is None or before is None:
            product = writer.d.arithmetic("*", expr.type, text, a)
        else:
            product = integers.multiplied(writer, known.type, text, a, before, known)
            before = product_range(before, known)
        text = writer.name(product)
    return text


def _shift(writer: Writer, expr: f.Op) -> str:
    a, b = _args(writer, expr)
    assert isinstance(expr.type, Scalar)
    return writer.d.convert(expr.type, f"{expr.op}({a}, i64({b}), i64({expr.type.bits}))")


def _comparison(writer: Writer, expr: f.Op) -> str:
    a, b = _args(writer, expr)
    return f"{a} {COMPARE[expr.op]} {b}"


def _differs(writer: Writer, expr: f.Op) -> str:
    a, b = _args(writer, expr)
    return writer.differs(expr.args[0].type, a, b)


def _logical(writer: Writer, expr: f.Op) -> str:
    names = _args(writer, expr)
    if expr.op == "not":
        return writer.d.negation(names[0])
    return writer.d.both(*names) if expr.op == "and" else writer.d.either(*names)


def _select(writer: Writer, expr: f.Op) -> str:
    test, yes, no = _args(writer, expr)
    return writer.d.select(test, yes, no)


def _cast(writer: Writer, expr: f.Op) -> str:
    (a,) = _args(writer, expr)
    if expr.data == "wrap":
        return writer.d.convert(expr.type, a)
    return writer.cast(a, expr.args[0].type, expr.type, writer.known(expr.args[0]))


def _least(writer: Writer, expr: f.Op) -> str:
    a, b = _args(writer, expr)
    return writer.least(expr.op, expr.type, a, b)


def _absolute(writer: Writer, expr: f.Op) -> str:
    (a,) = _args(writer, expr)
    if _kind(expr) == "uint":
        return a
    if _kind(expr) == "float":
        return writer.d.absolute(expr.type, a)
    assert isinstance(expr.type, Scalar)
    return writer.d.select(f"{a} < 0", f"({integers.negated(writer, expr.type, a)})", a)


def _function(writer: Writer, expr: f.Op) -> str:
    return writer.d.convert(expr.type, writer.d.function(expr.op, expr.type, *_args(writer, expr)))


def _sign(writer: Writer, expr: f.Op) -> str:
    """The sign of a value: 1 or -1; 0 and NaN are returned unchanged."""
    (a,) = _args(writer, expr)
    zero = writer.d.constant(0, expr.type)
    up = writer.d.select(f"{a} > {zero}", writer.d.constant(1, expr.type), a)
    if _kind(expr) == "uint":
        return up
    return writer.d.select(f"{a} < {zero}", writer.d.constant(-1, expr.type), writer.name(up))


def _whole(writer: Writer, expr: f.Op) -> str:
    (a,) = _args(writer, expr)
    argument = expr.args[0].type
    assert isinstance(argument, Scalar)
    assert isinstance(expr.type, Scalar)
    if not argument.floating:
        return writer.cast(a, argument, expr.type)
    rounded = f"f64({a})"
    if expr.op != "floor":
        rounded = writer.name(writer.d.function(expr.op, F64, writer.name(rounded)))
    if expr.type == U64:
        return f"floor_u64({rounded})"
    high, low = writer.bounds(expr.type)
    return writer.d.convert(expr.type, f"floor_int({rounded}, i64({high}), i64({low}))")


def _bit(writer: Writer, expr: f.Op) -> str:
    (a,) = _args(writer, expr)
    return writer.d.convert(expr.type, f"shl({writer.d.constant(1, expr.type)}, i64({a}), i64(64))")


def _random(writer: Writer, expr: f.Op) -> str:
    """Write a random number: the top 24 bits of the hash of seed and key, divided by 2^24, which is exact in every
    float type.
    """
    bits = writer.name(writer.d.convert(expr.type, f"u32({writer.mixed(expr)} >> u64(40))"))
    return writer.d.arithmetic("*", expr.type, bits, writer.d.constant(2.0**-24, expr.type))


def _waiting(writer: Writer, expr: f.Op) -> str:
    """Write the exponentially distributed time of an event at the rate `weight`, computed from a hash, with the same
    bits on every target.
    """
    bits, weight = _args(writer, expr)
    return f"waiting({bits}, {weight})"


def _mix(writer: Writer, expr: f.Op) -> str:
    return writer.mixed(expr)


def _position(writer: Writer, expr: f.Op) -> str:
    vertex, group = writer.value(expr.args[0]), expr.args[1]
    assert isinstance(group, f.GraphValue)
    _, ordered, places, count = writer.place.members(group)
    return writer.d.convert(expr.type, f"position({vertex}, {ordered}, {places}, {count})")


def _length(writer: Writer, expr: f.Op) -> str:
    (group,) = expr.args
    assert isinstance(group, f.GraphValue)
    return writer.d.convert(expr.type, writer.place.members(group)[3])


def _common(writer: Writer, expr: f.Op) -> str:
    a, b = (writer.name(writer.place.index(number)) for number in _args(writer, expr))
    starts, neighbours = writer.place.neighbours(expr)
    return writer.d.convert(expr.type, f"common_count({starts}, {neighbours}, {a}, {b})")


def _between(writer: Writer, expr: f.Op) -> str:
    """Write the sum of an edge field over the edges between two vertices. A field that the graph does not have is
    constant.
    """
    found = writer.place.between(writer, expr)
    if found is not None:
        return found
    assert isinstance(expr.type, Scalar)
    count = f.Op(U32, "between", expr.args, "")
    product = f.Op(expr.type, "mul", (f.EdgeValue(expr.type, str(expr.data)), f.Op(expr.type, "cast", (count,))))
    zero = f.Const(expr.type, 0.0 if expr.type.floating else 0)
    return writer.value(f.Op(expr.type, "select", (f.Op(BOOL, "eq", (count, f.Const(U32, 0))), zero, product)))


WRITERS: Mapping[str, Callable[[Writer, f.Op], str]] = {
    **dict.fromkeys(_INFIX, _infix), **dict.fromkeys(COMPARE, _comparison), "neg": _negate, "div": _divide,
    "floordiv": _floor_divide, "mod": _floor_divide, "pow": _power, "wrappow": _power,
    **dict.fromkeys(("wrapadd", "wrapsub", "wrapmul"), _wrapping), "wrapneg": _wrapping_negative,
    **dict.fromkeys(("exactadd", "exactsub", "exactmul", "exactpow", "exactneg"), _exact),
    "shl": _shift, "shr": _shift,
    "differs": _differs, "not": _logical, "and": _logical, "or": _logical, "select": _select, "cast": _cast,
    "min": _least, "max": _least, "abs": _absolute, "sign": _sign, "bit": _bit, "random": _random, "mix": _mix,
    "waiting": _waiting,
    "position": _position, "len": _length, "common": _common, "between": _between,
    **{name: _whole if rule.whole else _function for name, rule in MATHS.items()},
}  # fmt: skip

