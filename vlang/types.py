"""The types of the language, shared by the checker, the IR and the code generators."""

from __future__ import annotations

from functools import cached_property

from vlang.records import dataclass
from vlang.times import UNITS

__all__ = [
    "BOOL", "CATEGORY", "CONVERSIONS", "F16", "F32", "F64", "I8", "I16", "I32", "I64", "NUMBER", "INTEGER", "OPPOSITE",
    "TEXT", "TIMES", "U8", "U16", "U32", "U64", "VERTEX", "VERTICES", "Matrix", "NamedSize", "Scalar", "Tuple",
    "Type", "Vector", "VertexSet", "common", "converts", "scalar_named",
]

OPPOSITE = {"in": "out", "out": "in", "both": "both"}
"""Maps an adjacency direction to that of the same edges seen from their other end. Contributions that a vertex pulls
along "in" are pushed along "out".
"""


@dataclass(frozen=True)
class Scalar:
    """The type of a single value.

    Attributes:
        kind: "bool", "int" (signed), "uint", "float", "vertex", "category" or "time". Literals and counters have the
            kind "integer", "number" or "text". The final type of a literal or counter follows from the context. If the
            context does not decide the type, a number becomes `int` or `float`, and a text has no type. At the end of
            lowering, `vlang.ir.forms.erase` replaces categories and times by integers with the same number of bits.
    """

    name: str
    kind: str
    bits: int

    def __str__(self) -> str:
        return {"integer": "int", "number": "float"}.get(self.name, self.name)

    @cached_property
    def integral(self) -> bool:
        """Whether this is a signed or unsigned integer type, or the type of an integer literal."""
        return self.kind in ("int", "uint", "integer")

    @cached_property
    def floating(self) -> bool:
        """Whether this is a floating-point type, or the type of a literal with a fraction."""
        return self.kind in ("float", "number")

    @cached_property
    def numeric(self) -> bool:
        return self.integral or self.floating

    @cached_property
    def weak(self) -> bool:
        """Whether this is the type of a literal, which adapts to its context."""
        return self.kind in ("integer", "number", "text")

    @property
    def named(self) -> bool:
        """Whether values are shown as texts: names, dates or times."""
        return self.kind in ("category", "time")

    @property
    def lowest(self) -> int:
        """The least value of an integer type; a signed type uses it for `-inf`."""
        return -(1 << (self.bits - 1)) if self.kind in ("int", "time") else 0

    @property
    def highest(self) -> int:
        """The largest value of an integer type; a signed type uses it for `inf`."""
        return (1 << (self.bits - (self.kind in ("int", "time")))) - 1


class NamedSize(int):
    """A number of components that depends on constants of the program, such as `2 * k` in `float[2 * k]`.

    The checker uses a named size before the values of the constants are known. A named size equals only a size with the
    same text. The int value of a named size is the largest number of components.
    """

    text: str

    def __new__(cls, most: int, text: str) -> NamedSize:
        """Return a size with the text `text`, which contains names of constants."""
        size = super().__new__(cls, most)
        size.text = text
        return size

    def __eq__(self, other: object) -> bool:
        return isinstance(other, NamedSize) and self.text == other.text

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash(self.text)

    def __str__(self) -> str:
        return self.text

    def __format__(self, spec: str) -> str:
        return self.text


@dataclass(frozen=True)
class Vector:
    """The type of a vector, `T[k]`: k numbers or bools."""

    item: Scalar
    size: int

    def __str__(self) -> str:
        return f"{self.item}[{self.size}]"


@dataclass(frozen=True)
class Matrix:
    """The type of a matrix, `T[k, l]`, of a parameter or literal. In the IR, a matrix is replaced by the vector of its
    rows.
    """

    item: Scalar
    rows: int
    columns: int

    def __str__(self) -> str:
        return f"{self.item}[{self.rows}, {self.columns}]"

    @property
    def flat(self) -> Vector:
        """The type of the vector of all components, row by row."""
        return Vector(self.item, self.rows * self.columns)


@dataclass(frozen=True)
class Tuple:
    """The type of a tuple of scalars, `(T1, T2, ...)`."""

    items: tuple[Scalar, ...]

    def __str__(self) -> str:
        return "(" + ", ".join(map(str, self.items)) + ")"


@dataclass(frozen=True)
class VertexSet:
    """The type `vertices`, a list of vertices. Only parameters may have this type."""

    def __str__(self) -> str:
        return "vertices"


Type = Scalar | Vector | Matrix | Tuple | VertexSet

BOOL = Scalar("bool", "bool", 8)
I8, I16, I32, I64 = (Scalar(f"i{b}", "int", b) for b in (8, 16, 32, 64))
U8, U16, U32, U64 = (Scalar(f"u{b}", "uint", b) for b in (8, 16, 32, 64))
F16, F32, F64 = (Scalar(f"f{b}", "float", b) for b in (16, 32, 64))
VERTEX = Scalar("vertex", "vertex", 32)
INTEGER = Scalar("integer", "integer", 64)
NUMBER = Scalar("number", "number", 64)
TEXT = Scalar("text", "text", 0)
VERTICES = VertexSet()
CATEGORY = Scalar("category", "category", 32)

TIMES = {name: Scalar(name, "time", 64) for name in UNITS}
"""The types of points in time, which count days, seconds or parts of a second from 1970-01-01T00:00:00 on."""

_NUMBERS = (I8, I16, I32, I64, U8, U16, U32, U64, F16, F32, F64)
_NAMED = {s.name: s for s in (BOOL, *_NUMBERS, CATEGORY, *TIMES.values())}

CONVERSIONS = frozenset({"int", "float", *(s.name for s in _NUMBERS)}) - {"f16"}
"""The types whose names are functions that convert to them."""


def scalar_named(name: str, precision: int = 32) -> Scalar:
    """The scalar type with this name; `int` and `float` have `precision` bits (32 or 64).

    Raises KeyError if there is no scalar type with this name.
    """
    if name in ("int", "float"):
        name = f"{name[0]}{precision}"
    return _NAMED[name]


def defaulted(type_: Type, precision: int = 32) -> Type:
    """Return `int` or `float` in place of the type of a literal; return other types unchanged."""
    if type_ == INTEGER:
        return scalar_named("int", precision)
    if type_ == NUMBER:
        return scalar_named("float", precision)
    return type_


def common(a: Type, b: Type) -> Type | None:
    """The type in which `a op b` is computed for a numeric operator; None if no such type exists.

    A literal takes the type of the other operand. An integer and a float give the float type. Two types of one kind
    give the wider type. A signed and an unsigned integer need a signed type that holds the values of both. Scalars
    broadcast over vectors. An f16 is a storage type, and its values are computed as f32.
    """
    if isinstance(a, Vector) or isinstance(b, Vector):
        if isinstance(a, Vector) and isinstance(b, Vector) and a.size != b.size:
            return None
        item = common(a.item if isinstance(a, Vector) else a, b.item if isinstance(b, Vector) else b)
        size = a.size if isinstance(a, Vector) else b.size if isinstance(b, Vector) else 0
        return Vector(item, size) if isinstance(item, Scalar) else None
    if not (isinstance(a, Scalar) and isinstance(b, Scalar) and a.numeric and b.numeric):
        return None
    if a.weak or b.weak:
        strong, weak = (b, a) if a.weak else (a, b)
        if strong.weak:
            return NUMBER if NUMBER in (a, b) else INTEGER
        return strong if weak == INTEGER or strong.floating else NUMBER
    if a.floating or b.floating:
        bits = max(s.bits for s in (a, b) if s.floating)
        return F64 if bits == 64 else F32
    if a.kind == b.kind:
        return a if a.bits >= b.bits else b
    signed, unsigned = (a, b) if a.kind == "int" else (b, a)
    if signed.bits > unsigned.bits:
        return signed
    wider = {8: I16, 16: I32, 32: I64}
    return wider.get(unsigned.bits)


def converts(source: Type, target: Type) -> bool:
    """Return whether a value of `source` converts to `target` implicitly.

    Integers convert to floats. A type also converts to a wider type that has all values of the type. Literals and
    counters take the type that the context needs.
    """
    if source == target:
        return True
    if isinstance(target, Vector):
        if isinstance(source, Vector):
            return source.size == target.size and converts(source.item, target.item)
        return converts(source, target.item)
    if isinstance(target, Matrix):
        same = isinstance(source, Matrix) and (source.rows, source.columns) == (target.rows, target.columns)
        return converts(source.item if isinstance(source, Matrix) and same else source, target.item)
    if isinstance(source, Tuple) and isinstance(target, Tuple):
        return len(source.items) == len(target.items) and all(map(converts, source.items, target.items))
    if not (isinstance(source, Scalar) and isinstance(target, Scalar)):
        return False
    if target == TEXT:
        return source == INTEGER
    if target.named:
        return source == TEXT or (source == INTEGER and target.kind == "time")  # only the literal `inf` fits
    if not (source.numeric and target.numeric):
        return False
    if target.weak:
        return source.weak and (target == NUMBER or source == INTEGER)
    if target.floating:
        return source.integral or source.weak or source.bits <= target.bits or target == F16
    if source.floating:
        return False
    if source.weak:
        return True
    if source.kind == target.kind:
        return source.bits <= target.bits
    return source.kind == "uint" and source.bits < target.bits
