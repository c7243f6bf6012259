"""Bodies of declared reductions, evaluated for many operands at once, to test their laws.

Values are NumPy arrays of shape [n], tuples of them for tuple types. Floats are evaluated in 64 bits, since a law
is about real numbers; integers wrap as they do in a run, and the largest signed value is `inf`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from vlang.check.tables.checking import Run
from vlang.check.tables.typing import settle
from vlang.syntax import tree as t
from vlang.types import BOOL, Scalar, Tuple, Type

__all__ = ["Array", "Evaluator", "Operand", "Unsupported", "converted", "dtype_of"]

Array = NDArray[Any]
Operand = Array | tuple[Array, ...]

_REAL: dict[str, Callable[[Array], Array]] = {
    "sqrt": np.sqrt, "exp": np.exp, "log": np.log, "log1p": np.log1p, "tanh": np.tanh,
}
_BINARY: dict[str, Callable[[Array, Array], Array]] = {
    "+": np.add, "-": np.subtract, "*": np.multiply, "/": np.true_divide, "//": np.floor_divide, "%": np.mod,
    "**": np.power, "<<": np.left_shift, ">>": np.right_shift, "|": np.bitwise_or, "&": np.bitwise_and,
    "^": np.bitwise_xor,
}
_COMPARE: dict[str, Callable[[Array, Array], Array]] = {
    "==": np.equal, "!=": np.not_equal, "<": np.less, "<=": np.less_equal, ">": np.greater, ">=": np.greater_equal,
}


class Unsupported(Exception):
    """A body that has a value only in a run: it reads the graph or its vertices."""


def dtype_of(type_: Scalar) -> np.dtype[Any]:
    """The array type in which values of a type are evaluated."""
    if type_ == BOOL:
        return np.dtype(bool)
    if type_.floating:
        return np.dtype(np.float64)
    if not type_.integral:
        raise Unsupported
    return np.dtype(f"{'u' if type_.kind == 'uint' else 'i'}{max(type_.bits, 8) // 8}")


def converted(value: Operand, type_: Type) -> Operand:
    """The value as one of `type_`; infinite floats become infinite integers."""
    if isinstance(type_, Tuple):
        if not isinstance(value, tuple):
            raise Unsupported
        return tuple(cast(Array, converted(v, s)) for v, s in zip(value, type_.items, strict=True))
    if isinstance(value, tuple) or not isinstance(type_, Scalar):
        raise Unsupported
    dtype = dtype_of(type_)
    if value.dtype.kind == "f" and dtype.kind in "iu":
        finite = np.where(np.isfinite(value), value, 0).astype(dtype)
        above = np.where(value == np.inf, np.array(type_.highest, dtype), finite)
        return np.where(value == -np.inf, np.array(type_.lowest, dtype), above)
    return value.astype(dtype)


class Evaluator:
    """Evaluates expressions over operands and parameters. given: the values of the parameters that they read."""

    def __init__(self, run: Run, given: dict[str, Array]) -> None:
        self.run = run
        self.given = given

    def call(self, node: t.Reduction, left: Operand, right: Operand, type_: Type) -> Operand:
        """f(left, right) for a declared reduction. Raises Unsupported.

        Args:
            node: the reduction.
            left: arrays of the first operand.
            right: arrays of the second operand.
            type_: of the result.
        """
        with np.errstate(all="ignore"):
            return converted(self.value(node.value, {node.left: left, node.right: right}), type_)

    def value(self, node: t.Expr, env: dict[str, Operand]) -> Operand:
        """The value of an expression; `env` holds the arguments."""
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
            return self._choice(self._scalar(node.test, env), self.value(node.yes, env), self.value(node.no, env))
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
        type_ = settle(self.run.types[node], self.run.precision)
        if not isinstance(type_, Scalar):
            raise Unsupported
        return type_

    def _operator(self, node: t.Expr, env: dict[str, Operand]) -> Operand:
        if isinstance(node, t.Unary):
            value = self._scalar(node.value, env)
            return np.logical_not(value) if node.op == "not" else np.negative(value)
        if isinstance(node, t.Logical):
            left, right = self._scalar(node.left, env), self._scalar(node.right, env)
            return np.logical_and(left, right) if node.op == "and" else np.logical_or(left, right)
        if isinstance(node, t.Compare):
            return self._compare(node.op, self.value(node.left, env), self.value(node.right, env))
        if isinstance(node, t.Binary):
            return self._binary(node, self._scalar(node.left, env), self._scalar(node.right, env))
        raise Unsupported

    def _binary(self, node: t.Binary, left: Array, right: Array) -> Array:
        type_ = self._type(node)
        if self.run.types[node] != type_ and left.ndim == right.ndim == 0:
            return _BINARY[node.op](left, right)  # of literals only
        if node.op == "/" or type_.floating:
            left, right = left.astype(np.float64), right.astype(np.float64)
            return _BINARY[node.op](left, right)
        left, right = cast(Array, converted(left, type_)), cast(Array, converted(right, type_))
        result = _BINARY[node.op](left, right)
        return _absorbed(node.op, left, right, result, type_) if type_.kind == "int" else result

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
        symbol = self.run.symbols.get(node)
        args = [self.value(arg, env) for arg in node.args]
        if symbol is not None and isinstance(symbol.decl, t.Reduction) and symbol.type is not None:
            return self.call(symbol.decl, args[0], args[1], symbol.type)
        if symbol is not None and isinstance(symbol.decl, t.Function):
            return self._function(symbol.decl, args)
        if node.name in ("min", "max") and len(args) > 1:
            best = args[0]
            for other in args[1:]:
                best = self._extreme(node.name, best, other)
            return best
        if len(args) != 1 or isinstance(args[0], tuple):
            raise Unsupported
        return self._of_one(node.name, args[0])

    def _of_one(self, name: str, value: Array) -> Array:
        if name in _REAL:
            return _REAL[name](value.astype(np.float64))
        if name == "abs":
            return np.abs(value)
        if name == "wrap":
            return value
        if name == "floor":
            return np.floor(value)
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
        """`min` or `max`; of two equal tuples the first."""
        if not isinstance(first, tuple) or not isinstance(second, tuple):
            if isinstance(first, tuple) or isinstance(second, tuple):
                raise Unsupported
            return np.minimum(first, second) if name == "min" else np.maximum(first, second)
        takes = self._compare("<" if name == "min" else ">", second, first)
        return self._choice(takes, second, first)


def _absorbed(op: str, left: Array, right: Array, result: Array, type_: Scalar) -> Array:
    """`inf + x` and `inf - x` of signed integers."""
    if op not in ("+", "-"):
        return result
    high, low = np.array(type_.highest, result.dtype), np.array(type_.lowest, result.dtype)
    other_high, other_low = (right == high, right == low) if op == "+" else (right == low, right == high)
    result = np.where(other_high, high, np.where(other_low, low, result))
    return np.where(left == high, high, np.where(left == low, low, result))


def _lexicographic(left: tuple[Array, ...], right: tuple[Array, ...]) -> tuple[Array, Array]:
    """For each element, whether left comes before right, and whether they are equal."""
    less: Array = np.asarray(False)
    equal: Array = np.asarray(True)
    for x, y in zip(left, right, strict=True):
        less, equal = less | (equal & (x < y)), equal & (x == y)
    return less, equal
