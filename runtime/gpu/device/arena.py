"""Device memory within a budget: every byte is asked for here, and accounted."""

from __future__ import annotations

from collections import defaultdict, deque
from dataclasses import dataclass
from typing import Any, Protocol

from vlang.errors import OutOfMemory

__all__ = ["Arena", "Block", "Source", "in_bytes"]

GRAIN = 512  # bytes: blocks are whole multiples, so that a block freed fits the next one of about its size


class Source(Protocol):
    """Where blocks come from."""

    def malloc(self, nbytes: int) -> int | None:
        """The address of new memory; None if the device has no more."""

    def release(self, pointer: int) -> None:
        """Give memory back to the device, after all work that is queued."""

    def mark(self) -> Any:
        """The point that every stream has reached now."""

    def passed(self, mark: Any) -> bool:
        """Whether the work before a mark is done."""


@dataclass(eq=False)
class Block:
    """Device memory. pointer: its address; nbytes: as asked for; size: as accounted."""

    pointer: int
    nbytes: int
    size: int


class Arena:
    """Blocks of device memory, no more than `budget` bytes at any time, those kept for reuse included.

    A block that is freed is handed out again (to a request of the same size) once the work queued at that time, on
    any stream, is done: reuse never has to wait. help: what else can be done where memory is short, for messages.
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
        """A block, uninitialised. Raises OutOfMemory, naming `what`."""
        size = max(1, -(-nbytes // GRAIN)) * GRAIN
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
        """Take a block back; freeing twice does nothing."""
        if self._live.pop(block.pointer, None) is not None:
            self.used -= block.size
            self.cached += block.size
            self._free[block.size].append((block.pointer, self._source.mark()))

    def hand_over(self, block: Block) -> int:
        """Forget a block; whoever takes the address releases it."""
        del self._live[block.pointer]
        self.used -= block.size
        return block.pointer

    def trim(self) -> None:
        """Give the device back what is kept for reuse."""
        for blocks in self._free.values():
            for pointer, _ in blocks:
                self._source.release(pointer)
        self._free.clear()
        self.cached = 0

    def close(self) -> None:
        """Give everything back."""
        for block in list(self._live.values()):
            self._source.release(block.pointer)
        self._live.clear()
        self.used = 0
        self.trim()

    def _reused(self, size: int) -> int | None:
        """A block of the size that nobody works on any more: if any, the one freed first."""
        waiting = self._free.get(size)
        if not waiting or not self._source.passed(waiting[0][1]):
            return None
        self.cached -= size
        return waiting.popleft()[0]

    def _short(self, nbytes: int, what: str) -> str:
        free = self.budget - self.used
        return (f"{what} needs {in_bytes(nbytes)} of GPU memory, and {in_bytes(free)} of the {in_bytes(self.budget)} "
                f"that may be used are free{self._help}")


def in_bytes(count: int) -> str:
    """A number of bytes for people: `512 bytes`, `1.50 MiB`."""
    for unit, name in ((1 << 40, "TiB"), (1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")):
        if count >= unit:
            return f"{count / unit:.2f} {name}"
    return f"{count} bytes"
