"""Sends the values of mirrored vertices from the GPU of their owner through host memory to the GPUs of other ranks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vlang.runtime.cluster.messages import Reader, Sent, joined_parts, value_part
from vlang.runtime.cluster.transports.transport import Buffer, Transport
from vlang.runtime.gpus.part_machine import PartMachine

__all__ = ["HostExchange"]


class HostExchange:
    """The exchange of one rank, in the form that `vlang.runtime.gpus.mirrors.Mirrors` calls.

    A kernel packs the values that another rank mirrors. The host reads the packed values and sends the changed values,
    as ranks on CPUs do. The receiving host keeps the values of all mirrors, and copies these values to the GPU, where
    the mirrors of one owner are consecutive.

    Args:
        part: the machine of the rank, with the boxes and kernels of `SubsetExchange`.
        transport: the transport of the rank.
        why: the reason why the GPUs do not send values to each other; "" if there is one rank.
    """

    name = "host"

    def __init__(self, part: PartMachine, transport: Transport, why: str = "") -> None:
        self._part, self._transport, self._why = part, transport, why
        self._peers = [rank for rank in range(transport.size) if rank != transport.rank]
        self._sent: dict[tuple[str, int], Sent] = {}  # by array and receiver, the values that were last sent
        self._received: dict[tuple[str, int], Buffer] = {}  # by array and owner, the values of the mirrors

    def update(self, slots: Sequence[str]) -> None:
        """Update the mirrors of some arrays on all ranks. All ranks call this method with the same arrays."""
        part = self._part
        part.state.flush()
        for slot in slots:
            for rank in self._peers:
                if rank in part.marks:
                    count = len(part.numbers.wanted[rank])
                    part.pack(slot, part.pointer(slot), part.marks[rank], count, part.boxes[f"sent:{rank}:{slot}"])
        buffers: list[Buffer] = [np.zeros(0, np.uint8)] * self._transport.size
        for rank in self._peers:
            buffers[rank] = joined_parts([piece for slot in slots for piece in self._message(slot, rank)])
        found = self._transport.exchange(buffers, f"mirrors of {', '.join(slots)}")
        for rank in self._peers:
            reader = Reader(found[rank])
            for slot in slots:
                self._place(slot, rank, reader)

    def forget(self, slot: str) -> None:
        """Do nothing, because all values of the mirrors are copied to the GPU each time."""

    def note(self) -> str:
        """Return a sentence about the values that were sent so far."""
        why = f" ({self._why})" if self._why else ""
        return f"rank {self._transport.rank} has sent {self.nbytes:,} bytes to other ranks, by its host{why}"

    @property
    def nbytes(self) -> int:
        """The number of bytes that this rank has sent so far."""
        return self._transport.sent

    def _message(self, slot: str, rank: int) -> list[Buffer]:
        """Return the values of an array that a rank mirrors and that have changed since the last message."""
        part, size = self._part, self._part.itemsize(slot)
        count = len(part.numbers.wanted[rank])
        values = _words(count, size)
        if count:
            part.device.download(values, part.boxes[f"sent:{rank}:{slot}"])
        known = (slot, rank) in self._sent
        sent = self._sent.setdefault((slot, rank), Sent.of(count, size))
        return value_part(values, np.arange(count, dtype=np.uint32), size, sent, known)

    def _place(self, slot: str, owner: int, reader: Reader) -> None:
        """Read the values from an owner, and copy the values of all mirrors of this owner to the GPU."""
        part, size = self._part, self._part.itemsize(slot)
        low, high = part.numbers.mirrors_of(owner)
        held = self._received.setdefault((slot, owner), _words(high - low, size).view(np.uint8))
        reader.values([held], size)
        for at in part.mirrors_at(slot, owner) if high > low else ():
            part.device.upload(at, held)


def _words(count: int, size: int) -> NDArray[Any]:
    """Return zeros for `count` values of `size` bytes each, in words of the width that `words_of` chooses."""
    bits = next(bits for bits in (64, 32, 16, 8) if 8 * size % bits == 0)
    return np.zeros(count * size * 8 // bits, f"u{bits // 8}")
