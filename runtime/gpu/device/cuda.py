"""An NVIDIA GPU, through CuPy. This module is imported only if a GPU is requested, and CuPy when the GPU is opened."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from contextlib import suppress
from types import TracebackType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vlang.runtime.compile.nvrtc import Compiler, CupyCompiler, compile_cubin
from vlang.runtime.gpu.device.arena import Arena, Block, in_bytes
from vlang.runtime.gpu.device.device import Buffer, DeviceInfo, Event, Kernel, Stream
from vlang.runtime.gpu.device.faults import fault
from vlang.runtime.gpu.device.gpus import Gpu, check_gpu, look
from vlang.runtime.gpu.device.staging import LEAST, Staging
from vlang.runtime.storage.pagelock import address_of, process_locks

__all__ = ["CudaDevice"]

RESERVE = 300 << 20  # bytes of device memory left free: kernels' local memory, code, the driver's queues
_STATIC = 48 << 10  # bytes of shared memory that a kernel may use without an attribute that allows more
_HOST_TO_DEVICE, _DEVICE_TO_HOST, _DEVICE_TO_DEVICE = 1, 2, 3
_NON_BLOCKING = 1  # flag of a stream
_NO_TIMING = 2  # flag of an event
_NO_MORE = 2  # status of cudaMalloc: out of memory


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
        """The address of the array of argument addresses; the driver copies the arguments during the launch call."""
        if len(args) != len(self._words):
            self._words = (ctypes.c_uint64 * len(args))()
            start = ctypes.addressof(self._words)
            self._places = (ctypes.c_void_p * max(1, len(args)))(*range(start, start + 8 * len(args), 8))
        try:
            self._words[:] = args
        except TypeError:  # NumPy integers
            self._words[:] = [int(a) for a in args]
        return ctypes.addressof(self._places)


class _Guard:
    """Converts CuPy's errors to DeviceError."""

    def __init__(self, gpu: str, kinds: tuple[type[Exception], ...]) -> None:
        self.gpu, self.kinds = gpu, kinds

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        if isinstance(error, self.kinds):
            raise fault(error, self.gpu) from None


def _help(gpu_memory: int | None, free: int) -> str:
    """Advice for a budget that is too small."""
    if gpu_memory is not None and gpu_memory < free:
        return f"; a larger gpu_memory helps (up to {in_bytes(free)} now), and so may a smaller page_size"
    return '; free memory on the GPU, take a smaller page_size, or run on the CPU (device="cpu")'


class CudaDevice:
    """The GPU with number `index`, for one run in one thread. See `device.Device`.

    The budget is `gpu_memory` bytes, but at most the free memory minus a reserve. The driver's own context (some
    hundred MB per process) is not counted.

    Raises:
        DeviceError: the GPU does not exist or does not work.
    """

    def __init__(self, index: int = 0, gpu_memory: int | None = None, compiler: Compiler | None = None) -> None:
        self._runtime, self._driver = runtime, driver = check_gpu(index)
        gpu = look(runtime, index)
        self._guard = _Guard(f"gpu:{index} ({gpu.name})", (runtime.CUDARuntimeError, driver.CUDADriverError))
        self._compiler = compiler
        self._index = index
        self._modules: list[int] = []
        self._streams: list[CudaStream] = []
        self._registered: list[NDArray[Any]] = []
        self._staging = Staging(runtime)
        self._launch, self._launch_together = driver.launchKernel, driver.launchCooperativeKernel
        with self._guard:
            self.info = self._described(gpu)
            self._before = runtime.getDevice()
            runtime.setDevice(index)
            self._main = self.stream()
        free = max(0, gpu.free - RESERVE)
        wanted = free if gpu_memory is None else min(gpu_memory, free)
        self._arena = Arena(self, wanted, _help(gpu_memory, free))

    def _described(self, gpu: Gpu) -> DeviceInfo:
        runtime = self._runtime

        def attribute(name: str) -> int:
            return int(runtime.deviceGetAttribute(getattr(runtime, f"cudaDevAttr{name}"), self._index))

        return DeviceInfo(
            name=gpu.name, architecture=gpu.architecture, multiprocessors=attribute("MultiProcessorCount"),
            shared=attribute("MaxSharedMemoryPerBlockOptin"), memory=gpu.total,
            unified=bool(attribute("UnifiedAddressing") and attribute("CanMapHostMemory")),
        )

    # ------------------------------------------------------------------------ memory
    def allocate(self, nbytes: int, what: str) -> Block:
        """Allocate uninitialised memory, aligned to 256 bytes.

        Raises:
            OutOfMemory: there is too little memory. The message names `what`, the bytes needed and the budget.
        """
        with self._guard:
            return self._arena.allocate(nbytes, what)

    def free(self, buffer: Buffer) -> None:
        """Free memory. It is reused only after the work that is queued now has ended on every stream."""
        assert isinstance(buffer, Block)
        with self._guard:
            self._arena.free(buffer)

    def allocated(self) -> int:
        """The number of bytes that are allocated now."""
        return self._arena.used

    def budget(self) -> int:
        """The maximum number of bytes that may be allocated."""
        return self._arena.budget

    def hand_over(self, buffer: Buffer, dtype: np.dtype[Any], count: int) -> Any:
        """A CuPy array of shape [count] that owns the memory from now on and frees it when collected."""
        import cupy  # optional

        assert isinstance(buffer, Block)
        owner = _Owner(self._runtime, self._arena.hand_over(buffer))
        memory = cupy.cuda.UnownedMemory(owner.pointer, buffer.size, owner, self._index)
        return cupy.ndarray((count,), dtype, cupy.cuda.MemoryPointer(memory, 0))

    def malloc(self, nbytes: int) -> int | None:
        """Allocate memory, as the arena's source."""
        try:
            return int(self._runtime.malloc(nbytes))
        except self._runtime.CUDARuntimeError as error:
            if error.status != _NO_MORE:
                raise
            return None

    def release(self, pointer: int) -> None:
        """Return memory to the device, as the arena's source; waits for queued work."""
        self._runtime.free(pointer)

    def mark(self) -> list[CudaEvent]:
        """An event on each stream after the work queued so far, as the arena's source."""
        return [self._recorded(stream, _NO_TIMING) for stream in self._streams]

    def passed(self, mark: list[CudaEvent]) -> bool:
        """Whether every stream has passed a mark, as the arena's source."""
        return all(self._runtime.eventQuery(event.handle) == 0 for event in mark)

    # ------------------------------------------------------------------------ copies
    def fill(self, pointer: int, nbytes: int, byte: int, stream: Stream | None = None) -> None:
        """Set every byte of a range of device memory."""
        with self._guard:
            self._runtime.memsetAsync(pointer, byte, nbytes, self._handle(stream))

    def upload(self, pointer: int, array: NDArray[Any], stream: Stream | None = None) -> None:
        """Copy a contiguous host array to the device. If it is not registered, it has been read when the call returns.
        """
        _contiguous(array)
        handle, locks = self._handle(stream), process_locks()
        with self._guard:
            if not locks.covers(array) and (array.nbytes >= LEAST or locks.touches(array)):
                self._staging.upload(pointer, array, handle)
            else:
                self._runtime.memcpyAsync(pointer, address_of(array), array.nbytes, _HOST_TO_DEVICE, handle)

    def download(self, array: NDArray[Any], pointer: int, stream: Stream | None = None) -> None:
        """Copy device memory to a contiguous host array after the queued work of the stream, and wait for the copy."""
        _contiguous(array)
        handle = self._handle(stream)
        with self._guard:
            self._runtime.memcpyAsync(address_of(array), pointer, array.nbytes, _DEVICE_TO_HOST, handle)
            self._runtime.streamSynchronize(handle)

    def copy(self, target: int, source: int, nbytes: int, stream: Stream | None = None) -> None:
        """Copy within the device."""
        with self._guard:
            self._runtime.memcpyAsync(target, source, nbytes, _DEVICE_TO_DEVICE, self._handle(stream))

    def register(self, array: NDArray[Any]) -> int:
        """Page-lock a host array in place; returns its address for kernels, or 0 if the system does not allow it."""
        _contiguous(array)
        with self._guard:
            address = process_locks().register(array)
        if address:
            self._registered.append(array)
        return address

    def unregister(self, array: NDArray[Any]) -> None:
        """Undo `register`, after the queued work of all streams has ended."""
        for at, known in enumerate(self._registered):
            if address_of(known) == address_of(array) and known.nbytes == array.nbytes:
                del self._registered[at]
                with self._guard:
                    self._runtime.deviceSynchronize()
                    process_locks().unregister(array)
                return

    # ------------------------------------------------------------------------ order
    def stream(self) -> CudaStream:
        """Create a stream, which exists until the device is closed."""
        with self._guard:
            made = CudaStream(self._runtime.streamCreateWithFlags(_NON_BLOCKING))
        self._streams.append(made)
        return made

    def record(self, stream: Stream | None = None) -> CudaEvent:
        """Record an event after the work queued on the stream so far."""
        with self._guard:
            return self._recorded(self._main if stream is None else stream)

    def wait(self, event: Event, stream: Stream | None = None) -> None:
        """Let later work on a stream wait for an event."""
        assert isinstance(event, CudaEvent)
        with self._guard:
            self._runtime.streamWaitEvent(self._handle(stream), event.handle)

    def reach(self, event: Event) -> None:
        """Wait on the host until the work before an event has ended."""
        assert isinstance(event, CudaEvent)
        with self._guard:
            self._runtime.eventSynchronize(event.handle)

    def elapsed(self, start: Event, end: Event) -> float:
        """The seconds between two completed events."""
        assert isinstance(start, CudaEvent)
        assert isinstance(end, CudaEvent)
        with self._guard:
            return float(self._runtime.eventElapsedTime(start.handle, end.handle)) / 1000

    def synchronize(self, stream: Stream | None = None) -> None:
        """Wait on the host until all work of a stream has ended."""
        with self._guard:
            self._runtime.streamSynchronize(self._handle(stream))

    def _handle(self, stream: Stream | None) -> int:
        if stream is None:
            return self._main.handle
        assert isinstance(stream, CudaStream)
        return stream.handle

    def _recorded(self, stream: Stream, flags: int = 0) -> CudaEvent:
        event = CudaEvent(self._runtime, flags)
        self._runtime.eventRecord(event.handle, self._handle(stream))
        return event

    # ------------------------------------------------------------------------ kernels
    def load(self, text: str, entries: Mapping[str, str]) -> Mapping[str, CudaKernel]:
        """Load the kernels of a CUDA C text, by name. A text is compiled once and cached on disk.

        Raises:
            InternalError: NVRTC rejects the text.
        """
        if self._compiler is None:
            self._compiler = CupyCompiler()
        cubin = compile_cubin(text, entries, self.info.architecture, self._compiler)
        with self._guard:
            module = self._driver.moduleLoadData(cubin)
            self._modules.append(module)
            return {name: CudaKernel(name, self._driver.moduleGetFunction(module, name)) for name in entries}

    def launch(self, kernel: Kernel, blocks: int, threads: int, args: Sequence[int], shared: int = 0,
               stream: Stream | None = None, cooperative: bool = False) -> None:
        """Queue a kernel.

        Args:
            kernel: from `load`.
            blocks: number of blocks.
            threads: threads per block.
            args: 64-bit arguments, addresses or integers.
            shared: bytes of dynamic shared memory per block.
            stream: None for the default stream.
            cooperative: whether all blocks must run at the same time.
        """
        if blocks == 0:
            return
        assert isinstance(kernel, CudaKernel)
        with self._guard:
            if shared > kernel.shared:
                self._allow(kernel, shared)
            words, handle = kernel.arguments(args), self._handle(stream)
            if cooperative:
                self._launch_together(kernel.function, blocks, 1, 1, threads, 1, 1, shared, handle, words)
            else:
                self._launch(kernel.function, blocks, 1, 1, threads, 1, 1, shared, handle, words, 0)

    def resident(self, kernel: Kernel, threads: int, shared: int = 0) -> int:
        """The number of blocks of a kernel that the device runs at the same time."""
        assert isinstance(kernel, CudaKernel)
        with self._guard:
            if shared > kernel.shared:
                self._allow(kernel, shared)
            each = self._driver.occupancyMaxActiveBlocksPerMultiprocessor(kernel.function, threads, shared)
        return int(each) * self.info.multiprocessors

    def _allow(self, kernel: CudaKernel, shared: int) -> None:
        """Allow a kernel more dynamic shared memory than the default limit."""
        attribute = self._driver.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
        self._driver.funcSetAttribute(kernel.function, attribute, shared)
        kernel.shared = shared

    def close(self) -> None:
        """Free all resources, after the work of all streams has ended. On a lost device there is nothing to free."""
        undo = [(self._runtime.streamDestroy, stream.handle) for stream in self._streams]
        undo += [(self._driver.moduleUnload, module) for module in self._modules]
        with suppress(*self._guard.kinds):
            self._runtime.deviceSynchronize()
        for array in self._registered:
            with suppress(*self._guard.kinds):
                process_locks().unregister(array)
        for owner in (self._staging, self._arena):
            with suppress(*self._guard.kinds):
                owner.close()
        for function, handle in undo:
            with suppress(*self._guard.kinds):
                function(handle)
        with suppress(*self._guard.kinds):
            self._runtime.setDevice(self._before)
        self._registered, self._streams, self._modules = [], [], []


class _Owner:
    """Owns the memory of a CuPy array."""

    def __init__(self, runtime: Any, pointer: int) -> None:
        self.pointer = pointer
        self._release = runtime.free

    def __del__(self) -> None:
        with suppress(Exception):  # the device may be lost, or the process may be exiting
            self._release(self.pointer)


def _contiguous(array: NDArray[Any]) -> None:
    if not array.flags.c_contiguous:
        raise TypeError("the array is not contiguous")
