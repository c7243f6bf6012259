"""The interface of a GPU that the engine uses: memory, streams, kernels.

CuPy implements it on a GPU, an emulation in the tests. Kernel arguments are 64-bit integers or device addresses.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

__all__ = ["Buffer", "Device", "DeviceInfo", "Event", "Kernel", "Stream"]


@dataclass(frozen=True)
class DeviceInfo:
    """Properties of a GPU by which kernels are chosen.

    Attributes:
        name: the name of the GPU.
        architecture: such as "sm_90".
        multiprocessors: their number.
        shared: bytes of shared memory that one block may use.
        memory: bytes of device memory in total.
        unified: whether kernels can read registered host memory.
    """

    name: str
    architecture: str  # "sm_90"
    multiprocessors: int
    shared: int
    memory: int
    unified: bool


class Buffer(Protocol):
    """Device memory. pointer: its address; nbytes: the size requested."""

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
    """One GPU. Every method raises DeviceError if the device has failed; the run's host state is then intact.

    The default stream (None) is not ordered with any other stream.
    """

    info: DeviceInfo

    def allocate(self, nbytes: int, what: str) -> Buffer:
        """Allocate uninitialised memory, aligned to 256 bytes.

        Raises:
            OutOfMemory: names `what`, the bytes needed and the budget.
        """

    def free(self, buffer: Buffer) -> None:
        """Free memory. Kernels in flight may still use it, because it is reused in stream order only."""

    def allocated(self) -> int:
        """Bytes allocated now."""

    def budget(self) -> int:
        """Bytes that may be allocated in total."""

    def hand_over(self, buffer: Buffer, dtype: np.dtype[Any], count: int) -> Any:
        """Convert memory to an array of shape [count] that owns it and outlives the device.

        All work on the memory must be done.

        Returns:
            A CuPy array; in an emulation, a NumPy array.
        """

    def fill(self, pointer: int, nbytes: int, byte: int, stream: Stream | None = None) -> None:
        """Set every byte of a range.

        Args:
            pointer: its device address.
            nbytes: its length.
            byte: 0 to 255.
            stream: None for the default stream.
        """

    def upload(self, pointer: int, array: NDArray[Any], stream: Stream | None = None) -> None:
        """Copy a contiguous host array to the device.

        Returns when the copy is queued. If the array is not registered, it has also been read by then.
        """

    def download(self, array: NDArray[Any], pointer: int, stream: Stream | None = None) -> None:
        """Copy device memory into a contiguous host array, after the work of the stream; waits."""

    def copy(self, target: int, source: int, nbytes: int, stream: Stream | None = None) -> None:
        """Copy within the device.

        Args:
            target: device address.
            source: device address.
            nbytes: the length.
            stream: None for the default stream.
        """

    def register(self, array: NDArray[Any]) -> int:
        """Page-lock a host array in place, so that copies overlap with kernels. Registering twice is free.

        Returns:
            The address of the array for kernels; 0 if they cannot read it.
        """

    def unregister(self, array: NDArray[Any]) -> None:
        """Undo `register`."""

    def stream(self) -> Stream:
        """A new stream."""

    def record(self, stream: Stream | None = None) -> Event:
        """An event at the point that the stream has reached."""

    def wait(self, event: Event, stream: Stream | None = None) -> None:
        """Make a stream wait for an event."""

    def reach(self, event: Event) -> None:
        """Wait until the work before an event is done."""

    def elapsed(self, start: Event, end: Event) -> float:
        """Seconds between two events that have completed."""

    def synchronize(self, stream: Stream | None = None) -> None:
        """Wait for the work of a stream."""

    def load(self, text: str, entries: Mapping[str, str]) -> Mapping[str, Kernel]:
        """Load the kernels of a CUDA C text, by name.

        Each combination of text, entries and architecture is compiled once and cached on disk.

        Args:
            text: CUDA C.
            entries: name -> the text of the `__global__` function of that name, which is appended to `text`.

        Raises:
            InternalError: the compiler rejects the text; the message shows where the source was saved.
        """

    def launch(
        self, kernel: Kernel, blocks: int, threads: int, args: Sequence[int], shared: int = 0,
        stream: Stream | None = None, cooperative: bool = False,
    ) -> None:
        """Queue a kernel.

        Args:
            kernel: from `load`.
            blocks: number of blocks.
            threads: threads per block.
            args: 64-bit arguments, addresses or integers.
            shared: bytes of dynamic shared memory per block.
            stream: None for the default stream.
            cooperative: all blocks run at the same time.
        """

    def resident(self, kernel: Kernel, threads: int, shared: int = 0) -> int:
        """Blocks of a kernel that the device runs at the same time."""

    def close(self) -> None:
        """Free everything."""
