"""The rows that show kernels where the edges of each page lie (see vlang.runtime.plan.plan)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

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
    """The rows of all pages for one use.

    keys: the arrays that it reads. address: device u64[P, ROW_WORDS]. shards: int64[P], the shards of each page (0
    without sharding). most_cells: int64[P], the largest vertices x replicas of a shard of each page. layout: u64[3,
    ROW_WORDS]: bytes an edge, place in a slot and address in host memory of what a word points to; it lies at
    layout_address on the device. words: the rows as first written. at: the slot that the row of each page points to, 0
    for host memory.
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
        """The address of the row of a page."""
        return self.address + 8 * ROW_WORDS * page

    def bounds(self, page: int) -> int:
        """The address of the bounds of the shards of a page."""
        return int(self.words[page, ROW_SHARDS])

    def pointing(self) -> NDArray[np.uint64]:
        """The rows as they should be: what the kernel aim_row makes of each."""
        rows, slots = self.words.copy(), np.array(self.at, dtype=np.uint64)
        for word in np.flatnonzero(self.layout[0]):
            size, place, host = self.layout[:, word]
            rows[:, word] = np.where(slots > 0, slots + place - rows[:, ROW_BEGIN] * size, host)
        return rows


def make_table(
    name: str, use: Use, layout: Footprint, arrays: Mapping[str, Stored], table_at: Callable[[str], int],
    memory: int | None, host: Mapping[str, int],
) -> Table:
    """The table of a use; its rows and the layout are yet to be uploaded.

    table_at: the addresses of the tables of the layout. memory: where all edges are, or None: they are in host memory
    at the addresses `host` by key, 0 where kernels cannot read it.
    """
    words = {ROW_TARGETS: TARGETS} | {ROW_COLUMNS + k: column_key(*c) for k, c in enumerate(use.columns)}
    cut, shards = layout.cut, layout.shards.get(name)
    rows = np.zeros((cut.pages, ROW_WORDS), dtype=np.uint64)
    rows[:, ROW_OFFSETS] = table_at("offsets")
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
        rows[:, word] = host.get(key, 0) if memory is None else memory + layout.places[key]
    return Table(use.keys(name), table_at(f"rows:{name}"), counts, cells, place, table_at(f"layout:{name}"), rows,
                 [0] * cut.pages)
