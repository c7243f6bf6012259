"""Arrays that grow while a file is read, without a second copy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

__all__ = ["Growing", "Store"]


class Growing:
    """An array with spare capacity at its end. Capacity that was never written takes address space, but no memory."""

    def __init__(self, dtype: DTypeLike) -> None:
        self.array: NDArray[Any] = np.empty(0, dtype=dtype)

    def reserve(self, count: int) -> None:
        """Grow the capacity to `count` elements; existing elements stay."""
        if count > len(self.array) and len(self.array) == 0:
            self.array = np.empty(count, dtype=self.array.dtype)
        elif count > len(self.array):
            # realloc moves large blocks by remapping pages. It is called between windows, when no view of the array
            # exists.
            self.array.resize(max(count, len(self.array) * 9 // 8), refcheck=False)

    def become(self, dtype: DTypeLike, count: int) -> None:
        """Change the element type of the first `count` elements."""
        other = np.empty(len(self.array), dtype=dtype)
        other[:count] = self.array[:count]
        self.array = other

    def finish(self, count: int) -> NDArray[Any]:
        """The first `count` elements; spare capacity is freed."""
        self.array.resize(count, refcheck=False)
        return self.array


class Store:
    """The edges read so far: dense or raw 32-bit numbers of both ends, and one array per column of numbers."""

    def __init__(self, columns: int, growing: Callable[[DTypeLike], Growing] = Growing) -> None:
        """Create empty arrays with `growing(dtype)`, one call for each array."""
        self.count = 0
        self.source = growing(np.uint32)
        self.target = growing(np.uint32)
        self.columns = [growing(np.int32) for _ in range(columns)]

    def reserve(self, count: int) -> None:
        """Grow the capacity to `count` edges."""
        for part in (self.source, self.target, *self.columns):
            part.reserve(count)

    @property
    def ends(self) -> tuple[NDArray[Any], NDArray[Any]]:
        """The ids or numbers at the sources and at the targets of the edges read so far."""
        return self.source.array[: self.count], self.target.array[: self.count]
