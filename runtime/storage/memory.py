"""Memory of runs on the CPU: large arrays from blocks that are kept once nobody refers to them any more.

New memory comes in pages, each of which the system finds and clears when it is touched first. And an array that the C
library hands out begins anywhere, so that little of it can lie in huge pages, without which a read at random is looked
up in tables first. A block begins where a huge page does, and all of it but the end lies in huge pages.

An array from here owns its block as long as any view of it lives, a Result's field included: then the block is idle,
and serves the next array of its size. What is idle is bounded (see `Memory`), and goes back to the system when memory
is short. Blocks are private memory, so processes that fork do not share them.
"""

from __future__ import annotations

import mmap
import os
import threading
from collections import deque
from contextlib import suppress
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

__all__ = ["Memory", "empty", "memory", "zeros"]

_LEAST = 1 << 18  # bytes below which the C library serves as well: it keeps small pieces, and all of one lies near
_HUGE = 1 << 21  # bytes of a huge page
_MOST_BLOCKS = 64
_MOST_BYTES = 256 << 20


class _Block:
    """Memory of `size` bytes from `address` on. clean: nobody has written to it."""

    __slots__ = ("_pages", "address", "clean", "size")

    def __init__(self, size: int) -> None:
        spare = _HUGE if size >= _HUGE else 0
        try:
            self._pages = mmap.mmap(-1, size + spare, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        except (OSError, OverflowError) as error:
            raise MemoryError(f"{size:,} bytes do not fit into memory") from error
        begin = int(np.frombuffer(self._pages, np.uint8).ctypes.data)
        self.address = -(-begin // _HUGE) * _HUGE if spare else begin
        self.size = size
        self.clean = True
        if spare and hasattr(mmap, "MADV_HUGEPAGE"):
            with suppress(OSError):  # a kernel without huge pages
                self._pages.madvise(mmap.MADV_HUGEPAGE, self.address - begin, size // _HUGE * _HUGE)


class _Lease:
    """What an array on a block refers to: when it goes, the block is idle."""

    __slots__ = ("__array_interface__", "_block", "_home")

    def __init__(self, home: Memory, block: _Block, nbytes: int) -> None:
        self._home, self._block = home, block
        self.__array_interface__ = {"version": 3, "data": (block.address, False), "shape": (nbytes,), "typestr": "|u1"}

    def __del__(self) -> None:
        self._home.back(self._block)


class Memory:
    """Blocks, of which at most `most` bytes and `blocks` of them are idle: those that came back first go first.

    idle, used: bytes of blocks that are kept, and of those that arrays lie on. made: blocks asked of the system so far.
    Threads may share it.
    """

    def __init__(self, most: int = _MOST_BYTES, blocks: int = _MOST_BLOCKS) -> None:
        self.idle = self.used = self.made = 0
        self._most, self._blocks = most, blocks
        self._kept: list[_Block] = []  # in the order in which they came back
        self._returned: deque[_Block] = deque()
        self._lock = threading.Lock()

    def empty(self, count: int, dtype: DTypeLike) -> NDArray[Any]:
        """An array of `count` elements, uninitialised. Raises MemoryError."""
        return self._array(count, np.dtype(dtype))[0]

    def zeros(self, count: int, dtype: DTypeLike) -> NDArray[Any]:
        """An array of `count` zeros, not yet touched if its memory is new. Raises MemoryError."""
        array, clean = self._array(count, np.dtype(dtype))
        if not clean:
            array.fill(0)
        return array

    def back(self, block: _Block) -> None:
        """Take a block back. Called by whatever lets the last array go, which may be this very object at work: so
        nothing here waits."""
        self._returned.append(block)
        self._settle()

    def trim(self) -> None:
        """Give the system what is idle."""
        with self._lock:
            self._sort(0)
        self._settle()

    def forked(self) -> None:
        """A child process has the blocks, and none of the threads that may have been at work here."""
        self._lock = threading.Lock()

    def _array(self, count: int, dtype: np.dtype[Any]) -> tuple[NDArray[Any], bool]:
        nbytes = count * dtype.itemsize
        if nbytes < _LEAST:
            return np.empty(count, dtype), False
        block = self._block(_rounded(nbytes))
        clean, block.clean = block.clean, False
        return np.asarray(_Lease(self, block, nbytes)).view(dtype), clean

    def _block(self, size: int) -> _Block:
        with self._lock:
            self._sort(self._most)
            at = next((i for i in range(len(self._kept) - 1, -1, -1) if self._kept[i].size == size), None)
            block = None if at is None else self._kept.pop(at)
            self.used += size
            if block is not None:
                self.idle -= size
            else:
                self.made += 1
        self._settle()
        return block if block is not None else self._new(size)

    def _new(self, size: int) -> _Block:
        try:
            return _Block(size)
        except MemoryError:
            self.trim()
        try:
            return _Block(size)
        except MemoryError:
            with self._lock:
                self.used -= size
            raise

    def _settle(self) -> None:
        """Keep what came back, unless somebody is at it, who will see to the rest."""
        while self._returned and self._lock.acquire(blocking=False):
            try:
                self._sort(self._most)
            finally:
                self._lock.release()

    def _sort(self, most: int) -> None:
        """Keep what came back, and let the oldest go beyond `most` bytes."""
        while self._returned:
            block = self._returned.popleft()
            self.used -= block.size
            self.idle += block.size
            self._kept.append(block)
        while self._kept and (self.idle > most or len(self._kept) > self._blocks):
            self.idle -= self._kept.pop(0).size


def _rounded(nbytes: int) -> int:
    """The size of a block: of about equal sizes one serves for the other. What is not needed is never touched."""
    step = max(1 << 16, 1 << (nbytes.bit_length() - 5))
    return -(-nbytes // step) * step


memory = Memory()
"""That of this process."""

if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=memory.forked)


def empty(count: int, dtype: DTypeLike) -> NDArray[Any]:
    """`Memory.empty` of the memory of this process."""
    return memory.empty(count, dtype)


def zeros(count: int, dtype: DTypeLike) -> NDArray[Any]:
    """`Memory.zeros` of the memory of this process."""
    return memory.zeros(count, dtype)
