"""Graphs whose rows are not in the order of the vertex ids, such as page files with the layout "degree".

Adjacency lists, pages and the state of a run use *internal* numbers, which are row numbers. Programs, arguments and
results use *dense* numbers, which are ranks of ids. A kernel converts between the two kinds of numbers if a program
reads the number of a vertex, or uses a number to select a vertex. The engine converts whole arrays at the beginning and
the end of a run.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from vlang.records import dataclass
from vlang.runtime.storage.memory import Empty, empty

__all__ = ["Order"]

_CHUNK = 1 << 15  # vertices that are converted at a time, as NumPy copies the indices to 64 bits


@dataclass(frozen=True)
class Order:
    """A permutation of n vertices.

    Attributes:
        dense: uint32[n], the dense number of each internal vertex.
        internal: uint32[n], the internal number of each dense vertex.
        in_file: whether both arrays are mappings of files.
    """

    dense: NDArray[np.uint32]
    internal: NDArray[np.uint32]
    in_file: bool = False

    @staticmethod
    def of(dense: NDArray[np.uint32], empty: Empty = empty, in_file: bool = False) -> Order:
        """The order in which internal vertex i has the dense number dense[i].

        `empty` allocates the array of the inverse permutation. `in_file` says that the array `dense` and its inverse
        are in files.
        """
        internal: NDArray[np.uint32] = empty(len(dense), np.uint32)
        for first in range(0, len(dense), _CHUNK):
            part = dense[first : first + _CHUNK]
            internal[part] = np.arange(first, first + len(part), dtype=np.uint32)
        return Order(dense, internal, in_file)

    def moved(self, empty: Empty) -> Order:
        """A copy of this order, in arrays that `empty` allocates in files."""
        arrays = [empty(len(self.dense), np.uint32) for _ in range(2)]
        for target, source in zip(arrays, (self.dense, self.internal), strict=True):
            target[:] = source
        return Order(arrays[0], arrays[1], in_file=True)

    def inward(self, array: NDArray[Any]) -> NDArray[Any]:
        """Permute values from the order of dense numbers to the order of internal numbers.

        `array` has shape [n k], with k consecutive values per vertex.
        """
        return _taken(array, self.dense)

    def outward(self, array: NDArray[Any]) -> NDArray[Any]:
        """Permute values from the order of internal numbers to the order of dense numbers.

        `array` has shape [n k], with k consecutive values per vertex.
        """
        return _taken(array, self.internal)


def _taken(array: NDArray[Any], places: NDArray[np.uint32]) -> NDArray[Any]:
    taken: NDArray[Any] = empty(len(array), array.dtype)
    width = len(array) // len(places) if len(places) else 1
    rows, out = array.reshape(-1, width), taken.reshape(-1, width)
    step = max(1, _CHUNK * 8 // max(8, width * array.itemsize))  # NumPy copies the indices and the values of a part
    for first in range(0, len(places), step):
        out[first : first + step] = rows[places[first : first + step]]
    return taken
