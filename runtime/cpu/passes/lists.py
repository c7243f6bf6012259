"""Lists of the vertices that a pass runs over, and tasks over them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from vlang.records import dataclass
from vlang.runtime.cpu.paged.work import Tasks
from vlang.runtime.graph.topology.pages import PageCuts
from vlang.runtime.storage.memory import empty

__all__ = ["Lists", "one_each"]


@dataclass
class Lists:
    """The vertices that a pass processes, in increasing order. A vertex is long if its row is cut into segments.

    Attributes:
        short: uint32, the numbers of the short vertices.
        long: uint32, the indices of the long vertices in the table of long vertices.
        long_vertices: uint32, the numbers of the same vertices.
        shorts: the number of entries of `short` that are in use.
        longs: the number of entries of `long` and `long_vertices` that are in use.
    """

    short: NDArray[np.uint32]
    long: NDArray[np.uint32]
    long_vertices: NDArray[np.uint32]
    shorts: int = 0
    longs: int = 0

    @staticmethod
    def room(n: int, longs: int) -> Lists:
        """Empty lists with capacity for n short vertices and `longs` long ones."""
        return Lists(empty(n, np.uint32), np.empty(longs, np.uint32), np.empty(longs, np.uint32))


def one_each(pages: PageCuts, vertices: NDArray[np.int64]) -> Tasks:
    """Tasks with one vertex each, for short vertices."""
    page = np.searchsorted(pages.firsts, vertices, side="right") - 1
    at = np.arange(len(vertices), dtype=np.int64)
    tasks = np.stack([page, at, at + 1], axis=1)
    return np.ascontiguousarray(tasks[np.argsort(page, kind="stable")])
