"""Moves windows of vertex arrays between host and device memory while kernels run.

There are two window buffers on the device. While kernels run on one window, the next window is copied to the other
buffer. A window that was written is copied back after the next window has been queued, so that the device does not
wait.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vlang.records import dataclass
from vlang.runtime.gpu.device.arena import rounded
from vlang.runtime.gpu.device.device import Buffer, Device, Event, Stream
from vlang.runtime.gpu.windows.window import Moves, Window
from vlang.runtime.gpu.windows.windowed_state import WindowedState
from vlang.runtime.plan.plan import FIRST_SLOT

__all__ = ["OFFSETS", "Mover", "Run", "offsets_bytes", "offsets_in"]

OFFSETS = 8
"""The bytes of the offset of a vertex, which moves with its window."""
_ALIGNED = 256  # bytes: alignment of arrays in a buffer
_BEFORE = 32  # vertices before a window whose offsets kernels read: they begin at a multiple of a warp
_PAIRS = 6  # words that one launch of set_words sets

Run = Callable[[Window, int, int], None]
"""A function (window, frame, offsets) that queues the kernels of a pass over a window on the default stream.

`frame` and `offsets` are device addresses; `offsets` is that of the offset of vertex 0.
"""


@dataclass(eq=False)
class _Room:
    """A buffer for a window, and a frame with the addresses of the arrays in this buffer."""

    memory: Buffer
    frame: Buffer
    used: Event | None = None
    back: list[tuple[NDArray[Any], int]] = field(default_factory=list)  # host arrays, and the addresses of their values
    window: Window | None = None


class Mover:
    """The window buffers of a run.

    Args:
        device: the device.
        state: the state of the run, with the arrays in host memory.
        set_words: launches the kernel `set_words` with an address, a count, and pairs of index and value.

    Attributes:
        size: the bytes of a window buffer.
        aliases: the slots that refer to the array of another slot.
        copied: the bytes that windows have copied so far.
    """

    def __init__(self, device: Device, state: WindowedState, set_words: Callable[..., None]) -> None:
        self._device, self._state, self._set_words = device, state, set_words
        self._rooms: list[_Room] = []
        self.size = 0
        self._up: Stream | None = None
        self._down: Stream | None = None
        self.aliases: dict[str, str] = {}
        self.copied = 0

    def bytes_for(self, moves: Iterable[Moves], vertices: int, offsets: bool) -> int:
        """Return the size of a buffer for windows of a number of vertices: the maximum over all passes.

        Args:
            moves: the arrays of each pass.
            vertices: the vertices of the largest window.
            offsets: whether the offsets move, too.
        """
        each = [[self._state.row_bytes(slot) for slot in one.read] for one in moves]
        more = offsets_bytes(vertices) if offsets else 0
        return more + max((sum(_padded(size * vertices) for size in sizes) for sizes in each), default=0)

    def open(self, size: int) -> None:
        """Allocate the buffers, of `size` bytes each. Raises OutOfMemory."""
        self.size = size
        words = self._words
        for _ in range(2):
            memory = self._device.allocate(max(16, size), "windows of vertex arrays")
            try:
                self._rooms.append(_Room(memory, self._device.allocate(words, "the frame of a window")))
            except BaseException:
                self._device.free(memory)
                raise
        if self._up is None:
            self._up, self._down = self._device.stream(), self._device.stream()

    def bytes_to_open(self, size: int) -> int:
        """Return the bytes that `open` allocates."""
        return 2 * (rounded(size) + rounded(self._words))

    @property
    def _words(self) -> int:
        """The bytes of the frame of a window."""
        return 8 * (FIRST_SLOT + len(self._state.plan.slots))

    @property
    def memory(self) -> int:
        """The device address of a buffer, which is free between passes."""
        return self._rooms[0].memory.pointer

    def over(
        self, windows: Iterable[Window], moves: Moves, main: int, run: Run, offsets: NDArray[np.uint64] | None = None
    ) -> None:
        """Run a pass, window by window.

        Args:
            windows: the windows.
            moves: the arrays that the pass needs.
            main: the device address of the frame.
            run: queues the kernels of the pass over a window.
            offsets: the offsets of all vertices, if offsets move with the window.
        """
        device, last = self._device, None
        for number, window in enumerate(windows):
            room = self._rooms[number % 2]
            places, first = self._fill(room, window, moves, offsets)
            device.wait(device.record(self._up))
            device.copy(room.frame.pointer, main, room.frame.nbytes)
            self._aim(room.frame.pointer, places)
            run(window, room.frame.pointer, first)
            room.used = device.record()
            if last is not None:
                self._fetch(last)
            last = room
        if last is not None:
            self._fetch(last)

    def _fill(
        self, room: _Room, window: Window, moves: Moves, offsets: NDArray[np.uint64] | None
    ) -> tuple[dict[str, int], int]:
        """Copy a window to the device; returns the addresses of the arrays for vertex 0, and the address of the
        offsets.
        """
        device, state = self._device, self._state
        if room.used is not None:
            device.wait(room.used, self._up)
        at, first = room.memory.pointer, 0
        if offsets is not None:
            low = window.low // _BEFORE * _BEFORE
            piece = offsets[low : window.high + 1]
            device.upload(at, piece, self._up)
            self.copied += piece.nbytes
            first, at = (at - OFFSETS * low) % (1 << 64), at + _padded(piece.nbytes)
        places: dict[str, int] = {}
        where: dict[int, int] = {}
        room.window, room.back = window, []
        for slot in moves.read:
            array = state.hosted[self.aliases.get(slot, slot)]
            if id(array) not in where:
                rows = state.rows(array, window.low, window.high)
                device.upload(at, rows, self._up)
                self.copied += rows.nbytes
                where[id(array)], at = at, at + _padded(rows.nbytes)
            if slot in moves.written and all(rows is not array for rows, _ in room.back):
                room.back.append((array, where[id(array)]))
            places[slot] = (where[id(array)] - window.low * state.row_bytes(slot)) % (1 << 64)
        assert at - room.memory.pointer <= self.size
        return places, first

    def _aim(self, frame: int, places: Mapping[str, int]) -> None:
        """Let a frame refer to the arrays in a buffer."""
        slots = self._state.plan.slots
        self.set_words(frame, {slots[slot]: place for slot, place in places.items()})

    def set_words(self, at: int, words: Mapping[int, int]) -> None:
        """Set words in device memory.

        Args:
            at: the device address of word 0.
            words: the values by number.
        """
        pairs = list(words.items())
        for first in range(0, len(pairs), _PAIRS):
            some = [word for pair in pairs[first : first + _PAIRS] for word in pair]
            self._set_words(at, len(some) // 2, *some, *[0] * (2 * _PAIRS - len(some)))

    def _fetch(self, room: _Room) -> None:
        """Copy the arrays that a pass has written in a window back to the host, after the kernels of the pass have
        ended.
        """
        assert room.window is not None
        assert room.used is not None
        low, high = room.window.low, room.window.high
        if room.back:
            self._device.wait(room.used, self._down)
        for array, at in room.back:
            self._device.download(self._state.rows(array, low, high), at, self._down)
            self.copied += self._state.rows(array, low, high).nbytes
        room.back = []
        self._state.release(low, high)

    def close(self) -> None:
        """Free the buffers."""
        for room in self._rooms:
            self._device.free(room.memory)
            self._device.free(room.frame)
        self._rooms.clear()


def offsets_bytes(vertices: int) -> int:
    """Return the bytes of a buffer for the offsets of a window with a number of vertices."""
    return _padded(OFFSETS * (vertices + 1 + _BEFORE))


def offsets_in(size: int) -> int:
    """Return the number of vertices, a multiple of 32, whose offsets fit into a buffer of `size` bytes."""
    return (size // _ALIGNED * _ALIGNED // OFFSETS - 1 - _BEFORE) // 32 * 32


def _padded(size: int) -> int:
    return -(-size // _ALIGNED) * _ALIGNED
