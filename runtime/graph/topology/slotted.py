"""Slotted pages of an adjacency (GTS, Kim et al., SIGMOD 2016, sections 2 and 6.1, and appendix A).

A page has records from its start on, and slots from its end backwards. The record of a vertex is ADJLIST_SZ, the length
of its list (4 bytes), and ADJLIST, the record ids of its neighbours. Its slot is VID, the number of the vertex (6
bytes), and OFF, the place of its record (4 bytes). A record id is ADJ_PID, a page number of p bytes, and ADJ_OFF, a
slot number of q bytes. The table RVT has START_VID, the first vertex of each page, so that START_VID[ADJ_PID] + ADJ_OFF
is the number of the neighbour.

A *small page* has complete records. A vertex with more edges than a page may hold has *large pages*, each of which has
a part of its list as its only record with edges. The record id of the vertex names the first of them, and LP_RANGE is
the number of large pages of the vertex after each one. Vertices without edges at the end of a page have no slot there,
and their record ids continue the slot numbers. Vertices before the first one with edges (on one of several GPUs the
mirrors of vertices that earlier GPUs own) have neither record nor slot: RVT has one more entry, of a page without
bytes, in which they have their numbers.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vlang.errors import BindError
from vlang.records import dataclass
from vlang.runtime.graph.kernels import kernels
from vlang.runtime.graph.topology.pages import distinct, first_vertices, page_starts
from vlang.runtime.threads.workers import on_threads

__all__ = ["RecordIds", "SlottedPages", "record_ids", "slotted_starts"]

Int64s = NDArray[np.int64]

_SLOT, _SIZE = 10, 4  # bytes of a slot, and of the length of a list
_ALIGNED = 16  # bytes: the size of a page is a multiple
_SMALL = 0xFFFFFFFF  # LP_RANGE of a small page: -1
_MOST_BYTES = 4  # of a page number or a slot number


@dataclass(frozen=True)
class RecordIds:
    """The bytes of a page number (p) and of a slot number (q) in a record id."""

    p: int
    q: int

    @property
    def width(self) -> int:
        """The bytes of a record id."""
        return self.p + self.q


def record_ids(layout: str) -> RecordIds | None:
    """Return the record ids that the option `layout` asks for ("slotted-P-Q"); None if the fewest bytes are taken.

    Raises BindError for another text.
    """
    match = re.fullmatch(r"slotted(?:-([1-4])-([1-4]))?", layout) if isinstance(layout, str) else None
    if match is None:
        raise BindError("layout is 'csr', 'slotted', or 'slotted-P-Q' with P bytes of a page number and Q bytes of a "
                        f"slot number, each 1 to {_MOST_BYTES}, such as 'slotted-2-2', not {layout!r}")
    return RecordIds(int(match[1]), int(match[2])) if match[1] else None


def slotted_starts(offsets: Int64s, segments: Int64s, edges: int) -> Int64s:
    """Return the first edge of each page, and the end. A vertex with more edges than a page has pages of its own.

    Args:
        offsets: int64[n + 1], the adjacency offsets.
        segments: int64[S, 3], the segments of long vertices. Large pages end between two segments.
        edges: the number of edges that a page may hold.
    """
    large = segments[np.diff(offsets)[segments[:, 0]] > edges]
    starts = page_starts(offsets, large[:, 2], edges)
    return distinct(np.concatenate([starts, offsets[large[:, 0]], offsets[large[:, 0] + 1]])) if len(large) else starts


@dataclass(frozen=True)
class SlottedPages:
    """The form of the slotted pages of an adjacency, without their bytes.

    Attributes:
        ids: the bytes of record ids.
        starts: int64[P + 1], the first edge of each page, and the end.
        firsts: int64[P], the first vertex of each page.
        slots: int64[P], the number of slots of each page: one for each vertex up to the last one with edges.
        numbers: int64[P], the number of slot numbers of each page: one for each vertex up to the next page. Vertices
            without edges at the end have a number, but neither slot nor record.
        heads: the number of vertices before the first one with edges.
        begins: int64[P + 1], the first byte of each page in the bytes of all pages, and the end.
        rvt: uint32[P, 2], START_VID and LP_RANGE of each page; LP_RANGE is 2^32 - 1 for a small page. If there are
            `heads`, uint32[P + 1, 2].
    """

    ids: RecordIds
    starts: Int64s
    firsts: Int64s
    slots: Int64s
    numbers: Int64s
    heads: int
    begins: Int64s
    rvt: NDArray[np.uint32]

    @staticmethod
    def of(offsets: NDArray[np.uint64], starts: Int64s, asked: RecordIds | None) -> SlottedPages:
        """Return the pages that begin at the edges `starts`, as `slotted_starts` returns them.

        Args:
            offsets: uint64[n + 1], the adjacency offsets.
            starts: int64[P + 1], the first edge of each page, and the end.
            asked: the bytes of record ids; None for the fewest.
        """
        ends = offsets.view(np.int64)
        n, pages = len(ends) - 1, len(starts) - 1
        firsts = first_vertices(ends, starts[:-1])
        heads = int(np.searchsorted(ends, 0, side="right")) - 1 if ends[-1] else 0
        firsts[:1] = heads
        lasts = np.searchsorted(ends, starts[1:] - 1, side="right")  # the end of the vertices with edges in a page
        slots = np.where(np.diff(starts) > 0, lasts - firsts, 0)
        numbers = np.maximum(slots, np.diff(np.append(firsts, n)))
        ids = asked or _least(numbers, heads)
        sizes = (_SLOT + _SIZE) * slots + ids.width * np.diff(starts)
        begins = np.zeros(pages + 1, np.int64)
        np.cumsum(-(-sizes // _ALIGNED) * _ALIGNED, out=begins[1:])
        rvt = np.stack([firsts, np.full(pages, _SMALL)], axis=1).astype(np.uint32)
        if n:
            after = np.searchsorted(starts, ends[firsts + 1]) - np.arange(pages) - 1
            large = (ends[firsts] < starts[:-1]) | (after > 0)
            rvt[large, 1] = np.maximum(after, 0)[large]
        rvt = np.append(rvt, np.array([[0, _SMALL]], np.uint32), axis=0) if heads else rvt
        return SlottedPages(ids, starts, firsts, slots, numbers, heads, begins, rvt)

    def check(self) -> None:
        """Raise BindError if the record ids cannot address all pages and slots."""
        ids, least = self.ids, _least(self.numbers, self.heads)
        if ids.p < least.p or ids.q < least.q:
            most = max(int(self.numbers.max()), self.heads)
            raise BindError(f"layout='slotted-{ids.p}-{ids.q}': {len(self.rvt):,} pages of at most {most:,} slots need "
                            f"record ids of {least.p} and {least.q} bytes or more; ask for "
                            f"'slotted-{max(ids.p, least.p)}-{max(ids.q, least.q)}', or for 'slotted'")

    @property
    def largest(self) -> int:
        """The number of bytes of the largest page."""
        return int(np.diff(self.begins).max(initial=0))

    def places(self) -> NDArray[np.uint32]:
        """Return the page in the record id of each vertex, uint32[n]; for a vertex with large pages the first one."""
        first = np.flatnonzero(np.diff(self.firsts, prepend=-1))  # the pages in which new vertices begin
        last = np.append(first[1:], len(self.firsts)) - 1
        new = np.diff(np.append(self.firsts[first], int(self.firsts[-1] + self.numbers[-1])))
        found = np.repeat(last, new).astype(np.uint32)
        if len(found):
            found[self.firsts[first] - self.heads] = first
        return np.append(np.full(self.heads, len(self.firsts), np.uint32), found)

    def written(self, offsets: NDArray[np.uint64], targets: NDArray[np.uint32], threads: int) -> NDArray[np.uint8]:
        """Return the bytes of all pages, uint8[begins[P]].

        Args:
            offsets: uint64[n + 1], the adjacency offsets.
            targets: uint32[m], the neighbours.
            threads: the number of threads.
        """
        data = np.zeros(int(self.begins[-1]), np.uint8)
        places, lay = self.places(), kernels("slotted")["lay_slotted"]
        firsts = np.append(self.firsts, 0)

        def write(page: int) -> None:
            low, high = self.begins[page : page + 2].tolist()
            lay(offsets, targets, places, firsts, int(self.firsts[page]), int(self.slots[page]),
                int(self.starts[page]), int(self.starts[page + 1]), self.ids.p, self.ids.q, data[low:high], high - low)

        on_threads(threads, write, range(len(self.firsts)) if len(places) else ())
        return data

    def read(self, page: int, data: NDArray[Any]) -> NDArray[np.uint32]:
        """Return the neighbours in a page, as numbers of vertices, in the order of its edges.

        Raises ValueError if a slot has another vertex than the table RVT says.
        """
        low, high = self.begins[page : page + 2].tolist()
        out = np.empty(int(self.starts[page + 1] - self.starts[page]), np.uint32)
        count = kernels("slotted")["read_slotted"](data[low:high], high - low, int(self.slots[page]), self.rvt,
                                                   self.ids.p, self.ids.q, int(self.firsts[page]), out)
        if count != len(out):
            raise ValueError(f"page {page} is damaged")
        return out


def _least(numbers: Int64s, heads: int) -> RecordIds:
    """Return the record ids with the fewest bytes.

    Args:
        numbers: the number of slot numbers of each page, int64[P].
        heads: the number of vertices before the first one with edges.
    """
    return RecordIds(_bytes(len(numbers) + (heads > 0)), _bytes(max(heads, int(numbers.max(initial=1)))))


def _bytes(count: int) -> int:
    """Return the number of bytes of the numbers 0 to `count` - 1; at least 1."""
    return max(1, -(-(count - 1).bit_length() // 8))
