"""Sends the values of owned vertices to the ranks that mirror them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vlang.records import dataclass
from vlang.runtime.cluster.local_numbers import LocalNumbers
from vlang.runtime.cluster.messages import Reader, Sent, flag_part, joined_parts, value_part, whole_part
from vlang.runtime.cluster.transports.transport import Buffer, Transport
from vlang.runtime.engine.state import State

__all__ = ["Exchange", "Unread"]

_TWINS = {"field": "next", "work": "later"}  # the second buffers, whose mirrors have the same values


@dataclass
class Unread:
    """Values of mirrors that have arrived, and that are not yet stored in the arrays.

    Attributes:
        readers: for each rank that has sent values, its message without the pads.
        arrays: the arrays to fill, by slot; the mirrors in both buffers of a field get the same values.
        flags: as for `Exchange.update`.
    """

    readers: dict[int, Reader]
    arrays: dict[str, list[NDArray[Any]]]
    flags: NDArray[np.uint8] | None


class Exchange:
    """Copies the values of vertices from the owners to the mirrors, between the supersteps of one run.

    For each array and each receiving rank, the sender keeps the values that it sent last, and sends only changed
    values. The mirrors in both buffers of a field have the same values, so swapping the buffers needs no message.

    Args:
        numbers: the local numbers of this rank.
        transport: the transport of this rank.
        state: the arrays of this rank.
    """

    def __init__(self, numbers: LocalNumbers, transport: Transport, state: State) -> None:
        self.numbers, self.transport = numbers, transport
        self._state = state
        self._peers = [rank for rank in range(transport.size) if rank != transport.rank]
        self._sent: dict[str, list[Sent]] = {}
        self._known: dict[str, frozenset[int]] = {}  # the arrays whose mirrors have the values in `_sent`
        ranges = numbers.ranges
        self._mine = ranges.padded(transport.rank)
        self.padded = any(ranges.padded(rank) != (0, 0) for rank in range(ranges.size))
        """Whether any rank needs the values of pads to reduce its first block."""

    def forget(self, slot: str) -> None:
        """Note that all ranks have overwritten their mirrors of an array, so that the next update sends all values."""
        self._known.pop(slot, None)

    def update(self, slots: Sequence[str], pads: Sequence[str], flags: NDArray[np.uint8] | None, where: str) -> None:
        """Update the mirrors of some arrays; all ranks must call this method with the same arrays.

        Args:
            slots: the arrays.
            pads: the arrays whose pads are updated.
            flags: uint8[n], or None. Bit 0 in the flag of a mirror is set if the bit is set on the rank that owns the
                vertex.
            where: the place in the run, for errors.
        """
        self.store(self.receive(slots, pads, flags, where))

    def receive(
        self, slots: Sequence[str], pads: Sequence[str], flags: NDArray[np.uint8] | None, where: str
    ) -> Unread:
        """Exchange messages and update only the pads; `store` then updates the mirrors.

        Args:
            slots, pads, flags, where: as for `update`.
        """
        arrays = {slot: self._arrays(slot) for slot in slots}
        known = {slot: self._is_known(slot, arrays[slot]) for slot in slots}
        buffers: list[Buffer] = [np.zeros(0, np.uint8)] * self.transport.size
        for rank in self._peers:
            buffers[rank] = joined_parts(self._parts(rank, arrays, known, pads, flags))
        found = self.transport.exchange(buffers, where)
        readers = {rank: Reader(found[rank]) for rank in self._peers}
        for rank, reader in readers.items():
            for array in self._pads(pads, self._mine, rank):
                reader.whole(array)
        return Unread(readers, arrays, flags)

    def store(self, unread: Unread) -> None:
        """Store values that have arrived in the mirrors."""
        for rank, reader in unread.readers.items():
            first, last = self.numbers.mirrors_of(rank)
            for both in unread.arrays.values():
                size = self._size(both[0])
                width = size // both[0].itemsize
                reader.values([array[first * width : last * width] for array in both], size)
            if unread.flags is not None:
                reader.flags(unread.flags[first:last])

    def _parts(
        self, rank: int, arrays: dict[str, list[NDArray[Any]]], known: dict[str, bool], pads: Sequence[str],
        flags: NDArray[np.uint8] | None,
    ) -> list[Buffer]:
        """Return the parts of the message to a rank, pads first; see `update`."""
        places, parts = self.numbers.wanted[rank], []
        for array in self._pads(pads, self.numbers.ranges.padded(rank), self.transport.rank):
            parts += whole_part(array)
        for slot, (array, *_) in arrays.items():
            parts += value_part(array, places, self._size(array), self._sent[slot][rank], known[slot])
        if flags is not None:
            parts += flag_part(flags, places)
        return parts

    def _pads(self, slots: Sequence[str], padded: tuple[int, int], owner: int) -> list[NDArray[Any]]:
        """Return, for each array, the values of the vertices of `owner` among the pads `padded` of a rank."""
        low, high = self._shared(padded, owner)
        shift = self.numbers.ranges.of(self.transport.rank)[0] - self.numbers.low
        return [self._slice(slot, low - shift, high - shift) for slot in slots] if low < high else []

    def _shared(self, vertices: tuple[int, int], owner: int) -> tuple[int, int]:
        """Return the intersection of a vertex range and the vertices of a rank, as (low, high); empty if low >= high.
        """
        first, last = self.numbers.ranges.of(owner)
        return max(vertices[0], first), min(vertices[1], last)

    def _slice(self, slot: str, low: int, high: int) -> NDArray[Any]:
        array = self._state.arrays[slot]
        width = self._size(array) // array.itemsize
        return array[low * width : high * width]

    def _arrays(self, slot: str) -> list[NDArray[Any]]:
        """Return the array of a slot and, if the slot has two buffers, the second buffer."""
        kind, _, name = slot.partition(":")
        twin = self._state.arrays.get(f"{_TWINS.get(kind, '')}:{name}")
        array = self._state.arrays[slot]
        return [array] if twin is None or len(twin) != len(array) else [array, twin]

    def _is_known(self, slot: str, arrays: Sequence[NDArray[Any]]) -> bool:
        """Return whether the mirrors of some arrays still have the values that were sent last. Also record that an
        update follows.
        """
        now = frozenset(array.ctypes.data for array in arrays)
        before = self._known.get(slot)
        if slot not in self._sent:
            size = self._size(arrays[0])
            self._sent[slot] = [Sent.of(len(wanted), size) for wanted in self.numbers.wanted]
        self._known[slot] = now
        return before == now and not slot.startswith("start")  # start:F is copied from field:F, mirrors and all

    def _size(self, array: NDArray[Any]) -> int:
        """Return the size of a vertex value in bytes."""
        return array.nbytes // max(1, self.numbers.n)
