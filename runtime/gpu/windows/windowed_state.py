"""The state of a run that keeps some vertex arrays in host memory because GPU memory is too small for these arrays."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from vlang.errors import OutOfMemory
from vlang.runtime.engine.state import DTYPES, in_order
from vlang.runtime.gpu.device.arena import rounded
from vlang.runtime.gpu.device.device import Device
from vlang.runtime.gpu.passes.gpu_state import GpuState
from vlang.runtime.plan.plan import Plan
from vlang.runtime.storage.memory import zeros
from vlang.runtime.storage.room import named
from vlang.runtime.storage.state.windows import WINDOW, Windows

__all__ = ["WindowedState"]


class WindowedState(GpuState):
    """A `GpuState` in which the arrays that passes access in the order of the vertices stay in host memory or in files.

    In the frame these arrays have the address 0. Kernels get their windows through other frames.

    Args:
        device: the device.
        plan: the compiled program.
        n: the number of vertices.
        blocks: the number of partial results of a reduction over vertices.
        set_words: see `GpuState`.
        room: keeps the arrays in files; None for arrays in host memory.

    Attributes:
        hosted: the arrays in host memory by slot.
        lacking: the bytes of device memory that the other arrays take if device memory is too small for these arrays,
            otherwise 0. They are then not allocated, so that the error can say how much memory a run needs.
    """

    def __init__(self, device: Device, plan: Plan, n: int, blocks: int, set_words: Callable[..., None],
                 room: Windows | None) -> None:
        self.moving = in_order(plan)
        self.room = room
        self.hosted: dict[str, NDArray[Any]] = {}
        self.lacking = 0
        super().__init__(device, plan, n, blocks, set_words)

    def add(self, slot: str, dtype: str, length: int, width: int = 1) -> None:
        """Add a zeroed array in a slot, on the device or in host memory."""
        if slot not in self.moving:
            self.place(length * width * DTYPES[dtype].itemsize, partial(super().add, slot, dtype, length, width))
            return
        try:
            array = self._zeros(length * width, DTYPES[dtype])
        except MemoryError as error:
            raise named(error, f"the fields of {self.plan.name} for {self.n:,} vertices") from None
        self.host(slot, dtype, array, width)

    def place(self, nbytes: int, allocate: Callable[[], None]) -> None:
        """Allocate an array of `nbytes` bytes on the device, or add its size to `lacking` if there is no memory."""
        if not self.lacking:
            with suppress(OutOfMemory):
                allocate()
                return
        self.lacking += rounded(nbytes)

    def _refuse(self, need: int, free: int) -> None:
        """Raise nothing, because the error must also count other arrays."""

    def host(self, slot: str, dtype: str, array: NDArray[Any], width: int = 1) -> None:
        """Let a slot refer to an array in host memory.

        Args:
            slot: the name of the slot.
            dtype: the type of the entries, such as "u32".
            array: the array over all vertices.
            width: the number of entries per vertex.
        """
        self.dtypes[slot], self.lengths[slot], self._widths[slot] = DTYPES[dtype], len(array), width
        self.hosted[slot] = array
        self._put(slot, 0)

    def _zeros(self, count: int, dtype: DTypeLike) -> NDArray[Any]:
        return zeros(count, dtype) if self.room is None else self.room.zeros(count, dtype)

    def copied(self, array: NDArray[Any]) -> NDArray[Any]:
        """Return a copy of an array in host memory, in memory or in a file."""
        return array.copy() if self.room is None else self.room.copy(array)

    def swap(self, field: str) -> None:
        """Swap the two arrays of a field."""
        now, new = f"field:{field}", f"next:{field}"
        if now in self.hosted:
            self.hosted[now], self.hosted[new] = self.hosted[new], self.hosted[now]
        else:
            super().swap(field)

    def array(self, slot: str) -> NDArray[Any]:
        """Return the values of an array: the array itself if it is in host memory, otherwise a copy."""
        return self.hosted[slot] if slot in self.hosted else super().array(slot)

    def parts(self, slot: str) -> Iterator[tuple[int, int]]:
        """Yield ranges of vertices that cover an array in host memory; each range is released after its use."""
        for low in range(0, self.n, WINDOW):
            high = min(low + WINDOW, self.n)
            yield low, high
            self.release(low, high)

    def rows(self, array: NDArray[Any], low: int, high: int) -> NDArray[Any]:
        """Return the entries of vertices low to high - 1 in an array over all vertices."""
        width = len(array) // self.n
        return array[low * width : high * width]

    def release(self, low: int, high: int) -> None:
        """Release the windows of vertices low to high - 1 from the memory of the process if the windows are in files.
        """
        if self.room is not None:
            self.room.release(low, high)

    def copy(self, slot: str, source: str) -> None:
        """Copy one vertex array over another; at least one of the two arrays is in host memory."""
        for low, high in self.parts(slot):
            at = low * self.row_bytes(slot)
            if slot not in self.hosted:
                self.device.upload(self.pointer(slot) + at, self.rows(self.hosted[source], low, high))
            elif source not in self.hosted:
                self.device.download(self.rows(self.hosted[slot], low, high), self.pointer(source) + at)
            else:
                self.rows(self.hosted[slot], low, high)[:] = self.rows(self.hosted[source], low, high)

    def fill(self, slot: str, byte: int) -> None:
        """Set every byte of an array in host memory."""
        for low, high in self.parts(slot):
            self.rows(self.hosted[slot], low, high).view(np.uint8)[:] = byte

    def store(self, slot: str, array: NDArray[Any]) -> None:
        """Store the values of an array in host memory."""
        for low, high in self.parts(slot):
            self.rows(self.hosted[slot], low, high)[:] = self.rows(array, low, high)

    def same(self, slot: str, kept: NDArray[Any]) -> bool:
        """Return whether an array in host memory has the same bits as a copy."""
        array = self.hosted[slot]
        return all(self.rows(array, *part).tobytes() == self.rows(kept, *part).tobytes() for part in self.parts(slot))

    def others(self, slot: str, value: int) -> int:
        """Return the number of entries of an array in host memory that differ from `value`."""
        return sum(int(np.count_nonzero(self.rows(self.hosted[slot], *part) != value)) for part in self.parts(slot))

    def close(self) -> None:
        """Free the arrays."""
        super().close()
        self.hosted.clear()
