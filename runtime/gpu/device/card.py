"""The resources of a GPU that a process keeps between runs: parts of graphs, idle memory, streams and loaded kernels.

The first run opens a card, and the card stays open until the process ends. A process that was forked from a process
with an open card cannot use a GPU, because CUDA does not survive a fork.
"""

from __future__ import annotations

import os
import platform
import threading
from collections import OrderedDict, deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

from vlang.errors import DeviceError
from vlang.runtime.gpu.device.at_once import QUEUEING
from vlang.runtime.gpu.device.device import DeviceInfo
from vlang.runtime.gpu.device.gpus import FORKED, check_gpu, free_memory, look
from vlang.runtime.gpu.device.shelf import Shelf
from vlang.runtime.gpu.device.staging import Staging

__all__ = ["Card", "Lane", "card_of", "close_cards"]

_NO_MORE = 2  # status of cudaMalloc: out of memory
_REACHED = 704  # status of cudaDeviceEnablePeerAccess: enabled already, by other code of the process
_UNREACHED = (217, 711)  # status of the same: not supported between the two; as many GPUs are reached as can be
_MOST_LANES = 8  # idle lanes
_MOST_MODULES = 128  # loaded modules of a lane
_NON_BLOCKING = 1  # flag of a stream


class Lane:
    """Streams, buffers for uploads, and loaded modules with their kernels, for use by one run at a time.

    Attributes:
        streams: idle streams.
        staging: buffers for uploads.
        modules: maps the text and the entries of a compilation to (module, kernels by name); the least recently used
            module comes first.
    """

    def __init__(self, runtime: Any, driver: Any) -> None:
        self._runtime, self._driver = runtime, driver
        self.streams: list[int] = []
        self.staging = Staging(runtime)
        self.modules: OrderedDict[tuple[str, ...], tuple[int, Mapping[str, Any]]] = OrderedDict()

    def stream(self) -> int:
        """Return an idle stream, or a new stream."""
        return self.streams.pop() if self.streams else int(self._runtime.streamCreateWithFlags(_NON_BLOCKING))

    def forget(self) -> None:
        """Unload the modules that were used least recently, if there are many."""
        while len(self.modules) > _MOST_MODULES:
            _, (module, _) = self.modules.popitem(last=False)
            with QUEUEING:
                self._driver.moduleUnload(module)

    def close(self, errors: tuple[type[Exception], ...]) -> None:
        """Free the resources of the lane.

        A lost device has no resources left to free. Errors of the types in `lost` are ignored.
        """
        acts: list[tuple[Callable[..., Any], tuple[int, ...]]] = [(self.staging.close, ())]
        acts += [(self._runtime.streamDestroy, (stream,)) for stream in self.streams]
        acts += [(self._driver.moduleUnload, (module,)) for module, _ in self.modules.values()]
        for act, args in acts:
            with suppress(*errors), QUEUEING:
                act(*args)
        self.streams, self.modules = [], OrderedDict()


class Card:
    """A GPU of this process. Threads may share a card.

    Attributes:
        gpu: the properties of the GPU.
        shelf: the parts of graphs that stay on the GPU between runs.
    """

    def __init__(self, index: int, runtime: Any, driver: Any) -> None:
        self.runtime, self.driver, self.process = runtime, driver, os.getpid()
        self.gpu = look(runtime, index)
        self.shelf = Shelf(f"gpu:{index}", lambda: self._free_blocks(0))
        self._errors = (runtime.CUDARuntimeError, driver.CUDADriverError)
        self._lock = threading.Lock()
        self._lanes: list[Lane] = []
        self._blocks: dict[int, deque[int]] = {}  # idle memory by size
        self._idle = 0  # bytes of idle memory
        self._described: DeviceInfo | None = None
        self._reached: dict[int, bool] = {}  # by the number of another GPU, whether this one can read its memory

    def described(self) -> DeviceInfo:
        """Return the properties of the GPU that the choice of kernels depends on; these properties never change."""
        if self._described is None:
            self._described = self._describe()
        return self._described

    def _describe(self) -> DeviceInfo:
        def attribute(name: str) -> int:
            return int(self.runtime.deviceGetAttribute(getattr(self.runtime, f"cudaDevAttr{name}"), self.gpu.index))

        return DeviceInfo(
            name=self.gpu.name, architecture=self.gpu.architecture, multiprocessors=attribute("MultiProcessorCount"),
            shared=attribute("MaxSharedMemoryPerBlockOptin"), memory=self.gpu.total,
            unified=bool(attribute("UnifiedAddressing") and attribute("CanMapHostMemory")),
            identity=f"{platform.node()} {self.runtime.deviceGetPCIBusId(self.gpu.index)}",
        )

    def select(self) -> None:
        """Make this GPU the current device of the calling thread if the process also uses other devices."""
        if len(_cards) > 1:
            self.runtime.setDevice(self.gpu.index)

    def reach(self, index: int) -> bool:
        """Let copies read the memory of another GPU directly, if the hardware supports such copies.

        Returns whether the copies are direct. The calling thread must have selected this device.
        """
        if index not in self._reached:
            can = self._reached[index] = bool(self.runtime.deviceCanAccessPeer(self.gpu.index, index))
            try:
                if can:
                    self.runtime.deviceEnablePeerAccess(index)
            except self.runtime.CUDARuntimeError as error:
                self._reached[index] = error.status not in _UNREACHED
                if error.status not in (_REACHED, *_UNREACHED):
                    raise
        return self._reached[index]

    def free_memory(self) -> int:
        """Return how many bytes a run may use: the free memory and the idle memory, which a run can free.

        Raises DeviceError.
        """
        return free_memory(self.runtime, self.gpu.index) + self._idle + self.shelf.idle

    # ------------------------------------------------------------------------ memory
    def allocate(self, size: int, idle: int) -> int | None:
        """Allocate memory; returns its address, or None if the device has no memory left.

        Args:
            size: the size in bytes; idle memory of the same size is used first.
            idle: the bytes that may stay idle on the card.
        """
        with self._lock:
            known = self._blocks.get(size)
            pointer = known.pop() if known else None
            if pointer is not None:
                self._idle -= size
        self.shrink(max(0, idle))
        if pointer is None:
            pointer = self._allocate(size)
        if pointer is None and (self._idle or self.shelf.idle):
            self.shrink(0)
            pointer = self._allocate(size)
        return pointer

    def _allocate(self, size: int) -> int | None:
        try:
            with QUEUEING:
                return int(self.runtime.malloc(size))
        except self.runtime.CUDARuntimeError as error:
            if error.status != _NO_MORE:
                raise
            return None

    def free(self, pointer: int) -> None:
        """Return memory to the device; waits for queued work. Does nothing if the device is lost."""
        with suppress(*self._errors), QUEUEING:
            self.runtime.free(pointer)

    def put_back(self, pointer: int, size: int) -> None:
        """Keep memory for another run. All work on the memory must have ended."""
        with self._lock:
            self._blocks.setdefault(size, deque()).append(pointer)
            self._idle += size

    def shrink(self, most: int) -> None:
        """Free idle memory, and then the idle parts of graphs, until at most `most` bytes are idle."""
        if most > 0 and self._idle + self.shelf.held <= most:
            return
        kept = self.shelf.idle
        if self._idle + kept > most or most <= 0:
            self._free_blocks(max(0, most - kept))
            self.shelf.shrink(max(0, most - self._idle))

    def _free_blocks(self, most: int) -> None:
        """Free idle memory until at most `most` bytes are left."""
        with self._lock:
            for size, pointers in list(self._blocks.items()):
                while pointers and self._idle > most:
                    self.free(pointers.popleft())
                    self._idle -= size
                if not pointers:
                    del self._blocks[size]

    # ------------------------------------------------------------------------ lanes
    def lane(self) -> Lane:
        """Return an idle lane, or a new lane."""
        with self._lock:
            return self._lanes.pop() if self._lanes else Lane(self.runtime, self.driver)

    def put_lane(self, lane: Lane) -> None:
        """Keep a lane for another run. All work on the lane must have ended."""
        lane.forget()
        with self._lock:
            if len(self._lanes) < _MOST_LANES:
                self._lanes.append(lane)
                return
        lane.close(self._errors)

    def close(self) -> None:
        """Free all idle resources of the card; for tests."""
        self.shrink(0)
        for lane in self._lanes:
            lane.close(self._errors)
        self._lanes = []


_cards: dict[int, Card] = {}
_lock = threading.Lock()


def card_of(index: int) -> Card:
    """Return the card of GPU number `index`.

    Raises DeviceError if the GPU does not exist, or if a parent process has used a GPU.
    """
    if any(card.process != os.getpid() for card in list(_cards.values())):
        raise DeviceError(FORKED)
    known = _cards.get(index)
    if known is not None:
        return known
    runtime, driver = check_gpu(index)
    with _lock:
        if index not in _cards:
            _cards[index] = Card(index, runtime, driver)
        return _cards[index]


def close_cards() -> None:
    """For tests: close all cards, so that the next run opens cards again."""
    with _lock:
        for card in _cards.values():
            card.close()
        _cards.clear()
