"""The state of a run in device memory, and the frame with the addresses of the arrays for kernels.

The frame is in device memory, with a mirror in host memory. Values that the host sets are collected, and are written to
the device before the next kernel. When the host reads one of the values that kernels store (scalars, counts), all of
them are fetched together.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vlang.errors import OutOfMemory
from vlang.runtime.engine.machine import Stats
from vlang.runtime.engine.state import DTYPES, laid_out, set_arrays
from vlang.runtime.gpu.device.arena import in_bytes
from vlang.runtime.gpu.device.device import Buffer, Device, Stream
from vlang.runtime.plan.plan import FIRST_SLOT, SLOT_STATS, Plan, field_of

__all__ = ["GpuState"]

_PAIRS = 6  # words that one launch of set_words sets
_STATS = 4  # words after the frame: changed, active, ended blocks of a reduction, and an unused one


class GpuState:
    """The arrays of a run by slot name. Raises OutOfMemory.

    Args:
        device: the device.
        plan: the compiled program.
        n: the number of vertices.
        blocks: the number of blocks of vertices. A reduction over vertices has one partial result for each block.
        set_words: launches the kernel `set_words` with an address, a count, and pairs of index and value.
        edges: the number of stored edges, for edge states.

    Attributes:
        moving: the slots of arrays over vertices that are in host memory (`vlang.runtime.gpu.windows`).
    """

    moving: frozenset[str] = frozenset()

    def __init__(
        self, device: Device, plan: Plan, n: int, blocks: int, set_words: Callable[..., None], edges: int = 0
    ) -> None:
        self.device, self.plan, self.n, self._edges = device, plan, n, edges
        self.buffers: dict[str, Buffer] = {}
        self.lent: dict[str, int] = {}
        self.dtypes: dict[str, np.dtype[Any]] = {}
        self.lengths: dict[str, int] = {}
        self._widths: dict[str, int] = {}
        self._set_words = set_words
        self._halves = {name for name, type_ in plan.globals if type_ == "f16"}
        words = FIRST_SLOT + len(plan.slots)
        self._stats_at = words
        self._mirror = np.zeros(words + _STATS, dtype=np.uint64)
        self._frame = device.allocate(self._mirror.nbytes, "the frame")
        self._mirror[SLOT_STATS] = self.stats
        self._there = False  # whether the frame was written, in one copy before the first kernel
        self._dirty: dict[int, int] = {}
        self._stale = False
        self._copy: tuple[Buffer, Stream] | None = None  # the frame of `remember`, and the stream that reads it
        self._seen: NDArray[np.uint64] | None = None  # the copy, if graph-level values and counts are read from it
        self._copied = np.empty_like(self._mirror)
        self._read = False  # whether the copy was fetched to `_copied`
        self._places: Mapping[str, Buffer] = {}  # of the arrays when `remember` was called
        self._allocate({"vertices": n, "blocks": blocks, "one": 1, "edges": edges})

    @property
    def frame(self) -> int:
        """The device address of the frame, for kernels.

        Writes pending values to the frame, and marks the mirror as stale.
        """
        self.flush()
        self._stale = True
        return self._frame.pointer

    @property
    def frame_bytes(self) -> int:
        """The size of the frame in bytes, with the counts after it."""
        return self._mirror.nbytes

    @property
    def stats(self) -> int:
        """The device address of the counts of a pass."""
        return self._frame.pointer + 8 * self._stats_at

    def _allocate(self, lengths: dict[str, int]) -> None:
        """Allocate all arrays of the plan. If memory is short, the error message has the total size of all arrays."""
        fields = {field.name: field for field in self.plan.fields}
        specs = {array.slot: array for array in self.plan.arrays if array.length in lengths}
        arrays: list[tuple[str, str, int, int]] = []
        for slot in self.plan.slots:
            name = field_of(slot)
            if name is not None:
                arrays.append((slot, fields[name].dtype, self.n, fields[name].width))
            elif slot in specs:
                arrays.append((slot, specs[slot].dtype, lengths[specs[slot].length], specs[slot].width))
        need = sum(_bytes(dtype, length, width) for slot, dtype, length, width in arrays if slot not in self.moving)
        free = self.device.budget() - self.device.allocated()
        if need > free:
            self._refuse(need, free)
        for slot, dtype, length, width in arrays:
            self.add(slot, dtype, length, width)

    def _refuse(self, need: int, free: int) -> None:
        """Raise OutOfMemory for arrays that take `need` bytes, of which `free` bytes are free."""
        self.device.free(self._frame)
        what = f"the vertex state of {self.plan.name} takes {in_bytes(need)} of GPU memory for {self.n:,} vertices"
        if self.plan.states:
            what = f"the state of {self.plan.name} takes {in_bytes(need)} of GPU memory for {self.n:,} vertices and " \
                   f"{self._edges:,} stored edges"
        raise OutOfMemory(
            f"{what}, and {in_bytes(max(0, free))} of {in_bytes(self.device.budget())} are free; edges need more: "
            "a larger gpu_memory helps, or device=\"cpu\"")

    def add(self, slot: str, dtype: str, length: int, width: int = 1) -> None:
        """Add a zeroed array in a slot, padded to 16 bytes.

        Args:
            slot: the name of the slot.
            dtype: the type of the entries, such as "u32".
            length: the number of rows.
            width: the number of entries per row.
        """
        self.dtypes[slot], self.lengths[slot] = DTYPES[dtype], length * width
        self._widths[slot] = width
        size = _bytes(dtype, length, width)
        of = f"{self._edges:,} edges" if slot.startswith(("edges:", "kept:")) else f"{self.n:,} vertices"
        self.buffers[slot] = self.device.allocate(size, f"`{slot.partition(':')[2]}` of {of}")
        self.device.fill(self.buffers[slot].pointer, size, 0)
        self._put(slot, self.buffers[slot].pointer)

    def lend(self, slot: str, dtype: str, length: int, pointer: int) -> None:
        """Let a slot refer to read-only memory that another object owns.

        Args:
            slot: the name of the slot.
            dtype: the type of the entries, such as "u32".
            length: the number of entries.
            pointer: the device address.
        """
        self.dtypes[slot], self.lengths[slot], self._widths[slot] = DTYPES[dtype], length, 1
        self.lent[slot] = pointer
        self._put(slot, pointer)

    def _put(self, slot: str, value: int) -> None:
        self.set_word(self.plan.slots[slot], value)

    def pointer(self, slot: str) -> int:
        """Return the device address of an array."""
        return self.lent[slot] if slot in self.lent else self.buffers[slot].pointer

    def row_bytes(self, slot: str) -> int:
        """Return the number of bytes per vertex in an array."""
        return self.dtypes[slot].itemsize * self._widths[slot]

    def set_word(self, number: int, value: int) -> None:
        """Set slot number `number`. Kernels must never store to this slot."""
        if int(self._mirror[number]) != value:
            self._force(number, value)

    def _force(self, number: int, value: int) -> None:
        """Set slot number `number`, even if the mirror already has the value."""
        self._mirror[number] = value
        self._dirty[number] = value

    def clear_stats(self) -> None:
        """Reset the counts to zero."""
        for k in range(2):
            self._force(self._stats_at + k, 0)

    def add_stats(self, stats: Stats) -> None:
        """Add to the counts of a pass; waits until the queued kernels have ended."""
        self.refresh()
        for k, more in enumerate((stats.changed, stats.active)):
            self._force(self._stats_at + k, int(self._mirror[self._stats_at + k]) + more)

    def swap(self, field: str) -> None:
        """Swap the two buffers of a field."""
        self._exchange(f"field:{field}", f"next:{field}")

    def turn(self, fields: Sequence[str], states: Sequence[str]) -> None:
        """Swap the two arrays of each field and edge state that a pass wrote for all vertices or edges."""
        for name in fields:
            self.swap(name)
        for name in states:
            self._exchange(f"edges:{name}", f"kept:{name}")

    def _exchange(self, now: str, new: str) -> None:
        self.buffers[now], self.buffers[new] = self.buffers[new], self.buffers[now]
        self._put(now, self.buffers[now].pointer)
        self._put(new, self.buffers[new].pointer)

    def point(self, slot: str, other: str) -> None:
        """Let a slot refer to the array of another slot."""
        self._put(slot, self.buffers[other].pointer)

    def flush(self) -> None:
        """Write pending values of the host to the frame in device memory."""
        if not self._there:
            self.device.upload(self._frame.pointer, self._mirror)
            self._there = True
            self._dirty.clear()
        pairs = list(self._dirty.items())
        self._dirty.clear()
        for at in range(0, len(pairs), _PAIRS):
            some = pairs[at : at + _PAIRS]
            flat = [word for pair in some for word in pair]
            self._set_words(self._frame.pointer, len(some), *flat, *[0] * (2 * _PAIRS - len(flat)))

    def refresh(self) -> None:
        """Fetch the values that kernels have stored; waits until the queued kernels have ended."""
        if self._stale:
            self.flush()
            self.device.download(self._mirror, self._frame.pointer)
            self._stale = False

    def remember(self) -> None:
        """Copy the graph-level values and counts that the queued kernels store, and the places of the arrays.

        Until `go_on` or `go_back`, `counted` and `scalar` read the copy, and wait only for the copy. So later kernels,
        which may be queued now, do not delay them. Raises OutOfMemory.
        """
        if self._copy is None:
            self._copy = self.device.allocate(self._mirror.nbytes, "a copy of the frame"), self.device.stream()
        buffer, stream = self._copy
        self.device.copy(buffer.pointer, self._frame.pointer, self._mirror.nbytes)
        self.device.wait(self.device.record(), stream)
        self._seen, self._read, self._places = self._copied, False, dict(self.buffers)

    def go_on(self) -> None:
        """Read graph-level values and counts from the frame again, which holds those of the kernels queued since
        `remember`.
        """
        self._seen = None

    def go_back(self) -> None:
        """Restore what `remember` has copied: the values of scalars and counts, and which buffer is that of a field."""
        seen, self._seen = self._stored(), None
        for slot, buffer in self._places.items():
            if self.buffers[slot] is not buffer:
                self.buffers[slot] = buffer
                self._put(slot, buffer.pointer)
        for number in (*(self.plan.slots[f"scalar:{name}"] for name in self.plan.scalars
                         if f"scalar:{name}" in self.plan.slots), self._stats_at, self._stats_at + 1):
            self._force(number, int(seen[number]))

    def _stored(self) -> NDArray[np.uint64]:
        """Return the words of the frame that kernels store: those of `remember`, or the latest ones."""
        if self._seen is None:
            self.refresh()
            return self._mirror
        if not self._read:
            assert self._copy is not None
            self.device.download(self._seen, self._copy[0].pointer, self._copy[1])
            self._read = True
        return self._seen

    def counted(self) -> Stats:
        """Return the counts of the last pass, after waiting for the end of the pass."""
        changed, active = self._stored()[self._stats_at : self._stats_at + 2].tolist()
        return Stats(changed, active)

    def set_scalar(self, name: str, value: bool | int | float | NDArray[Any]) -> None:
        """Store a graph-level value in its slot, converted to the slot's type.

        An array is a set of vertices, or the components of a vector.
        """
        if isinstance(value, np.ndarray) and f"given:{name}" in self.plan.slots:
            self.device.upload(self.buffers[f"given:{name}"].pointer, laid_out(self.plan, name, value))
            return
        if isinstance(value, np.ndarray):
            for kind, array in set_arrays(name, value).items():
                if kind in self.plan.slots:
                    self.add(kind, "u32", len(array))
                    self.device.upload(self.buffers[kind].pointer, array)
            value = len(value)
        dtype = DTYPES[self.plan.scalars[name]]
        if type(value) is int and dtype.kind == "i" and dtype.itemsize >= 4 and 0 <= value < 1 << 31:  # quickly
            self._force(self.plan.slots[f"scalar:{name}"], value)
            return
        word = np.zeros(1, dtype=np.uint64)
        with np.errstate(over="ignore"):  # numbers that are too large for f32 become infinite
            word.view(dtype)[0] = value
        self._force(self.plan.slots[f"scalar:{name}"], int(word[0]))

    def scalar(self, name: str) -> Any:
        """Return a graph-level value as a Python number; waits until the queued kernels have ended."""
        slot = self.plan.slots[f"scalar:{name}"]
        dtype = np.dtype(np.float16) if name in self._halves else DTYPES[self.plan.scalars[name]]
        return self._stored()[slot : slot + 1].view(dtype)[0].item()

    def scalar_set(self, name: str) -> int:
        """Return an integer graph-level value that only the host sets, without waiting for kernels."""
        slot = self.plan.slots[f"scalar:{name}"]
        return int(self._mirror[slot : slot + 1].view(DTYPES[self.plan.scalars[name]])[0])

    def scalar_bits(self) -> dict[str, int]:
        """Return the 64 bits of every graph-level value, by name; waits until the queued kernels have ended."""
        self.refresh()
        return {name: int(self._mirror[self.plan.slots[f"scalar:{name}"]]) for name in self.plan.scalars}

    def words_of(self, slots: Sequence[str]) -> tuple[int, ...]:
        """Return the 64 bits in these slots of the frame; waits until the queued kernels have ended."""
        if slots:
            self.refresh()
        return tuple(int(self._mirror[self.plan.slots[slot]]) for slot in slots)

    def put_scalar_bits(self, name: str, bits: int) -> None:
        """Store a graph-level value from its 64 bits."""
        self._force(self.plan.slots[f"scalar:{name}"], bits)

    def array(self, slot: str) -> NDArray[Any]:
        """Return a copy of an array in host memory; waits until the queued kernels have ended."""
        result = self.device.host(self.lengths[slot], self.dtypes[slot])
        if len(result):
            self.device.download(result, self.pointer(slot))
        return result

    def hand_over(self, slot: str) -> Any:
        """Convert the array of a slot to an array of the device's library (CuPy), which then owns the memory."""
        self.flush()
        self.device.synchronize()
        return self.device.hand_over(self.buffers.pop(slot), self.dtypes[slot], self.lengths[slot])

    def close(self) -> None:
        """Free the arrays."""
        copied = () if self._copy is None else (self._copy[0],)
        for buffer in (*self.buffers.values(), self._frame, *copied):
            self.device.free(buffer)
        self.buffers.clear()


def _bytes(dtype: str, length: int, width: int) -> int:
    """Return the size of an array in bytes, padded to a multiple of 16."""
    return max(16, -(-length * width * DTYPES[dtype].itemsize // 16) * 16)
