"""Device memory for loops over frontiers: one allocation, structs that kernels read, and records that kernels write."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vlang.runtime.gpu.device.device import Device
from vlang.runtime.gpu.kernels.sparse_layout import CHUNK, CONTROL, TABLE

__all__ = ["Arena", "Control", "entries_of", "table_words"]

_ALIGNED = 256  # bytes
_FLOATS = frozenset({"total", "bound", "delta", "worked_from", "cost"})


def entries_of(vertices: int, edges: int) -> int:
    """Return the maximum number of entries in a queue: one per vertex, plus one for every CHUNK edges of a vertex."""
    return vertices + edges // CHUNK


def _rounded(size: int) -> int:
    return -(-max(size, 1) // _ALIGNED) * _ALIGNED


class Arena:
    """Named pieces of device memory in one allocation. Raises OutOfMemory, whose message names `what`.

    Args:
        device: the device.
        sizes: the size of each piece in bytes, by name.
        what: the purpose, for messages.
    """

    def __init__(self, device: Device, sizes: Mapping[str, int], what: str) -> None:
        self._device = device
        self._at: dict[str, int] = {}
        at = 0
        for name, size in sizes.items():
            self._at[name] = at
            at += _rounded(size)
        self._sizes = dict(sizes)
        self._buffer = device.allocate(Arena.bytes(sizes), what)

    @staticmethod
    def bytes(sizes: Mapping[str, int]) -> int:
        """Return the size of the allocation in bytes."""
        return max(_ALIGNED, sum(map(_rounded, sizes.values())))

    def __getitem__(self, name: str) -> int:
        """Return the device address of a piece; 0 if there is no piece with this name."""
        return self._buffer.pointer + self._at[name] if name in self._at else 0

    def end(self, name: str) -> int:
        """Return the device address at which the next piece begins; pieces follow each other in the order of the sizes.
        """
        return self[name] + _rounded(self._sizes[name])

    def fill(self, name: str, byte: int = 0) -> None:
        """Set every byte of a piece."""
        if self._sizes[name]:
            self._device.fill(self[name], self._sizes[name], byte)

    def close(self) -> None:
        """Free the memory."""
        self._device.free(self._buffer)


class Control:
    """The state of a loop over frontiers, and the records of the supersteps of the last launch; kernels write both.

    The state is at `pointer` in device memory. After the state there are `rows` records of four words, one per
    superstep.
    """

    def __init__(self, device: Device, pointer: int, rows: int) -> None:
        self._device, self.pointer = device, pointer
        self._words = np.zeros(len(CONTROL) + 4 * rows, dtype=np.uint64)
        self._first = len(CONTROL) + 4 * min(rows, 64)  # most launches end within this number of supersteps

    @staticmethod
    def bytes(rows: int) -> int:
        """Return the size in bytes of the state and of `rows` records."""
        return 8 * (len(CONTROL) + 4 * rows)

    @property
    def records(self) -> int:
        """The device address of the records."""
        return self.pointer + 8 * len(CONTROL)

    def start(
        self, values: Mapping[str, int | float], before: NDArray[np.uint64] | None = None, until: int | None = None
    ) -> None:
        """Set words of the state by name, and clear all other words and the records.

        The records must be cleared because `fetch` may read records that the last launch did not write.

        Args:
            values: the values by name.
            before: words to store in front of the state, in the same copy; None for no words.
            until: the end of memory behind the records to clear with them; None to clear only the records.
        """
        words = self._words[: len(CONTROL)]
        self._device.fill(self.records, (until or self.pointer + self._words.nbytes) - self.records, 0)
        words[:] = 0
        for name, value in values.items():
            at = CONTROL.index(name)
            words[at : at + 1].view(np.float64 if name in _FLOATS else np.uint64)[0] = value
        if before is None:
            self._device.upload(self.pointer, words)
        else:
            self._device.upload(self.pointer - before.nbytes, np.concatenate((before, words)))

    def at(self, name: str) -> int:
        """Return the device address of a word."""
        return self.pointer + 8 * CONTROL.index(name)

    def set(self, first: str, values: Sequence[int | float]) -> None:
        """Set consecutive words on the device, beginning with the word `first`."""
        at = CONTROL.index(first)
        words = np.zeros(len(values), np.uint64)
        for k, value in enumerate(values):
            words[k : k + 1].view(np.float64 if CONTROL[at + k] in _FLOATS else np.uint64)[0] = value
        self._device.upload(self.pointer + 8 * at, words)

    def clear(self, first: str, last: str) -> None:
        """Clear the words from `first` to `last`, both included."""
        at, end = CONTROL.index(first), CONTROL.index(last) + 1
        self._device.fill(self.pointer + 8 * at, 8 * (end - at), 0)

    def fetch(self) -> NDArray[np.uint64]:
        """Return the records of the last launch, uint64[done, 4]; waits until the launch has ended."""
        self._device.download(self._words[: self._first], self.pointer)
        done = self["done"]
        end = len(CONTROL) + 4 * done
        if end > self._first:
            self._device.download(self._words[self._first : end], self.pointer + 8 * self._first)
        return self._words[len(CONTROL) : end].reshape(done, 4)

    def spare(self, number: int) -> int:
        """Return word `number` (0 to 255) of the records, as the last `fetch` read it."""
        return int(self._words[len(CONTROL) + number])

    def __getitem__(self, name: str) -> Any:
        """Return the value of a word of the state, as the last `fetch` read it."""
        at = CONTROL.index(name)
        return self._words[at : at + 1].view(np.float64 if name in _FLOATS else np.uint64)[0].item()


def table_words(values: Mapping[str, int], names: Sequence[str] = TABLE) -> NDArray[np.uint64]:
    """Return the words of a struct as a uint64 array: the given values by name, and 0 elsewhere.

    Raises KeyError for unknown names.
    """
    unknown = values.keys() - set(names)
    if unknown:
        raise KeyError(*unknown)
    return np.array([values.get(name, 0) for name in names], np.uint64)
