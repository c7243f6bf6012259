"""The parts of a graph that a run uses on a device: parts that earlier runs left there, and parts that the run adds.

A part is adjacency lists, a column, degrees, or a table. Parts depend only on the graph, never on a program's values.
Each part has a key, is copied once, and is never changed. Parts stay on the device when the run ends, within the limits
of `vlang.runtime.gpu.device.shelf`. Runs in several threads may share a part.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from numpy.typing import NDArray

from vlang.errors import DeviceError
from vlang.runtime.gpu.device.arena import GRAIN
from vlang.runtime.gpu.device.device import Buffer, Device
from vlang.runtime.gpu.device.shelf import Item
from vlang.runtime.storage.device_copies import DeviceCopies

__all__ = ["Resident"]


class Resident:
    """The parts of a graph that one run uses on a device.

    Args:
        device: the device of the run.
        copies: the parts of the graph that devices keep between runs; None if `close` must free all parts.
    """

    def __init__(self, device: Device, copies: DeviceCopies | None = None) -> None:
        self._device = device
        self._owned, self._copies = copies is None, copies or DeviceCopies()
        self._run = device.shelf.new_run()
        self._at: dict[Hashable, int] = {}  # device addresses
        self._counted = 0  # bytes of the parts on the shelf that the run uses
        self._new: dict[Hashable, tuple[str, Buffer]] = {}  # not on the shelf yet
        self._empty: set[Hashable] = set()  # parts in `_new` whose values are not there yet
        self._locks: list[tuple[Hashable, str, NDArray[Any]]] = []  # not on the shelf yet

    @contextmanager
    def opening(self) -> Iterator[None]:
        """A context in which a run puts its parts on the device; other runs that need parts of the graph wait until the
        context ends.
        """
        with self._copies.lock:
            self._device.shelf.touch(self._copies.number)
            yield
            self.publish()

    def hold(self, key: Hashable, nbytes: int, what: str, fill: Callable[[int], None] | None) -> int:
        """Return the device address of a part.

        Args:
            key: identifies the part among all parts of the graph. Parts with different values have different keys.
            nbytes: the size of the part in bytes.
            what: the name of the part, for users and error messages.
            fill: a function that queues the work to write the values of a new part to an address. If `fill` is None,
                the caller writes the values later, and then calls `filled`.

        Raises:
            OutOfMemory: there is no memory for the part.
        """
        if key in self._at:
            return self._at[key]
        item = self._device.shelf.take(self._run, self._copies.number, key)
        if item is not None:
            self._device.borrow(item.nbytes)
            self._counted += item.nbytes
            self._at[key] = item.address
            return item.address
        buffer = self._device.allocate(max(1, -(-nbytes // GRAIN)) * GRAIN, what)
        self._new[key] = what, buffer
        self._empty.add(key)
        if fill is not None:
            fill(buffer.pointer)
            self.filled(key)
        self._at[key] = buffer.pointer
        return buffer.pointer

    def missing(self, key: Hashable) -> bool:
        """Return whether the values of a part must still be written."""
        return key in self._empty

    def filled(self, key: Hashable) -> None:
        """Record that the work that writes the values of a part is queued."""
        self._empty.discard(key)

    def lock(self, key: Hashable, what: str, array: NDArray[Any]) -> int:
        """Page-lock a host array of the graph; returns its address for kernels, or 0 if kernels cannot read the array.
        """
        address = self._device.register(array)
        if address and self._device.shelf.take(self._run, self._copies.number, ("lock", key)) is None:
            self._locks.append((("lock", key), what, array))
        return address

    def publish(self) -> None:
        """Wait until new parts are written, and put them on the shelf for later runs."""
        ready = [key for key in self._new if key not in self._empty]
        if not ready and not self._locks:
            return
        self._device.drain()
        shelf, owner = self._device.shelf, self._copies.number
        self._copies.join(shelf)
        for key in ready:
            what, buffer = self._new.pop(key)
            self._counted += buffer.nbytes
            shelf.add(self._run, owner, key, Item(what, buffer.pointer, buffer.nbytes, self._device.keep(buffer)))
        while self._locks:
            key, what, array = self._locks.pop()
            shelf.add(self._run, owner, key, Item(what, 0, 0, self._device.keep_lock(array)))

    def close(self) -> None:
        """End the use of all parts, after all work of the device has ended. A second call does nothing."""
        with suppress(DeviceError):  # a lost device does no more work
            self._device.drain()
        for _, buffer in self._new.values():
            self._device.free(buffer)
        self._device.borrow(-self._counted)
        self._device.shelf.give_back(self._run)
        if self._owned:
            self._copies.release()
        self._counted = 0
        self._at, self._new, self._empty, self._locks = {}, {}, set(), []
