"""The interface of a dialect: code of values, operations, accumulators and functions for one target.

The writers produce straight-line code, in which each line names one value. A dialect supplies the code of each
operation, function and memory access.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence

from vlang.records import dataclass
from vlang.types import BOOL, F16, VERTEX, Scalar, Tuple, Type, Vector, VertexSet

__all__ = ["NONE", "SATURATED", "Dialect", "Entry", "Function", "Run", "column_as", "runs_of", "scalars_of",
           "stored_as", "width_of"]

SATURATED = {"add": "saturated_add", "sub": "saturated_sub", "mul": "saturated_mul", "sizes": "add_sizes"}
"""The functions for integer arithmetic that does not wrap; both targets have them."""
NONE = (1 << 32) - 1  # the id stored for the vertex `none`


def stored_as(type_: Type) -> str:
    """Return the name of the type with which arrays and slots store values of a type.

    A bool is stored as a byte, and an f16 as 16 bits. A vector is stored as its components, and a set of vertices as
    its size.
    """
    if isinstance(type_, Vector):
        type_ = type_.item
    if isinstance(type_, VertexSet):
        return "i64"
    assert isinstance(type_, Scalar)
    if type_ == BOOL:
        return "u8"
    return "u16" if type_ == F16 else _plain(type_)


def column_as(type_: Type) -> str:
    """Return the name of the type to which the engine converts an edge column: as `stored_as`, except for f16 and bool.
    """
    return type_.name if isinstance(type_, Scalar) and type_ in (BOOL, F16) else stored_as(type_)


def _plain(type_: Scalar) -> str:
    if type_ == VERTEX:
        return "u32"
    return {"integer": "i64", "number": "f64"}.get(type_.name, type_.name)


def width_of(type_: Type) -> int:
    """The number of consecutive array entries that a value takes."""
    return type_.size if isinstance(type_, Vector) else 1


def scalars_of(type_: Type) -> tuple[Scalar, ...]:
    """The types of a value's components in computations; a scalar has one component."""
    if isinstance(type_, Vector):
        return (type_.item,) * type_.size
    if isinstance(type_, Tuple):
        return type_.items
    assert isinstance(type_, Scalar)
    return (type_,)


@dataclass(frozen=True)
class Run:
    """Components stored next to each other in one array.

    Attributes:
        first: the number of the first component.
    """

    type: Scalar
    width: int
    first: int


def runs_of(type_: Type) -> tuple[Run, ...]:
    """Return the arrays of a value: one array for a scalar or vector, and one array for each item of a tuple."""
    if isinstance(type_, Vector):
        return (Run(type_.item, type_.size, 0),)
    return tuple(Run(item, 1, number) for number, item in enumerate(scalars_of(type_)))


@dataclass(frozen=True)
class Entry:
    """A value that generated functions read from the frame.

    Attributes:
        kind: "pointer" (to an array of `dtype`) or "value".
        dtype: The stored type.
        name: The identifier of the value in the environment.
        number: The number of its slot.
    """

    kind: str
    dtype: str
    name: str
    number: int


@dataclass(frozen=True)
class Function:
    """A generated function. The name of a function determines the parameters of the function and the skeletons that
    call it.

    Attributes:
        name: the name by which skeletons call it.
        lines: the statements.
        result: the expression that it returns; "" if it returns nothing.
        head: the C++ declaration of the function, if the dialect's table of declarations does not have its name.
    """

    name: str
    lines: tuple[str, ...]
    result: str
    head: str = ""


class Dialect(ABC):
    """The interface for the code of one target."""

    boolean: str
    true: str
    false: str
    wides: bool = False  # whether a long vector of floats is a single value (vlang.emit.shared.values.wide)

    # ----------------------------------------------------------------- types and constants
    def typename(self, type_: Type) -> str:
        """The name of a scalar type in computations; a vertex is a u32, and an f16 is computed as f32."""
        assert isinstance(type_, Scalar)
        if type_ == BOOL:
            return self.boolean
        return "f32" if type_ == F16 else _plain(type_)

    def constant(self, value: bool | int | float | None, type_: Type) -> str:
        """A constant of a scalar type; in an integer type, an infinity is the largest or least value of the type."""
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
        """A constant of an integer type or of type vertex."""

    @abstractmethod
    def floating(self, value: float, type_: Scalar) -> str:
        """A constant of a float type, which may be infinite."""

    def convert(self, type_: Type, text: str) -> str:
        """A value converted to another type by a plain conversion."""
        return f"{self.typename(type_)}({text})"

    # ------------------------------------------------------------------------- operations
    @abstractmethod
    def arithmetic(self, sign: str, type_: Type, a: str, b: str) -> str:
        """`a sign b`, where integers wrap.

        Args:
            sign: One of + - * | & ^; for bools, one of | &.
            type_: The type of operands and result.
            a: The left operand.
            b: The right operand.
        """

    @abstractmethod
    def saturated(self, name: str, type_: Type, a: str, b: str) -> str:
        """Return code of an operation on integers that clamps the exact result to the type.

        Args:
            name: "add", "sub" or "mul"; "sizes" adds two values that are >= 0.
            type_: The type of operands and result.
            a: The left operand.
            b: The right operand.
        """

    @abstractmethod
    def negative(self, type_: Type, a: str) -> str:
        """-a, for a signed integer or a float."""

    @abstractmethod
    def absolute(self, type_: Type, a: str) -> str:
        """|a|, for a float."""

    @abstractmethod
    def function(self, name: str, type_: Type, *arguments: str) -> str:
        """A function of `vlang.maths`, applied to floats."""

    @abstractmethod
    def power(self, type_: Type, a: str, exponent: Type, b: str) -> str:
        """A float raised to a power.

        Args:
            type_: The type of the base and the result.
            a: The base.
            exponent: The type of the exponent.
            b: The exponent.
        """

    @abstractmethod
    def select(self, test: str, yes: str, no: str) -> str:
        """Return code of `yes` if `test` is true, otherwise of `no`. Both values have been computed before."""

    @abstractmethod
    def negation(self, a: str) -> str:
        """The negation of a bool."""

    @abstractmethod
    def both(self, *parts: str) -> str:
        """Return code that tests whether all bools are true. All bools are evaluated, without short-circuit."""

    @abstractmethod
    def either(self, *parts: str) -> str:
        """Return code that tests whether at least one bool is true. All bools are evaluated, without short-circuit."""

    @abstractmethod
    def conjunction(self, *parts: str) -> str:
        """Return whether all comparisons are true."""

    @abstractmethod
    def disjunction(self, *parts: str) -> str:
        """Return code that tests whether at least one comparison is true."""

    @abstractmethod
    def bits(self, *parts: str) -> str:
        """The bitwise or of some bytes."""

    @abstractmethod
    def flags(self, bits: Sequence[str]) -> str:
        """Return code of the return value of `apply`, in which bit k is set if bool k is true."""

    # ------------------------------------------------------------------------- statements
    @abstractmethod
    def named(self, name: str, text: str) -> str:
        """The line that gives a name to a value."""

    @abstractmethod
    def assign(self, place: str, text: str) -> str:
        """The line that stores a value in a place."""

    @abstractmethod
    def variable(self, name: str, type_: Scalar, text: str) -> str:
        """The line that declares a variable with its first value."""

    @abstractmethod
    def intersection(
        self, number: int, lists: tuple[str, str], ends: tuple[str, str], guard: str, body: Sequence[str]
    ) -> list[str]:
        """Return the lines of a loop over the common entries of two neighbour lists.

        Args:
            number: The number k in the names of the variables. Variable wk is the index of the common neighbour; ik and
                jk are the positions of this neighbour in the two lists.
            lists: Pointers to the offsets of the rows of all neighbour lists, and to their entries.
            ends: The indices of the two vertices.
            guard: The name of a bool; the loop runs only if the bool is true. "" if the loop always runs.
            body: The lines inside the loop.
        """

    @abstractmethod
    def store_scalar(self, dtype: str, slot: int, text: str) -> str:
        """The line that stores a graph-level value in the frame."""

    # ----------------------------------------------------------------- packed values, frame
    @abstractmethod
    def element(self, pointer: str, index: str, width: int, part: int) -> str:
        """One entry of an array.

        Args:
            pointer: The array.
            index: The vertex or row.
            width: The number of entries for each vertex or row.
            part: The number of the entry among these entries, from 0.
        """

    @abstractmethod
    def registers(self, names: Sequence[str]) -> str:
        """Return code that packs bytes into one value, in the form that `hll_size` takes."""

    @abstractmethod
    def product(self, type_: Scalar, matrix: str, rows: int, vector: tuple[str, ...]) -> str:
        """Return code of a matrix times a vector; the terms of each row are added from left to right.

        Args:
            type_: The type of all components, a float.
            matrix: A pointer to the matrix, column by column.
            rows: The number of rows.
            vector: The components of the vector, one for each column.
        """

    @abstractmethod
    def product_row(self, product: str, row: int, rows: int) -> str:
        """Return code of component `row` of the product named `product`, which has `rows` rows."""

    @abstractmethod
    def part(self, packed: str, number: int) -> str:
        """One component of a packed accumulator or of packed masks."""

    @abstractmethod
    def pack(self, struct: str, items: Sequence[str]) -> str:
        """Values packed into a structure: "Acc", "Item" or "Masks"."""

    @abstractmethod
    def entry(self, number: int, name: str) -> str:
        """The code that reads an entry of the environment."""

    @abstractmethod
    def column(self, number: int, name: str) -> str:
        """The pointer to an edge column."""

    @abstractmethod
    def edge_place(self, edge: str, columns: int) -> str:
        """Return code of the index of an edge among all in-edges.

        Args:
            edge: the number of the edge in the function that is written.
            columns: the number of edge columns of the pass.
        """

    # ---------------------------------------------------------------------------- the same in all dialects
    def load(self, type_: Type, raw: str) -> str:
        """The code that converts a stored value to the type for computations."""
        if type_ == BOOL:
            return f"{raw} != 0"
        return f"half_to_float({raw})" if type_ == F16 else raw

    def store(self, type_: Type, name: str) -> str:
        """The code that converts a computed value to the stored type."""
        if type_ == BOOL:
            return self.select(name, "u8(1)", "u8(0)")
        return f"float_to_half({name})" if type_ == F16 else name
