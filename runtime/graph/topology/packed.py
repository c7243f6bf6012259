"""Edges packed into one word: the neighbour in the low bits, a column's value as a small integer in the high bits."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from vlang.records import dataclass
from vlang.runtime.graph.topology.adjacency import Adjacency, frozen

__all__ = ["PackedEdges", "packed_edges"]

_BITS = 32
_EXACT = 1 << 24  # every type of at least 32 bits holds the integers up to this value exactly
_CHUNK = 1 << 20


@dataclass(frozen=True)
class PackedEdges:
    """Packed edges. `words` is uint32[entries], neighbour | value << shift, in the order of the adjacency."""

    words: NDArray[np.uint32]
    shift: int


def packed_edges(adjacency: Adjacency, name: str, low: float, high: float) -> PackedEdges | None:
    """Pack the edges with a column whose values lie in low..high. The result is cached (4 bytes per entry).

    Args:
        adjacency: the edges.
        name: name of the column.
        low, high: bounds of the values of the column.

    Returns:
        The packed edges. The result is None if a neighbour and a value do not fit into 32 bits, or if some value is not
        an integer from 0 to 2^24 (floats hold such integers exactly).
    """
    shift = max(1, (len(adjacency.offsets) - 2).bit_length())
    if not (low >= 0 and high < min(_EXACT, 1 << max(0, _BITS - shift))):
        return None
    made: PackedEdges | None = adjacency.derived(("packed", name), lambda: _pack(adjacency, name, shift))
    return made


def _pack(adjacency: Adjacency, name: str, shift: int) -> PackedEdges | None:
    targets, values = adjacency.targets, adjacency.stored(name)
    words = np.empty(len(targets), np.uint32)
    for low in range(0, len(targets), _CHUNK):
        part = slice(low, low + _CHUNK)
        given: NDArray[Any] = values[part]
        whole = given.astype(np.uint32)
        if given.dtype.kind == "f" and not np.array_equal(whole, given):
            return None
        np.bitwise_or(targets[part], np.left_shift(whole, np.uint32(shift), out=whole), out=words[part])
    return PackedEdges(frozen(words), shift)
