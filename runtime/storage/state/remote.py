"""Arrays outside of host memory, such as on a GPU, which are copied straight to their destination."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vlang.records import dataclass

__all__ = ["Remote", "in_memory"]


@dataclass(frozen=True)
class Remote:
    """A one-dimensional array outside of host memory.

    Attributes:
        dtype: the type of the entries.
        count: the number of entries.
        fetch: copies all entries to an array of this dtype and length in host memory, and waits for the copy.
    """

    dtype: np.dtype[Any]
    count: int
    fetch: Callable[[NDArray[Any]], None]

    def __len__(self) -> int:
        return self.count

    @property
    def nbytes(self) -> int:
        """The size in bytes."""
        return self.count * self.dtype.itemsize


def in_memory(array: NDArray[Any] | Remote) -> NDArray[Any]:
    """The array itself, or a copy of a remote array in host memory."""
    if not isinstance(array, Remote):
        return array
    found: NDArray[Any] = np.empty(array.count, array.dtype)
    array.fetch(found)
    return found
