"""The storage of edges and ids on disk that readers use while a file is converted."""

from __future__ import annotations

from typing import Any

from numpy.typing import DTypeLike, NDArray

from vlang.runtime.convert.budget import Budget
from vlang.runtime.convert.disk_ids import DiskIntegerIds, DiskTextIds
from vlang.runtime.graph.edges.building.numbering import Ids
from vlang.runtime.graph.edges.building.space import Space
from vlang.runtime.graph.edges.building.store import Growing, Store
from vlang.runtime.storage.disk_arrays import DiskArray, DiskArrays

__all__ = ["DiskSpace"]

_BLOCK = 1 << 18
_ID, _TEXT_ID = 40, 250  # bytes of memory per id while the ids of edges and of vertices are compared


class DiskSpace(Space):
    """Storage of edges in arrays on disk, and of ids in a part of the memory budget."""

    def __init__(self, room: DiskArrays, budget: Budget) -> None:
        self._room, self._budget = room, budget
        self.window, self.chunk = budget.window, budget.chunk

    def window_for(self, threads: int) -> int:
        """See `Space`."""
        return self.window

    def check_ids(self, count: int, text: bool) -> None:
        """See `Space`."""
        self._budget.check(count * (_TEXT_ID if text else _ID), "the ids of edges and vertices, for --vertices,")

    def store(self, columns: int) -> Store:
        """See `Space`."""
        return Store(columns, lambda dtype: _DiskGrowing(self._room, dtype))

    def integers(self) -> Ids:
        """See `Space`."""
        return DiskIntegerIds(self._room, self._budget.ids)

    def texts(self) -> Ids:
        """See `Space`."""
        return DiskTextIds(self._room, self._budget.ids)

    def empty(self, count: int, dtype: DTypeLike) -> NDArray[Any]:
        """See `Space`."""
        return self._room.empty(count, dtype)

    def progress(self, fraction: float) -> None:
        """See `Space`."""
        self._budget.progress("reading", fraction)


class _DiskGrowing(Growing):
    """A growing array in a temporary file."""

    def __init__(self, room: DiskArrays, dtype: DTypeLike) -> None:
        super().__init__(dtype)
        self._room = room
        self._disk = DiskArray(room, dtype)

    def reserve(self, count: int) -> None:
        """See `Growing`."""
        if count > len(self.array):
            self.array = self._disk.reserve(max(count, len(self.array) * 9 // 8))

    def become(self, dtype: DTypeLike, count: int) -> None:
        """See `Growing`."""
        other = DiskArray(self._room, dtype)
        other.reserve(len(self.array))
        for first in range(0, count, _BLOCK):
            part = slice(first, min(first + _BLOCK, count))
            other.array[part] = self.array[part]
        self._disk, self.array = other, other.array

    def finish(self, count: int) -> NDArray[Any]:
        """See `Growing`."""
        return self.array[:count]
