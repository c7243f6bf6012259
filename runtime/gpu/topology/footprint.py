"""What the topology takes of device memory: everything if it fits, else tables and slots for pages."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vlang.errors import OutOfMemory
from vlang.runtime.engine.state import DTYPES
from vlang.runtime.gpu.device.arena import GRAIN, in_bytes
from vlang.runtime.gpu.topology.cut import Cut, Sharding, Shards, long_rows
from vlang.runtime.graph.topology.adjacency import Adjacency
from vlang.runtime.plan.plan import ROW_WORDS, SEGMENT

__all__ = ["LAYOUT_WORDS", "TARGETS", "Footprint", "Stored", "Use", "footprint", "share_memory", "stored_arrays"]

TARGETS = "targets"
LAYOUT_WORDS = 3 * ROW_WORDS  # of a row: bytes an edge, place in the slot, address in host memory

_ALIGNED = 256  # bytes: arrays begin at whole lines
_LEAST, _MOST = 4 << 20, 64 << 20  # bytes of a page: smaller ones waste the link, larger ones delay the first kernel
_SLOTS = 8  # that a budget is cut into, where pages of the least size allow it
_FEW = 4  # slots that are enough: one in use, the others on their way


@dataclass(frozen=True)
class Use:
    """What a pass reads of a page. columns: (name, dtype) in the order of the row. sharding: how pages are cut into
    shards, for passes by pull_shards."""

    columns: tuple[tuple[str, str], ...] = ()
    sharding: Sharding | None = None

    def keys(self, name: str) -> tuple[str, ...]:
        """The arrays that the pass called `name` reads."""
        places = (f"places:{name}",) if self.sharding else ()
        return (TARGETS, *(column_key(*column) for column in self.columns), *places)


@dataclass(frozen=True)
class Stored:
    """An array over edges. source: its values in host memory; None if kernels make it. itemsize: bytes an edge."""

    key: str
    itemsize: int
    source: NDArray[Any] | None


@dataclass(frozen=True)
class Footprint:
    """How memory is laid out.

    tables: name -> offset in one block of `table_bytes`: what stays, whatever pages come and go. places: key ->
    offset of the array in a slot of `slot_bytes`. slots: how many pages have room; 0 if the whole adjacency lies in one
    slot of that size.
    """

    cut: Cut
    shards: Mapping[str, Shards]
    tables: Mapping[str, int]
    table_bytes: int
    places: Mapping[str, int]
    slot_bytes: int
    slots: int = 0

    @property
    def resident(self) -> bool:
        """Whether everything stays on the device."""
        return self.slots == 0

    @property
    def least(self) -> int:
        """Bytes without which it does not run with these pages."""
        return self.table_bytes + (1 if self.resident else _fewest(self.cut)) * self.slot_bytes


def column_key(name: str, dtype: str) -> str:
    """What a column is called among the arrays of a page."""
    return f"{name}:{dtype}"


def stored_arrays(adjacency: Adjacency, uses: Mapping[str, Use]) -> list[Stored]:
    """The arrays over edges that all uses need, each once. Raises GraphError for a column that does not fit."""
    columns = dict.fromkeys(column for use in uses.values() for column in use.columns)
    found = [Stored(TARGETS, 4, adjacency.targets)]
    for name, dtype in columns:
        values = adjacency.column(name, DTYPES[dtype])
        found.append(Stored(column_key(name, dtype), values.itemsize, values))
    found.extend(Stored(f"places:{name}", 2, None) for name, use in uses.items() if use.sharding)
    return found


def footprint(
    adjacency: Adjacency, uses: Mapping[str, Use], arrays: Sequence[Stored], free: int, page_size: int | None,
    taken: int = 0,
) -> Footprint:
    """The layout that makes the best of `free` bytes.

    page_size: bytes of neighbours in a page; None for one page if everything fits, else as many as pay. taken: bytes
    that others have, for the message. Raises OutOfMemory if not even two pages fit.
    """
    whole = _whole(adjacency, uses, arrays, page_size)
    if whole.least <= free:
        return whole
    sizes = (_edges(page_size),) if page_size is not None else _sizes(arrays, free - whole.table_bytes)
    for size in sizes:
        found = _laid_out(adjacency, uses, arrays, Cut.of(adjacency, size), resident=False)
        slots = min(found.cut.pages, (free - found.table_bytes) // found.slot_bytes)
        enough = _fewest(found.cut) if size == sizes[-1] else min(_FEW, found.cut.pages)
        if slots >= enough:
            return replace(found, slots=slots)
    raise _refusal(f"the {adjacency.kind}-neighbours", len(adjacency.offsets) - 1, [found], whole.least, free, taken)


def share_memory(
    adjacencies: Mapping[str, Adjacency], uses: Mapping[str, Mapping[str, Use]], free: int,
    page_size: int | None = None, taken: int = 0,
) -> dict[str, int]:
    """How many of `free` bytes each of several adjacencies gets, by kind.

    If not all of them fit whole, those that take least come first, as long as the others can still be streamed; what
    is left is divided in proportion to what the others would take. Raises OutOfMemory if they cannot all be streamed.
    """
    arrays = {kind: stored_arrays(adjacency, uses[kind]) for kind, adjacency in adjacencies.items()}
    whole = {kind: _whole(adjacency, uses[kind], arrays[kind], page_size).least
             for kind, adjacency in adjacencies.items()}
    if sum(whole.values()) <= free:
        return whole
    edges = SEGMENT if page_size is None else _edges(page_size)
    least = {kind: _laid_out(adjacency, uses[kind], arrays[kind], Cut.of(adjacency, edges), resident=False)
             for kind, adjacency in adjacencies.items()}
    need = {kind: min(found.least, whole[kind]) for kind, found in least.items()}
    left = free - sum(need.values())
    if left < 0:
        names = " and ".join(f"{kind}-neighbours" for kind in adjacencies)
        n = max(len(adjacency.offsets) - 1 for adjacency in adjacencies.values())
        raise _refusal(f"the {names}", n, list(least.values()), sum(whole.values()), free, taken)
    shares = dict(need)
    for kind in sorted(whole, key=whole.__getitem__):
        if whole[kind] - need[kind] <= left:
            left -= whole[kind] - need[kind]
            shares[kind] = whole[kind]
    wanted = {kind: whole[kind] for kind in whole if shares[kind] < whole[kind]}
    return shares | {kind: shares[kind] + left * size // sum(wanted.values()) for kind, size in wanted.items()}


def _refusal(what: str, n: int, least: Sequence[Footprint], whole: int, free: int, taken: int) -> OutOfMemory:
    """What is needed, what there is, and what helps."""
    tables, need = sum(found.table_bytes for found in least), sum(found.least for found in least)
    pages = "the only page" if max(found.cut.pages for found in least) == 1 else "two pages"
    return OutOfMemory(
        f"{what} of {n:,} vertices do not fit into GPU memory: {in_bytes(tables)} for tables and "
        f"{in_bytes(need - tables)} for {pages} are the least ({in_bytes(whole)} keeps all edges there), and "
        f"{in_bytes(max(0, free))} are free beside {in_bytes(taken)} of vertex state; allow at least {taken + need} "
        "bytes (gpu_memory), or run on the CPU")


def _edges(page_size: int) -> int:
    return max(1, page_size // 4)


def _whole(
    adjacency: Adjacency, uses: Mapping[str, Use], arrays: Sequence[Stored], page_size: int | None
) -> Footprint:
    """The layout with all edges on the device."""
    cut = Cut.of(adjacency, None if page_size is None else _edges(page_size))
    return _laid_out(adjacency, uses, arrays, cut, resident=True)


def _fewest(cut: Cut) -> int:
    """Slots without which pages cannot be streamed: one for a page at work and one for the next."""
    return min(2, cut.pages)


def _sizes(arrays: Iterable[Stored], free: int) -> list[int]:
    """Edges of a page, from the size that pays best down to the smallest."""
    each = sum(array.itemsize for array in arrays)
    best = min(max(free // _SLOTS, _LEAST), _MOST) // each
    return [size for size in (best >> k for k in range(best.bit_length())) if size > SEGMENT] + [SEGMENT]


def _laid_out(
    adjacency: Adjacency, uses: Mapping[str, Use], arrays: Iterable[Stored], cut: Cut, resident: bool
) -> Footprint:
    """The layout with these pages; if they are not to be resident, with the fewest slots."""
    shards = {name: Shards.of(adjacency, cut, use.sharding) for name, use in uses.items() if use.sharding}
    rows = long_rows(adjacency)
    sizes = {
        "offsets": adjacency.offsets.nbytes, "segments": rows.segments.nbytes, "longs": rows.longs.nbytes,
        "starts": cut.starts.nbytes, "marks": 16 * cut.pages, "blocks": 4 * int((cut.row_blocks + 1).sum()),
    }
    for name in uses:
        sizes |= {f"rows:{name}": 8 * ROW_WORDS * cut.pages, f"layout:{name}": 8 * LAYOUT_WORDS}
    for name, found in shards.items():
        sizes |= {f"bounds:{name}": found.bounds.nbytes, f"replicas:{name}": found.replicas.nbytes}
    tables, table_bytes = _packed(sizes)
    edges = len(adjacency) if resident else cut.largest
    places, slot_bytes = _packed({array.key: array.itemsize * edges for array in arrays})
    return Footprint(cut, shards, tables, table_bytes, places, slot_bytes, 0 if resident else _fewest(cut))


def _packed(sizes: Mapping[str, int]) -> tuple[dict[str, int], int]:
    """Offsets of arrays one behind the other, and the bytes of all."""
    ends = np.cumsum([-(-size // _ALIGNED) * _ALIGNED for size in sizes.values()]).tolist()
    total = max(1, -(-ends[-1] // GRAIN)) * GRAIN
    return dict(zip(sizes, [0, *ends[:-1]])), total
