"""A pool of memory blocks for the large arrays of a run on the CPU; a block is reused when its array is freed.

New memory is costly, because the system allocates and clears each page on its first access. The C library may place an
array at any address, so that only a part of it lies in huge pages. Outside of huge pages most random reads miss the
TLB. A block begins at the address of a huge page, and the whole block except its end lies in huge pages.

An array owns its block as long as any view of the array is alive, including a field of a Result. When no view is left,
the block is idle, and the pool uses it for the next array of the same size. Idle memory is bounded (see `Memory`), and
is returned to the system when memory is short. Blocks are private memory, so processes that fork do not share them.

Under a memory budget (`vlang.runtime.storage.ledger`) the pool is not used: NumPy allocates and counts every array.
"""

from __future__ import annotations

import mmap
import weakref
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from itertools import count
from typing import Any, Self

import numpy as np
from numpy.typing import DTypeLike, NDArray

from vlang.runtime.storage.counted import LEAST
from vlang.runtime.storage.ledger import ledger

__all__ = ["Block", "Empty", "Memory", "PAGE", "empty", "memory", "page_aligned", "zeros"]

PAGE = 4096
"""The alignment in bytes of the addresses, offsets and lengths of direct reads and writes."""

Empty = Callable[[int, DTypeLike], NDArray[Any]]
"""A function (count, dtype) that allocates an uninitialised array of `count` elements."""

_LEAST = 1 << 18  # bytes of the smallest array on a block; the C library already reuses smaller pieces well
_HUGE = 1 << 21  # bytes of a huge page
_MOST_BLOCKS = 64
_MOST_BYTES = 256 << 20


class Block:
    """`size` bytes of memory that begin at `address`; `clean` is True if they were never written to.

    Raises MemoryError.
    """

    __slots__ = ("__weakref__", "_pages", "address", "clean", "size")

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
    """The base object of an array on a block; when it is freed, the block becomes idle."""

    __slots__ = ("__array_interface__", "__weakref__", "_back")

    def __init__(self, block: Block, nbytes: int, idle: deque[_Back]) -> None:
        self.__array_interface__ = {"version": 3, "data": (block.address, False), "shape": (nbytes,), "typestr": "|u1"}
        self._back = _Back(self, block, idle)


class _Back(weakref.ref[_Lease]):
    """A weak reference to a lease; when the lease is freed, the reference appends itself to the list of idle blocks.

    The callback is a single C function, because an interrupt raised by Python code inside of a destructor is lost.
    """

    __slots__ = ("block",)
    block: Block

    def __new__(cls, lease: _Lease, block: Block, idle: deque[_Back]) -> Self:
        self = super().__new__(cls, lease, idle.append)
        self.block = block
        return self

    def __init__(self, lease: _Lease, block: Block, idle: deque[_Back]) -> None:
        """Do nothing, because `weakref.ref` takes its arguments in `__new__`."""


class Memory:
    """A pool of blocks with at most `most` bytes, and at most `blocks` blocks, of idle memory.

    The limits are applied to the blocks of one size when a block is returned, and to all blocks when the next array is
    allocated. `made` counts the blocks that were requested from the system; `make` returns a new block of a size.

    Threads may share a pool without a lock. Each step is one atomic operation of a dict or deque, so every block is
    either idle, in use or freed at any time, even after an interrupt.
    """

    def __init__(
        self, most: int = _MOST_BYTES, blocks: int = _MOST_BLOCKS, make: Callable[[int], Block] = Block
    ) -> None:
        self.made = 0
        self._most, self._blocks, self._make = most, blocks, make
        self._idle: dict[int, deque[_Back]] = {}  # by size; the most recently returned block is the last
        self._clock = count()
        self._requested: dict[int, int] = {}  # by size, the time of the last request
        self._there: list[weakref.ref[Block]] = []

    @property
    def idle(self) -> int:
        """The total size of the idle blocks, in bytes."""
        return sum(size * len(blocks) for size, blocks in list(self._idle.items()))

    @property
    def used(self) -> int:
        """The total size of the blocks that arrays use, in bytes."""
        return sum(block.size for there in self._there if (block := there()) is not None) - self.idle

    def empty(self, count: int, dtype: DTypeLike) -> NDArray[Any]:
        """An array of `count` elements, uninitialised. Raises MemoryError."""
        kind = np.dtype(dtype)
        if count * kind.itemsize < LEAST:  # too small to be reused or counted
            return np.empty(count, kind)
        if ledger.limit is not None:
            self.trim()
            return np.empty(count, kind)
        return self._array(count, kind)[0]

    def zeros(self, count: int, dtype: DTypeLike) -> NDArray[Any]:
        """An array of `count` zeros; new memory is not touched. Raises MemoryError."""
        kind = np.dtype(dtype)
        if count * kind.itemsize < LEAST:
            return np.zeros(count, kind)
        if ledger.limit is not None:
            self.trim()
            return np.zeros(count, kind)
        array, clean = self._array(count, kind)
        if not clean:
            array.fill(0)
        return array

    def expects(self, nbytes: int) -> bool:
        """Return whether the pool has not yet made a block for arrays of `nbytes` bytes, and could keep such a block.
        """
        return ledger.limit is None and nbytes >= _LEAST and (size := _rounded(nbytes)) not in self._requested \
            and size <= self._most // 2

    def make_idle(self, nbytes: int, blocks: int) -> None:
        """Make idle blocks for later arrays of `nbytes` bytes, until `blocks` are idle. Raises MemoryError."""
        size = _rounded(nbytes)
        self._requested[size] = next(self._clock)
        idle = self._idle.setdefault(size, deque(maxlen=min(self._blocks, self._most // size)))
        while len(idle) < blocks:
            _Lease(self._new(size), nbytes, idle)  # freed at once, which makes the block idle

    def trim(self) -> None:
        """Return idle memory to the system."""
        self._bound(0)

    def _array(self, count: int, dtype: np.dtype[Any]) -> tuple[NDArray[Any], bool]:
        nbytes = count * dtype.itemsize
        if nbytes < _LEAST:
            return np.empty(count, dtype), False
        size = _rounded(nbytes)
        self._requested[size] = next(self._clock)
        idle = self._idle.setdefault(size, deque(maxlen=min(self._blocks, self._most // size)))
        try:
            block = idle.pop().block
        except IndexError:
            block = self._new(size)
        clean, block.clean = block.clean, False
        array = np.asarray(_Lease(block, nbytes, idle)).view(dtype)
        self._bound(self._most)
        return array, clean

    def _new(self, size: int) -> Block:
        try:
            block = self._make(size)
        except MemoryError:
            self.trim()
            block = self._make(size)
        self.made += 1
        self._there = [*(there for there in self._there if there() is not None), weakref.ref(block)]
        return block

    def _bound(self, most: int) -> None:
        """Free idle blocks until they take at most `most` bytes, beginning with the least recently requested sizes."""
        sizes = list(self._idle.items())
        over = sum(size * len(blocks) for size, blocks in sizes) - most
        many = sum(len(blocks) for _, blocks in sizes) - self._blocks
        if over <= 0 and many <= 0:
            return
        for size, blocks in sorted(sizes, key=lambda item: self._requested.get(item[0], 0)):
            while (over > 0 or many > 0) and blocks:
                with suppress(IndexError):  # another thread has taken it
                    blocks.popleft()
                over, many = over - size, many - 1


def _rounded(nbytes: int) -> int:
    """The size of a block for an array of `nbytes` bytes.

    Similar sizes are rounded up to the same size, so that blocks can be reused. The extra bytes are never accessed.
    """
    step = max(1 << 16, 1 << (nbytes.bit_length() - 5))
    return -(-nbytes // step) * step


memory = Memory()
"""The pool of this process."""


def empty(count: int, dtype: DTypeLike) -> NDArray[Any]:
    """`Memory.empty` of the pool of this process."""
    return memory.empty(count, dtype)


def page_aligned(nbytes: int) -> NDArray[np.uint8]:
    """Allocate uint8[nbytes], uninitialised, at an address that is a multiple of PAGE. Raises MemoryError."""
    room: NDArray[np.uint8] = empty(nbytes + PAGE, np.uint8)
    skip = -room.ctypes.data % PAGE
    return room[skip : skip + nbytes]


def zeros(count: int, dtype: DTypeLike) -> NDArray[Any]:
    """`Memory.zeros` of the pool of this process."""
    return memory.zeros(count, dtype)
