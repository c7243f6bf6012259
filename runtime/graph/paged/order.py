"""The order of vertices by degree, in which page files of the layout "degree" number them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["order_by_degree"]

_BLOCK = 1 << 16


def order_by_degree(degree: NDArray[Any]) -> NDArray[np.uint32]:
    """The vertices in decreasing order of degree, equal ones in increasing order: uint32[n].

    degree: integers below 2^32, [n], in- plus out-degree. Memory: 12 bytes a vertex.
    """
    keys = np.empty(len(degree), dtype=np.uint64)
    for first in range(0, len(keys), _BLOCK):
        part = keys[first : first + _BLOCK]
        np.subtract(0xFFFFFFFF, degree[first : first + _BLOCK], out=part, casting="unsafe")
        part <<= np.uint64(32)
        part |= np.arange(first, first + len(part), dtype=np.uint64)
    keys.sort()
    return keys.astype(np.uint32)  # the low half
