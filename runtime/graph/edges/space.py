"""Where a reader keeps the edges and ids of a file, and how much of the file it looks at together."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from vlang.runtime.graph.edges.numbering import Ids, IntegerIds, TextIds
from vlang.runtime.graph.edges.store import Store
from vlang.runtime.storage.ledger import ledger

__all__ = ["IN_MEMORY", "Space"]


class Space:
    """Edges and ids in memory.

    Attributes:
        window: bytes of text that are read together.
        chunk: bytes of text that one thread scans at a time.

    `window_for` may ask for more or less.
    """

    window = 1 << 23
    chunk = 1 << 18

    def window_for(self, threads: int) -> int:
        """Bytes of a window: large enough for all threads, and under a budget a small part of it."""
        size = max(self.window, 4 * self.chunk * threads)
        return size if ledger.limit is None else max(self.chunk, min(size, ledger.limit // 32))

    def check_ids(self, count: int, text: bool) -> None:
        """Raise OutOfMemory if so many ids cannot be in memory together."""

    def store(self, columns: int) -> Store:
        """Arrays for the edges, with this many columns."""
        return Store(columns)

    def integers(self) -> Ids:
        """A numbering of integer ids."""
        return IntegerIds()

    def texts(self) -> Ids:
        """A numbering of ids that are texts."""
        return TextIds()

    def empty(self, count: int, dtype: DTypeLike) -> NDArray[Any]:
        """An array of `count` edges."""
        return np.empty(count, dtype)

    def progress(self, fraction: float) -> None:
        """Called with the fraction of the file that was scanned."""


IN_MEMORY = Space()
