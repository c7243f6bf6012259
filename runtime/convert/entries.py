"""Sorts edges by row and neighbour within a budget: two scans to buckets on disk, then a sort per bucket in memory.

The first scan counts degrees, by which the rows are divided into buckets with equally many entries. The second scan
writes every entry to its bucket. A bucket that is too large for memory (a single row may be too large) is divided by
its keys until the parts fit. All steps are stable: parallel edges keep the order of the list.
"""

from __future__ import annotations

from _thread import allocate_lock
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vlang.errors import GraphError
from vlang.records import dataclass
from vlang.runtime.convert.edges import Edges, RuleColumn
from vlang.runtime.graph.kernels import kernels
from vlang.runtime.storage.disk_arrays import DiskArrays
from vlang.runtime.storage.memory import empty
from vlang.runtime.threads.workers import on_threads, over

__all__ = ["Entries", "Sink", "Sorter", "count_degrees", "renumbered", "room_for", "scatter"]

MOST_BUCKETS = 1 << 10  # more buckets would thrash the caches and the system's page cache
_BINS = 1 << 10  # bins into which a bucket that is too large is divided
_CHUNK = 1 << 15  # edges that are processed at a time
_MIRROR, _NO_LOOPS, _RECORDED = 1, 2, 4  # the same as in kernels/partition.py

Array = NDArray[Any]
Progress = Callable[[float], None]
Sink = Callable[[NDArray[np.uint64], list[Array]], None]


@dataclass(frozen=True)
class Entries:
    """Entries on disk, in buckets.

    Attributes:
        keys: uint64[entries], `row << shift | neighbour`.
        columns: the values of each column, in the order of the keys.
        starts: int64[B + 1]; bucket b has the entries starts[b]..starts[b + 1] - 1.
        shift: the number of bits for the neighbour in a key.
    """

    keys: NDArray[np.uint64]
    columns: list[Array]
    starts: NDArray[np.int64]
    shift: int


def _flags(edges: Edges) -> int:
    return _MIRROR * edges.mirror | _NO_LOOPS * (not edges.loops)


def count_degrees(
    edges: Edges, kinds: Sequence[str], threads: int, spare: int = 0
) -> dict[str, NDArray[np.uint32]]:
    """The lengths of the rows of each direction, uint32[n].

    Args:
        edges: the edges.
        kinds: the directions.
        threads: how many threads to use.
        spare: bytes of memory besides the result. If there is room for an array of each thread, all threads count the
            rows of a direction at once, each for a part of the edges.

    Raises GraphError if a length does not fit into 32 bits.
    """
    found = {kind: empty(edges.n, np.uint32) for kind in kinds}
    count = len(edges.src)
    copies = min(threads, 1 + spare // (4 * edges.n)) if edges.n else 1
    more = [empty(edges.n, np.uint32) for _ in range(copies - 1)]

    def tally(kind: str, part: int = 0, parts: int = 1) -> int:
        out = more[part - 1] if part else found[kind]
        out[:] = 0
        rows, others = edges.ends(kind)
        return kernels("partition")["tally_edges"](rows, others, count * part // parts, count * (part + 1) // parts,
                                                   _flags(edges), out)  # fmt: skip

    if copies < 2:
        loops = on_threads(threads, tally, kinds)
    else:
        loops = []
        for kind in kinds:
            loops.append(sum(on_threads(copies, partial(tally, kind, parts=copies), range(copies))))
            for one in more:
                found[kind] += one
    for kind, number in zip(kinds, loops):
        total = (count - number) * (1 + edges.mirror) + number * edges.loops
        if int(found[kind].sum(dtype=np.uint64)) != total:
            raise GraphError("a vertex has more than 2^32 - 1 edges, which degrees do not hold")
    return found


def renumbered(edges: Edges, ranks: NDArray[np.uint32], room: DiskArrays, threads: int) -> Edges:
    """Renumber the vertices of all edges once, so that later scans need not look up the new numbers.

    The arrays `src` and `dst` of `edges` are overwritten, unless a column is computed from these arrays.

    Args:
        edges: the edges.
        ranks: uint32[n], the new number of each vertex.
        room: allocates arrays on disk for the new ends of the edges if the old ends must stay.
        threads: how many threads to use.
    """
    kept = any(isinstance(column, RuleColumn) for column in edges.columns.values())
    new = []
    for ends in (edges.src, edges.dst):
        out = room.empty(len(ends), np.uint32) if kept else ends
        over(len(ends), threads, partial(_renumber, ends, ranks, out))
        new.append(out)
    return replace(edges, src=new[0], dst=new[1])


def _renumber(ends: Array, ranks: Array, out: Array, first: int, last: int) -> None:
    kernels("partition")["renumber"](ends, first, last, ranks, out)


@dataclass(frozen=True)
class _Buckets:
    """The assignment of rows to buckets, in the form that kernels read (see `count_buckets`)."""

    bounds: NDArray[np.uint32]
    coarse: NDArray[np.uint32]
    grain: int

    @staticmethod
    def cut(degrees: NDArray[np.uint32], most: int) -> _Buckets:
        """Divide the rows into runs of about `most` entries; a run may be larger if it is a single row, or to
        reduce the number of runs.
        """
        n = len(degrees)
        most = max(most, -(-int(degrees.sum(dtype=np.uint64)) // MOST_BUCKETS))
        bounds = [0]
        before = begin = 0  # number of entries before the block, and before the current bucket
        for low in range(0, n, 1 << 16):
            ends = before + np.cumsum(degrees[low : low + (1 << 16)], dtype=np.int64)
            while (stop := int(np.searchsorted(ends, begin + most, side="right"))) < len(ends):
                if low + stop == bounds[-1]:  # a single row is larger than a bucket
                    stop += 1
                bounds.append(low + stop)
                begin = int(ends[stop - 1]) if stop else before
            before = int(ends[-1])
        bounds = [*(bound for bound in bounds if bound < n), n] if n else [0, 0]
        grain = max(0, (max(n, 1) - 1).bit_length() - 16)
        edges_of = np.array(bounds, dtype=np.int64)
        coarse = np.searchsorted(edges_of, np.arange(0, max(n, 1), 1 << grain), side="right") - 1
        return _Buckets(edges_of.astype(np.uint32), np.minimum(coarse, len(bounds) - 2).astype(np.uint32), grain)


def room_for(edges: Edges, total: int, room: DiskArrays) -> list[Array]:
    """Allocate arrays on disk for the keys and columns of `total` entries.

    Both adjacency directions use these arrays, one after the other.
    """
    return [room.empty(total, np.uint64), *(room.empty(total, column.dtype) for column in edges.columns.values())]


def scatter(
    edges: Edges, kind: str, degrees: NDArray[np.uint32], most: int, arrays: Sequence[Array], threads: int,
    progress: Progress,
) -> Entries:  # fmt: skip
    """Write the entries of a direction to buckets on disk.

    Args:
        edges: the edges.
        kind: the adjacency direction, "in" or "out".
        degrees: uint32[n], the length of each row.
        most: the maximum number of entries of a bucket.
        arrays: the arrays from `room_for`, to which the entries are written.
        threads: how many threads to use.
        progress: called with the finished fraction, 0 to 1.
    """
    buckets = _Buckets.cut(degrees, most)
    rows, others = edges.ends(kind)
    flags = _flags(edges) | _RECORDED * bool(edges.columns)
    code = kernels("partition")
    parts = [(len(rows) * i // threads, len(rows) * (i + 1) // threads) for i in range(threads)]
    counts = np.zeros((threads, len(buckets.bounds) - 1), dtype=np.int64)

    def count(i: int) -> None:
        code["count_buckets"](rows, others, *parts[i], flags, buckets.coarse, buckets.grain, buckets.bounds,
                              counts[i])  # fmt: skip

    on_threads(threads, count, range(threads))
    starts = np.zeros(counts.shape[1] + 1, dtype=np.int64)
    np.cumsum(counts.sum(axis=0), out=starts[1:])
    cursors = starts[:-1] + np.cumsum(counts, axis=0) - counts
    total = int(starts[-1])
    shift = 32 if not edges.columns else max(1, (edges.n - 1).bit_length())
    keys, *columns = (array[:total] for array in arrays)
    done = [0] * threads

    def place(i: int) -> None:
        chunk = _CHUNK if columns else 1 << 20
        places, back = np.empty((2, chunk if columns else 1), dtype=np.int64)
        for first in range(parts[i][0], parts[i][1], chunk):
            last = min(first + chunk, parts[i][1])
            code["place_edges"](rows, others, first, last, flags, buckets.coarse, buckets.grain, buckets.bounds,
                                cursors[i], shift, keys, places, back)  # fmt: skip
            for column, out in zip(edges.columns.values(), columns):
                values = column.part(first, last)
                _put(values, places, out)
                if edges.mirror:
                    _put(values, back, out)
            done[i] = last - parts[i][0]
            if i == 0:
                progress(sum(done) / len(rows))

    on_threads(threads, place, range(threads))
    return Entries(keys, columns, starts, shift)


def _put(values: Array, places: NDArray[np.int64], out: Array) -> None:
    bits = 8 * out.dtype.itemsize
    word = f"u{bits // 8}"
    kernels("partition")[f"put{bits}"](np.ascontiguousarray(values).view(word), places, len(values), out.view(word))


@dataclass(frozen=True)
class _Leaf:
    """The entries low..high-1 of arrays, as one task of a sort.

    Attributes:
        equal: all keys are equal, so that no sort is needed.
    """

    keys: NDArray[np.uint64]
    columns: list[Array]
    low: int
    high: int
    equal: bool = False


class _Turns:
    """Distributes leaves to threads, and passes the sorted leaves to the sink in the order of the leaves."""

    def __init__(self, leaves: Iterator[_Leaf], progress: Callable[[int], None]) -> None:
        self._leaves, self._progress = leaves, progress
        self._lock = allocate_lock()
        self._before = allocate_lock()  # released when all leaves distributed so far are in the sink
        self._failed = False
        self._done = 0

    def serve(self, sort: Callable[[_Leaf], tuple[NDArray[np.uint64], list[Array]]], sink: Sink) -> None:
        """Sort leaves and pass them to `sink` until no leaf is left or a thread has failed.

        Every thread calls this method.
        """
        while True:
            with self._lock:
                leaf = None if self._failed else next(self._leaves, None)
                if leaf is None:
                    return
                before, after = self._before, allocate_lock()
                after.acquire()
                self._before = after
            try:
                found = sort(leaf)
                with before:
                    if not self._failed:
                        sink(*found)
                        self._done += leaf.high - leaf.low
                        self._progress(self._done)
            except BaseException:
                self._failed = True
                raise
            finally:
                after.release()


class Sorter:
    """Sorts the entries of all buckets and passes them on in order, with one bucket per thread in memory."""

    def __init__(self, entries: Entries, most: int, room: DiskArrays, threads: int) -> None:
        """Allocate memory for `threads` times `most` entries (see `bytes_an_entry`)."""
        self._entries, self._most, self._room, self._threads = entries, most, room, threads
        self._sum = int(entries.starts[-1])
        most = min(most, self._sum)
        self._keys = [empty(most, np.uint64) for _ in range(threads)]
        self._order: NDArray[np.uint64] | None = None
        if entries.columns:
            self._order = empty(most, np.uint64)
            self._order[:] = np.arange(most, dtype=np.uint64)
            self._places = [empty(most, np.int64) for _ in range(threads)]
            self._taken = [[empty(most, column.dtype) for column in entries.columns] for _ in range(threads)]

    @staticmethod
    def bytes_an_entry(widths: Sequence[int], threads: int) -> int:
        """Bytes of memory per entry of a bucket.

        Args:
            widths: bytes per value, of each column.
        """
        return threads * (8 + (8 + sum(widths) if widths else 0)) + (8 if widths else 0)

    def each(self, sink: Sink, progress: Progress) -> None:
        """Call `sink(keys, columns)` with all sorted entries, part by part. The arrays are valid only during the call.

        Only one thread at a time calls `sink`; the other threads sort their next parts meanwhile.
        """
        if self._sum:
            turns = _Turns(self._all_leaves(), lambda done: progress(done / self._sum))
            serve = [partial(turns.serve, partial(self._sort, thread=thread), sink) for thread in range(self._threads)]
            on_threads(self._threads, lambda one: one(), serve)
        progress(1)

    def _all_leaves(self) -> Iterator[_Leaf]:
        """Yield all entries in parts that fit in memory. Adjacent small buckets are not combined."""
        e = self._entries
        for low, high in zip(e.starts[:-1].tolist(), e.starts[1:].tolist()):
            if low < high:
                yield from self._leaves(e.keys, e.columns, low, high)

    def _leaves(self, keys: NDArray[np.uint64], columns: list[Array], low: int, high: int) -> Iterator[_Leaf]:
        least, greatest = _range(keys, low, high)
        spread = (greatest - least).bit_length()
        count = high - low
        if least == greatest:
            for first in range(low, high, self._most):
                yield _Leaf(keys, columns, first, min(first + self._most, high), equal=True)
        elif count <= self._most and (not columns or spread + (count - 1).bit_length() <= 64):
            yield _Leaf(keys, columns, low, high)
        else:
            keys, columns, starts = self._divided(keys, columns, low, high, least, spread)
            for first, last in zip(starts[:-1].tolist(), starts[1:].tolist()):
                if first < last:
                    yield from self._leaves(keys, columns, first, last)

    def _divided(
        self, keys: NDArray[np.uint64], columns: list[Array], low: int, high: int, least: int, spread: int
    ) -> tuple[NDArray[np.uint64], list[Array], NDArray[np.int64]]:
        """Copy entries into parts of consecutive key ranges.

        Returns keys, columns, and the index where each part begins.
        """
        code = kernels("partition")
        shift = max(0, spread - _BINS.bit_length() + 1)
        bins = np.zeros(_BINS, dtype=np.int64)
        code["count_keys"](keys, low, high, least, shift, bins)
        ends = np.cumsum(bins)
        parts = np.zeros(_BINS, dtype=np.int64)
        begin = first_bin = 0
        widest = 1 << max(0, 64 - (self._most - 1).bit_length() - shift) if columns else _BINS
        for b in range(1, _BINS):  # the bins of a part fit in memory, and a key and an index together in 64 bits
            if int(ends[b]) - begin > self._most or b - first_bin >= widest:
                begin, first_bin = int(ends[b - 1]), b
            parts[b] = parts[b - 1] + (first_bin == b)
        starts = np.concatenate([[0], np.cumsum(np.bincount(parts, weights=bins).astype(np.int64))])
        cursors = starts[:-1].copy()
        out = self._room.empty(high - low, np.uint64)
        outs = [self._room.empty(high - low, column.dtype) for column in columns]
        places = np.empty(_CHUNK, dtype=np.int64)
        for first in range(low, high, _CHUNK):
            last = min(first + _CHUNK, high)
            code["place_keys"](keys, first, last, least, shift, parts, cursors, out, places)
            for column, target in zip(columns, outs):
                _put(column[first:last], places, target)
        return out, outs, starts

    def _sort(self, leaf: _Leaf, thread: int) -> tuple[NDArray[np.uint64], list[Array]]:
        count = leaf.high - leaf.low
        keys = self._keys[thread][:count]
        keys[:] = leaf.keys[leaf.low : leaf.high]
        if leaf.equal:
            return keys, [column[leaf.low : leaf.high] for column in leaf.columns]
        if self._order is None:
            keys.sort()
            return keys, []
        bits = np.uint64((count - 1).bit_length())
        least = keys.min()
        keys -= least
        keys <<= bits
        keys |= self._order[:count]
        keys.sort()
        places = self._places[thread][:count]
        np.bitwise_and(keys, (np.uint64(1) << bits) - np.uint64(1), out=places.view(np.uint64))
        keys >>= bits
        keys += least
        taken = []
        for column, buffer in zip(leaf.columns, self._taken[thread]):
            word = f"u{column.dtype.itemsize}"
            kernels("take")[f"take{8 * column.dtype.itemsize}"](
                column[leaf.low : leaf.high].view(word), places, 0, count, buffer[:count].view(word)
            )
            taken.append(buffer[:count])
        return keys, taken


def _range(keys: NDArray[np.uint64], low: int, high: int) -> tuple[int, int]:
    parts = [keys[first : min(first + (1 << 18), high)] for first in range(low, high, 1 << 18)]
    return min(int(part.min()) for part in parts), max(int(part.max()) for part in parts)
