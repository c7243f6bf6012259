"""Builds adjacency lists from edges by a bucketed counting sort in two scans: count, then scatter.

The entries (row, neighbour) are counted per bucket of rows, then scattered to their buckets, and each bucket is sorted
while it is in cache. The key of a scattered entry has 32 bits if row and neighbour fit, else 64. Large inputs with
wider keys or columns are scattered in a few groups of buckets, one after the other. The scan is repeated for each
group, but the temporary arrays hold only the entries of one group. All steps are stable, so the result depends neither
on the number of threads nor on the grouping. The division into buckets that fit in cache follows propagation blocking
(Beamer, Asanovic, Patterson, IPDPS 2017).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from vlang.records import dataclass
from vlang.runtime.graph.kernels import kernels
from vlang.runtime.storage.passing import passing
from vlang.runtime.storage.room import require_room
from vlang.runtime.threads.workers import cut, on_threads, over

__all__ = ["MANY", "EdgeScan", "RowScan", "Rows", "build_rows", "bytes_in_flight", "take"]

ENTRIES_PER_BUCKET = 1 << 14
MOST_BUCKETS = 1 << 10
ENTRIES_IN_FLIGHT = 1 << 20
BYTES_IN_FLIGHT = 4
"""Bytes of temporary memory that a large input may use per entry, counted over all entries of the input."""

NARROW = 32
"""Bits of a key that is stored as uint32."""

MANY = 1 << 22
"""From this number of vertices on, the free memory is checked first, because a few bytes of a file may declare many."""

SMALL = 1 << 14
"""Up to this number of entries, NumPy sorts in a few milliseconds, while compiling the kernels takes a second."""

Array = NDArray[Any]


@dataclass(frozen=True)
class Rows:
    """Adjacency lists: offsets uint64[n + 1], targets uint32[m], columns name -> array[m]."""

    offsets: NDArray[np.uint64]
    targets: NDArray[np.uint32]
    columns: dict[str, Array]


@dataclass(frozen=True)
class _Layout:
    """The division of rows into buckets: bucket b begins with row b << shift.

    A key consists of the row inside the bucket and, in its low `bits` bits, the neighbour.
    """

    n: int
    shift: int
    bits: int
    buckets: int

    @property
    def keys(self) -> np.dtype[Any]:
        """The dtype of a key."""
        return np.dtype(np.uint32 if self.shift + self.bits <= NARROW else np.int64)

    @property
    def kernels(self) -> Mapping[str, Callable[..., int]]:
        """The kernels for this type of key."""
        return kernels("sort", "i64" if self.keys == np.int64 else "u32")


class Scan(Protocol):
    """A list of entries (row, neighbour) that can be traversed several times.

    `length` is the number of elements of the scanned array, and `most` is an upper bound of the number of entries.
    `ordered` is True if the entries come in increasing order of neighbours.
    """

    length: int
    most: int
    ordered: bool

    def count(self, first: int, last: int, layout: _Layout, counts: Array) -> None:
        """Add the number of entries of each bucket in the range first..last-1 to counts[bucket].

        Args:
            first, last: the scanned range.
            layout: the layout of the buckets.
            counts: int64, one count per bucket.
        """

    def scatter(self, first: int, last: int, layout: _Layout, group: _Group, cursors: Array) -> None:
        """Write the entries of first..last-1 whose bucket is in `group`, at the cursors of the buckets.

        Args:
            first, last: the scanned range.
            layout: the layout of the buckets.
            group: the buckets to write.
            cursors: int64, the next free position of each bucket.
        """

    def entries(self) -> tuple[Array, Array, Array]:
        """The row, the neighbour and the scanned position of every entry."""


class EdgeScan:
    """An edge list: edge e has an entry in row `rows[e]` and, with `mirror`, in row `others[e]` (self-loops once)."""

    ordered = False

    def __init__(self, rows: NDArray[np.uint32], others: NDArray[np.uint32], mirror: bool) -> None:
        self._rows = np.ascontiguousarray(rows)
        self._others = np.ascontiguousarray(others)
        self._mirror = mirror
        self.length = len(rows)
        self.most = self.length * (1 + mirror)

    def count(self, first: int, last: int, layout: _Layout, counts: Array) -> None:
        layout.kernels["count_edges"](self._rows, self._others, first, last, self._mirror, layout.shift, counts)

    def scatter(self, first: int, last: int, layout: _Layout, group: _Group, cursors: Array) -> None:
        flags = self._mirror | (group.places is not None) << 1
        layout.kernels["scatter_edges"](
            self._rows, self._others, first, last, flags, layout.shift, layout.bits, group.low, group.high,
            group.base, cursors, group.keys, group.places,
        )  # fmt: skip

    def entries(self) -> tuple[Array, Array, Array]:
        places = np.arange(self.length)
        if not self._mirror:
            return self._rows, self._others, places
        back = np.flatnonzero(self._rows != self._others)
        return (np.concatenate([self._rows, self._others[back]]), np.concatenate([self._others, self._rows[back]]),
                np.concatenate([places, back]))


class RowScan:
    """The transpose of adjacency lists: each target is a row, and each row a neighbour."""

    ordered = True

    def __init__(self, offsets: NDArray[np.uint64], targets: NDArray[np.uint32]) -> None:
        self._offsets = offsets
        self._targets = targets
        self.length = self.most = len(targets)

    def count(self, first: int, last: int, layout: _Layout, counts: Array) -> None:
        layout.kernels["count_edges"](self._targets, self._targets, first, last, 0, layout.shift, counts)

    def scatter(self, first: int, last: int, layout: _Layout, group: _Group, cursors: Array) -> None:
        row = int(np.searchsorted(self._offsets, np.uint64(first), side="right")) - 1
        layout.kernels["scatter_rows"](
            self._offsets, self._targets, first, last, row, group.places is not None, layout.shift, layout.bits,
            group.low, group.high, group.base, cursors, group.keys, group.places,
        )  # fmt: skip

    def entries(self) -> tuple[Array, Array, Array]:
        rows = np.repeat(np.arange(len(self._offsets) - 1), np.diff(self._offsets).astype(np.int64))
        return self._targets, rows, np.arange(self.length)


@dataclass(frozen=True)
class _Group:
    """The buckets first..last-1 with the rows low..high-1, and memory for their entries, from index `base` on."""

    first: int
    last: int
    low: int
    high: int
    base: int
    keys: Array
    places: Array | None


def build_rows(scan: Scan, n: int, columns: Mapping[str, Array], threads: int) -> Rows:
    """Build adjacency lists of n vertices, with rows sorted by neighbour and parallel edges in the order of the scan.

    Args:
        scan: the entries.
        n: the number of rows.
        columns: name -> one value of 1, 2, 4 or 8 bytes per scanned position. `Rows.columns` has the values of
            `columns` in the order of the targets.
        threads: how many threads to use.

    Raises:
        OutOfMemory: there are many vertices, and not enough memory for their lists.
    """
    if n >= MANY:
        entry = 4 + sum(values.itemsize for values in columns.values())
        require_room(8 * (n + 1) + entry * scan.most + bytes_in_flight(n, scan.most, bool(columns)),
                     f"an adjacency of {n:,} vertices and {scan.most:,} edges")
    if scan.most <= SMALL:
        return _by_numpy(*scan.entries(), n, columns)
    layout = _layout(n, scan.most)
    parts = cut(scan.length, threads)
    counts = np.zeros((len(parts), layout.buckets), dtype=np.int64)
    on_threads(threads, lambda i: scan.count(*parts[i], layout, counts[i]), range(len(parts)))
    starts = np.zeros(layout.buckets + 1, dtype=np.int64)
    np.cumsum(counts.sum(axis=0), out=starts[1:])
    cursors = starts[:-1] + np.cumsum(counts, axis=0) - counts
    m = int(starts[-1])
    rows = Rows(
        np.zeros(n + 1, dtype=np.uint64),
        np.empty(m, dtype=np.uint32),
        {name: np.empty(m, dtype=values.dtype) for name, values in columns.items()},
    )
    entry = layout.keys.itemsize + (8 if columns else 0)
    cuts = _groups(starts, max(ENTRIES_IN_FLIGHT, m * BYTES_IN_FLIGHT // entry))
    size = max((int(starts[b] - starts[a]) for a, b in cuts), default=0)
    keys, places = passing(size, layout.keys), passing(size, np.int64) if columns else None
    for first, last in cuts:
        group = _Group(
            first, last, first << layout.shift, min(layout.n, last << layout.shift), int(starts[first]), keys, places
        )
        scatter = partial(_scatter, scan, parts, layout, group, cursors)
        on_threads(threads, scatter, range(len(parts)))
        _finish(group, layout, starts, layout.bits if scan.ordered else 0, rows, threads)
        _fetch(group, int(starts[last]), columns, rows, threads)
    rows.offsets[n] = m
    return rows


def bytes_in_flight(n: int, entries: int, columns: bool) -> int:
    """Bytes of temporary memory that `build_rows` uses in addition to its input and result.

    Args:
        n: the number of rows.
        entries: the number of entries in all rows.
        columns: whether there are columns, so that input positions must be stored.
    """
    if entries <= SMALL:
        return 5 * 8 * entries  # positions, their order, and owners (_by_numpy)
    entry = _layout(n, entries).keys.itemsize + (8 if columns else 0)
    return entry * min(entries, max(ENTRIES_IN_FLIGHT, entries * BYTES_IN_FLIGHT // entry))


def _by_numpy(owners: Array, others: Array, places: Array, n: int, columns: Mapping[str, Array]) -> Rows:
    """Build adjacency lists of few entries by NumPy, so that a first run on a small graph compiles no kernel."""
    order = np.lexsort((places, others, owners))
    offsets = np.zeros(n + 1, dtype=np.uint64)
    np.add.at(offsets, owners.astype(np.int64) + 1, np.uint64(1))
    np.cumsum(offsets, out=offsets)  # in place, as vertices may be many
    return Rows(offsets, others[order].astype(np.uint32), {name: c[places[order]] for name, c in columns.items()})


def _scatter(
    scan: Scan, parts: list[tuple[int, int]], layout: _Layout, group: _Group, cursors: Array, part: int
) -> None:
    scan.scatter(*parts[part], layout, group, cursors[part])


def _layout(n: int, entries: int) -> _Layout:
    """Choose the number of rows per bucket so that the entries of one bucket, and all cursors, fit in cache."""
    wanted = min(MOST_BUCKETS, max(2, entries // ENTRIES_PER_BUCKET))
    shift = max(0, (max(n, 1) - 1).bit_length() - (wanted - 1).bit_length())
    return _Layout(n, shift, max(1, (n - 1).bit_length()), max(1, -(-n >> shift) if n else 0))


def _groups(starts: Array, limit: int) -> list[tuple[int, int]]:
    """Divide the buckets into consecutive ranges of at most `limit` entries, or of a single bucket."""
    found = []
    first = 0
    while first < len(starts) - 1:
        last = max(first + 1, int(np.searchsorted(starts, starts[first] + limit, side="right")) - 1)
        found.append((first, last))
        first = last
    return found


def _finish(group: _Group, layout: _Layout, starts: Array, low: int, rows: Rows, threads: int) -> None:
    """Sort the buckets of a group and write their rows, in a few tasks per thread with about equal numbers of entries.
    """
    count = int(starts[group.last]) - group.base
    tasks = cut(count, threads * 4) or [(0, 0)]
    edges = [group.first + int(np.searchsorted(starts[group.first : group.last + 1], group.base + t[0])) for t in tasks]
    edges[0] = group.first
    edges.append(group.last)

    def work(i: int) -> None:
        a, b = edges[i], edges[i + 1]
        if a == b:
            return
        spare = int(np.diff(starts[a : b + 1]).max())
        layout.kernels["finish_buckets"](
            group.keys, group.places, starts, a, b, group.base, layout.shift, layout.bits, layout.n, low,
            group.places is not None, np.empty(spare, dtype=layout.keys),
            None if group.places is None else np.empty(spare, dtype=np.int64), np.empty(1 << 11, dtype=np.int64),
            rows.offsets, rows.targets,
        )  # fmt: skip

    on_threads(threads, work, range(len(tasks)))


def _fetch(group: _Group, end: int, columns: Mapping[str, Array], rows: Rows, threads: int) -> None:
    """Copy the column values of the entries base..end-1 of a group."""
    if group.places is not None:
        for name, values in columns.items():
            take(values, group.places[: end - group.base], rows.columns[name][group.base : end], threads)


def take(values: Array, places: Array, out: Array, threads: int) -> None:
    """Set out[i] to values[places[i]] for each i.

    Args:
        values: elements of 1, 2, 4 or 8 bytes.
        places: int64, indices into `values`.
        out: the result, with the dtype of `values` and the length of `places`.
        threads: how many threads to use.
    """
    bits = 8 * values.dtype.itemsize
    kernel = kernels("take")[f"take{bits}"]
    source, sink = np.ascontiguousarray(values).view(f"u{bits // 8}"), out.view(f"u{bits // 8}")
    over(len(places), threads, lambda first, last: kernel(source, places, first, last, sink))
