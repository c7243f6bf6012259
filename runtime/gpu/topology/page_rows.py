"""The page rows. The row of a page has the addresses of its arrays, and kernels read the row (see
vlang.runtime.plan.plan).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

from vlang.records import dataclass
from vlang.runtime.gpu.topology.footprint import TARGETS, Footprint, Stored, Use, column_key
from vlang.runtime.plan.plan import (
    ROW_BEGIN,
    ROW_BLOCKS,
    ROW_COLUMNS,
    ROW_END,
    ROW_OFFSETS,
    ROW_PLACES,
    ROW_REPLICAS,
    ROW_SHARDS,
    ROW_TARGETS,
    ROW_WORDS,
)

__all__ = ["Table", "make_table"]


@dataclass(eq=False)
class Table:
    """The page rows of all pages for one `Use`.

    Attributes:
        keys: the keys of the arrays that the `Use` lists.
        address: device address of u64[P, ROW_WORDS], the rows.
        shards: int64[P], number of shards in each page; 0 for a pass that uses no shards.
        most_cells: int64[P], for each page the maximum of vertices x replicas over its shards.
        layout: uint64[3, ROW_WORDS], for each pointer of a row: the bytes per edge, the offset in a slot, and the
            address in host memory.
        layout_address: the device address of `layout`.
        words: uint64[P, ROW_WORDS], the initial rows.
        at: for each page, the address of the slot that its row points to; 0 for host memory.
    """

    keys: tuple[str, ...]
    address: int
    shards: NDArray[np.int64]
    most_cells: NDArray[np.int64]
    layout: NDArray[np.uint64]
    layout_address: int
    words: NDArray[np.uint64]
    at: list[int]

    def row(self, page: int) -> int:
        """Return the device address of the row of a page."""
        return self.address + 8 * ROW_WORDS * page

    def bounds(self, page: int) -> int:
        """Return the device address at which the bounds of a page's shards are stored."""
        return int(self.words[page, ROW_SHARDS])

    def pointing(self) -> NDArray[np.uint64]:
        """Return the current rows, uint64[P, ROW_WORDS], as the kernel `aim_row` computes them."""
        rows, slots = self.words.copy(), np.array(self.at, dtype=np.uint64)
        for word in np.flatnonzero(self.layout[0]):
            size, place, host = self.layout[:, word]
            rows[:, word] = np.where(slots > 0, slots + place - rows[:, ROW_BEGIN] * size, host)
        return rows


def make_table(
    name: str, use: Use, layout: Footprint, arrays: Mapping[str, Stored], table_at: Callable[[str], int],
    memory: Mapping[str, int], host: Mapping[str, int],
) -> Table:
    """Create the table of a `Use`. The caller must upload the rows and the layout of the table.

    Args:
        name: the name of the `Use`.
        use: the arrays that a pass reads.
        layout: the layout of the device memory.
        arrays: the arrays over edges, by key.
        table_at: maps the name of a table to its device address.
        memory: the device addresses of resident arrays by key.
        host: the addresses of arrays in host memory for kernels, by key; 0 if kernels cannot read an array.
    """
    words = {ROW_TARGETS: TARGETS} | {ROW_COLUMNS + k: column_key(*c) for k, c in enumerate(use.columns)}
    cut, shards = layout.cut, layout.shards.get(name)
    rows = np.zeros((cut.pages, ROW_WORDS), dtype=np.uint64)
    rows[:, ROW_OFFSETS] = table_at("offsets") if "offsets" in layout.tables else 0
    rows[:, ROW_BEGIN], rows[:, ROW_END] = cut.starts[:-1], cut.starts[1:]
    sizes = cut.row_blocks + 1
    rows[:, ROW_BLOCKS] = table_at("blocks") + 4 * (np.cumsum(sizes) - sizes)
    none = np.zeros(cut.pages, dtype=np.int64)
    counts, cells = none, none
    if shards:
        words[ROW_PLACES] = f"places:{name}"
        counts, cells = shards.counts, shards.most_cells()
        rows[:, ROW_SHARDS] = table_at(f"bounds:{name}") + 4 * shards.starts
        rows[:, ROW_REPLICAS] = table_at(f"replicas:{name}") + shards.starts
    place = np.zeros((3, ROW_WORDS), dtype=np.uint64)
    for word, key in words.items():
        place[:, word] = arrays[key].itemsize, layout.places[key], host.get(key, 0)
        rows[:, word] = memory[key] if layout.resident else host.get(key, 0)
    return Table(use.keys(name), table_at(f"rows:{name}"), counts, cells, place, table_at(f"layout:{name}"), rows,
                 [0] * cut.pages)
