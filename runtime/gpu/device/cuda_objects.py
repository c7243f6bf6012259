"""Objects of `CudaDevice` that represent streams, events, kernels and memory of the CUDA driver."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from types import TracebackType
from typing import Any

from numpy.typing import NDArray

from vlang.runtime.gpu.device.at_once import QUEUEING
from vlang.runtime.gpu.device.device import Stream
from vlang.runtime.gpu.device.faults import fault
from vlang.runtime.storage.pagelock import address_of, process_locks

__all__ = ["CudaEvent", "CudaKernel", "CudaStream", "Guard", "HostLocks", "Owner", "handle_of"]

_STATIC = 48 << 10  # bytes of shared memory that a kernel may use without an attribute that allows more


class CudaStream:
    """A stream of the CUDA driver."""

    __slots__ = ("handle",)

    def __init__(self, handle: int) -> None:
        self.handle = handle


class CudaEvent:
    """An event of the CUDA driver, destroyed with this object."""

    __slots__ = ("_destroy", "handle")

    def __init__(self, runtime: Any, flags: int = 0) -> None:
        self.handle: int = runtime.eventCreateWithFlags(flags)
        self._destroy = runtime.eventDestroy

    def __del__(self) -> None:
        with suppress(Exception):  # the device may be lost, or the process may be exiting
            self._destroy(self.handle)


class CudaKernel:
    """A function of a loaded module, with reusable memory for its arguments in the form that the driver expects."""

    __slots__ = ("_places", "_words", "function", "name", "shared")

    def __init__(self, name: str, function: int) -> None:
        self.name = name
        self.function = function
        self.shared = _STATIC
        self._words: Any = (ctypes.c_uint64 * 0)()
        self._places: Any = (ctypes.c_void_p * 1)()

    def arguments(self, args: Sequence[int]) -> int:
        """Return the address of the array of argument addresses; the driver copies the arguments during the launch
        call.
        """
        if len(args) != len(self._words):
            self._words = (ctypes.c_uint64 * len(args))()
            start = ctypes.addressof(self._words)
            self._places = (ctypes.c_void_p * max(1, len(args)))(*range(start, start + 8 * len(args), 8))
        try:
            self._words[:] = args
        except TypeError:  # NumPy integers
            self._words[:] = [int(a) for a in args]
        return ctypes.addressof(self._places)


class Guard:
    """A context for calls to CUDA: selects the device if the process uses several, and converts errors to DeviceError.

    Args:
        gpu: the name of the device, for messages.
        kinds: the exceptions that CuPy raises.
        select: makes the GPU the current device of the thread; does nothing if the process uses no other device.
    """

    def __init__(self, gpu: str, kinds: tuple[type[Exception], ...], select: Callable[[], None]) -> None:
        self.gpu, self.kinds, self._select = gpu, kinds, select

    def __enter__(self) -> None:
        self._select()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        if isinstance(error, self.kinds):
            raise fault(error, self.gpu) from None


class HostLocks:
    """The host arrays that one run has page-locked."""

    def __init__(self, guard: Guard) -> None:
        self._guard = guard
        self._arrays: list[NDArray[Any]] = []

    def register(self, array: NDArray[Any]) -> int:
        """Page-lock an array; returns its address for kernels, or 0 if the system refuses the page lock."""
        with self._guard, QUEUEING:
            address = process_locks().register(array)
        if address:
            self._arrays.append(array)
        return address

    def unregister(self, array: NDArray[Any], drain: Callable[[], None]) -> None:
        """Undo `register`, after `drain` has waited for all queued work."""
        for at, known in enumerate(self._arrays):
            if address_of(known) == address_of(array) and known.nbytes == array.nbytes:
                del self._arrays[at]
                drain()
                with self._guard, QUEUEING:
                    process_locks().unregister(array)
                return

    def keep(self, array: NDArray[Any]) -> Callable[[], None]:
        """Let the page lock of a registered array outlive the run; returns the function that ends the lock."""
        with self._guard, QUEUEING:
            process_locks().register(array)
        return partial(_unlock, array, self._guard.kinds)

    def close(self) -> None:
        """Unlock all arrays."""
        for array in self._arrays:
            _unlock(array, self._guard.kinds)
        self._arrays.clear()


def _unlock(array: NDArray[Any], errors: tuple[type[Exception], ...]) -> None:
    """Drop one reference to the page lock of an array, and ignore the given errors."""
    with suppress(*errors), QUEUEING:
        process_locks().unregister(array)


class Owner:
    """Owns the memory of a CuPy array."""

    def __init__(self, runtime: Any, pointer: int) -> None:
        self.pointer = pointer
        self._release, self._process = runtime.free, os.getpid()

    def __del__(self) -> None:
        if self._process == os.getpid():  # in a forked process, the lock might be held for ever
            with suppress(Exception), QUEUEING:  # the device may be lost, or the process may be exiting
                self._release(self.pointer)


def handle_of(stream: Stream) -> int:
    """Return the handle of a stream."""
    assert isinstance(stream, CudaStream)
    return stream.handle
