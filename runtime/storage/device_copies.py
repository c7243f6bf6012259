"""Records, for a graph, the parts of the graph that devices of this process keep between runs.

Devices own the memory (`vlang.runtime.gpu.device.shelf`). The `DeviceCopies` of a graph has a number, under which
devices keep the arrays of the graph. When the last graph with the same `DeviceCopies` is freed, the devices free the
memory.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from itertools import count
from typing import Protocol

from vlang.records import dataclass

__all__ = ["DeviceCopies", "DeviceCopy", "Holder"]

_numbers = count()


@dataclass(frozen=True)
class DeviceCopy:
    """A part of a graph that a device keeps.

    Attributes:
        device: the name of the device, such as "gpu:0".
        what: the part, such as "out-edges: targets".
        nbytes: the bytes of device memory; 0 for an array of the graph that is page-locked in host memory.
        used: whether a run uses the part now.
    """

    device: str
    what: str
    nbytes: int
    used: bool


class Holder(Protocol):
    """A device that keeps parts of graphs."""

    def copies(self, owner: int) -> Sequence[DeviceCopy]:
        """The parts of a graph that the device keeps."""

    def drop(self, owner: int) -> None:
        """Free the parts of a graph. Parts that runs use now are freed when the last of these runs ends."""

    def abandon(self, owner: int) -> None:
        """Free the parts of a graph that was deleted. The call never waits, and never raises an exception."""


class DeviceCopies:
    """The number of a graph, and the devices that keep parts of it. A pickle does not contain this object.

    Attributes:
        number: identifies the graph in this process.
        lock: held by the run that puts parts of the graph on a device, so that concurrent runs do not copy them twice.
    """

    def __init__(self) -> None:
        self.number = next(_numbers)
        self.lock = threading.RLock()
        self._holders: tuple[Holder, ...] = ()
        self._parts: tuple[DeviceCopies, ...] = ()
        self._process = os.getpid()

    def part(self) -> DeviceCopies:
        """Create the record of a part of the graph. Copies of the part count as copies of the graph."""
        made = DeviceCopies()
        self._parts = (*self._parts, made)
        return made

    def join(self, holder: Holder) -> None:
        """Record that a device keeps parts of the graph. The caller holds `lock`."""
        if all(one is not holder for one in self._holders):
            self._holders = (*self._holders, holder)

    def listed(self) -> tuple[DeviceCopy, ...]:
        """The parts that devices keep now; empty in a process that was forked from the process with the graph."""
        if self._process != os.getpid():
            return ()
        own = tuple(copy for holder in self._holders for copy in holder.copies(self.number))
        return own + tuple(copy for part in self._parts for copy in part.listed())

    def release(self) -> None:
        """Free the parts that devices keep. Parts that runs use now are freed when the last of these runs ends."""
        if self._process == os.getpid():
            for holder in self._holders:
                holder.drop(self.number)
            for part in self._parts:
                part.release()

    def __del__(self, getpid: Callable[[], int] = os.getpid) -> None:
        """Free the copies on all devices. `getpid` is a default value, because `os` may be gone when the interpreter
        ends.
        """
        if getattr(self, "_process", None) == getpid():
            for holder in self._holders:
                holder.abandon(self.number)
