"""Arrays that are needed for a while only."""

from __future__ import annotations

import mmap
from contextlib import suppress
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

__all__ = ["passing"]

_HUGE = 1 << 22  # bytes from which large pages are asked for, as NumPy does


def passing(count: int, dtype: DTypeLike) -> NDArray[Any]:
    """An array of `count` elements, at first zeros, whose memory goes back to the system when the array goes.

    The C library keeps what is freed in pieces of up to 32 MB, and often none of it fits what is needed next: buffers
    of the usual kind count to the memory of a process long after they went. Raises MemoryError.
    """
    size = max(1, count * np.dtype(dtype).itemsize)
    try:
        pages = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    except OSError as error:
        raise MemoryError(f"{size:,} bytes do not fit into memory") from error
    if size >= _HUGE and hasattr(mmap, "MADV_HUGEPAGE"):
        with suppress(OSError):  # a kernel without large pages
            pages.madvise(mmap.MADV_HUGEPAGE)
    return np.frombuffer(pages, dtype, count)
