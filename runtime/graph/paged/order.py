"""The order of the rows in page files with the layout "degree"."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["order_by_degree"]

_BLOCK = 1 << 16


def order_by_degree(degree: NDArray[Any]) -> NDArray[np.uint32]:
    """The vertices by decreasing degree, and by increasing number if degrees are equal, uint32[n].

    `degree` has the in-degree plus the out-degree of each vertex, integers below 2^32, shape [n]. The function uses 12
    bytes of memory per vertex.
    """
    keys = np.empty(len(degree), dtype=np.uint64)
    for first in range(0, len(keys), _BLOCK):
        part = keys[first : first + _BLOCK]
        np.subtract(0xFFFFFFFF, degree[first : first + _BLOCK], out=part, casting="unsafe")
        part <<= np.uint64(32)
        part |= np.arange(first, first + len(part), dtype=np.uint64)
    keys.sort()
    return keys.astype(np.uint32)  # the low half of each key is the vertex
