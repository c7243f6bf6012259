"""The failures that trap mode reports: for each operation, an expression that is true where the operation fails.

Section 6.1 of language.md lists the failures.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from vlang.ir.forms import forms as f
from vlang.ir.traps import build as b
from vlang.maths import MATHS, WHOLE
from vlang.types import VERTEX, Scalar, Vector

__all__ = ["KINDS", "failures", "reduction_failures", "scalars"]

KINDS: Mapping[str, str] = {
    "infinite": "leaves its type or becomes infinite, although its operands are finite",
    "infinite operand": "computes with an infinite integer",
    "nan": "is NaN, although no operand is",
    "nan operand": "compares a NaN",
    "division by zero": "divides by zero",
    "index": "has an index outside of the vector",
    "shift": "shifts by less than 0, or by the width of the type or more",
    "none": "reads or orders `none`",
}
"""Each kind of failure, with the words of its message."""

Failure = tuple[str, f.Expr]
"""A kind of failure, and a bool expression that is true where this failure happens."""

_DIVISIONS = frozenset({"div", "floordiv", "mod"})
_ORDERINGS = frozenset({"lt", "le", "gt", "ge", "min", "max"})
_ARITHMETIC = frozenset({"add", "sub", "mul", "pow", "neg"})
_ROUNDED = _DIVISIONS | {"add", "sub", "mul", "pow", "cast",
                         *(name for name, rule in MATHS.items() if rule.infinite or rule.undefined)}


def failures(op: f.Op, compared: bool) -> Iterator[Failure]:
    """Yield the failures of an operation on scalars or tuples, without the failures of its operands.

    Args:
        op: The operation.
        compared: Whether the value only decides a minimum, a maximum or a comparison. An infinite integer operand is
            then intended, and is no failure.
    """
    if op.op in _ORDERINGS:
        yield from _ordering(op)
    elif op.op == "component":
        yield from _index(op)
    elif op.op in ("shl", "shr"):
        yield from _shift(op)
    elif op.op == "between":
        yield from _between(op)
    elif op.op in WHOLE:
        yield from _rounding(op)
    elif isinstance(op.type, Scalar) and op.type.floating and op.op in _ROUNDED:
        yield from _float(op)
    elif isinstance(op.type, Scalar) and op.type.integral:
        yield from _integer(op, compared)


def scalars(op: f.Op) -> tuple[f.Op, ...]:
    """Split an operation into operations on scalars: one operation per component of a vector, or a chain that folds a
    vector.
    """
    if op.op in ("vsum", "dot", "vmin", "vmax", "vargmin", "vargmax"):
        return tuple(_chain(op))
    vector = next((e.type for e in (op, *op.args) if isinstance(e.type, Vector)), None)
    if vector is None or op.op in ("vector", "broadcast", "reverse", "component", "part", "eq", "ne", "differs",
                                   "hll_unit", "hll_size", "select", "user"):
        return (op,)
    item = op.type.item if isinstance(op.type, Vector) else op.type
    return tuple(f.Op(item, op.op, tuple(b.component(arg, k) for arg in op.args), op.data) for k in range(vector.size))


_FOLDED = {"vmin": "min", "vargmin": "min", "vmax": "max", "vargmax": "max"}


def _chain(op: f.Op) -> Iterator[f.Op]:
    """The binary operations that fold the components of a vector, from the left."""
    vector = op.args[0].type
    assert isinstance(vector, Vector)
    parts: list[f.Expr] = [b.component(op.args[0], k) for k in range(vector.size)]
    if op.op == "dot":
        products = [f.Op(op.type, "mul", (part, b.component(op.args[1], k))) for k, part in enumerate(parts)]
        yield from products
        parts = list(products)
    total = parts[0]
    for part in parts[1:]:
        step = f.Op(part.type, _FOLDED.get(op.op, "add"), (total, part))
        yield step
        total = step


def _ordering(op: f.Op) -> Iterator[Failure]:
    items = [b.items(arg) for arg in op.args]
    floats = [item for each in items for item in each if isinstance(item.type, Scalar) and item.type.floating]
    if floats:
        yield "nan operand", b.some(*map(b.nan, floats))
    if op.op not in ("min", "max") and op.args[0].type == VERTEX:
        yield "none", b.some(*map(b.is_none, op.args))


def _index(op: f.Op) -> Iterator[Failure]:
    vector, index = op.args
    assert isinstance(vector.type, Vector)
    if not isinstance(index, f.Const):
        yield "index", b.outside(index, 0, vector.type.size - 1)


def _shift(op: f.Op) -> Iterator[Failure]:
    distance = op.args[-1]
    assert isinstance(op.type, Scalar)
    yield "shift", b.outside(distance, 0, op.type.bits - 1)


def _between(op: f.Op) -> Iterator[Failure]:
    """Yield the failure of `weight(a, b)`. The terms are finite, because trap mode refuses a field with infinite
    values.
    """
    if isinstance(op.data, str) and op.data and isinstance(op.type, Scalar):
        infinite = b.infinite(op) if b.can_be_infinite(op) else b.compare("eq", op, f.Const(op.type, op.type.highest))
        yield "infinite", infinite


def _float(op: f.Op) -> Iterator[Failure]:
    floats = [arg for arg in op.args if isinstance(arg.type, Scalar) and arg.type.floating]
    whole = [arg for arg in op.args if arg not in floats and op.op == "cast"]
    if op.op in _DIVISIONS:
        a, divisor = op.args
        yield "division by zero", b.both(b.equal(divisor, 0), b.no(b.nan(a)))
        yield "infinite", b.both(b.infinite(op), *(b.no(b.infinite(arg)) for arg in floats), b.no(b.equal(divisor, 0)))
        yield "nan", b.both(b.nan(op), *(b.no(b.nan(arg)) for arg in floats), b.no(b.equal(divisor, 0)))
        return
    finite = [b.no(b.infinite(arg)) for arg in (*floats, *whole) if b.can_be_infinite(arg)]
    rule = MATHS.get(op.op)
    if rule is None or rule.infinite:
        yield "infinite", b.both(b.infinite(op), *finite)
    if op.op != "cast" if rule is None else rule.undefined:
        yield "nan", b.both(b.nan(op), *(b.no(b.nan(arg)) for arg in floats))


def _rounding(op: f.Op) -> Iterator[Failure]:
    """Yield the failures of the conversion of a float to an integer."""
    (a,), target = op.args, op.type
    assert isinstance(target, Scalar)
    yield "nan operand", b.nan(a)
    if target.kind == "int":
        yield "infinite", b.both(b.infinite(op), b.no(b.infinite(a)))
    else:  # rounded towards 0: all that is above -1 fits
        yield "infinite", b.some(b.compare("le", a, f.Const(a.type, -1.0)),
                                 b.compare("ge", a, f.Const(a.type, 2.0**target.bits)))


def _integer(op: f.Op, compared: bool) -> Iterator[Failure]:
    assert isinstance(op.type, Scalar)
    if op.op in ("floordiv", "mod"):
        yield "division by zero", b.equal(op.args[1], 0)
        if op.type.kind == "int":
            yield from _operands(op)
    elif op.op == "cast" and op.data != "wrap":
        yield from _conversion(op)
    elif op.op in _ARITHMETIC and op.type.kind == "uint":
        yield "infinite", _unsigned(op)
    elif op.op in _ARITHMETIC:
        finite = [b.no(b.infinite(arg)) for arg in op.args if arg.type == op.type]
        yield "infinite", b.both(b.infinite(op), *finite)
        if not compared:
            yield from _operands(op)
        elif op.op in _UNDECIDED:
            yield "infinite operand", _UNDECIDED[op.op](*op.args)


def _operands(op: f.Op) -> Iterator[Failure]:
    found = [b.infinite(arg) for arg in op.args if arg.type == op.type and not _meant(arg)]
    if found:
        yield "infinite operand", b.some(*found)


def _meant(arg: f.Expr) -> bool:
    """Return whether an operand is written as a literal, so that its infinity is intended."""
    return isinstance(arg, f.Const) or (isinstance(arg, f.Op) and arg.op in ("cast", "neg") and _meant(arg.args[0]))


def _opposite(x: f.Expr, y: f.Expr) -> f.Expr:
    return b.some(b.both(b.up(x), b.down(y)), b.both(b.down(x), b.up(y)))


_UNDECIDED: Mapping[str, Callable[[f.Expr, f.Expr], f.Expr]] = {
    "add": _opposite,
    "sub": lambda x, y: b.some(b.both(b.up(x), b.up(y)), b.both(b.down(x), b.down(y))),
    "mul": lambda x, y: b.some(b.both(b.infinite(x), b.equal(y, 0)), b.both(b.equal(x, 0), b.infinite(y))),
}
"""For each operator, whether infinite operands leave the result undefined: inf + -inf, inf - inf, 0 * inf."""


def _conversion(op: f.Op) -> Iterator[Failure]:
    """Yield the failure of a conversion of an integer to a type that cannot hold the value."""
    (a,), target = op.args, op.type
    source = a.type
    assert isinstance(target, Scalar)
    if not isinstance(source, Scalar) or not source.integral:
        return
    low, high = target.lowest, target.highest
    if target.kind == "int":
        low, high = low + 1, high - 1
    tests = []
    if source.lowest < low:
        tests.append(b.below(a, low))
    if source.highest > high:
        tests.append(b.above(a, high))
    if tests:
        signed = source.kind == "int" and target.kind == "int"
        yield "infinite", b.both(b.some(*tests), *([b.no(b.infinite(a))] if signed else []))


def _unsigned(op: f.Op) -> f.Expr:
    """Return whether an unsigned result was clamped."""
    type_, first = op.type, op.args[0]
    assert isinstance(type_, Scalar)
    most = f.Const(type_, type_.highest)
    if op.op == "neg":
        return b.no(b.equal(first, 0))
    second = op.args[1]
    if op.op == "add":
        return b.compare("gt", first, f.Op(type_, "sub", (most, second)))
    if op.op == "sub":
        return b.compare("lt", first, second)
    if op.op == "mul":
        return b.both(b.no(b.equal(first, 0)), b.compare("gt", second, f.Op(type_, "floordiv", (most, first))))
    return b.both(b.compare("eq", op, most), b.no(b.equal(second, 1)))  # only the first power of a base is 2^k - 1


def reduction_failures(reduce: f.Reduce, value: f.Expr, some: Callable[[f.Expr], f.Expr]) -> Iterator[Failure]:
    """The failures of a reduction, without the failures in its terms.

    Args:
        reduce: The reduction.
        value: A read of its result.
        some: Returns an expression for `any(test)` over the terms.
    """
    operator, terms = reduce.operator, b.items(reduce.body)
    floats = [term for term in terms if isinstance(term.type, Scalar) and term.type.floating]
    results = b.items(value)
    if operator in ("min", "max") or (reduce.name == "median" and not reduce.user):
        if floats:
            yield "nan operand", some(b.some(*map(b.nan, floats)))
    elif floats and (reduce.user or operator in ("+", "*") or reduce.name == "mean"):
        good = b.no(some(b.some(*map(b.nan, floats))))
        yield "nan", b.both(b.some(*(b.nan(r) for r in results if b.floating(r))), good)
        if not reduce.user:
            good = b.no(some(b.some(*map(b.infinite, floats))))
            yield "infinite", b.both(b.some(*map(b.infinite, results)), good)
    elif operator in ("+", "*"):
        yield from _exact(reduce, results, terms, some)


def _exact(reduce: f.Reduce, results: tuple[f.Expr, ...], terms: tuple[f.Expr, ...],
           some: Callable[[f.Expr], f.Expr]) -> Iterator[Failure]:
    """Yield the failures of sums and products of integers, which are computed exactly."""
    type_ = results[0].type
    assert isinstance(type_, Scalar)
    if type_.kind == "int":
        far = some(b.some(*map(b.infinite, terms)))
        yield "infinite operand", far
        yield "infinite", b.both(b.some(*map(b.infinite, results)), b.no(far))
    else:
        yield "infinite", b.some(*(b.compare("eq", r, f.Const(type_, type_.highest)) for r in results))

