"""The order of the rows in page files with the layouts "degree" and "hubs"."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vlang.errors import GraphError
from vlang.runtime.graph.kernels import kernels
from vlang.runtime.storage.memory import Empty, empty

__all__ = ["order_by_degree", "order_by_hubs"]

_BLOCK = 1 << 14
_LARGE = 65535  # degrees from which on `order_degrees` does not sort
_HUBS = 0.08  # the share of the vertices that hub sorting moves to the front (HyTGraph, VI-A)


def order_by_degree(degrees: Sequence[NDArray[Any]], empty: Empty = empty) -> NDArray[np.uint32]:
    """The vertices by decreasing degree, and by increasing number if degrees are equal, uint32[n].

    The degree of a vertex is the sum over `degrees`, arrays of integers of shape [n]. `empty` allocates the result. The
    function uses 4 more bytes of memory per vertex. Raises GraphError if a degree needs more than 32 bits.
    """
    n = len(degrees[0])
    sums = np.empty(n, dtype=np.uint32)
    part = np.empty(_BLOCK, dtype=np.uint64)
    for first in range(0, n, _BLOCK):
        part = part[: min(_BLOCK, n - first)]
        part[:] = 0
        for one in degrees:
            part += one[first : first + _BLOCK]
        if part.max() >= 2**32:
            raise GraphError(f"a vertex has {part.max()} edges; degrees go up to {2**32 - 1}")
        sums[first : first + _BLOCK] = part
    order: NDArray[np.uint32] = empty(n, np.uint32)
    counts = np.zeros(_LARGE + 1, np.int64)
    kernels("radix")["order_degrees"](sums, n, counts, order)
    large = order[: counts[_LARGE]]  # by increasing number
    large[:] = large[np.argsort(~sums[large], kind="stable")]
    return order


def order_by_hubs(incoming: NDArray[np.uint32], outgoing: NDArray[np.uint32]) -> NDArray[np.uint32]:
    """Hub sorting: the most important 8 % of the vertices, and then the other vertices by increasing number, uint32[n].

    The importance of a vertex is its in-degree times its out-degree. Hubs are sorted by decreasing importance, and
    equally important hubs by increasing number. A vertex of importance 0 is not a hub. `incoming` and `outgoing` are
    the degrees, shape [n]. The function uses 24 bytes of memory per vertex.

    Source: Wang et al., "HyTGraph: GPU-accelerated graph processing with hybrid transfer management", ICDE 2023, VI-A,
    equation 4, which divides the importance by a constant.
    """
    n = len(incoming)
    importance = incoming.astype(np.uint64)
    importance *= outgoing
    count = int(np.ceil(_HUBS * n))
    least = np.partition(importance, n - count)[n - count] if count else np.uint64(0)
    above, equal = np.flatnonzero(importance > least), np.flatnonzero(importance == least)[: n if least else 0]
    hubs = np.sort(np.concatenate([above, equal[: count - len(above)]]))
    hubs = hubs[np.argsort(~importance[hubs], kind="stable")]
    del importance
    others = np.ones(n, dtype=np.bool_)
    others[hubs] = False
    order = np.empty(n, dtype=np.uint32)
    order[: len(hubs)] = hubs
    order[len(hubs) :] = np.flatnonzero(others)
    return order
