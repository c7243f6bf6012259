"""The parts of graphs that stay on one GPU between runs: adjacency lists, columns, degrees, page locks of host arrays.

Each part of a graph on the shelf is an item. Any number of runs may use an item at the same time, because items are
never changed. An item that no run uses is idle. When a run needs memory, idle items are freed, beginning with the least
recently used item. When a run ends, idle items are freed until the remaining items are within a limit. If a graph is
released while runs use its items, each item is freed when the last of these runs ends.
"""

from __future__ import annotations

import threading
from collections import OrderedDict, deque
from collections.abc import Callable, Hashable, Iterable
from contextlib import suppress
from dataclasses import field
from itertools import count

from vlang.records import dataclass
from vlang.runtime.storage.device_copies import DeviceCopy

__all__ = ["Item", "Shelf"]


@dataclass(eq=False)
class Item:
    """A part of a graph on a GPU.

    Attributes:
        what: the name of the part, for users.
        address: the device address.
        nbytes: the bytes of device memory; 0 for a page lock.
        free: a function that frees the item.
        users: the numbers of the runs that use the item.
    """

    what: str
    address: int
    nbytes: int
    free: Callable[[], None]
    users: set[int] = field(default_factory=set)


class Shelf:
    """The items on one GPU. Implements `vlang.runtime.storage.device_copies.Holder`. Threads may share a shelf.

    Every run has a number (`new_run`). `give_back` ends all uses by a run, even after an interrupt.

    Args:
        device: the name of the GPU, for users.
        trim: frees working memory that is kept for later runs; called when a graph is released.
    """

    def __init__(self, device: str, trim: Callable[[], None] = lambda: None) -> None:
        self._device, self._trim = device, trim
        self.held = 0  # bytes of all items that are not leaving; at least `idle`, and known without a lock
        self._runs = count()
        self._leaving: list[Item] = []  # in use; freed after the last use
        self._items: OrderedDict[tuple[int, Hashable], Item] = OrderedDict()  # least recently used first
        self._abandoned: deque[int] = deque()
        self._lock = threading.Lock()

    @property
    def idle(self) -> int:
        """The bytes of device memory of all items that no run uses."""
        with self._lock:
            self._sweep()
            return self._idle()

    def new_run(self) -> int:
        """Return the number of a new run."""
        return next(self._runs)

    def take(self, run: int, owner: int, key: Hashable) -> Item | None:
        """Record that a run uses an item of a graph; returns the item, or None if the item is not on the shelf."""
        with self._lock:
            item = self._items.get((owner, key))
            if item is not None:
                item.users.add(run)
                self._items.move_to_end((owner, key))
            return item

    def touch(self, owner: int) -> None:
        """Mark all items of a graph as the most recently used."""
        with self._lock:
            for key in [key for key in self._items if key[0] == owner]:
                self._items.move_to_end(key)

    def add(self, run: int, owner: int, key: Hashable, item: Item) -> None:
        """Add an item.

        Args:
            run: the number of the run that adds and uses the item.
            owner: the number of the graph.
            key: the key of the item.
            item: the item.
        """
        with self._lock:
            item.users.add(run)
            if (owner, key) in self._items:  # the item was created again after a release
                self._unlist([(owner, key)])
            self._items[owner, key] = item
            self.held += item.nbytes

    def give_back(self, run: int) -> None:
        """End all uses of items by a run. All work of the run must have ended."""
        with self._lock:
            for item in self._items.values():
                item.users.discard(run)
            left, self._leaving = self._leaving, []
            for item in left:
                item.users.discard(run)
                if item.users:
                    self._leaving.append(item)
                else:
                    item.free()

    def shrink(self, most: int) -> None:
        """Free idle items, the least recently used first, until they take at most `most` bytes.

        If `most` is 0, all idle items are freed, including page locks.
        """
        with self._lock:
            self._sweep()
            over = self._idle() - most
            for key, item in list(self._items.items()):
                if most > 0 and over <= 0:
                    return
                if not item.users and (item.nbytes or most <= 0):
                    over -= item.nbytes
                    self._unlist([key])

    def copies(self, owner: int) -> list[DeviceCopy]:
        """Return the items of a graph."""
        with self._lock:
            return [DeviceCopy(self._device, item.what, item.nbytes, bool(item.users))
                    for key, item in self._items.items() if key[0] == owner]

    def drop(self, owner: int) -> None:
        """Free the items of a graph, and idle working memory.

        Items in use are freed when the last run that uses them ends.
        """
        with self._lock:
            self._drop(owner)
        self._trim()

    def abandon(self, owner: int) -> None:
        """Free the items of a deleted graph now or, if another call is in progress, with the next call."""
        self._abandoned.append(owner)
        if self._lock.acquire(blocking=False):  # the garbage collector may have interrupted a call in this thread
            try:
                with suppress(Exception):  # the process may be exiting
                    self._sweep()
            finally:
                self._lock.release()

    def _sweep(self) -> None:
        while self._abandoned:
            self._drop(self._abandoned.popleft())

    def _drop(self, owner: int) -> None:
        self._unlist([key for key in self._items if key[0] == owner])

    def _unlist(self, keys: Iterable[tuple[int, Hashable]]) -> None:
        for key in keys:
            item = self._items.pop(key)
            self.held -= item.nbytes
            if item.users:
                self._leaving.append(item)
            else:
                item.free()

    def _idle(self) -> int:
        return sum(item.nbytes for item in self._items.values() if not item.users)
