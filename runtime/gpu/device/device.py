"""What the engine asks of a GPU: memory, streams, kernels. CuPy stands behind it on a GPU, an emulation in the tests.

All kernel arguments are 64-bit words: addresses, or integers. Addresses are those of the device.
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
    """What kernels are chosen by. shared: bytes of shared memory that one block may ask for. unified: whether kernels
    can read registered host memory."""

    name: str
    architecture: str  # "sm_90"
    multiprocessors: int
    shared: int
    memory: int
    unified: bool


class Buffer(Protocol):
    """Device memory. pointer: its address; nbytes: as asked for."""

    pointer: int
    nbytes: int


class Stream(Protocol):
    """Work in order; works of two streams overlap."""


class Event(Protocol):
    """A point in a stream."""


class Kernel(Protocol):
    """A loaded `__global__` function."""

    name: str


class Device(Protocol):
    """One GPU. Every method raises DeviceError for a device that failed, with the run's host state intact.

    The default stream (None) is ordered with nothing but itself.
    """

    info: DeviceInfo

    def allocate(self, nbytes: int, what: str) -> Buffer:
        """Memory, uninitialised, aligned to 256 bytes. Raises OutOfMemory, naming `what`, the need and the budget."""

    def free(self, buffer: Buffer) -> None:
        """Give memory back; kernels in flight may still use it, as it is reused in stream order only."""

    def allocated(self) -> int:
        """Bytes that are allocated now."""

    def budget(self) -> int:
        """Bytes that may be allocated in all."""

    def hand_over(self, buffer: Buffer, dtype: np.dtype[Any], count: int) -> Any:
        """Memory as an array of shape [count], which owns it from now on and outlives the device: a CuPy array, or in
        an emulation a NumPy one. The work on it must be done."""

    def fill(self, pointer: int, nbytes: int, byte: int, stream: Stream | None = None) -> None:
        """Set every byte."""

    def upload(self, pointer: int, array: NDArray[Any], stream: Stream | None = None) -> None:
        """Copy a contiguous host array to the device. Returns when the copy is queued, and for memory that is not
        registered when it is read."""

    def download(self, array: NDArray[Any], pointer: int, stream: Stream | None = None) -> None:
        """Copy device memory into a contiguous host array, after the work of the stream; waits."""

    def copy(self, target: int, source: int, nbytes: int, stream: Stream | None = None) -> None:
        """Copy on the device."""

    def register(self, array: NDArray[Any]) -> int:
        """Page-lock a host array in place, so that copies overlap; its address for kernels (0 if they cannot read it).
        Registering twice is free."""

    def unregister(self, array: NDArray[Any]) -> None:
        """Undo `register`."""

    def stream(self) -> Stream:
        """A new stream."""

    def record(self, stream: Stream | None = None) -> Event:
        """The point that the stream has reached."""

    def wait(self, event: Event, stream: Stream | None = None) -> None:
        """Let a stream wait for an event."""

    def elapsed(self, start: Event, end: Event) -> float:
        """Seconds between two events that have passed."""

    def synchronize(self, stream: Stream | None = None) -> None:
        """Wait for the work of a stream."""

    def load(self, text: str, entries: Mapping[str, str]) -> Mapping[str, Kernel]:
        """The kernels of a CUDA C text, by name. entries: name -> the text of the `__global__` function of that name,
        to stand behind the text. Compiled once per text, entries and architecture, and kept on disk.

        Raises InternalError, with the place of the kept source, if the compiler rejects it.
        """

    def launch(
        self, kernel: Kernel, blocks: int, threads: int, args: Sequence[int], shared: int = 0,
        stream: Stream | None = None, cooperative: bool = False,
    ) -> None:
        """Queue a kernel. shared: bytes of dynamic shared memory. cooperative: all blocks run at the same time."""

    def resident(self, kernel: Kernel, threads: int, shared: int = 0) -> int:
        """Blocks of a kernel that run at the same time."""

    def close(self) -> None:
        """Free everything."""
