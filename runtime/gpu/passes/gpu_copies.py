"""Copies vertex arrays on a GPU, and compares vertex arrays with copies and with single values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from vlang.errors import OutOfMemory
from vlang.records import dataclass
from vlang.runtime.gpu.device.device import Buffer
from vlang.runtime.plan.plan import THREADS
from vlang.runtime.storage.state.remote import Remote

if TYPE_CHECKING:
    from vlang.runtime.gpu.gpu_machine import GpuMachine

__all__ = ["GpuCopies"]

_COMPARING = 1024  # blocks of a kernel that compares arrays


@dataclass(frozen=True)
class _Copy:
    """Copies of the entries of vertex arrays over which passes run, on the device."""

    slots: tuple[str, ...]
    buffers: tuple[Buffer, ...]


class GpuCopies:
    """The copies of vertex arrays that a run keeps on its device."""

    def __init__(self, machine: GpuMachine) -> None:
        self._machine = machine
        self._kept: list[_Copy] = []

    def keep(self, slots: Sequence[str]) -> object:
        """Copy vertex arrays. Returns the copy, which `forget` frees, or None if the device has no memory for a copy.
        """
        machine, buffers = self._machine, list[Buffer]()
        for slot in slots:
            source, nbytes = machine.extent(slot)
            try:
                buffers.append(machine.device.allocate(max(16, nbytes), "a copy of the state"))
            except OutOfMemory:
                break
            machine.device.copy(buffers[-1].pointer, source, nbytes)
        kept = _Copy(tuple(slots), tuple(buffers))
        self._kept.append(kept)
        if len(buffers) == len(slots):
            return kept
        self.forget(kept)
        return None

    def forget(self, kept: object) -> None:
        """Free a copy."""
        assert isinstance(kept, _Copy)
        self._kept.remove(kept)
        for buffer in kept.buffers:
            self._machine.device.free(buffer)

    def remote(self, kept: object) -> Sequence[Remote]:
        """Return the arrays of a copy, limited to the entries over which passes run."""
        assert isinstance(kept, _Copy)
        machine = self._machine
        (low, high), state = machine.span, machine.state

        def array(slot: str, buffer: Buffer) -> Remote:
            def fetch(target: NDArray[Any]) -> None:
                if len(target):
                    machine.device.download(target, buffer.pointer)

            dtype = state.dtypes[slot]
            return Remote(dtype, (high - low) * (machine.itemsize(slot) // dtype.itemsize), fetch)

        return [array(slot, buffer) for slot, buffer in zip(kept.slots, kept.buffers)]

    def same(self, slots: Sequence[str], kept: object) -> bool:
        """Return whether vertex arrays are equal, bit for bit, to a copy."""
        assert isinstance(kept, _Copy)
        machine = self._machine
        machine.state.clear_stats()
        machine.state.flush()
        for slot, copy in zip(slots, kept.buffers):
            pointer, nbytes = machine.extent(slot)
            words = nbytes // 8
            args = (pointer, copy.pointer, words, machine.state.stats)
            machine.launch("count_differing", "", (), min(_COMPARING, -(-words // THREADS)), args)
        return self._counted() == 0

    def others(self, slot: str, value: int) -> int:
        """Return the number of entries of a u8 or u32 vertex array that differ from `value`."""
        machine = self._machine
        (low, high), size = machine.span, machine.itemsize(slot)
        args = (machine.pointer(slot) + low * size, high - low, value, machine.state.stats)
        machine.state.clear_stats()
        machine.state.flush()
        machine.launch(f"count_other_{8 * size}", "", (), min(_COMPARING, -(-(high - low) // THREADS)), args)
        return self._counted()

    def _counted(self) -> int:
        """Wait for the kernels, and return the number that they have counted."""
        _ = self._machine.frame  # marks the host's copy of the frame and the counts as stale
        return self._machine.counted().changed

    def close(self) -> None:
        """Free all copies."""
        for kept in tuple(self._kept):
            self.forget(kept)
