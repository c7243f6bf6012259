"""Temporary arrays whose memory is returned to the system when they are freed."""

from __future__ import annotations

import mmap
from contextlib import suppress
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from vlang.runtime.storage.ledger import ledger

__all__ = ["passing"]

_HUGE = 1 << 22  # bytes of the smallest array for which huge pages are requested, as in NumPy


def passing(count: int, dtype: DTypeLike) -> NDArray[Any]:
    """An array of `count` zeros, whose memory is returned to the system as soon as the array is freed.

    The C library keeps freed blocks of up to 32 MB, and often the next request fits none of these blocks. Therefore
    ordinary arrays count towards the memory of a process long after they were freed. Raises MemoryError.
    """
    if ledger.limit is not None:
        return np.zeros(count, dtype)  # counted under the budget, and also returned to the system at once
    size = max(1, count * np.dtype(dtype).itemsize)
    try:
        pages = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    except OSError as error:
        raise MemoryError(f"{size:,} bytes do not fit into memory") from error
    if size >= _HUGE and hasattr(mmap, "MADV_HUGEPAGE"):
        with suppress(OSError):  # a kernel without huge pages
            pages.madvise(mmap.MADV_HUGEPAGE)
    return np.frombuffer(pages, dtype, count)
