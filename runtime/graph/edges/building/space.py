"""Chooses where a reader stores the edges and ids of a file, and how many bytes of the file are read at a time."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from vlang.runtime.graph.edges.building.numbering import Ids, IntegerIds, TextIds
from vlang.runtime.graph.edges.building.store import Store
from vlang.runtime.storage.ledger import ledger
from vlang.runtime.threads.activity import reach

__all__ = ["IN_MEMORY", "Space"]


class Space:
    """Storage of edges and ids in memory.

    Attributes:
        window: bytes of text that are read at a time.
        chunk: bytes of text that one thread scans at a time.

    `window_for` may choose a larger or smaller window.
    """

    window = 1 << 23
    chunk = 1 << 18

    def window_for(self, threads: int) -> int:
        """Bytes of a window: at least four chunks per thread, but at most 1/32 of a memory budget."""
        size = max(self.window, 4 * self.chunk * threads)
        return size if ledger.limit is None else max(self.chunk, min(size, ledger.limit // 32))

    def check_ids(self, count: int, text: bool) -> None:
        """Raise OutOfMemory if `count` ids do not fit into memory. `text` is True if the ids are strings."""

    def store(self, columns: int) -> Store:
        """Create the arrays for the edges, with this number of columns."""
        return Store(columns)

    def integers(self) -> Ids:
        """Create a numbering of integer ids."""
        return IntegerIds()

    def texts(self) -> Ids:
        """Create a numbering of text ids."""
        return TextIds()

    def empty(self, count: int, dtype: DTypeLike) -> NDArray[Any]:
        """Allocate an array for `count` edges."""
        return np.empty(count, dtype)

    def progress(self, fraction: float) -> None:
        """Called by the reader with the fraction of the file that has been scanned, 0 to 1."""
        reach(fraction)


IN_MEMORY = Space()
