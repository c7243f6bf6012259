"""Evaluates bodies of declared reductions for many operands at once, to test their laws.

Values are NumPy arrays of shape [n], or tuples of such arrays for tuple types. Floats are evaluated in 64 bits, since a
law is about real numbers. Integers are evaluated exactly, in 64 bits; the largest value stands for `inf`. Operands for
which a result overflows 64 bits are left out, since a run with such an overflow ends with an error.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from vlang.check.tables.checking import Run
from vlang.check.tables.typing import concrete
from vlang.maths import MATHS
from vlang.syntax import tree as t
from vlang.types import BOOL, CONVERSIONS, U64, Scalar, Tuple, Type, common

__all__ = ["Array", "Evaluator", "Operand", "Unsupported", "converted", "dtype_of", "stored"]

Array = NDArray[Any]
Operand = Array | tuple[Array, ...]

_MATHS: dict[str, Callable[..., Array]] = {name: getattr(np, rule.numpy or name) for name, rule in MATHS.items()}
_BINARY: dict[str, Callable[[Array, Array], Array]] = {
    "+": np.add, "-": np.subtract, "*": np.multiply, "/": np.true_divide, "//": np.floor_divide, "%": np.mod,
    "**": np.power, "<<": np.left_shift, ">>": np.right_shift, "|": np.bitwise_or, "&": np.bitwise_and,
    "^": np.bitwise_xor,
}
_HIGH, _LOW = np.iinfo(np.int64).max, np.iinfo(np.int64).min
_LIMIT = 2.0**62  # a result whose float estimate is smaller fits in 64 bits
_COMPARE: dict[str, Callable[[Array, Array], Array]] = {
    "==": np.equal, "!=": np.not_equal, "<": np.less, "<=": np.less_equal, ">": np.greater, ">=": np.greater_equal,
}


class Unsupported(Exception):
    """A body that cannot be evaluated outside of a run, since it reads the graph or its vertices."""


def dtype_of(type_: Scalar) -> np.dtype[Any]:
    """The NumPy type in which values of a type are evaluated. Raises Unsupported."""
    if type_ == BOOL:
        return np.dtype(bool)
    if type_.floating:
        return np.dtype(np.float64)
    if not type_.integral:
        raise Unsupported
    return np.dtype(np.int64)


def stored(values: Sequence[Any], type_: Scalar) -> Array:
    """Convert values to an array for evaluation: the extreme values of a signed type become infinities."""
    if dtype_of(type_) != np.int64:
        return np.array(values, dtype_of(type_))
    ends = {type_.highest: _HIGH, type_.lowest: _LOW} if type_.kind == "int" else {}
    return np.array([ends.get(int(v), min(max(int(v), _LOW), _HIGH)) for v in values], np.int64)


def converted(value: Operand, type_: Type) -> Operand:
    """Convert a value to `type_`; infinite floats become infinite integers.

    Evaluation uses signed integers only. The largest unsigned 64-bit integer becomes the largest signed integer, which
    stands for `inf`. All other literals of more than 63 bits become the largest signed integer less 1.
    """
    if isinstance(type_, Tuple):
        if not isinstance(value, tuple):
            raise Unsupported
        return tuple(cast(Array, converted(v, s)) for v, s in zip(value, type_.items, strict=True))
    if isinstance(value, tuple) or not isinstance(type_, Scalar):
        raise Unsupported
    dtype = dtype_of(type_)
    if value.dtype.kind == "u" and dtype.kind == "i":  # a literal of more than 63 bits
        value = np.where(value == np.uint64(U64.highest), _HIGH, _HIGH - 1)
    if value.dtype.kind == "f" and dtype.kind == "i":
        finite = np.where(np.isfinite(value), value, 0).astype(dtype)
        most = _HIGH if type_.kind == "int" else min(type_.highest, _HIGH)
        return np.where(value == np.inf, most, np.where(value == -np.inf, _LOW, finite)).astype(dtype)
    if value.dtype.kind == "i" and dtype.kind == "f":
        return _real(value)
    if type_.kind == "int" and value.ndim == 0 and int(value) in (type_.lowest, type_.highest):
        return stored([int(value)], type_).reshape(())  # a literal that is an infinity of the type
    return value.astype(dtype)


def _real(value: Array) -> Array:
    """Convert integers to floats. Infinite integers stay infinite."""
    if value.dtype.kind != "i":
        return value.astype(np.float64)
    far = np.where(value == _HIGH, np.inf, np.where(value == _LOW, -np.inf, 0.0))
    return np.where(far != 0, far, value.astype(np.float64))


def _negative(value: Array) -> Array:
    """-x; infinite integers swap signs."""
    if value.dtype.kind != "i":
        return np.asarray(np.negative(value))
    return np.where(value == _HIGH, _LOW, np.where(value == _LOW, _HIGH, -np.where(value == _LOW, 0, value)))


class Evaluator:
    """Evaluates expressions over operands and parameters.

    Attributes:
        run: the running check.
        given: the values of the parameters that the expressions read.
        left: bool[n], true for operands for which an integer has overflowed 64 bits since the last call of `within`.
    """

    def __init__(self, run: Run, given: dict[str, Array]) -> None:
        self.run = run
        self.given = given
        self.left: Array = np.asarray(False)
        self._wraps = False

    def within(self, wrong: Array) -> Array:
        """Return `wrong` (bool[n]), with false for operands for which an integer has overflowed 64 bits since the last
        call.
        """
        left, self.left = self.left, np.asarray(False)
        return np.asarray(wrong & ~left)

    def call(self, node: t.Reduction, left: Operand, right: Operand, type_: Type) -> Operand:
        """f(left, right) for a declared reduction. Raises Unsupported.

        Args:
            node: the reduction.
            left: the values of the first operand.
            right: the values of the second operand.
            type_: the type of the result.
        """
        with np.errstate(all="ignore"):
            return converted(self.value(node.value, {node.left: left, node.right: right}), type_)

    def value(self, node: t.Expr, env: dict[str, Operand]) -> Operand:
        """The value of an expression; `env` holds the values of arguments by name. Raises Unsupported."""
        if isinstance(node, t.Literal):
            if node.value is None:
                raise Unsupported
            return np.asarray(node.value)
        if isinstance(node, t.Name):
            return self._name(node, env)
        if isinstance(node, t.TupleExpr):
            return tuple(self._scalar(part, env) for part in node.items)
        if isinstance(node, t.Index) and isinstance(node.index, t.Literal) and isinstance(node.index.value, int):
            whole = self.value(node.value, env)
            if isinstance(whole, tuple):
                return whole[node.index.value]
        if isinstance(node, t.Call):
            return self._call(node, env)
        if isinstance(node, t.Conditional):
            yes, no = (self._alike(self.run.types[node], self.value(part, env)) for part in (node.yes, node.no))
            return self._choice(self._scalar(node.test, env), yes, no)
        return self._operator(node, env)

    def _name(self, node: t.Name, env: dict[str, Operand]) -> Operand:
        if node.name in env:
            return env[node.name]
        if node.name in self.given:
            return self.given[node.name]
        raise Unsupported

    def _scalar(self, node: t.Expr, env: dict[str, Operand]) -> Array:
        value = self.value(node, env)
        if isinstance(value, tuple):
            raise Unsupported
        return value

    def _type(self, node: t.Expr) -> Scalar:
        type_ = concrete(self.run.types[node], self.run.precision)
        if not isinstance(type_, Scalar):
            raise Unsupported
        return type_

    def _alike(self, type_: Type | None, value: Operand) -> Operand:
        """Convert an operand to the numeric type of a comparison; in a comparison of integers, `inf` becomes an
        integer.
        """
        scalar = None if type_ is None else concrete(type_, self.run.precision)
        if not isinstance(scalar, Scalar) or not scalar.numeric or isinstance(value, tuple):
            return value
        return _real(value) if scalar.floating else converted(value, scalar)

    def _operator(self, node: t.Expr, env: dict[str, Operand]) -> Operand:
        if isinstance(node, t.Unary):
            value = self._scalar(node.value, env)
            return np.logical_not(value) if node.op == "not" else _negative(value)
        if isinstance(node, t.Logical):
            left, right = self._scalar(node.left, env), self._scalar(node.right, env)
            return np.logical_and(left, right) if node.op == "and" else np.logical_or(left, right)
        if isinstance(node, t.Compare):
            type_ = common(self.run.types[node.left], self.run.types[node.right])
            sides = (self._alike(type_, self.value(side, env)) for side in (node.left, node.right))
            return self._compare(node.op, *sides)
        if isinstance(node, t.Binary):
            return self._binary(node, node.op, self._scalar(node.left, env), self._scalar(node.right, env))
        raise Unsupported

    def _binary(self, node: t.Expr, op: str, left: Array, right: Array) -> Array:
        type_ = self._type(node)
        if self.run.types[node] != type_ and left.ndim == right.ndim == 0:
            return _BINARY[op](left, right)  # both operands are literals
        if op == "/" or type_.floating:
            return _BINARY[op](_real(left), _real(right))
        left, right = cast(Array, converted(left, type_)), cast(Array, converted(right, type_))
        if self._wraps and op in ("+", "-", "*", "**"):
            work = np.dtype(f"{'u' if type_.kind == 'uint' else 'i'}{type_.bits // 8}")
            return _BINARY[op](left.astype(work), right.astype(work)).astype(work).astype(np.int64)
        result = _BINARY[op](left, right)
        if op not in ("+", "-", "*", "**"):
            return result
        far = (np.abs(left) >= _HIGH) | (left == _LOW) | (np.abs(right) >= _HIGH) | (right == _LOW)
        size = np.abs(_BINARY[op](left.astype(np.float64), right.astype(np.float64)))
        self.left = self.left | (~far & ~(size < _LIMIT))
        return _absorbed(op, left, right, result)

    def _compare(self, op: str, left: Operand, right: Operand) -> Array:
        if not isinstance(left, tuple) and not isinstance(right, tuple):
            return _COMPARE[op](left, right)
        if not (isinstance(left, tuple) and isinstance(right, tuple)):
            raise Unsupported
        less, equal = _lexicographic(left, right)
        return {"==": equal, "!=": ~equal, "<": less, "<=": less | equal, ">": ~(less | equal), ">=": ~less}[op]

    def _choice(self, test: Array, yes: Operand, no: Operand) -> Operand:
        if isinstance(yes, tuple) and isinstance(no, tuple):
            return tuple(np.where(test, y, n) for y, n in zip(yes, no, strict=True))
        if isinstance(yes, tuple) or isinstance(no, tuple):
            raise Unsupported
        return np.where(test, yes, no)

    def _call(self, node: t.Call, env: dict[str, Operand]) -> Operand:
        if node.name == "wrap":
            outer, self._wraps = self._wraps, True
            wrapped = self.value(node.args[0], env)
            self._wraps = outer
            return wrapped
        symbol = self.run.symbols.get(node)
        args = [self.value(arg, env) for arg in node.args]
        if symbol is not None and isinstance(symbol.decl, t.Reduction) and symbol.type is not None:
            return self.call(symbol.decl, args[0], args[1], symbol.type)
        if symbol is not None and isinstance(symbol.decl, t.Function):
            return self._function(symbol.decl, args)
        if node.name in ("min", "max") and len(args) > 1:
            best, *others = (self._alike(self.run.types[node], arg) for arg in args)
            for other in others:
                best = self._extreme(node.name, best, other)
            return best
        return self._of_numbers(node, [self._scalar_of(arg) for arg in args])

    @staticmethod
    def _scalar_of(value: Operand) -> Array:
        if isinstance(value, tuple):
            raise Unsupported
        return value

    def _of_numbers(self, node: t.Call, args: list[Array]) -> Array:
        """The value of a built-in function of numbers. Raises Unsupported for any other function."""
        name, first = node.name, args[0]
        if name in MATHS:
            if not MATHS[name].whole:
                return _MATHS[name](*map(_real, args))
            return cast(Array, converted(_MATHS[name](first), self._type(node))) if first.dtype.kind == "f" else first
        if name in CONVERSIONS:
            return cast(Array, converted(np.trunc(first) if first.dtype.kind == "f" else first, self._type(node)))
        if name == "pow":
            return self._binary(node, "**", *args)
        if name == "clamp":
            value, low, high = (cast(Array, self._alike(self.run.types[node], arg)) for arg in args)
            return np.asarray(np.minimum(np.maximum(value, low), high))
        if name == "abs":
            return np.where(first < 0, _negative(first), first)
        if name == "sign":
            return np.where(first > 0, 1, np.where(first < 0, -1, first)).astype(first.dtype)
        if name == "isnan":
            return np.isnan(_real(first))
        raise Unsupported

    def _function(self, decl: t.Function, args: list[Operand]) -> Operand:
        inner: dict[str, Operand] = {}
        for index, param in enumerate(decl.params):
            if index < len(args):
                inner[param.name] = args[index]
            elif param.default is not None:
                inner[param.name] = self.value(param.default, {})
        return self.value(decl.value, inner)

    def _extreme(self, name: str, first: Operand, second: Operand) -> Operand:
        """`min` or `max` of two values. If two tuples are equal, the result is the first tuple."""
        if not isinstance(first, tuple) or not isinstance(second, tuple):
            if isinstance(first, tuple) or isinstance(second, tuple):
                raise Unsupported
            return np.minimum(first, second) if name == "min" else np.maximum(first, second)
        takes = self._compare("<" if name == "min" else ">", second, first)
        return self._choice(takes, second, first)


def _absorbed(op: str, left: Array, right: Array, result: Array) -> Array:
    """The result of an integer operation, replaced by an infinity where an operand is infinite.

    A sum of two opposite infinities is `inf`.
    """
    if op in ("*", "**"):
        signs = np.sign(left.astype(np.float64)) * np.sign(right.astype(np.float64))
        far = (left == _HIGH) | (left == _LOW) | (right == _HIGH) | (right == _LOW)
        return np.where(far, np.where(signs > 0, _HIGH, np.where(signs < 0, _LOW, 0)), result)
    right = right if op == "+" else _negative(right)
    high, low = (left == _HIGH) | (right == _HIGH), (left == _LOW) | (right == _LOW)
    return np.where(high, _HIGH, np.where(low, _LOW, result))


def _lexicographic(left: tuple[Array, ...], right: tuple[Array, ...]) -> tuple[Array, Array]:
    """Return two bool arrays: whether each element of left comes before that of right, and whether the two are equal.
    """
    less: Array = np.asarray(False)
    equal: Array = np.asarray(True)
    for x, y in zip(left, right, strict=True):
        less, equal = less | (equal & (x < y)), equal & (x == y)
    return less, equal
