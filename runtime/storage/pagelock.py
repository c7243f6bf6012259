"""Host arrays that are page-locked in place, so that copies overlap with kernels and kernels can read them.

Page-locking belongs to the process, not to a run: two runs on one graph share its locked arrays.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

from numpy.typing import NDArray

__all__ = ["PageLocks", "address_of", "process_locks"]

_PORTABLE, _MAPPED, _READ_ONLY = 1, 2, 8  # flags of cudaHostRegister


@dataclass
class _Range:
    array: NDArray[Any]  # a reference, so that locked memory is never returned to the system
    nbytes: int
    address: int
    users: int


class PageLocks:
    """The locked ranges, with a count of their users.

    Args:
        lock: the system call lock(address, nbytes, flags).
        unlock: the system call unlock(address).
        mapped: mapped(address) is the device address of a locked host address.
        refusals: exceptions of `lock` that mean a refusal.
    """

    def __init__(self, lock: Callable[[int, int, int], None], unlock: Callable[[int], None],
                 mapped: Callable[[int], int], refusals: tuple[type[Exception], ...]) -> None:
        self._lock, self._unlock, self._mapped, self._refusals = lock, unlock, mapped, refusals
        self._ranges: dict[int, _Range] = {}
        self._mutex = threading.Lock()

    def register(self, array: NDArray[Any]) -> int:
        """Lock an array, or use the lock that covers it. Returns its device address; 0 if the system refuses."""
        start, nbytes = address_of(array), array.nbytes
        if not nbytes:
            return 0
        with self._mutex:
            found = self._covering(start, nbytes)
            if found is None:
                if not self._locked(start, nbytes, array.flags.writeable):
                    return 0
                try:
                    self._ranges[start] = _Range(array, nbytes, self._mapped(start), 0)
                except BaseException:  # an interrupt, too: an unlisted range would stay locked
                    self._unlock(start)
                    raise
                found = start
            locked = self._ranges[found]
            locked.users += 1
            return locked.address + (start - found)

    def unregister(self, array: NDArray[Any]) -> None:
        """Remove one user; the last one unlocks. All work on the array must be done."""
        with self._mutex:
            found = self._covering(address_of(array), array.nbytes)
            if found is None:
                return
            locked = self._ranges[found]
            locked.users -= 1
            if locked.users == 0:
                del self._ranges[found]
                self._unlock(found)

    def covers(self, array: NDArray[Any]) -> bool:
        """Whether all of an array is locked."""
        return self._covering(address_of(array), array.nbytes) is not None

    def touches(self, array: NDArray[Any]) -> bool:
        """Whether any part of an array is locked."""
        start, end = address_of(array), address_of(array) + array.nbytes
        return any(at < end and start < at + r.nbytes for at, r in list(self._ranges.items()))

    def _covering(self, start: int, nbytes: int) -> int | None:
        ranges = list(self._ranges.items())
        return next((at for at, r in ranges if at <= start and start + nbytes <= at + r.nbytes), None)

    def _locked(self, start: int, nbytes: int, writeable: bool) -> bool:
        """Lock a range. Memory that is mapped read-only needs a flag that not every system supports."""
        for flags in (0,) if writeable else (0, _READ_ONLY):
            try:
                self._lock(start, nbytes, _PORTABLE | _MAPPED | flags)
            except self._refusals:
                continue
            return True
        return False


def address_of(array: NDArray[Any]) -> int:
    """The address of a contiguous array."""
    return int(array.__array_interface__["data"][0])


@cache
def process_locks() -> PageLocks:
    """The locks of this process, through CuPy."""
    from cupy.cuda import runtime  # optional

    def mapped(address: int) -> int:
        return int(runtime.pointerGetAttributes(address).devicePointer)

    return PageLocks(runtime.hostRegister, runtime.hostUnregister, mapped, (runtime.CUDARuntimeError,))
