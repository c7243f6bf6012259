"""Device memory of loops over frontiers: one allocation, the structs that kernels read, and the results they leave."""

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
    """The maximum of entries in a queue: one per vertex, and one more for every CHUNK edges of a long vertex."""
    return vertices + edges // CHUNK


def _rounded(size: int) -> int:
    return -(-max(size, 1) // _ALIGNED) * _ALIGNED


class Arena:
    """Named pieces of device memory in one allocation. Raises OutOfMemory, which names `what`.

    Args:
        device: the device.
        sizes: bytes of each piece.
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
        """Bytes of the allocation."""
        return max(_ALIGNED, sum(map(_rounded, sizes.values())))

    def __getitem__(self, name: str) -> int:
        """The address of a piece; 0 if there is none of this name."""
        return self._buffer.pointer + self._at[name] if name in self._at else 0

    def fill(self, name: str, byte: int = 0) -> None:
        """Set every byte of a piece."""
        if self._sizes[name]:
            self._device.fill(self[name], self._sizes[name], byte)

    def close(self) -> None:
        """Free the memory."""
        self._device.free(self._buffer)


class Control:
    """The state of a loop over frontiers as kernels wrote it, and the records of the supersteps of the last launch.

    It is stored at `pointer`, followed by `rows` records of four words, one per superstep.
    """

    def __init__(self, device: Device, pointer: int, rows: int) -> None:
        self._device, self.pointer = device, pointer
        self._words = np.zeros(len(CONTROL) + 4 * rows, dtype=np.uint64)
        self._first = len(CONTROL) + 4 * min(rows, 64)  # most launches end within this number of supersteps

    @staticmethod
    def bytes(rows: int) -> int:
        """Bytes of the state with this number of records."""
        return 8 * (len(CONTROL) + 4 * rows)

    @property
    def records(self) -> int:
        """The address of the records."""
        return self.pointer + 8 * len(CONTROL)

    def start(self, values: Mapping[str, int | float]) -> None:
        """Set the words given by name, and all others and the records to 0.

        The records must be cleared because `fetch` reads more of them than a launch may have written.
        """
        words = self._words[: len(CONTROL)]
        self._device.fill(self.records, self._words.nbytes - words.nbytes, 0)
        words[:] = 0
        for name, value in values.items():
            at = CONTROL.index(name)
            words[at : at + 1].view(np.float64 if name in _FLOATS else np.uint64)[0] = value
        self._device.upload(self.pointer, words)

    def at(self, name: str) -> int:
        """The address of a word."""
        return self.pointer + 8 * CONTROL.index(name)

    def clear(self, first: str, last: str) -> None:
        """Set the words from `first` to `last` to 0."""
        at, end = CONTROL.index(first), CONTROL.index(last) + 1
        self._device.fill(self.pointer + 8 * at, 8 * (end - at), 0)

    def fetch(self) -> NDArray[np.uint64]:
        """The records of the last launch, uint64[done, 4]; waits for it."""
        self._device.download(self._words[: self._first], self.pointer)
        done = self["done"]
        end = len(CONTROL) + 4 * done
        if end > self._first:
            self._device.download(self._words[self._first : end], self.pointer + 8 * self._first)
        return self._words[len(CONTROL) : end].reshape(done, 4)

    def __getitem__(self, name: str) -> Any:
        """A word, as last fetched."""
        at = CONTROL.index(name)
        return self._words[at : at + 1].view(np.float64 if name in _FLOATS else np.uint64)[0].item()


def table_words(values: Mapping[str, int], names: Sequence[str] = TABLE) -> NDArray[np.uint64]:
    """The words of a struct: values given by name, 0 for the others. Raises KeyError for other names."""
    words = np.zeros(len(names), dtype=np.uint64)
    for name, value in values.items():
        if name not in names:
            raise KeyError(name)
        words[names.index(name)] = value
    return words
