"""The exchange ALL of Medusa: in each exchange, each GPU sends the values of all its vertices to all other GPUs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from vlang.runtime.gpu.ways.way import Key
from vlang.runtime.gpus.exchange import aligned, links, word_of
from vlang.runtime.gpus.part_machine import PartMachine
from vlang.runtime.gpus.traffic import Move, Traffic

__all__ = ["WholeExchange"]


class WholeExchange:
    """Copies the owned part of an array. The receiver extracts the values that it mirrors from the copy."""

    name = "all"

    @staticmethod
    def sizes(part: PartMachine) -> Mapping[str, int]:
        """Return the sizes in bytes of the copies from all other GPUs, and of the positions of mirrored values in these
        copies.
        """
        sizes, numbers = {}, part.numbers
        for owner in range(numbers.ranges.size):
            first, last = numbers.ranges.of(owner)
            low, high = numbers.mirrors_of(owner)
            sizes[f"places:{owner}"] = aligned(4 * (high - low))
            for slot in part.mirrored if high > low else ():
                sizes[f"whole:{owner}:{slot}"] = aligned((last - first) * part.itemsize(slot))
        return sizes

    @staticmethod
    def kernels(part: PartMachine) -> Iterable[Key]:
        """Return the kernels that extract mirrored values from copies."""
        return {("pack_values", word_of(part.itemsize(slot))[0], ()) for slot in part.mirrored}

    def __init__(self, parts: Sequence[PartMachine], traffic: Traffic) -> None:
        self._parts, self._traffic = parts, traffic
        self._sent = 0
        for part in parts:
            numbers = part.numbers
            for owner in range(numbers.ranges.size):
                some = numbers.mirrors[numbers.starts[owner] : numbers.starts[owner + 1]]
                if len(some):
                    places = (some - np.uint32(numbers.ranges.of(owner)[0])).astype(np.uint32)
                    part.device.upload(part.boxes[f"places:{owner}"], places)

    def update(self, slots: Sequence[str]) -> None:
        """Queue the update of the mirrors of some arrays on all GPUs."""
        moves = []
        for owner, rank, slot in links(self._parts, slots):
            part, other = self._parts[owner], self._parts[rank]
            (low, high), size = part.span, part.itemsize(slot)
            box = other.boxes[f"whole:{owner}:{slot}"]
            moves.append(Move(owner, part.pointer(slot) + low * size, rank, box, (high - low) * size))
            self._sent += high - low
        self._traffic.move(moves)
        for owner, rank, slot in links(self._parts, slots):
            other, count = self._parts[rank], len(self._parts[owner].numbers.wanted[rank])
            other.pack(slot, other.boxes[f"whole:{owner}:{slot}"], other.boxes[f"places:{owner}"], count,
                       other.mirror_at(slot, owner))

    def forget(self, slot: str) -> None:
        """Do nothing, because every exchange sends all values."""

    def note(self) -> str:
        """Return a sentence about the values that were sent so far."""
        return f"{self._sent:,} values of vertices were sent, mirrored and changed or not"
