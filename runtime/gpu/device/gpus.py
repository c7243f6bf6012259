"""The GPUs of this machine. If there is no GPU, an error gives the reason, and says what to install or change."""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Iterable
from contextlib import suppress
from threading import Thread
from typing import Any

from vlang.errors import DeviceError
from vlang.records import dataclass
from vlang.runtime.gpu.device.faults import fault, lost

__all__ = [
    "FORKED", "INSTALL", "Gpu", "check_gpu", "count_gpus", "cuda", "cuda_version", "free_memory", "gpus", "look",
    "open_early",
]

INSTALL = "pip install 'vlang[gpu]'"
FORKED = ("this process was forked from one that had used a GPU, and CUDA does not work in such a process: start "
          "processes with multiprocessing.get_context(\"spawn\") or \"forkserver\", or run on the CPU (device=\"cpu\")")
_SUCCESS, _NOT_STARTED, _TOO_OLD, _NO_DEVICE = 0, 3, 35, 100  # CUDA status codes


@dataclass(frozen=True)
class Gpu:
    """A GPU that the driver lists.

    Attributes:
        index: the number of the GPU.
        name: the name of the GPU.
        architecture: the architecture, such as "sm_90".
        free: bytes of free memory.
        total: bytes of memory.
    """

    index: int
    name: str
    architecture: str
    free: int
    total: int


def cuda() -> tuple[Any, Any]:
    """Return CuPy's modules for the CUDA runtime and driver. Raises DeviceError with the command that installs CuPy.

    Importing the two modules takes 10 ms. Importing the complete package `cupy` takes 0.2 to 0.3 s.
    """
    try:
        from cupy_backends.cuda.api import driver, runtime  # optional
    except ModuleNotFoundError as error:
        if error.name not in ("cupy_backends", "cupy_backends.cuda", "cupy_backends.cuda.api"):
            raise DeviceError(f"CuPy is not installed as a whole ({error}): {INSTALL}") from None
        raise DeviceError(f"a GPU needs CuPy, which is not installed: {INSTALL}") from None
    except Exception as error:  # a missing or broken library raises various exceptions
        lines = str(error).strip().splitlines()
        raise DeviceError(f"CuPy cannot be loaded ({lines[0] if lines else type(error).__name__}): {INSTALL}") from None
    _load_nothing_more()
    return runtime, driver


def _load_nothing_more() -> None:
    """Prevent CuPy's library loader from importing all of CuPy, which the loader needs only for its debug log."""
    if "cupy" not in sys.modules and "CUPY_DEBUG_LIBRARY_LOAD" not in os.environ:
        with suppress(ImportError):
            from cupy_backends.cuda import _softlink  # optional

            if hasattr(_softlink, "_log"):
                _softlink._log = lambda message: None


def cuda_version(number: int) -> str:
    """Format CUDA's version number as text: 13020 is "13.2"."""
    return f"{number // 1000}.{number % 1000 // 10}"


def count_gpus(runtime: Any) -> int:
    """Return the number of GPUs, at least 1. Raises DeviceError, whose message says why there is no GPU."""
    try:
        found = int(runtime.getDeviceCount())
    except runtime.CUDARuntimeError as error:
        driver, needed = int(runtime.driverGetVersion()), cuda_version(runtime.runtimeGetVersion())
        if driver == 0:
            raise DeviceError("there is no GPU: no NVIDIA driver is loaded") from None
        if error.status == _TOO_OLD:
            older = ", or pip install 'vlang[gpu12]'" if driver >= 12000 else ""
            raise DeviceError(f"the NVIDIA driver is too old: it has CUDA {cuda_version(driver)}, and CuPy here "
                              f"needs {needed}; update the driver{older}") from None
        if error.status == _NOT_STARTED:
            raise DeviceError(f"CUDA cannot start ({error}). If {FORKED}") from None
        if lost(error):
            raise DeviceError(f"the GPU failed earlier in this process ({error}); start a new one for GPU programs, or "
                              "run them on the CPU") from None
        if error.status != _NO_DEVICE:
            raise DeviceError(f"the NVIDIA driver does not answer: {error}") from None
        found = 0
    if not found:
        raise DeviceError("there is no GPU: the NVIDIA driver lists none (CUDA_VISIBLE_DEVICES may hide it)")
    return found


def check_gpu(index: int) -> tuple[Any, Any]:
    """Check that a GPU exists; returns CuPy's modules for the CUDA runtime and driver.

    Raises DeviceError if no GPU has this number.
    """
    runtime, driver = cuda()
    count = count_gpus(runtime)
    if index >= count:
        have = "one GPU, gpu:0" if count == 1 else f"{count} GPUs, gpu:0 to gpu:{count - 1}"
        raise DeviceError(f"there is no gpu:{index}: this machine has {have}")
    return runtime, driver


def open_early(indices: Iterable[int]) -> Thread:
    """Create the CUDA contexts of GPUs in another thread while the calling thread continues; returns the other thread.

    Creating a context takes some tenths of a second. The contexts are created through ctypes, which releases the GIL
    during the call; calls of CuPy would hold the GIL. Errors are ignored, because later calls that use the GPU report
    the same errors.
    """
    def work() -> None:
        numbers = list(indices)
        with suppress(Exception):
            _retain(numbers)
        with suppress(Exception):
            runtime, _ = cuda()
            for index in numbers:
                runtime.setDevice(index)
                runtime.memGetInfo()  # needs the context, and so creates it

    thread = Thread(target=work, name="vlang-gpu", daemon=True)  # an early error of the command does not wait for it
    thread.start()
    return thread


def _retain(indices: Iterable[int]) -> None:
    """Create the primary contexts of GPUs, which the CUDA runtime uses, and keep them until the process ends."""
    driver = ctypes.CDLL("libcuda.so.1")
    if driver.cuInit(0) == _SUCCESS:
        for index in indices:
            device, context = ctypes.c_int(), ctypes.c_void_p()
            if driver.cuDeviceGet(ctypes.byref(device), index) == _SUCCESS:
                driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), device)


def gpus() -> list[Gpu]:
    """Return all GPUs, at least one. Raises DeviceError, whose message says why there is no GPU."""
    runtime, _ = cuda()
    return [look(runtime, index) for index in range(count_gpus(runtime))]


def free_memory(runtime: Any, index: int) -> int:
    """Return the bytes of free memory of a GPU; the calling thread's current device is unchanged. Raises DeviceError.
    """
    return _memory(runtime, index)[0]


def _memory(runtime: Any, index: int) -> tuple[int, int]:
    """Return the free memory and the total memory of a GPU, in bytes."""
    try:
        before = runtime.getDevice()
        if before == index:
            free, total = runtime.memGetInfo()
        else:
            try:
                runtime.setDevice(index)
                free, total = runtime.memGetInfo()
            finally:
                with suppress(runtime.CUDARuntimeError):  # its context, which CUDA now creates, may find no memory
                    runtime.setDevice(before)
    except runtime.CUDARuntimeError as error:
        raise _refused(error, index) from None
    return int(free), int(total)


def _refused(error: Exception, index: int) -> DeviceError:
    if lost(error):
        return DeviceError(f"GPU {index} failed earlier in this process ({error}); start a new one for GPU programs, "
                           "or run them on the CPU")
    return fault(error, f"GPU {index}")


def look(runtime: Any, index: int) -> Gpu:
    """Return the properties and free memory of a GPU; the calling thread's current device is unchanged. Raises
    DeviceError.
    """
    free, total = _memory(runtime, index)
    try:
        found = runtime.getDeviceProperties(index)
    except runtime.CUDARuntimeError as error:
        raise _refused(error, index) from None
    name = bytes(found["name"]).split(b"\0")[0].decode(errors="replace")
    return Gpu(index, name, f"sm_{found['major']}{found['minor']}", free, total)
