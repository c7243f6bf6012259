"""Long vectors of floats as single values in generated code, for targets with vector instructions.

Writers name every component of a vector. For a long vector of floats, these names are texts that also contain the name
of the vector or array. If an operation gets all components of such a vector in order, one line operates on the whole
vector (runtime/compile/wide.py). All other code reads single components, as for a short vector.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

from vlang.types import F32, F64, Scalar

__all__ = ["LEAST", "Element", "Part", "joined", "loaded", "parts", "spans", "whole"]

LEAST = 17
"""The least number of components of a vector that is a single value. Accumulators of fewer components also have kernels
that keep them in arrays, one for each component."""


class Part(str):
    """The code of component `number` of the value named `owner`, which has `size` components."""

    __slots__ = ("number", "owner", "size")
    owner: str
    number: int
    size: int

    def __new__(cls, owner: str, number: int, size: int) -> Self:
        new = super().__new__(cls, f"{owner}[{number}]")
        new.owner, new.number, new.size = owner, number, size
        return new


class Element(str):
    """The code `text` of entry `base + number` of the array `pointer`."""

    __slots__ = ("base", "number", "pointer")
    pointer: str
    base: str
    number: int

    def __new__(cls, text: str, pointer: str, base: str, number: int) -> Self:
        new = super().__new__(cls, text)
        new.pointer, new.base, new.number = pointer, base, number
        return new


def spans(types: Sequence[Scalar]) -> bool:
    """Return whether values of these types, side by side, are a long vector of floats."""
    return len(types) >= LEAST and types[0] in (F32, F64) and all(type_ == types[0] for type_ in types)


def parts(owner: str, size: int) -> tuple[Part, ...]:
    """The components of a value."""
    return tuple(Part(owner, number, size) for number in range(size))


def loaded(texts: Sequence[str]) -> tuple[str, str] | None:
    """Return the pointer and the first index of entries that are consecutive in one array; None for other entries."""
    first = texts[0]
    if not isinstance(first, Element):
        return None
    if not all(isinstance(text, Element) and (text.pointer, text.base, text.number) ==
               (first.pointer, first.base, first.number + i) for i, text in enumerate(texts)):
        return None
    return first.pointer, f"{first.base} + {first.number}" if first.number else first.base


def whole(texts: Sequence[str]) -> str:
    """Return the code of a vector with these components. If all components are equal, the code is the name of one
    component.
    """
    if all(text == texts[0] for text in texts):
        return texts[0]
    entries = loaded(texts)
    if entries is not None:
        return f"wide_load({entries[0]}, {entries[1]}, {len(texts)})"
    runs = list(_runs(texts))
    return runs[0] if len(runs) == 1 else f"wide_join(({', '.join(runs)}))"


def joined(texts: Sequence[str]) -> str:
    """The code of an accumulator with these components: a vector if all are floats of one type, otherwise a tuple."""
    if all(text == texts[0] for text in texts):
        return f"wide_spread({texts[0]}, {len(texts)})"
    return whole(texts)


def _runs(texts: Sequence[str]) -> list[str]:
    """Return the code of the smallest possible number of vectors and scalars that have these components side by side.
    """
    found: list[str] = []
    at = 0
    while at < len(texts):
        first, end = texts[at], at + 1
        if isinstance(first, Part):
            while end < len(texts) and _follows(first, texts[end], end - at):
                end += 1
        if end - at == 1 or not isinstance(first, Part):
            found.append(first)
        elif end - at == first.size:
            found.append(first.owner)
        else:
            found.append(f"wide_part({first.owner}, {first.number}, {end - at})")
        at = end
    return found


def _follows(first: Part, text: str, distance: int) -> bool:
    return isinstance(text, Part) and text.owner == first.owner and text.number == first.number + distance
