"""Hash tables that assign consecutive numbers to integer keys and to texts, in the order of first occurrence."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from vlang.runtime.graph.kernels import kernels

__all__ = ["KeyTable", "TokenTable"]

_NEXT, _COUNT, _USED = 0, 1, 2
_FIRST_SLOTS = 1 << 16


class KeyTable:
    """Assigns numbers to 64-bit keys.

    Each key takes 16 to 32 bytes of memory, half for the slots and half for the keys.
    """

    def __init__(self) -> None:
        self._kernels = kernels("number")
        self._slots = np.zeros(_FIRST_SLOTS, dtype=np.uint32)
        self._keys = np.empty(_FIRST_SLOTS // 2, dtype=np.int64)
        self._state = np.zeros(3, dtype=np.int64)

    def insert(self, keys: NDArray[np.int64], numbers: NDArray[np.uint32]) -> None:
        """Set numbers[i] to the number of keys[i]; both arrays are contiguous and have the same length."""
        self._state[_NEXT] = 0
        while True:
            self._kernels["insert_keys"](
                keys, len(keys), numbers, self._slots, len(self._slots) - 1, self._keys, len(self._keys), self._state
            )
            if self._state[_NEXT] == len(keys):
                return
            self._slots = np.zeros(2 * len(self._slots), dtype=np.uint32)
            self._keys.resize(len(self._slots) // 2, refcheck=False)
            count = int(self._state[_COUNT])
            self._kernels["refill_keys"](self._keys, count, self._slots, len(self._slots) - 1)

    @property
    def keys(self) -> NDArray[np.int64]:
        """The distinct keys, by number."""
        return self._keys[: int(self._state[_COUNT])]


class TokenTable:
    """Assigns numbers to texts, compared byte by byte.

    Each distinct text is stored once, with an overhead of 24 to 32 bytes.
    """

    def __init__(self) -> None:
        self._kernels = kernels("number")
        self._slots = np.zeros(_FIRST_SLOTS, dtype=np.uint32)
        self._hashes = np.empty(_FIRST_SLOTS // 2, dtype=np.uint64)
        self._ends = np.empty(_FIRST_SLOTS // 2, dtype=np.int64)
        self._arena = np.empty(1 << 20, dtype=np.uint8)
        self._state = np.zeros(3, dtype=np.int64)

    def insert(self, text: NDArray[np.uint8], tokens: NDArray[np.int64], numbers: NDArray[np.uint32]) -> None:
        """Set numbers[i] to the number of the text of tokens[i], which the scan kernel packed as a range of `text`."""
        state = self._state
        state[_NEXT] = 0
        while True:
            self._kernels["insert_tokens"](
                text, tokens, len(tokens), numbers, self._slots, len(self._slots) - 1, self._arena, self._ends,
                self._hashes, len(self._ends), len(self._arena), state,
            )  # fmt: skip
            if state[_NEXT] == len(tokens):
                return
            if state[_COUNT] == len(self._ends):
                self._grow()
            else:
                need = int(tokens[state[_NEXT]] >> 32 & 0x3FFFFFFF) + 1
                self._arena.resize(2 * len(self._arena) + need, refcheck=False)

    def _grow(self) -> None:
        self._slots = np.zeros(2 * len(self._slots), dtype=np.uint32)
        for array in (self._hashes, self._ends):
            array.resize(len(self._slots) // 2, refcheck=False)
        self._kernels["refill_hashes"](self._hashes, int(self._state[_COUNT]), self._slots, len(self._slots) - 1)

    @property
    def count(self) -> int:
        """The number of distinct texts."""
        return int(self._state[_COUNT])

    @property
    def nbytes(self) -> int:
        """The size in bytes of the distinct texts."""
        return int(self._state[_USED])

    def encoded(self) -> bytes:
        """The distinct texts by number. A line end follows each text."""
        return self._arena[: self.nbytes].tobytes()

    def texts(self) -> NDArray[Any]:
        """The distinct texts, by number: object[n] of str. Raises UnicodeDecodeError."""
        whole = self.encoded().decode("utf-8")
        result = np.empty(self.count, dtype=object)
        result[:] = whole.split("\n")[:-1]
        return result

    def text_at(self, place: int) -> bytes:
        """The bytes of the text that contains byte `place` of the arena, for a message about this text."""
        used = self._arena[: int(self._state[_USED])].tobytes()
        return used[used.rfind(b"\n", 0, place) + 1 : used.find(b"\n", place)]
