"""Copies of the state of a run on a GPU, and the methods by which checkpoints read and restore the state.

Checkpoints use the machine as a `Restorable` (vlang.runtime.engine.checkpoint).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from vlang.runtime.gpu.device.device import Device
from vlang.runtime.gpu.passes.gpu_copies import GpuCopies
from vlang.runtime.gpu.passes.gpu_state import GpuState
from vlang.runtime.storage.state.remote import Remote, in_memory
from vlang.runtime.storage.state.windows import Windows

__all__ = ["GpuSaved"]


class _Owner(Protocol):
    """The parts of a machine with one GPU that the methods below use."""

    device: Device
    held: GpuCopies

    @property
    def state(self) -> GpuState: ...

    def pointer(self, slot: str) -> int: ...


class GpuSaved:
    """The base class of a machine with one GPU, whose arrays are on the device: the methods for copies and checkpoints.
    """

    @property
    def windows(self) -> Windows | None:
        """The object that keeps vertex arrays in files; None if no arrays are in files."""
        return None

    def share(self: _Owner, slot: str) -> NDArray[Any] | Remote:
        """Return the values of a vertex array. The values are copied from the device only when they are fetched."""
        state = self.state

        def fetch(target: NDArray[Any]) -> None:
            if len(target):
                state.flush()
                self.device.download(target, self.pointer(slot))

        return Remote(state.dtypes[slot], state.lengths[slot], fetch)

    def put(self: _Owner, slot: str, array: NDArray[Any] | Remote) -> None:
        """Store the values of a vertex array."""
        if len(array):
            self.device.upload(self.pointer(slot), np.ascontiguousarray(in_memory(array)))

    def scalar_bits(self: _Owner) -> dict[str, int]:
        """Return the 64 bits of every graph-level value as an integer, in a dict by the name of the value."""
        return self.state.scalar_bits()

    def put_scalar_bits(self: _Owner, name: str, bits: int) -> None:
        """Store a graph-level value from its 64 bits."""
        self.state.put_scalar_bits(name, bits)

    def copies(self: _Owner, kept: object) -> Sequence[NDArray[Any] | Remote]:
        """Return the arrays of a copy that `keep` returned."""
        return self.held.remote(kept)

    def keep(self: _Owner, slots: Sequence[str]) -> object:
        """Copy vertex arrays. Returns the copy, which `forget` frees, or None if there is no memory for the copy."""
        return self.held.keep(slots)

    def forget(self: _Owner, kept: object) -> None:
        """Free a copy."""
        self.held.forget(kept)

    def same(self: _Owner, slots: Sequence[str], kept: object) -> bool:
        """Return whether vertex arrays are equal, bit for bit, to a copy."""
        return self.held.same(slots, kept)

    def others(self: _Owner, slot: str, value: int) -> int:
        """Return the number of entries of a u8 or u32 vertex array that differ from `value`."""
        return self.held.others(slot, value)
