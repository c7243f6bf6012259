"""An NVIDIA GPU, through CuPy.

This module is imported only if a GPU is requested, and CuPy is imported only when the GPU is opened.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vlang.errors import DeviceError
from vlang.runtime.compile.nvrtc import Compiler, CupyCompiler, compile_cubin
from vlang.runtime.gpu.device.arena import Arena, Block, budget_help
from vlang.runtime.gpu.device.at_once import QUEUEING
from vlang.runtime.gpu.device.card import card_of
from vlang.runtime.gpu.device.cuda_objects import CudaEvent, CudaKernel, CudaStream, Guard, HostLocks, Owner, handle_of
from vlang.runtime.gpu.device.device import Buffer, Event, Kernel, Stream
from vlang.runtime.gpu.device.results import expect_results, result_array
from vlang.runtime.gpu.device.staging import LEAST, refuse_gaps
from vlang.runtime.storage.ledger import ledger
from vlang.runtime.storage.pagelock import address_of, process_locks

__all__ = ["CudaDevice"]

RESERVE = 300 << 20  # bytes of device memory left free: kernels' local memory, code, the driver's queues
_HOST_TO_DEVICE, _DEVICE_TO_HOST, _DEVICE_TO_DEVICE = 1, 2, 3
_NO_TIMING = 2  # flag of an event


class CudaDevice:
    """The GPU with number `index`, for one run in one thread. See `device.Device`.

    The budget is `gpu_memory` bytes, but at most the free memory minus a reserve. Two kinds of memory count as free,
    because a run can free them: idle memory, and memory that graphs keep on the GPU between runs. The driver's own
    context (some hundred MB per process) is not counted. Streams, buffers, loaded modules and memory are used again by
    later runs (`vlang.runtime.gpu.device.card`).

    Args:
        index: the number of the GPU.
        gpu_memory: the limit in bytes; None for all free memory.
        compiler: a compiler of kernels in place of NVRTC, whose kernels are not kept for later runs; None for NVRTC.

    Raises:
        DeviceError: the GPU does not exist or does not work.
    """

    def __init__(self, index: int = 0, gpu_memory: int | None = None, compiler: Compiler | None = None) -> None:
        self._card = card = card_of(index)
        runtime, driver, gpu = card.runtime, card.driver, card.gpu
        self._runtime, self._driver = runtime, driver
        errors = (runtime.CUDARuntimeError, driver.CUDADriverError)
        self._guard = Guard(f"gpu:{index} ({gpu.name})", errors, card.select)
        self._compiler, self._own_modules = compiler, compiler is not None
        self._index = index
        self._modules: list[int] = []
        self._streams: list[CudaStream] = []
        self._queued = 0  # the number of operations so far
        self._marked: tuple[int, list[CudaEvent]] = -1, []  # the operations before the last mark, and its events
        self._drained = -1  # the number of operations before the last `drain`
        self._locks = HostLocks(self._guard)
        self._launch, self._launch_together = driver.launchKernel, driver.launchCooperativeKernel
        self._free = card.free_memory()
        self._lane = card.lane()
        self._staging = self._lane.staging
        self._open = True
        self.shelf = card.shelf
        self.cache: int | None = None
        self._before = runtime.getDevice()  # before the guard selects this GPU
        with self._guard:
            if ledger.limit is not None:
                self._staging.close()  # new buffers are counted in the budget
            self.info = card.described()
            if self._before != index:
                runtime.setDevice(index)
            self._main = self.stream()
        free = max(0, self._free - RESERVE)
        wanted = free if gpu_memory is None else min(gpu_memory, free)
        self._arena = Arena(self, wanted, budget_help(gpu_memory, free))

    # ------------------------------------------------------------------------ memory
    def allocate(self, nbytes: int, what: str) -> Block:
        """Allocate uninitialised memory, aligned to 256 bytes.

        Raises:
            OutOfMemory: there is too little memory. The message names `what`, the bytes needed and the budget.
        """
        with self._guard:
            return self._arena.allocate(nbytes, what)

    def free(self, buffer: Buffer) -> None:
        """Free memory. The memory is reused only after the work that is queued now has ended on every stream."""
        assert isinstance(buffer, Block)
        with self._guard:
            self._arena.free(buffer)

    def allocated(self) -> int:
        """Return the number of bytes that are allocated now."""
        return self._arena.used

    def budget(self) -> int:
        """Return the maximum number of bytes that may be allocated."""
        return self._arena.budget

    def hand_over(self, buffer: Buffer, dtype: np.dtype[Any], count: int) -> Any:
        """Return a CuPy array of shape [count] that takes over the memory, and frees it when garbage-collected."""
        import cupy  # optional

        assert isinstance(buffer, Block)
        owner = Owner(self._runtime, self._arena.hand_over(buffer))
        memory = cupy.cuda.UnownedMemory(owner.pointer, buffer.size, owner, self._index)
        return cupy.ndarray((count,), dtype, cupy.cuda.MemoryPointer(memory, 0))

    def keep(self, buffer: Buffer) -> Callable[[], None]:
        """Let memory outlive this object, but still count it in the budget; returns a function that frees the memory.
        """
        assert isinstance(buffer, Block)
        pointer = self._arena.hand_over(buffer)
        self._arena.borrow(buffer.size)
        return partial(self._card.free, pointer)

    def borrow(self, nbytes: int) -> None:
        """Add memory that another device object has kept to the bytes in use; a negative number takes bytes away.

        Raises OutOfMemory.
        """
        self._arena.borrow(nbytes)

    def host(self, count: int, dtype: np.dtype[Any]) -> NDArray[Any]:
        """Return an uninitialised array in host memory, which is page-locked if possible."""
        return result_array(count, dtype)

    def expect(self, sizes: Sequence[int]) -> None:
        """Prepare host memory for results of `sizes` bytes, for later calls of `host`."""
        expect_results(sizes, partial(self._runtime.setDevice, self._index))

    def malloc(self, nbytes: int) -> int | None:
        """Allocate memory from the card, for the arena (`arena.Source`)."""
        arena = self._arena
        return self._card.allocate(nbytes, arena.budget - arena.used - arena.cached - nbytes)

    def release(self, pointer: int, size: int) -> None:
        """Return memory of the arena to the device, after the queued work has ended.

        When this object is closing, the card keeps the memory.
        """
        if self._open:
            self._card.free(pointer)
        else:
            self._card.put_back(pointer, size)

    def mark(self) -> list[CudaEvent]:
        """Return events on each stream after the work queued so far, for the arena (`arena.Source`).

        The events are recorded once for all calls between which no work is queued.
        """
        if self._marked[0] != self._queued:
            self._marked = self._queued, [self._recorded(stream, _NO_TIMING) for stream in self._streams]
        return self._marked[1]

    def passed(self, mark: list[CudaEvent]) -> bool:
        """Return whether the work before every event of a mark has ended, for the arena (`arena.Source`)."""
        return all(self._runtime.eventQuery(event.handle) == 0 for event in mark)

    # ------------------------------------------------------------------------ copies
    def fill(self, pointer: int, nbytes: int, byte: int, stream: Stream | None = None) -> None:
        """Set every byte of a range of device memory."""
        with self._guard:
            self._runtime.memsetAsync(pointer, byte, nbytes, self._handle(stream))

    def upload(self, pointer: int, array: NDArray[Any], stream: Stream | None = None) -> None:
        """Copy a contiguous host array to the device.

        If the array is not registered, the call returns only after the array has been read.
        """
        refuse_gaps(array)
        handle, locks = self._handle(stream), process_locks()
        with self._guard:
            if not locks.covers(array) and (array.nbytes >= LEAST or locks.touches(array)):
                self._staging.upload(pointer, array, handle)
            else:
                self._runtime.memcpyAsync(pointer, address_of(array), array.nbytes, _HOST_TO_DEVICE, handle)

    def download(self, array: NDArray[Any], pointer: int, stream: Stream | None = None) -> None:
        """Copy device memory to a contiguous host array after the queued work of the stream, and wait for the copy."""
        refuse_gaps(array)
        handle = self._handle(stream)
        with self._guard:
            self._runtime.memcpyAsync(address_of(array), pointer, array.nbytes, _DEVICE_TO_HOST, handle)
            self._wait_for(handle)

    def copy(self, target: int, source: int, nbytes: int, stream: Stream | None = None) -> None:
        """Copy bytes from one device address to another."""
        with self._guard:
            self._runtime.memcpyAsync(target, source, nbytes, _DEVICE_TO_DEVICE, self._handle(stream))

    def reaches(self, other: object) -> bool:
        """Return whether copies from another device are direct, without host memory in between."""
        assert isinstance(other, CudaDevice)
        with self._guard:
            return other._index == self._index or self._card.reach(other._index)

    def copy_from(
        self, target: int, other: object, source: int, nbytes: int, stream: Stream | None = None
    ) -> None:
        """Copy from another device; the driver copies through host memory if the devices cannot reach each other."""
        assert isinstance(other, CudaDevice)
        with self._guard:
            if other._index == self._index:
                self._runtime.memcpyAsync(target, source, nbytes, _DEVICE_TO_DEVICE, self._handle(stream))
                return
            self._runtime.memcpyPeerAsync(target, self._index, source, other._index, nbytes, self._handle(stream))

    def register(self, array: NDArray[Any]) -> int:
        """Page-lock a host array in place; returns its address for kernels, or 0 if the system refuses the page lock.
        """
        refuse_gaps(array)
        return self._locks.register(array)

    def unregister(self, array: NDArray[Any]) -> None:
        """Undo `register`, after the queued work of all streams has ended."""
        self._locks.unregister(array, self.drain)

    def keep_lock(self, array: NDArray[Any]) -> Callable[[], None]:
        """Let the page lock of a registered array outlive this object; returns the function that ends the lock."""
        return self._locks.keep(array)

    # ------------------------------------------------------------------------ order
    def stream(self) -> CudaStream:
        """Return a stream, which exists until the device is closed."""
        with self._guard:
            made = CudaStream(self._lane.stream())
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

    def ended(self, event: Event) -> bool:
        """Return whether the work before an event has ended."""
        assert isinstance(event, CudaEvent)
        return self.passed([event])

    def elapsed(self, start: Event, end: Event) -> float:
        """Return the seconds between two completed events."""
        assert isinstance(start, CudaEvent)
        assert isinstance(end, CudaEvent)
        with self._guard:
            return float(self._runtime.eventElapsedTime(start.handle, end.handle)) / 1000

    def synchronize(self, stream: Stream | None = None) -> None:
        """Wait on the host until all work of a stream has ended."""
        with self._guard:
            self._wait_for(self._main.handle if stream is None else handle_of(stream))

    def drain(self) -> None:
        """Wait on the host until all work of all streams has ended."""
        if self._drained == self._queued:
            return
        with self._guard:
            for stream in self._streams:
                self._runtime.streamSynchronize(stream.handle)
        self._drained = self._queued

    def queue(self) -> int:
        """Return the handle of the default stream, on which another library is about to queue work."""
        return self._handle(None)

    def _wait_for(self, handle: int) -> None:
        if self._drained != self._queued:
            self._runtime.streamSynchronize(handle)
            if len(self._streams) == 1:
                self._drained = self._queued

    def _handle(self, stream: Stream | None) -> int:
        """Return the handle of a stream on which an operation is about to be queued."""
        self._queued += 1
        return self._main.handle if stream is None else handle_of(stream)

    def _recorded(self, stream: Stream, flags: int = 0) -> CudaEvent:
        event = CudaEvent(self._runtime, flags)
        self._runtime.eventRecord(event.handle, handle_of(stream))
        return event

    # ------------------------------------------------------------------------ kernels
    def load(self, text: str, entries: Mapping[str, str]) -> Mapping[str, CudaKernel]:
        """Load the kernels of a CUDA C text, by name. A text is compiled once and cached on disk.

        A later run in the same process uses the loaded module again.

        Raises:
            InternalError: NVRTC rejects the text.
        """
        modules, key = self._lane.modules, (text, *sorted(entries), *entries.values())
        if key in modules and not self._own_modules:
            modules.move_to_end(key)
            return modules[key][1]
        if self._compiler is None:
            self._compiler = CupyCompiler()
        cubin = compile_cubin(text, entries, self.info.architecture, self._compiler)
        with self._guard, QUEUEING:
            module = self._driver.moduleLoadData(cubin)
            kernels = {name: CudaKernel(name, self._driver.moduleGetFunction(module, name)) for name in entries}
        if self._own_modules:
            self._modules.append(module)
        else:
            modules[key] = module, kernels
        return kernels

    def launch(self, kernel: Kernel, blocks: int, threads: int, args: Sequence[int], shared: int = 0,
               stream: Stream | None = None, cooperative: bool = False, devices: int = 1) -> None:
        """Queue a kernel.

        Args:
            kernel: from `load`.
            blocks: number of blocks.
            threads: threads per block.
            args: 64-bit arguments, addresses or integers.
            shared: bytes of dynamic shared memory per block.
            stream: None for the default stream.
            cooperative: whether all blocks must run at the same time.
            devices: ignored, because kernels of several GPUs run at the same time.
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
        """Return the number of blocks of a kernel that the device runs at the same time."""
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
        """Return all resources to the card, after the work of all streams has ended.

        A lost device has no resources left.
        """
        if not self._open:
            return
        self._open, kinds = False, self._guard.kinds
        try:
            self.drain()
            with self._guard:
                if ledger.limit is not None:
                    self._staging.close()
            lost = False
        except DeviceError:
            lost = True
        self._locks.close()
        for module in self._modules:
            with suppress(*kinds), QUEUEING:
                self._driver.moduleUnload(module)
        self._lane.streams += [stream.handle for stream in self._streams]
        with suppress(*kinds):
            self._arena.close()
            if lost:
                self._lane.close(kinds)
            else:
                self._card.put_lane(self._lane)
            self._card.shrink(self._free // 2 if self.cache is None else self.cache)
        with suppress(*kinds):
            self._runtime.setDevice(self._before)
        self._streams, self._modules, self._marked = [], [], (-1, [])
