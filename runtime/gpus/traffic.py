"""Copies between the devices of a run, which are ordered with the work on the default streams of the devices."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from vlang.records import dataclass
from vlang.runtime.gpu.device.device import Device, Event

__all__ = ["Move", "Traffic"]


@dataclass(frozen=True)
class Move:
    """A copy between two devices.

    Attributes:
        source, target: the numbers of the devices in the run.
        begin, at: the device addresses on the two devices.
        nbytes: the length in bytes.
    """

    source: int
    begin: int
    target: int
    at: int
    nbytes: int


class Traffic:
    """The copies between the devices of a run.

    Attributes:
        nbytes: the bytes copied so far.
    """

    def __init__(self, devices: Sequence[Device]) -> None:
        self._devices = devices
        self._reading: dict[tuple[int, int], Event] = {}  # by source and target, the end of the last copies from boxes
        self.nbytes = 0

    def move(self, moves: Iterable[Move], boxes: bool = False) -> None:
        """Queue copies on the default streams of the targets.

        A copy begins when the work that is queued now on the default stream of its source has ended. Later work of the
        source waits for the copies, because the work may overwrite the copied values. With `boxes`, only work that is
        queued after `reclaim` waits.
        """
        real = [move for move in moves if move.nbytes]
        if not real:
            return
        devices = self._devices
        ready = {rank: devices[rank].record() for rank in dict.fromkeys(move.source for move in real)}
        pairs = dict.fromkeys((move.source, move.target) for move in real)
        for source, target in pairs:
            devices[target].wait(ready[source])
        for move in real:
            devices[move.target].copy_from(move.at, devices[move.source], move.begin, move.nbytes)
            self.nbytes += move.nbytes
        done = {rank: devices[rank].record() for rank in dict.fromkeys(move.target for move in real)}
        for source, target in pairs:
            if boxes:
                self._reading[source, target] = done[target]
            else:
                devices[source].wait(done[target])

    def reclaim(self, source: int, target: int) -> None:
        """Let later work on the default stream of a source wait for the copies from its boxes to a target."""
        event = self._reading.pop((source, target), None)
        if event is not None:
            self._devices[source].wait(event)

    def meet(self) -> None:
        """Let later work on all default streams wait for the work that is queued now on all of them."""
        devices = self._devices
        ready = [device.record() for device in devices]
        for rank, device in enumerate(devices):
            for other, event in enumerate(ready):
                if other != rank:
                    device.wait(event)
