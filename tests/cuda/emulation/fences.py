"""Memory between fences: inaccessible pages precede and follow the memory, and garbage fills the rest of the first and
the last page.
"""

from __future__ import annotations

import ctypes
import mmap
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["ALIGNED", "Fence"]

ALIGNED = 256  # bytes
_PAGE = mmap.PAGESIZE
_MARGIN = 256 * _PAGE
_RIM = 0xC5
_NONE, _READ_WRITE = 0, 3  # constants of mprotect
_PRIVATE, _ANONYMOUS = 2, 32  # constants of mmap


@cache
def _libc() -> Any:
    libc = ctypes.CDLL(None, use_errno=True)
    libc.mmap.restype = ctypes.c_void_p
    libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
    libc.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
    return libc


def _poison(pointer: int, nbytes: int, on: bool) -> None:
    """Mark a range as inaccessible for the address sanitizer, if the sanitizer is loaded."""
    name = f"__asan_{'' if on else 'un'}poison_memory_region"
    if hasattr(_libc(), name):
        getattr(_libc(), name)(ctypes.c_void_p(pointer), ctypes.c_size_t(nbytes))


class Fence:
    """`nbytes` of memory at `pointer`, aligned to ALIGNED and filled with a garbage byte.

    The memory ends as close to the end of a page as the alignment allows. `close` checks the bytes of the first and the
    last page that are outside of the memory.
    """

    def __init__(self, nbytes: int, garbage: int) -> None:
        body = -(-nbytes // ALIGNED) * ALIGNED
        self._inner = max(1, -(-body // _PAGE)) * _PAGE
        self._size = self._inner + 2 * _MARGIN
        base = _libc().mmap(None, self._size, _NONE, _PRIVATE | _ANONYMOUS, -1, 0)
        if base is None or base == ctypes.c_void_p(-1).value:
            raise MemoryError(f"{nbytes} bytes for the memory of an emulated device")
        self._base = base
        self._start = base + _MARGIN
        if _libc().mprotect(self._start, self._inner, _READ_WRITE):
            raise MemoryError(f"{nbytes} bytes for the memory of an emulated device")
        self.pointer = self._start + self._inner - body
        self.nbytes = nbytes
        self.view(self._start, self._inner).fill(_RIM)
        self.view(self.pointer, nbytes).fill(garbage)
        self._poison(True)

    def view(self, pointer: int, nbytes: int) -> NDArray[np.uint8]:
        """Return a range of the bytes of this memory as an array."""
        if nbytes == 0:
            return np.empty(0, np.uint8)
        return np.ctypeslib.as_array((ctypes.c_uint8 * nbytes).from_address(pointer))

    def close(self, what: str) -> None:
        """Free the memory. Raises AssertionError if bytes outside of the memory were written."""
        self._poison(False)
        end = self.pointer + self.nbytes
        before = np.flatnonzero(self.view(self._start, self.pointer - self._start) != _RIM) + self._start
        behind = np.flatnonzero(self.view(end, self._start + self._inner - end) != _RIM) + end
        _libc().munmap(self._base, self._size)
        if len(before) or len(behind):
            first = int(min([*before, *behind])) - self.pointer
            raise AssertionError(f"byte {first} of the {self.nbytes} bytes of {what} was written")

    def _poison(self, on: bool) -> None:
        end = self.pointer + self.nbytes
        _poison(self._start, self.pointer - self._start, on)
        _poison(end, self._start + self._inner - end, on)
