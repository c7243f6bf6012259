"""An edge in one word: a neighbour in the low bits, and above it a small integer, the value of a column."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vlang.runtime.graph.topology.adjacency import Adjacency, frozen

__all__ = ["PackedEdges", "packed_edges"]

_BITS = 32
_EXACT = 1 << 24  # integers up to here are exact in every type of 32 bits and more
_CHUNK = 1 << 20


@dataclass(frozen=True)
class PackedEdges:
    """words: uint32[entries], neighbour | value << shift, in the order of the adjacency."""

    words: NDArray[np.uint32]
    shift: int


def packed_edges(adjacency: Adjacency, name: str, low: float, high: float) -> PackedEdges | None:
    """The edges with a column whose values lie in low..high; made once, and kept with the lists (4 bytes an entry).

    None where a neighbour and a value do not fit into 32 bits, or some value is no integer. Values from 0 to 2^24 only,
    so that whoever reads them as a float has the same number.
    """
    shift = max(1, (len(adjacency.offsets) - 2).bit_length())
    if not (low >= 0 and high < min(_EXACT, 1 << max(0, _BITS - shift))):
        return None
    made: PackedEdges | None = adjacency.derived(("packed", name), lambda: _made(adjacency, name, shift))
    return made


def _made(adjacency: Adjacency, name: str, shift: int) -> PackedEdges | None:
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
