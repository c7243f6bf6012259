"""Grouped gathers: the accumulators of each group of edges, and the reduction over the groups of a vertex.

One worker reads all edges of a vertex. For a vertex, a worker keeps a table in scratch memory with an entry for each
key. An entry contains the key, and the accumulators of the reductions inside. When all edges have been read, the worker
visits the groups.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from vlang.emit.shared.reductions.accumulate import Accumulation
from vlang.emit.shared.values.formulas import Unwritable, Writer
from vlang.ir.forms import forms as f
from vlang.ir.forms.ranges import Ranges
from vlang.reductions import REDUCTIONS
from vlang.types import BOOL, Scalar, Tuple, Vector

__all__ = ["Grouped"]


@dataclass(frozen=True)
class Grouped(Accumulation):
    """How a grouped gather is accumulated. `reduce` is the reduction over groups; its condition selects groups.

    Attributes:
        whole: the grouped gather.
        inside: the accumulation of each reduction inside, in the order of the text.
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
        """Whether bits depend on the order of contributions, so that segments of long rows are merged in order."""
        return any(not _exact(one) for one in self.inside)

    @property
    def ordered(self) -> bool:
        """Whether groups are visited in increasing order of their keys, because bits depend on the order."""
        return not _exact(self)

    @property
    def words(self) -> int:
        """The number of 64-bit words of an entry: the key and the accumulators, twice if segments are merged."""
        return 1 + len(self.components) + (1 + len(self.components) if self.segmented else 0)

    @property
    def keys(self) -> int:
        """The largest number of different keys."""
        return 2 if self.key == BOOL else 1 << self.key.bits

    @property
    def structure(self) -> str:
        """The structure to fill: "grouped:WORDS:KEYS", where KEYS is 0 for keys of more than 16 bits."""
        return f"grouped:{self.words}:{self.keys if self.keys <= 1 << 16 else 0}"

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
    """Whether the bits of a reduction do not depend on the order of its contributions."""
    if one.declared is not None:
        return False
    body = one.reduce.body.type
    kinds = body.items if isinstance(body, Tuple) else (body.item if isinstance(body, Vector) else body,)
    floats = any(isinstance(kind, Scalar) and kind.floating for kind in kinds)
    return REDUCTIONS[one.reduce.name].exact or not floats
