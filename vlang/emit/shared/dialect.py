"""The interface of a dialect: the text of values, operations, accumulators and functions on a target.

The writers produce straight-line code, one named value a line; a dialect supplies the text of each piece.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

from vlang.types import BOOL, F16, VERTEX, Scalar, Tuple, Type, Vector, VertexSet

__all__ = ["NONE", "SATURATED", "Dialect", "Entry", "Function", "Run", "runs_of", "scalars_of", "stored_as", "width_of"]

SATURATED = {"add": "saturated_add", "sub": "saturated_sub", "mul": "saturated_mul", "sizes": "add_sizes"}
"""The functions of both targets for integers that do not wrap."""
NONE = (1 << 32) - 1  # the vertex `none`, as ids are stored


def stored_as(type_: Type) -> str:
    """The name of the type that arrays and slots store.

    A bool is a byte, an f16 its 16 bits, a vector its components, a set of vertices the number of its vertices.
    """
    if isinstance(type_, Vector):
        type_ = type_.item
    if isinstance(type_, VertexSet):
        return "i64"
    assert isinstance(type_, Scalar)
    if type_ == BOOL:
        return "u8"
    return "u16" if type_ == F16 else _plain(type_)


def _plain(type_: Scalar) -> str:
    if type_ == VERTEX:
        return "u32"
    return {"integer": "i64", "number": "f64"}.get(type_.name, type_.name)


def width_of(type_: Type) -> int:
    """The number of consecutive array entries that a value takes."""
    return type_.size if isinstance(type_, Vector) else 1


def scalars_of(type_: Type) -> tuple[Scalar, ...]:
    """The types of the components of a value in computations; one for a scalar."""
    if isinstance(type_, Vector):
        return (type_.item,) * type_.size
    if isinstance(type_, Tuple):
        return type_.items
    assert isinstance(type_, Scalar)
    return (type_,)


@dataclass(frozen=True)
class Run:
    """Components stored next to each other in one array. first: the number of the first of them."""

    type: Scalar
    width: int
    first: int


def runs_of(type_: Type) -> tuple[Run, ...]:
    """The arrays of a value: one for a scalar or vector, one for each item of a tuple."""
    if isinstance(type_, Vector):
        return (Run(type_.item, type_.size, 0),)
    return tuple(Run(item, 1, number) for number, item in enumerate(scalars_of(type_)))


@dataclass(frozen=True)
class Entry:
    """A value that functions read from the frame.

    Attributes:
        kind: "pointer" (to dtype) or "value".
        dtype: The stored type.
        name: Its identifier in the environment.
        number: The number of the slot.
    """

    kind: str
    dtype: str
    name: str
    number: int


@dataclass(frozen=True)
class Function:
    """A generated function. Its name determines its parameters and its use in skeletons.

    Attributes:
        name: as skeletons call it.
        lines: the statements.
        result: the expression that it returns; "" for none.
        head: its declaration in C++, for a name that the table of the dialect does not have.
    """

    name: str
    lines: tuple[str, ...]
    result: str
    head: str = ""


class Dialect(ABC):
    """The spelling of code for one target."""

    boolean: str
    true: str
    false: str

    # ----------------------------------------------------------------- types and constants
    def typename(self, type_: Type) -> str:
        """The name of a scalar type in computations; vertices are u32, f16 computes as f32."""
        assert isinstance(type_, Scalar)
        if type_ == BOOL:
            return self.boolean
        return "f32" if type_ == F16 else _plain(type_)

    def constant(self, value: bool | int | float | None, type_: Type) -> str:
        """A constant of a scalar type; an infinite float in an integer type is its largest or least value."""
        assert isinstance(type_, Scalar)
        if value is None:
            return self.integer(NONE, VERTEX)
        if type_ == BOOL:
            return self.true if value else self.false
        if type_.floating:
            return self.floating(float(value), type_)
        if isinstance(value, float) and math.isinf(value):
            value = type_.highest if value > 0 else type_.lowest
        return self.integer(int(value), type_)

    @abstractmethod
    def integer(self, value: int, type_: Scalar) -> str:
        """An integer constant, or a vertex."""

    @abstractmethod
    def floating(self, value: float, type_: Scalar) -> str:
        """A constant of a floating type, infinity included."""

    def convert(self, type_: Type, text: str) -> str:
        """A value in another type, by a plain conversion."""
        return f"{self.typename(type_)}({text})"

    # ------------------------------------------------------------------------- operations
    @abstractmethod
    def arithmetic(self, sign: str, type_: Type, a: str, b: str) -> str:
        """`a sign b`, wrapping.

        Args:
            sign: One of + - * | & ^ (of bools: | &).
            type_: The type of operands and result.
            a: The left operand.
            b: The right operand.
        """

    @abstractmethod
    def saturated(self, name: str, type_: Type, a: str, b: str) -> str:
        """An operation on integers that clamps the exact result to the type.

        Args:
            name: "add", "sub" or "mul"; "sizes" adds two values >= 0.
            type_: The type of operands and result.
            a: The left operand.
            b: The right operand.
        """

    @abstractmethod
    def negative(self, type_: Type, a: str) -> str:
        """-a of a signed integer or a float."""

    @abstractmethod
    def absolute(self, type_: Type, a: str) -> str:
        """|a| of a float."""

    @abstractmethod
    def function(self, name: str, type_: Type, *arguments: str) -> str:
        """A function of `vlang.maths`, of floats."""

    @abstractmethod
    def power(self, type_: Type, a: str, exponent: Type, b: str) -> str:
        """A power of a float.

        Args:
            type_: The type of the base and the result.
            a: The base.
            exponent: The type of the exponent.
            b: The exponent.
        """

    @abstractmethod
    def select(self, test: str, yes: str, no: str) -> str:
        """`yes` if `test` holds, else `no`; both are computed already."""

    @abstractmethod
    def negation(self, a: str) -> str:
        """not a."""

    @abstractmethod
    def both(self, *parts: str) -> str:
        """Whether all of some bools are true; each one is evaluated."""

    @abstractmethod
    def either(self, *parts: str) -> str:
        """Whether any of some bools is true; each one is evaluated."""

    @abstractmethod
    def conjunction(self, *parts: str) -> str:
        """Whether all of some comparisons hold."""

    @abstractmethod
    def disjunction(self, *parts: str) -> str:
        """Whether any of some comparisons holds."""

    @abstractmethod
    def bits(self, *parts: str) -> str:
        """The bitwise or of some bytes."""

    @abstractmethod
    def flags(self, bits: Sequence[str]) -> str:
        """The result of `apply`: bit k is set if bool k holds."""

    # ------------------------------------------------------------------------- statements
    @abstractmethod
    def named(self, name: str, text: str) -> str:
        """The line that gives a value a name."""

    @abstractmethod
    def assign(self, place: str, text: str) -> str:
        """The line that stores a value."""

    @abstractmethod
    def store_scalar(self, dtype: str, slot: int, text: str) -> str:
        """The line that stores a graph-level value into the frame."""

    # ----------------------------------------------------------------- packed values, frame
    @abstractmethod
    def element(self, pointer: str, index: str, width: int, part: int) -> str:
        """One entry of an array.

        Args:
            pointer: The array.
            index: The vertex or row.
            width: The number of entries of each vertex or row.
            part: The number of the entry.
        """

    @abstractmethod
    def registers(self, names: Sequence[str]) -> str:
        """Bytes packed together, as `hll_size` takes them."""

    @abstractmethod
    def part(self, packed: str, number: int) -> str:
        """One component of a packed accumulator or of packed masks."""

    @abstractmethod
    def pack(self, struct: str, items: Sequence[str]) -> str:
        """Values packed into a structure: "Acc", "Item", "Masks"."""

    @abstractmethod
    def entry(self, number: int, name: str) -> str:
        """An entry of the environment."""

    @abstractmethod
    def column(self, number: int, name: str) -> str:
        """The pointer to an edge column."""

    # ---------------------------------------------------------------------------- the same for all
    def load(self, type_: Type, raw: str) -> str:
        """The text that turns a stored value into a computed one."""
        if type_ == BOOL:
            return f"{raw} != 0"
        return f"half_to_float({raw})" if type_ == F16 else raw

    def store(self, type_: Type, name: str) -> str:
        """The text that turns a computed value into a stored one."""
        if type_ == BOOL:
            return self.select(name, "u8(1)", "u8(0)")
        return f"float_to_half({name})" if type_ == F16 else name
