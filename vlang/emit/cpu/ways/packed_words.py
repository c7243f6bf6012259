"""Packed words, into which a CPU joins contributions: one compare-and-swap replaces all values of a vertex.

A single field with a second buffer needs no packing, because its entry in this buffer is the word. Fields that are
written together are packed into one or two 64-bit words of a separate array. The parts of the tuple follow each other,
and each part is aligned to its size. The order of values does not depend on this layout: words are unpacked, joined as
in a pull, and packed again.
"""

from __future__ import annotations

from collections.abc import Sequence

from vlang.emit.shared.stage import StageWriter
from vlang.emit.shared.values.dialect import Dialect, stored_as
from vlang.records import dataclass
from vlang.runtime.plan.plan import Part, PushSpec
from vlang.types import BOOL, F16, Scalar

__all__ = ["Words", "words_of"]

_MOST = 16  # bytes that one compare-and-swap instruction can replace


@dataclass(frozen=True)
class Words:
    """The packed words of each vertex.

    Attributes:
        pointer: the code of a pointer to the array of words.
        count: the number of 64-bit words per vertex; 0 for a field that is its own word.
        types: the types of the parts.
        places: the first bit of each part.
    """

    dialect: Dialect
    pointer: str
    count: int
    types: tuple[Scalar, ...]
    places: tuple[int, ...]

    def look(self, v: str) -> list[str]:
        """Return lines that read a vertex's words into `old` and `more`; `both_words` reads two words."""
        if self.count == 2:
            return [f"old, more = both_words({self.pointer}, {v})"]
        return [f"old = {self.pointer}[{v}]"]

    def place(self, v: str) -> str:
        """Return code of the index of the first word of a vertex; this word holds the first part."""
        return f"2 * {v}" if self.count == 2 else v

    def first(self) -> str:
        """Code of the first part, read from the first word `old`."""
        return self.parts()[0]

    def parts(self) -> list[str]:
        """Code of each part, read from the words `old` and `more`."""
        if self.count == 0:
            return [self.dialect.load(self.types[0], "old")]
        return [_taken(self.dialect, type_, "more" if at >= 64 else "old", at % 64)
                for type_, at in zip(self.types, self.places)]

    def put_together(self, names: Sequence[str]) -> list[str]:
        """Code of the words that contain the given parts."""
        if self.count == 0:
            return [self.dialect.store(self.types[0], names[0])]
        bits = [(at, _bits(self.dialect, t, name, at % 64)) for t, name, at in zip(self.types, names, self.places)]
        return [" | ".join(text for at, text in bits if at // 64 == word) for word in range(self.count)]

    def replaced(self, v: str) -> str:
        """Return code that replaces the words `old`, `more` by `new`, `newer`. The value of the code is false if
        another worker has changed the words.
        """
        if self.count == 2:
            return f"replace_both({self.pointer}, {v}, old, more, new, newer)"
        return f"replace({self.pointer}, {v}, old, new)"

    def stored(self, v: str) -> list[str]:
        """Return lines that store `new` and `newer` without atomic operations, for words that no other worker writes.
        """
        if self.count == 2:
            return [f"{self.pointer}[2 * {v}] = new", f"{self.pointer}[2 * {v} + 1] = newer"]
        return [f"{self.pointer}[{v}] = new"]


def words_of(writer: StageWriter, fields: tuple[str, ...], types: tuple[Scalar, ...]) -> tuple[Words, PushSpec] | None:
    """Return the words for fields that are written together, and the spec of the words for the engine; None if the
    fields need more than 16 bytes.
    """
    if len(fields) == 1 and fields[0] in writer.two_buffers:
        slot = f"next:{fields[0]}"
        words = Words(writer.dialect, writer.env.pointer(slot, stored_as(types[0])), 0, types, (0,))
        return words, PushSpec(slot, (Part(fields[0], 1, 0),))
    places, end = [], 0
    for type_ in types:
        end = -(-end // type_.bits) * type_.bits
        places.append(end)
        end += type_.bits
    if end > 8 * _MOST:
        return None
    count, slot = -(-end // 64), f"work:joined.{writer.stage.name}"
    writer.frame.array(slot, "u64", width=count)
    words = Words(writer.dialect, writer.env.pointer(slot, "u64"), count, types, tuple(places))
    parts = tuple(Part(name, 64 * count // t.bits, at // t.bits) for name, t, at in zip(fields, types, places))
    return words, PushSpec(slot, parts)


def _taken(d: Dialect, type_: Scalar, word: str, at: int) -> str:
    """Return code of the part that begins at bit `at` of a word."""
    shifted = f"({word} >> u64({at}))" if at else word
    bits = f"u{type_.bits}({shifted})" if type_.bits < 64 else shifted
    if type_ in (BOOL, F16):
        return d.load(type_, bits)
    return f"float_of({bits})" if type_.floating else d.convert(type_, bits)


def _bits(d: Dialect, type_: Scalar, name: str, at: int) -> str:
    """Code of a part shifted to bit `at` of a word."""
    text = d.store(type_, name) if type_ in (BOOL, F16) else f"bits_of({name})" if type_.floating else \
        f"u{type_.bits}({name})"
    return f"(u64({text}) << u64({at}))" if at else f"u64({text})"
