"""The interface to a GPU: memory, streams and kernels.

`cuda.CudaDevice` implements the interface with CuPy, and tests implement it with an emulation. Kernel arguments are
64-bit integers or device addresses.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from vlang.records import dataclass
from vlang.runtime.gpu.device.shelf import Shelf

__all__ = ["Buffer", "Device", "DeviceInfo", "Event", "Kernel", "Stream"]

_CLUSTERS = 90  # the first architecture with clusters of blocks


@dataclass(frozen=True)
class DeviceInfo:
    """Properties of a GPU that the choice of kernels depends on.

    Attributes:
        name: the name of the GPU.
        architecture: the architecture, such as "sm_90".
        multiprocessors: the number of multiprocessors.
        shared: bytes of shared memory that one block may use.
        memory: total bytes of device memory.
        unified: whether kernels can read registered host memory.
        identity: a text that no other GPU has, on this host or on others.
    """

    name: str
    architecture: str  # "sm_90"
    multiprocessors: int
    shared: int
    memory: int
    unified: bool
    identity: str = ""

    @property
    def clusters(self) -> bool:
        """Whether a kernel may be launched with clusters of blocks."""
        return int(self.architecture.removeprefix("sm_")) >= _CLUSTERS


class Buffer(Protocol):
    """A piece of device memory with its address, and the size in bytes that was requested."""

    pointer: int
    nbytes: int


class Stream(Protocol):
    """A queue of work that runs in order; work on two streams may overlap."""


class Event(Protocol):
    """A point in a stream."""


class Kernel(Protocol):
    """A loaded `__global__` function."""

    name: str


class Device(Protocol):
    """One GPU. Every method raises DeviceError if the device has failed; host memory stays intact.

    The default stream (None) is not ordered with any other stream.

    Attributes:
        info: the properties of the GPU.
        shelf: the parts of graphs that stay on the GPU between runs.
        cache: the bytes of idle memory that may stay on the GPU when this object is closed; None for half of the memory
            that was free when this object was opened.
    """

    info: DeviceInfo
    shelf: Shelf
    cache: int | None

    def allocate(self, nbytes: int, what: str) -> Buffer:
        """Allocate uninitialised memory, aligned to 256 bytes.

        Raises:
            OutOfMemory: there is too little memory. The message names `what`, the bytes needed and the budget.
        """

    def free(self, buffer: Buffer) -> None:
        """Free memory. Queued kernels may still use the memory, because the memory is reused only after these kernels
        have ended.
        """

    def allocated(self) -> int:
        """Return the number of bytes that are allocated now."""

    def budget(self) -> int:
        """Return the maximum number of bytes that may be allocated."""

    def keep(self, buffer: Buffer) -> Callable[[], None]:
        """Let memory outlive this object; returns a function that frees the memory.

        The memory still counts in the budget of this object. All work on the memory must have ended.
        """

    def borrow(self, nbytes: int) -> None:
        """Add memory that another device object has kept to the bytes in use; a negative number takes bytes away.

        Raises OutOfMemory.
        """

    def host(self, count: int, dtype: np.dtype[Any]) -> NDArray[Any]:
        """Return an uninitialised array in host memory that is a fast target of `download`."""

    def expect(self, sizes: Sequence[int]) -> None:
        """Prepare host memory for the results of a run, whose sizes in bytes are `sizes`, for later calls of `host`."""

    def hand_over(self, buffer: Buffer, dtype: np.dtype[Any], count: int) -> Any:
        """Convert memory to an array of shape [count] that owns the memory and may outlive the device object.

        All work on the memory must have ended.

        Returns:
            A CuPy array; in an emulation, a NumPy array.
        """

    def fill(self, pointer: int, nbytes: int, byte: int, stream: Stream | None = None) -> None:
        """Set every byte of a range.

        Args:
            pointer: the device address of the range.
            nbytes: the length of the range in bytes.
            byte: the value, 0 to 255.
            stream: None for the default stream.
        """

    def upload(self, pointer: int, array: NDArray[Any], stream: Stream | None = None) -> None:
        """Copy a contiguous host array to the device.

        The call returns when the copy is queued. If the array is not registered, the call returns only after the array
        has been read.
        """

    def download(self, array: NDArray[Any], pointer: int, stream: Stream | None = None) -> None:
        """Copy device memory to a contiguous host array after the queued work of the stream, and wait for the copy."""

    def copy(self, target: int, source: int, nbytes: int, stream: Stream | None = None) -> None:
        """Copy bytes from one device address to another.

        Args:
            target: device address.
            source: device address.
            nbytes: the length in bytes.
            stream: None for the default stream.
        """

    def reaches(self, other: object) -> bool:
        """Return whether copies from another device are direct, without host memory in between."""

    def copy_from(
        self, target: int, other: object, source: int, nbytes: int, stream: Stream | None = None
    ) -> None:
        """Copy from another device of the same kind, after the work queued on a stream of this device.

        Args:
            target: address on this device.
            other: the other device, in the same thread.
            source: address on the other device. The caller ensures by `wait` that the values have been written when the
                copy runs.
            nbytes: the length in bytes.
            stream: None for the default stream.
        """

    def register(self, array: NDArray[Any]) -> int:
        """Page-lock a host array in place, so that copies overlap with kernels.

        An array may be registered several times.

        Returns:
            The address of the array for kernels; 0 if kernels cannot read the array.
        """

    def unregister(self, array: NDArray[Any]) -> None:
        """Undo `register`."""

    def keep_lock(self, array: NDArray[Any]) -> Callable[[], None]:
        """Let the page lock of a registered array outlive this object; returns the function that ends the lock."""

    def stream(self) -> Stream:
        """Create a stream."""

    def record(self, stream: Stream | None = None) -> Event:
        """Record an event after the work queued on the stream so far."""

    def wait(self, event: Event, stream: Stream | None = None) -> None:
        """Let later work on a stream wait for an event."""

    def reach(self, event: Event) -> None:
        """Wait on the host until the work before an event has ended."""

    def ended(self, event: Event) -> bool:
        """Return whether the work before an event has ended; does not wait."""

    def elapsed(self, start: Event, end: Event) -> float:
        """Return the seconds between two completed events."""

    def synchronize(self, stream: Stream | None = None) -> None:
        """Wait on the host until all work of a stream has ended."""

    def drain(self) -> None:
        """Wait on the host until all work of all streams has ended."""

    def queue(self) -> int:
        """Return the handle of the default stream, on which another library is about to queue work."""

    def load(self, text: str, entries: Mapping[str, str]) -> Mapping[str, Kernel]:
        """Load the kernels of a CUDA C text, by name.

        Each combination of text, entries and architecture is compiled once and cached on disk.

        Args:
            text: CUDA C source.
            entries: maps the name of each `__global__` function to its text, which is appended to `text`.

        Raises:
            InternalError: the compiler rejects the text. The message names the file in which the source was saved.
        """

    def launch(
        self, kernel: Kernel, blocks: int, threads: int, args: Sequence[int], shared: int = 0,
        stream: Stream | None = None, cooperative: bool = False, devices: int = 1,
    ) -> None:
        """Queue a kernel.

        Args:
            kernel: from `load`.
            blocks: number of blocks.
            threads: threads per block.
            args: 64-bit arguments, addresses or integers.
            shared: bytes of dynamic shared memory per block.
            stream: None for the default stream.
            cooperative: whether all blocks must run at the same time.
            devices: the number of devices on which the kernel is launched, if the blocks of all of them must run at the
                same time. The caller launches it on these devices one after the other, within `queued_at_once`.
        """

    def resident(self, kernel: Kernel, threads: int, shared: int = 0) -> int:
        """Return the number of blocks of a kernel that run at the same time on the device."""

    def close(self) -> None:
        """End the run: free its memory, except at most `cache` bytes that stay idle on the GPU."""
