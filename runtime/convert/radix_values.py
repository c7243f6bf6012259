"""The columns of the edges in a radix sort: one word of 8 to 64 bits for each entry, beside the entries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vlang.runtime.convert.blocks import Int64s
from vlang.runtime.convert.edges import ColumnValues
from vlang.runtime.storage.disk_arrays import DiskArrays

__all__ = ["Values"]

_MOST = 8  # bytes of a word


class Values:
    """The columns of entries in blocks.

    Attributes:
        pool: the words on disk, in blocks like those of the entries.
        spans: int64[9], which words belong to which entries (see kernels/radix.py).
    """

    def __init__(self, columns: Mapping[str, ColumnValues], pool: NDArray[np.uint64], lists: Sequence[NDArray[Any]],
                 size: int, blocks: int, room: DiskArrays) -> None:  # fmt: skip
        """Allocate the words.

        Args:
            columns: the columns of the list of edges, which `fit`.
            pool: the pool of blocks of entries.
            lists: the arrays of the list of edges, if they are divided into blocks; up to two.
            size: entries of a block.
            blocks: the most blocks of the pool and of the lists.
            room: allocates arrays on disk.
        """
        self._columns = list(columns.values())
        self.pool = room.empty(blocks * size, f"u{self.width(columns)}")
        self.spans = np.zeros(9, np.int64)
        self.spans[1] = end = len(pool)
        for number, array in enumerate(lists, 1):
            begin = array.ctypes.data - pool.ctypes.data
            low, high = -(-begin // (8 * size)) * size, (begin + array.nbytes) // (8 * size) * size
            self.spans[3 * number : 3 * number + 3] = low, high, end - low
            end += max(0, high - low)

    @staticmethod
    def width(columns: Mapping[str, ColumnValues]) -> int:
        """The bytes of the word for the columns of an edge, a power of two; 0 without columns."""
        total = sum(column.dtype.itemsize for column in columns.values())
        return 1 << (total - 1).bit_length() if total else 0

    @staticmethod
    def fit(columns: Mapping[str, ColumnValues]) -> bool:
        """Return whether the columns of an edge fit in a word."""
        return Values.width(columns) <= _MOST

    def shifts(self, entries: Int64s) -> Int64s:
        """What is added to the index of each entry to get the index of its word."""
        found = np.zeros(len(entries), np.int64)
        for low, high, shift in self.spans.reshape(-1, 3).tolist():
            found[(entries >= low) & (entries < high)] = shift
        return found

    def pack(self, first: int, last: int) -> NDArray[Any]:
        """The words of the edges first..last-1 of the list."""
        parts = [column.part(first, last) for column in self._columns]
        if len(parts) == 1:
            return parts[0].view(self.pool.dtype)
        words = np.zeros(last - first, self.pool.dtype)
        table, at = words.view(np.uint8).reshape(len(words), self.pool.itemsize), 0
        for part in parts:
            table[:, at : at + part.itemsize] = part.view(np.uint8).reshape(len(words), part.itemsize)
            at += part.itemsize
        return words

    def unpack(self, words: NDArray[Any]) -> list[NDArray[Any]]:
        """The columns of some words."""
        if len(self._columns) == 1:
            return [words.view(self._columns[0].dtype)]
        table, at = words.view(np.uint8).reshape(len(words), self.pool.itemsize), 0
        found = []
        for column in self._columns:
            width = column.dtype.itemsize
            found.append(np.ascontiguousarray(table[:, at : at + width]).view(column.dtype).reshape(-1))
            at += width
        return found
