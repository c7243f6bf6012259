"""The exchange MS of TOTEM: every exchange sends all mirrored values, including unchanged values."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from vlang.runtime.gpu.ways.way import Key
from vlang.runtime.gpus.exchange import aligned, links, word_of
from vlang.runtime.gpus.part_machine import PartMachine
from vlang.runtime.gpus.traffic import Move, Traffic

__all__ = ["SubsetExchange"]


class SubsetExchange:
    """Packs the values that another GPU mirrors, and copies the packed values to the mirrors on that GPU.

    The mirrors of one owner are consecutive. So if the GPUs reach each other, the kernel that packs the values stores
    them in the mirrors.
    """

    name = "ms"

    @staticmethod
    def sizes(part: PartMachine) -> Mapping[str, int]:
        """Return the sizes in bytes of the packed values for each GPU and array."""
        return {} if part.at_once else {f"sent:{rank}:{slot}": aligned(len(places) * part.itemsize(slot))
                for rank, places in enumerate(part.numbers.wanted) for slot in part.mirrored}

    @staticmethod
    def kernels(part: PartMachine) -> Iterable[Key]:
        """Return the kernels that pack values."""
        return {("pack_values", word_of(part.itemsize(slot))[0], ()) for slot in part.mirrored}

    def __init__(self, parts: Sequence[PartMachine], traffic: Traffic) -> None:
        self._parts, self._traffic = parts, traffic
        self._sent = 0

    def update(self, slots: Sequence[str]) -> None:
        """Queue the update of the mirrors of some arrays on all GPUs."""
        if self._parts[0].at_once:
            self._store(slots)
            return
        moves = []
        for owner, rank, slot in links(self._parts, slots):
            part, other = self._parts[owner], self._parts[rank]
            count, box = len(part.numbers.wanted[rank]), part.boxes[f"sent:{rank}:{slot}"]
            self._traffic.reclaim(owner, rank)
            part.pack(slot, part.pointer(slot), part.marks[rank], count, box)
            moves.append(Move(owner, box, rank, other.mirror_at(slot, owner), count * part.itemsize(slot)))
            self._sent += count
        self._traffic.move(moves, boxes=True)

    def _store(self, slots: Sequence[str]) -> None:
        """Queue the kernels that store values in the mirrors on other GPUs."""
        self._traffic.meet()  # no pass reads the old values of mirrors any more
        for owner, rank, slot in links(self._parts, slots):
            part, other = self._parts[owner], self._parts[rank]
            count = len(part.numbers.wanted[rank])
            part.pack(slot, part.pointer(slot), part.marks[rank], count, other.mirror_at(slot, owner))
            self._sent += count
            self._traffic.nbytes += count * part.itemsize(slot)
        self._traffic.meet()

    def forget(self, slot: str) -> None:
        """Do nothing, because every exchange sends all values."""

    def note(self) -> str:
        """Return a sentence about the values that were sent so far."""
        return f"{self._sent:,} values of mirrored vertices were sent, changed or not"
