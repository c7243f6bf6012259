"""The layout of a topology in device memory: tables, and either all edges (if they fit) or slots for pages."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import accumulate
from typing import Any

from numpy.typing import NDArray

from vlang.errors import OutOfMemory
from vlang.records import dataclass
from vlang.runtime.engine.state import DTYPES
from vlang.runtime.gpu.device.arena import GRAIN, in_bytes
from vlang.runtime.gpu.kernels.sparse_layout import MARK_WORDS
from vlang.runtime.gpu.topology.cut import Cut, Part, Sharding, Shards, long_rows
from vlang.runtime.gpu.topology.sides import DiskSide, Side, Values
from vlang.runtime.graph.topology.slotted import RecordIds, SlottedPages
from vlang.runtime.plan.plan import ROW_WORDS, SEGMENT
from vlang.runtime.storage.reading.page_reader import PageViews

__all__ = [
    "LAYOUT_WORDS", "TARGETS", "Footprint", "Slotted", "Stored", "Use", "footprint", "share_memory", "stored_arrays",
]

TARGETS = "targets"
LAYOUT_WORDS = 3 * ROW_WORDS  # for each word of a row: bytes per edge, offset in the slot, address in host memory

_ALIGNED = 256  # bytes: alignment of arrays
_LEAST, _MOST = 8 << 20, 16 << 20  # bytes of a page: the host needs 20 to 100 us a page, the link 150 us for 8 MiB
_ALONE = 5 << 19  # bytes of a page if all pages are copied; the larger the share on the device, the larger the pages
_UNREAD = 8  # 1 / _UNREAD of the memory is for directions that no loop is expected to read
_FEW = 4  # a sufficient number of slots: one in use, and the others being filled


@dataclass(frozen=True)
class Use:
    """The arrays over edges that a pass reads.

    Attributes:
        columns: (name, dtype) of each edge column, in the order of a page's row.
        sharding: the rule for shards if the kernel of the pass is pull_shards; otherwise None.
    """

    columns: tuple[tuple[str, str], ...] = ()
    sharding: Sharding | None = None

    def keys(self, name: str) -> tuple[str, ...]:
        """Return the keys of the arrays that the pass called `name` reads."""
        places = (f"places:{name}",) if self.sharding else ()
        return (TARGETS, *(column_key(*column) for column in self.columns), *places)


@dataclass(frozen=True)
class Slotted:
    """The form of slotted pages (`vlang.runtime.graph.topology.slotted`) that are decoded when they arrive.

    Attributes:
        ids: the bytes of record ids; None for the fewest.
        streams: the most streams that copy pages. Each has a buffer for a page that is not decoded yet.
    """

    ids: RecordIds | None
    streams: int

    def pages(self, side: Side, cut: Cut) -> SlottedPages:
        """Return the slotted pages of a cut, cached in `side`. Raises BindError if record ids are too small."""
        found: SlottedPages = side.derived(("slotted", cut.key, self.ids),
                                           lambda: SlottedPages.of(side.offsets, cut.starts, self.ids))
        return found


@dataclass(frozen=True)
class Stored:
    """An array over edges.

    Attributes:
        key: the name of the array among the arrays of a page.
        itemsize: bytes per edge.
        source: the values in host memory; None if the values are on disk or are computed by kernels.
        read: returns the values of a page that was read from disk; None if the values are not on disk.
        slotted: the form of the slotted pages that have the values; None if no slotted pages are copied.
    """

    key: str
    itemsize: int
    source: NDArray[Any] | None
    read: Values | None = None
    slotted: Slotted | None = None

    @property
    def copied(self) -> bool:
        """Return whether the values are copied to the device.

        Values that are not copied are computed on the device by kernels.
        """
        return self.source is not None or self.read is not None or self.slotted is not None

    def piece(self, part: Part, views: PageViews | None) -> NDArray[Any]:
        """Return the values for the edges of a page. `views` holds the page if it was read from disk."""
        if self.source is not None:
            return self.source[part.begin : part.end]
        assert self.read is not None
        assert views is not None
        return self.read(views)


@dataclass(frozen=True)
class Footprint:
    """The layout of the device memory of a topology.

    Attributes:
        cut: the boundaries of pages.
        shards: the shards of the pages, by name of the `Use`.
        tables: the offset of each shared table by name. A shared table depends only on the graph and the cut.
        shared_bytes: the total size of the shared tables.
        own: the offset of each table of the run by name.
        own_bytes: the total size of the tables of the run.
        places: the offset of each array in a slot, by key.
        slot_bytes: the size of a slot. The slot holds the complete arrays if all edges stay on the device.
        slots: the number of slots for pages; 0 if the whole adjacency stays on the device.
        buffer_bytes: the size of a buffer for a slotted page; 0 without slotted pages.
        buffers: the number of these buffers.
    """

    cut: Cut
    shards: Mapping[str, Shards]
    tables: Mapping[str, int]
    shared_bytes: int
    own: Mapping[str, int]
    own_bytes: int
    places: Mapping[str, int]
    slot_bytes: int
    slots: int = 0
    buffer_bytes: int = 0
    buffers: int = 0

    @property
    def resident(self) -> bool:
        """Return whether all edges stay on the device."""
        return self.slots == 0

    @property
    def table_bytes(self) -> int:
        """The size of all tables, which stay on the device during the run."""
        return self.shared_bytes + self.own_bytes

    @property
    def least(self) -> int:
        """The minimum bytes of device memory with which these pages can be processed."""
        slots = 1 if self.resident else _fewest(self.cut)
        return self.table_bytes + slots * self.slot_bytes + min(slots + 1, self.buffers) * self.buffer_bytes


def column_key(name: str, dtype: str) -> str:
    """Return the key of a column among the arrays of a page."""
    return f"{name}:{dtype}"


def stored_arrays(side: Side, uses: Mapping[str, Use], slotted: Slotted | None = None) -> list[Stored]:
    """Return the distinct edge arrays of all `uses`. Raises GraphError for a column that does not fit its type.

    With `slotted`, the neighbours of edges in memory come in slotted pages.
    """
    columns = dict.fromkeys(column for use in uses.values() for column in use.columns)
    if isinstance(side, DiskSide):
        found = [Stored(TARGETS, 4, None, lambda page: page.targets)]
        found += [Stored(column_key(*c), DTYPES[c[1]].itemsize, None, side.values(*c)) for c in columns]
    else:
        found = [Stored(TARGETS, 4, None if slotted else side.targets, slotted=slotted)]
        for name, dtype in columns:
            values = side.column(name, DTYPES[dtype])
            found.append(Stored(column_key(name, dtype), values.itemsize, values))
    found.extend(Stored(f"places:{name}", 2, None) for name, use in uses.items() if use.sharding)
    return found


def footprint(
    side: Side, uses: Mapping[str, Use], arrays: Sequence[Stored], free: int, page_size: int | None,
    taken: int = 0, moving: bool = False,
) -> Footprint:
    """Return the best layout within `free` bytes.

    Args:
        side: the edges of an adjacency direction.
        uses: the arrays that passes read, by name of the `Use`.
        arrays: the result of `stored_arrays`.
        free: the bytes that are available.
        page_size: bytes of neighbours in a page. If `page_size` is None, all edges are in one page if they fit;
            otherwise the best size is chosen.
        taken: the bytes that the vertex state uses, for the error message.
        moving: whether the offsets move with windows of vertices, and are not among the tables.

    Raises:
        OutOfMemory: not even two pages fit.
    """
    whole = _whole(side, uses, arrays, page_size, moving)
    if whole.least <= free:
        return whole
    fixed = SEGMENT if isinstance(side, DiskSide) else None if page_size is None else _edges(page_size)
    sizes = _sizes(arrays, len(side), free - whole.table_bytes) if fixed is None else (fixed,)
    slotted = _slotted(arrays)
    for size in sizes:
        found = _laid_out(side, uses, arrays, Cut.of(side, size, slotted is not None), False, moving)
        slots, buffers = _slots(found, free, slotted.streams if slotted else 0)
        enough = _fewest(found.cut) if size == sizes[-1] else min(_FEW, found.cut.pages)
        if slots >= enough:
            return replace(found, slots=slots, buffers=buffers)
    raise _refusal(f"the {side.kind}-neighbours", len(side.offsets) - 1, [found], whole.least, free, taken)


def share_memory(
    sides: Mapping[str, Side], uses: Mapping[str, Mapping[str, Use]], free: int,
    page_size: int | None = None, taken: int = 0, unread: frozenset[str] = frozenset(), moving: bool = False,
    slotted: Slotted | None = None,
) -> dict[str, int]:
    """Divide `free` bytes among adjacency directions; returns the bytes of each direction.

    If not all directions fit completely, the smallest directions stay on the device, as long as the other directions
    can still be streamed. The remaining bytes are divided among the other directions in proportion to their sizes. A
    direction that no loop is expected to read gets memory for a few pages only, unless all other directions fit
    completely.

    Args:
        sides: the edges of each direction.
        uses: the arrays that passes read, by direction and name of the `Use`.
        free: the bytes that are available.
        page_size: bytes of neighbours in a page; None for the best size.
        taken: the bytes that the vertex state uses, for the error message.
        unread: the directions that no loop is expected to read.
        moving: whether the offsets move with windows of vertices, and are not among the tables.
        slotted: the form of streamed pages in memory; None for parts of the adjacency lists.

    Raises:
        OutOfMemory: not all directions can be streamed.
    """
    arrays = {kind: stored_arrays(side, uses[kind], slotted) for kind, side in sides.items()}
    whole = {kind: _whole(side, uses[kind], arrays[kind], page_size, moving).least
             for kind, side in sides.items()}
    if sum(whole.values()) <= free:
        return whole
    edges = SEGMENT if page_size is None else _edges(page_size)
    least = {kind: _laid_out(side, uses[kind], arrays[kind],
                             Cut.of(side, edges, _slotted(arrays[kind]) is not None), False, moving)
             for kind, side in sides.items()}
    need = {kind: min(found.least, whole[kind]) for kind, found in least.items()}
    left = free - sum(need.values())
    if left < 0:
        names = " and ".join(f"{kind}-neighbours" for kind in sides)
        n = max(len(side.offsets) - 1 for side in sides.values())
        raise _refusal(f"the {names}", n, list(least.values()), sum(whole.values()), free, taken)
    shares = dict(need)
    first = [kind for kind in whole if kind not in unread] or list(whole)
    for kind in whole if len(first) < len(whole) else ():
        some = min(whole[kind] - need[kind], left // _UNREAD) if kind in unread else 0
        shares[kind], left = shares[kind] + some, left - some
    for kind in sorted(first, key=whole.__getitem__):
        if whole[kind] - need[kind] <= left:
            left -= whole[kind] - need[kind]
            shares[kind] = whole[kind]
    partial = [kind for kind in whole if shares[kind] < whole[kind]]
    wanted = {kind: whole[kind] for kind in [kind for kind in partial if kind in first] or partial}
    return shares | {kind: shares[kind] + left * size // sum(wanted.values()) for kind, size in wanted.items()}


def _refusal(what: str, n: int, least: Sequence[Footprint], whole: int, free: int, taken: int) -> OutOfMemory:
    """Return an error that says how much memory is needed and available, and gives advice."""
    tables, need = sum(found.table_bytes for found in least), min(whole, sum(found.least for found in least))
    pages = "the only page" if max(found.cut.pages for found in least) == 1 else "two pages"
    error = OutOfMemory(
        f"{what} of {n:,} vertices do not fit into GPU memory: {in_bytes(tables)} for tables and "
        f"{in_bytes(need - tables)} for {pages} are needed at least ({in_bytes(whole)} keeps all edges there), and "
        f"{in_bytes(max(0, free))} are free beside {in_bytes(taken)} of vertex state; allow at least {taken + need} "
        "bytes (gpu_memory), or run on the CPU")
    error.least = taken + need
    return error


def _edges(page_size: int) -> int:
    return max(1, page_size // 4)


def _whole(
    side: Side, uses: Mapping[str, Use], arrays: Sequence[Stored], page_size: int | None, moving: bool
) -> Footprint:
    """Return the layout with all edges on the device. The layout is cached in `side`."""
    cut = Cut.of(side, None if page_size is None else _edges(page_size))
    rules = [use.sharding.key for use in uses.values() if use.sharding]
    if None in rules:  # its shards are not kept with the graph
        return _laid_out(side, uses, arrays, cut, resident=True, moving=moving)
    read = tuple((name, use.columns, use.sharding is not None) for name, use in uses.items())
    key = ("whole", page_size, moving, read, *rules)
    found: Footprint = side.derived(key, lambda: _laid_out(side, uses, arrays, cut, resident=True, moving=moving))
    return found


def _slots(found: Footprint, free: int, streams: int) -> tuple[int, int]:
    """Return the numbers of slots and of buffers for which `free` bytes suffice.

    Every stream has a buffer if pages are slotted, and no more streams than slots are used. A further buffer is for the
    stream of cached pages.

    Args:
        found: the layout.
        free: the bytes that are available.
        streams: the most streams that have a buffer.
    """
    room = free - found.table_bytes - found.buffer_bytes
    slots = (room - streams * found.buffer_bytes) // found.slot_bytes
    if slots < streams:
        slots = room // (found.slot_bytes + found.buffer_bytes)
    slots = min(found.cut.pages, slots)
    return slots, min(streams, slots) + 1 if found.buffer_bytes else 0


def _fewest(cut: Cut) -> int:
    """Return the minimum number of slots for streaming: one for the page in use, and one for the next page."""
    return min(2, cut.pages)


def _sizes(arrays: Iterable[Stored], edges: int, free: int) -> list[int]:
    """Return the page sizes to try, in edges, from the best size down to the smallest.

    The host must queue all pages of a sweep while the link copies the missing pages. The more edges are already on the
    device, the shorter this time is, so pages are larger and fewer.

    Args:
        arrays: the arrays of a page.
        edges: the number of edges.
        free: the bytes of device memory for pages.
    """
    each = sum(array.itemsize for array in arrays)
    missing = max(1 / 64, 1 - free / (each * max(1, edges)))
    best = min(max(int(_ALONE / missing), _LEAST), _MOST) // each
    return [size for size in (best >> k for k in range(best.bit_length())) if size > SEGMENT] + [SEGMENT]


def _laid_out(
    side: Side, uses: Mapping[str, Use], arrays: Iterable[Stored], cut: Cut, resident: bool, moving: bool
) -> Footprint:
    """Return the layout with the pages of `cut`: resident, or with the minimum number of slots."""
    shards = {name: _shards(side, cut, use.sharding) for name, use in uses.items() if use.sharding}
    rows = long_rows(side)
    tables, shared_bytes = _packed(({} if moving else {"offsets": side.offsets.nbytes}) | {
        "segments": rows.segments.nbytes, "longs": rows.longs.nbytes,
        "starts": cut.starts.nbytes, "blocks": 4 * int((cut.row_blocks + 1).sum()),
    })
    sizes: dict[str, int] = {}
    for name in uses:
        sizes |= {f"rows:{name}": 8 * ROW_WORDS * cut.pages, f"layout:{name}": 8 * LAYOUT_WORDS}
    for name, found in shards.items():
        sizes |= {f"bounds:{name}": found.bounds.nbytes, f"replicas:{name}": found.replicas.nbytes}
    sizes |= {"marks": 8 * MARK_WORDS * (cut.pages + 1), "sorting": 16 * (cut.pages + 1)}
    slotted, buffer = None if resident else _slotted(arrays), 0
    if slotted is not None:
        pages = slotted.pages(side, cut)
        sizes["rvt"], buffer = pages.rvt.nbytes, pages.largest
    own, own_bytes = _packed(sizes)
    edges = len(side) if resident else cut.largest
    sizes = {array.key: array.itemsize * edges for array in arrays}
    places, slot_bytes = _packed(sizes, GRAIN if resident else _ALIGNED)
    return Footprint(cut, shards, tables, shared_bytes, own, own_bytes, places, slot_bytes,
                     0 if resident else _fewest(cut), -(-buffer // _ALIGNED) * _ALIGNED,
                     0 if slotted is None else slotted.streams + 1)


def _slotted(arrays: Iterable[Stored]) -> Slotted | None:
    """Return the form of the slotted pages that have the neighbours; None without slotted pages."""
    return next((array.slotted for array in arrays if array.slotted is not None), None)


def _shards(side: Side, cut: Cut, rule: Sharding) -> Shards:
    """Return the shards of the pages, which are cached in `side` if the rule has a key."""
    if rule.key is None:
        return Shards.of(side, cut, rule)
    found: Shards = side.derived(("shards", cut.key, rule.key), lambda: Shards.of(side, cut, rule))
    return found


def _packed(sizes: Mapping[str, int], aligned: int = _ALIGNED) -> tuple[dict[str, int], int]:
    """Return the offsets of arrays that are stored one after the other, and the total size in bytes."""
    ends = list(accumulate(max(1, -(-size // aligned)) * aligned for size in sizes.values()))
    total = -(-ends[-1] // GRAIN) * GRAIN
    return dict(zip(sizes, [0, *ends[:-1]])), total
