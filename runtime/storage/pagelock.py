"""Page-locking of host arrays in place, so that copies overlap with kernels and kernels can read the arrays.

Locks belong to the process, not to a run, so that two runs on one graph share its locked arrays.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import cache
from typing import Any

from numpy.typing import NDArray

from vlang.records import dataclass

__all__ = ["PageLocks", "address_of", "process_locks"]

_MOST_RESULTS = 4 << 30  # bytes of memory for results that are locked at the same time
_PORTABLE, _MAPPED, _READ_ONLY = 1, 2, 8  # flags of cudaHostRegister


@dataclass
class _Range:
    array: NDArray[Any]  # a reference, so that locked memory is never returned to the system
    nbytes: int
    address: int
    users: int


class PageLocks:
    """The page-locked address ranges of the process, with a reference count for each.

    Args:
        lock: the driver call lock(address, nbytes, flags).
        unlock: the driver call unlock(address).
        mapped: mapped(address) is the device address of a locked host address.
        refusals: the exceptions by which `lock` reports that it cannot lock the memory.
    """

    def __init__(self, lock: Callable[[int, int, int], None], unlock: Callable[[int], None],
                 mapped: Callable[[int], int], refusals: tuple[type[Exception], ...]) -> None:
        self._lock, self._unlock, self._mapped, self._refusals = lock, unlock, mapped, refusals
        self._ranges: dict[int, _Range] = {}
        self._results: dict[int, int] = {}  # address and size of each block of memory for results
        self._mutex = threading.Lock()

    def register(self, array: NDArray[Any]) -> int:
        """Lock an array, or reuse a lock that covers the array; returns the device address of the array, or 0 if the
        array cannot be locked.
        """
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
                except BaseException:  # also after an interrupt, as a range that is not listed would stay locked
                    self._unlock(start)
                    raise
                found = start
            locked = self._ranges[found]
            locked.users += 1
            return locked.address + (start - found)

    def unregister(self, array: NDArray[Any]) -> None:
        """Release one reference to a locked array; releasing the last reference unlocks the array.

        No copy or kernel may still use the array.
        """
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
        """Return whether the whole array is locked."""
        return self._covering(address_of(array), array.nbytes) is not None

    def touches(self, array: NDArray[Any]) -> bool:
        """Return whether any part of an array is locked."""
        start, end = address_of(array), address_of(array) + array.nbytes
        sizes = [*((at, r.nbytes) for at, r in list(self._ranges.items())), *list(self._results.items())]
        return any(at < end and start < at + nbytes for at, nbytes in sizes)

    def lock_results(self, address: int, nbytes: int) -> bool:
        """Lock memory for results.

        `touches` takes locked memory of results into account; `covers` does not, because the owner of a result may free
        its memory at any time. Returns whether the memory is locked. If the memory is locked, `unlock_results` must be
        called before the memory is freed.
        """
        with self._mutex:
            if sum(self._results.values()) + nbytes > _MOST_RESULTS or not self._locked(address, nbytes, True):
                return False
            self._results[address] = nbytes
        return True

    def unlock_results(self, address: int) -> None:
        """Undo `lock_results`."""
        if self._results.pop(address, None) is not None:
            self._unlock(address)

    def _covering(self, start: int, nbytes: int) -> int | None:
        ranges = list(self._ranges.items())
        return next((at for at, r in ranges if at <= start and start + nbytes <= at + r.nbytes), None)

    def _locked(self, start: int, nbytes: int, writeable: bool) -> bool:
        """Lock a range; returns whether the range is locked.

        For memory that is mapped read-only, the call is tried with and without a flag that not every system supports.
        """
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
    """The page locks of this process, made through CuPy."""
    from cupy_backends.cuda.api import runtime  # optional

    def mapped(address: int) -> int:
        return int(runtime.pointerGetAttributes(address).devicePointer)

    return PageLocks(runtime.hostRegister, runtime.hostUnregister, mapped, (runtime.CUDARuntimeError,))
