"""Exact sums and products of integers: their accumulators, and the conversion to the result (language.md section 6).

A sum is computed exactly and converted once. The accumulators of a sum are chosen when a program is bound to a graph. A
bound of the sum is the length of the longest row times the largest term. The accumulators have the type of the value if
this type can hold the bound, or 64 bits if 64 bits can hold the bound. If the bound needs more than 64 bits, two words
of 64 bits sum the upper and the lower halves of the terms. If terms may be infinite, one bool says whether some term is
`inf`, and another bool says whether some term is `-inf`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from vlang.emit.shared.values import integers
from vlang.emit.shared.values.dialect import scalars_of
from vlang.ir.forms import forms as f
from vlang.ir.forms.range_arithmetic import Range, limited
from vlang.ir.forms.ranges import Ranges
from vlang.records import dataclass
from vlang.types import BOOL, I64, U64, Scalar, Vector

if TYPE_CHECKING:
    from vlang.emit.shared.values.formulas import Writer

__all__ = ["Exact", "exact_of"]


@dataclass(frozen=True)
class Exact:
    """How a sum or product of integers is accumulated.

    For each word, the accumulator has one number per component of the value. If infinite terms are possible, one bool
    per component follows for `inf`, and one bool per component for `-inf`.

    Attributes:
        result: The type of a component of the value.
        width: The number of components of the value.
        word: The type of an accumulator.
        words: The number of accumulators for each component of the value: 1 or 2.
        up: Whether some term may be `inf`.
        down: Whether some term may be `-inf`.
        sum: The range of the sum of finite terms.
        product: Whether the reduction is a product. A product is clamped to 64 bits, and is infinite at 2^63 - 1 or
            more.
    """

    result: Scalar
    width: int
    word: Scalar
    words: int
    up: bool
    down: bool
    sum: Range
    product: bool = False

    @property
    def types(self) -> tuple[Scalar, ...]:
        """The types of the components."""
        return (self.word,) * (self.words * self.width) + (BOOL,) * ((self.up + self.down) * self.width)

    def contribution(self, writer: Writer, body: f.Expr) -> tuple[str, ...]:
        """The components of one term."""
        d, item = writer.d, scalars_of(body.type)[0]
        high, low = writer.bounds(item)
        flags: list[str] = []
        names = writer.items(body)
        for needed, end in ((self.up, high), (self.down, low)):
            if needed:
                tests = [writer.name(f"{name} == {end}") for name in names]
                names = tuple(writer.name(d.select(test, d.constant(0, item), name))
                              for test, name in zip(tests, names))
                flags += tests
        words = [writer.name(writer.cast(name, item, self.word) if self.product else d.convert(self.word, name))
                 for name in names]
        if self.words == 2:
            half, mask = d.constant(32, self.word), d.constant(0xFFFFFFFF, self.word)
            words = [writer.name(d.convert(self.word, f"{name} >> {half}")) for name in words] + \
                [writer.name(d.arithmetic("&", self.word, name, mask)) for name in words]
        return (*words, *flags)

    def merge(self, writer: Writer, a: tuple[str, ...], b: tuple[str, ...]) -> tuple[str, ...]:
        """Merge two accumulators; return the components of the result."""
        d = writer.d
        return tuple(writer.name(d.either(x, y) if t == BOOL else d.saturated("mul", t, x, y) if self.product else
                                 d.arithmetic("+", t, x, y)) for t, x, y in zip(self.types, a, b))

    def finish(self, writer: Writer, parts: tuple[str, ...]) -> tuple[str, ...]:
        """Return the value from the components of the accumulator. Each component of the value is converted once."""
        d, width = writer.d, self.width
        values = parts[:width]
        if self.words == 2:
            values = tuple(writer.name(f"sum_of_words({x}, {y})") for x, y in zip(values, parts[width : 2 * width]))
        texts = [self._converted(writer, value) for value in values]
        high, low = writer.bounds(self.result)
        flags = parts[self.words * width :]
        for needed, end, tests in ((self.down, low, flags[-width:]), (self.up, high, flags[:width])):
            if needed:
                texts = [d.select(test, end, writer.name(text)) for test, text in zip(tests, texts)]
        return tuple(map(writer.name, texts))

    def _converted(self, writer: Writer, value: str) -> str:
        if self.product and self.result == I64:
            least = writer.d.constant(I64.lowest + 1, I64)
            return writer.d.select(f"{value} <= {least}", writer.d.constant(I64.lowest, I64), value)
        if self.word == self.result:
            return writer.d.convert(self.result, value)
        return integers.narrowed(writer, value, self.word, self.result, self.sum if self.words == 1 else None)


def exact_of(reduce: f.Reduce, ranges: Ranges) -> Exact | None:
    """How a sum or product of integers is accumulated; None for other reductions."""
    body = reduce.body.type
    item = body.item if isinstance(body, Vector) else body
    if reduce.operator not in ("+", "*") or not isinstance(item, Scalar) or not item.integral:
        return None
    width = body.size if isinstance(body, Vector) else 1
    wide = I64 if item.kind == "int" else U64
    if reduce.operator == "*":
        return Exact(item, width, wide, 1, False, False, Range(wide.lowest, wide.highest, wide), True)
    term = ranges.term(reduce)
    assert term is not None
    low, high = term.finite or (0, 0)
    most = ranges.terms(reduce)
    low, high = min(0, low * most), max(0, high * most)
    for word in (item, wide):
        if word.lowest <= low and high <= word.highest:
            return Exact(item, width, word, 1, term.up, term.down, limited(low, high, word))
    return Exact(item, width, wide, 2, term.up, term.down, limited(low, high, wide))
