"""Lists of the vertices that a pass runs over, and tasks over them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vlang.runtime.cpu.paged.work import Tasks
from vlang.runtime.graph.topology.pages import PageCuts
from vlang.runtime.storage.memory import empty

__all__ = ["Lists", "one_each"]


@dataclass
class Lists:
    """Vertices to process, in increasing order.

    Attributes:
        short: u32, room for the numbers of short vertices.
        long: u32, room for indices in the table of long vertices.
        long_vertices: u32, the numbers of those.
        shorts: how many entries of `short` are in use.
        longs: how many of `long`.
    """

    short: NDArray[np.uint32]
    long: NDArray[np.uint32]
    long_vertices: NDArray[np.uint32]
    shorts: int = 0
    longs: int = 0

    @staticmethod
    def room(n: int, longs: int) -> Lists:
        """Lists with capacity for every vertex."""
        return Lists(empty(n, np.uint32), np.empty(longs, np.uint32), np.empty(longs, np.uint32))


def one_each(pages: PageCuts, vertices: NDArray[np.int64]) -> Tasks:
    """A task for each of some short vertices."""
    page = np.searchsorted(pages.firsts, vertices, side="right") - 1
    at = np.arange(len(vertices), dtype=np.int64)
    tasks = np.stack([page, at, at + 1], axis=1)
    return np.ascontiguousarray(tasks[np.argsort(page, kind="stable")])
