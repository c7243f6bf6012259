"""Numbers the vertices of a file: provisional numbers while the file is read, ranks of the ids at the end.

Each end of an edge takes 32 bits. The stored value is the id itself while all ids are below 2^32, else the number of
the id in a hash table.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
from numpy.typing import DTypeLike, NDArray

from vlang.errors import GraphError
from vlang.records import dataclass
from vlang.runtime.graph.edges.building.store import Store
from vlang.runtime.graph.edges.building.tables import KeyTable, TokenTable
from vlang.runtime.graph.edges.edge_list import VertexIds
from vlang.runtime.graph.edges.pool import Workers
from vlang.runtime.graph.kernels import kernels

__all__ = ["BadText", "DeclaredIds", "Ids", "IntegerIds", "MixedSigns", "RawEnds", "TextIds", "check_count",
           "rank_by_bitmap"]

_NARROW = 1 << 32
_MOST = (1 << 32) - 2
_WORDS = 1 << 11  # words of a bitmap whose set bits are listed at a time: 17 bytes for each bit


class MixedSigns(Exception):
    """Raised if some ids are negative and others exceed 2^63 - 1, because no integer type holds both.

    The argument of the exception is one of these ids.
    """


class BadText(Exception):
    """Raised if the text of an id is not UTF-8. The argument of the exception is the text as bytes."""


@dataclass(frozen=True)
class RawEnds:
    """The ends of the edges of one chunk as the scan kernel stored them.

    Attributes:
        text: the bytes that contain the tokens; empty for integer ids.
        source, target: int64[rows], integer ids, or tokens as `scan` packs them.
        smallest, largest: range of the integer ids.
        negative: whether an id is below 0.
        big: whether an id exceeds 2^63 - 1; the 64 bits of such an id are stored unchanged.
    """

    text: NDArray[np.uint8]
    source: NDArray[np.int64]
    target: NDArray[np.int64]
    smallest: int
    largest: int
    negative: bool
    big: bool


class Ids(Protocol):
    """A numbering of the ids of a file."""

    def plain(self, store: Store, chunks: list[RawEnds]) -> bool:
        """Return whether any thread can store the ids of these chunks unchanged, without a call of `number`."""

    def number(self, chunk: RawEnds, source: NDArray[Any], target: NDArray[Any]) -> None:
        """Write provisional numbers to `source` and `target`, uint32[rows].

        Chunks must be passed in the order of the file.
        """

    def finish(self, store: Store, workers: Workers) -> VertexIds:
        """Replace the stored numbers by ranks, in place. Raises GraphError beyond 2^32 - 2 vertices."""


class DeclaredIds:
    """The ids 1..count of a file that declares its vertex count; the scan has already subtracted 1."""

    def __init__(self, count: int) -> None:
        self._count = count

    def plain(self, store: Store, chunks: list[RawEnds]) -> bool:
        return True

    def number(self, chunk: RawEnds, source: NDArray[Any], target: NDArray[Any]) -> None:
        source[:], target[:] = chunk.source, chunk.target

    def finish(self, store: Store, workers: Workers) -> VertexIds:
        return VertexIds(base=1, count=self._count)


class IntegerIds:
    """Integer ids of 64 bits; the final number of an id is its rank in numerical order."""

    def __init__(self) -> None:
        self._table: KeyTable | None = None
        self._negative = self._big = False
        self._smallest, self._largest = _NARROW, -1

    def plain(self, store: Store, chunks: list[RawEnds]) -> bool:
        for chunk in chunks:
            self._note(chunk)
        if not self._narrow and self._table is None:
            self._table = self._tabulate(store)
        return self._table is None

    @property
    def _narrow(self) -> bool:
        """Return whether all ids read so far fit into 32 bits."""
        return not self._negative and not self._big and self._largest < _NARROW

    def _note(self, chunk: RawEnds) -> None:
        if (self._negative or chunk.negative) and (self._big or chunk.big):
            raise MixedSigns(chunk.largest if chunk.big else chunk.smallest)
        self._negative |= chunk.negative
        self._big |= chunk.big
        self._smallest = min(self._smallest, chunk.smallest)
        self._largest = max(self._largest, chunk.largest)

    def _tabulate(self, store: Store) -> KeyTable:
        """Create a hash table, and replace the ids stored so far by their numbers in this table."""
        table = KeyTable()
        for end in store.ends:
            for first in range(0, len(end), 1 << 20):
                block = end[first : first + (1 << 20)]
                table.insert(block.astype(np.int64), block)
        return table

    def number(self, chunk: RawEnds, source: NDArray[Any], target: NDArray[Any]) -> None:
        assert self._table is not None
        self._table.insert(chunk.source, source)
        self._table.insert(chunk.target, target)

    def finish(self, store: Store, workers: Workers) -> VertexIds:
        if store.count == 0:
            return VertexIds(base=0, count=0)
        span = self._largest - self._smallest + 1
        if self._table is None and span <= 8 * store.count + (1 << 20):
            return rank_by_bitmap(store, self._smallest, span, workers)
        table = self._table or self._tabulate(store)
        keys: NDArray[Any] = table.keys.view(np.uint64) if self._big else table.keys
        check_count(len(keys))
        order = np.argsort(keys)
        _replace(store, _ranks(order), workers)
        keys = keys[order]
        if not self._big and int(keys[-1]) - int(keys[0]) + 1 == len(keys):
            return VertexIds(base=int(keys[0]), count=len(keys))
        return VertexIds(keys)


class TextIds:
    """Text ids; the final number of an id is its rank by code point, which is the order of the UTF-8 bytes.

    Each end of an edge costs one hash and one look-up, and the n strings are sorted once. The memory in use is a
    TokenTable plus the strings.
    """

    def __init__(self) -> None:
        self._table = TokenTable()

    def plain(self, store: Store, chunks: list[RawEnds]) -> bool:
        return False

    def number(self, chunk: RawEnds, source: NDArray[Any], target: NDArray[Any]) -> None:
        self._table.insert(chunk.text, chunk.source, source)
        self._table.insert(chunk.text, chunk.target, target)

    def finish(self, store: Store, workers: Workers) -> VertexIds:
        try:
            texts = self._table.texts()
        except UnicodeDecodeError as error:
            raise BadText(self._table.text_at(error.start)) from None
        check_count(len(texts))
        order = np.argsort(texts, kind="stable")
        _replace(store, _ranks(order), workers)
        return VertexIds(texts[order])


def check_count(count: int) -> None:
    if count > _MOST:
        raise GraphError(f"the graph has {count:,} vertices; vertex numbers of 32 bits hold at most {_MOST:,}")


def _ranks(order: NDArray[np.int64]) -> NDArray[np.uint32]:
    ranks = np.empty(len(order), dtype=np.uint32)
    ranks[order] = np.arange(len(order), dtype=np.uint32)
    return ranks


def _replace(store: Store, ranks: NDArray[np.uint32], workers: Workers) -> None:
    for end in store.ends:

        def replace(first: int, last: int, end: NDArray[Any] = end) -> None:
            end[first:last] = ranks[end[first:last]]

        workers.blocks(replace, len(end))


def rank_by_bitmap(
    store: Store, lowest: int, span: int, workers: Workers, empty: Callable[[int, DTypeLike], NDArray[Any]] = np.empty
) -> VertexIds:
    """Replace ids in the narrow range lowest .. lowest + span - 1 by their ranks, by means of a bitmap.

    The function uses span / 8 bytes of memory per thread, plus span / 16 bytes in all.

    Args:
        store: the ids at both ends of all edges; ranks replace them.
        lowest, span: the range.
        workers: the threads to use.
        empty: allocates the array of the distinct ids.
    """
    code = kernels("number")
    copies = max(1, min(workers.threads, 8 * store.count // span))
    marks = np.zeros((copies, span + 63 >> 6), dtype=np.uint64)

    def mark(part: int) -> None:
        for end in store.ends:
            code["mark"](end, part * len(end) // copies, (part + 1) * len(end) // copies, lowest, marks[part])

    workers.map(mark, range(copies))
    bits = marks[0]
    for other in marks[1:]:
        bits |= other
    before = np.empty(len(bits), dtype=np.uint32)
    count = code["count_before"](bits, len(bits), before)
    for end in store.ends:

        def rank(first: int, last: int, end: NDArray[Any] = end) -> None:
            if count < span:
                code["rank_marked"](end, first, last, lowest, bits, before)
            elif lowest > 0:
                end[first:last] -= np.uint32(lowest)

        workers.blocks(rank, len(end))
    if count == span:
        return VertexIds(base=lowest, count=count)
    check_count(count)
    return VertexIds(_marked(bits, lowest, empty(count, np.int64)))


def _marked(bits: NDArray[np.uint64], lowest: int, places: NDArray[np.int64]) -> NDArray[np.int64]:
    """Write the positions of the set bits, plus `lowest`, to `places` in increasing order."""
    done = 0
    for first in range(0, len(bits), _WORDS):
        block = np.unpackbits(bits[first : first + _WORDS].view(np.uint8), bitorder="little")
        here = np.flatnonzero(block) + (64 * first + lowest)
        places[done : done + len(here)] = here
        done += len(here)
    return places
