"""An emulated GPU: g++ compiles kernels, fibers run their lanes, fences guard memory, and streams are queues.

Errors that a GPU may tolerate fail here, or change the result. New memory contains garbage, and an inaccessible page
follows it. Streams run as late as possible, in a random order that only events restrict. The order of lanes changes.
"""

from __future__ import annotations

import re
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from tests.cuda.emulation.fences import Fence
from tests.cuda.emulation.gxx import ORDERS, Library, compile_text, needs_compiler
from vlang.errors import DeviceError, OutOfMemory
from vlang.runtime.gpu.device.device import Buffer, DeviceInfo, Event, Kernel, Stream
from vlang.runtime.gpu.device.shelf import Shelf

__all__ = ["ORDERS", "EmulatedDevice", "EmulatedGpu", "Library", "compile_text", "needs_compiler"]

_RUNNING = threading.Lock()  # the emulator runs one kernel at a time
GARBAGE = (0xAB, 0xFF)  # as floats: small numbers, and NaN


@dataclass(eq=False)
class EmulatedBuffer:
    """A piece of device memory."""

    pointer: int
    nbytes: int
    what: str
    fence: Fence
    until: dict[EmulatedStream, int] = field(default_factory=dict)  # if freed: operations that must complete first

    def holds(self, pointer: int, nbytes: int) -> bool:
        """Return whether a range of bytes is inside the buffer."""
        return self.pointer <= pointer and pointer + nbytes <= self.pointer + self.nbytes


@dataclass(frozen=True)
class Operation:
    """The next operation of a stream: the function `act`, which may run once `ready` returns true."""

    act: Callable[[], None]
    ready: Callable[[], bool] = lambda: True
    marks: bool = False  # records an event, which happens as soon as all earlier operations are done
    reads: int = 0  # address of the host memory that the operation reads
    joint: Joint | None = None


@dataclass(eq=False)
class Joint:
    """A launch on one of several devices. The launches on all of them run at the same time.

    Attributes:
        kernel, blocks, args: of this device.
        devices: the number of devices.
        done: whether the kernel has run.
    """

    kernel: EmulatedKernel
    blocks: int
    args: Sequence[int]
    devices: int
    done: bool = False


@dataclass(eq=False)
class EmulatedStream:
    """A queue of operations that run in order.

    Attributes:
        queued, done: total numbers of operations.
    """

    queue: deque[Operation] = field(default_factory=deque)
    queued: int = 0
    done: int = 0


@dataclass(eq=False)
class EmulatedEvent:
    """A point in a stream.

    Attributes:
        passed: the time in seconds at which the stream reached this point.
    """

    passed: float | None = None


@dataclass(eq=False)
class EmulatedKernel:
    """A kernel in a library.

    Attributes:
        bound: the maximum number of threads per block.
        clustered: whether the blocks are a cluster, and so run at the same time.
    """

    name: str
    library: Library
    bound: int
    clustered: bool = False


class EmulatedGpu:
    """An emulated GPU, which outlives the emulated devices of several runs. Graphs keep memory and page locks on the
    GPU.

    Args:
        name: the name of the device in `device=`.
    """

    def __init__(self, name: str = "emulated") -> None:
        self.shelf = Shelf(name)
        self.buffers: list[EmulatedBuffer] = []
        self.registered: dict[tuple[int, int], NDArray[Any]] = {}

    def keep(self, buffer: EmulatedBuffer) -> Callable[[], None]:
        """Take over a buffer; return the function that frees it."""
        self.buffers.append(buffer)

        def free() -> None:
            self.buffers.remove(buffer)
            buffer.fence.close(buffer.what)

        return free

    def keep_lock(self, array: NDArray[Any]) -> Callable[[], None]:
        """Take over a page lock; return the function that unlocks the memory."""
        key = (array.ctypes.data, array.nbytes)
        assert key not in self.registered
        self.registered[key] = array

        def unlock() -> None:
            del self.registered[key]

        return unlock


class EmulatedDevice:
    """A `vlang.runtime.gpu.device.device.Device` on this machine.

    Args:
        seed: the seed of the random order of streams, lanes and blocks.
        memory: the budget in bytes.
        order: one of ORDERS for all launches; with None the order changes from launch to launch.
        flags: further options of g++.
        unified: whether kernels may read registered host memory.
        multiprocessors: the number of multiprocessors.
        shared: bytes of shared memory per block.
        lanes: lanes that a multiprocessor runs at the same time.
        libraries: kernels compiled in advance, by their text.
        gpu: the GPU whose memory outlives this object; None for a new GPU.
        world: the streams of all devices of a run, whose work is done in any order; None for a single device.
        architecture: the architecture; from sm_90 on, blocks may be launched as clusters.

    Attributes:
        launches: the number of launches, by kernel name.
        most: the largest number of bytes allocated at any time, including memory that graphs keep and idle memory.
        uploaded: the number of bytes uploaded.
        locked: the number of host arrays that this device page-locked; arrays locked earlier do not count.
    """

    def __init__(
        self, seed: int = 0, memory: int = 1 << 30, order: str | None = None, flags: Sequence[str] = (),
        unified: bool = True, multiprocessors: int = 2, shared: int = 96 << 10, lanes: int = 512,
        libraries: Mapping[str, Library] | None = None, gpu: EmulatedGpu | None = None,
        world: list[EmulatedStream] | None = None, architecture: str = "sm_80",
    ) -> None:
        self._gpu, self._alone = gpu or EmulatedGpu(), gpu is None
        self.shelf, self.cache = self._gpu.shelf, cast("int | None", None)
        self.uploaded = self.locked = self._borrowed = 0
        identity = f"emulated {id(self)}"
        self.info = DeviceInfo("emulated", architecture, multiprocessors, shared, memory, unified, identity)
        self.launches: dict[str, int] = {}
        self.most = 0
        self._random = Random(seed)
        self._order, self._flags, self._lanes = order, tuple(flags), lanes
        self._libraries = libraries or {}
        self._main = EmulatedStream()
        self._streams = [self._main]
        self._world = self._streams if world is None else world
        if world is not None:
            world.append(self._main)
        self._buffers: list[EmulatedBuffer] = []
        self._freed: list[EmulatedBuffer] = []
        self._registered: dict[tuple[int, int], NDArray[Any]] = {}
        self._failed: str | None = None

    # ------------------------------------------------------------------------ memory
    def allocate(self, nbytes: int, what: str) -> Buffer:
        """Allocate uninitialised memory, aligned to 256 bytes. Raises OutOfMemory."""
        self._check_launches(f"allocating {what}")
        if self.allocated() + nbytes > self.info.memory:
            raise OutOfMemory(f"{what} needs {nbytes} bytes of GPU memory, and {self.info.memory - self.allocated()} "
                              f"of the {self.info.memory} that may be used are free")
        self._unmap()
        self.shelf.shrink(self.info.memory - self.allocated() - nbytes)
        fence = Fence(nbytes, self._random.choice(GARBAGE))
        buffer = EmulatedBuffer(fence.pointer, nbytes, what, fence)
        self._buffers.append(buffer)
        self._count()
        return buffer

    def _count(self) -> None:
        self.most = max(self.most, self.allocated() + self.shelf.idle)

    def keep(self, buffer: Buffer) -> Callable[[], None]:
        """Let memory outlive this object."""
        assert isinstance(buffer, EmulatedBuffer)
        assert not any(stream.queue for stream in self._streams), f"{buffer.what} is kept while work is queued"
        self._buffers.remove(buffer)
        self._borrowed += buffer.nbytes
        return self._gpu.keep(buffer)

    def borrow(self, nbytes: int) -> None:
        """Count memory that another object has kept. Raises OutOfMemory."""
        if nbytes > 0 and self.allocated() + nbytes > self.info.memory:
            raise OutOfMemory(f"{nbytes} bytes that are on the device do not fit {self.info.memory}")
        self._borrowed += nbytes
        self._count()

    def host(self, count: int, dtype: np.dtype[Any]) -> NDArray[Any]:
        """Return an uninitialised array."""
        return np.empty(count, dtype)

    def expect(self, sizes: Sequence[int]) -> None:
        """Do nothing."""

    def free(self, buffer: Buffer) -> None:
        """Free memory. The memory becomes inaccessible once the work queued now is done."""
        assert isinstance(buffer, EmulatedBuffer)
        assert buffer in self._buffers, f"{buffer.what} is freed twice"
        self._buffers.remove(buffer)
        buffer.until = {stream: stream.queued for stream in self._streams if stream.queue}
        self._freed.append(buffer)
        self._unmap()

    def _unmap(self) -> None:
        over = [b for b in self._freed if all(stream.done >= count for stream, count in b.until.items())]
        self._freed = [b for b in self._freed if b not in over]
        for buffer in over:
            buffer.fence.close(buffer.what)

    def allocated(self) -> int:
        """Return the bytes allocated now."""
        return self._borrowed + sum(buffer.nbytes for buffer in self._buffers)

    def budget(self) -> int:
        """Return the bytes that may be allocated in total."""
        return self.info.memory

    def hand_over(self, buffer: Buffer, dtype: np.dtype[Any], count: int) -> Any:
        """Return the values as an array of shape [count] that outlives the device. The device no longer counts the
        memory.
        """
        assert isinstance(buffer, EmulatedBuffer)
        assert not any(stream.queue for stream in self._streams), f"{buffer.what} is handed over while work is queued"
        values = self._bytes(buffer.pointer, count * dtype.itemsize, "handing over").view(dtype).copy()
        self.free(buffer)
        return values

    def _bytes(self, pointer: int, nbytes: int, doing: str) -> NDArray[np.uint8]:
        """Return device memory as an array of bytes."""
        for buffer in (*self._buffers, *self._freed, *self._gpu.buffers):
            if buffer.holds(pointer, nbytes):
                return buffer.fence.view(pointer, nbytes)
        near = [b for b in self._buffers if b.pointer <= pointer < b.pointer + b.nbytes + 256]
        place = f"byte {pointer - near[0].pointer} of {near[0].nbytes} of {near[0].what}" if near else hex(pointer)
        raise AssertionError(f"{doing} {nbytes} bytes at {place}: not device memory")

    # ------------------------------------------------------------------------ copies
    def fill(self, pointer: int, nbytes: int, byte: int, stream: Stream | None = None) -> None:
        """Set every byte."""
        target = self._bytes(pointer, nbytes, "filling")
        self._queue(stream, Operation(lambda: target.fill(byte)))

    def upload(self, pointer: int, array: NDArray[Any], stream: Stream | None = None) -> None:
        """Copy a contiguous host array to the device. Pageable memory is read during the call, and registered memory as
        late as possible.
        """
        assert array.flags.c_contiguous
        target = self._bytes(pointer, array.nbytes, "uploading")
        self.uploaded += array.nbytes
        source = array.reshape(-1).view(np.uint8)
        held = self._is_registered(array)
        bits = source if held else source.copy()
        self._queue(stream, Operation(lambda: np.copyto(target, bits), reads=array.ctypes.data if held else 0))

    def download(self, array: NDArray[Any], pointer: int, stream: Stream | None = None) -> None:
        """Copy device memory into a contiguous host array, after the earlier work of the stream, and wait for the copy.
        """
        assert array.flags.c_contiguous
        source = self._bytes(pointer, array.nbytes, "downloading")
        target = array.reshape(-1).view(np.uint8)
        self._queue(stream, Operation(lambda: np.copyto(target, source)))
        self.synchronize(stream)

    def copy(self, target: int, source: int, nbytes: int, stream: Stream | None = None) -> None:
        """Copy within the device."""
        to, of = self._bytes(target, nbytes, "copying to"), self._bytes(source, nbytes, "copying from")
        assert not np.shares_memory(to, of), "a copy between places that overlap"
        self._queue(stream, Operation(lambda: np.copyto(to, of)))

    def reaches(self, other: object) -> bool:
        """Return whether copies from another device are direct. Copies are direct between devices that can read host
        memory.
        """
        assert isinstance(other, EmulatedDevice)
        return self.info.unified

    def copy_from(
        self, target: int, other: object, source: int, nbytes: int, stream: Stream | None = None
    ) -> None:
        """Copy from another device of the same world."""
        assert isinstance(other, EmulatedDevice)
        assert other is not self
        assert other._world is self._world
        to, of = self._bytes(target, nbytes, "copying to"), other._bytes(source, nbytes, "copying from")
        self._queue(stream, Operation(lambda: np.copyto(to, of)))

    def register(self, array: NDArray[Any]) -> int:
        """Page-lock a host array in place. Return the address for kernels, or 0 if kernels cannot read the array."""
        assert array.flags.c_contiguous
        self._check_launches("page-locking")
        self.locked += not self._is_registered(array)
        self._registered[array.ctypes.data, array.nbytes] = array
        return int(array.ctypes.data) if self.info.unified else 0

    def unregister(self, array: NDArray[Any]) -> None:
        """Undo `register`, after the work of all streams."""
        self._check_launches("unlocking")
        if self._registered.pop((array.ctypes.data, array.nbytes), None) is not None:
            self.drain()

    def _is_registered(self, array: NDArray[Any]) -> bool:
        low, high = array.ctypes.data, array.ctypes.data + array.nbytes
        known = [*self._registered, *self._gpu.registered]
        return any(start <= low and high <= start + count for start, count in known)

    def keep_lock(self, array: NDArray[Any]) -> Callable[[], None]:
        """Let the page lock of a registered array outlive this object."""
        assert self._is_registered(array)
        return self._gpu.keep_lock(array)

    # ------------------------------------------------------------------------- order
    def stream(self) -> Stream:
        """Return a new stream."""
        made = EmulatedStream()
        self._streams.append(made)
        if self._world is not self._streams:
            self._world.append(made)
        return made

    def record(self, stream: Stream | None = None) -> Event:
        """Return an event at the point that the stream has reached."""
        event = EmulatedEvent()

        def act() -> None:
            event.passed = time.perf_counter()

        self._queue(stream, Operation(act, marks=True))
        return event

    def wait(self, event: Event, stream: Stream | None = None) -> None:
        """Make a stream wait for an event."""
        assert isinstance(event, EmulatedEvent)
        self._queue(stream, Operation(lambda: None, ready=lambda: event.passed is not None))

    def reach(self, event: Event) -> None:
        """Wait until the work before an event is done. Other streams may or may not advance."""
        assert isinstance(event, EmulatedEvent)
        self._check()
        while event.passed is None:
            self._step()

    def ended(self, event: Event) -> bool:
        """Return whether the work before an event is done. No stream advances."""
        assert isinstance(event, EmulatedEvent)
        self._check()
        return event.passed is not None

    def elapsed(self, start: Event, end: Event) -> float:
        """Return the seconds between two events that have completed."""
        assert isinstance(start, EmulatedEvent)
        assert isinstance(end, EmulatedEvent)
        if start.passed is None or end.passed is None:
            raise DeviceError("the time of an event is requested before it has passed")
        return end.passed - start.passed

    def queue(self) -> int:
        """Complete all queued work, because another library would run its work immediately. Return a handle that is not
        used.
        """
        self.drain()
        return 0

    def synchronize(self, stream: Stream | None = None) -> None:
        """Wait for the work of a stream. Other streams may or may not advance."""
        waited = self._stream(stream)
        while waited.queue:
            self._step()
        self._unmap()

    def drain(self) -> None:
        """Wait for the work of all streams."""
        for stream in self._streams:
            self.synchronize(stream)

    def _stream(self, stream: Stream | None) -> EmulatedStream:
        self._check()
        if stream is None:
            return self._main
        assert isinstance(stream, EmulatedStream)
        assert stream in self._streams
        return stream

    def _check_launches(self, doing: str) -> None:
        """Check that each launch on several devices is queued on all of them, before the host does what may wait for
        kernels: on a GPU, the kernel that is queued already would wait for the others in vain.
        """
        joint = [one.joint for stream in self._world for one in stream.queue if one.joint is not None]
        assert not joint or len(joint) % joint[0].devices == 0 or any(one.done for one in joint), \
            f"{doing} between launches that wait for each other"

    def _check(self) -> None:
        if self._failed is not None:
            raise DeviceError(self._failed)

    def _queue(self, stream: Stream | None, operation: Operation) -> None:
        queued = self._stream(stream)
        queued.queue.append(operation)
        queued.queued += 1
        self._pass_marks(queued)

    def _pass_marks(self, stream: EmulatedStream) -> None:
        while stream.queue and stream.queue[0].marks:
            self._do(stream)

    def _do(self, stream: EmulatedStream) -> None:
        operation = stream.queue.popleft()
        stream.done += 1
        operation.act()

    def _step(self) -> None:
        """Run one operation of a random stream whose next operation is ready."""
        self._check_launches("waiting")
        ready = [stream for stream in self._world if stream.queue and stream.queue[0].ready()]
        if not ready:
            raise DeviceError("streams wait for events that cannot come")
        stream = self._random.choice(ready)
        self._do(stream)
        self._pass_marks(stream)

    # ----------------------------------------------------------------------- kernels
    def load(self, text: str, entries: Mapping[str, str]) -> Mapping[str, Kernel]:
        """Return the kernels of a CUDA C text, by name. Raises InternalError if g++ reports a warning or an error."""
        self._check_launches("loading kernels")
        library = self._libraries.get(text)
        if library is None or not entries.keys() <= library.programs.keys():
            library = compile_text(text, entries, self._flags)
        return {name: EmulatedKernel(name, library, _bound(entries[name]), "CLUSTERED" in entries[name])
                for name in entries}

    def launch(
        self, kernel: Kernel, blocks: int, threads: int, args: Sequence[int], shared: int = 0,
        stream: Stream | None = None, cooperative: bool = False, devices: int = 1,
    ) -> None:
        """Queue a kernel. Raises DeviceError for a launch that a GPU would refuse."""
        assert isinstance(kernel, EmulatedKernel)
        at_most = self.resident(kernel, threads, shared)
        if blocks < 0 or at_most == 0 or (cooperative and blocks > at_most):
            raise DeviceError(f"{kernel.name}: cannot launch {blocks} blocks of {threads} threads with {shared} bytes "
                              f"of shared memory{' at the same time' if cooperative else ''}")
        words = kernel.library.programs[kernel.name].words
        assert len(args) == words, f"{kernel.name} takes {words} arguments, not {len(args)}"
        if blocks:
            self.launches[kernel.name] = self.launches.get(kernel.name, 0) + 1
            if devices > 1:
                self._queue_joint(stream, Joint(kernel, blocks, args, devices), threads, shared)
                return
            together = cooperative or kernel.clustered
            self._queue(stream, Operation(lambda: self._run(kernel, blocks, threads, args, shared, together)))

    def _queue_joint(self, stream: Stream | None, own: Joint, threads: int, shared: int) -> None:
        """Queue a kernel that runs when the launches on all devices are the next operations of their streams."""
        def others() -> list[Joint]:
            heads = [one.queue[0].joint for one in self._world if one.queue]
            return [one for one in heads if one is not None and not one.done and one.kernel.name == own.kernel.name]

        def act() -> None:
            if not own.done:
                together = [own, *others()]  # its own operation is no longer in the queue
                assert len({one.blocks for one in together}) == 1
                for one in together:
                    one.done = True
                args = [arg for one in together for arg in one.args]
                self._run(own.kernel, own.blocks, threads, args, shared, True, own.devices)

        self._queue(stream, Operation(act, ready=lambda: own.done or len(others()) == own.devices, joint=own))

    def _run(
        self, kernel: EmulatedKernel, blocks: int, threads: int, args: Sequence[int], shared: int, cooperative: bool,
        devices: int = 1,
    ) -> None:
        order = self._order or self._random.choice(ORDERS)
        seed, garbage = self._random.getrandbits(64), self._random.choice(GARBAGE)
        try:
            with _RUNNING:
                kernel.library.run(kernel.name, blocks, threads, args, shared, cooperative, order, seed, garbage,
                                   devices)
        except DeviceError as error:
            self._failed = str(error)
            raise

    def resident(self, kernel: Kernel, threads: int, shared: int = 0) -> int:
        """Return the number of blocks of a kernel that run at the same time; 0 if not even one block fits."""
        assert isinstance(kernel, EmulatedKernel)
        assert threads > 0
        assert threads % 32 == 0, f"{kernel.name}: {threads} threads are no whole number of warps"
        if shared > self.info.shared or threads > kernel.bound:
            return 0
        return max(1, self._lanes // threads) * self.info.multiprocessors

    def close(self) -> None:
        """Free everything, and check that no buffer was written out of bounds."""
        if self._failed is None:
            self.drain()
        self.shelf.shrink(0 if self._alone else self.info.memory // 2 if self.cache is None else self.cache)
        for buffer in (*self._buffers, *self._freed):
            buffer.fence.close(buffer.what)
        self._buffers, self._freed, self._registered = [], [], {}


def _bound(entry: str) -> int:
    found = re.search(r"__launch_bounds__\((\d+)", entry)
    return int(found.group(1)) if found else 1024
