"""Device memory within a budget: every allocation goes through this module, and is accounted for."""

from __future__ import annotations

from collections import defaultdict, deque
from typing import Any, Protocol

from vlang.errors import OutOfMemory
from vlang.records import dataclass

__all__ = ["Arena", "Block", "Source", "budget_help", "in_bytes", "rounded"]

GRAIN = 512  # bytes: sizes are rounded up to a multiple, so that a freed block fits requests of similar sizes


class Source(Protocol):
    """The allocator from which an arena takes its blocks."""

    def malloc(self, nbytes: int) -> int | None:
        """Return the address of new memory; None if the device has none left."""

    def release(self, pointer: int, size: int) -> None:
        """Return memory to the device once all queued work is done."""

    def mark(self) -> Any:
        """Mark the work that is queued on every stream now; returns the mark, which is an argument of `passed`."""

    def passed(self, mark: Any) -> bool:
        """Return whether all work that was queued before a mark has ended."""


@dataclass(eq=False)
class Block:
    """A block of device memory.

    Attributes:
        pointer: the device address.
        nbytes: the size that was requested.
        size: the size that counts towards the budget.
    """

    pointer: int
    nbytes: int
    size: int


class Arena:
    """Allocates blocks of device memory: at most `budget` bytes in total, including freed blocks cached for reuse.

    A freed block is reused for a request of the same size. Before the reuse, all work that was queued at the time of
    freeing must have ended on every stream. Reuse therefore never waits.

    Args:
        source: allocates memory on the device and releases it.
        budget: the maximum total size in bytes.
        help: advice that is appended to out-of-memory messages.
    """

    def __init__(self, source: Source, budget: int, help: str = "") -> None:
        self.budget = budget
        self.used = 0
        self.cached = 0
        self._source = source
        self._help = help
        self._live: dict[int, Block] = {}
        self._free: defaultdict[int, deque[tuple[int, Any]]] = defaultdict(deque)

    def allocate(self, nbytes: int, what: str) -> Block:
        """Allocate an uninitialised block. Raises OutOfMemory, whose message names `what`."""
        size = rounded(nbytes)
        pointer = self._reused(size)
        if pointer is None:
            if self.used + self.cached + size > self.budget:
                self.trim()
            if self.used + size > self.budget:
                raise OutOfMemory(self._short(nbytes, what))
            pointer = self._source.malloc(size)
            if pointer is None:
                self.trim()
                pointer = self._source.malloc(size)
            if pointer is None:
                raise OutOfMemory(f"{what} needs {in_bytes(nbytes)} of GPU memory, and the GPU has no more, although "
                                  f"only {in_bytes(self.used)} of {in_bytes(self.budget)} are in use here: other "
                                  f"programs have taken it{self._help}")
        self.used += size
        block = self._live[pointer] = Block(pointer, nbytes, size)
        return block

    def free(self, block: Block) -> None:
        """Return a block to the arena; freeing twice does nothing."""
        if self._live.pop(block.pointer, None) is not None:
            self.used -= block.size
            self.cached += block.size
            self._free[block.size].append((block.pointer, self._source.mark()))

    def borrow(self, nbytes: int) -> None:
        """Add memory that was allocated elsewhere to the bytes in use; a negative number takes bytes away.

        Raises OutOfMemory.
        """
        if nbytes > 0 and self.used + nbytes > self.budget:
            raise OutOfMemory(self._short(nbytes, "what is on the device already"))
        self.used += nbytes

    def hand_over(self, block: Block) -> int:
        """Remove a block from the arena without freeing it; returns its address. The new owner must release the memory.
        """
        del self._live[block.pointer]
        self.used -= block.size
        return block.pointer

    def trim(self) -> None:
        """Release to the device all blocks that are cached for reuse."""
        for size, blocks in self._free.items():
            for pointer, _ in blocks:
                self._source.release(pointer, size)
        self._free.clear()
        self.cached = 0

    def close(self) -> None:
        """Return all blocks to the device."""
        for block in list(self._live.values()):
            self._source.release(block.pointer, block.size)
        self._live.clear()
        self.used = 0
        self.trim()

    def _reused(self, size: int) -> int | None:
        """Return the block of this size that was freed first.

        The result is None if no block of this size was freed, or if queued work may still use the block.
        """
        waiting = self._free.get(size)
        if not waiting or not self._source.passed(waiting[0][1]):
            return None
        self.cached -= size
        return waiting.popleft()[0]

    def _short(self, nbytes: int, what: str) -> str:
        free = self.budget - self.used
        return (f"{what} needs {in_bytes(nbytes)} of GPU memory, and {in_bytes(free)} of the {in_bytes(self.budget)} "
                f"that may be used are free{self._help}")


def rounded(nbytes: int) -> int:
    """Return the size that counts towards the budget for a block of `nbytes` bytes."""
    return max(1, -(-nbytes // GRAIN)) * GRAIN


def in_bytes(count: int) -> str:
    """Format a number of bytes as text, for example `512 bytes` or `1.50 MiB`."""
    for unit, name in ((1 << 40, "TiB"), (1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")):
        if count >= unit:
            return f"{count / unit:.2f} {name}"
    return f"{count} bytes"


def budget_help(gpu_memory: int | None, free: int) -> str:
    """Return advice for a budget that is too small."""
    if gpu_memory is not None and gpu_memory < free:
        return f"; a larger gpu_memory helps (up to {in_bytes(free)} now), and so may a smaller page_size"
    return '; free memory on the GPU, take a smaller page_size, or run on the CPU (device="cpu")'
