"""Grouped gathers: the accumulators of each group of edges, and the reduction over the groups of a vertex.

On a CPU one worker reads all edges of a vertex, and keeps a table in scratch memory with an entry for each key. An
entry contains the key, and the accumulators of the reductions inside the gather. When all edges have been read, the
worker visits the groups. On a GPU the lanes that share a vertex keep an entry for each edge, and sort the entries by
key.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from vlang.emit.shared.reductions.accumulate import Accumulation
from vlang.emit.shared.values.dialect import Dialect
from vlang.emit.shared.values.formulas import Unwritable, Writer
from vlang.ir.forms import forms as f
from vlang.ir.forms.ranges import Ranges
from vlang.records import dataclass
from vlang.reductions import REDUCTIONS
from vlang.types import BOOL, I64, U64, VERTEX, Scalar, Tuple, Vector

__all__ = ["Grouped"]


@dataclass(frozen=True)
class Grouped(Accumulation):
    """How a grouped gather is accumulated. `reduce` is the reduction over groups; its condition selects groups.

    Attributes:
        whole: the grouped gather.
        inside: the accumulation of each reduction inside the gather, in the order of the text.
    """

    whole: f.Reduce = None  # type: ignore[assignment]
    inside: tuple[Accumulation, ...] = ()

    @staticmethod
    def by_key(reduce: f.Reduce, declared: Mapping[str, f.UserReduction], ranges: Ranges) -> Grouped:
        """The accumulation of a grouped gather. Raises Unwritable if this version cannot write the gather."""
        type_ = reduce.type if reduce.part is None else reduce.body.type
        over = replace(reduce, type=type_, cond=reduce.having, key=None, having=None, group=None, part=None)
        base = Accumulation.of(over, declared, ranges)
        inside = tuple(Accumulation.of(one, declared, ranges) for one in _inside(reduce))
        for one in (base, *inside):
            if one.declared is not None and one.declared.exact:
                raise Unwritable("a declared reduction of integers in a grouped gather")
        return Grouped(over, base.types, base.declared, base.exact, reduce, inside)

    @property
    def key(self) -> Scalar:
        """The type of the keys."""
        assert self.whole.key is not None
        assert isinstance(self.whole.key.type, Scalar)
        return self.whole.key.type

    @property
    def components(self) -> tuple[Scalar, ...]:
        """The types of the accumulators of a group."""
        return tuple(type_ for one in self.inside for type_ in one.types)

    @property
    def segmented(self) -> bool:
        """Whether the bits of the result depend on the order of contributions, so that segments of long rows are merged
        in order.
        """
        return any(not _exact(one) for one in self.inside)

    @property
    def ordered(self) -> bool:
        """Whether groups are visited in increasing order of their keys, because the bits of the result depend on the
        order.
        """
        return not _exact(self)

    @property
    def words(self) -> int:
        """The number of 64-bit words of an entry: the key and the accumulators."""
        return 1 + len(self.components)

    @property
    def kept(self) -> int:
        """The number of words of a group for the accumulators of earlier segments of a long row; 0 without segments."""
        return len(self.components) if self.segmented else 0

    @property
    def keys(self) -> int:
        """The largest possible number of different keys if keys have at most 16 bits; otherwise 0."""
        keys = 2 if self.key == BOOL else 1 << self.key.bits
        return keys if keys <= 1 << 16 else 0

    @property
    def structure(self) -> str:
        """The structure to fill: "grouped:WORDS:KEYS:ENTRY" or "grouped:WORDS:vertices:ENTRY".

        WORDS is the number of 64-bit words of a group on a CPU. KEYS is the largest number of groups, or 0 for the
        number of edges. ENTRY is the size of an entry on a GPU, which has an entry for each edge.
        """
        keys = "vertices" if self.key == VERTEX else self.keys
        return f"grouped:{self.words + self.kept}:{keys}:{self.words}"

    def edge(self, edge: Writer) -> tuple[str, str]:
        """Return the names of two values: a bool that is true if the current edge is in a group, and the key of the
        edge as a word.
        """
        d, whole = edge.d, self.whole
        assert whole.key is not None
        holds = d.true if whole.cond is None else edge.value(whole.cond)
        key = edge.value(whole.key)
        if self.key == VERTEX:
            holds = edge.name(d.conjunction(holds, f"{key} != {d.constant(None, VERTEX)}"))
        return holds, edge.name(self._word(d, key))

    def _word(self, d: Dialect, name: str) -> str:
        """Code that converts a key to a word. The unsigned order of the words is the order of the keys."""
        if self.key == BOOL:
            return d.select(name, d.constant(1, U64), d.constant(0, U64))
        if self.key == VERTEX or self.key.kind == "uint":
            return d.convert(U64, name)
        return d.arithmetic("^", U64, d.convert(U64, d.convert(I64, name)), d.constant(1 << 63, U64))

    def of_word(self, d: Dialect, word: str) -> str:
        """Code that converts a word back to its key."""
        if self.key == BOOL:
            return f"{word} != {d.constant(0, U64)}"
        if self.key == VERTEX or self.key.kind == "uint":
            return d.convert(self.key, word)
        return d.convert(self.key, d.convert(I64, d.arithmetic("^", U64, word, d.constant(1 << 63, U64))))

    def parts(self, names: tuple[str, ...]) -> list[tuple[Accumulation, tuple[str, ...]]]:
        """Return each reduction inside the gather with its own components, selected from the components `names` of a
        group.
        """
        found, at = [], 0
        for one in self.inside:
            found.append((one, names[at : at + len(one.types)]))
            at += len(one.types)
        return found

    def finish(self, writer: Writer, parts: tuple[str, ...]) -> tuple[str, ...]:
        """The value of the grouped gather from its components."""
        values = super().finish(writer, parts)
        return values if self.whole.part is None else (values[self.whole.part],)


def _inside(reduce: f.Reduce) -> Iterator[f.Reduce]:
    """The different reductions inside a grouped gather."""
    found: dict[f.Reduce, None] = {}
    for place in (reduce.body, reduce.having):
        if place is not None:
            found.update(dict.fromkeys(f.reductions(place)))
    return iter(found)


def _exact(one: Accumulation) -> bool:
    """Return whether the bits of a reduction do not depend on the order of its contributions."""
    if one.declared is not None:
        return False
    body = one.reduce.body.type
    kinds = body.items if isinstance(body, Tuple) else (body.item if isinstance(body, Vector) else body,)
    floats = any(isinstance(kind, Scalar) and kind.floating for kind in kinds)
    return REDUCTIONS[one.reduce.name].exact or not floats
