"""The types of the language, shared by checker, IR and writers."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

__all__ = [
    "BOOL", "CONVERSIONS", "F16", "F32", "F64", "I8", "I16", "I32", "I64", "NUMBER", "INTEGER", "OPPOSITE", "U8", "U16",
    "U32", "U64", "VERTEX", "VERTICES", "Scalar", "Tuple", "Type", "Vector", "VertexSet", "common", "converts",
    "scalar_named",
]

OPPOSITE = {"in": "out", "out": "in", "both": "both"}
"""The domain of edges seen from their other end: where a gather reads along "in", its senders push along "out"."""


@dataclass(frozen=True)
class Scalar:
    """One value.

    kind: "bool", "int" (signed), "uint", "float", "vertex"; "integer" or "number" for literals and counters. The
    context sets the width of literals and counters; where it does not, they become `int` and `float`.
    """

    name: str
    kind: str
    bits: int

    def __str__(self) -> str:
        return {"integer": "int", "number": "float"}.get(self.name, self.name)

    @cached_property
    def integral(self) -> bool:
        """Signed, unsigned or an integer literal."""
        return self.kind in ("int", "uint", "integer")

    @cached_property
    def floating(self) -> bool:
        """Floating point, or a literal with a fraction."""
        return self.kind in ("float", "number")

    @cached_property
    def numeric(self) -> bool:
        return self.integral or self.floating

    @cached_property
    def weak(self) -> bool:
        """The type of a literal, which adapts to its context."""
        return self.kind in ("integer", "number")

    @property
    def lowest(self) -> int:
        """The least value of an integer type; for signed ones this is `-inf`."""
        return -(1 << (self.bits - 1)) if self.kind == "int" else 0

    @property
    def highest(self) -> int:
        """The largest value of an integer type; for signed ones this is `inf`."""
        return (1 << (self.bits - 1)) - 1 if self.kind == "int" else (1 << self.bits) - 1


@dataclass(frozen=True)
class Vector:
    """`T[k]`: k numbers or bools."""

    item: Scalar
    size: int

    def __str__(self) -> str:
        return f"{self.item}[{self.size}]"


@dataclass(frozen=True)
class Tuple:
    """`(T1, T2, ...)`, of scalars."""

    items: tuple[Scalar, ...]

    def __str__(self) -> str:
        return "(" + ", ".join(map(str, self.items)) + ")"


@dataclass(frozen=True)
class VertexSet:
    """`vertices`: a list of vertices, for parameters only."""

    def __str__(self) -> str:
        return "vertices"


Type = Scalar | Vector | Tuple | VertexSet

BOOL = Scalar("bool", "bool", 8)
I8, I16, I32, I64 = (Scalar(f"i{b}", "int", b) for b in (8, 16, 32, 64))
U8, U16, U32, U64 = (Scalar(f"u{b}", "uint", b) for b in (8, 16, 32, 64))
F16, F32, F64 = (Scalar(f"f{b}", "float", b) for b in (16, 32, 64))
VERTEX = Scalar("vertex", "vertex", 32)
INTEGER = Scalar("integer", "integer", 64)
NUMBER = Scalar("number", "number", 64)
VERTICES = VertexSet()

_NAMED = {s.name: s for s in (BOOL, I8, I16, I32, I64, U8, U16, U32, U64, F16, F32, F64)}

CONVERSIONS = frozenset({"int", "float", *_NAMED}) - {"bool", "f16"}
"""The types whose names are functions that convert to them."""


def scalar_named(name: str, precision: int = 32) -> Scalar:
    """The scalar type of this name; `int` and `float` have `precision` bits (32 or 64).

    Raises KeyError for a name that is no scalar type.
    """
    if name in ("int", "float"):
        name = f"{name[0]}{precision}"
    return _NAMED[name]


def defaulted(type_: Type, precision: int = 32) -> Type:
    """The final type for a weak one, `int` or `float`; other types unchanged."""
    if type_ == INTEGER:
        return scalar_named("int", precision)
    if type_ == NUMBER:
        return scalar_named("float", precision)
    return type_


def common(a: Type, b: Type) -> Type | None:
    """The type in which `a op b` is computed for a numeric operator; None if there is none.

    Literals adapt. An int with a float gives the float; within a kind the wider wins. Signed with unsigned needs a
    wider signed type that holds both. Scalars broadcast over vectors. f16 is for storage: it computes as f32.
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
    """Whether a value of `source` converts to `target` implicitly.

    int to float, and widening that loses nothing; literals and counters adapt.
    """
    if source == target:
        return True
    if isinstance(target, Vector):
        if isinstance(source, Vector):
            return source.size == target.size and converts(source.item, target.item)
        return converts(source, target.item)
    if isinstance(source, Tuple) and isinstance(target, Tuple):
        return len(source.items) == len(target.items) and all(map(converts, source.items, target.items))
    if not (isinstance(source, Scalar) and isinstance(target, Scalar)):
        return False
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
